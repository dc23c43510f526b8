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

void HeapOrderInit(HeapOrder order, Index process, HeapClient client)
{
  memset(order, 0, sizeof *order);
  order->operation.process = process;
  order->client = *client;
}

/* orderTell -- tell the client; what it is told beyond this has been set, and is taken back by the caller */
static inline void orderTell(HeapOrder order, HeapHook hook, HeapOperationKind kind, HeapInput input, HeapObject object)
{
  HeapOperation operation = &order->operation;

  operation->kind = kind;
  operation->time = order->now;
  operation->pool = input->pool;
  operation->thread = input->thread;
  operation->object = object;
  hook(order->client.data, operation);
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

static inline uint64_t orderSize(HeapInput input)
{
  return LIKELY(input->size <= HeapSizeMAX) ? input->size : HeapSizeMAX;
}

/* Resizes in progress */

/* orderResize -- the resize with this key, or NULL; key 0 is none */
static inline HeapResize orderResize(HeapThread thread, uint64_t key)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (resize->key == key)
      return resize;
  }
  return NULL;
}

/* orderOpen -- the resize of `old` that the thread has begun and, as far as it has come to us, not ended; or NULL */
static inline HeapResize orderOpen(HeapThread thread, HeapPool pool, uint64_t old)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (!resize->ended && resize->old == old && resize->pool == pool)
      return resize;
  }
  return NULL;
}

/* orderResizeDone -- its place may be used again */
static inline void orderResizeDone(HeapThread thread, HeapResize resize)
{
  thread->busy &= ~(1u << (resize - thread->resize));
}

/* orderPresume -- tell that an object has gone of which no event says so */
static void orderPresume(HeapOrder order, HeapInput input, HeapObject object)
{
  order->operation.presumed = TRUE;
  orderTell(order, order->client.free, HeapFREE, input, object);
  order->operation.presumed = FALSE;
}

/* orderPresumeAway -- the same of an object that is being resized, and so not at its address */
static void orderPresumeAway(HeapOrder order, HeapInput input, HeapObject object)
{
  order->operation.beside = TRUE;
  orderPresume(order, input, object);
  order->operation.beside = FALSE;
}

/* orderRevive -- the resize will have no end: its object is back, if nothing stands there */
static void orderRevive(HeapOrder order, HeapThread thread, HeapResize resize)
{
  HeapInputStruct input = {.pool = resize->pool, .thread = thread};

  if (resize->state == HeapResizeKNOWN && resize->pool->table.objects == NULL) {
    orderPresumeAway(order, &input, &resize->object); /* its pool has been destroyed meanwhile */
  } else if (resize->state == HeapResizeKNOWN) {
    HeapObject object = HeapTableSeek(&resize->pool->table, resize->old);
    ++order->tally.unfinished;
    if (HeapObjectLives(object)) {
      ++order->tally.overlaps;
      orderPresumeAway(order, &input, &resize->object);
    } else if ((object = HeapTableInsert(&resize->pool->table, object, resize->old)) == NULL) {
      order->res = ResMEMORY;
    } else {
      *object = resize->object;
      orderTell(order, order->client.other, HeapRESIZEFAIL, &input, object);
    }
  }
  orderResizeDone(thread, resize);
}

/* orderOldest -- the place of the thread's oldest resize */
static Index orderOldest(HeapThread thread)
{
  Index i, oldest = 0;

  for (i = 1; i < HeapResizesMAX; ++i) {
    if (thread->resize[i].key < thread->resize[oldest].key)
      oldest = i;
  }
  return oldest;
}

/* orderResizeNew -- a resize begins; an open one of the same object has lost its end */
static void orderResizeNew(HeapOrder order, HeapInput input)
{
  HeapThread thread = input->thread;
  HeapResize resize = orderOpen(thread, input->pool, input->addr);

  if (UNLIKELY(resize != NULL))
    orderRevive(order, thread, resize);
  if (UNLIKELY(thread->busy == (1u << HeapResizesMAX) - 1))
    orderRevive(order, thread, &thread->resize[orderOldest(thread)]);
  resize = &thread->resize[__builtin_ctz(~thread->busy)];
  thread->busy |= 1u << (resize - thread->resize);
  resize->state = HeapResizeHELD;
  resize->ended = FALSE;
  resize->pool = input->pool;
  resize->old = input->addr;
  resize->key = input->key = ++order->key;
}

void HeapOrderAbandon(HeapOrder order, HeapThread thread)
{
  while (thread->busy != 0)
    orderRevive(order, thread, &thread->resize[__builtin_ctz(thread->busy)]);
}

/* What an event does, once it can be true.  `place` is what HeapTableSeek found for its address. */

