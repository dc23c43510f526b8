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

/* drawWait -- it has just been written at `time`, and is so again when it is due */
static void drawWait(Draw draw, DrawGauge gauge, uint64_t time)
{
  gauge->written = gauge->peak = gauge->value;
  gauge->due = time + draw->thin;
  gauge->waiting = TRUE;
  gauge->later = NULL;
  if (draw->firstGauge == NULL)
    draw->firstGauge = gauge;
  else
    draw->lastGauge->later = gauge;
  draw->lastGauge = gauge;
}

void DrawSet(Draw draw, DrawGauge gauge, uint64_t value)
{
  gauge->value = value;
  if (LIKELY(gauge->waiting)) {
    if (drawHigher(gauge, value, gauge->peak)) {
      gauge->peak = value;
      gauge->peakTime = draw->now;
    }
    return;
  }
  draw->pen->value(draw->pen->data, gauge, value, draw->now);
  if (draw->thin > 0)
    drawWait(draw, gauge, draw->now);
}

void DrawGaugeDue(Draw draw, Bool last)
{
  const DrawPenStruct *pen = draw->pen;
  DrawGauge gauge = draw->firstGauge;
  uint64_t time = last && draw->now < gauge->due ? draw->now : gauge->due;
  Bool peak = drawHigher(gauge, gauge->peak, gauge->written) && drawHigher(gauge, gauge->peak, gauge->value);

  draw->firstGauge = gauge->later;
  gauge->waiting = FALSE;
  if (peak)
    pen->value(pen->data, gauge, gauge->peak, pen->late ? time : gauge->peakTime);
  if (peak || gauge->value != gauge->written) {
    pen->value(pen->data, gauge, gauge->value, time);
    if (!last)
      drawWait(draw, gauge, time);
  }
}
