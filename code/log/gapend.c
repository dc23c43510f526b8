/* gapend.c -- is the end of each process's part there?
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/gap.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "log/census.h"

/* Processes of which the same is to be told. */
typedef struct gapsManyStruct {
  Count count;
  Process first;
} gapsManyStruct, *GapsMany;

typedef struct gapsEndStruct {
  Teller teller;
  Regions regions;
  Table table;
  gapsManyStruct open, collectors;
  uint64_t dropped; /* blocks that were cut away on purpose, and of which it is not known yet which they were */
  Bool accounted; /* so far, of each process it is known that nothing is missing */
} gapsEndStruct, *GapsEnd;

static void gapsMany(GapsMany many, Process process)
{
  if (many->count++ == 0)
    many->first = process;
}

/* gapsTail -- `lost` events behind `from`, where a stream's newest blocks should be: damage there explains them, or they
 * are told at `place` */
static void gapsTail(GapsEnd end, uint64_t from, uint64_t place, const char *what, uint64_t lost, Bool exact)
{
  end->accounted = FALSE;
  if (!GapsMatch(end->regions, from, IndexPlace(IndexPlaceFile(from) + 1, 0), lost, exact))
    TellerGap(end->teller, place, what, lost, exact ? LogLostEXACTLY : LogLostATLEAST);
}

/* gapsShort -- a stream of which the newest blocks are missing, or the end of the newest one */
static void gapsShort(GapsEnd end, Stream stream, HeaderStream its)
{
  TallyRun last = &stream->tally.run[stream->tally.runs - 1];
  uint64_t blocks = its->blocks - last->to, lost = blocks;
  Bool exact = its->events != HeaderEventsUNKNOWN && last->after != TallyUNKNOWN;
  char what[128];

  if (exact)
    lost = its->events > last->after ? its->events - last->after : 0;
  if (blocks == 0 && (!exact || lost == 0))
    return;
  if (blocks == 0)
    (void)snprintf(what, sizeof what, "the end of this block, the newest of thread %u/%u, is missing", ProcessNumber(stream->process),
                   stream->thread);
  else
    (void)snprintf(what, sizeof what, "the newest %llu block%s of thread %u/%u, behind this one, %s missing",
                   (unsigned long long)blocks, TextPlural(blocks), ProcessNumber(stream->process), stream->thread,
                   blocks == 1 ? "is" : "are");
  gapsTail(end, last->lastPlace, last->lastPlace, what, lost, exact);
}

/* gapsAbsent -- streams of a process of which no block is there: what of them was not dropped on purpose is missing */
static void gapsAbsent(GapsEnd end, Process process, Count streams, uint64_t blocks, uint64_t events, Bool exact)
{
  uint64_t dropped = blocks < end->dropped ? blocks : end->dropped;
  Bool late = process->public.header.begun != 0;
  char what[128];

  end->dropped -= dropped;
  if (blocks == dropped)
    return;
  exact = exact && dropped == 0 && !late;
  (void)snprintf(what, sizeof what, "all blocks of %zu stream%s of process %u are missing", streams,
                 TextPlural(streams), process->public.header.pid);
  gapsTail(end, IndexPlace(IndexPlaceFile(process->endPlace), 0), process->endPlace, what,
           exact ? events : late ? streams : blocks - dropped, exact);
}

/* gapsSaid -- does something say what there should be of a process's streams? */
static Bool gapsSaid(Process process)
{
  return process->public.header.ended || (process->expected && process->life == ProcessLifeTAKEN);
}

/* gapsEarlier -- what is said of a stream that has no block may be of logs that were opened earlier */
static Bool gapsEarlier(Header header)
{
  return !header->ended && header->begun != 0;
}

void GapsDiscarded(Table table)
{
  Index i, k;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    process->unseen = 0;
    if (!gapsSaid(process))
      continue;
    EndsSettle(&process->ends);
    for (k = 0; k < process->ends.count; ++k) {
      HeaderStream its = &process->ends.stream[k];
      Stream stream = TableStreamFind(table, process->public.header.identity, its->stream);
      if (stream != NULL && stream->tally.runs > 0)
        stream->discarded = its->discarded > stream->discarded ? its->discarded : stream->discarded;
      else if (!gapsEarlier(&process->public.header))
        process->unseen = CountAdd(process->unseen, its->discarded);
    }
  }
}

/* gapsEnded -- a process that has a closing header block, or that was about to end: is all there that it says? */
static void gapsEnded(GapsEnd end, Process process)
{
  Header header = &process->public.header;
  uint64_t blocks = 0, events = 0, absent = 0;
  Bool exact = TRUE;
  Index i;

  EndsSettle(&process->ends);
  for (i = 0; i < process->ends.count; ++i) {
    HeaderStream its = &process->ends.stream[i];
    Stream stream = TableStreamFind(end->table, header->identity, its->stream);
    if (stream == NULL || stream->tally.runs == 0) {
      if (its->blocks > 0 && !gapsEarlier(header)) {
        ++absent;
        blocks = CountAdd(blocks, its->blocks);
        exact = exact && its->events != HeaderEventsUNKNOWN;
        events = CountAdd(events, exact ? its->events : 0);
      }
      continue;
    }
    if (its->blocks >= stream->tally.run[stream->tally.runs - 1].to)
      gapsShort(end, stream, its);
  }
  if (absent > 0)
    gapsAbsent(end, process, absent, blocks, events, exact);
  if (process->ends.count < header->streams) {
    end->accounted = FALSE;
    TellerGap(end->teller, process->endPlace, "another closing header block of the process is missing", 0,
              LogLostATLEAST);
  }
}

