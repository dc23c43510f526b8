/* viewstatetest.c -- the state at a position is the same, whichever way it is had
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Logs are random, and most of what they say cannot be: few addresses, few pools, events of all types at random, dense
 * enough in time that much is held back, resized and told at any moment.
 */
#include <unistd.h>

#include "log/request.h"
#include "logmake.h"
#include "view/heaplook.h"
#include "view/heapsave.h"
#include "view/state.h"
#include "view/statecheck.h"

static char path[64];
static uint64_t random64;

static uint64_t below(uint64_t n)
{
  return TapRandom(&random64) % n;
}

static __attribute__((noreturn)) void fail(const char *why)
{
  printf("Bail out! %s\n", why);
  exit(1);
}

/* Logs */

static const struct {
  uint16_t code;
  unsigned weight;
} codes[] = {
  {EventPoolAllocCODE, 300}, {EventPoolFreeCODE, 300}, {EventPoolAllocSiteCODE, 100}, {EventPoolAllocAlignedCODE, 20},
  {EventPoolResizeBeginCODE, 80}, {EventPoolResizeEndCODE, 80}, {EventPoolResizeEndSiteCODE, 10},
  {EventPoolLiveCODE, 60}, {EventPoolLiveEndCODE, 8}, {EventPoolCreateCODE, 8}, {EventPoolDestroyCODE, 4},
  {EventPoolParamCODE, 2}, {EventArenaCreateCODE, 4}, {EventArenaDestroyCODE, 2}, {EventSegAllocCODE, 6},
  {EventSegFreeCODE, 5}, {EventStateBeginCODE, 3}, {EventStateEndCODE, 3}, {EventUserWordCODE, 5},
  {EventThreadStartCODE, 4}, {EventProcessExitCODE, 1}, {EventProcessExecCODE, 1},
};

static uint16_t randomCode(void)
{
  uint64_t pick;
  unsigned sum = 0;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(codes); ++i)
    sum += codes[i].weight;
  pick = below(sum);
  for (i = 0; pick >= codes[i].weight; ++i)
    pick -= codes[i].weight;
  return codes[i].code;
}

static uint64_t randomParam(const char *name, Size length)
{
  if (length == 4 && memcmp(name, "pool", 4) == 0)
    return 1 + below(3);
  if ((length == 4 && memcmp(name, "addr", 4) == 0) || (length == 3 && memcmp(name, "old", 3) == 0))
    return below(40) == 0 ? 0 : (1 + below(30)) * 64;
  if (length == 5 && memcmp(name, "arena", 5) == 0)
    return 0xa0 + below(2);
  if (length == 3 && memcmp(name, "pid", 3) == 0)
    return 1000 + below(3) * 100;
  if (length == 6 && memcmp(name, "thread", 6) == 0)
    return 1000 + below(3) * 100 + below(4);
  if (length == 4 && memcmp(name, "site", 4) == 0)
    return 0x4000 + below(10);
  if (length == 5 && memcmp(name, "align", 5) == 0)
    return (uint64_t)16 << below(5);
  return below(50) == 0 ? TapRandom(&random64) : below(3000);
}

static MakeStruct make;
static MakeBlockStruct block;

/* randomThread -- the events of one thread, after a time; each kind a block of its own */
static void randomThread(MakeProcess process, uint32_t thread, Count events, uint64_t after)
{
  static struct {
    uint16_t code;
    uint64_t time;
  } event[4000];
  uint64_t time = after + below(1000);
  uint64_t params[EventParamMAX];
  unsigned kind, j;
  Index i;

  for (i = 0; i < events; ++i) {
    event[i].code = randomCode();
    event[i].time = time += below(8) == 0 ? below(20000) : below(500);
  }
  for (kind = 0; kind <= EventKindSystem; ++kind) {
    Bool any = FALSE;
    for (i = 0; i < events; ++i) {
      EventType type = RegistryFind(process->registry, event[i].code);
      if (type->kind != kind)
        continue;
      for (j = 0; j < type->params; ++j)
        params[j] = randomParam(type->param[j], type->paramLength[j]);
      if (!any)
        MakeBlockBegin(&block, process, thread, kind, 0, event[i].time);
      any = TRUE;
      while (!MakeEvent(&block, event[i].code, event[i].time, params,
                        type->letter[type->params - 1] == 'S' ? "MVFF" : NULL)) {
        MakeBlockEnd(&make, &block, BlockFlagSEALED);
        MakeBlockNext(&block, event[i].time);
      }
    }
    if (any)
      MakeBlockEnd(&make, &block, BlockFlagSEALED | (below(2) == 0 ? BlockFlagPACKED : 0));
  }
}

