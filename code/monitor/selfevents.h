/* selfevents.h -- events that the collector emits itself
 *
 * What the collector sees of processes and threads from outside is told by events like the programs' own: annotations,
 * a stream of blocks, a header block before it.  In the log the collector is a process whose header says `role:
 * collector`.  A function with a `self` in scope says EVENT_UUS(ProcessSeen, pid, parent, name).
 *
 * Always true (SelfEventsCheck):
 *   the events in the block are whole, in order of time, and their epoch is that of the newest
 *   told = events in blocks that were written;  told + discarded + those in the block = all that were said
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

/* What the generated annotations are made of, here. */
#define EVENT_WANTED(kind)         SelfEventsWants(self, kind)
#define EventReserve(kind, length) SelfEventsReserve(self, length)

#include "eventgen.h"

typedef struct SelfEventsStruct *SelfEvents;

/* Where blocks go: one message is one header block or one event block, whole.  Anything but ResOK: it is lost. */
typedef Res (*SelfEventsWrite)(void *data, const void *message, Size size);

enum { SelfEventsDELAY = 100 /* ms that an event waits to be written, at most */ };

/* SelfEventsCreate -- a new process, in the log
 *
 * write, data   where it goes; nothing is written before the first event, or SelfEventsHeader
 * recording     that it is of; 0: none
 * raw           blocks are not packed
 * ResMEMORY.  One thread at a time.
 */
extern Res SelfEventsCreate(SelfEvents *tellerReturn, SelfEventsWrite write, void *data, uint64_t recording, Bool raw);

/* SelfEventsEnd -- write what is left, and the closing header block if anything was ever written; ResIO: that could not be
 * done.  SelfEventsDestroy -- the same, unless it has ended, and give back its memory. */
extern Res SelfEventsEnd(SelfEvents self);
extern void SelfEventsDestroy(SelfEvents self);

/* SelfEventsDropped -- its newest blocks, with so many events, did not arrive, nor has a header block since: they count as discarded, and
 * SelfEventsEnd writes the closing header block anew */
extern void SelfEventsDropped(SelfEvents self, Count blocks, uint64_t events);

/* SelfEventsClosing -- the closing header block, which the caller sees to; it is there until the next call */
extern const void *SelfEventsClosing(Size *sizeReturn, SelfEvents self);

extern Bool SelfEventsCheck(SelfEvents self);

/* SelfEventsStopped -- the recording ends now, on purpose, and programs go on: the closing header block says so */
extern void SelfEventsStopped(SelfEvents self);

/* SelfEventsHeaded -- so many processes of the recording have a header block: the closing header block says so */
extern void SelfEventsHeaded(SelfEvents self, uint64_t processes);

/* SelfEventsChoose -- only types whose bits are set in `events`, by code, are written, and ProgramUnseen; NULL: all, as at first.
 * The caller's, and stays. */
extern void SelfEventsChoose(SelfEvents self, const uint8_t *events);

/* SelfEventsHeader -- write the header block, now.  SelfEventsRegistry -- what its lines of types are called. */
extern Res SelfEventsHeader(SelfEvents self);
extern RegistryNameStruct SelfEventsRegistry(void);

/* SelfEventsFlush -- write the events that are there.  What the failure of `write` loses is counted, and told by the next
 * block. */
extern Res SelfEventsFlush(SelfEvents self);

/* SelfEventsPoll -- SelfEventsFlush if the oldest event has waited long enough
 * now      CLOCK_MONOTONIC, ns
 * returns  ns until it is due again; UINT64_MAX if nothing waits */
extern uint64_t SelfEventsPoll(SelfEvents self, uint64_t now);

/* SelfEventsLost -- so many events more, of whomever, that nobody else can tell of: our header blocks say so from then on.  How
 * many there are. */
extern uint64_t SelfEventsLost(SelfEvents self, uint64_t events);

/* SelfEventsIdentity -- of the process that it is in the log */
extern uint64_t SelfEventsIdentity(SelfEvents self);

/* SelfEventsEvents, SelfEventsDiscarded, SelfEventsBytes -- what was written, lost, and the size of it at rest */
extern uint64_t SelfEventsEvents(SelfEvents self);
extern uint64_t SelfEventsDiscarded(SelfEvents self);
extern uint64_t SelfEventsBytes(SelfEvents self);

/* For the annotations alone. */
extern Bool SelfEventsWants(SelfEvents self, unsigned kind);
extern void *SelfEventsReserve(SelfEvents self, Size length);

#endif /* MONITOR_SELFEVENTS_H */
