/* ams.h -- AMS: a pool whose objects are collected, by marking and sweeping, and never move
 *
 * The client says what its objects look like (a format), where references begin (roots, threads), and how many bytes it
 * wants (allocation points).  What cannot be reached is taken back.  A collection is whole (AMSCollect), or in
 * increments between which the program runs (AMSStart, AMSStep, or by itself at a threshold); then references in
 * objects are stored by AMSWrite.
 *
 *     do {
 *       if (AMSReserve(&addr, ap, size) != ResOK) ...
 *       fill in the object: plain stores
 *     } while (!AMSCommit(ap, addr, size));
 *
 * A reference is the address of an object's first byte behind its header.  Exact references are NULL, or references to
 * objects of the pool, or point to something that is in no AMS pool.  Ambiguous ones may be anything, also the middle
 * of an object.
 *
 * Threads: what a function says of the thread; all others may be called by any thread.  A thread that has references on
 * its stack or in its registers while a collection starts must be registered (AMSThreadRegister), and must not block
 * AMSSignal for long.  Functions of a format or a root are called with the pool's lock held, some of them while other
 * threads are stopped: they must not allocate, wait, or call functions of this header other than AMSFix.
 *
 * Design: design/ams.md      Tests: test/ams/amstest.c, test/ams/graphtest.c, test/ams/mutants.t
 */
#ifndef AMS_AMS_H
#define AMS_AMS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/event.h"
#include "mm/pool.h"

enum { AMSLineMAX = 64 };

/* What a function that scans gets; for AMSFix only. */
typedef struct AMSScanStruct {
  Count count;           /* of `line`; less than AMSLineMAX */
  Addr line[AMSLineMAX]; /* references that have been found, and wait to be looked at */
} *AMSScan;

extern void AMSFixAll(AMSScan scan);

/* What objects look like. */
typedef struct AMSFormatStruct {
  Size align;      /* of objects and their sizes: a power of two, 8 to 1024 */
  Size headerSize; /* bytes before the address that references have; a multiple of a Word, may be 0 */
  /* scan -- AMSFix each reference of the object that lies in [base, limit).  A large object is scanned in pieces, so
   * that no pause is as long as that takes: who scans all of it each time is right, but slow.  `limit` may lie beyond
   * its end.  What AMSWrite stores is read by a relaxed atomic load.  NULL: there are no references in any object. */
  void (*scan)(AMSScan scan, Addr object, Addr base, Addr limit);
  /* skip -- the reference that an object right behind this one would have */
  Addr (*skip)(Addr object);
} AMSFormatStruct, *AMSFormat;

/* AMSCreate -- a new pool
 *
 * format   is copied
 * params   (PoolCreate)
 *   threshold  a collection starts when so many bytes, and as many as half of what survived the last one, have been
 *              allocated since (0: never by itself)
 *   pause      us that an increment takes at most, when the pool does them by itself (0: the collection is done whole
 *              where it is started)
 *   queue      references that may wait to be scanned (65536); what does not fit is found again
 * errors   ResPARAM, ResMEMORY; PoolDestroy gives it up, with its allocation points, roots and messages
 */
extern Res AMSCreate(Pool *poolReturn, Arena arena, const AMSFormatStruct *format, const PoolParamStruct *params,
                     Count n);

/* ---- Allocation points ---- */

/* A place from which one thread at a time allocates, in a run of free memory. */
typedef struct AMSAPStruct {
  Word init;   /* below it all is committed */
  Word alloc;  /* below it all is reserved */
  Word limit;  /* the end of the run; 0: none, or a collection has begun since (design/ams.md .ap.flip) */
  Pool pool;
} AMSAPStruct, *AMSAP;

/* AMSAPCreate, AMSAPDestroy -- an allocation point; what it has reserved and not used goes back to the pool
 * errors   ResMEMORY */
extern Res AMSAPCreate(AMSAP *apReturn, Pool pool);
extern void AMSAPDestroy(AMSAP ap);

/* AMSFill -- AMSReserve where the run is too short: the slow case, and where automatic collections happen */
extern Res AMSFill(Addr *addrReturn, AMSAP ap, Size size);

/* AMSTrip -- AMSCommit where a collection has begun since the run was taken: the slow case */
extern Bool AMSTrip(AMSAP ap, Addr addr);

/* AMSReserve -- memory for an object
 *
 * addrReturn  its first byte, header included; contents undefined
 * size        bytes, header included: a multiple of the format's alignment, and not 0
 * errors      ResMEMORY, also after a collection where the pool does these by itself
 * cost        a comparison and an addition; every 64 KiB, or less where memory is in pieces, a lock
 */
static inline Res AMSReserve(Addr *addrReturn, AMSAP ap, Size size)
{
  Word addr = ap->alloc, limit = __atomic_load_n(&ap->limit, __ATOMIC_RELAXED);

  if (LIKELY(addr < limit && size <= limit - addr)) {
    ap->alloc = addr + size;
    *addrReturn = (Addr)addr;
    return ResOK;
  }
  return AMSFill(addrReturn, ap, size);
}

/* AMSCommit -- the object is complete: from now on it is kept or reclaimed, and may be scanned
 *
 * returns  FALSE: a collection has begun meanwhile.  The object does not exist; reserve it again, and fill it in again
 *          from what the thread, or a root, still refers to.
 */
