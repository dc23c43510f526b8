/* drawgauge.c -- values that change, written now and then
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A gauge that changes is written at once, and waits from then on: when it is due it is written again if it has another
 * value, and waits again, or else it rests until it changes.
 */
#include <stdlib.h>
#include <string.h>

#include "view/drawdata.h"

static DrawGauge *drawBucket(Draw draw, WhoProcess process, uint32_t name)
{
  return &draw->gauge[(((uint64_t)process->id << 32 | name) * 0x9e3779b97f4a7c15u >> 32) % DrawGAUGES];
}

DrawGauge DrawGaugeOf(Draw draw, WhoProcess process, uint32_t name, Bool real, Bool pool)
{
  DrawGauge *bucket = drawBucket(draw, process, name), gauge;

  for (gauge = *bucket; gauge != NULL; gauge = gauge->bucket) {
    if (gauge->process == process && gauge->name == name && gauge->real == real && gauge->pool == pool)
      return gauge;
  }
  if (DrawProcessOf(draw, process) == NULL)
    return NULL;
  gauge = calloc(1, sizeof *gauge);
  if (gauge == NULL) {
    draw->failed = TRUE;
    return NULL;
  }
  gauge->process = process;
  gauge->name = name;
  gauge->real = real;
  gauge->pool = pool;
  gauge->number = (uint32_t)++draw->gaugeCount;
  gauge->next = draw->gauges;
  draw->gauges = gauge;
  gauge->bucket = *bucket;
  *bucket = gauge;
  draw->pen->gauge(draw->pen->data, gauge, draw->now);
  return gauge;
}

/* drawHigher -- is a higher than b? */
static Bool drawHigher(DrawGauge gauge, uint64_t a, uint64_t b)
{
  double c, d;

  if (LIKELY(!gauge->real))
    return a > b;
  memcpy(&c, &a, sizeof c);
  memcpy(&d, &b, sizeof d);
  return c > d;
}

/* drawWrite -- at the end of a log the heap may tell of something earlier than what was written last: not so the pen */
static void drawWrite(Draw draw, DrawGauge gauge, uint64_t value, uint64_t time)
{
  if (time > gauge->at)
    gauge->at = time;
  gauge->written = value;
  draw->pen->value(draw->pen->data, gauge, value, gauge->at);
}

/* drawSettle -- at `time` it is due: write what has changed.  TRUE: something had, and it will be due again. */
static Bool drawSettle(Draw draw, DrawGauge gauge, uint64_t time)
{
  Bool peak = drawHigher(gauge, gauge->peak, gauge->written) && drawHigher(gauge, gauge->peak, gauge->value);

  if (peak)
    drawWrite(draw, gauge, gauge->peak, draw->pen->strict ? time : gauge->peakTime);
  if (!peak && gauge->value == gauge->written)
    return FALSE;
  drawWrite(draw, gauge, gauge->value, time);
  gauge->peak = gauge->value;
  gauge->due = time + draw->thin;
  return TRUE;
}

static void drawWait(Draw draw, DrawGauge gauge)
{
  gauge->waiting = TRUE;
  gauge->later = NULL;
  if (draw->firstGauge == NULL)
    draw->firstGauge = gauge;
  else
    draw->lastGauge->later = gauge;
  draw->lastGauge = gauge;
}

/* drawChange -- a gauge that rests, or is due, has another value */
static __attribute__((noinline)) void drawChange(Draw draw, DrawGauge gauge, uint64_t value, uint64_t time)
{
  if (gauge->waiting && drawSettle(draw, gauge, gauge->due) && time < gauge->due)
    return; /* and waits on */
  gauge->value = gauge->peak = value;
  gauge->due = time + draw->thin;
  drawWrite(draw, gauge, value, time);
  if (draw->thin > 0 && !gauge->waiting)
    drawWait(draw, gauge);
}

void DrawSet(Draw draw, DrawGauge gauge, uint64_t value, uint64_t time)
{
  if (UNLIKELY(!gauge->waiting || time >= gauge->due))
    drawChange(draw, gauge, value, time);
  gauge->value = value;
  if (drawHigher(gauge, value, gauge->peak)) {
    gauge->peak = value;
    gauge->peakTime = time;
  }
}

void DrawGaugeDue(Draw draw, Bool last)
{
  DrawGauge gauge = draw->firstGauge;

  draw->firstGauge = gauge->later;
  if (!draw->pen->strict && gauge->process->log != NULL)
    HeapCatchUp(draw->heap);
  gauge->waiting = FALSE;
  if (last)
    (void)drawSettle(draw, gauge, draw->now < gauge->due ? draw->now : gauge->due);
  else if (gauge->due > draw->now || drawSettle(draw, gauge, gauge->due))
    drawWait(draw, gauge);
}
