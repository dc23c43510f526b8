/* live.h -- what lives at a time, counted
 *
 * Objects are counted by pool, by size, by thread and, where that was recorded, by caller; the largest and the oldest
 * are named.  A size class has the sizes from a power of two to below the next.
 *
 * Always true: the objects of a process's pools, size classes and threads each sum up to its own;  a row of threads,
 * callers or size classes that is left once all are counted has objects.
 *
 * Design: design/view.md .live      Tests: test/analyse/live.t
 */
#ifndef ANALYSE_LIVE_H
#define ANALYSE_LIVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "analyse/views.h"
#include "heap/heapat.h"
#include "analyse/viewlabels.h"

/* Objects of one sort. */
typedef struct LiveRowStruct {
  uint64_t key;  /* of threads the system's number, of callers a number in `places`, of size classes the least size */
  uint64_t objects, bytes;
  uint64_t site; /* of callers, the address that one of its calls returns to; 0: not known */
} LiveRowStruct, *LiveRow;

typedef struct LiveRowsStruct {
  Count count;
  LiveRow row; /* owned */
} LiveRowsStruct, *LiveRows;

typedef struct LiveObjectStruct {
  HeapPool pool;
  HeapObjectStruct object;
} LiveObjectStruct, *LiveObject;

/* The first `most` of any number of objects in an order, as qsort wants it.  There is room for twice as many: when that
 * is full it is sorted, and only the first are kept. */
typedef struct LiveTopStruct {
  int (*order)(const void *a, const void *b);
  Count count, most;
  Bool full;         /* the first `most` are sorted; what comes behind them is none of the first */
  LiveObject object; /* owned */
} LiveTopStruct, *LiveTop;

/* A process of which there are events. */
typedef struct LiveProcessStruct {
  LogProcess process;
  LiveRowStruct sum;
  uint64_t doubt;         /* so many objects more or less */
  Bool late;              /* what it had from its parent is what that had when it came to its first event */
  HeapObject arena;       /* owned, as the next two: by age, */
  HeapPool *pool;         /* in order of appearance, */
  HeapThread *thread;     /* by number */
  Count arenas, threads;
  LiveRowsStruct byPool;  /* as `pool` */
  LiveRowsStruct byClass; /* by size */
  LiveRowsStruct byThread, bySite; /* most bytes first; not more callers than are asked for */
  Count sites;            /* all */
  LiveTopStruct largest, oldest;
} LiveProcessStruct, *LiveProcess;

typedef struct LiveStruct {
  Log log;
  HeapAt state;
  uint64_t at;                /* ns of wall time; UINT64_MAX: the log's end */
  Count top;                  /* objects and sites that are named */
  LogPositionStruct ahead;    /* all events before it come, and none behind */
  LogPositionStruct position;
  LogSummaryStruct summary;
  ViewLabelsStruct labels;  /* the labels of addresses */
  CodeNames names;          /* that all views share */
  StringsStruct places;     /* CodePlaceStructs: the callers of those that live */
  Count processes;
  LiveProcess process;        /* owned */
} LiveStruct, *Live;

/* LiveSite -- the address that the call returns to that asked for an object; 0: not known
 * LiveCaller -- the function or place that asked for it, without wrappers (CodeNamesCaller) */
extern uint64_t LiveSite(Live live, const HeapObjectStruct *object);
extern CodePlaceStruct LiveCaller(Live live, LogProcess process, const HeapObjectStruct *object);

/* LiveText, LiveJson -- print it, as views do */
extern Bool LiveText(FILE *out, void *live);
extern Bool LiveJson(FILE *out, void *live);

#endif /* ANALYSE_LIVE_H */
