/* pooldebug.h -- debug varieties of pools: an object has a header, fence posts, and a past
 *
 * A pool of class MVFFDebug or SGFDebug is a pool of class MVFF or SGF whose blocks are laid out so:
 *
 *     block ...  header (DebugStruct)  object of `size` bytes  fence of 16 to 31 bytes
 *                ends with `check`, the fence post in front
 *
 * An object is filled when it is allocated and when it is freed.  What was freed stays in the pool's quarantine, the
 * oldest first to leave it; then it is looked at, and given back to the class that the variety debugs.  What is wrong
 * is found by a free or a resize, and when an object leaves the quarantine; misuse.h says it.
 *
 * Always true (PoolDebugCheck):
 *   `check` of a header says whether its object lives, is in quarantine, or has left it
 *   held == the sum of debugHeld of the objects in quarantine <= quarantine, or only one is there; space == that of
 *   debugBlockSize <= PoolDebugSPACE * quarantine, or only one is
 *
 * Threads: any.  The pool's lock guards the quarantine alone, and is held for a few instructions.
 *
 * Design: design/mm.md .debug      Tests: test/mm/debugtest.c, test/mm/debug.t
 */
#ifndef MM_POOLDEBUG_H
#define MM_POOLDEBUG_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

enum { /* what memory is filled with */
  PoolDebugFRESH = 0xcd, /* an object that was allocated and not written to */
  PoolDebugFREED = 0xdd, /* one that was freed */
  PoolDebugFENCE = 0xfd  /* the fence behind an object */
};

#define PoolDebugQUARANTINE ((Size)32 << 20) /* bytes */

enum {
  PoolDebugENTRIES = 1 << 18, /* objects that fit into a quarantine */
  PoolDebugSPACE = 32         /* times its bytes: of addresses, of which those in the middle of large objects have no memory */
};

typedef struct PoolDebugStruct {
  Size quarantine;              /* bytes */
  Size align;                   /* bytes; of the pool's objects */
  Size held;                    /* bytes in quarantine; under the pool's lock, like what follows */
  Size space;                   /* bytes of addresses in quarantine */
  Index first;                  /* the entry that leaves next, modulo PoolDebugENTRIES */
  Count count;                  /* entries */
  Addr entry[PoolDebugENTRIES]; /* objects */
} PoolDebugStruct, *PoolDebug;

/* PoolDebugSite -- who calls: set by the function that the client calls, in its thread, before it calls the class.  An
 * address of code, or what MisuseSiteHook makes addresses of. */
extern __thread Word PoolDebugSite __attribute__((tls_model("initial-exec")));

/* The functions of such a class, as in pool.h.  PoolDebugFree of an address that is no object does nothing but say so.
 */
extern Res PoolDebugInit(Pool pool, Word value[]);
extern void PoolDebugFinish(Pool pool);
extern Res PoolDebugAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero);
extern void PoolDebugFree(Pool pool, Addr addr, Size size);
extern Res PoolDebugResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size);
extern Bool PoolDebugCheck(Pool pool);
extern Bool PoolDebugObject(Addr *addrIO, Size *sizeIO, Pool pool);

#define PoolDebugFUNCTIONS \
  .init = PoolDebugInit, .finish = PoolDebugFinish, .alloc = PoolDebugAlloc, .free = PoolDebugFree, \
  .resize = PoolDebugResize, .check = PoolDebugCheck, .object = PoolDebugObject

/* PoolDebugSize -- bytes of an object that lives, as they were asked for; 0: it is none */
extern Size PoolDebugSize(Pool pool, const void *addr);

/* PoolDebugDrain -- let what is in quarantine now leave it, so that what was written to there is told */
extern void PoolDebugDrain(Pool pool);

/* PoolDebugForked -- in the child of a fork, by its thread: it has another number */
extern void PoolDebugForked(void);

#endif /* MM_POOLDEBUG_H */
