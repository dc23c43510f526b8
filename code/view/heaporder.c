/* heaporder.c -- the live objects of one process, and the repair of order between its threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The usual event costs one look-up.  What is not true yet goes to `hold`; each arrival on a held address, and each
 * change that one held event makes, is an occasion to try the held ones again, oldest first.
 */
#include "heaporder.h"

#include <string.h>
#include <stdlib.h>

#include "base/aver.h"
#include "view/heapact.h"
#include "view/heapstate.h"

void HeapOrderInit(HeapOrder order, Index process, HeapClient client)
{
  memset(order, 0, sizeof *order);
  order->operation.process = process;
  order->client = *client;
}

/* orderFilter -- how many held events may be on this address */
static inline uint16_t *orderFilter(HeapOrder order, uint64_t addr)
{
  return &order->filter[(addr * 0x9e3779b97f4a7c15ull) >> 56];
}

/* Holding back */

/* orderFirst -- is hold[i] the oldest held event of its thread on its address? */
static Bool orderFirst(HeapOrder order, Index i)
{
  HeapInput input = &order->hold[i];
  uint64_t place = HeapActPlace(input);
  Index j;

  for (j = 0; j < i; ++j) {
    HeapInput other = &order->hold[j];
    if (other->thread == input->thread && HeapActPlace(other) == place && other->pool == input->pool)
      return FALSE;
  }
  return TRUE;
}

static void orderUnhold(HeapOrder order, Index i)
{
  --*orderFilter(order, HeapActPlace(&order->hold[i]));
  --order->held;
  memmove(&order->hold[i], &order->hold[i + 1], (order->held - i) * sizeof order->hold[0]);
}

/* orderRetry -- do what of the held can be done, oldest first, until nothing more can
 * fresh  the newest has only just arrived: if it is done now it has not been put behind anything */
static void orderRetry(HeapOrder order, Bool fresh)
{
  Index i = 0;

  while (i < order->held) {
    HeapInputStruct input = order->hold[i];
    if (orderFirst(order, i) && HeapActTry(order, &input)) {
      if (fresh && i + 1 == order->held)
        fresh = FALSE;
      else
        ++order->tally.repairs;
      orderUnhold(order, i);
      i = 0;
    } else {
      ++i;
    }
  }
}

/* orderNext -- the place in `hold` of the next event of hold[0]'s thread on its address if one of the two brings an
 * object and the other takes it away; or 0 */
static Index orderNext(HeapOrder order)
{
  HeapInput first = &order->hold[0];
  Index i;

  for (i = 1; i < order->held; ++i) {
    HeapInput input = &order->hold[i];
    if (input->thread == first->thread && input->pool == first->pool && HeapActPlace(input) == HeapActPlace(first))
      return HeapActBrings(input) != HeapActBrings(first) ? i : 0;
  }
  return 0;
}

/* orderCrossed -- has another thread's free or resize, not long before `input`, taken what `input` should have? */
static Bool orderCrossed(HeapOrder order, HeapInput input)
{
  Index i;

  for (i = 0; i < HeapCrossingsMAX; ++i) {
    if (order->crossing[i].addr == input->addr && order->crossing[i].pool == input->pool &&
        order->crossing[i].time + HeapBoundTIME >= input->time)
      return TRUE;
  }
  return FALSE;
}

/* orderBeside -- tell of an object that hold[come] brings and hold[go] takes away */
static void orderBeside(HeapOrder order, Index come, Index go)
{
  HeapObjectStruct object;

  order->operation.beside = TRUE;
  HeapActCome(order, &order->hold[come], &object);
  HeapActGo(order, &order->hold[go], &object);
  order->operation.beside = FALSE;
  orderUnhold(order, come > go ? come : go);
  orderUnhold(order, come > go ? go : come);
  ++order->tally.repairs;
}

/* orderPresumeBring -- an object is brought to an address where another lives: that one has gone unseen */
static void orderPresumeBring(HeapOrder order, HeapInput input, HeapObject place)
{
  if (HeapObjectLives(place)) {
    if (!place->told && !place->stale)
      ++order->tally.overlaps;
    HeapActPresume(order, input, place);
    HeapTableDelete(&input->pool->table, place);
  }
  if (!HeapActTry(order, input))
    NOTREACHED;
}

