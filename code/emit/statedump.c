/* statedump.c -- the state dump: what exists when a recording starts late, told as events
 *
 * Always true: one thread tells at a time (stateBusy); whoever comes meanwhile goes on, and asks again.  Between two
 * calls stateLate says since when: 0, or the time from which nobody waits for threads to tell of themselves.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/statedump.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "emit/buffer.h"
#include "emit/event.h"
#include "emit/process.h"
#include "emit/user.h"
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"

/* ---- What the system knows of the process: its threads and the files it has mapped ----
 *
 * All from /proc: the dynamic loader and libc have locks, which whoever was interrupted may hold.
 */

#if defined(EventThreadStartCODE) /* a registry of somebody else's may have none of these */

enum { systemROOM = 4096, systemLINE = 8192 };

/* As getdents64 gives them. */
typedef struct systemEntryStruct {
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[];
} systemEntryStruct;

/* systemThread -- tell of the thread that /proc/self/task calls `number` */
static void systemThread(const char *number)
{
  char path[64], name[32];
  TextStruct text;
  unsigned thread = 0;
  Size length;

  for (length = 0; number[length] >= '0' && number[length] <= '9'; ++length)
    thread = thread * 10 + (unsigned)(number[length] - '0');
  if (length == 0)
    return;
  TextInit(&text, path, sizeof path);
  TextString(&text, "/proc/self/task/");
  TextBytes(&text, number, length);
  TextString(&text, "/comm");
  length = RawReadFile(TextTerminate(&text), name, sizeof name - 1);
  while (length > 0 && name[length - 1] == '\n')
    --length;
  name[length] = '\0';
  EVENT_UPAS(ThreadStart, thread, (void *)NULL, (Addr)NULL, name);
}

static void stateThreads(void)
{
  static char room[systemROOM] __attribute__((aligned(8))) LARGE;
  long fd, n, at;

  if (!EVENT_WANTED(EventKindSystem))
    return;
  fd = RawCall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (fd >= 0 && (n = RawCall(SYS_getdents64, fd, room, sizeof room)) > 0)
    for (at = 0; at < n;) {
      const systemEntryStruct *entry = (const void *)(room + at);
      systemThread(entry->name);
      at += entry->size;
    }
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
}

/* The file that the lines of /proc/self/maps are about. */
typedef struct systemModuleStruct {
  Word base, limit;
  Bool runs;               /* some of it may be executed */
  char path[systemROOM];
} systemModuleStruct, *systemModule;

/* systemModuleTell -- tell of it, if it is one */
static void systemModuleTell(systemModule module)
{
  if (module->path[0] != '\0' && module->runs)
    EVENT_AWS(ModuleLoad, (Addr)module->base, module->limit - module->base, module->path);
  module->path[0] = '\0';
}

/* systemHex -- a number in hex; *at goes behind it */
static Word systemHex(const char **at)
{
  Word word = 0;

  for (;; ++*at) {
    unsigned digit = **at >= '0' && **at <= '9' ? (unsigned)(**at - '0') :
                     **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : 16;
    if (digit == 16)
      return word;
    word = word << 4 | digit;
  }
}

/* systemLine -- one line, terminated: START-END PERMISSIONS OFFSET DEVICE INODE PATH */
static void systemLine(systemModule module, const char *line)
{
  const char *path = strchr(line, '/');
  Word start = systemHex(&line), limit, offset;
  Bool runs;

  line += *line == '-';
  limit = systemHex(&line);
  if (path == NULL || strlen(line) < 6 || strlen(path) >= sizeof module->path)
    return;
  runs = line[3] == 'x';
  line += 6;
  offset = systemHex(&line);
  if (strcmp(path, module->path) != 0) {
    systemModuleTell(module);
    strcpy(module->path, path);
    module->base = start - offset;
    module->runs = FALSE;
  }
  module->limit = limit;
  module->runs |= runs;
}

/* systemLines -- whole lines of `size` bytes at `room`; returns how many bytes they were */
static Size systemLines(systemModule module, char *room, Size size)
{
  char *line = room, *end;

  while ((end = memchr(line, '\n', (Size)(room + size - line))) != NULL) {
    *end = '\0';
    systemLine(module, line);
    line = end + 1;
  }
  return (Size)(line - room);
}

