/* pool.h -- pools: a policy of allocation in an arena
 *
 * A pool is made by the name of its class and a list of named parameters, so that what was recorded can be made again.
 * A class is a PoolClassStruct; its pools begin with a PoolStruct.  The functions here are the client's: they emit one
 * event for each of the client's calls; classes never do, and call each other, where they do, by the class's functions.
 *
 * Always true (PoolCheck):
 *   the pool is on its arena's ring;  the segments on segRing are this pool's, and add up to segSize
 *
 * Threads: any thread may allocate from, free to and ask any pool.  PoolDestroy only by the last user.
 *
 * Design: design/mm.md .pool      Tests: test/mm/pooltest.c
 */
#ifndef MM_POOL_H
#define MM_POOL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/ring.h"
#include "base/types.h"
#include "mm/arena.h"
#include "mm/seg.h"

typedef struct PoolParamStruct {
  const char *name;
  Word value;
} PoolParamStruct;

#define PoolParamMAX 8 /* parameters of a class */

typedef const struct PoolClassStruct *PoolClass;

typedef struct PoolStruct {
  Word sig;                  /* PoolSIG */
  PoolClass class;
  Arena arena;               /* in which it has its segments */
  RingStruct arenaRing;      /* the arena's pools; under ArenaRegistryLock */
  RingStruct segRing;        /* under the arena's lock */
  Size segSize;              /* bytes of all segments; under the arena's lock */
  LockStruct lock;           /* what the class guards with it */
  uint32_t liveRound;        /* MMState: in which all objects have been told */
  Count liveCount;           /* PoolLive events so far, of this round */
  struct PoolDebugStruct *debug; /* of a debug variety (pooldebug.h); else NULL */
  Word value[PoolParamMAX];  /* the parameters in force, in the order of the class's list */
} PoolStruct;

#define PoolSIG ((Word)0x519B0011)

#define PoolArena(pool) ((pool)->arena)

typedef struct PoolClassStruct {
  const char *name;
  Size instanceSize;             /* of the structure that begins with a PoolStruct, which is zero at init */
  const PoolParamStruct *params; /* every parameter, with its default */
  Count paramCount;              /* at most PoolParamMAX */
  unsigned client;               /* a bit for each parameter, in their order: only the client knows what it must be, and
                                    the environment cannot change it */
  /* init -- prepare; `value` has the parameters, which may be rounded there.  ResPARAM: they cannot be meant. */
  Res (*init)(Pool pool, Word value[]);
  /* finish -- give up what is not a segment; the caller frees the segments.  NULL: there is nothing else. */
  void (*finish)(Pool pool);
  /* alloc -- `align` is a power of two, `zero` asks for zeroed memory */
  Res (*alloc)(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero);
  void (*free)(Pool pool, Addr addr, Size size);
  /* resize -- may fail as alloc does, and then `old` lives on; ResFAIL: the caller allocates, copies and frees */
  Res (*resize)(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size);
  Bool (*check)(Pool pool);
  /* block -- the block of memory for an object in which `addr` lies, which is in a segment of the pool; FALSE: there is
   * none, or that is not known.  For the debug variety. */
  Bool (*block)(Addr *baseReturn, Size *sizeReturn, Pool pool, Addr addr);
  /* live -- emit PoolLive (PoolTellLive) for objects that live, and count them in pool->liveCount.  The locks of arena
   * and pool are held, whatever the calling thread was about.  `late`: other threads will not come to tell of theirs.
   * FALSE: some are left. */
  Bool (*live)(Pool pool, Bool late);
  Bool sized;       /* free and resize need the right size from the client */
  PoolClass debugs; /* of which class this is the debug variety; NULL: it is none */
  /* object -- of a debug variety: the object that is in a block of the class it debugs; FALSE: none that lives */
  Bool (*object)(Addr *addrIO, Size *sizeIO, Pool pool);
} PoolClassStruct;

/* PoolClassPlain -- the class that decides where objects are: the pool's own, or that which it debugs */
#define PoolClassPlain(class) ((class)->debugs != NULL ? (class)->debugs : (class))

/* MFS: objects of one size, from a free list.  Freed objects are used again, the latest first; memory goes back to the
 * arena when the pool is destroyed.
 *
 *   unitSize  bytes of an object (default 16)
 *   extendBy  bytes of the segments that it gets (65536)
 */
extern const PoolClassStruct PoolClassMFS;

