/* recoverlogtest.c -- what dead processes left in memory is put into their log, and into no other; then nothing is
 * missing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recover/recoverlog.h"

#include "orphanmake.h"

static MakeStruct make;
static MakeProcess process, collector;
static LogSummaryStruct summary;
static RecoveredStruct recovered;

/* recoverLogNow -- RecoverLog of the log as it is */
static Res recoverLogNow(uint64_t recording, RecoverNow now)
{
  int fd = open(path, O_WRONLY | O_APPEND);
  Res res = RecoverLog(fd, TRUE, path, recording, now, FALSE, &recovered);

  (void)close(fd);
  return res;
}

static Res recoverLog(uint64_t recording)
{
  return recoverLogNow(recording, NULL);
}

static Size recoverSize(void)
{
  struct stat status;

  return stat(path, &status) == 0 ? (Size)status.st_size : 0;
}

/* recoverLacks -- read the log: is it told that something is or may be missing? */
static Bool recoverLacks(void)
{
  LogRequestStruct request = LogRequestALL;
  Log log = testOpen(&got);
  Res res;

  if (log == NULL)
    return TRUE;
  res = testRead(log, &got, &request);
  LogSummarize(&summary, log);
  LogClose(log);
  return res != ResOK || got.gaps > 0 || summary.lacks > 0;
}

/* recoverMake -- a log of a collector and a process with `n` blocks, of which the region has the last one and one more;
 * of the last one in the log only `cut` bytes are there; 0: all */
static void recoverMake(Left left, Count n, Size cut)
{
  Index i;

  make.size = made.count = 0;
  process = MakeProcessNew(10, 1);
  collector = MakeProcessNew(9, 2);
  collector->header.recording = leftRECORDING;
  collector->header.open = process->header.open = 1;
  strcpy(collector->header.role, HeaderRoleCOLLECTOR);
  leftBegin(left, process);
  MakeHeader(&make, collector);
  MakeHeader(&make, process);
  leftText(left);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i <= n; ++i) {
    leftFill(&blocks[0], leftEach, TRUE);
    if (i < n)
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
    if (i + 1 >= n)
      leftPut(left, &blocks[0], i < n ? RegionFULL : RegionOPEN);
    MakeBlockNext(&blocks[0], blocks[0].header.last + 1);
  }
  if (cut > 0)
    make.size = make.last + cut;
  left->header.hand.collector = 4711 | RegionCollectorDIED;
  leftWrite(left);
  MakeWrite(&make, path);
}

static void recoverDone(Left left)
{
  leftEnd(left);
  MakeProcessFree(process);
  MakeProcessFree(collector);
}

static void testWhole(void)
{
  static const Size cuts[] = {0, 5, 20, 127, 128, 300};
  LeftStruct left;
  Count lacking = 0, wrong = 0, stays = 0;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(cuts); ++i) {
    recoverMake(&left, 5, cuts[i]);
    lacking += recoverLacks();
    wrong += listSame(&got, &made) != -1;
    if (recoverLog(leftRECORDING) != ResOK || recovered.running != 0)
      ++wrong;
    stays += access(left.path, F_OK) == 0;
    if (recoverLacks()) {
      ++lacking;
      printf("# cut %zu: %s %s\n", cuts[i], got.gap, got.note);
    }
    wrong += listSame(&got, &made) != -1 || got.notes > 0;
    recoverDone(&left);
  }
  TapIs(lacking, 0, "killed, wherever it was in writing: nothing is missing, before and behind recovering");
  TapIs(wrong, 0, "and all events come once");
  TapIs(stays, 0, "the region is removed");
}

/* testHeaderTorn -- killed while it wrote its header block, and something stands behind it */
static void testHeaderTorn(void)
{
  LeftStruct left;
  Size before;

  recoverMake(&left, 5, 0);
  before = make.size;
  MakeHeader(&make, process);
  make.size = before + 700;
  MakeWrite(&make, path);
  TapOk(!recoverLacks(), "a header block cut short at the end is no damage");
  TapOk(recoverLog(0) == ResOK && !recoverLacks() && listSame(&got, &made) == -1,
        "nor is it with what was recovered behind it: %s", got.gap);
  TapOk(recoverLog(0) == ResOK && recovered.blocks == 0, "recovering again does nothing");
  recoverDone(&left);
}

