/* familytest.c -- the heaps of a family of processes: fork, exec, exit, and frees of what nobody saw
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes do things at random, one after the other, so that what each has is known.  What they tell is a log, with a
 * collector that tells of their ends; what a summary of it comes to is compared.
 */
#include <unistd.h>

#include "analyse/summary.h"
#include "heap/heaplook.h"
#include "logmake.h"
#include "request/request.h"

enum { FAMILY = 40, ADDRESSES = 48, EVENTS = 12000, STEP = 30000, SIZE = 1000, COLLECTOR = 900 };

typedef struct MemberStruct {
  MakeProcess process;
  Bool alive;
  Count objects;
  uint64_t bytes;
  uint64_t size[ADDRESSES]; /* of the object at address (i + 1) * 64; 0: none */
} MemberStruct;

static struct {
  uint64_t random, now;
  Count members, events;
  MemberStruct member[FAMILY];
  struct {
    Index member;      /* FAMILY: the collector */
    uint32_t thread;
    uint16_t code;
    uint64_t time, param[4];
    const char *string;
  } event[EVENTS];
  uint64_t allocs, frees, resizes, unseen, inherited, bytes, peak;
} family;

static MakeStruct make;
static MakeBlockStruct block;

static uint64_t below(uint64_t n)
{
  return TapRandom(&family.random) % n;
}

static void tell(Index member, uint32_t thread, uint16_t code, const uint64_t *param, const char *string)
{
  Index i = family.events++;

  if (family.events > EVENTS)
    makeFail("more events than there is room for");
  family.event[i].member = member;
  family.event[i].thread = thread;
  family.event[i].code = code;
  family.event[i].time = family.now += 50;
  memcpy(family.event[i].param, param, sizeof family.event[i].param);
  family.event[i].string = string;
}

static uint32_t pidOf(Index m)
{
  return family.member[m].process->header.pid;
}

/* has -- the member has `size` bytes at address `a` from now on; 0: nothing */
static void has(Index m, Index a, uint64_t size)
{
  MemberStruct *member = &family.member[m];

  member->objects += (size != 0) - (Count)(member->size[a] != 0);
  member->bytes += size - member->size[a];
  family.bytes += size - member->size[a];
  member->size[a] = size;
  if (family.bytes > family.peak)
    family.peak = family.bytes;
}

static void doAlloc(Index m, uint32_t thread, Index a)
{
  uint64_t size = 1 + below(SIZE);

  tell(m, thread, EventPoolAllocCODE, (uint64_t[4]){1, (a + 1) * 64, size}, NULL);
  ++family.allocs;
  has(m, a, size);
}

static void doFree(Index m, uint32_t thread, Index a)
{
  tell(m, thread, EventPoolFreeCODE, (uint64_t[4]){1, (a + 1) * 64}, NULL);
  *(family.member[m].size[a] != 0 ? &family.frees : &family.unseen) += 1;
  has(m, a, 0);
}

static void doResize(Index m, uint32_t thread, Index a)
{
  Index to = below(ADDRESSES);
  uint64_t size = 1 + below(SIZE);

  if (family.member[m].size[a] == 0) {
    /* Of what nobody saw: it fails, because what it would bring is told when it is given up, and that is later. */
    tell(m, thread, EventPoolResizeBeginCODE, (uint64_t[4]){1, (a + 1) * 64, size}, NULL);
    tell(m, thread, EventPoolResizeEndCODE, (uint64_t[4]){1, (a + 1) * 64, 0, size}, NULL);
    ++family.unseen;
    return;
  }
  if (to != a && family.member[m].size[to] != 0)
    to = a;
  tell(m, thread, EventPoolResizeBeginCODE, (uint64_t[4]){1, (a + 1) * 64, size}, NULL);
  tell(m, thread, EventPoolResizeEndCODE, (uint64_t[4]){1, (a + 1) * 64, (to + 1) * 64, size}, NULL);
  ++family.resizes;
  family.bytes -= family.member[m].size[a]; /* not lower in between: it is one operation */
  family.member[m].bytes -= family.member[m].size[a];
  --family.member[m].objects;
  family.member[m].size[a] = 0;
  has(m, to, size);
}

static Index join(uint32_t pid)
{
  Index m = family.members++;

  family.member[m].process = MakeProcessNew(pid, m + 1);
  family.member[m].alive = TRUE;
  return m;
}

