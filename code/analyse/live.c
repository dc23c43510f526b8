/* live.c -- what lives at a time: counted, and printed as text and as JSON
 *
 * Objects are counted by pool, by size, by thread and, where that was recorded, by site; the largest and the oldest are
 * named.  A size class has the sizes from a power of two to below the next.
 *
 * Always true: the objects of a process's pools, classes and threads each sum up to its own.
 *
 * Design: design/view.md .live      Tests: test/analyse/live.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/views.h"

#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/heapreorder.h"
#include "heap/interns.h"
#include "heap/managerstate.h"
#include "heap/switchedoff.h"

typedef struct LiveObjectStruct {
  HeapPool pool;
  HeapObjectStruct object;
} LiveObjectStruct, *LiveObject;

/* LiveBefore -- does `a` come before `b`?  For qsort, too: less than, equal to or greater than 0. */
typedef int (*LiveBefore)(const void *a, const void *b);

/* The first so many of any number of objects.  Until they are sorted no element comes before its parent in the order of
 * `before`: the last is at the front. */
typedef struct LiveTopStruct {
  LiveBefore before;
  Count count, most;
  LiveObject object; /* owned */
} LiveTopStruct, *LiveTop;

enum { LiveClassMAX = 65 }; /* size 0, and for each power of two up to 2^63 */

/* Objects of one sort. */
typedef struct LiveSumStruct {
  uint64_t objects, bytes;
} LiveSumStruct, *LiveSum;

typedef struct LivePoolStruct {
  HeapPool pool;
  LiveSumStruct sum;
} LivePoolStruct, *LivePool;

typedef struct LiveThreadStruct {
  HeapThread thread;
  LiveSumStruct sum;
} LiveThreadStruct, *LiveThread;

typedef struct LiveSiteStruct {
  uint64_t site;
  LiveSumStruct sum;
} LiveSiteStruct, *LiveSite;

/* A process of which there are events. */
typedef struct LiveProcessStruct {
  LogProcess process;
  LiveSumStruct sum;
  uint64_t doubt;                     /* so many objects more or less */
  Bool late;                          /* what it had from its parent is what that had when it came to its first event */
  Count arenas, pools, threads, sites;
  HeapObject arena;                   /* owned, as the next three: by age, */
  LivePool pool;                      /* in order of appearance, */
  LiveThread thread;                  /* those with objects, most bytes first */
  LiveSite site;                      /* the same, and `top` of them at most; of objects without a site: 0 */
  Count siteCount;                    /* all */
  LiveSumStruct class[LiveClassMAX];
  LiveTopStruct largest, oldest;
} LiveProcessStruct, *LiveProcess;

typedef struct LiveStruct {
  Log log;
  ManagerState state;
  uint64_t at;
  Count top;
  LogPositionStruct ahead;    /* all events before it come, and none behind */
  LogPositionStruct position;
  LogSummaryStruct summary;
  StringsStruct strings;
  InternsStruct interns;  /* the labels of addresses */
  Count processes;
  LiveProcess process;
} LiveStruct, *Live;

/* liveClass -- the class of a size: 0 for 0, else its bits */
static inline Index liveClass(uint64_t size)
{
  return size == 0 ? 0 : 64 - (Index)__builtin_clzll(size);
}

/* liveTopInit -- none yet, `most` at most.  ResMEMORY.  LiveTopFinish gives its memory back. */
static Res liveTopInit(LiveTop top, Count most, LiveBefore before)
{
  top->before = before;
  top->count = 0;
  top->most = most;
  top->object = malloc((most + 1) * sizeof *top->object);
  return top->object == NULL ? ResMEMORY : ResOK;
}

static void liveTopFinish(LiveTop top)
{
  free(top->object);
  top->object = NULL;
  top->count = 0;
}

