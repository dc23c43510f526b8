/* statedump.c -- the state dump: events for the objects that exist when a recording starts late
 *
 * Always true: one thread at a time works on the dump (dumpBusy); another one that comes meanwhile goes on, and tries
 * again with its next event.  Between two calls dumpLate is 0 if no dump has begun; else the time from which the dump
 * no longer waits for other threads to report their own objects.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/statedump.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>

#include "emit/emitter.h"
#include "emit/modules.h"

/* ---- What the system knows of the process: its threads ----
 *
 * It comes from /proc: libc has locks, and the thread that was interrupted may hold them.
 */

#if defined(EventThreadStartCODE) /* the registry of another emitter may have none of these */

enum { systemROOM = 4096 };

/* As getdents64 gives them. */
typedef struct systemEntryStruct {
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[];
} systemEntryStruct;

/* systemThread -- emit a ThreadStart for the thread that /proc/self/task lists as `number` */
static void systemThread(const char *number)
{
  char path[64], name[32];
  const char *end = number;
  unsigned thread = (unsigned)TextNumber(&end, 10);
  Size length;

  if (end == number)
    return;
  length = RawReadFile(TextMake(path, sizeof path, "/proc/self/task/%u/comm", thread), name, sizeof name - 1);
  while (length > 0 && name[length - 1] == '\n')
    --length;
  name[length] = '\0';
  EVENT_UPAS(ThreadStart, thread, (void *)NULL, (Addr)NULL, name);
}

static void dumpThreads(void)
{
  static char room[systemROOM] __attribute__((aligned(8))) LARGE;
  long fd, n, at;

  if (!EVENT_WANTED(EventKindSystem))
    return;
  fd = LentCall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (fd >= 0 && (n = RawCall(SYS_getdents64, fd, room, sizeof room)) > 0)
    for (at = 0; at < n;) {
      const systemEntryStruct *entry = (const void *)(room + at);
      systemThread(entry->name);
      at += entry->size;
    }
  if (fd >= 0)
    LentClose(fd);
}

#endif

/* ---- The steps of a dump ---- */

enum {
  dumpPatience = 20000000,    /* ns that other threads have to report their objects: else they are idle or blocked */
  dumpGiveUp = 1000000000,    /* ns after which the dump ends, though objects are missing in it */
  dumpWaitMAX = 2000000000    /* ns that StateDumpWait waits at most */
};

static StateDumpHook dumpHooks[StateDumpHooksMAX];
static unsigned dumpBusy;
static uint32_t dumpPid;     /* of the process that dumpBusy and dumpLate belong to */
static uint64_t dumpLate;    /* 0: no dump has begun */
static unsigned dumpAsked;   /* dumps that were requested so far; */
static unsigned dumpSeen;    /* its value when the newest dump began, */
static unsigned dumpDone;    /* and when the newest complete dump began */
static unsigned dumpKinds;   /* the kinds that were sent when the newest dump began */