static inline Bool AMSCommit(AMSAP ap, Addr addr, Size size)
{
  __atomic_store_n(&ap->init, ap->alloc, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (UNLIKELY(__atomic_load_n(&ap->limit, __ATOMIC_RELAXED) == 0) && !AMSTrip(ap, addr))
    return FALSE;
  EVENT_PAW(PoolAlloc, ap->pool, addr, size);
  return TRUE;
}

/* ---- Roots ---- */

typedef enum AMSRank {
  AMSRankAMBIG, /* may be no references at all */
  AMSRankEXACT,
  AMSRankWEAK   /* do not keep what they refer to, and are set to NULL when that is found to be unreachable */
} AMSRank;

typedef struct AMSRootStruct *AMSRoot;

/* AMSRootCreateTable -- `count` references at `base`
 *
 * The client may change them by plain stores at any time, in registered threads; weak ones by relaxed atomic
 * stores, and they are read by AMSWeakGet.
 * Exact and ambiguous ones are read while all threads are stopped: a long table is a long pause.
 * errors   ResMEMORY
 */
extern Res AMSRootCreateTable(AMSRoot *rootReturn, Pool pool, AMSRank rank, Addr *base, Count count);

/* AMSRootCreateFun -- `scan` calls AMSFix for each exact reference that it knows
 * errors   ResMEMORY */
extern Res AMSRootCreateFun(AMSRoot *rootReturn, Pool pool, void (*scan)(AMSScan scan, void *closure), void *closure);

extern void AMSRootDestroy(AMSRoot root);

/* AMSFix -- an exact reference of what is being scanned; only inside of functions that get a `scan`
 *
 * They are taken together, so that the processor fetches what it needs for many of them at a time (AMSFixAll). */
static inline void AMSFix(AMSScan scan, Addr ref)
{
  scan->line[scan->count] = ref;
  if (UNLIKELY(++scan->count == AMSLineMAX))
    AMSFixAll(scan);
}

/* ---- Threads ---- */

/* AMSThreadRegister -- the calling thread's stack and registers are ambiguous roots of all AMS pools, until it
 * deregisters or ends
 *
 * errors   ResMEMORY; ResUNIMPL: the extent of its stack is not known; ResFAIL: no handler can be set
 */
extern Res AMSThreadRegister(void);
extern void AMSThreadDeregister(void);

/* AMSSignalSet -- the signal that stops threads; SIGPWR if nothing is said.  Before the first thread is registered:
 * ResLIMIT after that.  System calls of the program are restarted, as far as the system does that (SA_RESTART). */
extern Res AMSSignalSet(int signal);

/* ---- References ---- */

/* AMSWrite -- store a reference in an object that is committed: `*slot = value`
 *
 * thread   best a registered one; others take the pool's lock each time
 * cost     a few instructions; during a collection more where what is overwritten is not marked yet
 */
extern void AMSWrite(Pool pool, Addr object, Addr *slot, Addr value);

/* AMSWeakGet -- the reference in a weak table, or NULL where that was unreachable
 * thread   a registered one */
extern Addr AMSWeakGet(Pool pool, Addr *slot);

/* AMSFinalize -- when this object is found to be unreachable, keep it once more, and post a message
 * errors   ResMEMORY; ResPARAM: it is no object of the pool, or is not committed */
extern Res AMSFinalize(Pool pool, Addr object);

/* AMSMessageGet -- the next object that was found to be unreachable, oldest first; FALSE: there is none.  From then on
 * it is an object like others: kept while it is referred to, and not finalized again unless asked. */
extern Bool AMSMessageGet(Addr *objectReturn, Pool pool);

/* ---- Collections ---- */

/* AMSCollect -- a whole collection: all that is unreachable now is taken back when it returns
 *
 * Others may allocate and write meanwhile.  If a collection is in progress it is finished first.
 * errors   ResFAIL: a thread could not be stopped in time (design/ams.md .stop.bound), or the calling thread, which is
 *          registered, is on another stack than its own (a coroutine's, or that of a signal handler): there was none
 */
extern Res AMSCollect(Pool pool);

/* AMSStart -- begin a collection in increments; nothing if one is in progress.  Errors as AMSCollect. */
extern Res AMSStart(Pool pool);

/* AMSStep -- one increment of at most `us` microseconds (design/ams.md .pause), and of the least that can be done
 * returns  TRUE: the collection is not complete yet */
extern Bool AMSStep(Pool pool, unsigned us);

/* What a pool has, and what its last complete collection did.  Bytes are those of whole objects. */
typedef struct AMSStatsStruct {
  Count collections;  /* complete ones */
  Size allocated;     /* bytes of all objects that exist, but for those in runs of allocation points */
  Size condemned;     /* bytes of objects when the last collection began */
  Size reclaimed;     /* bytes of these that it took back */
  Count abandoned;    /* collections that did not begin because a thread could not be stopped */
  Count overflows;    /* times that the queue was full, ever */
  Count messages;     /* posted, ever */
  uint64_t stopNs;    /* ns for which the last one stopped other threads */
  uint64_t stopMaxNs; /* ns, the longest stop of all */
  uint64_t stepMaxNs; /* ns, the longest increment of all, stops included */
} AMSStatsStruct, *AMSStats;

extern void AMSStatsGet(AMSStats statsReturn, Pool pool);

#endif /* AMS_AMS_H */
