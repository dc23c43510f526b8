/* footprinttest.c -- what is mapped, of processes that end, become others and come back
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/footprint.h"

#include "analyse/spans.h"
#include "heap/heap.h"
#include "logmake.h"
#include "request/request.h"

enum { memoryPAGES = 4096 };

static char path[] = "/tmp/memorytestXXXXXX";
static MakeBlockStruct block;
static MakeProcess collector, process[3];
static MakeStruct make;
static uint64_t sequence[4];

static void memoryBegin(const char *registry)
{
  Index i;

  memset(sequence, 0, sizeof sequence);
  collector = MakeProcessNew(10, 0xc0);
  strcpy(collector->header.role, HeaderRoleCOLLECTOR);
  for (i = 0; i < 3; ++i) /* the second is what the first becomes: it has its number */
    process[i] = MakeProcessForeign(i == 1 ? 20 : 20 + (uint32_t)i, 0xc1 + i, sizeof(Word), FALSE, registry);
  MakeHeader(&make, collector);
  for (i = 0; i < 3; ++i)
    MakeHeader(&make, process[i]);
}

/* memoryOne -- an event of a process, in a block of its own */
static void memoryOne(MakeProcess of, unsigned kind, uint16_t code, uint64_t time, const uint64_t *values,
                      const char *s)
{
  Index i = of == collector ? 3 : of == process[0] ? 0 : of == process[1] ? 1 : 2;

  MakeBlockBegin(&block, of, of->header.pid, kind, sequence[i], time);
  block.header.before = sequence[i]++;
  if (!MakeEvent(&block, code, time, values, s))
    abort();
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
}

static void memoryMap(Index i, uint64_t time, uint64_t page, uint64_t pages)
{
  memoryOne(process[i], EventKindArena, EventMemoryMapCODE, time,
            (uint64_t[]){page * memoryPAGES, pages * memoryPAGES, 3, 2}, NULL);
}

static Heap heap; /* which knows when processes end */

static void memoryOther(void *data, HeapOperation operation)
{
  if (operation->kind == HeapPROCESSEND)
    FootprintEnd(data, operation->process);
}

static Bool memoryHook(LogRequest request, LogEvent event)
{
  HeapEvent(heap, event);
  FootprintEvent(request->data, event);
  return FALSE;
}

/* memoryRead -- the log so far, read; the caller destroys what comes back */
static Footprint memoryRead(Log *logReturn)
{
  static const LogRequestStruct all = LogRequestALL;
  LogHooksStruct hooks = {0};
  const char *paths[] = {path};
  LogRequestStruct request = all;
  char error[512] = "";
  Footprint footprint = NULL;

  MakeWrite(&make, path);
  if (LogOpen(logReturn, paths, 1, &hooks, error, sizeof error) != ResOK ||
      FootprintCreate(&footprint, *logReturn) != ResOK)
    makeFail(error);
  if (HeapCreate(&heap, &(HeapClientStruct){footprint, memoryOther, memoryOther, memoryOther, memoryOther, FALSE},
                 *logReturn) != ResOK)
    makeFail("no heap");
  request.data = footprint;
  request.event = memoryHook;
  TapIs(LogRead(*logReturn, &request), ResOK, "the log is read");
  TapIs(FootprintFinish(footprint), ResOK, "to its end");
  HeapDestroy(heap);
  return footprint;
}

static void memoryDone(Footprint footprint, Log log)
{
  Index i;

  FootprintDestroy(footprint);
  LogClose(log);
  MakeFree(&make);
  MakeProcessFree(collector);
  for (i = 0; i < 3; ++i)
    MakeProcessFree(process[i]);
}

/* testEnds -- a process that becomes another, one that exits, and what is told too late */
static void testEnds(void)
{
  FootprintBytesStruct bytes;
  Footprint footprint;
  Index i = 0;
  Log log;

  memoryBegin(EventRegistryTEXT);
  memoryMap(0, 100, 16, 10);
  memoryMap(2, 110, 16, 5);
  memoryMap(1, 200, 64, 20);                                        /* who was process 0 has ended */
  memoryOne(collector, EventKindSystem, EventProcessExecCODE, 210, (uint64_t[]){20}, "/bin/made");
  memoryMap(1, 220, 90, 1);                                         /* but process 1 has not */
  memoryOne(collector, EventKindSystem, EventProcessRegionCODE, 229, (uint64_t[]){20, 100}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 230, (uint64_t[]){20, 1, 5000, 1, 1, 1, 1, 1}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 231, (uint64_t[]){22, 1, 7000, 1, 1, 1, 1, 1}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessExitCODE, 240, (uint64_t[]){22, 0}, "exit");
  memoryMap(1, 250, 100, 4);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 260, (uint64_t[]){20, 1, 6000, 1, 1, 1, 1, 1}, NULL);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  TapIs(bytes.peak, (21 + 5) * memoryPAGES, "the peak is of those that live together");
  TapIs(bytes.peakTime - bytes.peakTime / 1000 * 1000, 220, "at its time");
  TapIs(bytes.end, (10 + 5 + 25) * memoryPAGES, "the end is that of each");
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  TapIs(bytes.peak, 11900, "resident: the sum of the latest samples, less what is the recording's");
  TapIs(bytes.end, 12900, "and of the last ones");
  for (i = 0; i < 4; ++i) {
    static const uint64_t pages[] = {0, 10, 25, 5};
    bytes = FootprintBytesOf(footprint, FootprintMAPPED, &i);
    TapIs(bytes.peak, pages[LogProcessAt(log, i)->header.identity - 0xc0] * memoryPAGES, "process %zu has its own", i);
  }
  memoryDone(footprint, log);
}

