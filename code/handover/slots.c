/* slots.c -- the slots of a region: taken, given back, and mended where the program has written over them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/blockstore.h"

#include <string.h>

#include "base/aver.h"
#include "plinth/clock.h"

enum {
  slotAHEAD = 64,         /* slots that StoreAhead sees to: 4 MiB */
  slotLeastLOG = 12,      /* of BlockMIN, */
  slotMostLOG = 16,       /* and of BlockMAX */
  slotPoorNS = 10000000   /* that a file system which had no room is not asked again */
};
_Static_assert(BlockMIN == 1 << slotLeastLOG && BlockMAX == 1 << slotMostLOG,
               "log2 of the least and the largest block");

/* slotProvide -- the file system gives the memory of the block in a slot that is ours, once */
static Bool slotProvide(Store store, Index i, unsigned log2)
{
  Size size = (Size)1 << log2;

  if (store->provided[i] >= log2)
    return TRUE;
  if (!StoreProvide(store, RegionFIRST + (i + 1) * RegionSlotSIZE - size, size))
    return FALSE;
  /* A thread that looks for a slot reads this before the slot is its own. */
  __atomic_store_n(&store->provided[i], (uint8_t)log2, __ATOMIC_RELAXED);
  return TRUE;
}

/* slotRaise -- slot `i` has been taken */
static void slotRaise(Store store, Index i)
{
  Index limit = StoreLimit(store);

  while (limit <= i && !__atomic_compare_exchange_n(&store->limit, &limit, i + 1, FALSE, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_ACQUIRE))
    ;
}

/* slotEnd -- where a slot ends */
static char *slotEnd(RegionHeader header, Index i)
{
  return (char *)header + RegionSize(i + 1);
}

uint8_t StoreTold(Store store, Index i)
{
  return RegionStateTold(slotEnd(store->header, i), (Size)1 << store->provided[i], store->header->identity);
}

/* slotFree -- the first free slot from `i` on, or RegionSlotsMAX.  Eight states are looked at in one go. */
static Index slotFree(RegionHeader header, Index i)
{
  enum { together = sizeof(uint64_t) };
  const uint64_t ones = 0x0101010101010101u;
  const Count slots = RegionSlotsOf(header);

  while (i < slots) {
    /* All places have a state, also those behind the last slot. */
    uint64_t states = i % together == 0 ? __atomic_load_n((uint64_t *)(void *)&header->state[i], __ATOMIC_RELAXED) : 0;
    if (((states - ones) & ~states & ones << 7) == 0)
      i += together;
    else if (__atomic_load_n(&header->state[i], __ATOMIC_RELAXED) == RegionFREE)
      return i;
    else
      ++i;
  }
  return RegionSlotsMAX;
}

/* While the file system is known to be full, only slots whose memory it has given before are used. */
Bool StorePoor(Store store)
{
  uint64_t poor = __atomic_load_n(&store->poor, __ATOMIC_RELAXED);

  return poor != 0 && EventClockMonotonic() - poor < slotPoorNS;
}

/* slotTaken -- is there a block in a slot that was free, and is ours now?  Then the program has written over the slot's
 * state, which gets what it should be; its owner may have come first, and handed the block over. */
