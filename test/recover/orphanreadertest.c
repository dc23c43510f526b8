/* orphanreadertest.c -- what dead processes left in memory: all of it is delivered once, and nothing that is not theirs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process is made that fills blocks one after the other; each goes to the log, to its region, to both or to neither.
 */
#include "orphanmake.h"

#include <sys/wait.h>
#include <time.h>

/* leftSummary -- the log and the region, read into `got` and summed up */
static LogSummaryStruct leftSummary(void)
{
  LogRequestStruct request = LogRequestALL;
  Log log = testOpen(&got);
  LogSummaryStruct summary;

  if (log == NULL || testRead(log, &got, &request) != ResOK)
    makeFail(path);
  LogSummarize(&summary, log);
  LogClose(log);
  return summary;
}

/* leftKilled -- a log with the header block of a process only, and its region; the collector was killed */
static void leftKilled(Left left, Make make, MakeProcess process)
{
  make->size = made.count = 0;
  leftBegin(left, process);
  leftText(left);
  MakeHeader(make, process);
  MakeWrite(make, path);
  left->header.hand.collector = 4711 | RegionCollectorDIED;
}

/* leftFull -- a full block of its first thread, with leftEach events */
static void leftFull(Left left, MakeProcess process, uint64_t ticks)
{
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, ticks);
  leftFill(&blocks[0], leftEach, TRUE);
  leftPut(left, &blocks[0], RegionFULL);
}

/* collectorNew -- of the recording that all regions are of */
static MakeProcess collectorNew(void)
{
  MakeProcess collector = MakeProcessNew(9, 2);

  collector->header.recording = leftRECORDING;
  strcpy(collector->header.role, HeaderRoleCOLLECTOR);
  return collector;
}

/* leftOver -- nothing of it is needed any more */
static void leftOver(Left left, Make make, MakeProcess process)
{
  leftEnd(left);
  MakeProcessFree(process);
  MakeFree(make);
}

/* leftHold -- somebody else holds the lock for a tenth of a second */
static pid_t leftHold(Left left)
{
  static const struct timespec moment = {0, 100000000};
  int begun[2];
  char byte;
  pid_t pid = -1;

  if (pipe(begun) != 0 || (pid = fork()) < 0)
    makeFail(left->path);
  if (pid == 0) {
    int fd = open(left->path, O_RDWR);
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(begun[1], "", 1) != 1)
      _exit(1);
    (void)nanosleep(&moment, NULL);
    _exit(0);
  }
  if (read(begun[0], &byte, 1) != 1)
    makeFail(left->path);
  (void)close(begun[0]);
  (void)close(begun[1]);
  return pid;
}

/* testKilled -- killed while it wrote a block, which its memory has whole, and perhaps somebody else has its lock for a
 * moment; or alive, and writing that block */
static void testKilled(Bool alive, Bool held)
{
  pid_t holder = 0;
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;

  made.count = 0;
  MakeWrite(&make, path);
  leftBegin(&left, process);
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  leftFill(&blocks[0], leftEach, TRUE);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeBlockNext(&blocks[0], 130);
  blocks[0].header.whole = 4096;
  leftFill(&blocks[0], leftEach, !alive);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  make.size -= 100;
  MakeWrite(&make, path);
  leftPut(&left, &blocks[0], RegionOPEN);
  if (alive)
    left.header.pid = (uint32_t)getpid();
  leftWrite(&left);
  if (alive && flock(left.fd, LOCK_EX) != 0)
    makeFail(left.path);
  if (held)
    holder = leftHold(&left);
  TapOk(testReadAll(), "the log of a process that %s is read%s", alive ? "runs" : "was killed",
        held ? ", while somebody else looks at its memory" : "");
  TapIs(got.gaps, 0, "the block that it %s writing is no loss,", alive ? "is" : "was");
  TapIs(listSame(&got, &made), -1, alive ? "and nobody looks into its memory," : "because its memory has it,");
  TapOk(strstr(got.note, alive ? " is still running" : "took 30 events of process 10 from") != NULL,
        "which is told: %s", got.note);
  if (held)
    (void)waitpid(holder, NULL, 0);
  leftOver(&left, &make, process);
}

