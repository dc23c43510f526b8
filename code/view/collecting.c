/* collecting.c -- the collections that a log tells of
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/collecting.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
  collectingSTART = TypeCacheCLIENT, collectingFLIP, collectingBEGIN, collectingSTOP, collectingEND,
  collectingABANDON
};

static const TypeCacheKnownStruct collectingKnown[] = {
  {"TraceStart", collectingSTART, {"PAWU pool", "WU trace", "WU condemned", "S why"}},
  {"TraceFlip", collectingFLIP, {"PAWU pool", "WU trace", "D seconds"}},
  {"TraceStepBegin", collectingBEGIN, {"PAWU pool", "WU trace"}},
  {"TraceStepEnd", collectingSTOP, {"PAWU pool", "WU trace"}},
  {"TraceEnd", collectingEND, {"PAWU pool", "WU trace", "WU condemned", "WU reclaimed"}},
  {"TraceAbandon", collectingABANDON, {"D seconds"}},
};

static CollectingRow collectingNew(Collecting collecting, LogEvent event, uint64_t pool, uint64_t number)
{
  CollectingRow row;

  if (!Grow(&collecting->row, &collecting->capacity, collecting->rows, sizeof *collecting->row)) {
    collecting->failed = TRUE;
    return NULL;
  }
  row = &collecting->row[collecting->rows++];
  *row = (CollectingRowStruct){.process = event->process, .pool = pool, .number = number, .begin = event->time};
  return row;
}

/* collectingOf -- the collection that an event is of; one whose beginning is not in the log begins with it */
static CollectingRow collectingOf(Collecting collecting, LogEvent event, TypeCacheTell plan)
{
  uint64_t pool = LogEventWord(event, (Index)plan->param[0]), number = LogEventWord(event, (Index)plan->param[1]);
  Index i;

  /* It is among the last ones: pools and processes that collect at a time are few. */
  for (i = collecting->rows; i > 0 && collecting->rows - i < CollectingOPEN; --i) {
    CollectingRow row = &collecting->row[i - 1];
    if (row->process == event->process && row->pool == pool && row->number == number)
      return row;
  }
  return collectingNew(collecting, event, pool, number);
}

static void collectingAdd(CollectingSum sum, uint64_t begin, uint64_t ns)
{
  ++sum->pauses;
  sum->paused += ns;
  if (sum->longest < ns) {
    sum->longest = ns;
    sum->longestAt = begin;
  }
}

CollectingSumStruct CollectingAll(const CollectingSumStruct *stop, const CollectingSumStruct *step)
{
  CollectingSumStruct all = stop->longest >= step->longest ? *stop : *step;

  all.pauses = stop->pauses + step->pauses;
  all.paused = stop->paused + step->paused;
  return all;
}

/* collectingPause -- `row` is NULL where a collection was abandoned: it has none */
static void collectingPause(Collecting collecting, CollectingRow row, uint64_t begin, uint64_t ns, Bool step)
{
  uint64_t us = ns / 1000;
  unsigned place = us == 0 ? 0 : 64 - (unsigned)__builtin_clzll(us);

  collectingAdd(step ? &collecting->step : &collecting->stop, begin, ns);
  ++(step ? collecting->steps : collecting->stops)[place < CollectingLENGTHS ? place : CollectingLENGTHS - 1];
  if (row == NULL)
    return;
  collectingAdd(step ? &row->step : &row->stop, begin, ns);
  if (!collecting->keeps || collecting->kept == CollectingPausesMAX)
    return;
  if (!Grow(&collecting->pause, &collecting->keptCapacity, collecting->kept, sizeof *collecting->pause))
    collecting->failed = TRUE;
  else
    collecting->pause[collecting->kept++] =
      (CollectingPauseStruct){begin, ns, (uint32_t)(row - collecting->row), step};
}

/* collectingStop -- registered threads stood still for so long, until this event; returns that in ns */
static uint64_t collectingStop(Collecting collecting, CollectingRow row, LogEvent event, double seconds)
{
  /* What a log says may be anything; a pause was not longer than the time until its event. */
  uint64_t ns = seconds >= 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9 + 0.5) : 0;

  collectingPause(collecting, row, event->time - (ns < event->time ? ns : event->time), ns, FALSE);
  if (collecting->open == 0)
    collecting->covered += ns < event->time - collecting->only->from ? ns : event->time - collecting->only->from;
  return ns;
}

/* collectingStepOf -- the step that the event's thread is in, or NULL */
static CollectingStep collectingStepOf(Collecting collecting, LogEvent event)
{
  Index i;

  for (i = 0; i < collecting->open; ++i)
    if (collecting->begun[i].process == event->process && collecting->begun[i].thread == event->thread)
      return &collecting->begun[i];
  return NULL;
}

static void collectingBeginStep(Collecting collecting, LogEvent event)
{
  CollectingStep step = collectingStepOf(collecting, event);

  if (step == NULL && collecting->open < CollectingOPEN) {
    if (collecting->open == 0)
      collecting->openSince = event->time;
    step = &collecting->begun[collecting->open++];
  }
  if (step != NULL)
    *step = (CollectingStepStruct){event->process, event->thread, event->time};
}

