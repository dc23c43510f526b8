/* heapapply.c -- what an event does to the live objects, once it can be true
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heapreorder.h"

#include <string.h>

#include "base/aver.h"
#include "heap/heapstate.h"

static inline void applyGrow(HeapSum sum, uint64_t bytes, uint64_t time)
{
  sum->bytes += bytes;
  if (sum->bytes > sum->peakBytes) {
    sum->peakBytes = sum->bytes;
    sum->peakObjects = sum->objects;
    sum->peakTime = time;
  }
}

/* applySum -- what lives is what has been told */
static inline void applySum(HeapReorder order, HeapOperationKind kind, HeapObject object)
{
  HeapSum sum = &order->sum;

  if (kind == HeapALLOC) {
    ++sum->objects;
    applyGrow(sum, object->size, order->now);
  } else if (kind == HeapFREE) {
    --sum->objects;
    sum->bytes -= object->size;
  } else if (kind == HeapRESIZE) {
    sum->bytes -= order->operation.oldSize;
    applyGrow(sum, object->size, order->now);
  }
}

/* applyTell -- tell the client; what it is told beyond this has been set, and is taken back by the caller */
static inline void applyTell(HeapReorder order, HeapHook hook, HeapOperationKind kind, HeapInput input, HeapObject object)
{
  HeapOperation operation = &order->operation;

  operation->kind = kind;
  operation->time = order->now;
  operation->pool = input->pool;
  operation->thread = input->thread;
  operation->object = object;
  operation->mark = input->mark;
  applySum(order, kind, object);
  hook(order->client.data, operation);
}

static inline uint64_t applySize(HeapInput input)
{
  return LIKELY(input->size <= HeapSizeMAX) ? input->size : HeapSizeMAX;
}

/* Resizes in progress */

/* applyResize -- the resize with this key, or NULL; key 0 is none */
static inline HeapResize applyResize(HeapThread thread, uint64_t key)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (resize->key == key)
      return resize;
  }
  return NULL;
}

/* applyOpen -- the resize of `old` that the thread has begun and, as far as it has come to us, not ended; or NULL */
static inline HeapResize applyOpen(HeapThread thread, HeapPool pool, uint64_t old)
{
  unsigned busy;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (!resize->ended && resize->old == old && resize->pool == pool)
      return resize;
  }
  return NULL;
}

/* applyResizeDone -- its place may be used again */
static inline void applyResizeDone(HeapThread thread, HeapResize resize)
{
  thread->busy &= ~(1u << (resize - thread->resize));
}

Bool HeapActCopy(HeapReorder order, HeapPool pool)
{
  Res res = HeapTableOwn(&pool->table);

  if (res != ResOK)
    order->res = res;
  return res == ResOK;
}

/* HeapActPresume -- tell that an object has gone of which no event says so */
void HeapActPresume(HeapReorder order, HeapInput input, HeapObject object)
{
  order->operation.presumed = TRUE;
  applyTell(order, order->client.free, HeapFREE, input, object);
  order->operation.presumed = FALSE;
}

/* applyPresumeAway -- the same of an object that is being resized, and so not at its address */
static void applyPresumeAway(HeapReorder order, HeapInput input, HeapObject object)
{
  order->operation.beside = TRUE;
  HeapActPresume(order, input, object);
  order->operation.beside = FALSE;
}

/* applyRevive -- the resize will have no end: its object is back, if nothing stands there */
static void applyRevive(HeapReorder order, HeapThread thread, HeapResize resize)
{
  HeapInputStruct input = {.pool = resize->pool, .thread = thread};

  if (resize->state == HeapResizeKNOWN && resize->pool->table.objects == NULL) {
    applyPresumeAway(order, &input, &resize->object); /* its pool has been destroyed meanwhile */
  } else if (resize->state == HeapResizeKNOWN && HeapActOwn(order, resize->pool)) {
    HeapObject object = HeapTableSeek(&resize->pool->table, resize->old);
    ++order->tally.unfinished;
    if (HeapObjectLives(object)) {
      applyPresumeAway(order, &input, &resize->object);
    } else if ((object = HeapTableInsert(&resize->pool->table, object, resize->old)) == NULL) {
      order->res = ResMEMORY;
    } else {
      *object = resize->object;
      applyTell(order, order->client.other, HeapRESIZEFAIL, &input, object);
      HeapReorderChanged(order, resize->old);
    }
  }
  if (resize->ended) /* and its end waits for nothing any longer */
    HeapReorderChanged(order, resize->place);
  applyResizeDone(thread, resize);
}

