/* poolsgfsize.h -- SGF's size classes
 *
 * Blocks are multiples of 16 bytes: each multiple up to 256, and from there eight sizes for each doubling, so that
 * rounding up costs an eighth at most.  Every class whose block size is a multiple of a power of two serves as aligned
 * memory, because slabs begin on grains.
 *
 * Design: design/mm.md .sgf.size      Tests: test/mm/pooltest.c (every size)
 */
#ifndef MM_POOLSGFSIZE_H
#define MM_POOLSGFSIZE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

#define SGFUnitSHIFT 4
#define SGFUnitSIZE  ((Size)1 << SGFUnitSHIFT) /* bytes; the alignment of every block, as malloc must have it */

#define SGFExactSHIFT 8                        /* up to 2^8 bytes each unit has a class of its own */
#define SGFClassEXACT (1u << (SGFExactSHIFT - SGFUnitSHIFT))
#define SGFBlockSHIFT 16                       /* larger than 2^16 bytes: a segment of its own */
#define SGFBlockMAX   ((Size)1 << SGFBlockSHIFT)
#define SGFClassCOUNT (SGFClassEXACT + 8u * (SGFBlockSHIFT - SGFExactSHIFT))

/* SGFClassOfSize -- the class for `size` bytes, 1 to SGFBlockMAX */
static inline Index SGFClassOfSize(Size size)
{
  unsigned log;

  if (size <= (Size)1 << SGFExactSHIFT)
    return (size - 1) >> SGFUnitSHIFT;
  log = 63u - (unsigned)__builtin_clzll((unsigned long long)(size - 1));
  return SGFClassEXACT + (log - SGFExactSHIFT) * 8 + (((size - 1) >> (log - 3)) & 7);
}

/* SGFClassSize -- bytes of a class's blocks */
static inline Size SGFClassSize(Index class)
{
  if (class < SGFClassEXACT)
    return (class + 1) << SGFUnitSHIFT;
  class -= SGFClassEXACT;
  return (9 + class % 8) << (SGFExactSHIFT - 3 + class / 8);
}

#endif /* MM_POOLSGFSIZE_H */
