/* viewheap.c -- the one heap of all views that read the same events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/viewheap.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/heaplook.h"
#include "heap/switchedoff.h"

/* A plan: where an event of a type that brings an object has its site or stack. */
typedef struct heapPlanStruct {
  Bool made, stack;
  int param; /* -1: it has none */
  int size, usable; /* what was asked for and given, of a type that says both; -1: it is another type */
} heapPlanStruct, *heapPlan;

/* ---- Who asked ---- */

/* viewProcess -- what is kept of a process; NULL: no memory */
static ViewProcess viewProcess(ViewHeap shared, Index number)
{
  if (GrowTo(&shared->process, &shared->processes, number, sizeof *shared->process))
    return &shared->process[number];
  shared->failed = TRUE;
  return NULL;
}

/* viewNumber -- a number that was just given has a row in the book; 0: no memory */
static uint32_t viewNumber(ViewHeap shared, uint32_t number)
{
  if (UNLIKELY(number == 0) ||
      (shared->booked && number >= shared->book.count && SiteBookRoom(&shared->book, number + 1) != ResOK)) {
    shared->failed = TRUE;
    return 0;
  }
  return number;
}

static heapPlan viewPlan(heapPlan plan, EventType type)
{
  HeapDoes does = HeapTypeDoes(type);

  plan->made = TRUE;
  plan->param = plan->size = plan->usable = -1;
  if (does == HeapDoesUSABLE) {
    plan->size = TypeCacheParam(type, "size", "PAWU");
    plan->usable = TypeCacheParam(type, "usable", "PAWU");
  } else if (does != HeapDoesALLOC && does != HeapDoesZERO && does != HeapDoesALIGNED && does != HeapDoesEND &&
             does != HeapDoesLIVE) {
    return plan;
  }
  plan->param = TypeCacheParam(type, "stack", "PAWU");
  plan->stack = plan->param >= 0;
  if (!plan->stack)
    plan->param = TypeCacheParam(type, "site", "PAWU");
  return plan;
}

/* viewMark -- the number of what the event says of who asked; 0: it says nothing */
static inline uint32_t viewMark(ViewHeap shared, heapPlan plan, LogEvent event)
{
  ViewProcess process;
  uint64_t code;

  if (plan->param < 0)
    return 0;
  if (UNLIKELY((code = LogEventWord(event, (Index)plan->param)) == 0)) {
    shared->nowhere |= !plan->stack;
    return 0;
  }
  if (UNLIKELY((process = viewProcess(shared, event->process->number)) == NULL))
    return 0;
  if (plan->stack)
    process->stacked = TRUE;
  else
    process->sited = TRUE;
  return viewNumber(shared, SiteNumbersOf(&shared->numbers, (uint32_t)event->process->number, code, plan->stack,
                                          event->time));
}

/* viewUnknown -- the number of what a process has of unknown sites; 0: no memory */
static uint32_t viewUnknown(ViewHeap shared, Index number)
{
  ViewProcess process = viewProcess(shared, number);
  SiteStruct site = {.process = (uint32_t)number, .asker = (uint32_t)number};

  if (process == NULL)
    return 0;
  if (process->unknown == 0)
    process->unknown = viewNumber(shared, SiteNumbersAdd(&shared->numbers, &site));
  return process->unknown;
}

/* viewUsable -- the allocator gave so much to who asked, which has this number; 0: it is not known who asked */
static void viewUsable(ViewHeap shared, heapPlan plan, LogEvent event, uint32_t number)
{
  Index process = event->process->number;

  if (!shared->booked || (shared->of != NULL && OfProcessBefore(shared->of, process)))
    return;
  if (number == 0 && (number = viewUnknown(shared, process)) == 0)
    return;
  SiteBookUsable(&shared->book, number, LogEventWord(event, (Index)plan->size),
                 LogEventWord(event, (Index)plan->usable));
}

