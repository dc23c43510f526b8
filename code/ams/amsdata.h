/* amsdata.h -- what a pool of class AMS is made of; for the files of this room
 *
 * A small segment is one grain of the arena, divided into units of the format's alignment.  Three bit tables have a bit
 * for each unit.  The segment is tiled: each tile begins where `begin` has a bit, and ends where the next one begins.
 * A tile is an object (`object` has the bit, too), or the run of an allocation point, or free.
 *
 * Always true (AMSSegCheck), under the pool's lock:
 *   object is a subset of begin;  unit 0 begins a tile
 *   a tile that is the run of an allocation point, [ap->base, ap->top), is no object
 *   mark has no bit unless a collection is in progress;  what counts of it is mark & object
 *   in a run of an allocation point all marks are set while objects are marked
 *   a large segment has one object, at its beginning; or none, while an allocation point has it, or it is gone
 *   a segment is attached to one allocation point at most, and then on no ring of the pool
 *
 * Design: design/ams.md      Tests: test/ams/amstest.c
 */
#ifndef AMS_AMSDATA_H
#define AMS_AMSDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "ams/ams.h"
#include "ams/units.h"
#include "base/ring.h"
#include "mm/lock.h"
#include "mm/pool.h"
#include "mm/seg.h"

enum {
  AMSSegNONE,  /* as in zeroed memory: the grain is of no segment of ours */
  AMSSegSMALL,
  AMSSegLARGE,
  AMSSegREST   /* a grain behind the first of a large one */
};

#define AMSLargeMIN  (ArenaGrainSIZE / 2) /* bytes; larger objects have a segment each */
#define AMSPieceSIZE ((Size)16384)        /* bytes of a large object that are scanned at a time */
#define AMSBINS      14                   /* 2 to the power of that is more than the units of a segment */

typedef struct AMSAPFullStruct *AMSAPFull;

typedef struct AMSSegStruct {
  SegStruct seg;
  Word *mark;            /* a bit for each unit; large: bit 0 of the first word is the object's */
  Word *tables;          /* small: object and begin, one behind the other */
  uint8_t kind;          /* AMSSegSMALL, AMSSegLARGE */
  uint8_t object;        /* large: there is one */
  uint8_t rescan;        /* some of its objects are marked, but were not on the queue: on rescanRing */
  uint32_t free;         /* small: units of free tiles; valid while attached to nobody */
  uint32_t maxRun;       /* small: no free tile has more units */
  AMSAPFull ap;          /* to which it is attached; NULL: none */
  RingStruct ring;       /* one of the pool's: bins, large, unswept */
  RingStruct rescanRing; /* the pool's `rescan`; alone if rescan is FALSE */
} AMSSegStruct, *AMSSeg;

_Static_assert(sizeof(AMSSegStruct) <= ChunkSegSTRIDE, "the descriptor of a segment has room for ours");

/* A side table.  There is one for each slot of addresses, as large as a chunk, in which the pool has segments or has
 * had some.  The table says of each grain in the slot which kind of segment it belongs to, and has a mark for each
 * unit. Both are found from a reference by arithmetic, without a look at the segment. */
typedef struct AMSSideStruct {
  struct AMSSideStruct *next; /* the pool's, of another slot */
  uint8_t kind[ChunkGRAINS]; /* an AMSSeg... */
  Word mark[];
} AMSSideStruct, *AMSSide;

struct AMSAPFullStruct {
  AMSAPStruct ap;      /* what the client's inline functions see */
  RingStruct ring;     /* the pool's allocation points */
  AMSSeg seg;          /* NULL: none */
  Word base;           /* where its tile begins: below it all objects have their bits */
  Word top;            /* the end of its tile, and of the run; limit has the same value unless trapped */
  Word initAtFlip;     /* trapped: what was below this when the collection began is committed */
  Bool trapped;        /* a collection has begun since the run was taken: limit is 0 */
  Bool unswept;        /* its segment is to be swept before any of its objects gets a bit */
};

struct AMSRootStruct {
  RingStruct ring; /* the pool's roots */
  Pool pool;
  AMSRank rank;
  Addr *base;      /* a table; NULL: a function */
  Count count;
  void (*scan)(AMSScan scan, void *closure);
  void *closure;
  Count refs;      /* that the last flip found in it */
};

