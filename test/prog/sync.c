/* sync.c -- a program whose threads do everything that threads do, in an order that a test can foretell
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     sync            prints the addresses of its objects, NAME ADDRESS, and what each call returned that should not
 *     sync off N      N times a mutex and a condition, for counting what that costs
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex, recursive, robust;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond, never;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem, empty;
static int ready;
static char held[] = "holder's result", waited[] = "waiter's result";

#define IS(call, expected) \
  do { \
    int got_ = (call); \
    if (got_ != (expected)) \
      printf("wrong %s: %d\n", #call, got_); \
  } while (0)

/* until -- wait for something that another thread is about to do, without any of what is being tested */
static void until(int *flag)
{
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
    (void)usleep(1000);
}

static int holding, waiting, step;

/* blocked -- wait until the first thread is at this step, and sleeps; or for a while, where it does not end */
static void blocked(int at)
{
  char path[64], stat[256] = "";
  unsigned tries;
  int fd;

  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < at)
    (void)usleep(1000);
  (void)snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)getpid());
  for (tries = 0; tries < 1000 && strstr(stat, ") S ") == NULL; ++tries) {
    (void)usleep(1000);
    fd = open(path, O_RDONLY);
    IS(fd >= 0 && read(fd, stat, sizeof stat - 1) > 0 && close(fd) == 0, 1);
  }
}

static void at(int number)
{
  __atomic_store_n(&step, number, __ATOMIC_RELEASE);
}

static void *holder(void *unused)
{
  (void)unused;
  IS(pthread_setname_np(pthread_self(), "holder"), 0);
  IS(pthread_mutex_lock(&mutex), 0);
  IS(pthread_rwlock_wrlock(&rwlock), 0);
  IS(pthread_spin_lock(&spin), 0);
  __atomic_store_n(&holding, 1, __ATOMIC_RELEASE);
  blocked(1);
  IS(pthread_mutex_unlock(&mutex), 0);
  blocked(2);
  IS(pthread_rwlock_unlock(&rwlock), 0);
  while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < 3)
    (void)usleep(1000);
  (void)usleep(50000); /* it does not sleep */
  IS(pthread_spin_unlock(&spin), 0);
  blocked(4);
  IS(sem_post(&sem), 0);
  return held;
}

/* contended -- each lock is had by somebody else */
static void contended(void)
{
  struct timespec past = {0, 0};
  pthread_t thread;
  void *result;

  IS(pthread_create(&thread, NULL, holder, NULL), 0);
  until(&holding);
  IS(pthread_mutex_trylock(&mutex), EBUSY);
  IS(pthread_mutex_timedlock(&mutex, &past), ETIMEDOUT);
  at(1);
  IS(pthread_mutex_lock(&mutex), 0);
  at(2);
  IS(pthread_rwlock_rdlock(&rwlock), 0);
  at(3);
  IS(pthread_spin_lock(&spin), 0);
  at(4);
  errno = 77;
  IS(sem_wait(&sem), 0);
  IS(errno, 77);
  IS(pthread_spin_unlock(&spin), 0);
  IS(pthread_rwlock_unlock(&rwlock), 0);
  IS(pthread_mutex_unlock(&mutex), 0);
  IS(pthread_join(thread, &result), 0);
  IS(result == held, 1);
  IS(sem_trywait(&sem), -1);
  IS(errno, EAGAIN);
}

static void *waiter(void *unused)
{
  (void)unused;
  IS(prctl(PR_SET_NAME, "waiter", 0, 0, 0), 0);
  IS(pthread_mutex_lock(&mutex), 0);
  __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
  while (!ready)
    IS(pthread_cond_wait(&cond, &mutex), 0);
  IS(pthread_mutex_unlock(&mutex), 0);
  (void)pthread_barrier_wait(&barrier);
  pthread_exit(waited);
}

static void conditions(void)
{
  struct timespec past = {0, 0};
  pthread_t thread;
  void *result;

  IS(pthread_create(&thread, NULL, waiter, NULL), 0);
  until(&waiting);
  IS(pthread_mutex_lock(&mutex), 0);
  IS(pthread_cond_timedwait(&never, &mutex, &past), ETIMEDOUT);
  ready = 1;
  IS(pthread_cond_signal(&cond), 0);
  IS(pthread_cond_broadcast(&cond), 0);
  IS(pthread_mutex_unlock(&mutex), 0);
  (void)pthread_barrier_wait(&barrier);
  IS(pthread_join(thread, &result), 0);
  IS(result == waited, 1);
}

static void unlock(void *taken)
{
  IS(pthread_mutex_unlock(taken), 0);
}

static int cancelling;

static void *condVictim(void *unused)
{
  IS(pthread_mutex_lock(&mutex), 0);
  pthread_cleanup_push(unlock, &mutex);
  __atomic_store_n(&cancelling, 1, __ATOMIC_RELEASE);
  for (;;)
    IS(pthread_cond_wait(&never, &mutex), 0);
  pthread_cleanup_pop(0);
  return unused;
}

