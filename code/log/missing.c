/* missing.c -- what a log lacks: blocks between those that are there, and behind them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/missing.h"

#include <stdlib.h>

Bool MissingDropped(Dropped dropped, Process *processReturn, Table table)
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

/* missingMarked -- was anything cut away on purpose, if only header blocks?  Whole processes may have gone with it. */
static Bool missingMarked(Table table)
{
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.dropped.marked)
      return TRUE;
  return FALSE;
}

/* missingKnown -- how well a number is known, as a gap has it */
static int missingKnown(Bool exact)
{
  return exact ? LogLostEXACTLY : LogLostATLEAST;
}

/* missingTaken -- is that in memory, and in no log? */
static Bool missingTaken(Reporter reporter, uint64_t place)
{
  return reporter->memory > 0 && IndexPlaceFile(place) == reporter->memory;
}

/* missingBefore -- tell of what is missing of a stream before one of its runs */
static void missingBefore(Reporter reporter, DamagedRanges regions, LogStream stream, const BlockRunStruct *next)
{
  BlockRuns runs = &stream->runs;
  const BlockRunStruct *run = next > runs->run ? next - 1 : NULL;
  Bool sameFile = run != NULL && IndexPlaceFile(run->lastPlace) == IndexPlaceFile(next->place), exact;
  uint64_t from = sameFile ? run->lastPlace : IndexPlace(IndexPlaceFile(next->place), 0), lost;
  uint64_t blocks = BlockRunsBlocks(runs, next);
  uint32_t pid = ProcessNumber(stream->process), thread = stream->thread;

  /* The log was opened later. */
  if (run == NULL && stream->process->public.header.begun != 0)
    return;
  /* A stream loses its oldest blocks first.  What was taken from memory stood behind all that is in the logs. */
  if (reporter->dropped && run == NULL &&
      DamagedRangesZeros(regions, missingTaken(reporter, next->place) ? 0 : from, next->place))
    return;
  /* Blocks are missing that were overwritten, or lost.  A piece of one that lies there is told as damage, unless a
   * process or eventrec was killed: then its write may have been cut short, and the block in memory overwritten later.
   * */
  if (stream->unsent && blocks > 0 && !next->behind && !reporter->killed)
    DamagedRangesDoubt(regions, from, next->place);
  /* Of a flight recorder, other blocks that are not there were overwritten. */
  if (!BlockRunsMissing(&lost, &exact, runs, next, stream->unsent) ||
      DamagedRangesMatch(regions, from, next->place, lost, exact))
    return;
  if (blocks == 0)
    ReporterGap(reporter, next->place, lost, missingKnown(exact),
                "the end of the block of thread %u/%u before this one is missing", pid, thread);
  else if (stream->unsent && blocks > 1)
    ReporterGap(reporter, next->place, lost, missingKnown(exact),
                "a block of thread %u/%u is missing before this one, or more", pid, thread);
  else
    ReporterGap(reporter, next->place, lost, missingKnown(exact),
                "%llu block%s of thread %u/%u missing before this one", (unsigned long long)blocks, TextPlural(blocks),
                pid, thread);
}

static void missingStream(Reporter reporter, DamagedRanges regions, LogStream stream)
{
  BlockRuns runs = &stream->runs;
  Index i;

  if (!stream->logged)
    return;
  for (i = 0; i < runs->count; ++i)
    missingBefore(reporter, regions, stream, &runs->run[i]);
  if (runs->moreBlocks > 0)
    ReporterGap(reporter, runs->run[0].place, runs->moreEvents, LogLostABOUT,
                "in earlier gaps %llu block%s of thread %u/%u %s missing", (unsigned long long)runs->moreBlocks,
                TextPlural(runs->moreBlocks), ProcessNumber(stream->process), stream->thread,
                runs->moreBlocks == 1 ? "is" : "are");
}

/* missingAnyKilled -- was anybody killed, as far as is known, or does anybody run? */
static Bool missingAnyKilled(Table table)
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

