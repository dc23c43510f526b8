/* poolmfs.h -- MFS: a pool of objects of one size, from a free list
 *
 * Parameters: unitSize, the size of its objects (default 16); extendBy, bytes of the segments that it gets (65536).
 * Freed objects are used again, the latest first; memory goes back to the arena when the pool is destroyed.
 *
 * Design: design/mm.md .mfs      Tests: test/mm/pooltest.c
 */
#ifndef MM_POOLMFS_H
#define MM_POOLMFS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

extern const PoolClassStruct PoolClassMFS;

#endif /* MM_POOLMFS_H */
