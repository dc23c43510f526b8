/* followtest.c -- following a log that grows: each event once, whatever the pieces and snapshots in which it comes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A whole log is made first, with snapshots of blocks that fill slowly; then a child writes it piece by piece while it
 * is followed.
 */
#include <sys/wait.h>
#include <time.h>

#include "loglist.h"
#include "log/damage.h"
#include "request/arriving.h"
#include "request/follow.h"

enum { followStreams = 5, followPIECES = 60 };

static MakeStruct whole;
static uint64_t inversions;

static Bool followIdle(void *data)
{
  UNUSED(data);
  return FALSE;
}

static Bool followEvent(LogRequest request, LogEvent event)
{
  TestList list = request->data;
  Count n = list->count;

  (void)listEvent(request, event);
  if (n > 0 && list->event[n].time < list->event[n - 1].time)
    ++inversions;
  return FALSE;
}

/* followSnapshot -- a block as it stands; with `pending`, its newest event's code is not there yet */
static void followSnapshot(MakeBlock block, Size newest, Bool pending)
{
  uint16_t code;

  memcpy(&code, block->events + newest, sizeof code);
  if (pending) {
    memset(block->events + newest, 0, sizeof code);
    --block->header.count;
  }
  MakeBlockEnd(&whole, block, BlockFlagSNAPSHOT | BlockFlagSEALED);
  if (pending) {
    memcpy(block->events + newest, &code, sizeof code);
    ++block->header.count;
  }
}

/* followMake -- the log: streams that fill at different speeds; a second process comes later, with a type of its own */
static void followMake(uint64_t *seed, Count events)
{
  MakeProcess process[2] = {MakeProcessNew(10, 1), MakeProcessNew(11, 2)};
  Size newest[followStreams] = {0};
  Index i, s;

  made.count = 0;
  whole.size = 0;
  MakeHeader(&whole, process[0]);
  for (s = 0; s < followStreams; ++s)
    MakeBlockBegin(&blocks[s], process[s == followStreams - 1], (uint32_t)(11 + s), EventKindObject, 0, 100 + s);
  for (i = 0; i < events; ++i) {
    uint64_t r = TapRandom(seed);
    MakeBlock block = &blocks[r % 64 < 2 ? 0 : r % 64 < 8 ? 1 : 2 + r % 64 % (i < events / 2 ? 2 : 3)];
    s = (Index)(block - blocks);
    newest[s] = block->header.used;
    (void)MakeEvent(block, EventPoolFreeCODE, 1000 + 10 * i, (uint64_t[]){7, i}, NULL);
    listAdd(&made, 1000 + 10 * i, block, (uint32_t)i, i, EventPoolFreeCODE);
    if (s == followStreams - 1 && block->header.sequence == 0 && block->header.count == 1)
      MakeHeader(&whole, process[1]);
    if (block->header.count >= 200 + (r >> 32) % 100) {
      MakeBlockEnd(&whole, block, BlockFlagSEALED | ((r >> 16 & 1) != 0 ? BlockFlagPACKED : 0));
      if ((r >> 17) % 8 == 0)
        MakeBlockEnd(&whole, block, BlockFlagSEALED); /* it came twice */
      MakeBlockNext(block, 1000 + 10 * i);
    }
    if (i % 300 == 299)
      for (s = 0; s < followStreams; ++s)
        if (blocks[s].header.count > 0)
          followSnapshot(&blocks[s], newest[s], blocks[s].header.count > 1 && (r >> (20 + s) & 1) != 0);
  }
  for (s = 0; s < followStreams; ++s)
    MakeBlockEnd(&whole, &blocks[s], BlockFlagSEALED);
  MakeProcessFree(process[0]);
  MakeProcessFree(process[1]);
}

/* followWrite -- a child that writes the log, from a place on, in pieces of any size; about half a second */
static pid_t followWrite(uint64_t seed, Size from)
{
  pid_t pid = fork();

  if (pid == 0) {
    int fd = open(path, O_WRONLY | O_APPEND);
    while (from < whole.size) {
      struct timespec nap = {0, (long)(TapRandom(&seed) % 16000000)};
      Size size = 1 + TapRandom(&seed) % (2 * whole.size / followPIECES);
      if (size > whole.size - from)
        size = whole.size - from;
      if (write(fd, whole.bytes + from, size) != (ssize_t)size)
        _exit(1);
      from += size;
      (void)nanosleep(&nap, NULL);
    }
    _exit(0);
  }
  return pid;
}