static inline void orderAlloc(HeapOrder order, HeapInput input, HeapObject place)
{
  HeapObject object = HeapTableInsert(&input->pool->table, place, input->addr);

  if (UNLIKELY(object == NULL)) {
    order->res = ResMEMORY;
    return;
  }
  object->size = orderSize(input);
  object->align = input->align & 63;
  object->time = order->now;
  object->thread = (uint32_t)input->thread->number;
  object->client = 0;
  order->operation.zero = input->zero;
  orderTell(order, order->client.alloc, HeapALLOC, input, object);
}

/* orderCross -- remember that a thread took away what another had allocated; it may have been something else (orderExpire) */
static inline void orderCross(HeapOrder order, HeapInput input, HeapObject object)
{
  if (UNLIKELY(object->thread != (uint32_t)input->thread->number)) {
    Index i = order->crossings++ % HeapCrossingsMAX;
    order->crossing[i].addr = input->addr;
    order->crossing[i].pool = input->pool;
    order->crossing[i].time = order->now;
  }
}

static inline void orderFree(HeapOrder order, HeapInput input, HeapObject place)
{
  orderCross(order, input, place);
  orderTell(order, order->client.free, HeapFREE, input, place);
  HeapTableDelete(&input->pool->table, place);
}

static void orderBegin(HeapOrder order, HeapInput input, HeapObject place)
{
  HeapResize resize = orderResize(input->thread, input->key);

  if (resize == NULL) { /* pushed out by later ones: more are nested than we keep */
    ++order->tally.unfinished;
    return;
  }
  orderCross(order, input, place);
  resize->state = HeapResizeKNOWN;
  resize->object = *place;
  orderTell(order, order->client.other, HeapRESIZEBEGIN, input, place);
  place->away = 1;
}

/* orderForget -- the place of an object that is away is not needed any longer */
static void orderForget(HeapPool pool, uint64_t addr)
{
  HeapObject place = HeapTableSeek(&pool->table, addr);

  if (place->addr != 0 && place->away)
    HeapTableDelete(&pool->table, place);
}

static void orderEnd(HeapOrder order, HeapInput input, HeapResize resize, HeapObject place)
{
  HeapObject object;

  Bool known = resize != NULL && resize->state == HeapResizeKNOWN;

  if (resize != NULL)
    orderResizeDone(input->thread, resize);
  if (!known) {
    if (input->addr != 0)
      orderAlloc(order, input, place);
    return;
  }
  object = HeapTableInsert(&input->pool->table, place, orderPlace(input));
  if (object == NULL) {
    order->res = ResMEMORY;
    return;
  }
  order->operation.oldAddr = resize->object.addr;
  order->operation.oldSize = resize->object.size;
  *object = resize->object;
  object->away = 0;
  if (input->addr == 0) {
    ++order->tally.failed;
    orderTell(order, order->client.other, HeapRESIZEFAIL, input, object);
  } else {
    object->addr = input->addr;
    object->size = orderSize(input);
    orderTell(order, order->client.resize, HeapRESIZE, input, object);
    if (input->addr != input->old)
      orderForget(input->pool, input->old);
  }
}

