/* shimstart.c -- the beginning of the library in a process, and in the child of a fork
 *
 * Before a fork handlers run in the reverse order of their registration, and after it in that order.  Ours are
 * registered before any other, so they run last in the parent and first in the child: allocations of the program's
 * handlers, on either side, are recorded in the process in which they happen, and the child's inherited memory is known
 * when it begins.  pthread_atfork is in each module, and calls libc's __register_atfork: that is wrapped, because other
 * libraries may run before our constructors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "emit/emitter.h"
#include "emit/modules.h"
#include "emit/statedump.h"
#include "handover/collectorsocket.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"
#include "malloc/shimsync.h"
#include "malloc/shimtimes.h"
#include "mm/forks.h"
#include "mm/mallocpool.h"

/* shimTellProcess -- the process's first thread; and the modules, where sites are nothing without them */
static void shimTellProcess(void)
{
  SyncThreadTell();
  if (ShimNext.depth != 0)
    ModulesTell(TRUE);
}

/* When the process began: monotonic, ns; the child of a fork begins then. */
static uint64_t shimBegan;

/* ---- Fork ---- */

static Bool shimHeld; /* by the thread that forks: all locks of the memory manager */

static void shimPrepare(void)
{
  ShimExecStart();
  (void)ShimPassTo();
  shimHeld = ShimNext.manages;
  if (shimHeld)
    MMForkPrepare();
}

static void shimParent(void)
{
  if (shimHeld)
    MMForkDone();
}

/* shimChild -- the child has a trace of its own: name the pool there, and its thread */
static void shimChild(void)
{
  shimBegan = EventClockMonotonic();
  if (shimHeld)
    MMForkDone();
  ShimStackForked();
  if (ShimNext.manages)
    PoolTell(ShimNext.pool);
  ShimTell();
  SyncForked();
  shimTellProcess();
}

static void shimForkStart(void)
{
  static Bool started;

  if (__atomic_exchange_n(&started, TRUE, __ATOMIC_RELAXED))
    return;
  EmitterForkStart();
  (void)pthread_atfork(shimPrepare, shimParent, shimChild);
}

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module);
extern void *__dso_handle __attribute__((visibility("hidden"))); /* by which libc knows our module */

__attribute__((visibility("default")))
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *module)
{
  __typeof__(__register_atfork) *next;

  ShimNextSymbol(&next, "__register_atfork");
  if (next == NULL)
    return ENOMEM;
  if (module != __dso_handle)
    shimForkStart();
  return next(prepare, parent, child, module);
}

/* ---- Is malloc ours? ---- */

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

/* shimStranger -- the library that comes before this one and has this function; NULL: none, or it is inside the
 * executable, whose file says so */
static const char *shimStranger(const char *function)
{
  void *first = ShimSymbol(RTLD_DEFAULT, function);
  struct link_map *map = ShimContains(first) ? NULL : shimHome(first);

  if (map == NULL || map->l_prev != NULL)
    return map != NULL ? map->l_name : NULL;
  if (!shimWay(first))
    return NULL;
  while ((map = map->l_next) != NULL && !ShimContains(map->l_ld))
    if (shimHas(map, function))
      return map->l_name;
  return NULL;
}

/* shimValgrind -- the libraries in their order, to this one: one by which a tool of valgrind replaces malloc, wherever
 * it is */
static int shimValgrind(struct dl_phdr_info *info, size_t size, void *nameReturn)
{
  static const char tool[] = "/vgpreload_", core[] = "/vgpreload_core"; /* of all tools, and replaces nothing */
  const char *slash = strrchr(info->dlpi_name, '/');

  UNUSED(size);
  if (slash == NULL || strncmp(slash, tool, sizeof tool - 1) != 0 || strncmp(slash, core, sizeof core - 1) == 0)
    return ShimContains((const void *)info->dlpi_addr);
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
  Emitter emitter = EmitterSends() ? EmitterIfReady() : NULL;
  const char *name = emitter != NULL ? shimStranger("malloc") : NULL;

  if (name == NULL && emitter != NULL)
    name = shimStranger(sizeof(size_t) == sizeof(unsigned) ? "_Znwj" : "_Znwm");
  if (name == NULL && emitter != NULL)
    name = shimTranslated();
  if (name == NULL)
    return;
  if (strlen(name) >= RegionPathMAX)
    name = strrchr(name, '/') + 1; /* what is longer has one */
  if (CollectorSocketNamed())
    CollectorSocketLibrary(RegionNoteBEFORE, emitter->identity, name);
  else
    RawSay("not seen", name,
           "its malloc or operator new comes before libpawprint.so, which sees only calls that it passes on");
}

/* ---- The beginning and the end ---- */

/* shimState -- for a log that begins now */
static Bool shimState(StateDumpStep step)
{
  if (step == StateDumpTELL) {
    ShimTell();
    ShimStackTell();
  }
  return TRUE;
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);

enum {
  shimMOMENT = 100000000, /* ns: a process that lived no longer is not to take longer to end; of others the end takes */
  shimSHARE = 100         /* 1/100 of their lives */
};

/* shimPeak -- emit the most that was resident.  The collector's samples miss memory that was resident only between
 * two of them.  VmHWM counts since exec; getrusage also has what the process ran before. */
static void shimPeak(void)
{
  char status[2048];
  const char *at;
  Size size;

  if (!EVENT_WANTED(EventProcessPeakKIND))
    return;
  size = RawReadFile("/proc/self/status", status, sizeof status - 1);
  status[size] = '\0';
  at = strstr(status, "\nVmHWM:");
  if (at == NULL)
    return;
  at += strlen("\nVmHWM:");
  at += strspn(at, "\t ");
  EVENT_W(ProcessPeak, (Word)TextNumber(&at, 10) * 1024);
}

void ShimEnd(void)
{
  uint64_t lived = EventClockMonotonic() - shimBegan;

  if (lived < shimMOMENT)
    return;
  ShimLargeEnd(lived / shimSHARE);
  shimPeak();
  ShimTimesTell(SyncThread(), SyncThread() == RawPid() ? shimBegan : 0);
}

static void shimExit(void *unused)
{
  UNUSED(unused);
  ShimEnd();
}

/* The library is ready before the program's own constructors. */
__attribute__((constructor(102))) static void shimConstruct(void)
{
  EmitterStart();
  (void)__cxa_atexit(shimExit, NULL, NULL); /* runs before the emitter's, which was registered first */
  ShimStart();
  ShimAwake();
  shimTellProcess();
  shimBegan = EventClockMonotonic();
  shimBefore();
  if (ShimNext.manages)
    SGFThreadsWatch();
  shimForkStart();
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
