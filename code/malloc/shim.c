/* shim.c -- the malloc family, wrapped: every call of the program passes here, and leaves an event
 *
 * The time of an allocation's event is read after the memory was allocated, that of a free's event before the memory
 * is given back; a resize has both events.  A call that does nothing (free of NULL) has no event.  errno is what the
 * serving function leaves.  Where that is wanted (ShimNext.depth) an allocation's event has also the address to which
 * the call returns, or the whole stack.  A call that the allocator makes inside another one has no event of its own
 * (malloc/shimnext.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit/event.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"

/* shimFailed -- the event of a failed allocation, and errno */
static __attribute__((cold, noinline)) void *shimFailed(size_t size)
{
  if (ShimWithin == ShimOUTSIDE)
    EVENT_PW(PoolAllocFail, ShimNext.pool, size);
  errno = ENOMEM;
  return NULL;
}

/* shimUsableFrom -- where ShimUsable, the second event of a call that has allocated or resized; returns `p` */
static __attribute__((noinline)) void *shimUsableFrom(void *p, size_t size, const void *site)
{
  if (p == NULL)
    return p;
  if (ShimNext.depth == 1)
    SHIM_TELL_SITE(PAWW, PoolUsable, site, ShimNext.pool, (Addr)p, size, ShimNext.usable(p));
  else
    EVENT_PAWWW(PoolUsableStack, ShimNext.pool, (Addr)p, size, ShimNext.usable(p), SHIM_STACK(site));
  return p;
}

/* ShimGotFrom, ShimAlignedFrom, shimZeroFrom, shimResizedFrom -- the event of an allocation that says who asked for
 * it; what a call does last, so that no frame of ours is to be skipped (SHIM_STACK) */
void *ShimGotFrom(void *p, size_t size, const void *site)
{
  if (ShimNext.depth == 1)
    SHIM_TELL_SITE(PAW, PoolAlloc, site, ShimNext.pool, (Addr)p, size);
  else
    EVENT_PAWW(PoolAllocStack, ShimNext.pool, (Addr)p, size, SHIM_STACK(site));
  return UNLIKELY(ShimUsable) ? shimUsableFrom(p, size, site) : p;
}

void *ShimAlignedFrom(void *p, size_t size, size_t align, const void *site)
{
  if (ShimNext.depth == 1)
    SHIM_TELL_SITE(PAWW, PoolAllocAligned, site, ShimNext.pool, (Addr)p, size, align);
  else
    EVENT_PAWWW(PoolAllocAlignedStack, ShimNext.pool, (Addr)p, size, align, SHIM_STACK(site));
  return UNLIKELY(ShimUsable) ? shimUsableFrom(p, size, site) : p;
}

static __attribute__((noinline)) void *shimZeroFrom(void *p, size_t size, const void *site)
{
  if (ShimNext.depth == 1)
    SHIM_TELL_SITE(PAW, PoolAllocZero, site, ShimNext.pool, (Addr)p, size);
  else
    EVENT_PAWW(PoolAllocZeroStack, ShimNext.pool, (Addr)p, size, SHIM_STACK(site));
  return UNLIKELY(ShimUsable) ? shimUsableFrom(p, size, site) : p;
}

static __attribute__((noinline)) void *shimResizedFrom(void *old, void *p, size_t size, const void *site)
{
  if (ShimNext.depth == 1)
    SHIM_TELL_SITE(PAAW, PoolResizeEnd, site, ShimNext.pool, (Addr)old, (Addr)p, size);
  else
    EVENT_PAAWW(PoolResizeEndStack, ShimNext.pool, (Addr)old, (Addr)p, size, SHIM_STACK(site));
  return UNLIKELY(ShimUsable) ? shimUsableFrom(p, size, site) : p;
}

/* shimGotSlow, shimFreeSlow -- what a call does last where the simple way (EventTry) does not serve.  They are
 * functions so that the call itself saves no registers for what is rare. */
static __attribute__((cold, noinline)) void *shimGotSlow(void *p, size_t size, Word at)
{
  void *room = EventReserveSlow(EventPoolAllocKIND, sizeof(EventPAWStruct), at);

  if (room != NULL)
    EVENT_FILL_PAW(PoolAlloc, room, (Word)ShimNext.pool, (Word)p, size);
  return p;
}

static __attribute__((cold, noinline)) void shimFreeSlow(void *p, Word at)
{
  void *room = EventReserveSlow(EventPoolFreeKIND, sizeof(EventPAStruct), at);

  if (room != NULL)
    EVENT_FILL_PA(PoolFree, room, (Word)ShimNext.pool, (Word)p);
  ShimNext.free(p);
}

/* shimFreeFrom -- free an object, with an event that says who asked for it */
static __attribute__((noinline)) void shimFreeFrom(void *p, const void *site)
{
  EVENT_PAW(PoolFreeStack, ShimNext.pool, (Addr)p, SHIM_STACK(site));
  ShimNext.free(p);
}

