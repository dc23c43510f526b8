/* pooldebug.c -- debug varieties of pools
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .debug      Tests: test/mm/debugtest.c, test/mm/debug.t
 */
#include "mm/pooldebug.h"

#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/event.h"
#include "mm/misuse.h"
#include "mm/pages.h"
#include "plinth/rawsyscall.h"

/* In front of each object.  `check` is last: it is the first to be overwritten by who writes before an object. */
typedef struct DebugStruct {
  Word edge;           /* debugIDLE, as are `freeSite` and the like of an object that lives */
  Word allocSite, freeSite;
  uint64_t allocTime, freeTime;
  uint32_t allocThread, freeThread;
  uint64_t size : 56;  /* bytes of the object */
  uint64_t shift : 8;  /* the object begins 2^shift bytes behind its block */
  Word check;          /* debugState(header, state) */
} DebugStruct, *Debug;

enum {
  debugSHIFT = 6,    /* a header has at most 2^6 bytes */
  debugFENCE = 16,   /* bytes of a fence, at least; and to what an object is rounded up */
  debugLEAVE = 8,    /* objects that leave the quarantine at a time */
  debugAHEAD = 16,   /* entries of the quarantine that are sent for before they leave it */
  debugPAGE = 65536  /* bytes: no system's page is larger */
};

_Static_assert(sizeof(DebugStruct) <= (1u << debugSHIFT), "a header has no room before the object");

#define debugIDLE    ((Word)0xfdfdfdfdfdfdfdfdu) /* what programs seldom write */
#define debugLAST    ((Word)0xff << (WORD_WIDTH - 8)) /* the last byte of a word in memory: little-endian */
#define debugFILL    ((Size)32 << 10) /* bytes at each end of an object that are filled; all, if there are no more */
#define debugLARGE   ((Size)64 << 10) /* bytes from which on an object is resized in its place, if it can be */
#define debugRETURN  ((Size)1 << 20)  /* bytes from which on the middle of an object in quarantine is decommitted */
#define debugSizeMAX (SIZE_MAX >> 9)  /* as much as `size` can say */

enum { debugLIVE = 1, debugHELD = 2, debugGONE = 3 }; /* in use, in quarantine, given back */

__thread Word PoolDebugSite __attribute__((tls_model("initial-exec")));

static __thread uint32_t debugThread __attribute__((tls_model("initial-exec"))); /* 0: not asked for yet */
static Word debugKey; /* random, odd */

static uint32_t debugSelf(void)
{
  if (UNLIKELY(debugThread == 0))
    debugThread = (uint32_t)RawCall(SYS_gettid);
  return debugThread;
}

void PoolDebugForked(void) { debugThread = 0; }

static uint64_t debugNow(void) { return EventClock(EVENT_SLOW); }

/* -- headers and blocks -- */

#define debugHeader(addr)  ((Debug)(void *)(addr) - 1)
#define debugObject(header) ((Addr)(void *)((header) + 1))

