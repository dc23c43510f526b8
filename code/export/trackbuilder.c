/* trackbuilder.c -- a picture of a log: lanes, slices, marks and counters, in order of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/trackbuilder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "heap/managerstate.h"

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

/* beforeKinds -- the kinds that have a type which names something */
static uint32_t beforeKinds(Log log)
{
  uint32_t kinds = 0;
  Index i, t;

  for (i = 0; i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; t < registry->count; ++t)
      if (registry->types[t].kind < 32 && ThreadsWants(&registry->types[t]))
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
  TrackBuilder builder = request->data;

  HeapEvent(builder->heap, event);
  return builder->failed;
}

/* beforeRead -- one pass: names from the beginning on, the heap from a position on */
static Res beforeRead(TrackBuilder builder, LogRequest drawn, const LogPositionStruct *from, const LogPositionStruct *to)
{
  LogRequestStruct names = LogRequestALL, objects = LogRequestALL;
  PawService service;
  Res res = PawServiceCreate(&service, builder->log, 0);

  if (res != ResOK)
    return res;
  names.data = objects.data = builder;
  names.end = objects.end = to;
  names.choose = beforeNames;
  names.kinds = beforeKinds(builder->log);
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

static Res trackBefore(TrackBuilder builder, LogRequest drawn)
{
  LogPositionStruct from, to;
  Res res;

  builder->before = TRUE;
  PawPositionOfTime(&to, builder->log, drawn->from);
  res = ManagerStateRestore(&from, builder->heap, builder->log, drawn, &to);
  if (res == ResOK)
    res = beforeRead(builder, drawn, &from, &to);
  HeapCatchUp(builder->heap);
  if (res == ResOK)
    res = TrackHeapLives(builder);
  builder->before = FALSE;
  builder->now = drawn->from - builder->start;
  return res == ResOK && builder->failed ? ResMEMORY : res;
}

/* ---- What an event type is in a picture, by its name and the names of its parameters ---- */

/* Types that come in pairs, and what is added to their stem for the name of the slice. */
static const struct {
  const char *begin, *end, *shown;
  Bool own; /* a thread ends its own only, and some ends have no beginning: who need not wait does not begin to */
} trackPairs[] = {
  {"Begin", "End", "", FALSE}, {"Start", "End", "", FALSE}, {"Request", "Acquire", " wait", TRUE},
  {"Reach", "Resume", " wait", TRUE},
};

/* trackEnds -- does the name end so, with a stem before it, whose length is returned? */
static Bool trackEnds(const char *name, Size length, const char *suffix, Size *stemReturn)
{
  Size more = strlen(suffix);

  if (length <= more || memcmp(name + length - more, suffix, more) != 0)
    return FALSE;
  *stemReturn = length - more;
  return TRUE;
}

/* trackFind -- the type whose name is the stem and the suffix; or NULL */
static EventType trackFind(Registry registry, const char *stem, Size length, const char *suffix)
{
  Index i;

  for (i = 0; i < registry->count; ++i) {
    EventType type = &registry->types[i];
    Size plain = HeapPlain(type), other;
    if (plain == length + strlen(suffix) && trackEnds(type->name, plain, suffix, &other) &&
        memcmp(type->name, stem, length) == 0)
      return type;
  }
  return NULL;
}

/* trackSalts -- which parameters both types of a pair have, and what tells them apart */
static void trackSalts(TrackPlan plan, EventType type, EventType other)
{
  Index i, j, k;

  for (i = 0; i < type->params; ++i) {
    uint64_t salt = type->paramLength[i];
    for (j = 0; j < other->params; ++j) {
      if (type->letter[i] == other->letter[j] && strchr("PAWU", type->letter[i]) != NULL &&
          type->paramLength[i] == other->paramLength[j] &&
          memcmp(type->param[i], other->param[j], type->paramLength[i]) == 0)
        break;
    }
    for (k = 0; j < other->params && k < type->paramLength[i]; ++k)
      salt = (salt ^ (unsigned char)type->param[i][k]) * 0x9e3779b97f4a7c15u;
    plan->salt[i] = j < other->params ? salt | 1 : 0;
  }
}

/* trackPair -- if the type is one of a pair, name the slice and say which */
static void trackPair(TrackBuilder builder, TrackPlan plan, EventType type, Registry registry)
{
  Size plain = HeapPlain(type), stem;
  char name[512];
  TextStruct text;
  EventType other = NULL;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(trackPairs); ++i) {
    if (trackEnds(type->name, plain, trackPairs[i].begin, &stem) &&
        (other = trackFind(registry, type->name, stem, trackPairs[i].end)) != NULL)
      plan->role = TrackRoleBEGIN;
    else if (trackEnds(type->name, plain, trackPairs[i].end, &stem) &&
             (other = trackFind(registry, type->name, stem, trackPairs[i].begin)) != NULL)
      plan->role = TrackRoleEND;
    else
      continue;
    if (!trackPairs[i].own)
      trackSalts(plan, type, other);
    TextInit(&text, name, sizeof name);
    TextBytes(&text, type->name, stem);
    TextString(&text, trackPairs[i].shown);
    plan->name = StringsAdd(&builder->who.strings, name, TextLength(&text));
    return;
  }
}

