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

void HeapOrderInit(HeapOrder order, Index process, HeapHook hook, void *data)
{
  memset(order, 0, sizeof *order);
  order->process = process;
  order->hook = hook;
  order->data = data;
}

static void orderTell(HeapOrder order, HeapOperationKind kind, HeapInput input, HeapObject object, Bool presumed)
{
  HeapOperationStruct operation = {.kind = kind, .zero = input->zero, .presumed = presumed, .process = order->process,
                                   .time = order->now, .pool = input->pool, .thread = input->thread, .object = object,
                                   .addr = object->addr, .size = object->size,
                                   .oldAddr = object->addr, .oldSize = object->size};

  order->hook(order->data, &operation);
}

/* orderFilter -- how many held events may be on this address */
static inline uint16_t *orderFilter(HeapOrder order, uint64_t addr)
{
  return &order->filter[(addr * 0x9e3779b97f4a7c15ull) >> 56];
}

/* orderPlace -- the address that an event waits for: a failed resize wants its old one back */
static inline uint64_t orderPlace(HeapInput input)
{
  return input->kind == HeapInEND && input->addr == 0 ? input->old : input->addr;
}

/* Resizes in progress */

/* orderResize -- the resize with this key, or NULL; key 0 is none */
static HeapResize orderResize(HeapThread thread, uint64_t key)
{
  Index i;

  for (i = 0; key != 0 && i < HeapResizesMAX; ++i) {
    if (thread->resize[i].state != HeapResizeNONE && thread->resize[i].key == key)
      return &thread->resize[i];
  }
  return NULL;
}

/* orderOpen -- the resize of `old` that the thread has begun and, as far as it has come to us, not ended; or NULL */
static HeapResize orderOpen(HeapThread thread, HeapPool pool, uint64_t old)
{
  Index i;

  for (i = 0; i < HeapResizesMAX; ++i) {
    HeapResize resize = &thread->resize[i];
    if (resize->state != HeapResizeNONE && !resize->ended && resize->old == old && resize->pool == pool)
      return resize;
  }
  return NULL;
}

/* orderRevive -- the resize will have no end: its object is back, if nothing stands there */
static void orderRevive(HeapOrder order, HeapThread thread, HeapResize resize)
{
  HeapInputStruct input = {.pool = resize->pool, .thread = thread};
  HeapObject object;

  if (resize->state == HeapResizeKNOWN) {
    ++order->tally.unfinished;
    if (HeapTableFind(&resize->pool->table, resize->old) != NULL) {
      ++order->tally.overlaps;
      orderTell(order, HeapFREE, &input, &resize->object, TRUE);
    } else if (HeapTableInsert(&object, &resize->pool->table, resize->old) != ResOK) {
      order->res = ResMEMORY;
    } else {
      *object = resize->object;
      orderTell(order, HeapRESIZEFAIL, &input, object, TRUE);
    }
  }
  resize->state = HeapResizeNONE;
}

/* orderResizeNew -- a resize begins; an open one of the same object has lost its end */
static void orderResizeNew(HeapOrder order, HeapInput input)
{
  HeapThread thread = input->thread;
  HeapResize resize = orderOpen(thread, input->pool, input->addr);

  if (resize == NULL) {
    resize = &thread->resize[thread->turn];
    thread->turn = (thread->turn + 1) % HeapResizesMAX;
  }
  orderRevive(order, thread, resize);
  resize->state = HeapResizeHELD;
  resize->ended = FALSE;
  resize->pool = input->pool;
  resize->old = input->addr;
  resize->key = input->key = ++order->key;
}

void HeapOrderAbandon(HeapOrder order, HeapThread thread)
{
  Index i;

  for (i = 0; i < HeapResizesMAX; ++i)
    orderRevive(order, thread, &thread->resize[i]);
}

/* What an event does, once it can be true.  `object` is what lives at its address, or NULL. */

static void orderAlloc(HeapOrder order, HeapInput input)
{
  HeapObject object;

  if (HeapTableInsert(&object, &input->pool->table, input->addr) != ResOK) {
    order->res = ResMEMORY;
    return;
  }
  object->size = input->size;
  object->time = order->now;
  object->serial = ++order->serial;
  object->align = input->align;
  object->thread = (uint32_t)input->thread->number;
  object->client = 0;
  orderTell(order, HeapALLOC, input, object, FALSE);
}

