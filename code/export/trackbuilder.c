/* trackbuilder.c -- a picture of a log: lanes, slices, marks and counters, in order of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/trackbuilder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heapat.h"
#include "log/typenames.h"

/* ---- Before the picture: what lives then, and what things are called ----
 *
 * A process is drawn when the first event of the picture comes from it or tells of it.  What has been learned of it is
 * held until then. */

TrackProcess TrackHeld(TrackBuilder builder, ThreadsProcess process, Bool take)
{
  TrackProcess *place = process->log != NULL ? &builder->held[process->log->number] : NULL;
  TrackProcess drawn = place != NULL && *place != NULL ? *place : calloc(1, sizeof *drawn);

  if (drawn == NULL)
    builder->failed = TRUE;
  if (place != NULL)
    *place = take ? NULL : drawn;
  return drawn;
}

/* Names */

static Bool beforeNames(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return ThreadsWants(type);
}

static Bool beforeName(LogRequest request, LogEvent event)
{
  TrackBuilder builder = request->data;

  (void)ThreadsTell(&builder->who, event);
  return builder->failed;
}

/* The heap */

static Bool beforeObject(LogRequest request, LogEvent event)
{
  TrackBuilder builder = request->data;

  HeapEvent(builder->heap, event);
  return builder->failed;
}

/* beforeRead -- one pass: names from the beginning on, the heap from a position on */
static Res beforeRead(TrackBuilder builder, LogRequest drawn, const LogPositionStruct *from,
                      const LogPositionStruct *to)
{
  LogRequestStruct names = LogRequestALL, objects = LogRequestALL;
  LogRequest both[] = {&names, &objects};

  names.data = objects.data = builder;
  names.end = objects.end = to;
  names.choose = beforeNames;
  names.event = beforeName;
  objects.start = from;
  HeapChoose(&objects, drawn);
  objects.accept = drawn->accept;
  objects.acceptData = drawn->acceptData;
  objects.event = beforeObject;
  return LogServe(builder->log, both, ARRAY_LENGTH(both));
}

static Res trackBefore(TrackBuilder builder, LogRequest drawn)
{
  LogPositionStruct from, to;
  Res res;

  builder->before = TRUE;
  PawPositionOfTime(&to, builder->log, drawn->from);
  (void)HeapAtRestore(&from, builder->heap, NULL, builder->log, drawn, &to);
  res = beforeRead(builder, drawn, &from, &to);
  HeapCatchUp(builder->heap);
  if (res == ResOK)
    res = TrackHeapLives(builder);
  builder->before = FALSE;
  builder->now = drawn->from - builder->start;
  return res == ResOK && builder->failed ? ResMEMORY : res;
}

/* ---- What happens in a lane: marks, and slices that nest ----
 *
 * Of slices that begin in quick succession only some are drawn.  One that was left out but lasts longer than the time
 * of thinning is drawn after all, because long waits are what users look for: its lane waits, and if the slice is still
 * open when that is due, it is drawn from then on. */

/* trackSkip -- has the lane had one of these so lately that another is not drawn? */
static Bool trackSkip(TrackBuilder builder, TrackLane lane, uint32_t name)
{
  TrackSeen seen;
  Index i;

  if (builder->thin == 0)
    return FALSE;
  for (i = 0; i < lane->seens && lane->seen[i].name != name; ++i)
    ;
  if (i < lane->seens) {
    seen = &lane->seen[i];
    if (builder->now - seen->time < builder->thin)
      return TRUE;
    seen->time = builder->now;
    return FALSE;
  }
  if (!Grow(&lane->seen, &lane->seenCapacity, lane->seens, sizeof *seen)) {
    builder->failed = TRUE;
    return TRUE;
  }
  lane->seen[lane->seens++] = (TrackSeenStruct){name, builder->now};
  return FALSE;
}

void TrackMark(TrackBuilder builder, TrackLane lane, uint32_t name, LogEvent event)
{
  if (!trackSkip(builder, lane, name))
    builder->sink->mark(builder, lane->thread, name, event, builder->now);
}

void TrackWaitFor(TrackQueue queue, TrackWait wait, uint64_t due)
{
  AVER(!wait->waiting);
  wait->due = due;
  wait->waiting = TRUE;
  wait->later = NULL;
  *(queue->first == NULL ? &queue->first : &queue->last->later) = wait;
  queue->last = wait;
}