/* applyOldest -- the thread's oldest resize whose end has not come in, if it is in as many as may be; or the oldest of
 * all, if there is no place left; else NULL */
static HeapResize applyOldest(HeapThread thread)
{
  HeapResize oldest = NULL;
  Count open = 0;
  unsigned busy, all = (1u << HeapResizePLACES) - 1;

  for (busy = thread->busy; busy != 0; busy &= busy - 1) {
    HeapResize resize = &thread->resize[__builtin_ctz(busy)];
    if (resize->ended && thread->busy != all)
      continue;
    ++open;
    if (oldest == NULL || resize->key < oldest->key)
      oldest = resize;
  }
  return open < HeapResizesMAX ? NULL : oldest;
}

/* HeapActOpen -- a resize begins; an open one of the same object has lost its end */
void HeapActOpen(HeapReorder order, HeapInput input)
{
  HeapThread thread = input->thread;
  HeapResize resize = applyOpen(thread, input->pool, input->addr);

  if (UNLIKELY(resize != NULL))
    applyRevive(order, thread, resize);
  if (UNLIKELY(thread->busy != 0 && (resize = applyOldest(thread)) != NULL))
    applyRevive(order, thread, resize);
  resize = &thread->resize[__builtin_ctz(~thread->busy)];
  thread->busy |= 1u << (resize - thread->resize);
  resize->state = HeapResizeHELD;
  resize->ended = FALSE;
  resize->pool = input->pool;
  resize->old = input->addr;
  resize->size = input->size;
  resize->time = input->time;
  resize->key = input->key = ++order->key;
}

void HeapReorderAbandon(HeapReorder order, HeapThread thread)
{
  while (thread->busy != 0)
    applyRevive(order, thread, &thread->resize[__builtin_ctz(thread->busy)]);
}

/* What an event does, once it can be true.  `place` is what HeapTableSeek found for its address. */

/* applyBefore -- what is about to be told as an allocation was there before, if it was told of or has been resized */
static inline void applyBefore(HeapReorder order, HeapInput input)
{
  order->operation.told = input->kind != HeapInALLOC;
  order->operation.resized = input->kind == HeapInEND;
}

/* applyMove -- remember that something has come to the event's address or gone from it (heapreorder.c); who brought what
 * is told to live is not known.  What is held back may depend on what is remembered of another address, which then
 * stays. */
static inline void applyMove(HeapReorder order, HeapInput input)
{
  uint64_t addr = HeapActPlace(input), key = HeapStateAddr(addr, input->pool);
  HeapMove move = &order->move[heapOrderMove(addr)];
  uint32_t thread = input->kind == HeapInLIVE ? UINT32_MAX : (uint32_t)input->thread->number;

  if (!order->several ||
      (UNLIKELY(order->held > 0) && move->key != key && order->bucket[heapOrderBucket(addr)].first != 0 &&
       HeapReorderFresh(order, move)))
    return;
  if (move->key != key)
    *move = (HeapMoveStruct){.key = key};
  else if (move->thread != thread)
    move->other = move->time;
  move->time = order->now;
  move->thread = thread;
}

static inline void applyAlloc(HeapReorder order, HeapInput input, HeapObject place)
{
  HeapObject object = HeapTableInsert(&input->pool->table, place, input->addr);

  if (UNLIKELY(object == NULL)) {
    order->res = ResMEMORY;
    return;
  }
  object->size = applySize(input);
  object->align = input->align & 63;
  object->time = order->now;
  object->thread = (uint32_t)input->thread->number;
  object->client = 0;
  object->told = input->kind == HeapInLIVE;
  object->stale = 0;
  applyBefore(order, input);
  order->operation.zero = input->zero;
  order->operation.site = input->kind == HeapInALLOC ? input->old : 0;
  applyTell(order, order->client.alloc, HeapALLOC, input, object);
  order->operation.told = order->operation.resized = FALSE;
  applyMove(order, input);
  HeapReorderChanged(order, input->addr);
}

static inline void applyFree(HeapReorder order, HeapInput input, HeapObject place)
{
  applyMove(order, input);
  applyTell(order, order->client.free, HeapFREE, input, place);
  HeapTableDelete(&input->pool->table, place);
  HeapReorderChanged(order, input->addr);
}

