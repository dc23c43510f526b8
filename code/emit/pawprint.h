/* pawprint.h -- the interface of programs that want to be heard
 *
 * A program that is linked with libpawprint, or runs with it preloaded, tells by these functions what it does, and
 * chooses what is recorded.  All may be called at any time, by any thread, and in signal handlers unless it says
 * otherwise; they keep errno.
 *
 *   EventCode code;
 *   EventWord request = EventIntern("request");
 *   EventUserWord(request, 42);
 *   EventTypeDefine(&code, "CacheMiss", "AWS", "line size reason", "missed %line");
 *   EventEmit(code, line, (EventWord)64, "cold");
 *
 * Manual: pawprint(3)      Tests: test/emit/usertest.c
 */
#ifndef PAWPRINT_H
#define PAWPRINT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uintptr_t EventWord;
typedef uint16_t EventCode; /* of an event type; 0 is none */

/* The kinds, EventKindArena = 0 to EventKindSystem = 8, as the registry has them. */
#if !defined(EVENTGEN_H)
enum {
#define KIND(name, value, doc) EventKind##name = value,
#include "eventdef.h"
  EventKindLIMIT
};
#endif

/* The table of what is sent (bits EventKindArena = 0 to EventKindSystem = 8, in the order Arena, Pool, Trace, Seg, Ref,
 * Object, User, Sync, System) and, from bit 16 on, of what the flight recorder keeps.  BTSet and BTRes change a bit,
 * BTGet reads one; also from a debugger:
 *   call BTRes(EventKindControl, EventKindRef)
 */
extern EventWord EventKindControl[];
extern void BTSet(EventWord *bt, size_t i);
extern void BTRes(EventWord *bt, size_t i);
extern unsigned BTGet(EventWord *bt, size_t i);

/* EventControlKinds -- choose the kinds that are sent: "all", "none", "Arena,Pool", "+Object,-Ref" (against what is
 * sent now); returns 0, or -1: a name is unknown, told on standard error; nothing is changed.
 * Where kinds are switched on, a state dump (what exists already) comes with the next event. */
extern int EventControlKinds(const char *list);

/* EventBufferKinds -- the same for the kinds that the flight recorder keeps when they are not sent; at first
 * all but Sync and Ref */
extern int EventBufferKinds(const char *list);

/* EventLogOpen -- send what is recorded from here on to one more place: a file's path, "file:PATH", "tcp:HOST:PORT"
 * (a numeric HOST), "unix:PATH", "memory:SIZE", "none:".  Returns 0, or -1: told on standard error.  A file that is
 * there already is refused; a receiver that is not there yet is waited for without holding anybody up.  Not in signal
 * handlers. */
extern int EventLogOpen(const char *where);

/* EventFlush -- send what the buffers of all threads hold, the flight recorder's too, without waiting for full blocks.
 * Events that other threads have committed when it begins are sent when it returns. */
extern void EventFlush(void);

/* EventIntern -- a number for a string; the same for the same string.  0: no memory, or a thread that has been stopped
 * has the lock.  Takes a lock.
 * EventLabel -- tell that `addr` is what the interned string says. */
extern EventWord EventIntern(const char *string);
extern void EventLabel(const void *addr, EventWord id);

/* Events of the kind User: `id` is an interned string that names what happened. */
extern void EventUserWord(EventWord id, EventWord value);
extern void EventUserDouble(EventWord id, double value);
extern void EventUserString(EventWord id, const char *text);

/* EventTypeDefine -- a new type of event, of the kind User, for the rest of the process
 *
 * name      an identifier that no event has; or one that has the same format and params, which is the event then, with
 *           its own
 *           kind and describe
 * format    letters: P pointer, A address, W EventWord, U unsigned int, D double, and S, a string, last; "0" for none
 * params    a name for each, separated by spaces
 * describe  a sentence in which %name stands for a parameter's value, %*name for the interned string that has this
 *           number; "" for none
 * returns   0, or -1: told on standard error.  Takes a lock.
 */
extern int EventTypeDefine(EventCode *codeReturn, const char *name, const char *format, const char *params,
                           const char *describe);

/* EventEmit -- one event of a type defined so; the arguments exactly as its format says (EventWord for W, unsigned
 * for U, pointers for P, A and S, double for D) */
extern void EventEmit(unsigned code, ...);

/* EventMessageHandler -- called for each message that a way out brings: "kinds LIST" and "flush" are obeyed if it
 * returns 0. It runs with signals blocked, inside somebody's event: it must not wait or allocate. */
typedef int (*EventMessageHandler)(const void *message, size_t size);
extern EventMessageHandler EventMessageHandlerSet(EventMessageHandler handler);

/* EventMessagePoll -- obey the messages that have arrived; otherwise they wait for the next block */
extern void EventMessagePoll(void);

/* EventTraceback -- print the newest `n` (at most 256) events of all threads as text on standard error; also from a
 * debugger */
extern void EventTraceback(unsigned n);

/* EventTracebackAddr -- the same of the newest `n` (at most 256) events that have this address as a parameter: who
 * allocated, resized and freed the object at it, as far back as the flight recorder reaches.  `n` only bounds what is
 * printed: who wants all that there is says 256. */
extern void EventTracebackAddr(const void *addr, unsigned n);

/* EventEnd -- send everything, as at the end of the process: before _exit, or exec, in programs that do not preload
 * the library */
extern void EventEnd(void);

#ifdef __cplusplus
}
#endif

#endif /* PAWPRINT_H */