static void collectingEndStep(Collecting collecting, CollectingRow row, LogEvent event)
{
  CollectingStep step = collectingStepOf(collecting, event);

  if (step == NULL)
    return; /* its beginning is missing */
  collectingPause(collecting, row, step->begin, event->time - step->begin, TRUE);
  *step = collecting->begun[--collecting->open];
  if (collecting->open == 0)
    collecting->covered += event->time - collecting->openSince;
}

static void collectingStart(CollectingRow row, LogEvent event, TypeCacheTell plan)
{
  Size length;
  const char *why = LogEventString(event, (Index)plan->param[3], &length);

  if (length > sizeof row->why - 1)
    length = sizeof row->why - 1;
  memcpy(row->why, why, length);
  row->condemned = LogEventWord(event, (Index)plan->param[2]);
}

static Bool collectingEvent(LogRequest request, LogEvent event)
{
  Collecting collecting = request->data;
  TypeCacheTell plan = TypeCacheTells(&collecting->plans, event, collectingKnown, ARRAY_LENGTH(collectingKnown));
  CollectingRow row;

  if (plan != NULL && plan->tells == TypeCacheNOTHING)
    return FALSE;
  if (collecting->of != NULL && OfProcessBefore(collecting->of, event->process->number))
    return FALSE;
  if (plan != NULL && plan->tells == collectingABANDON) {
    ++collecting->abandoned;
    collecting->abandonedNs +=
      collectingStop(collecting, NULL, event, LogEventDouble(event, (Index)plan->param[0]));
    return FALSE;
  }
  row = plan == NULL ? NULL : collectingOf(collecting, event, plan);
  if (row == NULL) {
    collecting->failed = TRUE;
    return TRUE;
  }
  switch (plan->tells) {
  case collectingSTART: collectingStart(row, event, plan); break;
  case collectingFLIP:
    (void)collectingStop(collecting, row, event, LogEventDouble(event, (Index)plan->param[2]));
    break;
  case collectingBEGIN: collectingBeginStep(collecting, event); break;
  case collectingSTOP: collectingEndStep(collecting, row, event); break;
  default:
    row->end = event->time;
    row->condemned = LogEventWord(event, (Index)plan->param[2]);
    row->reclaimed = LogEventWord(event, (Index)plan->param[3]);
    break;
  }
  return FALSE;
}

static Bool collectingChoose(void *data, LogProcess process, EventType type)
{
  Collecting collecting = data;

  return (TypeCacheKnows(type, collectingKnown, ARRAY_LENGTH(collectingKnown)) ||
          collecting->request.count != UINT64_MAX) &&
         LogRequestChooses((LogRequest)collecting->only, process, type);
}

/* collectingKinds -- the bits of the kinds that tell of collections */
static uint32_t collectingKinds(Registry registry)
{
  uint32_t kinds = 0;
  Index i;

  for (i = 0; i < registry->count; ++i)
    if (registry->types[i].kind < 32 &&
        TypeCacheKnows(&registry->types[i], collectingKnown, ARRAY_LENGTH(collectingKnown)))
      kinds |= (uint32_t)1 << registry->types[i].kind;
  return kinds;
}

Bool CollectingKnown(Log log)
{
  uint32_t there = LogKindsThere(log);
  Index i;

  for (i = 0; i < LogProcesses(log); ++i) {
    LogProcess process = LogProcessAt(log, i);
    const HeaderSentStruct *sent = &process->header.sent;
    uint32_t on = sent->ticks != 0 ? sent->first | sent->now : 0;
    if (process->header.role[0] == '\0' && process->registry != NULL &&
        (collectingKinds(process->registry) & (there | on)) != 0)
      return TRUE;
  }
  return FALSE;
}

void CollectingInit(Collecting collecting, const LogRequestStruct *only, OfProcess of, Bool keeps)
{
  memset(collecting, 0, sizeof *collecting);
  collecting->of = of;
  collecting->only = only;
  collecting->keeps = keeps;
  TypeCacheInit(&collecting->plans, sizeof(TypeCacheTellStruct));
  collecting->request = *only;
  collecting->request.data = collecting;
  collecting->request.choose = collectingChoose;
  collecting->request.chooseData = collecting;
  collecting->request.event = collectingEvent;
}

void CollectingFinish(Collecting collecting)
{
  TypeCacheFinish(&collecting->plans);
  free(collecting->row);
  free(collecting->pause);
  collecting->row = NULL;
  collecting->pause = NULL;
}

Res CollectingOver(Collecting collecting)
{
  Index i;

  for (i = 0; i < collecting->rows; ++i) {
    CollectingRow row = &collecting->row[i];
    if (row->end == 0) {
      ++collecting->incomplete;
    } else {
      collecting->condemned += row->condemned;
      collecting->reclaimed += row->reclaimed;
    }
  }
  return collecting->failed ? ResMEMORY : ResOK;
}
