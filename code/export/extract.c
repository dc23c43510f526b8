/* extract.c -- writes a part of a log as a log that can be read alone
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where the log is cut by time there are two passes: one over what comes before, which writes definitions and builds
 * the heap; one over what is wanted.  Where a child of fork may have had more objects than is known at the cut, a pass
 * between them reads ahead to find them.
 */
#include "export/extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "heap/heap.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/heapsave.h"
#include "heap/heapat.h"
#include "log/typenames.h"
#include "request/typecache.h"

/* What an event type is to a cut; bits. */
enum {
  extractCHOSEN = 1,   /* asked for */
  extractDEFINES = 2,  /* defines something */
  extractMAY = 4,      /* defines something where it stands in a stream that is not its kind's */
  extractHEAP = 8,     /* changes the heap */
  extractKNOWN = 16,
  extractBEFORE = 32   /* changes that of a process from which others have inherited */
};

typedef struct extractProcessStruct {
  unsigned char *is; /* by the type's place in the registry; NULL: not asked yet */
  Bool told;         /* the objects with which it begins have been written */
} extractProcessStruct;

/* An object that a child of fork had: known only when the child frees or resizes it. */
typedef struct extractHadStruct {
  Index process;
  uint64_t pool;
  HeapObjectStruct object;
} extractHadStruct;

typedef struct ExtractStruct {
  Log log;
  LogRewrite rewrite;
  LogRequest request;
  OfProcess of;
  ExtractSymbols symbols;    /* the caller's; or NULL */
  Count processes;
  extractProcessStruct *process; /* by number */
  uint64_t left;             /* chosen events that may still be written */
  Heap heap;                 /* of what comes before; or NULL */
  Bool objects;              /* something is chosen that changes the heap */
  Bool heirs;                /* and something is read for the sake of processes that have inherited */
  HeapSitesStruct sites;     /* of its objects */
  ExtractLackingStruct lacking;
  Res res;
  Bool second;               /* it is what is wanted that is read for them */
  Bool ahead;                /* it is read ahead, and all is as before afterwards */
  extractHadStruct *had;         /* owned; what was found out so */
  Count hads, hadCapacity;
} ExtractStruct, *Extract;

/* What later events refer to, by name; whatever the registry. */
static const char *const extractDefinitions[] = {
  "Intern", "Label", "StackFrame", "ModuleLoad", "ModuleBuild", "ModuleUnload", "SymbolFunction", "SymbolFile",
  "ThreadStart", "ThreadName", "TaskName", "ProcessSeen", "ProcessStart", "ProcessExec", "ArenaCreate", "ArenaDestroy",
  "PoolCreate", "PoolParam", "PoolDestroy"
};

/* extractMay -- is the type of the kind that interned strings are of? */
static Bool extractMay(LogProcess process, EventType type)
{
  Registry registry = process->registry;
  Index i;

  for (i = 0; i < registry->count; ++i)
    if (TypeCacheNamed(&registry->types[i], extractDefinitions[0]))
      return registry->types[i].kind == type->kind;
  return FALSE;
}

/* extractLook -- what a type of a process is.  With --process, chosen events refer to nothing that other processes
 * define, but for the pools of those from which they have inherited. */
static unsigned extractLook(Extract extract, LogProcess process, EventType type)
{
  Bool before = extract->of != NULL && OfProcessBefore(extract->of, process->number);
  Bool chosen = LogRequestChooses(extract->request, process, type);
  Bool means = extract->of == NULL || process->header.role[0] != '\0' || OfProcessMeans(extract->of, process);
  unsigned is = extractKNOWN | (chosen ? before ? extractBEFORE : extractCHOSEN : 0) |
                (HeapWants(type) ? extractHEAP : 0) | (means && extractMay(process, type) ? extractMAY : 0);
  Index i;

  for (i = 0; i < ARRAY_LENGTH(extractDefinitions); ++i)
    if (TypeCacheNamed(type, extractDefinitions[i]))
      is |= means ? extractDEFINES : before && HeapWants(type) ? extractBEFORE : 0;
  return is;
}

