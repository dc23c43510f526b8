/* heapreorder.c -- the live objects of one process, and the repair of order between its threads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The usual event costs one look-up.  An event that cannot be true yet goes to `hold`.  Whenever an event changes
 * something at an address with held events, the first one of each thread there is tried again, oldest first, and no
 * others.  One that comes to the end of a queue changes nothing, and nothing is tried.
 */
#include "heap/heapreorder.h"

#include <string.h>
#include <stdlib.h>

#include "base/aver.h"
#include "heap/heapfork.h"
#include "heap/heapstatedump.h"
#include "log/scatter.h"

#define reorderNOW UINT64_MAX

void HeapReorderInit(HeapReorder order, Index process, HeapClient client)
{
  memset(order, 0, sizeof *order);
  order->operation.process = process;
  order->client = *client;
}

/* Holding back */

static inline HeapHold reorderAt(HeapReorder order, Index place)
{
  return &order->hold[place - 1];
}

/* reorderSame -- are both events of one thread, on one address? */
static inline Bool reorderSame(HeapInput a, HeapInput b)
{
  return a->thread == b->thread && a->pool == b->pool && HeapActPlace(a) == HeapActPlace(b);
}

/* reorderQueue -- what leads to the first event of the input's queue; or is 0, where that would be */
static uint16_t *reorderQueue(HeapReorder order, HeapInput input)
{
  uint64_t key = HeapStateAddr(HeapActPlace(input), input->pool);
  uint64_t more = ScatterMore(ScatterMore(0, key), input->thread->number);
  uint16_t *first;

  for (first = &order->queue[more % HeapBuckets]; *first != 0 && !reorderSame(&reorderAt(order, *first)->input, input);
       first = &reorderAt(order, *first)->beside)
    ;
  return first;
}

/* reorderFirst -- the event at `place` is now the first of its queue: put it into the list of its bucket, by arrival.
 * It has not been tried as such. */
static void reorderFirst(HeapReorder order, Index place)
{
  HeapHold hold = reorderAt(order, place);
  Index i = heapOrderBucket(HeapActPlace(&hold->input));

  hold->before = order->bucket[i].last;
  hold->after = 0;
  while (hold->before != 0 && reorderAt(order, hold->before)->arrival > hold->arrival) {
    hold->after = hold->before;
    hold->before = reorderAt(order, hold->before)->before;
  }
  *(hold->before != 0 ? &reorderAt(order, hold->before)->after : &order->bucket[i].first) = (uint16_t)place;
  *(hold->after != 0 ? &reorderAt(order, hold->after)->before : &order->bucket[i].last) = (uint16_t)place;
  hold->due = 1;
  ++order->bucket[i].due;
}

/* reorderPlace -- a free place for a held event; the caller knows that there is one */
static Index reorderPlace(HeapReorder order)
{
  Index place = order->unused;

  AVER(order->held < HeapBoundEVENTS);
  if (place == 0)
    return ++order->used;
  order->unused = reorderAt(order, place)->newer;
  return place;
}

Index HeapReorderHeld(HeapReorder order, HeapInput input)
{
  Index place = reorderPlace(order);
  HeapHold hold = reorderAt(order, place);
  uint16_t *first = reorderQueue(order, input);

  AVER(input->pool != NULL && input->thread != NULL && input->kind <= HeapInLIVE);
  *hold = (HeapHoldStruct){.input = *input, .arrival = ++order->arrivals, .older = order->newest};
  *(hold->older != 0 ? &reorderAt(order, hold->older)->newer : &order->oldest) = (uint16_t)place;
  order->newest = (uint16_t)place;
  if (*first == 0) {
    *first = hold->last = (uint16_t)place;
    reorderFirst(order, place);
  } else {
    reorderAt(order, reorderAt(order, *first)->last)->next = (uint16_t)place;
    reorderAt(order, *first)->last = (uint16_t)place;
  }
  ++order->held;
  return place;
}

/* reorderTried -- the first event of a queue is not due any more */
static void reorderTried(HeapReorder order, HeapHold hold)
{
  order->bucket[heapOrderBucket(HeapActPlace(&hold->input))].due -= hold->due;
  hold->due = 0;
}

