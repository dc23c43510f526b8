/* drawbefore.c -- what was before a picture begins: what lives then, and what things are called
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process is drawn when the first event of the picture comes from it or tells of it.  What has been learned of it is
 * held until then.
 */
#include <stdlib.h>

#include "view/drawdata.h"

DrawProcess DrawHeld(Draw draw, WhoProcess process, Bool take)
{
  DrawProcess *place = process->log != NULL ? &draw->held[process->log->number] : NULL;
  DrawProcess drawn = place != NULL && *place != NULL ? *place : calloc(1, sizeof *drawn);

  if (drawn == NULL)
    draw->failed = TRUE;
  if (place != NULL)
    *place = take ? NULL : drawn;
  return drawn;
}

typedef struct beforeStruct {
  Draw draw;
  LogRequest request; /* what is to be drawn */
} beforeStruct, *Before;

static Bool beforeWants(void *data, LogProcess process, EventType type)
{
  Before before = data;

  return WhoWants(type) || (HeapWants(type) && LogRequestChooses(before->request, process, type));
}

static Bool beforeEvent(LogRequest request, LogEvent event)
{
  Before before = request->data;
  LogRequest drawn = before->request;

  (void)WhoTell(&before->draw->who, event);
  if (HeapWants(event->type) && (drawn->accept == NULL || drawn->accept(drawn->acceptData, event)))
    HeapEvent(before->draw->heap, event);
  return before->draw->failed;
}

Res DrawBefore(Draw draw, LogRequest drawn)
{
  LogRequestStruct request = LogRequestALL;
  beforeStruct before = {draw, drawn};
  Res res;

  draw->before = TRUE;
  request.to = drawn->from;
  request.choose = beforeWants;
  request.event = beforeEvent;
  request.data = &before;
  res = LogRead(draw->log, &request);
  HeapCatchUp(draw->heap);
  draw->before = FALSE;
  draw->now = drawn->from - draw->start;
  return res == ResOK && draw->failed ? ResMEMORY : res;
}