/* testPeak -- a process knows its peak when it ends; of all together that is the peak if no other lives */
static void testPeak(void)
{
  FootprintBytesStruct bytes;
  Footprint footprint;
  Index i = 0;
  Log log;

  memoryBegin(EventRegistryTEXT);
  memoryMap(0, 100, 16, 10);
  memoryMap(2, 110, 16, 5);
  memoryOne(collector, EventKindSystem, EventProcessRegionCODE, 119, (uint64_t[]){20, 100}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 120, (uint64_t[]){20, 1, 5100, 1, 1, 1, 1, 1}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 121, (uint64_t[]){22, 1, 7000, 1, 1, 1, 1, 1}, NULL);
  memoryOne(process[0], EventKindSystem, EventProcessPeakCODE, 130, (uint64_t[]){9100}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessExitCODE, 140, (uint64_t[]){20, 0}, "exit");
  memoryOne(process[2], EventKindSystem, EventProcessPeakCODE, 150, (uint64_t[]){99000}, NULL);
  footprint = memoryRead(&log);
  while (LogProcessAt(log, i)->header.identity != 0xc1)
    ++i;
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, &i);
  TapIs(bytes.peak, 9000, "what a process had at most, less what is the recording's");
  TapIs(bytes.end, 5000, "is not what it had at the end");
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  TapIs(bytes.peak, 99000, "the last one's peak is that of all");
  memoryDone(footprint, log);
}

/* testLate -- the collector notices late what a process has become: it has mapped before, and emits no more */
static void testLate(void)
{
  FootprintBytesStruct bytes;
  Footprint footprint;
  Log log;

  memoryBegin(EventRegistryTEXT);
  memoryMap(0, 100, 16, 10);
  memoryOne(collector, EventKindSystem, EventProcessExecCODE, 110, (uint64_t[]){20}, "/bin/made");
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 120, (uint64_t[]){20, 1, 5000, 1, 1, 1, 1, 1}, NULL);
  memoryMap(2, 130, 16, 5);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 140, (uint64_t[]){22, 1, 7000, 1, 1, 1, 1, 1}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessExecCODE, 150, (uint64_t[]){20}, "/bin/other");
  memoryMap(2, 160, 32, 3);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  TapIs(bytes.peak, (10 + 5) * memoryPAGES, "who becomes what it is has not ended, who becomes another has");
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  TapIs(bytes.peak, 12000, "the same for what is resident");
  memoryDone(footprint, log);
}

/* testTwo -- two of one number live together as long as both emit: libraries of two kinds in one process */
static void testTwo(void)
{
  FootprintBytesStruct bytes;
  Footprint footprint;
  Log log;

  memoryBegin(EventRegistryTEXT);
  memoryMap(0, 100, 16, 10);
  memoryMap(1, 110, 64, 20);
  memoryMap(0, 120, 32, 1);
  memoryMap(1, 130, 96, 2);
  memoryOne(collector, EventKindSystem, EventProcessExitCODE, 140, (uint64_t[]){20, 0}, "exit");
  memoryMap(2, 150, 16, 40);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  TapIs(bytes.peak, 40 * memoryPAGES, "both have ended when the process has");
  TapIs(bytes.end, (11 + 22 + 40) * memoryPAGES, "and each kept what it mapped while both emitted");
  memoryDone(footprint, log);
}

/* testOneResident -- what is resident of such a process counts once, whichever library it is told of
 *
 * early   the first one has one block of its kind, from before the second one's first event: it seems to have ended */
