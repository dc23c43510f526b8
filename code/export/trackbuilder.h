/* trackbuilder.h -- a picture of a log: lanes, slices, marks and counters, in order of time
 *
 * What is drawn of a log is decided here, for all formats that are pictures; the sink of a format writes it.
 * Each thread is a lane, and so are a process's collections (types that say `pool` and `trace`).  Types of events that
 * come in pairs (XBegin and XEnd, XStart and XEnd, XRequest and XAcquire, XReach and XResume) make a slice of it,
 * others a mark, and the live heap, samples and what programs count themselves make counters.
 *
 * Thinned, a counter is written at most twice in so long: as it was at the end, and its peak if that was higher; of
 * marks and slices of one type in one lane the first is drawn, and slices that are longer.
 *
 * trackbuilder.c takes events and has the lanes; trackplan.c knows types, and trackcounter.c has the counters.
 *
 * Always true of the calls of a sink: the times of a lane do not fall, nor those of a counter; of a `strict` sink no
 * times do.  A process comes before its threads and counters, and these before what is in them; slices of a lane nest,
 * and all of them end.
 *
 * Always true (TrackCheck, but not once `failed`): a counter's number is its place in `counter`, from 1; a lane has at
 * most TrackDepthMAX slices, and is its thread's client; a process counts the slices of its lanes; what is in a queue
 * waits.
 *
 * Always true: counters and lanes that wait do so in the order in which they began to, because all wait equally long;
 * what is due comes before the next event does.  Where the sink is not strict, the heap may tell later of what happened
 * earlier: a counter that is told of something behind the time when it was due is written first.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawn.t, test/export/exportchecktest.c
 */
#ifndef EXPORT_TRACKBUILDER_H
#define EXPORT_TRACKBUILDER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/threads.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "heap/labels.h"

typedef Writer TrackBuilder; /* of a format that is drawn */

/* What waits until it is due; a counter or a lane begins with it. */
typedef struct TrackWaitStruct {
  void (*settle)(TrackBuilder builder, struct TrackWaitStruct *wait, Bool last); /* it is due, or all is (`last`) */
  Bool waiting;
  uint64_t due;        /* ns; if it is waiting */
  struct TrackWaitStruct *later; /* that is due next */
} TrackWaitStruct, *TrackWait;

typedef struct TrackQueueStruct {
  TrackWait first, last;
} TrackQueueStruct, *TrackQueue;

/* A value that changes. */
typedef struct TrackCounterStruct {
  TrackWaitStruct wait;
  ThreadsProcess process;
  uint32_t name;       /* in who.strings */
  uint32_t number;     /* 1, 2, ... in order of appearance */
  Bool real;           /* it is a double, whose bits `value` has */
  Bool pool;           /* it has the live bytes of one pool, whose name it has */
  uint64_t value;      /* now */
  uint64_t written;    /* the value written last, */
  uint64_t at;         /* and the time that was written with it */
  uint64_t peak, peakTime; /* the highest since then */
} TrackCounterStruct, *TrackCounter;

/* TrackReal -- the double whose bits a value is */
static inline double TrackReal(uint64_t value)
{
  double d;

  memcpy(&d, &value, sizeof d);
  return d;
}

/* How it is written; times are ns since the picture's start. */
typedef struct TrackSinkStruct {
  Bool strict; /* no call may have an earlier time than one before it: peaks come late, and reading is slower */
  Bool calls;       /* it shows who called: `calls` of the builder are read */
  const char *head; /* what comes first */
  void (*process)(TrackBuilder builder, ThreadsProcess process, uint64_t time);
  void (*thread)(TrackBuilder builder, ThreadsThread thread, Bool again, uint64_t time); /* again: another name */
  void (*counter)(TrackBuilder builder, TrackCounter counter, uint64_t time); /* NULL: nothing is written of a new one */
  void (*value)(TrackBuilder builder, TrackCounter counter, uint64_t value, uint64_t time);
  void (*begin)(TrackBuilder builder, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*end)(TrackBuilder builder, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*mark)(TrackBuilder builder, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*tail)(TrackBuilder builder, uint64_t time); /* what comes last; up to this time has been drawn */
} TrackSinkStruct;

enum {
  TrackPoolsMAX = 16,   /* pools of a process that have counters */
  TrackDepthMAX = 32    /* slices in a lane, one in the other */
};

#define TrackLARGE ((uint64_t)1 << 20) /* bytes of an allocation that has a mark of its own */

typedef enum TrackRole {
  TrackRoleUNSEEN, TrackRoleQUIET, TrackRoleALLOC, TrackRoleMARK, TrackRoleBEGIN, TrackRoleEND, TrackRoleSAMPLE,
  TrackRoleINTERN, TrackRoleUSER
} TrackRole;

/* What an event type is in a picture. */
typedef struct TrackPlanStruct {
  uint8_t role;
  Bool heap;           /* HeapEvent wants it */
  Bool collection;     /* it is about a collection, and is drawn in the lane of these */
  uint32_t name;       /* of its mark; of the slice that it begins or ends */
  int param;           /* ALLOC: size; INTERN, USER: the number of the string; SAMPLE: the process or -1; or -1 */
  uint64_t salt[EventParamMAX]; /* BEGIN, END: of a parameter that the other type has, too; else 0 */
  int other;           /* INTERN: the string; USER: the value; SAMPLE: the thread, or -1 */
} TrackPlanStruct, *TrackPlan;