typedef enum AMSPhase {
  AMSPhaseIDLE,
  AMSPhaseMARK,  /* all that is reachable is being marked */
  AMSPhaseFINAL, /* what is registered for finalization and unmarked is marked, and told by messages */
  AMSPhaseWEAK,  /* weak references to what is unmarked are cleared */
  AMSPhaseSWEEP
} AMSPhase;

/* A growing array of references (amsfinal.c). */
typedef struct AMSArrayStruct {
  Addr *at;
  Count count, capacity;
} AMSArrayStruct;

typedef struct AMSStruct *AMS;

/* A reference whose mark is being fetched into the cache (amsmark.c). */
typedef struct AMSPendingStruct {
  Word base;  /* the first byte of the object */
  Word *word; /* that its mark is in */
} AMSPendingStruct;

typedef struct AMSStruct {
  PoolStruct poolStruct;     /* its lock guards all that follows, but for `epoch`, `waiting` and `whole` */
  AMSFormatStruct format;
  unsigned shift;            /* of a unit: align == 1 << shift */
  Count units;               /* of a small segment */
  Count words;               /* of a bit table */
  Size threshold;            /* bytes; parameters */
  unsigned pauseUs;
  Word epoch;                /* odd while objects are marked; read without the lock */
  Count waiting;             /* threads that want the lock while a collection has it */
  LockStruct whole;          /* of the thread that does a collection to its end; before all other locks */
  UnitsStruct tables;        /* bit tables of small segments, but for the marks */
  AMSSide sides;             /* all of them */
  AMSSide *side;             /* ChunkSlotCOUNT places, by slot; NULL: nothing of ours is there */
  UnitsStruct records;       /* allocation points and roots */
  RingStruct aps;
  RingStruct roots;
  RingStruct bins[AMSBINS];  /* small segments by the logarithm of maxRun; 0: nothing is free, or one unit */
  RingStruct large;
  RingStruct unswept;        /* before they are swept */
  RingStruct gone;           /* large ones that are empty: their memory is given back piece by piece */
  Word goneNext;             /* what is left of the first of them; 0: all */
  Count apsUnswept;          /* allocation points with `unswept` */
  RingStruct rescan;
  AMSPhase phase;
  struct AMSScanStruct scan;
  Count refs;                /* fixed, ever */
  AMSPendingStruct pending[AMSLineMAX];
  Count pendingCount;
  Addr *queue;               /* marked, and to be scanned: beginnings of objects; a stack */
  Count queueCount, queueMax;
  Addr piece;                /* a large object that is being scanned; NULL: none */
  Word pieceNext;            /* the rest of it */
  Size allocated;            /* bytes of registered objects */
  Size since;                /* bytes of objects registered since the last collection began, or should have */
  Size survived;             /* bytes that the last one left */
  Size sinceStep;            /* bytes of runs given out since the last automatic increment */
  AMSArrayStruct final;      /* registered for finalization */
  AMSArrayStruct message;    /* posted, and not yet got: from messageNext on */
  Index messageNext;
  Index messageScan;         /* FINAL: those before it are marked */
  Index messageOld;          /* FINAL: those before it were posted by earlier collections */
  Count messages;            /* that may be got; read without the lock */
  Index finalNext;           /* FINAL: those before it have been looked at */
  Index finalKept;           /* and so many of them stay */
  Index finalLimit;          /* those that were registered when FINAL began */
  AMSRoot weakRoot;          /* WEAK: where it is */
  Index weakNext;
  Size condemned, reclaimed; /* of this collection */
  Word trace;                /* its number, from 1 */
  Size born;                 /* bytes registered since it began */
  uint64_t phaseNs[AMSPhaseSWEEP + 1]; /* ns that its steps took in each phase */
  Bool stopped;              /* threads are: no event may be emitted */
  Word *fixed;               /* amsFixedMAX references that were fixed meanwhile, plus 1 for each that marked */
  Count fixedCount;
  AMSStatsStruct stats;
} AMSStruct;

#define PoolAMS(pool)  RING_ELT(AMSStruct, poolStruct, pool)
#define AMSPool(ams)   (&(ams)->poolStruct)
#define AMSAPOf(point) RING_ELT(struct AMSAPFullStruct, ap, point)

#define AMSSegObject(ams, seg) ((seg)->tables)
#define AMSSegBegin(ams, seg)  ((seg)->tables + (ams)->words)
#define AMSMarking(ams)        ((ams)->phase >= AMSPhaseMARK && (ams)->phase <= AMSPhaseWEAK)