uint64_t MissingOlder(LogStream stream)
{
  BlockRuns runs = &stream->runs;
  uint64_t events = runs->moreEvents, lost;
  Index i;

  if (!stream->unsent)
    return 0;
  for (i = stream->process->public.header.begun != 0 ? 1 : 0; i < runs->count; ++i)
    if (BlockRunsBlocks(runs, &runs->run[i]) > 0) {
      (void)BlockRunsLost(&lost, runs, &runs->run[i]);
      events = CountAdd(events, lost);
    }
  return events;
}

void MissingBehind(Reporter reporter, DamagedRanges regions, LogStream stream, uint64_t sequence)
{
  BlockRun next = BlockRunsBegins(&stream->runs, sequence);

  if (next != NULL)
    missingBefore(reporter, regions, stream, next);
}

void MissingTell(Reporter reporter, DamagedRanges regions, Table table, Bool growing)
{
  ReporterStruct mute = {.paths = reporter->paths};
  uint64_t gaps = reporter->gaps;
  Index i;

  reporter->dropped = missingMarked(table);
  reporter->killed = missingAnyKilled(table);
  for (i = 0; i < table->streams; ++i)
    missingStream(reporter, regions, table->stream[i]);
  reporter->accounted = MissingEnds(growing ? &mute : reporter, regions, table) && reporter->gaps == gaps;
  DamagedRangesTell(regions, reporter, regions->count, !growing);
}

/* ---- Is the end of each process's part there? ---- */

typedef struct missingEndStruct {
  Reporter reporter;
  DamagedRanges regions;
  Table table;
  Count open;        /* processes that were recorded, and of which nothing says that they ended; */
  Process first;     /* the first of them, */
  Process collector; /* and the first such collector; or NULL */
  uint64_t dropped; /* blocks that were cut away on purpose, and of which it is not known yet which they were */
  Bool accounted; /* so far, of each process it is known that nothing is missing */
} missingEndStruct, *MissingEnd;

/* missingShort -- a stream of which the newest blocks are missing, or the end of the newest one.  Damage behind that
 * explains it, or it is told. */
static void missingShort(MissingEnd end, LogStream stream, const BlockRunStruct *last, HeaderStream its)
{
  uint64_t blocks = its->blocks - last->to, lost = blocks, place = last->lastPlace;
  uint32_t pid = ProcessNumber(stream->process), thread = stream->thread;
  Bool exact = its->events != HeaderEventsUNKNOWN && last->after != BlockBeforeUNKNOWN;

  if (exact)
    lost = its->events > last->after ? its->events - last->after : 0;
  if (blocks == 0 && (!exact || lost == 0))
    return;
  end->accounted = FALSE;
  if (DamagedRangesMatch(end->regions, place, IndexPlace(IndexPlaceFile(place) + 1, 0), lost, exact))
    return;
  if (blocks == 0)
    ReporterGap(end->reporter, place, lost, missingKnown(exact),
                "the end of this block, the newest of thread %u/%u, is missing", pid, thread);
  else
    ReporterGap(end->reporter, place, lost, missingKnown(exact),
                "the newest %llu block%s of thread %u/%u, behind this one, %s missing", (unsigned long long)blocks,
                TextPlural(blocks), pid, thread, blocks == 1 ? "is" : "are");
}

/* missingAbsent -- streams of a process of which no block is there: what of them was not dropped on purpose is
 * missing */
static void missingAbsent(MissingEnd end, Process process, Count streams, uint64_t blocks, uint64_t events, Bool exact)
{
  uint64_t dropped = blocks < end->dropped ? blocks : end->dropped, place = process->endPlace, lost;
  Bool late = process->public.header.begun != 0;

  end->dropped -= dropped;
  if (blocks == dropped)
    return;
  end->accounted = FALSE;
  exact = exact && dropped == 0 && !late;
  lost = exact ? events : late ? streams : blocks - dropped;
  if (!DamagedRangesMatch(end->regions, IndexPlace(IndexPlaceFile(place), 0), IndexPlace(IndexPlaceFile(place) + 1, 0),
                          lost, exact))
    ReporterGap(end->reporter, place, lost, missingKnown(exact), "all blocks of %zu stream%s of process %u are missing",
                streams, TextPlural(streams), process->public.header.pid);
}

/* missingTold -- does something say what there should be of a process's streams? */
static Bool missingTold(Process process)
{
  return process->public.header.ended || (process->expected && process->life == ProcessLifeTAKEN);
}