static void applyBegin(HeapReorder order, HeapInput input, HeapObject place)
{
  HeapResize resize = applyResize(input->thread, input->key);

  if (resize == NULL) { /* pushed out by later ones: more are nested than we keep */
    ++order->tally.unfinished;
    return;
  }
  applyMove(order, input);
  resize->state = HeapResizeKNOWN;
  resize->object = *place;
  applyTell(order, order->client.other, HeapRESIZEBEGIN, input, place);
  place->away = 1;
  HeapReorderChanged(order, input->addr);
  if (resize->ended)
    HeapReorderChanged(order, resize->place);
}

/* applyForget -- the place of an object that is away is not needed any longer */
static void applyForget(HeapPool pool, uint64_t addr)
{
  HeapObject place = HeapTableSeek(&pool->table, addr);

  if (place->addr != 0 && place->away)
    HeapTableDelete(&pool->table, place);
}

static void applyEnd(HeapReorder order, HeapInput input, HeapResize resize, HeapObject place)
{
  HeapObject object;
  Bool known = resize != NULL && resize->state == HeapResizeKNOWN;

  if (resize != NULL)
    applyResizeDone(input->thread, resize);
  if (!known) {
    if (input->addr != 0)
      applyAlloc(order, input, place);
    else
      ++order->tally.failed;
    return;
  }
  applyMove(order, input);
  HeapReorderChanged(order, HeapActPlace(input));
  object = HeapTableInsert(&input->pool->table, place, HeapActPlace(input));
  if (object == NULL) {
    order->res = ResMEMORY;
    return;
  }
  order->operation.oldAddr = resize->object.addr;
  order->operation.oldSize = resize->object.size;
  *object = resize->object;
  object->away = object->told = object->stale = 0;
  if (input->addr == 0) {
    ++order->tally.failed;
    applyTell(order, order->client.other, HeapRESIZEFAIL, input, object);
  } else {
    object->addr = input->addr;
    object->size = applySize(input);
    applyTell(order, order->client.resize, HeapRESIZE, input, object);
    if (input->addr != input->old)
      applyForget(input->pool, input->old);
  }
}

/* applyRetold -- what was told of lives: it is what the event brings, of which another thread told first */
static HeapObject applyRetold(HeapReorder order, HeapInput input, HeapObject place)
{
  order->operation.told = TRUE;
  HeapActPresume(order, input, place);
  order->operation.told = FALSE;
  HeapTableDelete(&input->pool->table, place);
  return HeapTableSeek(&input->pool->table, HeapActPlace(input));
}

/* HeapActTry -- do what the event says if it can be true now */
Bool HeapActTry(HeapReorder order, HeapInput input)
{
  HeapObject place;
  Bool live;

  if (UNLIKELY(!HeapActOwn(order, input->pool)))
    return TRUE; /* nothing can be done with it any more */
  place = HeapTableSeek(&input->pool->table, HeapActPlace(input));
  live = HeapObjectLives(place);
  if (UNLIKELY(live && order->stating && place->told && (input->kind == HeapInALLOC || input->kind == HeapInEND))) {
    place = applyRetold(order, input, place);
    live = FALSE;
  }
  if (input->kind == HeapInALLOC || input->kind == HeapInLIVE) {
    if (UNLIKELY(live))
      return FALSE;
    applyAlloc(order, input, place);
  } else if (UNLIKELY(!live && order->stating && !HeapActBrings(input))) {
    /* Most probably of what has not been told of yet: no use in waiting for its allocation. */
    HeapStateUnmatched(order, input);
    if (input->kind == HeapInBEGIN)
      HeapActUnknown(order, input);
  } else if (input->kind == HeapInFREE) {
    if (UNLIKELY(!live))
      return FALSE;
    applyFree(order, input, place);
  } else if (input->kind == HeapInBEGIN) {
    if (!live)
      return FALSE;
    applyBegin(order, input, place);
  } else {
    HeapResize resize = applyResize(input->thread, input->key);
    AVER_CRITICAL(input->kind == HeapInEND);
    if (resize != NULL && resize->state == HeapResizeHELD)
      return FALSE;
    /* Nothing comes of a failed resize of what was never seen. */
    if (live && (input->addr != 0 || (resize != NULL && resize->state == HeapResizeKNOWN)))
      return FALSE;
    applyEnd(order, input, resize, place);
  }
  return TRUE;
}