static inline Word debugMix(Word sum, Word word)
{
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

/* debugState -- what `check` is of an object in a state.  All is in it that the program might write over: but of one
 * that is free nothing of its free, which is written afterwards, and of one that was given back nothing at all.  Its
 * last byte, which lies right before the object, is that of a fence: a random one would be 0 already, now and then,
 * where the program writes a 0. */
static Word debugState(Debug header, Word state)
{
  Word sum = debugKey ^ (Word)header;

  if (state != debugGONE) {
    sum = debugMix(sum, header->allocSite);
    sum = debugMix(sum, header->allocTime);
    sum = debugMix(sum, (Word)header->size << 8 | header->shift);
    sum = debugMix(sum, header->allocThread);
  }
  if (state == debugLIVE) {
    sum = debugMix(sum, header->edge);
    sum = debugMix(sum, header->freeSite);
    sum = debugMix(sum, header->freeTime);
    sum = debugMix(sum, header->freeThread);
  }
  return ((sum * 0x9e37 + state) & ~debugLAST) | (debugIDLE & debugLAST);
}

/* debugRounded -- bytes of an object and its fence */
static Size debugRounded(Size size) { return WordAlignUp(size, debugFENCE) + debugFENCE; }

static Size debugBlockSize(Debug header) { return ((Size)1 << header->shift) + debugRounded(header->size); }
static Addr debugBlock(Debug header) { return (Addr)((Word)debugObject(header) - ((Word)1 << header->shift)); }

/* debugHeld -- what an object counts for in quarantine: its middle is not there, if it is large */
static Size debugHeld(Debug header) { return header->size < debugRETURN ? debugBlockSize(header) : 2 * debugFILL; }

static void debugPast(MisusePast past, Debug header, Bool freed)
{
  past->allocSite = header->allocSite;
  past->allocThread = header->allocThread;
  past->allocTime = header->allocTime;
  past->freed = freed;
  past->freeSite = header->freeSite;
  past->freeThread = header->freeThread;
  past->freeTime = header->freeTime;
  past->site = PoolDebugSite;
  past->thread = debugSelf();
  past->time = debugNow();
}

/* debugFound -- tell of an object with a header that is sound */
static void debugFound(Misuse misuse, Pool pool, Debug header, const void *p, Bool freed)
{
  MisusePastStruct past;

  debugPast(&past, header, freed);
  MisuseFoundPast(misuse, pool, debugObject(header), header->size, p, &past);
}

/* debugUnknown -- the same of what has no header */
static void debugUnknown(Misuse misuse, Pool pool, const void *object, const void *p)
{
  MisusePastStruct past = {.site = PoolDebugSite, .thread = debugSelf(), .time = debugNow()};

  MisuseFoundPast(misuse, pool, object, 0, p, &past);
}

/* -- filling, and looking at what was filled -- */

static void debugFill(void *p, int byte, Size size)
{
  if (size <= 2 * debugFILL) {
    memset(p, byte, size);
  } else {
    memset(p, byte, debugFILL);
    memset((char *)p + size - debugFILL, byte, debugFILL);
  }
}

/* debugOdd -- the first of `size` bytes that is not `byte`; NULL: all are */
static const unsigned char *debugOdd(const void *p, int byte, Size size)
{
  const unsigned char *bytes = p, *limit = bytes + size;

  if (size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0))
    return NULL;
  while (bytes < limit && *bytes == byte)
    ++bytes;
  return bytes;
}

/* debugFenceOdd -- the first byte of an object's fence that was written to, or NULL */
static const unsigned char *debugFenceOdd(Debug header)
{
  return debugOdd((char *)debugObject(header) + header->size, PoolDebugFENCE,
                  debugRounded(header->size) - header->size);
}

/* debugFreedOdd -- the first byte of an object in quarantine that was written to, or NULL */
static const unsigned char *debugFreedOdd(Debug header)
{
  char *object = (char *)debugObject(header);
  Size size = header->size;
  const unsigned char *odd;

  if (size <= 2 * debugFILL)
    return debugOdd(object, PoolDebugFREED, size);
  odd = debugOdd(object, PoolDebugFREED, debugFILL);
  return odd != NULL ? odd : debugOdd(object + size - debugFILL, PoolDebugFREED, debugFILL);
}

/* -- quarantine -- */

/* debugOut -- the oldest object leaves the quarantine; the pool's lock is held */
static Addr debugOut(PoolDebug debug)
{
  Addr addr = debug->entry[debug->first % PoolDebugENTRIES];
  Debug header = debugHeader(addr);
  Addr next;

  /* Where the program wrote over a header, what the object counted for is lost; it is told soon. */
  if (header->check == debugState(header, debugHELD))
    debug->held -= debugHeld(header), debug->space -= debugBlockSize(header);
  ++debug->first, --debug->count;
  /* What leaves soon was not looked at for long. */
  next = debug->entry[(debug->first + debugAHEAD) % PoolDebugENTRIES];
  __builtin_prefetch((void *)((Word)next - sizeof(DebugStruct)), 1); /* it may be NULL, of which nothing is fetched */
  __builtin_prefetch(next, 1);
  __builtin_prefetch((void *)((Word)next + sizeof(DebugStruct)));
  return addr;
}

/* debugPut -- an object goes into quarantine (NULL: none does); returns how many have to leave it, which go to `left`
 */