/* testTwice -- the collector was killed while it wrote a block, and the process while it wrote that block again */
static void testTwice(void)
{
  char block[BlockRestMAX];
  LeftStruct left;
  Size size;

  recoverMake(&left, 5, 0);
  size = make.size - make.last;
  memcpy(block, make.bytes + make.last, size);
  make.size = make.last + 300;
  MakeHeader(&make, process);
  MakeBytes(&make, block, size - 9);
  MakeHeader(&make, process);
  MakeWrite(&make, path);
  TapOk(!recoverLacks() && listSame(&got, &made) == -1, "a block cut short twice is read from memory: %s", got.gap);
  TapOk(recoverLog(0) == ResOK && !recoverLacks() && listSame(&got, &made) == -1, "and recovered from there: %s",
        got.gap);
  recoverDone(&left);
}

/* recoverSwap -- the two blocks in the region stand in the other order */
static void recoverSwap(Left left)
{
  static unsigned char slot[2][RegionSlotSIZE];
  uint8_t state = left->header.state[0];
  Index i;

  left->header.state[0] = left->header.state[1];
  left->header.state[1] = state;
  for (i = 0; i < 2; ++i)
    if (pread(left->fd, slot[i], RegionSlotSIZE, (off_t)(RegionFIRST + i * RegionSlotSIZE)) != RegionSlotSIZE)
      makeFail(left->path);
  for (i = 0; i < 2; ++i)
    if (pwrite(left->fd, slot[1 - i], RegionSlotSIZE, (off_t)(RegionFIRST + i * RegionSlotSIZE)) != RegionSlotSIZE)
      makeFail(left->path);
  leftWrite(left);
}

/* testHidden -- killed while it wrote a block, and what another thread appended is just as long as the rest; in
 * whatever order its blocks are in memory */
static void testHidden(Bool swapped)
{
  MakeStruct other = {0};
  LeftStruct left;
  Size size;

  recoverMake(&left, 5, 0);
  if (swapped)
    recoverSwap(&left);
  size = make.size - make.last;
  MakeBlockBegin(&blocks[1], process, 12, EventKindObject, 0, blocks[0].header.last + 1000);
  leftFill(&blocks[1], 1, TRUE);
  MakeBlockEnd(&other, &blocks[1], BlockFlagSEALED);
  TapOk(other.size + BlockHeaderSIZE < size, "one block is so much larger than another");
  make.size = make.last + size - other.size;
  MakeBytes(&make, other.bytes, other.size);
  MakeWrite(&make, path);
  TapOk(!recoverLacks() && listSame(&got, &made) == -1, "a block that another hides in is read from memory: %s", got.gap);
  TapOk(recoverLog(0) == ResOK && recovered.blocks > 0 && !recoverLacks() && listSame(&got, &made) == -1,
        "and recovered from there: %s", got.gap);
  TapOk(recoverLog(0) == ResOK && recovered.blocks == 0, "once");
  MakeFree(&other);
  recoverDone(&left);
}

/* testCut -- what was recovered says how it ends */
static void testCut(void)
{
  LeftStruct left;
  Size size, whole;
  Count silent = 0;

  recoverMake(&left, 5, 0);
  (void)recoverLog(0);
  whole = recoverSize();
  for (size = whole - 1; size > make.size; size -= size % 97 + 1) {
    if (truncate(path, (off_t)size) != 0)
      makeFail(path);
    silent += !recoverLacks();
  }
  TapIs(silent, 0, "a recovered log that is cut is found out");
  recoverDone(&left);
}

enum { recoverTICKS = 1 << 20, recoverMONO = 1 << 21 };

static void recoverNow(Sync nowReturn, Bool slow)
{
  *nowReturn = (SyncStruct){slow ? recoverMONO : recoverTICKS, recoverMONO, 0};
}

/* recoverGone -- when the log says that the process had ended */
static uint64_t recoverGone(void)
{
  Log log = testOpen(&got);
  uint64_t gone = 0;
  Index i;

  LogSummarize(&summary, log);
  for (i = 0; i < summary.processes; ++i)
    if (LogProcessAt(log, i)->header.identity == process->header.identity)
      gone = LogProcessAt(log, i)->header.gone;
  LogClose(log);
  return gone;
}

/* testGone -- a process that was let go has ended at the same moment as its recording: the log says when that
 * was seen */