static void topUp(LiveTop top, Index i)
{
  LiveObjectStruct moving = top->object[i];
  Index parent;

  for (; i > 0; i = parent) {
    parent = (i - 1) / 2;
    if (top->before(&top->object[parent], &moving) >= 0)
      break;
    top->object[i] = top->object[parent];
  }
  top->object[i] = moving;
}

static void topDown(LiveTop top)
{
  LiveObjectStruct moving = top->object[0];
  Index i = 0, child;

  while ((child = 2 * i + 1) < top->count) {
    if (child + 1 < top->count && top->before(&top->object[child], &top->object[child + 1]) < 0)
      ++child;
    if (top->before(&top->object[child], &moving) <= 0)
      break;
    top->object[i] = top->object[child];
    i = child;
  }
  top->object[i] = moving;
}

/* liveTopAdd -- an object, which is kept if it is one of the first.  Cost: mostly one comparison. */
static void liveTopAdd(LiveTop top, HeapPool pool, HeapObject object)
{
  LiveObjectStruct new = {pool, *object};

  if (top->count < top->most) {
    top->object[top->count++] = new;
    topUp(top, top->count - 1);
  } else if (top->count > 0 && top->before(&new, &top->object[0]) < 0) {
    top->object[0] = new;
    topDown(top);
  }
}

/* liveTopSort -- all have been added: put them into their order */
static void liveTopSort(LiveTop top)
{
  qsort(top->object, top->count, sizeof *top->object, top->before);
}

/* Orders: none leaves two things equal. */

static int liveByAge(const void *a, const void *b)
{
  const LiveObjectStruct *x = a, *y = b;

  if (x->object.time != y->object.time)
    return x->object.time < y->object.time ? -1 : 1;
  if (x->object.addr != y->object.addr)
    return x->object.addr < y->object.addr ? -1 : 1;
  return x->pool->number < y->pool->number ? -1 : x->pool->number > y->pool->number;
}

static int liveBySize(const void *a, const void *b)
{
  const LiveObjectStruct *x = a, *y = b;

  return x->object.size != y->object.size ? (x->object.size > y->object.size ? -1 : 1) : liveByAge(a, b);
}

static int liveSumCompare(const LiveSumStruct *x, const LiveSumStruct *y)
{
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x->objects > y->objects ? -1 : x->objects < y->objects;
}

static int liveThreadCompare(const void *a, const void *b)
{
  const LiveThreadStruct *x = a, *y = b;
  int sums = liveSumCompare(&x->sum, &y->sum);

  return sums != 0 ? sums : x->thread->number < y->thread->number ? -1 : x->thread->number > y->thread->number;
}

static int liveSiteCompare(const void *a, const void *b)
{
  const LiveSiteStruct *x = a, *y = b;
  int sums = liveSumCompare(&x->sum, &y->sum);

  return sums != 0 ? sums : x->site < y->site ? -1 : x->site > y->site;
}

static void liveAdd(LiveSum sum, HeapObject object)
{
  ++sum->objects;
  sum->bytes += object->size;
}

/* The objects of a process, each once */

static void livePoolCount(Live live, LiveProcess process, LivePool pool, LiveSite sites)
{
  HeapTable table = &pool->pool->table;
  Index i;

  for (i = 0; i < table->capacity; ++i) {
    HeapObject object = &table->objects[i];
    if (!HeapObjectLives(object))
      continue;
    liveAdd(&pool->sum, object);
    liveAdd(&process->sum, object);
    liveAdd(&process->class[liveClass(object->size)], object);
    if (object->thread < process->threads)
      liveAdd(&process->thread[object->thread].sum, object);
    sites[object->client].site = ManagerStateSite(live->state, object);
    liveAdd(&sites[object->client].sum, object);
    liveTopAdd(&process->largest, pool->pool, object);
    liveTopAdd(&process->oldest, pool->pool, object);
  }
}