/* extractIs -- what a type is */
static inline unsigned extractIs(Extract extract, LogProcess process, EventType type)
{
  return extract->process[process->number].is[type - process->registry->types];
}

static Res extractTypes(Extract extract, Index number)
{
  LogProcess process = LogProcessAt(extract->log, number);
  Registry registry = process->registry;
  Index i;

  extract->process[number].is = malloc(registry->count + 1);
  if (extract->process[number].is == NULL)
    return ResMEMORY;
  for (i = 0; i < registry->count; ++i) {
    unsigned is = extractLook(extract, process, &registry->types[i]);
    extract->process[number].is[i] = (unsigned char)is;
    if ((is & (extractHEAP | extractCHOSEN)) == (extractHEAP | extractCHOSEN) && (is & extractDEFINES) == 0 &&
        HeapWants(&registry->types[i]) && HeapTypeDoes(&registry->types[i]) < HeapDoesTHREAD)
      extract->objects = TRUE;
    if ((is & extractBEFORE) != 0)
      extract->heirs = TRUE;
  }
  return ResOK;
}

static Res extractInit(Extract extract, Log log, LogRewrite rewrite, LogRequest request, OfProcess of)
{
  Index i;
  Res res = ResOK;

  *extract = (ExtractStruct){.log = log, .rewrite = rewrite, .request = request, .of = of, .left = request->count,
                     .processes = LogProcesses(log)};
  extract->process = calloc(extract->processes + 1, sizeof *extract->process);
  if (extract->process == NULL)
    return ResMEMORY;
  for (i = 0; i < extract->processes && res == ResOK; ++i)
    res = extractTypes(extract, i);
  return res;
}

static void extractFinish(Extract extract)
{
  Index i;

  for (i = 0; i < extract->processes && extract->process != NULL; ++i)
    free(extract->process[i].is);
  free(extract->process);
  free(extract->had);
  if (extract->heap != NULL)
    HeapDestroy(extract->heap);
  HeapSitesFinish(&extract->sites);
}

/* extractDefines -- does the event define something?  A thread's stream that is not its kind's holds what does. */
static inline Bool extractDefines(unsigned is, LogEvent event)
{
  return (is & extractDEFINES) != 0 || ((is & extractMAY) != 0 && event->stream / 2 % 16 != event->type->kind);
}

static inline Bool extractKeeps(Extract extract, unsigned is, LogEvent event)
{
  LogRequest request = extract->request;

  return (is & extractCHOSEN) != 0 && (request->accept == NULL || request->accept(request->acceptData, event));
}

/* extractPut -- write an event; TRUE: that has failed */
static Bool extractPut(Extract extract, LogEvent event)
{
  if (extract->symbols != NULL && !ExtractSymbolsEvent(extract->symbols, event))
    extract->res = ResMEMORY;
  return LogRewritePut(extract->rewrite, event) || extract->res != ResOK;
}

/* Before the cut */

static Bool extractBeforeWants(void *data, LogProcess process, EventType type)
{
  Extract extract = data;
  unsigned is = extractIs(extract, process, type);

  return (is & (extractDEFINES | extractMAY)) != 0 ||
         (extract->objects && (is & extractHEAP) != 0 && (is & (extractCHOSEN | extractBEFORE)) != 0);
}

static Bool extractBefore(LogRequest request, LogEvent event)
{
  Extract extract = request->data;
  unsigned is = extractIs(extract, event->process, event->type);
  Bool defines = extractDefines(is, event);

  if (extract->objects && (is & extractHEAP) != 0 &&
      (defines || (is & extractBEFORE) != 0 || extractKeeps(extract, is, event)))
    HeapEvent(extract->heap, event);
  return defines && extractPut(extract, event);
}

