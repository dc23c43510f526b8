/* folded.c -- what was allocated, and from where, as folded stacks for flame graphs
 *
 *   perl;libc.so.6+0x8a1b2 4096
 *
 * A line for each stack of each process, its outermost frame first, and a number.  (A child of fork that executes a
 * program of the same name is two processes of one name and number; whoever draws adds the lines up.)	Where an
 * allocation's event says its site, the frames are the process and the site; else process, thread, pool and a class of
 * sizes.  The numbers add up to what a summary says of the same log.
 *
 * Always true: an object that lives has the number of its row as `client`; row 0 is no row.
 *
 * Design: design/view.md .drawn.folded      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "export/output.h"
#include "export/threads.h"
#include "export/writer.h"
#include "heap/heap.h"
#include "request/strings.h"
#include "request/typecache.h"

/* Which file an address of a program was in, as events called ModuleLoad say with base, size and path; a forked child
 * tells its own. */
typedef struct ModulesModuleStruct {
  LogProcess process;
  uint64_t base, size;
  uint32_t name;     /* number of the file's name in `strings` */
} ModulesModuleStruct, *ModulesModule;

typedef struct ModulesStruct {
  Count count, capacity;
  ModulesModule module; /* in order of appearance */
  StringsStruct strings;
  TypeCacheStruct plans;
  Bool failed;       /* there was no memory: some are not known */
} ModulesStruct, *Modules;

enum { modulesBASE, modulesSIZE, modulesPATH };

static const TypeCacheKnownStruct modulesKnown[] = {{"ModuleLoad", TypeCacheCLIENT, {"AP base", "W size", "S path"}}};

static void modulesInit(Modules modules)
{
  memset(modules, 0, sizeof *modules);
  TypeCacheInit(&modules->plans, sizeof(TypeCacheTellStruct));
}

static void modulesFinish(Modules modules)
{
  free(modules->module);
  TypeCacheFinish(&modules->plans);
  StringsFinish(&modules->strings);
}

static void modulesAdd(Modules modules, TypeCacheTell plan, LogEvent event)
{
  const char *path;
  ModulesModule module;
  Size length;

  if (!Grow(&modules->module, &modules->capacity, modules->count, sizeof *modules->module)) {
    modules->failed = TRUE;
    return;
  }
  module = &modules->module[modules->count++];
  module->process = event->process;
  module->base = LogEventWord(event, (Index)plan->param[modulesBASE]);
  module->size = LogEventWord(event, (Index)plan->param[modulesSIZE]);
  path = LogEventString(event, (Index)plan->param[modulesPATH], &length);
  path = TypeCacheBase(path, &length);
  module->name = StringsAdd(&modules->strings, path, length);
}

/* modulesTell -- learn from an event; TRUE: it is about a module, and nothing else */
static Bool modulesTell(Modules modules, LogEvent event)
{
  TypeCacheTell plan = TypeCacheTells(&modules->plans, event, modulesKnown, ARRAY_LENGTH(modulesKnown));

  if (UNLIKELY(plan == NULL)) {
    modules->failed = TRUE;
    return FALSE;
  }
  if (LIKELY(plan->tells == TypeCacheNOTHING))
    return FALSE;
  modulesAdd(modules, plan, event);
  return TRUE;
}

static Bool modulesHas(ModulesModule module, LogProcess process, uint64_t address)
{
  return module->process == process && address - module->base < module->size;
}

/* modulesFind -- the module in which *address of `process` is; of several the newest among the first `known`, then the
 * oldest of the others.  Returns it, and in *address the place in it; NULL: in none that is known. */
static ModulesModule modulesFind(Modules modules, LogProcess process, Count known, uint64_t *address)
{
  ModulesModule found = NULL;
  Index i;

  for (i = known; i-- > 0 && found == NULL;) {
    if (modulesHas(&modules->module[i], process, *address))
      found = &modules->module[i];
  }
  for (i = known; i < modules->count && found == NULL; ++i) {
    if (modulesHas(&modules->module[i], process, *address))
      found = &modules->module[i];
  }
  if (found != NULL)
    *address -= found->base;
  return found;
}

enum { foldedRowsMIN = 1024 };

/* What an event says of where it happened.  As a mark, `from` is the place of one in `from`, and 0 is none. */
typedef struct foldedFromStruct {
  ThreadsProcess process;
  ThreadsThread thread;  /* NULL where there is a site */
  uint64_t site;     /* 0: none */
  Count modules;     /* that were known when it was met */
} foldedFromStruct, *foldedFrom;

