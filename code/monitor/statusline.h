/* statusline.h -- the status line: how a recording goes, for a person at a terminal
 *
 * One line, in the row below the terminal's cursor, is rewritten a few times a second, and erased at the end: events a
 * second, events, bytes, discarded, resident memory.  The program's own output goes on where it was.  Nothing is
 * written while the program has the terminal for itself (no line editing: editors, shells, passwords) or we are in the
 * background.  Writing never blocks.  The line is shorter than the terminal is wide.
 *
 * Always true (StatusLineCheck): there is a descriptor of the terminal;  `next` is one of the rates.
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
  StatusLineFIRST = 500    /* ms before the first: shorter recordings need none */
};

/* Counts since the beginning of the recording. */
typedef struct StatusLineCountsStruct {
  uint64_t events, discarded;
  uint64_t bytes;     /* of the log */
} StatusLineCountsStruct, *StatusLineCounts;

/* StatusLineCreate -- a status line, if `fd` is a terminal whose cursor can be moved
 *
 * fd       the caller's, and only used to open the terminal anew: O_NONBLOCK there would hold for all who share it
 * now      CLOCK_MONOTONIC, ns
 * returns  ResFAIL: it is no such terminal; ResMEMORY */
extern Res StatusLineCreate(StatusLine *lineReturn, int fd, uint64_t now);

/* StatusLineDestroy -- erase the line */
extern void StatusLineDestroy(StatusLine line);
extern Bool StatusLineCheck(StatusLine line);

/* StatusLinePoll -- rewrite the line if that is due; returns ns until it is due again
 * resident  resident bytes of the recorded processes; 0: not known, and not shown */
extern uint64_t StatusLinePoll(StatusLine line, uint64_t now, StatusLineCounts counts, uint64_t resident);

/* StatusLineErase -- erase the line, before something else is written; StatusLinePoll writes it again */
extern void StatusLineErase(StatusLine line);

/* StatusLineText -- append the line to `text`, which is empty, cut to less than `width` columns
 * rate   events a second */
extern void StatusLineText(Text text, Size width, StatusLineCounts counts, uint64_t rate, uint64_t resident);

#endif /* MONITOR_STATUSLINE_H */
