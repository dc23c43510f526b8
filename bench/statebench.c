/* statebench.c -- what the state at a random time costs
 *
 *   statebench LOG [QUESTIONS]
 *
 * Processor time of the state at the end, without check points, and of writing an index file with check points (LOG.idx,
 * which is removed at the end); then of the state at random times, each as a part of the first: median, 95th percentile,
 * most; and the room that check points take.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "heap/heapat.h"

static double seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
  const double *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* state -- seconds for the state before a position */
static double state(Log log, const LogPositionStruct *position)
{
  static const LogRequestStruct all = LogRequestALL;
  double begin = seconds();
  HeapAt state;

  if (HeapAtCreate(&state, log, &all, position, NULL) != ResOK || LogRead(log, &state->request) != ResOK ||
      HeapSettle(state->heap) != ResOK) {
    fprintf(stderr, "statebench: no state\n");
    exit(1);
  }
  HeapAtDestroy(state);
  return seconds() - begin;
}

static Log opened(const char *path)
{
  LogHooksStruct hooks = {.data = NULL};
  char error[256];
  Log log;

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK) {
    fprintf(stderr, "statebench: %s\n", error);
    exit(1);
  }
  return log;
}

int main(int argc, char **argv)
{
  static const LogPositionStruct last = LogPositionLAST;
  unsigned i, questions = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
  double plain, checked, *each = calloc(questions + 1, sizeof *each);
  LogHooksStruct hooks = {.data = NULL};
  uint64_t random = 88172645463325252u;
  char error[256], index[4096];
  LogSummaryStruct summary;
  LogIndexedStruct indexed;
  Log log;

  if (argc < 2 || each == NULL) {
    fprintf(stderr, "usage: statebench LOG [QUESTIONS]\n");
    return 2;
  }
  (void)snprintf(index, sizeof index, "%s.idx", argv[1]);
  (void)unlink(index);
  log = opened(argv[1]);
  plain = state(log, &last);
  LogClose(log);
  checked = seconds();
  if (LogIndexWrite(&indexed, argv[1], &hooks, HeapAtKeep, error, sizeof error) != ResOK) {
    fprintf(stderr, "statebench: %s\n", error);
    return 1;
  }
  checked = seconds() - checked;
  log = opened(argv[1]);
  LogSummarize(&summary, log);
  for (i = 0; i < questions; ++i) {
    LogPositionStruct position;
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    PawPositionOfTime(&position, log, summary.first + random % (summary.last - summary.first + 1));
    each[i] = state(log, &position) / plain;
  }
  qsort(each, questions, sizeof *each, compare);
  printf("events %llu plain %.3f checked %.3f median %.5f p95 %.5f most %.5f points %llu file %llu\n",
         (unsigned long long)summary.events, plain, checked, each[questions / 2], each[questions * 95 / 100],
         each[questions - 1], (unsigned long long)indexed.checks, (unsigned long long)indexed.bytes);
  LogClose(log);
  (void)unlink(index);
  return 0;
}