static Count debugPut(Addr left[debugLEAVE], Pool pool, Debug header)
{
  PoolDebug debug = pool->debug;
  Count n = 0;

  LockClaim(&pool->lock);
  if (header != NULL) {
    debug->entry[(debug->first + debug->count++) % PoolDebugENTRIES] = debugObject(header);
    debug->held += debugHeld(header), debug->space += debugBlockSize(header);
  }
  while (n < debugLEAVE && debug->count > 1 &&
         (debug->held > debug->quarantine || debug->space / PoolDebugSPACE > debug->quarantine ||
          debug->count >= PoolDebugENTRIES))
    left[n++] = debugOut(debug);
  LockRelease(&pool->lock);
  return n;
}

/* debugSound -- look at an object in quarantine; FALSE: its header was written over */
static Bool debugSound(Pool pool, Addr addr)
{
  Debug header = debugHeader(addr);
  const unsigned char *odd;

  if (header->check != debugState(header, debugHELD)) {
    debugUnknown(MisuseBEFORE, pool, addr, addr);
    return FALSE;
  }
  odd = debugFreedOdd(header);
  if (odd != NULL)
    debugFound(MisuseLATER, pool, header, odd, TRUE);
  odd = debugFenceOdd(header);
  if (odd != NULL)
    debugFound(MisuseBEHIND, pool, header, odd, TRUE);
  return TRUE;
}

/* debugLeave -- an object that was in quarantine goes back to the class; what was written over stays where it is */
static void debugLeave(Pool pool, Addr addr)
{
  Debug header = debugHeader(addr);
  Addr block;
  Size size;

  if (!debugSound(pool, addr))
    return;
  block = debugBlock(header);
  size = debugBlockSize(header);
  __atomic_store_n(&header->check, debugState(header, debugGONE), __ATOMIC_RELAXED);
  pool->class->debugs->free(pool, block, size);
}

/* debugHolds -- bytes of addresses, and at *countReturn objects, in quarantine */
static Size debugHolds(Count *countReturn, Pool pool)
{
  Size space;

  LockClaim(&pool->lock);
  *countReturn = pool->debug->count;
  space = pool->debug->space;
  LockRelease(&pool->lock);
  return space;
}

void PoolDebugDrain(Pool pool)
{
  PoolDebug debug = pool->debug;
  Addr addr = NULL;
  Count count;

  (void)debugHolds(&count, pool);
  for (; count > 0; --count) {
    LockClaim(&pool->lock);
    addr = debug->count > 0 ? debugOut(debug) : NULL;
    LockRelease(&pool->lock);
    if (addr == NULL)
      return;
    debugLeave(pool, addr);
  }
}

/* -- finding out what an address is -- */

/* debugIs -- is there a header with a state here?  It may be anywhere in a segment of the pool. */
static Bool debugIs(Debug header, Word state)
{
  return __atomic_load_n(&header->check, __ATOMIC_RELAXED) == debugState(header, state);
}

/* debugMine -- may `p` be an object of the pool?  Then its header can be read. */
static Bool debugMine(Pool pool, const void *p)
{
  Seg seg = SegOfAddr(p);

  return seg != NULL && seg->pool == pool && (Word)p % debugFENCE == 0 &&
         (Word)p - (Word)SegBase(seg) >= (Word)1 << debugSHIFT;
}

/* debugWhere -- the header of the object in the block that `p` lies in, which lives or is in quarantine; or NULL */
static Debug debugWhere(Pool pool, const void *p, Addr *blockReturn)
{
  Seg seg = SegOfAddr(p);
  Addr block;
  Size size, at;

  if (seg == NULL || seg->pool != pool || !pool->class->debugs->block(&block, &size, pool, (Addr)(Word)p))
    return NULL;
  *blockReturn = block;
  for (at = (Size)1 << debugSHIFT; at < size; at *= 2) {
    Debug header = debugHeader((char *)block + at);
    if (debugIs(header, debugLIVE) || debugIs(header, debugHELD))
      return header;
  }
  return NULL;
}

