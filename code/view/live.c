/* live.c -- what lives at a time: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live.h"

#include <stdlib.h>

#include "view/heapfork.h"
#include "view/heapoff.h"
#include "view/livedata.h"

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
    liveAdd(&process->class[LiveClass(object->size)], object);
    if (object->thread < process->threads)
      liveAdd(&process->thread[object->thread].sum, object);
    sites[object->client].site = StateSite(live->state, object);
    liveAdd(&sites[object->client].sum, object);
    LiveTopAdd(&process->largest, pool->pool, object);
    LiveTopAdd(&process->oldest, pool->pool, object);
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
  Count sites = StateSites(live->state) + 1, objects = 0, most;
  LiveSite all;
  Index i;
  Res res;

  for (i = 0; i < process->pools; ++i)
    objects += process->pool[i].pool->table.count;
  most = objects < live->top ? objects : live->top;
  all = calloc(sites, sizeof *all);
  if (all == NULL || LiveTopInit(&process->largest, most, liveBySize) != ResOK ||
      LiveTopInit(&process->oldest, most, liveByAge) != ResOK) {
    free(all);
    return ResMEMORY;
  }
  for (i = 0; i < process->pools; ++i)
    livePoolCount(live, process, &process->pool[i], all);
  LiveTopSort(&process->largest);
  LiveTopSort(&process->oldest);
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
  Heap heap = StateHeap(live->state);

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
  return LogProcessAt(live->log, number)->header.role[0] == '\0' && !HeapEnded(StateHeap(live->state), number);
}

Res LiveFinish(Live live)
{
  const uint64_t *counts;
  Count threads;
  Index i;
  Res res;

  if (live->at != UINT64_MAX)
    HeapUntil(StateHeap(live->state), live->at);
  res = StateSettle(live->state);
  if (res == ResOK)
    res = HeapOffAhead(StateHeap(live->state), &live->ahead);
  LogSummarize(&live->summary, live->log);
  live->process = calloc(live->summary.processes + 1, sizeof *live->process);
  if (live->process == NULL)
    return ResMEMORY;
  if (res == ResOK && InternsMay(live->log))
    res = InternsLearn(&live->interns, live->log, &live->position);
  for (i = 0; i < live->summary.processes && res == ResOK; ++i)
    if (HeapSeen(&threads, &counts, StateHeap(live->state), i) && liveIs(live, i))
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
  HeapOffPart(StateHeap(live->state), &part);
}

Res LiveCreate(Live *liveReturn, Log log, const LogRequestStruct *only, uint64_t at,
               const LogPositionStruct *position, Count top, OfProcess of)
{
  static const LogPositionStruct last = LogPositionLAST;
  Live live = calloc(1, sizeof *live);

  if (live == NULL)
    return ResMEMORY;
  live->log = log;
  InternsInit(&live->interns, &live->strings);
  live->at = at;
  live->top = top;
  live->position = last;
  if (position != NULL)
    live->position = *position;
  else if (at != UINT64_MAX)
    PawPositionOfTime(&live->position, log, at);
  if (only->end != NULL && LogPositionCompare(only->end, &live->position) < 0)
    live->position = *only->end;
  if (StateCreate(&live->state, log, only, &live->position) != ResOK) {
    free(live);
    return ResMEMORY;
  }
  HeapOf(StateHeap(live->state), of);
  livePart(live, only, position != NULL);
  *liveReturn = live;
  return ResOK;
}

void LiveDestroy(Live live)
{
  Index i;

  for (i = 0; i < live->processes; ++i) {
    LiveProcess process = &live->process[i];
    free(process->arena);
    free(process->pool);
    free(process->thread);
    free(process->site);
    LiveTopFinish(&process->largest);
    LiveTopFinish(&process->oldest);
  }
  free(live->process);
  InternsFinish(&live->interns);
  StringsFinish(&live->strings);
  StateDestroy(live->state);
  free(live);
}

const char *LiveLabel(Live live, LiveProcess process, uint64_t addr, uint64_t since)
{
  Size length;

  return StringsAt(&live->strings, InternsLabelOf(&live->interns, process->process, addr, since), &length);
}

LogRequest LiveRequest(Live live)
{
  return StateRequest(live->state);
}
