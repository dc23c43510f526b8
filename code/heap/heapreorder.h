/* heapreorder.h -- the live objects of one process, and the repair of order between its threads
 *
 * The time stamps of two threads may contradict the real order by less than a microsecond (the clock is read without a
 * fence).  On one address the events of one thread are in their real order, and allocations and frees alternate; that
 * is enough to repair the order.  An event that cannot be true yet (an allocation where an object lives, a free where
 * none does) is held back until another makes it possible, for at most HeapBoundTIME and HeapBoundEVENTS.  So the
 * client gets only operations that can have happened.  While a process has one thread no event is held back, because
 * no other thread's event can come late.
 *
 * Always true (HeapReorderCheck):
 *   held <= HeapBoundEVENTS;  each held event is in the list of all, and in the queue of its thread on its address,
 *   both in the order of arrival;  the first of each queue, and no other, is in the list of its address's bucket, in
 *   the order of arrival;  between two events no bucket is `dirty`
 *   the first of a queue that is not `due` was tried, and nothing that decides whether it can be true has changed since
 *   no operation is earlier than the one before
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
  Bool repeated;           /* a state dump has its creation again, and its parameters follow */
  uint64_t time;           /* ns, of its creation; 0 where that was not recorded */
  uint64_t segments, reserved; /* that it has of its arena, as far as that was recorded; bytes */
  Index mark;              /* heapsave.c: its place in the bytes */
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
  Bool past;     /* it has gone: another thread may have its number */
  Bool ended;    /* its ThreadEnd has come; its destructors may emit after that */
  int32_t swing; /* while its process is forked: what it has allocated since, less what it has freed, */
  uint32_t swung; /* and how far from 0 that was at most; heapfork.c */
  Bool inherited; /* it is the parent's */
  uint64_t gone, goneTime; /* the last object that it freed or resized, and when; heapstatedump.h */
  HeapPool gonePool;
  unsigned busy; /* a bit for each place in `resize` that is in use */
  HeapResizeStruct resize[HeapResizePLACES];
  struct HeapThreadStruct *next; /* heap.c */
} HeapThreadStruct, *HeapThread;

/* An event on objects, as it was recorded. */
typedef enum HeapInputKind { HeapInALLOC, HeapInFREE, HeapInBEGIN, HeapInEND, HeapInLIVE } HeapInputKind;

typedef struct HeapInputStruct {
  uint64_t time;     /* ns */
  uint64_t addr;     /* the object; where END has it, the new address, or 0 if the resize failed */
  uint64_t old;      /* END: the address before */
  uint64_t size;     /* ALLOC, END: bytes asked for */
  uint64_t key;      /* BEGIN, END: which resize; set by HeapReorderEvent */
  uint64_t site;     /* ALLOC, END: who asked for it (HeapSiteIsStack), or 0 */
  HeapPool pool;
  HeapThread thread;
  uint8_t kind;      /* HeapInputKind */
  uint8_t align;     /* ALLOC: log2 of the alignment asked for, 0 for none */
  uint8_t zero;      /* ALLOC: zeroed memory was asked for */
  uint32_t mark;     /* the owner's (heap.h) */
} HeapInputStruct, *HeapInput;

/* A site is an address that a call returns to; or a stack: HeapSiteSTACK, the number of the process in the log, and the
 * number that the process has given it, which request/stackframes.h knows.
 * HeapSiteIsStack -- is it a stack?
 * HeapSiteProcess, HeapSiteNumber -- of one that is */
#define HeapSiteSTACK       ((uint64_t)1 << 63)
#define HeapSiteOf(process) (HeapSiteSTACK | (uint64_t)(process) << 32)
#define HeapSiteIsStack(site) (((site) & HeapSiteSTACK) != 0)
#define HeapSiteProcess(site) ((Index)(((site) & ~HeapSiteSTACK) >> 32))
#define HeapSiteNumber(site)  ((uint32_t)(site))

