/* misuse.h -- what a program did wrong with memory of ours is said, with what is known of the object
 *
 * One message on standard error: what was done, to which object of which pool; then the newest events that the flight
 * recorder has of that object, so that who allocated and who freed it can be seen.  Then the process is aborted, or, if
 * the environment says PAWPRINT_ON_ERROR=report, goes on, and the caller leaves the object alone.
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

#endif /* MM_MISUSE_H */