static Bool slotTaken(Store store, Index i, unsigned had)
{
  const char *end = slotEnd(store->header, i);
  uint8_t ours = RegionOPEN, told;
  uint64_t some = 0;
  unsigned log2;

  for (log2 = slotLeastLOG; log2 <= had; ++log2)
    some |= *(const uint64_t *)(const void *)(end - ((Size)1 << log2));
  if (LIKELY(some == 0))
    return FALSE;
  told = StoreTold(store, i);
  if (told != RegionFREE)
    (void)__atomic_compare_exchange_n(&store->header->state[i], &ours, told, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  return TRUE;
}

/* slotClaim -- take a free slot for a block of 1 << *log2 bytes, or of as many as the file system gave it before;
 * FALSE: not this one.  Its state has no size yet: readers look at the header of each slot that has one, and there is
 * no header yet. */
static Bool slotClaim(Store store, Index i, unsigned *log2, Bool *poor)
{
  RegionHeader header = store->header;
  uint8_t had = __atomic_load_n(&store->provided[i], __ATOMIC_RELAXED), none = RegionFREE;
  unsigned its = *poor && had < *log2 ? had : *log2;

  if ((1u << its) < BlockMIN ||
      !__atomic_compare_exchange_n(&header->state[i], &none, RegionOPEN, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return FALSE;
  if (slotTaken(store, i, had))
    return FALSE;
  slotRaise(store, i);
  if (!slotProvide(store, i, its)) {
    __atomic_store_n(&store->poor, EventClockMonotonic(), __ATOMIC_RELAXED);
    *poor = TRUE;
    its = store->provided[i];
  }
  if ((1u << its) < BlockMIN) {
    __atomic_store_n(&header->state[i], RegionFREE, __ATOMIC_RELEASE);
    return FALSE;
  }
  *log2 = its;
  return TRUE;
}

void StoreAhead(Store store)
{
  RegionHeader header = __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
  Bool poor = FALSE;
  Index i, slots = 0;

  for (i = 0; header != NULL && !poor && slots < slotAHEAD && (i = slotFree(header, i)) < RegionSlotsMAX; ++i) {
    unsigned log2 = slotMostLOG;
    if (slotClaim(store, i, &log2, &poor))
      __atomic_store_n(&header->state[i], RegionFREE, __ATOMIC_RELEASE);
    ++slots;
  }
}

void *StoreTake(Store store, Size *size)
{
  RegionHeader header = __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
  unsigned log2 = (unsigned)__builtin_ctzl(*size);
  Bool poor = StorePoor(store);
  Index i;

  AVER(WordIsPowerOf2(*size) && *size >= BlockMIN && *size <= BlockMAX);
  for (i = 0; header != NULL && (i = slotFree(header, i)) < RegionSlotsMAX; ++i)
    if (slotClaim(store, i, &log2, &poor)) {
      *size = (Size)1 << log2;
      return (char *)header + RegionFIRST + (i + 1) * RegionSlotSIZE - *size;
    }
  return NULL;
}

void StoreGive(Store store, void *block)
{
  AVER_CRITICAL(StoreSlot(store->header, block) < RegionSlotsMAX);
  __atomic_store_n(&store->header->state[StoreSlot(store->header, block)], RegionFREE, __ATOMIC_RELEASE);
}

/* slotState -- the state of a slot becomes `new`, unless another thread has changed it since it was `old` */
static Bool slotState(RegionHeader region, Index i, uint8_t old, uint8_t new)
{
  return __atomic_compare_exchange_n(&region->state[i], &old, new, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Another thread may still be overwriting an old block, as it has begun that before the collector died. */
void StoreInherit(Store store)
{
  RegionHeader region = store->header;
  Index i;

  AVER(region != NULL && StoreCheck(store));
  for (i = 0; i < StoreLimit(store); ++i) {
    uint8_t old = __atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE), state = old, told;
    if ((old & RegionFULL) == 0)
      continue;
    told = StoreTold(store, i);
    if (RegionStateWrong(state, told))
      state = told;
    if ((state & RegionLog2MASK) != 0)
      (void)slotState(region, i, old, state & (uint8_t)~RegionTAKEN);
    else if (slotState(region, i, old, RegionERASED)) { /* nothing is left of its block */
      Size size = (Size)1 << store->provided[i];
      memset(slotEnd(region, i) - size, 0, size);
      __atomic_store_n(&region->state[i], RegionFREE, __ATOMIC_RELEASE);
      (void)__atomic_fetch_sub(&region->pool.full, 1, __ATOMIC_ACQ_REL);
    }
  }
}

void StoreMend(Store store)
{
  RegionHeader region = StoreRegion(store);
  Index i;

  for (i = 0; region != NULL && i < StoreLimit(store); ++i) {
    uint8_t state = __atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE), told = StoreTold(store, i);
    if (RegionStateWrong(state, told))
      (void)slotState(region, i, state, told);
  }
}
