/* traceset.c -- an opened traceset, for the files that put it together
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/request.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "format/block.h"
#include "log/copies.h"
#include "recover/core.h"
#include "recover/orphanreader.h"
#include "request/reading.h"
#include "request/traceset.h"

enum { logFilesMAX = 4096 }; /* a place has 16 bits for the file, and the system as many descriptors */

/* logFileAdd -- open one more file */
static Res logFileAdd(Log log, const char *path, char *error, Size size)
{
  File file = log->file[log->files] = calloc(1, sizeof *file);
  char *copy = log->path[log->files] = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
  Res res;

  ++log->files;
  if (file == NULL || copy == NULL)
    return ResMEMORY;
  file->fd = -1;
  res = FileOpen(file, path, &log->reporter.hooks);
  if (res != ResOK) {
    (void)snprintf(error, size, "%s: %s", path, strerror(errno));
    return res;
  }
  file->path = copy;
  return CoreMay(file) ? CoreTake(file, &log->reporter, error, size) : ResOK;
}

/* logBegins -- does the file begin with a magic? */
static Bool logBegins(File file)
{
  const unsigned char *magic = FileBytes(file, 0, BlockMagicSIZE);

  return magic != NULL &&
         (memcmp(magic, HeaderMAGIC, BlockMagicSIZE) == 0 || memcmp(magic, BlockMAGIC, BlockMagicSIZE) == 0);
}

Res LogRefuse(Scan scan, File file, char *error, Size size)
{
  const char *path = file->path;
  const unsigned *ours = scan->reporter->hooks.version;

  if (file->live)
    (void)snprintf(error, size, "%s: nothing is recorded yet", path);
  else if (file->size == 0)
    (void)snprintf(error, size, "%s: the file is empty", path);
  else if (scan->foreign[0] != 0)
    (void)snprintf(error, size, "%s: format version %u.%u.%u; this build reads version %u (%u.%u.%u)", path,
                   scan->foreign[0], scan->foreign[1], scan->foreign[2], ours[0], ours[0], ours[1], ours[2]);
  else if (logBegins(file))
    (void)snprintf(error, size, "%s: the log is cut off or damaged in its first block: nothing of it can be read",
                   path);
  else
    (void)snprintf(error, size, "%s: not a Pawprint log", path);
  return scan->foreign[0] != 0 ? ResVERSION : ResFORMAT;
}

Res LogLeftover(Log log, Scan scan)
{
  File file = NULL;
  Res res = ResOK;

  if (!log->reporter.hooks.filed)
    res = OrphanReaderTake(&file, &log->table, log->file, log->files, &log->regions, &log->reporter);
  if (res != ResOK || file == NULL)
    return res;
  log->file[log->files] = file;
  file->path = log->path[log->files] = strdup(file->path);
  log->reporter.memory = log->files++;
  return file->path != NULL ? ScanFile(scan, file, log->reporter.memory) : ResMEMORY;
}

void LogScanBegin(Log log, Scan scan)
{
  Index i;

  scan->table = &log->table;
  scan->index = &log->index;
  scan->regions = &log->regions;
  scan->reporter = &log->reporter;
  scan->files = log->file;
  for (i = 0; i < log->files; ++i)
    scan->total += log->file[i]->size;
}

/* logIndexed -- the file was scanned with this index file; keep it if the log is as it was when that was written */
static void logIndexed(Log log, IndexFile known)
{
  if (log->files == 1 && log->table.offset == NULL && IndexFileSame(known))
    log->known = known;
  else
    IndexFileClose(known);
}

/* logScanFile -- scan one file; *foreignReturn: was nothing sound found in it? */
static Res logScanFile(Log log, Scan scan, Index i, Bool *foreignReturn, char *error, Size size)
{
  uint64_t before = scan->blocks + scan->headers;
  Res res = log->making == NULL ? ScanIndexed(scan, log->file[i]) : ResOK;

  scan->making = log->making;
  if (res == ResOK)
    res = ScanFile(scan, log->file[i], i);
  scan->making = NULL;
  if (scan->known != NULL)
    logIndexed(log, scan->known);
  scan->known = NULL;
  if (res == ResIO)
    (void)snprintf(error, size, "%s: %s", log->path[i], strerror(errno));
  *foreignReturn = scan->blocks + scan->headers == before;
  log->summary.bytes += log->file[i]->size;
  scan->bytes = log->summary.bytes;
  return res;
}

