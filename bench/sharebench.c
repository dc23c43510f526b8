/* sharebench.c -- what requests cost that overlap: ten of them against one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Usage: sharebench LOG.  Prints, in turn, the least of some rounds: nanoseconds an event for one request; for ten over
 * the same events; and for ten each of which overlaps the next by half.  Every hook counts events by their length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log/request.h"

enum { benchREQUESTS = 10, benchROUNDS = 5 };

typedef struct BenchCountStruct {
  uint64_t events, bytes;
} BenchCountStruct;

static Bool benchEvent(LogRequest request, LogEvent event)
{
  BenchCountStruct *count = request->data;

  ++count->events;
  count->bytes += event->length;
  return FALSE;
}

/* benchRun -- CPU seconds of `n` requests; `staggered`: each over two elevenths of the time, half of it the next
 * one's */
static double benchRun(Log log, LogSummary summary, unsigned n, Bool staggered, uint64_t *eventsReturn)
{
  LogRequestStruct request[benchREQUESTS];
  BenchCountStruct count[benchREQUESTS];
  uint64_t eleventh = (summary->last - summary->first) / 11 + 1;
  LogService service;
  clock_t begin = clock();
  unsigned i;

  if (LogServiceCreate(&service, log, 0) != ResOK)
    exit(1);
  memset(count, 0, sizeof count);
  for (i = 0; i < n; ++i) {
    request[i] = (LogRequestStruct)LogRequestALL;
    request[i].event = benchEvent;
    request[i].data = &count[i];
    if (staggered) {
      request[i].from = summary->first + i * eleventh;
      request[i].to = summary->first + (i + 2) * eleventh;
    }
    if (LogServiceFile(service, &request[i]) != ResOK)
      exit(1);
  }
  if (LogServiceRun(service, NULL, NULL) != ResOK)
    exit(1);
  LogServiceDestroy(service);
  *eventsReturn = count[0].events;
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
  LogHooksStruct hooks = {.data = NULL};
  LogSummaryStruct summary;
  const char *const *paths = (const char *const *)argv + 1;
  double best[3] = {1e9, 1e9, 1e9}, took;
  char error[256];
  uint64_t events = 1, ignored;
  unsigned round, i;
  Log log;

  if (argc != 2 || LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
    fprintf(stderr, "sharebench: %s\n", argc != 2 ? "usage: sharebench LOG" : error);
    return 1;
  }
  LogSummarize(&summary, log);
  for (round = 0; round < benchROUNDS; ++round)
    for (i = 0; i < 3; ++i) {
      took = benchRun(log, &summary, i == 0 ? 1 : benchREQUESTS, i == 2, i == 0 ? &events : &ignored);
      if (took < best[i])
        best[i] = took;
    }
  for (i = 0; i < 3; ++i)
    printf("%.2f ", best[i] * 1e9 / (double)(events != 0 ? events : 1));
  printf("\n");
  LogClose(log);
  return 0;
}
