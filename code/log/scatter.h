/* scatter.h -- a factor that scatters the keys of hash tables, another one in each process
 *
 * The keys of a reader's tables stand in logs: addresses, names, numbers.  If the factor were known,
 * an attacker could write a log whose keys all have the same place, and each search would pass all of them.
 *
 * Always true: ScatterFactor is odd, and does not change once main or the loader of libpawlog has begun.
 *
 * Design: design/requests.md .scatter      Tests: test/heap/heaptest.c
 */
#ifndef LOG_SCATTER_H
#define LOG_SCATTER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

extern uint64_t ScatterFactor;

/* Scatter -- a number that depends on a key, and of which the high bits are to be used: the chance that two keys have
 * the same n of them is about 1 in 2^(n-1), whatever they are */
static inline uint64_t Scatter(uint64_t key)
{
  return key * ScatterFactor;
}

/* ScatterMore -- add a word to a number that depends on several.  With the low half of the product alone, two words
 * that differ in high bits could undo each other, whatever the factor. */
static inline uint64_t ScatterMore(uint64_t hash, uint64_t word)
{
  unsigned __int128 product = (unsigned __int128)(hash ^ word) * ScatterFactor;

  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif /* LOG_SCATTER_H */
