/* frames.c -- a program whose allocations have more different stacks than a process has numbers for frames
 *
 * frames N: the nth allocation is made through a path of `left' and `right' that the bits of n choose, the highest bit
 * outermost; so two allocations after each other differ in their innermost frames, and all N have different stacks.
 * frames N THREADS: so many threads begin to do so, each at another path, and it says its number; they go on, and rest
 * now and then, until its input ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { bits = 20 };

static void left(unsigned n, unsigned bit);
static void right(unsigned n, unsigned bit);

/* Read anew for each call, so that each side has one place from which it calls. */
static void (*const volatile sides[])(unsigned, unsigned) = {left, right};

/* Both end with something to do, so that no call is the last and leaves out a frame. */
#define SIDE(name) \
  static __attribute__((noinline)) void name(unsigned n, unsigned bit) \
  { \
    if (bit == 0) { \
      void *volatile p = malloc(10); \
      free(p); \
    } else { \
      sides[n >> (bit - 1) & 1](n, bit - 1); \
    } \
    __asm__ volatile("" : : : "memory"); \
  }

SIDE(left)
SIDE(right)

static void *walks(void *first)
{
  unsigned n = (unsigned)(uintptr_t)first;

  for (;; ++n) {
    left(n, bits);
    if (n % 64 == 0)
      (void)usleep(100);
  }
  return NULL;
}

int main(int count, char **arguments)
{
  unsigned n, all = count > 1 ? (unsigned)atoi(arguments[1]) : 1, threads = count > 2 ? (unsigned)atoi(arguments[2]) : 0;

  if (threads > 0) {
    pthread_t thread;
    for (n = 0; n < threads; ++n)
      if (pthread_create(&thread, NULL, walks, (void *)(uintptr_t)((1u << bits) / threads * n)) != 0)
        return 1;
    printf("%d\n", (int)getpid());
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &n, sizeof n) > 0)
      ;
    return 0;
  }
  for (n = 0; n < all; ++n)
    left(n, bits);
  return 0;
}