/* shimGotLarge, shimFreeLarge -- the same of objects of which it matters how much is touched */
static __attribute__((cold, noinline)) void *shimGotLarge(void *p, size_t size, const void *site)
{
  ShimLargeNew(p, size);
  if (UNLIKELY(ShimNext.depth != 0))
    return ShimGotFrom(p, size, site);
  EVENT_PAW(PoolAlloc, ShimNext.pool, (Addr)p, size);
  return p;
}

static __attribute__((cold, noinline)) void shimFreeLarge(void *p, const void *site)
{
  ShimLargeGone(p);
  if (UNLIKELY(ShimFrees)) {
    shimFreeFrom(p, site);
    return;
  }
  EVENT_PA(PoolFree, ShimNext.pool, (Addr)p);
  ShimNext.free(p);
}

/* shimGotInside -- what a call inside another one gives: the same, or in a lookup early memory instead */
static __attribute__((cold, noinline)) void *shimGotInside(void *p, size_t size)
{
  void *early = ShimWithin == ShimLOOKUP && !ShimIsEarly(p) ? ShimEarlyTake(size, 1) : NULL;

  if (early == NULL)
    return p;
  ShimNext.free(p);
  return early;
}

/* shimGot -- the event of an allocation, or of its failure */
static inline void *shimGot(void *p, size_t size, const void *site)
{
  Word at;

  if (UNLIKELY(p == NULL))
    return shimFailed(size);
  if (!EVENT_PRESENT(PoolAlloc) || !EVENT_WANTED(EventPoolAllocKIND))
    return p;
  if (UNLIKELY(ShimWithin != ShimOUTSIDE))
    return shimGotInside(p, size);
  if (UNLIKELY(size >= LargeSIZE))
    return shimGotLarge(p, size, site);
  if (UNLIKELY(ShimNext.depth != 0))
    return ShimGotFrom(p, size, site);
  if (UNLIKELY(!EventTry(EventPoolAllocKIND, sizeof(EventPAWStruct), &at)))
    return shimGotSlow(p, size, at);
  EVENT_FILL_PAW(PoolAlloc, at, (Word)ShimNext.pool, (Word)p, size);
  return p;
}

SHIM void *malloc(size_t size)
{
  return shimGot(ShimNext.malloc(size), size, SITE);
}

SHIM void free(void *p)
{
  Word at;

  if (UNLIKELY(p == NULL || ShimIsEarly(p)))
    return;
  if (EVENT_PRESENT(PoolFree) && EVENT_WANTED(EventPoolFreeKIND) && LIKELY((ShimWithin & ShimINSIDE) == 0)) {
    if (UNLIKELY(ShimLargeMay(p))) {
      shimFreeLarge(p, SITE);
      return;
    }
    if (UNLIKELY(ShimFrees)) {
      shimFreeFrom(p, SITE);
      return;
    }
    if (UNLIKELY(!EventTry(EventPoolFreeKIND, sizeof(EventPAStruct), &at))) {
      shimFreeSlow(p, at);
      return;
    }
    EVENT_FILL_PA(PoolFree, at, (Word)ShimNext.pool, (Word)p);
  }
  ShimNext.free(p);
}