/* testEmpty -- both killed before anything reached the log: a header block, full blocks and open ones of two streams,
 * in any order */
static void testEmpty(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;
  Index i;

  made.count = 0;
  MakeWrite(&make, path);
  leftBegin(&left, process);
  leftText(&left);
  leftText(&left);
  left.header.text.length[0] = 77; /* the other one was being written */
  left.header.text.generation |= 1;
  left.header.lost = 3;
  left.header.hand.collector = 4711 | RegionCollectorDIED;
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  MakeBlockBegin(&blocks[1], process, 12, EventKindObject, 0, 100);
  for (i = 0; i < 60; ++i) {
    MakeBlock b = i % 3 == 0 ? &blocks[1] : &blocks[0];
    leftFill(b, leftEach, TRUE);
    left.slot = i * 37 % 61;
    leftPut(&left, b, i < 57 ? RegionFULL : RegionOPEN);
    MakeBlockNext(b, b->header.last + 1);
  }
  leftFill(&blocks[1], leftEach, FALSE);
  blocks[1].header.flags = BlockFlagUNSENT;
  left.slot = 65;
  leftPut(&left, &blocks[1], RegionOPEN);
  blocks[1].header.flags = 0;
  left.slot = 66;
  leftPut(&left, &blocks[1], RegionFULL);
  left.header.state[66] = RegionERASED; /* it was being overwritten */
  leftWrite(&left);
  qsort(made.event, made.count, sizeof *made.event, listCompare);
  TapOk(testReadAll(), "a log to which nothing came is read");
  TapIs(got.count, 60 * leftEach, "all that was committed is there");
  TapIs(listSame(&got, &made), -1, "as it was");
  TapIs(got.gaps, 0, "and nothing is missing");
  TapIs(got.notes, 1, "one line says so: %s", got.note);
  left.header.hand.collector = (uint32_t)getppid();
  leftWrite(&left);
  TapOk(testReadAll() && got.count == 60 * leftEach, "so does one whose collector went down with the machine");
  process->header.boot[0] = '\0';
  leftText(&left);
  leftWrite(&left);
  TapOk(testReadAll() && got.count == 60 * leftEach && strstr(got.note, "could not be written") != NULL,
        "nor is one believed that lives, and does not have the region: %s", got.note);
  for (i = 0; i < 3; ++i) {
    left.header.hand.collector = (uint32_t[]){(uint32_t)getppid(), 4711 | RegionCollectorDIED, RegionCollectorNONE}[i];
    leftWrite(&left);
    leftCollected(&left);
    TapOk(!testReadAll() && got.count == 0 && strstr(got.note, "about to write") != NULL,
          "what a collector will take is left to it, whatever the program has written there: %s", got.note);
    leftAbandoned(&left);
  }
  leftOver(&left, &make, process);
}

/* testBoth -- the log has some of the blocks that the region has; one as a snapshot, shorter */
static void testBoth(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;
  Index i;

  made.count = 0;
  MakeWrite(&make, path);
  leftBegin(&left, process);
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 9; ++i) {
    leftFill(&blocks[0], leftEach / 2, TRUE);
    if (i == 3 || i == 5)
      MakeBlockEnd(&make, &blocks[0], BlockFlagSNAPSHOT | BlockFlagSEALED);
    leftFill(&blocks[0], leftEach / 2, TRUE);
    if (i < 6 && i != 3 && i != 5)
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED | BlockFlagPACKED);
    if (i >= 2)
      leftPut(&left, &blocks[0], i < 8 ? RegionFULL : RegionOPEN);
    MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  }
  MakeWrite(&make, path);
  leftWrite(&left);
  TapOk(testReadAll(), "a log that has some of the blocks is read");
  TapIs(listSame(&got, &made), -1, "each event comes once");
  TapIs(got.gaps, 0, "nothing is missing");
  TapOk(strstr(got.note, "took 105 events") != NULL, "and what the log did not have is counted: %s", got.note);
  leftOver(&left, &make, process);
}