/* debugMisused -- `p` was freed or resized, and is no object that lives: say so */
static __attribute__((cold, noinline)) void debugMisused(Pool pool, const void *p)
{
  Addr block = NULL;
  Debug header = debugMine(pool, p) && debugIs(debugHeader(p), debugHELD) ? debugHeader(p)
                                                                          : debugWhere(pool, p, &block);
  Bool freed = header != NULL && debugIs(header, debugHELD);

  if (header != NULL)
    debugFound(freed ? MisuseFREED : MisuseINNER, pool, header, p, freed);
  else if (debugMine(pool, p) && debugIs(debugHeader(p), debugGONE))
    debugUnknown(MisuseFREED, pool, p, p);
  else if (block != NULL && (Word)p == (Word)block + ((Word)1 << debugSHIFT))
    debugUnknown(MisuseBEFORE, pool, p, p);
  else
    debugUnknown(MisuseFOREIGN, pool, p, p);
}

/* debugTake -- the object at `p`, which lives, is the caller's from now on, and nobody else's; NULL: it is none, and
 * that was told */
static Debug debugTake(Pool pool, void *p, Size size)
{
  Debug header = debugHeader(p);
  Word live, held;
  const unsigned char *odd;

  if (LIKELY(debugMine(pool, p))) {
    live = debugState(header, debugLIVE), held = debugState(header, debugHELD);
    if (LIKELY(__atomic_compare_exchange_n(&header->check, &live, held, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))) {
      odd = debugFenceOdd(header);
      if (UNLIKELY(odd != NULL)) {
        debugFound(MisuseBEHIND, pool, header, odd, FALSE);
        memset((char *)p + header->size, PoolDebugFENCE, debugRounded(header->size) - header->size);
      }
      if (UNLIKELY(pool->class->debugs->sized && size != header->size))
        debugFound(MisuseSIZE, pool, header, p, FALSE);
      return header;
    }
  }
  debugMisused(pool, p);
  return NULL;
}

/* ---- The class's functions ---- */

Res PoolDebugInit(Pool pool, Word value[])
{
  PoolClass plain = pool->class->debugs;
  Count last = plain->paramCount, i;
  Word none = 0;
  void *p;
  Res res = PagesMap(&p, sizeof(PoolDebugStruct));

  if (res != ResOK)
    return res;
  (void)__atomic_compare_exchange_n(&debugKey, &none, (Word)RawRandom(), FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  res = plain->init(pool, value);
  if (res != ResOK) {
    PagesRelease(p, sizeof(PoolDebugStruct));
    return res;
  }
  pool->debug = p;
  pool->debug->quarantine = value[last];
  pool->debug->align = debugFENCE;
  for (i = 0; i < last; ++i)
    if (strcmp(plain->params[i].name, "align") == 0)
      pool->debug->align = value[i];
  return ResOK;
}

void PoolDebugFinish(Pool pool)
{
  PoolDebug debug = pool->debug;

  PoolDebugDrain(pool);
  if (pool->class->debugs->finish != NULL)
    pool->class->debugs->finish(pool);
  pool->debug = NULL;
  PagesRelease((Addr)debug, sizeof *debug);
}

Res PoolDebugAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  Size before = (Size)1 << debugSHIFT;
  Debug header;
  Count count;
  Addr block;
  Res res;

  if (align < pool->debug->align)
    align = pool->debug->align;
  if (before < align)
    before = align;
  if (size > debugSizeMAX || before > debugSizeMAX)
    return ResMEMORY;
  res = pool->class->debugs->alloc(&block, pool, before + debugRounded(size), align, zero);
  if (res != ResOK && size <= debugHolds(&count, pool)) { /* which is memory, too */
    PoolDebugDrain(pool);
    res = pool->class->debugs->alloc(&block, pool, before + debugRounded(size), align, zero);
  }
  if (res != ResOK)
    return res;
  header = debugHeader((char *)block + before);
  header->size = size;
  header->shift = (unsigned)__builtin_ctzll(before) & 0xff;
  header->edge = header->freeSite = header->freeTime = debugIDLE;
  header->freeThread = (uint32_t)debugIDLE;
  header->allocSite = PoolDebugSite;
  header->allocThread = debugSelf();
  header->allocTime = debugNow();
  if (!zero)
    debugFill(debugObject(header), PoolDebugFRESH, size);
  memset((char *)debugObject(header) + size, PoolDebugFENCE, debugRounded(size) - size);
  __atomic_store_n(&header->check, debugState(header, debugLIVE), __ATOMIC_RELEASE);
  *addrReturn = debugObject(header);
  return ResOK;
}