/* reorderUnhold -- the event at `place`, the first of its queue, is not held any more */
static void reorderUnhold(HeapReorder order, Index place)
{
  HeapHold hold = reorderAt(order, place);
  Index i = heapOrderBucket(HeapActPlace(&hold->input));
  uint16_t *first = reorderQueue(order, &hold->input);

  AVER(*first == place);
  reorderTried(order, hold);
  *(hold->older != 0 ? &reorderAt(order, hold->older)->newer : &order->oldest) = hold->newer;
  *(hold->newer != 0 ? &reorderAt(order, hold->newer)->older : &order->newest) = hold->older;
  *(hold->before != 0 ? &reorderAt(order, hold->before)->after : &order->bucket[i].first) = hold->after;
  *(hold->after != 0 ? &reorderAt(order, hold->after)->before : &order->bucket[i].last) = hold->before;
  *first = hold->next != 0 ? hold->next : hold->beside;
  if (hold->next != 0) {
    reorderAt(order, hold->next)->last = hold->last;
    reorderAt(order, hold->next)->beside = hold->beside;
    reorderFirst(order, hold->next);
  }
  hold->newer = order->unused;
  order->unused = (uint16_t)place;
  --order->held;
}

void HeapReorderDue(HeapReorder order, uint64_t addr)
{
  Index i = heapOrderBucket(addr), place;

  for (place = order->bucket[i].first; place != 0; place = reorderAt(order, place)->after) {
    HeapHold hold = reorderAt(order, place);
    if (hold->due == 0 && HeapActPlace(&hold->input) == addr) {
      hold->due = 1;
      ++order->bucket[i].due;
    }
  }
}

void HeapReorderAgain(HeapReorder order, uint64_t addr)
{
  Index i = heapOrderBucket(addr);

  if (order->bucket[i].due != 0)
    order->dirty[i / 64] |= (uint64_t)1 << i % 64;
}

/* reorderTry -- apply the oldest of the bucket's due events that can be true now; FALSE: none can
 * newest  the arrival that made it possible: an older event counts as a repair, unless it waited for one that was given
 *         up */
static Bool reorderTry(HeapReorder order, Index bucket, uint64_t newest)
{
  Index place = order->bucket[bucket].first;

  for (; place != 0 && order->bucket[bucket].due != 0; place = reorderAt(order, place)->after) {
    HeapInputStruct input;
    Bool orphan;
    if (reorderAt(order, place)->due == 0)
      continue;
    input = reorderAt(order, place)->input;
    orphan = HeapActOrphan(&input); /* that event waited only for its begin to be given up */
    reorderTried(order, reorderAt(order, place));
    if (HeapActTry(order, &input)) {
      order->tally.repairs += reorderAt(order, place)->arrival < newest && !orphan;
      reorderUnhold(order, place);
      return TRUE;
    }
  }
  return FALSE;
}

/* reorderDirty -- of the buckets with a change since they were tried last, the one with the oldest held event;
 * HeapBuckets: none */
static Index reorderDirty(HeapReorder order)
{
  Index i, found = HeapBuckets;
  uint64_t oldest = reorderNOW;

  for (i = 0; i < ARRAY_LENGTH(order->dirty); ++i) {
    uint64_t dirty;
    for (dirty = order->dirty[i]; dirty != 0; dirty &= dirty - 1) {
      Index bucket = i * 64 + (Index)__builtin_ctzll(dirty), place = order->bucket[bucket].first;
      if (place == 0) {
        order->dirty[i] &= ~(dirty & -dirty);
      } else if (reorderAt(order, place)->arrival < oldest) {
        oldest = reorderAt(order, place)->arrival;
        found = bucket;
      }
    }
  }
  return found;
}

/* reorderRetry -- do what of the held can be done where something has changed, as far as can be in the order in which
 * it came in: a thread may have done much since
 * newest  the arrival that has changed it; reorderNOW: one that was not held; 0: what has been given up */
static void reorderRetry(HeapReorder order, uint64_t newest)
{
  Index bucket;

  while ((bucket = reorderDirty(order)) != HeapBuckets) {
    if (!reorderTry(order, bucket, newest))
      order->dirty[bucket / 64] &= ~((uint64_t)1 << bucket % 64);
  }
}

/* reorderNext -- the place of the next event of the oldest one's thread on its address if one of the two brings an
 * object and the other takes it away; or 0 */
static Index reorderNext(HeapReorder order)
{
  HeapHold first = reorderAt(order, order->oldest);

  return first->next != 0 && HeapActBrings(&reorderAt(order, first->next)->input) != HeapActBrings(&first->input)
             ? first->next : 0;
}

/* reorderMoved -- has another thread changed the event's address, perhaps after `next` though its event was read
 * before?  What the event's own thread did before it cannot have come after it. */
static Bool reorderMoved(HeapReorder order, HeapInput input, HeapInput next)
{
  HeapMove move = &order->move[heapOrderMove(HeapActPlace(input))];
  uint64_t other = move->thread != (uint32_t)input->thread->number ? move->time : move->other;

  return move->key == HeapStateAddr(HeapActPlace(input), input->pool) && other != 0 &&
         other + HeapBoundTIME >= next->time;
}