/* doFork -- while the child is made, another thread of the parent allocates, frees, or is in the middle of a resize */
static void doFork(Index m, uint32_t thread)
{
  Index c = join(5000 + 10 * (uint32_t)family.members), a = below(ADDRESSES);
  HeaderForkStruct *forked = &family.member[c].process->header.forked;
  uint32_t other = thread ^ 1;
  uint64_t was = family.member[m].size[a], resized = was != 0 && below(2) == 0 ? 1 + below(SIZE) : 0;

  if (resized != 0)
    tell(m, other, EventPoolResizeBeginCODE, (uint64_t[4]){1, (a + 1) * 64, resized}, NULL);
  *forked = (HeaderForkStruct){.identity = m + 1, .thread = thread, .before = family.now += 100};
  family.member[c].objects = family.member[m].objects;
  family.member[c].bytes = family.member[m].bytes;
  memcpy(family.member[c].size, family.member[m].size, sizeof family.member[m].size);
  family.inherited += family.member[c].objects;
  if (was == 0)
    doAlloc(m, other, a);
  else if (resized == 0)
    doFree(m, other, a);
  forked->after = family.now += 100;
  family.bytes += family.member[c].bytes;
  if (family.bytes > family.peak)
    family.peak = family.bytes;
  if (resized != 0) {
    /* The child has the object as it was before. */
    doFree(c, pidOf(c), a);
    tell(m, other, EventPoolResizeEndCODE, (uint64_t[4]){1, (a + 1) * 64, (a + 1) * 64, resized}, NULL);
    ++family.resizes;
    has(m, a, resized);
  } else if (was == 0) {
    /* The child was made after that: it has the object, and shows it.  The heap learns of it by that alone. */
    tell(c, pidOf(c), EventPoolFreeCODE, (uint64_t[4]){1, (a + 1) * 64}, NULL);
    if (family.bytes + family.member[m].size[a] > family.peak)
      family.peak = family.bytes + family.member[m].size[a];
    ++family.frees;
    ++family.inherited;
  } else {
    /* The same: the object had gone, and its address is given out again. */
    has(c, a, 0);
    doAlloc(c, pidOf(c), a);
  }
}

static void doEnd(Index m, Bool exec)
{
  uint32_t pid = pidOf(m);

  family.member[m].alive = FALSE;
  family.bytes -= family.member[m].bytes;
  if (exec) {
    if (below(2) == 0)
      tell(FAMILY, COLLECTOR, EventProcessExecCODE, (uint64_t[4]){pid}, "/bin/other");
    doAlloc(join(pid), pid, below(ADDRESSES));
  } else if (below(2) == 0) {
    /* Of this one its closing header block tells. */
    family.member[m].process->header.ended = TRUE;
    family.member[m].process->header.gone = ++family.now;
  } else {
    tell(FAMILY, COLLECTOR, EventProcessExitCODE, (uint64_t[4]){pid, 0}, "exit");
  }
}

static void step(void)
{
  Index m = below(family.members), a = below(ADDRESSES);
  uint32_t thread;
  uint64_t what = below(100);

  family.now += STEP;
  if (!family.member[m].alive)
    return;
  thread = pidOf(m) + (uint32_t)below(2);
  if (what < 3 && family.members < FAMILY)
    doFork(m, thread);
  else if (what < 5 && m != 0)
    doEnd(m, what == 3 && family.members < FAMILY);
  else if (what < 15)
    doResize(m, thread, a);
  else if (what < 20 || family.member[m].size[a] != 0)
    doFree(m, thread, a);
  else
    doAlloc(m, thread, a);
}

/* writeThread -- each thread's events, kind by kind */
static void writeThread(MakeProcess process, Index member, uint32_t thread)
{
  unsigned kind;
  Index i;

  for (kind = 0; kind <= EventKindSystem; ++kind) {
    Bool any = FALSE;
    for (i = 0; i < family.events; ++i) {
      if (family.event[i].member != member || family.event[i].thread != thread ||
          RegistryFind(process->registry, family.event[i].code)->kind != kind)
        continue;
      if (!any)
        MakeBlockBegin(&block, process, thread, kind, 0, family.event[i].time);
      any = TRUE;
      while (!MakeEvent(&block, family.event[i].code, family.event[i].time, family.event[i].param,
                        family.event[i].string)) {
        MakeBlockEnd(&make, &block, BlockFlagSEALED);
        MakeBlockNext(&block, family.event[i].time);
      }
    }
    if (any)
      MakeBlockEnd(&make, &block, BlockFlagSEALED);
  }
}

static Log writeLog(const char *path)
{
  MakeProcess collector = MakeProcessNew(COLLECTOR, 0xc0);
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  Log log;
  Index m;

  strcpy(collector->header.role, HeaderRoleCOLLECTOR);
  for (m = 0; m < family.members; ++m) {
    MakeHeader(&make, family.member[m].process);
    writeThread(family.member[m].process, m, pidOf(m));
    writeThread(family.member[m].process, m, pidOf(m) + 1);
  }
  MakeHeader(&make, collector);
  writeThread(collector, FAMILY, COLLECTOR);
  MakeProcessFree(collector);
  MakeWrite(&make, path);
  MakeFree(&make);
  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK)
    makeFail(error);
  return log;
}