/* logScanAll -- scan all files, and the memory of dead processes.  A file without anything sound is refused, unless a
 * process that died before it could write to it left memory for it. */
static Res logScanAll(Log log, Scan scan, char *error, Size size)
{
  Count files = log->files;
  Bool *foreign = calloc(files, sizeof *foreign);
  Index i;
  Res res = foreign != NULL ? ResOK : ResMEMORY;

  LogScanBegin(log, scan);
  for (i = 0; i < files && res == ResOK; ++i) {
    res = logScanFile(log, scan, i, &foreign[i], error, size);
    if (res == ResOK && foreign[i] && scan->foreign[0] != 0)
      res = LogRefuse(scan, log->file[i], error, size);
    memset(scan->foreign, 0, sizeof scan->foreign);
  }
  if (res == ResOK)
    res = LogLeftover(log, scan);
  for (i = 0; i < files && res == ResOK; ++i)
    if (foreign[i] && !log->file[i]->left)
      res = LogRefuse(scan, log->file[i], error, size);
  free(foreign);
  return res;
}

void LogScanned(Log log, Scan scan)
{
  const unsigned *ours = log->reporter.hooks.version;

  log->summary.blocks = scan->blocks;
  log->summary.events = scan->events;
  log->summary.newer = scan->newer[0] != 0;
  if (log->summary.newer)
    ReporterNote(&log->reporter, "the log's events are of version %u.%u.%u, newer than this build's %u.%u.%u",
                 scan->newer[0], scan->newer[1], scan->newer[2], ours[0], ours[1], ours[2]);
}

/* logScan -- find all that is there */
static Res logScan(Log log, char *error, Size size)
{
  Scan scan = calloc(1, sizeof *scan);
  Res res = scan != NULL ? logScanAll(log, scan, error, size) : ResMEMORY;

  if (res == ResOK)
    LogScanned(log, scan);
  if (res == ResOK)
    res = CopiesTell(&log->reporter, &log->table);
  free(scan);
  return res;
}

/* logFindFirst -- the time of the earliest event; of the earliest block if there is none */
static Res logFindFirst(Log log)
{
  static const LogPositionStruct first = LogPositionFIRST;
  const ReadingClientStruct client = {.quiet = TRUE};
  uint64_t fine = 0;
  Reading reading;
  Res res = ReadingCreate(&reading, log, &client, &first);

  if (res != ResOK)
    return res;
  res = ReadingNext(&fine, reading);
  log->summary.first = log->origin + (fine >> ClockFineSHIFT);
  ReadingDestroy(reading);
  return res == ResEND ? ResOK : res;
}

static void logFindLast(Log log)
{
  Index i;
  uint64_t latest = 0;

  for (i = 0; i < log->table.clocks; ++i) {
    Clock clock = log->table.clock[i];
    if (clock->alias == NULL && clock->max > 0) {
      uint64_t fine = ClockFine(clock, clock->max);
      if (fine > latest)
        latest = fine;
    }
  }
  log->summary.last = log->origin + (latest >> ClockFineSHIFT);
  if (log->summary.last < log->summary.first)
    log->summary.last = log->summary.first;
}

/* logBeyond -- report a clock that is too far ahead of another for its times to be right */
static void logBeyond(Log log)
{
  Index i;

  for (i = 0; i < log->table.processes; ++i) {
    Process process = log->table.process[i];
    if (process->headed && ClockResolve(process->clock)->beyond) {
      ReporterNote(&log->reporter,
                   "%s: the clock of process %u is more than nine years ahead of others; its times are put "
                   "there, and are not right; --offset aligns logs",
                   log->path[process->file], ProcessNumber(process));
      return;
    }
  }
}

