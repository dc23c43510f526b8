/* views.h -- everything that eventview can show
 *
 * A view files one request, and prints what its events come to.  A new one is a class here, and a row in the table of
 * eventview.c.
 *
 * Design: design/view.md .views      Tests: test/end/eventview.t, test/analyse/live.t
 */
#ifndef ANALYSE_VIEWS_H
#define ANALYSE_VIEWS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/processevents.h"
#include "request/request.h"

/* What the command line asks for. */
typedef struct ViewWantsStruct {
  Log log;
  const LogRequestStruct *request; /* which events; without hooks */
  OfProcess of;                    /* whose processes, or NULL: all */
  uint64_t at;                     /* ns of wall time; UINT64_MAX for the end; */
  const LogPositionStruct *position; /* the place there, or NULL: before all events of that time */
  Count top;                       /* how many are named in a list */
} ViewWantsStruct, *ViewWants;

enum { ViewTopDEFAULT = 10 };

/* Options that not every view has a use for: bits of a class's `takes`. */
enum { ViewTakesAT = 1, ViewTakesTOP = 2 };

/* ViewClassStruct -- a sort of view */
typedef struct ViewClassStruct {
  const char *name;
  const char *says; /* a few words for --help */
  unsigned takes;   /* the options of its own */
  Res (*create)(void **viewReturn, ViewWants wants);
  LogRequest (*request)(void *view); /* to be served once */
  Res (*finish)(void *view);         /* it has been.  ResMEMORY: not all that lives at a time found room */
  Bool (*text)(FILE *out, void *view); /* FALSE: no memory, nothing was printed */
  Bool (*json)(FILE *out, void *view); /* one document */
  void (*destroy)(void *view);
} ViewClassStruct;

typedef const ViewClassStruct *ViewClass;

extern const ViewClassStruct ViewClassSummary; /* summary.c */
extern const ViewClassStruct ViewClassLive;    /* live.c */

#endif /* ANALYSE_VIEWS_H */