/* orderExpire -- the oldest held event will not come true as it stands
 *
 * If its thread then takes away what it brings, that was before the object came which lives there now.  If it takes
 * away what nobody brought, and then brings something, and another thread has taken what lived there, then that was
 * what is brought here. Else something is missing in the log. */
static void orderExpire(HeapOrder order)
{
  HeapInputStruct input = order->hold[0];
  HeapObject place = HeapTableSeek(&input.pool->table, HeapActPlace(&input));
  Index next = orderNext(order);

  if (HeapActBrings(&input)) {
    if (next != 0 && HeapObjectLives(place)) {
      orderBeside(order, 0, next);
      return;
    }
    orderUnhold(order, 0);
    orderPresumeBring(order, &input, place);
  } else if (next != 0 && orderCrossed(order, &input)) {
    orderBeside(order, next, 0);
  } else {
    orderUnhold(order, 0);
    HeapStateUnmatched(order, &input);
    if (input.kind == HeapInBEGIN)
      HeapActUnknown(&input);
  }
}

void HeapOrderHeld(HeapOrder order, HeapInput input)
{
  AVER(order->held < HeapBoundEVENTS);
  if (input != &order->hold[order->held])
    order->hold[order->held] = *input;
  ++order->held;
  ++*orderFilter(order, HeapActPlace(input));
}

static void orderHold(HeapOrder order, HeapInput input)
{
  if (order->held == HeapBoundEVENTS) {
    orderExpire(order);
    orderRetry(order, FALSE);
  }
  HeapOrderHeld(order, input);
  orderRetry(order, TRUE);
}

void HeapOrderSettle(HeapOrder order)
{
  while (order->held > 0) {
    orderExpire(order);
    orderRetry(order, FALSE);
  }
}

void HeapOrderFinish(HeapOrder order)
{
  if (order->stating)
    HeapTableFinish(&order->gone);
  order->stating = FALSE;
}

/* orderTold -- the process tells of an object that it already has */
static void orderTold(HeapOrder order, HeapInput input)
{
  if (!HeapStateLive(order, input))
    return;
  if (!HeapActTry(order, input))
    NOTREACHED;
  if (*orderFilter(order, input->addr) != 0)
    orderRetry(order, FALSE);
}

void HeapOrderEvent(HeapOrder order, HeapInput input)
{
  if (input->time > order->now)
    order->now = input->time;
  while (UNLIKELY(order->held > 0) && order->now - order->hold[0].time > HeapBoundTIME) {
    orderExpire(order);
    orderRetry(order, FALSE);
  }
  if (UNLIKELY(input->kind == HeapInLIVE)) {
    orderTold(order, input);
    return;
  }
  if (input->kind == HeapInFREE || input->kind == HeapInBEGIN) {
    input->thread->gone = input->addr;
    input->thread->gonePool = input->pool;
    input->thread->goneTime = input->time;
    if (UNLIKELY(order->stating))
      HeapStateGone(order, input->pool, input->addr);
  }
  if (input->kind >= HeapInBEGIN) {
    if (input->kind == HeapInBEGIN)
      HeapActOpen(order, input);
    else
      HeapActMatch(order, input);
  }
  if ((UNLIKELY(order->held > 0) && *orderFilter(order, HeapActPlace(input)) != 0) || !HeapActTry(order, input))
    orderHold(order, input);
}

void HeapOrderDestroy(HeapOrder order, HeapPool pool, HeapThread thread, uint64_t time)
{
  HeapInputStruct input = {.pool = pool, .thread = thread, .kind = HeapInFREE};
  HeapObject objects;
  Count i, n;

  if (time > order->now)
    order->now = time;
  HeapOrderSettle(order);
  if (HeapTableSort(&objects, &n, &pool->table) != ResOK) {
    order->res = ResMEMORY;
    return;
  }
  order->operation.destroyed = TRUE;
  for (i = 0; i < n; ++i)
    HeapActGo(order, &input, &objects[i]);
  order->operation.destroyed = FALSE;
  free(objects);
  HeapTableFinish(&pool->table);
}

Bool HeapOrderCheck(HeapOrder order)
{
  Count sum = 0;
  Index i;

  AVER(order->held <= HeapBoundEVENTS);
  for (i = 0; i < HeapFilterSIZE; ++i)
    sum += order->filter[i];
  AVER(sum == order->held);
  for (i = 0; i < order->held; ++i)
    AVER(*orderFilter(order, HeapActPlace(&order->hold[i])) > 0);
  return TRUE;
}