/* missingEarlier -- what is said of a stream that has no block may be of logs that were opened earlier */
static Bool missingEarlier(Header header)
{
  return !header->ended && header->begun != 0;
}

void MissingDiscarded(Table table)
{
  Index i, k;

  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    process->unseen = 0;
    if (!missingTold(process))
      continue;
    EndsSettle(&process->ends);
    for (k = 0; k < process->ends.count; ++k) {
      HeaderStream its = &process->ends.stream[k];
      LogStream stream = TableStreamFind(table, process->public.header.identity, its->stream);
      if (stream != NULL && stream->runs.count > 0)
        CountRaise(&stream->discarded, its->discarded);
      else if (!missingEarlier(&process->public.header))
        process->unseen = CountAdd(process->unseen, its->discarded);
    }
  }
}

/* missingEnded -- a process that has a closing header block, or that was about to end: is all there that it says? */
static void missingEnded(MissingEnd end, Process process)
{
  Header header = &process->public.header;
  uint64_t blocks = 0, events = 0, absent = 0;
  Bool exact = TRUE;
  Index i;

  EndsSettle(&process->ends);
  for (i = 0; i < process->ends.count; ++i) {
    HeaderStream its = &process->ends.stream[i];
    LogStream stream = TableStreamFind(end->table, header->identity, its->stream);
    BlockRun last = stream != NULL ? BlockRunsLast(&stream->runs) : NULL;
    if (last != NULL && its->blocks >= last->to)
      missingShort(end, stream, last, its);
    if (last != NULL || its->blocks == 0 || missingEarlier(header))
      continue;
    ++absent;
    blocks = CountAdd(blocks, its->blocks);
    exact = exact && its->events != HeaderEventsUNKNOWN;
    events = CountAdd(events, exact ? its->events : 0);
  }
  if (absent > 0)
    missingAbsent(end, process, absent, blocks, events, exact);
  if (process->ends.count < header->streams) {
    end->accounted = FALSE;
    ReporterGap(end->reporter, process->endPlace, 0, LogLostATLEAST,
                "another closing header block of the process is missing");
  }
}

/* missingKilled -- is it known that the collector of a recording was killed, or that the recording goes on? */
static Bool missingKilled(Table table, uint64_t recording)
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

/* missingOpen -- a process without closing header block */
static void missingOpen(MissingEnd end, Process process)
{
  Header header = &process->public.header;

  if (process->life == ProcessLifeTAKEN) {
    missingEnded(end, process);
    return;
  }
  if (strcmp(header->role, HeaderRoleCOLLECTOR) == 0) {
    if (header->recording != 0 && missingKilled(end->table, header->recording))
      return;
    end->collector = end->collector != NULL ? end->collector : process;
  } else if (process->followed) {
    return;
  } else if (process->life == ProcessLifeUNKNOWN) {
    if (end->open++ == 0)
      end->first = process;
  }
  end->accounted = FALSE;
}

/* Why an end may not be there, though no process was killed. */
#define missingNOEND "which is cut off, or could not be written to its end"

static void missingEndTell(MissingEnd end)
{
  Reporter reporter = end->reporter;
  const char *const *paths = reporter->paths;

  if (end->open == 1)
    ReporterLack(reporter, "%s: the end of process %u is not in the log, " missingNOEND ", or the process was killed",
                 paths[end->first->file], end->first->public.header.pid);
  else if (end->open > 1)
    ReporterLack(reporter,
                 "%s: the ends of %zu processes (%u ...) are not in the log, " missingNOEND ", or they were killed",
                 paths[end->first->file], end->open, end->first->public.header.pid);
  if (end->collector != NULL)
    ReporterLack(reporter, "%s: the end of the recording is not in the log, " missingNOEND ", or eventrec was killed",
                 paths[end->collector->file]);
}

/* missingSaid -- how many processes its recording should have, as a process's closing header block says; 0: it does
 * not */
static uint64_t missingSaid(Process process)
{
  return process->public.header.ended ? process->public.header.processes : 0;
}

static int missingByRecording(const void *a, const void *b)
{
  uint64_t x = ProcessRecording(*(const Process *)a), y = ProcessRecording(*(const Process *)b);

  return x < y ? -1 : x > y;
}