/* extractHad -- give a process the objects that reading ahead found */
static Res extractHad(Extract extract, Index number)
{
  Index i;
  Res res = ResOK;

  for (i = 0; i < extract->hads && res == ResOK; ++i)
    if (extract->had[i].process == number)
      res = HeapForkHad(extract->heap, number, extract->had[i].pool, &extract->had[i].object);
  return res;
}

/* extractHeapOf -- the heap, to be written */
static ExtractHeapStruct extractHeapOf(Extract extract)
{
  return (ExtractHeapStruct){extract->log, extract->heap, &extract->sites, extract->rewrite, extract->symbols,
                             &extract->lacking};
}

/* extractInherits -- a process has inherited its first objects from one that is not chosen: write them as a state dump
 * before its first event */
static void extractInherits(void *data, HeapOperation operation)
{
  Extract extract = data;
  Index number = operation->process;
  ExtractHeapStruct heap;
  LogProcess parent;

  if (operation->kind != HeapPROCESSBEGIN || operation->revived || !extract->second || extract->process[number].told ||
      OfProcessBefore(extract->of, number) || extract->res != ResOK)
    return;
  parent = HeaderTimesParent(extract->log, LogProcessAt(extract->log, number));
  if (parent == NULL || !OfProcessBefore(extract->of, parent->number))
    return;
  extract->process[number].told = TRUE;
  extract->res = extractHad(extract, number);
  heap = extractHeapOf(extract);
  if (extract->res == ResOK)
    extract->res = ExtractStateOf(&heap, number, operation->thread, operation->time);
}

/* extractPass -- read the types that `wants` wants, within the bounds of a request */
static Res extractPass(Extract extract, LogRequest request,
                       Bool (*wants)(void *data, LogProcess process, EventType type), PawEventHook event)
{
  Res res;

  request->data = request->chooseData = extract;
  request->choose = wants;
  request->kinds = LogKindsOf(extract->log, wants, extract);
  request->event = event;
  request->accept = NULL;
  request->count = UINT64_MAX;
  res = LogRead(extract->log, request);
  return res == ResOK ? extract->res : res;
}

/* extractPassBefore -- a pass over a part of what comes before, for definitions, and with `objects` for the heap */
static Res extractPassBefore(Extract extract, const LogPositionStruct *start, const LogPositionStruct *end,
                             Bool objects)
{
  LogRequestStruct request = LogRequestALL;

  extract->objects = objects;
  request.start = start;
  request.end = end;
  return extractPass(extract, &request, extractBeforeWants, extractBefore);
}

/* extractFirst -- read what comes before the cut; up to a check point of the heap only definitions are read */
static Res extractFirst(Extract extract)
{
  static const LogPositionStruct first = LogPositionFIRST;
  LogPositionStruct from = first, cut;
  Bool objects = extract->objects;
  Res res = ResOK;

  PawPositionOfTime(&cut, extract->log, extract->request->from);
  if (objects)
    res = HeapAtRestore(&from, extract->heap, &extract->sites, extract->log, extract->request, &cut);
  if (res == ResOK && LogPositionCompare(&from, &first) > 0)
    res = extractPassBefore(extract, &first, &from, FALSE);
  if (res == ResOK)
    res = extractPassBefore(extract, &from, &cut, objects);
  HeapUntil(extract->heap, extract->request->from - 1); /* of which no event has told since */
  return res;
}

static Bool extractHeirsWant(void *data, LogProcess process, EventType type)
{
  unsigned is = extractIs(data, process, type);

  return (is & extractHEAP) != 0 && (is & (extractCHOSEN | extractBEFORE)) != 0;
}

/* extractAsked -- an object has been resized: who asked for that, if it is known, has it */
static void extractAsked(void *data, HeapOperation operation)
{
  HeapSitesAsked(&((Extract)data)->sites, operation);
}

/* extractCame -- an object has come; or a child frees one that another thread of its parent had allocated during the
 * fork */
