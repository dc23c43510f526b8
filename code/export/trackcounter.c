/* trackcounter.c -- values that change, written now and then: the live heap, samples, what the program counts
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A counter that changes is written at once, and waits from then on: when it is due it is written again if it has
 * another value, and waits again, or else it rests until it changes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "export/trackbuilder.h"
#include "heap/heaplook.h"

/* counterHigher -- is a higher than b? */
static Bool counterHigher(TrackCounter counter, uint64_t a, uint64_t b)
{
  return LIKELY(!counter->real) ? a > b : TrackReal(a) > TrackReal(b);
}

/* counterWrite -- write a value, at the counter's last time or later: at a log's end the heap may report earlier
 * times */
static void counterWrite(TrackBuilder builder, TrackCounter counter, uint64_t value, uint64_t time)
{
  if (time > counter->at)
    counter->at = time;
  counter->written = value;
  builder->sink->value(builder, counter, value, counter->at);
}

/* counterSettle -- at `time` it is due: write what has changed.  TRUE: something had, and it will be due again. */
static Bool counterSettle(TrackBuilder builder, TrackCounter counter, uint64_t time)
{
  Bool peak = counterHigher(counter, counter->peak, counter->written) && counterHigher(counter, counter->peak, counter->value);

  if (peak)
    counterWrite(builder, counter, counter->peak, builder->sink->strict ? time : counter->peakTime);
  if (!peak && counter->value == counter->written)
    return FALSE;
  counterWrite(builder, counter, counter->value, time);
  counter->peak = counter->value;
  counter->wait.due = time + builder->thin;
  return TRUE;
}

/* counterDue -- where the heap tells late, it first tells what happened before the counter was due */
static void counterDue(TrackBuilder builder, TrackWait wait, Bool last)
{
  TrackCounter counter = (TrackCounter)wait;

  if (!builder->sink->strict && counter->process->log != NULL)
    HeapCatchUp(builder->heap);
  AVER(wait->waiting);
  wait->waiting = FALSE;
  if (last)
    (void)counterSettle(builder, counter, builder->now < wait->due ? builder->now : wait->due);
  else if (wait->due > builder->now || counterSettle(builder, counter, wait->due))
    TrackWaitFor(&builder->counterQueue, wait, wait->due);
}

/* counterOf -- the counter of a process that is called so, made if there is none; NULL: no memory */
static TrackCounter counterOf(TrackBuilder builder, ThreadsProcess process, uint32_t name, Bool real, Bool pool)
{
  uint32_t key[] = {process->id, name, (uint32_t)real, (uint32_t)pool}, number;
  TrackCounter counter = NULL;

  if (TrackProcessOf(builder, process) == NULL) /* which may make counters of its own */
    return NULL;
  number = StringsAdd(&builder->counterKeys, (const char *)key, sizeof key);
  if (number != 0 && number <= builder->counters)
    return builder->counter[number - 1];
  if (number != 0 && Grow(&builder->counter, &builder->counterCapacity, builder->counters, sizeof counter))
    counter = malloc(sizeof *counter);
  if (counter == NULL) {
    builder->failed = TRUE;
    return NULL;
  }
  *counter = (TrackCounterStruct){.wait.settle = counterDue, .process = process, .name = name, .number = number,
                                .real = real, .pool = pool};
  builder->counter[builder->counters++] = counter;
  if (builder->sink->counter != NULL)
    builder->sink->counter(builder, counter, builder->now);
  return counter;
}

/* counterChange -- a counter that rests, or is due, has another value */
static __attribute__((noinline)) void counterChange(TrackBuilder builder, TrackCounter counter, uint64_t value,
                                                    uint64_t time)
{
  if (counter->wait.waiting && counterSettle(builder, counter, counter->wait.due) && time < counter->wait.due)
    return; /* and waits on */
  counter->value = counter->peak = value;
  counter->wait.due = time + builder->thin;
  counterWrite(builder, counter, value, time);
  if (builder->thin > 0 && !counter->wait.waiting)
    TrackWaitFor(&builder->counterQueue, &counter->wait, counter->wait.due);
}

static void counterSet(TrackBuilder builder, TrackCounter counter, uint64_t value, uint64_t time)
{
  if (UNLIKELY(!counter->wait.waiting || time >= counter->wait.due))
    counterChange(builder, counter, value, time);
  counter->value = value;
  if (counterHigher(counter, value, counter->peak)) {
    counter->peak = value;
    counter->peakTime = time;
  }
}

/* ---- The live heap ---- */

static TrackCounter counterNamed(TrackBuilder builder, ThreadsProcess process, const char *name, Bool pool)
{
  return counterOf(builder, process, StringsAdd(&builder->who.strings, name, strlen(name)), FALSE, pool);
}

/* counterPoolCounter -- a counter for a pool, which has one where there is more than one pool */
static TrackCounter counterPoolCounter(TrackBuilder builder, ThreadsProcess process, Index i)
{
  TrackProcess drawn = process->client;
  char name[96];
  Size length;
  const char *class = StringsAt(&builder->who.strings, drawn->pool[i].class, &length);

  (void)snprintf(name, sizeof name, "pool %zu%s%s", i, length > 0 ? " " : "", class);
  return counterNamed(builder, process, name, TRUE);
}