/* trackKey -- what a beginning says, and an end that belongs to it */
static uint64_t trackKey(TrackPlan plan, LogEvent event)
{
  uint64_t key = 0;
  Index i;

  for (i = 0; i < event->type->params; ++i) {
    if (plan->salt[i] != 0)
      key += (LogEventWord(event, i) + 1) * plan->salt[i];
  }
  return key;
}

static void trackBegin(TrackBuilder builder, TrackLane lane, TrackPlan plan, LogEvent event)
{
  TrackProcess process = lane->thread->process->client;
  TrackSlice slice;

  if (lane->depth == TrackDepthMAX)
    return; /* whose ends are all missing: what comes is no picture of anything */
  slice = &lane->slice[lane->depth++];
  ++process->open;
  slice->name = plan->name;
  slice->key = trackKey(plan, event);
  slice->start = builder->now;
  slice->drawn = !trackSkip(builder, lane, plan->name);
  if (slice->drawn)
    builder->sink->begin(builder, lane->thread, plan->name, event, builder->now);
  else if (!lane->wait.waiting)
    TrackWaitFor(&builder->laneQueue, &lane->wait, builder->now + builder->thin);
}

/* trackPop -- the innermost slice of the lane ends, by `event` or, if that is NULL, with what is around it */
static void trackPop(TrackBuilder builder, TrackLane lane, LogEvent event)
{
  TrackProcess process = lane->thread->process->client;
  TrackSlice slice = &lane->slice[lane->depth - 1];

  AVER(lane->depth > 0 && process->open > 0);
  --lane->depth;
  --process->open;
  if (slice->drawn)
    builder->sink->end(builder, lane->thread, slice->name, event, builder->now);
}

/* trackOpen -- how deep a slice of this name is in the lane, of this key unless that is 0; 0: there is none */
static unsigned trackOpen(TrackLane lane, uint32_t name, uint64_t key)
{
  unsigned depth = lane->depth;

  while (depth > 0 && (lane->slice[depth - 1].name != name || (key != 0 && lane->slice[depth - 1].key != key)))
    --depth;
  return depth;
}

/* trackEnd -- end a slice, and those inside it.  Another thread may have begun it, if both events have equal parameters
 * in common. */
static void trackEnd(TrackBuilder builder, TrackLane lane, TrackPlan plan, LogEvent event)
{
  TrackProcess process = lane->thread->process->client;
  ThreadsThread thread = lane->thread->process->threads;
  uint64_t key = plan->collection ? trackKey(plan, event) : 0; /* those of several pools have one lane */
  unsigned depth = trackOpen(lane, plan->name, key);

  if (depth == 0 && process->open > 0)
    key = trackKey(plan, event);
  for (; depth == 0 && key != 0 && thread != NULL; thread = thread->next) {
    lane = thread->client;
    depth = lane == NULL ? 0 : trackOpen(lane, plan->name, key);
  }
  while (depth > 0 && lane->depth >= depth)
    trackPop(builder, lane, lane->depth == depth ? event : NULL);
}

static void trackEndAll(TrackBuilder builder)
{
  TrackLane lane;

  for (lane = builder->lanes; lane != NULL; lane = lane->next) {
    while (lane->depth > 0)
      trackPop(builder, lane, NULL);
  }
}

static void trackLaneDue(TrackBuilder builder, TrackWait wait, Bool last)
{
  TrackLane lane = (TrackLane)wait;
  Bool again = FALSE;
  unsigned i;

  wait->waiting = FALSE;
  for (i = 0; i < lane->depth && !last; ++i) {
    TrackSlice slice = &lane->slice[i];
    unsigned inner = i + 1;
    if (slice->drawn)
      continue;
    while (inner < lane->depth && !lane->slice[inner].drawn)
      ++inner;
    if (inner < lane->depth)
      continue; /* drawn now it would begin inside of what is inside of it */
    if (wait->due - slice->start < builder->thin) {
      again = TRUE;
      break;
    }
    slice->drawn = TRUE;
    builder->sink->begin(builder, lane->thread, slice->name, NULL, wait->due);
  }
  if (again)
    TrackWaitFor(&builder->laneQueue, wait, wait->due + builder->thin);
}

/* ---- Events taken in ---- */

/* A picture of a log of an hour need not show what a millisecond did: unless told, one in so many pieces of the whole
 * is as fine as it gets, and 0.1 ms. */
enum { trackPIECES = 50000, trackFINEST = 100000 };

