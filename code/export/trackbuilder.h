/* trackbuilder.h -- a log as a picture has it: lanes, slices, marks and gauges, in order of time
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
 * Design: design/view.md .drawn      Tests: test/drawn.t
 */
#ifndef EXPORT_TRACKBUILDER_H
#define EXPORT_TRACKBUILDER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/threads.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "heap/interns.h"

typedef Writer Draw; /* of a format that is drawn */

/* A value that changes. */
typedef struct DrawGaugeStruct {
  WhoProcess process;
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
  struct DrawGaugeStruct *later; /* that is due next */
  struct DrawGaugeStruct *bucket; /* of equal hash */
  struct DrawGaugeStruct *next;  /* that appeared before */
} DrawGaugeStruct, *DrawGauge;

/* How it is written; times are ns since the picture's start. */
typedef struct DrawPenStruct {
  Bool strict; /* no time is to be told after a later one: peaks come late, and reading is slower */
  const char *head; /* what comes first */
  void (*process)(Draw draw, WhoProcess process, uint64_t time);
  void (*thread)(Draw draw, WhoThread thread, Bool again, uint64_t time); /* again: it has another name */
  void (*gauge)(Draw draw, DrawGauge gauge, uint64_t time); /* NULL: nothing is written of a new one */
  void (*value)(Draw draw, DrawGauge gauge, uint64_t value, uint64_t time);
  void (*begin)(Draw draw, WhoThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*end)(Draw draw, WhoThread thread, uint32_t name, uint64_t time);
  void (*mark)(Draw draw, WhoThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*tail)(Draw draw, uint64_t time); /* what comes last; up to this time has been drawn */
} DrawPenStruct;

enum {
  DrawPoolsMAX = 16,   /* pools of a process that have gauges */
  DrawDepthMAX = 32,   /* slices in a lane, one in the other */
  DrawGAUGES = 4096
};

#define DrawLARGE ((uint64_t)1 << 20) /* bytes of an allocation that has a mark of its own */

typedef enum DrawRole {
  DrawRoleUNSEEN, DrawRoleQUIET, DrawRoleALLOC, DrawRoleMARK, DrawRoleBEGIN, DrawRoleEND, DrawRoleSAMPLE,
  DrawRoleINTERN, DrawRoleUSER
} DrawRole;

/* What an event type is in a picture. */
typedef struct DrawPlanStruct {
  uint8_t role;
  Bool heap;           /* HeapEvent wants it */
  uint32_t name;       /* of its mark; of the slice that it begins or ends */
  int param;           /* ALLOC: size; INTERN, USER: the number of the string; SAMPLE: the process or -1; or -1 */
  uint64_t salt[EventParamMAX]; /* BEGIN, END: of a parameter that the other type has, too; else 0 */
  int other;           /* INTERN: the string; USER: the value; SAMPLE: the thread, or -1 */
} DrawPlanStruct, *DrawPlan;

typedef struct DrawSliceStruct {
  uint32_t name;
  Bool drawn;
  uint64_t start;
  uint64_t key;        /* of what its two events both say; 0: nothing */
} DrawSliceStruct, *DrawSlice;

typedef struct DrawSeenStruct {
  uint32_t name;
  uint64_t time;
} DrawSeenStruct, *DrawSeen;

typedef struct DrawLaneStruct {
  WhoThread thread;
  Bool told;           /* to the pen */
  unsigned depth;
  DrawSliceStruct slice[DrawDepthMAX];
  Count seens, seenCapacity;
  DrawSeen seen;       /* owned; types that were drawn, and when last */
  Bool waiting;        /* a slice may be longer than it is thinned */
  uint64_t due;
  struct DrawLaneStruct *later, *next;
} DrawLaneStruct, *DrawLane;

typedef struct DrawProcessStruct {
  Bool told;
  Count open;          /* slices in its lanes */
  uint64_t liveBytes, liveObjects;
  DrawGauge bytes, objects;
  Count pools;         /* that have been met, of the first DrawPoolsMAX */
  struct {
    uint64_t bytes;
    uint32_t class;
    Bool met;
    DrawGauge gauge;
  } pool[DrawPoolsMAX];
} DrawProcessStruct, *DrawProcess;

struct WriterStruct {
  const DrawPenStruct *pen;
  Output output;
  void *own;           /* the pen's own memory, given back with the picture, */
  Count owns;          /* and a number of its own */
  Log log;
  OfProcess of;        /* whose processes are drawn; NULL: all */
  uint64_t start, thin, now; /* ns; start of wall time, now since then */
  Bool failed;         /* there was no memory */
  WhoStruct who;
  InternsStruct interns; /* with strings of `who` */
  PlansStruct plans;
  Heap heap;
  DrawProcess *held;     /* by the log's number, of what is not drawn yet: what lived when the picture began; or NULL */
  Bool before;           /* what is taken now was before the picture begins */
  DrawGauge gauges;    /* all */
  Count gaugeCount;
  DrawGauge gauge[DrawGAUGES]; /* by hash */
  DrawGauge firstGauge, lastGauge; /* that wait */
  DrawLane lanes;
  DrawLane firstLane, lastLane;
};

/* DrawCreate -- what `create` of such a format's class does: nothing is drawn yet.  `pen` must stay.  ResMEMORY. */
extern Res DrawCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output,
                      const DrawPenStruct *pen);

/* DrawCLASS -- the rest of its class, but the name */
extern Bool DrawEvent(LogRequest request, LogEvent event);
extern Res DrawRead(Writer writer, LogRequest request);
extern Res DrawFinish(Writer writer);
extern void DrawDestroy(Writer writer);
#define DrawCLASS \
  .heirs = TRUE, .takes = WriterTakesTHIN, .event = DrawEvent, .read = DrawRead, \
  .finish = DrawFinish, .destroy = DrawDestroy

/* ---- Between the two files ---- */

/* DrawHides -- is the process there only because others have inherited its objects? */
static inline Bool DrawHides(Draw draw, Index process)
{
  return UNLIKELY(draw->of != NULL) && OfProcessBefore(draw->of, process);
}

/* DrawProcessOf -- what is drawn of it, told to the pen; NULL: no memory */
extern DrawProcess DrawProcessOf(Draw draw, WhoProcess process);

/* DrawMark -- something happens in a lane */
extern void DrawMark(Draw draw, DrawLane lane, uint32_t name, LogEvent event);

/* DrawGaugeDue -- the first gauge that waits is due, or nothing more comes (`last`) */
extern void DrawGaugeDue(Draw draw, Bool last);

/* DrawHeld -- what is known of a process that is not drawn yet, made if there is nothing; `take`: which is drawn from
 * now on.  NULL: no memory. */
extern DrawProcess DrawHeld(Draw draw, WhoProcess process, Bool take);

/* DrawHeapBegin -- a process is drawn from now on: so is what lives in it */
extern void DrawHeapBegin(Draw draw, WhoProcess process);

/* DrawHeapLives -- what is told from now on is to be drawn; what lives now is held for when its process is.  ResMEMORY. */
extern Res DrawHeapLives(Draw draw);

/* DrawHeapMake -- a heap whose operations move the gauges.  ResMEMORY. */
extern Res DrawHeapMake(Draw draw);

/* DrawSample, DrawUser -- events that say values */
extern void DrawSample(Draw draw, DrawPlan plan, LogEvent event);
extern void DrawUser(Draw draw, DrawPlan plan, LogEvent event);

#endif /* EXPORT_TRACKBUILDER_H */
