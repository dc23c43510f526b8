/* footprint.c -- memory of a process besides its heap: its mappings, and how much of all is resident
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/spans.h"
#include "base/aver.h"
#include "base/grow.h"
#include "base/say.h"
#include "export/jsondocument.h"
#include "request/typecache.h"

enum {
  footprintBUCKETS = 1024,
  footprintPAGE = 4096 /* what the kernel rounds to, at least */
};

enum {
  footprintMAP = TypeCacheCLIENT, footprintUNMAP, footprintREMAP, footprintBREAK, footprintMOVE, footprintSAMPLE,
  footprintREGION, footprintPEAK, footprintROUND, footprintALONE
};

/* What event types tell, and by which parameters. */
static const TypeCacheKnownStruct footprintKnown[] = {
  {"MemoryMap", footprintMAP, {"PAWU base", "PAWU size"}},
  {"MemoryUnmap", footprintUNMAP, {"PAWU base", "PAWU size"}},
  {"MemoryRemap", footprintREMAP, {"PAWU old", "PAWU oldSize", "PAWU base", "PAWU size"}},
  {"MemoryMapStack", footprintMAP, {"PAWU base", "PAWU size"}},
  {"MemoryUnmapStack", footprintUNMAP, {"PAWU base", "PAWU size"}},
  {"MemoryRemapStack", footprintREMAP, {"PAWU old", "PAWU oldSize", "PAWU base", "PAWU size"}},
  {"MemoryBreakStack", footprintMOVE, {"PAWU limit", "PAWU before"}},
  {"MemoryBreak", footprintBREAK, {"PAWU limit"}}, /* of registry 1.0 */
  {"MemoryBreak", footprintMOVE, {"PAWU limit", "PAWU before"}},
  {"ProcessSample", footprintSAMPLE, {"PAWU pid", "PAWU resident"}},
  {"ProcessRegion", footprintREGION, {"PAWU pid", "PAWU bytes"}}, /* told before a sample */
  {"ProcessPeak", footprintPEAK, {"PAWU resident"}}, /* of the process that tells it */
  {"ProcessBaseline", footprintALONE, {"PAWU user", "PAWU system", "PAWU resident"}},
  {"MachineSample", footprintROUND, {NULL}}, /* told each time that all are looked at */
};

/* One process of the log, by its number.  One that has ended has nothing now; its end is kept, for it may turn out to
 * live.  The emitters in one process of the system are processes of the log: one of them, the bearer, has for all what
 * is resident, which ends with the last of them. */
typedef struct footprintProcessStruct {
  Bool met, ended;
  LogProcess log;
  uint32_t older;                /* 1 + the number of one met before with a number like its, or 0 */
  uint32_t bearer;               /* 1 + the number of its bearer, or of one that has that one; 0: it is one itself */
  uint32_t alive;                /* a bearer: how many that have it, itself included, have not ended */
  SpansStruct spans;
  uint64_t limit;                /* the break told last, or 0 */
  uint64_t region;               /* bytes of what is resident that are the recording's */
  uint64_t looked;               /* a collector: when it looked last at all others, or 0 */
  uint64_t now[FootprintKINDS];
  FootprintBytesStruct bytes[FootprintKINDS];
} footprintProcessStruct, *footprintProcess;

struct FootprintStruct {
  Log log;
  TypeCacheStruct plans;
  SpanPoolStruct pool;
  Bool failed;
  uint64_t left;
  uint64_t apart;                /* ns between two looks of a collector, at most */
  uint64_t now[FootprintKINDS];     /* of all that live */
  FootprintBytesStruct bytes[FootprintKINDS]; /* `end`: of those that have ended */
  uint64_t alone, alonePeak;     /* second runs, unrecorded: us of processor time, bytes resident at most; 0: none */
  uint32_t recent[footprintBUCKETS]; /* by the system's number: 1 + the number of the one met last, or 0 */
  Count processes, capacity;
  footprintProcess process;
};

Res FootprintCreate(Footprint *footprintReturn, Log log)
{
  Footprint footprint = calloc(1, sizeof *footprint);

  if (footprint == NULL)
    return ResMEMORY;
  footprint->log = log;
  TypeCacheInit(&footprint->plans, sizeof(TypeCacheTellStruct));
  SpanPoolInit(&footprint->pool);
  *footprintReturn = footprint;
  return ResOK;
}

