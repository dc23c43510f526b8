/* shimsync.c -- the functions of POSIX threads, wrapped
 *
 * A thread that gets a lock at once leaves one event.  A thread that has to wait first fails to get the lock, emits the
 * request, and then waits.  The event of a release comes before the release, so that the event of the next thread that
 * gets the lock comes behind it.
 *
 * Most waits for condition variables and semaphores are points where a thread may be cancelled.  Then a cleanup handler
 * emits the end of the wait, with the error ECANCELED, before the thread's own handlers run.
 *
 * A thread that pthread_create starts begins in a function of ours, which emits ThreadStart, calls the program's
 * function, and emits ThreadEnd, whichever way the thread ends.  Threads that libc starts by itself (timers, C11's
 * thrd_create) are not seen.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimsync.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimstack.h"
#include "malloc/shimtimes.h"
#include "mm/pages.h"

typedef const struct timespec *SyncTime;

/* ---- Looking them up ---- */

/* syncSymbol -- look up the function behind a wrapper; of libc's condition variables, the version that programs of
 * this century mean.  Their first version is an other thing by the same name; clockwait, which is younger, has none.
 * A search for that version passes over other libraries, whose functions have none. */
static void syncSymbol(void *function, const char *name)
{
  Bool old = strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
  void *symbol = ShimSymbol(RTLD_NEXT, name), *version = old ? ShimSymbolVersion(name, "GLIBC_2.3.2") : NULL;
  Word base, limit;

  AVER(*(void **)function != NULL); /* at first it is a function of ours */
  if (version != NULL && symbol != version && ShimExtent(&base, &limit, version) && (Word)symbol - base < limit - base)
    symbol = version;
  /* A libc that lacks it has no callers of it. */
  if (symbol != NULL)
    __atomic_store_n((void **)function, symbol, __ATOMIC_RELEASE);
}

/* What SYNC_NEXT defines, all of it: entries of a section of their own, which the linker tells the ends of. */
typedef struct SyncNextStruct {
  void *function;
  const char *name;
} SyncNextStruct;
extern const SyncNextStruct __start_syncnext[] __attribute__((visibility("hidden")));
extern const SyncNextStruct __stop_syncnext[] __attribute__((visibility("hidden")));

/* SYNC_NEXT -- define syncNext_NAME, the function behind the wrapper.  At first it is one that looks the real one up.
 */
#define SYNC_NEXT(returns, name, parameters, arguments) \
  static returns syncFirst_##name parameters; \
  static returns (*syncNext_##name) parameters = syncFirst_##name; \
  static const SyncNextStruct syncEntry_##name __attribute__((section("syncnext"), used)) = {&syncNext_##name, #name}; \
  static returns syncFirst_##name parameters \
  { \
    syncSymbol(&syncNext_##name, #name); \
    return syncNext_##name arguments; \
  }

/* SYNC_WANTED -- are events of the kind Sync sent, or kept? */
#define SYNC_WANTED (EVENT_PRESENT(ThreadCreate) && EVENT_WANTED(EventKindSync))

/* Wrappers of functions that do not wait, from their names, parameters, arguments and events
 *
 * SYNC_BEFORE  the event, and then the call
 * SYNC_AFTER   the call, and then the event, which may name `result`
 * SYNC_DONE    the same, if the call did what it should */
#define SYNC_BEFORE(name, parameters, arguments, event) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    if (SYNC_WANTED) \
      event; \
    return syncNext_##name arguments; \
  }
#define SYNC_AFTER_IF(name, parameters, arguments, condition, event) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    int result = syncNext_##name arguments; \
    if (SYNC_WANTED && (condition)) \
      event; \
    return result; \
  }
#define SYNC_AFTER(name, parameters, arguments, event) SYNC_AFTER_IF(name, parameters, arguments, TRUE, event)
#define SYNC_DONE(name, parameters, arguments, event)  SYNC_AFTER_IF(name, parameters, arguments, result == 0, event)

__thread unsigned SyncThreadNumber __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) unsigned SyncThreadAsk(void)
{
  long number = RawCall(SYS_gettid);

  SyncThreadNumber = number > 0 ? (unsigned)number : 0; /* it may not be asked */
  return SyncThreadNumber;
}

void SyncForked(void)
{
  SyncThreadNumber = 0;
}

/* ---- Locks ---- */

/* syncTimely -- may a wait have this clock and this limit?  Some functions refuse others before they look at what is
 * waited for: those are not to be tried then.  `limit` is read as the function itself would. */
