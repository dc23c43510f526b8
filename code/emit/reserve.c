/* reserve.c -- room for an event where the simple way does not serve (event.h)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "base/aver.h"
#include "emit/emitter.h"
#include "handover/handover.h"

__thread EventThread EventThreadSelf;

#if defined(PAWPRINT_LIBRARY)
#undef EventThreadSelf
extern __thread EventThread EventThreadSelf __attribute__((alias("EventThreadSelfHere")));
#define EventThreadSelf EventThreadSelfHere
#endif

EVENT_API uint64_t EventClockElse(void)
{
  return EVENT_ATTEND ? UINT64_MAX : EventClock(EVENT_SLOW);
}

/* threadReserve -- room for an event; 0: there is none, and it is counted, or *waitReturn: try again when there is */
static Word threadReserve(Emitter emitter, Thread thread, unsigned kind, unsigned unsent, Size size, Bool *waitReturn)
{
  Word at = StreamTry(emitter, thread, kind, unsent, size);

  *waitReturn = FALSE;
  if (at != 0)
    return at;
  BufferAbove.receive();
  if (!unsent) { /* where do full blocks go from here on? */
    if (EmitterRegion(emitter) == NULL && EmitterSends())
      EmitterShare(emitter);
    HandoverPoll(emitter);
  }
  if (HandoverChange(emitter, thread, kind, unsent))
    at = StreamTry(emitter, thread, kind, unsent, size);
  if (at == 0)
    *waitReturn = HandoverDiscard(emitter, thread, kind, unsent);
  return at;
}

/* threadOutside -- the thread is inside a change, which we have interrupted, and its cursor may stand still in no
 * block: then what we reserve there again and again must not carry it to where a block seems to be */
static void threadOutside(Thread thread, unsigned kind)
{
  EventCursor cursor = thread->hot.cursor[kind];

  for (; cursor < thread->hot.cursor[kind] + 2; ++cursor)
    if ((cursor->next & EventBlockBIT) == 0)
      __atomic_store_n(&cursor->next, 0, __ATOMIC_RELAXED);
}

/* threadPlace -- the same in the calling thread's state; or in its second one, if we have interrupted the first */
static Word threadPlace(unsigned kind, unsigned unsent, Size size, Bool *waitReturn)
{
  Thread thread = EmitterThreadSelf();
  Emitter emitter = EmitterGet();

  *waitReturn = FALSE;
  if (thread != NULL && thread->inside) {
    threadOutside(thread, kind);
    thread = EmitterThreadNested(thread);
  }
  return thread == NULL || emitter == NULL ? 0 : threadReserve(emitter, thread, kind, unsent, size, waitReturn);
}

/* bufferSent -- is an event sent that goes out with one of these kinds?  A state dump tells to its end what others
 * cannot be understood without, also if its kinds are switched off meanwhile: what was sent until then needs it.
 * Frames and modules (EVENT_KINDS) are emitted once, and events of all kinds refer to them, so they are sent if there
 * is a way out: the flight recorder would overwrite them before the events that refer to them. */
static inline Bool bufferSent(unsigned kind, Word kinds)
{
  return (__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & kinds) != 0 ||
         (kinds == EVENT_KINDS && EmitterSends()) ||
         (kind == EventStreamDEFINITION && EmitterTells(kinds));
}

/* bufferReserve -- room for an event, which is sent if one of these kinds is */
static inline void *bufferReserve(unsigned kind, Size size, Word at, Word kinds)
{
  EventThread self = EventThreadSelf;
  RawMaskStruct mask;
  Emitter emitter;
  Bool wait = FALSE;
  Word place = 0;

  AVER(kind < EventStreamsLIMIT && size <= EventSizeMAX);
  if (LIKELY(self != NULL && self->self == self && !EVENT_ATTEND && bufferSent(kind, kinds)))
    place = HandoverReserve((Thread)(void *)self, kind, size, at);
  if (place != 0)
    return place == HandoverNOROOM ? NULL : (void *)place;
  RawBegin(&mask);
  StreamAbandon(at, size);
  BufferAbove.attend();
  /* The first event sets the process up, and only then it is known whether its kind is sent. */
  emitter = EmitterGet();
  if (emitter == NULL)
    EmitterMiss();
  while (emitter != NULL && (place = threadPlace(kind, !bufferSent(kind, kinds), size, &wait)) == 0 && wait) {
    RawEnd(&mask);
    HandoverWait(emitter);
    RawBegin(&mask);
    BufferAbove.attend();
  }
  RawEnd(&mask);
  return (void *)place;
}

void *EventReserveSlow(unsigned kind, Size size, Word at)
{
  return bufferReserve(kind, size, at, (Word)1 << StreamKind(kind));
}

void *BufferReserveNeeded(unsigned kind, Size size)
{
  EventThread self = EventThreadSelf;
  Word at = 0;

  /* As EventTry, but any kind that is sent has this sent, too. */
  if (LIKELY(self != NULL) && EventTryAt(&self->cursor[kind][!bufferSent(kind, EVENT_KINDS)], size, &at))
    return (void *)at;
  return bufferReserve(kind, size, at, EVENT_KINDS);
}

void *BufferReserveSent(unsigned kind, Size size)
{
  Bool wait;

  AVER(kind < EventStreamsLIMIT && size <= EventSizeMAX);
  return (void *)threadPlace(kind, 0, size, &wait);
}
