/* live.c -- what lives at a time: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/live.h"

#include <stdlib.h>

#include "base/aver.h"
#include "heap/heapfork.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

enum { liveClassMAX = 65 }; /* size 0, and for each power of two up to 2^63 */

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

static int liveRowCompare(const void *a, const void *b)
{
  const LiveRowStruct *x = a, *y = b;

  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  if (x->objects != y->objects)
    return x->objects > y->objects ? -1 : 1;
  return x->key < y->key ? -1 : x->key > y->key;
}

/* The first objects in an order */

/* liveTopInit -- none yet, `most` at most.  ResMEMORY. */
static Res liveTopInit(LiveTop top, Count most, int (*order)(const void *a, const void *b))
{
  *top = (LiveTopStruct){.order = order, .most = most, .object = malloc((2 * most + 1) * sizeof *top->object)};
  return top->object == NULL ? ResMEMORY : ResOK;
}

/* liveTopSort -- sort the objects that were added by `order`, and keep the first `most` */
static void liveTopSort(LiveTop top)
{
  qsort(top->object, top->count, sizeof *top->object, top->order);
  AVER(top->count <= 2 * top->most);
  top->full = top->count >= top->most;
  if (top->full)
    top->count = top->most;
}

/* liveTopAdd -- an object, which is kept if it is one of the first.  Cost: mostly one comparison. */
static void liveTopAdd(LiveTop top, HeapPool pool, HeapObject object)
{
  LiveObjectStruct new = {pool, *object};

  if (top->most == 0 || (top->full && top->order(&new, &top->object[top->most - 1]) > 0))
    return;
  AVER_CRITICAL(top->count < 2 * top->most);
  top->object[top->count++] = new;
  if (top->count == 2 * top->most)
    liveTopSort(top);
}

/* Rows */

/* liveRowsInit -- rows without objects, whose keys are their places.  ResMEMORY. */
static Res liveRowsInit(LiveRows rows, Count count)
{
  Index i;

  rows->row = calloc(count + 1, sizeof *rows->row);
  if (rows->row == NULL)
    return ResMEMORY;
  for (rows->count = i = 0; i < count; ++i)
    rows->row[rows->count++].key = i;
  return ResOK;
}

/* liveRowsKeep -- keep those that have objects */
static void liveRowsKeep(LiveRows rows)
{
  Count count = rows->count;
  Index i;

  for (rows->count = i = 0; i < count; ++i)
    if (rows->row[i].objects > 0)
      rows->row[rows->count++] = rows->row[i];
}

static void liveRowAdd(LiveRow row, HeapObject object)
{
  ++row->objects;
  row->bytes += object->size;
}

/* liveBySite -- the row of who asked for an object, which has its key from the first that is counted; FALSE: no
 * memory */
static Bool liveBySite(Live live, LiveProcess process, HeapObject object)
{
  LiveRow row = &process->bySite.row[object->client];
  CodePlaceStruct place;

  if (row->objects == 0) {
    place = LiveCaller(live, process->process, object);
    row->key = StringsAdd(&live->places, (const char *)&place, sizeof place);
    row->site = LiveSite(live, object);
  }
  liveRowAdd(row, object);
  return row->key != 0;
}

/* The objects of a process, each once */

/* livePool -- count those of a pool; FALSE: no memory */
static Bool livePool(Live live, LiveProcess process, Index pool)
{
  HeapTable table = &process->pool[pool]->table;
  Bool sited = live->state->sites.table.count > 0;
  Index i;

  for (i = 0; i < table->capacity; ++i) {
    HeapObject object = &table->objects[i];
    if (!HeapObjectLives(object))
      continue;
    liveRowAdd(&process->byPool.row[pool], object);
    liveRowAdd(&process->sum, object);
    liveRowAdd(&process->byClass.row[object->size == 0 ? 0 : 64 - __builtin_clzll(object->size)], object);
    if (object->thread < process->threads)
      liveRowAdd(&process->byThread.row[object->thread], object);
    if (sited && !liveBySite(live, process, object))
      return FALSE;
    liveTopAdd(&process->largest, process->pool[pool], object);
    liveTopAdd(&process->oldest, process->pool[pool], object);
  }
  return TRUE;
}

static int liveKeyCompare(const void *a, const void *b)
{
  uint64_t x = ((LiveRow)a)->key, y = ((LiveRow)b)->key;

  return x < y ? -1 : x > y;
}

/* liveRowsJoin -- rows with one key become one: several sites or stacks may have the same caller */
static void liveRowsJoin(LiveRows rows)
{
  Count count = rows->count;
  Index i;

  qsort(rows->row, count, sizeof *rows->row, liveKeyCompare);
  for (rows->count = i = 0; i < count; ++i) {
    if (rows->count > 0 && rows->row[rows->count - 1].key == rows->row[i].key) {
      rows->row[rows->count - 1].objects += rows->row[i].objects;
      rows->row[rows->count - 1].bytes += rows->row[i].bytes;
    } else {
      rows->row[rows->count++] = rows->row[i];
    }
  }
}

/* liveSites -- keep the first of the callers; where none was recorded, none.  The table is as long as there are sites,
 * and there is one for each process: what is not printed is given back. */
static void liveSites(Live live, LiveProcess process)
{
  LiveRows rows = &process->bySite;
  LiveRow fewer;

  liveRowsKeep(rows);
  liveRowsJoin(rows);
  if (rows->count == 1 && rows->row[0].site == 0)
    rows->count = 0;
  qsort(rows->row, rows->count, sizeof *rows->row, liveRowCompare);
  process->sites = rows->count;
  rows->count = rows->count < live->top ? rows->count : live->top;
  fewer = realloc(rows->row, (rows->count + 1) * sizeof *rows->row);
  rows->row = fewer != NULL ? fewer : rows->row;
}

