/* logwhotest.c -- reading logs: who recorded, by which clock, and on what machine
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/rewrite.h"
#include "filter/timeparse.h"
#include "log/typenames.h"
#include "loglist.h"

/* ---- Clocks ---- */

/* testClocks -- two processes whose clocks have nothing in common */
static void testClocks(void)
{
  MakeStruct make = {0};
  MakeProcess a = MakeProcessNew(10, 1), b = MakeProcessNew(11, 2);

  /* a ticks 2.5 times a ns, and its header is wrong by a tenth; b was booted elsewhere, an hour later, and counts
   * ns. */
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

/* testAhead -- the monotonic clock of a process is ahead, as in a time namespace; or the wall clock was set meanwhile
 */
static void testAhead(int64_t ahead, int64_t set)
{
  MakeStruct make = {0};
  MakeProcess a = MakeProcessNew(10, 1), b = MakeProcessNew(11, 2);

  strcpy(a->header.clock, SyncCOUNTER);
  strcpy(b->header.clock, SyncCOUNTER);
  a->header.sync[0] = (SyncStruct){.ticks = 1000, .mono = 1000, .real = testReal + 1000};
  b->header.sync[0] = (SyncStruct){.ticks = 2000000000, .mono = 2000000000 + (uint64_t)ahead,
                                   .real = testReal + 2000000000 + (uint64_t)set};
  MakeHeader(&make, a);
  MakeHeader(&make, b);
  MakeBlockBegin(&blocks[0], a, 20, EventKindObject, 0, 1000);
  MakeBlockBegin(&blocks[1], b, 20, EventKindObject, 0, 2000000000);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, 1000, (uint64_t[]){7, 1}, NULL);
  (void)MakeEvent(&blocks[1], EventPoolFreeCODE, 3000000000u, (uint64_t[]){7, 2}, NULL);
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  blocks[1].header.mono = 9000000000 + (uint64_t)ahead; /* far behind all that headers say, so that it is used */
  blocks[1].header.last = 9000000000;
  MakeBlockEnd(&make, &blocks[1], BlockFlagSEALED);
  MakeWrite(&make, path);
  TapOk(testReadAll() && got.count == 2, "two processes, one %lld ns ahead, the wall clock set by %lld",
        (long long)ahead, (long long)set);
  TapIs(got.event[1].time - got.event[0].time, 3000000000u - 1000, "have their true times");
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

/* testRewrite -- a log written again gives the same times, to the last bit of a clock that is no round number of ns */
static void testRewrite(uint64_t *seed, Bool packed)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LogRequestStruct request = LogRequestALL;
  uint64_t time = 1000000;
  char again[sizeof path + 8];
  static OutputStruct output;
  WriterOptionsStruct options;
  LogRewrite rewrite;
  Log log;
  Index i;
  int fd;

  process->header.frequency = 2899999123;
  process->header.syncs = 2;
  process->header.sync[0] = (SyncStruct){.ticks = 1234567, .mono = 400, .real = testReal + 400};
  process->header.sync[1] = (SyncStruct){.ticks = 1234567 + 29000001234u, .mono = 10000000400u};
  MakeHeader(&make, process);
  MakeBlockBegin(&blocks[0], process, 20, EventKindObject, 0, time);
  (void)MakeEvent(&blocks[0], EventPoolFreeCODE, time - 1000, (uint64_t[]){7, 1}, NULL); /* too early: see below */
  for (i = 0; i < 1000; ++i) {
    time += 1 + TapRandom(seed) % 30000000;
    (void)MakeEvent(&blocks[0], EventPoolFreeCODE, time, (uint64_t[]){7, i}, NULL);
  }
  MakeBlockEnd(&make, &blocks[0], BlockFlagSEALED);
  MakeBlockBegin(&blocks[1], process, 21, EventKindObject, 0, time);
  for (i = 0; i < 4; ++i) /* they say that they came before their block was opened */
    (void)MakeEvent(&blocks[1], EventPoolFreeCODE, time - 4000 + 1000 * i, (uint64_t[]){7, i}, NULL);
  MakeBlockEnd(&make, &blocks[1], BlockFlagSEALED);
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL, "a log with a clock of 2.9 GHz opens");
  if (log == NULL)
    return;
  (void)testRead(log, &got, &request);
  made = got;
  (void)snprintf(again, sizeof again, "%s.again", path);
  fd = open(again, O_RDWR | O_CREAT | O_EXCL, 0600);
  OutputInit(&output, fd);
  options = (WriterOptionsStruct){.log = log, .output = &output, .raw = !packed};
  TapOk(LogRewriteCreate(&rewrite, &options) == ResOK, "and is written again");
  request.event = LogRewriteEvent;
  request.data = rewrite;
  TapOk(LogRead(log, &request) == ResOK && (LogRewriteEnd(rewrite), OutputFlush(&output)), "%s",
        packed ? "packed" : "raw");
  LogRewriteDestroy(rewrite);
  LogClose(log);
  (void)close(fd);
  (void)rename(again, path);
  TapOk(testReadAll() && got.gaps == 0, "it can be read");
  TapIs(listSame(&got, &made), -1, "and has the same events at the same times");
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

