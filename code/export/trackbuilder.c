/* trackbuilder.c -- a log as a picture has it: events taken in, what types are, lanes with marks and slices
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

static Res drawBefore(Draw draw, LogRequest drawn)
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

/* ---- What an event type is in a picture, by its name and the names of its parameters ---- */

/* Types that come in pairs, and what is added to their stem for the name of the slice. */
static const struct {
  const char *begin, *end, *shown;
  Bool own; /* a thread ends its own only, and some ends have no beginning: who need not wait does not begin to */
} drawPairs[] = {
  {"Begin", "End", "", FALSE}, {"Start", "End", "", FALSE}, {"Request", "Acquire", " wait", TRUE},
  {"Reach", "Resume", " wait", TRUE},
};

/* drawEnds -- does the name end so, with a stem before it, whose length is returned? */
static Bool drawEnds(const char *name, Size length, const char *suffix, Size *stemReturn)
{
  Size more = strlen(suffix);

  if (length <= more || memcmp(name + length - more, suffix, more) != 0)
    return FALSE;
  *stemReturn = length - more;
  return TRUE;
}

/* drawFind -- the type whose name is the stem and the suffix; or NULL */
static EventType drawFind(Registry registry, const char *stem, Size length, const char *suffix)
{
  Index i;

  for (i = 0; i < registry->count; ++i) {
    EventType type = &registry->types[i];
    Size plain = HeapPlain(type), other;
    if (plain == length + strlen(suffix) && drawEnds(type->name, plain, suffix, &other) &&
        memcmp(type->name, stem, length) == 0)
      return type;
  }
  return NULL;
}

/* drawSalts -- which parameters both types of a pair have, and what tells them apart */
static void drawSalts(DrawPlan plan, EventType type, EventType other)
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

/* drawPair -- if the type is one of a pair, name the slice and say which */
static void drawPair(Draw draw, DrawPlan plan, EventType type, Registry registry)
{
  Size plain = HeapPlain(type), stem;
  char name[512];
  TextStruct text;
  EventType other = NULL;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(drawPairs); ++i) {
    if (drawEnds(type->name, plain, drawPairs[i].begin, &stem) &&
        (other = drawFind(registry, type->name, stem, drawPairs[i].end)) != NULL)
      plan->role = DrawRoleBEGIN;
    else if (drawEnds(type->name, plain, drawPairs[i].end, &stem) &&
             (other = drawFind(registry, type->name, stem, drawPairs[i].begin)) != NULL)
      plan->role = DrawRoleEND;
    else
      continue;
    if (!drawPairs[i].own)
      drawSalts(plan, type, other);
    TextInit(&text, name, sizeof name);
    TextBytes(&text, type->name, stem);
    TextString(&text, drawPairs[i].shown);
    plan->name = StringsAdd(&draw->who.strings, name, TextLength(&text));
    return;
  }
}

/* drawValues -- types that say values, and strings */
static void drawValues(Draw draw, DrawPlan plan, EventType type)
{
  Size stem;
  int id, string;

  if (drawEnds(type->name, type->nameLength, "Sample", &stem)) {
    plan->role = DrawRoleSAMPLE;
    plan->name = StringsAdd(&draw->who.strings, type->name, stem);
    plan->param = PlansParam(type, "pid", "UW");
    plan->other = PlansParam(type, "task", "UW");
  } else if (InternsTells(&id, &string, type)) {
    plan->role = DrawRoleINTERN;
    plan->param = id;
    plan->other = string;
  } else if (type->nameLength > 4 && memcmp(type->name, "User", 4) == 0 && PlansParam(type, "id", "UW") >= 0) {
    plan->role = DrawRoleUSER;
    plan->param = PlansParam(type, "id", "UW");
    plan->other = PlansParam(type, "value", "UWD");
  }
}

static void drawPlanMake(Draw draw, DrawPlan plan, LogEvent event)
{
  EventType type = event->type;
  HeapPlanStruct heap;

  plan->heap = HeapPlanMake(&heap, type, event->process->header.widths.swapped);
  plan->name = StringsAdd(&draw->who.strings, type->name, type->nameLength);
  plan->role = DrawRoleMARK;
  plan->param = plan->other = -1;
  if (heap.does == HeapDoesFREE || heap.does == HeapDoesLIVE) {
    plan->role = DrawRoleQUIET;
  } else if (heap.does == HeapDoesALLOC || heap.does == HeapDoesZERO || heap.does == HeapDoesALIGNED) {
    plan->role = DrawRoleALLOC;
    plan->param = heap.param[HeapParamSIZE];
  } else {
    drawPair(draw, plan, type, event->process->registry);
    if (plan->role == DrawRoleMARK)
      drawValues(draw, plan, type);
  }
}

