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

static TrackCounter *counterBucket(TrackBuilder builder, ThreadsProcess process, uint32_t name)
{
  return &builder->gauge[(((uint64_t)process->id << 32 | name) * 0x9e3779b97f4a7c15u >> 32) % TrackGAUGES];
}

static TrackCounter counterOf(TrackBuilder builder, ThreadsProcess process, uint32_t name, Bool real, Bool pool)
{
  TrackCounter *bucket = counterBucket(builder, process, name), gauge;

  for (gauge = *bucket; gauge != NULL; gauge = gauge->bucket) {
    if (gauge->process == process && gauge->name == name && gauge->real == real && gauge->pool == pool)
      return gauge;
  }
  if (TrackProcessOf(builder, process) == NULL)
    return NULL;
  gauge = calloc(1, sizeof *gauge);
  if (gauge == NULL) {
    builder->failed = TRUE;
    return NULL;
  }
  gauge->process = process;
  gauge->name = name;
  gauge->real = real;
  gauge->pool = pool;
  gauge->number = (uint32_t)++builder->gaugeCount;
  gauge->next = builder->gauges;
  builder->gauges = gauge;
  gauge->bucket = *bucket;
  *bucket = gauge;
  if (builder->pen->gauge != NULL)
    builder->pen->gauge(builder, gauge, builder->now);
  return gauge;
}

/* counterHigher -- is a higher than b? */
static Bool counterHigher(TrackCounter gauge, uint64_t a, uint64_t b)
{
  double c, d;

  if (LIKELY(!gauge->real))
    return a > b;
  memcpy(&c, &a, sizeof c);
  memcpy(&d, &b, sizeof d);
  return c > d;
}

/* counterWrite -- at the end of a log the heap may tell of something earlier than what was written last: not so the pen */
static void counterWrite(TrackBuilder builder, TrackCounter gauge, uint64_t value, uint64_t time)
{
  if (time > gauge->at)
    gauge->at = time;
  gauge->written = value;
  builder->pen->value(builder, gauge, value, gauge->at);
}

/* counterSettle -- at `time` it is due: write what has changed.  TRUE: something had, and it will be due again. */
static Bool counterSettle(TrackBuilder builder, TrackCounter gauge, uint64_t time)
{
  Bool peak = counterHigher(gauge, gauge->peak, gauge->written) && counterHigher(gauge, gauge->peak, gauge->value);

  if (peak)
    counterWrite(builder, gauge, gauge->peak, builder->pen->strict ? time : gauge->peakTime);
  if (!peak && gauge->value == gauge->written)
    return FALSE;
  counterWrite(builder, gauge, gauge->value, time);
  gauge->peak = gauge->value;
  gauge->due = time + builder->thin;
  return TRUE;
}

static void counterWait(TrackBuilder builder, TrackCounter gauge)
{
  gauge->waiting = TRUE;
  gauge->later = NULL;
  if (builder->firstGauge == NULL)
    builder->firstGauge = gauge;
  else
    builder->lastGauge->later = gauge;
  builder->lastGauge = gauge;
}

/* counterChange -- a gauge that rests, or is due, has another value */
static __attribute__((noinline)) void counterChange(TrackBuilder builder, TrackCounter gauge, uint64_t value, uint64_t time)
{
  if (gauge->waiting && counterSettle(builder, gauge, gauge->due) && time < gauge->due)
    return; /* and waits on */
  gauge->value = gauge->peak = value;
  gauge->due = time + builder->thin;
  counterWrite(builder, gauge, value, time);
  if (builder->thin > 0 && !gauge->waiting)
    counterWait(builder, gauge);
}

static void counterSet(TrackBuilder builder, TrackCounter gauge, uint64_t value, uint64_t time)
{
  if (UNLIKELY(!gauge->waiting || time >= gauge->due))
    counterChange(builder, gauge, value, time);
  gauge->value = value;
  if (counterHigher(gauge, value, gauge->peak)) {
    gauge->peak = value;
    gauge->peakTime = time;
  }
}

void TrackCounterDue(TrackBuilder builder, Bool last)
{
  TrackCounter gauge = builder->firstGauge;

  builder->firstGauge = gauge->later;
  if (!builder->pen->strict && gauge->process->log != NULL)
    HeapCatchUp(builder->heap);
  gauge->waiting = FALSE;
  if (last)
    (void)counterSettle(builder, gauge, builder->now < gauge->due ? builder->now : gauge->due);
  else if (gauge->due > builder->now || counterSettle(builder, gauge, gauge->due))
    counterWait(builder, gauge);
}

/* ---- The live heap ---- */

static TrackCounter counterNamed(TrackBuilder builder, ThreadsProcess process, const char *name, Bool pool)
{
  return counterOf(builder, process, StringsAdd(&builder->who.strings, name, strlen(name)), FALSE, pool);
}