typedef struct TrackSliceStruct {
  uint32_t name;
  Bool drawn;
  uint64_t start;
  uint64_t key;        /* of the parameters that its two events have in common; 0: none */
} TrackSliceStruct, *TrackSlice;

typedef struct TrackSeenStruct {
  uint32_t name;
  uint64_t time;
} TrackSeenStruct, *TrackSeen;

typedef struct TrackLaneStruct {
  TrackWaitStruct wait; /* while a slice may turn out longer than it is thinned */
  ThreadsThread thread;
  Bool told;           /* to the sink */
  unsigned depth;
  TrackSliceStruct slice[TrackDepthMAX];
  Count seens, seenCapacity;
  TrackSeen seen;       /* owned; types that were drawn, and when last */
  struct TrackLaneStruct *next;
} TrackLaneStruct, *TrackLane;

typedef struct TrackProcessStruct {
  Bool told;
  Count open;          /* slices in its lanes */
  uint64_t liveBytes, liveObjects;
  TrackCounter bytes, objects;
  Count pools;         /* that have been met, of the first TrackPoolsMAX */
  struct {
    uint64_t bytes;
    uint32_t class;
    Bool met;
    TrackCounter counter;
  } pool[TrackPoolsMAX];
} TrackProcessStruct, *TrackProcess;

struct WriterStruct {
  const TrackSinkStruct *sink;
  Output output;
  Count objects;         /* chrome: that were written */
  CallsStruct calls;     /* if the sink shows them */
  StringsStruct frames;  /* chrome: chromeFrameStructs, whose numbers are their ids */
  StringsStruct defined; /* paje: names that have an alias, and as what */
  Log log;
  OfProcess of;        /* whose processes are drawn; NULL: all */
  uint64_t start, thin, now; /* ns; start of wall time, now since then */
  Bool failed;         /* there was no memory */
  ThreadsStruct who;
  LabelsStruct labels; /* with strings of `who` */
  TypeCacheStruct plans;
  Heap heap;
  TrackProcess *held;    /* by the log's number: what lived at the beginning in processes not drawn yet; or NULL */
  Bool before;           /* the events that are taken now come before the picture begins */
  StringsStruct counterKeys; /* what tells counters apart, */
  TrackCounter *counter;     /* and by its number - 1 each counter */
  Count counters, counterCapacity;
  TrackLane lanes;
  TrackQueueStruct counterQueue, laneQueue; /* those that wait */
};

/* TrackCLASS -- the class of a format that is drawn, which takes `more` options; `sink` must stay */
extern Res TrackCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options);
extern Bool TrackEvent(LogRequest request, LogEvent event);
extern Res TrackRead(Writer writer, LogRequest request);
extern void TrackFinish(Writer writer);
extern void TrackDestroy(Writer writer);
extern Bool TrackCheck(TrackBuilder builder);
#define TrackCLASS(theName, sink, more) \
  {.name = theName, .heirs = TRUE, .takes = WriterTakesTHIN | (more), .own = sink, .create = TrackCreate, \
   .event = TrackEvent, .read = TrackRead, .finish = TrackFinish, .destroy = TrackDestroy}

/* ---- Between the files ---- */

/* TrackPlanMake -- what the event's type is in a picture */
extern void TrackPlanMake(TrackBuilder builder, TrackPlan plan, LogEvent event);

/* TrackHides -- is the process there only because others have inherited its objects? */
static inline Bool TrackHides(TrackBuilder builder, Index process)
{
  return UNLIKELY(builder->of != NULL) && OfProcessBefore(builder->of, process);
}

/* TrackProcessOf -- what is drawn of it, told to the sink; NULL: no memory */
extern TrackProcess TrackProcessOf(TrackBuilder builder, ThreadsProcess process);

/* TrackMark -- something happens in a lane */
extern void TrackMark(TrackBuilder builder, TrackLane lane, uint32_t name, LogEvent event);

/* TrackWaitFor -- it waits from now on, behind all that wait already */
extern void TrackWaitFor(TrackQueue queue, TrackWait wait, uint64_t due);

/* TrackHeld -- what is held of a process that is not drawn yet, made if there is nothing; with `take` it is held no
 * longer, because the process is drawn from now on.  NULL: no memory. */
extern TrackProcess TrackHeld(TrackBuilder builder, ThreadsProcess process, Bool take);

/* TrackHeapBegin -- a process is drawn for the first time: draw what lives in it */
extern void TrackHeapBegin(TrackBuilder builder, ThreadsProcess process);

/* TrackHeapLives -- the picture begins: hold what lives now until its process is drawn.  ResMEMORY. */
extern Res TrackHeapLives(TrackBuilder builder);

/* TrackHeapMake -- a heap whose operations move the counters.  ResMEMORY. */
extern Res TrackHeapMake(TrackBuilder builder);

/* TrackSample, TrackUser -- events that say values */
extern void TrackSample(TrackBuilder builder, TrackPlan plan, LogEvent event);
extern void TrackUser(TrackBuilder builder, TrackPlan plan, LogEvent event);

#endif /* EXPORT_TRACKBUILDER_H */
