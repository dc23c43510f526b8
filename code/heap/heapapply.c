/* heapapply.c -- changes the live objects as an event says, once the event is consistent with them
 *
 * An event is consistent if an allocation's address is free, and a free's or a resize's old address has an object.  One
 * that is not yet is held back (heapreorder.c) and tried again when the objects at its address change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heapreorder.h"

#include <string.h>

#include "base/aver.h"
#include "heap/heapstatedump.h"

/* applyTell -- call the client's hook with an operation; the caller sets, and afterwards clears, the operation's other
 * members */
static inline void applyTell(HeapReorder order, HeapHook hook, HeapOperationKind kind, HeapInput input,
                             HeapObject object)
{
  HeapOperation operation = &order->operation;

  operation->kind = kind;
  operation->time = order->now;
  operation->pool = input->pool;
  operation->thread = input->thread;
  operation->object = object;
  operation->mark = input->mark;
  HeapSumTell(&order->sum, operation);
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

/* applyOpen -- the resize of `old` that the thread has begun and whose end has not been read yet; or NULL */
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

/* applyResizeDone -- free the resize's place in the thread's table */
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

/* HeapActPresume -- report the free of an object whose free event is missing */
void HeapActPresume(HeapReorder order, HeapInput input, HeapObject object)
{
  order->operation.presumed = TRUE;
  applyTell(order, order->client.free, HeapFREE, input, object);
  order->operation.presumed = FALSE;
}

/* applyPresumeAway -- the same for an object that is being resized, and so is not in the table at its address */
static void applyPresumeAway(HeapReorder order, HeapInput input, HeapObject object)
{
  order->operation.beside = TRUE;
  HeapActPresume(order, input, object);
  order->operation.beside = FALSE;
}

/* applyRevive -- the resize's end is missing: put its object back at the old address, if no other object is there */
static void applyRevive(HeapReorder order, HeapThread thread, HeapResize resize)
{
  HeapInputStruct input = {.pool = resize->pool, .thread = thread};

  if (resize->state == HeapResizeKNOWN && resize->pool->table.objects == NULL) {
    applyPresumeAway(order, &input, &resize->object); /* its pool was destroyed meanwhile */
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
  if (resize->ended) /* the end was held back for this resize: try it again */
    HeapReorderChanged(order, resize->place);
  applyResizeDone(thread, resize);
}

/* applyOldest -- the resize to give up before the thread begins another one: its oldest whose end has not been read, if
 * HeapResizesMAX are open; its oldest of all, if no place is left; else NULL */
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

/* HeapActOpen -- a resize begins.  If one of the same object is open, the end of that one is missing. */
void HeapActOpen(HeapReorder order, HeapInput input)
{
  HeapThread thread = input->thread;
  HeapResize resize = applyOpen(thread, input->pool, input->addr);

  if (UNLIKELY(resize != NULL))
    applyRevive(order, thread, resize);
  if (UNLIKELY(thread->busy != 0 && (resize = applyOldest(thread)) != NULL))
    applyRevive(order, thread, resize);
  AVER_CRITICAL(thread->busy != (1u << HeapResizePLACES) - 1);
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

/* What a consistent event does.  `place` is the result of HeapTableSeek for its address. */

/* applyMove -- remember the last change at the event's address, and the thread that made it (heapreorder.c; for an
 * object from a state dump the thread is not known).  Two addresses may share an entry: it is kept if an event that is
 * held back may still need it for the other address. */
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

/* applyNew -- fill in a new object, whose address is set, and report it.  If the event is of a state dump, or ends a
 * resize, the object is older than the event. */
static inline void applyNew(HeapReorder order, HeapInput input, HeapObject object)
{
  object->size = applySize(input);
  object->align = input->align & 63;
  object->time = order->now;
  object->thread = (uint32_t)input->thread->number;
  object->client = 0;
  object->told = input->kind == HeapInLIVE;
  object->stale = 0;
  order->operation.told = input->kind != HeapInALLOC;
  order->operation.resized = input->kind == HeapInEND;
  order->operation.zero = input->zero;
  order->operation.site = input->site;
  applyTell(order, order->client.alloc, HeapALLOC, input, object);
  order->operation.told = order->operation.resized = FALSE;
}

/* applyResized -- fill in an object whose resize ends, and report that */
static void applyResized(HeapReorder order, HeapInput input, HeapResize resize, HeapObject object)
{
  order->operation.oldAddr = resize->object.addr;
  order->operation.oldSize = resize->object.size;
  *object = resize->object;
  object->away = object->told = object->stale = 0;
  object->addr = HeapActPlace(input);
  if (input->addr == 0) {
    ++order->tally.failed;
    applyTell(order, order->client.other, HeapRESIZEFAIL, input, object);
  } else {
    object->size = applySize(input);
    order->operation.site = input->site;
    applyTell(order, order->client.resize, HeapRESIZE, input, object);
  }
}

static inline void applyAlloc(HeapReorder order, HeapInput input, HeapObject place)
{
  HeapObject object = HeapTableInsert(&input->pool->table, place, input->addr);

  if (UNLIKELY(object == NULL)) {
    order->res = ResMEMORY;
    return;
  }
  applyNew(order, input, object);
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

  if (resize == NULL) { /* later resizes took its place: more are nested than the table holds */
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

/* applyForget -- delete the entry at the old address of an object that a resize moved */
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
  applyResized(order, input, resize, object);
  if (input->addr != 0 && input->addr != input->old)
    applyForget(input->pool, input->old);
}

/* applyRetold -- an object of the state dump is live at the address of an allocation: it is this allocation's object,
 * which another thread contributed to the dump before this thread emitted the event.  Take the dump's object away. */
static HeapObject applyRetold(HeapReorder order, HeapInput input, HeapObject place)
{
  order->operation.told = TRUE;
  HeapActPresume(order, input, place);
  order->operation.told = FALSE;
  HeapTableDelete(&input->pool->table, place);
  HeapReorderDue(order, HeapActPlace(input));
  return HeapTableSeek(&input->pool->table, HeapActPlace(input));
}

/* HeapActTry -- apply the event if it is consistent with the live objects; FALSE: it is not, hold it back */
Bool HeapActTry(HeapReorder order, HeapInput input)
{
  HeapObject place;
  Bool live;

  if (UNLIKELY(!HeapActOwn(order, input->pool)))
    return TRUE; /* no memory: the event is dropped, order->res says so */
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
    /* Most probably the state dump has not come to this object yet: do not wait for its allocation. */
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
    /* A failed resize of an unknown object changes nothing, whatever is at the address. */
    if (live && (input->addr != 0 || (resize != NULL && resize->state == HeapResizeKNOWN)))
      return FALSE;
    applyEnd(order, input, resize, place);
  }
  return TRUE;
}

void HeapActCome(HeapReorder order, HeapInput input, HeapObject object)
{
  HeapResize resize = input->kind == HeapInEND ? applyResize(input->thread, input->key) : NULL;
  HeapInputStruct come = *input;

  if (resize != NULL && resize->state == HeapResizeKNOWN) {
    applyResized(order, input, resize, object);
  } else {
    *object = (HeapObjectStruct){.addr = HeapActPlace(input)};
    come.size = input->addr != 0 ? input->size : 0;
    applyNew(order, &come, object);
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

/* HeapActMatch -- find the resize that the event ends.  If the begin event is missing, the object that is live at the
 * old address was resized. */
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
    HeapActOpen(order, &begin); /* may put another object back into the table, and so move this one: seek again */
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
