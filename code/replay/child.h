/* child.h -- the fresh process in which one allocator is measured
 *
 * replay starts itself again for each run, with the allocator preloaded where it is a library, so that nothing
 * has happened in the allocator before.  The child finds the script and the place for its result by file descriptors.
 *
 * Design: design/replayer.md .child      Tests: test/replay/replay.t
 */
#ifndef REPLAY_CHILD_H
#define REPLAY_CHILD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/player.h"

#define ReplayChildWORD "--replay-child" /* argv[1] of a child */

typedef enum ReplayKind { ReplayPAWPRINT, ReplayLIBC, ReplayLIBRARY, ReplayNONE } ReplayKind;

/* ReplayChildRun -- start a child and wait for it
 *
 * result   what came of it; shared memory made by ReplayChildShare
 * library  the path to preload, for ReplayLIBRARY
 * returns  FALSE: result->message says why there is no result
 */
extern Bool ReplayChildRun(PlayResult result, int resultFile, ReplayKind kind, const char *library, PlayParams params);

/* ReplayChildShare -- a result that a child can write to, and its file; NULL without memory */
extern PlayResult ReplayChildShare(int *fileReturn);

/* ReplayChildMain -- what the child does, from main's arguments; returns its status if it could not begin */
extern int ReplayChildMain(int argc, char **argv);

#endif /* REPLAY_CHILD_H */
