/* statedump.h -- the state dump: events for the objects that exist when a recording starts late
 *
 * A log that begins in the middle of a process's life begins with a state dump: events for the interned strings and
 * labels, the threads and the modules, and, from hooks, for arenas, pools, segments and live objects.  The dump stands
 * between the events StateBegin and StateEnd.  These two are sent whatever kinds are on; the others are sent if their
 * kind is.  Other threads go on meanwhile, so their events stand among those of the dump.
 *
 * Design: design/telemetry.md .state      Tests: test/emit/statedumptest.c, test/emit/statedumponcetest.c,
 * test/emit/statedump.t
 */
#ifndef EMIT_STATEDUMP_H
#define EMIT_STATEDUMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* The steps of a dump, in the order in which each hook is called with them. */
typedef enum StateDumpStep {
  StateDumpCLAIM,  /* take the locks that TELL needs, without waiting; FALSE: one is taken, and the hook holds none */
  StateDumpGIVEUP, /* another hook could not take its locks: release them */
  StateDumpTELL,   /* emit an event for each object, but for live objects of pools, and release the locks */
  StateDumpLIVE,   /* emit events for live objects that the calling thread can see; FALSE: some are left for others */
  StateDumpLATE    /* other threads did not come in time: emit events for all that are left; FALSE: not yet possible */
} StateDumpStep;

/* A hook is called with signals blocked, perhaps inside malloc, by any thread, which may hold any lock of the hook's
 * owner.  So it must never wait. */
typedef Bool (*StateDumpHook)(StateDumpStep step);

enum { StateDumpHooksMAX = 4 };

/* StateDumpHookAdd -- call this hook in each dump.  Adding it again changes nothing.  Any thread. */
extern void StateDumpHookAdd(StateDumpHook hook);

/* StateDumpAsk -- request one dump.  It begins with the next event of any thread.
 * StateDumpAttend -- begin the dump that was requested, or continue it.  TRUE: no dump is due any more.  FALSE: call
 * it again with the next event of any thread, because each thread knows its own live objects best.  The caller has
 * blocked signals and holds no lock of the emitter. */
extern void StateDumpAsk(void);
extern Bool StateDumpAttend(void);

/* StateDumpWait -- request a dump and return when it is complete, after two seconds at the latest.  Not inside malloc,
 * nor with signals blocked. */
extern void StateDumpWait(void);

/* UserTell -- emit an event for each interned string and each label (userevents.c).  Takes no lock. */
enum { UserLabelsMAX = 4096 }; /* addresses whose labels are kept: the first ones; of each, the newest label */
extern void UserTell(void);

#endif /* EMIT_STATEDUMP_H */