/* liveSites -- keep the first of the sites; where none was recorded, none */
static Res liveSites(Live live, LiveProcess process, LiveSite all, Count count)
{
  Count found = 0;
  Index i;

  for (i = 0; i < count; ++i)
    if (all[i].sum.objects > 0)
      all[found++] = all[i];
  if (found == 1 && all[0].site == 0)
    found = 0;
  qsort(all, found, sizeof *all, liveSiteCompare);
  process->siteCount = found;
  process->sites = found < live->top ? found : live->top;
  process->site = malloc((process->sites + 1) * sizeof *process->site);
  if (process->site == NULL)
    return ResMEMORY;
  for (i = 0; i < process->sites; ++i)
    process->site[i] = all[i];
  return ResOK;
}

/* liveThreads -- those with objects, most bytes first */
static void liveThreads(LiveProcess process)
{
  Count found = 0;
  Index i;

  for (i = 0; i < process->threads; ++i)
    if (process->thread[i].sum.objects > 0)
      process->thread[found++] = process->thread[i];
  process->threads = found;
  qsort(process->thread, found, sizeof *process->thread, liveThreadCompare);
}

static Res liveObjects(Live live, LiveProcess process)
{
  Count sites = ManagerStateSites(live->state) + 1, objects = 0, most;
  LiveSite all;
  Index i;
  Res res;

  for (i = 0; i < process->pools; ++i)
    objects += process->pool[i].pool->table.count;
  most = objects < live->top ? objects : live->top;
  all = calloc(sites, sizeof *all);
  if (all == NULL || liveTopInit(&process->largest, most, liveBySize) != ResOK ||
      liveTopInit(&process->oldest, most, liveByAge) != ResOK) {
    free(all);
    return ResMEMORY;
  }
  for (i = 0; i < process->pools; ++i)
    livePoolCount(live, process, &process->pool[i], all);
  liveTopSort(&process->largest);
  liveTopSort(&process->oldest);
  liveThreads(process);
  res = liveSites(live, process, all, sites);
  free(all);
  return res;
}

/* Processes */

static Res livePools(LiveProcess process, Heap heap, Index number)
{
  HeapPool *pools;
  Index i;

  if (HeapLookPools(&pools, &process->pools, heap, number) != ResOK)
    return ResMEMORY;
  process->pool = calloc(process->pools + 1, sizeof *process->pool);
  for (i = 0; process->pool != NULL && i < process->pools; ++i)
    process->pool[i].pool = pools[i];
  free(pools);
  return process->pool == NULL ? ResMEMORY : ResOK;
}

static Res liveThreadsAll(LiveProcess process, Heap heap, Index number)
{
  HeapThread *threads;
  Index i;

  if (HeapLookThreads(&threads, &process->threads, heap, number) != ResOK)
    return ResMEMORY;
  process->thread = calloc(process->threads + 1, sizeof *process->thread);
  for (i = 0; process->thread != NULL && i < process->threads; ++i)
    process->thread[i].thread = threads[i];
  free(threads);
  return process->thread == NULL ? ResMEMORY : ResOK;
}

static Res liveProcess(Live live, LiveProcess process, Index number)
{
  Heap heap = ManagerStateHeap(live->state);

  process->process = LogProcessAt(live->log, number);
  process->doubt = HeapDoubt(heap, number);
  process->late = HeapForkParent(live->log, process->process) != NULL && HeapForkLate(process->process);
  if (HeapLookArenas(&process->arena, &process->arenas, heap, number) != ResOK ||
      livePools(process, heap, number) != ResOK || liveThreadsAll(process, heap, number) != ResOK)
    return ResMEMORY;
  return liveObjects(live, process);
}

/* liveIs -- is it a recorded program that lives?  The last one that did is told of if nobody does. */
static Bool liveIs(Live live, Index number)
{
  return LogProcessAt(live->log, number)->header.role[0] == '\0' && !HeapEnded(ManagerStateHeap(live->state), number);
}