/* The operations that a client gets. */
typedef enum HeapOperationKind {
  HeapALLOC,        /* object is new; the client may set object->client */
  HeapFREE,         /* object goes */
  HeapRESIZEBEGIN,  /* object may be gone from its address */
  HeapRESIZE,       /* object has a new size and perhaps address; oldSize, oldAddr are those before */
  HeapRESIZEFAIL,   /* object is back as it was */
  HeapRESIZEPAST,   /* an object that has been freed had been resized before; object is what it had become */
  HeapTOUCH,        /* of object so many bytes are in memory: size */
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
  Bool told;         /* ALLOC: it was there before the recording; FREE: it was not, its allocation follows */
  Bool revived;      /* PROCESSBEGIN: it lives after all, though it seemed to have ended */
  Bool resized;      /* ALLOC, told: it became known by a resize, and is as that left it */
  Bool inherited;    /* ALLOC, told: it was the parent's */
  Bool presumed;     /* FREE: without an event: the address was given out again */
  Bool destroyed;    /* FREE: without an event: its pool is being destroyed */
  Bool beside;       /* the object was at its address before another of which an operation has already come */
  uint32_t mark;     /* ALLOC, RESIZE: of the event that brought the object (heap.h) */
  Index process;     /* number of the process in the log */
  uint64_t time;     /* ns, never falling within a process */
  HeapPool pool;     /* NULL for an arena's operations */
  HeapThread thread;
  HeapObject object; /* valid while the hook runs; FREE: as it was */
  uint64_t site;     /* ALLOC, RESIZE: who asked for it (HeapSiteIsStack); 0: that was not recorded */
  uint64_t oldAddr, oldSize; /* RESIZE */
  uint64_t addr, size, grain; /* arenas; POOLPARAM: size is the value; TOUCH: bytes */
  uint64_t objects, bytes;    /* PROCESSBEGIN, PROCESSEND: that live in it, */
  uint64_t doubt;             /* PROCESSBEGIN: give or take so many */
  const char *name;  /* POOLPARAM; nameLength bytes */
  Size nameLength;
} HeapOperationStruct, *HeapOperation;

/* What lives in a process, or in several. */
typedef struct HeapSumStruct {
  uint64_t objects, bytes;
  uint64_t peakObjects, peakBytes, peakTime; /* at the peak of bytes */
} HeapSumStruct, *HeapSum;

static inline void heapSumGrow(HeapSum sum, uint64_t bytes, uint64_t time)
{
  sum->bytes += bytes;
  if (sum->bytes > sum->peakBytes) {
    sum->peakBytes = sum->bytes;
    sum->peakObjects = sum->objects;
    sum->peakTime = time;
  }
}

/* HeapSumTell -- add an operation to a sum of what lives */
static inline void HeapSumTell(HeapSum sum, HeapOperation operation)
{
  switch (operation->kind) {
  case HeapALLOC:
    ++sum->objects;
    heapSumGrow(sum, operation->object->size, operation->time);
    break;
  case HeapFREE:
    --sum->objects;
    sum->bytes -= operation->object->size;
    break;
  case HeapRESIZE:
    sum->bytes -= operation->oldSize;
    heapSumGrow(sum, operation->object->size, operation->time);
    break;
  case HeapPROCESSBEGIN:
    sum->objects += operation->objects;
    heapSumGrow(sum, operation->bytes, operation->time);
    break;
  case HeapPROCESSEND:
    sum->objects -= operation->objects;
    sum->bytes -= operation->bytes;
    break;
  default:
    break;
  }
}

typedef void (*HeapHook)(void *data, HeapOperation operation);

/* The hooks of a client, none of which is NULL.  The three operations of nearly every event have hooks of their own, so
 * that each call site has one target, which the processor predicts. */
typedef struct HeapClientStruct {
  void *data;      /* handed to each hook */
  HeapHook alloc;  /* ALLOC */
  HeapHook free;   /* FREE */
  HeapHook resize; /* RESIZE */
  HeapHook other;  /* all others */
  Bool each;       /* call `alloc` also for each object that a process inherits */
} HeapClientStruct, *HeapClient;

