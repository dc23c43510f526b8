/* trackbuilder.h -- a picture of a log: lanes, slices, marks and counters, in order of time
 *
 * What is to be seen of a log is decided here, for all formats that are drawn; a pen writes it in the way of one.
 * Each thread is a lane.  Types of events that come in pairs (XBegin and XEnd, XStart and XEnd, XRequest and XAcquire,
 * XReach and XResume) make a slice of it, others a mark, and the live heap, samples and what programs count themselves
 * make gauges.
 *
 * Thinned, a gauge is written at most twice in so long: as it was at the end, and its peak if that was higher; of marks
 * and slices of one type in one lane the first is drawn, and slices that are longer.
 *
 * trackbuilder.c takes events, knows types and has the lanes; trackcounter.c has the gauges.
 *
 * Always true of what a pen is told: the times of a lane do not fall, nor those of a gauge; of a `strict` pen no times
 * do.  A process is told before its threads and gauges, and these before what is in them; slices of a lane nest, and
 * all of them end.
 *
 * Always true: gauges and lanes that wait do so in the order in which they began to, because all wait equally long;
 * what is due comes before the next event does.  Where the pen is not strict, the heap may tell later of what happened
 * earlier: a gauge that is told of something behind the time when it was due is written first.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawn.t
 */
#ifndef EXPORT_TRACKBUILDER_H
#define EXPORT_TRACKBUILDER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/threads.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "heap/interns.h"

typedef Writer TrackBuilder; /* of a format that is drawn */

/* A value that changes. */
typedef struct TrackCounterStruct {
  ThreadsProcess process;
  uint32_t name;       /* in who.strings */
  uint32_t number;     /* 1, 2, ... in order of appearance */
  Bool real;           /* it is a double, whose bits `value` has */
  Bool pool;           /* it has the live bytes of one pool, whose name it has */
  uint64_t value;      /* now */
  uint64_t written;    /* the value written last, */
  uint64_t at;         /* and the time that was written with it */
  uint64_t peak, peakTime; /* the highest since then */
  uint64_t due;        /* ns; if it is waiting */
  Bool waiting;
  struct TrackCounterStruct *later; /* that is due next */
  struct TrackCounterStruct *bucket; /* of equal hash */
  struct TrackCounterStruct *next;  /* that appeared before */
} TrackCounterStruct, *TrackCounter;

/* How it is written; times are ns since the picture's start. */
typedef struct TrackSinkStruct {
  Bool strict; /* no time is to be told after a later one: peaks come late, and reading is slower */
  const char *head; /* what comes first */
  void (*process)(TrackBuilder builder, ThreadsProcess process, uint64_t time);
  void (*thread)(TrackBuilder builder, ThreadsThread thread, Bool again, uint64_t time); /* again: it has another name */
  void (*gauge)(TrackBuilder builder, TrackCounter gauge, uint64_t time); /* NULL: nothing is written of a new one */
  void (*value)(TrackBuilder builder, TrackCounter gauge, uint64_t value, uint64_t time);
  void (*begin)(TrackBuilder builder, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*end)(TrackBuilder builder, ThreadsThread thread, uint32_t name, uint64_t time);
  void (*mark)(TrackBuilder builder, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*tail)(TrackBuilder builder, uint64_t time); /* what comes last; up to this time has been drawn */
} TrackSinkStruct;

enum {
  TrackPoolsMAX = 16,   /* pools of a process that have gauges */
  TrackDepthMAX = 32,   /* slices in a lane, one in the other */
  TrackGAUGES = 4096
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
  uint32_t name;       /* of its mark; of the slice that it begins or ends */
  int param;           /* ALLOC: size; INTERN, USER: the number of the string; SAMPLE: the process or -1; or -1 */
  uint64_t salt[EventParamMAX]; /* BEGIN, END: of a parameter that the other type has, too; else 0 */
  int other;           /* INTERN: the string; USER: the value; SAMPLE: the thread, or -1 */
} TrackPlanStruct, *TrackPlan;

typedef struct TrackSliceStruct {
  uint32_t name;
  Bool drawn;
  uint64_t start;
  uint64_t key;        /* of what its two events both say; 0: nothing */
} TrackSliceStruct, *TrackSlice;

