/* reading.h -- a pass over a traceset: merges the events of its streams by time, from a position on
 *
 * A heap holds the blocks that are open, by the time of their next event.  A block is loaded when the merge comes to
 * the time at which it was opened, and given back with its last event.  Which blocks there are is known by the index,
 * or, for what came while the pass runs, by a queue.
 *
 * A pass can be left at any position, and gone on with; several may be under way.
 *
 * Always true between runs: no event before `position` is left undelivered, and none at or behind it was delivered;
 * (ReadingCheck) each open block has a next event, whose time stands in the heap, and none comes before its parent
 * there.
 *
 * Design: design/log.md, design/requests.md .pass.on .route      Tests: test/log/logtest.c, test/request/followtest.c,
 * test/request/requesttest.c
 */
#ifndef REQUEST_READING_H
#define REQUEST_READING_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/load.h"
#include "request/arriving.h"
#include "request/request.h"
#include "request/traceset.h"

/* A hook and its request.  If the hook returns TRUE, or the request has `stop`, the run ends behind the event. */
typedef struct ReadingHandStruct {
  PawEventHook call;
  LogRequest request;
} ReadingHandStruct, *ReadingHand;

/* The hooks for events of a type.  The first may change the route while it is called. */
typedef struct ReadingRouteStruct {
  ReadingHandStruct hand;        /* first this one, */
  const ReadingHandStruct *more; /* then these, up to one without `call`; NULL: no others */
  EventType type;
} ReadingRouteStruct, *ReadingRoute;

/* The client of a pass: what it wants, and the hooks for it. */
typedef struct ReadingClientStruct {
  void *data;
  /* wanted -- which types are wanted of a block of `kind` whose events lie from `first` to `last`, fine (`last`
   * UINT64_MAX: unknown): by place in the process's registry, good until the next call; NULL: none, the block is
   * skipped unread.  May itself be NULL: everything. */
  const unsigned char *(*wanted)(void *data, Process process, unsigned kind, uint64_t first, uint64_t last);
  /* routes -- the hooks for events out of blocks of `kind`, by place in the process's registry.  Good until the run
   * ends, or ReadingRoutesForget; NULL: no memory. */
  const ReadingRouteStruct *(*routes)(void *data, Process process, unsigned kind);
  /* halted -- a hook for an event has set `halt`: call the hooks behind it whose requests are still served */
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
  IndexEntryStruct entry;
  const char *what; /* NULL: nothing is pending */
  uint32_t lost;    /* events */
} ReadingFailureStruct, *ReadingFailure;

/* What a pass knows of a stream. */
typedef struct ReadingStreamStruct {
  Bool met;            /* a block of it, */
  uint64_t sequence;   /* and the highest number */
  Bool read;           /* some block was loaded, */
  IndexEntryStruct had; /* this one last */
  ReadingFailureStruct failure;
} ReadingStreamStruct, *ReadingStream;

typedef struct ReadingStruct {
  Log log;
  ReadingClientStruct client;
  LogPositionStruct from;     /* where it began, */
  LogPositionStruct position; /* and where it is: all between has been delivered */
  LoaderStruct loader;
  SpillStruct spill;
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
  Bool halt;           /* set by a hook in a run: the run ends behind this event or gap; not looked at
                          otherwise */
  Bool ended;          /* a hook has ended the run */
  Count failures;      /* that are pending in `stream` */
  uint64_t passed;     /* blocks that the pass has come to */
  Reporter reporter;
} ReadingStruct, *Reading;

/* ReadingCreate -- a pass that begins at `position`; ResMEMORY, ResIO.  Of a log that is followed there is one.
 * Cost: what stands open at that position is loaded by the first run.
 * ReadingDestroy -- blocks that failed, and of which no copy was sound, are reported then */
extern Res ReadingCreate(Reading *readingReturn, Log log, const ReadingClientStruct *client,
                         const LogPositionStruct *position);
