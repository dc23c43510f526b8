/* recoverchecktest.c -- what takes orphaned regions, cores and the ends of logs notices what is wrong with it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It includes the files that it tests, to spoil what they keep to themselves.
 */
#include "recover/core.c"
#include "recover/orphanreader.c"
#include "recover/recoverlog.c"

#include "tap.h"

static void testRegion(void)
{
  static OrphanRegionStruct region = {.fd = 3, .to = 4, .taken = TRUE, .hole = 4096, .data = 8192};

  region.header.slots = RegionSlotsMAX;
  TapOk(OrphanRegionCheck(&region), "a region that is read passes its check");
  PLANT(region.fd, -1, OrphanRegionCheck(&region), "that it has no file");
  PLANT(region.header.slots, RegionSlotsMAX + 1, OrphanRegionCheck(&region), "that it has more slots than a region has");
  PLANT(region.data, 4095, OrphanRegionCheck(&region), "that a hole ends before it begins");
  PLANT(region.to, -1, OrphanRegionCheck(&region), "that what was taken was written nowhere");
}

static void testReader(void)
{
  orphanRecordingStruct recordings[2] = {{.recording = 5, .file = 0}, {.recording = 9, .file = 1}};
  static orphanStruct orphan = {.files = 2, .recordings = 2, .shortened = 1, .cut = 7};

  orphan.recording = recordings;
  orphan.finding[orphanTAKEN].processes = 1;
  TapOk(orphanCheck(&orphan), "a reader of orphaned regions passes its check");
  PLANT(orphan.seen, 1, orphanCheck(&orphan), "that it has seen more than it has room to remember");
  PLANT(orphan.shortened, 2, orphanCheck(&orphan), "that a log was cut that is not there");
  PLANT(recordings[1].file, 2, orphanCheck(&orphan), "that a recording is in no log");
  PLANT(recordings[1].recording, 5, orphanCheck(&orphan), "that a recording is there twice");
  PLANT(recordings[0].recording, 10, orphanCheck(&orphan), "that recordings are not in order");
  PLANT(orphan.finding[orphanTAKEN].file, 2, orphanCheck(&orphan), "that something was found of no log");
}

static void testRecover(void)
{
  Recover recover = recoverMake(-1, FALSE, "run.paw", 1, 0);
  recoverHeldStruct held[2] = {{.recording = 1}, {.recording = 2}};
  Process process;

  if (recover == NULL || TableProcess(&process, &recover->table, 77) != ResOK)
    exit(1);
  recover->held = held;
  recover->helds = recover->capacity = 2;
  TapOk(recoverCheck(recover), "the recovery of a log passes its check");
  PLANT(recover->helds, 3, recoverCheck(recover), "that it holds more regions than it has room for");
  PLANT(recover->keep, TRUE, recoverCheck(recover), "that it holds regions where all stay");
  PLANT(held[1].recording, 1, recoverCheck(recover), "that it holds two regions of a recording");
  PLANT(process->public.number, 1, recoverCheck(recover), "that its table is not sound");
  recover->scanned = TRUE;
  PLANT(recover->file.fd, -1, recoverCheck(recover), "that it has scanned nothing");
  recover->scanned = FALSE;
  recover->held = NULL;
  recoverFree(recover);
}

static void testCore(void)
{
  static coreStruct core = {.processes = 2, .headers = 1};

  core.process[0].identity = 5;
  core.process[1].identity = 6;
  core.header[0].length = HeaderMAX;
  TapOk(coreCheck(&core), "what was found in a core passes its check");
  PLANT(core.processes, coreProcessesMAX + 1, coreCheck(&core), "that there are more processes than places");
  PLANT(core.headers, coreHeadersMAX + 1, coreCheck(&core), "that there are more header blocks than places");
  PLANT(core.process[1].identity, 5, coreCheck(&core), "that a process is there twice");
  PLANT(core.header[0].length, HeaderMAX + 1, coreCheck(&core), "that a header block is longer than one can be");
}

static void testScan(void)
{
  static ScanStruct scan;
  static TableStruct table;
  static DamagedRangesStruct regions;
  static ReporterStruct reporter;
  static FileStruct file = {.windowSize = FileWindowSIZE};
  static char index[1];

  scan = (ScanStruct){.table = &table, .regions = &regions, .reporter = &reporter, .file = &file};
  scan.known = (IndexFile)(void *)index;
  TapOk(ScanCheck(&scan), "a scan passes its check");
  PLANT(scan.table, NULL, ScanCheck(&scan), "that it fills no table");
  PLANT(scan.regions, NULL, ScanCheck(&scan), "that it has no place for damage");
  PLANT(scan.reporter, NULL, ScanCheck(&scan), "that it tells nobody");
  PLANT(scan.file, NULL, ScanCheck(&scan), "that it scans no file");
  PLANT(scan.making, scan.known, ScanCheck(&scan), "that an index file is read and made");
  PLANT(file.windowSize, FileWindowSIZE + 1, ScanCheck(&scan), "that the window of its file is too large");
}

int main(void)
{
  testRegion();
  testReader();
  testRecover();
  testCore();
  testScan();
  return TapDone();
}
