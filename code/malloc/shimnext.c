/* shimnext.c -- chooses the real malloc behind the wrappers: the allocator that serves the program
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimnext.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "emit/control.h"
#include "emit/emitter.h"
#include "emit/modules.h"
#include "malloc/shimdebug.h"
#include "malloc/shimdlsym.h"
#include "mm/mallocpool.h"
#include "mm/misuse.h"
#include "unwind/walk.h"

enum { shimALIGN = 16 };

/* The pool that stands for a foreign malloc: an address that nothing else has. */
static char shimForeign;

/* Looking up functions may itself allocate: a little memory for that, never given back. */
char ShimEarly[ShimEarlySIZE] __attribute__((aligned(shimALIGN))) LARGE;
static Size shimEarlyUsed;
static __thread Bool shimChoosing; /* by this thread, at this moment */
static Bool shimAsleep;            /* it was chosen before the library might record (EmitterSleeps) */
static unsigned shimChoice;        /* 0: not chosen; 1: a thread is choosing; 2: chosen */

void *ShimEarlyTake(Size size, Size align)
{
  Size used = __atomic_load_n(&shimEarlyUsed, __ATOMIC_RELAXED), at;

  AVER(WordIsPowerOf2(align));
  do {
    at = WordAlignUp(used, align < shimALIGN ? shimALIGN : align);
    if (at > ShimEarlySIZE || size > ShimEarlySIZE - at) {
      errno = ENOMEM;
      return NULL;
    }
  } while (!__atomic_compare_exchange_n(&shimEarlyUsed, &used, at + size, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return ShimEarly + at;
}

/* FIRST -- a function that has the table chosen, and calls on.  What the choice itself calls meanwhile gives `early`.
 */
#define FIRST(returns, name, parameters, arguments, early) \
  static returns shimFirst_##name parameters \
  { \
    if (shimChoosing) \
      return early; \
    shimChoose(); \
    return ShimNext.name arguments; \
  }

static void shimChoose(void);

FIRST(void *, malloc, (size_t size), (size), ShimEarlyTake(size, shimALIGN))
FIRST(void, free, (void *p), (p), (void)0)
FIRST(void *, calloc, (size_t count, size_t size), (count, size),
      size != 0 && count > ShimEarlySIZE / size ? NULL : ShimEarlyTake(count * size, shimALIGN))
FIRST(void *, realloc, (void *p, size_t size), (p, size), p == NULL ? ShimEarlyTake(size, shimALIGN) : NULL)
FIRST(void *, memalign, (size_t align, size_t size), (align, size), ShimEarlyTake(size, align))
FIRST(size_t, usable, (const void *p), (p), 0)

ShimNextStruct ShimNext __attribute__((aligned(64))) = { /* one line of the cache */
  shimFirst_malloc, shimFirst_free, shimFirst_calloc, shimFirst_realloc, shimFirst_memalign, shimFirst_usable,
  &shimForeign, 0, FALSE, FALSE,
};

Bool ShimFrees, ShimUsable;

/* ---- The mark of a thread that is inside an allocator ---- */

__thread unsigned ShimWithin __attribute__((tls_model("initial-exec")));

/* What serves behind the functions here. */
static ShimNextStruct within;

/* WITHIN -- a function that makes a call with the mark set */
#define WITHIN(name, parameters, arguments) \
  static void *within_##name parameters \
  { \
    unsigned before = ShimWithin; \
    void *p; \
    ShimWithin = ShimMALLOC; \
    p = within.name arguments; \
    ShimWithin = before; \
    return p; \
  }

WITHIN(malloc, (size_t size), (size))
WITHIN(calloc, (size_t count, size_t size), (count, size))
WITHIN(realloc, (void *old, size_t size), (old, size))
WITHIN(memalign, (size_t align, size_t size), (align, size))

static void within_free(void *p)
{
  unsigned before = ShimWithin;

  ShimWithin = ShimMALLOC;
  within.free(p);
  ShimWithin = before;
}

/* The functions that may call each other. */
#define SERVING_FUNCTIONS(X) X(malloc) X(free) X(calloc) X(realloc) X(memalign)

/* shimDeepen -- let the functions of `next` be called with the mark set */
static void shimDeepen(ShimNextStruct *next)
{
  within = *next;
#define X(name) next->name = within_##name;
  SERVING_FUNCTIONS(X)
#undef X
}

/* ---- The functions that serve ---- */

ShimNextStruct ShimOther;

/* shimStray -- free what the pool does not know */
static __attribute__((cold, noinline)) void shimStray(void *p)
{
  if (ShimIsOther(p))
    ShimOther.free(p);
  else
    MisuseFound(MisuseFOREIGN, MMPool(), p, 0, p);
}

static void shimMMFree(void *p)
{
  if (UNLIKELY(!MMFree(p)))
    shimStray(p);
}

static void *shimMMCalloc(size_t count, size_t size)
{
  size_t bytes;

  return __builtin_mul_overflow(count, size, &bytes) ? NULL : MMAllocZero(bytes);
}

static void *shimMMRealloc(void *old, size_t size)
{
  if (old == NULL)
    return MMAlloc(size);
  if (size == 0) {
    shimMMFree(old);
    return NULL;
  }
  if (LIKELY(MMOwns(old)))
    return MMResize(old, size);
  if (ShimIsOther(old))
    return ShimOther.realloc(old, size);
  MisuseFound(MisuseFOREIGN, MMPool(), old, 0, old);
  return NULL;
}

static void *shimMMMemalign(size_t align, size_t size)
{
  return MMAllocAligned(size, align);
}

static size_t shimMMUsable(const void *p)
{
  size_t size = SGFUsableSize(p);

  return UNLIKELY(size == 0) && ShimIsOther(p) && ShimOther.usable != NULL ? ShimOther.usable(p) : size;
}

/* shimFlag -- is `flag` what comes next?  Then go behind it. */
static Bool shimFlag(const char **end, const char *flag)
{
  Bool is = strncmp(*end, flag, strlen(flag)) == 0;

  *end += is ? strlen(flag) : 0;
  return is;
}

/* shimStacks -- obey PAWPRINT_STACK: the depth of stacks that are recorded, `,frees' for those of frees, too, and
 * `,usable' for what the allocator gives; or `1,range=RANGE' */
static void shimStacks(ShimNextStruct *next)
{
  static const char reason[] = "it is 0, 1 for the caller, a depth of 2 to 64, perhaps with `,frees' and `,usable', or "
                               "`1,range=' with a module or LO-HI";
  char room[256];
  const char *wanted = EmitterSleeps() ? NULL : ControlVariable("PAWPRINT_STACK", room, sizeof room), *end = wanted;
  Bool frees, usable;
  uint64_t depth;

  if (wanted == NULL || wanted[0] == '\0')
    return;
  depth = TextNumber(&end, 10);
  frees = end != wanted && shimFlag(&end, ",frees");
  usable = end != wanted && shimFlag(&end, ",usable");
  if (end != wanted && depth == 1 && !frees && shimFlag(&end, ",range=")) {
    if (!ShimStackRange(end))
      RawSay("PAWPRINT_STACK", wanted, reason);
    else
      next->depth = 1;
  } else if (end == wanted || depth > StackDepthMAX || *end != '\0' || (frees && depth < 2) || (usable && depth < 1)) {
    RawSay("PAWPRINT_STACK", wanted, reason);
  } else if (depth > 1 && !ShimStackStart((Count)depth)) {
    RawSay("PAWPRINT_STACK", wanted, "there is no memory for it, so no stacks are recorded");
  } else {
    next->depth = (uint8_t)depth;
    ShimFrees = frees;
  }
  ShimUsable = usable && next->depth != 0 && next->usable != NULL;
}

/* shimLibc -- does libc itself serve?  Its functions do not call each other through the dynamic linker. */
static Bool shimLibc(const ShimNextStruct *next)
{
  ShimNextStruct libc = {.pool = NULL};
  Bool same = TRUE;

#define X(name) ShimNextSymbol(&libc.name, "__libc_" #name), same &= next->name == libc.name;
  SERVING_FUNCTIONS(X)
#undef X
  return same;
}

/* shimBehind -- the functions that serve without us */
static void shimBehind(ShimNextStruct *next)
{
#define X(name) ShimNextSymbol(&next->name, #name);
  SERVING_FUNCTIONS(X)
#undef X
  ShimNextSymbol(&next->usable, "malloc_usable_size");
  next->libc = shimLibc(next);
  if (!next->libc) {
    shimDeepen(next);
    (void)ShimPassTo();
  }
}

/* The class of the pool that stands for the malloc that serves. */
static char shimClass[32] = "malloc";

/* shimServing -- if another library than libc has this function, name it in the pool's class.  Its name does not
 * tell: tcmalloc's functions have the names of libc's own, too.  A sanitizer that is not ready yet may allocate, so
 * nothing is called here that a sanitizer replaces. */
static void shimServing(const void *its)
{
  const struct link_map *module = ModulesLink((Word)its);
  const char *name;

  if (module == NULL || module == ModulesLink((Word)gnu_get_libc_version))
    return;
  name = strrchr(module->l_name, '/'); /* NULL: the program itself, whose name is "" */
  TextMake(shimClass, sizeof shimClass, "malloc:%s", name != NULL ? name + 1 : module->l_name);
}

static void shimObserve(void)
{
  ShimNextStruct next = {.pool = &shimForeign};

  shimBehind(&next);
  shimServing((const void *)(next.libc ? next.malloc : within.malloc));
  AVER(next.malloc != NULL && next.free != NULL && next.realloc != NULL);
  shimStacks(&next);
  ShimNext = next;
}

/* shimOther -- find out if an allocator other than libc's has objects of its own.  A library may have malloc alone. */
static void shimOther(void)
{
  ShimNextStruct behind = {.pool = NULL};
  void (*libc)(void *);

  shimBehind(&behind);
  ShimNextSymbol(&libc, "__libc_free");
  if (!behind.libc && within.free != libc)
    ShimOther = behind;
}

/* shimDebugs -- is the pool to be of the debug variety? */
static Bool shimDebugs(void)
{
  char room[16];
  const char *value = ControlVariable("PAWPRINT_DEBUG", room, sizeof room);

  if (value == NULL || value[0] == '\0' || strcmp(value, "0") == 0)
    return FALSE;
  if (strcmp(value, "1") != 0)
    RawSay("PAWPRINT_DEBUG", value, "it is neither 0 nor 1; what is done is 1");
  return TRUE;
}

static void shimManage(void)
{
  ShimNextStruct next = {
    MMAlloc, shimMMFree, shimMMCalloc, shimMMRealloc, shimMMMemalign, shimMMUsable, NULL, 0, TRUE, FALSE,
  };
  Bool debug = shimDebugs();

  if (debug)
    MMDebug();
  next.pool = MMPool();

  if (next.pool == NULL) {
    RawSay("PAWPRINT_MODE", "manage", "there is no memory for a pool, so the program's own malloc serves it");
    shimObserve();
    return;
  }
  shimOther();
  shimStacks(&next);
  if (debug)
    ShimDebug(&next);
  ShimNext = next;
}

void ShimTell(void)
{
  if (ShimNext.pool == &shimForeign)
    EVENT_PPS(PoolCreate, ShimNext.pool, (void *)NULL, shimClass);
}

static void shimChoose(void)
{
  char room[16];
  unsigned none = 0;
  const char *mode;

  if (__atomic_compare_exchange_n(&shimChoice, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    shimChoosing = TRUE;
    shimAsleep = EmitterSleeps();
    if (shimAsleep)
      EmitterStart();
    mode = shimAsleep ? NULL : ControlVariable("PAWPRINT_MODE", room, sizeof room);
    if (mode != NULL && strcmp(mode, "manage") == 0) {
      /* The environment is read before the arena is created: what a debugger sets there stays. */
      EmitterStart();
      shimManage();
    } else {
      if (mode != NULL && strcmp(mode, "observe") != 0)
        RawSay("PAWPRINT_MODE", mode, "it is neither observe nor manage; what is done is observe");
      shimObserve();
    }
    shimChoosing = FALSE;
    __atomic_store_n(&shimChoice, 2, __ATOMIC_RELEASE);
    ShimTell();
  }
  while (__atomic_load_n(&shimChoice, __ATOMIC_ACQUIRE) != 2)
    (void)sched_yield();
}

void ShimStart(void)
{
  if (__atomic_load_n(&shimChoice, __ATOMIC_ACQUIRE) != 2)
    shimChoose();
}

void ShimAwake(void)
{
  if (shimAsleep) {
    shimStacks(&ShimNext);
    ShimTell();
  }
}