/* viewInherited -- the process's own number for an object that it inherited: its parent had `number` when the object
 * was allocated; 0: not known.  Returns 0 without memory. */
static uint32_t viewInherited(ViewHeap shared, Index process, uint32_t number)
{
  SiteStruct site;

  if (number == 0)
    return viewUnknown(shared, process);
  site = *SiteNumbersAt(&shared->numbers, number);
  site.process = (uint32_t)process;
  return viewNumber(shared, SiteNumbersAdd(&shared->numbers, &site));
}

/* viewOwn -- the number of the site that has the object, which is the process's own afterwards */
static inline uint32_t viewOwn(ViewHeap shared, HeapOperation operation)
{
  uint32_t number = operation->object->client;

  if (UNLIKELY(number == 0 || SiteNumbersAt(&shared->numbers, number)->process != operation->process))
    operation->object->client = number = viewInherited(shared, operation->process, number);
  return number;
}

uint32_t ViewHeapSite(ViewHeap shared, Index process, const HeapObjectStruct *object)
{
  uint32_t number = object->client;

  return number != 0 && SiteNumbersAt(&shared->numbers, number)->process == process ? number :
         viewInherited(shared, process, number);
}

/* ---- The hooks ---- */

/* viewHides -- is it of a process that others inherit from, and that does not count itself?  Once memory has run out
 * nothing counts: the book and the clients' counts lack what was not entered. */
static inline Bool viewHides(ViewHeap shared, HeapOperation operation)
{
  return UNLIKELY(shared->failed) || (UNLIKELY(shared->of != NULL) && OfProcessBefore(shared->of, operation->process));
}

static void viewAlloc(void *data, HeapOperation operation)
{
  ViewHeap shared = data;
  uint32_t number = LIKELY(operation->mark != 0) ? operation->mark : viewUnknown(shared, operation->process);
  Index i;

  operation->object->client = number;
  if (UNLIKELY(viewHides(shared, operation) || number == 0))
    return;
  for (i = 0; i < shared->clients; ++i)
    shared->client[i].heap.alloc(shared->client[i].heap.data, operation);
  if (shared->booked && UNLIKELY(operation->told)) {
    SiteBookTold(&shared->book, number, operation->object->size, operation->time);
  } else if (shared->booked) {
    SiteBookAlloc(&shared->book, number, operation->object->size, operation->time);
    (void)TemporariesDid(&shared->temporaries, operation, TRUE);
  }
}

static void viewFree(void *data, HeapOperation operation)
{
  ViewHeap shared = data;
  uint32_t number;
  Index i;

  if (UNLIKELY(viewHides(shared, operation)) || (number = viewOwn(shared, operation)) == 0)
    return;
  shared->temporary = shared->booked && !operation->told && !operation->presumed && !operation->destroyed &&
                      TemporariesDid(&shared->temporaries, operation, FALSE);
  for (i = 0; i < shared->clients; ++i)
    shared->client[i].heap.free(shared->client[i].heap.data, operation);
  if (shared->booked && UNLIKELY(operation->told))
    SiteBookUntold(&shared->book, number, operation->object->size);
  else if (shared->booked)
    SiteBookFree(&shared->book, number, operation->object->size, shared->temporary);
}

static void viewResize(void *data, HeapOperation operation)
{
  ViewHeap shared = data;
  uint32_t number;
  Index i;

  if (UNLIKELY(viewHides(shared, operation))) {
    operation->object->client = operation->mark != 0 ? operation->mark : operation->object->client;
    return;
  }
  if ((number = viewOwn(shared, operation)) == 0)
    return;
  if (operation->mark == 0)
    operation->mark = number;
  for (i = 0; i < shared->clients; ++i)
    shared->client[i].heap.resize(shared->client[i].heap.data, operation);
  if (shared->booked) {
    SiteBookResize(&shared->book, number, operation->mark, operation->oldSize, operation->object->size,
                   operation->time);
    (void)TemporariesDid(&shared->temporaries, operation, FALSE);
  }
  operation->object->client = operation->mark;
}