/* counterPoolGauge -- a gauge for a pool, which has one where there is more than one pool */
static TrackCounter counterPoolGauge(TrackBuilder builder, ThreadsProcess process, Index i)
{
  TrackProcess drawn = process->client;
  char name[96];
  TextStruct text;
  Size length;
  const char *class;

  TextInit(&text, name, sizeof name);
  TextString(&text, "pool ");
  TextDecimal(&text, i);
  class = StringsAt(&builder->who.strings, drawn->pool[i].class, &length);
  if (length > 0)
    TextChar(&text, ' ');
  TextBytes(&text, class, length);
  return counterNamed(builder, process, TextTerminate(&text), TRUE);
}

/* counterPoolGauges -- all pools have gauges from the second one on */
static void counterPoolGauges(TrackBuilder builder, ThreadsProcess process, uint64_t time)
{
  TrackProcess drawn = process->client;
  Index i;

  for (i = 0; drawn->pools > 1 && i < TrackPoolsMAX && !builder->failed; ++i) {
    if (drawn->pool[i].met && drawn->pool[i].gauge == NULL) {
      drawn->pool[i].gauge = counterPoolGauge(builder, process, i);
      if (drawn->pool[i].gauge != NULL)
        counterSet(builder, drawn->pool[i].gauge, drawn->pool[i].bytes, time);
    }
  }
}

/* counterPool -- a pool's objects have become that much more (or less); returns its number */
static Index counterPool(TrackBuilder builder, TrackProcess drawn, HeapPool pool, uint64_t more)
{
  Index i = pool->number;

  if (UNLIKELY(i >= TrackPoolsMAX))
    return i;
  if (UNLIKELY(!drawn->pool[i].met)) {
    drawn->pool[i].met = TRUE;
    drawn->pool[i].class = StringsAdd(&builder->who.strings, pool->class, strlen(pool->class));
    ++drawn->pools;
  }
  drawn->pool[i].bytes += more;
  return i;
}

/* counters -- the process has gauges for what lives in it; FALSE: no memory */
static Bool counters(TrackBuilder builder, ThreadsProcess process)
{
  TrackProcess drawn = process->client;

  if (UNLIKELY(drawn->bytes == NULL)) {
    drawn->bytes = counterNamed(builder, process, "live bytes", FALSE);
    drawn->objects = counterNamed(builder, process, "live objects", FALSE);
  }
  return !builder->failed;
}

void TrackHeapBegin(TrackBuilder builder, ThreadsProcess process)
{
  TrackProcess drawn = process->client;

  if (drawn->liveObjects == 0 || !counters(builder, process))
    return;
  counterSet(builder, drawn->objects, drawn->liveObjects, builder->now);
  counterSet(builder, drawn->bytes, drawn->liveBytes, builder->now);
  counterPoolGauges(builder, process, builder->now);
}

/* counterTime -- when it is drawn: where nothing may be told late, now */
static inline uint64_t counterTime(TrackBuilder builder, HeapOperation operation)
{
  if (UNLIKELY(builder->pen->strict))
    return builder->now;
  return LIKELY(operation->time > builder->start) ? operation->time - builder->start : 0;
}

/* counterLive -- a process has so many more objects and bytes */
static void counterLive(TrackBuilder builder, HeapOperation operation, uint64_t objects, uint64_t bytes)
{
  ThreadsProcess process = builder->who.process[operation->process];
  TrackProcess drawn;
  uint64_t time;
  Index pool;

  if (UNLIKELY(builder->before) || TrackHides(builder, operation->process))
    return;
  drawn = TrackProcessOf(builder, process);
  if (UNLIKELY(drawn == NULL))
    return;
  drawn->liveObjects += objects;
  drawn->liveBytes += bytes;
  pool = bytes != 0 ? counterPool(builder, drawn, operation->pool, bytes) : TrackPoolsMAX;
  if (UNLIKELY(!counters(builder, process)))
    return;
  time = counterTime(builder, operation);
  if (objects != 0)
    counterSet(builder, drawn->objects, drawn->liveObjects, time);
  if (bytes != 0)
    counterSet(builder, drawn->bytes, drawn->liveBytes, time);
  if (pool < TrackPoolsMAX && drawn->pool[pool].gauge != NULL)
    counterSet(builder, drawn->pool[pool].gauge, drawn->pool[pool].bytes, time);
  else if (pool < TrackPoolsMAX)
    counterPoolGauges(builder, process, time);
}

static void counterAlloc(void *data, HeapOperation operation)
{
  counterLive(data, operation, 1, operation->object->size);
}

static void counterFree(void *data, HeapOperation operation)
{
  counterLive(data, operation, 0 - (uint64_t)1, 0 - (uint64_t)operation->object->size);
}

static void counterResize(void *data, HeapOperation operation)
{
  counterLive(data, operation, 0, operation->object->size - operation->oldSize);
}

