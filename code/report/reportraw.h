/* reportraw.h -- the events that a report has themselves: those around what matters, some 100,000, packed
 *
 * A window is a run of events by their places among those that were chosen: the log's end, the peak, allocations that
 * failed, marks, the beginning.  Windows that meet are one.
 *
 * Always true: windows rise and do not overlap;  the events in `bytes` are those of all windows up to `window`
 *
 * Design: design/report.md .raw      Tests: test/report/report.t
 */
#ifndef REPORT_REPORTRAW_H
#define REPORT_REPORTRAW_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewlabels.h"
#include "report/reportrows.h"
#include "report/reportseries.h"
#include "report/reportsurvey.h"

enum {
  RawWINDOWS = 64,
  RawBytesMAX = 1400000,   /* of packed events; */
  RawStringsMAX = 400000,  /* and of their strings */
  RawStringMAX = 200,      /* bytes of a string that are kept */
  RawLabelsMAX = 4000      /* labels that were given or taken away */
};

typedef struct RawWindowStruct {
  uint64_t begin, end;     /* places; the second exclusive */
  char why[64];
  uint64_t first, last;    /* ns, of the events that are there */
  Count events;            /* that are there */
} RawWindowStruct, *RawWindow;

/* An address has a label from here on. */
typedef struct RawLabelStruct {
  Count event;             /* the first event that is there and sees it */
  LogProcess process;
  uint64_t addr;
  uint32_t string;         /* in `strings`; 0: it has none any more */
} RawLabelStruct, *RawLabel;

typedef struct RawStruct {
  Survey survey;
  Rows rows;
  ViewHeap shared;         /* of the second pass */
  Count windows;
  RawWindowStruct window[RawWINDOWS];
  Index at;                /* the window that comes next, or that the events are in */
  uint64_t place;          /* of the next event */
  uint64_t last;           /* ns of the event before in the window */
  uint64_t address[2];     /* the last parameters that were a P and an A, in the window */
  StringsStruct strings;
  Size stringBytes;
  SeriesBytesStruct bytes;
  Count events;
  Count extra, extraCapacity;
  uint32_t *extraThread;   /* owned; keys of threads that have no row of their own */
  Bool full;               /* there was no room for all */
  LogRequestStruct request; /* which learns labels, all from the log's beginning on; filed before that of the events */
  ViewLabels labels;       /* the caller's; behind the pass all that were given */
  Count labelCount, labelCapacity;
  RawLabel label;          /* owned */
  Res res;                 /* ResMEMORY: labels are missing */
} RawStruct, *Raw;

/* RawInit -- the first pass is over: choose the windows.  RawFinish frees the memory.
 *
 * labels  none yet: what is learned goes there
 * only    what the report is asked for: labels are learned to its end */
extern void RawInit(Raw raw, Survey survey, Rows rows, ViewHeap shared, ViewLabels labels,
                    const LogRequestStruct *only);
extern void RawFinish(Raw raw);

/* RawEvent -- an event of the second pass that counts */
extern void RawEvent(Raw raw, LogEvent event);

/* RawJson -- print the members `windows`, `raw` and `raw_labels`; *failed: no memory */
extern void RawJson(FILE *out, Raw raw, Bool *failed);

#endif /* REPORT_REPORTRAW_H */
