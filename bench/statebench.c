/* statebench.c -- what the state at a random time costs
 *
 *   statebench LOG [QUESTIONS]
 *
 * Processor time of a pass over the log without check points and of one that makes them; then of the state at random
 * times, each as a part of the first: median, 95th percentile, most; and the room that check points take.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap/managerstate.h"

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

static ManagerState pass(Log log, uint64_t interval, double *timeReturn)
{
  double begin = seconds();
  ManagerState state;

  if (ManagerStateCreate(&state, log, NULL, interval) != ResOK || StateAtTime(state, UINT64_MAX) != ResOK) {
    fprintf(stderr, "statebench: no state\n");
    exit(1);
  }
  *timeReturn = seconds() - begin;
  return state;
}

int main(int argc, char **argv)
{
  const char *const *paths = (const char *const *)argv + 1;
  unsigned i, questions = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
  double plain, checked, *each = calloc(questions + 1, sizeof *each);
  LogHooksStruct hooks = {.data = NULL};
  LogSummaryStruct summary;
  StateCountsStruct counts;
  uint64_t random = 88172645463325252u;
  char error[256];
  ManagerState state;
  Log log;

  if (argc < 2 || each == NULL || LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
    fprintf(stderr, "usage: statebench LOG [QUESTIONS]\n");
    return 2;
  }
  LogSummarize(&summary, log);
  ManagerStateDestroy(pass(log, StateIntervalNONE, &plain));
  state = pass(log, 0, &checked);
  for (i = 0; i < questions; ++i) {
    double begin = seconds();
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    if (StateAtTime(state, summary.first + random % (summary.last - summary.first + 1)) != ResOK)
      return 1;
    each[i] = (seconds() - begin) / plain;
  }
  qsort(each, questions, sizeof *each, compare);
  StateCount(&counts, state);
  printf("events %llu plain %.3f checked %.3f median %.5f p95 %.5f most %.5f points %llu memory %llu file %llu\n",
         (unsigned long long)summary.events, plain, checked, each[questions / 2], each[questions * 95 / 100],
         each[questions - 1], (unsigned long long)counts.checks, (unsigned long long)counts.memory,
         (unsigned long long)counts.file);
  ManagerStateDestroy(state);
  LogClose(log);
  return 0;
}