static Log randomLog(Count events)
{
  const char *paths[] = {path};
  LogHooksStruct hooks = {.data = NULL};
  unsigned processes = 1 + (unsigned)below(3), threads, i, j;
  char error[256];
  Log log;

  for (i = 0; i < processes; ++i) {
    MakeProcess process = MakeProcessNew(1000 + i * 100, i + 1);
    uint64_t after = 100000;
    /* A child of fork, mostly; made before its first event, or, which cannot be, later. */
    if (i > 0 && below(4) != 0) {
      after += below(20000 * i);
      process->header.forked = (HeaderForkStruct){.identity = 1 + below(i), .thread = 1000 + (uint32_t)below(3) * 100,
                                                  .before = below(8) == 0 ? 100000 + below(20000) : after};
      process->header.forked.after = process->header.forked.before + below(3000);
    }
    MakeHeader(&make, process);
    threads = 1 + (unsigned)below(4);
    for (j = 0; j < threads; ++j)
      randomThread(process, 1000 + i * 100 + j, 1 + below(events), after);
    MakeProcessFree(process);
  }
  MakeWrite(&make, path);
  MakeFree(&make);
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    fail(error);
  return log;
}

/* All positions that events stand behind */
typedef struct PositionsStruct {
  Count count, capacity;
  LogPositionStruct *position;
} PositionsStruct, *Positions;

static Bool positionsEvent(LogRequest request, LogEvent event)
{
  Positions positions = request->data;

  if (positions->count == positions->capacity) {
    positions->capacity = positions->capacity * 2 + 64;
    positions->position = realloc(positions->position, positions->capacity * sizeof *positions->position);
    if (positions->position == NULL)
      fail("no memory");
  }
  LogEventPosition(&positions->position[positions->count++], event);
  return FALSE;
}

/* Digests: everything that can be seen of a heap */

static uint64_t mix(uint64_t digest, uint64_t value)
{
  digest = (digest ^ value) * 0x9e3779b97f4a7c15ull;
  return digest ^ digest >> 29;
}

static uint64_t digestPool(State state, HeapPool pool)
{
  uint64_t digest = mix(mix(mix(pool->number, pool->addr), mix(pool->arena, pool->time)),
                        mix(mix(pool->segments, pool->reserved), pool->repeated));
  HeapObject object;
  Count count;
  Index i;

  HeapTableCheck(&pool->table);
  for (i = 0; i < HeapClassMAX; ++i)
    digest = mix(digest, (unsigned char)pool->class[i]);
  if (HeapTableSort(&object, &count, &pool->table) != ResOK)
    fail("no memory");
  for (i = 0; i < count; ++i) {
    digest = mix(mix(mix(digest, object[i].addr), object[i].size), object[i].time);
    digest = mix(mix(digest, object[i].thread), StateSite(state, &object[i]));
    digest = mix(digest, object[i].align | object[i].told << 8 | object[i].stale << 9);
  }
  free(object);
  return mix(digest, count);
}

static uint64_t digestState(State state, Log log)
{
  LogSummaryStruct summary;
  uint64_t digest = 0;
  Index p, i;

  LogSummarize(&summary, log);
  for (p = 0; p < summary.processes; ++p) {
    Heap heap = StateHeap(state);
    HeapTallyStruct tally;
    const uint64_t *counts;
    HeapPool *pools;
    HeapThread *threads;
    HeapObject arenas;
    Count count;
    if (!HeapSeen(&count, &counts, heap, p))
      continue;
    for (i = 0; i < LogProcessAt(log, p)->registry->count; ++i)
      digest = mix(digest, counts[i]);
    HeapLookTally(&tally, heap, p);
    digest = mix(mix(mix(digest, tally.repairs), mix(tally.overlaps, tally.unmatched)),
                 mix(mix(tally.early, tally.unfinished), tally.failed));
    if (HeapLookPools(&pools, &count, heap, p) != ResOK)
      fail("no memory");
    for (i = 0; i < count; ++i)
      digest = mix(digest, digestPool(state, pools[i]));
    free(pools);
    if (HeapLookThreads(&threads, &count, heap, p) != ResOK)
      fail("no memory");
    for (i = 0; i < count; ++i)
      digest = mix(mix(digest, threads[i]->number), mix(threads[i]->id, threads[i]->gone));
    free(threads);
    if (HeapLookArenas(&arenas, &count, heap, p) != ResOK)
      fail("no memory");
    for (i = 0; i < count; ++i)
      digest = mix(mix(digest, arenas[i].addr), mix(arenas[i].size, mix(arenas[i].time, arenas[i].client)));
    free(arenas);
  }
  return mix(digest, HeapObjectTypes(StateHeap(state)));
}

