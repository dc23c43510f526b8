/* logchecktest.c -- the checks of the reader's structures see what is wrong with them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In structures that a log was read into, or that are filled here, one thing at a time is made wrong.
 */
#include "log/index.h"
#include "log/load.h"
#include "log/log.h"
#include "request/traceset.h"
#include "tap.h"

static const char *const path = "test/good/threads.paw";

static void testBlockRuns(void)
{
  BlockRunsStruct runs = {0};
  BlockRun run;

  (void)BlockRunsAdd(&runs, 0, 0, 10, 0, FALSE, FALSE);
  (void)BlockRunsAdd(&runs, 4, 50, 10, 128, FALSE, FALSE);
  (void)BlockRunsAdd(&runs, 5, 70, 10, 256, FALSE, FALSE);
  TapIs(runs.count, 3, "blocks are missing between two runs, and events between two others");
  run = runs.run;
  PLANT(runs.count, runs.capacity + 1, BlockRunsCheck(&runs), "what breaks this: there are no more runs than room");
  PLANT(run[1].to, run[1].from, BlockRunsCheck(&runs), "what breaks this: no run is empty");
  PLANT(run[0].to, run[1].from + 1, BlockRunsCheck(&runs), "what breaks this: runs do not overlap");
  PLANT(run[2].before, run[1].after, BlockRunsCheck(&runs),
        "what breaks this: runs between which nothing is missing are one");
  PLANT(run[1].after, BlockBeforeUNKNOWN, BlockRunsCheck(&runs),
        "what breaks this: nor are there two where that is not known");
  BlockRunsFree(&runs);
}

static void testDamage(void)
{
  DamagedRangeStruct region[] = {{.place = 100, .end = 200, .what = "one"}, {.place = 200, .end = 300, .what = "two"}};
  DamagedRangesStruct regions = {0};

  (void)DamagedRangesAdd(&regions, &region[0]);
  (void)DamagedRangesAdd(&regions, &region[1]);
  PLANT(regions.count, regions.capacity + 1, DamagedRangesCheck(&regions),
        "what breaks this: there are no more regions than room");
  PLANT(regions.capacity, (Count)DamagedRangesMAX * 2, DamagedRangesCheck(&regions),
        "what breaks this: there is not room for any number");
  PLANT(regions.region[1].end, 200u, DamagedRangesCheck(&regions), "what breaks this: no region is empty");
  PLANT(regions.region[1].end, IndexPlace(1, 300), DamagedRangesCheck(&regions),
        "what breaks this: a region is in one file");
  PLANT(regions.region[0].end, 201u, DamagedRangesCheck(&regions), "what breaks this: regions do not overlap");
  DamagedRangesFree(&regions);
}

static void testIndex(TheIndex index)
{
  IndexPiece piece = &index->piece[0];

  TapOk(piece->count > 1, "the index has several entries");
  PLANT(index->entries, index->capacity + 1, IndexCheck(index),
        "what breaks this: an index has no more entries than room");
  PLANT(index->capacity, (Count)IndexRunMAX * 2, IndexCheck(index), "what breaks this: in memory it has one run");
  PLANT(index->spilledPieces, index->pieces + 1, IndexCheck(index),
        "what breaks this: pieces that were spilled are pieces");
  PLANT(index->fd, 0, IndexCheck(index), "what breaks this: only what was spilled has a file");
  PLANT(piece->count, index->entries + 1, IndexCheck(index), "what breaks this: a piece is part of the run");
  PLANT(index->entry[0].first, index->entry[piece->count - 1].last + 1, IndexCheck(index),
        "what breaks this: entries are in order");
  PLANT(piece->reach[0], index->entry[0].first - 1, IndexCheck(index),
        "what breaks this: a group reaches as far as each of its entries");
}

static void testTable(Table table)
{
  Process process = table->process[table->processes - 1];
  LogStream stream = table->process[0]->first;

  TapOk(process->headed && stream != NULL && stream->next != NULL, "the table has processes, and one with two streams");
  PLANT(table->slots, table->processes + table->streams, TableCheck(table),
        "what breaks this: half of the slots are empty");
  PLANT(process->public.number, table->processes, TableCheck(table), "what breaks this: processes are numbered");
  PLANT(process->public.header.identity, 1u, TableCheck(table), "what breaks this: a process is found by its identity");
  PLANT(process->types, NULL, TableCheck(table), "what breaks this: who has a header has types");
  PLANT(process->headed, FALSE, TableCheck(table), "what breaks this: and nobody else");
  PLANT(process->public.registry, NULL, TableCheck(table),
        "what breaks this: a process's registry is that of its types");
  PLANT(process->public.header.widths.word, 2, TableCheck(table), "what breaks this: and so are its widths");
  PLANT(stream->number, table->streams, TableCheck(table), "what breaks this: streams are numbered");
  PLANT(stream->id, 4711u, TableCheck(table), "what breaks this: a stream is found by its number in the process");
  PLANT(stream->next->previous, NULL, TableCheck(table), "what breaks this: the streams of a process are a list");
  PLANT(stream->process->last, stream, TableCheck(table), "what breaks this: which has an end");
  PLANT(stream->runs.count, (Count)BlockRunsMAX + 1, TableCheck(table),
        "what breaks this: the runs of a stream are sound");
  PLANT(table->clock[0]->number, table->clocks, TableCheck(table), "what breaks this: clocks are numbered");
  PLANT(table->types.count, table->types.count + 1, TableCheck(table), "what breaks this: the registries are sound");
}

