/* reading.c -- a pass over a traceset: its beginning and end, and what it has to tell
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"

/* ReadingFailureTell -- the block that failed last has no sound copy; `had` of its events were had from a worse one */
void ReadingFailureTell(Reading reading, Stream stream, uint32_t had)
{
  StreamFailureStruct *failure = &stream->failure;

  if (failure->what != NULL) {
    TellerGap(reading->teller, failure->place, failure->what, failure->count > had ? failure->count - had : 0,
              LogLostEXACTLY);
    failure->what = NULL;
  }
}

void ReadingFailureSet(Stream stream, const IndexEntryStruct *entry, const char *what, uint32_t count)
{
  StreamFailureStruct *failure = &stream->failure;

  if (failure->what != NULL && failure->count >= count)
    return; /* of copies that all fail, the first and longest is told */
  failure->place = entry->place;
  failure->first = entry->first;
  failure->sequence = entry->sequence;
  failure->what = what;
  failure->count = count;
}

void ReadingOmit(ProcessOmitted omitted, const IndexEntryStruct *entry, uint64_t events, uint16_t code)
{
  if (omitted->events == 0) {
    omitted->place = entry->place;
    omitted->code = code;
  }
  omitted->events += events;
}

/* readingOmittedTell -- tell what of a process was left out */
static void readingOmittedTell(Reading reading, Process process)
{
  char what[120];

  if (process->orphans.events > 0) {
    (void)snprintf(what, sizeof what, "from here on: no header block of process %u was found", process->pid);
    TellerGap(reading->teller, process->orphans.place, what, process->orphans.events, LogLostEXACTLY);
  }
  if (process->unknown.events > 0) {
    (void)snprintf(what, sizeof what, "from here on: no header block of process %u has event code 0x%04x%s",
                   process->pid, process->unknown.code, process->unknown.events > 1 ? " or such" : "");
    TellerGap(reading->teller, process->unknown.place, what, process->unknown.events, LogLostEXACTLY);
  }
  process->orphans.events = process->unknown.events = 0;
}

/* readingFine -- wall time as fine time, rounded up */
static uint64_t readingFine(Log log, uint64_t time)
{
  if (time <= log->origin)
    return 0;
  return time - log->origin > UINT64_MAX >> ClockFineSHIFT ? UINT64_MAX : (time - log->origin) << ClockFineSHIFT;
}

/* readingChoose -- ask once for each type of a process whether it is wanted */
static Res readingChoose(Reading reading, Process process)
{
  LogRequest request = reading->request;
  void *data = request->chooseData != NULL ? request->chooseData : request->data;
  Registry registry = process->public.registry;
  Index t;

  free(process->wanted);
  process->wanted = NULL;
  process->chosen = registry;
  if (request->choose == NULL || registry->count == 0)
    return ResOK;
  process->wanted = malloc(registry->count);
  if (process->wanted == NULL)
    return ResMEMORY;
  for (t = 0; t < registry->count; ++t)
    process->wanted[t] = request->choose(data, &process->public, &registry->types[t]) != FALSE;
  return ResOK;
}

Res ReadingChoose(Reading reading)
{
  Table table = &reading->log->table;
  Index i;
  Res res = ResOK;

  for (i = 0; i < table->processes && res == ResOK; ++i)
    if (table->process[i]->chosen != table->process[i]->public.registry)
      res = readingChoose(reading, table->process[i]);
  return res;
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
  TellerNote(reading->teller, "%s: %llu blocks with %llu events from before %llu.%03llu s were dropped on purpose",
             log->path[process->file], (unsigned long long)dropped.blocks, (unsigned long long)dropped.events,
             (unsigned long long)(since / 1000000000), (unsigned long long)(since / 1000000 % 1000));
}

Res ReadingBegin(Reading reading, Log log, LogRequest request)
{
  Table table = &log->table;
  Index i;
  Res res;

  memset(reading, 0, sizeof *reading);
  reading->log = log;
  reading->request = request;
  reading->left = request->count;
  reading->ended = request->count == 0;
  reading->until = UINT64_MAX;
  reading->teller = &log->teller;
  AVER(TableCheck(table));
  AVER(RegionsCheck(&log->regions));
  AVER(IndexCheck(&log->index));
  for (i = 0; i < table->streams; ++i) {
    table->stream[i]->read = FALSE;
    table->stream[i]->failure.what = NULL;
  }
  for (i = 0; i < table->processes; ++i)
    table->process[i]->chosen = NULL;
  log->teller.telling = !log->told;
  ParkInit(&reading->park);
  res = LoaderInit(&reading->loader, table, log->file);
  if (res == ResOK)
    res = ReadingChoose(reading);
  reading->loader.from = readingFine(log, request->from);
  reading->loader.to = readingFine(log, request->to);
  if (res == ResOK && log->teller.telling) {
    readingDropped(reading);
    GapsTell(&log->teller, &log->regions, table);
  }
  return res == ResOK ? IndexPassBegin(&reading->pass, &log->index, reading->loader.from) : res;
}

void ReadingEnd(Reading reading)
{
  Log log = reading->log;
  Index i;

  for (i = 0; i < log->table.streams; ++i)
    ReadingFailureTell(reading, log->table.stream[i], 0);
  for (i = 0; i < log->table.processes; ++i)
    readingOmittedTell(reading, log->table.process[i]);
  if (reading->dropped > 0 && log->teller.telling)
    TellerNote(reading->teller, "%llu event%s dropped on purpose while the log was read",
               (unsigned long long)reading->dropped, reading->dropped == 1 ? " was" : "s were");
  ReadingGive(reading);
  QueueFree(&reading->queue);
  IndexPassEnd(&reading->pass);
  ParkFinish(&reading->park);
  LoaderFinish(&reading->loader);
  log->told = TRUE;
}

Res LogRead(Log log, LogRequest request)
{
  ReadingStruct reading;
  Res res = ReadingBegin(&reading, log, request);

  if (res == ResOK)
    res = ReadingMerge(&reading);
  ReadingEnd(&reading);
  return res;
}
