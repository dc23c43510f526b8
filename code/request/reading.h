/* reading.h -- a pass over a traceset: merges the events of its streams by time, from a position on
 *
 * A heap holds the blocks that are open, by the time of their next event.  A block is loaded when the merge comes to
 * the time at which it was opened, and given back with its last event.  Which blocks there are is known by the index,
 * or, for what came while the pass runs, by a queue.
 *
 * A pass can be left at any position, and gone on with; several may be under way.
 *
 * Always true between runs: no event before `position` is left undelivered, and none at or behind it was delivered.
 *
 * Design: design/log.md, design/requests.md .pass.on .route      Tests: test/log/logtest.c, test/request/followtest.c, test/request/requesttest.c
 */
#ifndef REQUEST_READING_H
#define REQUEST_READING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/load.h"
#include "request/arriving.h"
#include "request/request.h"
#include "request/traceset.h"

/* Somebody who is called for an event; TRUE, or `stop` of the request, ends the run behind it. */
typedef struct ReadingHandStruct {
  PawEventHook call;
  LogRequest request;
} ReadingHandStruct, *ReadingHand;

/* Who is called for events of a type.  May be changed by the first who is called. */
typedef struct ReadingRouteStruct {
  ReadingHandStruct hand;        /* first this one, */
  const ReadingHandStruct *more; /* then these, up to one without `call`; NULL: nobody else */
  EventType type;
} ReadingRouteStruct, *ReadingRoute;

/* Whom a pass works for. */
typedef struct ReadingClientStruct {
  void *data;
  /* wanted -- which types are wanted of a block of `kind` whose events lie from `first` to `last`, fine (`last`
   * UINT64_MAX: unknown): by place in the process's registry, good until the next call; NULL: none, the block is
   * skipped unread.  May itself be NULL: everything. */
  const unsigned char *(*wanted)(void *data, Process process, unsigned kind, uint64_t first, uint64_t last);
  /* routes -- who is called for events out of blocks of `kind`, by place in the process's registry.  Good until the run
   * ends, or ReadingRoutesForget; NULL: no memory. */
  const ReadingRouteStruct *(*routes)(void *data, Process process, unsigned kind);
  /* halted -- somebody who was called for an event has set `halt`: call those who are left, as far as they are */
  void (*halted)(void *data, const ReadingHandStruct *more, LogEvent event);
  void (*gap)(void *data, LogGap gap); /* events are missing here; or NULL */
  Bool quiet;                          /* the log's hooks are told nothing */
} ReadingClientStruct, *ReadingClient;

/* An open block in the heap; the time of its next event stands here, where comparing finds it without a detour. */
typedef struct ReadingOpenStruct {
  uint64_t fine;
  Loaded loaded;
} ReadingOpenStruct, *ReadingOpen;

/* A block that did not load, kept until it is known whether a copy of it does. */
typedef struct ReadingFailureStruct {
  uint64_t place;
  uint64_t first, sequence;
  const char *what; /* NULL: nothing is pending */
  uint32_t count;
} ReadingFailureStruct, *ReadingFailure;

/* What a pass knows of a stream. */
typedef struct ReadingStreamStruct {
  Bool met;            /* a block of it, */
  uint64_t sequence;   /* and the highest number */
  Bool read;           /* the next five hold: the block that was had last, */
  uint64_t readFirst, readSequence;
  Index readFile;      /* where it was, */
  uint32_t readCount;  /* how many events of it, */
  Bool readSealed;     /* and that its writer had sealed it */
  ReadingFailureStruct failure;
} ReadingStreamStruct, *ReadingStream;

typedef struct ReadingStruct {
  Log log;
  ReadingClientStruct client;
  LogPositionStruct from;     /* where it began, */
  LogPositionStruct position; /* and where it is: all between has been delivered */
  LoaderStruct loader;
  ParkStruct park;
  IndexPassStruct pass;
  QueueStruct queue;
  Partials partials;   /* blocks of which copies may come again, longer; NULL: all are in the index */
  ReadingStream stream; /* by number */
  Count streams;
  ReadingOpen heap;    /* heap[0] is next; no parent comes behind its children */
  Count open, capacity;
  const IndexEntryStruct *entry; /* the block that is to be opened next, or NULL, */
  Bool queued;         /* which the queue has, */
  uint64_t next;       /* and when, fine; UINT64_MAX if there is none */
  uint64_t until;      /* fine: events from there on wait, where a log is followed */
  uint64_t latest;     /* fine: of the events delivered */
  uint64_t late;       /* events delivered behind later ones */
  uint64_t dropped;    /* events that were cut away from the log while it was read */
  uint64_t left;       /* events that the run may still deliver */
  uint64_t stamp;      /* of routes that are good */
  Bool halt;           /* set by whoever is called in a run: it ends behind this event or gap; not looked at
                          otherwise */
  Bool ended;          /* the run, by somebody who was called */
  Count failures;      /* that are pending in `stream` */
  uint64_t passed;     /* blocks that the pass has come to, */
  uint64_t blocks;     /* that were loaded, */
  uint64_t decoded;    /* and the events that they listed */
  Reporter reporter;
} ReadingStruct, *Reading;