void FootprintDestroy(Footprint footprint)
{
  TypeCacheFinish(&footprint->plans);
  SpanPoolFinish(&footprint->pool);
  free(footprint->process);
  free(footprint);
}

/* footprintSet -- a process has so much of it now */
static void footprintSet(Footprint footprint, footprintProcess process, FootprintKind kind, uint64_t bytes,
                         uint64_t time)
{
  footprint->now[kind] += bytes - process->now[kind];
  process->now[kind] = bytes;
  process->bytes[kind].known = footprint->bytes[kind].known = TRUE;
  if (bytes > process->bytes[kind].peak) {
    process->bytes[kind].peak = bytes;
    process->bytes[kind].peakTime = time;
    process->bytes[kind].between = FALSE;
  }
  if (footprint->now[kind] > footprint->bytes[kind].peak) {
    footprint->bytes[kind].peak = footprint->now[kind];
    footprint->bytes[kind].peakTime = time;
    footprint->bytes[kind].between = FALSE;
  }
}

/* footprintBearer -- who has what is resident of the process of the system that this one is in */
static footprintProcess footprintBearer(Footprint footprint, footprintProcess process)
{
  while (process->bearer != 0)
    process = &footprint->process[process->bearer - 1];
  return process;
}

static void footprintEndOf(Footprint footprint, footprintProcess process, FootprintKind kind)
{
  process->bytes[kind].end = process->now[kind];
  footprint->bytes[kind].end += process->now[kind];
  footprint->now[kind] -= process->now[kind];
  process->now[kind] = 0;
}

void FootprintEnd(Footprint footprint, Index number)
{
  footprintProcess process = number < footprint->processes ? &footprint->process[number] : NULL, bearer;

  if (process == NULL || !process->met || process->ended)
    return;
  process->ended = TRUE;
  footprintEndOf(footprint, process, FootprintMAPPED);
  bearer = footprintBearer(footprint, process);
  AVER(bearer->alive > 0);
  if (--bearer->alive == 0)
    footprintEndOf(footprint, bearer, FootprintRESIDENT);
}

static void footprintReviveOf(Footprint footprint, footprintProcess process, FootprintKind kind, uint64_t time)
{
  uint64_t bytes = process->bytes[kind].end;

  footprint->bytes[kind].end -= bytes;
  process->bytes[kind].end = 0;
  if (process->bytes[kind].known)
    footprintSet(footprint, process, kind, bytes, time);
}

/* footprintBeside -- another process of the log with the same number that lives, and so is in the same process of the
 * system; `until`: only if it has blocks later than that, for it may have become this one; or NULL */
static footprintProcess footprintBeside(Footprint footprint, footprintProcess process, uint64_t until)
{
  const HeaderStruct *header = &process->log->header;
  uint32_t at = footprint->recent[header->pid % footprintBUCKETS];

  for (; at != 0 && header->boot[0] != '\0'; at = footprint->process[at - 1].older) {
    footprintProcess other = &footprint->process[at - 1];
    if (other != process && !other->ended && other->log->header.pid == header->pid &&
        strcmp(other->log->header.boot, header->boot) == 0 && LogProcessNewest(footprint->log, at - 1) > until)
      return other;
  }
  return NULL;
}

/* footprintBear -- `bearer`, which lives, has from now on what is resident for all that `process` had it for */
static void footprintBear(Footprint footprint, footprintProcess bearer, footprintProcess process, uint64_t time)
{
  FootprintBytes to = &bearer->bytes[FootprintRESIDENT], from = &process->bytes[FootprintRESIDENT];
  uint64_t bytes = process->now[FootprintRESIDENT] + from->end; /* one of them is 0: has it ended? */

  footprint->now[FootprintRESIDENT] -= process->now[FootprintRESIDENT];
  footprint->bytes[FootprintRESIDENT].end -= from->end;
  if (!to->known && from->known)
    footprintSet(footprint, bearer, FootprintRESIDENT, bytes, time);
  if (from->peak > to->peak) {
    to->peak = from->peak;
    to->peakTime = from->peakTime;
    to->between = from->between;
  }
  if (bearer->region == 0)
    bearer->region = process->region;
  bearer->alive += process->alive;
  process->alive = 0;
  process->now[FootprintRESIDENT] = 0;
  *from = (FootprintBytesStruct){.known = FALSE};
  process->bearer = (uint32_t)(bearer - footprint->process) + 1;
}

/* footprintRevive -- a process that was taken for ended goes on.  What looked like its end was the end of the program
 * that it ran before, or the first event of another emitter in the same process. */