static void testGone(void)
{
  LeftStruct left;
  Index i;

  for (i = 0; i < 4; ++i) {
    recoverMake(&left, 5, 0);
    strcpy(process->header.clock, i == 1 ? "monotonic" : SyncCOUNTER);
    leftText(&left);
    left.header.hand.collector = RegionCollectorNONE;
    left.header.hand.released = i != 2;
    leftWrite(&left);
    (void)recoverLogNow(leftRECORDING, i == 3 ? NULL : recoverNow);
    TapIs(recoverGone(), i == 0 ? recoverTICKS : i == 1 ? recoverMONO : 0, "%s",
          i == 2 ? "of one that was not let go nobody knows how long ago it ended,"
          : i == 3 ? "nor when the recording ended long ago"
                   : "the log says when a process that was let go was seen to have ended");
    recoverDone(&left);
  }
}

/* testDeclined -- a process has found no room in its region for its header block, and has gone on in memory that nobody
 * finds: the region does not know its end */
static void testDeclined(void)
{
  LeftStruct left;
  Count silent = 0, n;

  recoverMake(&left, 5, 0);
  memset(left.header.state, 0, sizeof left.header.state);
  left.header.text.generation = 0;
  left.header.hand.collector = RegionCollectorNONE;
  for (n = 2; n-- > 0;) {
    left.header.identity = process->header.identity + n;
    leftWrite(&left);
    (void)recoverLacks();
    silent += strstr(got.first, n > 0 ? "says that it is another process's" : "which is empty") == NULL;
    printf("# %s\n", got.first);
  }
  TapIs(silent, 0, "what stands where a process's memory was, and is not read, is told as it is");
  for (n = 0; n < 2; ++n) {
    silent += !recoverLacks() || summary.lacks != 2; /* the end of the process, and that of the recording */
    silent += recoverLog(0) != ResOK;
  }
  TapIs(silent, 0, "a region that its process has declined does not speak for it: %s", got.note);
  TapOk(access(left.path, F_OK) != 0, "and is removed");
  recoverDone(&left);
}

/* testCounts -- all that a process has put into its region is how many events it has lost, because there was no room
 * for more */
static void testCounts(void)
{
  LeftStruct left;
  Count read;

  recoverMake(&left, 5, 0);
  memset(left.header.state, 0, sizeof left.header.state);
  left.header.text.generation = 0;
  left.header.lost = 7;
  leftWrite(&left);
  (void)recoverLacks();
  read = (Count)summary.discarded;
  TapIs(read, 7, "what a region counts as lost is told, also if nothing else is in it");
  TapOk(recoverLog(0) == ResOK && access(left.path, F_OK) != 0, "it is removed");
  (void)recoverLacks();
  TapIs((Count)summary.discarded, 7, "and the log tells it from then on");
  recoverDone(&left);
}

/* testStranger -- a region whose identity was written over, of a process that the log has nothing of: what is lost with
 * it is counted by the recording's collector; where the log has none the region stays, and tells of it */
static void testStranger(void)
{
  LeftStruct left;
  uint64_t lost;
  Bool stays;
  Count i;

  for (i = 0; i < 3; ++i) {
    recoverMake(&left, 1, 0);
    make.size = made.count = 0;
    collector->header.ended = i == 1;
    collector->header.open = i != 1;
    if (i == 2)
      collector->header.role[0] = '\0';
    MakeHeader(&make, collector);
    MakeWrite(&make, path);
    left.header.identity ^= (uint64_t)1 << 40;
    leftWrite(&left);
    (void)recoverLacks();
    lost = summary.discarded;
    TapOk(lost > 0, "%llu events of a region with another identity are lost", (unsigned long long)lost);
    TapOk(recoverLog(0) == ResOK && (stays = access(left.path, F_OK) == 0) == (i == 2), "which is %s",
          i == 2 ? "left" : "removed");
    (void)recoverLacks();
    TapIs(summary.discarded, lost, "and they stay lost: %s", got.note);
    recoverDone(&left);
  }
}