typedef struct foldedRowStruct {
  uint32_t from;
  uint32_t pool;     /* its number in the process; 0 where there is a site */
  uint32_t class;    /* number of the pool's class in who.strings */
  uint32_t power;    /* sizes are below 2 to this power, and not below half of that; 0 for size 0 */
  uint64_t value;
} foldedRowStruct, *foldedRow;

/* An array of things, each of which is known by the `key` bytes that it begins with. */
typedef struct foldedTableStruct {
  Size key, size;    /* bytes; of a thing */
  Count count;       /* numbers given out, 0 among them */
  Count capacity;    /* of places; a power of 2, twice that of the array */
  uint32_t *place;   /* by hash; 0 is none */
  char *base;
} foldedTableStruct, *foldedTable;

struct WriterStruct {
  Output output;
  OfProcess of;      /* whose rows are written; NULL: all */
  Heap heap;
  ThreadsStruct who;
  TypeCacheStruct plans;
  ModulesStruct modules;
  unsigned value;
  Bool failed;       /* there was no memory */
  uint32_t *named;   /* how many processes have a name, by its number; made at the end */
  foldedTableStruct from, row;
};

/* A plan: where the site is */
typedef struct foldedPlanStruct {
  Bool made;
  int site;
} foldedPlanStruct, *foldedPlan;

/* foldedAt -- the thing with this number */
static inline void *foldedAt(foldedTable table, uint32_t number)
{
  return table->base + number * table->size;
}

static inline foldedFrom foldedFromAt(Writer folding, uint32_t number)
{
  return foldedAt(&folding->from, number);
}

static inline foldedRow foldedRowAt(Writer folding, uint32_t number)
{
  return foldedAt(&folding->row, number);
}

