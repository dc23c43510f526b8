/* draw.c -- a log as a picture has it: events taken in
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/draw.h"

#include <stdlib.h>

#include "view/drawdata.h"

/* A picture of a log of an hour need not show what a millisecond did: unless told, one in so many pieces of the whole
 * is as fine as it gets, and 0.1 ms. */
enum { drawPIECES = 50000, drawFINEST = 100000 };

static uint64_t drawThin(uint64_t thin, Log log)
{
  LogSummaryStruct summary;

  if (thin != WriterThinAUTO)
    return thin;
  LogSummarize(&summary, log);
  thin = summary.last > summary.first ? (summary.last - summary.first) / drawPIECES : 0;
  return thin > drawFINEST ? thin : drawFINEST;
}

Res DrawCreate(Draw *drawReturn, const WriterOptionsStruct *options, Log log, const DrawPenStruct *pen)
{
  Draw draw = calloc(1, sizeof *draw);

  if (draw == NULL)
    return ResMEMORY;
  draw->pen = pen;
  draw->log = log;
  draw->of = options->of;
  draw->start = options->start;
  draw->thin = drawThin(options->thin, log);
  PlansInit(&draw->plans, sizeof(DrawPlanStruct));
  if (WhoInit(&draw->who, log) != ResOK) {
    free(draw);
    return ResMEMORY;
  }
  InternsInit(&draw->interns, &draw->who.strings);
  draw->held = calloc(draw->who.count + 1, sizeof(DrawProcess));
  if (draw->held == NULL || DrawHeapMake(draw) != ResOK) {
    DrawDestroy(draw);
    return ResMEMORY;
  }
  *drawReturn = draw;
  return ResOK;
}

void DrawDestroy(Draw draw)
{
  WhoProcess process;
  Index i;

  while (draw->lanes != NULL) {
    DrawLane lane = draw->lanes;
    draw->lanes = lane->next;
    free(lane->seen);
    free(lane);
  }
  while (draw->gauges != NULL) {
    DrawGauge gauge = draw->gauges;
    draw->gauges = gauge->next;
    free(gauge);
  }
  for (process = draw->who.first; process != NULL; process = process->next)
    free(process->client);
  for (i = 0; draw->held != NULL && i < draw->who.count; ++i)
    free(draw->held[i]);
  free(draw->held);
  InternsFinish(&draw->interns);
  if (draw->heap != NULL)
    HeapDestroy(draw->heap);
  PlansFinish(&draw->plans);
  WhoFinish(&draw->who);
  free(draw);
}

Who DrawWho(Draw draw)
{
  return &draw->who;
}

DrawGauge DrawGauges(Draw draw)
{
  return draw->gauges;
}

DrawProcess DrawProcessOf(Draw draw, WhoProcess process)
{
  DrawProcess drawn = process->client;

  if (LIKELY(drawn != NULL))
    return drawn;
  drawn = DrawHeld(draw, process, TRUE);
  if (drawn == NULL)
    return NULL;
  process->client = drawn;
  process->met = TRUE;
  draw->pen->process(draw->pen->data, process, draw->now);
  DrawHeapBegin(draw, process);
  return drawn;
}

/* drawLane -- a thread is drawn for the first time */
static DrawLane drawLane(Draw draw, WhoThread thread)
{
  DrawLane lane;

  if (DrawProcessOf(draw, thread->process) == NULL)
    return NULL;
  lane = calloc(1, sizeof *lane);
  if (lane == NULL) {
    draw->failed = TRUE;
    return NULL;
  }
  lane->thread = thread;
  lane->next = draw->lanes;
  draw->lanes = lane;
  thread->client = lane;
  draw->pen->thread(draw->pen->data, thread, FALSE, draw->now);
  thread->fresh = FALSE;
  return lane;
}

DrawLane DrawLaneOf(Draw draw, WhoThread thread)
{
  DrawLane lane = thread->client;

  if (UNLIKELY(lane == NULL))
    return drawLane(draw, thread);
  if (UNLIKELY(thread->fresh)) {
    draw->pen->thread(draw->pen->data, thread, TRUE, draw->now);
    thread->fresh = FALSE;
  }
  return lane;
}

/* drawDue -- what was due before now, in order; or, with `last`, all that waits */
static void drawDue(Draw draw, Bool last)
{
  for (;;) {
    DrawGauge gauge = draw->firstGauge;
    DrawLane lane = draw->firstLane;
    if (gauge != NULL && (last || gauge->due <= draw->now) && (lane == NULL || gauge->due <= lane->due))
      DrawGaugeDue(draw, last);
    else if (lane != NULL && (last || lane->due <= draw->now))
      DrawLaneDue(draw, last);
    else
      return;
  }
}

/* drawPlanned -- draw an event of which it is known what it is */
static void drawPlanned(Draw draw, DrawPlan plan, DrawLane lane, LogEvent event)
{
  switch (plan->role) {
  case DrawRoleALLOC:
    if (UNLIKELY(LogEventWord(event, (Index)plan->param) >= DrawLARGE))
      DrawMark(draw, lane, plan->name, event);
    break;
  case DrawRoleMARK:
    DrawMark(draw, lane, plan->name, event);
    break;
  case DrawRoleBEGIN:
    DrawBegin(draw, lane, plan, event);
    break;
  case DrawRoleEND:
    DrawEnd(draw, lane, plan, event);
    break;
  case DrawRoleSAMPLE:
    DrawSample(draw, plan, event);
    break;
  case DrawRoleINTERN:
    if (InternsAdd(&draw->interns, event, plan->param, plan->other) != ResOK)
      draw->failed = TRUE;
    break;
  case DrawRoleUSER:
    DrawUser(draw, plan, event);
    break;
  default:
    break;
  }
}

Bool DrawEvent(Draw draw, LogEvent event)
{
  DrawPlan plan;
  WhoThread thread;
  DrawLane lane;
  Bool told;

  if (DrawHides(draw, event->process->number)) {
    HeapEvent(draw->heap, event);
    return !draw->failed;
  }
  plan = PlansOf(&draw->plans, event);
  told = WhoTell(&draw->who, event);
  thread = WhoOf(&draw->who, event);
  if (LIKELY(event->time > draw->start) && event->time - draw->start > draw->now)
    draw->now = event->time - draw->start;
  drawDue(draw, FALSE);
  if (UNLIKELY(plan == NULL || thread == NULL || (lane = DrawLaneOf(draw, thread)) == NULL))
    return FALSE;
  if (UNLIKELY(plan->role == DrawRoleUNSEEN))
    DrawPlanMake(draw, plan, event);
  if (UNLIKELY(plan->role != DrawRoleQUIET) && !told)
    drawPlanned(draw, plan, lane, event);
  if (LIKELY(plan->heap))
    HeapEvent(draw->heap, event);
  return !draw->failed;
}

Res DrawRead(Draw draw, LogRequest request)
{
  Res res = request->from > draw->start ? DrawBefore(draw, request) : ResOK;

  return res == ResOK ? InternsRead(&draw->interns, draw->log, request) : res;
}

Res DrawFinish(Draw draw, uint64_t *endReturn)
{
  Res res = HeapSettle(draw->heap);

  drawDue(draw, TRUE);
  DrawEndAll(draw);
  *endReturn = draw->now;
  return draw->failed || draw->who.failed ? ResMEMORY : res;
}