static void footprintRevive(Footprint footprint, footprintProcess process, uint64_t time)
{
  footprintProcess beside = footprintBeside(footprint, process, 0), bearer;

  process->ended = FALSE;
  footprintReviveOf(footprint, process, FootprintMAPPED, time);
  bearer = footprintBearer(footprint, process);
  if (beside != NULL && footprintBearer(footprint, beside) != bearer) {
    footprintBear(footprint, footprintBearer(footprint, beside), bearer, time);
    bearer = footprintBearer(footprint, process);
  }
  if (bearer->alive++ == 0)
    footprintReviveOf(footprint, bearer, FootprintRESIDENT, time);
}

/* footprintOlder -- of those met, the one before this that has the same number on the same machine; or NULL */
static footprintProcess footprintOlder(Footprint footprint, uint32_t at, const HeaderStruct *machine, uint32_t pid)
{
  for (; at != 0; at = footprint->process[at - 1].older) {
    LogProcess log = footprint->process[at - 1].log;
    if (log->header.pid == pid && strcmp(log->header.boot, machine->boot) == 0)
      return &footprint->process[at - 1];
  }
  return NULL;
}

static void footprintMeet(Footprint footprint, footprintProcess process, LogProcess log, uint64_t time)
{
  uint32_t *recent = &footprint->recent[log->header.pid % footprintBUCKETS];
  footprintProcess beside;

  process->met = TRUE;
  process->log = log;
  beside = footprintBeside(footprint, process, time);
  process->older = *recent;
  *recent = (uint32_t)log->number + 1;
  if (beside != NULL)
    footprintBear(footprint, footprintBearer(footprint, beside), process, time);
  ++footprintBearer(footprint, process)->alive;
}

/* footprintOf -- the process of an event, or NULL: no memory */
static footprintProcess footprintOf(Footprint footprint, LogEvent event)
{
  Index number = event->process->number;
  footprintProcess process;

  while (UNLIKELY(number >= footprint->processes)) {
    if (!Grow(&footprint->process, &footprint->capacity, footprint->processes, sizeof *footprint->process)) {
      footprint->failed = TRUE;
      return NULL;
    }
    memset(&footprint->process[footprint->processes++], 0, sizeof *footprint->process);
  }
  process = &footprint->process[number];
  if (UNLIKELY(!process->met))
    footprintMeet(footprint, process, event->process, event->time);
  if (UNLIKELY(process->ended))
    footprintRevive(footprint, process, event->time);
  return process;
}

static uint64_t footprintPageUp(uint64_t place)
{
  return place > UINT64_MAX - footprintPAGE ? UINT64_MAX : (place + footprintPAGE - 1) & ~(uint64_t)(footprintPAGE - 1);
}

/* footprintScarce -- the spans of processes that have ended make room, which one that lives after all has lost then;
 * FALSE: there were none */
static Bool footprintScarce(Footprint footprint)
{
  Bool any = FALSE;
  Index i;

  for (i = 0; i < footprint->processes; ++i)
    if (footprint->process[i].ended && footprint->process[i].spans.root != 0) {
      SpansClear(&footprint->pool, &footprint->process[i].spans);
      any = TRUE;
    }
  return any;
}

/* footprintRange -- add or remove what lies there, in whole pages, as the kernel does */
static void footprintRange(Footprint footprint, footprintProcess process, Bool add, uint64_t base, uint64_t size)
{
  uint64_t from = base & ~(uint64_t)(footprintPAGE - 1);
  uint64_t to = footprintPageUp(base + size < base ? UINT64_MAX : base + size);
  Res res = ResOK;

  if (size == 0)
    return;
  do
    res = (add ? SpansAdd : SpansRemove)(&footprint->pool, &process->spans, from, to);
  while (res == ResLIMIT && footprintScarce(footprint));
  footprint->left += res == ResLIMIT;
  footprint->failed |= res == ResMEMORY;
}

/* footprintBreakTo -- the data segment grows or shrinks; a page belongs to it while any byte does.  `before` is 0
 * where it is not known. */
static void footprintBreakTo(Footprint footprint, footprintProcess process, uint64_t before, uint64_t limit)
{
  uint64_t from = footprintPageUp(before), to = footprintPageUp(limit);

  if (before != 0)
    footprintRange(footprint, process, to > from, to > from ? from : to, to > from ? to - from : from - to);
  process->limit = limit;
}

