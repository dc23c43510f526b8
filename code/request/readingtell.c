/* readingtell.c -- what a pass over a traceset has to tell, each thing once however many passes come to it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/reading.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"

ReadingStream ReadingStreamOf(Reading reading, LogStream stream)
{
  Count streams = reading->log->table.streams;
  ReadingStream more;

  if (LIKELY(stream->number < reading->streams))
    return &reading->stream[stream->number];
  more = realloc(reading->stream, streams * sizeof *more);
  if (more == NULL)
    return NULL;
  memset(more + reading->streams, 0, (streams - reading->streams) * sizeof *more);
  reading->stream = more;
  reading->streams = streams;
  return &more[stream->number];
}

/* In the highest bits of a place, where a file's number leaves four. */
enum { readingToldUNKNOWN = 1, readingToldORPHAN, readingToldCONTRARY };

static int readingToldCompare(const void *a, const void *b)
{
  return (Word)a < (Word)b ? -1 : (Word)a > (Word)b;
}

/* readingNew -- is this the first report about the block at `place`, in all passes?  Without memory every one is. */
static Bool readingNew(Reading reading, uint64_t place, uint64_t what)
{
  const void *key = (const void *)(place | what << 60);
  void **told = &reading->log->told;

  if (!reading->reporter->telling || tfind(key, told, readingToldCompare) != NULL)
    return FALSE;
  (void)tsearch(key, told, readingToldCompare);
  return TRUE;
}

/* readingGap -- report to the client of the pass, each time */
static void readingGap(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact)
{
  LogGapStruct gap = ReporterGapOf(reading->reporter, place, what, lost, exact);

  if (reading->client.gap != NULL)
    reading->client.gap(reading->client.data, &gap);
}

void ReadingTell(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact)
{
  readingGap(reading, place, what, lost, exact);
  if (readingNew(reading, place, 0))
    ReporterGap(reading->reporter, place, lost, exact, "%s", what);
}

void ReadingFailureForget(Reading reading, ReadingStream its)
{
  its->failure.what = NULL;
  --reading->failures;
}

void ReadingFailureTell(Reading reading, ReadingStream its, uint32_t had)
{
  ReadingFailure failure = &its->failure;

  if (failure->what != NULL) {
    ReadingTell(reading, failure->entry.place, failure->what, failure->lost > had ? failure->lost - had : 0,
                LogLostEXACTLY);
    ReadingFailureForget(reading, its);
  }
}

static void readingLost(void *data, uint64_t place, const char *what, uint32_t lost)
{
  ReadingTell(data, place, what, lost, LogLostEXACTLY);
}

void ReadingTellFailures(Reading reading)
{
  Index i;

  if (reading->partials != NULL)
    PartialsTell(reading->partials, readingLost, reading);
  for (i = 0; i < reading->streams && reading->failures > 0; ++i)
    ReadingFailureTell(reading, &reading->stream[i], 0);
}

void ReadingFailureSet(Reading reading, ReadingStream its, const IndexEntryStruct *entry, const char *what,
                       uint32_t lost)
{
  AVER(what != NULL);
  if (its->failure.what != NULL && its->failure.lost >= lost)
    return; /* of copies that all fail, the first and longest is reported */
  reading->failures += its->failure.what == NULL;
  its->failure = (ReadingFailureStruct){*entry, what, lost};
}

void ReadingOmit(Reading reading, ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events, uint16_t code)
{
  readingGap(reading, entry->place,
             code != 0 ? "events that no header block of the process has"
                       : "no header block of the process, or of its registry, was found", events, LogLostEXACTLY);
  if (!readingNew(reading, entry->place, code != 0 ? readingToldUNKNOWN : readingToldORPHAN))
    return;
  if (omitted->events == 0) {
    omitted->place = entry->place;
    omitted->code = code;
  }
  omitted->events += events;
}

/* readingContraryOf -- the record of contradicting blocks of two files; NULL: no memory */
static ProcessContrary readingContraryOf(Process process, Index other, uint64_t place)
{
  ProcessContrary contrary = process->contrary;

  while (contrary != NULL &&
         (contrary->other != other || IndexPlaceFile(contrary->place) != IndexPlaceFile(place)))
    contrary = contrary->next;
  if (contrary != NULL || (contrary = malloc(sizeof *contrary)) == NULL)
    return contrary;
  *contrary = (ProcessContraryStruct){.next = process->contrary, .other = other, .place = place};
  return process->contrary = contrary;
}

