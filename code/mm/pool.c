/* pool.c -- what all classes of pools share: creation by name, the client's functions and their events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .pool      Tests: test/mm/pooltest.c
 */
#include "mm/pool.h"

#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "emit/event.h"
#include "mm/pages.h"
#include "mm/pooldebug.h"
#include "mm/poolsettings.h"
#include "plinth/rawsyscall.h"

static const PoolClass poolClasses[] = { &PoolClassMFS, &PoolClassMVFF, &PoolClassSGF,
                                         &PoolClassMVFFDebug, &PoolClassSGFDebug };

static PoolClass poolClassFind(const char *name)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(poolClasses); ++i)
    if (strcmp(poolClasses[i]->name, name) == 0)
      return poolClasses[i];
  return NULL;
}

/* poolSettingSound -- is there such a parameter?  Of classes that are not in this room that is not known. */
static Bool poolSettingSound(const PoolSettingStruct *setting, Bool others)
{
  Index i, k;

  if (setting->class == NULL || PoolSettingIs(setting, "Arena", "spare"))
    return setting->class != NULL;
  for (i = 0; i < ARRAY_LENGTH(poolClasses); ++i) {
    PoolClass class = poolClasses[i];
    if (strlen(class->name) != setting->classLength || memcmp(class->name, setting->class, setting->classLength) != 0)
      continue;
    for (k = 0; k < class->paramCount; ++k)
      if (PoolSettingIs(setting, class->name, class->params[k].name))
        return others || (class->client >> k & 1) == 0;
    return FALSE;
  }
  return others;
}

Res PoolSettingsCheck(char *wrongReturn, Size size, const char *text, Bool others)
{
  PoolSettingStruct setting;
  const char *at = text, *begin = at;

  for (; PoolSettingNext(&setting, &at); begin = at)
    if (!poolSettingSound(&setting, others)) {
      (void)TextMake(wrongReturn, size, "%.*s", (int)strcspn(begin, ","), begin);
      return ResPARAM;
    }
  return ResOK;
}

/* poolSettingsSay -- complain once of what the environment gives, if it is not sound */
static void poolSettingsSay(void)
{
  static Bool said;
  char wrong[64];

  if (!__atomic_exchange_n(&said, TRUE, __ATOMIC_RELAXED) &&
      PoolSettingsCheck(wrong, sizeof wrong, PoolSettings(), TRUE) != ResOK)
    RawSay("PAWPRINT_POOLS", wrong, "it is no CLASS.PARAMETER=NUMBER, or the class has no such parameter");
}

/* poolClientSay -- complain once of a setting that is the client's alone */
static void poolClientSay(PoolClass class, const char *param)
{
  static Bool said;
  char wrong[64];

  if (__atomic_exchange_n(&said, TRUE, __ATOMIC_RELAXED))
    return;
  (void)TextMake(wrong, sizeof wrong, "%s.%s", class->name, param);
  RawSay("PAWPRINT_POOLS", wrong, "only the program can know that, so it is left aside");
}

/* poolParams -- the class's defaults, overridden by what the caller gives, and that by the environment */
static Res poolParams(Word value[], PoolClass class, const PoolParamStruct *params, Count n)
{
  Index i, k;

  for (k = 0; k < class->paramCount; ++k)
    value[k] = class->params[k].value;
  for (i = 0; i < n; ++i) {
    for (k = 0; k < class->paramCount; ++k)
      if (strcmp(class->params[k].name, params[i].name) == 0)
        break;
    if (k == class->paramCount)
      return ResPARAM;
    value[k] = params[i].value;
  }
  for (k = 0; k < class->paramCount; ++k) {
    Word set = PoolSettingOf(class->name, class->params[k].name, value[k]);
    if (UNLIKELY((class->client >> k & 1) != 0 && set != value[k]))
      poolClientSay(class, class->params[k].name);
    else
      value[k] = set;
  }
  return ResOK;
}

static void poolInit(Pool pool, PoolClass class, Arena arena)
{
  pool->sig = PoolSIG;
  pool->class = class;
  pool->arena = arena;
  RingInit(&pool->arenaRing);
  RingInit(&pool->segRing);
}

void PoolTell(Pool pool)
{
  Index k;

  EVENT_PPS(PoolCreate, pool, pool->arena, pool->class->name);
  for (k = 0; k < pool->class->paramCount; ++k)
    EVENT_PWS(PoolParam, pool, pool->value[k], pool->class->params[k].name);
}

/* poolCheck -- all of PoolCheck but what only the class knows */
static Bool poolCheck(Pool pool)
{
  Size size = 0;
  Ring node;

  if (pool->sig != PoolSIG || pool->arena->sig != ArenaSIG || !RingCheck(&pool->arenaRing) ||
      RingIsSingle(&pool->arenaRing))
    return FALSE;
  for (node = pool->segRing.next; node != &pool->segRing; node = node->next) {
    Seg seg = RING_ELT(SegStruct, poolRing, node);
    if (seg->pool != pool || !SegCheck(seg))
      return FALSE;
    size += SegSize(seg);
  }
  return pool->segSize == size;
}

Bool PoolCheck(Pool pool) { return poolCheck(pool) && pool->class->check(pool); }

static void poolCreated(Pool pool)
{
  LockClaim(&ArenaRegistryLock);
  RingInsertBefore(&pool->arena->poolRing, &pool->arenaRing);
  LockRelease(&ArenaRegistryLock);
  PoolTell(pool);
}

