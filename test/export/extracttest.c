/* extracttest.c -- a part of a log, cut out by time: what lives in it, and what fits together, is what does in the
 * whole
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Small logs, whose threads' clocks disagree, are cut at the time of each of their events.
 */
#include <unistd.h>

#include "export/extract.h"
#include "export/rewrite.h"
#include "heap/heaplook.h"
#include "heapsim.h"
#include "logmake.h"
#include "request/request.h"

static char whole[64], part[64];
static MakeStruct make;
static MakeBlockStruct block;

/* What is known of a log at its end. */
typedef struct EndStruct {
  HeapTallyStruct tally;
  Count objects;
  uint64_t digest; /* of what lives */
} EndStruct, *End;

static Log logOpen(const char *path)
{
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  Log log;

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK)
    makeFail(error);
  return log;
}

static void nothing(void *data, HeapOperation operation)
{
  UNUSED(data);
  UNUSED(operation);
}

static Bool endEvent(LogRequest request, LogEvent event)
{
  HeapEvent(request->data, event);
  return FALSE;
}

static void endObject(void *data, HeapPool pool, HeapThread thread, HeapObject object)
{
  End end = data;

  UNUSED(thread);
  end->digest += (pool->addr * 31 + object->addr) * 2654435761u + object->size * 40503u;
}

/* endOf -- play a log of one process, or two, to its end */
static void endOf(End end, const char *path)
{
  static const HeapClientStruct client = {NULL, nothing, nothing, nothing, nothing, FALSE};
  LogRequestStruct request = LogRequestALL;
  HeapClientStruct copy = client;
  Log log = logOpen(path);
  Heap heap;
  Index i;

  memset(end, 0, sizeof *end);
  if (HeapCreate(&heap, &copy, log) != ResOK)
    makeFail("no memory");
  request.event = endEvent;
  request.data = heap;
  if (LogRead(log, &request) != ResOK || HeapSettle(heap) != ResOK)
    makeFail("the log cannot be played");
  for (i = 0; i < 2; ++i) {
    HeapSeenStruct seen;
    if (HeapObjects(heap, i, endObject, end) != ResOK)
      makeFail("no memory");
    end->digest *= 3;
    (void)HeapLook(&seen, heap, i);
    end->objects += seen.sum.objects;
  }
  HeapTallySum(&end->tally, heap, NULL);
  HeapDestroy(heap);
  LogClose(log);
}

/* cutAt -- write what comes from a time on */
static void cutAt(uint64_t from)
{
  LogRequestStruct request = LogRequestALL;
  Log log = logOpen(whole);
  int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static OutputStruct output;
  WriterOptionsStruct options = {.log = log, .output = &output};
  LogRewrite rewrite;
  ExtractLackingStruct lacking;

  OutputInit(&output, fd);
  if (fd < 0 || LogRewriteCreate(&rewrite, &options) != ResOK)
    makeFail(part);
  request.from = from;
  if (ExtractWrite(&lacking, log, rewrite, &request, NULL, FALSE, NULL) != ResOK || lacking.objects != 0)
    makeFail("the log cannot be cut");
  LogRewriteEnd(rewrite);
  if (!OutputFlush(&output))
    makeFail("the log cannot be cut");
  LogRewriteDestroy(rewrite);
  (void)close(fd);
  LogClose(log);
}

/* Logs */

static void putSim(SimEvent event)
{
  static const uint16_t codes[] = {EventPoolAllocCODE, EventPoolFreeCODE, EventPoolResizeBeginCODE,
                                   EventPoolResizeEndCODE};
  uint64_t params[] = {1, event->addr, event->size, 0};

  if (event->kind == HeapInEND)
    memcpy(params + 1, (uint64_t[]){event->old, event->addr, event->size}, 3 * sizeof *params);
  if (!MakeEvent(&block, codes[event->kind], event->stamp, params, NULL))
    makeFail("the log is too large for one block");
}

