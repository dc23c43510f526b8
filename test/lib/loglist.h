/* loglist.h -- logs, and beside them the lists of events that reading them must give
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_LOGLIST_H
#define TEST_LOGLIST_H

#include "logmake.h"
#include "request/request.h"

enum { testEVENTS = 200000, testRealBASE = 86400 };

static const uint64_t testReal = testRealBASE * (uint64_t)1000000000; /* of tick 0 */

/* An event as the test knows it. */
typedef struct TestEventStruct {
  uint64_t time; /* ticks, which are ns */
  uint32_t pid, stream;
  uint32_t place; /* number in its stream */
  uint64_t id;    /* what its parameter says */
  uint16_t code;
} TestEventStruct;

typedef struct TestListStruct {
  Count count;
  TestEventStruct event[testEVENTS];
  uint64_t gaps, lost, notes;
  char gap[256], note[256], first[512]; /* the last of each, and the first note */
} TestListStruct, *TestList;

static TestListStruct made, got;
static MakeBlockStruct blocks[16];
static char path[64] = "/tmp/logtestXXXXXX";

static void listGap(void *data, LogGap gap)
{
  TestList list = data;

  ++list->gaps;
  list->lost += gap->lost;
  (void)snprintf(list->gap, sizeof list->gap, "%s", gap->what);
}

static void listNote(void *data, const char *line)
{
  TestList list = data;

  if (list->notes++ == 0)
    (void)snprintf(list->first, sizeof list->first, "%s", line);
  (void)snprintf(list->note, sizeof list->note, "%s", line);
}

static Bool listEvent(LogRequest request, LogEvent event)
{
  TestList list = request->data;
  TestEventStruct *e = &list->event[list->count++];

  e->time = event->time - testReal;
  e->pid = HeaderLeader(&event->process->header);
  e->stream = event->stream;
  e->code = event->type->code;
  e->id = LogEventWord(event, 1);
  return list->count == testEVENTS;
}

__attribute__((unused)) static void listAdd(TestList list, uint64_t time, MakeBlock block, uint32_t place,
      uint64_t id, uint16_t code)
{
  TestEventStruct *e = &list->event[list->count++];

  e->time = time;
  e->pid = block->process->header.pid;
  e->stream = block->header.stream;
  e->place = place;
  e->id = id;
  e->code = code;
}

/* The one order: time, process, stream, place.  Processes appear by rising pid in these logs. */
__attribute__((unused)) static int listCompare(const void *a, const void *b)
{
  const TestEventStruct *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* listSame -- the first difference of two lists, or minus one */
__attribute__((unused)) static long listSame(TestList a, TestList b)
{
  Index i;

  for (i = 0; i < a->count && i < b->count; ++i)
    if (a->event[i].time != b->event[i].time || a->event[i].id != b->event[i].id ||
        a->event[i].code != b->event[i].code || a->event[i].stream != b->event[i].stream ||
        a->event[i].pid != b->event[i].pid)
      return (long)i;
  return a->count == b->count ? -1 : (long)i;
}

static Log testOpen(TestList list)
{
  LogHooksStruct hooks = {.data = list, .gap = listGap, .note = listNote,
                           .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  const char *paths[1] = {path};
  char error[256];
  Log log = NULL;

  list->count = 0;
  list->gaps = list->lost = list->notes = 0;
  list->gap[0] = list->note[0] = list->first[0] = '\0';
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
    printf("# %s\n", error);
    return NULL;
  }
  return log;
}

static Res testRead(Log log, TestList list, LogRequest request)
{
  list->count = 0;
  request->event = listEvent;
  request->data = list;
  return LogRead(log, request);
}

/* testReadAll -- the whole file into `got`; returns whether that worked */
__attribute__((unused)) static Bool testReadAll(void)
{
  LogRequestStruct request = LogRequestALL;
  Log log = testOpen(&got);
  Res res;

  if (log == NULL)
    return FALSE;
  res = testRead(log, &got, &request);
  LogClose(log);
  return res == ResOK;
}

#endif /* TEST_LOGLIST_H */
