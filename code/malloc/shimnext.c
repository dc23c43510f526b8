/* shimnext.c -- choosing who serves the program's malloc
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimnext.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "emit/control.h"
#include "emit/event.h"
#include "emit/process.h"
#include "emit/statedump.h"
#include "handover/collectorsocket.h"
#include "malloc/shimlookup.h"
#include "malloc/shimsync.h"
#include "malloc/shimthread.h"
#include "mm/mmalloc.h"

enum { shimALIGN = 16 };

static void *shimFirstMalloc(size_t size);
static void shimFirstFree(void *p);
static void *shimFirstCalloc(size_t count, size_t size);
static void *shimFirstRealloc(void *p, size_t size);
static void *shimFirstMemalign(size_t align, size_t size);
static size_t shimFirstUsable(void *p);

/* The pool that stands for a foreign malloc: an address that nothing else has. */
static char shimForeign;

ShimNextStruct ShimNext __attribute__((aligned(64))) = { /* one line of the cache */
  shimFirstMalloc, shimFirstFree, shimFirstCalloc, shimFirstRealloc, shimFirstMemalign, shimFirstUsable, &shimForeign,
  FALSE, FALSE,
};

/* Looking up functions may itself allocate: a little memory for that, never given back. */
char ShimEarly[ShimEarlySIZE] __attribute__((aligned(shimALIGN))) LARGE;
static Size shimEarlyUsed;
static __thread Bool shimChoosing; /* by this thread, at this moment */
static Bool shimAsleep;            /* it was chosen before the library might record (ProcessSleeps) */
static unsigned shimChoice;        /* 0: nobody has chosen; 1: somebody does; 2: chosen */