static void testClock(Clock clock)
{
  ClockStruct other = {0};

  PLANT(clock->sync.early.ticks, clock->sync.late.ticks + 1, ClockCheck(clock),
        "what breaks this: a clock's relations are in order");
  PLANT(clock->seal.early.ticks, clock->seal.late.ticks + 1, ClockCheck(clock),
        "what breaks this: those of its blocks, too");
  PLANT(clock->alias, &other, ClockCheck(clock), "what breaks this: a clock that is another one has no line");
  PLANT(clock->multiplier, 0u, ClockCheck(clock), "what breaks this: time goes on");
  PLANT(clock->shift, 65u, ClockCheck(clock), "what breaks this: a rate has 64 bits");
  PLANT(clock->min, UINT64_MAX, ClockCheck(clock), "what breaks this: a line begins somewhere");
  PLANT(clock->limit, UINT64_MAX, ClockCheck(clock), "what breaks this: no time overflows");
}

static void testTypes(TypesTree tree)
{
  Types types = tree->newest;

  PLANT(types->number, tree->count, TypesCheck(tree), "what breaks this: registries are numbered");
  PLANT(tree->count, 0u, TypesCheck(tree), "what breaks this: and counted");
  PLANT(types->name.crc, types->name.crc + 1, TypesCheck(tree),
        "what breaks this: a registry is found by the name of its text");
  PLANT(types->registry->capacity, types->registry->count - 1, TypesCheck(tree),
        "what breaks this: it has room for its types");
  PLANT(types->parent, types, TypesCheck(tree), "what breaks this: a registry is made behind its parent");
}

static void testLoaded(Log log)
{
  const IndexEntryStruct *entry = log->index.entry;
  LoaderStruct loader;
  LoadReportStruct report;
  SpillStruct spill;
  Loaded loaded = NULL;

  while (entry->count < 3 && entry < log->index.entry + log->index.entries - 1)
    ++entry;
  SpillInit(&spill);
  if (LoaderInit(&loader, &log->table, log->file) != ResOK ||
      LoaderLoad(&loaded, &report, &loader, entry, NULL) != ResOK || loaded->count < 3) {
    TapOk(FALSE, "a block of three events is loaded");
    return;
  }
  PLANT(loaded->next, loaded->count + 1, LoadedCheck(loaded), "what breaks this: no event is next behind the last");
  PLANT(loaded->item[1].fine, loaded->item[0].fine - 1, LoadedCheck(loaded), "what breaks this: events rise in time");
  PLANT(loaded->item[1], loaded->item[0], LoadedCheck(loaded), "what breaks this: no event is there twice");
  PLANT(loaded->size, 0u, LoadedCheck(loaded), "what breaks this: memory of a block that was not spilled is counted");
  PLANT(loaded->spilled, TRUE, LoadedCheck(loaded), "what is spilled has a window");
  TapIs(SpillPut(&spill, &loader, &loaded), ResOK, "it is spilled");
  PLANT(loaded->end, loaded->at - 1, LoadedCheck(loaded), "what breaks this: its window is within its place");
  PLANT(spill.free, spill.places + 1, SpillCheck(&spill), "what breaks this: no more places are free than there are");
  PLANT(spill.places, (uint32_t)SpillPlacesMAX + 1, SpillCheck(&spill), "what breaks this: there are not any number");
  PLANT(spill.capacity, 0u, SpillCheck(&spill), "what breaks this: each that is freed can be remembered");
  PLANT(spill.fd, -1, SpillCheck(&spill), "what breaks this: places are in a file");
  SpillRelease(&spill, loaded);
  PLANT(spill.freed[0], 1u, SpillCheck(&spill), "what is free is a place");
  LoaderFree(&loader, loaded);
  SpillFinish(&spill);
  LoaderFinish(&loader);
}

static void testLog(Log log)
{
  PLANT(log->files, 0u, LogCheck(log), "what breaks this: a log has a file");
  PLANT(log->reporter.memory, log->files, LogCheck(log), "what was taken from memory is one of them");
  PLANT(log->file[0], NULL, LogCheck(log), "what breaks this: each is there,");
  PLANT(log->path[0], NULL, LogCheck(log), "what breaks this: has a name,");
  PLANT(log->file[0]->fd, -1, LogCheck(log), "what breaks this: and is open");
  PLANT(log->regions.count, log->regions.capacity + 1, LogCheck(log), "what breaks this: its regions are sound,");
  PLANT(log->index.entries, log->index.capacity + 1, LogCheck(log), "what breaks this: so is its index,");
  PLANT(log->table.slots, 1u, LogCheck(log), "what breaks this: and its table");
}

int main(void)
{
  LogHooksStruct hooks = {0};
  char error[256];
  Log log;

  testBlockRuns();
  testDamage();
  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK) {
    TapOk(FALSE, "%s", error);
    return TapDone();
  }
  testIndex(&log->index);
  testTable(&log->table);
  testClock(ClockResolve(log->table.process[0]->clock));
  testTypes(&log->table.types);
  testLoaded(log);
  testLog(log);
  LogClose(log);
  return TapDone();
}
