/* endtest.c -- the end of a log: wherever it is cut, what is missing is found out
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A recording is made of two processes and the collector.  It is cut at every block, and at random bytes; it is
 * filtered, cut down on purpose, overwritten, opened late, torn in the middle.
 */
#include "export/rewrite.h"
#include "log/table.h"
#include "loglist.h"

enum { endRECORDING = 0x1234, endEach = 20, endRounds = 4, endBoundsMAX = 200, endTold = 4 };

static MakeStruct make;
static MakeProcess process[3]; /* the last is the collector */
static Size bound[endBoundsMAX];
static Count bounds;
static LogSummaryStruct summary;

/* endRead -- read a log; is it told that something may be missing? */
static Bool endRead(Make log)
{
  LogRequestStruct request = LogRequestALL;
  Log it;
  Res res;

  MakeWrite(log, path);
  it = testOpen(&got);
  if (it == NULL)
    return TRUE; /* refused */
  res = testRead(it, &got, &request);
  LogSummarize(&summary, it);
  LogClose(it);
  return res != ResOK || got.gaps > 0 || summary.lacks > 0;
}

static void endBound(void)
{
  bound[bounds++] = make.size;
}

static void endFill(MakeBlock b)
{
  Index i;

  for (i = 0; i < endEach; ++i)
    (void)MakeEvent(b, EventPoolFreeCODE, b->header.last + 1, (uint64_t[]){7, i}, NULL);
}

/* endHeader -- a header block of a process, and in a closing one what there should be of these of its blocks, of
 * `streams` that it has */
static void endHeader(MakeProcess p, Bool ended, MakeBlock b, Count n, Count streams)
{
  static char room[HeaderMAX];
  TextStruct text;
  Index i;

  p->header.ended = ended;
  p->header.open = !ended;
  p->header.streams = streams;
  TextInit(&text, room, sizeof room);
  HeaderBegin(&text, &p->header);
  for (i = 0; ended && i < n; ++i)
    HeaderStreamWrite(&text, &(HeaderStreamStruct){b[i].header.stream, b[i].header.sequence, b[i].header.before,
                                                   b[i].header.discarded});
  TextString(&text, p->registryText);
  if (HeaderEnd(&text) != ResOK)
    makeFail("the header is too long");
  MakeBytes(&make, room, TextLength(&text));
  p->header.ended = FALSE;
  endBound();
}

/* endMake -- a whole recording.  Block 0 and 1 are of process 0, 2 of process 1, 3 of the collector */
static void endMake(uint8_t flags)
{
  Index i, round;

  make.size = bounds = 0;
  for (i = 0; i < 3; ++i)
    endHeader(process[i], FALSE, NULL, 0, 0);
  for (i = 0; i < 4; ++i)
    MakeBlockBegin(&blocks[i], process[i < 2 ? 0 : i - 1], (uint32_t)(20 + i), EventKindObject, 0, 100 + i);
  for (round = 0; round < endRounds; ++round)
    for (i = 0; i < 4; ++i) {
      endFill(&blocks[i]);
      MakeBlockEnd(&make, &blocks[i], BlockFlagSEALED | flags);
      endBound();
      MakeBlockNext(&blocks[i], blocks[i].header.last + 1);
    }
  endHeader(process[0], TRUE, &blocks[0], 2, 2);
  endHeader(process[1], TRUE, &blocks[2], 1, 1);
  endHeader(process[2], TRUE, &blocks[3], 1, 1);
}

static void endTellNot(const char *what)
{
  printf("# %s: %s %s\n", what, got.gap, got.note);
}

static void testWhole(void)
{
  endMake(0);
  made.count = 4 * endRounds * endEach;
  TapOk(!endRead(&make), "a whole recording lacks nothing");
  endTellNot("whole");
  TapIs(got.count, made.count, "all of it is read");
  MakeBytes(&make, make.bytes, make.size);
  TapOk(!endRead(&make) && got.count == 4 * endRounds * endEach, "nor does it behind itself");
}