static inline Bool syncTimely(clockid_t clock, SyncTime limit)
{
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && limit->tv_nsec >= 0 && limit->tv_nsec < 1000000000;
}

/* syncLimited -- the same of functions that take NULL for no limit, with any clock.  They are declared as if they took
 * none, and so the compiler is to know nothing of `limit`. */
static inline Bool syncLimited(clockid_t clock, SyncTime limit)
{
  __asm__("" : "+r"(limit));
  return limit == NULL || syncTimely(clock, limit);
}

/* SYNC_LOCK -- the wrapper of a function that takes a lock: try, and if another thread has it, emit the request and
 * wait.  `timely` says that the function would not refuse its arguments at once */
#define SYNC_LOCK(name, parameters, arguments, try, timely, request, acquire) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    int result; \
    if (!EVENT_PRESENT(MutexAcquire) || !SYNC_WANTED) \
      return syncNext_##name arguments; \
    result = (timely) ? try : EBUSY; \
    if (result == EBUSY) { \
      request; \
      result = syncNext_##name arguments; \
    } \
    acquire; \
    return result; \
  }

/* Mutexes.  A robust one whose owner died, and a recursive one, tell by their result, and by one acquisition for each
 * release. */

#define MUTEX_LOCK(name, parameters, arguments, timely) \
  SYNC_LOCK(name, parameters, arguments, syncNext_pthread_mutex_trylock(mutex), timely, \
            EVENT_UP(MutexRequest, SyncThread(), mutex), EVENT_UPU(MutexAcquire, SyncThread(), mutex, result))

SYNC_AFTER(pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex),
           EVENT_UPU(MutexAcquire, SyncThread(), mutex, result))
MUTEX_LOCK(pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex), TRUE)
MUTEX_LOCK(pthread_mutex_timedlock, (pthread_mutex_t *mutex, SyncTime limit), (mutex, limit), TRUE)
MUTEX_LOCK(pthread_mutex_clocklock, (pthread_mutex_t *mutex, clockid_t clock, SyncTime limit), (mutex, clock, limit),
           clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
SYNC_BEFORE(pthread_mutex_unlock, (pthread_mutex_t *mutex), (mutex), EVENT_UP(MutexRelease, SyncThread(), mutex))
SYNC_DONE(pthread_mutex_init, (pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes), (mutex, attributes),
          EVENT_UP(MutexInit, SyncThread(), mutex))
SYNC_DONE(pthread_mutex_destroy, (pthread_mutex_t *mutex), (mutex), EVENT_UP(MutexDestroy, SyncThread(), mutex))

/* Read-write locks */

#define RWLOCK_LOCK(name, parameters, arguments, try, timely, write) \
  SYNC_LOCK(name, parameters, arguments, syncNext_##try(lock), timely, \
            EVENT_UPU(RwlockRequest, SyncThread(), lock, write), \
            EVENT_UPUU(RwlockAcquire, SyncThread(), lock, write, result))
#define RWLOCK_READ(name, parameters, arguments, timely) \
  RWLOCK_LOCK(name, parameters, arguments, pthread_rwlock_tryrdlock, timely, 0)
#define RWLOCK_WRITE(name, parameters, arguments, timely) \
  RWLOCK_LOCK(name, parameters, arguments, pthread_rwlock_trywrlock, timely, 1)

SYNC_AFTER(pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), (lock),
           EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 0, result))
SYNC_AFTER(pthread_rwlock_trywrlock, (pthread_rwlock_t *lock), (lock),
           EVENT_UPUU(RwlockAcquire, SyncThread(), lock, 1, result))
RWLOCK_READ(pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock), TRUE)
RWLOCK_WRITE(pthread_rwlock_wrlock, (pthread_rwlock_t *lock), (lock), TRUE)
RWLOCK_READ(pthread_rwlock_timedrdlock, (pthread_rwlock_t *lock, SyncTime limit), (lock, limit),
            syncLimited(CLOCK_REALTIME, limit))
RWLOCK_WRITE(pthread_rwlock_timedwrlock, (pthread_rwlock_t *lock, SyncTime limit), (lock, limit),
             syncLimited(CLOCK_REALTIME, limit))
RWLOCK_READ(pthread_rwlock_clockrdlock, (pthread_rwlock_t *lock, clockid_t clock, SyncTime limit), (lock, clock, limit),
            syncLimited(clock, limit))
