/* trackcounter.c -- values that change, written now and then: the live heap, samples, what the program counts
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A gauge that changes is written at once, and waits from then on: when it is due it is written again if it has another
 * value, and waits again, or else it rests until it changes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/trackbuilder.h"
#include "heap/heaplook.h"

static DrawGauge *drawBucket(Draw draw, WhoProcess process, uint32_t name)
{
  return &draw->gauge[(((uint64_t)process->id << 32 | name) * 0x9e3779b97f4a7c15u >> 32) % DrawGAUGES];
}

static DrawGauge drawGaugeOf(Draw draw, WhoProcess process, uint32_t name, Bool real, Bool pool)
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
  if (draw->pen->gauge != NULL)
    draw->pen->gauge(draw, gauge, draw->now);
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
  draw->pen->value(draw, gauge, value, gauge->at);
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

static void drawSet(Draw draw, DrawGauge gauge, uint64_t value, uint64_t time)
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

/* ---- The live heap ---- */

static DrawGauge drawNamed(Draw draw, WhoProcess process, const char *name, Bool pool)
{
  return drawGaugeOf(draw, process, StringsAdd(&draw->who.strings, name, strlen(name)), FALSE, pool);
}

/* drawPoolGauge -- a gauge for a pool, which has one where there is more than one pool */
static DrawGauge drawPoolGauge(Draw draw, WhoProcess process, Index i)
{
  DrawProcess drawn = process->client;
  char name[96];
  TextStruct text;
  Size length;
  const char *class;

  TextInit(&text, name, sizeof name);
  TextString(&text, "pool ");
  TextDecimal(&text, i);
  class = StringsAt(&draw->who.strings, drawn->pool[i].class, &length);
  if (length > 0)
    TextChar(&text, ' ');
  TextBytes(&text, class, length);
  return drawNamed(draw, process, TextTerminate(&text), TRUE);
}

/* drawPoolGauges -- all pools have gauges from the second one on */
static void drawPoolGauges(Draw draw, WhoProcess process, uint64_t time)
{
  DrawProcess drawn = process->client;
  Index i;

  for (i = 0; drawn->pools > 1 && i < DrawPoolsMAX && !draw->failed; ++i) {
    if (drawn->pool[i].met && drawn->pool[i].gauge == NULL) {
      drawn->pool[i].gauge = drawPoolGauge(draw, process, i);
      if (drawn->pool[i].gauge != NULL)
        drawSet(draw, drawn->pool[i].gauge, drawn->pool[i].bytes, time);
    }
  }
}

/* drawPool -- a pool's objects have become that much more (or less); returns its number */
static Index drawPool(Draw draw, DrawProcess drawn, HeapPool pool, uint64_t more)
{
  Index i = pool->number;

  if (UNLIKELY(i >= DrawPoolsMAX))
    return i;
  if (UNLIKELY(!drawn->pool[i].met)) {
    drawn->pool[i].met = TRUE;
    drawn->pool[i].class = StringsAdd(&draw->who.strings, pool->class, strlen(pool->class));
    ++drawn->pools;
  }
  drawn->pool[i].bytes += more;
  return i;
}

/* drawGauges -- the process has gauges for what lives in it; FALSE: no memory */
static Bool drawGauges(Draw draw, WhoProcess process)
{
  DrawProcess drawn = process->client;

  if (UNLIKELY(drawn->bytes == NULL)) {
    drawn->bytes = drawNamed(draw, process, "live bytes", FALSE);
    drawn->objects = drawNamed(draw, process, "live objects", FALSE);
  }
  return !draw->failed;
}

void DrawHeapBegin(Draw draw, WhoProcess process)
{
  DrawProcess drawn = process->client;

  if (drawn->liveObjects == 0 || !drawGauges(draw, process))
    return;
  drawSet(draw, drawn->objects, drawn->liveObjects, draw->now);
  drawSet(draw, drawn->bytes, drawn->liveBytes, draw->now);
  drawPoolGauges(draw, process, draw->now);
}

/* drawTime -- when it is drawn: where nothing may be told late, now */
static inline uint64_t drawTime(Draw draw, HeapOperation operation)
{
  if (UNLIKELY(draw->pen->strict))
    return draw->now;
  return LIKELY(operation->time > draw->start) ? operation->time - draw->start : 0;
}

/* drawLive -- a process has so many more objects and bytes */
static void drawLive(Draw draw, HeapOperation operation, uint64_t objects, uint64_t bytes)
{
  WhoProcess process = draw->who.process[operation->process];
  DrawProcess drawn;
  uint64_t time;
  Index pool;

  if (UNLIKELY(draw->before) || DrawHides(draw, operation->process))
    return;
  drawn = DrawProcessOf(draw, process);
  if (UNLIKELY(drawn == NULL))
    return;
  drawn->liveObjects += objects;
  drawn->liveBytes += bytes;
  pool = bytes != 0 ? drawPool(draw, drawn, operation->pool, bytes) : DrawPoolsMAX;
  if (UNLIKELY(!drawGauges(draw, process)))
    return;
  time = drawTime(draw, operation);
  if (objects != 0)
    drawSet(draw, drawn->objects, drawn->liveObjects, time);
  if (bytes != 0)
    drawSet(draw, drawn->bytes, drawn->liveBytes, time);
  if (pool < DrawPoolsMAX && drawn->pool[pool].gauge != NULL)
    drawSet(draw, drawn->pool[pool].gauge, drawn->pool[pool].bytes, time);
  else if (pool < DrawPoolsMAX)
    drawPoolGauges(draw, process, time);
}

static void drawAlloc(void *data, HeapOperation operation)
{
  drawLive(data, operation, 1, operation->object->size);
}

