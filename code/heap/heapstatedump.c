/* heapstatedump.c -- live objects out of a state dump: those that a process had before it was recorded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heapstatedump.h"

#include <stdlib.h>

#include "base/aver.h"

/* The last free that a thread emitted before StateBegin may have happened after the objects were listed: the thread
 * may have been descheduled for so many ns. */
#define statePause 10000000u

static void stateInsert(HeapReorder order, uint64_t key)
{
  if (HeapTablePut(&order->gone, key) == NULL)
    order->res = ResMEMORY;
}

void HeapStateBegin(HeapReorder order, uint64_t time)
{
  Index place;

  if (order->stating)
    HeapTableFinish(&order->gone);
  if (HeapTableInit(&order->gone) != ResOK) {
    order->res = ResMEMORY;
    order->stating = FALSE;
    return;
  }
  order->stating = TRUE;
  order->stateFrom = time;
  /* From now on events are possible that were not, and the unmatched ones until now are explained. */
  for (place = order->oldest; place != 0; place = order->hold[place - 1].newer)
    HeapReorderDue(order, HeapActPlace(&order->hold[place - 1].input));
  HeapReorderSettle(order);
  order->tally.early += order->tally.unmatched + order->tally.overlaps + order->tally.unfinished;
  order->tally.unmatched = order->tally.overlaps = order->tally.unfinished = 0;
}

void HeapStateThread(HeapReorder order, HeapThread thread)
{
  if (order->stating && thread->gonePool != NULL && order->stateFrom - thread->goneTime < statePause)
    stateInsert(order, HeapStateAddr(thread->gone, thread->gonePool));
}

void HeapStatePool(HeapReorder order, HeapPool pool)
{
  Index i;

  if (!HeapActOwn(order, pool))
    return;
  for (i = 0; i < pool->table.capacity; ++i)
    if (HeapObjectLives(&pool->table.objects[i]))
      pool->table.objects[i].stale = 1;
}

void HeapStateEnd(HeapReorder order, uint64_t time)
{
  if (!order->stating)
    return;
  HeapTableFinish(&order->gone);
  order->stating = FALSE;
  order->stateTo = time + HeapBoundTIME;
}

void HeapStateGone(HeapReorder order, HeapPool pool, uint64_t addr)
{
  AVER(order->stating);
  stateInsert(order, HeapStateAddr(addr, pool));
}

Bool HeapStateIsGone(HeapReorder order, HeapPool pool, uint64_t addr)
{
  return order->stating && HeapTableSeek(&order->gone, HeapStateAddr(addr, pool))->addr != 0;
}

Bool HeapStateLive(HeapReorder order, HeapInput input)
{
  HeapObject place;

  if (!HeapActOwn(order, input->pool))
    return FALSE;
  place = HeapTableSeek(&input->pool->table, input->addr);
  if (HeapObjectLives(place) && !(place->stale && place->size > input->size)) {
    place->stale = 0;
    return FALSE;
  }
  if (place->addr != 0 && place->away)
    return FALSE;
  if (HeapStateIsGone(order, input->pool, input->addr))
    return FALSE;
  if (HeapObjectLives(place)) {
    HeapActPresume(order, input, place);
    HeapTableDelete(&input->pool->table, place);
  }
  return TRUE;
}

void HeapStatePurge(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time)
{
  HeapInputStruct input = {.pool = pool, .thread = thread, .kind = HeapInFREE, .time = time};
  HeapObject objects;
  Count i, n;

  if (!order->stating || !HeapActOwn(order, pool))
    return;
  if (HeapTableSort(&objects, &n, &pool->table) != ResOK) {
    order->res = ResMEMORY;
    return;
  }
  for (i = 0; i < n; ++i)
    if (objects[i].stale) {
      HeapObject place = HeapTableSeek(&pool->table, objects[i].addr);
      input.addr = objects[i].addr;
      HeapActPresume(order, &input, place);
      HeapTableDelete(&pool->table, place);
      HeapReorderDue(order, input.addr);
    }
  free(objects);
}

void HeapStateUnmatched(HeapReorder order, HeapInput input)
{
  if (order->stating || input->time <= order->stateTo)
    ++order->tally.early;
  else
    ++order->tally.unmatched;
}
