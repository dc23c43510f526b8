/* footprint.c -- memory of a process besides its heap: its mappings, and how much of all is resident
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/spans.h"
#include "base/grow.h"
#include "heap/exittimes.h"
#include "log/processname.h"
#include "request/typecache.h"

enum {
  memoryBUCKETS = 1024,
  memoryPAGE = 4096 /* what the kernel rounds to, at least */
};

enum {
  memoryMAP = TypeCacheCLIENT, memoryUNMAP, memoryREMAP, memoryBREAK, memoryMOVE, memorySAMPLE, memoryEXEC, memoryEXIT,
  memoryROUND
};

/* What event types tell, and by which parameters. */
static const TypeCacheKnownStruct memoryKnown[] = {
  {"MemoryMap", memoryMAP, {"PAWU base", "PAWU size"}},
  {"MemoryUnmap", memoryUNMAP, {"PAWU base", "PAWU size"}},
  {"MemoryRemap", memoryREMAP, {"PAWU old", "PAWU oldSize", "PAWU base", "PAWU size"}},
  {"MemoryBreak", memoryBREAK, {"PAWU limit"}}, /* of registry 1.0 */
  {"MemoryBreak", memoryMOVE, {"PAWU limit", "PAWU before"}},
  {"ProcessSample", memorySAMPLE, {"PAWU pid", "PAWU resident"}},
  {"ProcessExec", memoryEXEC, {"PAWU pid", "S program"}},
  {"ProcessExit", memoryEXIT, {"PAWU pid"}},
  {"MachineSample", memoryROUND, {NULL}}, /* told each time that all are looked at */
};

typedef enum MemoryKind { MemoryMAPPED, MemoryRESIDENT, MemoryKINDS } MemoryKind;

/* One process, by its number.  One that has ended has nothing now; its end is kept, for it may turn out to live. */
typedef struct memoryProcessStruct {
  Bool met, ended, gone;
  LogProcess log;
  uint32_t older;                /* 1 + the number of one met before with a number like its, or 0 */
  SpansStruct spans;
  uint64_t limit;                /* the break told last, or 0 */
  uint64_t looked;               /* a collector: when it looked last at all others, or 0 */
  uint64_t now[MemoryKINDS];
  MemoryBytesStruct bytes[MemoryKINDS];
} memoryProcessStruct, *memoryProcess;

struct MemoryStruct {
  Log log;
  TypeCacheStruct plans;
  SpanPoolStruct pool;
  GoneStruct gone;
  Bool failed;
  uint64_t left;
  uint64_t apart;                /* ns between two looks of a collector, at most */
  uint64_t now[MemoryKINDS];     /* of all that live */
  MemoryBytesStruct bytes[MemoryKINDS]; /* `end`: of those that have ended */
  uint32_t recent[memoryBUCKETS]; /* by the system's number: 1 + the number of the one met last, or 0 */
  Count processes, capacity;
  memoryProcess process;
};

Res MemoryCreate(Memory *memoryReturn, Log log)
{
  Memory memory = calloc(1, sizeof *memory);

  if (memory == NULL)
    return ResMEMORY;
  memory->log = log;
  TypeCacheInit(&memory->plans, sizeof(TypeCacheTellStruct));
  SpanPoolInit(&memory->pool);
  *memoryReturn = memory;
  return ResOK;
}

void MemoryDestroy(Memory memory)
{
  TypeCacheFinish(&memory->plans);
  SpanPoolFinish(&memory->pool);
  GoneFinish(&memory->gone);
  free(memory->process);
  free(memory);
}

/* memorySet -- a process has so much of it now */
static void memorySet(Memory memory, memoryProcess process, MemoryKind kind, uint64_t bytes, uint64_t time)
{
  memory->now[kind] += bytes - process->now[kind];
  process->now[kind] = bytes;
  process->bytes[kind].known = memory->bytes[kind].known = TRUE;
  if (bytes > process->bytes[kind].peak) {
    process->bytes[kind].peak = bytes;
    process->bytes[kind].peakTime = time;
  }
  if (memory->now[kind] > memory->bytes[kind].peak) {
    memory->bytes[kind].peak = memory->now[kind];
    memory->bytes[kind].peakTime = time;
  }
}

