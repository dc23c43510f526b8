/* extract.c -- a part of a log, written as a log that can be read alone; and that as a format
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two passes where the log is cut by time: one over what comes before, of which definitions are written and the heap is
 * kept; one over what is wanted.  Where a child of fork may have had more than was known at the cut, what is wanted is read
 * for that first.
 */
#include "export/extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "export/extractstate.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/heapsave.h"
#include "heap/managerstate.h"
#include "request/typecache.h"

/* What an event type is to a cut; bits. */
enum {
  cutCHOSEN = 1,   /* asked for */
  cutDEFINES = 2,  /* defines something */
  cutMAY = 4,      /* defines something where it stands in a stream that is not its kind's */
  cutHEAP = 8,     /* changes the heap */
  cutKNOWN = 16,
  cutBEFORE = 32   /* changes that of a process from which others have inherited */
};

typedef struct cutProcessStruct {
  unsigned char *is; /* by the type's place in the registry; NULL: not asked yet */
  Bool told;         /* what it had at first has been written */
} cutProcessStruct;

/* An object that a child of fork had, which is found out when the child takes it away. */
typedef struct cutHadStruct {
  Index process;
  uint64_t pool;
  HeapObjectStruct object;
} cutHadStruct;

typedef struct CutStruct {
  Log log;
  LogRewrite rewrite;
  LogRequest request;
  OfProcess of;
  Count processes;
  cutProcessStruct *process; /* by number */
  uint64_t left;             /* chosen events that may still be written */
  Heap heap;                 /* of what comes before; or NULL */
  Bool objects;              /* something is chosen that changes the heap */
  Bool heirs;                /* and something is read for the sake of processes that have inherited */
  Count lacking;             /* processes whose objects cannot be told */
  Res res;
  Bool second;               /* it is what is wanted that is read for them */
  Bool ahead;                /* it is read ahead, and all is as before afterwards */
  cutHadStruct *had;         /* owned; what was found out so */
  Count hads, hadCapacity;
} CutStruct, *Cut;

/* What later events refer to, by name; whatever the registry. */
static const char *const cutDefinitions[] = {
  "Intern", "Label", "ModuleLoad", "ThreadStart", "ThreadName", "TaskName", "ProcessSeen", "ProcessStart",
  "ProcessExec", "ArenaCreate", "ArenaDestroy", "PoolCreate", "PoolParam", "PoolDestroy"
};

/* cutMay -- is the type of the kind that interned strings are of? */
static Bool cutMay(LogProcess process, EventType type)
{
  Registry registry = process->registry;
  Index i;

  for (i = 0; i < registry->count; ++i)
    if (PlansNamed(&registry->types[i], cutDefinitions[0]))
      return registry->types[i].kind == type->kind;
  return FALSE;
}

/* cutLook -- what a type of a process is.  Where processes were asked for, to what another one defines nothing refers; but the
 * pools of one from which they have inherited are in their heaps. */
static unsigned cutLook(Cut cut, LogProcess process, EventType type)
{
  Bool before = cut->of != NULL && OfProcessBefore(cut->of, process->number);
  Bool chosen = LogRequestChooses(cut->request, process, type);
  Bool means = cut->of == NULL || process->header.role[0] != '\0' || OfProcessMeans(cut->of, process);
  unsigned is = cutKNOWN | (chosen ? before ? cutBEFORE : cutCHOSEN : 0) | (HeapWants(type) ? cutHEAP : 0) |
                (means && cutMay(process, type) ? cutMAY : 0);
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cutDefinitions); ++i)
    if (PlansNamed(type, cutDefinitions[i]))
      is |= means ? cutDEFINES : before && HeapWants(type) ? cutBEFORE : 0;
  return is;
}

/* cutIs -- what a type is */
static inline unsigned cutIs(Cut cut, LogProcess process, EventType type)
{
  return cut->process[process->number].is[type - process->registry->types];
}

static Res cutTypes(Cut cut, Index number)
{
  LogProcess process = LogProcessAt(cut->log, number);
  Registry registry = process->registry;
  Index i;

  if (registry == NULL)
    return ResOK;
  cut->process[number].is = malloc(registry->count + 1);
  if (cut->process[number].is == NULL)
    return ResMEMORY;
  for (i = 0; i < registry->count; ++i) {
    unsigned is = cutLook(cut, process, &registry->types[i]);
    cut->process[number].is[i] = (unsigned char)is;
    if ((is & (cutHEAP | cutCHOSEN)) == (cutHEAP | cutCHOSEN) && (is & cutDEFINES) == 0 &&
        HeapTells(&registry->types[i]))
      cut->objects = TRUE;
    if ((is & cutBEFORE) != 0)
      cut->heirs = TRUE;
  }
  return ResOK;
}