void StateDumpModules(void)
{
  /* On no stack, which may be small; one tells at a time. */
  static struct {
    unsigned busy; /* the process in which somebody does: in a child of fork nobody does who did in its parent */
    systemModuleStruct module;
    char room[systemLINE];
  } maps LARGE;
  unsigned self = (unsigned)RawCall(SYS_getpid);
  Size had = 0;
  long fd, n;

  if (!EVENT_WANTED(EventKindSystem) || __atomic_exchange_n(&maps.busy, self, __ATOMIC_ACQUIRE) == self)
    return;
  maps.module.path[0] = '\0';
  fd = RawCall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && had < sizeof maps.room &&
         (n = RawCall(SYS_read, fd, maps.room + had, sizeof maps.room - had)) > 0) {
    Size used = systemLines(&maps.module, maps.room, had + (Size)n);
    had += (Size)n - used;
    memmove(maps.room, maps.room + used, had);
  }
  systemModuleTell(&maps.module);
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
  __atomic_store_n(&maps.busy, 0, __ATOMIC_RELEASE);
}

#else

static void stateThreads(void)
{
}

void StateDumpModules(void)
{
}

#endif

/* ---- The order of it ---- */

enum {
  statePatience = 20000000,    /* ns that threads are given to come by: who does not is idle, or blocked */
  stateGiveUp = 1000000000,    /* ns after which what is left is left out */
  stateWaitMAX = 2000000000    /* ns that StateDumpWait tries */
};

static StateDumpHook stateHooks[StateDumpHooksMAX];
static unsigned stateBusy;
static uint32_t statePid;     /* of the process that stateBusy and stateLate belong to */
static uint64_t stateLate;    /* 0: nothing has begun */
static unsigned stateAsked;   /* how often somebody wanted it told, */
static unsigned stateSeen;    /* how often when it was last begun, */
static unsigned stateDone;    /* and when that was begun which was last ended */
static unsigned stateKinds;   /* that were sent when it began */

void StateDumpHookAdd(StateDumpHook hook)
{
  Index i;

  for (i = 0; i < StateDumpHooksMAX; ++i) {
    StateDumpHook none = NULL;
    if (__atomic_compare_exchange_n(&stateHooks[i], &none, hook, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        none == hook)
      return;
  }
}

/* stateAsk -- ask the first `n` hooks, and stop at one that says FALSE; returns how many said TRUE */
static Count stateAsk(StateDumpStep step, Count n)
{
  Index i;

  for (i = 0; i < n; ++i) {
    StateDumpHook hook = __atomic_load_n(&stateHooks[i], __ATOMIC_ACQUIRE);
    if (hook != NULL && !hook(step))
      break;
  }
  return i;
}

/* stateMark -- one of the two events around it all; a registry of somebody else's may have none */
#if defined(EventStateBeginCODE)
static void stateMark(uint16_t code)
{
  EventHeader header = EVENT_PRESENT(StateBegin) ? BufferReserveSent(EventKindSystem, sizeof(EventUStruct)) : NULL;

  if (header != NULL) {
    ((EventUStruct *)(void *)header)->f0 = stateKinds;
    EventCommit(header, code);
  }
}

/* stateOff -- which kinds are on again that were off, and since when the first of them was; 0: none.  What goes off
 * meanwhile stays noted. */
static unsigned stateOff(uint64_t *sinceReturn)
{
  unsigned kind, kinds = 0;

  *sinceReturn = 0;
  for (kind = 0; kind < EventKindLIMIT; ++kind) {
    uint64_t *place = RegionOff(EVENT_CONTROL, kind), since = __atomic_exchange_n(place, 0, __ATOMIC_SEQ_CST);
    if (since != 0 && (__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_SEQ_CST) >> kind & 1) == 0) {
      __atomic_store_n(place, since, __ATOMIC_RELEASE);
    } else if (since != 0) {
      kinds |= 1u << kind;
      if (*sinceReturn == 0 || since < *sinceReturn)
        *sinceReturn = since;
    }
  }
  return kinds;
}