/* memoryEnd -- a process has ended, or so it seems; `gone`: it has, and its spans can be given back */
static void memoryEnd(Memory memory, memoryProcess process, Bool gone)
{
  MemoryKind kind;

  if (gone && !process->gone) {
    SpansClear(&memory->pool, &process->spans);
    process->gone = TRUE;
  }
  if (process->ended)
    return;
  process->ended = TRUE;
  for (kind = 0; kind < MemoryKINDS; ++kind) {
    process->bytes[kind].end = process->now[kind];
    memory->bytes[kind].end += process->now[kind];
    memory->now[kind] -= process->now[kind];
    process->now[kind] = 0;
  }
}

/* memoryGone -- those have ended that had before `time`, as their headers say */
static void memoryGone(Memory memory, uint64_t time)
{
  uint64_t gone;
  Index i;

  memory->failed |= GoneLook(&memory->gone, memory->log) != ResOK;
  while (GoneNext(&i, &gone, &memory->gone, time))
    if (i < memory->processes && memory->process[i].met)
      memoryEnd(memory, &memory->process[i], FALSE);
}

/* memoryRevive -- it had not: what looked like its end was that of the program it was before */
static void memoryRevive(Memory memory, memoryProcess process, uint64_t time)
{
  MemoryKind kind;

  process->ended = FALSE;
  for (kind = 0; kind < MemoryKINDS; ++kind) {
    memory->bytes[kind].end -= process->bytes[kind].end;
    if (process->bytes[kind].known)
      memorySet(memory, process, kind, process->bytes[kind].end, time);
  }
}

/* memoryOlder -- of those met, the one before this that has the same number on the same machine; or NULL */
static memoryProcess memoryOlder(Memory memory, uint32_t at, const HeaderStruct *machine, uint32_t pid)
{
  for (; at != 0; at = memory->process[at - 1].older) {
    LogProcess log = memory->process[at - 1].log;
    if (log->header.pid == pid && strcmp(log->header.boot, machine->boot) == 0)
      return &memory->process[at - 1];
  }
  return NULL;
}

/* memoryPid -- all end that have this number in the system that the event tells of, but for one that has later blocks,
 * or that runs `program`, of `length` bytes: without a name they have ended for certain */
static void memoryPid(Memory memory, LogEvent event, uint32_t pid, const char *program, Size length)
{
  uint32_t at = memory->recent[pid % memoryBUCKETS];
  memoryProcess process;

  while ((process = memoryOlder(memory, at, &event->process->header, pid)) != NULL) {
    LogProcess log = process->log;
    if ((program == NULL || !HeaderRuns(&log->header, program, length)) &&
        LogProcessNewest(memory->log, log->number) <= event->time)
      memoryEnd(memory, process, program == NULL);
    at = process->older;
  }
}

/* memoryMeet -- the first event of a process: whoever had its number before has ended */
static void memoryMeet(Memory memory, memoryProcess process, LogEvent event)
{
  LogProcess log = event->process;
  uint32_t *recent = &memory->recent[log->header.pid % memoryBUCKETS];

  memoryPid(memory, event, log->header.pid, NULL, 0);
  process->met = TRUE;
  process->log = log;
  process->older = *recent;
  *recent = (uint32_t)log->number + 1;
}

/* memoryOf -- the process of an event, or NULL: no memory */
static memoryProcess memoryOf(Memory memory, LogEvent event)
{
  Index number = event->process->number;
  memoryProcess process;

  while (UNLIKELY(number >= memory->processes)) {
    if (!Grow(&memory->process, &memory->capacity, memory->processes, sizeof *memory->process)) {
      memory->failed = TRUE;
      return NULL;
    }
    memset(&memory->process[memory->processes++], 0, sizeof *memory->process);
  }
  process = &memory->process[number];
  if (UNLIKELY(!process->met))
    memoryMeet(memory, process, event);
  if (UNLIKELY(process->ended) && !process->gone)
    memoryRevive(memory, process, event->time);
  return process;
}

static uint64_t memoryPageUp(uint64_t place)
{
  return place > UINT64_MAX - memoryPAGE ? UINT64_MAX : (place + memoryPAGE - 1) & ~(uint64_t)(memoryPAGE - 1);
}

/* memoryRange -- add or remove what lies there, in whole pages, as the kernel does */
static void memoryRange(Memory memory, memoryProcess process, Bool add, uint64_t base, uint64_t size)
{
  uint64_t from = base & ~(uint64_t)(memoryPAGE - 1);
  uint64_t to = memoryPageUp(base + size < base ? UINT64_MAX : base + size);
  Res res;

  if (size == 0)
    return;
  res = (add ? SpansAdd : SpansRemove)(&memory->pool, &process->spans, from, to);
  memory->left += res == ResLIMIT;
  memory->failed |= res == ResMEMORY;
}

