/* logbadtest.c -- damaged logs: what is outside the damage is delivered, nothing is invented, and what is lost is
 * counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A small log is cut off at every byte, has every byte changed, and every block taken out; each time it is read.
 */
#include <errno.h>

#include "logmake.h"
#include "request/request.h"

enum { badBlocks = 9, badStreams = 3, badEach = 7, badEVENTS = badBlocks * badEach, badThings = badBlocks + 2 };

/* Few types, so that the log is small and can be changed at every byte. */
static const char badRegistry[] = "kind: 5 Object\nkind: 6 User\n"
                                  "event: 0x0602 PoolFree Object 0 PA pool addr\n"
                                  "event: 0x0705 UserString User 1 WS id text\n";

/* A header or a block of the log. */
typedef struct BadThingStruct {
  Size begin, end;
  int block; /* its number, or minus one for a header */
  Bool last; /* of its stream */
} BadThingStruct, *BadThing;

/* What reading came to. */
typedef struct BadResultStruct {
  Res opened, read;
  unsigned seen[badEVENTS];
  unsigned invented;
  uint64_t lastTime;
  Bool disorder;
  uint64_t gaps, lost, discarded;
  int exact;
  uint64_t offset;
  char what[128], error[512];
} BadResultStruct, *BadResult;

static BadThingStruct thing[badThings];
static MakeStruct good;
static MakeBlockStruct blocks[badStreams];
static char path[] = "/tmp/logbadXXXXXX";

static void badMake(void)
{
  MakeProcess process = MakeProcessForeign(10, 1, 8, FALSE, badRegistry);
  Index i, n, t = 0;

  MakeHeader(&good, process);
  thing[t++] = (BadThingStruct){good.last, good.size, -1, FALSE};
  for (i = 0; i < badStreams; ++i)
    MakeBlockBegin(&blocks[i], process, (uint32_t)(11 + i), 5, 0, 1000 * i);
  for (n = 0; n < badBlocks; ++n) {
    MakeBlock block = &blocks[n % badStreams];
    for (i = 0; i < badEach; ++i)
      (void)MakeEvent(block, 0x0602, 1000 * n + 10 * i, (uint64_t[]){0x5555, n * badEach + i}, NULL);
    MakeBlockEnd(&good, block, BlockFlagSEALED | (n % 2 == 0 ? BlockFlagPACKED : 0));
    thing[t++] = (BadThingStruct){good.last, good.size, (int)n, n + badStreams >= badBlocks};
    MakeBlockNext(block, 1000 * (n + badStreams));
    if (n == 4) {
      MakeHeader(&good, process);
      thing[t++] = (BadThingStruct){good.last, good.size, -1, FALSE};
    }
  }
  MakeProcessFree(process);
}

static void badGap(void *data, LogGap gap)
{
  BadResult result = data;

  ++result->gaps;
  result->lost += gap->lost;
  result->exact = (int)gap->exact;
  result->offset = gap->offset;
  (void)snprintf(result->what, sizeof result->what, "%s", gap->what);
}

static Bool badEvent(LogRequest request, LogEvent event)
{
  BadResult result = request->data;
  uint64_t id = LogEventWord(event, 1);

  if (id >= badEVENTS || event->type->code != 0x0602 || LogEventWord(event, 0) != 0x5555 ||
      event->thread != 11 + id / badEach % badStreams)
    ++result->invented;
  else
    ++result->seen[id];
  result->disorder |= event->time < result->lastTime;
  result->lastTime = event->time;
  return FALSE;
}

