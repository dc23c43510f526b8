/* child.h -- the fresh process in which one allocator is measured
 *
 * replay starts itself again for each run, with the allocator preloaded where it is a library, so that nothing
 * has happened in the allocator before.  The child finds its ReplayRunStruct, and by that the script, by file
 * descriptors.
 *
 * Design: design/replayer.md .child      Tests: test/replay/replay.t
 */
#ifndef REPLAY_CHILD_H
#define REPLAY_CHILD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/allocators.h"
#include "replay/player.h"

#define ReplayChildWORD "--replay-child" /* argv[1] of a child */

/* ReplayRunStruct -- one run, in memory that is shared with the child: what is wanted, and what came of it.  The
 * allocator in the child may have written anything there. */
typedef struct ReplayRunStruct {
  ReplayKind kind;
  PlayParamsStruct params;
  PlayResultStruct result;
} ReplayRunStruct, *ReplayRun;

/* ReplayChildShare -- memory for runs, and its file; NULL: there is none, errno says why */
extern ReplayRun ReplayChildShare(int *fileReturn);

/* ReplayChildRun -- start a child and wait for it
 *
 * run, file  as ReplayChildShare returned them
 * allocator  that serves it, with its settings in the child's environment
 * returns    FALSE: run->result.message says why there is no result
 */
extern Bool ReplayChildRun(ReplayRun run, int file, const AllocatorStruct *allocator, const PlayParamsStruct *params);

/* ReplayChildMain -- run the child, from main's arguments; returns its status if it could not begin */
extern int ReplayChildMain(int argc, char **argv);

#endif /* REPLAY_CHILD_H */
