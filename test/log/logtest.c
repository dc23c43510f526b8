/* logtest.c -- reading logs: what is delivered is what was recorded, in order, and only what was asked for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random logs are built together with a list of their events; reading them must give that list, sorted and filtered
 * by hand.
 */
#include "loglist.h"

static TestListStruct expected;

/* ---- Random logs ---- */

typedef struct TestStreamStruct {
  MakeBlockStruct block;
  uint64_t time;
  uint32_t place;
} TestStreamStruct, *TestStream;

enum { testStreams = 12 };
static TestStreamStruct streams[testStreams];

/* randomEvent -- one more event in a stream, now and then behind its time (a handler's), and now and then with a
 * hole before it */
static void randomEvent(Make make, TestStream stream, uint64_t *seed, uint64_t id)
{
  static const uint16_t codes[] = {EventPoolAllocCODE, EventPoolFreeCODE, EventLabelCODE};
  static const unsigned kindOf[] = {EventKindObject, EventKindObject, EventKindUser};
  uint64_t r = TapRandom(seed);
  MakeBlock block = &stream->block;
  unsigned which = block->header.kind == EventKindUser ? 2 : (unsigned)(r >> 8 & 1);
  uint64_t step = (r & 0xff) == 0 ? (uint64_t)1 << 33 : (r >> 16) % 50, time, params[3];

  if (kindOf[which] != block->header.kind)
    which = 0;
  stream->time += step;
  time = (r >> 32) % 16 == 0 && stream->time > block->header.first + 40 ? stream->time - 40 : stream->time;
  params[0] = params[2] = r;
  params[1] = id;
  if (block->header.used > 3000 || block->header.count > (r >> 40) % 200 ||
      !MakeEvent(block, codes[which], time, params, NULL)) {
    MakeBlockEnd(make, block, BlockFlagSEALED | ((r >> 36 & 1) != 0 ? BlockFlagPACKED : 0));
    MakeBlockNext(block, stream->time);
    time = stream->time;
    (void)MakeEvent(block, codes[which], time, params, NULL);
  }
  if ((r >> 50) % 32 == 0 && (r >> 36 & 1) == 0)
    MakeHole(block, (unsigned)(r >> 56) % 3);
  listAdd(&made, time, block, stream->place++, id, codes[which]);
}

/* randomLog -- three processes' streams, some of which begin later than others */
static void randomLog(Make make, MakeProcess *process, uint64_t *seed, Count events)
{
  Index i;

  made.count = 0;
  make->size = 0;
  for (i = 0; i < 3; ++i)
    MakeHeader(make, process[i]);
  for (i = 0; i < testStreams; ++i) {
    TestStream stream = &streams[i];
    stream->time = 1000 + TapRandom(seed) % 5000;
    stream->place = 0;
    MakeBlockBegin(&stream->block, process[i % 3], (uint32_t)(100 + i / 6), i / 3 % 2 == 0 ? EventKindObject
          : EventKindUser, 0,
                   stream->time);
    stream->block.header.stream = (uint32_t)i;
  }
  for (i = 0; i < events; ++i)
    randomEvent(make, &streams[TapRandom(seed) % testStreams], seed, i);
  for (i = 0; i < testStreams; ++i)
    MakeBlockEnd(make, &streams[i].block, BlockFlagSEALED);
  MakeWrite(make, path);
  qsort(made.event, made.count, sizeof made.event[0], listCompare);
}

/* randomFilter -- the events of `made` that a request asks for, by hand */
static void randomFilter(LogRequest request, uint16_t code)
{
  Index i;

  expected.count = 0;
  for (i = 0; i < made.count && expected.count < request->count; ++i) {
    TestEventStruct *e = &made.event[i];
    unsigned kind = e->code == EventLabelCODE ? EventKindUser : EventKindObject;
    if ((request->kinds >> kind & 1) != 0 && e->time + testReal >= request->from && e->time + testReal < request->to &&
        (code == 0 || e->code == code))
      expected.event[expected.count++] = *e;
  }
}

