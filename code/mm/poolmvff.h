/* poolmvff.h -- MVFF: objects of any size, first fit in order of address
 *
 * Parameters: extendBy, bytes of the segments that it gets at least (default 65536); align, of its objects (16);
 * spare, bytes of segments without objects that it keeps (65536).  Sizes are rounded up to FreeTreeUNIT: there is no
 * header, so a freed object must be able to hold a node of the tree of free blocks.  PoolFree needs the right size.
 *
 * Cost: logarithmic in the number of free blocks; a lock.
 *
 * Design: design/mm.md .mvff      Tests: test/mm/pooltest.c
 */
#ifndef MM_POOLMVFF_H
#define MM_POOLMVFF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/pool.h"

extern const PoolClassStruct PoolClassMVFF;

#endif /* MM_POOLMVFF_H */
