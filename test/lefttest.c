/* lefttest.c -- what dead processes left in memory: all of it is delivered once, and nothing that is not theirs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process is made that fills blocks one after the other; each goes to the log, to its region, to both or to neither.
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "format/region.h"
#include "loglist.h"

enum { leftEach = 30, leftSlots = 70 };

/* A region being built, in its file; slots are used one after the other. */
typedef struct LeftStruct {
  MakeProcess process;
  RegionHeaderStruct header;
  char path[300];
  int fd;
  Index slot;
} LeftStruct, *Left;

/* leftBegin -- the region of a process, beside the log, which has this name and no other */
static void leftBegin(Left left, MakeProcess process)
{
  struct stat status;

  memset(left, 0, sizeof *left);
  left->process = process;
  (void)snprintf(left->path, sizeof left->path, "%s.region-%u-0", path, process->header.pid);
  strcpy(process->header.region, left->path);
  left->fd = open(left->path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (left->fd < 0 || ftruncate(left->fd, (off_t)RegionSize(leftSlots)) != 0 || stat(path, &status) != 0)
    makeFail(left->path);
  memcpy(left->header.magic, RegionMAGIC, BlockMagicSIZE);
  left->header.order = BlockORDER;
  left->header.major = BlockMAJOR;
  left->header.pid = process->header.pid;
  left->header.slots = leftSlots;
  left->header.identity = process->header.identity;
  left->header.device = status.st_dev;
  left->header.inode = status.st_ino;
}

/* leftPut -- a block in memory, as the process has it there: neither sealed nor counted */
static void leftPut(Left left, MakeBlock b, unsigned state)
{
  BlockHeaderStruct header = b->header;
  unsigned log2 = (unsigned)__builtin_ctz(header.whole);
  off_t at = (off_t)(RegionFIRST + (left->slot + 1) * RegionSlotSIZE - header.whole);

  header.before = BlockBeforeUNKNOWN;
  header.used = header.count = 0;
  header.last = 0;
  left->header.state[left->slot++] = (uint8_t)(state | log2);
  if (pwrite(left->fd, &header, sizeof header, at) != sizeof header ||
      pwrite(left->fd, b->events, b->header.used, at + BlockHeaderSIZE) != (ssize_t)b->header.used)
    makeFail(left->path);
}

/* leftText -- the process's header block as the newest text */
static void leftText(Left left)
{
  MakeStruct make = {0};
  unsigned which = ++left->header.text.generation & 1;

  MakeHeader(&make, left->process);
  left->header.text.length[which] = (uint32_t)make.size;
  if (pwrite(left->fd, make.bytes, make.size, RegionTEXT + which * RegionTextSIZE) != (ssize_t)make.size)
    makeFail(left->path);
  MakeFree(&make);
}

static void leftWrite(Left left)
{
  if (pwrite(left->fd, &left->header, sizeof left->header, 0) != sizeof left->header)
    makeFail(left->path);
}

static void leftEnd(Left left)
{
  (void)close(left->fd);
  (void)unlink(left->path);
}

/* leftFill -- events into the block; expected, if `listed` */
static void leftFill(MakeBlock b, Count n, Bool listed)
{
  Index i;

  for (i = 0; i < n; ++i) {
    uint64_t id = made.count, time = b->header.last + 1;
    (void)MakeEvent(b, EventPoolFreeCODE, time, (uint64_t[]){7, listed ? id : 999999}, NULL);
    if (listed)
      listAdd(&made, time, b, (uint32_t)id, id, EventPoolFreeCODE);
  }
}

static void leftUncounted(MakeBlock b, Make make, uint8_t flags)
{
  uint64_t before = b->header.before;

  b->header.before = BlockBeforeUNKNOWN;
  MakeBlockEnd(make, b, flags);
  b->header.before = before;
}

/* testKilled -- killed while it wrote a block, which its memory has whole; or alive, and writing that block */
static void testKilled(Bool alive)
{
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
  leftWrite(&left);
  if (alive && flock(left.fd, LOCK_EX) != 0)
    makeFail(left.path);
  TapOk(testReadAll(), "the log of a process that %s is read", alive ? "runs" : "was killed");
  TapIs(got.gaps, 0, "the block that it %s writing is no loss,", alive ? "is" : "was");
  TapIs(listSame(&got, &made), -1, alive ? "and nobody looks into its memory," : "because its memory has it,");
  TapOk(strstr(got.note, alive ? "process 10 is still running" : "took 30 events of process 10 from") != NULL,
        "which is told: %s", got.note);
  leftEnd(&left);
  MakeProcessFree(process);
  MakeFree(&make);
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
  left.header.state[66] = RegionTAKEN; /* it was being overwritten */
  leftWrite(&left);
  qsort(made.event, made.count, sizeof *made.event, listCompare);
  TapOk(testReadAll(), "a log to which nothing came is read");
  TapIs(got.count, 60 * leftEach, "all that was committed is there");
  TapIs(listSame(&got, &made), -1, "as it was");
  TapIs(got.gaps, 0, "and nothing is missing");
  TapIs(got.notes, 1, "one line says so: %s", got.note);
  left.header.device ^= 1;
  leftWrite(&left);
  TapOk(!testReadAll(), "a region that names another log is not looked at");
  left.header.device = left.header.inode = 0;
  TapOk(realpath(path, left.header.log) != NULL, "a path");
  leftWrite(&left);
  TapOk(testReadAll() && got.count == 60 * leftEach, "serves where the log's number is not known");
  left.header.hand.collector = 4711;
  leftWrite(&left);
  TapOk(testReadAll() && got.count == 60 * leftEach, "so does one whose collector went down with the machine");
  process->header.boot[0] = '\0';
  leftText(&left);
  leftWrite(&left);
  TapOk(!testReadAll(), "what a collector will take is left to it");
  leftEnd(&left);
  MakeProcessFree(process);
  MakeFree(&make);
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
  leftEnd(&left);
  MakeProcessFree(process);
  MakeFree(&make);
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
  int fd = mkstemp(path);

  (void)close(fd);
  testKilled(FALSE);
  testKilled(TRUE);
  testEmpty();
  testBoth();
  testUncounted();
  testHostile(&seed);
  (void)unlink(path);
  return TapDone();
}