/* How well the events fitted together. */
typedef struct HeapTallyStruct {
  uint64_t repairs;   /* events that were put behind a later one */
  uint64_t overlaps;  /* allocations of a live address for which no free came: the old object is presumed freed */
  uint64_t unmatched; /* frees and resizes of what was never seen allocated */
  uint64_t early;     /* all of these that came before the end of a state dump */
  uint64_t unfinished; /* resizes whose end was not seen */
  uint64_t failed;    /* resizes that failed */
  uint64_t forgotten; /* 1: what the process had from its parent has been forgotten (heapfork.h) */
} HeapTallyStruct, *HeapTally;

/* A tally, or a sum, as the numbers that it consists of. */
enum {
  HeapTallyNUMBERS = sizeof(HeapTallyStruct) / sizeof(uint64_t),
  HeapSumNUMBERS = sizeof(HeapSumStruct) / sizeof(uint64_t)
};

/* An event that is held back.  The events of one thread on one address of a pool are a queue: only the first of them is
 * tried.  Neighbours are places in `hold` plus one; 0 is none. */
typedef struct HeapHoldStruct {
  HeapInputStruct input;
  uint64_t arrival;       /* 1, 2, ... in the order in which events were held back */
  uint16_t older, newer;  /* of all; `newer` of a place that is free: the next free one */
  uint16_t next;          /* of its queue */
  uint16_t last;          /* of the first of a queue: the last of it, */
  uint16_t before, after; /* its neighbours among the first ones in its bucket, */
  uint16_t beside;        /* the first one of the next queue with the same place in `queue`, */
  uint16_t due;           /* 1: something may have made it possible since it was tried; else 0 */
} HeapHoldStruct, *HeapHold;

/* When something came to an address or went from it, for the last time. */
typedef struct HeapMoveStruct {
  uint64_t key;    /* the pool and the address (HeapStateAddr) */
  uint64_t time;   /* of the last operation here; 0: none */
  uint64_t other;  /* of the last one by another thread; 0: none is known */
  uint32_t thread; /* number of the thread of the last operation */
} HeapMoveStruct, *HeapMove;

typedef struct HeapReorderStruct {
  HeapClientStruct client;
  HeapOperationStruct operation; /* handed to hooks; process is set, and fields that are seldom set are 0 in between */
  uint64_t now;       /* time of the newest event; operation.time follows it */
  uint64_t key;       /* of the newest resize */
  Res res;            /* ResOK until memory ran out */
  HeapTallyStruct tally;
  Bool stating;       /* a state dump is going on: heapstatedump.h */
  uint64_t stateFrom, stateTo; /* when the last one began and ended */
  HeapTableStruct gone; /* during a dump: addresses of objects that were freed or resized meanwhile */
  Bool windowed;      /* it was forked, and `window` is there */
  HeapTableStruct window; /* what its parent's other threads did during the fork: heapfork.c */
  uint64_t doubt;     /* objects that it may have had more or less at first, because of those threads */
  HeapMoveStruct move[HeapMovesMAX]; /* by address, while it has several threads; another address's takes the place */
  Bool several;       /* the process has had more than one thread */
  HeapSumStruct sum;
  Count held;
  uint64_t arrivals;  /* that were ever held */
  uint16_t oldest, newest; /* of the held; places plus one */
  uint16_t unused;    /* a place that was used and is free, plus one */
  uint16_t used;      /* places that were ever used */
  struct {
    uint16_t first, last; /* of the first ones of queues */
    uint16_t due;         /* how many of these are due */
  } bucket[HeapBuckets];
  uint16_t queue[HeapBuckets]; /* the first events of queues, by thread, pool and address */
  uint64_t dirty[HeapBuckets / 64]; /* a bit for each bucket in which something may have come true */
  HeapHoldStruct hold[HeapBoundEVENTS];
} HeapReorderStruct, *HeapReorder;

/* HeapReorderInit -- no objects, no held events; the hooks of `client`, which is copied, get each operation */
extern void HeapReorderInit(HeapReorder order, Index process, HeapClient client);

/* HeapReorderEvent -- apply one event; events of one thread come in their order, all of them by time
 * cost: a look-up in the pool's table; if it changes something at an address on which events are held back, or is given
 * up there, a pass over the first ones of their threads */
