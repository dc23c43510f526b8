/* reading.h -- a pass over a traceset, from the inside
 *
 * A heap holds the blocks that are open, by the time of their next event.  A block is loaded when the merge comes to
 * the time at which it was opened, and given back with its last event.  Which blocks there are is known by the index,
 * or, for what came while the pass runs, by a queue.
 *
 * Always true between calls of ReadingMerge: no event before `until` is left undelivered, unless the pass has ended.
 *
 * Design: design/log.md, .follow      Tests: test/logtest.c, test/followtest.c
 */
#ifndef LOG_READING_H
#define LOG_READING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/load.h"
#include "log/logset.h"
#include "log/park.h"
#include "log/partial.h"
#include "log/queue.h"
#include "log/request.h"

/* An open block in the heap; the time of its next event stands here, where comparing finds it without a detour. */
typedef struct ReadingOpenStruct {
  uint64_t fine;
  Loaded loaded;
} ReadingOpenStruct, *ReadingOpen;

typedef struct ReadingStruct {
  Log log;
  LogRequest request;
  LoaderStruct loader;
  ParkStruct park;
  IndexPassStruct pass;
  QueueStruct queue;
  Partials partials;   /* blocks of which copies may come again, longer; NULL: all are in the index */
  ReadingOpen heap;    /* heap[0] is next; no parent comes behind its children */
  Count open, capacity;
  const IndexEntryStruct *entry; /* the block that is to be opened next, or NULL, */
  Bool queued;         /* which the queue has, */
  uint64_t next;       /* and when, fine; UINT64_MAX if there is none or it is beyond the request */
  uint64_t until;      /* fine: events from there on wait */
  uint64_t latest;     /* fine: of the events delivered */
  uint64_t late;       /* events delivered behind later ones */
  uint64_t dropped;    /* events that were cut away from the log while it was read */
  uint64_t left;       /* events that may still be delivered */
  uint64_t blocks;     /* that the pass has come to */
  Bool ended;          /* by the hook or the count */
  Teller teller;
} ReadingStruct, *Reading;

/* ReadingBegin, ReadingEnd -- end also after a failed Begin; what no copy could make good is told then */
extern Res ReadingBegin(Reading reading, Log log, LogRequest request);
extern void ReadingEnd(Reading reading);

/* ReadingChoose -- ask for each type that is not known yet whether it is wanted: after new headers */
extern Res ReadingChoose(Reading reading);

/* ReadingMerge -- deliver what comes before `until`; ResMEMORY, ResIO */
extern Res ReadingMerge(Reading reading);

/* ReadingGive -- for ReadingEnd: away with the blocks that are open */
extern void ReadingGive(Reading reading);

/* For read.c: a block that failed, events that cannot be had. */
extern void ReadingFailureTell(Reading reading, Stream stream, uint32_t had);
extern void ReadingFailureSet(Stream stream, const IndexEntryStruct *entry, const char *what, uint32_t count);
extern void ReadingOmit(ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events, uint16_t code);

#endif /* LOG_READING_H */
