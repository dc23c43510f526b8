/* heapreorder.h -- the live objects of one process, and the repair of order between its threads
 *
 * The time stamps of two threads may contradict what happened, by less than a microsecond (the clock is read without a
 * fence).  Of the events on one address, those of one thread are in their true order, and an allocation and the free of
 * an object alternate; that is enough to put right what stands wrong.  An event that cannot be true yet (an allocation
 * where an object lives, a free where none does) is held back until one arrives that makes it true, for at most
 * HeapBoundTIME and HeapBoundEVENTS; so the client is told only what can have happened.  While a process has one thread
 * nothing is held back: what cannot be true then never will be.
 *
 * Always true (HeapReorderCheck):
 *   held <= HeapBoundEVENTS;  each held event is in the list of all and in that of its address's bucket, both in the
 *   order of arrival;  between two events no bucket is `dirty`
 *   each operation told is no earlier than the one before
 *
 * Design: design/view.md .heap.order      Tests: test/heap/heaptest.c
 */
#ifndef HEAP_HEAPREORDER_H
#define HEAP_HEAPREORDER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "heap/heaptable.h"

enum {
  HeapBoundTIME = 10000,  /* ns that an event may be held back: ten times what was seen */
  HeapBoundEVENTS = 256,  /* events that are held back at a time */
  HeapResizesMAX = 4,     /* resizes that one thread is in at a time, */
  HeapResizePLACES = 16,  /* and with those whose end has come in and is held back */
  HeapBuckets = 256,      /* of held events, by address */
  HeapMovesMAX = 2 * HeapBuckets, /* addresses whose last change is remembered */
  HeapClassMAX = 32       /* bytes of a pool's class that are kept, terminated */
};

typedef struct HeapPoolStruct {
  Index number;            /* 0, 1, ... in its process, in order of appearance */
  uint64_t addr;           /* the pool, as the log names it */
  uint64_t arena;          /* the arena it is in; 0 for none */
  char class[HeapClassMAX]; /* "" where its creation was not recorded */
  Bool repeated;           /* its creation has been told once more, and so its parameters are */
  uint64_t time;           /* ns, of its creation; 0 where that was not recorded */
  uint64_t segments, reserved; /* that it has of its arena, as far as that was recorded; bytes */
  Count saved;             /* heapsave.c: in which saving of its process it was met, */
  Index mark;              /* and as which */
  HeapTableStruct table;   /* what lives in it */
  struct HeapPoolStruct *next; /* heap.c */
} HeapPoolStruct, *HeapPool;

/* An object between the two events of its resize. */
typedef struct HeapResizeStruct {
  enum { HeapResizeHELD, HeapResizeUNKNOWN, HeapResizeKNOWN } state;
  HeapPool pool;
  Bool ended;              /* its end has come in, though it may be held back */
  uint64_t key;            /* which one it is */
  uint64_t old;            /* the address that the begin named */
  uint64_t place;          /* the address that its end waits for, once that has come in */
  uint64_t size, time;     /* as the begin had them */
  HeapObjectStruct object; /* if it is known */
} HeapResizeStruct, *HeapResize;

typedef struct HeapThreadStruct {
  Index number;  /* 0, 1, ... in its process, in order of appearance */
  uint32_t id;   /* the system's number */
  uint32_t serial; /* the writer's number of it, when it was met */
  Bool past;     /* it is no more: another may have its number */
  Bool ended;    /* it has told its end; its destructors may emit after that */
  int32_t swing; /* while its process is forked: what it has allocated since, less what it has freed, */
  uint32_t swung; /* and how far from 0 that was at most; heapfork.c */
  Bool inherited; /* it is the parent's */
  uint64_t gone, goneTime; /* the last object that it took away; heapstate.h */
  HeapPool gonePool;
  Index mark;    /* heapsave.c */
  unsigned busy; /* a bit for each place in `resize` that is in use */
  HeapResizeStruct resize[HeapResizePLACES];
  struct HeapThreadStruct *next; /* heap.c */
} HeapThreadStruct, *HeapThread;

/* An event on objects, as it was recorded. */
typedef enum HeapInputKind { HeapInALLOC, HeapInFREE, HeapInBEGIN, HeapInEND, HeapInLIVE } HeapInputKind;