/* testShort -- a log that was cut is not closed, but what memory counts of events that are not there comes to it */
static void testShort(void)
{
  uint64_t overwritten, lost;
  LeftStruct left;

  recoverMake(&left, 5, 300);
  left.header.lost = 7;
  left.header.pool.reached = make.size + 1000;
  left.header.policy = RegionPolicyOVERWRITE;
  left.header.pool.overwritten = 4;
  left.header.pool.forgotten = 500;
  left.header.pool.forgottenTo = 101;
  leftWrite(&left);
  TapOk(recoverLacks(), "a log was cut: %s", got.note);
  overwritten = summary.overwritten;
  lost = summary.discarded;
  TapOk(recoverLog(0) == ResOK && access(left.path, F_OK) != 0, "what is in memory is added to it");
  TapOk(recoverLacks(), "so it is not whole: %s", got.note);
  TapIs(overwritten, 500, "events were overwritten,");
  TapIs(summary.overwritten, overwritten, "which the log says from then on");
  TapIs(lost, 7, "and lost,");
  TapIs(summary.discarded, lost, "which it says, too");
  recoverDone(&left);
}

/* testDropped -- of a stream all that the log had was dropped on purpose, and the rest is in memory: nothing
 * is missing */
static void testDropped(void)
{
  static const char zeros[3 * 4096];
  LeftStruct left;
  Count n;

  for (n = 0; n < 2; ++n) {
    recoverMake(&left, 5, 0);
    make.size = made.count = 0;
    MakeHeader(&make, process);
    MakeBytes(&make, zeros, sizeof zeros);
    collector->header.dropped = (DroppedStruct){.blocks = 3 + n, .events = (3 + n) * leftEach, .ticks = 101};
    MakeHeader(&make, collector);
    MakeWrite(&make, path);
    TapIs(recoverLacks(), n == 0, "%s: %s %s", n == 0 ? "one block more is missing than was dropped on purpose"
                                               : "all that is missing was dropped on purpose", got.gap, got.note);
    TapOk(recoverLog(0) == ResOK && access(left.path, F_OK) != 0, "what is in memory is added to the log");
    TapIs(recoverLacks(), n == 0, "and that is told in the same way: %s", got.note);
    recoverDone(&left);
  }
}

/* testForeign -- not into what is not its log */
static void testForeign(void)
{
  LeftStruct left;
  MakeProcess other = MakeProcessNew(20, 3);

  recoverMake(&left, 5, 0);
  make.size = 0;
  other->header.recording = leftRECORDING + 1;
  MakeHeader(&make, other);
  MakeWrite(&make, path);
  TapOk(recoverLog(leftRECORDING) == ResPARAM && recoverSize() == make.size && access(left.path, F_OK) == 0,
        "a log of another recording gets nothing");
  TapOk(recoverLog(0) == ResOK && recoverSize() == make.size, "nor does it look for this one");
  make.size = 0;
  MakeBytes(&make, "secret\n", 7);
  MakeWrite(&make, path);
  TapOk(recoverLog(leftRECORDING) != ResOK && recoverSize() == 7, "what is no log gets nothing");
  make.size = 0;
  MakeWrite(&make, path);
  TapOk(recoverLog(leftRECORDING) == ResOK && recovered.blocks > 0, "an empty one does");
  MakeProcessFree(other);
  recoverDone(&left);
}

/* testRunning -- somebody lives */
static void testRunning(void)
{
  LeftStruct left;

  recoverMake(&left, 5, 0);
  if (flock(left.fd, LOCK_EX) != 0)
    makeFail(left.path);
  TapOk(recoverLog(0) == ResOK && recovered.running == 1 && recovered.blocks == 0 && access(left.path, F_OK) == 0,
        "what a process that runs has is left to it");
  TapOk(recoverLacks() && strstr(got.note, "still running") != NULL, "and its log is not whole yet: %s", got.note);
  recoverDone(&left);
}

/* testDying -- a process fills one more block while it is asked whether it lives, and dies then */
static void testDying(void)
{
  uint8_t state = 0, its;
  LeftStruct left;
  int ends[2];
  pid_t child;
  Bool good;

  recoverMake(&left, 5, 0);
  its = left.header.state[left.slot - 1];
  if (pipe(ends) != 0 ||
      pwrite(left.fd, &state, 1, (off_t)offsetof(RegionHeaderStruct, state) + (off_t)left.slot - 1) != 1)
    makeFail(left.path);
  child = fork();
  if (child == 0) {
    int fd = open(left.path, O_RDWR);
    good = flock(fd, LOCK_EX) == 0 && write(ends[1], "", 1) == 1 && usleep(3000) == 0 &&
           pwrite(fd, &its, 1, (off_t)offsetof(RegionHeaderStruct, state) + (off_t)left.slot - 1) == 1;
    _exit(!good);
  }
  (void)!read(ends[0], &state, 1);
  do {
    good = recoverLog(leftRECORDING) == ResOK;
  } while (good && recovered.running > 0);
  TapOk(good && !recoverLacks() && listSame(&got, &made) == -1, "what a process did before it died is not overlooked");
  (void)waitpid(child, NULL, 0);
  (void)close(ends[0]);
  (void)close(ends[1]);
  recoverDone(&left);
}