/* counterPoolCounters -- all pools have counters from the second one on */
static void counterPoolCounters(TrackBuilder builder, ThreadsProcess process, uint64_t time)
{
  TrackProcess drawn = process->client;
  Index i;

  for (i = 0; drawn->pools > 1 && i < TrackPoolsMAX && !builder->failed; ++i) {
    if (drawn->pool[i].met && drawn->pool[i].counter == NULL) {
      drawn->pool[i].counter = counterPoolCounter(builder, process, i);
      if (drawn->pool[i].counter != NULL)
        counterSet(builder, drawn->pool[i].counter, drawn->pool[i].bytes, time);
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

/* counterOfProcess -- the process has counters for what lives in it; FALSE: no memory */
static Bool counterOfProcess(TrackBuilder builder, ThreadsProcess process)
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

  if (drawn->liveObjects == 0 || !counterOfProcess(builder, process))
    return;
  counterSet(builder, drawn->objects, drawn->liveObjects, builder->now);
  counterSet(builder, drawn->bytes, drawn->liveBytes, builder->now);
  counterPoolCounters(builder, process, builder->now);
}

/* counterTime -- when it is drawn: where nothing may be told late, now */
static inline uint64_t counterTime(TrackBuilder builder, HeapOperation operation)
{
  if (UNLIKELY(builder->sink->strict))
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
  if (UNLIKELY(!counterOfProcess(builder, process)))
    return;
  time = counterTime(builder, operation);
  if (objects != 0)
    counterSet(builder, drawn->objects, drawn->liveObjects, time);
  if (bytes != 0)
    counterSet(builder, drawn->bytes, drawn->liveBytes, time);
  if (pool < TrackPoolsMAX && drawn->pool[pool].counter != NULL)
    counterSet(builder, drawn->pool[pool].counter, drawn->pool[pool].bytes, time);
  else if (pool < TrackPoolsMAX)
    counterPoolCounters(builder, process, time);
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
    if (drawn->pool[i].counter != NULL)
      counterSet(builder, drawn->pool[i].counter, 0, time);
  }
  if (counterOfProcess(builder, process)) {
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
  HeapSeenStruct seen;
  Index i;
  Res res = ResOK;

  for (i = 0; i < LogProcesses(builder->log) && res == ResOK; ++i) {
    if (TrackHides(builder, i) || !HeapLook(&seen, builder->heap, i) || !HeapHas(builder->heap, i))
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
  if (builder->sink->strict)
    HeapPrompt(builder->heap);
  return res;
}

/* ---- Values that events say ---- */

/* counterUnknown -- are all bits of the number set, which means that the system did not know it? */
static Bool counterUnknown(LogEvent event, Index i)
{
  return LogEventWord(event, i) == (event->type->width[i] == 8 ? UINT64_MAX : UINT32_MAX);
}

/* TrackSample -- each number is a counter of the process that the event is about, or else of the event's own */
void TrackSample(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  ThreadsProcess process = plan->param < 0 ? builder->who.process[event->process->number]
                                       : ThreadsPid(&builder->who, (uint32_t)LogEventWord(event, (Index)plan->param));
  char task[32] = "", name[512];
  TrackCounter counter;
  Size length;
  Index i;

  if (plan->other >= 0)
    (void)snprintf(task, sizeof task, "%" PRIu64 " ", LogEventWord(event, (Index)plan->other));
  for (i = 0; i < event->type->params && process != NULL; ++i) {
    if ((int)i == plan->param || (int)i == plan->other || strchr("UW", event->type->letter[i]) == NULL ||
        counterUnknown(event, i))
      continue;
    (void)snprintf(name, sizeof name, "%.128s %s%.*s", StringsAt(&builder->who.strings, plan->name, &length), task,
                   event->type->paramLength[i], event->type->param[i]);
    counter = counterNamed(builder, process, name, FALSE);
    if (counter != NULL)
      counterSet(builder, counter, LogEventWord(event, i), builder->now);
  }
}

/* TrackUser -- a value that the program names itself is a counter, what is no number a mark */
void TrackUser(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  ThreadsThread thread = ThreadsOf(&builder->who, event);
  uint32_t interned = LabelsString(&builder->labels, event->process, LogEventWord(event, (Index)plan->param));
  uint32_t name = interned != 0 ? interned : plan->name;
  Bool real = plan->other >= 0 && event->type->letter[plan->other] == 'D';
  TrackCounter counter;

  if (plan->other < 0) {
    TrackMark(builder, thread->client, name, event);
    return;
  }
  if (real && !isfinite(LogEventDouble(event, (Index)plan->other)))
    return; /* which cannot be drawn */
  counter = counterOf(builder, thread->process, name, real, FALSE);
  if (counter != NULL)
    counterSet(builder, counter, LogEventWord(event, (Index)plan->other), builder->now);
}
