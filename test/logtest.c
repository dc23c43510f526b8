/* logtest.c -- reading logs: what is delivered is what was recorded, in order, and only what was asked for
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random logs are built together with a list of their events; reading them must give that list, sorted and filtered by hand.
 */
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "format/region.h"
#include "log/log.h"
#include "log/names.h"
#include "log/when.h"
#include "logmake.h"

enum { testEVENTS = 200000, testRealBASE = 86400 };

static const uint64_t testReal = testRealBASE * (uint64_t)1000000000; /* of tick 0 */

/* An event as the test knows it. */
typedef struct TestEventStruct {
  uint64_t time; /* ticks, which are ns */
  uint32_t pid, stream;
  uint32_t place; /* number in its stream */
  uint64_t id;    /* what its parameter says */
  uint16_t code;
} TestEventStruct;

typedef struct TestListStruct {
  Count count;
  TestEventStruct event[testEVENTS];
  uint64_t gaps, lost, notes;
  char gap[256], note[256];
} TestListStruct, *TestList;

static TestListStruct made, expected, got;
static MakeBlockStruct blocks[64];
static char path[64] = "/tmp/logtestXXXXXX";

static void listGap(void *data, LogGap gap)
{
  TestList list = data;

  ++list->gaps;
  list->lost += gap->lost;
  (void)snprintf(list->gap, sizeof list->gap, "%s", gap->what);
}

static void listNote(void *data, const char *line)
{
  TestList list = data;

  ++list->notes;
  (void)snprintf(list->note, sizeof list->note, "%s", line);
}

static Bool listEvent(void *data, LogEvent event)
{
  TestList list = data;
  TestEventStruct *e = &list->event[list->count++];

  e->time = event->time - testReal;
  e->pid = event->process->header.pid;
  e->stream = event->stream;
  e->code = event->type->code;
  e->id = LogEventWord(event, 1);
  return list->count == testEVENTS;
}

static void listAdd(TestList list, uint64_t time, MakeBlock block, uint32_t place, uint64_t id, uint16_t code)
{
  TestEventStruct *e = &list->event[list->count++];

  e->time = time;
  e->pid = block->process->header.pid;
  e->stream = block->header.stream;
  e->place = place;
  e->id = id;
  e->code = code;
}

/* The one order: time, process, stream, place.  Processes appear by rising pid in these logs. */
static int listCompare(const void *a, const void *b)
{
  const TestEventStruct *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* listSame -- the first difference of two lists, or minus one */
static long listSame(TestList a, TestList b)
{
  Index i;

  for (i = 0; i < a->count && i < b->count; ++i)
    if (a->event[i].time != b->event[i].time || a->event[i].id != b->event[i].id ||
        a->event[i].code != b->event[i].code || a->event[i].stream != b->event[i].stream ||
        a->event[i].pid != b->event[i].pid)
      return (long)i;
  return a->count == b->count ? -1 : (long)i;
}

static Log testOpen(TestList list)
{
  LogHooksStruct hooks = {.data = list, .gap = listGap, .note = listNote};
  const char *paths[1] = {path};
  char error[256];
  Log log = NULL;

  list->count = 0;
  list->gaps = list->lost = list->notes = 0;
  list->gap[0] = list->note[0] = '\0';
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
    printf("# %s\n", error);
    return NULL;
  }
  return log;
}

static Res testRead(Log log, TestList list, LogRequest request)
{
  list->count = 0;
  request->event = listEvent;
  request->data = list;
  return LogRead(log, request);
}

/* testReadAll -- the whole file into `got`; returns whether that worked */
static Bool testReadAll(void)
{
  LogRequestStruct request = LogRequestALL;
  Log log = testOpen(&got);
  Res res;

  if (log == NULL)
    return FALSE;
  res = testRead(log, &got, &request);
  LogClose(log);
  return res == ResOK;
}

/* ---- Random logs ---- */

typedef struct TestStreamStruct {
  MakeBlockStruct block;
  uint64_t time;
  uint32_t place;
} TestStreamStruct, *TestStream;

enum { testStreams = 12 };
static TestStreamStruct streams[testStreams];

