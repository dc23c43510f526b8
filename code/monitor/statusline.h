/* statusline.h -- the status line: how a recording goes, for a person at a terminal
 *
 * One line, in the row below the terminal's cursor, rewritten a few times a second, and erased at the end: events a
 * second, events, bytes, discarded, resident memory.  The program's own output goes on where it was.  Nothing is
 * written while the program has the terminal for itself (no line editing: editors, shells, passwords) or we are in the
 * background, and nobody ever waits for the terminal.
 *
 * Always true (StatusLineCheck): what is on the screen is one line, shorter than it is wide.
 *
 * Design: design/collector.md .watch      Tests: test/monitor/statuslinetest.c
 */
#ifndef MONITOR_STATUSLINE_H
#define MONITOR_STATUSLINE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

typedef struct StatusLineStruct *StatusLine;

enum {
  StatusLinePERIOD = 250,  /* ms between two lines */
  StatusLineFIRST = 500    /* ms before the first: what is over by then needs none */
};

/* How far the recording is, all from its beginning. */
typedef struct StatusLineCountsStruct {
  uint64_t events, discarded;
  uint64_t bytes;     /* of the log */
} StatusLineCountsStruct, *StatusLineCounts;

/* StatusLineCreate -- somebody watches, if `fd` is a terminal that can be written to at places
 *
 * fd       the caller's: used now only, because what is set there holds for everybody who has it open
 * now      CLOCK_MONOTONIC, ns
 * returns  ResFAIL: nobody does; ResMEMORY */
extern Res StatusLineCreate(StatusLine *watchReturn, int fd, uint64_t now);

/* StatusLineDestroy -- erase the line */
extern void StatusLineDestroy(StatusLine watch);
extern Bool StatusLineCheck(StatusLine watch);

/* StatusLinePoll -- rewrite the line if it is time; returns ns after which it is again
 * resident  bytes of memory that the recorded processes have; 0: not known, and not shown */
extern uint64_t StatusLinePoll(StatusLine watch, uint64_t now, StatusLineCounts counts, uint64_t resident);

/* StatusLineErase -- take the line away, before something else is written; it comes back */
extern void StatusLineErase(StatusLine watch);

/* StatusLineText -- the line itself, cut to less than `width` columns
 * rate   events a second */
extern void StatusLineText(Text text, Size width, StatusLineCounts counts, uint64_t rate, uint64_t resident);

#endif /* MONITOR_STATUSLINE_H */
