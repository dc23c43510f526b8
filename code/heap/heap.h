/* heap.h -- the live heap of every process in a log, fed with the log's events
 *
 * Event types are recognised by name: a type called PoolAlloc whose parameters are called pool, addr and size is
 * understood, whatever its code and its registry.  Each process has its own objects, pools and threads.  The client's
 * hooks get clean operations in repaired order (heapreorder.h).
 *
 * Events pass through a short queue, so that the processor fetches the memory of each before its turn comes.  The hooks
 * lag behind the events by up to HeapQUEUE of them, and by the events that are held back.
 *
 * Design: design/view.md .heap, .heap.names      Tests: test/heap/heaptest.c, test/replay/replay.t
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapdecode.h"
#include "heap/heapreorder.h"
#include "heap/processevents.h"
#include "log/log.h"
#include "request/request.h"

enum {
  HeapQUEUE = 64,
  HeapOffMIN = 1000000 /* ns; a shorter time in which kinds were off is not reported */
};

typedef struct HeapStruct *Heap;

/* HeapCreate -- no processes, no objects yet, of those of `log`; `client` is copied.  ResMEMORY. */
extern Res HeapCreate(Heap *heapReturn, HeapClient client, Log log);
extern void HeapDestroy(Heap heap);

/* HeapOf -- only these processes are shown and count as living.  Events of others come because these inherit objects
 * from them; the client gets their operations, too.
 * of  owned by the caller; must outlive the heap.  NULL, the default: all processes. */
extern void HeapOf(Heap heap, OfProcess of);

/* HeapIgnore -- a hook that does nothing */
extern void HeapIgnore(void *data, HeapOperation operation);

/* HeapClear -- the heap is empty again, as HeapCreate made it; no hook is called */
extern void HeapClear(Heap heap);

/* HeapChoose -- `request` is for what a heap understands of the events that `only` chooses, which stays where it is.  A
 * count counts what is not understood, too: then the request chooses all that `only` does. */
extern void HeapChoose(LogRequest request, const LogRequestStruct *only);

/* HeapEvent -- apply an event; events come in the order of LogRead.  A type that is not understood is only counted.
 * Once memory has run out the heap stays as it is, and no hook is called.
 * cost: about 20 ns for an event on an object, without the hook */
extern void HeapEvent(Heap heap, LogEvent event);

/* HeapMark -- operations of the events from here on carry `mark`; 0 at first
 * HeapPrompt -- from now on no event waits in the queue, so that operations come in the order of events, unless they
 * are held back.  Slower if the heap is large. */
extern void HeapMark(Heap heap, uint32_t mark);
extern void HeapPrompt(Heap heap);

/* HeapUntil -- all events before `time` have come: do the forks and ends that header blocks give for the time until
 * then */
extern void HeapUntil(Heap heap, uint64_t time);

/* HeapCatchUp -- apply what is queued; what is held back stays so */
extern void HeapCatchUp(Heap heap);

/* HeapSettle -- all events have come: apply what is still queued or held back
 * ResMEMORY: memory ran out at some time, and operations are missing. */
extern Res HeapSettle(Heap heap);

extern Bool HeapCheck(Heap heap);

#endif /* HEAP_HEAP_H */