static void drawFree(void *data, HeapOperation operation)
{
  drawLive(data, operation, 0 - (uint64_t)1, 0 - (uint64_t)operation->object->size);
}

static void drawResize(void *data, HeapOperation operation)
{
  drawLive(data, operation, 0, operation->object->size - operation->oldSize);
}

/* drawNothing -- a process has ended, and nothing lives in it */
static void drawNothing(Draw draw, WhoProcess process, DrawProcess drawn, uint64_t time)
{
  Index i;

  drawn->liveObjects = drawn->liveBytes = 0;
  for (i = 0; i < DrawPoolsMAX; ++i) {
    drawn->pool[i].bytes = 0;
    if (drawn->pool[i].gauge != NULL)
      drawSet(draw, drawn->pool[i].gauge, 0, time);
  }
  if (drawGauges(draw, process)) {
    drawSet(draw, drawn->objects, 0, time);
    drawSet(draw, drawn->bytes, 0, time);
  }
}

static void drawOther(void *data, HeapOperation operation)
{
  Draw draw = data;
  WhoProcess process = draw->who.process[operation->process];
  DrawProcess drawn;

  if (draw->before || operation->kind != HeapPROCESSEND || operation->objects == 0 ||
      DrawHides(draw, operation->process))
    return;
  drawn = DrawProcessOf(draw, process);
  if (drawn != NULL)
    drawNothing(draw, process, drawn, drawTime(draw, operation));
}

/* What lives where the picture begins, of one process */
typedef struct drawLivesStruct {
  Draw draw;
  DrawProcess drawn;
} drawLivesStruct, *DrawLives;

static void drawLives(void *data, HeapPool pool, HeapThread thread, HeapObject object)
{
  DrawLives lives = data;

  UNUSED(thread);
  ++lives->drawn->liveObjects;
  lives->drawn->liveBytes += object->size;
  if (object->size != 0)
    (void)drawPool(lives->draw, lives->drawn, pool, object->size);
}

Res DrawHeapLives(Draw draw)
{
  drawLivesStruct lives = {draw, NULL};
  const uint64_t *counts;
  Count threads;
  Index i;
  Res res = ResOK;

  for (i = 0; i < LogProcesses(draw->log) && res == ResOK; ++i) {
    if (DrawHides(draw, i) || !HeapSeen(&threads, &counts, draw->heap, i) || !HeapHas(draw->heap, i))
      continue;
    lives.drawn = DrawHeld(draw, draw->who.process[i], FALSE);
    res = lives.drawn == NULL ? ResMEMORY : HeapObjects(draw->heap, i, drawLives, &lives);
  }
  return res;
}

Res DrawHeapMake(Draw draw)
{
  HeapClientStruct client = {draw, drawAlloc, drawFree, drawResize, drawOther, TRUE};
  Res res = HeapCreate(&draw->heap, &client, draw->log);

  if (res != ResOK)
    return res;
  HeapOf(draw->heap, draw->of);
  if (draw->pen->strict)
    HeapPrompt(draw->heap);
  return res;
}

/* ---- Values that events say ---- */

/* drawUnknown -- all bits of a number are set: what it counts is not known */
static Bool drawUnknown(LogEvent event, Index i)
{
  return LogEventWord(event, i) == (event->type->width[i] == 8 ? UINT64_MAX : UINT32_MAX);
}

/* DrawSample -- each number is a gauge: of the process that it is about, or else of the one that tells */
void DrawSample(Draw draw, DrawPlan plan, LogEvent event)
{
  WhoProcess process = plan->param < 0 ? draw->who.process[event->process->number]
                                       : WhoPid(&draw->who, (uint32_t)LogEventWord(event, (Index)plan->param));
  char name[512];
  TextStruct text;
  Index i;

  for (i = 0; i < event->type->params && process != NULL; ++i) {
    DrawGauge gauge;
    Size length;
    const char *stem = StringsAt(&draw->who.strings, plan->name, &length);
    if ((int)i == plan->param || (int)i == plan->other || strchr("UW", event->type->letter[i]) == NULL ||
        drawUnknown(event, i))
      continue;
    TextInit(&text, name, sizeof name);
    TextBytes(&text, stem, length < 128 ? length : 128);
    TextChar(&text, ' ');
    if (plan->other >= 0) {
      TextDecimal(&text, LogEventWord(event, (Index)plan->other));
      TextChar(&text, ' ');
    }
    TextBytes(&text, event->type->param[i], event->type->paramLength[i]);
    gauge = drawNamed(draw, process, TextTerminate(&text), FALSE);
    if (gauge != NULL)
      drawSet(draw, gauge, LogEventWord(event, i), draw->now);
  }
}

/* DrawUser -- a value that the program names itself is a gauge, what is no number a mark */
void DrawUser(Draw draw, DrawPlan plan, LogEvent event)
{
  WhoThread thread = WhoOf(&draw->who, event);
  uint32_t interned = InternsFind(&draw->interns, event->process, LogEventWord(event, (Index)plan->param));
  uint32_t name = interned != 0 ? interned : plan->name;
  Bool real = plan->other >= 0 && event->type->letter[plan->other] == 'D';
  DrawGauge gauge;

  if (plan->other < 0) {
    DrawMark(draw, thread->client, name, event);
    return;
  }
  if (real && !isfinite(LogEventDouble(event, (Index)plan->other)))
    return; /* which cannot be drawn */
  gauge = drawGaugeOf(draw, thread->process, name, real, FALSE);
  if (gauge != NULL)
    drawSet(draw, gauge, LogEventWord(event, (Index)plan->other), draw->now);
}