static uint64_t trackThin(uint64_t thin, Log log)
{
  LogSummaryStruct summary;

  if (thin != WriterThinAUTO)
    return thin;
  LogSummarize(&summary, log);
  thin = summary.last > summary.first ? (summary.last - summary.first) / trackPIECES : 0;
  return thin > trackFINEST ? thin : trackFINEST;
}

Res TrackCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  TrackBuilder builder = calloc(1, sizeof *builder);
  Res res;

  if (builder == NULL)
    return ResMEMORY;
  builder->sink = class->own;
  builder->output = options->output;
  builder->log = options->log;
  builder->of = options->of;
  builder->start = options->start;
  builder->thin = trackThin(options->thin, builder->log);
  TypeCacheInit(&builder->plans, sizeof(TrackPlanStruct));
  if (ThreadsInit(&builder->who, builder->log) != ResOK) {
    free(builder);
    return ResMEMORY;
  }
  LabelsInit(&builder->labels, &builder->who.strings);
  builder->held = calloc(builder->who.count + 1, sizeof(TrackProcess));
  res = builder->held == NULL ? ResMEMORY : TrackHeapMake(builder);
  if (res == ResOK && builder->sink->calls)
    res = WriterCalls(&builder->calls, options);
  if (res != ResOK) {
    TrackDestroy(builder);
    return res;
  }
  OutputString(builder->output, builder->sink->head);
  AVER(TrackCheck(builder));
  *writerReturn = builder;
  return ResOK;
}

static Bool trackQueueCheck(TrackQueue queue)
{
  TrackWait wait;

  for (wait = queue->first; wait != NULL; wait = wait->later)
    if (!wait->waiting || (wait->later == NULL && wait != queue->last))
      return FALSE;
  return TRUE;
}

Bool TrackCheck(TrackBuilder builder)
{
  ThreadsProcess process;
  TrackLane lane;
  Count slices = 0;
  Index i;

  for (i = 0; i < builder->counters; ++i)
    if (builder->counter[i]->number != i + 1)
      return FALSE;
  for (lane = builder->lanes; lane != NULL; lane = lane->next) {
    if (lane->depth > TrackDepthMAX || lane->thread->client != lane)
      return FALSE;
    slices += lane->depth;
  }
  for (process = builder->who.first; process != NULL; process = process->next)
    slices -= process->client == NULL ? 0 : ((TrackProcess)process->client)->open;
  return slices == 0 && builder->counters == builder->counterKeys.count && trackQueueCheck(&builder->counterQueue) &&
         trackQueueCheck(&builder->laneQueue);
}

void TrackDestroy(TrackBuilder builder)
{
  ThreadsProcess process;
  Index i;

  while (builder->lanes != NULL) {
    TrackLane lane = builder->lanes;
    builder->lanes = lane->next;
    free(lane->seen);
    free(lane);
  }
  for (i = 0; i < builder->counters; ++i)
    free(builder->counter[i]);
  free(builder->counter);
  StringsFinish(&builder->counterKeys);
  for (process = builder->who.first; process != NULL; process = process->next)
    free(process->client);
  for (i = 0; builder->held != NULL && i < builder->who.count; ++i)
    free(builder->held[i]);
  free(builder->held);
  LabelsFinish(&builder->labels);
  if (builder->heap != NULL)
    HeapDestroy(builder->heap);
  TypeCacheFinish(&builder->plans);
  ThreadsFinish(&builder->who);
  StringsFinish(&builder->defined);
  StringsFinish(&builder->frames);
  CallsFinish(&builder->calls);
  free(builder);
}

TrackProcess TrackProcessOf(TrackBuilder builder, ThreadsProcess process)
{
  TrackProcess drawn = process->client;

  if (LIKELY(drawn != NULL))
    return drawn;
  drawn = TrackHeld(builder, process, TRUE);
  if (drawn == NULL)
    return NULL;
  process->client = drawn;
  process->met = TRUE;
  builder->sink->process(builder, process, builder->now);
  TrackHeapBegin(builder, process);
  return drawn;
}

/* trackLane -- a thread is drawn for the first time; NULL: no memory */
static TrackLane trackLane(TrackBuilder builder, ThreadsThread thread)
{
  TrackLane lane = TrackProcessOf(builder, thread->process) == NULL ? NULL : calloc(1, sizeof *lane);

  if (lane == NULL) {
    builder->failed = TRUE;
    return NULL;
  }
  lane->wait.settle = trackLaneDue;
  lane->thread = thread;
  lane->next = builder->lanes;
  builder->lanes = lane;
  thread->client = lane;
  return lane;
}

