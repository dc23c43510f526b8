/* grows.c -- memory that rises, that does not, and that went up once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * grows STEPS: in each step, of 2 ms, `leak` keeps 1000 bytes more, and `churn` frees its 5000 and allocates others; `start`
 * has had 1 MB at once.  At the end all is freed.  It says where the functions begin in its file, as sites.c does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern char __executable_start;

#if defined(__clang__)
#define PLACE __attribute__((noinline, optnone))
#else
#define PLACE __attribute__((noinline, noipa))
#endif

enum { STEPSMAX = 10000 };

static void *volatile leaked[STEPSMAX], *volatile churned, *volatile started;
static volatile int kept;

PLACE static void start(void)
{
  started = malloc(1000000);
  kept = 1;
}

PLACE static void leak(int step)
{
  leaked[step] = malloc(1000);
  kept = 2;
}

PLACE static void churn(void)
{
  free(churned);
  churned = malloc(5000);
  kept = 3;
}

static void say(const char *name, uintptr_t function)
{
  char line[64];
  int length = snprintf(line, sizeof line, "%s %#lx\n", name, (unsigned long)(function - (uintptr_t)&__executable_start));

  if (write(1, line, (size_t)length) != length)
    exit(1);
}

int main(int argc, char **argv)
{
  int steps = argc > 1 ? atoi(argv[1]) : 100, i;

  say("start", (uintptr_t)start);
  say("leak", (uintptr_t)leak);
  say("churn", (uintptr_t)churn);
  start();
  for (i = 0; i < steps && i < STEPSMAX; ++i) {
    struct timespec pause = {.tv_nsec = 2000000};
    leak(i);
    churn();
    nanosleep(&pause, NULL);
  }
  while (i > 0)
    free(leaked[--i]);
  free(churned);
  free(started);
  return 0;
}
