/* lenttest.c -- numbers that are lent for a moment: the program's threads put, close and open files meanwhile, and each
 * side keeps its own
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/lent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { ROUNDS = 200, OPENERS = 3, PUTTERS = 2, FIRST = 20, NUMBERS = 6 };

static struct stat ours, its; /* /dev/zero, /dev/full */
static unsigned wrong[4];
static Bool stop;

enum { wrongREPLACED, wrongCLOSED, wrongBUSY, wrongTAKEN };

static void count(unsigned what)
{
  (void)__atomic_fetch_add(&wrong[what], 1, __ATOMIC_RELAXED);
}

static Bool is(int fd, const struct stat *wanted)
{
  struct stat now;

  return RawStat(fd, &now) == 0 && now.st_rdev == wanted->st_rdev;
}

/* opens -- the library: a file for a moment, and two at once */
static void *opens(void *unused)
{
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    long fd = LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC), second;
    second = LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
    if (!is((int)fd, &ours) || !is((int)second, &ours))
      count(wrongREPLACED);
    LentClose(fd);
    LentClose(second);
  }
  return unused;
}

/* put -- as the wrapper does */
static int put(int from, int to)
{
  int result;

  LentPut(to);
  result = dup2(from, to);
  LentPutEnd();
  return result;
}

/* putsOwn -- the program: its own file under one number of its own after the other, all free before */
static void *putsOwn(void *first)
{
  int from = open("/dev/full", O_WRONLY), fd, i;

  fd = fcntl(from, F_DUPFD, 100 + (int)(Word)first);
  for (i = 0; i < ROUNDS; ++i) {
    int to = (int)(Word)first + i % NUMBERS;
    if (put(fd, to) != to)
      count(errno == EBUSY ? wrongBUSY : wrongTAKEN);
    else if (!is(to, &its))
      count(wrongREPLACED);
    if (LentIs(to))
      count(wrongTAKEN);
    if (close(to) != 0)
      count(wrongCLOSED);
  }
  (void)close(fd);
  return NULL;
}

static void testBoth(void)
{
  pthread_t thread[OPENERS + PUTTERS];
  int low[FIRST], n = 0;
  Index i;

  /* Every lower number is taken, so both sides want the same. */
  while (n < FIRST && (low[n] = open("/dev/null", O_RDONLY)) >= 0 && low[n] < FIRST - 1)
    ++n;
  for (i = 0; i < OPENERS; ++i)
    (void)pthread_create(&thread[i], NULL, opens, NULL);
  for (; i < OPENERS + PUTTERS; ++i)
    (void)pthread_create(&thread[i], NULL, putsOwn, (void *)(Word)(FIRST + (i - OPENERS) * NUMBERS));
  for (; i-- > OPENERS;)
    (void)pthread_join(thread[i], NULL);
  __atomic_store_n(&stop, TRUE, __ATOMIC_RELAXED);
  for (i = 0; i < OPENERS; ++i)
    (void)pthread_join(thread[i], NULL);
  TapIs(wrong[wrongREPLACED], 0, "no file of either side is replaced, %d times", ROUNDS * PUTTERS);
  TapIs(wrong[wrongCLOSED], 0, "nor closed");
  TapIs(wrong[wrongBUSY], 0, "no number is busy");
  TapIs(wrong[wrongTAKEN], 0, "none that the program has is lent");
  TapOk(LentCheck() && LentActive == 0 && LentFrom(0) == UINT_MAX, "nothing is lent at the end");
  for (; n >= 0; --n)
    (void)close(low[n]);
}

static double now(void)
{
  struct timespec time;

  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* testLate -- who waits in vain for a number gets it; and its file is not closed */
static void testLate(void)
{
  long fd = LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
  int from = open("/dev/full", O_WRONLY);
  double begin = now();

  TapOk(LentIs((int)fd) && !LentIs(from) && !LentIs(-1), "a number that is lent is known");
  TapOk(LentFrom(0) == (unsigned)fd && LentFrom((unsigned)fd + 1) == UINT_MAX, "and found in a range");
  LentActive = 0;
  TapOk(!LentCheck(), "that nothing is lent would be wrong now");
  LentActive = 1;
  TapIs(put(from, (int)fd), fd, "the program gets it in the end");
  TapOk(now() - begin >= 1, "after a second");
  TapOk(!LentIs((int)fd) && LentCheck(), "and it is lent no more");
  LentClose(fd);
  TapOk(is((int)fd, &its), "its file is not closed by who had the number");
  TapIs(LentActive, 0, "nothing is lent");
  LentClose(fd);
  TapOk(!is((int)fd, &its), "a number that is not in the table is closed");
  (void)close(from);
}

/* testStuck -- a thread that has not come back from its call keeps nobody for long */
static void testStuck(void)
{
  double begin = now();
  pthread_t thread;

  stop = FALSE;
  LentPut(-1);
  (void)pthread_create(&thread, NULL, opens, NULL);
  (void)usleep(300000);
  __atomic_store_n(&stop, TRUE, __ATOMIC_RELAXED);
  (void)pthread_join(thread, NULL);
  TapOk(now() - begin < 30, "who opens waits a tenth of a second");
  LentPutEnd();
  LentPutEnd();
  TapOk(LentCheck() && LentActive == 0, "and all is as before");
  /* A handler of a signal opens while its own thread puts, and the other way round. */
  LentPut(7);
  LentClose(LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC));
  LentPutEnd();
  LentBegin();
  LentPut(7);
  TapOk(!LentIs(7), "no thread waits for itself");
  LentPutEnd();
  LentEnd();
  TapOk(LentCheck() && LentActive == 0, "and all is as before");
}

/* testMany -- more than the table has places for */
static void testMany(void)
{
  long fds[100];
  Index i;

  for (i = 0; i < 100; ++i)
    fds[i] = LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
  TapOk(LentCheck() && LentActive == 64, "64 are entered");
  for (i = 0; i < 100; ++i)
    LentClose(fds[i]);
  for (i = 0; i < 100 && !is((int)fds[i], &ours); ++i)
    ;
  TapOk(i == 100 && LentCheck() && LentActive == 0, "all are closed");
}

/* testChild -- nothing is lent in a child, whose table of descriptors is its own */
static void testChild(Bool forked)
{
  long fd = LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
  int status = 0;
  pid_t pid = fork();

  if (pid == 0) {
    if (forked)
      LentForked(RawPid());
    _exit(LentIs((int)fd) || (forked && (LentActive != 0 || LentFrom(0) != UINT_MAX)));
  }
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "a child that %s: the number is the program's",
        forked ? "knows of its fork" : "does not know it yet");
  TapOk(LentIs((int)fd), "in its parent it is lent");
  LentClose(fd);
}

/* sleeps -- with one thread there is nothing to exclude */
static void *sleeps(void *unused)
{
  (void)pause();
  return unused;
}

int main(void)
{
  pthread_t other;

  LentClose(LentCall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC));
  (void)pthread_create(&other, NULL, sleeps, NULL);
  (void)stat("/dev/zero", &ours);
  (void)stat("/dev/full", &its);
  testBoth();
  testLate();
  testStuck();
  testMany();
  testChild(FALSE);
  testChild(TRUE);
  return TapDone();
}
