/* walkbench.c -- what one walk of a stack of 16 frames costs, beside glibc's backtrace() and libunwind's
 *
 *   walkbench
 *
 * Nanoseconds, the least of some rounds, rows warm: with nothing remembered of the last walk (all 16 frames are found by
 * their rows, and have their numbers looked up); with the last walk remembered, and only its innermost frame changed; and
 * the peers, `-' where they are not installed.  Then how many frames the stack has: compilers differ by one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unwind/walk.h"

enum { FRAMES = 16, ROUNDS = 15, TIMES = 20000 };

typedef void (*Unwinder)(void);

static StackWalkStruct walk;
static int (*peer)(void **frames, int size);
static Unwinder unwinder;
static double best;

static void told(StackNumber node, StackNumber parent, Word at)
{
  UNUSED(node);
  UNUSED(parent);
  UNUSED(at);
}

static double now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Three unwinders.  Whatever they find begins here and goes to main. */
__attribute__((noinline)) static void anew(void)
{
  walk.count = 0;
  (void)StackWalkCaller(&walk, 0);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void again(void)
{
  (void)StackWalkCaller(&walk, 0);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void other(void)
{
  void *frames[FRAMES];

  (void)peer(frames, FRAMES);
  __asm__ volatile("" ::"r"(frames) : "memory");
}

/* measure -- two calls in turn, so that the innermost frame is another one each time */
__attribute__((noinline)) static void measure(void)
{
  int round, i;

  for (round = 0; round < ROUNDS; ++round) {
    double begin = now(), time;
    for (i = 0; i < TIMES; i += 2) {
      unwinder();
      __asm__ volatile("" ::: "memory");
      unwinder();
    }
    time = (now() - begin) / TIMES;
    if (best == 0 || time < best)
      best = time;
  }
}

/* Functions of different frames, that call each other to some depth. */
static void down(int depth);

#define CALLER(name, before, use) \
  __attribute__((noinline)) static void name(int depth) \
  { \
    before; \
    __asm__ volatile("" ::"r"(use) : "memory"); \
    down(depth - 1); \
    __asm__ volatile("" ::"r"(use) : "memory"); \
  }

CALLER(small, int x = depth, x)
CALLER(array, char x[200], x)
CALLER(unknown, char *x = __builtin_alloca(16 + (size_t)depth), x)

static void down(int depth)
{
  static void (*const callers[])(int) = {small, array, unknown};

  if (depth <= 0)
    measure();
  else
    callers[depth % 3](depth);
  __asm__ volatile("" ::: "memory");
}

static double timed(Unwinder with)
{
  best = 0;
  unwinder = with;
  down(10); /* with the frames of main, libc and measure() these are 16 */
  return best;
}

int main(void)
{
  void *library = dlopen("libunwind.so.8", RTLD_NOW);
  void *symbol = library != NULL ? dlsym(library, "unw_backtrace") : NULL;

  if (StackTreeInit(told) != ResOK)
    return 1;
  StackWalkInit(&walk, StackDepthMAX);
  printf("%.1f %.1f", timed(anew), timed(again));
  peer = backtrace;
  printf(" %.1f", timed(other));
  __builtin_memcpy(&peer, &symbol, sizeof peer);
  if (symbol != NULL)
    printf(" %.1f", timed(other));
  else
    printf(" -");
  printf(" %zu\n", walk.count);
  return 0;
}