typedef struct HeapInputStruct {
  uint64_t time;     /* ns */
  uint64_t addr;     /* the object; where END has it, the new address, or 0 if the resize failed */
  uint64_t old;      /* END: the address before; ALLOC: where it was asked for, or 0 */
  uint64_t size;     /* ALLOC, END: bytes asked for */
  uint64_t key;      /* BEGIN, END: which resize; set by HeapReorderEvent */
  HeapPool pool;
  HeapThread thread;
  uint8_t kind;      /* HeapInputKind */
  uint8_t align;     /* ALLOC: log2 of the alignment asked for, 0 for none */
  uint8_t zero;      /* ALLOC: zeroed memory was asked for */
  uint32_t mark;     /* the owner's (heap.h) */
} HeapInputStruct, *HeapInput;

/* What the client is told. */
typedef enum HeapOperationKind {
  HeapALLOC,        /* object is new; the client may set object->client */
  HeapFREE,         /* object goes */
  HeapRESIZEBEGIN,  /* object may be gone from its address */
  HeapRESIZE,       /* object has a new size and perhaps address; oldSize, oldAddr are those before */
  HeapRESIZEFAIL,   /* object is back as it was */
  HeapRESIZEPAST,   /* an object that has been told gone had been resized before; object is what it had become */
  HeapPOOLCREATE,   /* pool is new; its class may become known only now, its parameters follow */
  HeapPOOLPARAM,    /* name, size */
  HeapPOOLDESTROY,  /* pool goes; its objects have been freed */
  HeapARENACREATE,  /* addr, size, grain */
  HeapARENADESTROY, /* addr */
  HeapPROCESSBEGIN, /* the process has so many objects from its parent, or from before it seemed to have ended */
  HeapPROCESSEND    /* it has ended, and its objects with it */
} HeapOperationKind;

typedef struct HeapOperationStruct {
  HeapOperationKind kind;
  Bool zero;         /* ALLOC: zeroed memory was asked for */
  Bool told;         /* ALLOC: it was there before; FREE: no, it was not, its allocation follows */
  Bool revived;      /* PROCESSBEGIN: it lives after all, though it seemed to have ended */
  Bool resized;      /* ALLOC, told: by a resize it has become known, and is as that left it */
  Bool inherited;    /* ALLOC, told: it was the parent's */
  Bool presumed;     /* FREE: no event says so: the address was given out again */
  Bool destroyed;    /* FREE: no event says so: its pool is being destroyed */
  Bool beside;       /* the object was at its address before another that has been told of */
  uint32_t mark;     /* ALLOC, RESIZE: of the event that brought the object (heap.h) */
  Index process;     /* number of the process in the log */
  uint64_t time;     /* ns, never falling within a process */
  HeapPool pool;     /* NULL for an arena's operations */
  HeapThread thread;
  HeapObject object; /* valid while the hook runs; FREE: as it was */
  uint64_t site;     /* ALLOC: where it was asked for, or 0 */
  uint64_t oldAddr, oldSize; /* RESIZE */
  uint64_t addr, size, grain; /* arenas; POOLPARAM: size is the value */
  uint64_t objects, bytes;    /* PROCESSBEGIN, PROCESSEND: that live in it, */
  uint64_t doubt;             /* PROCESSBEGIN: give or take so many */
  const char *name;  /* POOLPARAM; nameLength bytes */
  Size nameLength;
} HeapOperationStruct, *HeapOperation;

typedef void (*HeapHook)(void *data, HeapOperation operation);

/* Who is told.  The three that are called for nearly every event have hooks of their own, which the processor's
 * prediction rewards; each must be there. */
typedef struct HeapClientStruct {
  void *data;      /* handed to each hook */
  HeapHook alloc;  /* ALLOC */
  HeapHook free;   /* FREE */
  HeapHook resize; /* RESIZE */
  HeapHook other;  /* all others */
  Bool each;       /* of each object that a process inherits `alloc` is told, too, as there before */
} HeapClientStruct, *HeapClient;