void *ShimEarlyTake(Size size, Size align)
{
  Size used = __atomic_load_n(&shimEarlyUsed, __ATOMIC_RELAXED), at;

  do {
    at = WordAlignUp(used, align < shimALIGN ? shimALIGN : align);
    if (at > ShimEarlySIZE || size > ShimEarlySIZE - at) {
      errno = ENOMEM;
      return NULL;
    }
  } while (!__atomic_compare_exchange_n(&shimEarlyUsed, &used, at + size, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return ShimEarly + at;
}

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

/* ---- Who serves ---- */

static void shimMMFree(void *p)
{
  (void)MMFree(p);
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
    (void)MMFree(old);
    return NULL;
  }
  return MMOwns(old) ? MMResize(old, size) : NULL;
}

static void *shimMMMemalign(size_t align, size_t size)
{
  return MMAllocAligned(size, align);
}

static size_t shimMMUsable(void *p)
{
  return MMUsableSize(p);
}

/* shimSymbol -- the function that would have served, in the type of a data pointer, which POSIX lets us copy */
static void shimSymbol(void *function, const char *name)
{
  void *symbol = ShimSymbol(RTLD_NEXT, name);

  memcpy(function, &symbol, sizeof symbol);
}

/* shimSites -- does PAWPRINT_STACK ask for the caller of each allocation? */
static Bool shimSites(void)
{
  char room[16];
  const char *depth = ProcessSleeps() ? NULL : ControlVariable("PAWPRINT_STACK", room, sizeof room);

  if (depth == NULL || depth[0] == '\0' || strcmp(depth, "0") == 0)
    return FALSE;
  if (strcmp(depth, "1") != 0)
    ControlComplain("PAWPRINT_STACK", depth, "it is 0, or 1 for the caller; deeper stacks are not recorded yet");
  return strcmp(depth, "1") == 0;
}

/* shimLibc -- does libc itself serve?  Its functions do not call each other through the dynamic linker. */
static Bool shimLibc(const ShimNextStruct *next)
{
  ShimNextStruct libc = {.pool = NULL};
  Bool same = TRUE;

#define X(name) shimSymbol(&libc.name, "__libc_" #name), same &= next->name == libc.name;
  SERVING_FUNCTIONS(X)
#undef X
  return same;
}

static void shimObserve(void)
{
  ShimNextStruct next = {.pool = &shimForeign, .sites = shimSites()};

#define X(name) shimSymbol(&next.name, #name);
  SERVING_FUNCTIONS(X)
#undef X
  shimSymbol(&next.usable, "malloc_usable_size");
  if (!shimLibc(&next)) {
    shimDeepen(&next);
    (void)ShimPassTo();
  }
  ShimNext = next;
}

static void shimManage(void)
{
  ShimNextStruct next = {
    MMAlloc, shimMMFree, shimMMCalloc, shimMMRealloc, shimMMMemalign, shimMMUsable, MMPool(), shimSites(), TRUE,
  };

  if (next.pool != NULL)
    ShimNext = next;
  else
    shimObserve();
}

/* shimTell -- name the pool that stands for the program's malloc; Pawprint's own has told of itself */
static void shimTell(void)
{
  if (ShimNext.pool == &shimForeign)
    EVENT_PPS(PoolCreate, ShimNext.pool, (void *)NULL, "malloc");
}

/* shimTellProcess -- the process's first thread; and the modules, where sites are nothing without them */
static void shimTellProcess(void)
{
  ShimThreadTell();
  if (ShimNext.sites)
    StateDumpModules();
}

/* shimState -- for a log that begins now */
static Bool shimState(StateDumpStep step)
{
  if (step == StateDumpTELL)
    shimTell();
  return TRUE;
}

void ShimForked(void)
{
  if (ShimNext.pool != &shimForeign)
    PoolTell(ShimNext.pool);
  shimTell();
  SyncForked();
  shimTellProcess();
}

static void shimChoose(void)
{
  char room[16];
  unsigned none = 0;
  const char *mode;

  if (__atomic_compare_exchange_n(&shimChoice, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    shimChoosing = TRUE;
    shimAsleep = ProcessSleeps();
    if (shimAsleep)
      ProcessStart();
    mode = shimAsleep ? NULL : ControlVariable("PAWPRINT_MODE", room, sizeof room);
    if (mode != NULL && strcmp(mode, "manage") == 0) {
      /* The environment is read before the arena is created: what a debugger sets there stays. */
      ProcessStart();
      shimManage();
    } else {
      if (mode != NULL && strcmp(mode, "observe") != 0)
        ControlComplain("PAWPRINT_MODE", mode, "it is neither observe nor manage; what is done is observe");
      shimObserve();
    }
    shimChoosing = FALSE;
    __atomic_store_n(&shimChoice, 2, __ATOMIC_RELEASE);
    shimTell();
  }
  while (__atomic_load_n(&shimChoice, __ATOMIC_ACQUIRE) != 2)
    (void)sched_yield();
}

static void *shimFirstMalloc(size_t size)
{
  if (shimChoosing)
    return ShimEarlyTake(size, shimALIGN);
  shimChoose();
  return ShimNext.malloc(size);
}

static void shimFirstFree(void *p)
{
  if (shimChoosing)
    return;
  shimChoose();
  ShimNext.free(p);
}

static void *shimFirstCalloc(size_t count, size_t size)
{
  size_t bytes;

  if (shimChoosing)
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : ShimEarlyTake(bytes, shimALIGN);
  shimChoose();
  return ShimNext.calloc(count, size);
}

static void *shimFirstRealloc(void *p, size_t size)
{
  if (shimChoosing)
    return p == NULL ? ShimEarlyTake(size, shimALIGN) : NULL;
  shimChoose();
  return ShimNext.realloc(p, size);
}

static void *shimFirstMemalign(size_t align, size_t size)
{
  if (shimChoosing)
    return ShimEarlyTake(size, align);
  shimChoose();
  return ShimNext.memalign(align, size);
}

static size_t shimFirstUsable(void *p)
{
  if (shimChoosing)
    return 0;
  shimChoose();
  return ShimNext.usable(p);
}

void ShimStart(void)
{
  if (__atomic_load_n(&shimChoice, __ATOMIC_ACQUIRE) != 2)
    shimChoose();
}

/* Where this library begins in memory, and ends: the linker says so. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* shimOurs -- is the address inside this library? */
static Bool shimOurs(const void *address)
{
  return (Word)address - (Word)__ehdr_start < (Word)(_end - __ehdr_start);
}

/* shimHome -- the executable or the library in which an address is; NULL: none */
static struct link_map *shimHome(void *address)
{
  struct link_map *map = NULL;
  Dl_info info;

  return address != NULL && dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

/* shimWay -- is a function of the executable only the way to one in a library?  An executable that has a fixed place in
 * memory, and takes the address of a function, gives it that address for the whole process. */
static Bool shimWay(void *address)
{
  ElfW(Sym) *symbol = NULL;
  Dl_info info;

  return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL &&
         symbol->st_shndx == SHN_UNDEF;
}

/* shimHas -- has this library the function itself?  A name without a folder is the kernel's own, which has none. */
static Bool shimHas(const struct link_map *map, const char *function)
{
  void *library = strchr(map->l_name, '/') != NULL ? ShimLibrary(map->l_name) : NULL;
  Bool has = library != NULL && shimHome(ShimSymbol(library, function)) == map;

  if (library != NULL)
    ShimLibraryLeave(library);
  return has;
}

/* shimStranger -- the library that comes before this one and has this function; NULL: none, or it is inside the executable,
 * whose file says so */
static const char *shimStranger(const char *function)
{
  void *first = ShimSymbol(RTLD_DEFAULT, function);
  struct link_map *map = shimOurs(first) ? NULL : shimHome(first);

  if (map == NULL || map->l_prev != NULL)
    return map != NULL ? map->l_name : NULL;
  if (!shimWay(first))
    return NULL;
  while ((map = map->l_next) != NULL && !shimOurs(map->l_ld))
    if (shimHas(map, function))
      return map->l_name;
  return NULL;
}

/* shimValgrind -- the libraries in their order, to this one: one by which a tool of valgrind replaces malloc, wherever it is */
static int shimValgrind(struct dl_phdr_info *info, size_t size, void *nameReturn)
{
  static const char tool[] = "/vgpreload_", core[] = "/vgpreload_core"; /* of all tools, and replaces nothing */
  const char *slash = strrchr(info->dlpi_name, '/');

  UNUSED(size);
  if (slash == NULL || strncmp(slash, tool, sizeof tool - 1) != 0 || strncmp(slash, core, sizeof core - 1) == 0)
    return shimOurs((const void *)info->dlpi_addr);
  *(const char **)nameReturn = info->dlpi_name;
  return 1;
}

/* shimTranslated -- that library, where calls of our malloc do not come to us, though it is found first; or NULL */
static const char *shimTranslated(void)
{
  const char *name = NULL;

  (void)dl_iterate_phdr(shimValgrind, &name);
  return name != NULL && !ShimReached() ? name : NULL;
}

/* shimBefore -- if there is such a library, calls of its functions come here only if it passes them on: name it */
static void shimBefore(void)
{
  Process process = ProcessSends() ? ProcessIfReady() : NULL;
  const char *name = process != NULL ? shimStranger("malloc") : NULL;

  if (name == NULL && process != NULL)
    name = shimStranger(sizeof(size_t) == sizeof(unsigned) ? "_Znwj" : "_Znwm");
  if (name == NULL && process != NULL)
    name = shimTranslated();
  if (name == NULL)
    return;
  if (strlen(name) >= RegionPathMAX)
    name = strrchr(name, '/') + 1; /* what is longer has one */
  if (HandListened())
    HandBefore(process->identity, name);
  else
    RawSay("not seen", name, "its malloc or operator new comes before libpawprint.so, which sees only calls that it passes on");
}

/* The library is ready before the program's own constructors. */
__attribute__((constructor(102))) static void shimConstruct(void)
{
  ProcessStart();
  ShimStart();
  if (shimAsleep) {
    ShimNext.sites = shimSites();
    shimTell();
  }
  shimTellProcess();
  shimBefore();
  if (ShimNext.manages)
    MMThreadsWatch();
  ShimForkStart();
  StateDumpHookAdd(shimState);
}

/* ---- What AddressSanitizer asks for ----
 *
 * Its runtime, where it is a shared library, insists on being the first one in the process, and does not start where we
 * are.  It needs not be: what it serves is called behind our wrappers.  A program that has options of its own is asked
 * before us; for that one the environment must say it (pawprint(7)).
 */

extern const char *__asan_default_options(void) __attribute__((visibility("default")));

const char *__asan_default_options(void)
{
  return "verify_asan_link_order=0";
}