extern void ReadingDestroy(Reading reading);
extern Bool ReadingCheck(Reading reading);

/* ReadingRun -- hand out what comes before `end`, at most `count` events, until a hook returns TRUE or
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

/* ReadingTie -- of two blocks whose next events have the same time, does `a` come first?  By process, stream and number
 * of the block. */
static inline Bool ReadingTie(Loaded a, Loaded b)
{
  if (a->stream->process != b->stream->process)
    return a->stream->process->public.number < b->stream->process->public.number;
  if (a->stream->id != b->stream->id)
    return a->stream->id < b->stream->id;
  return a->sequence < b->sequence;
}

/* ReadingBefore -- the one order of all events */
static inline Bool ReadingBefore(const ReadingOpenStruct *a, const ReadingOpenStruct *b)
{
  return LIKELY(a->fine != b->fine) ? a->fine < b->fine : ReadingTie(a->loaded, b->loaded);
}

/* ReadingPosition -- the position before the next event of an open block */
static inline LogPositionStruct ReadingPosition(Loaded loaded)
{
  const LoadedItemStruct *item = &loaded->item[loaded->next];

  return (LogPositionStruct){item->fine, loaded->stream->process->public.number, loaded->stream->id, loaded->sequence,
                             loaded->original == NULL ? item->at : loaded->original[loaded->next]};
}

/* The open blocks (readingopen.c).
 *
 * ReadingBlockOpen   load the block of an entry, unless it is a copy of one that was delivered; ResMEMORY, ResIO
 * ReadingBlockGive   a block is not needed any more
 * ReadingBlocksSift  close the blocks that have nothing at reading->from or behind it; leave out what the others have
 *                    before */
extern Res ReadingBlockOpen(Reading reading, const IndexEntryStruct *entry);
extern void ReadingBlockGive(Reading reading, Loaded loaded);
extern Res ReadingBlocksSift(Reading reading);

/* For readingtell.c: what the pass knows of a stream; NULL: no memory. */
extern ReadingStream ReadingStreamOf(Reading reading, LogStream stream);

/* What a pass tells (readingtell.c).
 *
 * ReadingFailureSet     a block did not load: keep that until it is known whether a copy of it does
 * ReadingFailureForget  it does not matter any more
 * ReadingFailureTell    no sound copy came; `had` of its events were delivered from a worse one
 * ReadingTellFailures   so it is with all blocks that the run came to
 * ReadingOmit           events cannot be had: no header block has their code, or (`code` 0) the process's registry
 * ReadingContrary       a sealed block contradicts one in the file `other`
 * ReadingTell           damage at a place
 * ReadingMissing        are blocks of the stream missing before this one?
 * ReadingTellScanned    once: what scanning found to be missing
 * ReadingTellEnd        at the pass's end: what no copy could make good */
extern void ReadingFailureSet(Reading reading, ReadingStream its, const IndexEntryStruct *entry, const char *what,
                              uint32_t lost);
extern void ReadingFailureForget(Reading reading, ReadingStream its);
extern void ReadingFailureTell(Reading reading, ReadingStream its, uint32_t had);
extern void ReadingTellFailures(Reading reading);
extern void ReadingOmit(Reading reading, ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events,
                        uint16_t code);
extern void ReadingContrary(Reading reading, Process process, Index other, const IndexEntryStruct *entry);
extern void ReadingTell(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact);
extern void ReadingMissing(Reading reading, LogStream stream, const IndexEntryStruct *entry);
extern void ReadingTellScanned(Reading reading);
extern void ReadingTellEnd(Reading reading);

/* What follow.c does for the pass over a log that is followed: begin; take what came, ResEND if it stopped waiting;
 * end.  Of other passes over it nothing. */
extern void FollowBegin(Follow follow, Reading reading);
extern Res FollowRound(Follow follow);
extern void FollowEnd(Follow follow, Reading reading);

#endif /* REQUEST_READING_H */