/* missingProcesses -- are all processes there of which the ends of recordings, and copies, say that they have a header
 * block?  One that is of several recordings may be any that is missing. */
static void missingProcesses(MissingEnd end)
{
  Table table = end->table;
  Process *process = missingMarked(table) ? NULL : malloc((table->processes + 1) * sizeof *process), teller;
  Count moved = 0, there;
  Index i, next;

  if (process == NULL)
    return;
  for (i = 0; i < table->processes; ++i) {
    process[i] = table->process[i];
    moved += process[i]->moved && ProcessRecorded(process[i]);
  }
  qsort(process, table->processes, sizeof *process, missingByRecording);
  for (i = 0; i < table->processes; i = next) {
    teller = process[i];
    there = moved;
    for (next = i; next < table->processes && ProcessRecording(process[next]) == ProcessRecording(teller); ++next) {
      there += ProcessRecorded(process[next]) && !process[next]->moved;
      if (missingSaid(process[next]) > missingSaid(teller))
        teller = process[next];
    }
    if (ProcessRecording(teller) == 0 || there >= missingSaid(teller))
      continue;
    end->accounted = FALSE;
    ReporterLack(end->reporter, "%s: %llu of its %llu processes %s not in the log", end->reporter->paths[teller->file],
                 (unsigned long long)(missingSaid(teller) - there), (unsigned long long)missingSaid(teller),
                 missingSaid(teller) - there == 1 ? "is" : "are");
  }
  free(process);
}

/* missingWritten -- logs that were written from others say what those lacked */
static void missingWritten(Reporter reporter, Table table)
{
  Process most = NULL;
  Index i;

  for (i = 0; i < table->processes; ++i)
    if (table->process[i]->public.header.lacks > (most == NULL ? 0 : most->public.header.lacks))
      most = table->process[i];
  if (most != NULL)
    ReporterLack(reporter, "%s: it was written from a log that lacked %llu event%s, or more",
                 reporter->paths[most->file], (unsigned long long)most->public.header.lacks,
                 TextPlural(most->public.header.lacks));
}

/* missingUndropped -- how many blocks more are missing where streams begin than were cut away on purpose, as the header
 * blocks have it: the newest, which says how many, may be missing itself */
static uint64_t missingUndropped(Table table, Dropped dropped)
{
  uint64_t blocks = 0;
  Index i;

  for (i = 0; i < table->streams; ++i) {
    LogStream stream = table->stream[i];
    if (stream->logged && !stream->unsent && stream->runs.count > 0 && stream->process->public.header.begun == 0)
      blocks = CountAdd(blocks, stream->runs.run[0].from);
  }
  return blocks > dropped->blocks ? blocks - dropped->blocks : 0;
}

/* missingAgain -- a header block that was cut short, and behind which something was written, is no loss if the process
 * has another one that is whole.  Other checks report what the process lacks. */
static void missingAgain(DamagedRanges regions, Table table)
{
  Index i;

  for (i = 0; i < regions->count; ++i) {
    DamagedRange region = &regions->region[i];
    Process process = region->header != 0 ? TableProcessFind(table, region->header) : NULL;
    region->again = process != NULL && process->headed && !region->tail;
  }
}

Bool MissingEnds(Reporter reporter, DamagedRanges regions, Table table)
{
  missingEndStruct end = {.reporter = reporter, .regions = regions, .table = table, .accounted = table->processes > 0};
  DroppedStruct dropped;
  uint64_t blocks;
  Process bearer;
  Index i;

  MissingDiscarded(table);
  missingAgain(regions, table);
  if (MissingDropped(&dropped, &bearer, table)) {
    end.dropped = dropped.blocks;
    blocks = missingUndropped(table, &dropped);
    if (blocks > 0)
      ReporterLack(reporter, "%s: %llu block%s missing at the beginning, besides those that were dropped on purpose",
                   reporter->paths[bearer->file], (unsigned long long)blocks, blocks == 1 ? " is" : "s are");
  }
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    if (process->public.header.ended)
      missingEnded(&end, process);
    else if (process->expected)
      missingOpen(&end, process);
    else
      end.accounted = FALSE;
  }
  missingEndTell(&end);
  missingProcesses(&end);
  missingWritten(reporter, table);
  return end.accounted;
}