SHIM void *calloc(size_t count, size_t size)
{
  void *p = ShimNext.calloc(count, size);
  size_t bytes;

  if (UNLIKELY(p == NULL))
    return shimFailed(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
  if (UNLIKELY(ShimWithin != ShimOUTSIDE))
    return p;
  if (UNLIKELY(count * size >= LargeSIZE))
    ShimLargeNew(p, count * size);
  if (UNLIKELY(ShimNext.depth != 0))
    return shimZeroFrom(p, count * size, SITE);
  EVENT_PAW(PoolAllocZero, ShimNext.pool, (Addr)p, count * size);
  return p;
}

/* shimResizeEarly -- an object of the time before the table was chosen moves to the real malloc.  How large it was
 * is not known: what may be its own is copied, as far as that memory goes. */
static void *shimResizeEarly(void *old, size_t size)
{
  char *p = malloc(size);
  size_t i;

  for (i = 0; p != NULL && i < size && ShimIsEarly((char *)old + i); ++i)
    p[i] = ((char *)old)[i];
  return p;
}

static inline void *shimResize(void *old, size_t size, const void *site)
{
  Size large = 0; /* the object's size, if it is a large one */
  void *p;

  if (old == NULL)
    return shimGot(ShimNext.realloc(NULL, size), size, site);
  if (UNLIKELY(ShimIsEarly(old)))
    return shimResizeEarly(old, size);
  if (UNLIKELY(ShimWithin != ShimOUTSIDE))
    return ShimNext.realloc(old, size);
  if (UNLIKELY(size == 0)) {
    /* Frees, here and in most others; what keeps the object has allocated it anew. */
    SHIM_TELL_FREE(old, site);
    p = ShimNext.realloc(old, 0);
    return p != NULL ? shimGot(p, 0, site) : NULL;
  }
  if (UNLIKELY(ShimLargeMay(old)))
    large = ShimLargeMoves(old);
  EVENT_PAW(PoolResizeBegin, ShimNext.pool, (Addr)old, size);
  p = ShimNext.realloc(old, size);
  if (UNLIKELY(p == NULL))
    errno = ENOMEM;
  if (UNLIKELY(p != NULL ? size >= LargeSIZE : large != 0))
    ShimLargeNew(p != NULL ? p : old, p != NULL ? size : large);
  if (UNLIKELY(ShimNext.depth != 0))
    return shimResizedFrom(old, p, size, site);
  EVENT_PAAW(PoolResizeEnd, ShimNext.pool, (Addr)old, (Addr)p, size);
  return p;
}

SHIM void *realloc(void *old, size_t size)
{
  return shimResize(old, size, SITE);
}

/* shimTooLarge -- a resize to more bytes than can be counted: it fails as one to too many does */
static __attribute__((cold, noinline)) void *shimTooLarge(void *old)
{
  if (old == NULL || ShimIsEarly(old))
    return shimFailed(SIZE_MAX);
  if (ShimWithin == ShimOUTSIDE) {
    EVENT_PAW(PoolResizeBegin, ShimNext.pool, (Addr)old, SIZE_MAX);
    EVENT_PAAW(PoolResizeEnd, ShimNext.pool, (Addr)old, NULL, SIZE_MAX);
  }
  errno = ENOMEM;
  return NULL;
}

/* shimOwn -- the program's own realloc, where it is not ours: an executable with a malloc of its own, which need not
 * have a reallocarray.  libc's calls realloc by that name, and so does ours. */
static void *(*shimOwn(void))(void *old, size_t size)
{
  static void *(*volatile own)(void *old, size_t size);
  void *(*found)(void *old, size_t size) = own;

  if (UNLIKELY(found == NULL)) {
    found = (void *(*)(void *, size_t))ShimSymbol(RTLD_DEFAULT, "realloc");
    own = found = found != NULL ? found : realloc;
  }
  return found;
}

SHIM void *reallocarray(void *old, size_t count, size_t size)
{
  void *(*own)(void *old, size_t size) = shimOwn();
  size_t bytes;

  if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
    if (own == realloc)
      return shimTooLarge(old);
    errno = ENOMEM;
    return NULL;
  }
  return own == realloc ? shimResize(old, bytes, SITE) : own(old, bytes);
}

/* shimAligned -- what all aligned allocations come to; `align` as the caller gave it */
static inline void *shimAligned(size_t align, size_t size, const void *site)
{
  void *p;

  if (UNLIKELY(align > SIZE_MAX / 2 + 1)) {
    errno = EINVAL;
    return NULL;
  }
  /* glibc rounds an odd alignment up; here this is done for all allocators. */
  if (UNLIKELY(!WordIsPowerOf2(align)))
    align = align < 16 ? 16 : (size_t)1 << (WORD_WIDTH - (unsigned)__builtin_clzl(align));
  p = ShimNext.memalign(align, size);
  if (UNLIKELY(p == NULL))
    return shimFailed(size);
  if (UNLIKELY(size >= LargeSIZE))
    ShimLargeNew(p, size);
  if (UNLIKELY(ShimWithin != ShimOUTSIDE))
    return p;
  if (UNLIKELY(ShimNext.depth != 0))
    return ShimAlignedFrom(p, size, align, site);
  EVENT_PAWW(PoolAllocAligned, ShimNext.pool, (Addr)p, size, align);
  return p;
}

SHIM void *memalign(size_t align, size_t size)
{
  return shimAligned(align, size, SITE);
}

SHIM void *aligned_alloc(size_t align, size_t size)
{
  return shimAligned(align, size, SITE);
}

/* libc's leaves errno as it becomes, too. */
SHIM int posix_memalign(void **pReturn, size_t align, size_t size)
{
  void *p;

  if (!WordIsPowerOf2(align) || align % sizeof(void *) != 0)
    return EINVAL;
  p = shimAligned(align, size, SITE);
  if (p == NULL)
    return ENOMEM;
  *pReturn = p;
  return 0;
}

SHIM void *valloc(size_t size)
{
  return shimAligned((size_t)sysconf(_SC_PAGESIZE), size, SITE);
}

SHIM void *pvalloc(size_t size)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);

  return shimAligned(page, size > SIZE_MAX - page ? size : WordAlignUp(size, page), SITE);
}

SHIM size_t malloc_usable_size(void *p)
{
  return p == NULL || ShimIsEarly(p) ? 0 : ShimNext.usable(p);
}
