/* halted.c -- threads emit, while a process of their own stops one after the other, as a debugger would
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * halted TURNS [COMMAND...]    Each thread t emits UserWord (t + 1, 0), (t + 1, 1) ...  The child stops a thread
 * somewhere, waits until the others have filled many more blocks, and lets it go on; so TURNS times.  When the first
 * one is stopped for the second time, and all have begun, it runs the command with our process's number behind it.  At
 * the end one line tells how many events each has emitted. Status 1 and a line: the others did not go on; 77: nobody
 * may stop threads here.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emit/event.h"

enum { haltTHREADS = 3, haltEVENTS = 20000, haltSECONDS = 60, haltUNABLE = 77 };

typedef struct HaltStruct {
  pid_t tid;
  uint64_t count;
  uint64_t limit; /* so many, and then it waits */
} HaltStruct;

static HaltStruct *halt; /* shared with the child */
static int *over;

static uint64_t counted(unsigned t)
{
  return __atomic_load_n(&halt[t].count, __ATOMIC_ACQUIRE);
}

static void nap(unsigned us)
{
  struct timespec time = {0, (long)us * 1000};

  (void)nanosleep(&time, NULL);
}

/* go -- let all emit so many more */
static void go(uint64_t more)
{
  unsigned t;

  for (t = 0; t < haltTHREADS; ++t)
    __atomic_store_n(&halt[t].limit, counted(t) + more, __ATOMIC_RELEASE);
}

static void *emitter(void *number)
{
  uintptr_t t = (uintptr_t)number;
  uint64_t i;

  __atomic_store_n(&halt[t].tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
  for (i = 0; !__atomic_load_n(over, __ATOMIC_ACQUIRE); ++i) {
    while (i >= __atomic_load_n(&halt[t].limit, __ATOMIC_ACQUIRE) && !__atomic_load_n(over, __ATOMIC_ACQUIRE))
      nap(100);
    EVENT_WW(UserWord, t + 1, i);
    __atomic_store_n(&halt[t].count, i + 1, __ATOMIC_RELEASE);
  }
  return NULL;
}

/* others -- do all but thread `t` go on? */
static int others(unsigned t)
{
  uint64_t from[haltTHREADS];
  unsigned i, n, ms;

  for (i = 0; i < haltTHREADS; ++i)
    from[i] = counted(i);
  go(haltEVENTS);
  for (ms = 0; ms < haltSECONDS * 1000; ++ms) {
    for (i = n = 0; i < haltTHREADS; ++i)
      n += i != t && counted(i) >= from[i] + haltEVENTS;
    if (n == haltTHREADS - 1)
      return counted(t) <= from[t] + 1;
    nap(1000);
  }
  return 0;
}

static int command(char **words, int n, pid_t process)
{
  char *line[16], number[16];
  int i, status;
  pid_t pid;

  for (i = 0; i < n && i < 13; ++i)
    line[i] = words[i];
  (void)snprintf(number, sizeof number, "%d", (int)process);
  line[i] = number;
  line[i + 1] = (char *)"flush";
  line[i + 2] = NULL;
  pid = fork();
  if (pid == 0) {
    (void)execv(line[0], line);
    _exit(127);
  }
  return waitpid(pid, &status, 0) == pid && status == 0;
}

/* tracer -- the child's status */
static int tracer(unsigned turns, char **words, int n, pid_t process)
{
  unsigned turn, t;
  int status;

  for (t = 0; t < haltTHREADS; ++t)
    while (__atomic_load_n(&halt[t].tid, __ATOMIC_ACQUIRE) == 0)
      nap(1000);
  for (turn = 0; turn < turns; ++turn) {
    pid_t tid = halt[t = turn % haltTHREADS].tid;
    go(haltEVENTS / 2);
    nap(turn * 37 % 1000);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
      return haltUNABLE;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || waitpid(tid, &status, __WALL) != tid)
      return 1;
    if (!others(t)) {
      printf("thread %u is stopped, and the others do not go on\n", t);
      return 1;
    }
    if (turn == haltTHREADS && n > 0 && !command(words, n, process)) {
      printf("the command fails while thread %u is stopped\n", t);
      return 1;
    }
    (void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
  }
  return 0;
}

int main(int argc, char **argv)
{
  pthread_t thread[haltTHREADS];
  pid_t us = getpid(), child;
  uintptr_t t;
  int status = -1, begin[2];
  char byte;

  halt = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (argc < 2 || halt == MAP_FAILED || pipe(begin) != 0)
    return 2;
  over = (int *)(void *)(halt + haltTHREADS);
  child = fork();
  if (child == 0) {
    (void)close(begin[1]);
    (void)!read(begin[0], &byte, 1);
    status = tracer((unsigned)atoi(argv[1]), argv + 2, argc - 2, us);
    (void)fflush(stdout);
    _exit(status);
  }
  (void)prctl(PR_SET_PTRACER, child, 0, 0, 0);
  for (t = 0; t < haltTHREADS; ++t)
    if (pthread_create(&thread[t], NULL, emitter, (void *)t) != 0)
      return 2;
  (void)close(begin[1]);
  (void)waitpid(child, &status, 0);
  __atomic_store_n(over, 1, __ATOMIC_RELEASE);
  for (t = 0; t < haltTHREADS; ++t)
    (void)pthread_join(thread[t], NULL);
  for (t = 0; t < haltTHREADS; ++t)
    printf("%llu%c", (unsigned long long)counted((unsigned)t), t + 1 < haltTHREADS ? ' ' : '\n');
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
