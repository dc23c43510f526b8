/* requestchecktest.c -- the checks of passes, services, and what waits for them see what is wrong
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each event ends the run: so a pass stands where two blocks are open, and one thing at a time is made wrong.
 */
#include "request/arriving.h"
#include "request/requestservice.h"
#include "request/stringtable.h"
#include "tap.h"

static const char *const path = "test/good/threads.paw";
static PawService service;

static void testReading(Reading reading)
{
  ReadingOpen heap = reading->heap;

  PLANT(reading->open, reading->capacity + 1, ReadingCheck(reading),
        "what breaks this: no more blocks are open than there is room for");
  PLANT(reading->streams, reading->log->table.streams + 1, ReadingCheck(reading),
        "what breaks this: a pass knows streams of the log");
  PLANT(reading->from.fine, UINT64_MAX, ReadingCheck(reading),
        "what breaks this: it does not go back behind its beginning");
  PLANT(heap[0].loaded->next, heap[0].loaded->count, ReadingCheck(reading),
        "what breaks this: an open block has a next event,");
  PLANT(heap[0].fine, heap[0].fine - 1, ReadingCheck(reading), "what breaks this: whose time stands in the heap");
  heap[0].fine = heap[0].loaded->item[heap[0].loaded->next].fine += UINT64_MAX / 2;
  TapOk(reading->open > 1 && !ReadingCheck(reading), "and which is in order");
  heap[0].fine = heap[0].loaded->item[heap[0].loaded->next].fine -= UINT64_MAX / 2;
}

static Bool other(LogRequest request, LogEvent event)
{
  UNUSED(request);
  UNUSED(event);
  return FALSE;
}

static void testService(void)
{
  Filed filed = service->filed[0];

  PLANT(filed->state, FiledENDED, ServiceCheck(service), "what breaks this: nothing that has ended is filed");
  PLANT(filed->bit, 0u, ServiceCheck(service), "what breaks this: who is served has a slot,");
  PLANT(filed->bit, filed->bit << 1, ServiceCheck(service), "what breaks this: which is its own");
  PLANT(service->slot[0], service->filed[1], ServiceCheck(service), "what breaks this: and nobody else's");
  PLANT(filed->begun, FALSE, ServiceCheck(service), "what breaks this: no chunk is begun before the whole");
  PLANT(filed->places, filed->processes + filed->streams + 1, ServiceCheck(service),
        "what breaks this: hooks are called for what there is");
  PLANT(service->served, 0u, ServiceCheck(service), "what breaks this: those that are served are counted");
  PLANT(service->current.at, service->current.at + 1, ServiceCheck(service),
        "what breaks this: and are where the pass is");
}

static Bool event(LogRequest request, LogEvent the)
{
  UNUSED(request);
  UNUSED(the);
  return TRUE;
}

static void testQueue(void)
{
  QueueStruct queue = {0};
  PartialsStruct partials = {0};
  IndexEntryStruct entry = {.sequence = 5, .flags = BlockFlagSNAPSHOT};
  Partial *list = &partials.list[5];
  Bool wanted;

  (void)QueuePut(&queue, 10, &entry);
  (void)QueuePut(&queue, 20, &entry);
  PLANT(queue.count, queue.capacity + 1, QueueCheck(&queue),
        "what breaks this: a queue has no more entries than room,");
  PLANT(queue.heap[1].fine, 9u, QueueCheck(&queue), "what breaks this: and they are in order");
  QueueFree(&queue);
  (void)PartialsSee(&wanted, &partials, &entry, FALSE);
  PLANT(partials.count, 0u, PartialsCheck(&partials), "what breaks this: blocks that come in part are counted,");
  PLANT((*list)->sequence, 6u, PartialsCheck(&partials), "what breaks this: and in the list where they are looked for");
  PartialsFree(&partials);
}

static void testStrings(void)
{
  StringsStruct strings = {0};

  (void)StringsAdd(&strings, "one", 3);
  (void)StringsAdd(&strings, "two", 3);
  PLANT(strings.count, strings.capacity + 1, StringsCheck(&strings),
        "what breaks this: there are no more strings than room");
  PLANT(strings.capacity, 63u, StringsCheck(&strings), "what breaks this: the room is a power of two");
  PLANT(strings.string[1], strings.string[0], StringsCheck(&strings), "what breaks this: each string is there once");
  StringsFinish(&strings);
}

int main(void)
{
  LogRequestStruct request[2] = {LogRequestALL, LogRequestALL};
  LogHooksStruct hooks = {0};
  char error[256];
  Log log;

  testQueue();
  testStrings();
  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK || PawServiceCreate(&service, log, 0) != ResOK) {
    TapOk(FALSE, "%s", error);
    return TapDone();
  }
  request[0].event = event;
  request[1].event = other;
  (void)PawServiceFile(service, &request[0]);
  (void)PawServiceFile(service, &request[1]);
  while (service->served == 0 || service->pass.reading == NULL || service->pass.reading->open < 2) {
    Bool look;
    (void)ServiceStep(service, &look);
  }
  testService();
  testReading(service->pass.reading);
  PawServiceDestroy(service);
  LogClose(log);
  return TapDone();
}
