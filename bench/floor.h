/* floor.h -- the floor F that the benchmarks measure themselves against, and the clock they use
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * F is a loop that reads the processor's counter and stores 32 bytes to a thread-local ring: what an event costs at the
 * least.  Machines differ and drift; ratios to F within one run do not.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "plinth/clock.h"

enum { floorRING = 65536, floorROUNDS = 7 };

static inline double BenchNow(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* BenchBest -- the least time in ns that one of `n` turns of `loop` takes, out of several rounds */
static inline double BenchBest(void (*loop)(uint64_t n), uint64_t n)
{
  double best = 1e18;
  int i;

  for (i = 0; i < floorROUNDS; ++i) {
    double begin = BenchNow(), time;
    loop(n);
    time = (BenchNow() - begin) * 1e9 / (double)n;
    if (time < best)
      best = time;
  }
  return best;
}

static inline void benchFloorLoop(uint64_t n)
{
  static __thread char ring[floorRING] __attribute__((aligned(64)));
  uint64_t i;

  for (i = 0; i < n; ++i) {
    uint64_t *p = (uint64_t *)(void *)(ring + (i * 32 & (floorRING - 1)));
    p[0] = EventClockCounter(0);
    p[1] = i;
    p[2] = i;
    p[3] = i;
    __asm__ volatile("" : : : "memory");
  }
}

static inline double BenchFloor(void)
{
  return BenchBest(benchFloorLoop, 5000000);
}

#endif /* BENCH_FLOOR_H */