/* ---- What happens in a lane: marks, and slices that nest ----
 *
 * Of slices that begin thick and fast only some are drawn.  One that is not, though, and lasts longer than that, is
 * what somebody looks for: its lane waits, and the slice is drawn from when it is due, if it is still open. */

/* drawSkip -- has the lane had one of these so lately that another is not drawn? */
static Bool drawSkip(Draw draw, DrawLane lane, uint32_t name)
{
  DrawSeen seen;
  Index i;

  if (draw->thin == 0)
    return FALSE;
  for (i = 0; i < lane->seens && lane->seen[i].name != name; ++i)
    ;
  if (i < lane->seens) {
    seen = &lane->seen[i];
    if (draw->now - seen->time < draw->thin)
      return TRUE;
    seen->time = draw->now;
    return FALSE;
  }
  if (!Grow(&lane->seen, &lane->seenCapacity, lane->seens, sizeof *seen)) {
    draw->failed = TRUE;
    return TRUE;
  }
  lane->seen[lane->seens++] = (DrawSeenStruct){name, draw->now};
  return FALSE;
}

void DrawMark(Draw draw, DrawLane lane, uint32_t name, LogEvent event)
{
  if (!drawSkip(draw, lane, name))
    draw->pen->mark(draw, lane->thread, name, event, draw->now);
}

static void drawWait(Draw draw, DrawLane lane, uint64_t time)
{
  lane->due = time + draw->thin;
  lane->waiting = TRUE;
  lane->later = NULL;
  if (draw->firstLane == NULL)
    draw->firstLane = lane;
  else
    draw->lastLane->later = lane;
  draw->lastLane = lane;
}

/* drawKey -- what a beginning says, and an end that belongs to it */
static uint64_t drawKey(DrawPlan plan, LogEvent event)
{
  uint64_t key = 0;
  Index i;

  for (i = 0; i < event->type->params; ++i) {
    if (plan->salt[i] != 0)
      key += (LogEventWord(event, i) + 1) * plan->salt[i];
  }
  return key;
}

static void drawBegin(Draw draw, DrawLane lane, DrawPlan plan, LogEvent event)
{
  DrawProcess process = lane->thread->process->client;
  DrawSlice slice;

  if (lane->depth == DrawDepthMAX)
    return; /* whose ends are all missing: what comes is no picture of anything */
  slice = &lane->slice[lane->depth++];
  ++process->open;
  slice->name = plan->name;
  slice->key = drawKey(plan, event);
  slice->start = draw->now;
  slice->drawn = !drawSkip(draw, lane, plan->name);
  if (slice->drawn)
    draw->pen->begin(draw, lane->thread, plan->name, event, draw->now);
  else if (!lane->waiting)
    drawWait(draw, lane, draw->now);
}

/* drawPop -- the innermost slice of the lane ends */
static void drawPop(Draw draw, DrawLane lane)
{
  DrawProcess process = lane->thread->process->client;
  DrawSlice slice = &lane->slice[--lane->depth];

  --process->open;
  if (slice->drawn)
    draw->pen->end(draw, lane->thread, slice->name, draw->now);
}

/* drawOpen -- how deep a slice of this name is in the lane, of this key unless that is 0; 0: there is none */
static unsigned drawOpen(DrawLane lane, uint32_t name, uint64_t key)
{
  unsigned depth = lane->depth;

  while (depth > 0 && (lane->slice[depth - 1].name != name || (key != 0 && lane->slice[depth - 1].key != key)))
    --depth;
  return depth;
}

/* drawEnd -- what is inside it ends with it.  What one thread has begun another may end, if they say the same of it. */
static void drawEnd(Draw draw, DrawLane lane, DrawPlan plan, LogEvent event)
{
  DrawProcess process = lane->thread->process->client;
  WhoThread thread = lane->thread->process->threads;
  unsigned depth = drawOpen(lane, plan->name, 0);
  uint64_t key = 0;

  if (depth == 0 && process->open > 0)
    key = drawKey(plan, event);
  for (; depth == 0 && key != 0 && thread != NULL; thread = thread->next) {
    lane = thread->client;
    depth = lane == NULL ? 0 : drawOpen(lane, plan->name, key);
  }
  while (depth > 0 && lane->depth >= depth)
    drawPop(draw, lane);
}