static void orderFree(HeapOrder order, HeapInput input, HeapObject object, Bool presumed)
{
  orderTell(order, HeapFREE, input, object, presumed);
  HeapTableDelete(&input->pool->table, object);
}

static void orderBegin(HeapOrder order, HeapInput input, HeapObject object)
{
  HeapResize resize = orderResize(input->thread, input->key);

  if (resize == NULL) { /* pushed out by later ones: more are nested than we keep */
    ++order->tally.unfinished;
    return;
  }
  resize->state = HeapResizeKNOWN;
  resize->object = *object;
  orderTell(order, HeapRESIZEBEGIN, input, object, FALSE);
  HeapTableDelete(&input->pool->table, object);
}

static void orderEnd(HeapOrder order, HeapInput input)
{
  HeapResize resize = orderResize(input->thread, input->key);
  HeapObject object;
  HeapOperationStruct operation = {.kind = input->addr == 0 ? HeapRESIZEFAIL : HeapRESIZE, .process = order->process,
                                   .time = order->now, .pool = input->pool, .thread = input->thread};

  if (resize == NULL || resize->state != HeapResizeKNOWN) {
    if (resize != NULL)
      resize->state = HeapResizeNONE;
    if (input->addr != 0)
      orderAlloc(order, input);
    return;
  }
  resize->state = HeapResizeNONE;
  if (HeapTableInsert(&object, &input->pool->table, orderPlace(input)) != ResOK) {
    order->res = ResMEMORY;
    return;
  }
  *object = resize->object;
  operation.oldAddr = object->addr;
  operation.oldSize = object->size;
  object->addr = orderPlace(input);
  if (input->addr == 0)
    ++order->tally.failed;
  else
    object->size = input->size;
  operation.object = object;
  operation.addr = object->addr;
  operation.size = object->size;
  order->hook(order->data, &operation);
}

/* orderTry -- do what the event says if it can be true now */
static Bool orderTry(HeapOrder order, HeapInput input)
{
  HeapObject object = HeapTableFind(&input->pool->table, orderPlace(input));
  HeapResize resize;

  switch (input->kind) {
  case HeapInALLOC:
    if (object != NULL)
      return FALSE;
    orderAlloc(order, input);
    return TRUE;
  case HeapInFREE:
    if (object == NULL)
      return FALSE;
    orderFree(order, input, object, FALSE);
    return TRUE;
  case HeapInBEGIN:
    if (object == NULL)
      return FALSE;
    orderBegin(order, input, object);
    return TRUE;
  default:
    AVER_CRITICAL(input->kind == HeapInEND);
    resize = orderResize(input->thread, input->key);
    if (object != NULL || (resize != NULL && resize->state == HeapResizeHELD))
      return FALSE;
    orderEnd(order, input);
    return TRUE;
  }
}

/* Holding back */

/* orderFirst -- is hold[i] the oldest held event of its thread on its address? */
static Bool orderFirst(HeapOrder order, Index i)
{
  HeapInput input = &order->hold[i];
  uint64_t place = orderPlace(input);
  Index j;

  for (j = 0; j < i; ++j) {
    HeapInput other = &order->hold[j];
    if (other->thread == input->thread && orderPlace(other) == place && other->pool == input->pool)
      return FALSE;
  }
  return TRUE;
}

static void orderUnhold(HeapOrder order, Index i)
{
  --*orderFilter(order, orderPlace(&order->hold[i]));
  --order->held;
  memmove(&order->hold[i], &order->hold[i + 1], (order->held - i) * sizeof order->hold[0]);
}

/* orderRetry -- do what of the held can be done, oldest first, until nothing more can */
static void orderRetry(HeapOrder order)
{
  Index i = 0;

  while (i < order->held) {
    HeapInputStruct input = order->hold[i];
    if (orderFirst(order, i) && orderTry(order, &input)) {
      /* The newest has only just arrived: it was not put behind anything. */
      if (i + 1 < order->held)
        ++order->tally.repairs;
      orderUnhold(order, i);
      i = 0;
    } else {
      ++i;
    }
  }
}

/* orderShort -- the place in `hold` of the free that ends what hold[0] allocates, or 0 */
static Index orderShort(HeapOrder order)
{
  HeapInput first = &order->hold[0];
  Index i;

  for (i = 1; first->kind == HeapInALLOC && i < order->held; ++i) {
    HeapInput input = &order->hold[i];
    if (input->thread == first->thread && input->pool == first->pool && orderPlace(input) == first->addr)
      return input->kind == HeapInFREE ? i : 0;
  }
  return 0;
}