/* digestPlain -- reading all from the beginning */
static uint64_t digestPlain(Log log, const LogPositionStruct *position)
{
  uint64_t digest;
  State state;

  if (StateCreate(&state, log, NULL, StateIntervalNONE) != ResOK || StateAt(state, position) != ResOK)
    fail("no plain state");
  digest = digestState(state, log);
  StateDestroy(state);
  return digest;
}

/* The property */

static const struct {
  Count events, interval;
  uint64_t memory, file;
} cases[] = {{60, 7, 1 << 20, 0},      {400, 16, 8192, 1 << 20}, {400, 1, 0, 1 << 20},
             {900, 5, 30000, 60000}, {900, 3, 0, 0}};

static struct {
  Count wrong, questions;
  uint64_t restores, file;
} sum;

static LogPositionStruct randomPosition(Positions positions)
{
  static const LogPositionStruct last = LogPositionLAST;
  LogPositionStruct position = below(20) == 0 ? last : positions->position[below(positions->count)];

  position.at += below(3) == 0;
  if (below(3) == 0)
    position.process = position.stream = position.sequence = position.at = 0; /* a time */
  return position;
}

static void testLog(unsigned round)
{
  PositionsStruct positions = {0};
  LogRequestStruct request = LogRequestALL;
  StateCountsStruct counts;
  Log log = randomLog(cases[round % ARRAY_LENGTH(cases)].events);
  State state;
  Index i;

  request.data = &positions;
  request.event = positionsEvent;
  if (LogRead(log, &request) != ResOK ||
      StateCreate(&state, log, NULL, cases[round % ARRAY_LENGTH(cases)].interval) != ResOK)
    fail("no state");
  StateBound(state, cases[round % ARRAY_LENGTH(cases)].memory, cases[round % ARRAY_LENGTH(cases)].file);
  for (i = 0; i < 12; ++i) {
    LogPositionStruct position = randomPosition(&positions);
    if (StateAt(state, &position) != ResOK)
      fail("no state there");
    StateCheckAll(state);
    ++sum.questions;
    sum.wrong += digestState(state, log) != digestPlain(log, &position);
  }
  StateCount(&counts, state);
  sum.restores += counts.restores;
  sum.file += counts.file;
  StateDestroy(state);
  free(positions.position);
  LogClose(log);
}

/* testCount -- a request for so many events has no more of them, however often the state is asked for */
static void testCount(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  PositionsStruct positions = {0};
  LogRequestStruct request = LogRequestALL, few = LogRequestALL;
  Log log = randomLog(300);
  StateCountsStruct counts;
  State state;

  request.data = &positions;
  request.event = positionsEvent;
  few.count = 20;
  if (LogRead(log, &request) != ResOK || StateCreate(&state, log, &few, 5) != ResOK ||
      StateAt(state, &positions.position[10]) != ResOK || StateAt(state, &last) != ResOK)
    fail("no state");
  StateCount(&counts, state);
  TapIs(counts.events, 20, "20 events are read, in two pieces, where 20 are wanted");
  if (StateAt(state, &positions.position[15]) != ResOK || StateAt(state, &last) != ResOK)
    fail("no state");
  StateCheckAll(state);
  StateCount(&counts, state);
  TapOk(counts.events <= 40, "and no others when it goes back");
  StateDestroy(state);
  free(positions.position);
  LogClose(log);
}

/* What is not sound is refused, and leaves nothing behind. */
static void testDamage(void)
{
  static const HeapClientStruct none;
  Log log = randomLog(300);
  LogPositionStruct last = LogPositionLAST;
  unsigned char *bytes;
  Count objects, refused = 0;
  Size size, i;
  State state;
  Heap heap;

  if (StateCreate(&state, log, NULL, 0) != ResOK || StateAt(state, &last) != ResOK ||
      HeapSave(&bytes, &size, &objects, StateHeap(state)) != ResOK || HeapCreate(&heap, (HeapClient)&none, log) != ResOK)
    fail("no state");
  TapIs(HeapRestore(heap, bytes, size), ResOK, "a saved heap can be restored");
  for (i = 0; i < size; ++i)
    refused += HeapRestore(heap, bytes, i) != ResOK;
  TapIs(refused, size, "and no beginning of it can");
  for (i = refused = 0; i < 4000; ++i) {
    Size at = below(size);
    unsigned char was = bytes[at];
    bytes[at] ^= (unsigned char)(1u << below(8));
    refused += HeapRestore(heap, bytes, size) == ResFORMAT;
    bytes[at] = was;
  }
  TapIs(refused, 4000, "nor with a bit changed");
  TapIs(HeapRestore(heap, bytes, size), ResOK, "what was damaged does no harm to what comes after");
  HeapDestroy(heap);
  free(bytes);
  StateDestroy(state);
  LogClose(log);
}