static Res liveFinish(void *view)
{
  Live live = view;
  const uint64_t *counts;
  Count threads;
  Index i;
  Res res;

  if (live->at != UINT64_MAX)
    HeapUntil(ManagerStateHeap(live->state), live->at);
  res = ManagerStateSettle(live->state);
  if (res == ResOK)
    res = HeapOffAhead(ManagerStateHeap(live->state), &live->ahead);
  LogSummarize(&live->summary, live->log);
  live->process = calloc(live->summary.processes + 1, sizeof *live->process);
  if (live->process == NULL)
    return ResMEMORY;
  if (res == ResOK && InternsMay(live->log))
    res = InternsLearn(&live->interns, live->log, &live->position);
  for (i = 0; i < live->summary.processes && res == ResOK; ++i)
    if (HeapSeen(&threads, &counts, ManagerStateHeap(live->state), i) && liveIs(live, i))
      res = liveProcess(live, &live->process[live->processes++], i);
  return res;
}

/* livePart -- what `only` leaves comes, and nothing behind the time or position that was asked for */
static void livePart(Live live, const LogRequestStruct *only, Bool position)
{
  LogRequestStruct part = LogRequestALL;

  if (only != NULL)
    part = *only;
  live->ahead = live->position;
  if (part.to < live->at)
    PawPositionOfTime(&live->ahead, live->log, part.to);
  if (position || live->at != UINT64_MAX)
    part.end = &live->position;
  HeapOffPart(ManagerStateHeap(live->state), &part);
}

/* liveCreate -- a view of the log before the time that is asked for, or at the position that is at that time */
static Res liveCreate(void **viewReturn, ViewWants wants)
{
  static const LogPositionStruct last = LogPositionLAST;
  const LogRequestStruct *only = wants->request;
  Live live = calloc(1, sizeof *live);

  if (live == NULL)
    return ResMEMORY;
  live->log = wants->log;
  InternsInit(&live->interns, &live->strings);
  live->at = wants->at;
  live->top = wants->top;
  live->position = last;
  if (wants->position != NULL)
    live->position = *wants->position;
  else if (wants->at != UINT64_MAX)
    PawPositionOfTime(&live->position, wants->log, wants->at);
  if (only->end != NULL && LogPositionCompare(only->end, &live->position) < 0)
    live->position = *only->end;
  if (ManagerStateCreate(&live->state, wants->log, only, &live->position) != ResOK) {
    free(live);
    return ResMEMORY;
  }
  HeapOf(ManagerStateHeap(live->state), wants->of);
  livePart(live, only, wants->position != NULL);
  *viewReturn = live;
  return ResOK;
}

static void liveDestroy(void *view)
{
  Live live = view;
  Index i;

  for (i = 0; i < live->processes; ++i) {
    LiveProcess process = &live->process[i];
    free(process->arena);
    free(process->pool);
    free(process->thread);
    free(process->site);
    liveTopFinish(&process->largest);
    liveTopFinish(&process->oldest);
  }
  free(live->process);
  InternsFinish(&live->interns);
  StringsFinish(&live->strings);
  ManagerStateDestroy(live->state);
  free(live);
}

/* liveLabel -- the label of what is at an address since then; "": it has none */
static const char *liveLabel(Live live, LiveProcess process, uint64_t addr, uint64_t since)
{
  Size length;

  return StringsAt(&live->strings, InternsLabelOf(&live->interns, process->process, addr, since), &length);
}

static LogRequest liveRequest(void *view)
{
  return ManagerStateRequest(((Live)view)->state);
}

static double printSince(Live live, uint64_t time)
{
  return DocumentSince(live->summary.first, time);
}

/* printAt -- the time of the question, in the log */
static uint64_t printAt(Live live)
{
  return live->at < live->summary.last ? live->at : live->summary.last;
}

/* printThread -- the system's number of the thread that had an object */
static uint32_t printThread(LiveProcess process, HeapObject object)
{
  Index i;

  for (i = 0; i < process->threads; ++i)
    if (process->thread[i].thread->number == object->thread)
      return process->thread[i].thread->id;
  return 0;
}