/* testCut -- cut anywhere */
static void testCut(uint64_t *seed)
{
  MakeStruct cut;
  Count wrong = 0;
  Index i;

  endMake(0);
  cut = make;
  for (i = 0; i + 1 < bounds; ++i) {
    cut.size = bound[i];
    wrong += !endRead(&cut);
  }
  TapIs(wrong, 0, "cut behind any of its %zu blocks, something is missing", bounds);
  for (i = wrong = 0; i < 200; ++i) {
    cut.size = TapRandom(seed) % make.size;
    wrong += !endRead(&cut);
  }
  TapIs(wrong, 0, "and at 200 random places");
}

/* testHole -- a block that is cut out */
static void testHole(void)
{
  MakeStruct cut = {0};
  Count wrong = 0, inexact = 0;
  Index i;

  endMake(0);
  for (i = 3; i < 3 + 4 * endRounds; ++i) {
    cut.size = 0;
    MakeBytes(&cut, make.bytes, bound[i - 1]);
    MakeBytes(&cut, make.bytes + bound[i], make.size - bound[i]);
    wrong += !endRead(&cut);
    inexact += got.lost != endEach || got.gaps != 1;
  }
  TapIs(wrong, 0, "whichever block is cut out, it is missing");
  TapIs(inexact, 0, "and exactly its events are, told once");
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[2]);
  MakeBytes(&cut, make.bytes + bound[2 + 4 * endRounds], make.size - bound[2 + 4 * endRounds]);
  TapOk(endRead(&cut) && got.gaps == 3 && got.lost == 4 * endRounds * endEach,
        "of streams without any block all is: %s", got.gap);
  MakeFree(&cut);
}

/* endWithout -- the recording without anything of process 1, into `cut` */
static void endWithout(Make cut)
{
  Index i;

  cut->size = 0;
  for (i = 0; i < bounds; ++i) {
    Size from = i > 0 ? bound[i - 1] : 0;
    Bool block = i >= 3 && i < 3 + 4 * endRounds;
    if (block ? (i - 3) % 4 != 2 : i != 1 && i != bounds - 2)
      MakeBytes(cut, make.bytes + from, bound[i] - from);
  }
}

/* endRewrite -- `log`, written again of these kinds, in its place; how many events were discarded, as is known before
 * it is read? */
static uint64_t endRewrite(Make log, uint32_t kinds)
{
  LogRequestStruct request = LogRequestALL;
  char again[] = "/tmp/endtestXXXXXX";
  int fd = mkstemp(again);
  static unsigned char bytes[1 << 20];
  static OutputStruct output;
  WriterOptionsStruct options;
  LogRewrite rewrite = NULL;
  ssize_t size;
  Log it;

  MakeWrite(log, path);
  OutputInit(&output, fd);
  it = testOpen(&got);
  options = (WriterOptionsStruct){.log = it, .output = &output};
  if (it == NULL || LogRewriteCreate(&rewrite, &options) != ResOK)
    makeFail("rewriting");
  LogSummarize(&summary, it);
  request.kinds = kinds;
  request.event = LogRewriteEvent;
  request.data = rewrite;
  LogRewritePart(rewrite, &request);
  LogRewriteBegin(rewrite, kinds);
  if (LogRead(it, &request) != ResOK || (LogRewriteEnd(rewrite), !OutputFlush(&output)))
    makeFail("rewriting");
  LogRewriteDestroy(rewrite);
  LogClose(it);
  size = pread(fd, bytes, sizeof bytes, 0);
  (void)close(fd);
  (void)unlink(again);
  log->size = 0;
  MakeBytes(log, bytes, size > 0 ? (Size)size : 0);
  return summary.discarded;
}

/* testProcesses -- the collector's end says how many processes there are */
static void testProcesses(void)
{
  MakeStruct cut = {0};

  process[2]->header.processes = 2;
  endMake(0);
  TapOk(!endRead(&make), "all processes that the collector's end counts are there");
  endTellNot("processes");
  endWithout(&cut);
  TapOk(endRead(&cut) && strstr(got.note, ": 1 of its 2 processes is not in the log") != NULL,
        "one of which nothing is there is missing: %s", got.note);
  (void)endRewrite(&cut, UINT32_MAX);
  TapOk(endRead(&cut) && strstr(got.note, "lacked 1 event, or more") != NULL, "its copy says so: %s", got.note);
  endWithout(&cut);
  MakeBytes(&cut, make.bytes, make.size);
  TapOk(!endRead(&cut), "but not if it stands in another log");
  process[1]->header.recording = endRECORDING + 1;
  endHeader(process[1], TRUE, &blocks[2], 1, 1);
  TapOk(!endRead(&make), "one that goes on in another recording is of both");
  process[1]->header.recording = endRECORDING;
  process[2]->header.processes = 0;
  endMake(0);
  endWithout(&cut);
  TapOk(!endRead(&cut), "a log of older versions does not tell");
  MakeFree(&cut);
}