RWLOCK_WRITE(pthread_rwlock_clockwrlock, (pthread_rwlock_t *lock, clockid_t clock, SyncTime limit),
             (lock, clock, limit), syncLimited(clock, limit))
SYNC_BEFORE(pthread_rwlock_unlock, (pthread_rwlock_t *lock), (lock), EVENT_UP(RwlockRelease, SyncThread(), lock))
SYNC_DONE(pthread_rwlock_init, (pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes), (lock, attributes),
          EVENT_UP(RwlockInit, SyncThread(), lock))
SYNC_DONE(pthread_rwlock_destroy, (pthread_rwlock_t *lock), (lock), EVENT_UP(RwlockDestroy, SyncThread(), lock))

/* Spin locks, which are volatile integers */

#define SPIN(lock) ((void *)(Word)(lock))

SYNC_AFTER(pthread_spin_trylock, (pthread_spinlock_t *lock), (lock),
           EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result))
SYNC_LOCK(pthread_spin_lock, (pthread_spinlock_t *lock), (lock), syncNext_pthread_spin_trylock(lock), TRUE,
          EVENT_UP(SpinRequest, SyncThread(), SPIN(lock)), EVENT_UPU(SpinAcquire, SyncThread(), SPIN(lock), result))
SYNC_BEFORE(pthread_spin_unlock, (pthread_spinlock_t *lock), (lock), EVENT_UP(SpinRelease, SyncThread(), SPIN(lock)))
SYNC_DONE(pthread_spin_init, (pthread_spinlock_t *lock, int shared), (lock, shared),
          EVENT_UP(SpinInit, SyncThread(), SPIN(lock)))
SYNC_DONE(pthread_spin_destroy, (pthread_spinlock_t *lock), (lock), EVENT_UP(SpinDestroy, SyncThread(), SPIN(lock)))

/* ---- Waits ---- */

/* What is waited for, for the handler. */
typedef struct SyncWaitStruct {
  void *object, *mutex;
} SyncWaitStruct, *SyncWait;

/* The two variables of pthread_cleanup_push are set before it calls setjmp, and never again; gcc does not see that. */
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* SYNC_CANCELLABLE -- result = wait, but if the thread is cancelled meanwhile `handler` is called with `argument` */
#define SYNC_CANCELLABLE(result, wait, handler, argument) \
  do { \
    pthread_cleanup_push(handler, argument); \
    result = wait; \
    pthread_cleanup_pop(0); \
  } while (0)

/* Condition variables */

static void syncCondCancelled(void *argument)
{
  SyncWait wait = argument;

  EVENT_UPPU(CondWaitEnd, SyncThread(), wait->object, wait->mutex, ECANCELED);
}

/* COND_WAIT -- the wrapper of a function that waits for a condition variable */
#define COND_WAIT(name, parameters, arguments) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    SyncWaitStruct wait = {cond, mutex}; \
    volatile int result; \
    if (!SYNC_WANTED) \
      return syncNext_##name arguments; \
    EVENT_UPP(CondWaitBegin, SyncThread(), cond, mutex); \
    SYNC_CANCELLABLE(result, syncNext_##name arguments, syncCondCancelled, &wait); \
    EVENT_UPPU(CondWaitEnd, SyncThread(), cond, mutex, result); \
    return result; \
  }

COND_WAIT(pthread_cond_wait, (pthread_cond_t *cond, pthread_mutex_t *mutex), (cond, mutex))
COND_WAIT(pthread_cond_timedwait, (pthread_cond_t *cond, pthread_mutex_t *mutex, SyncTime limit), (cond, mutex, limit))
COND_WAIT(pthread_cond_clockwait, (pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, SyncTime limit),
          (cond, mutex, clock, limit))
SYNC_BEFORE(pthread_cond_signal, (pthread_cond_t *cond), (cond), EVENT_UP(CondSignal, SyncThread(), cond))
SYNC_BEFORE(pthread_cond_broadcast, (pthread_cond_t *cond), (cond), EVENT_UP(CondBroadcast, SyncThread(), cond))
SYNC_DONE(pthread_cond_init, (pthread_cond_t *cond, const pthread_condattr_t *attributes), (cond, attributes),
          EVENT_UP(CondInit, SyncThread(), cond))
SYNC_DONE(pthread_cond_destroy, (pthread_cond_t *cond), (cond), EVENT_UP(CondDestroy, SyncThread(), cond))