Bool LogCheck(Log log)
{
  Bool sound = log->files > 0 && log->reporter.memory < log->files && (log->known == NULL || log->files == 1) &&
               (log->known == NULL || log->making == NULL);
  Index i;

  for (i = 0; sound && i < log->files; ++i)
    sound = log->file[i] != NULL && log->path[i] != NULL && log->file[i]->fd >= 0;
  return sound && TableCheck(&log->table) && DamagedRangesCheck(&log->regions) && IndexCheck(&log->index);
}

Res LogSpan(Log log)
{
  Res res = TableRefer(&log->table);

  if (res != ResOK)
    return res;
  MissingDiscarded(&log->table);
  log->origin = TableFit(&log->table);
  logBeyond(log);
  res = IndexEnd(&log->index);
  AVER(res != ResOK || LogCheck(log));
  if (res == ResOK)
    res = logFindFirst(log);
  if (res == ResOK)
    logFindLast(log);
  return res;
}

static Res logFiles(Log log, const char *const *paths, Count n, char *error, Size size)
{
  Index i;
  Res res = ResOK;

  log->file = calloc(n + 1, sizeof *log->file);
  log->path = calloc(n + 1, sizeof *log->path);
  if (log->file == NULL || log->path == NULL)
    return ResMEMORY;
  log->reporter.paths = (const char *const *)log->path;
  for (i = 0; i < n && res == ResOK; ++i)
    res = logFileAdd(log, paths[i], error, size);
  return res;
}

Res LogMake(Log *logReturn, const char *const *paths, Count n, LogHooks hooks, char *error, Size size)
{
  Log log;
  Res res;

  AVER(size > 0);
  *error = '\0';
  if (n == 0 || n > logFilesMAX) {
    (void)snprintf(error, size, n == 0 ? "no log is given" : "too many logs at once");
    return ResPARAM;
  }
  log = calloc(1, sizeof *log);
  if (log == NULL) {
    (void)snprintf(error, size, "%s: no memory", paths[0]);
    return ResMEMORY;
  }
  log->reporter.hooks = *hooks;
  if (hooks->version[0] == 0)
    log->reporter.hooks.version[0] = BlockMAJOR;
  log->table.offset = hooks->offset;
  log->table.offsets = n;
  IndexInit(&log->index, &log->table);
  res = logFiles(log, paths, n, error, size);
  return LogMade(logReturn, log, res, error, size);
}

Res LogMade(Log *logReturn, Log log, Res res, char *error, Size size)
{
  if (res == ResOK) {
    *logReturn = log;
    return ResOK;
  }
  if (*error == '\0')
    (void)snprintf(error, size, "%s: %s", log->files > 0 ? log->path[0] : "the log",
                   res == ResMEMORY ? "no memory" : strerror(errno));
  LogClose(log);
  return res;
}

Res LogOpen(Log *logReturn, const char *const *paths, Count n, LogHooks hooks, char *error, Size size)
{
  Log log;
  Res res = LogMake(&log, paths, n, hooks, error, size);

  if (res != ResOK)
    return res;
  res = logScan(log, error, size);
  if (res == ResOK)
    res = LogSpan(log);
  return LogMade(logReturn, log, res, error, size);
}

/* logIndexFail -- say why the index file cannot be written */
static Res logIndexFail(Res res, const char *path, char *error, Size size)
{
  if (res == ResUNIMPL)
    (void)snprintf(error, size, "%s: only a log in a file has an index", path);
  else if (res == ResPARAM)
    (void)snprintf(error, size, "%s.idx: the file is no index, and is not overwritten", path);
  else if (res == ResLIMIT)
    (void)snprintf(error, size, "%s: the name is too long", path);
  else
    (void)snprintf(error, size, "%s.idx: %s", path, res == ResMEMORY ? "no memory" : strerror(errno));
  return res;
}