/* testRewritten -- what is filtered and cut, too */
static void testRewritten(void)
{
  MakeStruct cut = {0}, again = {0};
  Count wrong = 0, places = 0;
  const unsigned char *at, *limit;

  endMake(0);
  MakeBytes(&again, make.bytes, make.size);
  (void)endRewrite(&again, UINT32_MAX);
  TapOk(!endRead(&again), "a log that was written again lacks nothing");
  endTellNot("written again");
  limit = again.bytes + again.size;
  for (at = again.bytes + 1; (at = memmem(at, (Size)(limit - at), BlockMAGIC, 4)) != NULL; ++at) {
    cut.size = 0;
    MakeBytes(&cut, again.bytes, (Size)(at - again.bytes));
    ++places;
    wrong += !endRead(&cut);
  }
  TapIs(wrong, 0, "cut behind any of its %zu blocks, something is missing", places + 1);
  MakeFree(&cut);
  MakeFree(&again);
}

/* testDiscarded -- events that were discarded in a stream that has events, in one of which a block has none, in one
 * that has no block, in a process that has no block at all, and where there was no room for a stream: all count, also
 * in copies */
static void testDiscarded(void)
{
  MakeStruct other = {0};
  Index i;

  make.size = bounds = 0;
  process[2]->header.lost = 10000;
  for (i = 0; i < 3; ++i)
    endHeader(process[i], FALSE, NULL, 0, 0);
  for (i = 0; i < 4; ++i)
    MakeBlockBegin(&blocks[i], process[i < 3 ? 0 : 1], (uint32_t)(20 + i), EventKindObject, 0, 100 + i);
  endFill(&blocks[0]);
  for (i = 0; i < 4; ++i)
    blocks[i].header.discarded = (uint64_t[]){1, 20, 300, 4000}[i];
  for (i = 0; i < 2; ++i) {
    MakeBlockEnd(&make, &blocks[i], BlockFlagSEALED);
    MakeBlockNext(&blocks[i], blocks[i].header.last + 1);
  }
  for (i = 0; i < 4; ++i)
    blocks[i].header.discarded = (uint64_t[]){1, 20, 300, 4000}[i];
  endHeader(process[0], TRUE, &blocks[0], 3, 3);
  endHeader(process[1], TRUE, &blocks[3], 1, 1);
  endHeader(process[2], TRUE, NULL, 0, 0);
  process[2]->header.lost = 0;
  (void)endRead(&make);
  TapIs(summary.discarded, 14321, "what was discarded where no block says so counts, too");
  MakeBytes(&other, make.bytes, make.size);
  TapIs(endRewrite(&make, UINT32_MAX), 14321, "and is known before anything is read");
  TapIs(endRewrite(&make, UINT32_MAX), 14321, "also in a copy");
  TapIs(endRewrite(&make, UINT32_MAX), 14321, "and in a copy of that");
  (void)endRead(&make);
  TapIs(summary.discarded, 14321, "of which nothing changes as it is read");
  (void)endRewrite(&other, 1u << EventKindArena);
  TapIs(endRewrite(&other, UINT32_MAX), 14300,
        "but streams of other kinds are left out on purpose, with what they had");
  MakeFree(&other);
}