/* footprintOwn -- what a process tells of itself */
static void footprintOwn(Footprint footprint, footprintProcess process, LogEvent event, TypeCacheTell plan)
{
  uint64_t value[TypeCachePARAMS] = {0};
  Index i;

  for (i = 0; i < TypeCachePARAMS && plan->param[i] >= 0; ++i)
    value[i] = LogEventWord(event, (Index)plan->param[i]);
  switch (plan->tells) {
  case footprintMAP: footprintRange(footprint, process, TRUE, value[0], value[1]); break;
  case footprintUNMAP: footprintRange(footprint, process, FALSE, value[0], value[1]); break;
  case footprintREMAP:
    footprintRange(footprint, process, FALSE, value[0], value[1]);
    footprintRange(footprint, process, TRUE, value[2], value[3]);
    break;
  case footprintMOVE: footprintBreakTo(footprint, process, value[1], value[0]); break;
  default: footprintBreakTo(footprint, process, process->limit, value[0]); break;
  }
  footprintSet(footprint, process, FootprintMAPPED, process->spans.bytes, event->time);
}

/* footprintOwnBytes -- what is resident without what is the recording's */
static uint64_t footprintOwnBytes(footprintProcess process, uint64_t bytes)
{
  return bytes > process->region ? bytes - process->region : 0;
}

/* footprintPeak -- a process that ends says how much of it was resident at most.  When that was is not known: for all
 * processes together it counts only if this one is the last. */
static void footprintPeak(Footprint footprint, footprintProcess process, uint64_t bytes, uint64_t time)
{
  FootprintBytes its = &process->bytes[FootprintRESIDENT], all = &footprint->bytes[FootprintRESIDENT];

  if (!its->known)
    footprintSet(footprint, process, FootprintRESIDENT, bytes, time);
  if (bytes > its->peak || (bytes == its->peak && its->peakTime == time)) {
    its->peak = bytes;
    its->peakTime = time;
    its->between = TRUE;
  }
  if ((bytes > all->peak || (bytes == all->peak && all->peakTime == time)) &&
      footprint->now[FootprintRESIDENT] == process->now[FootprintRESIDENT]) {
    all->peak = bytes;
    all->peakTime = time;
    all->between = TRUE;
  }
}

/* footprintSample -- the collector tells what of a process is resident, or how much of that is the recording's */
static void footprintSample(Footprint footprint, LogEvent event, TypeCacheTell plan)
{
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->param[0]);
  uint64_t bytes = LogEventWord(event, (Index)plan->param[1]);
  footprintProcess process =
    footprintOlder(footprint, footprint->recent[pid % footprintBUCKETS], &event->process->header, pid);

  process = process == NULL ? NULL : footprintBearer(footprint, process);
  if (process == NULL || process->alive == 0 || bytes == 0) /* a process that is only waited for has none */
    return;
  if (plan->tells == footprintREGION) {
    process->region = bytes;
    return;
  }
  footprintSet(footprint, process, FootprintRESIDENT, footprintOwnBytes(process, bytes), event->time);
}

/* footprintAlone -- a program was run again, unrecorded */
static void footprintAlone(Footprint footprint, LogEvent event, TypeCacheTell plan)
{
  uint64_t resident = LogEventWord(event, (Index)plan->param[2]);

  footprint->alone += LogEventWord(event, (Index)plan->param[0]) + LogEventWord(event, (Index)plan->param[1]);
  footprint->alonePeak = resident > footprint->alonePeak ? resident : footprint->alonePeak;
}

/* footprintRound -- a collector looks at all */
static void footprintRound(Footprint footprint, footprintProcess collector, uint64_t time)
{
  if (collector->looked != 0 && time > collector->looked && time - collector->looked > footprint->apart)
    footprint->apart = time - collector->looked;
  collector->looked = time;
}

Bool FootprintWants(EventType type)
{
  return TypeCacheKnows(type, footprintKnown, ARRAY_LENGTH(footprintKnown));
}

void FootprintEvent(Footprint footprint, LogEvent event)
{
  footprintProcess process;
  TypeCacheTell plan;

  process = footprintOf(footprint, event);
  plan = TypeCacheTells(&footprint->plans, event, footprintKnown, ARRAY_LENGTH(footprintKnown));
  if (UNLIKELY(process == NULL) || UNLIKELY(plan == NULL)) {
    footprint->failed = TRUE;
    return;
  }
  switch (plan->tells) {
  case TypeCacheNOTHING: break;
  case footprintSAMPLE:
  case footprintREGION: footprintSample(footprint, event, plan); break;
  case footprintPEAK:
    process = footprintBearer(footprint, process);
    footprintPeak(footprint, process, footprintOwnBytes(process, LogEventWord(event, (Index)plan->param[0])), event->time);
    break;
  case footprintROUND: footprintRound(footprint, process, event->time); break;
  case footprintALONE: footprintAlone(footprint, event, plan); break;
  default: footprintOwn(footprint, process, event, plan); break;
  }
}

