/* draw.h -- a log as a picture has it: lanes, slices, marks and gauges, in order of time
 *
 * What is to be seen of a log is decided here, for all formats that are drawn; a pen writes it in the way of one.
 * Each thread is a lane.  Types of events that come in pairs (XBegin and XEnd, XStart and XEnd, XRequest and XAcquire,
 * XReach and XResume) make a slice of it, others a mark, and the live heap, samples and what programs count themselves
 * make gauges.
 *
 * Thinned, a gauge is written at most twice in so long: as it was at the end, and its peak if that was higher; of marks
 * and slices of one type in one lane the first is drawn, and slices that are longer.
 *
 * Always true of what a pen is told: the times of a lane do not fall, nor those of a gauge; of a `strict` pen no times
 * do.  A process is told before its threads and gauges, and these before what is in them; slices of a lane nest, and
 * all of them end.
 *
 * Design: design/view.md .drawn      Tests: test/drawn.t
 */
#ifndef VIEW_DRAW_H
#define VIEW_DRAW_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/output.h"
#include "view/who.h"
#include "view/writer.h"

typedef struct DrawStruct *Draw;

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

/* How it is written; times are ns since the picture's start, `data` is the pen's own. */
typedef struct DrawPenStruct {
  void *data;
  Bool strict; /* no time is to be told after a later one: peaks come late, and reading is slower */
  void (*process)(void *data, WhoProcess process, uint64_t time);
  void (*thread)(void *data, WhoThread thread, Bool again, uint64_t time); /* again: it has another name */
  void (*gauge)(void *data, DrawGauge gauge, uint64_t time);
  void (*value)(void *data, DrawGauge gauge, uint64_t value, uint64_t time);
  void (*begin)(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time);
  void (*end)(void *data, WhoThread thread, uint32_t name, uint64_t time);
  void (*mark)(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time);
} DrawPenStruct;

/* DrawCreate -- nothing drawn yet; `pen` must stay.  ResMEMORY. */
extern Res DrawCreate(Draw *drawReturn, const WriterOptionsStruct *options, Log log, const DrawPenStruct *pen);
extern void DrawDestroy(Draw draw);

/* DrawEvent -- draw what an event says; in the order of LogRead.  FALSE: no memory. */
extern Bool DrawEvent(Draw draw, LogEvent event);

/* DrawRead -- read what `request` chooses, whose hook draws; what its events call things by number is learned from all of
 * the log.  As LogRead. */
extern Res DrawRead(Draw draw, LogRequest request);

/* DrawFinish -- what is held back, and the ends of all slices; the last time in *endReturn.  ResMEMORY. */
extern Res DrawFinish(Draw draw, uint64_t *endReturn);

/* DrawWho, DrawGauges -- who was met; all gauges, the newest first */
extern Who DrawWho(Draw draw);
extern DrawGauge DrawGauges(Draw draw);

#endif /* VIEW_DRAW_H */