/* testUncounted -- blocks that were handed over uncounted: no loss is invented, and a gap is known by numbers */
static void testUncounted(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  Index i;

  made.count = 0;
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 10; ++i) {
    leftFill(&blocks[0], leftEach, TRUE);
    if (i % 4 >= 2)
      leftUncounted(&blocks[0], &make, BlockFlagSEALED);
    else
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
    MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  }
  MakeWrite(&make, path);
  TapOk(testReadAll() && listSame(&got, &made) == -1, "blocks uncounted and counted are read");
  TapIs(got.gaps, 0, "and none is missing");
  leftFill(&blocks[0], leftEach, FALSE);
  MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  leftFill(&blocks[0], leftEach, TRUE);
  leftUncounted(&blocks[0], &make, BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && listSame(&got, &made) == -1, "with two blocks missing before one that is uncounted");
  TapIs(got.gaps, 1, "that is told once: %s", got.gap);
  TapIs(got.lost, 2, "and at least so many events are");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testMiscounts -- a count in a region that cannot be was written over: nobody says that as much is lost, but that it is not known */
static void testMiscounts(void)
{
  static const uint64_t forged[] = {UINT64_MAX, (uint64_t)1 << 60, (uint64_t)1 << 62, CountMAX + 1};
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  Count silent = 0, believed = 0;
  LogSummaryStruct summary;
  LeftStruct left;
  Index i, k;

  for (i = 0; i < ARRAY_LENGTH(forged); ++i)
    for (k = 0; k < 4; ++k) {
      leftKilled(&left, &make, process);
      *(k == 0 ? &left.header.lost : k == 1 ? &left.header.pool.away : &left.header.pool.reached) = k < 3 ? forged[i] : 0;
      leftWrite(&left);
      if (k == 3 && pwrite(left.fd, &forged[i], sizeof forged[i], RegionLEDGER) != sizeof forged[i])
        makeFail(left.path);
      summary = leftSummary();
      /* More than half of all numbers away is fewer than none. */
      silent += !(k == 1 && i == 0) && (summary.lacks == 0 || strstr(got.note, "cannot be") == NULL);
      believed += summary.discarded > 1;
      leftEnd(&left);
    }
  TapIs(silent, 0, "a count in shared memory that cannot be is told: %s", got.note);
  TapIs(believed, 0, "and not taken for what is lost");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testStates -- the program has written over the states of slots that are empty, and nothing is lost by that; but where something
 * stands that is no block, one event is */
static void testStates(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  LogSummaryStruct summary;
  LeftStruct left;
  Index spoiled, i;

  for (spoiled = 0; spoiled < 2; ++spoiled) {
    leftKilled(&left, &make, process);
    leftFull(&left, process, 100);
    for (i = 1; i < 9; ++i)
      left.header.state[i] = (uint8_t)((i % 2 != 0 ? RegionFULL : RegionOPEN) | (12 + i / 2));
    /* Of one of them the file has memory, as of a slot that was used. */
    if (pwrite(left.fd, spoiled ? "x" : "", 1, (off_t)(RegionSize(2) - 4096)) != 1)
      makeFail(left.path);
    leftWrite(&left);
    summary = leftSummary();
    TapIs(listSame(&got, &made), -1, "the states of empty slots were written over: all events are there,");
    TapIs(summary.discarded, spoiled, spoiled ? "and where something stands one is lost" : "and nothing is lost");
    TapIs(summary.lacks, spoiled, "which the log says it lacks: %s", got.note);
    leftEnd(&left);
  }
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testOverwritten -- killed while the block in a slot of which 7 events were overwritten before was overwritten, before and
 * behind the moment in which its 20 were counted */
static void testOverwritten(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  LogSummaryStruct summary;
  LeftStruct left;
  uint64_t counted;

  for (counted = 0; counted < 2; ++counted) {
    uint64_t forgot = counted ? 27 : 7;
    BlockHeader header = &blocks[1].header;
    leftKilled(&left, &make, process);
    left.header.policy = RegionPolicyOVERWRITE;
    left.header.frequent = 1 << EventKindObject;
    left.header.pool.overwritten = 2;
    leftFull(&left, process, 300);
    MakeBlockBegin(&blocks[1], process, 12, EventKindObject, 0, 100);
    header->flags = BlockFlagSUMMED;
    header->whole = BlockMIN;
    header->used = 20 * 24;
    header->count = 20;
    header->rest = 1;
    header->reserved2 = counted ? 27 : 0;
    header->last = header->mono = BlockHeaderSum(header);
    left.header.state[1] = RegionOVERWRITTEN;
    if (pwrite(left.fd, header, sizeof *header, (off_t)(RegionSize(2) - BlockMIN)) != sizeof *header ||
        pwrite(left.fd, &forgot, sizeof forgot, RegionFORGOT + sizeof forgot) != sizeof forgot)
      makeFail(left.path);
    leftWrite(&left);
    summary = leftSummary();
    TapIs(listSame(&got, &made), -1, "killed while a block was overwritten, which was %s: the other is there", counted ? "counted" : "not counted yet");
    TapIs(summary.overwritten, 27, "it is told, once,");
    TapIs(summary.discarded, 0, "and not as lost");
    leftEnd(&left);
  }
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testForged -- the program has written over how many events were overwritten, and until when: what cannot be is not told */
static void testForged(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  LogSummaryStruct summary;
  LeftStruct left;
  Index i;

  for (i = 0; i < 3; ++i) {
    Log log;
    leftKilled(&left, &make, process);
    left.header.policy = i == 0 ? RegionPolicyDISCARD : RegionPolicyOVERWRITE;
    left.header.pool.overwritten = 2;
    left.header.pool.forgotten = i == 1 ? UINT32_MAX : 280;
    left.header.pool.forgottenTo = (uint64_t)1 << 60;
    leftFull(&left, process, 300);
    leftWrite(&left);
    log = testOpen(&got);
    if (log == NULL)
      makeFail(path);
    LogSummarize(&summary, log);
    TapIs(summary.overwritten, i == 2 ? 280 : 0, i == 0   ? "nothing is overwritten where that was not asked for"
                                                 : i == 1 ? "nor more than two blocks had"
                                                          : "but as many as they had are,");
    TapOk(summary.kept <= summary.last, "and none behind the log's end");
    LogClose(log);
    leftEnd(&left);
  }
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- A recording that ends while its log is opened ---- */

static struct { Left left; Make end; Bool done; } meanwhile;

/* meanwhileEnds -- what is to come into the log comes, and the region goes, once, when a part of the log is scanned */
static void meanwhileEnds(void *data, uint64_t done, uint64_t total)
{
  int fd;

  UNUSED(data), UNUSED(done), UNUSED(total);
  if (meanwhile.done)
    return;
  meanwhile.done = TRUE;
  fd = open(path, O_WRONLY | O_APPEND);
  if (fd < 0 || write(fd, meanwhile.end->bytes, meanwhile.end->size) != (ssize_t)meanwhile.end->size || close(fd) != 0)
    makeFail(path);
  leftEnd(meanwhile.left);
}

/* meanwhileOpen -- open the log, and close it; the notes are in `got` */
static void meanwhileOpen(void)
{
  LogHooksStruct hooks = {.data = &got, .note = listNote, .scanning = meanwhileEnds,
                           .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  const char *paths[1] = {path};
  LogRequestStruct request = LogRequestALL;
  char error[256];
  Log log;

  got.count = got.notes = 0;
  got.note[0] = got.first[0] = '\0';
  TapOk(LogOpen(&log, paths, 1, &hooks, error, sizeof error) == ResOK && testRead(log, &got, &request) == ResOK,
        "a log is read");
  LogClose(log);
}

/* testMeanwhile -- the process, and the collector if `both`, ends while the log is opened; or the region only goes */
static void testMeanwhile(Bool ends, Bool both)
{
  MakeStruct make = {0}, end = {0};
  MakeProcess process = MakeProcessNew(10, 1), collector = collectorNew();
  LeftStruct left;
  Index i;

  MakeWrite(&make, path);
  leftBegin(&left, process);
  MakeHeader(&make, collector);
  MakeHeader(&make, process);
  leftText(&left);
  leftWrite(&left);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 300; ++i) {
    leftFill(&blocks[0], 1, FALSE);
    MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
    MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  }
  MakeWrite(&make, path);
  process->header.ended = collector->header.ended = blocks[0].header.last;
  MakeHeader(&end, process);
  if (both)
    MakeHeader(&end, collector);
  end.size = ends ? end.size : 0;
  meanwhile.left = &left;
  meanwhile.end = &end;
  meanwhile.done = FALSE;
  meanwhileOpen();
  TapOk(meanwhile.done, "whose process %s meanwhile", ends ? "ends" : "loses its memory");
  if (ends) {
    TapIs(got.notes, 1, "one line tells,");
    TapOk(strstr(got.note, "it was written to while it was opened") != NULL, "not that its end is missing: %s", got.note);
    meanwhileOpen();
    TapIs(got.notes, both ? 0 : 1, both ? "and then it is whole: %s" : "and then the collector's is: %s", got.note);
    TapOk(both || strstr(got.note, "the end of the recording is not in the log") != NULL, "as it should be");
  } else {
    TapOk(strstr(got.first, "which is gone") != NULL, "its end is missing: %s", got.first);
  }
  MakeProcessFree(process);
  MakeProcessFree(collector);
  MakeFree(&make);
  MakeFree(&end);
}

/* testUnheard -- a process runs of which nothing is in the log yet, but of its collector: the recording goes on */
static void testUnheard(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1), collector = collectorNew();
  LeftStruct left;

  MakeWrite(&make, path);
  leftBegin(&left, process);
  MakeHeader(&make, collector);
  MakeWrite(&make, path);
  leftText(&left);
  leftWrite(&left);
  if (flock(left.fd, LOCK_EX) != 0)
    makeFail(left.path);
  TapOk(testReadAll(), "a log is read to which a process that runs has written nothing");
  TapIs(got.notes, 1, "which is told, and nothing else");
  TapOk(strstr(got.note, " is still running") != NULL, "as it is: %s", got.note);
  leftEnd(&left);
  MakeProcessFree(process);
  MakeProcessFree(collector);
  MakeFree(&make);
}

/* testHostile -- whatever stands in a region, reading ends, and events are of the types that the header says */
static void testHostile(uint64_t *seed)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LeftStruct left;
  Index i, n, faults = 0;

  for (n = 0; n < 300; ++n) {
    make.size = 0;
    made.count = 0;
    MakeWrite(&make, path);
    leftBegin(&left, process);
    leftText(&left);
    MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
    blocks[0].header.whole = 4096;
    for (i = 0; i < 3; ++i) {
      leftFill(&blocks[0], leftEach, TRUE);
      leftPut(&left, &blocks[0], RegionFULL);
      MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
    }
    leftWrite(&left);
    for (i = TapRandom(seed) % 6; i > 0; --i) {
      static const uint64_t odd[] = {0, 1, UINT64_MAX, UINT32_MAX, 0x8000, 0x4040404040404040, 63, 1 << 20};
      uint64_t r = TapRandom(seed), value = odd[r % ARRAY_LENGTH(odd)];
      Size block = RegionFIRST + ((r >> 32) % 3 + 1) * RegionSlotSIZE - 4096;
      off_t at = (off_t)((r >> 8) % 4 == 0   ? block + (r >> 16) % 300
                         : (r >> 8) % 4 == 1 ? RegionTEXT + (r >> 16) % 600
                                             : (r >> 16) % (offsetof(RegionHeaderStruct, state) + 80));
      if (pwrite(left.fd, &value, 1 + (r >> 40) % 8, at) < 0)
        makeFail(left.path);
    }
    if (n % 7 == 0 && ftruncate(left.fd, (off_t)(TapRandom(seed) % RegionSize(4))) != 0)
      makeFail(left.path);
    if (testReadAll() && got.count > made.count)
      ++faults;
    leftEnd(&left);
  }
  TapIs(faults, 0, "300 regions that lie: nothing comes twice");
  MakeProcessFree(process);
  MakeFree(&make);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;

  leftLog();
  testKilled(FALSE, FALSE);
  testKilled(FALSE, TRUE);
  testKilled(TRUE, FALSE);
  testEmpty();
  testBoth();
  testUncounted();
  testMiscounts();
  testStates();
  testOverwritten();
  testForged();
  testUnheard();
  testMeanwhile(TRUE, TRUE);
  testMeanwhile(TRUE, FALSE);
  testMeanwhile(FALSE, FALSE);
  testHostile(&seed);
  leftLogEnd();
  return TapDone();
}