/* stateOn -- tell it, if there are any */
static void stateOn(void)
{
  uint64_t since, now = EventClockMonotonic();
  unsigned kinds = stateOff(&since);
  EventHeader header = kinds != 0 && EVENT_PRESENT(KindsOn) ? BufferReserveSent(EventKindSystem, sizeof(EventUDStruct))
                                                            : NULL;
  EventUDStruct *event = (EventUDStruct *)(void *)header;

  if (header == NULL)
    return;
  event->f0 = kinds;
  event->f1 = since < now ? (double)(now - since) / 1e9 : 0;
  EventCommit(header, EventKindsOnCODE);
}
#else
static void stateOn(void)
{
}

enum { EventStateBeginCODE, EventStateEndCODE };
static void stateMark(uint16_t code)
{
  UNUSED(code);
}
#endif

/* stateBegin -- all that can be told at one go; FALSE: not now, and nothing is told */
static Bool stateBegin(void)
{
  Count claimed = stateAsk(StateDumpCLAIM, StateDumpHooksMAX);

  if (claimed < StateDumpHooksMAX) {
    (void)stateAsk(StateDumpGIVEUP, claimed);
    return FALSE;
  }
  stateKinds = (unsigned)(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & ((1u << EventKindLIMIT) - 1));
  stateSeen = __atomic_load_n(&stateAsked, __ATOMIC_ACQUIRE);
  /* What a thread does from here on it tells, and what it did before is seen. */
  if (RawCall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) != 0 &&
      RawCall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0)
    (void)RawCall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  stateOn();
  stateMark(EventStateBeginCODE);
  (void)stateAsk(StateDumpTELL, StateDumpHooksMAX);
  StateDumpModules();
  stateThreads();
  UserTell();
  stateLate = EventClockMonotonic() + statePatience;
  return TRUE;
}

/* stateGoOn -- what threads tell of themselves */
static Bool stateGoOn(void)
{
  uint64_t now = EventClockMonotonic();
  StateDumpStep step = now < stateLate ? StateDumpLIVE : StateDumpLATE;

  if (stateAsk(step, StateDumpHooksMAX) < StateDumpHooksMAX && now < stateLate + stateGiveUp)
    return FALSE;
  stateMark(EventStateEndCODE);
  stateLate = 0;
  __atomic_store_n(&stateDone, stateSeen, __ATOMIC_RELEASE);
  return TRUE;
}

/* stateIdle -- has all been told that was asked for? */
static Bool stateIdle(void)
{
  return __atomic_load_n(&stateAsked, __ATOMIC_ACQUIRE) == __atomic_load_n(&stateDone, __ATOMIC_ACQUIRE);
}

/* stateTell -- what was asked for, or go on with it; FALSE: not now, or not all of it */
static Bool stateTell(void)
{
  Process process = ProcessGet();
  Bool told;

  if (process == NULL)
    return FALSE;
  if (__atomic_exchange_n(&statePid, process->pid, __ATOMIC_RELAXED) != process->pid) {
    /* A child of fork: whoever was telling is not here. */
    stateLate = 0;
    __atomic_store_n(&stateBusy, 0, __ATOMIC_RELAXED);
  }
  if (__atomic_exchange_n(&stateBusy, 1, __ATOMIC_ACQUIRE) != 0)
    return FALSE;
  /* Another thread may have told it all just before: then nobody asks for it any more. */
  told = stateIdle() || ((stateLate != 0 || stateBegin()) && stateGoOn() && stateIdle());
  __atomic_store_n(&stateBusy, 0, __ATOMIC_RELEASE);
  return told;
}

void StateDumpAsk(void)
{
  (void)__atomic_add_fetch(&stateAsked, 1, __ATOMIC_RELEASE);
  (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
}

Bool StateDumpAttend(void)
{
  /* Who asks while it is told may have switched on what is not told: then it is told again. */
  return LIKELY(stateIdle()) || stateTell();
}

void StateDumpWait(void)
{
  uint64_t limit = EventClockMonotonic() + stateWaitMAX;
  RawMaskStruct mask;
  Bool told;

  StateDumpAsk(); /* other threads, too */
  do {
    RawBegin(&mask);
    told = StateDumpAttend();
    RawEnd(&mask);
    if (!told)
      (void)RawCall(SYS_sched_yield);
  } while (!told && EventClockMonotonic() < limit);
}
