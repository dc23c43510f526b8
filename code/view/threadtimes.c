/* threadtimes.c -- what threads did with their time: the counting
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/threadtimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "heap/heap.h"
#include "view/viewclasses.h"

const char *const ThreadWaitName[ThreadWAITS] = {"mutex", "rwlock", "spin", "barrier", "cond", "sem", "thread"};

/* Types that begin and end a wait; the object is the parameter of the second name. */
static const struct {
  const char *begin, *end, *object;
} timesWaits[ThreadWAITS] = {
  [ThreadMUTEX] = {"MutexRequest", "MutexAcquire", "mutex"},
  [ThreadRWLOCK] = {"RwlockRequest", "RwlockAcquire", "rwlock"},
  [ThreadSPIN] = {"SpinRequest", "SpinAcquire", "spin"},
  [ThreadBARRIER] = {"BarrierReach", "BarrierResume", "barrier"},
  [ThreadCOND] = {"CondWaitBegin", "CondWaitEnd", "cond"},
  [ThreadSEM] = {"SemRequest", "SemAcquire", "sem"},
  [ThreadJOIN] = {"ThreadJoinBegin", "ThreadJoinEnd", "handle"},
};

enum {
  timesUNMADE, timesNOTHING, timesTASK, timesTASKNAME, timesTHREADNAME, timesMACHINE, timesEXIT, timesWAIT, timesDONE,
  timesCALL, timesRESIZE, timesRESIZED
};

/* What a type tells, and where its parameters are: fields as they are numbered; others as they are used. */
typedef struct timesPlanStruct {
  int tells;
  ThreadWait wait;
  Bool sync;
  int pid, tid, name, object, start;
  int field[ThreadFIELDS];
} timesPlanStruct, *timesPlan;

static const char *const timesFields[] = {"running", "user", "system", "waiting", "blocked", "disk"};
static const char *const timesMachine[] = {"user", "system", "idle", "disk", "stolen"};

/* ---- Types ---- */

/* planWords -- where these parameters are; FALSE: it lacks one */
static Bool planWords(int *place, EventType type, const char *const *name, Count count)
{
  Bool all = TRUE;
  Index i;

  for (i = 0; i < count; ++i)
    all = (place[i] = TypeCacheParam(type, name[i], "PAWU")) >= 0 && all;
  return all;
}

ThreadWait ThreadWaitOf(EventType type, Bool *beginsReturn)
{
  Index i;

  for (i = 0; i < ThreadWAITS; ++i) {
    *beginsReturn = TypeCacheNamed(type, timesWaits[i].begin);
    if (*beginsReturn || TypeCacheNamed(type, timesWaits[i].end))
      break;
  }
  return (ThreadWait)i;
}

/* planWait -- is it one of a pair? */
static void planWait(timesPlan plan, EventType type)
{
  Bool begins;
  ThreadWait wait = ThreadWaitOf(type, &begins);

  if (wait == ThreadWAITS)
    return;
  plan->tells = begins ? timesWAIT : timesDONE;
  plan->wait = wait;
  plan->object = TypeCacheParam(type, timesWaits[wait].object, "PAWU");
}

/* planHeap -- does it tell of a call of the allocator? */
static void planHeap(timesPlan plan, EventType type)
{
  switch (HeapTypeDoes(type)) {
  case HeapDoesALLOC: case HeapDoesZERO: case HeapDoesALIGNED: case HeapDoesFREE: plan->tells = timesCALL; break;
  case HeapDoesBEGIN: plan->tells = timesRESIZE; break;
  case HeapDoesEND: plan->tells = timesRESIZED; break;
  default: break;
  }
}