/* memoryBreakTo -- the data segment grows or shrinks; a page belongs to it while any byte does.  `before` is 0 where it
 * is not known. */
static void memoryBreakTo(Memory memory, memoryProcess process, uint64_t before, uint64_t limit)
{
  uint64_t from = memoryPageUp(before), to = memoryPageUp(limit);

  if (before != 0)
    memoryRange(memory, process, to > from, to > from ? from : to, to > from ? to - from : from - to);
  process->limit = limit;
}

/* memoryOwn -- what a process tells of itself */
static void memoryOwn(Memory memory, memoryProcess process, LogEvent event, TypeCacheTell plan)
{
  uint64_t value[TypeCachePARAMS] = {0};
  Index i;

  if (process->gone)
    return;
  for (i = 0; i < TypeCachePARAMS && plan->param[i] >= 0; ++i)
    value[i] = LogEventWord(event, (Index)plan->param[i]);
  switch (plan->tells) {
  case memoryMAP: memoryRange(memory, process, TRUE, value[0], value[1]); break;
  case memoryUNMAP: memoryRange(memory, process, FALSE, value[0], value[1]); break;
  case memoryREMAP:
    memoryRange(memory, process, FALSE, value[0], value[1]);
    memoryRange(memory, process, TRUE, value[2], value[3]);
    break;
  case memoryMOVE: memoryBreakTo(memory, process, value[1], value[0]); break;
  default: memoryBreakTo(memory, process, process->limit, value[0]); break;
  }
  memorySet(memory, process, MemoryMAPPED, process->spans.bytes, event->time);
}

/* memoryTold -- what the collector tells of a process */
static void memoryTold(Memory memory, LogEvent event, TypeCacheTell plan)
{
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->param[0]);
  const char *program = NULL;
  memoryProcess process;
  uint64_t resident;
  Size length = 0;

  if (plan->tells == memoryEXEC)
    program = LogEventString(event, (Index)plan->param[1], &length);
  if (plan->tells != memorySAMPLE) {
    memoryPid(memory, event, pid, program, length);
    return;
  }
  process = memoryOlder(memory, memory->recent[pid % memoryBUCKETS], &event->process->header, pid);
  resident = LogEventWord(event, (Index)plan->param[1]);
  if (process != NULL && !process->ended && resident > 0) /* a process that is only waited for has none */
    memorySet(memory, process, MemoryRESIDENT, resident, event->time);
}

/* memoryRound -- a collector looks at all */
static void memoryRound(Memory memory, memoryProcess collector, uint64_t time)
{
  if (collector->looked != 0 && time > collector->looked && time - collector->looked > memory->apart)
    memory->apart = time - collector->looked;
  collector->looked = time;
}

void MemoryEvent(Memory memory, LogEvent event)
{
  memoryProcess process;
  TypeCacheTell plan;

  if (UNLIKELY(event->time > memory->gone.time))
    memoryGone(memory, event->time);
  process = memoryOf(memory, event);
  plan = TypeCacheTells(&memory->plans, event, memoryKnown, ARRAY_LENGTH(memoryKnown));
  if (UNLIKELY(process == NULL) || UNLIKELY(plan == NULL)) {
    memory->failed = TRUE;
    return;
  }
  if (LIKELY(plan->tells == TypeCacheNOTHING))
    return;
  if (plan->tells < memorySAMPLE)
    memoryOwn(memory, process, event, plan);
  else if (plan->tells == memoryROUND)
    memoryRound(memory, process, event->time);
  else
    memoryTold(memory, event, plan);
}

Res MemoryFinish(Memory memory)
{
  Index i;

  for (i = 0; i < memory->processes; ++i)
    if (memory->process[i].met)
      memoryEnd(memory, &memory->process[i], FALSE);
  return memory->failed ? ResMEMORY : ResOK;
}

static void memoryBytes(MemoryBytes bytes, Memory memory, const Index *process, MemoryKind kind)
{
  static const MemoryBytesStruct none;

  *bytes = process == NULL ? memory->bytes[kind]
           : *process < memory->processes ? memory->process[*process].bytes[kind] : none;
}

void MemoryMapped(MemoryBytes bytes, Memory memory, const Index *process)
{
  memoryBytes(bytes, memory, process, MemoryMAPPED);
}

void MemoryResident(MemoryBytes bytes, Memory memory, const Index *process)
{
  memoryBytes(bytes, memory, process, MemoryRESIDENT);
}

uint64_t MemoryApart(Memory memory)
{
  return memory->apart;
}

uint64_t MemoryLeft(Memory memory)
{
  return memory->left;
}