/* A log with more pools, threads and sites than anything has: what is kept of it stays in proportion. */
static void testMany(void)
{
  enum { MANY = 20000 };
  const char *paths[] = {path};
  MakeProcess process = MakeProcessNew(1000, 1);
  LogHooksStruct hooks = {.data = NULL};
  LogPositionStruct position;
  StateCountsStruct counts;
  Count wrong = 0;
  char error[256];
  State state;
  uint64_t i;
  Log log;

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 1000, EventKindObject, 0, 1000);
  for (i = 1; i <= MANY; ++i) {
    while (!MakeEvent(&block, EventPoolAllocSiteCODE, i * 1000, (uint64_t[]){i, 64, 10, i + 77}, NULL)) {
      MakeBlockEnd(&make, &block, BlockFlagSEALED);
      MakeBlockNext(&block, i * 1000);
    }
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  MakeWrite(&make, path);
  MakeFree(&make);
  MakeProcessFree(process);
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK || StateCreate(&state, log, NULL, 1) != ResOK ||
      StateAtTime(state, UINT64_MAX) != ResOK)
    fail("no state");
  StateCount(&counts, state);
  TapOk(counts.checks < 60, "fewer check points where each is dear: %llu", (unsigned long long)counts.checks);
  TapOk(counts.memory < (uint64_t)40 << 20, "%llu bytes of them", (unsigned long long)counts.memory);
  for (i = 0; i < 5; ++i) {
    LogPositionOfTime(&position, log, (uint64_t)86400 * 1000000000 + below(MANY) * 1000);
    if (StateAt(state, &position) != ResOK)
      fail("no state there");
    wrong += digestState(state, log) != digestPlain(log, &position);
  }
  TapIs(wrong, 0, "and as good");
  StateDestroy(state);
  LogClose(log);
}

/* A filed request that is left in the middle: the state is that at where it was left. */
static struct {
  Bool (*real)(LogRequest request, LogEvent event);
  Count left;
} leaving;

static Bool leaveEvent(LogRequest request, LogEvent event)
{
  Bool end = leaving.real(request, event);

  request->stop = --leaving.left == 0;
  return end;
}

static void testLeave(void)
{
  Log log = randomLog(400);
  LogPositionStruct last = LogPositionLAST;
  Count wrong = 0;
  unsigned i;

  for (i = 0; i < 20; ++i) {
    LogRequest request;
    uint64_t whole;
    State state;
    if (StateCreate(&state, log, NULL, 20) != ResOK || StateSeek(state, &last) != ResOK)
      fail("no state");
    request = StateRequest(state);
    leaving.real = request->event;
    leaving.left = 1 + below(300);
    request->event = leaveEvent;
    if (LogRead(log, request) != ResOK || StateSettle(state) != ResOK)
      fail("no reading");
    request->event = leaving.real;
    if (StateAt(state, &last) != ResOK)
      fail("no state at the end");
    whole = digestState(state, log);
    wrong += whole != digestPlain(log, &last);
    StateDestroy(state);
  }
  TapIs(wrong, 0, "what was left in the middle can be gone on with");
  LogClose(log);
}

int main(void)
{
  uint64_t seed = TapSeed();
  unsigned i, rounds = getenv("SOAK") != NULL ? 2000 : 100;

  snprintf(path, sizeof path, "/tmp/viewstatetest.%d.paw", (int)getpid());
  random64 = seed * 0x9e3779b97f4a7c15ull | 1;
  for (i = 0; i < rounds; ++i)
    testLog(i);
  TapIs(sum.wrong, 0, "the state from a check point is that from the beginning, %zu times", sum.questions);
  TapOk(sum.restores > sum.questions / 4, "though check points were used (%llu)", (unsigned long long)sum.restores);
  TapOk(sum.file > 0, "and some were in files");
  testCount();
  testDamage();
  testLeave();
  testMany();
  unlink(path);
  return TapDone();
}