/* Text */

static void textSum(FILE *out, LiveSum sum)
{
  fprintf(out, "%10llu object%s, ", (unsigned long long)sum->objects, TextPlural(sum->objects));
  SayBytes(out, sum->bytes);
}

/* textLabel -- what the program calls it */
static void textLabel(FILE *out, const char *label)
{
  if (label[0] == '\0')
    return;
  fputs(", \"", out);
  SayPlain(out, label, strlen(label));
  putc('"', out);
}

static void textArenas(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, "  arenas       %zu\n", process->arenas);
  for (i = 0; i < process->arenas; ++i) {
    HeapObject arena = &process->arena[i];
    fprintf(out, "    0x%-14llx ", (unsigned long long)arena->addr);
    SayBytes(out, arena->size);
    fprintf(out, " of address space, grain %u, since %.9f s", arena->client, printSince(live, arena->time));
    textLabel(out, liveLabel(live, process, arena->addr, arena->time));
    putc('\n', out);
  }
}

static void textPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  fprintf(out, "  pools        %zu\n", process->pools);
  for (i = 0; i < process->pools; ++i) {
    HeapPool pool = process->pool[i].pool;
    fprintf(out, "    0x%-14llx ", (unsigned long long)pool->addr);
    textSum(out, &process->pool[i].sum);
    if (pool->class[0] != '\0') {
      fputs(", class ", out);
      SayPlain(out, pool->class, strlen(pool->class));
    }
    if (pool->segments > 0) {
      fprintf(out, ", %llu segments of ", (unsigned long long)pool->segments);
      SayBytes(out, pool->reserved);
    }
    if (pool->arena != 0)
      fprintf(out, ", arena 0x%llx", (unsigned long long)pool->arena);
    textLabel(out, liveLabel(live, process, pool->addr, pool->time));
    putc('\n', out);
  }
}

static void textClasses(FILE *out, LiveProcess process)
{
  Index i;

  fputs("  by size\n", out);
  for (i = 0; i < LiveClassMAX; ++i) {
    if (process->class[i].objects == 0)
      continue;
    fprintf(out, "    %-16llu ", i == 0 ? 0 : 1ull << (i - 1));
    textSum(out, &process->class[i]);
    putc('\n', out);
  }
}

static void textThreads(FILE *out, LiveProcess process)
{
  Index i;

  fputs("  by thread\n", out);
  for (i = 0; i < process->threads; ++i) {
    fprintf(out, "    %-16u ", process->thread[i].thread->id);
    textSum(out, &process->thread[i].sum);
    putc('\n', out);
  }
}

static void textSites(FILE *out, LiveProcess process)
{
  Index i;

  if (process->sites == 0)
    return;
  fprintf(out, "  by site      %zu, of which:\n", process->siteCount);
  for (i = 0; i < process->sites; ++i) {
    if (process->site[i].site == 0)
      fputs("    unknown          ", out);
    else
      fprintf(out, "    0x%-14llx ", (unsigned long long)process->site[i].site);
    textSum(out, &process->site[i].sum);
    putc('\n', out);
  }
}

static void textTop(FILE *out, Live live, LiveProcess process, const char *name, LiveTop top)
{
  Index i;

  fprintf(out, "  %s\n", name);
  for (i = 0; i < top->count; ++i) {
    HeapObject object = &top->object[i].object;
    uint64_t site = ManagerStateSite(live->state, object);
    fprintf(out, "    0x%-14llx %10llu bytes, thread %u, pool 0x%llx, since %.9f s", (unsigned long long)object->addr,
            (unsigned long long)object->size, printThread(process, object),
            (unsigned long long)top->object[i].pool->addr, printSince(live, object->time));
    if (site != 0)
      fprintf(out, ", site 0x%llx", (unsigned long long)site);
    fputs(object->told ? " or before" : "", out);
    textLabel(out, liveLabel(live, process, object->addr, object->time));
    putc('\n', out);
  }
}