static Res cutInit(Cut cut, Log log, LogRewrite rewrite, LogRequest request, OfProcess of)
{
  Index i;
  Res res = ResOK;

  *cut = (CutStruct){.log = log, .rewrite = rewrite, .request = request, .of = of, .left = request->count,
                     .processes = LogProcesses(log)};
  cut->process = calloc(cut->processes + 1, sizeof *cut->process);
  if (cut->process == NULL)
    return ResMEMORY;
  for (i = 0; i < cut->processes && res == ResOK; ++i)
    res = cutTypes(cut, i);
  return res;
}

static void cutFinish(Cut cut)
{
  Index i;

  for (i = 0; i < cut->processes && cut->process != NULL; ++i)
    free(cut->process[i].is);
  free(cut->process);
  free(cut->had);
  if (cut->heap != NULL)
    HeapDestroy(cut->heap);
}

/* cutDefines -- does the event define something?  A thread's stream that is not its kind's holds what does. */
static inline Bool cutDefines(unsigned is, LogEvent event)
{
  return (is & cutDEFINES) != 0 || ((is & cutMAY) != 0 && event->stream / 2 % 16 != event->type->kind);
}

static inline Bool cutKeeps(Cut cut, unsigned is, LogEvent event)
{
  LogRequest request = cut->request;

  return (is & cutCHOSEN) != 0 && (request->accept == NULL || request->accept(request->acceptData, event));
}

/* Before the cut */

static Bool cutBeforeWants(void *data, LogProcess process, EventType type)
{
  Cut cut = data;
  unsigned is = cutIs(cut, process, type);

  return (is & (cutDEFINES | cutMAY)) != 0 || (cut->objects && (is & cutHEAP) != 0 && (is & (cutCHOSEN | cutBEFORE)) != 0);
}

static Bool cutBefore(LogRequest request, LogEvent event)
{
  Cut cut = request->data;
  unsigned is = cutIs(cut, event->process, event->type);
  Bool defines = cutDefines(is, event);

  if (cut->objects && (is & cutHEAP) != 0 && (defines || (is & cutBEFORE) != 0 || cutKeeps(cut, is, event)))
    HeapEvent(cut->heap, event);
  return defines && LogRewritePut(cut->rewrite, event);
}

/* cutHad -- what turned out later is there from now on */
static Res cutHad(Cut cut, Index number)
{
  Index i;
  Res res = ResOK;

  for (i = 0; i < cut->hads && res == ResOK; ++i)
    if (cut->had[i].process == number)
      res = HeapForkHad(cut->heap, number, cut->had[i].pool, &cut->had[i].object);
  return res;
}

/* cutBegins -- a process has its first objects from one that is not chosen: they are told before its first event */
static void cutBegins(void *data, HeapOperation operation)
{
  Cut cut = data;
  Index number = operation->process;
  LogProcess parent;

  if (operation->kind != HeapPROCESSBEGIN || operation->revived || !cut->second || cut->process[number].told ||
      OfProcessBefore(cut->of, number) || cut->res != ResOK)
    return;
  parent = HeapForkParent(cut->log, LogProcessAt(cut->log, number));
  if (parent == NULL || !OfProcessBefore(cut->of, parent->number))
    return;
  cut->process[number].told = TRUE;
  cut->res = cutHad(cut, number);
  if (cut->res == ResOK)
    cut->res = CutStateOf(&cut->lacking, cut->rewrite, cut->log, cut->heap, number, operation->thread,
                          operation->time);
}