/* reorderBeside -- tell of an object that the event at `come` brings and that at `go` takes away; or of a resize in
 * place, of what has been told gone already.  The two are the first of their queue. */
static void reorderBeside(HeapReorder order, Index come, Index go)
{
  HeapInputStruct comes = reorderAt(order, come)->input, goes = reorderAt(order, go)->input;
  HeapObjectStruct object;
  Index first = order->oldest;

  reorderUnhold(order, first);
  reorderUnhold(order, first == come ? go : come);
  order->operation.beside = TRUE;
  if (goes.kind == HeapInBEGIN && comes.kind == HeapInEND && goes.key == comes.key) {
    HeapActPast(order, &comes);
  } else {
    HeapActCome(order, &comes, &object);
    HeapActGo(order, &goes, &object);
  }
  order->operation.beside = FALSE;
  HeapReorderAgain(order, HeapActPlace(&comes)); /* the next event of this thread on this address is now its first */
  ++order->tally.repairs;
}

/* reorderPresumeBring -- the event brings an object to an address where another lives: presume that one's free */
static void reorderPresumeBring(HeapReorder order, HeapInput input)
{
  HeapObject place;

  if (!HeapActOwn(order, input->pool))
    return;
  place = HeapTableSeek(&input->pool->table, HeapActPlace(input));
  if (HeapObjectLives(place)) {
    if (!place->told && !place->stale)
      ++order->tally.overlaps;
    HeapActPresume(order, input, place);
    HeapTableDelete(&input->pool->table, place);
    HeapReorderDue(order, HeapActPlace(input));
  }
  if (!HeapActTry(order, input))
    NOTREACHED;
}

/* reorderGiveUp -- an event is missing in the log, so this one, which is not held any more, stays inconsistent:
 * presume what makes it consistent */
static void reorderGiveUp(HeapReorder order, HeapInput input)
{
  if (HeapActBrings(input)) {
    reorderPresumeBring(order, input);
  } else {
    HeapStateUnmatched(order, input);
    if (input->kind == HeapInBEGIN)
      HeapActUnknown(order, input);
    HeapReorderAgain(order, input->addr); /* nothing has changed there, but another event of the thread may be its first */
  }
}

/* reorderExpire -- the oldest held event will not come true as it stands
 *
 * If its thread then takes away what it brings, that may have been before another thread brought what lives there now;
 * if it takes away what nobody brought, and then brings something, before another thread took what lived there: that
 * was what is brought here. Else something is missing in the log. */
static void reorderExpire(HeapReorder order)
{
  HeapInputStruct input = reorderAt(order, order->oldest)->input;
  uint64_t arrival = reorderAt(order, order->oldest)->arrival;
  Bool brings = HeapActBrings(&input);
  Bool lives = HeapObjectLives(HeapTableSeek(&input.pool->table, HeapActPlace(&input)));
  Index next = reorderNext(order), come = brings ? order->oldest : next, go = brings ? next : order->oldest;

  if (next != 0 && lives == brings && reorderMoved(order, &input, &reorderAt(order, next)->input) &&
      HeapActMay(&reorderAt(order, come)->input, &reorderAt(order, go)->input)) {
    reorderBeside(order, come, go);
  } else {
    reorderUnhold(order, order->oldest);
    reorderGiveUp(order, &input);
  }
  reorderRetry(order, arrival);
}

/* reorderHold -- hold the event back; `tried`: it was found inconsistent, else it is tried later */
static void reorderHold(HeapReorder order, HeapInput input, Bool tried)
{
  Index place;

  if (order->held == HeapBoundEVENTS)
    reorderExpire(order);
  place = HeapReorderHeld(order, input);
  if (!tried)
    HeapReorderAgain(order, HeapActPlace(input));
  reorderRetry(order, reorderAt(order, place)->arrival);
}

void HeapReorderSettle(HeapReorder order)
{
  while (order->held > 0)
    reorderExpire(order);
  AVER(order->oldest == 0 && order->newest == 0);
}

void HeapReorderFinish(HeapReorder order)
{
  if (order->stating)
    HeapTableFinish(&order->gone);
  if (order->windowed)
    HeapTableFinish(&order->window);
  order->stating = order->windowed = FALSE;
}

/* reorderCannot -- the event is inconsistent now: hold it back if another thread's event may make it consistent */
static void reorderCannot(HeapReorder order, HeapInput input)
{
  if (UNLIKELY(order->windowed) && (HeapActBrings(input) ? HeapForkGone(order, input) : HeapForkCome(order, input)) &&
      HeapActTry(order, input))
    return;
  if (order->several)
    reorderHold(order, input, TRUE);
  else
    reorderGiveUp(order, input);
}

