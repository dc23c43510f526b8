/* views.c -- everything that eventview can show
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "view/live.h"
#include "view/summary.h"

/* summary */

typedef struct viewSummaryStruct {
  LogRequestStruct request;
  Summary summary;
} viewSummaryStruct;

static Bool viewSummaryEvent(LogRequest request, LogEvent event)
{
  viewSummaryStruct *view = request->data;

  SummaryEvent(view->summary, event);
  return FALSE;
}

static Res viewSummaryCreate(void **viewReturn, ViewWants wants)
{
  viewSummaryStruct *view = malloc(sizeof *view);

  if (view == NULL)
    return ResMEMORY;
  view->request = *wants->request;
  if (view->request.chooseData == NULL)
    view->request.chooseData = view->request.data;
  view->request.data = view;
  view->request.event = viewSummaryEvent;
  if (SummaryCreate(&view->summary, wants->log, wants->of) != ResOK) {
    free(view);
    return ResMEMORY;
  }
  SummaryPart(view->summary, &view->request);
  *viewReturn = view;
  return ResOK;
}

static LogRequest viewSummaryRequest(void *view)
{
  return &((viewSummaryStruct *)view)->request;
}

static Res viewSummaryFinish(void *view)
{
  return SummaryFinish(((viewSummaryStruct *)view)->summary);
}

static Bool viewSummaryText(FILE *out, void *view)
{
  return SummaryText(out, ((viewSummaryStruct *)view)->summary);
}

static Bool viewSummaryJson(FILE *out, void *view)
{
  return SummaryJson(out, ((viewSummaryStruct *)view)->summary);
}

static void viewSummaryDestroy(void *view)
{
  SummaryDestroy(((viewSummaryStruct *)view)->summary);
  free(view);
}

/* live */

static Res viewLiveCreate(void **viewReturn, ViewWants wants)
{
  Live live;
  Res res = LiveCreate(&live, wants->log, wants->request, wants->at, wants->position, wants->top,
                       wants->of);

  if (res == ResOK)
    *viewReturn = live;
  return res;
}

static LogRequest viewLiveRequest(void *view)
{
  return LiveRequest(view);
}

static Res viewLiveFinish(void *view)
{
  return LiveFinish(view);
}

static Bool viewLiveText(FILE *out, void *view)
{
  LiveText(out, view);
  return TRUE;
}

static Bool viewLiveJson(FILE *out, void *view)
{
  LiveJson(out, view);
  return TRUE;
}

static void viewLiveDestroy(void *view)
{
  LiveDestroy(view);
}

/* The table */

static const ViewClassStruct viewClasses[] = {
  {"summary", "counts, rates, and what the heap came to", 0, viewSummaryCreate,
   viewSummaryRequest, viewSummaryFinish, viewSummaryText, viewSummaryJson, viewSummaryDestroy},
  {"live", "arenas, pools and objects that live at a time (--at)", ViewTakesAT | ViewTakesTOP, viewLiveCreate,
   viewLiveRequest, viewLiveFinish, viewLiveText, viewLiveJson, viewLiveDestroy},
};

ViewClass ViewClassAt(Index i)
{
  return i < ARRAY_LENGTH(viewClasses) ? &viewClasses[i] : NULL;
}

ViewClass ViewClassFind(const char *name, Size length)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(viewClasses); ++i)
    if (strlen(viewClasses[i].name) == length && memcmp(viewClasses[i].name, name, length) == 0)
      return &viewClasses[i];
  return NULL;
}
