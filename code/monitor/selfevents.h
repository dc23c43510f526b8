/* selfevents.h -- the collector's own events
 *
 * What the collector sees of processes and threads from outside is told by events like the programs' own: annotations,
 * a stream of blocks, a header block before it.  In the log the collector is a process whose header says `role:
 * collector`.  A function with a `teller` in scope says EVENT_UUS(ProcessSeen, pid, parent, name).
 *
 * Always true (TellerCheck):
 *   the events in the block are whole, in order of time, and their epoch is that of the newest
 *   told = events in blocks that were written;  told + discarded + those in the block = all that were said
 *
 * Design: design/collector.md .own      Tests: test/tellertest.c
 */
#ifndef MONITOR_SELFEVENTS_H
#define MONITOR_SELFEVENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/eventcheck.h"
#include "format/header.h"

/* What the generated annotations are made of, here. */
#define EVENT_WANTED(kind)         TellerWants(teller, kind)
#define EventReserve(kind, length) TellerReserve(teller, length)

#include "eventgen.h"

typedef struct TellerStruct *Teller;

/* Where blocks go: one message is one header block or one event block, whole.  Anything but ResOK: it is lost. */
typedef Res (*TellerWrite)(void *data, const void *message, Size size);

enum { TellerDELAY = 100 /* ms that an event waits to be written, at most */ };

/* TellerCreate -- a new process, in the log
 *
 * write, data   where it goes; nothing is written before the first event, or TellerHeader
 * recording     that it is of; 0: none
 * raw           blocks are not packed
 * ResMEMORY.  One thread at a time.
 */
extern Res TellerCreate(Teller *tellerReturn, TellerWrite write, void *data, uint64_t recording, Bool raw);

/* TellerEnd -- write what is left, and the closing header block if anything was ever written; ResIO: that could not be
 * done.  TellerDestroy -- the same, unless it has ended, and give back its memory. */
extern Res TellerEnd(Teller teller);
extern void TellerDestroy(Teller teller);

/* TellerDropped -- its newest blocks, with so many events, did not arrive, nor has a header block since: they count as discarded, and
 * TellerEnd writes the closing header block anew */
extern void TellerDropped(Teller teller, Count blocks, uint64_t events);

/* TellerClosing -- the closing header block, which the caller sees to; it is there until the next call */
extern const void *TellerClosing(Size *sizeReturn, Teller teller);

extern Bool TellerCheck(Teller teller);

/* TellerStopped -- the recording ends now, on purpose, and programs go on: the closing header block says so */
extern void TellerStopped(Teller teller);

/* TellerHeaded -- so many processes of the recording have a header block: the closing header block says so */
extern void TellerHeaded(Teller teller, uint64_t processes);

/* TellerChoose -- only types whose bits are set in `events`, by code, are written, and ProgramUnseen; NULL: all, as at first.
 * The caller's, and stays. */
extern void TellerChoose(Teller teller, const uint8_t *events);

/* TellerHeader -- write the header block, now.  TellerRegistry -- what its lines of types are called. */
extern Res TellerHeader(Teller teller);
extern RegistryNameStruct TellerRegistry(void);

/* TellerFlush -- write the events that are there.  What the failure of `write` loses is counted, and told by the next
 * block. */
extern Res TellerFlush(Teller teller);

/* TellerPoll -- TellerFlush if the oldest event has waited long enough
 * now      CLOCK_MONOTONIC, ns
 * returns  ns until it is due again; UINT64_MAX if nothing waits */
extern uint64_t TellerPoll(Teller teller, uint64_t now);

/* TellerLost -- so many events more, of whomever, that nobody else can tell of: our header blocks say so from then on.  How
 * many there are. */
extern uint64_t TellerLost(Teller teller, uint64_t events);

/* TellerIdentity -- of the process that it is in the log */
extern uint64_t TellerIdentity(Teller teller);

/* TellerEvents, TellerDiscarded, TellerBytes -- what was written, lost, and the size of it at rest */
extern uint64_t TellerEvents(Teller teller);
extern uint64_t TellerDiscarded(Teller teller);
extern uint64_t TellerBytes(Teller teller);

/* For the annotations alone. */
extern Bool TellerWants(Teller teller, unsigned kind);
extern void *TellerReserve(Teller teller, Size length);

#endif /* MONITOR_SELFEVENTS_H */