static void cutNothing(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

/* cutKinds -- the kinds that have a type which `wants` wants */
static uint32_t cutKinds(Cut cut, Bool (*wants)(void *data, LogProcess process, EventType type))
{
  uint32_t kinds = 0;
  Index i, t;

  for (i = 0; i < cut->processes; ++i) {
    LogProcess process = LogProcessAt(cut->log, i);
    for (t = 0; process->registry != NULL && t < process->registry->count; ++t)
      if (process->registry->types[t].kind < 32 && wants(cut, process, &process->registry->types[t]))
        kinds |= (uint32_t)1 << process->registry->types[t].kind;
  }
  return kinds;
}

/* cutPass -- a pass over a part of what comes before, for definitions, and with `objects` for the heap */
static Res cutPass(Cut cut, const LogPositionStruct *start, const LogPositionStruct *end, Bool objects)
{
  LogRequestStruct before = LogRequestALL;

  cut->objects = objects;
  before.start = start;
  before.end = end;
  before.choose = cutBeforeWants;
  before.kinds = cutKinds(cut, cutBeforeWants);
  before.event = cutBefore;
  before.data = cut;
  return LogRead(cut->log, &before);
}

/* cutFirst -- what comes before: where there is a check point of the heap, only definitions are read up to that */
static Res cutFirst(Cut cut)
{
  static const LogPositionStruct first = LogPositionFIRST;
  LogPositionStruct from = first, cutAt;
  Bool objects = cut->objects;
  Res res = ResOK;

  PawPositionOfTime(&cutAt, cut->log, cut->request->from);
  if (objects)
    res = StateRestore(&from, cut->heap, cut->log, cut->request, &cutAt);
  if (res == ResOK && LogPositionCompare(&from, &first) > 0)
    res = cutPass(cut, &first, &from, FALSE);
  if (res == ResOK)
    res = cutPass(cut, &from, &cutAt, objects);
  HeapForksDo(cut->heap, cut->request->from - 1); /* of which no event has told since */
  return res;
}

static Bool cutHeirsWant(void *data, LogProcess process, EventType type)
{
  unsigned is = cutIs(data, process, type);

  return (is & cutHEAP) != 0 && (is & (cutCHOSEN | cutBEFORE)) != 0;
}

/* cutCame -- a child takes away what another thread of its parent had allocated while it was made */
static void cutCame(void *data, HeapOperation operation)
{
  Cut cut = data;

  if (!cut->ahead || !operation->inherited)
    return;
  if (Grow(&cut->had, &cut->hadCapacity, cut->hads, sizeof *cut->had))
    cut->had[cut->hads++] = (cutHadStruct){operation->process, operation->pool->addr, *operation->object};
  else
    cut->res = ResMEMORY;
}

static Bool cutAheadEvent(LogRequest request, LogEvent event)
{
  Cut cut = request->data;
  unsigned is = cutIs(cut, event->process, event->type);

  if ((is & cutBEFORE) != 0 || cutKeeps(cut, is, event))
    HeapEvent(cut->heap, event);
  return cut->res != ResOK;
}

/* cutFind -- read what is wanted, and forget it but for what it says of what children had */
static Res cutFind(Cut cut)
{
  LogRequestStruct request = *cut->request;
  HeapBytesStruct bytes = {.size = 0};
  Res res = HeapSave(&bytes, cut->heap), restored;

  if (res != ResOK) {
    free(bytes.bytes);
    return res;
  }
  request.data = request.chooseData = cut;
  request.choose = cutHeirsWant;
  request.kinds = cutKinds(cut, cutHeirsWant);
  request.accept = NULL;
  request.count = UINT64_MAX;
  request.event = cutAheadEvent;
  cut->ahead = TRUE;
  res = LogRead(cut->log, &request);
  HeapCatchUp(cut->heap);
  cut->ahead = FALSE;
  restored = HeapRestore(cut->heap, &bytes, UINT32_MAX);
  free(bytes.bytes);
  return res != ResOK ? res : restored != ResOK ? restored : cut->res;
}

/* cutAhead -- where it may turn out later what a child had, what it does later decides */
static Res cutAhead(Cut cut)
{
  Bool doubt = cut->heirs;
  Index i;

  for (i = 0; i < cut->processes; ++i)
    doubt |= HeapForkDoubts(cut->heap, i);
  return cut->objects && doubt ? cutFind(cut) : ResOK;
}

/* cutTell -- tell what lived at the cut */
static Res cutTell(Cut cut)
{
  Res res = ResOK;
  Index i;

  for (i = 0; i < cut->processes; ++i) {
    cut->process[i].told = HeapHas(cut->heap, i);
    if (cut->process[i].told && res == ResOK)
      res = cutHad(cut, i);
  }
  if (res == ResOK && cut->objects)
    res = CutState(&cut->lacking, cut->rewrite, cut->log, cut->heap, cut->request->from);
  return res;
}

static Bool cutHeirsEvent(LogRequest request, LogEvent event)
{
  Cut cut = request->data;

  HeapEvent(cut->heap, event);
  return cut->res != ResOK;
}

/* cutHeirs -- the pass over the heap of what is wanted, for those that inherit there */
static Res cutHeirs(Cut cut)
{
  LogRequestStruct request = *cut->request;
  Res res;

  request.data = request.chooseData = cut;
  request.choose = cutHeirsWant;
  request.kinds = cutKinds(cut, cutHeirsWant);
  request.event = cutHeirsEvent;
  cut->second = TRUE;
  res = LogRead(cut->log, &request);
  return res == ResOK ? cut->res : res;
}

/* cutHeap -- what is written of the heap before anything that is wanted */
static Res cutHeap(Cut cut)
{
  HeapClientStruct client = {cut, cutCame, cutNothing, cutNothing, cutBegins, FALSE};
  LogSummaryStruct summary;
  Bool heirs = cut->heirs && cut->objects, cuts;
  Res res = HeapCreate(&cut->heap, &client, cut->log);

  if (res != ResOK)
    return res;
  HeapOf(cut->heap, cut->of);
  LogSummarize(&summary, cut->log);
  cuts = cut->request->from > summary.first;
  if (cuts)
    res = cutFirst(cut);
  if (res == ResOK)
    res = cutAhead(cut);
  if (res == ResOK && cuts)
    res = cutTell(cut);
  return res == ResOK && heirs ? cutHeirs(cut) : res;
}

/* What is wanted */

static Bool cutWants(void *data, LogProcess process, EventType type)
{
  return (cutIs(data, process, type) & (cutCHOSEN | cutDEFINES | cutMAY)) != 0;
}

static Bool cutEvent(LogRequest request, LogEvent event)
{
  Cut cut = request->data;
  unsigned is = cutIs(cut, event->process, event->type);

  if (cutKeeps(cut, is, event)) {
    if (LogRewritePut(cut->rewrite, event))
      return TRUE;
    return --cut->left == 0;
  }
  return cutDefines(is, event) && LogRewritePut(cut->rewrite, event);
}

/* cutSecond -- the pass over what is wanted */
static Res cutSecond(Cut cut)
{
  LogRequest chosen = cut->request;
  LogRequestStruct request = *chosen;

  request.data = cut;
  request.choose = cutWants;
  request.chooseData = cut;
  request.accept = NULL;
  request.count = UINT64_MAX;
  request.kinds = cutKinds(cut, cutWants);
  request.event = cutEvent;
  if (chosen->accept == NULL && chosen->choose == NULL && chosen->count == UINT64_MAX && chosen->kinds == UINT32_MAX) {
    request.choose = NULL; /* all of it: nothing is to be asked */
    request.kinds = chosen->kinds;
    request.event = LogRewriteEvent;
    request.data = cut->rewrite;
  }
  return LogRead(cut->log, &request);
}

/* cutBare -- what is chosen, and nothing besides */
static Res cutBare(Log log, LogRewrite rewrite, LogRequest chosen)
{
  LogRequestStruct request = *chosen;

  if (request.chooseData == NULL)
    request.chooseData = chosen->data;
  request.event = LogRewriteEvent;
  request.data = rewrite;
  if (chosen->accept == NULL)
    LogRewriteBegin(rewrite, chosen->kinds);
  return LogRead(log, &request);
}

Res CutWrite(Count *lackingReturn, Log log, LogRewrite rewrite, LogRequest request, OfProcess of, Bool bare)
{
  CutStruct cut;
  Res res;

  *lackingReturn = 0;
  LogRewritePart(rewrite, request);
  if (bare || request->count == 0)
    return cutBare(log, rewrite, request);
  res = cutInit(&cut, log, rewrite, request, of);
  if (res == ResOK && request->accept == NULL)
    LogRewriteBegin(rewrite, request->kinds | cutKinds(&cut, cutBeforeWants));
  if (res == ResOK)
    res = cutHeap(&cut);
  *lackingReturn = cut.lacking;
  if (res == ResOK)
    res = cutSecond(&cut);
  cutFinish(&cut);
  return res;
}

/* The format */

struct WriterStruct {
  WriterOptionsStruct options;
  Log log;
  LogRewrite rewrite;
};

static Res cutCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                     Size size)
{
  Writer writer;
  Res res;

  if (isatty(output->fd)) {
    (void)snprintf(error, size, "a log is not for a terminal; -o names a file for it");
    return ResPARAM;
  }
  writer = calloc(1, sizeof *writer);
  if (writer == NULL)
    return ResMEMORY;
  writer->options = *options;
  writer->log = log;
  res = LogRewriteCreate(&writer->rewrite, log, output->fd, !options->raw);
  if (res == ResOK)
    *writerReturn = writer;
  else
    free(writer);
  return res;
}

static Bool cutPut(LogRequest request, LogEvent event)
{
  Writer writer = request->data;

  return LogRewritePut(writer->rewrite, event);
}

static Res cutRead(Writer writer, LogRequest request)
{
  WriterOptions options = &writer->options;
  Count lacking = 0;
  char line[128];
  Res res = CutWrite(&lacking, writer->log, writer->rewrite, request,
                     options->bare ? NULL : options->of, options->bare);

  if (lacking > 0) {
    (void)snprintf(line, sizeof line, "%zu process%s no events to tell what lived at the cut; that is left out",
                   lacking, lacking == 1 ? " has" : "es have");
    options->note(options->data, line);
  }
  return res;
}

static Res cutEnd(Writer writer)
{
  return LogRewriteEnd(writer->rewrite);
}

static void cutDestroy(Writer writer)
{
  LogRewriteDestroy(writer->rewrite);
  free(writer);
}

const WriterClassStruct WriterClassPaw = {
  .name = "paw", .heirs = TRUE, .takes = WriterTakesBLOCKS, .create = cutCreate, .event = cutPut, .read = cutRead,
  .finish = cutEnd, .destroy = cutDestroy,
};