/* The reference that belongs to an object's first byte, and the other way round. */
#define AMSRef(ams, base)  ((Addr)((Word)(base) + (ams)->format.headerSize))
#define AMSBase(ams, ref)  ((Addr)((Word)(ref) - (ams)->format.headerSize))

/* AMSSideOf -- what the pool has, or had, in the slot that an address is in; NULL: nothing */
static inline AMSSide AMSSideOf(AMS ams, Word addr)
{
  return LIKELY(addr >> ChunkSHIFT < ChunkSlotCOUNT) ? __atomic_load_n(&ams->side[addr >> ChunkSHIFT], __ATOMIC_ACQUIRE)
                                                     : NULL;
}

#define AMSSideGrain(addr)     (((addr) & (ChunkSIZE - 1)) >> ArenaGrainSHIFT)
#define AMSSideUnit(ams, addr) (((addr) & (ChunkSIZE - 1)) >> (ams)->shift)
#define AMSSideSize(ams)       (sizeof(AMSSideStruct) + (ChunkSIZE >> (ams)->shift) / 8)

static inline Bool AMSBit(const Word *table, Index i) { return (Bool)(table[i / WORD_WIDTH] >> i % WORD_WIDTH & 1); }
static inline void AMSBitSet(Word *table, Index i) { table[i / WORD_WIDTH] |= (Word)1 << i % WORD_WIDTH; }
static inline void AMSBitReset(Word *table, Index i) { table[i / WORD_WIDTH] &= ~((Word)1 << i % WORD_WIDTH); }

/* ---- amsseg.c ---- */

/* AMSSegNewSmall, AMSSegNewLarge -- a segment: one free tile; without an object.  On no ring.  errors: ResMEMORY */
extern Res AMSSegNewSmall(AMSSeg *segReturn, AMS ams);
extern Res AMSSegNewLarge(AMSSeg *segReturn, AMS ams, Size size);

/* AMSSegFile -- put a segment that nobody is attached to on the ring where it belongs */
extern void AMSSegFile(AMS ams, AMSSeg seg);

/* AMSSegRun -- the next free tile at or behind unit `*at` with at least `n` units.  FALSE: there is none.
 *
 * at       then the unit behind it
 * skipped  is raised to the units of the largest tile that was too small
 */
extern Bool AMSSegRun(Index *firstReturn, Index *limitReturn, AMS ams, AMSSeg seg, Index *at, Count n, Count *skipped);

/* AMSSegRegister -- the objects in [base, limit), which is the beginning of a tile, get their bits */
extern void AMSSegRegister(AMS ams, AMSSeg seg, Word base, Word limit);

/* AMSSegMarkAll -- set the marks of units [i, limit) */
extern void AMSSegMarkAll(AMSSeg seg, Index i, Index limit);

/* AMSScanKind -- what a TraceScan event is about */
enum { AMSScanROOT, AMSScanSTACK, AMSScanSEG };

/* AMSSegFind -- the object that `addr`, which may be anything, points into: its first byte; NULL: none */
extern Addr AMSSegFind(AMS ams, Word addr);

/* AMSSegSweep -- take back unmarked objects, and clear the marks; an empty segment goes back to the arena
 * The segment is on no ring; afterwards it is where it belongs. */
extern void AMSSegSweep(AMS ams, AMSSeg seg);

/* AMSSegGive -- give back a piece of what is gone; there is something */
extern void AMSSegGive(AMS ams);

/* AMSSegDrop -- a segment is empty, and on no ring: give it back, or leave that to AMSSegGive if it is large */
extern void AMSSegDrop(AMS ams, AMSSeg seg);

extern Bool AMSSegCheck(AMS ams, AMSSeg seg);

/* ---- amsap.c ---- */

/* AMSAPSweepOne -- sweep the segment of an allocation point that has one which is not swept; there is one */
extern void AMSAPSweepOne(AMS ams);

/* AMSAPSettle -- register what its thread, which may go on, has committed */
extern void AMSAPSettle(AMS ams, AMSAPFull ap);

/* AMSAPFlip -- threads are stopped: register what is committed; what is not will not be */
extern void AMSAPFlip(AMS ams, AMSAPFull ap);

/* ---- amsmark.c ---- */