static uint16_t chosenCode;

static Bool chooseCode(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return type->code == chosenCode;
}

static void testRandom(uint64_t *seed)
{
  MakeStruct make = {0};
  MakeProcess process[3];
  Index i, round;

  for (i = 0; i < 3; ++i)
    process[i] = MakeProcessNew((uint32_t)(10 + i), 0xabc0 + i);
  for (round = 0; round < 6; ++round) {
    Log log;
    randomLog(&make, process, seed, 3000 << (round / 2));
    log = testOpen(&got);
    TapOk(log != NULL, "random log %u of %u events opens", (unsigned)round, (unsigned)made.count);
    for (i = 0; log != NULL && i < 8; ++i) {
      LogRequestStruct request = LogRequestALL;
      uint64_t r = TapRandom(seed), a = made.event[r % made.count].time, b = made.event[(r >> 32) % made.count].time;
      chosenCode = 0;
      if ((i & 1) != 0) {
        request.from = testReal + (a < b ? a : b);
        request.to = testReal + (a < b ? b : a);
      }
      if ((i & 2) != 0)
        request.kinds = (r & 1) != 0 ? 1u << EventKindUser : 1u << EventKindObject | 1u << EventKindPool;
      if ((i & 4) != 0) {
        chosenCode = (r & 2) != 0 ? EventPoolFreeCODE : EventLabelCODE;
        request.choose = chooseCode;
        request.count = r % 1000;
      }
      randomFilter(&request, chosenCode);
      (void)testRead(log, &got, &request);
      TapIs(listSame(&got, &expected), -1, "request %u of it gives %u events, the right ones in order", (unsigned)i,
            (unsigned)expected.count);
    }
    TapIs(got.gaps, 0, "and nothing is told of gaps");
    if (log != NULL)
      LogClose(log);
  }
  for (i = 0; i < 3; ++i)
    MakeProcessFree(process[i]);
  MakeFree(&make);
}

/* ---- What happens to logs without harm ---- */

/* testOrder -- blocks shuffled, and each twice: still everything, once, and no gap */
static void testOrder(uint64_t *seed)
{
  MakeStruct make = {0}, shuffled = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  Size begin[256], size[256];
  Count n = 0;
  Index i;

  made.count = 0;
  MakeHeader(&shuffled, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 2000; ++i) {
    (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 100 + i, (uint64_t[]){7, i}, NULL);
    listAdd(&made, 100 + i, &blocks[0], (uint32_t)i, i, EventPoolFreeCODE);
    if (i % 20 == 19) {
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED | BlockFlagPACKED);
      begin[n] = make.last;
      size[n] = begin[n + 100] = make.size - make.last;
      begin[n + 100] = make.last;
      size[n + 100] = size[n];
      ++n;
      MakeBlockNext(&blocks[0], 101 + i);
    }
  }
  for (n = 200; n > 0; --n) {
    Index j = (Index)(TapRandom(seed) % n);
    Size b = begin[j], s = size[j];
    MakeBytes(&shuffled, make.bytes + b, s);
    begin[j] = begin[n - 1];
    size[j] = size[n - 1];
  }
  MakeWrite(&shuffled, path);
  TapOk(testReadAll(), "a log with its blocks shuffled, each twice, is read");
  TapIs(listSame(&got, &made), -1, "every event once, in order");
  TapIs(got.gaps, 0, "and nothing is missing");
  MakeProcessFree(process);
  MakeFree(&make);
  MakeFree(&shuffled);
}

/* testSnapshot -- the same block several times, longer each time */
static void testSnapshot(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  Index i;

  made.count = 0;
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 30; ++i) {
    (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 100 + i, (uint64_t[]){7, i}, NULL);
    listAdd(&made, 100 + i, &blocks[0], (uint32_t)i, i, EventPoolFreeCODE);
    if (i % 10 == 5)
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED | BlockFlagSNAPSHOT);
  }
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeBlockNext(&blocks[0], 200);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.gaps == 0, "snapshots of a block, and the block, are read without a word");
  TapIs(listSame(&got, &made), -1, "and the longest serves");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testSpill -- more blocks than the index keeps in memory */
