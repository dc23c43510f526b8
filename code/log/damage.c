/* damage.c -- what is damaged and what is missing, reported once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/damage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "base/text.h"
#include "log/table.h"

/* regionsExtend -- make the last region reach to the end of one behind it */
static void regionsExtend(DamagedRange last, const DamagedRangeStruct *region)
{
  last->end = region->end;
  last->zeros &= region->zeros;
  last->harmless &= region->harmless;
  last->tail = region->tail;
}

Res DamagedRangesAdd(DamagedRanges regions, const DamagedRangeStruct *region)
{
  DamagedRange before = regions->count > 0 ? &regions->region[regions->count - 1] : NULL;

  /* Of zeros there may be any number, between blocks that stay; which of them is of no interest. */
  if (before != NULL && before->zeros && region->zeros &&
      IndexPlaceFile(before->place) == IndexPlaceFile(region->place)) {
    regionsExtend(before, region);
    return ResOK;
  }
  if (regions->count == DamagedRangesMAX) {
    if (IndexPlaceFile(before->place) == IndexPlaceFile(region->place))
      regionsExtend(before, region);
    return ResOK;
  }
  if (!Grow(&regions->region, &regions->capacity, regions->count, sizeof *regions->region))
    return ResMEMORY;
  regions->region[regions->count++] = *region;
  return ResOK;
}

Bool DamagedRangesNothing(DamagedRanges regions, Index file, uint64_t size)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (regions->region[i].place == IndexPlace(file, 0) && regions->region[i].end == IndexPlace(file, size))
      return regions->region[i].torn;
  return size == 0;
}

void DamagedRangesFree(DamagedRanges regions)
{
  free(regions->region);
}

Bool DamagedRangesCheck(DamagedRanges regions)
{
  Index i;

  AVER(regions->count <= regions->capacity && regions->capacity <= DamagedRangesMAX);
  for (i = 0; i < regions->count; ++i) {
    AVER(regions->region[i].place < regions->region[i].end);
    AVER(i == 0 || regions->region[i - 1].end <= regions->region[i].place);
  }
  return TRUE;
}

void ReporterGap(Reporter reporter, uint64_t place, const char *what, uint64_t lost, int exact)
{
  LogGapStruct gap = {.path = reporter->paths[IndexPlaceFile(place)], .offset = IndexPlaceOffset(place), .what = what,
                      .lost = lost};

  if (!reporter->telling)
    return;
  gap.exact = exact;
  ++reporter->gaps;
  reporter->lost = CountAdd(reporter->lost, lost);
  if (reporter->hooks.gap != NULL)
    reporter->hooks.gap(reporter->hooks.data, &gap);
}

static void reporterLine(Reporter reporter, const char *format, va_list args)
{
  char line[1024];

  if (reporter->hooks.note == NULL)
    return;
  (void)vsnprintf(line, sizeof line, format, args);
  reporter->hooks.note(reporter->hooks.data, line);
}

void ReporterNote(Reporter reporter, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  reporterLine(reporter, format, args);
  va_end(args);
}

void ReporterLack(Reporter reporter, const char *format, ...)
{
  va_list args;

  ++reporter->lacks;
  va_start(args, format);
  reporterLine(reporter, format, args);
  va_end(args);
}