static void *semVictim(void *unused)
{
  __atomic_store_n(&cancelling, 1, __ATOMIC_RELEASE);
  IS(sem_wait(&empty), 0);
  return unused;
}

/* A cancellation that is pending is obeyed although the semaphore has one. */
static void *semPending(void *unused)
{
  int old;

  IS(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
  __atomic_store_n(&cancelling, 1, __ATOMIC_RELEASE);
  (void)usleep(50000);
  IS(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old), 0);
  IS(sem_wait(&sem), 0);
  return unused;
}

static void cancelled(void *(*victim)(void *), int asleep)
{
  pthread_t thread;
  void *result = NULL;

  __atomic_store_n(&cancelling, 0, __ATOMIC_RELEASE);
  IS(pthread_create(&thread, NULL, victim, NULL), 0);
  until(&cancelling);
  if (asleep)
    (void)usleep(30000);
  IS(pthread_cancel(thread), 0);
  IS(pthread_join(thread, &result), 0);
  IS(result == PTHREAD_CANCELED, 1);
}

static void *dier(void *unused)
{
  IS(pthread_mutex_lock(&robust), 0);
  return unused;
}

static void kinds(void)
{
  pthread_mutexattr_t attributes;
  pthread_t thread;

  IS(pthread_mutexattr_init(&attributes), 0);
  IS(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE), 0);
  IS(pthread_mutex_init(&recursive, &attributes), 0);
  IS(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK), 0);
  IS(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
  IS(pthread_mutex_init(&robust, &attributes), 0);
  IS(pthread_mutex_lock(&recursive), 0);
  IS(pthread_mutex_lock(&recursive), 0);
  IS(pthread_mutex_unlock(&recursive), 0);
  IS(pthread_mutex_unlock(&recursive), 0);
  IS(pthread_mutex_destroy(&recursive), 0);
  IS(pthread_create(&thread, NULL, dier, NULL), 0);
  IS(pthread_join(thread, NULL), 0);
  IS(pthread_mutex_lock(&robust), EOWNERDEAD);
  IS(pthread_mutex_lock(&robust), EDEADLK);
  IS(pthread_mutex_consistent(&robust), 0);
  IS(pthread_mutex_unlock(&robust), 0);
  IS(pthread_mutex_unlock(&robust), EPERM);
}

/* A thread that nobody joins says its number. */
static void *quiet(void *number)
{
  __atomic_store_n((pid_t *)number, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  return NULL;
}

/* gone -- wait until a thread has begun, and has ended */
static void gone(const pid_t *number)
{
  while (__atomic_load_n(number, __ATOMIC_ACQUIRE) == 0 || syscall(SYS_tgkill, getpid(), *number, 0) == 0)
    (void)usleep(1000);
}

static void times(long n)
{
  for (; n > 0; --n) {
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_cond_signal(&cond);
    (void)pthread_mutex_unlock(&mutex);
  }
}

int main(int argc, char **argv)
{
  pthread_attr_t detached;
  pid_t first = 0, second = 0;
  pthread_t thread;

  IS(pthread_mutex_init(&mutex, NULL), 0);
  IS(pthread_cond_init(&cond, NULL), 0);
  IS(pthread_cond_init(&never, NULL), 0);
  if (argc > 2 && strcmp(argv[1], "off") == 0) {
    times(atol(argv[2]));
    return 0;
  }
  printf("mutex %p\nrecursive %p\nrobust %p\nrwlock %p\ncond %p\nnever %p\nbarrier %p\nspin %p\nsem %p\nempty %p\n",
         (void *)&mutex, (void *)&recursive, (void *)&robust, (void *)&rwlock, (void *)&cond, (void *)&never,
         (void *)&barrier, (void *)&spin, (void *)&sem, (void *)&empty);
  IS(pthread_barrier_init(&barrier, NULL, 2), 0);
  IS(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
  IS(sem_init(&sem, 0, 0), 0);
  IS(sem_init(&empty, 0, 0), 0);
  contended();
  conditions();
  cancelled(condVictim, 1);
  cancelled(semVictim, 1);
  IS(sem_post(&sem), 0);
  cancelled(semPending, 0);
  IS(sem_trywait(&sem), 0);
  kinds();
  IS(pthread_attr_init(&detached), 0);
  IS(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED), 0);
  IS(pthread_create(&thread, &detached, quiet, &first), 0);
  IS(pthread_create(&thread, NULL, quiet, &second), 0);
  IS(pthread_detach(thread), 0);
  gone(&first);
  gone(&second);
  IS(pthread_barrier_destroy(&barrier), 0);
  IS(pthread_spin_destroy(&spin), 0);
  IS(sem_destroy(&sem), 0);
  IS(pthread_rwlock_destroy(&rwlock), 0);
  IS(pthread_cond_destroy(&cond), 0);
  IS(pthread_mutex_destroy(&mutex), 0);
  return 0;
}