/* followRead -- follow the log into `got`; ids from 0 to `got.count`, so that it can be sorted */
static Res followRead(LogRequest request)
{
  LogHooksStruct hooks = {.data = &got, .gap = listGap, .note = listNote,
                           .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  LogIdleStruct idle = {followIdle, NULL};
  char error[256];
  Log log;
  Res res;

  got.count = 0;
  got.gaps = got.lost = got.notes = 0;
  inversions = 0;
  res = LogFollowOpen(&log, path, &hooks, &idle, error, sizeof error);
  if (res != ResOK) {
    printf("# %s\n", error);
    return res;
  }
  request->event = followEvent;
  request->data = &got;
  res = LogRead(log, request);
  LogClose(log);
  return res;
}

static int followById(const void *a, const void *b)
{
  const TestEventStruct *x = a, *y = b;

  return x->id < y->id ? -1 : x->id > y->id;
}

/* testGrows -- `first` bytes of it stand there at the beginning */
static void testGrows(uint64_t *seed, Size first)
{
  MakeStruct begin = {.bytes = whole.bytes, .size = first};
  LogRequestStruct request = LogRequestALL;
  int status;
  pid_t pid;

  MakeWrite(&begin, path);
  pid = followWrite(TapRandom(seed), first);
  TapIs(followRead(&request), ResOK, "a log is followed of which %zu bytes of %zu are there", first, whole.size);
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "it was written");
  TapIs(got.count, made.count, "as many events come as there are");
  qsort(got.event, got.count, sizeof *got.event, followById);
  TapIs(listSame(&got, &made), -1, "each once");
  TapIs(got.gaps, 0, "nothing is missing");
  TapOk((inversions > 0) == (got.notes > 0), "events in disorder are told of, no others: %u", (unsigned)inversions);
}

/* testLate -- a block whose events are older than what was waited for: they come all the same, and are counted */
static void testLate(void)
{
  static const uint64_t times[] = {1000, 2000, 3000, 1500};
  static const struct timespec nap = {0, 300000000};
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  LogRequestStruct request = LogRequestALL;
  Size end[4];
  Index i;
  pid_t pid;

  MakeHeader(&make, process);
  for (i = 0; i < 4; ++i) {
    MakeBlockBegin(&blocks[0], process, (uint32_t)(11 + i), EventKindObject, 0, times[i]);
    (void)MakeEvent(&blocks[0], EventPoolFreeCODE, times[i], (uint64_t[]){7, i}, NULL);
    MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
    end[i] = make.size;
  }
  make.size = end[0];
  MakeWrite(&make, path);
  pid = fork();
  if (pid == 0) {
    int fd = open(path, O_WRONLY | O_APPEND);
    for (i = 1; i < 4; ++i) {
      (void)nanosleep(&nap, NULL);
      if (write(fd, make.bytes + end[i - 1], end[i] - end[i - 1]) < 0)
        _exit(1);
    }
    _exit(0);
  }
  TapOk(followRead(&request) == ResOK && got.count == 4, "what comes late is delivered");
  (void)waitpid(pid, NULL, 0);
  TapOk(inversions == 1 && strstr(got.note, "1 event came late") != NULL, "and counted: %s", got.note);
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testTorn -- a write that was cut short is told of when no more comes that may bring it again, and then once */
static void testTorn(void)
{
  DamagedRangesStruct regions = {0};
  DamagedRangeStruct region = {.place = 100, .end = 150, .what = "block header damaged", .torn = TRUE, .guess = 7};
  const char *const paths[] = {"log"};
  ReporterStruct reporter = {.paths = paths, .telling = TRUE};

  TapOk(DamagedRangesAdd(&regions, &region) == ResOK, "a place with a piece");
  DamagedRangesTell(&regions, &reporter, regions.count, FALSE);
  TapIs(reporter.gaps, 0, "is not told of while more may come");
  DamagedRangesTell(&regions, &reporter, regions.count, TRUE);
  DamagedRangesTell(&regions, &reporter, regions.count, TRUE);
  TapIs(reporter.gaps, 1, "and once when nothing comes");
  DamagedRangesFree(&regions);
}

/* testSome -- a count ends it, and so does a time */
static void testSome(void)
{
  LogRequestStruct request = LogRequestALL;

  MakeWrite(&whole, path);
  request.count = 500;
  TapOk(followRead(&request) == ResOK && got.count == 500, "so many, and no more");
  request.count = UINT64_MAX;
  request.to = testReal + 1000 + 10 * 700;
  TapOk(followRead(&request) == ResOK && got.count == 700, "up to a time");
}

static void testQueue(uint64_t *seed)
{
  QueueStruct queue = {0};
  IndexEntryStruct entry = {0};
  uint64_t last = 0, sorted = 1;
  Index i;

  for (i = 0; i < 3000; ++i)
    (void)QueuePut(&queue, TapRandom(seed) % 1000, &entry);
  TapOk(QueueCheck(&queue), "a queue is a heap");
  for (; queue.count > 0; QueueTake(&queue)) {
    sorted &= queue.heap[0].fine >= last;
    last = queue.heap[0].fine;
  }
  TapOk(sorted, "and gives what is first first");
  QueueFree(&queue);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  testQueue(&seed);
  followMake(&seed, 20000);
  testGrows(&seed, 0);
  testGrows(&seed, 7);
  testGrows(&seed, whole.size / 2);
  testGrows(&seed, whole.size);
  testSome();
  testLate();
  testTorn();
  MakeFree(&whole);
  (void)unlink(path);
  return TapDone();
}