/* randomEvent -- one more event in a stream, now and then behind its time (a handler's), and now and then with a hole before it */
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
    MakeBlockBegin(&stream->block, process[i % 3], (uint32_t)(100 + i / 6), i / 3 % 2 == 0 ? EventKindObject : EventKindUser, 0,
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
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK, "a log of %u threads that run at once is read", (unsigned)threads);
  TapIs(listSame(&got, &made), -1, "and comes in order, though most of its open blocks are parked");
  request.count = 1000;
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK && got.count == 1000, "also when it is not read to its end");
  if (log != NULL)
    LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- Clocks ---- */

/* clockLog -- one process's log with one event at `ticks`, and another process's */
static void testClocks(void)
{
  MakeStruct make = {0};
  MakeProcess a = MakeProcessNew(10, 1), b = MakeProcessNew(11, 2);

  /* a ticks 2.5 times a ns, and its header is wrong by a tenth; b was booted elsewhere, an hour later, and counts ns. */
  a->header.frequency = 2750000000;
  a->header.syncs = 2;
  a->header.sync[0] = (SyncStruct){.ticks = 1000, .mono = 400, .real = testReal + 400};
  a->header.sync[1] = (SyncStruct){.ticks = 1000 + 25000000000u, .mono = 10000000400u, .real = testReal + 10000000400u};
  strcpy(b->header.boot, "another");
  b->header.sync[0] = (SyncStruct){.ticks = 5, .mono = 5, .real = testReal + 2000000005u};
  MakeHeader(&make, a);
  MakeHeader(&make, b);
  MakeBlockBegin(&blocks[0], a, 20, EventKindObject, 0, 1000);
  MakeBlockBegin(&blocks[1], b, 20, EventKindObject, 0, 5);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 1000, (uint64_t[]){7, 1}, NULL);           /* 400 ns */
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 5000000000u, (uint64_t[]){7, 2}, NULL);    /* 2 s */
  (void)MakeEvent(&blocks[1], EventPoolFreeCODE, 5, (uint64_t[]){7, 3}, NULL);              /* 2 s and 5 ns */
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 5000000025u, (uint64_t[]){7, 4}, NULL);    /* 2 s and 10 ns */
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeBlockEnd(&make, &blocks[1], BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.count == 4, "processes with different clocks are read as one");
  TapOk(got.event[0].id == 1 && got.event[1].id == 2 && got.event[2].id == 3 && got.event[3].id == 4,
        "their events stand in the order of wall time");
  TapIs(got.event[0].time, 400, "a clock's line goes through its first relation");
  TapIs(got.event[1].time, 2000000000u, "and its last, whatever the header's frequency");
  TapIs(got.event[2].time, 2000000005u, "the other clock has a line of its own");
  TapIs(got.event[3].time, 2000000010u, "whole nanoseconds stay whole");
  MakeProcessFree(a);
  MakeProcessFree(b);
  MakeFree(&make);
}

/* testSeals -- only blocks say how ticks and time belong together */
static void testSeals(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);

  process->header.frequency = 1000000000;
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 20, EventKindObject, 0, 0);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 0, (uint64_t[]){7, 1}, NULL);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 2000000000, (uint64_t[]){7, 2}, NULL);
  blocks[0].header.mono = 1000000000; /* two ticks a ns, after all */
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.count == 2, "a log with one relation in its header is read");
  TapIs(got.event[1].time, 1000000000, "what its blocks say corrects the frequency");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- Other machines ---- */

typedef struct ForeignStruct {
  Count count;
  uint64_t word[8];
  double real;
  char string[16];
  Bool cut;
} ForeignStruct;

static Bool foreignEvent(void *data, LogEvent event)
{
  ForeignStruct *f = data;
  Size length = 0;

  if (event->type->code == EventPoolAllocCODE) {
    f->word[f->count] = LogEventWord(event, 0);
    f->word[f->count + 1] = LogEventWord(event, 1);
    f->word[f->count + 2] = LogEventWord(event, 2);
    f->count += 3;
  } else if (event->type->code == EventUserDoubleCODE) {
    f->real = LogEventDouble(event, 1);
  } else if (event->type->code == EventUserStringCODE) {
    const char *string = LogEventString(event, 1, &length);
    if (length < sizeof f->string)
      memcpy(f->string, string, length);
    f->cut = event->cut;
  }
  return FALSE;
}