static void planMake(timesPlan plan, LogProcess process, EventType type)
{
  plan->tells = timesNOTHING;
  plan->sync = strcmp(process->registry->kind[type->kind % EventKindMAX], "Sync") == 0;
  plan->pid = TypeCacheParam(type, "pid", "UW");
  plan->tid = TypeCacheParam(type, "task", "UW");
  plan->name = TypeCacheParam(type, "name", "S");
  plan->start = -1;
  if (TypeCacheNamed(type, "TaskSample") && plan->pid >= 0 && plan->tid >= 0 &&
      planWords(plan->field, type, timesFields, ThreadFIELDS))
    plan->tells = timesTASK;
  else if (TypeCacheNamed(type, "TaskName") && plan->pid >= 0 && plan->tid >= 0 && plan->name >= 0)
    plan->tells = timesTASKNAME;
  else if (TypeCacheNamed(type, "MachineSample") && planWords(plan->field, type, timesMachine, ThreadMachineTIMES))
    plan->tells = timesMACHINE;
  else if (PidLivesExits(type))
    plan->tells = timesEXIT;
  else if ((TypeCacheNamed(type, "ThreadStart") || TypeCacheNamed(type, "ThreadName")) && plan->name >= 0) {
    plan->tells = timesTHREADNAME;
    plan->tid = TypeCacheParam(type, "thread", "UW");
    plan->start = TypeCacheParam(type, "start", "PAWU");
  }
  if (plan->tells == timesNOTHING)
    planWait(plan, type);
  if (plan->tells == timesNOTHING)
    planHeap(plan, type);
}

/* ---- Rows ---- */

/* rowOf -- that of a thread of a process; NULL: no memory */
static ThreadRow rowOf(ThreadTimes times, uint32_t life, uint32_t pid, uint32_t tid)
{
  uint32_t key[] = {life, tid};
  uint32_t number = life != 0 ? StringsAdd(&times->keys, (const char *)key, sizeof key) : 0;

  if (number > 0 && number <= times->rows)
    return times->row[number - 1];
  if (number == 0 || !Grow(&times->row, &times->capacity, times->rows, sizeof *times->row) ||
      (times->row[times->rows] = calloc(1, sizeof(ThreadRowStruct))) == NULL) {
    times->failed = TRUE;
    return NULL;
  }
  times->row[times->rows]->pid = pid;
  times->row[times->rows]->tid = tid;
  return times->row[times->rows++];
}

/* rowOwn -- that of the thread whose event it is, or of another one of its process; NULL: no memory */
static inline ThreadRow rowOwn(ThreadTimes times, LogEvent event, uint32_t tid)
{
  Index i = tid % ThreadTimesRECENT;

  if (UNLIKELY(times->recent[i].process != event->process || times->recent[i].row->tid != tid)) {
    ThreadRow row = rowOf(times, PidLivesOf(&times->lives, event), event->process->header.pid, tid);
    if (row == NULL)
      return NULL;
    times->recent[i].process = event->process;
    times->recent[i].row = row;
  }
  return times->recent[i].row;
}

/* rowProcessor -- one more event of a block that names this processor */
static void rowProcessor(ThreadTimes times, ThreadRow row, uint16_t number)
{
  Index i;

  if (LIKELY(row->newest < row->processors && row->processor[row->newest].number == number)) {
    ++row->processor[row->newest].events;
    return;
  }
  for (i = row->processors; i > 0 && row->processor[i - 1].number > number; --i)
    ;
  if (i > 0 && row->processor[i - 1].number == number) {
    ++row->processor[i - 1].events;
    row->newest = i - 1;
    return;
  }
  if (!Grow(&row->processor, &row->capacity, row->processors, sizeof *row->processor)) {
    times->failed = TRUE;
    return;
  }
  memmove(row->processor + i + 1, row->processor + i, (row->processors - i) * sizeof *row->processor);
  row->processor[i] = (ThreadProcessorStruct){number, 1};
  row->newest = i;
  ++row->processors;
}

static void rowName(ThreadTimes times, ThreadRow row, LogEvent event, timesPlan plan)
{
  Size length;
  const char *name = LogEventString(event, (Index)plan->name, &length);

  if (row != NULL && length > 0)
    row->name = StringsAdd(&times->strings, name, length);
}

/* rowTold -- that of the thread that an event of the collector is about; NULL: no memory */
static ThreadRow rowTold(ThreadTimes times, LogEvent event, timesPlan plan)
{
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->pid), tid = (uint32_t)LogEventWord(event, (Index)plan->tid);

  return rowOf(times, PidLivesTold(&times->lives, event, pid), pid, tid);
}

/* ---- Samples ---- */

