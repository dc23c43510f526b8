/* reads.c -- a client of libpawlog that asks for most of what it has, and prints sums of that
 *
 *     reads LOG        status 1: some function failed; why is on standard error
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "log/pawlog.h"

typedef struct Seen {
  uint64_t events, operations, objects, bytes, site;
  PawPosition middle;
} Seen;

static void check(int error, const char *what)
{
  if (error == PAW_OK)
    return;
  fprintf(stderr, "reads: %s: %s\n", what, PawError(error));
  exit(1);
}

static int event(PawRequest *request, PawEvent it)
{
  Seen *seen = request->data;

  if (++seen->events == 100)
    PawEventPosition(&seen->middle, it);
  return 0;
}

static void operation(void *data, const PawOperation *it)
{
  Seen *seen = data;

  ++seen->operations;
  if (it->object.site != 0)
    seen->site = it->object.site;
}

/* readFiltered -- all events that pass a filter, and a step in them */
static void readFiltered(PawLog log, Seen *seen)
{
  PawRequest request;
  PawFilter filter;
  uint64_t steps;

  check(PawFilterMake(&filter, log, "size >= 8 || name =~ \"Free\"", NULL, 0), "filter");
  PawRequestInit(&request);
  request.data = seen;
  request.event = event;
  PawRequestFilter(&request, filter);
  check(PawRead(log, &request), "events");
  check(PawFilterError(filter), "filter's end");
  check(PawPositionStep(&seen->middle, &steps, log, &request, -50), "step");
  PawFilterFree(filter);
  printf("%" PRIu64 " events, %" PRIu64 " back\n", seen->events, steps);
}

/* readHeap -- what happens in the heaps, and what lives at the end, or with `quiet` that alone */
static void readHeap(PawLog log, Seen *seen, int quiet)
{
  PawHeap heap;
  size_t i, j;

  check(PawHeapCreate(&heap, log, NULL, quiet ? NULL : operation, seen), "heap");
  check(PawHeapRead(heap), "heap's events");
  for (i = 0; i < PawProcesses(log); ++i) {
    const PawObject *objects;
    size_t count, frames, all = 0;
    uint64_t frame[64];
    check(PawHeapObjects(heap, PawProcessAt(log, i), &objects, &count), "objects");
    for (j = 0; j < count; ++j) {
      int error = objects[j].stack == 0 ? PAW_FAIL : PawHeapStack(heap, objects[j].stack, frame, 64, &frames);
      check(error == PAW_FAIL ? PAW_OK : error, "stack");
      all += error == PAW_OK ? frames : 0;
      seen->site = error == PAW_OK && frames > 0 ? frame[0] : seen->site;
      seen->bytes += objects[j].size;
    }
    printf("%zu objects, %zu frames\n", count, all);
  }
  PawHeapDestroy(heap);
  printf("%" PRIu64 " operations, %" PRIu64 " bytes\n", seen->operations, seen->bytes);
}

static void readBatches(PawLog log)
{
  const PawBatchEvents *events;
  PawRequest all;
  PawBatch batch;
  size_t sum = 0;

  PawRequestInit(&all);
  check(PawBatchCreate(&batch, log, &all, 500), "batch");
  do {
    check(PawBatchNext(batch, &events), "batch's events");
    sum += events == NULL ? 0 : events->count;
  } while (events != NULL);
  PawBatchDestroy(batch);
  printf("%zu in batches\n", sum);
}

/* readServed -- two requests in one pass */
static void readServed(PawLog log)
{
  Seen first = {0}, second = {0};
  PawRequest one, other;
  PawService service;

  PawRequestInit(&one);
  PawRequestInit(&other);
  one.data = &first;
  other.data = &second;
  one.event = other.event = event;
  other.count = 200;
  check(PawServiceCreate(&service, log, 0), "service");
  check(PawServiceFile(service, &one), "request");
  check(PawServiceFile(service, &other), "other request");
  check(PawServiceRun(service, NULL, NULL), "run");
  PawServiceDestroy(service);
  printf("%" PRIu64 " and %" PRIu64 " served\n", first.events, second.events);
}

/* readSymbol -- the last site's function; without memory nothing is known of it, which is no error */
static void readSymbol(PawLog log, const Seen *seen)
{
  PawSymbols symbols;
  char text[256];

  check(PawSymbolsCreate(&symbols, log, NULL, NULL), "symbols");
  (void)PawSymbolsText(symbols, PawProcessAt(log, 0), PawLast(log), seen->site, text, sizeof text);
  PawSymbolsDestroy(symbols);
}

int main(int argc, char **argv)
{
  char message[256];
  Seen seen = {0};
  PawLog log;

  if (PawOpen(&log, (const char *const *)argv + 1, (size_t)argc - 1, NULL, message, sizeof message) != PAW_OK) {
    fprintf(stderr, "reads: %s\n", message);
    return 1;
  }
  readFiltered(log, &seen);
  readHeap(log, &seen, 0);
  readHeap(log, &seen, 1);
  readBatches(log);
  readServed(log);
  readSymbol(log, &seen);
  PawClose(log);
  return 0;
}