static void testForeign(uint8_t word, Bool swapped)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessForeign(10, 1, word, swapped, EventRegistryTEXT);
  LogRequestStruct request = LogRequestALL;
  ForeignStruct f = {0};
  double real = -1234.5e-67;
  uint64_t bits;
  Log log;

  memcpy(&bits, &real, sizeof bits);
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 20, EventKindObject, 0, (uint64_t)5 << 32);
  (void)MakeEvent(&blocks[0], EventPoolAllocCODE, (uint64_t)6 << 32, (uint64_t[]){0x12345678, 0x9abcdef0, 0x7654}, NULL);
  (void)MakeEvent(&blocks[0], EventUserDoubleCODE, (uint64_t)6 << 32, (uint64_t[]){3, bits}, NULL);
  (void)MakeEvent(&blocks[0], EventUserStringCODE, (uint64_t)6 << 32, (uint64_t[]){3}, "fremd");
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL, "a log of a machine with %u-byte words%s opens", word, swapped ? " and the other byte order" : "");
  if (log != NULL) {
    request.event = foreignEvent;
    request.data = &f;
    TapOk(LogRead(log, &request) == ResOK && got.gaps == 0 && f.count == 3, "and is read");
    TapOk(f.word[0] == 0x12345678 && f.word[1] == 0x9abcdef0 && f.word[2] == 0x7654, "its words are right");
    TapOk(f.real == real, "its doubles are");
    TapOk(strcmp(f.string, "fremd") == 0 && !f.cut, "and its strings");
    LogClose(log);
  }
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- Registries ---- */

/* testTypes -- two processes with one code for two types, one of which comes in a later header */
static void testTypes(void)
{
  static const char more[] = EventRegistryTEXT "event: 0x8000 Mine User 1 WW a b\n";
  static const char other[] = EventRegistryTEXT "event: 0x8000 Theirs User 1 UAD a b c\n";
  MakeStruct make = {0};
  MakeProcess a = MakeProcessForeign(10, 1, 8, FALSE, more), b = MakeProcessForeign(11, 2, 8, FALSE, other);
  Log log;
  Index i;

  a->registryText = EventRegistryTEXT;
  b->registryText = EventRegistryTEXT;
  MakeHeader(&make, a);
  MakeHeader(&make, b);
  a->registryText = more;
  b->registryText = other;
  MakeHeader(&make, a);
  MakeHeader(&make, b);
  MakeHeader(&make, a);
  for (i = 0; i < 2; ++i) {
    MakeBlockBegin(&blocks[i], i == 0 ? a : b, 20, EventKindUser, 0, 10 + i);
    (void)MakeEvent(&blocks[i], 0x8000, 10 + i, (uint64_t[]){7, 77 + i, 0}, NULL);
    MakeBlockEnd(&make, &blocks[i], BlockFlagSEALED);
  }
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL, "a log with types defined at run time opens");
  if (log != NULL) {
    LogRequestStruct request = LogRequestALL;
    (void)testRead(log, &got, &request);
    TapOk(got.count == 2 && got.event[0].id == 77 && got.event[1].id == 78, "one code means in each process what it said");
    TapOk(LogProcessAt(log, 0)->registry != LogProcessAt(log, 1)->registry, "their registries are two");
    LogClose(log);
  }
  MakeProcessFree(a);
  MakeProcessFree(b);
  MakeFree(&make);
}

static void testChoices(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  char error[1024];
  uint32_t mask;
  LogNames names;
  Log log;

  MakeHeader(&make, process);
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL, "a log with a header and no events opens");
  if (log == NULL)
    return;
  TapOk(LogKindMask(&mask, log, "Arena,Object", error, sizeof error) == ResOK && mask == 0x21, "kinds by name");
  TapOk(LogKindMask(&mask, log, "-Object", error, sizeof error) == ResOK && (mask & 0x7f) == 0x5f, "all but one");
  TapOk(LogKindMask(&mask, log, "none,+Pool", error, sizeof error) == ResOK && mask == 2, "none and one");
  TapOk(LogKindMask(&mask, log, "Objekt", error, sizeof error) == ResPARAM && strstr(error, "Objekt") != NULL &&
          strstr(error, "Object") != NULL, "a misspelt kind is named, and the others listed");
  TapOk(LogNamesMake(&names, log, "PoolAlloc,Intern", error, sizeof error) == ResOK, "events by name");
  TapOk(LogNamesHas(names, RegistryFind(process->registry, EventInternCODE)) &&
          !LogNamesHas(names, RegistryFind(process->registry, EventLabelCODE)), "only those");
  LogNamesFree(names);
  TapOk(LogNamesMake(&names, log, "PoolAllok", error, sizeof error) == ResPARAM && strstr(error, "PoolAllok") != NULL &&
          strstr(error, "PoolAllocFail") != NULL, "a misspelt event is named, and the others listed");
  LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
}