/* viewSum -- add an object to what its number has */
static void viewSum(void *data, Index process, HeapPool pool, HeapObject object)
{
  SiteSumStruct *many = data;

  UNUSED(pool);
  UNUSED(process);
  many[object->client].bytes += object->size;
  ++many[object->client].objects;
}

/* viewSums -- add up what a process has by the numbers that its objects have; FALSE: no memory */
static Bool viewSums(ViewHeap shared, Index process)
{
  if (!GrowTo(&shared->many, &shared->manys, shared->numbers.count, sizeof *shared->many))
    return FALSE;
  HeapLiveObjects(shared->heap, process, viewSum, shared->many);
  return TRUE;
}

/* viewInherits -- a child of fork begins with what its parent had: each site of which it has something gets a number of
 * its own */
static void viewInherits(ViewHeap shared, HeapOperation operation)
{
  Count count = shared->numbers.count + 1;
  uint32_t number, own;
  Index i;

  if (!viewSums(shared, operation->process)) {
    shared->failed = TRUE;
    return;
  }
  for (number = 0; number < count; ++number) {
    SiteSumStruct sum = shared->many[number];
    shared->many[number] = (SiteSumStruct){0};
    if (sum.objects == 0 || (own = viewInherited(shared, operation->process, number)) == 0)
      continue;
    if (shared->booked)
      SiteBookMany(&shared->book, own, &sum);
    for (i = 0; i < shared->clients; ++i)
      if (shared->client[i].many != NULL)
        shared->client[i].many(shared->client[i].heap.data, operation, own, &sum);
  }
}

/* viewBookProcess -- a process has ended, or has not after all */
static void viewBookProcess(ViewHeap shared, HeapOperation operation)
{
  uint32_t number = SiteNumbersFirst(&shared->numbers, operation->process);

  for (; number != 0; number = SiteNumbersAt(&shared->numbers, number)->next)
    (operation->kind == HeapPROCESSEND ? SiteBookLeave : SiteBookReturn)(&shared->book, number);
}

static void viewOther(void *data, HeapOperation operation)
{
  ViewHeap shared = data;
  Index i;

  if (viewHides(shared, operation))
    return;
  for (i = 0; i < shared->clients; ++i)
    shared->client[i].heap.other(shared->client[i].heap.data, operation);
  if (operation->kind == HeapPROCESSBEGIN && !operation->revived)
    viewInherits(shared, operation);
  else if (shared->booked && (operation->kind == HeapPROCESSEND || operation->kind == HeapPROCESSBEGIN))
    viewBookProcess(shared, operation);
  if (shared->booked && operation->kind == HeapPROCESSBEGIN)
    SiteBookPeak(&shared->book, operation->time);
}

/* ---- The request ---- */

static Bool viewEvent(LogRequest request, LogEvent event)
{
  ViewHeap shared = request->data;
  heapPlan plan = TypeCacheOf(&shared->plans, event);
  uint32_t number;
  Index i;

  if (UNLIKELY(plan == NULL)) {
    shared->failed = TRUE;
    return TRUE;
  }
  if (UNLIKELY(!plan->made))
    plan = viewPlan(plan, event->type);
  number = viewMark(shared, plan, event);
  HeapMark(shared->heap, number);
  HeapEvent(shared->heap, event);
  if (UNLIKELY(plan->usable >= 0))
    viewUsable(shared, plan, event, number);
  for (i = 0; shared->events && i < shared->clients; ++i)
    if (shared->client[i].event != NULL)
      shared->client[i].event(shared->client[i].heap.data, event);
  return shared->failed;
}