/* testOther -- kinds of logs that lack something on purpose */
static void testOther(void)
{
  MakeStruct cut = {0};
  Index first = 3 + 4; /* the second round begins behind bound[first - 1] */

  endMake(0);
  MakeBytes(&cut, make.bytes, bound[2]);
  MakeBytes(&cut, make.bytes + bound[first - 1], make.size - bound[first - 1]);
  TapOk(endRead(&cut) && got.lost == 4 * endEach, "a log without its first blocks lacks them");
  process[0]->header.begun = process[1]->header.begun = process[2]->header.begun = 110;
  endMake(0);
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[2]);
  MakeBytes(&cut, make.bytes + bound[first - 1], make.size - bound[first - 1]);
  TapOk(!endRead(&cut), "one that was opened later does not");
  cut.size -= make.size - bound[bounds - 4];
  TapOk(endRead(&cut), "but its end it does");
  process[0]->header.begun = process[1]->header.begun = process[2]->header.begun = 0;
  endMake(BlockFlagUNSENT);
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[first - 1]);
  MakeBytes(&cut, make.bytes + bound[first + 3], make.size - bound[first + 3]);
  TapOk(!endRead(&cut), "what was overwritten is not missing");
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[first - 1] + 100);
  MakeBytes(&cut, make.bytes + bound[first + 3], make.size - bound[first + 3]);
  TapOk(endRead(&cut), "but where a write was cut short nobody knows");
  process[0]->header.alone = 110;
  endMake(BlockFlagUNSENT);
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[first - 1] + 100);
  MakeBytes(&cut, make.bytes + bound[first + 3], make.size - bound[first + 3]);
  TapOk(!endRead(&cut), "unless eventrec was killed: then it may have been overwritten since: %s", got.gap);
  process[0]->header.alone = 0;
  endMake(BlockFlagUNSENT);
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[bounds - 5]);
  MakeBytes(&cut, make.bytes + bound[bounds - 4], make.size - bound[bounds - 4]);
  TapOk(endRead(&cut), "what was sent last is");
  MakeFree(&cut);
}

/* testWritten -- of a recording of which only the newest were to be kept, blocks behind which another one
 * was written */
static void testWritten(void)
{
  enum { first = 4 }; /* the bound behind the first four blocks, of which each is of another stream */
  MakeStruct cut = {0};

  endMake(BlockFlagUNSENT | BlockFlagBEHIND);
  MakeBytes(&cut, make.bytes, bound[2]);
  MakeBytes(&cut, make.bytes + bound[2 + first], make.size - bound[2 + first]);
  TapOk(endRead(&cut) && got.lost == 4 * endEach, "what was written is missing, where only the newest are kept");
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[2 + first] + 100);
  MakeBytes(&cut, make.bytes + bound[2 + 2 * first], make.size - bound[2 + 2 * first]);
  TapOk(endRead(&cut) && got.lost == 4 * endEach, "and where a write was cut short: %s", got.gap);
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[2]);
  MakeBytes(&cut, make.bytes + bound[2 + 2 * first], make.size - bound[2 + 2 * first]);
  TapOk(endRead(&cut) && got.lost == 4, "of several one is, for the others may have been overwritten: %s", got.gap);
  MakeFree(&cut);
}