/* trackValues -- types that say values, and strings */
static void trackValues(TrackBuilder builder, TrackPlan plan, EventType type)
{
  Size stem;
  int id, string;

  if (trackEnds(type->name, type->nameLength, "Sample", &stem)) {
    plan->role = TrackRoleSAMPLE;
    plan->name = StringsAdd(&builder->who.strings, type->name, stem);
    plan->param = TypeCacheParam(type, "pid", "UW");
    plan->other = TypeCacheParam(type, "task", "UW");
  } else if (InternsTells(&id, &string, type)) {
    plan->role = TrackRoleINTERN;
    plan->param = id;
    plan->other = string;
  } else if (type->nameLength > 4 && memcmp(type->name, "User", 4) == 0 && TypeCacheParam(type, "id", "UW") >= 0) {
    plan->role = TrackRoleUSER;
    plan->param = TypeCacheParam(type, "id", "UW");
    plan->other = TypeCacheParam(type, "value", "UWD");
  }
}

static void trackPlanMake(TrackBuilder builder, TrackPlan plan, LogEvent event)
{
  EventType type = event->type;
  HeapPlanStruct heap;

  plan->heap = HeapPlanMake(&heap, type, event->process->header.widths.swapped);
  plan->name = StringsAdd(&builder->who.strings, type->name, type->nameLength);
  plan->role = TrackRoleMARK;
  plan->param = plan->other = -1;
  if (heap.does == HeapDoesFREE || heap.does == HeapDoesLIVE) {
    plan->role = TrackRoleQUIET;
  } else if (heap.does == HeapDoesALLOC || heap.does == HeapDoesZERO || heap.does == HeapDoesALIGNED) {
    plan->role = TrackRoleALLOC;
    plan->param = heap.param[HeapParamSIZE];
  } else {
    trackPair(builder, plan, type, event->process->registry);
    if (plan->role == TrackRoleMARK)
      trackValues(builder, plan, type);
  }
}

/* ---- What happens in a lane: marks, and slices that nest ----
 *
 * Of slices that begin thick and fast only some are drawn.  One that is not, though, and lasts longer than that, is
 * what somebody looks for: its lane waits, and the slice is drawn from when it is due, if it is still open. */

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
    builder->pen->mark(builder, lane->thread, name, event, builder->now);
}

static void trackWait(TrackBuilder builder, TrackLane lane, uint64_t time)
{
  lane->due = time + builder->thin;
  lane->waiting = TRUE;
  lane->later = NULL;
  if (builder->firstLane == NULL)
    builder->firstLane = lane;
  else
    builder->lastLane->later = lane;
  builder->lastLane = lane;
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
    builder->pen->begin(builder, lane->thread, plan->name, event, builder->now);
  else if (!lane->waiting)
    trackWait(builder, lane, builder->now);
}

/* trackPop -- the innermost slice of the lane ends */
static void trackPop(TrackBuilder builder, TrackLane lane)
{
  TrackProcess process = lane->thread->process->client;
  TrackSlice slice = &lane->slice[--lane->depth];

  --process->open;
  if (slice->drawn)
    builder->pen->end(builder, lane->thread, slice->name, builder->now);
}

/* trackOpen -- how deep a slice of this name is in the lane, of this key unless that is 0; 0: there is none */
static unsigned trackOpen(TrackLane lane, uint32_t name, uint64_t key)
{
  unsigned depth = lane->depth;

  while (depth > 0 && (lane->slice[depth - 1].name != name || (key != 0 && lane->slice[depth - 1].key != key)))
    --depth;
  return depth;
}

/* trackEnd -- what is inside it ends with it.  What one thread has begun another may end, if they say the same of it. */
static void trackEnd(TrackBuilder builder, TrackLane lane, TrackPlan plan, LogEvent event)
{
  TrackProcess process = lane->thread->process->client;
  ThreadsThread thread = lane->thread->process->threads;
  unsigned depth = trackOpen(lane, plan->name, 0);
  uint64_t key = 0;

  if (depth == 0 && process->open > 0)
    key = trackKey(plan, event);
  for (; depth == 0 && key != 0 && thread != NULL; thread = thread->next) {
    lane = thread->client;
    depth = lane == NULL ? 0 : trackOpen(lane, plan->name, key);
  }
  while (depth > 0 && lane->depth >= depth)
    trackPop(builder, lane);
}

static void trackEndAll(TrackBuilder builder)
{
  TrackLane lane;

  for (lane = builder->lanes; lane != NULL; lane = lane->next) {
    while (lane->depth > 0)
      trackPop(builder, lane);
  }
}

