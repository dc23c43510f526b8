/* drifttest.c -- how far the bytes that live may drift in a span; epochs end by that, and what a replay holds stays there
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/drift.h"

#include <math.h>

#include "replay/player.h"

#include "tap.h"

enum { threads = 5, operations = 40, rounds = 2000 };

/* range -- the most that the thread had added in the span, less the least: looked up among all operations */
static double range(const int64_t (*bytes)[2], Count count, int64_t thread)
{
  int64_t now = 0, least = 0, most = 0;
  Index i;

  for (i = 0; i < count; ++i) {
    if (bytes[i][0] != thread)
      continue;
    now += bytes[i][1];
    least = now < least ? now : least;
    most = now > most ? now : most;
  }
  return (double)(most - least);
}

/* testSpans -- against the sum, worked out anew after each operation */
static void testSpans(void)
{
  uint64_t random = TapSeed() | 1;
  DriftStruct drift = {0};
  DriftThreadStruct thread[threads] = {{0}};
  int64_t bytes[operations][2];
  Count wrong = 0, differ = 0;
  unsigned round;
  Index i, j;

  for (round = 0; round < rounds; ++round) {
    Count count = 1 + TapRandom(&random) % operations;
    for (i = 0; i < count; ++i) {
      double sum = 0;
      bytes[i][0] = (int64_t)(TapRandom(&random) % threads);
      bytes[i][1] = (int64_t)(TapRandom(&random) % 2001) - 1000;
      DriftAdd(&drift, &thread[bytes[i][0]], bytes[i][1]);
      for (j = 0; j < threads; ++j)
        sum += range(bytes, i + 1, (int64_t)j) * range(bytes, i + 1, (int64_t)j);
      if (fabs(drift.square - sum) > 0.5)
        ++wrong;
      if (DriftBeyond(&drift, 1500) != (sum >= 1500.0 * 1500.0))
        ++differ;
    }
    DriftBegin(&drift);
  }
  TapIs(wrong, 0, "the square is that of all ranges, in %u spans", (unsigned)rounds);
  TapIs(differ, 0, "and is compared with that of so many bytes");
  TapOk(!DriftBeyond(&drift, 1), "a span begins with none");
  DriftAdd(&drift, &thread[0], INT64_MAX);
  DriftAdd(&drift, &thread[0], INT64_MAX);
  TapOk(DriftBeyond(&drift, 1u << 30), "what a log says of impossible sizes is beyond everything");
}

static HeapPoolStruct pool = {.number = 0, .class = "malloc"};

static void add(Script script, HeapOperationKind kind, Index thread, HeapObject object)
{
  HeapOperationStruct operation = {.kind = kind, .time = 1, .pool = &pool, .object = object};

  ScriptAdd(script, &operation, thread);
}

enum { size = 1000, handed = 100, turns = 200000 };

/* script -- two threads: the first allocates and the second frees, with never more than `handed` objects between them;
 * or each frees what it allocates */
static Script script(Bool hands)
{
  static HeapObjectStruct object[2][handed];
  Script new;
  Index i, by;

  if (ScriptCreate(&new, FALSE, 0) != ResOK)
    abort();
  for (i = 0; i < turns; ++i)
    for (by = 0; by < (hands ? 1u : 2u); ++by) {
      HeapObject its = &object[by][i % handed];
      if (i >= handed)
        add(new, HeapFREE, hands ? 1 : by, its);
      *its = (HeapObjectStruct){.size = size};
      add(new, HeapALLOC, by, its);
    }
  for (i = 0; i < handed; ++i)
    for (by = 0; by < (hands ? 1u : 2u); ++by)
      add(new, HeapFREE, hands ? 1 : by, &object[by][i]);
  if (ScriptFinish(new) != ResOK)
    abort();
  return new;
}

static int64_t held, most; /* bytes; atomic */

static void *take(void *of, Size bytes, Size align, Bool zero)
{
  int64_t now = __atomic_add_fetch(&held, (int64_t)bytes, __ATOMIC_RELAXED), had;

  UNUSED(of), UNUSED(align);
  had = __atomic_load_n(&most, __ATOMIC_RELAXED);
  while (had < now && !__atomic_compare_exchange_n(&most, &had, now, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return zero ? calloc(1, bytes) : malloc(bytes);
}

static void *retake(void *of, void *old, Size oldBytes, Size bytes)
{
  UNUSED(of), UNUSED(oldBytes);
  return realloc(old, bytes);
}

static void give(void *of, void *addr, Size bytes)
{
  UNUSED(of);
  (void)__atomic_sub_fetch(&held, (int64_t)bytes, __ATOMIC_RELAXED);
  free(addr);
}

static Count play(Script from, PlayResult result)
{
  PlayAllocatorStruct allocator = {.alloc = take, .resize = retake, .free = give};
  PlayParamsStruct params = {.fd = ScriptFile(from), .touch = size};
  Play new = PlayLoad(result, &params);
  Count epochs;

  if (new == NULL)
    abort();
  held = most = 0;
  epochs = PlayTableCount(new, ScriptEPOCHS);
  PlayRun(new, &allocator);
  return epochs;
}

static void testEpochs(void)
{
  static PlayResultStruct result;
  Script from = script(TRUE);
  Count epochs = play(from, &result);

  TapOk(result.done && result.failures == 0, "what one thread allocates and another frees is replayed");
  TapOk(epochs >= 2 * turns / ScriptEpochMIN / 2, "in short epochs: %zu of them", (size_t)epochs);
  /* The order is free within two epochs, and in each by no more than 64 KiB or its least number of operations. */
  TapOk(most <= handed * size + 2 * ScriptEpochMIN * size, "so no more than so much is held: %lld",
        (long long)most);
  ScriptDestroy(from);
  from = script(FALSE);
  epochs = play(from, &result);
  TapOk(result.done && result.failures == 0, "what two threads allocate and free themselves is replayed");
  TapOk(epochs <= 4 * turns / ScriptEpochMAX + 5, "in long ones: %zu of them", (size_t)epochs);
  TapIs(held, 0, "and nothing is left");
  TapOk(most <= 2 * (handed + 1) * size, "nor was there ever more than in the recording");
  ScriptDestroy(from);
}

int main(void)
{
  testSpans();
  testEpochs();
  return TapDone();
}