/* testTorn -- writes that were cut short, with something written behind them */
static void testTorn(void)
{
  static const Size sizes[] = {1, 5, 8, 30, 59, 60, 90, 127, 128, 200};
  MakeStruct torn = {0};
  Count told = 0, lost = 0, counted = 0, held = 0;
  Index i, k;

  endMake(0);
  for (i = 0; i < bounds; ++i)
    for (k = 0; k < ARRAY_LENGTH(sizes); ++k) {
      Size begin = i > 0 ? bound[i - 1] : 0;
      if (sizes[k] >= bound[i] - begin)
        continue;
      torn.size = 0;
      MakeBytes(&torn, make.bytes, begin + sizes[k]);
      MakeBytes(&torn, make.bytes + begin, make.size - begin);
      told += endRead(&torn);
      lost += got.count != 4 * endRounds * endEach;
      counted += summary.events != 4 * endRounds * endEach;
      if (told > held && ++held < endTold)
        endTellNot("torn");
    }
  TapIs(told, 0, "a write that was cut short and comes again whole is no damage");
  TapIs(lost, 0, "and all events are there");
  TapIs(counted, 0, "and counted once");
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[5] + 100);
  MakeBytes(&torn, make.bytes + bound[6], make.size - bound[6]);
  TapOk(endRead(&torn) && got.lost == endEach && got.gaps == 1, "one that does not come again is: %s", got.gap);
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[5] + 300);
  MakeBytes(&torn, make.bytes + bound[6], make.size - bound[6]);
  TapOk(endRead(&torn) && got.lost == endEach && got.gaps == 1, "also where its header is whole: %s", got.gap);
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[5]);
  MakeBytes(&torn, "\x8fPAWhdr\npawprint 001", 20);
  MakeBytes(&torn, make.bytes + bound[4], 100);
  MakeBytes(&torn, make.bytes + bound[5], make.size - bound[5]);
  TapOk(!endRead(&torn), "two of them one behind the other are none");
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[5] + 150);
  MakeBytes(&torn, make.bytes, bound[0] - 150);
  MakeBytes(&torn, make.bytes + bound[5], make.size - bound[5]);
  TapOk(!endRead(&torn) && got.count == 4 * endRounds * endEach, "nor are a block and a header block: %s", got.gap);
  endTellNot("two");
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[0] - 150);
  MakeBytes(&torn, make.bytes, bound[bounds - 4]);
  TapOk(endRead(&torn) && got.gaps == 0, "a header block that comes again is none, though the end of the process is missing: %s",
        got.gap);
  torn.size = 0;
  MakeBytes(&torn, make.bytes, bound[0] - 150);
  MakeBytes(&torn, make.bytes + bound[0], bound[bounds - 4] - bound[0]);
  TapOk(endRead(&torn) && got.gaps == 2, "one that does not is told, besides the blocks without it: %s", got.gap);
  MakeFree(&torn);
}

/* testKilled -- the collector was killed, and the processes say so; or nobody does */
static void testKilled(void)
{
  endMake(0);
  make.size = bound[bounds - 2];
  TapOk(endRead(&make) && strstr(got.note, "end of the recording") != NULL, "without the collector's end: %s",
        got.note);
  process[1]->header.alone = 1;
  endMake(0);
  make.size = bound[bounds - 2];
  TapOk(!endRead(&make), "where a process tells of its death nothing more is to come");
  process[1]->header.alone = 0;
}

/* endUnended -- a recording in which process 0 has no closing header block, and process 1, which began later, has its
 * number */
static void endUnended(void)
{
  static unsigned char rest[1 << 16];
  Size from, size;

  endMake(0);
  from = bound[bounds - 3];
  size = make.size - from;
  memcpy(rest, make.bytes + from, size);
  make.size = bound[bounds - 4];
  MakeBytes(&make, rest, size);
}

/* testNumber -- of two processes that have the same number the first one's end is not there: it need not have become
 * the other, unless that says so */
static void testNumber(void)
{
  uint32_t pid = process[1]->header.pid;
  uint64_t ticks = process[1]->header.sync[0].ticks;
  MakeBlockStruct *found = &blocks[4];

  process[1]->header.pid = process[0]->header.pid;
  process[1]->header.sync[0].ticks = process[0]->header.sync[0].ticks + 10;
  endUnended();
  TapOk(endRead(&make) && strstr(got.note, "end of process 10 is not in the log") != NULL,
        "a number that is given again is no end: %s", got.note);
  MakeBlockBegin(found, process[0], 30, 0, 0, 120);
  MakeBlockEnd(&make, found, BlockFlagSEALED | BlockFlagRECOVERED | BlockFlagUNSENT);
  TapOk(!endRead(&make), "but that a program has found all that the one before it had left is");
  endTellNot("found");
  endUnended();
  endFill(found);
  MakeBlockEnd(&make, found, BlockFlagSEALED | BlockFlagRECOVERED | BlockFlagUNSENT);
  TapOk(endRead(&make), "and that it has found some is none");
  process[1]->header.pid = pid;
  process[1]->header.sync[0].ticks = ticks;
}

/* testCount -- a block header that says another number of events than there are */
static void testCount(void)
{
  MakeBlockStruct *b = &blocks[0];

  endMake(0);
  make.size = 0;
  MakeHeader(&make, process[0]);
  MakeBlockBegin(b, process[0], 20, EventKindObject, 0, 100);
  endFill(b);
  b->header.count += 3;
  MakeBlockEnd(&make, b, BlockFlagSEALED);
  (void)endRead(&make);
  TapOk(got.gaps == 1 && got.lost == 3, "a header that counts more events than its block has is wrong: %s", got.gap);
  make.size = make.last;
  b->header.count -= 6;
  MakeBlockEnd(&make, b, BlockFlagSEALED);
  (void)endRead(&make);
  TapOk(got.gaps == 1, "and one that counts fewer");
}