/* orderBeside -- tell of an object whose whole life is held, though another one, told of before, has its address: the
 * other came after it */
static void orderBeside(HeapOrder order, Index end)
{
  HeapInputStruct input = order->hold[0];
  HeapObjectStruct object = {.addr = input.addr, .size = input.size, .time = order->now, .serial = ++order->serial,
                             .align = input.align & 0xff, .thread = (uint32_t)input.thread->number};

  orderTell(order, HeapALLOC, &input, &object, FALSE);
  orderTell(order, HeapFREE, &order->hold[end], &object, FALSE);
  orderUnhold(order, end);
  orderUnhold(order, 0);
  ++order->tally.repairs;
}

/* orderExpire -- the oldest held event will not come true: presume what is missing */
static void orderExpire(HeapOrder order)
{
  HeapInputStruct input = order->hold[0];
  HeapObject object = HeapTableFind(&input.pool->table, orderPlace(&input));
  Index end = orderShort(order);

  if (object != NULL && end != 0) {
    orderBeside(order, end);
    return;
  }
  orderUnhold(order, 0);
  if (input.kind == HeapInALLOC || input.kind == HeapInEND) {
    if (object != NULL) {
      ++order->tally.overlaps;
      orderFree(order, &input, object, TRUE);
    }
    if (!orderTry(order, &input))
      NOTREACHED;
  } else {
    ++order->tally.unmatched;
    if (input.kind == HeapInBEGIN) {
      HeapResize resize = orderResize(input.thread, input.key);
      if (resize != NULL)
        resize->state = HeapResizeUNKNOWN;
    }
  }
}

static void orderHold(HeapOrder order, HeapInput input)
{
  if (order->held == HeapBoundEVENTS) {
    orderExpire(order);
    orderRetry(order);
  }
  order->hold[order->held++] = *input;
  ++*orderFilter(order, orderPlace(input));
  orderRetry(order);
}

void HeapOrderSettle(HeapOrder order)
{
  while (order->held > 0) {
    orderExpire(order);
    orderRetry(order);
  }
}

/* orderMatch -- find the resize that the event ends.  If its begin was lost, what lives at the old address is what was
 * resized. */
static void orderMatch(HeapOrder order, HeapInput input)
{
  HeapResize resize = orderOpen(input->thread, input->pool, input->old);
  HeapInputStruct begin = *input;
  HeapObject object;

  input->key = 0;
  if (resize == NULL) {
    object = HeapTableFind(&input->pool->table, input->old);
    if (object == NULL) {
      ++order->tally.unmatched;
      return;
    }
    begin.addr = input->old;
    orderResizeNew(order, &begin);
    orderBegin(order, &begin, object);
    resize = orderResize(input->thread, begin.key);
  }
  resize->ended = TRUE;
  input->key = resize->key;
}

void HeapOrderEvent(HeapOrder order, HeapInput input)
{
  if (input->time > order->now)
    order->now = input->time;
  while (UNLIKELY(order->held > 0) && order->now - order->hold[0].time > HeapBoundTIME) {
    orderExpire(order);
    orderRetry(order);
  }
  if (input->kind == HeapInBEGIN)
    orderResizeNew(order, input);
  else if (input->kind == HeapInEND)
    orderMatch(order, input);
  if ((order->held > 0 && *orderFilter(order, orderPlace(input)) != 0) || !orderTry(order, input))
    orderHold(order, input);
}

void HeapOrderDestroy(HeapOrder order, HeapPool pool, HeapThread thread, uint64_t time)
{
  HeapObject objects;
  Count i, n = pool->table.count;

  if (time > order->now)
    order->now = time;
  HeapOrderSettle(order);
  if (HeapTableSort(&objects, &pool->table) != ResOK) {
    order->res = ResMEMORY;
    return;
  }
  for (i = 0; i < n; ++i) {
    HeapOperationStruct operation = {.kind = HeapFREE, .destroyed = TRUE, .process = order->process, .time = order->now,
                                     .pool = pool, .thread = thread, .object = &objects[i],
                                     .addr = objects[i].addr, .size = objects[i].size,
                                     .oldAddr = objects[i].addr, .oldSize = objects[i].size};
    order->hook(order->data, &operation);
  }
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
    AVER(*orderFilter(order, orderPlace(&order->hold[i])) > 0);
  return TRUE;
}