/* logProcess -- a process that has told these events, in this order */
static void logProcess(MakeProcess process, uint64_t begun, SimEvent events, Count count, unsigned threads)
{
  uint32_t pid = process->header.pid;
  unsigned thread;
  Index i;

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, pid, EventKindPool, 0, begun);
  (void)MakeEvent(&block, EventPoolCreateCODE, begun, (uint64_t[]){1, 0}, "malloc");
  MakeBlockEnd(&make, &block, BlockFlagSEALED);
  for (thread = 0; thread < threads; ++thread) {
    MakeBlockBegin(&block, process, pid + thread, EventKindObject, 0, 2000);
    for (i = 0; i < count; ++i)
      if (events[i].thread == thread)
        putSim(&events[i]);
    MakeBlockEnd(&make, &block, BlockFlagSEALED);
  }
}

static void logWrite(void)
{
  MakeWrite(&make, whole);
  MakeFree(&make);
}

/* logMake -- a log of one process */
static void logMake(SimEvent events, Count count, unsigned threads)
{
  MakeProcess process = MakeProcessNew(4711, 1);

  logProcess(process, 1000, events, count, threads);
  logWrite();
  MakeProcessFree(process);
}

/* wrong -- does a part from `from` on differ from the whole? */
static Bool wrong(End all, uint64_t from)
{
  EndStruct its;

  cutAt(from);
  endOf(&its, part);
  if (its.digest == all->digest && its.objects == all->objects && its.tally.unmatched <= all->tally.unmatched)
    return FALSE;
  printf("# cut at %llu: %llu unmatched, %llu in the whole; %llu objects, %llu\n", (unsigned long long)from,
          (unsigned long long)its.tally.unmatched, (unsigned long long)all->tally.unmatched,
          (unsigned long long)its.objects, (unsigned long long)all->objects);
  return TRUE;
}

static uint64_t timeOf(uint64_t stamp)
{
  return 86400 * (uint64_t)1000000000 + stamp;
}

/* wrongAny -- how many cuts of a log differ, at the times of its events */
static Count wrongAny(SimEvent events, Count count, unsigned threads)
{
  EndStruct all;
  Count n = 0;
  Index i;

  logMake(events, count, threads);
  endOf(&all, whole);
  for (i = 1; i < count; ++i)
    if (events[i].stamp != events[i - 1].stamp)
      n += wrong(&all, timeOf(events[i].stamp));
  return n;
}

/* testSwapped -- two threads' events on one address have their stamps swapped, and the cut has nothing of the second
 * thread before them: it does not know by itself that there are two */
static void testSwapped(void)
{
  SimEventStruct lives[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 10},
    {.stamp = 1001000, .kind = HeapInALLOC, .thread = 1, .addr = 0x200, .size = 20},
    {.stamp = 1050000, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 30},
    {.stamp = 1050014, .kind = HeapInFREE, .thread = 1, .addr = 0x100},
    {.stamp = 1090000, .kind = HeapInFREE, .thread = 0, .addr = 0x100},
  };
  SimEventStruct none[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 1, .addr = 0x100, .size = 10},
    {.stamp = 1001000, .kind = HeapInFREE, .thread = 0, .addr = 0x100},
    {.stamp = 1050000, .kind = HeapInFREE, .thread = 0, .addr = 0x200},
    {.stamp = 1050014, .kind = HeapInALLOC, .thread = 1, .addr = 0x200, .size = 20},
  };

  SimEventStruct before[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 1, .addr = 0x100, .size = 10},
    {.stamp = 1000100, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 20},
    {.stamp = 1000200, .kind = HeapInFREE, .thread = 0, .addr = 0x100},
    {.stamp = 1050000, .kind = HeapInALLOC, .thread = 0, .addr = 0x300, .size = 30},
  };

  TapIs(wrongAny(before, ARRAY_LENGTH(before), 2), 0, "what came before that which lives is told after it");
  TapIs(wrongAny(lives, ARRAY_LENGTH(lives), 2), 0, "an address is given out again before its free is told");
  TapIs(wrongAny(none, ARRAY_LENGTH(none), 2), 0, "a free is told before its allocation, and nothing lives");
}