/* testFlushed -- the newest block was sent twice, as it grew: the second time is cut out */
static void testFlushed(void)
{
  MakeBlockStruct *b = &blocks[2];
  MakeStruct cut = {0};

  make.size = bounds = 0;
  endHeader(process[1], FALSE, NULL, 0, 0);
  MakeBlockBegin(b, process[1], 22, EventKindObject, 0, 100);
  endFill(b);
  MakeBlockEnd(&make, b, 0);
  endBound();
  endFill(b);
  MakeBlockEnd(&make, b, BlockFlagSEALED);
  endBound();
  MakeBlockNext(b, b->header.last + 1);
  endHeader(process[1], TRUE, b, 1, 1);
  TapOk(!endRead(&make) && got.count == 2 * endEach, "a block that was sent twice lacks nothing");
  endTellNot("twice");
  MakeBytes(&cut, make.bytes, bound[0]);
  MakeBytes(&cut, make.bytes + bound[1], make.size - bound[1]);
  TapOk(!endRead(&cut) && got.count == 2 * endEach, "nor without the first time");
  cut.size = 0;
  MakeBytes(&cut, make.bytes, bound[1]);
  MakeBytes(&cut, make.bytes + bound[2], make.size - bound[2]);
  TapOk(endRead(&cut) && got.gaps == 1 && got.lost == endEach, "without the second it does: %s", got.gap);
  MakeFree(&cut);
}

/* testSplit -- of two closing header blocks, each of which has one of the streams, one is missing */
static void testSplit(void)
{
  MakeStruct rest = {0};
  Index i;

  for (i = 0; i < 2; ++i) {
    endMake(0);
    rest.size = 0;
    MakeBytes(&rest, make.bytes + bound[bounds - 3], make.size - bound[bounds - 3]);
    make.size = bound[bounds - 4];
    endHeader(process[0], TRUE, &blocks[i], 1, 2);
    MakeBytes(&make, rest.bytes, rest.size);
    TapOk(endRead(&make) && strstr(got.gap, "another closing header block") != NULL,
          "of two closing header blocks one is missing: %s", got.gap);
    endHeader(process[0], TRUE, &blocks[1 - i], 1, 2);
    TapOk(!endRead(&make), "both are there");
    endTellNot("both");
  }
  MakeFree(&rest);
}

/* testEnds -- many lines of few streams */
static void testEnds(void)
{
  EndsStruct ends = {0};
  Index i;

  for (i = 0; i < 100000; ++i)
    if (EndsAdd(&ends, &(HeaderStreamStruct){(uint32_t)(i % 7), i, i * 2, i % 3}) != ResOK)
      makeFail("memory");
  TapOk(ends.capacity <= 32, "lines of the same streams take no memory");
  EndsSettle(&ends);
  TapIs(ends.count, 7, "each stream is there once");
  TapOk(ends.stream[3].stream == 3 && ends.stream[3].blocks == 99998 - (99998 - 3) % 7 &&
            ends.stream[3].events == 2 * ends.stream[3].blocks && ends.stream[3].discarded == 2,
        "with its largest numbers");
  EndsFree(&ends);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);
  Index i;

  (void)close(fd);
  for (i = 0; i < 3; ++i) {
    process[i] = MakeProcessNew((uint32_t)(10 + i), 1 + i);
    process[i]->header.recording = endRECORDING;
  }
  strcpy(process[2]->header.role, HeaderRoleCOLLECTOR);
  testEnds();
  testWhole();
  testCut(&seed);
  testHole();
  testProcesses();
  testRewritten();
  testDiscarded();
  testOther();
  testWritten();
  testTorn();
  testKilled();
  testNumber();
  testCount();
  testFlushed();
  testSplit();
  for (i = 0; i < 3; ++i)
    MakeProcessFree(process[i]);
  MakeFree(&make);
  (void)unlink(path);
  return TapDone();
}
