/* briefs.c -- threads one after the other, each of which works and sleeps for a moment, and says what it has done
 *
 *     briefs THREADS WORK
 *
 * Each of THREADS works for WORK us of processor time, sleeps for as long, and at its end prints its number, the
 * processor time and the time that it took, in us.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long work;

static long us(clockid_t clock)
{
  struct timespec now;

  (void)clock_gettime(clock, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *run(void *unused)
{
  long began = us(CLOCK_MONOTONIC);

  while (us(CLOCK_THREAD_CPUTIME_ID) < work)
    ;
  (void)usleep((useconds_t)work);
  (void)printf("%ld %ld %ld\n", (long)syscall(SYS_gettid), us(CLOCK_THREAD_CPUTIME_ID), us(CLOCK_MONOTONIC) - began);
  return unused;
}

int main(int argc, char **argv)
{
  long threads = argc == 3 ? atol(argv[1]) : 0;
  pthread_t thread;

  if (threads < 1)
    return 2;
  work = atol(argv[2]);
  for (; threads > 0; --threads)
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
  return 0;
}