/* gapsRegion -- the first region at or behind `place`; regions->count if there is none */
static Index gapsRegion(DamagedRanges regions, uint64_t place)
{
  Index low = 0, high = regions->count;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (regions->region[middle].place < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* gapsShare -- `lost` events to a region; how well that is known is as bad as the worst that is said of it */
static void gapsShare(DamagedRange region, uint64_t lost, int exact)
{
  region->matched = TRUE;
  region->lost = CountAdd(region->lost, lost);
  if (exact > region->exact)
    region->exact = exact;
}

/* gapsZeros -- are there nothing but zeros somewhere between two places? */
static Bool gapsZeros(DamagedRanges regions, uint64_t from, uint64_t to)
{
  Index i;

  for (i = gapsRegion(regions, from); i < regions->count && regions->region[i].place < to; ++i)
    if (regions->region[i].zeros)
      return TRUE;
  return FALSE;
}

Bool GapsDropped(Dropped dropped, Process *processReturn, Table table)
{
  Index i;

  memset(dropped, 0, sizeof *dropped);
  for (i = 0; i < table->processes; ++i) {
    Dropped its = &table->process[i]->public.header.dropped;
    if (its->blocks == 0)
      continue;
    if (dropped->blocks == 0 || its->blocks > dropped->blocks / 2) {
      *processReturn = table->process[i];
      dropped->ticks = its->ticks;
    }
    dropped->blocks = CountAdd(dropped->blocks, its->blocks);
    dropped->events = CountAdd(dropped->events, its->events);
  }
  return dropped->blocks > 0;
}

/* gapsMarked -- was anything cut away on purpose, if only header blocks?  Whole processes may have gone with it. */
static Bool gapsMarked(Table table)
{
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.dropped.marked)
      return TRUE;
  return FALSE;
}

/* gapsMatch -- lay `lost` events between two places to the damaged regions there; FALSE if there are none
 *
 * Where there are several, each but the last gets what its damaged header claims.  So does each where `lost`
 * is only the least that it can be.
 */
static Bool gapsMatch(DamagedRanges regions, uint64_t from, uint64_t to, uint64_t lost, Bool exact)
{
  Index i, last = regions->count, begin = gapsRegion(regions, from);
  Count count = 0;

  for (i = begin; i < regions->count && regions->region[i].place < to; ++i)
    if (!regions->region[i].harmless) {
      last = i;
      ++count;
    }
  for (i = begin; count > 0 && i <= last; ++i) {
    DamagedRange region = &regions->region[i];
    uint64_t share = i == last || region->guess > lost ? lost : region->guess;
    if (region->harmless)
      continue;
    if (!exact && region->guess >= share)
      gapsShare(region, region->guess, LogLostABOUT);
    else
      gapsShare(region, share, !exact ? LogLostATLEAST : count > 1 ? LogLostABOUT : LogLostEXACTLY);
    lost -= share;
  }
  return count > 0;
}

/* gapsDoubt -- a stream lacks blocks between two places of the log: they were overwritten, or lost.  A piece of a block
 * that lies there is told as damage, unless a process or eventrec was killed: then that block's write may have been cut
 * short, and the block in memory overwritten later. */
static void gapsDoubt(Reporter reporter, DamagedRanges regions, uint64_t from, uint64_t to)
{
  Index i;

  for (i = gapsRegion(regions, from); !reporter->killed && i < regions->count && regions->region[i].place < to; ++i)
    regions->region[i].doubted = !regions->region[i].harmless;
}

/* gapsTaken -- is that in memory, and in no log? */
static Bool gapsTaken(Reporter reporter, uint64_t place)
{
  return reporter->memory > 0 && IndexPlaceFile(place) == reporter->memory;
}

/* gapsMissing -- blocks of `stream` are missing between two runs, of which the first may be none */
static void gapsMissing(Reporter reporter, DamagedRanges regions, Stream stream, const TallyRunStruct *run,
                        const TallyRunStruct *next)
{
  Bool sameFile = run != NULL && IndexPlaceFile(run->lastPlace) == IndexPlaceFile(next->place), exact;
  uint64_t from = sameFile ? run->lastPlace : IndexPlace(IndexPlaceFile(next->place), 0), blocks, lost;
  char what[128];

  /* The log was opened later. */
  if (run == NULL && stream->process->public.header.begun != 0)
    return;
  /* A stream loses its oldest blocks first.  What was taken from memory stood behind all that is in the logs. */
  if (reporter->dropped && run == NULL && gapsZeros(regions, gapsTaken(reporter, next->place) ? 0 : from, next->place))
    return;
  blocks = next->from - (run != NULL ? run->to : 0);
  if (stream->unsent && blocks > 0 && !next->behind)
    gapsDoubt(reporter, regions, from, next->place);
  /* Of a flight recorder, other blocks that are not there were overwritten. */
  if (!TallyMissing(&lost, &exact, run, next, stream->unsent) || gapsMatch(regions, from, next->place, lost, exact))
    return;
  if (blocks == 0)
    (void)snprintf(what, sizeof what, "the end of the block of thread %u/%u before this one is missing", ProcessNumber(stream->process),
                   stream->thread);
  else if (stream->unsent && blocks > 1)
    (void)snprintf(what, sizeof what, "a block of thread %u/%u is missing before this one, or more",
                   ProcessNumber(stream->process), stream->thread);
  else
    (void)snprintf(what, sizeof what, "%llu block%s of thread %u/%u missing before this one",
                   (unsigned long long)blocks, TextPlural(blocks), ProcessNumber(stream->process), stream->thread);
  ReporterGap(reporter, next->place, what, lost, exact ? LogLostEXACTLY : LogLostATLEAST);
}

static void gapsStream(Reporter reporter, DamagedRanges regions, Stream stream)
{
  Tally tally = &stream->tally;
  char what[128];
  Index i;

  if (!stream->logged)
    return;
  for (i = 0; i < tally->runs; ++i)
    gapsMissing(reporter, regions, stream, i > 0 ? &tally->run[i - 1] : NULL, &tally->run[i]);
  if (tally->moreBlocks > 0) {
    (void)snprintf(what, sizeof what, "in earlier gaps %llu block%s of thread %u/%u %s missing",
                   (unsigned long long)tally->moreBlocks, TextPlural(tally->moreBlocks), ProcessNumber(stream->process),
                   stream->thread, tally->moreBlocks == 1 ? "is" : "are");
    ReporterGap(reporter, tally->run[0].place, what, tally->moreEvents, LogLostABOUT);
  }
}

static void gapsRegionTell(Reporter reporter, const DamagedRangeStruct *region)
{
  if ((reporter->dropped && region->zeros) || (reporter->accounted && region->torn && !region->matched && !region->doubted))
    return;
  if (region->matched)
    ReporterGap(reporter, region->place, region->what, region->lost, region->exact);
  else if (region->harmless)
    ReporterGap(reporter, region->place, region->what, 0, LogLostEXACTLY);
  else
    ReporterGap(reporter, region->place, region->what, region->guess, region->guess > 0 ? LogLostABOUT : LogLostATLEAST);
}

/* gapsAnyKilled -- was anybody killed, as far as is known, or does anybody run? */
static Bool gapsAnyKilled(Table table)
{
  Index i;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->recovered || process->orphan || process->public.header.alone != 0 ||
        process->life != ProcessLifeUNKNOWN)
      return TRUE;
  }
  return FALSE;
}