/* How well the events fitted together. */
typedef struct HeapTallyStruct {
  uint64_t repairs;   /* events that were put behind a later one */
  uint64_t overlaps;  /* allocations of a live address for which no free came: the old object is presumed freed */
  uint64_t unmatched; /* frees and resizes of what was never seen allocated */
  uint64_t early;     /* all of these before the process had told what it already had */
  uint64_t unfinished; /* resizes whose end was not seen */
  uint64_t failed;    /* resizes that failed */
  uint64_t forgotten; /* 1: what the process had from its parent has been forgotten (heapfork.h) */
} HeapTallyStruct, *HeapTally;

/* An event that is held back.  Neighbours are places in `hold` plus one; 0 is none. */
typedef struct HeapHoldStruct {
  HeapInputStruct input;
  uint64_t arrival;       /* the how manieth it was to be held */
  uint16_t older, newer;  /* of all; `newer` of a place that is free: the next free one */
  uint16_t before, after; /* of those in its bucket */
} HeapHoldStruct, *HeapHold;

/* When something came to an address or went from it, for the last time. */
typedef struct HeapMoveStruct {
  uint64_t key;    /* the pool and the address (HeapStateAddr) */
  uint64_t time;   /* when that was told; 0: never */
  uint64_t other;  /* and the last that another thread did; 0: none is known */
  uint32_t thread; /* number of the thread that did what was last */
} HeapMoveStruct, *HeapMove;

/* What lives in a process. */
typedef struct HeapSumStruct {
  uint64_t objects, bytes;
  uint64_t peakObjects, peakBytes, peakTime; /* at the peak of bytes */
} HeapSumStruct, *HeapSum;

typedef struct HeapReorderStruct {
  HeapClientStruct client;
  HeapOperationStruct operation; /* what the hook is told; process is set, and what is seldom set is 0 */
  uint64_t now;       /* time of the newest event; operation.time follows it */
  uint64_t key;       /* of the newest resize */
  Res res;            /* ResOK until memory ran out */
  HeapTallyStruct tally;
  Bool stating;       /* the process tells what already is: heapstate.h */
  uint64_t stateFrom, stateTo; /* the last time that it did */
  HeapTableStruct gone; /* while it does: addresses of what has gone meanwhile */
  Bool windowed;      /* it is forked, and */
  HeapTableStruct window; /* what its parent's other threads did meanwhile: heapfork.c */
  uint64_t doubt;     /* objects that it may have had more or less at first, for what these were in the middle of */
  HeapMoveStruct move[HeapMovesMAX]; /* by address, while it has several threads; another address's takes the place */
  Bool several;       /* the process has had more than one thread */
  HeapSumStruct sum;
  Count held;
  uint64_t arrivals;  /* that were ever held */
  uint16_t oldest, newest; /* of the held; places plus one */
  uint16_t unused;    /* a place that was used and is free, plus one */
  uint16_t used;      /* places that were ever used */
  struct {
    uint16_t first, last;
  } bucket[HeapBuckets];
  uint64_t dirty[HeapBuckets / 64]; /* a bit for each bucket in which something may have come true */
  HeapHoldStruct hold[HeapBoundEVENTS];
} HeapReorderStruct, *HeapReorder;

/* HeapReorderInit -- no objects, nothing held; `client`, which is copied, is told of each operation */
extern void HeapReorderInit(HeapReorder order, Index process, HeapClient client);

/* HeapReorderEvent -- take one event; events of one thread come in their order, all of them by time
 * cost: a look-up in the pool's table; when events are held back on its address, a pass over those */
extern void HeapReorderEvent(HeapReorder order, HeapInput input);

/* HeapReorderUntil -- it is `time` now: give up what has waited for too long */
extern void HeapReorderUntil(HeapReorder order, uint64_t time);

/* HeapReorderHeld -- the event is held back as the newest: a saved order is restored.  Returns its place in `hold`. */
extern Index HeapReorderHeld(HeapReorder order, HeapInput input);

/* heapOrderBucket -- where events on this address are held */
static inline Index heapOrderBucket(uint64_t addr)
{
  return (Index)((addr * 0x9e3779b97f4a7c15ull) >> 56);
}

/* heapOrderMove -- where the last change on this address is remembered: two places to a bucket */
static inline Index heapOrderMove(uint64_t addr)
{
  return (Index)((addr * 0x9e3779b97f4a7c15ull) >> 55);
}

