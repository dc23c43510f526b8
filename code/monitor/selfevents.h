/* selfevents.h -- events that the collector emits itself
 *
 * What the collector sees of processes and threads from outside becomes events like those of the programs: annotations,
 * a stream of blocks, a header block before it.  In the log the collector is a process whose header says `role:
 * collector`.  A function that has a variable `self` emits one by EVENT_UUS(ProcessSeen, pid, parent, name).
 *
 * Always true (SelfEventsCheck):
 *   the events in the block are whole, in order of time, and their epoch is that of the newest
 *   told = events in blocks that were written;  told + discarded + those in the block = all events that were emitted
 *
 * Design: design/collector.md .own      Tests: test/monitor/selfeventstest.c
 */
#ifndef MONITOR_SELFEVENTS_H
#define MONITOR_SELFEVENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/eventcheck.h"
#include "format/header.h"

/* The primitives of which the generated annotations are made. */
#define EVENT_WANTED(kind)         ((kind) == EventKindSystem)
#define EventReserve(kind, length) SelfEventsReserve(self, length)

#include "eventgen.h"

typedef struct SelfEventsStruct *SelfEvents;

/* Writes a message, which is one header block or one event block.  If it does not return ResOK, the message is lost. */
typedef Res (*SelfEventsWrite)(void *data, const void *message, Size size);

enum { SelfEventsDELAY = 100 /* ms that an event waits to be written, at most */ };

/* SelfEventsCreate -- begin the stream of a process that is new in the log
 *
 * write, data   called for each message; not before the first event, or SelfEventsHeader
 * recording     the recording that the events belong to; 0: none
 * raw           blocks are not packed
 * events        a bit for each type by its code: only events of these types are written, and ProgramUnseen; NULL: all.
 *               The caller's, and stays.
 * errors        ResMEMORY
 * thread        one at a time
 */
extern Res SelfEventsCreate(SelfEvents *selfReturn, SelfEventsWrite write, void *data, uint64_t recording, Bool raw,
                            const uint8_t *events);

/* SelfEventsEnd -- write the events that are left, and the closing header block if anything was ever written; ResIO:
 * that could not be written
 * SelfEventsDestroy -- do the same, unless it has ended, and free its memory */
extern Res SelfEventsEnd(SelfEvents self);
extern void SelfEventsDestroy(SelfEvents self);

/* SelfEventsDropped -- the newest `blocks` blocks, with `events` events, were written and did not arrive, and neither
 * did a header block since: count the events as discarded, and have SelfEventsEnd write the closing header block
 * anew */
extern void SelfEventsDropped(SelfEvents self, Count blocks, uint64_t events);

/* SelfEventsClosing -- the closing header block, for a caller who writes it elsewhere; valid until the next call */
extern const void *SelfEventsClosing(Size *sizeReturn, SelfEvents self);

extern Bool SelfEventsCheck(SelfEvents self);

/* SelfEventsStopped -- the recording is ended now on purpose, and programs go on; for the closing header block */
extern void SelfEventsStopped(SelfEvents self);

/* SelfEventsHeaded -- how many processes of the recording have a header block; for the closing header block */
extern void SelfEventsHeaded(SelfEvents self, uint64_t processes);

/* SelfEventsHeader -- write the header block now
 * SelfEventsRegistry -- the name of the registry in it */
extern Res SelfEventsHeader(SelfEvents self);
extern RegistryNameStruct SelfEventsRegistry(void);

/* SelfEventsFlush -- write the events that are in the block.  Events that a failure of `write` loses are counted, and
 * the next block says how many. */
extern Res SelfEventsFlush(SelfEvents self);

/* SelfEventsPoll -- SelfEventsFlush if the oldest event has waited long enough
 * now      CLOCK_MONOTONIC, ns
 * returns  ns until it is due again; UINT64_MAX if nothing waits */
extern uint64_t SelfEventsPoll(SelfEvents self, uint64_t now);

/* SelfEventsLost -- count `events` more lost events, of any process, of which no other header block can tell: ours do
 * from then on.  Returns the sum. */
extern uint64_t SelfEventsLost(SelfEvents self, uint64_t events);

/* SelfEventsIdentity -- the identity of the collector as a process of the log */
extern uint64_t SelfEventsIdentity(SelfEvents self);

/* SelfEventsDiscarded -- events that were lost */
extern uint64_t SelfEventsDiscarded(SelfEvents self);

/* For the annotations alone. */
extern void *SelfEventsReserve(SelfEvents self, Size length);

#endif /* MONITOR_SELFEVENTS_H */