Bool ThreadSampleWord(uint64_t *word, uint64_t *mask, LogEvent event, int param)
{
  *mask = event->type->width[param] == 8 ? UINT64_MAX : UINT32_MAX;
  *word = LogEventWord(event, (Index)param);
  return *word != *mask;
}

/* sampleTask -- what a thread has done since its beginning.  The collector may tell what it read before the thread's
 * end after that. */
static void sampleTask(ThreadTimes times, LogEvent event, timesPlan plan)
{
  Bool own = event->process->header.role[0] == '\0';
  ThreadRow row = own ? rowOwn(times, event, event->thread) : rowTold(times, event, plan);
  uint64_t word, mask;
  Bool known;
  Index i;

  if (row == NULL || (!own && row->ended))
    return;
  for (i = 0; i < ThreadFIELDS; ++i) {
    if (!ThreadSampleWord(&word, &mask, event, plan->field[i]))
      continue;
    word = ThreadOwn(own, row->last[i], word);
    known = row->began != 0 || (row->known >> i & 1) != 0;
    row->total[i] += ThreadGrowth(known, times->whole, row->last[i], word, mask);
    row->last[i] = word;
    row->known |= 1u << i;
  }
  ++row->samples;
  row->sampled = event->time;
  row->ended = own;
}

/* sampleBegin -- a thread begins, if it says with what: in a state dump it does not.  Another one may have had its
 * number. */
static void sampleBegin(ThreadRow row, LogEvent event, timesPlan plan)
{
  if (row == NULL || plan->start < 0 || LogEventWord(event, (Index)plan->start) == 0)
    return;
  if (row->ended)
    memset(row->last, 0, sizeof row->last);
  row->began = event->time;
  row->ended = FALSE;
}

static void sampleMachine(ThreadTimes times, LogEvent event, timesPlan plan)
{
  int processors = TypeCacheParam(event->type, "processors", "UW");
  uint64_t word, mask;
  Index i;

  if (times->looks == 0)
    times->collector = event->process->number;
  if (times->collector != event->process->number)
    return;
  for (i = 0; i < ThreadMachineTIMES; ++i) {
    (void)ThreadSampleWord(&word, &mask, event, plan->field[i]);
    if (times->looks == 0)
      times->machineFirst[i] = word;
    times->machine[i] = (word - times->machineFirst[i]) & mask;
  }
  times->processors = processors < 0 ? 0 : (uint32_t)LogEventWord(event, (Index)processors);
  ++times->looks;
}

/* ---- Events ---- */

/* timesOwn -- what a thread itself tells */
static void timesOwn(ThreadRow row, LogEvent event, timesPlan plan)
{
  switch (plan->tells) {
  case timesWAIT:
    row->wait[plan->wait].since = event->time;
    row->wait[plan->wait].process = event->process;
    row->wait[plan->wait].object = plan->object < 0 ? 0 : LogEventWord(event, (Index)plan->object);
    break;
  case timesDONE:
    if (row->wait[plan->wait].since == 0)
      break;
    row->wait[plan->wait].ns += event->time - row->wait[plan->wait].since;
    ++row->wait[plan->wait].count;
    row->wait[plan->wait].since = 0;
    break;
  case timesCALL: ++row->calls; break;
  case timesRESIZE:
    ++row->calls;
    row->resizeSince = event->time;
    break;
  case timesRESIZED:
    if (row->resizeSince == 0)
      break;
    row->resizing += event->time - row->resizeSince;
    ++row->resizes;
    row->resizeSince = 0;
    break;
  default: break;
  }
}

/* timesTell -- what is told of other threads, or of the machine */
static void timesTell(ThreadTimes times, LogEvent event, timesPlan plan)
{
  if (plan->tells == timesTASK)
    sampleTask(times, event, plan);
  else if (plan->tells == timesMACHINE)
    sampleMachine(times, event, plan);
  else if (plan->tells == timesEXIT)
    PidLivesExit(&times->lives, event);
  else if (plan->tid >= 0 && LogEventWord(event, (Index)plan->tid) != 0) {
    ThreadRow row = plan->tells == timesTASKNAME
                      ? rowTold(times, event, plan)
                      : rowOwn(times, event, (uint32_t)LogEventWord(event, (Index)plan->tid));
    sampleBegin(row, event, plan);
    rowName(times, row, event, plan);
  }
}