extern void HeapReorderEvent(HeapReorder order, HeapInput input);

/* HeapReorderUntil -- it is `time` now: give up what has waited for too long */
extern void HeapReorderUntil(HeapReorder order, uint64_t time);

/* HeapReorderHeld -- append the event to those that are held back; also for restoring a saved order.  Returns its
 * place in `hold`, plus one. */
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

/* HeapReorderFresh -- may an event that is held now still depend on this move?  The move was within the bound of that
 * event, which came within the bound of now.  What a fork has given up was moved at the time of the fork, which may be
 * later than now. */
static inline Bool HeapReorderFresh(HeapReorder order, HeapMove move)
{
  return move->time != 0 && move->time + 2 * HeapBoundTIME >= order->now;
}

/* HeapReorderDue -- something has come to this address or gone from it, by no event: the events that are held there are
 * tried when the next one is
 * HeapReorderAgain -- the events that are due there are tried before the next event
 * HeapReorderChanged -- an event has brought something to this address or taken it away: held events may have become
 * possible, and are tried */
extern void HeapReorderDue(HeapReorder order, uint64_t addr);
extern void HeapReorderAgain(HeapReorder order, uint64_t addr);
static inline void HeapReorderChanged(HeapReorder order, uint64_t addr)
{
  if (LIKELY(order->held == 0) || order->bucket[heapOrderBucket(addr)].first == 0)
    return;
  HeapReorderDue(order, addr);
  HeapReorderAgain(order, addr);
}

/* HeapReorderSettle -- hold nothing back any longer: at the end, and before a pool is destroyed */
extern void HeapReorderSettle(HeapReorder order);

/* HeapReorderFinish -- free its memory */
extern void HeapReorderFinish(HeapReorder order);

/* HeapReorderDestroy -- free all objects of `pool`, which is being destroyed (presumed), oldest first */
extern void HeapReorderDestroy(HeapReorder order, HeapPool pool, HeapThread thread, uint64_t time);

/* HeapReorderAbandon -- the thread's resizes have no end: their objects are back where they were */
extern void HeapReorderAbandon(HeapReorder order, HeapThread thread);

extern Bool HeapReorderCheck(HeapReorder order);

/* ---- heapapply.c: what an event does to the live objects, once it can be true ----
 *
 * heapapply.c calls the hooks, and keeps resizes from their beginning to their end; heapreorder.c decides when an
 * event's turn comes. */

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

/* HeapActOrphan -- is the event the end of a resize whose object is unknown, or which was given up?
 * HeapActMay -- may `come` be applied before `go`, which came before it?  Not if it ends a resize whose beginning is
 * another event than `go` and is still held back. */
extern Bool HeapActOrphan(HeapInput input);
extern Bool HeapActMay(HeapInput come, HeapInput go);

/* HeapActOwn -- the pool's objects are going to change: from now on nobody shares its table.  FALSE: no memory, which
 * the order remembers. */
extern Bool HeapActCopy(HeapReorder order, HeapPool pool);
static inline Bool HeapActOwn(HeapReorder order, HeapPool pool)
{
  return LIKELY(pool->table.shares == NULL) || HeapActCopy(order, pool);
}

/* HeapActTry -- apply the event; FALSE: it cannot be true now, and nothing has been changed */
extern Bool HeapActTry(HeapReorder order, HeapInput input);

/* HeapActPresume -- an object has gone without an event: call the client's `free` */
extern void HeapActPresume(HeapReorder order, HeapInput input, HeapObject object);

/* HeapActCome, HeapActGo -- call the hooks for an object that is no longer at its address and in no table: for the
 * event that brings it, which fills in *objectReturn, and for the event that takes it away */
extern void HeapActCome(HeapReorder order, HeapInput input, HeapObject objectReturn);
extern void HeapActGo(HeapReorder order, HeapInput input, HeapObject object);

/* HeapActPast -- call the hook for a resize, given by its end, of an object that has already been freed */
extern void HeapActPast(HeapReorder order, HeapInput end);

#endif /* HEAP_HEAPREORDER_H */