static void extractCame(void *data, HeapOperation operation)
{
  Extract extract = data;

  if (!operation->inherited)
    extractAsked(extract, operation);
  if (!extract->ahead || !operation->inherited)
    return;
  if (Grow(&extract->had, &extract->hadCapacity, extract->hads, sizeof *extract->had))
    extract->had[extract->hads++] = (extractHadStruct){operation->process, operation->pool->addr, *operation->object};
  else
    extract->res = ResMEMORY;
}

static Bool extractHeirEvent(LogRequest request, LogEvent event)
{
  Extract extract = request->data;
  unsigned is = extractIs(extract, event->process, event->type);

  if ((is & extractBEFORE) != 0 || extractKeeps(extract, is, event))
    HeapEvent(extract->heap, event);
  return extract->res != ResOK;
}

/* extractFind -- read ahead what is wanted, note which objects children turn out to have had, and restore the heap */
static Res extractFind(Extract extract)
{
  LogRequestStruct request = *extract->request;
  HeapBytesStruct bytes = {.size = 0};
  Res res = HeapSave(&bytes, extract->heap), restored = ResOK;

  if (res == ResOK) {
    extract->ahead = TRUE;
    res = extractPass(extract, &request, extractHeirsWant, extractHeirEvent);
    HeapCatchUp(extract->heap);
    extract->ahead = FALSE;
    restored = HeapRestore(extract->heap, &bytes, UINT32_MAX, SIZE_MAX);
  }
  free(bytes.bytes);
  return res != ResOK ? res : restored != ResOK ? restored : extract->res;
}

/* extractAhead -- read ahead if later events may show which objects a child had at first */
static Res extractAhead(Extract extract)
{
  Bool doubt = extract->heirs;
  Index i;

  for (i = 0; i < extract->processes; ++i)
    doubt |= HeapForkDoubts(extract->heap, i);
  return extract->objects && doubt ? extractFind(extract) : ResOK;
}

/* extractTell -- write what lived at the cut */
static Res extractTell(Extract extract)
{
  ExtractHeapStruct heap = extractHeapOf(extract);
  Res res = ResOK;
  Index i;

  for (i = 0; i < extract->processes; ++i) {
    extract->process[i].told = HeapHas(extract->heap, i);
    if (extract->process[i].told && res == ResOK)
      res = extractHad(extract, i);
  }
  if (res == ResOK && extract->objects)
    res = ExtractState(&heap, extract->request->from);
  return res;
}

/* extractHeirs -- a pass over the heap's events of what is wanted, for processes that inherit there */
static Res extractHeirs(Extract extract)
{
  LogRequestStruct request = *extract->request;

  extract->second = TRUE;
  return extractPass(extract, &request, extractHeirsWant, extractHeirEvent);
}

/* extractHeap -- write what the heap holds before anything that is wanted */
static Res extractHeap(Extract extract)
{
  HeapClientStruct client = {extract, extractCame, HeapIgnore, extractAsked, extractInherits, FALSE};
  LogSummaryStruct summary;
  Bool heirs = extract->heirs && extract->objects, cuts;
  Res res = HeapCreate(&extract->heap, &client, extract->log);

  if (res == ResOK)
    res = HeapSitesInit(&extract->sites);
  if (res != ResOK)
    return res;
  HeapOf(extract->heap, extract->of);
  LogSummarize(&summary, extract->log);
  cuts = extract->request->from > summary.first;
  if (cuts)
    res = extractFirst(extract);
  if (res == ResOK)
    res = extractAhead(extract);
  if (res == ResOK && cuts)
    res = extractTell(extract);
  return res == ResOK && heirs ? extractHeirs(extract) : res;
}

/* What is wanted */

static Bool extractWants(void *data, LogProcess process, EventType type)
{
  return (extractIs(data, process, type) & (extractCHOSEN | extractDEFINES | extractMAY)) != 0;
}

