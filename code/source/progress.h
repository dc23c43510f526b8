/* progress.h -- progress of long work, as a line on standard error if that is a terminal
 *
 * The line is written over from time to time, and is taken away before anything else is written there.  Whoever writes
 * to standard error or standard output meanwhile says so first; so what is on the screen at the end is what would be
 * there without it.
 *
 * Always true: all zeros is nobody watching; the line is only there while `shown`.
 *
 * Design: design/view.md .progress      Tests: test/source/progress.t
 */
#ifndef SOURCE_PROGRESS_H
#define SOURCE_PROGRESS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum {
  ProgressFIRST = 500, /* ms before the line comes: what is over by then needs none */
  ProgressPERIOD = 250 /* ms between two lines */
};

typedef struct ProgressStruct {
  const char *tool; /* what the line begins with */
  Bool watched;     /* somebody may look at it */
  Bool shown;       /* it stands on the screen */
  uint64_t due;     /* CLOCK_MONOTONIC, ns: not before */
} ProgressStruct, *Progress;

/* ProgressBegin -- long work may begin here */
extern void ProgressBegin(Progress progress, const char *tool);

/* ProgressPart -- `what` is being done, and `done` of `total` is; a total of 0 is not known, and `done` are bytes then
 * ProgressSay -- something begins that cannot say how far it is: shown at once */
extern void ProgressPart(Progress progress, const char *what, uint64_t done, uint64_t total);
extern void ProgressSay(Progress progress, const char *what, const char *whose);

/* ProgressErase -- take the line away, before something else is told; it comes back */
extern void ProgressErase(Progress progress);

/* ProgressOutput -- the same before output is written to `fd`; it does not come back where the output may have come to
 * the same screen: on a terminal, and through a pipe */
extern void ProgressOutput(Progress progress, int fd);

#endif /* SOURCE_PROGRESS_H */