Res ViewHeapCreate(ViewHeap *sharedReturn, Log log, const LogRequestStruct *only, OfProcess of, CodeNames names)
{
  HeapClientStruct client = {.alloc = viewAlloc, .free = viewFree, .resize = viewResize, .other = viewOther};
  ViewHeap shared = calloc(1, sizeof *shared);

  if (shared == NULL)
    return ResMEMORY;
  client.data = shared;
  shared->log = log;
  shared->of = of;
  shared->only = *only;
  if (shared->only.chooseData == NULL)
    shared->only.chooseData = only->data;
  shared->names = names;
  SiteNumbersInit(&shared->numbers);
  TypeCacheInit(&shared->plans, sizeof(heapPlanStruct));
  if (HeapCreate(&shared->heap, &client, log) != ResOK) {
    free(shared);
    return ResMEMORY;
  }
  HeapOf(shared->heap, of);
  *sharedReturn = shared;
  return ResOK;
}

void ViewHeapDestroy(ViewHeap shared)
{
  TemporariesFinish(&shared->temporaries);
  free(shared->process);
  free(shared->many);
  HeapDestroy(shared->heap);
  SiteBookFinish(&shared->book);
  SiteNumbersFinish(&shared->numbers);
  TypeCacheFinish(&shared->plans);
  free(shared);
}

void ViewHeapJoin(ViewHeap shared, ViewClient client)
{
  ViewClient joined = &shared->client[shared->clients++];

  AVER(shared->clients <= ViewHeapClientsMAX && !shared->finished && !client->heap.each);
  *joined = *client;
  joined->heap.alloc = client->heap.alloc != NULL ? client->heap.alloc : HeapIgnore;
  joined->heap.free = client->heap.free != NULL ? client->heap.free : HeapIgnore;
  joined->heap.resize = client->heap.resize != NULL ? client->heap.resize : HeapIgnore;
  joined->heap.other = client->heap.other != NULL ? client->heap.other : HeapIgnore;
  shared->events = shared->events || client->event != NULL;
}

void ViewHeapBook(ViewHeap shared)
{
  if (!shared->booked && SiteBookInit(&shared->book) != ResOK)
    shared->failed = TRUE;
  shared->booked = TRUE;
}

Bool ViewHeapJoined(ViewHeap shared)
{
  return shared->clients > 0 || shared->booked;
}

LogRequest ViewHeapRequest(ViewHeap shared)
{
  LogRequest request = &shared->request;

  *request = shared->only;
  request->data = shared;
  request->event = viewEvent;
  if (!shared->events)
    HeapChoose(request, &shared->only);
  HeapOffPart(shared->heap, &shared->only);
  if (shared->names != NULL && shared->names->wanted &&
      CodeNamesModules(&shared->numbers.modules, shared->names) != ResOK)
    shared->failed = TRUE;
  return request;
}

Res ViewHeapFinish(ViewHeap shared)
{
  LogPositionStruct to = LogPositionLAST;
  Res settled;

  if (shared->finished)
    return shared->res;
  shared->finished = TRUE;
  if (shared->only.to != UINT64_MAX)
    PawPositionOfTime(&to, shared->log, shared->only.to);
  shared->res = HeapOffAhead(shared->heap, &to);
  HeapUntil(shared->heap, UINT64_MAX);
  shared->unended = HeapLiving(shared->heap);
  settled = HeapSettle(shared->heap);
  shared->res = settled != ResOK ? settled : shared->failed || shared->temporaries.failed ? ResMEMORY : shared->res;
  AVER(shared->res != ResOK || !shared->booked || SiteBookCheck(&shared->book));
  return shared->res;
}

ViewCallers ViewHeapCallers(ViewHeap shared)
{
  ViewCallers callers = ViewCallersNONE;
  Index i;

  for (i = 0; i < shared->processes; ++i)
    if (shared->process[i].stacked)
      return ViewCallersSTACKS;
    else if (shared->process[i].sited)
      callers = ViewCallersSITES;
  return callers;
}