/* AMSIsMarked -- is the object with this reference marked, or none of the pool's? */
extern Bool AMSIsMarked(AMS ams, Addr ref);

/* AMSFixAmbig -- mark the object that a word points into, if any */
extern void AMSFixAmbig(AMS ams, Word word);

/* AMSFixArea -- the same for all words in [base, limit), whatever is there */
extern void AMSFixArea(AMS ams, Word base, Word limit);

/* AMSMarkFixedTell -- emit which references were fixed while threads were stopped */
extern void AMSMarkFixedTell(AMS ams);

enum { AMSFixedMAX = 8192 }; /* references of one flip for which RefFix is emitted; more are only counted */

/* AMSMarkSome -- scan some of what is marked; FALSE: there is nothing left to scan */
extern Bool AMSMarkSome(AMS ams);

/* ---- amsroot.c ---- */

/* AMSRootsScan -- threads are stopped: mark what all exact and ambiguous roots refer to */
extern void AMSRootsScan(AMS ams);

/* AMSRootsTell -- emit what the last AMSRootsScan found in each root */
extern void AMSRootsTell(AMS ams);

/* AMSWeakSome -- clear some weak references to what is not marked; FALSE: none is left.  ams->weakRoot: begin */
extern Bool AMSWeakSome(AMS ams);
extern void AMSWeakBegin(AMS ams);

/* ---- amsfinal.c ---- */

extern void AMSFinalBegin(AMS ams);

/* AMSFinalSome -- of some objects: mark those that messages keep; post messages for registered ones that are not
 * marked. Between two calls all that is marked is scanned.  FALSE: none is left. */
extern Bool AMSFinalSome(AMS ams);

extern void AMSFinalFinish(AMS ams);

/* ---- amsthread.c ---- */

/* AMSNow -- ns of a clock that never goes back */
extern uint64_t AMSNow(void);

/* AMSLockClaim -- claim a lock; the thread that has it may be waiting for the calling one to stop */
extern void AMSLockClaim(Lock lock);

/* AMSClaim -- claim the pool's lock, before a collection in progress that keeps taking it */
extern void AMSClaim(AMS ams);

/* AMSThreadsClaim, AMSThreadsRelease -- the lock of the list of threads: before the lock of any pool */
extern void AMSThreadsClaim(void);
extern void AMSThreadsRelease(void);

/* What it took to stop threads. */
typedef struct AMSStopStruct {
  unsigned threads, stopped; /* that should have, and that have */
  unsigned signals;          /* sent */
} AMSStopStruct;

/* AMSThreadsFork -- from now on a fork takes the lock of the list, and those of all pools: the child may collect
 * forked   the same for all pools: is called in the child, which has these locks
 * errors   ResMEMORY */
extern Res AMSThreadsFork(void (*forked)(void));

/* AMSThreadsStop -- stop all registered threads but the calling one; the lock of the list is held
 * errors   ResFAIL: one did not come in time, or the calling one is on another stack than its own; none is stopped
 *          then */
extern Res AMSThreadsStop(AMSStopStruct *stopReturn);
extern void AMSThreadsResume(void);

/* AMSThreadsTell -- emit what the last AMSThreadsScan found on each stack; the lock of the list is held */
extern void AMSThreadsTell(AMS ams);

/* AMSThreadsScan -- mark what stacks and registers refer to, and what threads are about to overwrite */
extern void AMSThreadsScan(AMS ams);

/* AMSThreadSelf -- the calling thread's place for the slot that it is about to overwrite; NULL: not registered */
typedef struct AMSThreadStruct *AMSThread;
extern __thread AMSThread AMSThreadSelf __attribute__((tls_model("initial-exec")));

struct AMSThreadStruct {
  Addr *slot;      /* that AMSWrite is about to overwrite; NULL: none */
  RingStruct ring; /* under the lock of the list */
  int tid;
  Word low, high;  /* its stack */
  Word sp;         /* stopped: all that is in use of it is above */
  uint32_t round;  /* in which it has stopped last */
  Count refs;      /* that the last flip found on its stack */
};

/* ---- amscollect.c ---- */

/* AMSCollectFor -- AMSCollect, and why */
extern Res AMSCollectFor(AMS ams, const char *why);

/* AMSAuto -- the pool's own collections: before memory is taken, without the lock */
extern void AMSAuto(AMS ams);

#endif /* AMS_AMSDATA_H */