static void testWhen(void)
{
  uint64_t noon = (uint64_t)12 * 3600 * 1000000000, t;
  LogSummaryStruct summary = {.first = noon, .last = noon + (uint64_t)13 * 3600 * 1000000000};

  (void)setenv("TZ", "UTC", 1);
  TapOk(LogWhen(&t, &summary, "1.5") == ResOK && t == noon + 1500000000, "seconds since the start");
  TapOk(LogWhen(&t, &summary, "0.000000001") == ResOK && t == noon + 1, "to the nanosecond");
  TapOk(LogWhen(&t, &summary, "12:00:01.25") == ResOK && t == noon + 1250000000, "wall time");
  TapOk(LogWhen(&t, &summary, "00:30:00") == ResOK && t == noon * 2 + (uint64_t)1800 * 1000000000, "of the next day");
  TapOk(LogWhen(&t, &summary, "11:00:00") == ResOK && t < noon, "before the start");
  TapOk(LogWhen(&t, &summary, "1:2") == ResPARAM && LogWhen(&t, &summary, "") == ResPARAM &&
          LogWhen(&t, &summary, "1s") == ResPARAM && LogWhen(&t, &summary, "25:00:00") == ResPARAM &&
          LogWhen(&t, &summary, "99999999999999999999") == ResPARAM, "anything else is refused");
}

/* ---- Shared memory of the dead ---- */

static void testLeftover(Bool alive)
{
  static unsigned char region[RegionSize(3)];
  RegionHeader header = (RegionHeader)(void *)region;
  MakeStruct make = {0}, open = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  char regionPath[] = "/tmp/logregionXXXXXX";
  int fd = mkstemp(regionPath);
  Index i;

  made.count = 0;
  strcpy(process->header.region, regionPath);
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 11, EventKindObject, 0, 100);
  for (i = 0; i < 60; ++i) {
    (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 100 + i, (uint64_t[]){7, i}, NULL);
    listAdd(&made, 100 + i, &blocks[0], (uint32_t)i, i, EventPoolFreeCODE);
    if (i == 29) {
      MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
      MakeBlockNext(&blocks[0], 130);
    }
  }
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  make.size -= 100; /* the process was killed while it wrote this */
  MakeWrite(&make, path);
  memset(region, 0, sizeof region);
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = EventVersionMAJOR;
  header->slots = 3;
  header->identity = 1;
  header->log2[1] = 12;
  blocks[0].header.whole = 4096;
  blocks[0].header.used = blocks[0].header.count = 0;
  memcpy(region + RegionFIRST + 2 * RegionSlotSIZE - 4096, &blocks[0].header, BlockHeaderSIZE);
  memcpy(region + RegionFIRST + 2 * RegionSlotSIZE - 4096 + BlockHeaderSIZE, blocks[0].events, 4096 - BlockHeaderSIZE);
  if (write(fd, region, sizeof region) != (ssize_t)sizeof region || flock(fd, LOCK_EX) != 0)
    makeFail(regionPath);
  if (!alive)
    close(fd);
  TapOk(testReadAll(), "the log of a process that %s is read", alive ? "runs" : "was killed");
  if (alive) {
    TapIs(got.gaps, 1, "its unfinished block is told");
    TapIs(got.count, 30, "and nobody looks into its memory");
    close(fd);
  } else {
    TapIs(got.gaps, 0, "and the block that it was writing is no loss,");
    TapIs(listSame(&got, &made), -1, "because its memory has it");
    TapOk(strstr(got.note, "took 30 events from /tmp/logregion") != NULL, "which is told: %s", got.note);
  }
  (void)unlink(regionPath);
  MakeProcessFree(process);
  MakeFree(&make);
  MakeFree(&open);
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
  testClocks();
  testSeals();
  testForeign(8, FALSE);
  testForeign(4, FALSE);
  testForeign(8, TRUE);
  testForeign(4, TRUE);
  testTypes();
  testChoices();
  testWhen();
  testLeftover(FALSE);
  testLeftover(TRUE);
  (void)unlink(path);
  return TapDone();
}