void HeapActCome(HeapReorder order, HeapInput input, HeapObject object)
{
  HeapResize resize = input->kind == HeapInEND ? applyResize(input->thread, input->key) : NULL;
  Bool known = resize != NULL && resize->state == HeapResizeKNOWN;

  if (known) {
    *object = resize->object;
    order->operation.oldAddr = object->addr;
    order->operation.oldSize = object->size;
  } else {
    memset(object, 0, sizeof *object);
    object->align = input->align & 63;
    object->time = order->now;
    object->thread = (uint32_t)input->thread->number;
  }
  object->addr = HeapActPlace(input);
  if (input->addr != 0)
    object->size = applySize(input);
  order->operation.zero = input->zero;
  order->operation.site = input->kind == HeapInALLOC ? input->old : 0;
  if (!known) {
    applyBefore(order, input);
    applyTell(order, order->client.alloc, HeapALLOC, input, object);
    order->operation.told = order->operation.resized = FALSE;
  } else if (input->addr != 0) {
    applyTell(order, order->client.resize, HeapRESIZE, input, object);
  } else {
    ++order->tally.failed;
    applyTell(order, order->client.other, HeapRESIZEFAIL, input, object);
  }
  if (resize != NULL)
    applyResizeDone(input->thread, resize);
}

void HeapActPast(HeapReorder order, HeapInput end)
{
  HeapResize resize = applyResize(end->thread, end->key);
  HeapObjectStruct object = {.addr = end->addr, .size = applySize(end), .thread = (uint32_t)end->thread->number};

  if (resize != NULL)
    applyResizeDone(end->thread, resize);
  if (end->addr == 0)
    ++order->tally.failed;
  else
    applyTell(order, order->client.other, HeapRESIZEPAST, end, &object);
}

void HeapActGo(HeapReorder order, HeapInput input, HeapObject object)
{
  HeapResize resize = input->kind == HeapInBEGIN ? applyResize(input->thread, input->key) : NULL;

  if (resize == NULL) {
    applyTell(order, order->client.free, HeapFREE, input, object);
    return;
  }
  resize->state = HeapResizeKNOWN;
  resize->object = *object;
  applyTell(order, order->client.other, HeapRESIZEBEGIN, input, object);
  if (resize->ended)
    HeapReorderChanged(order, resize->place);
}

/* HeapActMatch -- find the resize that the event ends.  If its begin was lost, what lives at the old address is what
 * was resized. */
void HeapActMatch(HeapReorder order, HeapInput input)
{
  HeapResize resize = applyOpen(input->thread, input->pool, input->old);

  input->key = 0;
  if (UNLIKELY(resize == NULL)) {
    HeapInputStruct begin = *input;
    if (!HeapObjectLives(HeapTableSeek(&input->pool->table, input->old))) {
      HeapStateUnmatched(order, input);
      return;
    }
    begin.addr = input->old;
    if (!HeapActOwn(order, input->pool))
      return;
    HeapActOpen(order, &begin); /* which may bring another object back, and so move this one */
    applyBegin(order, &begin, HeapTableSeek(&input->pool->table, input->old));
    resize = applyResize(input->thread, begin.key);
  }
  resize->ended = TRUE;
  resize->place = HeapActPlace(input);
  input->key = resize->key;
}

void HeapActUnknown(HeapReorder order, HeapInput input)
{
  HeapResize resize = applyResize(input->thread, input->key);

  if (resize == NULL)
    return;
  resize->state = HeapResizeUNKNOWN;
  if (resize->ended)
    HeapReorderChanged(order, resize->place);
}

Bool HeapActOrphan(HeapInput input)
{
  HeapResize resize = input->kind == HeapInEND ? applyResize(input->thread, input->key) : NULL;

  return input->kind == HeapInEND && input->key != 0 && (resize == NULL || resize->state == HeapResizeUNKNOWN);
}

Bool HeapActMay(HeapInput come, HeapInput go)
{
  HeapResize resize = come->kind == HeapInEND ? applyResize(come->thread, come->key) : NULL;

  return resize == NULL || resize->state != HeapResizeHELD || (go->kind == HeapInBEGIN && go->key == come->key);
}