/* debugEmpty -- an object that was taken is freed: fill it */
static void debugEmpty(Debug header)
{
  Word middle, end;

  header->freeSite = PoolDebugSite;
  header->freeThread = debugSelf();
  header->freeTime = debugNow();
  debugFill(debugObject(header), PoolDebugFREED, header->size);
  if (header->size >= debugRETURN) {
    middle = WordAlignUp((Word)debugObject(header) + debugFILL, debugPAGE);
    end = WordAlignDown((Word)debugObject(header) + header->size - debugFILL, debugPAGE);
    if (middle < end)
      PagesDecommit((Addr)middle, end - middle);
  }
}

static void debugFree(Pool pool, Debug header)
{
  Addr left[debugLEAVE];
  Count n, i;

  debugEmpty(header);
  for (n = debugPut(left, pool, header); n > 0; n = n < debugLEAVE ? 0 : debugPut(left, pool, NULL))
    for (i = 0; i < n; ++i)
      debugLeave(pool, left[i]);
}

void PoolDebugFree(Pool pool, Addr addr, Size size)
{
  Debug header = debugTake(pool, addr, size);

  if (header != NULL)
    debugFree(pool, header);
}

/* debugResizeLarge -- let the class resize a large object, which was taken; ResFAIL: it cannot, and nothing changed */
static Res debugResizeLarge(Debug *headerIO, Pool pool, Size size)
{
  Debug header = *headerIO;
  Size old = header->size, before = (Size)1 << header->shift;
  Addr block;
  Res res;

  if (old < debugLARGE || size < debugLARGE || before != (Size)1 << debugSHIFT)
    return ResFAIL;
  res = pool->class->debugs->resize(&block, pool, debugBlock(header), debugBlockSize(header),
                                    before + debugRounded(size));
  if (res != ResOK)
    return ResFAIL;
  header = debugHeader((char *)block + before);
  header->size = size;
  if (size > old)
    debugFill((char *)debugObject(header) + old, PoolDebugFRESH, size - old);
  memset((char *)debugObject(header) + size, PoolDebugFENCE, debugRounded(size) - size);
  *headerIO = header;
  return ResOK;
}

Res PoolDebugResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  Debug header = size <= debugSizeMAX ? debugTake(pool, old, oldSize) : NULL;
  Addr addr;
  Res res;

  if (header == NULL)
    return ResMEMORY;
  if (debugResizeLarge(&header, pool, size) == ResOK) {
    __atomic_store_n(&header->check, debugState(header, debugLIVE), __ATOMIC_RELEASE);
    *addrReturn = debugObject(header);
    return ResOK;
  }
  res = PoolDebugAlloc(&addr, pool, size, 1, FALSE);
  if (res != ResOK) {
    __atomic_store_n(&header->check, debugState(header, debugLIVE), __ATOMIC_RELEASE);
    return res;
  }
  memcpy(addr, old, header->size < size ? header->size : size);
  debugFree(pool, header);
  *addrReturn = addr;
  return ResOK;
}

__attribute__((no_sanitize("thread"))) Bool PoolDebugObject(Addr *addrIO, Size *sizeIO, Pool pool)
{
  Size at;

  UNUSED(pool);
  for (at = (Size)1 << debugSHIFT; at < *sizeIO; at *= 2) {
    Debug header = debugHeader((char *)*addrIO + at);
    if (debugIs(header, debugLIVE)) {
      *addrIO = debugObject(header);
      *sizeIO = header->size;
      return TRUE;
    }
  }
  return FALSE;
}

Size PoolDebugSize(Pool pool, const void *addr)
{
  return debugMine(pool, addr) && debugIs(debugHeader(addr), debugLIVE) ? debugHeader(addr)->size : 0;
}

Bool PoolDebugCheck(Pool pool)
{
  PoolDebug debug = pool->debug;
  Size held = 0, space = 0;
  Index i;

  for (i = 0; i < debug->count; ++i) {
    Addr addr = debug->entry[(debug->first + i) % PoolDebugENTRIES];
    if (!debugMine(pool, addr) || !debugIs(debugHeader(addr), debugHELD))
      return FALSE;
    held += debugHeld(debugHeader(addr));
    space += debugBlockSize(debugHeader(addr));
  }
  return debug->count <= PoolDebugENTRIES && held == debug->held && space == debug->space &&
         pool->class->debugs->check(pool);
}