/* logIndex -- scan a log, and write its headers, and check points if the file has all of it */
static Res logIndex(Log log, LogCheckPoints points, char *error, Size size)
{
  Res res = logScan(log, error, size);

  if (res == ResOK)
    res = LogSpan(log);
  if (res == ResOK && points != NULL && log->files == 1 && log->table.offset == NULL) {
    log->reporter.hooks.gap = NULL; /* each reader of the log reports that itself */
    log->reporter.hooks.note = NULL;
    res = points(log->making, log);
    if (log->reporter.gaps > 0)
      IndexFileKeepNone(log->making); /* a reader that begins at a check point would not report damage before it */
  }
  if (res != ResOK && *error != '\0')
    return res;
  if (res == ResOK)
    res = IndexFileFinish(log->making);
  return res == ResOK ? res : logIndexFail(res, log->path[0], error, size);
}

Res LogIndexWrite(LogIndexed indexedReturn, const char *path, LogHooks hooks, LogCheckPoints points, char *error,
                  Size size)
{
  Log log;
  Res res = LogMake(&log, &path, 1, hooks, error, size);

  if (res != ResOK)
    return res;
  res = IndexFileCreate(&log->making, log->file[0]);
  if (res == ResOK) {
    IndexFileHead head = IndexFileHeadOf(log->making);
    res = logIndex(log, points, error, size);
    *indexedReturn = (LogIndexedStruct){head->records, head->covered, IndexFileBytes(log->making), head->checks};
  } else {
    (void)logIndexFail(res, path, error, size);
  }
  LogClose(log);
  return res;
}

IndexFile LogKnown(Log log)
{
  return log->files == 1 ? log->known : NULL;
}

/* logTold -- for tdestroy: a place in log->told has no memory of its own */
static void logTold(void *place)
{
  UNUSED(place);
}

void LogClose(Log log)
{
  Index i;

  for (i = 0; i < log->files; ++i) {
    if (log->file[i] != NULL)
      FileClose(log->file[i]);
    free(log->file[i]);
    free(log->path[i]);
  }
  free(log->file);
  free(log->path);
  IndexFree(&log->index);
  DamagedRangesFree(&log->regions);
  TableFree(&log->table);
  if (log->making != NULL)
    IndexFileClose(log->making);
  if (log->known != NULL)
    IndexFileClose(log->known);
  tdestroy(log->told, logTold);
  if (log->follow != NULL)
    FollowDestroy(log->follow);
  free(log);
}

/* logKept -- from these ticks on all events of a process are there, and so many before were overwritten; 0: all are
 * there.  Nothing was overwritten behind the log's end, whatever the program has written over that. */
static void logKept(LogSummary summary, Log log, Process process, uint64_t events, uint64_t ticks)
{
  uint64_t time = ticks > 0 ? LogTime(log, process->public.number, ticks) : 0;

  summary->overwritten = CountAdd(summary->overwritten, events);
  if (time > summary->last)
    time = summary->last;
  if (time > summary->kept)
    summary->kept = time;
}

/* logOlder -- the number of events of a stream that were overwritten because only the newest were kept.  If the
 * process counts that itself, this is a part of its number. */
static void logOlder(LogSummary summary, Log log, LogStream stream)
{
  uint64_t events = MissingOlder(stream);

  if (stream->process->public.header.forgotten != 0 && ProcessOver(stream->process))
    return;
  summary->overwrittenMore |= events > 0;
  logKept(summary, log, stream->process, stream->process->public.header.forgotten != 0 ? 0 : events,
          events > 0 ? stream->since : 0);
}

/* logProcessOlder -- the same for a process: by its own count, or by that of the log from which this one was
 * written */
static void logProcessOlder(LogSummary summary, Log log, Process process)
{
  const HeaderStruct *header = &process->public.header;

  logKept(summary, log, process, header->older, header->kept);
  logKept(summary, log, process, header->forgotten, header->forgottenTo);
  summary->overwrittenMore |= header->older > 0 || (header->forgotten > 0 && !ProcessOver(process));
}

/* logUnsent -- which events of a flight recorder's stream are in the log */
static void logUnsent(LogSummary summary, Log log, LogStream stream)
{
  uint64_t events = BlockRunsCount(&stream->runs);
  uint64_t time = events > 0 ? LogTime(log, stream->process->public.number, stream->since) : 0;

  summary->unsent = CountAdd(summary->unsent, events);
  summary->unsentOlder = CountAdd(summary->unsentOlder, MissingOlder(stream));
  if (time > summary->unsentFrom)
    summary->unsentFrom = time;
}

