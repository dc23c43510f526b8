/* emitters.c -- threads that emit, for the benchmarks of the collector: what an event costs them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Usage: emitters THREADS MILLIONS [MILLIONS-PER-SECOND]
 * Each thread emits so many million events, as fast as it can, or all together so many a second.  Prints the floor
 * (bench/floor.h), the CPU time that measuring it took, the least time of an event in an emitting thread, measured over
 * a hundred thousand of them, the mean over all, and how many million a second came out.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emit/event.h"

#include "../floor.h"

enum { emittersBATCH = 100000 };

static uint64_t emittersCount;
static double emittersPace; /* seconds for a batch; 0: none */

typedef struct EmitterStruct {
  pthread_t thread;
  double least, mean;
} EmitterStruct;

static void emittersEmit(uint64_t n)
{
  static char pool;
  uint64_t i;

  for (i = 0; i < n; ++i) {
    EVENT_PAW(PoolAlloc, &pool, (Addr)(0x10000000 + (i & 0xffff) * 32), 24 + (i & 3) * 8);
    __asm__ volatile("" : : : "memory");
  }
}

static void *emittersRun(void *data)
{
  EmitterStruct *emitter = data;
  double begin = BenchNow(), sum = 0, least = 1e9, due = begin;
  uint64_t done;

  for (done = 0; done < emittersCount; done += emittersBATCH) {
    double before = BenchNow(), time;
    emittersEmit(emittersBATCH);
    time = BenchNow() - before;
    sum += time;
    least = time < least ? time : least;
    for (due += emittersPace; emittersPace > 0 && (time = due - BenchNow()) > 0;)
      (void)usleep((useconds_t)(time * 1e6));
  }
  emitter->least = least / emittersBATCH * 1e9;
  emitter->mean = sum / (double)done * 1e9;
  return NULL;
}

/* emittersSpent -- seconds of CPU that this process has used */
static double emittersSpent(void)
{
  struct rusage usage;

  (void)getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv)
{
  unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1, i;
  double pace = argc > 3 ? atof(argv[3]) : 0, begin, time, floor, before;
  EmitterStruct emitter[16];

  if (threads < 1 || threads > 16)
    return 2;
  emittersCount = (argc > 2 ? strtoull(argv[2], NULL, 10) : 10) * 1000000;
  emittersPace = pace > 0 ? emittersBATCH * threads / (pace * 1e6) : 0;
  floor = BenchFloor();
  before = emittersSpent();
  begin = BenchNow();
  for (i = 1; i < threads; ++i)
    (void)pthread_create(&emitter[i].thread, NULL, emittersRun, &emitter[i]);
  (void)emittersRun(&emitter[0]);
  for (i = 1; i < threads; ++i)
    (void)pthread_join(emitter[i].thread, NULL);
  time = BenchNow() - begin;
  printf("floor %.3f before %.3f least %.3f mean %.3f rate %.3f\n", floor, before, emitter[0].least, emitter[0].mean,
         (double)threads * (double)emittersCount / time / 1e6);
  return 0;
}