/* Semaphores */

static void syncSemCancelled(void *sem)
{
  EVENT_UPU(SemAcquire, SyncThread(), sem, ECANCELED);
}

/* A pending cancellation is obeyed, whether it must wait or not: so that is asked first; but not before a limit that is
 * refused. */
#define SEM_WAIT(name, parameters, arguments, timely) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    int error = errno; \
    volatile int result; \
    if (!SYNC_WANTED || !(timely)) \
      return syncNext_##name arguments; \
    pthread_testcancel(); \
    result = syncNext_sem_trywait(sem); \
    if (result != 0 && errno == EAGAIN) { \
      errno = error; \
      EVENT_UP(SemRequest, SyncThread(), sem); \
      SYNC_CANCELLABLE(result, syncNext_##name arguments, syncSemCancelled, sem); \
    } \
    EVENT_UPU(SemAcquire, SyncThread(), sem, result == 0 ? 0 : errno); \
    return result; \
  }

SYNC_AFTER(sem_trywait, (sem_t *sem), (sem), EVENT_UPU(SemAcquire, SyncThread(), sem, result == 0 ? 0 : errno))
SEM_WAIT(sem_wait, (sem_t *sem), (sem), TRUE)
SEM_WAIT(sem_timedwait, (sem_t *sem, SyncTime limit), (sem, limit), syncTimely(CLOCK_REALTIME, limit))
SEM_WAIT(sem_clockwait, (sem_t *sem, clockid_t clock, SyncTime limit), (sem, clock, limit), syncTimely(clock, limit))
SYNC_BEFORE(sem_post, (sem_t *sem), (sem), EVENT_UP(SemPost, SyncThread(), sem))
SYNC_DONE(sem_init, (sem_t *sem, int shared, unsigned value), (sem, shared, value),
          EVENT_UPU(SemInit, SyncThread(), sem, value))
SYNC_DONE(sem_destroy, (sem_t *sem), (sem), EVENT_UP(SemDestroy, SyncThread(), sem))

/* Barriers */

/* The barriers that were initialised here.  Who waits at one cannot be told from outside: the threads that come are
 * counted beside the barrier's own count.  Where two come at the same moment the barrier may take the other one for
 * the last; all but one are told to wait, as they do.  A barrier that finds no place, or is another process's, has no
 * BarrierBlock. */
enum { barriersMAX = 1024, barrierGONE = 1 };

static struct {
  Word barrier; /* 0: never used; barrierGONE: destroyed */
  unsigned count, come;
} barriers[barriersMAX] LARGE;

static Index barrierPlace(const pthread_barrier_t *barrier)
{
  return (Index)(((uint64_t)(Word)barrier * 0x9e3779b97f4a7c15ull) >> 40);
}

/* barrierFind -- the barrier's place, or barriersMAX */
static Index barrierFind(const pthread_barrier_t *barrier)
{
  Index i, start = barrierPlace(barrier);

  for (i = 0; i < barriersMAX; ++i) {
    Word there = __atomic_load_n(&barriers[(start + i) % barriersMAX].barrier, __ATOMIC_ACQUIRE);
    if (there == (Word)barrier)
      return (start + i) % barriersMAX;
    if (there == 0)
      break;
  }
  return barriersMAX;
}

static void barrierForget(const pthread_barrier_t *barrier)
{
  Index at = barrierFind(barrier);

  if (at < barriersMAX)
    __atomic_store_n(&barriers[at].barrier, barrierGONE, __ATOMIC_RELEASE);
}