static void trackLaneDue(TrackBuilder builder, Bool last)
{
  TrackLane lane = builder->firstLane;
  Bool again = FALSE;
  unsigned i;

  builder->firstLane = lane->later;
  lane->waiting = FALSE;
  for (i = 0; i < lane->depth && !last; ++i) {
    TrackSlice slice = &lane->slice[i];
    unsigned inner = i + 1;
    if (slice->drawn)
      continue;
    while (inner < lane->depth && !lane->slice[inner].drawn)
      ++inner;
    if (inner < lane->depth)
      continue; /* drawn now it would begin inside of what is inside of it */
    if (lane->due - slice->start < builder->thin) {
      again = TRUE;
      break;
    }
    slice->drawn = TRUE;
    builder->pen->begin(builder, lane->thread, slice->name, NULL, lane->due);
  }
  if (again)
    trackWait(builder, lane, lane->due);
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

Res TrackCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output,
                const TrackSinkStruct *pen)
{
  TrackBuilder builder = calloc(1, sizeof *builder);

  if (builder == NULL)
    return ResMEMORY;
  builder->pen = pen;
  builder->output = output;
  builder->log = log;
  builder->of = options->of;
  builder->start = options->start;
  builder->thin = trackThin(options->thin, log);
  TypeCacheInit(&builder->plans, sizeof(TrackPlanStruct));
  if (ThreadsInit(&builder->who, log) != ResOK) {
    free(builder);
    return ResMEMORY;
  }
  InternsInit(&builder->interns, &builder->who.strings);
  builder->held = calloc(builder->who.count + 1, sizeof(TrackProcess));
  if (builder->held == NULL || TrackHeapMake(builder) != ResOK) {
    TrackDestroy(builder);
    return ResMEMORY;
  }
  OutputString(output, pen->head);
  *writerReturn = builder;
  return ResOK;
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
  while (builder->gauges != NULL) {
    TrackCounter gauge = builder->gauges;
    builder->gauges = gauge->next;
    free(gauge);
  }
  for (process = builder->who.first; process != NULL; process = process->next)
    free(process->client);
  for (i = 0; builder->held != NULL && i < builder->who.count; ++i)
    free(builder->held[i]);
  free(builder->held);
  InternsFinish(&builder->interns);
  if (builder->heap != NULL)
    HeapDestroy(builder->heap);
  TypeCacheFinish(&builder->plans);
  ThreadsFinish(&builder->who);
  free(builder->own);
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
  builder->pen->process(builder, process, builder->now);
  TrackHeapBegin(builder, process);
  return drawn;
}

/* trackLane -- a thread is drawn for the first time */
static TrackLane trackLane(TrackBuilder builder, ThreadsThread thread)
{
  TrackLane lane;

  if (TrackProcessOf(builder, thread->process) == NULL)
    return NULL;
  lane = calloc(1, sizeof *lane);
  if (lane == NULL) {
    builder->failed = TRUE;
    return NULL;
  }
  lane->thread = thread;
  lane->next = builder->lanes;
  builder->lanes = lane;
  thread->client = lane;
  builder->pen->thread(builder, thread, FALSE, builder->now);
  thread->fresh = FALSE;
  return lane;
}

static TrackLane trackLaneOf(TrackBuilder builder, ThreadsThread thread)
{
  TrackLane lane = thread->client;

  if (UNLIKELY(lane == NULL))
    return trackLane(builder, thread);
  if (UNLIKELY(thread->fresh)) {
    builder->pen->thread(builder, thread, TRUE, builder->now);
    thread->fresh = FALSE;
  }
  return lane;
}

/* trackDue -- what was due before now, in order; or, with `last`, all that waits */
static void trackDue(TrackBuilder builder, Bool last)
{
  for (;;) {
    TrackCounter gauge = builder->firstGauge;
    TrackLane lane = builder->firstLane;
    if (gauge != NULL && (last || gauge->due <= builder->now) && (lane == NULL || gauge->due <= lane->due))
      TrackCounterDue(builder, last);
    else if (lane != NULL && (last || lane->due <= builder->now))
      trackLaneDue(builder, last);
    else
      return;
  }
}

/* trackPlanned -- draw an event of which it is known what it is */
static void trackPlanned(TrackBuilder builder, TrackPlan plan, TrackLane lane, LogEvent event)
{
  switch (plan->role) {
  case TrackRoleALLOC:
    if (UNLIKELY(LogEventWord(event, (Index)plan->param) >= TrackLARGE))
      TrackMark(builder, lane, plan->name, event);
    break;
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
    if (InternsAdd(&builder->interns, event, plan->param, plan->other) != ResOK)
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
    trackPlanMake(builder, plan, event);
  if (UNLIKELY(plan->role != TrackRoleQUIET) && !told)
    trackPlanned(builder, plan, lane, event);
  if (LIKELY(plan->heap))
    HeapEvent(builder->heap, event);
  return builder->failed || builder->output->failed != 0;
}

Res TrackRead(TrackBuilder builder, LogRequest request)
{
  Res res = request->from > builder->start ? trackBefore(builder, request) : ResOK;

  return res == ResOK ? InternsRead(&builder->interns, builder->log, request) : res;
}

Res TrackFinish(TrackBuilder builder)
{
  Res res = HeapSettle(builder->heap);

  trackDue(builder, TRUE);
  trackEndAll(builder);
  if (res != ResOK || builder->failed || builder->who.failed) {
    errno = ENOMEM;
    return ResIO;
  }
  builder->pen->tail(builder, builder->now);
  return OutputEnd(builder->output);
}
