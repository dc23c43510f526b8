/* sharebench.c -- what requests cost that overlap: ten of them against one
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Usage: sharebench LOG.  Prints, in turn, the least of some rounds, of nanoseconds for each event of the log: for
 *   one     request over all of it
 *   same    ten over all of it
 *   floor   one whose hook calls ten functions for each event: less than that no ten can cost that all want each event
 *   overlap ten, each of which overlaps the next by half
 *   types   ten over all of it, which share its types of events out among them
 * Every hook counts events and their length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "request/request.h"

enum { benchREQUESTS = 10, benchROUNDS = 7 };

typedef enum BenchCase { BenchONE, BenchSAME, BenchFLOOR, BenchOVERLAP, BenchTYPES, BenchLIMIT } BenchCase;

typedef struct BenchCountStruct {
  unsigned number; /* of the request */
  uint64_t events, bytes;
} BenchCountStruct;

static LogRequestStruct theRequest[benchREQUESTS];
static BenchCountStruct theCount[benchREQUESTS];
static struct {
  PawEventHook call;
  LogRequest request;
} theHand[benchREQUESTS]; /* of the floor */

static Bool benchEvent(LogRequest request, LogEvent event)
{
  BenchCountStruct *count = request->data;

  ++count->events;
  count->bytes += event->length;
  return FALSE;
}

/* benchTen -- what no service can do without: a call through memory for each of ten */
static Bool benchTen(LogRequest request, LogEvent event)
{
  Bool ends = FALSE;
  unsigned i;

  UNUSED(request);
  for (i = 0; i < benchREQUESTS; ++i)
    ends |= theHand[i].call(theHand[i].request, event);
  return ends;
}

static Bool benchChoose(void *data, LogProcess process, EventType type)
{
  BenchCountStruct *count = data;

  return (unsigned)(type - process->registry->types) % benchREQUESTS == count->number;
}

/* benchRequest -- make the request with a number what the case asks for */
static void benchRequest(unsigned i, BenchCase which, LogSummary summary)
{
  uint64_t eleventh = (summary->last - summary->first) / 11 + 1;
  LogRequest request = &theRequest[i];

  theCount[i] = (BenchCountStruct){.number = i};
  *request = (LogRequestStruct)LogRequestALL;
  request->event = which == BenchFLOOR ? benchTen : benchEvent;
  request->data = &theCount[i];
  theHand[i].call = benchEvent;
  theHand[i].request = request;
  if (which == BenchTYPES)
    request->choose = benchChoose;
  if (which == BenchOVERLAP) {
    request->from = summary->first + i * eleventh;
    request->to = summary->first + (i + 2) * eleventh;
  }
}

/* benchRun -- CPU seconds of a case; *eventsReturn is how many events its first request counted */
static double benchRun(Log log, LogSummary summary, BenchCase which, uint64_t *eventsReturn)
{
  unsigned filed = which == BenchONE || which == BenchFLOOR ? 1 : benchREQUESTS, i;
  PawService service;
  clock_t begin = clock();

  if (PawServiceCreate(&service, log, 0) != ResOK)
    exit(1);
  for (i = 0; i < benchREQUESTS; ++i)
    benchRequest(i, which, summary);
  for (i = 0; i < filed; ++i)
    if (PawServiceFile(service, &theRequest[i]) != ResOK)
      exit(1);
  if (PawServiceRun(service, NULL, NULL) != ResOK)
    exit(1);
  PawServiceDestroy(service);
  *eventsReturn = theCount[0].events;
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
  LogHooksStruct hooks = {.data = NULL};
  LogSummaryStruct summary;
  const char *const *paths = (const char *const *)argv + 1;
  double best[BenchLIMIT], took;
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
    for (i = 0; i < BenchLIMIT; ++i) {
      took = benchRun(log, &summary, (BenchCase)i, i == BenchONE ? &events : &ignored);
      if (round == 0 || took < best[i])
        best[i] = took;
    }
  for (i = 0; i < BenchLIMIT; ++i)
    printf("%.2f ", best[i] * 1e9 / (double)(events != 0 ? events : 1));
  printf("\n");
  LogClose(log);
  return 0;
}