/* testResized -- a resize goes on at the cut of what was allocated just before, by stamps that were repaired */
static void testResized(void)
{
  SimEventStruct other[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 1, .addr = 0x200, .size = 20},
    {.stamp = 1041000, .kind = HeapInBEGIN, .thread = 1, .addr = 0x100, .size = 50},
    {.stamp = 1041200, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 30},
    {.stamp = 1045000, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 40},
    {.stamp = 1048000, .kind = HeapInALLOC, .thread = 0, .addr = 0x300, .size = 60},
    {.stamp = 1050000, .kind = HeapInEND, .thread = 1, .addr = 0x400, .old = 0x100, .size = 50},
  };
  SimEventStruct own[] = {
    {.stamp = 1018000, .kind = HeapInALLOC, .thread = 1, .addr = 0x100, .size = 30},
    {.stamp = 1028800, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 40},
    {.stamp = 1029000, .kind = HeapInBEGIN, .thread = 0, .addr = 0x100, .size = 50},
    {.stamp = 1029300, .kind = HeapInFREE, .thread = 1, .addr = 0x100},
    {.stamp = 1030000, .kind = HeapInALLOC, .thread = 1, .addr = 0x300, .size = 60},
    {.stamp = 1060000, .kind = HeapInEND, .thread = 0, .addr = 0x400, .old = 0x100, .size = 50},
  };
  SimEventStruct waits[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 1, .addr = 0x100, .size = 30},
    {.stamp = 1028800, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 40},
    {.stamp = 1028900, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 50},
    {.stamp = 1029300, .kind = HeapInFREE, .thread = 1, .addr = 0x100},
    {.stamp = 1029400, .kind = HeapInALLOC, .thread = 1, .addr = 0x300, .size = 60},
    {.stamp = 1029500, .kind = HeapInFREE, .thread = 1, .addr = 0x100},
  };
  SimEventStruct row[] = {
    {.stamp = 1000000, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 10},
    {.stamp = 1001000, .kind = HeapInALLOC, .thread = 1, .addr = 0x200, .size = 20},
    {.stamp = 1010000, .kind = HeapInBEGIN, .thread = 0, .addr = 0x100, .size = 30},
    {.stamp = 1020000, .kind = HeapInBEGIN, .thread = 1, .addr = 0x200, .size = 40},
    {.stamp = 1030000, .kind = HeapInEND, .thread = 1, .addr = 0x100, .old = 0x200, .size = 40},
    {.stamp = 1040000, .kind = HeapInBEGIN, .thread = 1, .addr = 0x100, .size = 50},
    {.stamp = 1050000, .kind = HeapInEND, .thread = 0, .addr = 0x300, .old = 0x100, .size = 30},
    {.stamp = 1060000, .kind = HeapInEND, .thread = 1, .addr = 0x400, .old = 0x100, .size = 50},
  };

  TapIs(wrongAny(other, ARRAY_LENGTH(other), 2), 0, "what stands where something is being resized comes last");
  TapIs(wrongAny(own, ARRAY_LENGTH(own), 2), 0, "a thread resizes what it has, by a free that came late");
  TapIs(wrongAny(waits, ARRAY_LENGTH(waits), 2), 0, "and what waits for that comes behind it");
  TapIs(wrongAny(row, ARRAY_LENGTH(row), 2), 0, "two resizes go on at one address, one after the other");
}

/* testForked -- a child is made while another thread is at work, and what that did before the cut is the child's, as
 * turns out behind it, or not */
