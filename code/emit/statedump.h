/* statedump.h -- the state dump: what exists when a recording starts late, told as events
 *
 * A log that begins in the middle of a process's life begins with what was before: interned strings and labels,
 * threads, modules; and by hooks what others know: arenas, pools, segments, live objects.  It stands between StateBegin
 * and StateEnd, which are sent whatever kinds are; all else is sent as the kinds say.  Other threads go on meanwhile,
 * so their events stand in between.
 *
 * Design: design/telemetry.md .state      Tests: test/emit/statetest.c, test/emit/stateoncetest.c, test/emit/state.t
 */
#ifndef EMIT_STATEDUMP_H
#define EMIT_STATEDUMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* What a hook is asked, in this order. */
typedef enum StateDumpStep {
  StateDumpCLAIM,  /* take what locks TELL needs, without waiting; FALSE: not now, and nothing was taken */
  StateDumpGIVEUP, /* another hook could not: give the locks back */
  StateDumpTELL,   /* tell what is, and give the locks back */
  StateDumpLIVE,   /* tell of objects what the calling thread can; FALSE: some are left for another thread, or later */
  StateDumpLATE    /* the same, but nobody else will come: tell them all; FALSE: not now */
} StateDumpStep;

/* Called with signals blocked, perhaps inside malloc, of any thread, which may hold any lock of the hook's owner: it
 * must never wait. */
typedef Bool (*StateDumpHook)(StateDumpStep step);

enum { StateDumpHooksMAX = 4 };

/* StateDumpHookAdd -- ask this one, too; once is enough.  Any thread. */
extern void StateDumpHookAdd(StateDumpHook hook);

/* StateDumpAsk -- have it told, once, from the next event on, of whatever thread
 * StateDumpAttend -- if it was asked for, begin to tell it, or continue; each thread tells best what is its own.  Returns TRUE when
 *                all is told, FALSE when it must be called again, with the next event of any thread.  Signals are blocked, and
 *                the caller holds no lock of the emitter. */
extern void StateDumpAsk(void);
extern Bool StateDumpAttend(void);

/* StateDumpWait -- the same until it is told, or two seconds have gone by.  Not in malloc, nor with signals blocked. */
extern void StateDumpWait(void);

/* StateDumpModules -- tell what files are mapped to be run, if the kind System is wanted */
extern void StateDumpModules(void);

#endif /* EMIT_STATEDUMP_H */