/* ReadingCreate -- a pass that begins at `position`; ResMEMORY, ResIO.  Of a log that is followed there is one.
 * Cost: what stands open at that position is loaded by the first run.
 * ReadingDestroy -- what no copy could make good is told then */
extern Res ReadingCreate(Reading *readingReturn, Log log, const ReadingClientStruct *client,
                         const LogPositionStruct *position);
extern void ReadingDestroy(Reading reading);

/* ReadingRun -- hand out what comes before `end`, at most `count` events, until somebody who is called returns TRUE or
 * sets his request's `stop`.  Waits for more where the log is followed.
 *
 * What is left of `count` is reading->left.  reading->position is then `end`, or behind the last event if it did not
 * come so far.
 * returns ResOK; ResEND: there is nothing more, before `end` or behind it, and position is `end`; ResMEMORY, ResIO
 */
extern Res ReadingRun(Reading reading, const LogPositionStruct *end, uint64_t count);

/* ReadingLeap -- go on to a position that lies ahead; nothing before it is delivered.  What is open and has something
 * there stays open, and what ends before it is leapt over as by a new pass.  ResMEMORY, ResIO. */
extern Res ReadingLeap(Reading reading, const LogPositionStruct *to);

/* ReadingNext -- the time of the event that is next, fine; ResEND: there is none.  Of no log that is followed. */
extern Res ReadingNext(uint64_t *fineReturn, Reading reading);

/* ReadingRoutesForget -- what the client said of routes holds no longer; not while an event is handed out */
static inline void ReadingRoutesForget(Reading reading)
{
  ++reading->stamp;
}

/* For readingtell.c: what the pass knows of a stream; NULL: no memory. */
extern ReadingStream ReadingStreamOf(Reading reading, Stream stream);

/* What a pass tells (readingtell.c).
 *
 * ReadingFailureSet     a block did not load: keep that until it is known whether a copy of it does
 * ReadingFailureForget  it does not matter any more
 * ReadingFailureTell    no sound copy came; `had` of its events were had from a worse one
 * ReadingTellFailures   so it is with all blocks that the run came to
 * ReadingOmit           events cannot be had: no header block has their code, or (`code` 0) the process's registry
 * ReadingContrary       a sealed block contradicts one in the file `other`
 * ReadingTell           damage at a place
 * ReadingMissing        are blocks of the stream missing before this one?
 * ReadingTellScanned    once: what scanning found to be missing
 * ReadingTellEnd        at the pass's end: what no copy could make good */
extern void ReadingFailureSet(Reading reading, ReadingStream its, const IndexEntryStruct *entry, const char *what,
                              uint32_t count);
extern void ReadingFailureForget(Reading reading, ReadingStream its);
extern void ReadingFailureTell(Reading reading, ReadingStream its, uint32_t had);
extern void ReadingTellFailures(Reading reading);
extern void ReadingOmit(Reading reading, ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events,
                        uint16_t code);
extern void ReadingContrary(Reading reading, Process process, Index other, const IndexEntryStruct *entry);
extern void ReadingTell(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact);
extern void ReadingMissing(Reading reading, Stream stream, const IndexEntryStruct *entry);
extern void ReadingTellScanned(Reading reading);
extern void ReadingTellEnd(Reading reading);

/* What follow.c does for the pass over a log that is followed: begin; take what came, ResEND if it stopped waiting;
 * end.  Of other passes over it nothing. */
extern void FollowBegin(Follow follow, Reading reading);
extern Res FollowRound(Follow follow);
extern void FollowEnd(Follow follow, Reading reading);

#endif /* REQUEST_READING_H */
