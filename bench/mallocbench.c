/* mallocbench.c -- the memory manager's malloc beside the C library's
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each line is one way of using malloc: nanoseconds per operation (an allocation and its free are two) for both, the
 * least of several runs, taken in turn, and their ratio, which is what counts.  A number as argument makes it do so
 * many times less.
 *
 * Design: design/mm.md .bench
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mm/mallocpool.h"

typedef struct AllocatorStruct {
  void *(*alloc)(size_t size);
  void *(*resize)(void *p, size_t size);
  void (*free)(void *p);
  void (*exit)(void);
} AllocatorStruct, *Allocator;

static void mmFree(void *p) { (void)MMFree(p); }
static void *mmResize(void *p, size_t size) { return p != NULL ? MMResize(p, size) : MMAlloc(size); }
static void nothing(void) {}

static AllocatorStruct allocators[] = {
  { malloc, realloc, free, nothing },
  { MMAlloc, mmResize, mmFree, SGFThreadExit },
};

static unsigned long scale = 1;

static double now(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Sizes as programs have them: mostly small, some large. */
static size_t someSize(uint64_t *state)
{
  uint64_t r = next(state);

  switch (r % 64) {
  case 0: return 4000 + (r >> 32) % 30000;
  case 1: case 2: case 3: return 500 + (r >> 32) % 3000;
  default: return 8 + (r >> 32) % 250;
  }
}

/* Each job does its operations with one allocator and returns how many they were. */

static unsigned long pairs(Allocator a)
{
  unsigned long n = 20000000 / scale, i;

  for (i = 0; i < n; ++i) {
    void *volatile p = a->alloc(64);
    a->free(p);
  }
  return 2 * n;
}

enum { WORKING = 20000 };

static unsigned long workingSet(Allocator a)
{
  static void *p[WORKING];
  uint64_t state = 88172645463325252ull;
  unsigned long n = 5000000 / scale, i;

  for (i = 0; i < n; ++i) {
    unsigned k = (unsigned)(next(&state) % WORKING);
    size_t size = someSize(&state);
    if (p[k] != NULL)
      a->free(p[k]);
    p[k] = a->alloc(size);
    *(char *)p[k] = 1;
  }
  for (i = 0; i < WORKING; ++i) {
    if (p[i] != NULL)
      a->free(p[i]);
    p[i] = NULL;
  }
  return 2 * n;
}

enum { BATCH = 100000 };

static unsigned long batches(Allocator a)
{
  static void *p[BATCH];
  unsigned long rounds = 40 / (scale < 40 ? scale : 40), r, i;

  for (r = 0; r < rounds; ++r) {
    for (i = 0; i < BATCH; ++i) {
      p[i] = a->alloc(16 + i % 7 * 16);
      *(char *)p[i] = 1;
    }
    for (i = 0; i < BATCH; ++i)
      a->free(p[(i * 7919) % BATCH]);
  }
  return 2 * rounds * BATCH;
}

static unsigned long growing(Allocator a)
{
  unsigned long n = 0, r;

  for (r = 0; r < 40 / (scale < 40 ? scale : 40); ++r) {
    char *p = NULL;
    size_t size;
    for (size = 16; size < 40 << 20; size += size / 8 + 8, ++n) {
      p = a->resize(p, size);
      p[size - 1] = 1;
    }
    a->free(p);
  }
  return n;
}

static unsigned long large(Allocator a)
{
  unsigned long n = 200000 / scale, i;
  uint64_t state = 12345;

  for (i = 0; i < n; ++i) {
    char *p = a->alloc(70000 + next(&state) % 300000);
    p[0] = p[60000] = 1;
    a->free(p);
  }
  return 2 * n;
}

/* written -- `live` objects of `least` bytes to `more` bytes above, one replaced after the other, all of it written to */
static unsigned long written(Allocator a, unsigned live, size_t least, size_t more, unsigned long n)
{
  enum { MOST = 16 };
  char *object[MOST] = { NULL };
  uint64_t state = 12345;
  unsigned long i, at;

  n = n / scale + 1;
  for (i = 0; i < n; ++i) {
    char **p = &object[next(&state) % live];
    size_t size = least + next(&state) % more;
    a->free(*p);
    *p = a->alloc(size);
    for (at = 0; at < size; at += 4096)
      (*p)[at] = 1;
  }
  for (i = 0; i < live; ++i)
    a->free(object[i]);
  return 2 * n;
}

