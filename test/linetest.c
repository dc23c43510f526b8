/* linetest.c -- lines of text, against what printf makes of the same
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <inttypes.h>

#include "log/request.h"
#include "logmake.h"
#include "view/line.h"

static MakeBlockStruct block;
static OutputStruct output;
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
  right = LineCreate(&line, LineTEXT, log, &output) == ResOK;
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

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  int fd = mkstemp(path);

  (void)close(fd);
  testNumbers(&seed);
  (void)unlink(path);
  return TapDone();
}
