/* misuse.h -- what a program did wrong with memory of ours is said, with what is known of the object
 *
 * One message on standard error: what was done, to which object of which pool; from a debug variety, by whom, and who
 * allocated and freed the object; then the newest events that the flight recorder has of it.  An event, PoolMisuse.
 * Then the process is aborted, or, if the environment says PAWPRINT_ON_ERROR=report, goes on, and the caller leaves the
 * object alone.
 *
 * Design: design/mm.md .misuse      Tests: test/mm/misuse.t
 */
#ifndef MM_MISUSE_H
#define MM_MISUSE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

typedef enum Misuse {
  MisuseFOREIGN,     /* what is freed or resized is nothing that the pool gave */
  MisuseINNER,       /* it is in an object, and not its beginning */
  MisuseFREED,       /* it was freed already */
  MisuseOVERWRITTEN, /* a free block was written to, after its free or from the object before it */
  MisuseNEAR,        /* the same of a block that was handed out since, near the address: which one is not known */
  /* What SGF finds where a fence is (design/mm.md .sgf.fence), and debug varieties everywhere: */
  MisuseBEFORE,      /* the memory before the object was written to */
  MisuseBEHIND,      /* the memory behind the object was written to */
  /* What only debug varieties find: */
  MisuseLATER,       /* the object was written to after it was freed */
  MisuseSIZE,        /* it is freed or resized with another size than it has */
  MisuseLIMIT
} Misuse;

/* MisuseFound -- say so; returns only if the process is to go on
 *
 * object   where the object or block begins; with MisuseFOREIGN the address that was given
 * size     bytes of it; 0: not known
 * p        the address that was given, or `object`
 * threads  any, also with locks of the memory manager held: takes no lock and allocates nothing; keeps errno
 */
extern void MisuseFound(Misuse misuse, Pool pool, const void *object, Size size, const void *p)
  __attribute__((cold, noinline));

/* What a debug variety knows of an object.  A site is an address of code, or what MisuseSiteHook knows.  Threads are
 * the system's, times are ticks (plinth/clock.h). */
typedef struct MisusePastStruct {
  Word allocSite, freeSite, site; /* `site`, `thread`, `time`: of the call that found it */
  uint32_t allocThread, freeThread, thread;
  uint64_t allocTime, freeTime, time;
  Bool freed;                     /* freeSite and the like mean something; allocTime 0: nothing of the object does */
} MisusePastStruct, *MisusePast;

/* MisuseFoundPast -- as MisuseFound, with what is known of the object.  No lock of the memory manager is held: the
 * names of functions are looked up with the dynamic linker's. */
extern void MisuseFoundPast(Misuse misuse, Pool pool, const void *object, Size size, const void *p, MisusePast past)
  __attribute__((cold, noinline));

/* MisuseSiteHook -- the addresses of code that a site stands for, the innermost first; returns how many.  NULL: a site
 * is an address. */
extern Count (*MisuseSiteHook)(Word at[], Count max, Word site);

#endif /* MM_MISUSE_H */
