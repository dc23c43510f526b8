/* shimlarge.c -- the program's large objects, and how much of each it has touched
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimlarge.h"

#include <sys/syscall.h>

#include "emit/emitter.h"
#include "malloc/shimnext.h"

enum {
  largePLACES = 1024,   /* a power of two */
  largeTRIES = 16,      /* places that an object may be in, one after the other */
  largeWINDOW = 1024,   /* pages that are asked for at a time */
  largeSHARE = 100      /* counting takes at most 1/100 of the time */
};

#define largeMAX ((Size)1 << 36) /* bytes: of a larger object the pages are not counted */

typedef struct LargeStruct {
  Word addr;            /* 0: the place is free; atomic */
  Size size;            /* 0: it is being filled; atomic */
} LargeStruct;

static LargeStruct large[largePLACES];
static Count largeLive;   /* places that are taken; atomic */
static uint64_t largeDue; /* ticks: before that only what goes back to the system is counted; atomic */
uint16_t ShimLargeHint[ShimLargeHINTS];

/* largePlace -- the i-th place that an object at `addr` may be in */
static LargeStruct *largePlace(Word addr, Index i)
{
  return &large[(((addr >> 12) * 0x9e3779b97f4a7c15u >> 40) + i) % largePLACES];
}

static LargeStruct *largeFind(Word addr)
{
  Index i;

  for (i = 0; i < largeTRIES; ++i)
    if (__atomic_load_n(&largePlace(addr, i)->addr, __ATOMIC_RELAXED) == addr)
      return largePlace(addr, i);
  return NULL;
}

static void largeHint(Word addr, int more)
{
  (void)__atomic_fetch_add(&ShimLargeHint[addr >> 12 & (ShimLargeHINTS - 1)], (uint16_t)more, __ATOMIC_RELAXED);
  (void)__atomic_fetch_add(&largeLive, (Count)more, __ATOMIC_RELAXED);
}

/* largeTold -- are events of objects on? */
static Bool largeTold(void)
{
  return EVENT_PRESENT(PoolTouch) && EVENT_WANTED(EventPoolTouchKIND);
}

void ShimLargeNew(void *p, Size size)
{
  Word addr = (Word)p, none;
  LargeStruct *place = largeFind(addr); /* one whose free was not seen, as events were off */
  Index i;

  if (!largeTold())
    return; /* its free would not be seen, either */
  for (i = 0; i < largeTRIES && place == NULL; ++i) {
    none = 0;
    if (__atomic_compare_exchange_n(&largePlace(addr, i)->addr, &none, addr, FALSE, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      place = largePlace(addr, i);
      largeHint(addr, 1);
    }
  }
  if (place != NULL)
    __atomic_store_n(&place->size, size, __ATOMIC_RELEASE);
}

/* largeTouched -- how many bytes of [addr, addr + size) are in pages that are there; FALSE: the system does not say */
static Bool largeTouched(Size *bytesReturn, Word addr, Size size)
{
  unsigned char there[largeWINDOW];
  Word at = WordAlignDown(addr, RawPAGE), limit = addr + size;
  Size pages = 0;
  Index i;

  if (size > largeMAX)
    return FALSE;
  while (at < limit) {
    Count n = (Count)((limit - at + RawPAGE - 1) / RawPAGE);
    n = n < largeWINDOW ? n : largeWINDOW;
    if (RawCall(SYS_mincore, at, n * RawPAGE, there) != 0)
      return FALSE;
    for (i = 0; i < n; ++i)
      pages += there[i] & 1;
    at += n * RawPAGE;
  }
  *bytesReturn = pages * RawPAGE < size ? pages * RawPAGE : size;
  return TRUE;
}

/* largeTell -- the event, and when the next one may be */
static void largeTell(Word addr, Size size)
{
  uint64_t began = EventClock(EVENT_SLOW), now;
  Size touched;

  if (!largeTouched(&touched, addr, size))
    return;
  now = EventClock(EVENT_SLOW);
  __atomic_store_n(&largeDue, now + (now - began) * largeSHARE, __ATOMIC_RELAXED);
  EVENT_PAWW(PoolTouch, ShimNext.pool, (Addr)addr, size, touched);
}

/* largeUnmaps -- is libc about to unmap the object?  It marks those that have a mapping of their own in front of
 * them. */
static Bool largeUnmaps(Word addr)
{
  return ShimNext.libc && (((const Word *)addr)[-1] & 2) != 0;
}

/* largeGoes -- take the object out of the table; returns its size, or 0 if it was not there.  Only memory that the
 * table names is read: if a program frees an address that is no object, libc reports that. */
static Size largeGoes(Word addr, Bool frees)
{
  LargeStruct *place = largeFind(addr);
  Size size;

  if (place == NULL)
    return 0;
  size = __atomic_load_n(&place->size, __ATOMIC_ACQUIRE);
  if (size != 0 && largeTold() &&
      (EventClock(EVENT_SLOW) >= __atomic_load_n(&largeDue, __ATOMIC_RELAXED) || (frees && largeUnmaps(addr))))
    largeTell(addr, size);
  __atomic_store_n(&place->size, 0, __ATOMIC_RELAXED);
  largeHint(addr, -1);
  __atomic_store_n(&place->addr, 0, __ATOMIC_RELEASE);
  return size;
}

void ShimLargeGone(void *p)
{
  (void)largeGoes((Word)p, TRUE);
}

Size ShimLargeMoves(void *p)
{
  return largeGoes((Word)p, FALSE);
}

void ShimLargeEnd(uint64_t ns)
{
  uint64_t limit = EventClockMonotonic() + ns;
  Index i;

  if (__atomic_load_n(&largeLive, __ATOMIC_RELAXED) == 0 || !largeTold())
    return;
  for (i = 0; i < largePLACES && EventClockMonotonic() <= limit; ++i) {
    Word addr = __atomic_load_n(&large[i].addr, __ATOMIC_RELAXED);
    Size size = __atomic_load_n(&large[i].size, __ATOMIC_ACQUIRE);
    if (addr != 0 && size != 0)
      largeTell(addr, size);
  }
}