static uint64_t foldedHash(const char *key, Size size)
{
  uint64_t hash = 1, word;

  for (; size > 0; size -= sizeof word, key += sizeof word) {
    memcpy(&word, key, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u ^ hash >> 29;
  }
  return hash;
}

static uint32_t *foldedPlace(foldedTable table, const char *key)
{
  Index mask = table->capacity - 1, i = (Index)(foldedHash(key, table->key) >> 20) & mask;

  for (;; i = (i + 1) & mask) {
    uint32_t *place = &table->place[i];
    if (*place == 0 || memcmp(foldedAt(table, *place), key, table->key) == 0)
      return place;
  }
}

/* foldedGrow -- room for one more; FALSE: no memory */
static Bool foldedGrow(foldedTable table)
{
  Count capacity = table->capacity == 0 ? foldedRowsMIN : 2 * table->capacity;
  uint32_t *place, i;
  char *base;

  if (LIKELY(table->count < table->capacity / 2))
    return TRUE;
  if (capacity > UINT32_MAX / 2 || (base = realloc(table->base, capacity / 2 * table->size)) == NULL)
    return FALSE;
  table->base = base;
  place = calloc(capacity, sizeof *place);
  if (place == NULL)
    return FALSE;
  free(table->place);
  table->place = place;
  table->capacity = capacity;
  for (i = 1; i < table->count; ++i)
    *foldedPlace(table, foldedAt(table, i)) = i;
  return TRUE;
}

/* foldedNumber -- the number of what has the key of `thing`, which is added if nothing has; 0: no memory */
static uint32_t foldedNumber(Writer folding, foldedTable table, const void *thing)
{
  uint32_t *place;

  if (!foldedGrow(table)) {
    folding->failed = TRUE;
    return 0;
  }
  place = foldedPlace(table, thing);
  if (*place == 0) {
    *place = (uint32_t)table->count++;
    memcpy(foldedAt(table, *place), thing, table->size);
  }
  return *place;
}

/* ---- Counting ---- */

/* foldedRowOf -- the row for an object */
static foldedRow foldedRowOf(Writer folding, HeapOperation operation, uint32_t *numberReturn)
{
  foldedRowStruct key = {.from = operation->mark};

  if (operation->mark == 0 || foldedFromAt(folding, operation->mark)->site == 0) {
    uint64_t size = operation->object->size;
    key.pool = (uint32_t)operation->pool->number;
    key.class = StringsAdd(&folding->who.strings, operation->pool->class, strlen(operation->pool->class));
    key.power = size == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(size);
  }
  *numberReturn = foldedNumber(folding, &folding->row, &key);
  return foldedRowAt(folding, *numberReturn);
}

/* foldedInherits -- the row for an object that has one: of another process, where that had it from, or the process's
 * own */
static foldedRow foldedInherits(Writer folding, HeapOperation operation, uint32_t *numberReturn)
{
  foldedRowStruct key = *foldedRowAt(folding, operation->object->client);
  foldedFromStruct from = *foldedFromAt(folding, key.from);

  from.process = folding->who.process[operation->process];
  key.from = foldedNumber(folding, &folding->from, &from);
  key.value = 0;
  *numberReturn = foldedNumber(folding, &folding->row, &key);
  return foldedRowAt(folding, *numberReturn);
}

static void foldedAlloc(void *data, HeapOperation operation)
{
  Writer folding = data;
  uint32_t known = operation->object->client, number;
  foldedRow row = (known != 0 ? foldedInherits : foldedRowOf)(folding, operation, &number);

  if (UNLIKELY(folding->failed) || (known != 0 && number == known)) /* it seemed to have ended, and what lived stood there */
    return;
  operation->object->client = number;
  if (folding->value == WriterLIVE || (folding->value == WriterBYTES && !operation->told))
    row->value += operation->object->size;
  else if (folding->value == WriterCOUNT && !operation->told)
    ++row->value;
}

static void foldedFree(void *data, HeapOperation operation)
{
  Writer folding = data;

  if (folding->value == WriterLIVE && LIKELY(!folding->failed))
    foldedRowAt(folding, operation->object->client)->value -= operation->object->size;
}

/* foldedResize -- what a resize adds is allocated by it; what lives, lives where the newest was asked for */
static void foldedResize(void *data, HeapOperation operation)
{
  Writer folding = data;
  uint64_t size = operation->object->size;
  uint32_t number;
  foldedRow row = foldedRowOf(folding, operation, &number);

  if (UNLIKELY(folding->failed))
    return;
  if (folding->value == WriterBYTES && size > operation->oldSize)
    row->value += size - operation->oldSize;
  if (folding->value == WriterLIVE) {
    foldedRowAt(folding, operation->object->client)->value -= operation->oldSize;
    row->value += size;
  }
  operation->object->client = number;
}

static void foldedOther(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

/* foldedMark -- the number of where an event was: at a site, or else in a thread */
static uint32_t foldedMark(Writer folding, ThreadsThread thread, uint64_t site)
{
  foldedFromStruct from = {.process = thread->process};

  if (site == 0 && LIKELY(thread->client != NULL))
    return (uint32_t)(uintptr_t)thread->client;
  from.site = site;
  from.modules = folding->modules.count;
  if (site != 0)
    return foldedNumber(folding, &folding->from, &from);
  from.thread = thread;
  thread->client = (void *)(uintptr_t)foldedNumber(folding, &folding->from, &from);
  return (uint32_t)(uintptr_t)thread->client;
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
  }
  if (!ThreadsTell(&folding->who, event) && !modulesTell(&folding->modules, event))
    HeapMark(folding->heap, foldedMark(folding, thread, plan->site < 0 ? 0 : LogEventWord(event, (Index)plan->site)));
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

static void foldedText(Writer folding, Text text)
{
  OutputBytes(folding->output, text->base, TextLength(text));
}

static void foldedProcess(Writer folding, ThreadsProcess process)
{
  char room[32];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  foldedString(folding, process->name);
  if (folding->named[process->name] > 1) {
    TextChar(&text, ' ');
    TextDecimal(&text, process->pid);
  }
  foldedText(folding, &text);
}

static void foldedThread(Writer folding, ThreadsThread thread)
{
  char room[32];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  if (thread->tid == thread->process->leader) {
    TextString(&text, "main");
  } else {
    Size length;
    const char *name = ThreadsThreadName(&folding->who, thread, &length);
    CleanPlain(folding->output, name, length, ";");
    TextChar(&text, ' ');
    TextDecimal(&text, thread->ordinal);
  }
  foldedText(folding, &text);
}

/* foldedSize -- a size as people have it: a power of two */
static void foldedSize(Text text, uint32_t power)
{
  static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};

  TextDecimal(text, (uint64_t)1 << power % 10);
  TextString(text, units[power / 10]);
}

static void foldedPool(Writer folding, foldedRow row)
{
  char room[64];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, ";pool ");
  TextDecimal(&text, row->pool);
  if (row->class != 0) {
    TextChar(&text, ' ');
    foldedText(folding, &text);
    foldedString(folding, row->class);
    TextInit(&text, room, sizeof room);
  }
  TextChar(&text, ';');
  if (row->power > 0) {
    foldedSize(&text, row->power - 1);
    TextString(&text, " to ");
    foldedSize(&text, row->power);
  } else {
    TextChar(&text, '0');
  }
  foldedText(folding, &text);
}