/* HeapReorderFresh -- may what is held now still depend on this move?  It has been told within the bound of something
 * that is held back, and that came within the bound. */
static inline Bool HeapReorderFresh(HeapReorder order, HeapMove move)
{
  return move->time != 0 && order->now - move->time <= 2 * HeapBoundTIME;
}

/* HeapReorderChanged -- something has come to this address or gone from it: held events may have become possible */
static inline void HeapReorderChanged(HeapReorder order, uint64_t addr)
{
  Index i;

  if (LIKELY(order->held == 0))
    return;
  i = heapOrderBucket(addr);
  if (order->bucket[i].first != 0)
    order->dirty[i / 64] |= (uint64_t)1 << i % 64;
}

/* HeapReorderSettle -- hold nothing back any longer: at the end, and before a pool is destroyed */
extern void HeapReorderSettle(HeapReorder order);

/* HeapReorderFinish -- give back what memory it has */
extern void HeapReorderFinish(HeapReorder order);

/* HeapReorderDestroy -- free all objects of `pool`, which is being destroyed (presumed), oldest first */
extern void HeapReorderDestroy(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time);

/* HeapReorderAbandon -- the thread's resizes have no end: their objects are back where they were */
extern void HeapReorderAbandon(HeapReorder order, HeapThread thread);

extern Bool HeapReorderCheck(HeapReorder order);

/* ---- heapapply.c: what an event does to the live objects, once it can be true ----
 *
 * The client is told there, and resizes are kept there from their begin to their end.  When an event's turn comes is
 * heapreorder.c's business. */

/* HeapActPlace -- the address that an event waits for: a failed resize wants its old one back */
static inline uint64_t HeapActPlace(HeapInput input)
{
  return input->kind == HeapInEND && input->addr == 0 ? input->old : input->addr;
}

/* HeapActBrings -- does the event bring an object to its place, rather than take one away? */
static inline Bool HeapActBrings(HeapInput input)
{
  return input->kind == HeapInALLOC || input->kind == HeapInEND;
}

/* HeapActOpen -- a resize begins: input->key becomes its key; an open one of the same object has lost its end
 * HeapActMatch -- find the resize that the event ends, for input->key.  If its begin was lost, what lives at the old
 * address is what was resized. */
extern void HeapActOpen(HeapReorder order, HeapInput input);
extern void HeapActMatch(HeapReorder order, HeapInput input);

/* HeapActUnknown -- the object of a resize that begins with this event was never seen */
extern void HeapActUnknown(HeapReorder order, HeapInput input);

/* HeapActOrphan -- is it the end of a resize whose object was never seen, or which was given up?
 * HeapActMay -- may `come` be told before `go`, which stands before it?  Not if it ends a resize whose begin, another
 * event than `go`, has not come true yet. */
extern Bool HeapActOrphan(HeapInput input);
extern Bool HeapActMay(HeapInput come, HeapInput go);

/* HeapActOwn -- the pool's objects are going to change: from now on nobody shares its table.  FALSE: no memory, which
 * the order remembers. */
extern Bool HeapActCopy(HeapReorder order, HeapPool pool);
static inline Bool HeapActOwn(HeapReorder order, HeapPool pool)
{
  return LIKELY(pool->table.shares == NULL) || HeapActCopy(order, pool);
}

/* HeapActTry -- do what the event says; FALSE: it cannot be true now, and nothing has been done */
extern Bool HeapActTry(HeapReorder order, HeapInput input);

/* HeapActPresume -- tell that an object has gone of which no event says so */
extern void HeapActPresume(HeapReorder order, HeapInput input, HeapObject object);

/* HeapActCome, HeapActGo -- tell of an object that is at its address no longer, and in no table: what brings it,
 * which fills in *objectReturn, and what takes it away */
extern void HeapActCome(HeapReorder order, HeapInput input, HeapObject objectReturn);
extern void HeapActGo(HeapReorder order, HeapInput input, HeapObject object);

/* HeapActPast -- tell of a resize, by its end, of an object that has been told gone */
extern void HeapActPast(HeapReorder order, HeapInput end);

#endif /* HEAP_HEAPREORDER_H */
