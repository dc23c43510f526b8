/* statusline.h -- the line that moves: how a recording goes, for a person at a terminal
 *
 * One line, in the row below the terminal's cursor, rewritten a few times a second, and erased at the end: events a
 * second, events, bytes, discarded, resident memory.  The program's own output goes on where it was.  Nothing is
 * written while the program has the terminal for itself (no line editing: editors, shells, passwords) or we are in the
 * background, and nobody ever waits for the terminal.
 *
 * Always true (WatchCheck): what is on the screen is one line, shorter than it is wide.
 *
 * Design: design/collector.md .watch      Tests: test/watchtest.c
 */
#ifndef MONITOR_STATUSLINE_H
#define MONITOR_STATUSLINE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/text.h"
#include "base/types.h"

typedef struct WatchStruct *Watch;

enum {
  WatchPERIOD = 250,  /* ms between two lines */
  WatchFIRST = 500    /* ms before the first: what is over by then needs none */
};

/* How far the recording is, all from its beginning. */
typedef struct WatchCountsStruct {
  uint64_t events, discarded;
  uint64_t bytes;     /* of the log */
} WatchCountsStruct, *WatchCounts;

/* WatchCreate -- somebody watches, if `fd` is a terminal that can be written to at places
 *
 * fd       the caller's: used now only, because what is set there holds for everybody who has it open
 * now      CLOCK_MONOTONIC, ns
 * returns  ResFAIL: nobody does; ResMEMORY */
extern Res WatchCreate(Watch *watchReturn, int fd, uint64_t now);

/* WatchDestroy -- erase the line */
extern void WatchDestroy(Watch watch);
extern Bool WatchCheck(Watch watch);

/* WatchPoll -- rewrite the line if it is time; returns ns after which it is again
 * resident  bytes of memory that the recorded processes have; 0: not known, and not shown */
extern uint64_t WatchPoll(Watch watch, uint64_t now, WatchCounts counts, uint64_t resident);

/* WatchErase -- take the line away, before something else is written; it comes back */
extern void WatchErase(Watch watch);

/* WatchText -- the line itself, cut to less than `width` columns
 * rate   events a second */
extern void WatchText(Text text, Size width, WatchCounts counts, uint64_t rate, uint64_t resident);

#endif /* MONITOR_STATUSLINE_H */
