/* heapattest.c -- the state at a position is the same, from a check point of the index file and from the beginning
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Logs are random, and most of what they say cannot be: few addresses, few pools, events of all types at random, dense
 * enough in time that much is held back, resized and told at any moment.
 */
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc.h"
#include "heap/heapdata.h"
#include "heap/heaplook.h"
#include "heap/heapsave.h"
#include "heap/heapat.h"
#include "logmake.h"
#include "request/request.h"

static char path[64], indexPath[72];
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

static Log openLog(void)
{
  const char *paths[] = {path};
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  Log log;

  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    fail(error);
  return log;
}

/* randomLog -- one without an index file */
static Log randomLog(Count events)
{
  unsigned processes = 1 + (unsigned)below(3), threads, i, j;

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
  (void)unlink(indexPath);
  return openLog();
}

static uint64_t interval;

static Res keep(IndexFile file, Log log)
{
  return HeapAtKeepEvery(file, log, interval);
}

/* indexedLog -- the log with an index file that has check points */
static Log indexedLog(uint64_t every)
{
  LogHooksStruct hooks = {.data = NULL};
  LogIndexedStruct indexed;
  char error[256];

  interval = every;
  if (LogIndexWrite(&indexed, path, &hooks, keep, error, sizeof error) != ResOK)
    fail(error);
  return openLog();
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

static uint64_t digestPool(HeapAt state, HeapPool pool)
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
    digest = mix(mix(digest, object[i].thread), HeapAtSite(state, &object[i]));
    digest = mix(digest, object[i].align | object[i].told << 8 | object[i].stale << 9);
  }
  free(object);
  return mix(digest, count);
}