static void textProcess(FILE *out, Live live, LiveProcess process)
{
  Header header = &process->process->header;

  fprintf(out, "process        %u ", header->pid);
  CalledSay(out, header);
  fputs("\n  objects      ", out);
  fprintf(out, "%llu, ", (unsigned long long)process->sum.objects);
  SayBytes(out, process->sum.bytes);
  putc('\n', out);
  if (process->doubt > 0)
    fprintf(out, "  in doubt     %llu at most, more or less: other threads of its parent were at work when it was forked\n",
            (unsigned long long)process->doubt);
  if (process->late)
    fputs("  by clone     made by a system call past the library: what it had at first is what its parent had at its "
          "first event\n", out);
  textArenas(out, live, process);
  textPools(out, live, process);
  if (process->sum.objects == 0)
    return;
  textClasses(out, process);
  textThreads(out, process);
  textSites(out, process);
  textTop(out, live, process, "largest", &process->largest);
  textTop(out, live, process, "oldest", &process->oldest);
}

static Bool liveText(FILE *out, void *view)
{
  Live live = view;
  HeapOffStruct off = HeapOff(ManagerStateHeap(live->state), NULL);
  Index i;

  fprintf(out, "at             %.9f s\n", printSince(live, printAt(live)));
  HeapOffText(out, &off, live->summary.first);
  AskedText(out, &live->summary);
  for (i = 0; i < live->processes; ++i)
    textProcess(out, live, &live->process[i]);
  if (live->processes == 0)
    fputs("nothing is known of allocations until then\n", out);
  return TRUE;
}

/* JSON */

static void jsonAddress(FILE *out, const char *name, uint64_t address)
{
  if (address == 0)
    fprintf(out, "\"%s\": null", name);
  else
    fprintf(out, "\"%s\": \"0x%llx\"", name, (unsigned long long)address);
}

static void jsonSum(FILE *out, LiveSum sum)
{
  fprintf(out, ", \"objects\": %llu, \"bytes\": %llu", (unsigned long long)sum->objects,
          (unsigned long long)sum->bytes);
}

static void jsonBegin(FILE *out, const char *name)
{
  fprintf(out, ",\n   \"%s\": [", name);
}

static void jsonItem(FILE *out, Index i)
{
  fputs(i == 0 ? "\n    {" : ",\n    {", out);
}

static void jsonLabel(FILE *out, const char *label)
{
  if (label[0] == '\0')
    return;
  fputs(", \"label\": ", out);
  JsonString(out, label);
}

static void jsonArenas(FILE *out, Live live, LiveProcess process)
{
  Index i;

  jsonBegin(out, "arenas");
  for (i = 0; i < process->arenas; ++i) {
    HeapObject arena = &process->arena[i];
    jsonItem(out, i);
    jsonAddress(out, "arena", arena->addr);
    fprintf(out, ", \"size\": %llu, \"grain\": %u, \"since\": %.9f", (unsigned long long)arena->size, arena->client,
            printSince(live, arena->time));
    jsonLabel(out, liveLabel(live, process, arena->addr, arena->time));
    putc('}', out);
  }
  putc(']', out);
}

static void jsonPools(FILE *out, Live live, LiveProcess process)
{
  Index i;

  jsonBegin(out, "pools");
  for (i = 0; i < process->pools; ++i) {
    HeapPool pool = process->pool[i].pool;
    jsonItem(out, i);
    jsonAddress(out, "pool", pool->addr);
    fputs(", \"class\": ", out);
    JsonString(out, pool->class);
    fputs(", ", out);
    jsonAddress(out, "arena", pool->arena);
    jsonSum(out, &process->pool[i].sum);
    fprintf(out, ", \"segments\": %llu, \"segment_bytes\": %llu, \"since\": %.9f", (unsigned long long)pool->segments,
            (unsigned long long)pool->reserved, printSince(live, pool->time));
    jsonLabel(out, liveLabel(live, process, pool->addr, pool->time));
    putc('}', out);
  }
  putc(']', out);
}

