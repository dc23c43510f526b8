/* modulemap.c -- which module of a process an address is in, at a time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/modulemap.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/typenames.h"
#include "request/request.h"

enum {
  moduleLOAD = TypeCacheCLIENT, moduleUNLOAD, moduleBUILD,
  moduleHeightMAX = 64,        /* of the tree */
  moduleVisitsMAX = 1 << 12    /* nodes that one search looks at */
};

enum { moduleBASE, moduleSIZE, moduleTEXT };

static const TypeCacheKnownStruct moduleKnown[] = {{"ModuleLoad", moduleLOAD, {"AP base", "W size", "S path"}},
                                                   {"ModuleUnload", moduleUNLOAD, {"AP base"}},
                                                   {"ModuleBuild", moduleBUILD, {"AP base", NULL, "S id"}}};

/* What one event tells. */
typedef struct moduleTellStruct {
  int tells;
  uint64_t order;      /* in the log */
  ModuleStruct module; /* what the event has of it; `from` is its time */
} moduleTellStruct, *ModuleTell;

/* What a node of the tree knows of the modules below it; one without modules has an end of 0. */
typedef struct moduleRangeStruct {
  uint64_t end;         /* the highest */
  uint64_t first, last; /* when one was loaded: the earliest and the latest */
  uint64_t gone;        /* when one was unloaded: the latest */
} moduleRangeStruct, *ModuleRange;

/* Which modules with an address are looked for: loaded at the time, after it or before it. */
typedef enum moduleWhen { moduleTHEN, moduleLATER, moduleEARLIER } moduleWhen;

struct ModuleMapStruct {
  StringsStruct strings;
  TypeCacheStruct types; /* TypeCacheTellStructs */
  Count tells, tellCapacity;
  ModuleTell tell;       /* owned; until all is settled */
  Count modules, processes;
  Module module;         /* owned */
  Index *first;          /* owned; by process, one more: where its modules begin */
  unsigned height;       /* of the tree over all modules: it has 1 << height leaves */
  ModuleRange range;     /* owned; the root is 1, children of n are 2n and 2n + 1, the leaf of module i is leaves + i */
  Bool failed;           /* there was no memory for an event */
};

Bool ModuleMapTells(EventType type)
{
  return TypeCacheKnows(type, moduleKnown, ARRAY_LENGTH(moduleKnown));
}

Res ModuleMapMake(ModuleMap *mapReturn, Count processes)
{
  ModuleMap map = calloc(1, sizeof *map);

  if (map == NULL)
    return ResMEMORY;
  map->processes = processes;
  map->first = calloc(processes + 1, sizeof *map->first);
  TypeCacheInit(&map->types, sizeof(TypeCacheTellStruct));
  if (map->first == NULL) {
    free(map);
    return ResMEMORY;
  }
  *mapReturn = map;
  return ResOK;
}

static Bool moduleFail(ModuleMap map)
{
  map->failed = TRUE;
  return FALSE;
}

Bool ModuleMapTake(ModuleMap map, LogEvent event)
{
  TypeCacheTell plan = TypeCacheTells(&map->types, event, moduleKnown, ARRAY_LENGTH(moduleKnown));
  moduleTellStruct tell = {.order = map->tells};
  const char *text;
  Size length;

  if (plan == NULL)
    return moduleFail(map);
  if (plan->tells == TypeCacheNOTHING || event->process->number >= map->processes)
    return TRUE;
  tell.tells = plan->tells;
  tell.module = (ModuleStruct){.process = event->process->number, .from = event->time, .to = UINT64_MAX,
                               .base = LogEventWord(event, (Index)plan->param[moduleBASE])};
  if (plan->tells == moduleLOAD)
    tell.module.size = LogEventWord(event, (Index)plan->param[moduleSIZE]);
  if (plan->tells != moduleUNLOAD) {
    text = LogEventString(event, (Index)plan->param[moduleTEXT], &length);
    tell.module.path = tell.module.build = StringsAdd(&map->strings, text, length);
    text = TypeCacheBase(text, &length);
    tell.module.name = StringsAdd(&map->strings, text, length);
  }
  if (!Grow(&map->tell, &map->tellCapacity, map->tells, sizeof tell))
    return moduleFail(map);
  map->tell[map->tells++] = tell;
  return TRUE;
}