static Bool timesEvent(LogRequest request, LogEvent event)
{
  ThreadTimes times = request->data;
  timesPlan plan;
  ThreadRow row;

  if (UNLIKELY(times->of != NULL) && OfProcessBefore(times->of, event->process->number))
    return FALSE;
  plan = TypeCacheOf(&times->plans, event);
  if (UNLIKELY(plan == NULL)) {
    times->failed = TRUE;
    return TRUE;
  }
  if (UNLIKELY(plan->tells == timesUNMADE))
    planMake(plan, event->process, event->type);
  times->end = event->time;
  if (plan->tells >= timesTASK && plan->tells <= timesEXIT)
    timesTell(times, event, plan);
  if (UNLIKELY(event->process->header.role[0] != '\0'))
    return times->failed;
  if (UNLIKELY((row = rowOwn(times, event, event->thread)) == NULL))
    return TRUE;
  ++row->events;
  times->sync |= plan->sync;
  times->objects |= plan->tells >= timesCALL;
  if (UNLIKELY(event->cpu == LogCpuUNKNOWN))
    ++row->lost;
  else
    rowProcessor(times, row, event->cpu);
  timesOwn(row, event, plan);
  return times->failed;
}

/* ---- The view ---- */

Bool ThreadTimesCheck(ThreadTimes times)
{
  Index i, j;

  if (times->rows != times->keys.count || !PidLivesCheck(&times->lives))
    return FALSE;
  for (i = 0; i < times->rows; ++i) {
    ThreadRow row = times->row[i];
    uint64_t events = row->lost;
    for (j = 0; j < row->processors; ++j) {
      if (j > 0 && row->processor[j - 1].number >= row->processor[j].number)
        return FALSE;
      events += row->processor[j].events;
    }
    if (events != row->events)
      return FALSE;
  }
  return TRUE;
}

static Res timesCreate(void **viewReturn, ViewWants wants)
{
  ThreadTimes times = calloc(1, sizeof *times);

  if (times == NULL)
    return ResMEMORY;
  times->log = times->lives.log = wants->log;
  times->of = wants->of;
  times->top = wants->top;
  times->whole = wants->request->from == 0 && wants->request->start == NULL;
  TypeCacheInit(&times->plans, sizeof(timesPlanStruct));
  ViewLabelsInit(&times->labels);
  times->request = *wants->request;
  if (times->request.chooseData == NULL)
    times->request.chooseData = times->request.data;
  times->request.data = times;
  times->request.event = timesEvent;
  *viewReturn = times;
  return ResOK;
}

static LogRequest timesRequest(void *view)
{
  return &((ThreadTimes)view)->request;
}

static int timesCompare(const void *a, const void *b)
{
  const ThreadRowStruct *x = *(const ThreadRow *)a, *y = *(const ThreadRow *)b;

  if (x->total[ThreadRUNNING] != y->total[ThreadRUNNING])
    return x->total[ThreadRUNNING] > y->total[ThreadRUNNING] ? -1 : 1;
  if (x->events != y->events)
    return x->events > y->events ? -1 : 1;
  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static Res timesFinish(void *view)
{
  ThreadTimes times = view;

  if (times->failed || times->strings.failed)
    return ResMEMORY;
  AVER(ThreadTimesCheck(times));
  if (times->rows > 0)
    qsort(times->row, times->rows, sizeof *times->row, timesCompare);
  return ViewLabelsPart(&times->labels, times->log, &times->request);
}

static void timesDestroy(void *view)
{
  ThreadTimes times = view;
  Index i;

  for (i = 0; i < times->rows; ++i) {
    free(times->row[i]->processor);
    free(times->row[i]);
  }
  free(times->row);
  StringsFinish(&times->strings);
  StringsFinish(&times->keys);
  PidLivesFinish(&times->lives);
  ViewLabelsFinish(&times->labels);
  TypeCacheFinish(&times->plans);
  free(times);
}

const ViewClassStruct ViewClassThreads = {
  "threads", "what threads did with their time, beside what `ps' would say (--top)", ViewTakesTOP, timesCreate,
  timesRequest, timesFinish, ThreadTimesText, ThreadTimesJson, timesDestroy
};