/* MVFF: objects of any size, first fit in order of address.  Sizes are rounded up to FreeTreeUNIT: there is no header,
 * so a freed object must be able to hold a node of the tree of free blocks.  PoolFree needs the right size.  An
 * operation costs a lock, and logarithmic time in the number of free blocks.
 *
 *   extendBy  bytes of the segments that it gets, at least (65536)
 *   align     of its objects (16)
 *   spare     bytes of segments without objects that it keeps (65536)
 */
extern const PoolClassStruct PoolClassMVFF;

/* SGF: segregated by size, for many threads (poolsgf.h).
 *
 *   emptySlabs  so many empty slabs each thread keeps for any size (4)
 */
extern const PoolClassStruct PoolClassSGF;

/* MVFFDebug, SGFDebug: the same, for finding what a program does wrong with memory (pooldebug.h): double frees, frees
 * of what is no object, writes beyond an object and after its free.  Each is told with who allocated and who freed
 * the object, and ends the process, unless PAWPRINT_ON_ERROR says report.  Objects take 80 bytes more.
 *
 *   quarantine  bytes of freed objects that are kept from use, to see whether they are written to (32 MiB)
 *   and the parameters of the class
 */
extern const PoolClassStruct PoolClassMVFFDebug;
extern const PoolClassStruct PoolClassSGFDebug;

/* PoolSettingsCheck -- are these settings (poolsettings.h) such as there can be?
 *
 * wrongReturn  the first that is not, cut to `size`
 * others       classes that are not in this room may have any parameter, and PoolCreate says which are the client's
 * errors       ResPARAM */
extern Res PoolSettingsCheck(char *wrongReturn, Size size, const char *text, Bool others);

/* PoolCreate -- a new pool
 *
 * className   MFS, MVFF, SGF, MVFFDebug or SGFDebug
 * params      `n` of them; each at most once counts, the last one; those of the class that are not named have defaults.
 *             Above both stands what the environment gives (poolsettings.h), but for what is the client's alone.
 * errors      ResPARAM: no such class, no such parameter of it, or a value that cannot be meant; ResMEMORY
 */
extern Res PoolCreate(Pool *poolReturn, Arena arena, const char *className, const PoolParamStruct *params, Count n);

/* PoolCreateOf -- the same for a class that is not in this room (AMS), by its table */
extern Res PoolCreateOf(Pool *poolReturn, Arena arena, PoolClass class, const PoolParamStruct *params, Count n);

/* PoolTell -- emit what PoolCreate emits: class and parameters; in the child of a fork, which has a trace of its own */
extern void PoolTell(Pool pool);

/* PoolDestroy -- give all of its memory back, and so destroy every object in it */
extern void PoolDestroy(Pool pool);

/* PoolAlloc, PoolAllocZero, PoolAllocAligned -- an object of `size` bytes
 *
 * size     0 counts as 1
 * align    a power of two; without it the class's own alignment (its parameter `align`; SGF: as malloc)
 * returns  the address; the object is the caller's until PoolFree or PoolDestroy
 * errors   ResMEMORY; ResPARAM: this class or pool has no such objects (MFS: another size or alignment)
 */
extern Res PoolAlloc(Addr *addrReturn, Pool pool, Size size);
extern Res PoolAllocZero(Addr *addrReturn, Pool pool, Size size);
extern Res PoolAllocAligned(Addr *addrReturn, Pool pool, Size size, Size align);

/* PoolFree -- give an object back; `size` as it was asked for (SGF and SGFDebug do not look at it) */
extern void PoolFree(Pool pool, Addr addr, Size size);

/* PoolResize -- let an object have another size, elsewhere if need be, with its contents as far as they fit
 * errors   as PoolAlloc, and then the old object lives on.  The alignment of PoolAllocAligned may be lost. */
extern Res PoolResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size);

/* PoolOfAddr -- the pool whose segment `addr` lies in, or NULL.  Any address may be asked about. */
extern Pool PoolOfAddr(const void *addr);

/* PoolTellLive -- for classes: emit PoolLive for what is in a block, and count it; of a debug variety what the block
 * has of the client's */
extern void PoolTellLive(Pool pool, Addr addr, Size size);

/* PoolCheck -- does all hold that must always be true of the pool, and for its class?  No other thread uses it. */
extern Bool PoolCheck(Pool pool);

#endif /* MM_POOL_H */