/* recoverStays -- is a file that was to become a region of process `pid`, but is nothing yet, left alone? */
static Bool recoverStays(Left left, pid_t pid, off_t size, Bool locked)
{
  char name[400];
  Bool stays;
  int fd;

  (void)snprintf(name, sizeof name, "%s.region-%016llx-%ld-1", path, (unsigned long long)leftRECORDING, (long)pid);
  fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (fd < 0 || ftruncate(fd, size) != 0 || (locked && flock(fd, LOCK_EX) != 0))
    makeFail(left->path);
  (void)recoverLog(leftRECORDING);
  stays = access(name, F_OK) == 0;
  (void)close(fd);
  (void)unlink(name);
  return stays;
}

/* testUnborn -- killed while it made its region */
static void testUnborn(void)
{
  pid_t dead = fork();
  LeftStruct left;

  if (dead == 0)
    _exit(0);
  (void)waitpid(dead, NULL, 0);
  recoverMake(&left, 5, 0);
  TapOk(!recoverStays(&left, getpid(), RegionSize(leftSlots), FALSE), "a region that nobody makes any more is removed");
  TapOk(recoverStays(&left, getpid(), RegionSize(leftSlots), TRUE), "one that somebody makes is not,");
  TapOk(recoverStays(&left, getpid(), 0, FALSE), "also if it has no lock yet,");
  TapOk(!recoverStays(&left, dead, 0, FALSE), "unless its process is dead");
  recoverDone(&left);
}

/* testUnwritten -- the collector has ended, and could not write */
static void testUnwritten(void)
{
  LeftStruct left;

  recoverMake(&left, 5, 300);
  process->header.boot[0] = '\0';
  leftText(&left);
  left.header.hand.collector = RegionCollectorTID; /* there is no such thread */
  leftWrite(&left);
  TapOk(recoverLacks() && strstr(got.note, "could not be written, and are in ") != NULL && got.gaps == 0,
        "what eventrec could not write is told: %s", got.note);
  TapOk(recoverLog(0) == ResOK && !recoverLacks() && got.notes == 0, "until it is recovered");
  recoverDone(&left);
}

/* testHostile -- a region that lies is survived; it may spoil its own process's events, by longer copies of them, and
 * nothing else */
static void testHostile(uint64_t *seed)
{
  LeftStruct left;
  Index i, n;
  Count broken = 0;

  for (n = 0; n < 200; ++n) {
    recoverMake(&left, 3, 0);
    for (i = TapRandom(seed) % 20 + 1; i > 0; --i) {
      uint64_t r = TapRandom(seed), value = TapRandom(seed);
      off_t at = (off_t)(r % 3 == 0 ? offsetof(RegionHeaderStruct, slots) + (r >> 8) % 2000
                         : r % 3 == 1 ? RegionTEXT + (r >> 8) % 4000
                                      : RegionSize((r >> 8) % 3 + 1) - BlockMAX + (r >> 16) % 2000);
      if (pwrite(left.fd, &value, 1 + (r >> 40) % 8, at) < 0)
        makeFail(left.path);
    }
    if (n % 5 == 0 && ftruncate(left.fd, (off_t)(TapRandom(seed) % RegionSize(leftSlots))) != 0)
      makeFail(left.path);
    (void)recoverLog(0);
    broken += !recoverLacks() && got.count < 3 * leftEach;
    recoverDone(&left);
  }
  TapIs(broken, 0, "200 regions that lie: where they spoil what was in the log, that is told");
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;

  leftLog();
  testWhole();
  testHeaderTorn();
  testTwice();
  testHidden(FALSE);
  testHidden(TRUE);
  testCut();
  testDeclined();
  testCounts();
  testGone();
  testStranger();
  testShort();
  testDropped();
  testForeign();
  testRunning();
  testDying();
  testUnborn();
  testUnwritten();
  testHostile(&seed);
  leftLogEnd();
  MakeFree(&make);
  return TapDone();
}