static void barrierKeep(const pthread_barrier_t *barrier, unsigned count)
{
  Index i, at;

  barrierForget(barrier);
  for (i = 0; i < barriersMAX; ++i) {
    at = (barrierPlace(barrier) + i) % barriersMAX;
    Word there = __atomic_load_n(&barriers[at].barrier, __ATOMIC_ACQUIRE);
    if (there <= barrierGONE &&
        __atomic_compare_exchange_n(&barriers[at].barrier, &there, (Word)barrier, FALSE, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      __atomic_store_n(&barriers[at].come, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&barriers[at].count, count, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* Barriers are counted also while no events are wanted, which may change. */

SYNC_NEXT(int, pthread_barrier_wait, (pthread_barrier_t *barrier), (barrier))
SYNC_NEXT(int, pthread_barrier_init,
          (pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count),
          (barrier, attributes, count))
SYNC_NEXT(int, pthread_barrier_destroy, (pthread_barrier_t *barrier), (barrier))

SHIM int pthread_barrier_wait(pthread_barrier_t *barrier)
{
  Index at = barrierFind(barrier);
  unsigned count = at < barriersMAX ? __atomic_load_n(&barriers[at].count, __ATOMIC_ACQUIRE) : 0; /* 0: unknown */
  unsigned come = count > 0 ? __atomic_add_fetch(&barriers[at].come, 1, __ATOMIC_ACQ_REL) % count : 0;
  int result;

  if (!SYNC_WANTED)
    return syncNext_pthread_barrier_wait(barrier);
  EVENT_UP(BarrierReach, SyncThread(), barrier);
  if (come > 0)
    EVENT_UPU(BarrierBlock, SyncThread(), barrier, count - come);
  result = syncNext_pthread_barrier_wait(barrier);
  EVENT_UPU(BarrierResume, SyncThread(), barrier, result);
  return result;
}

SHIM int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
  int result = syncNext_pthread_barrier_init(barrier, attributes, count);

  if (result == 0)
    barrierKeep(barrier, count);
  if (SYNC_WANTED && result == 0)
    EVENT_UPU(BarrierInit, SyncThread(), barrier, count);
  return result;
}

SHIM int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
  int result = syncNext_pthread_barrier_destroy(barrier);

  if (result == 0)
    barrierForget(barrier);
  if (SYNC_WANTED && result == 0)
    EVENT_UP(BarrierDestroy, SyncThread(), barrier);
  return result;
}

/* ---- Threads ---- */

enum { threadPLACES = 64, threadNAME = 16 };

/* What a new thread is to run.  It lies here from pthread_create until the thread begins. */
typedef struct ThreadTaskStruct {
  unsigned holders; /* who still needs it: the thread that was begun, and the one that begins it */
  Word handle;      /* of the thread, once it runs; 0 before: no thread of libc's has that */
  void *(*start)(void *);
  void *argument;
} ThreadTaskStruct, *ThreadTask;

static ThreadTaskStruct threadTasks[threadPLACES] LARGE;

/* threadTaskTake -- a place for a task; NULL if there is no memory, where there is no place */
static ThreadTask threadTaskTake(void)
{
  void *page;
  Index i;

  for (i = 0; i < threadPLACES; ++i) {
    unsigned none = 0;
    if (__atomic_compare_exchange_n(&threadTasks[i].holders, &none, 2, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return &threadTasks[i];
  }
  if (PagesMap(&page, sizeof(ThreadTaskStruct)) != ResOK)
    return NULL;
  ((ThreadTask)page)->holders = 2;
  return page;
}

/* threadTaskGive -- so many of its holders need it no longer */
static void threadTaskGive(ThreadTask task, unsigned holders)
{
  Bool place = task >= threadTasks && task < threadTasks + threadPLACES;

  if (__atomic_sub_fetch(&task->holders, holders, __ATOMIC_ACQ_REL) == 0 && !place)
    PagesRelease((Addr)task, sizeof(ThreadTaskStruct));
}

/* threadTaskHandle -- of the thread that was begun.  Its place is the program's, and the thread may have unmapped that,
 * but not before it has left its handle in the task. */
static Word threadTaskHandle(ThreadTask task, const pthread_t *place)
{
  pthread_t handle = 0;
  Word left;

  (void)RawPeek(&handle, place, sizeof handle);
  left = __atomic_load_n(&task->handle, __ATOMIC_ACQUIRE);
  return left != 0 ? left : (Word)handle;
}

/* threadBegins -- the calling thread has begun */
static void threadBegins(Addr start)
{
  char name[threadNAME] = "";

  if (!EVENT_WANTED(EventKindSystem))
    return;
  (void)RawCall(SYS_prctl, PR_GET_NAME, name);
  if (start != NULL)
    ShimCode((Word)start);
  EVENT_UPAS(ThreadStart, SyncThread(), (void *)pthread_self(), start, name);
}

void SyncThreadTell(void)
{
  threadBegins(NULL);
}

static void threadEnds(void *began)
{
  ShimTimesTell(SyncThread(), *(uint64_t *)began);
  EVENT_UP(ThreadEnd, SyncThread(), (void *)pthread_self());
}

/* threadRun -- what threads begin in */
static void *threadRun(void *argument)
{
  ThreadTaskStruct task = *(ThreadTask)argument;
  uint64_t began = EVENT_WANTED(EventKindSystem) ? EventClockMonotonic() : 0;
  void *volatile result;

  __atomic_store_n(&((ThreadTask)argument)->handle, (Word)pthread_self(), __ATOMIC_RELEASE);
  threadTaskGive(argument, 1);
  threadBegins((Addr)(Word)task.start);
  pthread_cleanup_push(threadEnds, &began);
  result = task.start(task.argument);
  pthread_cleanup_pop(1);
  return result;
}

static void threadJoinCancelled(void *handle)
{
  EVENT_UPU(ThreadJoinEnd, SyncThread(), handle, ECANCELED);
}

#define THREAD_JOIN(name, parameters, arguments) \
  SYNC_NEXT(int, name, parameters, arguments) \
  SHIM int name parameters \
  { \
    volatile int result; \
    if (!SYNC_WANTED) \
      return syncNext_##name arguments; \
    EVENT_UP(ThreadJoinBegin, SyncThread(), (void *)handle); \
    SYNC_CANCELLABLE(result, syncNext_##name arguments, threadJoinCancelled, (void *)handle); \
    EVENT_UPU(ThreadJoinEnd, SyncThread(), (void *)handle, result); \
    return result; \
  }

THREAD_JOIN(pthread_join, (pthread_t handle, void **resultReturn), (handle, resultReturn))
THREAD_JOIN(pthread_timedjoin_np, (pthread_t handle, void **resultReturn, SyncTime limit),
            (handle, resultReturn, limit))
SYNC_AFTER(pthread_tryjoin_np, (pthread_t handle, void **resultReturn), (handle, resultReturn),
           EVENT_UPU(ThreadJoinEnd, SyncThread(), (void *)handle, result))
SYNC_DONE(pthread_detach, (pthread_t handle), (handle), EVENT_UP(ThreadDetach, SyncThread(), (void *)handle))
SYNC_NEXT(int, pthread_create,
          (pthread_t *handleReturn, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
          (handleReturn, attributes, start, argument))
SYNC_NEXT(void, pthread_exit, (void *result), (result))
SYNC_NEXT(int, pthread_setname_np, (pthread_t handle, const char *name), (handle, name))

/* syncStart -- a second thread is going to begin: look up what may be called, because the lookup takes a lock of the
 * dynamic loader's */
static void syncStart(void)
{
  static Bool started;
  const SyncNextStruct *entry;

  ShimExecStart();
  (void)ShimPassTo();
  if (LIKELY(__atomic_load_n(&started, __ATOMIC_ACQUIRE)))
    return;
  for (entry = __start_syncnext; entry < __stop_syncnext; ++entry)
    syncSymbol(entry->function, entry->name);
  __atomic_store_n(&started, TRUE, __ATOMIC_RELEASE);
}

SHIM int pthread_create(pthread_t *handleReturn, const pthread_attr_t *attributes, void *(*start)(void *),
                        void *argument)
{
  ThreadTask task = threadTaskTake();
  int result;

  if (task == NULL)
    return EAGAIN;
  syncStart();
  task->handle = 0;
  task->start = start;
  task->argument = argument;
  result = syncNext_pthread_create(handleReturn, attributes, threadRun, task);
  if (result == 0 && SYNC_WANTED) {
    ShimCode((Word)start);
    EVENT_UPA(ThreadCreate, SyncThread(), (void *)threadTaskHandle(task, handleReturn), (Addr)(Word)start);
  }
  threadTaskGive(task, result == 0 ? 1 : 2);
  return result;
}

SHIM void pthread_exit(void *result)
{
  if (SYNC_WANTED)
    EVENT_U(ThreadExit, SyncThread());
  syncNext_pthread_exit(result);
  __builtin_unreachable();
}

SHIM int pthread_setname_np(pthread_t handle, const char *name)
{
  int result = syncNext_pthread_setname_np(handle, name);

  if (EVENT_WANTED(EventKindSystem) && result == 0)
    EVENT_UPS(ThreadName, pthread_equal(handle, pthread_self()) ? SyncThread() : 0, (void *)handle, name);
  return result;
}

void SyncThreadNamed(void)
{
  char name[threadNAME] = "";

  if (!EVENT_WANTED(EventKindSystem))
    return;
  (void)RawCall(SYS_prctl, PR_GET_NAME, name);
  EVENT_UPS(ThreadName, SyncThread(), (void *)pthread_self(), name);
}