static Bool foreignEvent(LogRequest request, LogEvent event)
{
  ForeignStruct *f = request->data;
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
  (void)MakeEvent(&blocks[0], EventPoolAllocCODE, (uint64_t)6 << 32, (uint64_t[]){0x12345678, 0x9abcdef0, 0x7654},
        NULL);
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
    TapOk(got.count == 2 && got.event[0].id == 77 && got.event[1].id == 78,
          "one code means in each process what it said");
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
  Log log;

  MakeHeader(&make, process);
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL, "a log with a header and no events opens");
  if (log == NULL)
    return;
  TapOk(LogKindMask(&mask, log, "Arena,Object", error, sizeof error) == ResOK && mask == 0x21, "kinds by name");
  TapOk(LogKindMask(&mask, log, "-Object", error, sizeof error) == ResOK && (mask & 0x7f) == 0x5f, "all but one");
  TapOk(LogKindMask(&mask, log, "all", error, sizeof error) == ResOK && mask == UINT32_MAX,
        "all, with or without a name");
  TapOk(LogKindMask(&mask, log, "none,+Pool", error, sizeof error) == ResOK && mask == 2, "none and one");
  TapOk(LogKindMask(&mask, log, "Objekt", error, sizeof error) == ResPARAM && strstr(error, "Objekt") != NULL &&
          strstr(error, "Object") != NULL, "a misspelt kind is named, and the others listed");
  TapOk(LogNamesKnown(log, "PoolAlloc,Intern", error, sizeof error) == ResOK, "events by name");
  TapOk(LogNamesHas("PoolAlloc,Intern", RegistryFind(process->registry, EventInternCODE)) &&
          !LogNamesHas("PoolAlloc,Intern", RegistryFind(process->registry, EventLabelCODE)), "only those");
  TapOk(LogNamesKnown(log, "PoolAllok", error, sizeof error) == ResPARAM && strstr(error, "PoolAllok") != NULL &&
          strstr(error, "near it are PoolAlloc, ") != NULL && strstr(error, "Intern") == NULL,
        "a misspelt event is named, and those that are like it");
  TapOk(LogNamesKnown(log, " PoolAlloc, Intern ", error, sizeof error) == ResOK &&
          LogNamesHas(" PoolAlloc, Intern ", RegistryFind(process->registry, EventInternCODE)), "spaces do not count");
  TapOk(LogNamesKnown(log, " ,", error, sizeof error) == ResPARAM, "a list without a name is none");
  LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testContradiction -- two logs of one process, of which the same blocks have other events in each */
static void testContradiction(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LogRequestStruct request = LogRequestALL;
  LogSummaryStruct summary;
  Index i, b, n;
  Log log;

  MakeHeader(&make, process);
  for (i = 0; i < 2; ++i)
    for (b = 0; b < 5; ++b) {
      MakeBlockBegin(&blocks[i], process, 20, EventKindObject, b, 1000 * (b + 1));
      blocks[i].header.before = b * (1 + 2 * i);
      for (n = 0; n <= 2 * i; ++n)
        (void)MakeEvent(&blocks[i], EventPoolAllocCODE, 1000 * (b + 1) + n, (uint64_t[]){1, 2, 3}, NULL);
      MakeBlockEnd(&make, &blocks[i], BlockFlagSEALED);
    }
  MakeWrite(&make, path);
  log = testOpen(&got);
  TapOk(log != NULL && testRead(log, &got, &request) == ResOK, "two logs that contradict each other are read");
  if (log == NULL)
    return;
  LogSummarize(&summary, log);
  TapIs(got.count, 15, "the longer blocks are delivered");
  TapIs(got.gaps, 1, "that the others differ is told in one line for the process and the pair of logs");
  TapOk(strstr(got.gap, "from here on: 5 blocks of process 10 with other events than in /tmp/") != NULL,
        "which says how many there are, and in which log");
  TapOk(got.lost == 5 && summary.lost == 5, "what they have counts as lost");
  (void)testRead(log, &got, &request);
  TapIs(got.gaps, 1, "another pass does not tell it again");
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
  TapOk(LogWhen(&t, &summary, "end-1.5") == ResOK && t == summary.last - 1500000000, "seconds before the end");
  TapOk(LogWhen(&t, &summary, "end-0") == ResOK && t == summary.last, "the last event itself");
  TapOk(LogWhen(&t, &summary, "end-46801") == ResOK && t == summary.first &&
          LogWhen(&t, &summary, "end-46800.000000001") == ResOK && t == summary.first &&
          LogWhen(&t, &summary, "end-46799.999999999") == ResOK && t == summary.first + 1 &&
          LogWhen(&t, &summary, "end-999999999999") == ResOK && t == summary.first, "no earlier than the start");
  TapOk(LogWhen(&t, &summary, "end") == ResPARAM && LogWhen(&t, &summary, "end-") == ResPARAM &&
          LogWhen(&t, &summary, "end--1") == ResPARAM && LogWhen(&t, &summary, "end-1:2") == ResPARAM &&
          LogWhen(&t, &summary, "end-9999999999999") == ResPARAM, "other words with end are refused");
  TapOk(LogWhen(&t, &summary, "1:2") == ResPARAM && LogWhen(&t, &summary, "") == ResPARAM &&
          LogWhen(&t, &summary, "1s") == ResPARAM && LogWhen(&t, &summary, "25:00:00") == ResPARAM &&
          LogWhen(&t, &summary, "99999999999999999999") == ResPARAM, "anything else is refused");
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  testClocks();
  testAhead(0, 0);
  testAhead(3000000000, 0);
  testAhead(-1500000000, 0);
  testAhead(0, 3000000000);
  testAhead(0, -3000000000);
  testSeals();
  testRewrite(&seed, FALSE);
  testRewrite(&seed, TRUE);
  testForeign(8, FALSE);
  testForeign(4, FALSE);
  testForeign(8, TRUE);
  testForeign(4, TRUE);
  testTypes();
  testChoices();
  testContradiction();
  testWhen();
  (void)unlink(path);
  return TapDone();
}
