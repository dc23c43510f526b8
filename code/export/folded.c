/* folded.c -- what was allocated, and from where, as folded stacks for flame graphs
 *
 *   perl;libc.so.6+0x8a1b2 4096
 *
 * There is a line for each stack of each process: its frames, the outermost first, and a number.  Where an allocation's
 * event has a stack, the frames are the process and that; where it has a site, the process and the site; else process,
 * thread, pool and a class of sizes.  The
 * numbers add up to the total in a summary of the same log.  A child of fork that executes a program of the same name
 * is two processes of one name and number; viewers add their lines up.
 *
 * Always true: an object that lives has the number of its row as `client`; row 0 is no row.
 *
 * Design: design/view.md .drawn.folded      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "export/output.h"
#include "export/threads.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "request/stringtable.h"
#include "request/typecache.h"

enum { foldedDepthMAX = 1024 /* frames of a stack that are written, the innermost ones */ };

/* Where an event happened, as a key without padding; its number is the event's mark, and 0 is none. */
typedef struct foldedFromStruct {
  ThreadsProcess process;
  ThreadsThread thread; /* NULL where there is a site */
  uint64_t site;        /* a site or a stack (HeapSiteIsStack); 0: none */
  uint64_t module;      /* in which it was then: its number in the map, or 0 */
} foldedFromStruct;

typedef struct foldedRowStruct {
  uint32_t from;
  uint32_t pool;     /* its number in the process; 0 where there is a site */
  uint32_t class;    /* number of the pool's class in who.strings */
  uint32_t power;    /* sizes are below 2 to this power, and not below half of that; 0 for size 0 */
} foldedRowStruct;
/* Keys, each with a number, 1, 2, ..., and a value */
typedef struct foldedTableStruct {
  StringsStruct keys;
  Count capacity;
  uint64_t *value;   /* by number */
} foldedTableStruct, *foldedTable;

struct WriterStruct {
  Output output;
  OfProcess of;      /* whose rows are written; NULL: all */
  Heap heap;
  ThreadsStruct who;
  TypeCacheStruct plans;
  CallsStruct calls;
  unsigned value;    /* what is counted: a WriterValue */
  Bool failed;       /* there was no memory */
  uint32_t *named;   /* how many processes have a name, by its number; made at the end */
  foldedTableStruct from; /* foldedFromStructs; value: the time of the event that it was met with first */
  foldedTableStruct row;  /* foldedRowStructs; value: the number that is written */
};

/* A plan: where the site is, or the stack */
typedef struct foldedPlanStruct {
  Bool made;
  int site, stack;
} foldedPlanStruct, *foldedPlan;

/* foldedNumber -- the number of a key, which gets this value if it is new; 0: no memory */
static uint32_t foldedNumber(Writer folding, foldedTable table, const void *key, Size size, uint64_t value)
{
  Count known = table->keys.count;
  /* Numbers begin at 1: there is room for one more than are known. */
  uint32_t number = Grow(&table->value, &table->capacity, known > 0 ? known + 1 : 0, sizeof *table->value) ?
                      StringsAdd(&table->keys, key, size) : 0;

  if (number == 0)
    folding->failed = TRUE;
  else if (number > known)
    table->value[number] = value;
  return number;
}

static foldedFromStruct foldedFrom(Writer folding, uint32_t number)
{
  foldedFromStruct from = {.site = 0};
  Size size;

  if (number != 0)
    memcpy(&from, StringsAt(&folding->from.keys, number, &size), sizeof from);
  return from;
}

static foldedRowStruct foldedRow(Writer folding, uint32_t number)
{
  foldedRowStruct row;
  Size size;

  memcpy(&row, StringsAt(&folding->row.keys, number, &size), sizeof row);
  return row;
}

/* ---- Counting ---- */

/* foldedRowOf -- the number of the row for an object */
static uint32_t foldedRowOf(Writer folding, HeapOperation operation)
{
  foldedRowStruct row = {.from = operation->mark};

  if (operation->mark == 0 || foldedFrom(folding, operation->mark).site == 0) {
    uint64_t size = operation->object->size;
    row.pool = (uint32_t)operation->pool->number;
    row.class = StringsAdd(&folding->who.strings, operation->pool->class, strlen(operation->pool->class));
    row.power = size == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(size);
  }
  return foldedNumber(folding, &folding->row, &row, sizeof row, 0);
}

/* foldedInherits -- the number of the row for an object that has a row already: of the process from which it was
 * inherited, or the process's own */
static uint32_t foldedInherits(Writer folding, HeapOperation operation)
{
  foldedRowStruct row = foldedRow(folding, operation->object->client);
  foldedFromStruct from = foldedFrom(folding, row.from);

  from.process = folding->who.process[operation->process];
  row.from = foldedNumber(folding, &folding->from, &from, sizeof from, folding->from.value[row.from]);
  return foldedNumber(folding, &folding->row, &row, sizeof row, 0);
}