/* badRead -- read `size` bytes as a log */
static void badRead(BadResult result, const unsigned char *bytes, Size size)
{
  MakeStruct file = {.bytes = (unsigned char *)(uintptr_t)bytes, .size = size};
  LogHooksStruct hooks = {.data = result, .gap = badGap,
                          .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  LogRequestStruct request = LogRequestALL;
  const char *paths[1] = {path};
  LogSummaryStruct summary;
  Log log;

  memset(result, 0, sizeof *result);
  request.data = result;
  request.event = badEvent;
  MakeWrite(&file, path);
  result->opened = LogOpen(&log, paths, 1, &hooks, result->error, sizeof result->error);
  if (result->opened == ResOK) {
    result->read = LogRead(log, &request);
    LogSummarize(&summary, log);
    result->discarded = summary.discarded;
    LogClose(log);
  }
}

/* badHas -- how many events of a block were delivered; more than there are if one was twice */
static unsigned badHas(BadResult result, int block)
{
  unsigned i, n = 0;

  for (i = 0; i < badEach; ++i)
    n += result->seen[block * badEach + (int)i] > 1 ? 1000 : result->seen[block * badEach + (int)i];
  return n;
}

/* badFault -- what is wrong with a result, where only `hurt` (a thing, or minus one) may be missing; NULL if
 * nothing is */
static const char *badFault(BadResult result, int hurt)
{
  int i, has;

  if (result->opened != ResOK || result->read != ResOK)
    return "it is not read";
  if (result->invented > 0)
    return "an event is invented";
  if (result->disorder)
    return "events are in disorder";
  for (i = 0; i < badThings; ++i) {
    if (thing[i].block < 0)
      continue;
    has = (int)badHas(result, thing[i].block);
    if (has != badEach && i != hurt)
      return has > badEach ? "an event comes twice" : "an event outside the damage is missing";
    if (i == hurt && has != badEach && has != 0)
      return "a damaged block is delivered in part";
    if (i == hurt && has == 0 && result->gaps == 0)
      return "a loss is not told";
    if (i == hurt && has == 0 && result->exact == LogLostEXACTLY && result->lost != badEach)
      return "the loss is wrong";
    if (i == hurt && has == 0 && !thing[i].last && result->exact != LogLostEXACTLY)
      return "the loss is vague though the next block of the stream tells";
    if (i == hurt && has == 0 && (result->offset < thing[i].begin || result->offset >= thing[i].end))
      return "the damage is told of another place";
  }
  if (result->gaps > 1)
    return "the damage is told more than once";
  return NULL;
}

/* testBytes -- each byte changed in a way */
static void testBytes(const char *how, unsigned char (*change)(unsigned char byte, uint64_t *seed), uint64_t *seed)
{
  static BadResultStruct result;
  unsigned char *bytes = malloc(good.size);
  Size i;
  int t = 0;
  unsigned faults = 0, silent = 0;

  for (i = 0; i < good.size; ++i) {
    const char *fault;
    while (i >= thing[t].end)
      ++t;
    memcpy(bytes, good.bytes, good.size);
    bytes[i] = change(bytes[i], seed);
    badRead(&result, bytes, good.size);
    fault = badFault(&result, t);
    silent += result.gaps == 0;
    if (fault != NULL && ++faults <= 5)
      printf("# byte %zu, thing %d (%s, from %zu): %s; told: offset %llu: %s; %llu lost (%d); %s\n", i, t,
             thing[t].block < 0 ? "header" : "block", thing[t].begin, fault, (unsigned long long)result.offset,
                   result.what,
             (unsigned long long)result.lost, result.exact, result.error);
  }
  free(bytes);
  TapIs(faults, 0, "of %zu bytes each %s: all else is delivered, nothing invented, and the loss told", good.size, how);
  TapOk(silent <= 2 * 12, "only versions in the first lines of headers may change unseen (%u)", silent);
}

static unsigned char changeInvert(unsigned char byte, uint64_t *seed)
{
  UNUSED(seed);
  return (unsigned char)~byte;
}

static unsigned char changeBit(unsigned char byte, uint64_t *seed)
{
  return (unsigned char)(byte ^ 1u << TapRandom(seed) % 8);
}

/* testCuts -- cut off behind each byte */
static void testCuts(void)
{
  static BadResultStruct result;
  unsigned faults = 0;
  Size size;
  int i;

  for (size = 0; size < good.size; ++size) {
    const char *fault = NULL;
    Bool whole = FALSE;
    badRead(&result, good.bytes, size);
    if (size < thing[0].end) {
      if (result.opened == ResOK || result.error[0] == '\0')
        fault = "what has no sound header is refused with a reason";
    } else if (result.opened != ResOK || result.read != ResOK || result.invented > 0 || result.disorder) {
      fault = "it is not read";
    }
    for (i = 0; i < badThings && result.opened == ResOK; ++i) {
      whole |= size == thing[i].end;
      if (thing[i].block >= 0 && badHas(&result, thing[i].block) != (thing[i].end <= size ? badEach : 0))
        fault = "it is not just the whole blocks that are delivered";
    }
    if (result.opened == ResOK && result.gaps != (whole ? 0 : 1))
      fault = "the cut is told, once";
    if (fault != NULL && ++faults <= 5)
      printf("# cut at %zu: not: %s; %s; %s\n", size, fault, result.what, result.error);
  }
  TapIs(faults, 0, "of %zu places to cut it off at: what is whole is delivered, and the rest told", good.size);
}

/* testMissing -- each block taken out, and each pair of neighbours */
static void testMissing(void)
{
  static BadResultStruct result;
  unsigned char *bytes = malloc(good.size);
  unsigned faults = 0;
  int t, n, i;

  for (n = 1; n <= 2; ++n)
    for (t = 0; t + n <= badThings; ++t) {
      Size from = thing[t].begin, to = thing[t + n - 1].end;
      uint64_t lost = 0, missed = 0;
      memcpy(bytes, good.bytes, from);
      memcpy(bytes + from, good.bytes + to, good.size - to);
      badRead(&result, bytes, good.size - (to - from));
      for (i = 0; i < badThings; ++i) {
        Bool out = i >= t && i < t + n && thing[i].block >= 0;
        lost += out && !thing[i].last ? badEach : 0;
        if (thing[i].block >= 0)
          missed += badHas(&result, thing[i].block) != (out ? 0 : badEach);
      }
      if ((missed > 0 || result.invented > 0 || result.lost != lost || result.exact != LogLostEXACTLY) && ++faults <= 5)
        printf("# without things %d to %d: %llu blocks wrong, %llu events lost of %llu; %s %s\n", t, t + n - 1,
               (unsigned long long)missed, (unsigned long long)result.lost, (unsigned long long)lost, result.what,
                     result.error);
    }
  free(bytes);
  TapIs(faults, 0, "blocks taken out are missed, and their events counted exactly where a later block tells");
}

/* testInserted -- garbage between blocks, and a block cut short and written over by the next */
static void testInserted(uint64_t *seed)
{
  static BadResultStruct result;
  MakeStruct make = {0};
  unsigned char garbage[300];
  unsigned faults = 0;
  Index i;
  int t;

  for (t = 0; t < badThings; ++t) {
    const char *fault;
    for (i = 0; i < sizeof garbage; ++i)
      garbage[i] = (unsigned char)TapRandom(seed);
    make.size = 0;
    MakeBytes(&make, good.bytes, thing[t].begin);
    MakeBytes(&make, garbage, sizeof garbage);
    MakeBytes(&make, good.bytes + thing[t].begin, good.size - thing[t].begin);
    badRead(&result, make.bytes, make.size);
    fault = badFault(&result, -1);
    if (fault == NULL && (result.gaps != 1 || result.lost != 0))
      fault = "garbage is told, with no loss";
    if (fault != NULL && ++faults <= 5)
      printf("# garbage before thing %d: %s: %s; %llu lost\n", t, fault, result.what, (unsigned long long)result.lost);
    if (thing[t].block < 0 || t + 1 == badThings)
      continue;
    make.size = 0;
    MakeBytes(&make, good.bytes, thing[t].end - 20);
    MakeBytes(&make, good.bytes + thing[t].end, good.size - thing[t].end);
    badRead(&result, make.bytes, make.size);
    fault = badFault(&result, t);
    if (fault != NULL && ++faults <= 5)
      printf("# thing %d cut short: %s: offset %llu: %s; %llu lost\n", t, fault, (unsigned long long)result.offset,
            result.what,
             (unsigned long long)result.lost);
  }
  MakeFree(&make);
  TapIs(faults, 0, "garbage between blocks, and blocks cut short and written over, cost only themselves");
}

/* testTwice -- two logs one behind the other: the same, and one that was damaged with its sound copy */
static void testTwice(void)
{
  static BadResultStruct result;
  MakeStruct make = {0};

  MakeBytes(&make, good.bytes, good.size);
  MakeBytes(&make, good.bytes, good.size);
  badRead(&result, make.bytes, make.size);
  TapOk(badFault(&result, -1) == NULL && result.gaps == 0, "a log behind itself is that log");
  make.bytes[thing[3].end - 5] ^= 0x10;
  badRead(&result, make.bytes, make.size);
  TapOk(badFault(&result, -1) == NULL && result.gaps == 1 && result.lost == 0,
        "a damaged block is had from a sound copy, and the damage told: %s", result.what);
  MakeFree(&make);
}

/* testHidden -- a block was cut short, and what was appended to it is just as long as the rest: with a whole copy of the
 * block somewhere nothing is missing, and else both are told
 *
 * Of each order the letters are: L the block of thread 11, C a copy that is a snapshot; P what of L is there when it was
 * cut short, and thread 12's block behind it; N the next block of thread 11; D only what of L is there. */
static void testHidden(void)
{
  static const char *const orders[] = {"PL", "LP", "PC", "PNL", "NPL", "DPL", "LDP", "PLPL", "PP"};
  static BadResultStruct result;
  MakeProcess process = MakeProcessForeign(10, 1, 8, FALSE, badRegistry);
  MakeStruct large = {0}, small = {0}, next = {0}, copy = {0}, make = {0};
  MakeBlockStruct block[2];
  const char *at;
  Size header, kept;
  Index i;

  MakeHeader(&make, process);
  header = make.size;
  for (i = 0; i < ARRAY_LENGTH(block); ++i)
    MakeBlockBegin(&block[i], process, (uint32_t)(11 + i), 5, 0, 1000 * i);
  for (i = 0; i < badEach; ++i)
    (void)MakeEvent(&block[0], 0x0602, 10 * i, (uint64_t[]){0x5555, i}, NULL);
  (void)MakeEvent(&block[1], 0x0602, 1000, (uint64_t[]){0x5555, badEach}, NULL);
  MakeBlockEnd(&copy, &block[0], BlockFlagSEALED | BlockFlagSNAPSHOT);
  MakeBlockEnd(&large, &block[0], BlockFlagSEALED);
  MakeBlockEnd(&small, &block[1], BlockFlagSEALED);
  MakeBlockNext(&block[0], 2000);
  (void)MakeEvent(&block[0], 0x0602, 2000, (uint64_t[]){0x5555, 3 * badEach}, NULL);
  MakeBlockEnd(&next, &block[0], BlockFlagSEALED);
  kept = large.size - small.size;
  TapOk(kept >= BlockHeaderSIZE && kept < large.size, "one block is so much larger than another");
  MakeBytes(&make, large.bytes, kept);
  MakeBytes(&make, small.bytes, small.size);
  badRead(&result, make.bytes, make.size);
  TapOk(result.opened == ResOK && result.invented == 0 && badHas(&result, 0) == 0 && result.gaps == 1 &&
          result.lost == badEach, "a block that another hides in is told: %s", result.what);
  for (i = 0; i < ARRAY_LENGTH(orders); ++i) {
    make.size = header;
    for (at = orders[i]; *at != '\0'; ++at) {
      MakeStruct *its = *at == 'L' ? &large : *at == 'N' ? &next : *at == 'C' ? &copy : NULL;
      MakeBytes(&make, its != NULL ? its->bytes : large.bytes, its != NULL ? its->size : kept);
      if (*at == 'P')
        MakeBytes(&make, small.bytes, small.size);
    }
    badRead(&result, make.bytes, make.size);
    TapOk(badHas(&result, 0) == (strpbrk(orders[i], "LC") != NULL ? badEach : 0) && badHas(&result, 1) == 1 &&
            (result.gaps == 0) == (strpbrk(orders[i], "LC") != NULL),
          "%s: all that there is is read, and nothing else told: %s", orders[i], result.what);
  }
  MakeProcessFree(process);
  MakeFree(&large);
  MakeFree(&small);
  MakeFree(&next);
  MakeFree(&copy);
  MakeFree(&make);
}

/* testBeyond -- a block, the first of its stream, or a header block, says what no writer reaches: as much cannot have
 * been lost */
static void testBeyond(void)
{
  static const uint64_t beyond[] = {UINT64_MAX, (uint64_t)1 << 60, CountMAX + 1};
  static BadResultStruct result;
  static MakeBlockStruct block;
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  Count silent = 0, believed = 0;
  Index i, k;

  for (k = 0; k < 3; ++k)
    for (i = 0; i < ARRAY_LENGTH(beyond); ++i) {
      make.size = 0;
      MakeHeader(&make, process);
      MakeBlockBegin(&block, process, 11, EventKindObject, 0, 100);
      block.header.sequence = k == 0 ? beyond[i] : 0;
      block.header.discarded = k == 1 ? beyond[i] : 0;
      block.header.before = k == 2 && i > 0 ? beyond[i] : 0;
      (void)MakeEvent(&block, EventPoolFreeCODE, 101, (uint64_t[]){7, 0}, NULL);
      MakeBlockEnd(&make, &block, BlockFlagSEALED);
      badRead(&result, make.bytes, make.size);
      silent += result.opened != ResOK || (result.gaps == 0) != (k == 2 && i == 0);
      believed += result.lost > 1 || result.discarded > 1;
    }
  TapIs(silent, 0, "where a block says what no writer reaches, that is damage: %s", result.what);
  TapIs(believed, 0, "and nobody says that as many events are lost");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testLate -- a block whose header says that its events end before they do, which is what a reader who begins later
 * believes */
static void testLate(void)
{
  static BadResultStruct result;
  static MakeBlockStruct block;
  static const uint8_t flags[] = {BlockFlagSEALED, BlockFlagSEALED | BlockFlagPACKED, 0};
  MakeStruct make = {0};
  MakeProcess process = MakeProcessForeign(10, 1, 8, FALSE, badRegistry);
  Count told = 0, right = 0;
  Index i, late;

  for (i = 0; i < 2 * ARRAY_LENGTH(flags); ++i) {
    late = i / ARRAY_LENGTH(flags);
    make.size = 0;
    MakeHeader(&make, process);
    MakeBlockBegin(&block, process, 11, 5, 0, 100);
    (void)MakeEvent(&block, 0x0602, 300, (uint64_t[]){0x5555, 0}, NULL);
    (void)MakeEvent(&block, 0x0602, 200, (uint64_t[]){0x5555, 1}, NULL); /* as where a handler interrupted it */
    block.header.last = 300 - late;
    MakeBlockEnd(&make, &block, flags[i % ARRAY_LENGTH(flags)]);
    badRead(&result, make.bytes, make.size);
    right += badHas(&result, 0) == 2 && result.lost == 0 &&
             result.gaps == (late && flags[i % ARRAY_LENGTH(flags)] != 0) &&
             (result.gaps == 0 || result.offset == make.last);
    told += result.gaps;
  }
  TapIs(told, 2, "events later than their sealed block says are damage of that block");
  TapIs(right, 2 * ARRAY_LENGTH(flags), "which loses none of them, and is told once");
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testNoLogs -- files that are no logs of ours */
static void testNoLogs(void)
{
  static BadResultStruct result;
  unsigned char *bytes = malloc(good.size);

  badRead(&result, (const unsigned char *)"", 0);
  TapOk(result.opened == ResFORMAT && strstr(result.error, "empty") != NULL, "an empty file is refused: %s",
        result.error);
  badRead(&result, (const unsigned char *)"To be, or not\n", 14);
  TapOk(result.opened == ResFORMAT, "a text is refused: %s", result.error);
  memcpy(bytes, good.bytes, good.size);
  memcpy(bytes + BlockMagicSIZE, "pawprint 007.001.002", 20);
  badRead(&result, bytes, thing[0].end);
  TapOk(result.opened == ResVERSION && strstr(result.error, "7.1.2") != NULL &&
          strstr(result.error, MAKE_VERSION) != NULL, "another major version is refused, with both: %s", result.error);
  badRead(&result, bytes, good.size);
  TapOk(result.opened == ResOK && result.gaps == 1, "unless there are blocks of ours: then it is damage");
  free(bytes);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  badMake();
  testBytes("inverted", changeInvert, &seed);
  testBytes("changed by a bit", changeBit, &seed);
  testCuts();
  testMissing();
  testInserted(&seed);
  testTwice();
  testHidden();
  testBeyond();
  testLate();
  testNoLogs();
  (void)unlink(path);
  MakeFree(&good);
  return TapDone();
}
