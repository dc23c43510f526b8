/* linetest.c -- lines of text, against what printf makes of the same; and of words, which may be long
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <inttypes.h>

#include "export/eventlines.h"
#include "logmake.h"
#include "request/request.h"

static MakeBlockStruct block;
static struct {
  OutputStruct output;
  char behind[1 << 20]; /* where nothing is ever written */
} guarded;

#define output guarded.output
static char path[] = "/tmp/linetestXXXXXX";

enum { lineEvents = 1500 };

typedef struct LineValueStruct {
  uint64_t time, p, a, w, u;
} LineValueStruct;

static LineValueStruct value[lineEvents];

/* lineRandom -- numbers of every length, and those beside the powers of ten and sixteen */
static uint64_t lineRandom(uint64_t *seed)
{
  uint64_t r = TapRandom(seed), power = 1;
  unsigned n = (unsigned)(r >> 8) % 20;

  switch (r % 4) {
  case 0:
    return TapRandom(seed) >> (r >> 16) % 64;
  case 1:
    while (n-- > 0)
      power *= 10;
    return power - (r >> 20) % 2;
  case 2:
    return ((uint64_t)1 << 4 * (n % 16)) - (r >> 20) % 2;
  default:
    return (r >> 20) % 120;
  }
}

/* lineWrite -- a log of random values, and in `expected` its text */
static void lineWrite(uint64_t *seed, char *expected)
{
  static const char registry[] = "kind: 6 User\nevent: 0x0701 All User 1 PAWU p a w u\n";
  MakeProcess process = MakeProcessForeign(4711, 1, 8, FALSE, registry);
  MakeStruct make = {0};
  uint64_t time = 5;
  Index i;

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 99, 6, 0, time);
  for (i = 0; i < lineEvents; ++i) {
    LineValueStruct v = {time, lineRandom(seed), lineRandom(seed), lineRandom(seed), (uint32_t)lineRandom(seed)};
    if (!MakeEvent(&block, 0x0701, time, (uint64_t[]){v.p, v.a, v.w, v.u}, NULL)) {
      MakeBlockEnd(&make, &block, BlockFlagSEALED);
      MakeBlockNext(&block, time);
      (void)MakeEvent(&block, 0x0701, time, (uint64_t[]){v.p, v.a, v.w, v.u}, NULL);
    }
    value[i] = v;
    expected += sprintf(expected, "%" PRIu64 ".%09" PRIu64 " 4711/99 All p=0x%" PRIx64 " a=0x%" PRIx64 " w=%" PRIu64
                        " u=%" PRIu64 "\n", (time - 5) / 1000000000, (time - 5) % 1000000000, v.p, v.a, v.w, v.u);
    time += TapRandom(seed) % 4 == 0 ? TapRandom(seed) % 3000000000 : TapRandom(seed) % 1000;
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  MakeWrite(&make, path);
  MakeFree(&make);
  MakeProcessFree(process);
}

static void testNumbers(uint64_t *seed)
{
  static char expected[lineEvents * 160], got[sizeof expected];
  LogRequestStruct request = LogRequestALL;
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[1] = {path};
  char error[256], out[] = "/tmp/lineoutXXXXXX";
  int fd = mkstemp(out);
  Bool right;
  Line line;
  Log log;

  lineWrite(seed, expected);
  right = LogOpen(&log, paths, 1, &hooks, error, sizeof error) == ResOK;
  TapOk(right, "a log of random numbers opens");
  if (!right)
    return;
  OutputInit(&output, fd);
  right = LineCreate(&line, LineTEXT, log, &output, NULL) == ResOK;
  request.event = LineEvent;
  request.data = line;
  TapOk(right && LogRead(log, &request) == ResOK && OutputFlush(&output), "and is written as text");
  right = pread(fd, got, sizeof got, 0) == (ssize_t)strlen(expected);
  TapOk(right && strcmp(got, expected) == 0, "which is what printf makes of it");
  LineDestroy(line);
  LogClose(log);
  (void)close(fd);
  (void)unlink(out);
}

/* lineWords -- the log's events of a choice, from a time on, in words, as a string in `got`, NUL-terminated; FALSE: it
 * could not be read */
static Bool lineWords(char *got, Size size, Make make, Bool (*choose)(void *, LogProcess, EventType), uint64_t from,
                      uint64_t count)
{
  LogRequestStruct request;
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[1] = {path};
  char error[256], out[] = "/tmp/lineoutXXXXXX";
  int fd = mkstemp(out);
  ssize_t length = -1;
  Line line;
  Log log;

  MakeWrite(make, path);
  OutputInit(&output, fd);
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) == ResOK) {
    if (LineCreate(&line, LineDESCRIBE, log, &output, NULL) == ResOK) {
      request = (LogRequestStruct)LogRequestALL;
      request.data = line;
      request.event = LineEvent;
      request.choose = choose;
      request.from = from;
      request.count = count;
      if (LineRead(line, &request) == ResOK && OutputFlush(&output))
        length = pread(fd, got, size - 1, 0);
      LineDestroy(line);
    }
    LogClose(log);
  }
  got[length > 0 ? length : 0] = '\0';
  (void)close(fd);
  (void)unlink(out);
  return length >= 0;
}