static void testSpill(void)
{
  enum { events = 80000, threads = 8 };
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  Index i, t;

  made.count = 0;
  for (t = 0; t < threads; ++t)
    MakeBlockBegin(&blocks[t], process, (uint32_t)(20 + t), EventKindObject, 0, 100);
  for (i = 0; i < events; ++i) {
    MakeBlock block = &blocks[i % threads];
    (void)MakeEvent(block, EventPoolFreeCODE, 100 + 3 * i, (uint64_t[]){7, i}, NULL);
    listAdd(&made, 100 + 3 * i, block, (uint32_t)(i / threads), i, EventPoolFreeCODE);
    MakeBlockEnd(&make, block, BlockFlagSEALED);
    MakeBlockNext(block, 101 + 3 * i);
    memset(block->events, 0, 64);
  }
  MakeHeader(&make, process); /* all blocks are seen before their process is known */
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.gaps == 0, "a log of %u blocks is read", (unsigned)events);
  TapIs(listSame(&got, &made), -1, "and comes in order out of the spilled index");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testPark -- more blocks open at once than memory is meant for */
static void testPark(uint64_t *seed)
{
  enum { threads = 400, each = 450 };
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LogRequestStruct request = LogRequestALL;
  Index i, t;
  Log log;

  made.count = 0;
  MakeHeader(&make, process);
  for (t = 0; t < threads; ++t) {
    uint64_t time = 1000 + t;
    MakeBlockBegin(&blocks[0], process, (uint32_t)(20 + t), EventKindObject, 0, time);
    for (i = 0; i < each; ++i) {
      time += TapRandom(seed) % 300;
      (void)MakeEvent(&blocks[0], EventPoolFreeCODE, time, (uint64_t[]){7, t * each + i}, NULL);
      listAdd(&made, time, &blocks[0], (uint32_t)i, t * each + i, EventPoolFreeCODE);
    }
    MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  }
  MakeWrite(&make, path);
  qsort(made.event, made.count, sizeof made.event[0], listCompare);
  log = testOpen(&got);
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK, "a log of %u threads that run at once is read",
        (unsigned)threads);
  TapIs(listSame(&got, &made), -1, "and comes in order, though most of its open blocks are spilled");
  request.count = 1000;
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK && got.count == 1000,
        "also when it is not read to its end");
  if (log != NULL)
    LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testKinds -- blocks of kinds that no header can name, whose events come in turn */
static void testKinds(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LogRequestStruct request = LogRequestALL;
  Index i;
  Log log;

  MakeHeader(&make, process);
  for (i = 0; i < 2; ++i) {
    MakeBlockBegin(&blocks[i], process, (uint32_t)(20 + i), (unsigned)(EventKindMAX + 3 + i), 0, 0);
    (void)MakeEvent(&blocks[i], EventPoolFreeCODE, 10 + i, (uint64_t[]){7, 1}, NULL);
    (void)MakeEvent(&blocks[i], EventPoolAllocCODE, 20 + i, (uint64_t[]){7, 2, 3}, NULL);
    MakeBlockEnd(&make, &blocks[i], BlockFlagSEALED);
  }
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK && got.count == 4,
        "blocks of kinds that no header can name are read");
  request.kinds = (uint32_t)1 << (EventKindMAX + 3) | (uint32_t)1 << EventKindObject;
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK && got.count == 0, "but not for who chooses kinds");
  if (log != NULL)
    LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  testRandom(&seed);
  testOrder(&seed);
  testSnapshot();
  testSpill();
  testPark(&seed);
  testKinds();
  (void)unlink(path);
  return TapDone();
}