static void drawEndAll(Draw draw)
{
  DrawLane lane;

  for (lane = draw->lanes; lane != NULL; lane = lane->next) {
    while (lane->depth > 0)
      drawPop(draw, lane);
  }
}

static void drawLaneDue(Draw draw, Bool last)
{
  DrawLane lane = draw->firstLane;
  Bool again = FALSE;
  unsigned i;

  draw->firstLane = lane->later;
  lane->waiting = FALSE;
  for (i = 0; i < lane->depth && !last; ++i) {
    DrawSlice slice = &lane->slice[i];
    unsigned inner = i + 1;
    if (slice->drawn)
      continue;
    while (inner < lane->depth && !lane->slice[inner].drawn)
      ++inner;
    if (inner < lane->depth)
      continue; /* drawn now it would begin inside of what is inside of it */
    if (lane->due - slice->start < draw->thin) {
      again = TRUE;
      break;
    }
    slice->drawn = TRUE;
    draw->pen->begin(draw, lane->thread, slice->name, NULL, lane->due);
  }
  if (again)
    drawWait(draw, lane, lane->due);
}

/* ---- Events taken in ---- */

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

Res DrawCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output,
               const DrawPenStruct *pen)
{
  Draw draw = calloc(1, sizeof *draw);

  if (draw == NULL)
    return ResMEMORY;
  draw->pen = pen;
  draw->output = output;
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
  OutputString(output, pen->head);
  *writerReturn = draw;
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
  free(draw->own);
  free(draw);
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
  draw->pen->process(draw, process, draw->now);
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
  draw->pen->thread(draw, thread, FALSE, draw->now);
  thread->fresh = FALSE;
  return lane;
}

static DrawLane drawLaneOf(Draw draw, WhoThread thread)
{
  DrawLane lane = thread->client;

  if (UNLIKELY(lane == NULL))
    return drawLane(draw, thread);
  if (UNLIKELY(thread->fresh)) {
    draw->pen->thread(draw, thread, TRUE, draw->now);
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
      drawLaneDue(draw, last);
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
    drawBegin(draw, lane, plan, event);
    break;
  case DrawRoleEND:
    drawEnd(draw, lane, plan, event);
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

Bool DrawEvent(LogRequest request, LogEvent event)
{
  Draw draw = request->data;
  DrawPlan plan;
  WhoThread thread;
  DrawLane lane;
  Bool told;

  if (DrawHides(draw, event->process->number)) {
    HeapEvent(draw->heap, event);
    return draw->failed;
  }
  plan = PlansOf(&draw->plans, event);
  told = WhoTell(&draw->who, event);
  thread = WhoOf(&draw->who, event);
  if (LIKELY(event->time > draw->start) && event->time - draw->start > draw->now)
    draw->now = event->time - draw->start;
  drawDue(draw, FALSE);
  if (UNLIKELY(plan == NULL || thread == NULL || (lane = drawLaneOf(draw, thread)) == NULL))
    return TRUE;
  if (UNLIKELY(plan->role == DrawRoleUNSEEN))
    drawPlanMake(draw, plan, event);
  if (UNLIKELY(plan->role != DrawRoleQUIET) && !told)
    drawPlanned(draw, plan, lane, event);
  if (LIKELY(plan->heap))
    HeapEvent(draw->heap, event);
  return draw->failed || draw->output->failed != 0;
}

Res DrawRead(Draw draw, LogRequest request)
{
  Res res = request->from > draw->start ? drawBefore(draw, request) : ResOK;

  return res == ResOK ? InternsRead(&draw->interns, draw->log, request) : res;
}

Res DrawFinish(Draw draw)
{
  Res res = HeapSettle(draw->heap);

  drawDue(draw, TRUE);
  drawEndAll(draw);
  if (res != ResOK || draw->failed || draw->who.failed) {
    errno = ENOMEM;
    return ResIO;
  }
  draw->pen->tail(draw, draw->now);
  return OutputEnd(draw->output);
}