/* logChosen -- the event types that were chosen for a process, after all before it were looked at */
static void logChosen(LogSummary summary, Process process)
{
  const char *chosen = process->public.header.events;

  if (!process->headed || (process->public.header.role[0] != '\0' && *chosen == '\0'))
    return;
  if (summary->chosen == NULL)
    summary->chosen = chosen;
  summary->chosenSome |= strcmp(summary->chosen, chosen) != 0;
  if (*summary->chosen == '\0')
    summary->chosen = chosen;
}

void LogSummarize(LogSummary summary, Log log)
{
  DroppedStruct dropped;
  Process process;
  Index i;

  *summary = log->summary;
  summary->processes = log->table.processes;
  summary->lost = log->reporter.lost;
  summary->passed = log->table.passed;
  summary->gaps = log->reporter.gaps;
  summary->lacks = log->reporter.lacks;
  if (MissingDropped(&dropped, &process, &log->table))
    summary->dropped = dropped.events;
  for (i = 0; i < log->table.streams; ++i) {
    LogStream stream = log->table.stream[i];
    summary->discarded = CountAdd(summary->discarded, stream->discarded);
    if (BlockStreamUnsent(stream->id))
      logUnsent(summary, log, stream);
    else
      logOlder(summary, log, stream);
  }
  for (i = 0; i < log->table.processes; ++i) {
    process = log->table.process[i];
    summary->discarded = CountAdd(CountAdd(summary->discarded, process->unseen), ProcessLost(process));
    logProcessOlder(summary, log, process);
    logChosen(summary, process);
    if (process->public.header.stopped != 0 && process->public.header.role[0] != '\0')
      summary->stopped = LogTime(log, i, process->public.header.stopped);
  }
  if (summary->chosen == NULL)
    summary->chosen = "";
}

void LogDiscards(Log log, void (*hook)(void *data, const LogDiscardStruct *discard), void *data)
{
  LogDiscardStruct discard = {.stream = TRUE};
  Index i;

  for (i = 0; i < log->table.streams; ++i) {
    LogStream stream = log->table.stream[i];
    discard.process = &stream->process->public;
    discard.thread = stream->thread;
    discard.kind = stream->kind;
    discard.events = stream->discarded;
    if (discard.events > 0)
      hook(data, &discard);
  }
  for (i = 0; i < log->table.processes; ++i) {
    Process process = log->table.process[i];
    discard = (LogDiscardStruct){.process = &process->public,
                                 .events = CountAdd(process->unseen, ProcessLost(process))};
    if (discard.events > 0)
      hook(data, &discard);
  }
}

uint64_t LogTime(Log log, Index i, uint64_t ticks)
{
  const ClockStruct *clock = ClockResolve(log->table.process[i]->clock);
  uint64_t first = ClockFine(clock, clock->min), time = log->origin + (first >> ClockFineSHIFT), before;

  if (ticks >= clock->min)
    return log->origin + (ClockFine(clock, ticks) >> ClockFineSHIFT);
  /* Before the clock's line begins: extend it backwards. */
  before = (ClockFine(clock, clock->min + (clock->min - ticks)) - first) >> ClockFineSHIFT;
  return before < time ? time - before : 0;
}

uint64_t LogProcessNewest(Log log, Index i)
{
  return log->table.process[i]->newest == 0 ? 0 : LogTime(log, i, log->table.process[i]->newest);
}

Count LogProcesses(Log log)
{
  return log->table.processes;
}

LogProcess LogProcessAt(Log log, Index i)
{
  AVER(i < log->table.processes);
  return &log->table.process[i]->public;
}

LogProcess LogProcessFind(Log log, uint64_t identity)
{
  Process process = TableProcessFind(&log->table, identity);

  return process != NULL ? &process->public : NULL;
}

uint32_t LogKindsThere(Log log)
{
  uint32_t mask = 0;
  Index i;

  for (i = 0; log->follow == NULL && i < log->table.streams; ++i)
    if (log->table.stream[i]->kind < 32)
      mask |= (uint32_t)1 << log->table.stream[i]->kind;
  return mask;
}
