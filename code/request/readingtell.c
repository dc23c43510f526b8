/* readingtell.c -- what a pass over a traceset has to tell, each thing once however many passes come to it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/reading.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/* ---- Which blocks' damage has been told ---- */

enum { toldCapacityMIN = 64 };

/* toldSlot -- where `key`, which is not 0, is or would be */
static uint64_t *toldSlot(uint64_t *slot, Count capacity, uint64_t key)
{
  Index i = (Index)(key * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);

  while (slot[i] != 0 && slot[i] != key)
    i = (i + 1) & (capacity - 1);
  return &slot[i];
}

static Bool toldGrow(Told told)
{
  Count capacity = told->capacity == 0 ? toldCapacityMIN : told->capacity * 2;
  uint64_t *slot = calloc(capacity, sizeof *slot);
  Index i;

  if (slot == NULL)
    return FALSE;
  for (i = 0; i < told->capacity; ++i)
    if (told->slot[i] != 0)
      *toldSlot(slot, capacity, told->slot[i]) = told->slot[i];
  free(told->slot);
  told->slot = slot;
  told->capacity = capacity;
  return TRUE;
}

/* toldAdd -- FALSE: it was there.  Where memory is short everything is new. */
static Bool toldAdd(Told told, uint64_t place)
{
  uint64_t *slot, key = place + 1;

  if (told->count >= told->capacity * 2 / 3 && !toldGrow(told))
    return TRUE;
  slot = toldSlot(told->slot, told->capacity, key);
  if (*slot == key)
    return FALSE;
  *slot = key;
  ++told->count;
  return TRUE;
}

/* ---- Gaps ---- */

/* In the highest bits of a place, of which a file's number leaves four. */
enum { readingToldUNKNOWN = 1, readingToldORPHAN, readingToldCONTRARY };

/* readingNew -- has nobody told this of the block at `place` yet? */
static Bool readingNew(Reading reading, uint64_t place, uint64_t what)
{
  return reading->reporter->telling && toldAdd(&reading->log->told, place | what << 60);
}

/* readingGap -- whom the pass works for is told, each time */
static void readingGap(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact)
{
  LogGapStruct gap = {.path = reading->log->path[IndexPlaceFile(place)], .offset = IndexPlaceOffset(place),
                      .what = what, .lost = lost};

  gap.exact = exact;
  if (reading->client.gap != NULL)
    reading->client.gap(reading->client.data, &gap);
}

void ReadingTell(Reading reading, uint64_t place, const char *what, uint64_t lost, int exact)
{
  readingGap(reading, place, what, lost, exact);
  if (readingNew(reading, place, 0))
    ReporterGap(reading->reporter, place, what, lost, exact);
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
    ReadingTell(reading, failure->place, failure->what, failure->count > had ? failure->count - had : 0,
                LogLostEXACTLY);
    ReadingFailureForget(reading, its);
  }
}

void ReadingTellFailures(Reading reading)
{
  Index i;

  for (i = 0; i < reading->streams && reading->failures > 0 && reading->partials == NULL; ++i)
    ReadingFailureTell(reading, &reading->stream[i], 0);
}

void ReadingFailureSet(Reading reading, ReadingStream its, const IndexEntryStruct *entry, const char *what,
                       uint32_t count)
{
  ReadingFailure failure = &its->failure;

  if (failure->what != NULL && failure->count >= count)
    return; /* of copies that all fail, the first and longest is told */
  reading->failures += failure->what == NULL;
  failure->place = entry->place;
  failure->first = entry->first;
  failure->sequence = entry->sequence;
  failure->what = what;
  failure->count = count;
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

/* readingContraryOf -- what is remembered of such blocks in two files; NULL: no memory */
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
    ReporterGap(reading->reporter, entry->place, what, entry->count, LogLostABOUT);
    return;
  }
  ++contrary->blocks;
  contrary->events += entry->count;
}

/* readingContraryTell -- tell of a process's blocks that contradict others: a line for each pair of files */
static void readingContraryTell(Reading reading, Process process)
{
  ProcessContrary contrary;

  while ((contrary = process->contrary) != NULL) {
    char what[1024]; /* a path that is longer is cut */
    process->contrary = contrary->next;
    (void)snprintf(what, sizeof what, "from here on: %llu block%s of process %u with other events than in %s",
                   (unsigned long long)contrary->blocks, TextPlural(contrary->blocks), ProcessNumber(process),
                   reading->log->path[contrary->other]);
    ReporterGap(reading->reporter, contrary->place, what, contrary->events, LogLostABOUT);
    free(contrary);
  }
}

void ReadingMissing(Reading reading, Stream stream, const IndexEntryStruct *entry)
{
  ReadingStream its = ReadingStreamOf(reading, stream);
  Bool behind = its->met && entry->sequence > its->sequence + 1, exact;
  uint64_t lost;

  if (!its->met || entry->sequence > its->sequence)
    its->sequence = entry->sequence;
  its->met = TRUE;
  if (behind && reading->client.gap != NULL &&
      TallyBehind(&lost, &exact, &stream->tally, entry->sequence, stream->unsent))
    readingGap(reading, entry->place, "blocks before this one are missing", lost,
               exact ? LogLostEXACTLY : LogLostATLEAST);
}

/* readingOmittedTell -- tell what of a process was left out */
static void readingOmittedTell(Reading reading, Process process)
{
  char what[120];

  if (process->orphans.events > 0) {
    (void)snprintf(what, sizeof what, process->headed ? "from here on: no header block has the registry of process %u"
                                                      : "from here on: no header block of process %u was found",
                   ProcessNumber(process));
    ReporterGap(reading->reporter, process->orphans.place, what, process->orphans.events, LogLostEXACTLY);
  }
  if (process->unknown.events > 0) {
    (void)snprintf(what, sizeof what, "from here on: no header block of process %u has event code 0x%04x%s",
                   ProcessNumber(process), process->unknown.code, process->unknown.events > 1 ? " or such" : "");
    ReporterGap(reading->reporter, process->unknown.place, what, process->unknown.events, LogLostEXACTLY);
  }
  process->orphans.events = process->unknown.events = 0;
}

/* readingDropped -- tell of what was cut away from the logs on purpose */
static void readingDropped(Reading reading)
{
  Log log = reading->log;
  DroppedStruct dropped;
  Process process;
  uint64_t time, since;

  if (!GapsDropped(&dropped, &process, &log->table))
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
  GapsTell(&log->reporter, &log->regions, &log->table, log->follow != NULL);
}

void ReadingTellEnd(Reading reading)
{
  Log log = reading->log;
  Index i;

  log->reporter.telling = !reading->client.quiet;
  reading->client.gap = NULL; /* nobody is served any more */
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