/* counterNothing -- a process has ended, and nothing lives in it */
static void counterNothing(TrackBuilder builder, ThreadsProcess process, TrackProcess drawn, uint64_t time)
{
  Index i;

  drawn->liveObjects = drawn->liveBytes = 0;
  for (i = 0; i < TrackPoolsMAX; ++i) {
    drawn->pool[i].bytes = 0;
    if (drawn->pool[i].gauge != NULL)
      counterSet(builder, drawn->pool[i].gauge, 0, time);
  }
  if (counters(builder, process)) {
    counterSet(builder, drawn->objects, 0, time);
    counterSet(builder, drawn->bytes, 0, time);
  }
}

static void counterOther(void *data, HeapOperation operation)
{
  TrackBuilder builder = data;
  ThreadsProcess process = builder->who.process[operation->process];
  TrackProcess drawn;

  if (builder->before || operation->kind != HeapPROCESSEND || operation->objects == 0 ||
      TrackHides(builder, operation->process))
    return;
  drawn = TrackProcessOf(builder, process);
  if (drawn != NULL)
    counterNothing(builder, process, drawn, counterTime(builder, operation));
}

/* What lives where the picture begins, of one process */
typedef struct counterLivesStruct {
  TrackBuilder builder;
  TrackProcess drawn;
} counterLivesStruct, *TrackLives;

static void counterLives(void *data, HeapPool pool, HeapThread thread, HeapObject object)
{
  TrackLives lives = data;

  UNUSED(thread);
  ++lives->drawn->liveObjects;
  lives->drawn->liveBytes += object->size;
  if (object->size != 0)
    (void)counterPool(lives->builder, lives->drawn, pool, object->size);
}

Res TrackHeapLives(TrackBuilder builder)
{
  counterLivesStruct lives = {builder, NULL};
  const uint64_t *counts;
  Count threads;
  Index i;
  Res res = ResOK;

  for (i = 0; i < LogProcesses(builder->log) && res == ResOK; ++i) {
    if (TrackHides(builder, i) || !HeapSeen(&threads, &counts, builder->heap, i) || !HeapHas(builder->heap, i))
      continue;
    lives.drawn = TrackHeld(builder, builder->who.process[i], FALSE);
    res = lives.drawn == NULL ? ResMEMORY : HeapObjects(builder->heap, i, counterLives, &lives);
  }
  return res;
}

Res TrackHeapMake(TrackBuilder builder)
{
  HeapClientStruct client = {builder, counterAlloc, counterFree, counterResize, counterOther, TRUE};
  Res res = HeapCreate(&builder->heap, &client, builder->log);

  if (res != ResOK)
    return res;
  HeapOf(builder->heap, builder->of);
  if (builder->pen->strict)
    HeapPrompt(builder->heap);
  return res;
}

/* ---- Values that events say ---- */

/* counterUnknown -- all bits of a number are set: what it counts is not known */
static Bool counterUnknown(LogEvent event, Index i)
{
  return LogEventWord(event, i) == (event->type->width[i] == 8 ? UINT64_MAX : UINT32_MAX);
}

/* TrackSample -- each number is a gauge: of the process that it is about, or else of the one that tells */
void TrackSample(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  ThreadsProcess process = plan->param < 0 ? builder->who.process[event->process->number]
                                       : ThreadsPid(&builder->who, (uint32_t)LogEventWord(event, (Index)plan->param));
  char name[512];
  TextStruct text;
  Index i;

  for (i = 0; i < event->type->params && process != NULL; ++i) {
    TrackCounter gauge;
    Size length;
    const char *stem = StringsAt(&builder->who.strings, plan->name, &length);
    if ((int)i == plan->param || (int)i == plan->other || strchr("UW", event->type->letter[i]) == NULL ||
        counterUnknown(event, i))
      continue;
    TextInit(&text, name, sizeof name);
    TextBytes(&text, stem, length < 128 ? length : 128);
    TextChar(&text, ' ');
    if (plan->other >= 0) {
      TextDecimal(&text, LogEventWord(event, (Index)plan->other));
      TextChar(&text, ' ');
    }
    TextBytes(&text, event->type->param[i], event->type->paramLength[i]);
    gauge = counterNamed(builder, process, TextTerminate(&text), FALSE);
    if (gauge != NULL)
      counterSet(builder, gauge, LogEventWord(event, i), builder->now);
  }
}

/* TrackUser -- a value that the program names itself is a gauge, what is no number a mark */
void TrackUser(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  ThreadsThread thread = ThreadsOf(&builder->who, event);
  uint32_t interned = InternsFind(&builder->interns, event->process, LogEventWord(event, (Index)plan->param));
  uint32_t name = interned != 0 ? interned : plan->name;
  Bool real = plan->other >= 0 && event->type->letter[plan->other] == 'D';
  TrackCounter gauge;

  if (plan->other < 0) {
    TrackMark(builder, thread->client, name, event);
    return;
  }
  if (real && !isfinite(LogEventDouble(event, (Index)plan->other)))
    return; /* which cannot be drawn */
  gauge = counterOf(builder, thread->process, name, real, FALSE);
  if (gauge != NULL)
    counterSet(builder, gauge, LogEventWord(event, (Index)plan->other), builder->now);
}