static uint64_t digestState(HeapAt state, Log log)
{
  LogSummaryStruct summary;
  uint64_t digest = 0;
  Index p, i;

  LogSummarize(&summary, log);
  for (p = 0; p < summary.processes; ++p) {
    Heap heap = state->heap;
    HeapSeenStruct seen;
    HeapPool *pools;
    HeapThread *threads;
    HeapObject arenas;
    Count count;
    if (!HeapLook(&seen, heap, p))
      continue;
    for (i = 0; i < LogProcessAt(log, p)->registry->count; ++i)
      digest = mix(digest, seen.counts[i]);
    digest = mix(mix(mix(digest, seen.tally.repairs), mix(seen.tally.overlaps, seen.tally.unmatched)),
                 mix(mix(seen.tally.early, seen.tally.unfinished), seen.tally.failed));
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
  return mix(digest, HeapObjectTypes(state->heap));
}

static const LogRequestStruct all = LogRequestALL;

/* stateAt -- the state before a position of all that `only` chooses; *fromReturn is whether a check point was used */
static HeapAt stateAt(Log log, const LogRequestStruct *only, const LogPositionStruct *position, Bool *fromReturn)
{
  static const LogPositionStruct first = LogPositionFIRST;
  HeapAt state;

  if (HeapAtCreate(&state, log, only, position, NULL) != ResOK)
    fail("no state");
  if (fromReturn != NULL)
    *fromReturn = LogPositionCompare(state->request.start, &first) > 0;
  if (LogRead(log, &state->request) != ResOK || HeapSettle(state->heap) != ResOK)
    fail("no state there");
  return state;
}

static uint64_t digestAt(Log log, const LogRequestStruct *only, const LogPositionStruct *position, Bool *fromReturn)
{
  HeapAt state = stateAt(log, only, position, fromReturn);
  uint64_t digest = digestState(state, log);

  HeapAtDestroy(state);
  return digest;
}

static Bool chooseWanted(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return HeapWants(type);
}

/* positionsOf -- of all events of the types that are chosen, or, if that is NULL, of all */
static PositionsStruct positionsOf(Log log, Bool (*choose)(void *data, LogProcess process, EventType type))
{
  PositionsStruct positions = {0};
  LogRequestStruct request = LogRequestALL;

  request.data = &positions;
  request.choose = choose;
  request.event = positionsEvent;
  if (LogRead(log, &request) != ResOK)
    fail("no positions");
  return positions;
}

/* longLog -- a random log with a hundred events at least that a state takes */
static Log longLog(void)
{
  for (;;) {
    Log log = randomLog(300);
    PositionsStruct positions = positionsOf(log, chooseWanted);
    free(positions.position);
    if (positions.count >= 100)
      return log;
    LogClose(log);
  }
}

/* The property */

static const struct {
  Count events, interval;
} cases[] = {{60, 7}, {400, 16}, {400, 1}, {900, 5}, {900, 40}};

static struct {
  Count wrong, questions, restores;
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
  Log plain = randomLog(cases[round % ARRAY_LENGTH(cases)].events);
  Log indexed = indexedLog(cases[round % ARRAY_LENGTH(cases)].interval);
  PositionsStruct positions = positionsOf(plain, NULL);
  Index i;

  for (i = 0; i < 12; ++i) {
    LogPositionStruct position = randomPosition(&positions);
    Bool from;
    ++sum.questions;
    sum.wrong += digestAt(indexed, &all, &position, &from) != digestAt(plain, &all, &position, NULL);
    sum.restores += from;
  }
  free(positions.position);
  LogClose(indexed);
  LogClose(plain);
}

static Bool chooseMost(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return type->code != EventPoolFreeCODE;
}

/* testPart -- what is not all of the log has nothing of a check point */
static void testPart(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  LogRequestStruct few = LogRequestALL, later = LogRequestALL, most = LogRequestALL;
  Log plain = longLog(), log = indexedLog(5);
  PositionsStruct positions = positionsOf(plain, chooseWanted);
  LogSummaryStruct summary;
  Bool from[4];

  LogSummarize(&summary, log);
  few.count = 20;
  later.from = summary.first + 1000;
  most.choose = chooseMost;
  few.choose = chooseWanted;
  TapOk(digestAt(log, &few, &last, &from[0]) == digestAt(plain, &all, &positions.position[20], NULL),
        "20 events are read where 20 are wanted");
  TapOk(digestAt(log, &later, &last, &from[1]) == digestAt(plain, &later, &last, NULL), "and none before their time");
  TapOk(digestAt(log, &most, &last, &from[2]) == digestAt(plain, &most, &last, NULL), "and none of other types");
  (void)digestAt(log, &all, &last, &from[3]);
  TapOk(!from[0] && !from[1] && !from[2] && from[3], "without a check point, though there is one");
  free(positions.position);
  LogClose(log);
  LogClose(plain);
}

/* testOther -- check points are of the log as it was, and of nothing else */
static void testOther(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  const char *paths[] = {path, "test/good/threads.paw"};
  static const int64_t offsets[] = {5, 0};
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  unsigned char byte;
  Bool from;
  Log plain = longLog(), log = indexedLog(5);
  Count wrong = 0, used = 0;
  IndexFileHeadStruct head = *IndexFileHeadOf(LogKnown(log));
  Index i;
  int fd = open(indexPath, O_RDWR);

  LogClose(log);
  if (LogOpen(&log, paths, 2, &hooks, error, sizeof error) != ResOK)
    fail(error);
  TapOk(LogKnown(log) == NULL, "of two logs read together no check point is used");
  LogClose(log);
  hooks.offset = offsets;
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    fail(error);
  TapOk(LogKnown(log) == NULL, "nor of a log whose times are shifted");
  LogClose(log);
  for (i = 0; i < head.checks; ++i) { /* from the last one on: one after the other is damaged */
    IndexFilePointStruct *check = &head.check[head.checks - 1 - i];
    uint64_t at = check->offset + below(check->size);
    if (pread(fd, &byte, 1, (off_t)at) != 1)
      fail("no check point");
    byte ^= 1;
    if (pwrite(fd, &byte, 1, (off_t)at) != 1)
      fail("no check point");
    log = openLog();
    wrong += digestAt(log, &all, &last, &from) != digestAt(plain, &all, &last, NULL);
    used += from;
    LogClose(log);
  }
  TapIs(wrong, 0, "a check point that is damaged is passed over, %u times", (unsigned)head.checks);
  TapIs(used, head.checks - 1, "for the one before it, as long as there is one");
  (void)close(fd);
  LogClose(plain);
}

static uint64_t walked;

static void walkObject(void *data, HeapPool pool, HeapThread thread, HeapObject object)
{
  UNUSED(data);
  walked += pool->number + thread->id + object->addr;
}

static void walkPending(void *data, HeapInput input, Bool begun, HeapObject object)
{
  UNUSED(data);
  walked += begun + input->thread->id + input->pool->number + (object != NULL ? object->addr : 0);
}

static void walkGone(void *data, HeapPool pool, uint64_t addr)
{
  UNUSED(data);
  walked += pool->number + addr;
}

/* lookAt -- all that anybody looks at, in the middle of the log and at its end */
static void lookAt(HeapAt state, Log log)
{
  Index i;

  for (i = 0; i < LogProcesses(log); ++i) {
    if (HeapObjects(state->heap, i, walkObject, NULL) != ResOK)
      fail("no memory");
    HeapPending(state->heap, i, walkPending, NULL);
    if (HeapStating(state->heap, i))
      HeapGone(state->heap, i, walkGone, NULL);
  }
  (void)digestState(state, log);
}

/* Whatever bytes say, there is a heap that can be looked at and gone on with, or none. */
static void testDamage(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  Log log = longLog();
  PositionsStruct positions = positionsOf(log, NULL);
  HeapBytesStruct bytes = {.size = 0}, damaged;
  Count refused = 0, taken = 0;
  Size size, i;
  HeapAt state = stateAt(log, &all, &positions.position[positions.count / 2], NULL), other;

  if (HeapSave(&bytes, state->heap) != ResOK)
    fail("no bytes");
  size = bytes.size;
  for (i = 0; i < size; ++i) {
    damaged = (HeapBytesStruct){.bytes = bytes.bytes, .size = i};
    refused += HeapRestore(state->heap, &damaged, UINT32_MAX, SIZE_MAX) == ResFORMAT;
  }
  TapIs(refused, size, "no beginning of a saved heap can be restored");
  damaged = (HeapBytesStruct){.bytes = malloc(size), .size = size};
  for (i = 0; i < 6000; ++i) {
    Index changes = 1 + below(4);
    memcpy(damaged.bytes, bytes.bytes, size);
    while (changes-- > 0)
      damaged.bytes[below(size)] = (unsigned char)(below(2) ? TapRandom(&random64) : below(8));
    damaged.next = 0;
    damaged.failed = FALSE;
    other = stateAt(log, &all, &positions.position[positions.count / 2], NULL);
    if (HeapRestore(other->heap, &damaged, other->sites.table.count, below(3) == 0 ? below(1 << 20) : SIZE_MAX) == ResOK) {
      LogRequestStruct request = other->request;
      lookAt(other, log);
      request.start = &positions.position[positions.count / 2];
      request.end = &last;
      (void)LogRead(log, &request);
      (void)HeapSettle(other->heap);
      lookAt(other, log);
      ++taken;
    }
    HeapAtDestroy(other);
  }
  TapOk(taken > 100, "bytes that say something else are gone on with (%zu) or refused", taken);
  free(damaged.bytes);
  bytes.next = 0;
  TapIs(HeapRestore(state->heap, &bytes, UINT32_MAX, SIZE_MAX), ResOK, "what is not damaged can be restored then");
  free(bytes.bytes);
  free(positions.position);
  HeapAtDestroy(state);
  LogClose(log);
}

/* saveHalf -- the bytes of the heap in the middle of a log of 400 events or fewer for each thread */
static HeapBytesStruct saveHalf(Log log)
{
  PositionsStruct positions = positionsOf(log, NULL);
  HeapAt state = stateAt(log, &all, &positions.position[positions.count / 2], NULL);
  HeapBytesStruct bytes = {.size = 0};

  if (HeapSave(&bytes, state->heap) != ResOK)
    fail("no bytes");
  HeapAtDestroy(state);
  free(positions.position);
  return bytes;
}

/* The bytes that version HeapSaveVERSION has for one log that is always the same.  Where this fails because a heap
 * remembers something else, or its fields are written in another order, HeapSaveVERSION goes up, and the new number
 * comes here; where only the registry has grown, just the number does. */
static void testVersionBytes(void)
{
  static const struct {
    unsigned version;
    uint32_t crc;
  } known = {7, 0xfff79677};
  uint64_t random = random64;
  HeapBytesStruct bytes;
  Log log;

  random64 = 0x9e3779b97f4a7c15ull;
  log = randomLog(400);
  random64 = random;
  bytes = saveHalf(log);
  TapIs(HeapSaveVERSION, known.version, "the version of saved heaps is the one of which the bytes are known");
  TapIs(Crc32c(0, bytes.bytes, bytes.size), known.crc, "and a heap is saved in these bytes");
  free(bytes.bytes);
  LogClose(log);
}

/* testVersion -- a reader takes neither bytes nor check points of another version */
static void testVersion(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  Log plain = longLog(), log = indexedLog(5);
  HeapBytesStruct bytes = saveHalf(plain);
  HeapAt state = stateAt(plain, &all, &last, NULL);
  IndexFileHeadStruct head = *IndexFileHeadOf(LogKnown(log));
  uint64_t right = digestAt(plain, &all, &last, NULL);
  unsigned before, behind;
  Bool from;
  int fd = open(indexPath, O_RDWR);

  before = --bytes.bytes[0], behind = before + 2;
  TapOk(before + 1 == HeapSaveVERSION && HeapRestore(state->heap, &bytes, UINT32_MAX, SIZE_MAX) == ResFORMAT,
        "a heap saved by the version before is not restored");
  bytes.next = 0, bytes.failed = FALSE, bytes.bytes[0] = (unsigned char)behind;
  TapOk(HeapRestore(state->heap, &bytes, UINT32_MAX, SIZE_MAX) == ResFORMAT, "nor one saved by the next version");
  TapOk(digestAt(log, &all, &last, &from) == right && from, "a check point of this version is used");
  LogClose(log);
  ++head.kept;
  head.crc = Crc32c(0, &head, offsetof(IndexFileHeadStruct, crc));
  if (pwrite(fd, &head, sizeof head, 0) != sizeof head)
    fail("no index file");
  (void)close(fd);
  log = openLog();
  TapOk(LogKnown(log) != NULL && digestAt(log, &all, &last, &from) == right && !from,
        "one of another version is not: the log is read from its beginning");
  free(bytes.bytes);
  HeapAtDestroy(state);
  LogClose(log);
  LogClose(plain);
}

/* testChecks -- each thing that is always true of a heap, and of the times of headers, made untrue */
static void testChecks(void)
{
  static const LogPositionStruct last = LogPositionLAST;
  Log log = randomLog(900);
  HeapAt state = stateAt(log, &all, &last, NULL);
  Heap heap = state->heap;
  HeaderTimesStruct times = {0};
  HeapProcess process = HeapProcessOf(heap, 0);
  HeapSeenStruct past = {0};
  HeapPoolStruct dead = {0};
  HeapThread *threads;
  HeapPool *pools;
  Count count;

  TapOk(HeapCheck(heap), "the state at the end of a random log is as it should be");
  PLANT(heap->fetched, heap->in + 1, HeapCheck(heap), "more inputs fetched than the queue has");
  PLANT(heap->in, heap->out + HeapQUEUE + 1, HeapCheck(heap), "more inputs than the queue has");
  PLANT(heap->capacity, 0, HeapCheck(heap), "more processes than places");
  PLANT(heap->kept, heap->count + 1, HeapCheck(heap), "a process that is kept, and is not there");
  PLANT(heap->place[0].past, &past, HeapCheck(heap), "a process that lives and is past");
  PLANT(process->heap, NULL, HeapCheck(heap), "a process of another heap");
  PLANT(process->order.operation.process, 1000, HeapCheck(heap), "a process at another's place");
  PLANT(process->child, heap->count + 1, HeapCheck(heap), "a child that is not there");
  if (HeapTableInit(&dead.table) != ResOK || HeapPoolsByNumber(&pools, &count, process) != ResOK)
    fail("no memory");
  dead.next = process->dead;
  PLANT(process->dead, &dead, HeapCheck(heap), "a pool that was destroyed, and has objects");
  if (count > 0)
    PLANT(pools[0]->addr, pools[0]->addr + 1, HeapCheck(heap), "a pool in another address's bucket");
  if (HeapThreadsByNumber(&threads, &count, process) != ResOK)
    fail("no memory");
  if (count > 0) {
    PLANT(threads[0]->id, threads[0]->id + 1, HeapCheck(heap), "a thread in another number's bucket");
    PLANT(threads[0]->number, count, HeapCheck(heap), "a thread with a number that there is not");
  }
  PLANT(heap->times.next, heap->times.count + 1, HeapCheck(heap), "times that go on where there are none");
  times = (HeaderTimesStruct){.looked = 2, .count = 3, .capacity = 4, .due = 10,
                              .one = (HeaderTimeStruct[]){{.due = 10}, {.due = 20}, {.due = 30}}};
  TapOk(HeaderTimesCheck(&times), "three times of two processes are as they should be");
  PLANT(times.next, 4, HeaderTimesCheck(&times), "a next that there is not");
  PLANT(times.capacity, 2, HeaderTimesCheck(&times), "more times than places");
  PLANT(times.looked, 1, HeaderTimesCheck(&times), "more than two times of a process");
  PLANT(times.due, 20, HeaderTimesCheck(&times), "a time that is not that of the next");
  PLANT(times.one[1].due, 31, HeaderTimesCheck(&times), "times out of order");
  free(pools);
  free(threads);
  HeapTableFinish(&dead.table);
  HeapAtDestroy(state);
  LogClose(log);
}

/* A log with more pools, threads and sites than anything has: what is kept of it stays in proportion. */
static void testMany(void)
{
  enum { MANY = 20000 };
  MakeProcess process = MakeProcessNew(1000, 1);
  LogPositionStruct position;
  IndexFileHead head;
  Count wrong = 0, used = 0;
  uint64_t i;
  Log plain, log;

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
  (void)unlink(indexPath);
  plain = openLog();
  log = indexedLog(MANY / 100);
  head = IndexFileHeadOf(LogKnown(log));
  TapOk(head->checks > 1 && head->checks < IndexFileChecksMAX / 2, "fewer check points where each is dear: %u",
        (unsigned)head->checks);
  TapOk(head->bytes <= head->size / 2, "%llu bytes of them", (unsigned long long)head->bytes);
  for (i = 0; i < 8; ++i) {
    Bool from;
    PawPositionOfTime(&position, log, (uint64_t)86400 * 1000000000 + below(MANY) * 1000);
    wrong += digestAt(log, &all, &position, &from) != digestAt(plain, &all, &position, NULL);
    used += from;
  }
  TapIs(wrong, 0, "and as good");
  TapOk(used > 0, "where they are used (%zu)", used);
  LogClose(log);
  LogClose(plain);
}

/* What an index asks for that somebody made: check points of zeros, which say that a process has as many threads as the
 * bytes can have. */
enum { dearSMALL = 2 << 20, dearLARGE = 64 << 20, dearTHREAD = 11 }; /* bytes; of one thread at least */

/* dearBytes -- such a check point */
static unsigned char *dearBytes(Size size)
{
  HeapBytesStruct to = {.size = 0};
  Index i;

  HeapBytesPut(&to, 0); /* sites */
  HeapBytesPut(&to, HeapSaveVERSION);
  for (i = 0; i < 7; ++i)
    HeapBytesPut(&to, 0); /* of the heap */
  HeapBytesPut(&to, 1); /* the first process, */
  HeapBytesPut(&to, 1); /* which lives, */
  HeapBytesPut(&to, (size - 200) / dearTHREAD); /* and its threads */
  to.bytes = realloc(to.bytes, size);
  if (to.bytes == NULL)
    fail("no memory");
  memset(to.bytes + to.size, 0, size - to.size);
  return to.bytes;
}

/* dearIndex -- let the index file of the log have one, and no other */
static void dearIndex(Size size)
{
  IndexFileHeadStruct head;
  unsigned char *bytes = dearBytes(size);
  int fd = open(indexPath, O_RDWR | O_CLOEXEC);
  uint64_t at;

  if (pread(fd, &head, sizeof head, 0) != sizeof head)
    fail("no index file");
  at = sizeof head + head.records * sizeof(IndexFileRecordStruct);
  head.kept = HeapSaveVERSION;
  head.checks = 1;
  head.bytes = size;
  head.check[0] = (IndexFilePointStruct){.offset = at, .size = (uint32_t)size, .crc = Crc32c(0, bytes, size)};
  head.crc = Crc32c(0, &head, offsetof(IndexFileHeadStruct, crc));
  if (pwrite(fd, &head, sizeof head, 0) != sizeof head || pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size ||
      ftruncate(fd, (off_t)(at + size)) != 0)
    fail("no index file");
  (void)close(fd);
  free(bytes);
}

/* dearRead -- in a process that may map so many bytes, or 0: any number: is the state at the end of the log this one,
 * and read from its beginning?  Returns how many more bytes were resident than here at most. */
static uint64_t dearRead(uint64_t right, uint64_t most, Bool *rightReturn)
{
  static const LogPositionStruct last = LogPositionLAST;
  struct rlimit limit = {most, most};
  struct rusage here, there;
  Log log = openLog();
  int status = -1;
  Bool from;
  pid_t pid;

  TapOk(LogKnown(log) != NULL, "the index is used");
  (void)fflush(stdout);
  pid = fork();
  if (pid == 0) {
    (void)!freopen("/dev/null", "w", stdout);
    if (most > 0)
      (void)setrlimit(RLIMIT_AS, &limit);
    _exit(digestAt(log, &all, &last, &from) != right || from);
  }
  (void)waitpid(pid, &status, 0);
  (void)getrusage(RUSAGE_SELF, &here);
  (void)getrusage(RUSAGE_CHILDREN, &there);
  LogClose(log);
  *rightReturn = status == 0;
  return there.ru_maxrss > here.ru_maxrss ? (uint64_t)(there.ru_maxrss - here.ru_maxrss) << 10 : 0;
}

/* addressSpace -- bytes that the process has mapped */
static uint64_t addressSpace(void)
{
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;

  if (file == NULL || fscanf(file, "%lu", &pages) != 1)
    fail("/proc/self/statm cannot be read");
  (void)fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* testDear -- a check point costs no more than the log might; where there is no memory for it, the log is read */
static void testDear(void)
{
  const char *san = getenv("SAN");
  Bool sanitized = san != NULL && *san != '\0'; /* then a program ends where there is no memory */
  static const LogPositionStruct last = LogPositionLAST;
  Log plain = longLog(), log;
  uint64_t right = digestAt(plain, &all, &last, NULL), taken;
  HeapAt state = stateAt(plain, &all, &last, NULL);
  HeapBytesStruct bytes = saveHalf(plain);
  Bool good;

  TapIs(HeapRestore(state->heap, &bytes, UINT32_MAX, 100), ResFORMAT, "without room a heap is not restored");
  bytes.next = 0, bytes.failed = FALSE;
  TapIs(HeapRestore(state->heap, &bytes, UINT32_MAX, SIZE_MAX), ResOK, "where there is room it is");
  free(bytes.bytes);
  HeapAtDestroy(state);
  LogClose(plain);
  LogClose(indexedLog(1 << 20));
  dearIndex(dearSMALL);
  log = openLog();
  TapOk(LogKnown(log) == NULL, "an index is not used that has more than half of the log's bytes in check points");
  LogClose(log);
  if (truncate(path, 3 * dearLARGE) != 0) /* mostly a hole */
    fail("no log");
  LogClose(indexedLog(1 << 20));
  dearIndex(dearSMALL);
  taken = dearRead(right, 0, &good);
  TapOk(good, "a check point with more threads than the log can have events is not used");
  TapOk(taken < 64 << 20, "and takes no memory to speak of (%llu)", (unsigned long long)taken);
  dearIndex(dearLARGE);
  (void)dearRead(right, addressSpace() + dearLARGE / 2, &good);
  TapOk(good || sanitized, "where there is no memory for a check point, the log is read from its beginning");
}

/* A filed request that is left in the middle: the state is that at where it was left. */
static struct {
  Bool (*real)(LogRequest request, LogEvent event);
  Count left;
  LogPositionStruct position;
} leaving;

static Bool leaveEvent(LogRequest request, LogEvent event)
{
  Bool end = leaving.real(request, event);

  request->stop = --leaving.left == 0;
  LogEventPosition(&leaving.position, event);
  ++leaving.position.at;
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
    HeapAt state;
    if (HeapAtCreate(&state, log, &all, &last, NULL) != ResOK)
      fail("no state");
    request = &state->request;
    leaving.real = request->event;
    leaving.left = 1 + below(300);
    request->event = leaveEvent;
    if (LogRead(log, request) != ResOK || HeapSettle(state->heap) != ResOK)
      fail("no reading");
    wrong += digestState(state, log) != digestAt(log, &all, &leaving.position, NULL);
    HeapAtDestroy(state);
  }
  TapIs(wrong, 0, "where a request is left in the middle, the state is that there");
  LogClose(log);
}

/* testForked -- a log in which a fork gives up what was held back in its parent, so that the parent remembers moves that
 * are later than its newest event; with a check point behind each event */
static void testForked(void)
{
  uint64_t random = random64;

  random64 = 0x9a5bb068240b0a21;
  testLog(2);
  random64 = random;
}

int main(void)
{
  uint64_t seed = TapSeed();
  unsigned i, rounds = getenv("SOAK") != NULL ? 2000 : 100;

  snprintf(path, sizeof path, "/tmp/viewstatetest.%d.paw", (int)getpid());
  snprintf(indexPath, sizeof indexPath, "%s.idx", path);
  random64 = seed * 0x9e3779b97f4a7c15ull | 1;
  for (i = 0; i < rounds; ++i)
    testLog(i);
  testForked();
  TapIs(sum.wrong, 0, "the state from a check point is that from the beginning, %zu times", sum.questions);
  TapOk(sum.restores > sum.questions / 4, "though check points were used (%zu)", sum.restores);
  testPart();
  testOther();
  testDamage();
  testVersionBytes();
  testVersion();
  testChecks();
  testLeave();
  testMany();
  testDear();
  unlink(path);
  unlink(indexPath);
  return TapDone();
}