/* testLong -- a description may name a string as often as it likes: a line has an end */
static void testLong(void)
{
  static char got[4 << 20], text[EventMaxStringLength + 1], registry[512];
  MakeProcess process;
  MakeStruct make = {0};
  TextStruct out;
  Index i;

  memset(text, 1, sizeof text - 1);
  TextInit(&out, registry, sizeof registry);
  TextString(&out, "kind: 6 User\nevent: 0x0701 Intern User 1 WS id string\nevent: 0x0702 Long User 1 WS w s\n"
                   "describe: 0x0702 ");
  for (i = 0; i < 30; ++i)
    TextString(&out, i % 2 == 0 ? "%*w" : "%s");
  TextString(&out, "\n");
  process = MakeProcessForeign(4711, 1, 8, FALSE, TextTerminate(&out));
  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 99, 6, 0, 1000);
  (void)MakeEvent(&block, 0x0701, 1000, (uint64_t[]){7}, text);
  for (i = 0; i < 20; ++i)
    (void)MakeEvent(&block, 0x0702, 1001 + i, (uint64_t[]){7}, text);
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  TapOk(lineWords(got, sizeof got, &make, NULL, 0, UINT64_MAX),
        "a description that names long strings again and again is printed");
  for (i = 0; i < sizeof guarded.behind && guarded.behind[i] == 0; ++i)
    ;
  TapOk(i == sizeof guarded.behind, "within the room that there is");
  for (i = 0, out.next = got; (out.next = strchr(out.next, '\n')) != NULL; ++out.next)
    ++i;
  TapOk(i == 21, "a line for each event");
  MakeFree(&make);
  MakeProcessFree(process);
}

static Bool lineLabels(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return type->code == 0x0702;
}

/* testInterned -- words have strings instead of their numbers, and labels, whatever is chosen and whoever interned them
 * before */
static void testInterned(void)
{
  static const char registry[] =
    "kind: 6 User\nevent: 0x0701 Intern User 1 WS id string\nevent: 0x0702 Label User 1 AU addr id\n"
    "describe: 0x0702 %addr is %*id, %id, %*addr, %*none, 5%*\n";
  static const char expected[] =
    "0.000000010 4711/99 0x5000[\"the \\\"first\\\"\"] is \"the \\\"first\\\"\", 7, %*addr, %*none, 5%*\n"
    "0.000000011 4711/99 0x6000 is 8, 8, %*addr, %*none, 5%*\n"
    "0.000000012 4712/99 0x5000[\"another's\"] is \"another's\", 7, %*addr, %*none, 5%*\n"
    "0.000000014 4711/99 0x5000[\"the second\"] is \"the second\", 7, %*addr, %*none, 5%*\n";
  static char got[4096];
  MakeProcess process[2];
  MakeStruct make = {0};
  Index i;

  for (i = 0; i < 2; ++i) {
    process[i] = MakeProcessForeign(4711 + (uint32_t)i, 1 + i, 8, i == 1, registry);
    MakeHeader(&make, process[i]);
    MakeBlockBegin(&block, process[i], 98, 6, 0, 1000);
    (void)MakeEvent(&block, 0x0701, 1000, (uint64_t[]){7}, i == 0 ? "the \"first\"" : "another's");
    if (i == 0)
      (void)MakeEvent(&block, 0x0701, 1013, (uint64_t[]){7}, "the second");
    MakeBlockEnd(&make, &block, BlockFlagSEALED);
    MakeBlockBegin(&block, process[i], 99, 6, 0, 1005);
    if (i == 0) {
      (void)MakeEvent(&block, 0x0702, 1005, (uint64_t[]){1, 2}, NULL);
      (void)MakeEvent(&block, 0x0702, 1010, (uint64_t[]){0x5000, 7}, NULL);
      (void)MakeEvent(&block, 0x0702, 1011, (uint64_t[]){0x6000, 8}, NULL);
      (void)MakeEvent(&block, 0x0702, 1014, (uint64_t[]){0x5000, 7}, NULL);
      (void)MakeEvent(&block, 0x0702, 1015, (uint64_t[]){3, 4}, NULL);
    } else {
      (void)MakeEvent(&block, 0x0702, 1012, (uint64_t[]){0x5000, 7}, NULL);
    }
    MakeBlockEnd(&make, &block, BlockFlagSEALED);
  }
  TapOk(lineWords(got, sizeof got, &make, lineLabels, 86400 * (uint64_t)1000000000 + 1010, 4),
        "a part of a log in words");
  TapOk(strcmp(got, expected) == 0, "has the strings that were interned before it, each process's own");
  MakeFree(&make);
  for (i = 0; i < 2; ++i)
    MakeProcessFree(process[i]);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  testNumbers(&seed);
  testLong();
  testInterned();
  (void)unlink(path);
  return TapDone();
}
