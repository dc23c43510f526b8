/* rowcache.h -- the unwind rows of a process, found once for each address
 *
 * When a walk meets an address for the first time its row is read from the module that has the address; nothing is read
 * when the program starts.  The cache has a fixed size, and a row that is pushed out of it is read again.  An entry is
 * one word: a row, and the address that it is for.  The lookup that a walk does at each new frame is in this header.
 *
 * Threads: any; signal handlers, too.  No lock: an entry is one word, which is written as a whole.
 *
 * Design: design/unwind.md .cache      Tests: test/unwind/ehframetest.c, test/unwind/walktest.c
 */
#ifndef UNWIND_ROWCACHE_H
#define UNWIND_ROWCACHE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "unwind/ehframe.h"

#define RowCacheSHIFT 15 /* 32768 rows, 256 KiB, touched as they are used */
#define RowCacheSIZE  ((Size)1 << RowCacheSHIFT)

/* Addresses in user space have 47 bits, or are mapped there only on request.  Multiplied by an odd number, which loses
 * nothing, their high bits are the index of an entry, and the others are kept in it, above the row.  An entry may also
 * be in the place beside that, whose index differs in the lowest bit; so this bit is kept, too. */
#define RowAddressBITS 47
#define RowPackedBITS  (63 - (RowAddressBITS - RowCacheSHIFT))

/* A packed row, from the low bits: kind + 1: 3, rbp saved: 1, rbp's offset in words: 8, CFA's offset in words: 19.
 * 0 is none. */
typedef uint32_t PackedRow;

_Static_assert(RowPackedBITS == 31, "an entry has a row and what is kept of its address");

extern uint64_t RowCacheTable[RowCacheSIZE];

/* RowCacheFind -- the row of an address for which RowCacheRow has none; the cache has it then, if it can be packed */
extern void RowCacheFind(UnwindRow row, Word at);

/* RowCacheForget -- code has been unloaded, so the addresses of known rows may be those of other code now
 * cost  a pass over the cache */
extern void RowCacheForget(void);

/* rowScattered -- an address, multiplied, in the high 47 bits of a word
 * rowIndex -- the first place for it */
static inline Word rowScattered(Word at)
{
  return (at << (64 - RowAddressBITS)) * 0x9e3779b97f4a7c15u;
}

static inline Index rowIndex(Word scattered)
{
  return scattered >> (64 - RowCacheSHIFT);
}

static inline RowKind PackedRowKind(PackedRow row)
{
  return (RowKind)((row & 7) - 1);
}

static inline Bool PackedRowSaved(PackedRow row)
{
  return (row & 8) != 0;
}

/* PackedRowCfa, PackedRowRbp -- the offsets, in bytes */
static inline int64_t PackedRowCfa(PackedRow row)
{
  return (int64_t)((int32_t)(row << 1) >> 13) * (int64_t)sizeof(Word);
}

static inline int64_t PackedRowRbp(PackedRow row)
{
  return (int64_t)((int32_t)(row << 20) >> 24) * (int64_t)sizeof(Word);
}

/* rowIn -- the row that an entry has for a scattered address; 0: it is for another one */
static inline PackedRow rowIn(uint64_t entry, Word scattered)
{
  uint64_t row = entry ^ scattered << (RowCacheSHIFT - 1);

  return LIKELY(row >> RowPackedBITS == 0) ? (PackedRow)row : 0;
}

/* RowCacheRow -- the row of an address inside an instruction; 0: call RowCacheFind */
static inline PackedRow RowCacheRow(Word at)
{
  Word scattered = rowScattered(at);

  if (UNLIKELY(at >> RowAddressBITS != 0))
    return 0;
  return rowIn(__atomic_load_n(&RowCacheTable[rowIndex(scattered)], __ATOMIC_RELAXED), scattered);
}

#endif /* UNWIND_ROWCACHE_H */
