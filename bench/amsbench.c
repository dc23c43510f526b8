/* amsbench.c -- collections: a heap of 1 GB marked and swept, beside reading its objects in random order; pauses of
 * increments in a heap of 256 MB
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints `name value unit' for each.  The objects are a binary tree, whose nodes lie in memory in random order: so
 * marking has no more locality than reading in random order.  Half of the heap is dead, object by object.
 *
 *     amsbench [MIB]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "ams/ams.h"
#include "mm/arena.h"

enum { REFS = 3 };

typedef struct ObjectStruct {
  Word value;
  Addr ref[REFS];
} ObjectStruct, *Object;

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  Object object = (Object)(void *)ref;
  Index i;

  UNUSED(base);
  UNUSED(limit);
  for (i = 0; i < 2; ++i)
    AMSFix(scan, __atomic_load_n(&object->ref[i], __ATOMIC_RELAXED));
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + sizeof(ObjectStruct)); }

static const AMSFormatStruct format = { 16, 0, formatScan, formatSkip };

static uint64_t randomState = 88172645463325252u;

static uint64_t draw(void)
{
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState;
}

/* seconds -- of this thread's own time: other programs may be running */
static double seconds(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static Object make(AMSAP ap)
{
  Addr addr;

  do {
    if (AMSReserve(&addr, ap, sizeof(ObjectStruct)) != ResOK)
      abort();
    *(Object)(void *)addr = (ObjectStruct){ 0 };
  } while (!AMSCommit(ap, addr, sizeof(ObjectStruct)));
  return (Object)(void *)addr;
}

/* heap -- `live` objects in `order`, a tree below order[0] in order of the array, and as many dead ones between them */
static void heap(AMSAP ap, Object *order, Count live, Bool garbage)
{
  Index i, j;

  for (i = 0; i < live; ++i) {
    order[i] = make(ap);
    if (garbage)
      (void)make(ap);
  }
  for (i = live; i > 1; --i) {
    Object swapped = order[i - 1];
    j = draw() % i;
    order[i - 1] = order[j];
    order[j] = swapped;
  }
  for (i = 0; i < live; ++i)
    for (j = 0; j < 2; ++j)
      if (2 * i + 1 + j < live)
        order[i]->ref[j] = (Addr)order[2 * i + 1 + j];
}

static double readAll(Object *order, Count live)
{
  volatile Word sink;
  double begin = seconds();
  Word sum = 0;
  Index i;

  for (i = 0; i < live; ++i)
    sum += order[i]->value;
  sink = sum;
  (void)sink;
  return seconds() - begin;
}

/* operations -- an object reserved, filled in and committed, in memory that was in use before; a reference written */
static void operations(AMSAP ap, Pool pool)
{
  enum { N = 2000000 };
  Object object = make(ap);
  double began = seconds();
  Index i;

  for (i = 0; i < N; ++i)
    AMSWrite(pool, (Addr)object, &object->ref[i % REFS], (Addr)object);
  printf("ams-write %.1f ns\n", (seconds() - began) / N * 1e9);
  began = seconds();
  for (i = 0; i < N; ++i)
    (void)make(ap);
  printf("ams-alloc %.1f ns\n", (seconds() - began) / N * 1e9);
}

static double least(double a, double b) { return a < b ? a : b; }

int main(int argc, char **argv)
{
  Size mib = argc > 1 ? strtoul(argv[1], NULL, 0) : 1024;
  Count live = (mib << 20) / sizeof(ObjectStruct) / 2;
  AMSStatsStruct stats;
  AMSRoot root;
  Arena arena;
  Pool pool;
  AMSAP ap;
  Object *order = mmap(NULL, live * sizeof *order, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static Addr top[1];
  double began, whole, again = 1e9, read = 1e9;
  Index i;

  if (order == MAP_FAILED || ArenaCreate(&arena, ChunkSIZE) != ResOK ||
      AMSCreate(&pool, arena, &format, NULL, 0) != ResOK || AMSAPCreate(&ap, pool) != ResOK ||
      AMSRootCreateTable(&root, pool, AMSRankEXACT, top, 1) != ResOK)
    abort();
  began = seconds();
  heap(ap, order, live, TRUE);
  printf("ams-build %.1f ns/object\n", (seconds() - began) / (double)live / 2 * 1e9);
  top[0] = (Addr)order[0];
  read = readAll(order, live);
  began = seconds();
  (void)AMSCollect(pool);
  whole = seconds() - began;
  AMSStatsGet(&stats, pool);
  printf("ams-collect-first %.1f ns/object (%lu MiB condemned, %lu MiB reclaimed)\n", whole / (double)live * 1e9,
         (unsigned long)(stats.condemned >> 20), (unsigned long)(stats.reclaimed >> 20));
  for (i = 0; i < 5; ++i) {
    read = least(read, readAll(order, live));
    began = seconds();
    (void)AMSCollect(pool);
    again = least(again, seconds() - began);
  }
  printf("ams-read %.1f ns/object\n", read / (double)live * 1e9);
  printf("ams-collect %.1f ns/object (nothing to reclaim)\n", again / (double)live * 1e9);
  printf("ams-collect-ratio %.2f of reading\n", again / read);

  if (AMSThreadRegister() != ResOK)
    abort();
  operations(ap, pool);

  /* In steps of 1 ms, while the program allocates and writes. */
  began = seconds();
  for (i = 0; i < 5; ++i) {
    double worst = 0, start = seconds();
    if (AMSStart(pool) != ResOK)
      abort();
    worst = seconds() - start;
    do {
      Object object = make(ap);
      AMSWrite(pool, (Addr)object, &object->ref[0], NULL);
      start = seconds();
      (void)AMSStep(pool, 1000);
      if (worst < seconds() - start)
        worst = seconds() - start;
    } while (AMSStep(pool, 0));
    printf("ams-pause %.3f ms\n", worst * 1e3);
  }
  return 0;
}
