/* event.h -- annotations: EVENT_PAW(PoolAlloc, pool, addr, size) and its kin
 *
 * The macros are generated from the registry (eventgen.h); here is what they are made of.  An event whose kind is
 * neither sent nor buffered costs one load, one test and a branch not taken.  One that is wanted goes to the thread's
 * own block for its kind: room is reserved by one instruction on the thread's cursor, so that a signal handler may
 * interrupt anywhere; the length is stored first and the code last, so that a reader can tell what is committed at any
 * moment, and after any death.
 *
 * Always true:
 *   a cursor's address has EventBlockBIT set while it points into a block, and no longer once it has passed the end
 *   the full time of an event is the cursor's epoch, as it was before the event's room was reserved, and its own 32
 *   bits
 *
 * No call, lock, system call or allocation, errno is kept, unless a block is full (EventReserveSlow).
 *
 * Design: design/telemetry.md .buffer      Tests: test/emit/emittest.c, test/emit/signaltest.c
 */
#ifndef EMIT_EVENT_H
#define EMIT_EVENT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "base/bt.h"
#include "base/types.h"
#include "format/block.h"
#include "format/eventcheck.h"
#include "plinth/clock.h"

/* Symbols that annotated code reaches; everything else stays inside the library. */
#define EVENT_API PAWPRINT_API

#include "eventgen.h"

_Static_assert(EventVersionMAJOR == BlockMAJOR, "a registry's major version is that of the format");
_Static_assert(EventKindLIMIT <= 16, "the buffer bits begin behind the control bits");

/* EventKindControl -- which kinds are sent, and which the flight recorder keeps
 *
 * A bit table.  If bit EventKindX is set, kind X is sent; else, if bit EventKindBUFFER + EventKindX is set, the flight
 * recorder keeps it.  Both are read by one load.  From a debugger: `call BTRes(EventKindControl, EventKindRef)`.
 * The table is alone in its pages, so that shared memory can be mapped over it and a tool can change it from outside.
 * Words behind the first belong to the emitter.
 */
enum {
  EventKindBUFFER = 16,     /* where the buffer bits begin */
#if defined(__x86_64__) || defined(__i386__)
  EventControlSIZE = 4096,  /* bytes; the largest page there is on this processor: so aligned, the dynamic loader need
                               not reserve more than the library takes */
#else
  EventControlSIZE = 65536,
#endif
  EventControlOWNER = 2,    /* word that says, before shared memory is mapped there, which emitter's table it is */
  EventControlCLOCK = 1,    /* word of the three bits below: 0 where an event need only read the processor's counter */
  EventControlSLOW = 1,     /* the counter cannot serve as the clock */
  EventControlBARRED = 4,   /* nor may it be read at all (plinth/clock.h, EventClockBar) */
  EventControlATTEND = 2    /* there is a request (state dump, flush), which the next event serves on its slow way */
};

#define EVENT_KINDS (((Word)1 << EventKindLIMIT) - 1) /* the bits of all kinds that are sent */

extern Word EventKindControl[EventControlSIZE / sizeof(Word)] EVENT_API;

/* EVENT_CONTROL -- the same table, under the name by which annotations read it.  Inside the shared library a hidden
 * name saves one load.  If the linker has moved the public table into the program (a copy relocation), ControlJoin maps
 * both to the same memory. */
#if defined(PAWPRINT_LIBRARY)
extern Word EventKindControlHere[EventControlSIZE / sizeof(Word)] __attribute__((visibility("hidden")));
#define EVENT_CONTROL EventKindControlHere
#else
#define EVENT_CONTROL EventKindControl
#endif

/* EVENT_ATTEND -- is there a request to serve?
 * EVENT_SLOW -- is the system's clock used, and not the processor's counter? */
#define EVENT_ATTEND ((__atomic_load_n(&EVENT_CONTROL[EventControlCLOCK], __ATOMIC_RELAXED) & EventControlATTEND) != 0)
#define EVENT_SLOW ((__atomic_load_n(&EVENT_CONTROL[EventControlCLOCK], __ATOMIC_RELAXED) & EventControlSLOW) != 0)

/* EVENT_WANTED -- is an event of this kind to be recorded? */
#define EVENT_WANTED(kind) \
  UNLIKELY(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & (((Word)1 << EventKindBUFFER | 1) << (kind)))

enum { EventBlockBIT = BlockMAX }; /* blocks lie in the upper halves of places of 2 * BlockMAX bytes, at their end */

/* A thread's streams: one for each kind, and one for definitions to which other events refer (interned strings), which
 * no policy overwrites.  Definitions have the kind User. */
enum { EventStreamDEFINITION = EventKindLIMIT, EventStreamsLIMIT };