/* liveRows -- all rows that may be needed, and room for the first objects.  ResMEMORY. */
static Res liveRows(Live live, LiveProcess process)
{
  Count objects = 0, most;
  Index i;

  for (i = 0; i < process->byPool.count; ++i)
    objects += process->pool[i]->table.count;
  most = objects < live->top ? objects : live->top;
  if (liveRowsInit(&process->byClass, liveClassMAX) != ResOK ||
      liveRowsInit(&process->byThread, process->threads) != ResOK ||
      liveRowsInit(&process->bySite, live->state->sites.table.count + 1) != ResOK ||
      liveTopInit(&process->largest, most, liveBySize) != ResOK ||
      liveTopInit(&process->oldest, most, liveByAge) != ResOK)
    return ResMEMORY;
  for (i = 1; i < liveClassMAX; ++i)
    process->byClass.row[i].key = 1ull << (i - 1);
  return ResOK;
}

static Res liveProcess(Live live, LiveProcess process, Index number, const HeapSeenStruct *seen)
{
  Heap heap = live->state->heap;
  Count pools;
  Index i;

  process->process = LogProcessAt(live->log, number);
  process->doubt = seen->doubt;
  process->late = HeaderTimesParent(live->log, process->process) != NULL && HeapForkLate(process->process);
  if (HeapLookArenas(&process->arena, &process->arenas, heap, number) != ResOK ||
      HeapLookPools(&process->pool, &pools, heap, number) != ResOK ||
      liveRowsInit(&process->byPool, pools) != ResOK ||
      HeapLookThreads(&process->thread, &process->threads, heap, number) != ResOK || liveRows(live, process) != ResOK)
    return ResMEMORY;
  for (i = 0; i < pools; ++i)
    if (!livePool(live, process, i))
      return ResMEMORY;
  liveTopSort(&process->largest);
  liveTopSort(&process->oldest);
  liveRowsKeep(&process->byClass);
  liveRowsKeep(&process->byThread);
  qsort(process->byThread.row, process->byThread.count, sizeof(LiveRowStruct), liveRowCompare);
  for (i = 0; i < process->byThread.count; ++i)
    process->byThread.row[i].key = process->thread[process->byThread.row[i].key]->id;
  liveSites(live, process);
  return ResOK;
}

static Res liveFinish(void *view)
{
  Live live = view;
  HeapSeenStruct seen;
  Index i;
  Res res;

  if (live->at != UINT64_MAX)
    HeapUntil(live->state->heap, live->at);
  res = HeapSettle(live->state->heap);
  if (res == ResOK)
    res = HeapOffAhead(live->state->heap, &live->ahead);
  LogSummarize(&live->summary, live->log);
  live->process = calloc(live->summary.processes + 1, sizeof *live->process);
  if (live->process == NULL)
    return ResMEMORY;
  if (res == ResOK)
    res = ViewLabelsRead(&live->labels, live->log, &live->position);
  if (res == ResOK && live->state->sites.table.count > 0)
    res = CodeNamesRead(live->names);
  /* Of recorded programs those that live; if none does, the last one that did counts as living. */
  for (i = 0; i < live->summary.processes && res == ResOK; ++i)
    if (LogProcessAt(live->log, i)->header.role[0] == '\0' && HeapLook(&seen, live->state->heap, i) &&
        !HeapEnded(live->state->heap, i))
      res = liveProcess(live, &live->process[live->processes++], i, &seen);
  return res;
}

/* livePart -- of the events that `only` leaves, none comes behind the time or position that was asked for */
static void livePart(Live live, const LogRequestStruct *only, Bool position)
{
  LogRequestStruct part = *only;

  live->ahead = live->position;
  if (part.to < live->at)
    PawPositionOfTime(&live->ahead, live->log, part.to);
  if (position || live->at != UINT64_MAX)
    part.end = &live->position;
  HeapOffPart(live->state->heap, &part);
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
  ViewLabelsInit(&live->labels);
  live->at = wants->at;
  live->top = wants->top;
  live->position = last;
  if (wants->position != NULL)
    live->position = *wants->position;
  else if (wants->at != UINT64_MAX)
    PawPositionOfTime(&live->position, wants->log, wants->at);
  if (only->end != NULL && LogPositionCompare(only->end, &live->position) < 0)
    live->position = *only->end;
  if (HeapAtCreate(&live->state, wants->log, only, &live->position, NULL) != ResOK) {
    free(live);
    return ResMEMORY;
  }
  live->names = wants->names;
  CodeNamesWant(live->names);
  HeapOf(live->state->heap, wants->of);
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
    free(process->byPool.row);
    free(process->byClass.row);
    free(process->byThread.row);
    free(process->bySite.row);
    free(process->largest.object);
    free(process->oldest.object);
  }
  free(live->process);
  ViewLabelsFinish(&live->labels);
  HeapAtDestroy(live->state);
  StringsFinish(&live->places);
  free(live);
}

static LogRequest liveRequest(void *view)
{
  return &((Live)view)->state->request;
}

const ViewClassStruct ViewClassLive = {
  "live", "arenas, pools and objects that live at a time (--at)", ViewTakesAT | ViewTakesTOP | ViewTakesCALLERS,
  liveCreate, liveRequest, liveFinish, LiveText, LiveJson, liveDestroy
};