typedef struct TrackSeenStruct {
  uint32_t name;
  uint64_t time;
} TrackSeenStruct, *TrackSeen;

typedef struct TrackLaneStruct {
  ThreadsThread thread;
  Bool told;           /* to the pen */
  unsigned depth;
  TrackSliceStruct slice[TrackDepthMAX];
  Count seens, seenCapacity;
  TrackSeen seen;       /* owned; types that were drawn, and when last */
  Bool waiting;        /* a slice may be longer than it is thinned */
  uint64_t due;
  struct TrackLaneStruct *later, *next;
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
    TrackCounter gauge;
  } pool[TrackPoolsMAX];
} TrackProcessStruct, *TrackProcess;

struct WriterStruct {
  const TrackSinkStruct *pen;
  Output output;
  void *own;           /* the pen's own memory, given back with the picture, */
  Count owns;          /* and a number of its own */
  Log log;
  OfProcess of;        /* whose processes are drawn; NULL: all */
  uint64_t start, thin, now; /* ns; start of wall time, now since then */
  Bool failed;         /* there was no memory */
  ThreadsStruct who;
  InternsStruct interns; /* with strings of `who` */
  TypeCacheStruct plans;
  Heap heap;
  TrackProcess *held;     /* by the log's number, of what is not drawn yet: what lived when the picture began; or NULL */
  Bool before;           /* what is taken now was before the picture begins */
  TrackCounter gauges;    /* all */
  Count gaugeCount;
  TrackCounter gauge[TrackGAUGES]; /* by hash */
  TrackCounter firstGauge, lastGauge; /* that wait */
  TrackLane lanes;
  TrackLane firstLane, lastLane;
};

/* TrackCreate -- what `create` of such a format's class does: nothing is drawn yet.  `pen` must stay.  ResMEMORY. */
extern Res TrackCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output,
                       const TrackSinkStruct *pen);

/* TrackCLASS -- the rest of its class, but the name */
extern Bool TrackEvent(LogRequest request, LogEvent event);
extern Res TrackRead(Writer writer, LogRequest request);
extern Res TrackFinish(Writer writer);
extern void TrackDestroy(Writer writer);
#define TrackCLASS \
  .heirs = TRUE, .takes = WriterTakesTHIN, .event = TrackEvent, .read = TrackRead, \
  .finish = TrackFinish, .destroy = TrackDestroy

/* ---- Between the two files ---- */

/* TrackHides -- is the process there only because others have inherited its objects? */
static inline Bool TrackHides(TrackBuilder builder, Index process)
{
  return UNLIKELY(builder->of != NULL) && OfProcessBefore(builder->of, process);
}

/* TrackProcessOf -- what is drawn of it, told to the pen; NULL: no memory */
extern TrackProcess TrackProcessOf(TrackBuilder builder, ThreadsProcess process);

/* TrackMark -- something happens in a lane */
extern void TrackMark(TrackBuilder builder, TrackLane lane, uint32_t name, LogEvent event);

/* TrackCounterDue -- the first gauge that waits is due, or nothing more comes (`last`) */
extern void TrackCounterDue(TrackBuilder builder, Bool last);

/* TrackHeld -- what is known of a process that is not drawn yet, made if there is nothing; `take`: which is drawn from
 * now on.  NULL: no memory. */
extern TrackProcess TrackHeld(TrackBuilder builder, ThreadsProcess process, Bool take);

/* TrackHeapBegin -- a process is drawn from now on: so is what lives in it */
extern void TrackHeapBegin(TrackBuilder builder, ThreadsProcess process);

/* TrackHeapLives -- what is told from now on is to be drawn; what lives now is held for when its process is.  ResMEMORY. */
extern Res TrackHeapLives(TrackBuilder builder);

/* TrackHeapMake -- a heap whose operations move the gauges.  ResMEMORY. */
extern Res TrackHeapMake(TrackBuilder builder);

/* TrackSample, TrackUser -- events that say values */
extern void TrackSample(TrackBuilder builder, TrackPlan plan, LogEvent event);
extern void TrackUser(TrackBuilder builder, TrackPlan plan, LogEvent event);

#endif /* EXPORT_TRACKBUILDER_H */
