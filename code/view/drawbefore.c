/* drawbefore.c -- what was before a picture begins: what lives then, and what things are called
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process is drawn when the first event of the picture comes from it or tells of it.  What has been learned of it is
 * held until then.
 */
#include <stdlib.h>

#include "view/drawdata.h"
#include "view/state.h"

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

/* Names */

static Bool beforeNames(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return WhoWants(type);
}

static Bool beforeName(LogRequest request, LogEvent event)
{
  Draw draw = request->data;

  (void)WhoTell(&draw->who, event);
  return draw->failed;
}

/* beforeKinds -- the kinds that have a type which names something */
static uint32_t beforeKinds(Log log)
{
  uint32_t kinds = 0;
  Index i, t;

  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; t < registry->count; ++t)
      if (registry->types[t].kind < 32 && WhoWants(&registry->types[t]))
        kinds |= (uint32_t)1 << registry->types[t].kind;
  }
  return kinds;
}

/* The heap */

static Bool beforeObjects(void *data, LogProcess process, EventType type)
{
  return HeapWants(type) && LogRequestChooses(data, process, type);
}

static Bool beforeObject(LogRequest request, LogEvent event)
{
  Draw draw = request->data;

  HeapEvent(draw->heap, event);
  return draw->failed;
}

/* beforeRead -- one pass: names from the beginning on, the heap from a position on */
static Res beforeRead(Draw draw, LogRequest drawn, const LogPositionStruct *from, const LogPositionStruct *to)
{
  LogRequestStruct names = LogRequestALL, objects = LogRequestALL;
  PawService service;
  Res res = PawServiceCreate(&service, draw->log, 0);

  if (res != ResOK)
    return res;
  names.data = objects.data = draw;
  names.end = objects.end = to;
  names.choose = beforeNames;
  names.kinds = beforeKinds(draw->log);
  names.event = beforeName;
  objects.start = from;
  objects.choose = beforeObjects;
  objects.chooseData = drawn;
  objects.accept = drawn->accept;
  objects.acceptData = drawn->acceptData;
  objects.event = beforeObject;
  res = PawServiceFile(service, &names);
  if (res == ResOK)
    res = PawServiceFile(service, &objects);
  if (res == ResOK)
    res = PawServiceRun(service, NULL, NULL);
  PawServiceDestroy(service);
  return res;
}

Res DrawBefore(Draw draw, LogRequest drawn)
{
  LogPositionStruct from, to;
  Res res;

  draw->before = TRUE;
  PawPositionOfTime(&to, draw->log, drawn->from);
  res = StateRestore(&from, draw->heap, draw->log, drawn, &to);
  if (res == ResOK)
    res = beforeRead(draw, drawn, &from, &to);
  HeapCatchUp(draw->heap);
  if (res == ResOK)
    res = DrawHeapLives(draw);
  draw->before = FALSE;
  draw->now = drawn->from - draw->start;
  return res == ResOK && draw->failed ? ResMEMORY : res;
}
