/* views.h -- everything that eventview can show
 *
 * A view joins the heap that all views share (viewheap.h), or files a request of its own, or both; then it prints what
 * came.  A new one is a class here, and a row in the table of eventview.c.
 *
 * Design: design/view.md .views      Tests: test/end/eventview.t, test/analyse/live.t
 */
#ifndef ANALYSE_VIEWS_H
#define ANALYSE_VIEWS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/viewheap.h"
#include "callers/sitelines.h"
#include "callers/suppressions.h"
#include "heap/processevents.h"
#include "request/request.h"

/* As which tree callers are shown: from the outermost down, or from the innermost up. */
typedef enum ViewTree { ViewTreeNONE, ViewTreeDOWN, ViewTreeUP } ViewTree;

#define ViewTreeCHOICES "none|down|up"

/* What the command line asks for. */
typedef struct ViewWantsStruct {
  Log log;
  const LogRequestStruct *request; /* which events; without hooks */
  OfProcess of;                    /* whose processes, or NULL: all */
  uint64_t at;                     /* ns of wall time; UINT64_MAX for the end; */
  const LogPositionStruct *position; /* the place there, or NULL: before all events of that time */
  Count top;                       /* how many are named in a list */
  Count slices;                    /* of time; not 0 */
  SiteOrder order;                 /* what callers are sorted by */
  ViewTree tree;
  Suppressions suppressions;       /* of leaks, or NULL */
  const char *output;              /* the file that a report is written to, or NULL */
  const char *const *path;         /* of the logs, as the command line has them, */
  Count logs;                      /* so many */
  Bool *wrong;                     /* set by a view that could not write, and has said so */
  CodeNames names;                 /* of all views; and their */
  ViewHeap heap;                   /* heap for these events */
  ViewHeap whole;                  /* the same, for views that must know what lived before the first of them: it begins
                                      where the log does; `heap` itself, where these events do */
  ViewHeap other;                  /* that of another log to compare with, or NULL */
} ViewWantsStruct, *ViewWants;

enum { ViewTopDEFAULT = 10, ViewSlicesDEFAULT = 64, ViewSlicesMAX = 1000000 };

/* ViewWantsTime -- the time that a view is of: ns of wall time when the log begins, and from and to what is asked for,
 * the second exclusive and later than the first */
static inline void ViewWantsTime(uint64_t *startReturn, uint64_t *fromReturn, uint64_t *toReturn, ViewWants wants)
{
  LogSummaryStruct log;

  LogSummarize(&log, wants->log);
  *startReturn = log.first;
  *fromReturn = wants->request->from > log.first ? wants->request->from : log.first;
  *toReturn = wants->request->to <= log.last ? wants->request->to : log.last + 1;
  if (*toReturn <= *fromReturn)
    *toReturn = *fromReturn + 1;
}

/* Options that not every view has a use for: bits of a class's `takes`. */
enum {
  ViewTakesAT = 1, ViewTakesTOP = 2, ViewTakesBY = 4, ViewTakesSUPPRESSIONS = 8, ViewTakesCALLERS = 16,
  ViewTakesTREE = 32, ViewTakesOUTPUT = 64,
  ViewTakesSLICES = 1 << 8
};

/* ViewClassStruct -- a sort of view */
typedef struct ViewClassStruct {
  const char *name;
  const char *says; /* a few words for --help */
  unsigned takes;   /* the options of its own */
  Res (*create)(void **viewReturn, ViewWants wants);
  LogRequest (*request)(void *view); /* to be served once; NULL: what the shared heap reads is enough */
  Res (*finish)(void *view);         /* it has been.  ResMEMORY: not all that lives at a time found room */
  Bool (*text)(FILE *out, void *view); /* FALSE: no memory, nothing was printed */
  Bool (*json)(FILE *out, void *view); /* one document */
  void (*destroy)(void *view);
} ViewClassStruct;

typedef const ViewClassStruct *ViewClass;

extern const ViewClassStruct ViewClassSummary; /* summary.c */
extern const ViewClassStruct ViewClassLive;    /* live.c */
extern const ViewClassStruct ViewClassSites;   /* sites.c */
extern const ViewClassStruct ViewClassLeaks;   /* leaks.c */
extern const ViewClassStruct ViewClassGrowth;  /* growth.c */
extern const ViewClassStruct ViewClassDiff;    /* diff.c */
extern const ViewClassStruct ViewClassDiffLogs; /* difflogs.c; the only view that has an `other` heap */

#endif /* ANALYSE_VIEWS_H */