/* gapsKilled -- is it known that the collector of a recording was killed, or that the recording goes on? */
static Bool gapsKilled(Table table, uint64_t recording)
{
  Index i;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->public.header.recording == recording &&
        (process->public.header.alone != 0 || process->orphan || process->life == ProcessLifeRUNS))
      return TRUE;
  }
  return FALSE;
}

/* gapsOpen -- a process without closing header block */
static void gapsOpen(GapsEnd end, Process process)
{
  Header header = &process->public.header;

  if (process->life == ProcessLifeTAKEN) {
    gapsEnded(end, process);
    return;
  }
  if (strcmp(header->role, HeaderRoleCOLLECTOR) == 0) {
    if (header->recording != 0 && gapsKilled(end->table, header->recording))
      return;
    gapsMany(&end->collectors, process);
  } else if (process->followed) {
    return;
  } else if (process->life == ProcessLifeUNKNOWN) {
    gapsMany(&end->open, process);
  }
  end->accounted = FALSE;
}

/* Why an end may not be there, though nobody was killed. */
#define gapsNOEND "which is cut off, or could not be written to its end"

static void gapsEndTell(GapsEnd end)
{
  Teller teller = end->teller;
  GapsMany open = &end->open, collectors = &end->collectors;

  if (open->count == 1)
    TellerLack(teller, "%s: the end of process %u is not in the log, " gapsNOEND ", or the process was killed",
               teller->paths[open->first->file], open->first->public.header.pid);
  else if (open->count > 1)
    TellerLack(teller,
               "%s: the ends of %zu processes (%u ...) are not in the log, " gapsNOEND ", or they were killed",
               teller->paths[open->first->file], open->count, open->first->public.header.pid);
  if (collectors->count > 0)
    TellerLack(teller, "%s: the end of the recording is not in the log, " gapsNOEND ", or eventrec was killed",
               teller->paths[collectors->first->file]);
}

/* gapsProcesses -- are all processes there of which the ends of recordings, and copies, say that they have a header
 * block? */
static void gapsProcesses(GapsEnd end)
{
  Teller teller = end->teller;
  CensusStruct census;
  Index i;

  if (GapsMarked(end->table) || CensusTake(&census, end->table) != ResOK)
    return;
  for (i = 0; i < census.count; ++i) {
    CensusOf of = &census.of[i];
    Count there = of->there + census.moved;
    if (of->recording == 0 || there >= of->said)
      continue;
    end->accounted = FALSE;
    TellerLack(teller, "%s: %llu of its %llu processes %s not in the log", teller->paths[of->teller->file],
               (unsigned long long)(of->said - there), (unsigned long long)of->said,
               of->said - there == 1 ? "is" : "are");
  }
  CensusFree(&census);
}

/* gapsWritten -- logs that were written from others say what those lacked */
static void gapsWritten(Teller teller, Table table)
{
  Process most = NULL;
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.lacks > (most == NULL ? 0 : most->public.header.lacks))
      most = table->process[i];
  if (most != NULL)
    TellerLack(teller, "%s: it was written from a log that lacked %llu event%s, or more", teller->paths[most->file],
               (unsigned long long)most->public.header.lacks, TextPlural(most->public.header.lacks));
}

/* gapsUndropped -- how many blocks more are missing where streams begin than were cut away on purpose, as the header
 * blocks have it: the newest, which says how many, may be missing itself */
static uint64_t gapsUndropped(Table table, Dropped dropped)
{
  uint64_t blocks = 0;
  Index i;

  for (i = 0; i < table->streams; ++i) {
    Stream stream = table->stream[i];
    if (stream->logged && !stream->unsent && stream->tally.runs > 0 && stream->process->public.header.begun == 0)
      blocks = CountAdd(blocks, stream->tally.run[0].from);
  }
  return blocks > dropped->blocks ? blocks - dropped->blocks : 0;
}

Bool GapsEnds(Teller teller, Regions regions, Table table)
{
  gapsEndStruct end = {.teller = teller, .regions = regions, .table = table, .accounted = table->processes > 0};
  DroppedStruct dropped;
  uint64_t blocks;
  Process bearer;
  Index i;

  GapsDiscarded(table);
  if (GapsDropped(&dropped, &bearer, table)) {
    end.dropped = dropped.blocks;
    blocks = gapsUndropped(table, &dropped);
    if (blocks > 0)
      TellerLack(teller, "%s: %llu block%s missing at the beginning, besides those that were dropped on purpose",
                 teller->paths[bearer->file], (unsigned long long)blocks, blocks == 1 ? " is" : "s are");
  }
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->public.header.ended)
      gapsEnded(&end, process);
    else if (process->expected)
      gapsOpen(&end, process);
    else
      end.accounted = FALSE;
  }
  gapsEndTell(&end);
  gapsProcesses(&end);
  gapsWritten(teller, table);
  return end.accounted;
}