static void foldedAlloc(void *data, HeapOperation operation)
{
  Writer folding = data;
  uint32_t known = operation->object->client, number = (known != 0 ? foldedInherits : foldedRowOf)(folding, operation);

  if (UNLIKELY(folding->failed) || (known != 0 && number == known)) /* its process had seemed to have ended */
    return;
  operation->object->client = number;
  if (folding->value == WriterLIVE || (folding->value == WriterBYTES && !operation->told))
    folding->row.value[number] += operation->object->size;
  else if (folding->value == WriterCOUNT && !operation->told)
    ++folding->row.value[number];
}

static void foldedFree(void *data, HeapOperation operation)
{
  Writer folding = data;

  if (folding->value == WriterLIVE && LIKELY(!folding->failed))
    folding->row.value[operation->object->client] -= operation->object->size;
}

/* foldedResize -- what a resize adds was allocated there; the live object belongs to the row of its last resize */
static void foldedResize(void *data, HeapOperation operation)
{
  Writer folding = data;
  uint64_t size = operation->object->size;
  uint32_t number = foldedRowOf(folding, operation);

  if (UNLIKELY(folding->failed))
    return;
  if (folding->value == WriterBYTES && size > operation->oldSize)
    folding->row.value[number] += size - operation->oldSize;
  if (folding->value == WriterLIVE) {
    folding->row.value[operation->object->client] -= operation->oldSize;
    folding->row.value[number] += size;
  }
  operation->object->client = number;
}

static void foldedOther(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

/* foldedMark -- the number of where an event was: at a site, or else in a thread */
static uint32_t foldedMark(Writer folding, ThreadsThread thread, LogEvent event, uint64_t site)
{
  foldedFromStruct from = {thread->process, site == 0 ? thread : NULL, site, 0};
  uint32_t number;

  if (site == 0 && LIKELY(thread->client != NULL))
    return (uint32_t)(uintptr_t)thread->client;
  if (site != 0 && !HeapSiteIsStack(site))
    from.module = ModuleMapNumber(folding->calls.modules,
                                  ModuleMapFind(folding->calls.modules, event->process->number, event->time, site - 1));
  number = foldedNumber(folding, &folding->from, &from, sizeof from, event->time);
  if (site == 0)
    thread->client = (void *)(uintptr_t)number;
  return number;
}

/* foldedAsked -- the site or the stack that the event has; 0: it has none */
static uint64_t foldedAsked(foldedPlan plan, LogEvent event)
{
  if (plan->stack >= 0)
    return HeapSiteOf(event->process->number) | (uint32_t)LogEventWord(event, (Index)plan->stack);
  return plan->site < 0 ? 0 : LogEventWord(event, (Index)plan->site) & ~HeapSiteSTACK;
}

static Bool foldedEvent(LogRequest request, LogEvent event)
{
  Writer folding = request->data;
  foldedPlan plan = TypeCacheOf(&folding->plans, event);
  ThreadsThread thread = ThreadsOf(&folding->who, event);

  if (UNLIKELY(plan == NULL || thread == NULL || folding->failed)) {
    folding->failed = TRUE;
    return TRUE;
  }
  if (UNLIKELY(!plan->made)) {
    plan->made = TRUE;
    plan->site = TypeCacheParam(event->type, "site", "PAW");
    plan->stack = HeapWants(event->type) ? TypeCacheParam(event->type, "stack", "W") : -1;
  }
  if (!ThreadsTell(&folding->who, event))
    HeapMark(folding->heap, foldedMark(folding, thread, event, foldedAsked(plan, event)));
  HeapEvent(folding->heap, event);
  return FALSE;
}

/* ---- Writing ---- */

static void foldedString(Writer folding, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&folding->who.strings, number, &length);

  CleanPlain(folding->output, length > 0 ? bytes : "?", length > 0 ? length : 1, ";");
}

static void foldedProcess(Writer folding, ThreadsProcess process)
{
  foldedString(folding, process->name);
  if (folding->named[process->name] > 1)
    OutputFormat(folding->output, " %u", process->pid);
}

static void foldedThread(Writer folding, ThreadsThread thread)
{
  Size length;
  const char *name = ThreadsThreadName(&folding->who, thread, &length);

  OutputString(folding->output, thread->tid == thread->process->leader ? ";main" : ";");
  if (thread->tid != thread->process->leader) {
    CleanPlain(folding->output, name, length, ";");
    OutputFormat(folding->output, " %u", thread->ordinal);
  }
}

/* foldedSize -- write 2 to a power, as a size */
static void foldedSize(Writer folding, const char *before, uint32_t power)
{
  static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};

  OutputFormat(folding->output, "%s%u%s", before, 1u << power % 10, units[power / 10]);
}

static void foldedPool(Writer folding, const foldedRowStruct *row)
{
  OutputFormat(folding->output, ";pool %u", row->pool);
  if (row->class != 0) {
    OutputString(folding->output, " ");
    foldedString(folding, row->class);
  }
  if (row->power == 0) {
    OutputString(folding->output, ";0");
    return;
  }
  foldedSize(folding, ";", row->power - 1);
  foldedSize(folding, " to ", row->power);
}