void StateDumpHookAdd(StateDumpHook hook)
{
  Index i;

  for (i = 0; i < StateDumpHooksMAX; ++i) {
    StateDumpHook none = NULL;
    if (__atomic_compare_exchange_n(&dumpHooks[i], &none, hook, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        none == hook)
      return;
  }
}

/* dumpAsk -- call the first `n` hooks with a step, up to one that returns FALSE; returns how many returned TRUE */
static Count dumpAsk(StateDumpStep step, Count n)
{
  Index i;

  for (i = 0; i < n; ++i) {
    StateDumpHook hook = __atomic_load_n(&dumpHooks[i], __ATOMIC_ACQUIRE);
    if (hook != NULL && !hook(step))
      break;
  }
  return i;
}

#if defined(EventStateBeginCODE) /* the registry of another emitter may have none */

/* dumpMark -- one of the two events around it all */
static void dumpMark(Bool begins)
{
  EventHeader header = EVENT_PRESENT(StateBegin) ? BufferReserveSent(EventKindSystem, sizeof(EventUStruct)) : NULL;

  if (header != NULL) {
    ((EventUStruct *)(void *)header)->f0 = dumpKinds;
    EventCommit(header, begins ? EventStateBeginCODE : EventStateEndCODE);
  }
}

/* dumpOff -- the kinds that are on again and were off, and since when the first of them was off; 0: none.  A kind that
 * is switched off meanwhile keeps its note. */
static unsigned dumpOff(uint64_t *sinceReturn)
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

/* dumpOn -- emit KindsOn for these kinds, if there are any */
static void dumpOn(void)
{
  uint64_t since, now = EventClockMonotonic();
  unsigned kinds = dumpOff(&since);
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
#define dumpOn() ((void)0)
#define dumpMark(begins) ((void)0)
#endif

/* dumpBegin -- the part of the dump that one thread does at once; FALSE: a lock is taken, and nothing was emitted */
static Bool dumpBegin(Emitter emitter)
{
  Count claimed = dumpAsk(StateDumpCLAIM, StateDumpHooksMAX);

  if (claimed < StateDumpHooksMAX) {
    (void)dumpAsk(StateDumpGIVEUP, claimed);
    return FALSE;
  }
  dumpKinds = (unsigned)(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & EVENT_KINDS);
  dumpSeen = __atomic_load_n(&dumpAsked, __ATOMIC_ACQUIRE);
  /* The dump sees what a thread did before this barrier; what it does after has events of its own. */
  if (RawCall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) != 0 &&
      RawCall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0)
    (void)RawCall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
  dumpOn();
  dumpMark(TRUE);
  __atomic_store_n(&emitter->tells, EmitterTELLS | dumpKinds, __ATOMIC_RELAXED);
  (void)dumpAsk(StateDumpTELL, StateDumpHooksMAX);
  ModulesTell(FALSE);
#if defined(EventThreadStartCODE)
  dumpThreads();
#endif
  UserTell();
  __atomic_store_n(&emitter->tells, 0, __ATOMIC_RELAXED);
  dumpLate = EventClockMonotonic() + dumpPatience;
  return TRUE;
}

/* dumpGoOn -- the live objects, to which each thread contributes; FALSE: some are missing */
static Bool dumpGoOn(void)
{
  uint64_t now = EventClockMonotonic();
  StateDumpStep step = now < dumpLate ? StateDumpLIVE : StateDumpLATE;

  if (dumpAsk(step, StateDumpHooksMAX) < StateDumpHooksMAX && now < dumpLate + dumpGiveUp)
    return FALSE;
  dumpMark(FALSE);
  dumpLate = 0;
  __atomic_store_n(&dumpDone, dumpSeen, __ATOMIC_RELEASE);
  return TRUE;
}

/* dumpIdle -- is no dump due? */
static Bool dumpIdle(void)
{
  return __atomic_load_n(&dumpAsked, __ATOMIC_ACQUIRE) == __atomic_load_n(&dumpDone, __ATOMIC_ACQUIRE);
}

/* dumpTell -- begin or continue the dump; FALSE: it is not complete */
static Bool dumpTell(void)
{
  Emitter emitter = EmitterGet();
  Bool told;

  if (emitter == NULL)
    return FALSE;
  if (__atomic_exchange_n(&dumpPid, emitter->pid, __ATOMIC_RELAXED) != emitter->pid) {
    /* The child of a fork: the thread that was at it is not here. */
    dumpLate = 0;
    __atomic_store_n(&dumpBusy, 0, __ATOMIC_RELAXED);
  }
  if (__atomic_exchange_n(&dumpBusy, 1, __ATOMIC_ACQUIRE) != 0)
    return FALSE;
  /* Another thread may have completed it just before. */
  told = dumpIdle() || ((dumpLate != 0 || dumpBegin(emitter)) && dumpGoOn() && dumpIdle());
  __atomic_store_n(&dumpBusy, 0, __ATOMIC_RELEASE);
  return told;
}

void StateDumpAsk(void)
{
  (void)__atomic_add_fetch(&dumpAsked, 1, __ATOMIC_RELEASE);
  (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
}

Bool StateDumpAttend(void)
{
  /* A request during a dump may follow a kind that was switched on behind StateBegin: so there is one more dump. */
  return LIKELY(dumpIdle()) || dumpTell();
}

void StateDumpWait(void)
{
  uint64_t limit = EventClockMonotonic() + dumpWaitMAX;
  RawMaskStruct mask;
  Bool told;

  StateDumpAsk(); /* other threads contribute, too */
  do {
    RawBegin(&mask);
    told = StateDumpAttend();
    RawEnd(&mask);
    if (!told)
      (void)RawCall(SYS_sched_yield);
  } while (!told && EventClockMonotonic() < limit);
}