static void testOneResident(Bool early)
{
  FootprintBytesStruct bytes;
  Footprint footprint;
  Count known = 0;
  Index i;
  Log log;

  memoryBegin(EventRegistryTEXT);
  MakeBlockBegin(&block, process[0], 20, EventKindSystem, 0, 100);
  if (!MakeEvent(&block, EventProcessPeakCODE, 100, (uint64_t[]){3000}, NULL) ||
      (early && !MakeEvent(&block, EventProcessPeakCODE, 130, (uint64_t[]){9100}, NULL)))
    abort();
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  sequence[0] = 1;
  memoryMap(1, 110, 64, 20);
  memoryOne(collector, EventKindSystem, EventProcessRegionCODE, 119, (uint64_t[]){20, 100}, NULL);
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 120, (uint64_t[]){20, 1, 5100, 1, 1, 1, 1, 1}, NULL);
  if (!early)
    memoryOne(process[0], EventKindSystem, EventProcessPeakCODE, 130, (uint64_t[]){9100}, NULL);
  memoryMap(1, 140, 96, 2);
  memoryOne(collector, EventKindSystem, EventProcessExitCODE, 150, (uint64_t[]){20, 0}, "exit");
  memoryOne(collector, EventKindSystem, EventProcessSampleCODE, 160, (uint64_t[]){20, 1, 9900, 1, 1, 1, 1, 1}, NULL);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintRESIDENT, NULL);
  TapIs(bytes.peak, 9000, "what was resident at most, of a process with two libraries");
  TapIs(bytes.end, 5000, "and at its end");
  for (i = 0; i < LogProcesses(log); ++i) {
    bytes = FootprintBytesOf(footprint, FootprintRESIDENT, &i);
    known += bytes.known;
    if (bytes.known)
      TapOk(bytes.peak == 9000 && bytes.end == 5000, "is that of one of the two");
  }
  TapIs(known, 1, "and not of the other one");
  memoryDone(footprint, log);
}

/* testBreak -- where the break was before is told; in logs of registry 1.0 it is where it was put last */
static void testBreak(Bool old)
{
  static const char params[] = " AA limit before\n";
  static char registry[sizeof EventRegistryTEXT];
  const char *at = strstr(EventRegistryTEXT, params);
  FootprintBytesStruct bytes;
  Footprint footprint;
  Log log;

  if (at == NULL)
    makeFail("MemoryBreak is another");
  (void)snprintf(registry, sizeof registry, "%.*s A limit\n%s", (int)(at - EventRegistryTEXT), EventRegistryTEXT,
                 at + sizeof params - 1);
  memoryBegin(old ? registry : EventRegistryTEXT);
  memoryOne(process[0], EventKindArena, EventMemoryBreakCODE, 100, (uint64_t[]){100000, 99000}, NULL);
  memoryOne(process[0], EventKindArena, EventMemoryBreakCODE, 110, (uint64_t[]){400000, 300000}, NULL);
  memoryOne(process[0], EventKindArena, EventMemoryBreakCODE, 120, (uint64_t[]){390000, 400000}, NULL);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  TapIs(bytes.peak, (old ? 98 - 25 : 98 - 74) * memoryPAGES, "what the program added to the data segment");
  TapIs(bytes.end, bytes.peak - 2 * memoryPAGES, "and took away");
  memoryDone(footprint, log);
}

/* memoryMany -- so many mappings of a page that touch no other */
static void memoryMany(Index i, uint64_t time, uint64_t count)
{
  uint64_t page;

  MakeBlockBegin(&block, process[i], process[i]->header.pid, EventKindArena, sequence[i], time);
  for (page = 1; page <= count; ++page) {
    uint64_t values[] = {2 * page * memoryPAGES, memoryPAGES, 3, 2};
    while (!MakeEvent(&block, EventMemoryMapCODE, time, values, NULL)) {
      MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
      MakeBlockNext(&block, time);
    }
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  sequence[i] = block.header.sequence + 1;
}

/* testScarce -- where there is no room for more mappings, those of processes that have ended make room */
static void testScarce(void)
{
  enum { MANY = SpansNodesMAX / 2 + 1000 };
  FootprintBytesStruct bytes;
  Footprint footprint;
  Log log;

  memoryBegin(EventRegistryTEXT);
  memoryMany(0, 100, MANY);
  memoryOne(collector, EventKindSystem, EventProcessExitCODE, 200, (uint64_t[]){20, 0}, "exit");
  memoryMany(2, 300, MANY);
  footprint = memoryRead(&log);
  bytes = FootprintBytesOf(footprint, FootprintMAPPED, NULL);
  TapIs(FootprintLeft(footprint), 0, "mappings of two processes, together more than can be followed, are all followed");
  TapIs(bytes.end, 2 * MANY * (uint64_t)memoryPAGES, "and counted");
  TapIs(bytes.peak, MANY * (uint64_t)memoryPAGES, "as one after the other");
  memoryDone(footprint, log);
}

int main(void)
{
  int fd = mkstemp(path);

  if (fd < 0 || close(fd) != 0)
    makeFail(path);
  testEnds();
  testPeak();
  testLate();
  testTwo();
  testOneResident(FALSE);
  testOneResident(TRUE);
  testBreak(FALSE);
  testBreak(TRUE);
  testScarce();
  (void)unlink(path);
  return TapDone();
}