static void testForked(void)
{
  static const struct {
    Bool child;
    SimEventStruct event;
  } did[] = {
    {FALSE, {.stamp = 1000000, .kind = HeapInALLOC, .thread = 0, .addr = 0x100, .size = 10}},
    {FALSE, {.stamp = 1010000, .kind = HeapInALLOC, .thread = 1, .addr = 0x200, .size = 20}},
    {FALSE, {.stamp = 1030000, .kind = HeapInALLOC, .thread = 1, .addr = 0x300, .size = 30}},
    {FALSE, {.stamp = 1040000, .kind = HeapInFREE, .thread = 1, .addr = 0x200}},
    {FALSE, {.stamp = 1045000, .kind = HeapInALLOC, .thread = 1, .addr = 0x700, .size = 70}},
    {FALSE, {.stamp = 1050000, .kind = HeapInALLOC, .thread = 1, .addr = 0x400, .size = 40}},
    {TRUE, {.stamp = 1070000, .kind = HeapInFREE, .thread = 0, .addr = 0x300}},
    {TRUE, {.stamp = 1080000, .kind = HeapInALLOC, .thread = 0, .addr = 0x200, .size = 50}},
    {TRUE, {.stamp = 1090000, .kind = HeapInBEGIN, .thread = 0, .addr = 0x700, .size = 80}},
    {TRUE, {.stamp = 1091000, .kind = HeapInEND, .thread = 0, .addr = 0x800, .old = 0x700, .size = 80}},
    {TRUE, {.stamp = 1100000, .kind = HeapInFREE, .thread = 0, .addr = 0x100}},
    {FALSE, {.stamp = 1110000, .kind = HeapInALLOC, .thread = 0, .addr = 0x900, .size = 90}}
  };
  SimEventStruct its[ARRAY_LENGTH(did)];
  MakeProcess process[2] = {MakeProcessNew(4711, 1), MakeProcessNew(5000, 2)};
  EndStruct all;
  Count n = 0, count;
  Index i, child;

  process[1]->header.forked = (HeaderForkStruct){.identity = 1, .thread = 4711, .before = 1020000, .after = 1060000};
  for (child = 0; child < 2; ++child) {
    for (i = count = 0; i < ARRAY_LENGTH(did); ++i)
      if (did[i].child == (Bool)child)
        its[count++] = did[i].event;
    logProcess(process[child], child ? 1065000 : 1000, its, count, 2 - (unsigned)child);
  }
  logWrite();
  endOf(&all, whole);
  TapOk(all.objects == 5 + 2 && all.tally.unmatched == 0, "what a child of fork has is found out");
  for (i = 1; i < ARRAY_LENGTH(did); ++i)
    n += wrong(&all, timeOf(did[i].event.stamp)) + wrong(&all, timeOf(did[i].event.stamp - 5000));
  TapIs(n, 0, "and told where the log is cut before");
  MakeProcessFree(process[0]);
  MakeProcessFree(process[1]);
}

/* testRandom -- always the same logs, with little in them, and all of it soon gone */
static void testRandom(void)
{
  uint64_t seed = 5;
  Count n = 0;
  unsigned i;

  for (i = 0; i < 12; ++i) {
    SimParamsStruct params = {.seed = TapRandom(&seed), .threads = 1 + i % 4, .events = 60, .live = 6,
                              .jitter = i % 4 > 0 ? 900 : 0, .step = 2000, .strangers = 60};
    SimStruct sim;
    SimRun(&sim, &params);
    n += wrongAny(sim.events, sim.count, params.threads);
    SimFinish(&sim);
  }
  TapIs(n, 0, "cut anywhere, the rest of a log goes on as the whole does");
}

int main(void)
{
  (void)snprintf(whole, sizeof whole, "/tmp/pawprint-whole-%ld.paw", (long)getpid());
  (void)snprintf(part, sizeof part, "/tmp/pawprint-part-%ld.paw", (long)getpid());
  testSwapped();
  testResized();
  testForked();
  testRandom();
  (void)unlink(whole);
  (void)unlink(part);
  return TapDone();
}