static unsigned long sixteen(Allocator a) { return written(a, 16, (size_t)128 << 10, (size_t)896 << 10, 3000); }
static unsigned long eight(Allocator a) { return written(a, 8, (size_t)1 << 20, (size_t)7 << 20, 400); }
static unsigned long two(Allocator a) { return written(a, 2, (size_t)16 << 20, (size_t)15 << 20, 60); }

/* -- threads -- */

enum { QUEUE = 4096 };

typedef struct QueueStruct {
  Allocator allocator;
  unsigned long items;
  void *slot[QUEUE];
  _Alignas(64) unsigned long head;
  _Alignas(64) unsigned long tail;
} QueueStruct;

static void *consume(void *closure)
{
  QueueStruct *queue = closure;
  unsigned long tail;

  for (tail = 0; tail < queue->items; ++tail) {
    while (__atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) == tail)
      sched_yield();
    queue->allocator->free(queue->slot[tail % QUEUE]);
    __atomic_store_n(&queue->tail, tail + 1, __ATOMIC_RELEASE);
  }
  queue->allocator->exit();
  return NULL;
}

static unsigned long producer(Allocator a)
{
  static QueueStruct queue;
  uint64_t state = 99;
  pthread_t thread;
  unsigned long head;

  memset(&queue, 0, sizeof queue);
  queue.allocator = a;
  queue.items = 4000000 / scale;
  if (pthread_create(&thread, NULL, consume, &queue) != 0)
    abort();
  for (head = 0; head < queue.items; ++head) {
    while (head - __atomic_load_n(&queue.tail, __ATOMIC_ACQUIRE) >= QUEUE)
      sched_yield();
    queue.slot[head % QUEUE] = a->alloc(16 + next(&state) % 200);
    __atomic_store_n(&queue.head, head + 1, __ATOMIC_RELEASE);
  }
  (void)pthread_join(thread, NULL);
  return 2 * queue.items;
}

enum { SHARED = 20000, SWAPPERS = 2 };
static void *shared[SHARED];

static void *swap(void *closure)
{
  Allocator a = closure;
  uint64_t state = (uint64_t)(Word)&state | 1;
  unsigned long i;

  for (i = 0; i < 2000000 / scale; ++i) {
    void *p = a->alloc(someSize(&state));
    *(char *)p = 1;
    p = __atomic_exchange_n(&shared[next(&state) % SHARED], p, __ATOMIC_ACQ_REL);
    if (p != NULL)
      a->free(p);
  }
  a->exit();
  return NULL;
}

static unsigned long swapping(Allocator a)
{
  pthread_t thread[SWAPPERS];
  unsigned i;

  for (i = 0; i < SWAPPERS; ++i)
    if (pthread_create(&thread[i], NULL, swap, a) != 0)
      abort();
  for (i = 0; i < SWAPPERS; ++i)
    (void)pthread_join(thread[i], NULL);
  for (i = 0; i < SHARED; ++i) {
    if (shared[i] != NULL)
      a->free(shared[i]);
    shared[i] = NULL;
  }
  return 2 * SWAPPERS * (2000000 / scale);
}

static const struct {
  const char *name;
  unsigned long (*run)(Allocator a);
} jobs[] = {
  { "one object, again and again", pairs },
  { "random sizes, a working set", workingSet },
  { "batches, freed out of order", batches },
  { "one object that grows", growing },
  { "large objects", large },
  { "16 of 128 to 1024 KiB", sixteen },
  { "8 of 1 to 8 MiB", eight },
  { "2 of 16 to 31 MiB", two },
  { "a producer and a consumer", producer },
  { "two threads swap objects", swapping },
};

int main(int argc, char **argv)
{
  enum { RUNS = 5 };
  unsigned i, run, k;

  if (argc > 1)
    scale = strtoul(argv[1], NULL, 10);
  if (scale == 0)
    scale = 1;
  printf("%-30s %8s %8s %6s\n", "ns per operation", "libc", "SGF", "ratio");
  for (i = 0; i < sizeof jobs / sizeof jobs[0]; ++i) {
    double best[2] = { 1e30, 1e30 };
    for (run = 0; run < RUNS; ++run)
      for (k = 0; k < 2; ++k) {
        double begin = now();
        unsigned long n = jobs[i].run(&allocators[k]);
        double each = (now() - begin) / (double)n;
        if (each < best[k])
          best[k] = each;
      }
    printf("%-30s %8.1f %8.1f %6.2f\n", jobs[i].name, best[0], best[1], best[1] / best[0]);
  }
  return 0;
}
