/* ends.h -- what should be there of a process's streams, as its closing header blocks say
 *
 * A process may have several closing header blocks, of a stream each may say something: the largest numbers hold.
 *
 * Always true behind EndsSettle: the streams stand in order of their numbers, each once.
 *
 * Design: design/log.md .check      Tests: test/endtest.c
 */
#ifndef LOG_ENDS_H
#define LOG_ENDS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"

typedef struct EndsStruct {
  Count count, capacity;
  HeaderStream stream; /* owned */
} EndsStruct, *Ends;

/* EndsAdd -- one more `stream:` line; ResMEMORY.  Memory grows with the streams, not with the lines. */
extern Res EndsAdd(Ends ends, const HeaderStreamStruct *stream);
extern void EndsSettle(Ends ends);
extern void EndsFree(Ends ends);

#endif /* LOG_ENDS_H */