/* foldedBytes -- a frame, whatever bytes it has */
static void foldedBytes(Writer folding, Text text)
{
  OutputString(folding->output, ";");
  CleanPlain(folding->output, text->base, TextLength(text), ";");
}

/* foldedSite -- write what the call is that returns to a site, as it was at `time`, the outermost function first */
static void foldedSite(Writer folding, LogProcess process, uint64_t site, uint64_t time)
{
  char bytes[CallNameMAX];
  CallStruct call;
  TextStruct text;
  Count i;

  for (i = CallsFind(&call, &folding->calls, process, time, site); i > 0; --i) {
    TextInit(&text, bytes, sizeof bytes);
    CallsName(&text, &folding->calls, &call, i - 1);
    foldedBytes(folding, &text);
  }
}

/* foldedStack -- write a stack's frames, the outermost first; `...' stands for those that were not recorded, and `?'
 * for those that were not found */
static void foldedStack(Writer folding, ThreadsProcess process, uint64_t site, uint64_t time)
{
  uint32_t stack[foldedDepthMAX], number = HeapSiteNumber(site) & ~FrameSHORT;
  Index of = HeapSiteProcess(site);
  Count count = 0;
  Frame frame;

  while (count < foldedDepthMAX && (frame = FrameTableFind(folding->calls.frames, of, number)) != NULL) {
    stack[count++] = number;
    number = frame->parent;
  }
  if (number != FrameWHOLE)
    OutputString(folding->output, number == FrameCUT || count == foldedDepthMAX ? ";..." : ";?");
  while (count > 0) {
    frame = FrameTableFind(folding->calls.frames, of, stack[--count]);
    foldedSite(folding, process->log, frame->address + 1, time);
  }
  if ((HeapSiteNumber(site) & FrameSHORT) != 0)
    OutputString(folding->output, ";...");
}

static void foldedLine(Writer folding, const foldedRowStruct *row, uint64_t value)
{
  foldedFromStruct from = foldedFrom(folding, row->from);

  if (from.process == NULL || (folding->of != NULL && OfProcessBefore(folding->of, from.process->log->number)))
    return; /* which is not shown */
  foldedProcess(folding, from.process);
  if (HeapSiteIsStack(from.site)) {
    foldedStack(folding, from.process, from.site, folding->from.value[row->from]);
  } else if (from.site != 0) {
    foldedSite(folding, from.process->log, from.site, folding->from.value[row->from]);
  } else {
    foldedThread(folding, from.thread);
    foldedPool(folding, row);
  }
  OutputFormat(folding->output, " %lu\n", value);
}

/* foldedNames -- count the processes of each name; FALSE: no memory */
static Bool foldedNames(Writer folding)
{
  ThreadsProcess process;

  folding->named = calloc(folding->who.strings.count + 1, sizeof *folding->named);
  if (folding->named == NULL)
    return FALSE;
  for (process = folding->who.first; process != NULL; process = process->next)
    folding->named[process->name] += process->log != NULL;
  return TRUE;
}

static void foldedFinish(Writer folding)
{
  uint32_t i;

  if (HeapSettle(folding->heap) != ResOK || folding->failed || folding->who.failed ||
      folding->who.strings.failed || !foldedNames(folding))
    OutputFail(folding->output, ENOMEM);
  for (i = 1; i <= folding->row.keys.count && folding->output->failed == 0; ++i) {
    foldedRowStruct row = foldedRow(folding, i);
    if (folding->row.value[i] > 0)
      foldedLine(folding, &row, folding->row.value[i]);
  }
}

static void foldedDestroy(Writer folding)
{
  if (folding->heap != NULL)
    HeapDestroy(folding->heap);
  ThreadsFinish(&folding->who);
  TypeCacheFinish(&folding->plans);
  CallsFinish(&folding->calls);
  free(folding->named);
  StringsFinish(&folding->from.keys);
  StringsFinish(&folding->row.keys);
  free(folding->from.value);
  free(folding->row.value);
  free(folding);
}

static Res foldedCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  HeapClientStruct client = {.alloc = foldedAlloc, .free = foldedFree, .resize = foldedResize, .other = foldedOther,
                             .each = TRUE};
  Writer folding = calloc(1, sizeof *folding);
  Res res;

  UNUSED(class);
  if (folding == NULL)
    return ResMEMORY;
  folding->output = options->output;
  folding->of = options->of;
  folding->value = options->value;
  TypeCacheInit(&folding->plans, sizeof(foldedPlanStruct));
  client.data = folding;
  res = ThreadsInit(&folding->who, options->log);
  if (res == ResOK)
    res = WriterCalls(&folding->calls, options);
  if (res == ResOK)
    res = HeapCreate(&folding->heap, &client, options->log);
  if (res != ResOK) {
    foldedDestroy(folding);
    return res;
  }
  HeapOf(folding->heap, options->of);
  *writerReturn = folding;
  return ResOK;
}

const WriterClassStruct WriterClassFolded = {
  .name = "folded", .heirs = TRUE, .takes = WriterTakesVALUE | WriterTakesSYMBOLS, .create = foldedCreate,
  .event = foldedEvent,
  .finish = foldedFinish, .destroy = foldedDestroy,
};