static void jsonClasses(FILE *out, LiveProcess process)
{
  Index i, printed = 0;

  jsonBegin(out, "sizes");
  for (i = 0; i < LiveClassMAX; ++i) {
    if (process->class[i].objects == 0)
      continue;
    jsonItem(out, printed++);
    fprintf(out, "\"least\": %llu, \"most\": %llu", i == 0 ? 0 : 1ull << (i - 1),
            i == 0 ? 0 : ((1ull << (i - 1)) - 1) * 2 + 1);
    jsonSum(out, &process->class[i]);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonThreads(FILE *out, LiveProcess process)
{
  Index i;

  jsonBegin(out, "threads");
  for (i = 0; i < process->threads; ++i) {
    jsonItem(out, i);
    fprintf(out, "\"tid\": %u", process->thread[i].thread->id);
    jsonSum(out, &process->thread[i].sum);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonSites(FILE *out, LiveProcess process)
{
  Index i;

  jsonBegin(out, "sites");
  for (i = 0; i < process->sites; ++i) {
    jsonItem(out, i);
    jsonAddress(out, "site", process->site[i].site);
    jsonSum(out, &process->site[i].sum);
    putc('}', out);
  }
  putc(']', out);
}

static void jsonTop(FILE *out, Live live, LiveProcess process, const char *name, LiveTop top)
{
  Index i;

  jsonBegin(out, name);
  for (i = 0; i < top->count; ++i) {
    HeapObject object = &top->object[i].object;
    jsonItem(out, i);
    jsonAddress(out, "addr", object->addr);
    fprintf(out, ", \"size\": %llu, \"tid\": %u, ", (unsigned long long)object->size, printThread(process, object));
    jsonAddress(out, "pool", top->object[i].pool->addr);
    fputs(", ", out);
    jsonAddress(out, "site", ManagerStateSite(live->state, object));
    fprintf(out, ", \"since\": %.9f, \"earlier\": %s", printSince(live, object->time),
            object->told ? "true" : "false");
    jsonLabel(out, liveLabel(live, process, object->addr, object->time));
    putc('}', out);
  }
  putc(']', out);
}

static void jsonProcess(FILE *out, Live live, LiveProcess process)
{
  Header header = &process->process->header;

  fprintf(out, "  {\"pid\": %u, \"name\": ", header->pid);
  JsonString(out, HeaderCalled(header));
  fputs(", \"program\": ", out);
  JsonString(out, header->program);
  jsonSum(out, &process->sum);
  fprintf(out, ", \"in_doubt\": %llu, \"by_clone\": %s", (unsigned long long)process->doubt,
          process->late ? "true" : "false");
  jsonArenas(out, live, process);
  jsonPools(out, live, process);
  jsonClasses(out, process);
  jsonThreads(out, process);
  fprintf(out, ",\n   \"sites_in_all\": %zu", process->siteCount);
  jsonSites(out, process);
  jsonTop(out, live, process, "largest", &process->largest);
  jsonTop(out, live, process, "oldest", &process->oldest);
  putc('}', out);
}

static Bool liveJson(FILE *out, void *view)
{
  Live live = view;
  HeapOffStruct off = HeapOff(ManagerStateHeap(live->state), NULL);
  Index i;

  fprintf(out, "{\"at\": %.9f, ", printSince(live, printAt(live)));
  HeapOffJson(out, &off);
  fputs(", ", out);
  AskedJson(out, &live->summary);
  fputs(", \"processes\": [", out);
  for (i = 0; i < live->processes; ++i) {
    fputs(i == 0 ? "\n" : ",\n", out);
    jsonProcess(out, live, &live->process[i]);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassLive = {
  "live", "arenas, pools and objects that live at a time (--at)", ViewTakesAT | ViewTakesTOP, liveCreate, liveRequest,
  liveFinish, liveText, liveJson, liveDestroy
};