void ReadingContrary(Reading reading, Process process, Index other, const IndexEntryStruct *entry)
{
  static const char what[] = "another block with this time and number has other events";
  ProcessContrary contrary;

  readingGap(reading, entry->place, what, entry->count, LogLostABOUT);
  if (!readingNew(reading, entry->place, readingToldCONTRARY))
    return;
  contrary = readingContraryOf(process, other, entry->place);
  if (contrary == NULL) {
    ReporterGap(reading->reporter, entry->place, entry->count, LogLostABOUT, "%s", what);
    return;
  }
  ++contrary->blocks;
  contrary->events += entry->count;
}

/* readingContraryTell -- report a process's blocks that contradict each other: a line for each pair of files */
static void readingContraryTell(Reading reading, Process process)
{
  ProcessContrary contrary;

  while ((contrary = process->contrary) != NULL) {
    process->contrary = contrary->next;
    ReporterGap(reading->reporter, contrary->place, contrary->events, LogLostABOUT,
                "from here on: %llu block%s of process %u with other events than in %s",
                (unsigned long long)contrary->blocks, TextPlural(contrary->blocks), ProcessNumber(process),
                reading->log->path[contrary->other]);
    free(contrary);
  }
}

void ReadingMissing(Reading reading, LogStream stream, const IndexEntryStruct *entry)
{
  ReadingStream its = ReadingStreamOf(reading, stream);
  Bool behind = its->met && entry->sequence > its->sequence + 1, exact;
  BlockRun next = behind && reading->client.gap != NULL ? BlockRunsBegins(&stream->runs, entry->sequence) : NULL;
  uint64_t lost;

  if (!its->met || entry->sequence > its->sequence)
    its->sequence = entry->sequence;
  its->met = TRUE;
  if (next != NULL && next > stream->runs.run && BlockRunsMissing(&lost, &exact, &stream->runs, next, stream->unsent))
    readingGap(reading, entry->place, "blocks before this one are missing", lost,
               exact ? LogLostEXACTLY : LogLostATLEAST);
}

/* readingOmittedTell -- report the events of a process that could not be read */
static void readingOmittedTell(Reading reading, Process process)
{
  if (process->orphans.events > 0)
    ReporterGap(reading->reporter, process->orphans.place, process->orphans.events, LogLostEXACTLY,
                process->headed ? "from here on: no header block has the registry of process %u"
                                : "from here on: no header block of process %u was found", ProcessNumber(process));
  if (process->unknown.events > 0)
    ReporterGap(reading->reporter, process->unknown.place, process->unknown.events, LogLostEXACTLY,
                "from here on: no header block of process %u has event code 0x%04x%s", ProcessNumber(process),
                process->unknown.code, process->unknown.events > 1 ? " or such" : "");
  process->orphans.events = process->unknown.events = 0;
}

/* readingDropped -- report what was dropped from the logs on purpose */
static void readingDropped(Reading reading)
{
  Log log = reading->log;
  DroppedStruct dropped;
  Process process;
  uint64_t time, since;

  if (!MissingDropped(&dropped, &process, &log->table))
    return;
  time = log->origin + (ClockFine(ClockResolve(process->clock), dropped.ticks) >> ClockFineSHIFT);
  since = time > log->summary.first ? time - log->summary.first : 0;
  ReporterNote(reading->reporter, "%s: %llu block%s with %llu event%s from before %llu.%03llu s %s dropped on purpose",
               log->path[process->file], (unsigned long long)dropped.blocks, TextPlural(dropped.blocks),
               (unsigned long long)dropped.events, TextPlural(dropped.events),
               (unsigned long long)(since / 1000000000), (unsigned long long)(since / 1000000 % 1000),
               dropped.blocks == 1 ? "was" : "were");
}

void ReadingTellScanned(Reading reading)
{
  Log log = reading->log;

  if (reading->client.quiet || log->gapsTold)
    return;
  log->gapsTold = TRUE;
  log->reporter.telling = TRUE;
  readingDropped(reading);
  MissingTell(&log->reporter, &log->regions, &log->table, log->follow != NULL);
}

void ReadingTellEnd(Reading reading)
{
  Log log = reading->log;
  Index i;

  log->reporter.telling = !reading->client.quiet;
  reading->client.gap = NULL; /* no request is served any more */
  for (i = 0; i < reading->streams; ++i)
    ReadingFailureTell(reading, &reading->stream[i], 0);
  for (i = 0; i < log->table.processes && log->reporter.telling; ++i) {
    readingOmittedTell(reading, log->table.process[i]);
    readingContraryTell(reading, log->table.process[i]);
  }
  if (reading->dropped > 0 && log->reporter.telling)
    ReporterNote(reading->reporter, "%llu event%s dropped on purpose while the log was read",
                 (unsigned long long)reading->dropped, reading->dropped == 1 ? " was" : "s were");
}