/* One thread's place in one of its blocks. */
typedef struct EventCursorStruct {
  Word next;      /* where the next event goes; 0 where there is no block */
  uint32_t epoch; /* the high half of the time of the events that go there */
  uint32_t unused;
} EventCursorStruct, *EventCursor;

/* The part of a thread's state that each event uses; the rest follows it in memory (stream.h). */
typedef struct EventThreadStruct {
  EventCursorStruct cursor[EventStreamsLIMIT][2]; /* by kind, and 0: sent, 1: flight recorder */
  struct EventThreadStruct *self;              /* this struct, while a thread owns it; NULL in the child of a fork */
} EventThreadStruct, *EventThread;

/* The calling thread's state, or NULL before its first event. */
extern __thread EventThread EventThreadSelf __attribute__((tls_model("initial-exec"))) EVENT_API;

/* Inside the shared library it has a hidden name: no linker option binds references to a thread-local variable to the
 * library's own, and a program may have an emitter of its own that exports one. */
#if defined(PAWPRINT_LIBRARY)
extern __thread EventThread EventThreadSelfHere __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define EventThreadSelf EventThreadSelfHere
#endif

/* EventReserveSlow -- reserve an event when EventTry could not: no block yet, a full block, a new epoch, a new process
 *
 * kind  EventKindX, or EventStreamDEFINITION
 * at    the room that EventTry reserved, or 0; it is marked as padding, and other room is found
 */
extern void *EventReserveSlow(unsigned kind, Size size, Word at) EVENT_API __attribute__((cold, noinline));

/* EventClockElse -- the time if a bit of EventControlCLOCK is set: that of the system's clock; or, if there is a
 * request, a time that no event has, so that the event takes the slow way */
extern uint64_t EventClockElse(void) EVENT_API __attribute__((cold));

/* eventAdvance -- move a cursor on; returns where it was.  Towards signal handlers of the same thread this is
 * atomic. */
static inline Word eventAdvance(Word *next, Word size)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __asm__ volatile("xaddq %0, %1" : "+r"(size), "+m"(*next) : : "memory", "cc");
  return size;
#else
  return __atomic_fetch_add(next, size, __ATOMIC_RELAXED);
#endif
}

/* eventFill -- write an event's header, except its code */
static inline void eventFill(Word at, Size size, uint64_t now)
{
  EventHeaderStruct header = {0, (uint16_t)size, (uint32_t)now};
  uint64_t word;

  memcpy(&word, &header, sizeof word);
  __atomic_store_n((uint64_t *)at, word, __ATOMIC_RELAXED);
}

/* EventTryAt -- EventTry in one of the thread's blocks */
static inline Bool EventTryAt(EventCursor cursor, Size size, Word *atReturn)
{
  uint32_t epoch = __atomic_load_n(&cursor->epoch, __ATOMIC_RELAXED);
  uint64_t now;
  Word at;

  *atReturn = at = eventAdvance(&cursor->next, WordAlignUp(size, EventALIGN));
  now = LIKELY(__atomic_load_n(&EVENT_CONTROL[EventControlCLOCK], __ATOMIC_RELAXED) == 0) ? EventClockCounter(FALSE)
                                                                                          : EventClockElse();
  if (UNLIKELY(((at + size - 1) & EventBlockBIT) == 0 || (uint32_t)(now >> 32) != epoch))
    return FALSE;
  eventFill(at, size, now);
  return TRUE;
}

/* EventTry -- reserve room for one event in the calling thread's block, if that has some
 *
 * kind      EventKindX
 * size      bytes, header included, not rounded; at most EventSizeMAX
 * atReturn  the room, whose header has length and time; the caller fills in the parameters and calls EventCommit.
 *           If FALSE is returned: the argument `at` for EventReserveSlow
 * returns   FALSE: call EventReserveSlow
 */
static inline Bool EventTry(unsigned kind, Size size, Word *atReturn)
{
  EventThread thread = EventThreadSelf;
  EventCursor cursor;

  *atReturn = 0;
  if (UNLIKELY(thread == NULL))
    return FALSE;
  cursor = &thread->cursor[kind][0];
  /* A branch, which is predicted, and not a sum, for which the cursor would have to wait: hence the empty assembly. */
  if ((__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> kind & 1) == 0) {
    __asm__ volatile("");
    ++cursor;
  }
  return EventTryAt(cursor, size, atReturn);
}

/* EventReserve -- reserve room for one event.  NULL: there is none, and the event is counted as discarded. */
static inline void *EventReserve(unsigned kind, Size size)
{
  Word at;

  return LIKELY(EventTry(kind, size, &at)) ? (void *)at : EventReserveSlow(kind, size, at);
}

#endif /* EMIT_EVENT_H */