static int moduleTellCompare(const void *a, const void *b)
{
  const moduleTellStruct *x = a, *y = b;

  if (x->module.process != y->module.process)
    return x->module.process < y->module.process ? -1 : 1;
  if (x->module.base != y->module.base)
    return x->module.base < y->module.base ? -1 : 1;
  if (x->module.from != y->module.from) /* the order of a log is that of its times; this does not rely on it */
    return x->module.from < y->module.from ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* moduleLoad -- a module is loaded; one that is told again, as state dumps do, is no new one */
static Module moduleLoad(ModuleMap map, ModuleTell tell, Module open, uint32_t build)
{
  Module module = &map->module[map->modules];

  if (open != NULL && open->to == UINT64_MAX && open->size == tell->module.size && open->path == tell->module.path)
    return open;
  *module = tell->module;
  module->build = build;
  ++map->modules;
  return module;
}

/* moduleSettle -- make modules of what was told of one base of a process, `n` events in order */
static void moduleSettle(ModuleMap map, ModuleTell tell, Count n)
{
  Module open = NULL;
  uint32_t build = 0; /* that was told before its module */
  Index i;

  for (i = 0; i < n; ++i)
    switch (tell[i].tells) {
    case moduleLOAD:
      open = moduleLoad(map, &tell[i], open, build);
      build = 0;
      break;
    case moduleUNLOAD:
      if (open != NULL && open->to == UINT64_MAX)
        open->to = tell[i].module.from;
      break;
    default:
      if (open != NULL && open->to == UINT64_MAX && open->build == 0)
        open->build = tell[i].module.build;
      else if (open == NULL || open->to != UINT64_MAX)
        build = tell[i].module.build;
    }
}

static moduleRangeStruct moduleLeaf(Module module)
{
  return (moduleRangeStruct){module->base + module->size, module->from, module->from, module->to};
}

static moduleRangeStruct moduleBoth(const moduleRangeStruct *a, const moduleRangeStruct *b)
{
  return (moduleRangeStruct){a->end > b->end ? a->end : b->end, a->first < b->first ? a->first : b->first,
                             a->last > b->last ? a->last : b->last, a->gone > b->gone ? a->gone : b->gone};
}

/* moduleTree -- make the tree over all modules */
static Res moduleTree(ModuleMap map)
{
  Count leaves;
  Index i;

  while ((Count)1 << map->height < map->modules)
    ++map->height;
  leaves = (Count)1 << map->height;
  map->range = malloc(2 * leaves * sizeof *map->range);
  if (map->range == NULL)
    return ResMEMORY;
  for (i = 0; i < leaves; ++i)
    map->range[leaves + i] = i < map->modules ? moduleLeaf(&map->module[i])
                                              : (moduleRangeStruct){.first = UINT64_MAX};
  for (i = leaves - 1; i > 0; --i)
    map->range[i] = moduleBoth(&map->range[2 * i], &map->range[2 * i + 1]);
  return ResOK;
}

Res ModuleMapSettle(ModuleMap map)
{
  uint64_t most = 0;
  Index i, end;
  Res res;

  map->module = malloc((map->tells + 1) * sizeof *map->module);
  if (map->module == NULL || map->failed)
    return ResMEMORY;
  if (map->tells > 0)
    qsort(map->tell, map->tells, sizeof *map->tell, moduleTellCompare);
  for (i = 0; i < map->tells; i = end) {
    for (end = i + 1; end < map->tells && map->tell[end].module.process == map->tell[i].module.process &&
                      map->tell[end].module.base == map->tell[i].module.base;)
      ++end;
    moduleSettle(map, &map->tell[i], end - i);
  }
  free(map->tell);
  map->tell = NULL;
  map->tells = map->tellCapacity = 0;
  for (i = 0; i < map->modules; ++i) {
    Module module = &map->module[i];
    if (module->size > UINT64_MAX - module->base)
      module->size = UINT64_MAX - module->base;
    if (i > 0 && module[-1].process != module->process)
      most = 0;
    most = module->base + module->size > most ? module->base + module->size : most;
    module->most = most;
    ++map->first[module->process + 1];
  }
  for (i = 0; i < map->processes; ++i)
    map->first[i + 1] += map->first[i];
  res = moduleTree(map);
  AVER(res != ResOK || ModuleMapCheck(map));
  return res;
}

static Bool moduleChoose(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return ModuleMapTells(type);
}

static Bool moduleEvent(LogRequest request, LogEvent event)
{
  return !ModuleMapTake(request->data, event);
}

Res ModuleMapRead(ModuleMap *mapReturn, Log log)
{
  LogRequestStruct request = LogRequestALL;
  ModuleMap map;
  Res res = ModuleMapMake(&map, LogProcesses(log));

  if (res != ResOK)
    return res;
  request.data = map;
  request.choose = moduleChoose;
  request.kinds = LogKindsOf(log, moduleChoose, map);
  request.event = moduleEvent;
  res = LogRead(log, &request);
  if (res == ResOK)
    res = ModuleMapSettle(map);
  if (res == ResOK)
    *mapReturn = map;
  else
    ModuleMapDestroy(map);
  return res;
}

void ModuleMapDestroy(ModuleMap map)
{
  if (map == NULL)
    return;
  StringsFinish(&map->strings);
  TypeCacheFinish(&map->types);
  free(map->tell);
  free(map->module);
  free(map->first);
  free(map->range);
  free(map);
}

/* moduleMay -- may one of these modules be better than the best that was found?  Exact for a leaf. */
static Bool moduleMay(const moduleRangeStruct *range, moduleWhen when, uint64_t time, uint64_t address, Module best)
{
  if (range->end <= address)
    return FALSE;
  if (when == moduleLATER)
    return range->last > time && (best == NULL || range->first < best->from);
  return range->first <= time && (when == moduleEARLIER || range->gone > time) &&
         (best == NULL || range->last > best->from);
}

/* moduleSearch -- of the modules from `first` to `limit`, all of which begin at the address or before it, the one that
 * has it: the newest, or of those that were loaded later the first; NULL: none.  One base has its modules in order of
 * time, and the better end of each node comes first: so however often a place was used again, a search goes down the
 * tree once, and once more for each other base whose modules had the address.  Only in a forged log can thousands have
 * it at one time; then some one of them is found. */
static Module moduleSearch(ModuleMap map, Index first, Index limit, moduleWhen when, uint64_t time, uint64_t address)
{
  struct { Index node; unsigned height; } stack[moduleHeightMAX + 1] = {{1, map->height}}, one;
  Index right = when != moduleLATER; /* the child that is looked at first */
  Count depth = 1, visits;
  Module best = NULL;

  for (visits = 0; depth > 0 && visits < moduleVisitsMAX; ++visits) {
    Index leaf;
    one = stack[--depth];
    leaf = (one.node << one.height) - ((Count)1 << map->height);
    if (leaf >= limit || leaf + ((Count)1 << one.height) <= first ||
        !moduleMay(&map->range[one.node], when, time, address, best))
      continue;
    if (one.height == 0) {
      best = &map->module[leaf];
      continue;
    }
    --one.height;
    one.node = 2 * one.node + !right;
    stack[depth++] = one;
    one.node ^= 1;
    stack[depth++] = one;
  }
  return best;
}

Module ModuleMapFind(ModuleMap map, Index process, uint64_t time, uint64_t address)
{
  Index low, high, first;
  Module module;

  if (process >= map->processes)
    return NULL;
  first = low = map->first[process];
  high = map->first[process + 1];
  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (map->module[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == first || map->module[low - 1].most <= address)
    return NULL;
  module = &map->module[low - 1];
  if (low - 1 == first || module[-1].most <= address) /* no other has it at any time */
    return module;
  if ((module = moduleSearch(map, first, low, moduleTHEN, time, address)) == NULL &&
      (module = moduleSearch(map, first, low, moduleLATER, time, address)) == NULL)
    module = moduleSearch(map, first, low, moduleEARLIER, time, address);
  return module;
}

Module ModuleMapOf(ModuleMap map, Index process, const char *path)
{
  Size length;
  Index i;

  if (process >= map->processes)
    return NULL;
  for (i = map->first[process]; i < map->first[process + 1]; ++i)
    if (strcmp(ModuleMapString(map, map->module[i].path, &length), path) == 0)
      return &map->module[i];
  return NULL;
}

Count ModuleMapNumber(ModuleMap map, Module module)
{
  return module == NULL ? 0 : (Count)(module - map->module) + 1;
}

const char *ModuleMapString(ModuleMap map, uint32_t string, Size *lengthReturn)
{
  return StringsAt(&map->strings, string, lengthReturn);
}

/* moduleRangeIs -- has the node what `range` says? */
static Bool moduleRangeIs(ModuleMap map, Index node, moduleRangeStruct range)
{
  const moduleRangeStruct *has = &map->range[node];

  return has->end == range.end && has->first == range.first && has->last == range.last && has->gone == range.gone;
}

Bool ModuleMapCheck(ModuleMap map)
{
  Count leaves = (Count)1 << map->height;
  Index i;

  for (i = 0; i < map->modules; ++i) {
    Module module = &map->module[i];
    if (module->process >= map->processes || i < map->first[module->process] || i >= map->first[module->process + 1])
      return FALSE;
    if (i > 0 && module[-1].process == module->process &&
        (module[-1].base > module->base || module[-1].most > module->most ||
         (module[-1].base == module->base && module[-1].from > module->from)))
      return FALSE;
    if (!moduleRangeIs(map, leaves + i, moduleLeaf(module)))
      return FALSE;
  }
  for (i = 1; i < leaves; ++i)
    if (!moduleRangeIs(map, i, moduleBoth(&map->range[2 * i], &map->range[2 * i + 1])))
      return FALSE;
  return map->first[map->processes] == map->modules;
}