/* reorderTold -- a state dump lists an object */
static void reorderTold(HeapReorder order, HeapInput input)
{
  if (!HeapStateLive(order, input))
    return;
  if (!HeapActTry(order, input))
    NOTREACHED;
  reorderRetry(order, reorderNOW);
}

void HeapReorderUntil(HeapReorder order, uint64_t time)
{
  if (time > order->now)
    order->now = time;
  while (UNLIKELY(order->held > 0) && order->now - reorderAt(order, order->oldest)->input.time > HeapBoundTIME)
    reorderExpire(order);
}

/* reorderRoom -- keep a place free for one more resize of the thread: held events may need all others */
static void reorderRoom(HeapReorder order, HeapThread thread)
{
  while (UNLIKELY(thread->busy == (1u << HeapResizePLACES) - 1 && order->held > 0))
    reorderExpire(order);
}

void HeapReorderEvent(HeapReorder order, HeapInput input)
{
  HeapReorderUntil(order, input->time);
  if (UNLIKELY(input->kind == HeapInLIVE)) {
    reorderTold(order, input);
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
    reorderRoom(order, input->thread);
    if (input->kind == HeapInBEGIN)
      HeapActOpen(order, input);
    else
      HeapActMatch(order, input);
    if (UNLIKELY(order->held > 0))
      reorderRetry(order, 0); /* events that are applied because another resize was given up do not count as repairs by
                                 this event */
  }
  if (UNLIKELY(order->held > 0) && order->bucket[heapOrderBucket(HeapActPlace(input))].first != 0)
    reorderHold(order, input, FALSE);
  else if (UNLIKELY(!HeapActTry(order, input)))
    reorderCannot(order, input);
  else if (UNLIKELY(order->held > 0))
    reorderRetry(order, reorderNOW);
}

void HeapReorderDestroy(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time)
{
  HeapInputStruct input = {.pool = pool, .thread = thread, .kind = HeapInFREE};
  HeapObject objects;
  Count i, n;

  AVER(pool != NULL && thread != NULL);
  if (time > order->now)
    order->now = time;
  HeapReorderSettle(order);
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

/* reorderQueueCheck -- check the queue that begins at `place`.  Returns how many events it has; if it is broken, more
 * than may be held (HeapBoundEVENTS + 1). */
static Count reorderQueueCheck(HeapReorder order, Index place)
{
  HeapHold first = reorderAt(order, place);
  Index last = place;
  Count n = 1;

  if (*reorderQueue(order, &first->input) != place || first->due > 1)
    return HeapBoundEVENTS + 1;
  for (place = first->next; place != 0; place = reorderAt(order, place)->next) {
    HeapHold hold = reorderAt(order, place);
    if (!reorderSame(&hold->input, &first->input) || hold->arrival <= reorderAt(order, last)->arrival ||
        ++n > order->held)
      return HeapBoundEVENTS + 1;
    last = place;
  }
  return last == first->last ? n : HeapBoundEVENTS + 1;
}

/* reorderListCheck -- check all queues of a bucket.  Returns how many events they have, or HeapBoundEVENTS + 1. */
static Count reorderListCheck(HeapReorder order, Index bucket)
{
  Index place, last = 0;
  Count n = 0, due = 0;

  for (place = order->bucket[bucket].first; place != 0; place = reorderAt(order, place)->after) {
    HeapHold hold = reorderAt(order, place);
    if (hold->before != last || heapOrderBucket(HeapActPlace(&hold->input)) != bucket ||
        (n += reorderQueueCheck(order, place)) > order->held ||
        (last != 0 && hold->arrival <= reorderAt(order, last)->arrival))
      return HeapBoundEVENTS + 1;
    due += hold->due;
    last = place;
  }
  return last == order->bucket[bucket].last && due == order->bucket[bucket].due ? n : HeapBoundEVENTS + 1;
}

Bool HeapReorderCheck(HeapReorder order)
{
  Count all = 0, buckets = 0;
  Index i, place, last = 0;

  if (order->held > HeapBoundEVENTS || order->held > order->used)
    return FALSE;
  for (place = order->oldest; place != 0; place = reorderAt(order, place)->newer) {
    HeapHold hold = reorderAt(order, place);
    if (hold->older != last || ++all > order->held || (last != 0 && hold->arrival <= reorderAt(order, last)->arrival))
      return FALSE;
    last = place;
  }
  for (i = 0; i < HeapBuckets; ++i) {
    buckets += reorderListCheck(order, i);
    if ((order->dirty[i / 64] >> i % 64 & 1) != 0)
      return FALSE;
  }
  return last == order->newest && all == order->held && buckets == order->held;
}