/* orderTry -- do what the event says if it can be true now */
static inline Bool orderTry(HeapOrder order, HeapInput input)
{
  HeapObject place = HeapTableSeek(&input->pool->table, orderPlace(input));
  Bool live = HeapObjectLives(place);

  if (input->kind == HeapInALLOC) {
    if (UNLIKELY(live))
      return FALSE;
    orderAlloc(order, input, place);
  } else if (input->kind == HeapInFREE) {
    if (UNLIKELY(!live))
      return FALSE;
    orderFree(order, input, place);
  } else if (input->kind == HeapInBEGIN) {
    if (!live)
      return FALSE;
    orderBegin(order, input, place);
  } else {
    HeapResize resize = orderResize(input->thread, input->key);
    AVER_CRITICAL(input->kind == HeapInEND);
    if (resize != NULL && resize->state == HeapResizeHELD)
      return FALSE;
    /* Nothing comes of a failed resize of what was never seen. */
    if (live && (input->addr != 0 || (resize != NULL && resize->state == HeapResizeKNOWN)))
      return FALSE;
    orderEnd(order, input, resize, place);
  }
  return TRUE;
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

/* orderRetry -- do what of the held can be done, oldest first, until nothing more can
 * fresh  the newest has only just arrived: if it is done now it has not been put behind anything */
static void orderRetry(HeapOrder order, Bool fresh)
{
  Index i = 0;

  while (i < order->held) {
    HeapInputStruct input = order->hold[i];
    if (orderFirst(order, i) && orderTry(order, &input)) {
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

static inline Bool orderBrings(HeapInput input)
{
  return input->kind == HeapInALLOC || input->kind == HeapInEND;
}

/* orderNext -- the place in `hold` of the next event of hold[0]'s thread on its address if one of the two brings an object and
 * the other takes it away; or 0 */
static Index orderNext(HeapOrder order)
{
  HeapInput first = &order->hold[0];
  Index i;

  for (i = 1; i < order->held; ++i) {
    HeapInput input = &order->hold[i];
    if (input->thread == first->thread && input->pool == first->pool && orderPlace(input) == orderPlace(first))
      return orderBrings(input) != orderBrings(first) ? i : 0;
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

/* orderBesideCome, orderBesideGo -- tell of an object that is at its address no longer; it is in no table */

static void orderBesideCome(HeapOrder order, HeapInput input, HeapObject object)
{
  HeapResize resize = input->kind == HeapInEND ? orderResize(input->thread, input->key) : NULL;

  if (resize == NULL || resize->state != HeapResizeKNOWN) {
    memset(object, 0, sizeof *object);
    object->align = input->align & 63;
    object->time = order->now;
    object->thread = (uint32_t)input->thread->number;
  } else {
    *object = resize->object;
    order->operation.oldAddr = object->addr;
    order->operation.oldSize = object->size;
  }
  object->addr = orderPlace(input);
  if (input->addr != 0)
    object->size = orderSize(input);
  order->operation.zero = input->zero;
  if (resize == NULL || resize->state != HeapResizeKNOWN)
    orderTell(order, order->client.alloc, HeapALLOC, input, object);
  else if (input->addr != 0)
    orderTell(order, order->client.resize, HeapRESIZE, input, object);
  else
    orderTell(order, order->client.other, HeapRESIZEFAIL, input, object);
  if (resize != NULL)
    orderResizeDone(input->thread, resize);
}

static void orderBesideGo(HeapOrder order, HeapInput input, HeapObject object)
{
  HeapResize resize = input->kind == HeapInBEGIN ? orderResize(input->thread, input->key) : NULL;

  if (resize == NULL) {
    orderTell(order, order->client.free, HeapFREE, input, object);
    return;
  }
  resize->state = HeapResizeKNOWN;
  resize->object = *object;
  orderTell(order, order->client.other, HeapRESIZEBEGIN, input, object);
}

/* orderBeside -- tell of an object that hold[come] brings and hold[go] takes away */
static void orderBeside(HeapOrder order, Index come, Index go)
{
  HeapObjectStruct object;

  order->operation.beside = TRUE;
  orderBesideCome(order, &order->hold[come], &object);
  orderBesideGo(order, &order->hold[go], &object);
  order->operation.beside = FALSE;
  orderUnhold(order, come > go ? come : go);
  orderUnhold(order, come > go ? go : come);
  ++order->tally.repairs;
}

/* orderPresumeBring -- an object is brought to an address where another lives: that one has gone unseen */
static void orderPresumeBring(HeapOrder order, HeapInput input, HeapObject place)
{
  if (HeapObjectLives(place)) {
    ++order->tally.overlaps;
    orderPresume(order, input, place);
    HeapTableDelete(&input->pool->table, place);
  }
  if (!orderTry(order, input))
    NOTREACHED;
}

/* orderExpire -- the oldest held event will not come true as it stands
 *
 * If its thread then takes away what it brings, that was before the object came which lives there now.  If it takes away what
 * nobody brought, and then brings something, and another thread has taken what lived there, then that was what is brought here.
 * Else something is missing in the log. */
static void orderExpire(HeapOrder order)
{
  HeapInputStruct input = order->hold[0];
  HeapObject place = HeapTableSeek(&input.pool->table, orderPlace(&input));
  Index next = orderNext(order);

  if (orderBrings(&input)) {
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
    orderRetry(order, FALSE);
  }
  order->hold[order->held++] = *input;
  ++*orderFilter(order, orderPlace(input));
  orderRetry(order, TRUE);
}

void HeapOrderSettle(HeapOrder order)
{
  while (order->held > 0) {
    orderExpire(order);
    orderRetry(order, FALSE);
  }
}

/* orderMatch -- find the resize that the event ends.  If its begin was lost, what lives at the old address is what was
 * resized. */
static void orderMatch(HeapOrder order, HeapInput input)
{
  HeapResize resize = orderOpen(input->thread, input->pool, input->old);

  input->key = 0;
  if (UNLIKELY(resize == NULL)) {
    HeapInputStruct begin = *input;
    HeapObject object = HeapTableSeek(&input->pool->table, input->old);
    if (!HeapObjectLives(object)) {
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
    orderRetry(order, FALSE);
  }
  if (input->kind >= HeapInBEGIN) {
    if (input->kind == HeapInBEGIN)
      orderResizeNew(order, input);
    else
      orderMatch(order, input);
  }
  if ((UNLIKELY(order->held > 0) && *orderFilter(order, orderPlace(input)) != 0) || !orderTry(order, input))
    orderHold(order, input);
}

void HeapOrderDestroy(HeapOrder order, HeapPool pool, HeapThread thread, uint64_t time)
{
  HeapInputStruct input = {.pool = pool, .thread = thread};
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
    orderTell(order, order->client.free, HeapFREE, &input, &objects[i]);
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
    AVER(*orderFilter(order, orderPlace(&order->hold[i])) > 0);
  return TRUE;
}