static TrackLane trackLaneOf(TrackBuilder builder, ThreadsThread thread)
{
  Bool again = thread->client != NULL;
  TrackLane lane = LIKELY(again) ? thread->client : trackLane(builder, thread);

  if (lane != NULL && UNLIKELY(thread->fresh)) {
    builder->sink->thread(builder, thread, again, builder->now);
    thread->fresh = FALSE;
  }
  return lane;
}

/* trackDue -- what was due before now, in order; or, with `last`, all that waits */
static void trackDue(TrackBuilder builder, Bool last)
{
  TrackWait counter, lane, wait;

  for (;;) {
    counter = builder->counterQueue.first;
    lane = builder->laneQueue.first;
    wait = lane == NULL || (counter != NULL && counter->due <= lane->due) ? counter : lane;
    if (wait == NULL || (!last && wait->due > builder->now))
      return;
    (wait == counter ? &builder->counterQueue : &builder->laneQueue)->first = wait->later;
    wait->settle(builder, wait, last);
  }
}

/* trackPlanned -- draw an event as its plan says */
static void trackPlanned(TrackBuilder builder, TrackPlan plan, TrackLane lane, LogEvent event)
{
  switch (plan->role) {
  case TrackRoleALLOC:
    if (LIKELY(LogEventWord(event, (Index)plan->param) < TrackLARGE))
      break;
    __attribute__((fallthrough));
  case TrackRoleMARK:
    TrackMark(builder, lane, plan->name, event);
    break;
  case TrackRoleBEGIN:
    trackBegin(builder, lane, plan, event);
    break;
  case TrackRoleEND:
    trackEnd(builder, lane, plan, event);
    break;
  case TrackRoleSAMPLE:
    TrackSample(builder, plan, event);
    break;
  case TrackRoleINTERN:
    if (LabelsLearn(&builder->labels, event) != ResOK)
      builder->failed = TRUE;
    break;
  case TrackRoleUSER:
    TrackUser(builder, plan, event);
    break;
  default:
    break;
  }
}

Bool TrackEvent(LogRequest request, LogEvent event)
{
  TrackBuilder builder = request->data;
  TrackPlan plan;
  ThreadsThread thread;
  TrackLane lane;
  Bool told;

  if (TrackHides(builder, event->process->number)) {
    HeapEvent(builder->heap, event);
    return builder->failed;
  }
  plan = TypeCacheOf(&builder->plans, event);
  told = ThreadsTell(&builder->who, event);
  thread = ThreadsOf(&builder->who, event);
  if (LIKELY(event->time > builder->start) && event->time - builder->start > builder->now)
    builder->now = event->time - builder->start;
  trackDue(builder, FALSE);
  if (UNLIKELY(plan == NULL || thread == NULL || (lane = trackLaneOf(builder, thread)) == NULL))
    return TRUE;
  if (UNLIKELY(plan->role == TrackRoleUNSEEN))
    TrackPlanMake(builder, plan, event);
  if (UNLIKELY(plan->collection)) {
    thread = ThreadsCollections(&builder->who, thread->process);
    lane = thread == NULL ? NULL : trackLaneOf(builder, thread);
    if (lane == NULL)
      return TRUE;
  }
  if (UNLIKELY(plan->role != TrackRoleQUIET) && !told)
    trackPlanned(builder, plan, lane, event);
  if (LIKELY(plan->heap))
    HeapEvent(builder->heap, event);
  return builder->failed || builder->output->failed != 0;
}

Res TrackRead(TrackBuilder builder, LogRequest request)
{
  Res res = request->from > builder->start ? trackBefore(builder, request) : ResOK;

  return res == ResOK ? LabelsRead(&builder->labels, builder->log, request) : res;
}

void TrackFinish(TrackBuilder builder)
{
  Res res = HeapSettle(builder->heap);

  AVER(builder->failed || builder->who.failed || (TrackCheck(builder) && ThreadsCheck(&builder->who)));
  trackDue(builder, TRUE);
  trackEndAll(builder);
  if (res != ResOK || builder->failed || builder->who.failed || builder->who.strings.failed)
    OutputFail(builder->output, ENOMEM);
  else
    builder->sink->tail(builder, builder->now);
}