static Bool extractEvent(LogRequest request, LogEvent event)
{
  Extract extract = request->data;
  unsigned is = extractIs(extract, event->process, event->type);

  if (extractKeeps(extract, is, event)) {
    if (extractPut(extract, event))
      return TRUE;
    return --extract->left == 0;
  }
  return extractDefines(is, event) && extractPut(extract, event);
}

/* extractSecond -- the pass over what is wanted */
static Res extractSecond(Extract extract)
{
  LogRequest chosen = extract->request;
  LogRequestStruct request = *chosen;

  if (extract->symbols != NULL || chosen->accept != NULL || chosen->choose != NULL || chosen->count != UINT64_MAX ||
      chosen->kinds != UINT32_MAX)
    return extractPass(extract, &request, extractWants, extractEvent);
  request.event = LogRewriteEvent; /* all of it: nothing is to be asked */
  request.data = extract->rewrite;
  return LogRead(extract->log, &request);
}

/* extractBare -- what is chosen, and nothing besides */
static Res extractBare(Log log, LogRewrite rewrite, LogRequest chosen)
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

Res ExtractWrite(ExtractLacking lackingReturn, Log log, LogRewrite rewrite, LogRequest request, OfProcess of, Bool bare,
                 ExtractSymbols symbols)
{
  ExtractStruct extract;
  Res res;

  *lackingReturn = (ExtractLackingStruct){.objects = 0};
  LogRewritePart(rewrite, request);
  if (bare || request->count == 0)
    return extractBare(log, rewrite, request);
  res = extractInit(&extract, log, rewrite, request, of);
  extract.symbols = symbols;
  if (res == ResOK && request->accept == NULL)
    LogRewriteBegin(rewrite, request->kinds | LogKindsOf(log, extractBeforeWants, &extract));
  if (res == ResOK)
    res = extractHeap(&extract);
  *lackingReturn = extract.lacking;
  if (res == ResOK)
    res = extractSecond(&extract);
  extractFinish(&extract);
  return res;
}

/* The format */

static Res extractCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  UNUSED(class);
  if (isatty(options->output->fd)) {
    (void)snprintf(options->error, WriterErrorMAX, "a log is not for a terminal; -o names a file for it");
    return ResPARAM;
  }
  return LogRewriteCreate(writerReturn, options);
}

/* extractNote -- tell of processes to which something could not be written */
static void extractNote(const WriterOptionsStruct *options, Count lacking, const char *what)
{
  char line[160];

  if (lacking == 0)
    return;
  (void)snprintf(line, sizeof line, "%zu process%s no events to tell %s", lacking,
                 lacking == 1 ? " has" : "es have", what);
  options->note(options->data, line);
}

static Res extractRead(Writer rewrite, LogRequest request)
{
  const WriterOptionsStruct *options = LogRewriteOptions(rewrite);
  ExtractSymbols symbols = NULL;
  ExtractLackingStruct lacking = {.objects = 0};
  Count without = 0;
  Res res = ResOK;

  if (options->symbols != NULL)
    res = ExtractSymbolsCreate(&symbols, rewrite, options->log, options->symbols);
  if (res == ResOK)
    res = ExtractWrite(&lacking, options->log, rewrite, request, options->bare ? NULL : options->of, options->bare,
                       symbols);
  extractNote(options, lacking.objects, "what lived at the cut; that is left out");
  extractNote(options, lacking.callers, "who asked for what lived at the cut; that is left out");
  if (res == ResOK && symbols != NULL) {
    ExtractSymbolsWrite(&without, symbols);
    extractNote(options, without, "what code addresses are; their symbols are left out");
  }
  ExtractSymbolsDestroy(symbols);
  return res;
}

const WriterClassStruct WriterClassPaw = {
  .name = "paw", .heirs = TRUE, .takes = WriterTakesBLOCKS | WriterTakesSYMBOLS, .create = extractCreate,
  .read = extractRead, .finish = LogRewriteEnd, .destroy = LogRewriteDestroy,
};