uint64_t GapsOlder(Stream stream)
{
  Tally tally = &stream->tally;
  uint64_t events = tally->moreEvents, lost;
  Index i;

  if (!stream->unsent)
    return 0;
  for (i = stream->process->public.header.begun != 0 ? 1 : 0; i < tally->runs; ++i)
    if (tally->run[i].from > (i > 0 ? tally->run[i - 1].to : 0)) {
      (void)TallyLost(&lost, i > 0 ? &tally->run[i - 1] : NULL, &tally->run[i]);
      events = CountAdd(events, lost);
    }
  return events;
}

void GapsBehind(Reporter reporter, DamagedRanges regions, Stream stream, uint64_t sequence)
{
  Tally tally = &stream->tally;
  Index i = tally->runs;

  while (i > 0 && tally->run[i - 1].from > sequence)
    --i;
  if (i > 0 && tally->run[i - 1].from == sequence)
    gapsMissing(reporter, regions, stream, i > 1 ? &tally->run[i - 2] : NULL, &tally->run[i - 1]);
}

void GapsRegions(Reporter reporter, DamagedRanges regions, Index first, Index limit)
{
  for (; first < limit && first < regions->count; ++first)
    gapsRegionTell(reporter, &regions->region[first]);
}

void GapsTell(Reporter reporter, DamagedRanges regions, Table table, Bool growing)
{
  ReporterStruct mute = {.paths = reporter->paths};
  uint64_t gaps = reporter->gaps;
  Index i;

  reporter->dropped = gapsMarked(table);
  reporter->killed = gapsAnyKilled(table);
  for (i = 0; i < table->streams; ++i)
    gapsStream(reporter, regions, table->stream[i]);
  reporter->accounted = GapsEnds(growing ? &mute : reporter, regions, table) && reporter->gaps == gaps;
  GapsRegions(reporter, regions, 0, regions->count);
}

