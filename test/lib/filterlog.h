/* filterlog.h -- random logs for tests of filters, and their events, kept
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_FILTERLOG_H
#define TEST_FILTERLOG_H

#include "filter/filter.h"
#include "logmake.h"

enum { filterLogs = 14, filterExpressions = 800, filterEvents = 4096, filterBYTES = 128, filterDEPTH = 5 };

static const char registryOne[] =
  "kind: 0 Arena\nkind: 5 Object\nkind: 6 User\n"
  "event: 0x0101 ArenaCreate Arena 1 PW arena size\n"
  "event: 0x0601 PoolAlloc Object 0 PAW pool addr size\n"
  "event: 0x0602 PoolFree Object 0 PA pool addr\n"
  "event: 0x0701 All User 1 PAWUDS p a w u d s\n"
  "event: 0x0702 None User 1 0\n"
  "event: 0x0703 Mixed User 1 DWS size value name\n"
  "event: 0x0704 Other User 1 US u value\n"
  "event: 0x0705 Twice User 1 WWS value value value\n";

/* The same names, other numbers. */
static const char registryTwo[] =
  "kind: 1 Object\nkind: 2 User\n"
  "event: 0x0201 PoolFree Object 0 AP addr pool\n"
  "event: 0x0202 PoolAlloc Object 0 WPA size pool addr\n"
  "event: 0x0301 All User 1 DUWPAS d u w p a s\n"
  "event: 0x0302 Mixed User 1 UDS value size name\n";

static const char *const strings[] = {"", "a", "ab", "b", "malloc", "PoolAlloc", "Object", "a\"b\n\\", "\xc3\xa4 z",
                                      "~"};
static char path[64] = "/tmp/filtertestXXXXXX";
static MakeBlockStruct block;
static uint64_t seed;

static uint64_t randomUpTo(uint64_t n)
{
  return TapRandom(&seed) % n;
}

/* Random logs */

static uint64_t randomWord(void)
{
  static const uint64_t words[] = {0, 1, 2, 3, 17, 100, 4096, 65536, 0x7fffffff, 0xffffffff, 0x100000000,
                                   0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
  uint64_t r = randomUpTo(2 * ARRAY_LENGTH(words));

  if (r < ARRAY_LENGTH(words) && LDBL_MANT_DIG >= 64)
    return words[r];
  return randomUpTo(r % 2 == 0 ? 6 : 5000);
}

static double randomReal(void)
{
  static const double reals[] = {0.0, -0.0, 1.5, -2.5, 1e300, -1e300, 4096.0, 2.0, NAN, INFINITY, -INFINITY, DBL_MAX};

  return reals[randomUpTo(ARRAY_LENGTH(reals))];
}

static void makeRandomEvent(MakeProcess process, unsigned kind, uint64_t time)
{
  Registry registry = process->registry;
  EventType type;
  uint64_t params[EventParamMAX];
  Index i;

  do
    type = &registry->types[randomUpTo(registry->count)];
  while (type->kind != kind);
  for (i = 0; i < type->params; ++i) {
    double real = randomReal();
    params[i] = randomWord();
    if (type->letter[i] == 'D')
      memcpy(&params[i], &real, sizeof real);
  }
  (void)MakeEvent(&block, type->code, time, params,
                  type->strings ? strings[randomUpTo(ARRAY_LENGTH(strings))] : NULL);
}

static void makeStream(Make make, MakeProcess process, uint32_t thread, unsigned kind)
{
  uint64_t time = 1000 + randomUpTo(300);
  unsigned b, e;

  MakeBlockBegin(&block, process, thread, kind, 0, time);
  for (b = 0; b < 3; ++b) {
    block.header.cpuFirst = (uint16_t)randomUpTo(3);
    block.header.cpuLast = randomUpTo(4) == 0 ? BlockCpuUNKNOWN : block.header.cpuFirst;
    for (e = 0; e < 12; ++e)
      makeRandomEvent(process, kind, time += randomUpTo(40));
    MakeBlockEnd(make, &block, BlockFlagSEALED | (randomUpTo(4) > 0 ? BlockFlagCPU : 0));
    MakeBlockNext(&block, time += randomUpTo(500));
  }
}

static void makeLog(void)
{
  MakeStruct make = {0};
  MakeProcess process[] = {MakeProcessForeign(7, 1, 8, FALSE, registryOne),
                           MakeProcessForeign(1, 2, 4, TRUE, registryTwo),
                           MakeProcessForeign(100, 3, 8, TRUE, registryOne),
                           MakeProcessForeign(100, 4, 4, FALSE, registryOne),
                           MakeProcessForeign(8, 5, 8, FALSE, registryOne)}; /* with the first's types */
  Index i, k;

  strcpy(process[1]->header.program, "/usr/lib/cc1");
  strcpy(process[2]->header.program, "made");
  for (i = 0; i < ARRAY_LENGTH(process); ++i) {
    MakeHeader(&make, process[i]);
    for (k = 0; k < EventKindMAX; ++k)
      if (process[i]->registry->kind[k][0] != '\0') {
        makeStream(&make, process[i], process[i]->header.pid, (unsigned)k);
        makeStream(&make, process[i], (uint32_t)(20 + randomUpTo(3)), (unsigned)k);
      }
    MakeProcessFree(process[i]);
  }
  MakeWrite(&make, path);
  MakeFree(&make);
}

static Log openLog(void)
{
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[1] = {path};
  char error[256] = "";
  Log log = NULL;

  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    printf("# %s\n", error);
  return log;
}

/* Events, kept */

typedef struct KeptStruct {
  Count count;
  LogEventStruct event[filterEvents];
  unsigned char bytes[filterEvents][filterBYTES];
} KeptStruct, *Kept;

static KeptStruct all, wanted, had;

static void keep(Kept kept, LogEvent event)
{
  if (kept->count == filterEvents || event->length > filterBYTES)
    makeFail("too many events to keep");
  kept->event[kept->count] = *event;
  memcpy(kept->bytes[kept->count], event->bytes, event->length);
  kept->event[kept->count].bytes = kept->bytes[kept->count];
  ++kept->count;
}

/* keptSame -- are two kept events the same one? */
static Bool keptSame(LogEvent a, LogEvent b)
{
  LogPositionStruct one, other;

  LogEventPosition(&one, a);
  LogEventPosition(&other, b);
  return LogPositionCompare(&one, &other) == 0;
}

static Bool keepHook(LogRequest request, LogEvent event)
{
  keep(request->data, event);
  return FALSE;
}

static void keepAll(Log log)
{
  LogRequestStruct request = LogRequestALL;

  all.count = 0;
  request.data = &all;
  request.event = keepHook;
  (void)LogRead(log, &request);
}

#endif /* TEST_FILTERLOG_H */