Res FootprintFinish(Footprint footprint)
{
  Index i;

  for (i = 0; i < footprint->processes; ++i)
    FootprintEnd(footprint, i);
  return footprint->failed ? ResMEMORY : ResOK;
}

FootprintBytesStruct FootprintBytesOf(Footprint footprint, FootprintKind kind, const Index *process)
{
  static const FootprintBytesStruct none;

  return process == NULL ? footprint->bytes[kind]
         : *process < footprint->processes ? footprint->process[*process].bytes[kind] : none;
}

uint64_t FootprintNow(Footprint footprint, FootprintKind kind)
{
  return footprint->now[kind];
}

uint64_t FootprintLeft(Footprint footprint)
{
  return footprint->left;
}

/* ---- As text, and as JSON ---- */

/* footprintBytesText -- `each` tells what the end is */
static void footprintBytesText(FILE *out, const char *name, FootprintBytes bytes, const char *note, const char *each,
                               uint64_t start)
{
  if (!bytes->known)
    return;
  fprintf(out, "%-14s ", name);
  SayBytes(out, bytes->end);
  fputs(" at end, peak ", out);
  SayBytes(out, bytes->peak);
  if (bytes->between)
    fputs(", between two samples or behind the last", out);
  else
    fprintf(out, ", at %.9f s", DocumentSince(start, bytes->peakTime));
  fprintf(out, "%s%s\n", note, each);
}

void FootprintText(FILE *out, Footprint footprint, Count processes, uint64_t start)
{
  const char *each = processes > 1 ? "; at end: the sum of what each process had at its own" : "";
  char sampled[64] = ", as sampled";
  FootprintBytesStruct bytes;

  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  footprintBytesText(out, "mapped", &bytes,
                     FootprintLeft(footprint) > 0 ? "; there were more mappings than could be followed" : "", each,
                     start);
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  if (footprint->apart > 0)
    (void)snprintf(sampled, sizeof sampled, ", as sampled, %.3f s apart at most",
                   (double)footprint->apart / 1e9);
  footprintBytesText(out, "resident", &bytes, sampled, each, start);
  if (footprint->alone == 0)
    return;
  fprintf(out, "%-14s %.3f s of processor time", "unrecorded", (double)footprint->alone / 1e6);
  if (footprint->alonePeak > 0) {
    fputs(", resident ", out);
    SayBytes(out, footprint->alonePeak);
    fputs(" at most", out);
  }
  fputs(", when it was run once more (--baseline)\n", out);
}

void FootprintBytesJson(FILE *out, const char *name, FootprintBytes bytes, const char *end)
{
  if (bytes->known)
    fprintf(out, "\"%s_bytes\": %llu, \"peak_%s_bytes\": %llu%s", name, (unsigned long long)bytes->end, name,
            (unsigned long long)bytes->peak, end);
}

void FootprintJson(FILE *out, Footprint footprint, uint64_t start)
{
  FootprintBytesStruct bytes;

  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  FootprintBytesJson(out, "mapped", &bytes, ", ");
  if (bytes.known)
    fprintf(out, "\"peak_mapped_at\": %.9f, \"mappings_left_out\": %llu,\n ", DocumentSince(start, bytes.peakTime),
            (unsigned long long)FootprintLeft(footprint));
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  FootprintBytesJson(out, "resident", &bytes, ", ");
  if (bytes.known && bytes.between)
    fputs("\"peak_resident_at\": null, ", out);
  else if (bytes.known)
    fprintf(out, "\"peak_resident_at\": %.9f, ", DocumentSince(start, bytes.peakTime));
  if (bytes.known)
    fprintf(out, "\"resident_samples_apart\": %.9f,\n ", (double)footprint->apart / 1e9);
  if (footprint->alone > 0)
    fprintf(out, "\"unrecorded_cpu_seconds\": %.6f, \"unrecorded_resident_bytes\": %llu,\n ",
            (double)footprint->alone / 1e6, (unsigned long long)footprint->alonePeak);
}
