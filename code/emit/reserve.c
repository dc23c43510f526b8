/* reserve.c -- room for an event where the simple way does not serve (event.h)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <string.h>

#include "base/aver.h"
#include "emit/buffer.h"
#include "emit/process.h"
#include "emit/stream.h"
#include "handover/handover.h"
#include "plinth/rawsyscall.h"

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

/* threadWays -- where do full blocks go from here on? */
static void threadWays(Process process)
{
  if (ProcessRegion(process) == NULL && ProcessSends())
    ProcessShare(process);
  HandCheck(process);
}

/* threadReserve -- room for an event; 0: there is none, and it is counted, or *waitReturn: try again when there is */
static Word threadReserve(Process process, Thread thread, unsigned kind, unsigned unsent, Size size, Bool *waitReturn)
{
  Word at = StreamTry(process, thread, kind, unsent, size);

  *waitReturn = FALSE;
  if (at != 0)
    return at;
  BufferAbove.receive();
  if (!unsent)
    threadWays(process);
  if (HandChange(process, thread, kind, unsent))
    at = StreamTry(process, thread, kind, unsent, size);
  if (at == 0)
    *waitReturn = HandDiscard(process, thread, kind, unsent);
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
  Thread thread = ProcessThreadSelf();
  Process process = ProcessGet();

  *waitReturn = FALSE;
  if (thread != NULL && thread->inside) {
    threadOutside(thread, kind);
    thread = ProcessThreadNested(thread);
  }
  return thread == NULL || process == NULL ? 0 : threadReserve(process, thread, kind, unsent, size, waitReturn);
}

/* bufferUnsent -- are events of this kind not sent? */
static unsigned bufferUnsent(unsigned kind)
{
  return ~(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> StreamKind(kind)) & 1;
}

void *EventReserveSlow(unsigned kind, Size size, Word at)
{
  EventThread self = EventThreadSelf;
  RawMaskStruct mask;
  int error = errno;
  Process process;
  Bool wait = FALSE;
  Word place = 0;

  AVER(size <= EventSizeMAX);
  if (LIKELY(self != NULL && self->self == self && !EVENT_ATTEND &&
             (__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> StreamKind(kind) & 1) != 0))
    place = HandReserve((Thread)(void *)self, kind, size, at);
  if (place != 0)
    return place == HandNOROOM ? NULL : (void *)place;
  RawBegin(&mask);
  StreamAbandon(at, size);
  BufferAbove.attend();
  /* The first event sets the process up, and only then it is known whether its kind is sent. */
  process = ProcessGet();
  if (process == NULL)
    ProcessMiss();
  while (process != NULL && (place = threadPlace(kind, bufferUnsent(kind), size, &wait)) == 0 && wait) {
    RawEnd(&mask);
    HandWait(process);
    RawBegin(&mask);
    BufferAbove.attend();
  }
  RawEnd(&mask);
  errno = error;
  return (void *)place;
}

void *BufferReserveSent(unsigned kind, Size size)
{
  Bool wait;

  return (void *)threadPlace(kind, 0, size, &wait);
}