Res PoolCreateOf(Pool *poolReturn, Arena arena, PoolClass class, const PoolParamStruct *params, Count n)
{
  Word value[PoolParamMAX] = { 0 };
  Bool sound;
  void *p;
  Pool pool;
  Res res;

  AVER(arena->sig == ArenaSIG);
  AVER(n == 0 || params != NULL);
  poolSettingsSay();
  res = poolParams(value, class, params, n);
  if (res == ResOK)
    res = PagesMap(&p, class->instanceSize);
  if (res != ResOK)
    return res;
  AVER(class->paramCount <= PoolParamMAX && class->instanceSize >= sizeof(PoolStruct));
  pool = p;
  poolInit(pool, class, arena);
  res = class->init(pool, value);
  if (res != ResOK) {
    PagesRelease((Addr)pool, class->instanceSize);
    return res;
  }
  memcpy(pool->value, value, sizeof pool->value);
  poolCreated(pool);
  sound = PoolCheck(pool); /* it calls the class through a pointer, which tool/avers does not follow */
  AVER(sound);
  *poolReturn = pool;
  return ResOK;
}

Res PoolCreate(Pool *poolReturn, Arena arena, const char *className, const PoolParamStruct *params, Count n)
{
  PoolClass class = poolClassFind(className);

  return class != NULL ? PoolCreateOf(poolReturn, arena, class, params, n) : ResPARAM;
}

void PoolDestroy(Pool pool)
{
  Ring node, after;

  /* Not all of PoolCheck: a thread that ends may give its cache back just now, and the lists of free blocks lie in
   * memory that the program may have written over. */
  AVER(poolCheck(pool));
  EVENT_P(PoolDestroy, pool);
  LockClaim(&ArenaRegistryLock);
  RingRemove(&pool->arenaRing);
  LockRelease(&ArenaRegistryLock);
  if (pool->class->finish != NULL)
    pool->class->finish(pool);
  RING_FOR(node, &pool->segRing, after)
    SegFree(RING_ELT(SegStruct, poolRing, node));
  AVER(pool->segSize == 0);
  pool->sig = 0;
  PagesRelease((Addr)pool, pool->class->instanceSize);
}

void PoolTellLive(Pool pool, Addr addr, Size size)
{
  if (pool->class->object != NULL && !pool->class->object(&addr, &size, pool))
    return;
  EVENT_PAW(PoolLive, pool, addr, size);
  ++pool->liveCount;
}

/* poolBy -- let a debug variety know who calls: the function that this stands in has this caller */
#define poolBy(pool) \
  do { \
    if (UNLIKELY((pool)->debug != NULL)) \
      PoolDebugSite = (Word)__builtin_return_address(0); \
  } while (0)

/* poolAlloc -- allocate, and tell if that failed */
static Res poolAlloc(Addr *addrReturn, Pool pool, Size size, Size align, Bool zero)
{
  Res res;

  AVER_CRITICAL(pool->sig == PoolSIG);
  res = pool->class->alloc(addrReturn, pool, size > 0 ? size : 1, align, zero);
  if (UNLIKELY(res != ResOK))
    EVENT_PW(PoolAllocFail, pool, size);
  return res;
}

Res PoolAlloc(Addr *addrReturn, Pool pool, Size size)
{
  Res res;

  poolBy(pool);
  res = poolAlloc(addrReturn, pool, size, 1, FALSE);
  if (LIKELY(res == ResOK))
    EVENT_PAW(PoolAlloc, pool, *addrReturn, size);
  return res;
}

Res PoolAllocZero(Addr *addrReturn, Pool pool, Size size)
{
  Res res;

  poolBy(pool);
  res = poolAlloc(addrReturn, pool, size, 1, TRUE);
  if (LIKELY(res == ResOK))
    EVENT_PAW(PoolAllocZero, pool, *addrReturn, size);
  return res;
}

Res PoolAllocAligned(Addr *addrReturn, Pool pool, Size size, Size align)
{
  Res res;

  poolBy(pool);
  res = WordIsPowerOf2(align) ? poolAlloc(addrReturn, pool, size, align, FALSE) : ResPARAM;
  if (LIKELY(res == ResOK))
    EVENT_PAWW(PoolAllocAligned, pool, *addrReturn, size, align);
  return res;
}

void PoolFree(Pool pool, Addr addr, Size size)
{
  AVER_CRITICAL(pool->sig == PoolSIG);
  AVER_CRITICAL(pool->debug != NULL || PoolOfAddr(addr) == pool);
  poolBy(pool);
  EVENT_PA(PoolFree, pool, addr);
  pool->class->free(pool, addr, size > 0 ? size : 1);
}

/* poolMove -- resize an object by allocating another one */
static Res poolMove(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  Addr addr;
  Res res = pool->class->alloc(&addr, pool, size, 1, FALSE);

  if (res != ResOK)
    return res;
  memcpy(addr, old, oldSize < size ? oldSize : size);
  pool->class->free(pool, old, oldSize);
  *addrReturn = addr;
  return ResOK;
}

Res PoolResize(Addr *addrReturn, Pool pool, Addr old, Size oldSize, Size size)
{
  Size had = oldSize > 0 ? oldSize : 1, need = size > 0 ? size : 1;
  Addr addr = NULL;
  Res res;

  AVER_CRITICAL(pool->sig == PoolSIG);
  AVER_CRITICAL(pool->debug != NULL || PoolOfAddr(old) == pool);
  poolBy(pool);
  EVENT_PAW(PoolResizeBegin, pool, old, size);
  res = pool->class->resize(&addr, pool, old, had, need);
  if (res == ResFAIL)
    res = poolMove(&addr, pool, old, had, need);
  EVENT_PAAW(PoolResizeEnd, pool, old, res == ResOK ? addr : NULL, size);
  if (res == ResOK)
    *addrReturn = addr;
  return res;
}

Pool PoolOfAddr(const void *addr)
{
  Seg seg = SegOfAddr(addr);

  return seg != NULL ? seg->pool : NULL;
}