static void foldedSite(Writer folding, foldedFrom from)
{
  char room[32];
  TextStruct text;
  uint64_t offset = from->site;
  ModulesModule module = modulesFind(&folding->modules, from->process->log, from->modules, &offset);

  TextInit(&text, room, sizeof room);
  OutputBytes(folding->output, ";", 1);
  if (module != NULL) {
    Size length;
    const char *name = StringsAt(&folding->modules.strings, module->name, &length);
    CleanPlain(folding->output, name, length, ";");
    TextChar(&text, '+');
  }
  TextHex(&text, offset);
  foldedText(folding, &text);
}

static void foldedLine(Writer folding, foldedRow row)
{
  foldedFrom from = foldedFromAt(folding, row->from);
  char room[32];
  TextStruct text;

  foldedProcess(folding, from->process);
  if (from->site != 0) {
    foldedSite(folding, from);
  } else {
    OutputBytes(folding->output, ";", 1);
    foldedThread(folding, from->thread);
    foldedPool(folding, row);
  }
  TextInit(&text, room, sizeof room);
  TextChar(&text, ' ');
  TextDecimal(&text, row->value);
  TextChar(&text, '\n');
  foldedText(folding, &text);
}

/* foldedShows -- is it a row of a process that is shown? */
static Bool foldedShows(Writer folding, foldedRow row)
{
  return folding->of == NULL || !OfProcessBefore(folding->of, foldedFromAt(folding, row->from)->process->log->number);
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

static Res foldedFinish(Writer folding)
{
  Index i;

  if (HeapSettle(folding->heap) != ResOK || folding->failed || folding->who.failed || !foldedNames(folding)) {
    errno = ENOMEM;
    return ResIO;
  }
  for (i = 1; i < folding->row.count && folding->output->failed == 0; ++i) {
    if (foldedRowAt(folding, (uint32_t)i)->value > 0 && foldedShows(folding, foldedRowAt(folding, (uint32_t)i)))
      foldedLine(folding, foldedRowAt(folding, (uint32_t)i));
  }
  return OutputEnd(folding->output);
}

static void foldedDestroy(Writer folding)
{
  if (folding->heap != NULL)
    HeapDestroy(folding->heap);
  ThreadsFinish(&folding->who);
  TypeCacheFinish(&folding->plans);
  modulesFinish(&folding->modules);
  free(folding->named);
  free(folding->from.base);
  free(folding->from.place);
  free(folding->row.base);
  free(folding->row.place);
  free(folding);
}

static Res foldedCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                        Size size)
{
  HeapClientStruct client = {.alloc = foldedAlloc, .free = foldedFree, .resize = foldedResize, .other = foldedOther, .each = TRUE};
  Writer folding = calloc(1, sizeof *folding);

  UNUSED(error);
  UNUSED(size);
  if (folding == NULL)
    return ResMEMORY;
  folding->output = output;
  folding->of = options->of;
  folding->value = options->value;
  folding->from = (foldedTableStruct){offsetof(foldedFromStruct, modules), sizeof(foldedFromStruct), 1, 0, NULL, NULL};
  folding->row = (foldedTableStruct){offsetof(foldedRowStruct, value), sizeof(foldedRowStruct), 1, 0, NULL, NULL};
  TypeCacheInit(&folding->plans, sizeof(foldedPlanStruct));
  modulesInit(&folding->modules);
  client.data = folding;
  if (ThreadsInit(&folding->who, log) != ResOK || HeapCreate(&folding->heap, &client, log) != ResOK) {
    foldedDestroy(folding);
    return ResMEMORY;
  }
  HeapOf(folding->heap, options->of);
  *writerReturn = folding;
  return ResOK;
}

const WriterClassStruct WriterClassFolded = {
  .name = "folded", .heirs = TRUE, .takes = WriterTakesVALUE, .create = foldedCreate, .event = foldedEvent, .finish = foldedFinish,
  .destroy = foldedDestroy,
};