/* wrongObjects -- what a member has and the heap does not, or the other way round */
static Count wrongObjects(Heap heap, Index number, MemberStruct *member)
{
  HeapPool *pools;
  Count count, wrong = 0;
  Index p, a;

  if (HeapLookPools(&pools, &count, heap, number) != ResOK)
    makeFail("no memory");
  for (a = 0; a < ADDRESSES; ++a) {
    uint64_t size = 0;
    for (p = 0; p < count; ++p) {
      HeapObject object = HeapTableSeek(&pools[p]->table, (a + 1) * 64);
      if (HeapObjectLives(object))
        size = object->size;
    }
    wrong += size != (member->alive ? member->size[a] : 0);
  }
  free(pools);
  return wrong;
}

/* leftInBook -- bytes that all processes have, or had when they ended, by the book */
static uint64_t leftInBook(ViewWants wants)
{
  uint64_t bytes = 0;
  uint32_t i;

  for (i = 1; i < wants->heap->book.count; ++i)
    bytes += SiteBookLeft(&wants->heap->book, i).bytes;
  return bytes;
}

static void compare(Log log)
{
  static const LogRequestStruct all = LogRequestALL;
  ViewWantsStruct wants = {.log = log, .request = &all, .at = UINT64_MAX};
  LogRequest request;
  HeapTallyStruct tally;
  HeapSeenStruct seen;
  Count wrong = 0, sums = 0;
  Summary summary;
  void *view;
  Index m;

  if (CodeNamesCreate(&wants.names, log, NULL, NULL, NULL) != ResOK ||
      ViewHeapCreate(&wants.heap, log, &all, NULL, wants.names) != ResOK ||
      ViewClassSummary.create(&view, &wants) != ResOK)
    makeFail("no memory");
  ViewHeapBook(wants.heap);
  summary = view;
  request = ViewHeapRequest(wants.heap);
  if (LogRead(log, request) != ResOK || ViewClassSummary.finish(view) != ResOK)
    makeFail("the log cannot be read");
  for (m = 0; m < family.members; ++m) {
    wrong += wrongObjects(summary->heap, m, &family.member[m]);
    (void)HeapLook(&seen, summary->heap, m);
    sums += seen.sum.objects != family.member[m].objects || seen.sum.bytes != family.member[m].bytes;
  }
  HeapTallySum(&tally, summary->heap, NULL);
  TapIs(wrong, 0, "each process that lives has its objects, and none that has ended");
  TapIs(sums, 0, "each had so many, at its end");
  TapIs(summary->live.peakBytes, family.peak, "the peak is what lived at one time");
  TapIs(tally.unmatched, family.unseen, "what nobody saw is unmatched, and nothing else");
  TapIs(tally.overlaps + tally.unfinished + tally.repairs, 0, "nothing had to be put right");
  TapOk(summary->allocs == family.allocs && summary->frees == family.frees && summary->resizes == family.resizes,
        "allocations, frees and resizes are what was done");
  TapIs(summary->inherited, family.inherited, "so many objects were inherited");
  TapOk(SiteBookCheck(&wants.heap->book) && SiteNumbersCheck(&wants.heap->numbers), "the book of sites adds up,");
  TapOk(wants.heap->book.peak.bytes == family.peak && wants.heap->book.peak.objects == summary->live.peakObjects &&
        wants.heap->book.peakTime == summary->live.peakTime, "and has the same peak");
  TapIs(leftInBook(&wants), summary->live.bytes, "and what each process had at its end");
  ViewClassSummary.destroy(view);
  ViewHeapDestroy(wants.heap);
  CodeNamesDestroy(wants.names);
}

int main(void)
{
  uint64_t seed = TapSeed();
  char path[64];
  unsigned round, i;
  Log log;

  snprintf(path, sizeof path, "/tmp/familytest.%d.paw", (int)getpid());
  for (round = 0; round < 21; ++round) {
    memset(&family, 0, sizeof family);
    /* The last: a thread allocates, another frees that and resizes an object to the same place, which the first frees. */
    family.random = (round == 20 ? 1795841834 : seed + round) * 0x9e3779b97f4a7c15ull | 1;
    family.now = 1000000;
    doAlloc(join(5000), 5000, 0);
    for (i = 0; i < 3000; ++i)
      step();
    log = writeLog(path);
    compare(log);
    LogClose(log);
    for (i = 0; i < family.members; ++i)
      MakeProcessFree(family.member[i].process);
  }
  unlink(path);
  return TapDone();
}