/* ---- Is the end of each process's part there? ---- */

/* Processes of which the same is to be told. */
typedef struct gapsManyStruct {
  Count count;
  Process first;
} gapsManyStruct, *GapsMany;

typedef struct gapsEndStruct {
  Reporter reporter;
  DamagedRanges regions;
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
  if (!gapsMatch(end->regions, from, IndexPlace(IndexPlaceFile(from) + 1, 0), lost, exact))
    ReporterGap(end->reporter, place, what, lost, exact ? LogLostEXACTLY : LogLostATLEAST);
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
    ReporterGap(end->reporter, process->endPlace, "another closing header block of the process is missing", 0,
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
  Reporter reporter = end->reporter;
  GapsMany open = &end->open, collectors = &end->collectors;

  if (open->count == 1)
    ReporterLack(reporter, "%s: the end of process %u is not in the log, " gapsNOEND ", or the process was killed",
                 reporter->paths[open->first->file], open->first->public.header.pid);
  else if (open->count > 1)
    ReporterLack(reporter,
                 "%s: the ends of %zu processes (%u ...) are not in the log, " gapsNOEND ", or they were killed",
                 reporter->paths[open->first->file], open->count, open->first->public.header.pid);
  if (collectors->count > 0)
    ReporterLack(reporter, "%s: the end of the recording is not in the log, " gapsNOEND ", or eventrec was killed",
                 reporter->paths[collectors->first->file]);
}

/* gapsProcesses -- are all processes there of which the ends of recordings, and copies, say that they have a header
 * block? */
static void gapsProcesses(GapsEnd end)
{
  Reporter reporter = end->reporter;
  CensusStruct census;
  Index i;

  if (gapsMarked(end->table) || CensusTake(&census, end->table) != ResOK)
    return;
  for (i = 0; i < census.count; ++i) {
    CensusOf of = &census.of[i];
    Count there = of->there + census.moved;
    if (of->recording == 0 || there >= of->said)
      continue;
    end->accounted = FALSE;
    ReporterLack(reporter, "%s: %llu of its %llu processes %s not in the log", reporter->paths[of->reporter->file],
                 (unsigned long long)(of->said - there), (unsigned long long)of->said,
                 of->said - there == 1 ? "is" : "are");
  }
  CensusFree(&census);
}

/* gapsWritten -- logs that were written from others say what those lacked */
static void gapsWritten(Reporter reporter, Table table)
{
  Process most = NULL;
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.lacks > (most == NULL ? 0 : most->public.header.lacks))
      most = table->process[i];
  if (most != NULL)
    ReporterLack(reporter, "%s: it was written from a log that lacked %llu event%s, or more", reporter->paths[most->file],
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

Bool GapsEnds(Reporter reporter, DamagedRanges regions, Table table)
{
  gapsEndStruct end = {.reporter = reporter, .regions = regions, .table = table, .accounted = table->processes > 0};
  DroppedStruct dropped;
  uint64_t blocks;
  Process bearer;
  Index i;

  GapsDiscarded(table);
  if (GapsDropped(&dropped, &bearer, table)) {
    end.dropped = dropped.blocks;
    blocks = gapsUndropped(table, &dropped);
    if (blocks > 0)
      ReporterLack(reporter, "%s: %llu block%s missing at the beginning, besides those that were dropped on purpose",
                   reporter->paths[bearer->file], (unsigned long long)blocks, blocks == 1 ? " is" : "s are");
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
  gapsWritten(reporter, table);
  return end.accounted;
}
