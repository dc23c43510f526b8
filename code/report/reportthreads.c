/* reportthreads.c -- what threads did in each slice of time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .threads      Tests: test/report/report.t
 */
#include "report/reportthreads.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static const SeriesFieldStruct threadsFields[ReportThreadsFIELDS] = {
  [ReportThreadsEVENTS] = {"events", SeriesSUM}, [ReportThreadsALLOCS] = {"allocs", SeriesSUM},
  [ReportThreadsALLOCBYTES] = {"alloc_bytes", SeriesSUM}, [ReportThreadsFREES] = {"frees", SeriesSUM},
  [ReportThreadsFREEBYTES] = {"free_bytes", SeriesSUM}, [ReportThreadsUSER] = {"user_ns", SeriesSUM},
  [ReportThreadsSYSTEM] = {"system_ns", SeriesSUM}, [ReportThreadsWAITING] = {"waiting_ns", SeriesSUM},
  [ReportThreadsBLOCKED] = {"blocked_ns", SeriesSUM}, [ReportThreadsLOCK] = {"lock_ns", SeriesSUM},
};
static const SeriesFieldStruct threadsTypeFields[] = {{"events", SeriesSUM}};
static const char *const threadsSampled[ReportThreadsSAMPLED] = {"user", "system", "waiting", "blocked"};

/* threadsState -- what is known of a thread; NULL: no memory */
static ReportThreadsState threadsState(ReportThreads threads, uint32_t key)
{
  if (key == 0)
    return NULL;
  if (!GrowTo(&threads->state, &threads->states, key - 1, sizeof *threads->state)) {
    threads->failed = TRUE;
    return NULL;
  }
  return &threads->state[key - 1];
}

/* threadsSpread -- `amount` ns of something between two times, over the slices in proportion: what is rounded off comes
 * last */
static void threadsSpread(ReportThreads threads, Index row, ReportThreadsField field, uint64_t from, uint64_t to,
                          uint64_t amount)
{
  Index first = ReportSlice(threads->span, from), last = ReportSlice(threads->span, to), i;
  uint64_t left = amount;

  for (i = first; i < last; ++i) {
    uint64_t begin = threads->span->from + i * threads->span->slice, end = begin + threads->span->slice, part;
    begin = begin > from ? begin : from;
    part = end <= begin ? 0 : (uint64_t)((__uint128_t)amount * (end - begin) / (to - from));
    part = part < left ? part : left;
    SeriesAt(&threads->table, row, i)[field] += (int64_t)part;
    left -= part;
  }
  SeriesAt(&threads->table, row, last)[field] += (int64_t)left;
}

/* threadsKey -- that of the thread that a sample is about: it belongs to the process that has the number; 0: there is
 * none */
static uint32_t threadsKey(ReportThreads threads, LogEvent event, ReportThreadsPlan plan)
{
  uint32_t pid = (uint32_t)LogEventWord(event, (Index)plan->pid), key = 0;
  uint32_t tid = (uint32_t)LogEventWord(event, (Index)plan->tid);
  Index i;

  for (i = LogProcesses(threads->survey->shared->log); i > 0 && key == 0; --i) {
    LogProcess process = LogProcessAt(threads->survey->shared->log, i - 1);
    if (process->header.pid == pid && process->header.role[0] == '\0')
      key = SurveyThreadKey(threads->survey, process, tid);
  }
  return key;
}

/* threadsBegin -- a thread begins; another one may have had its number */
static void threadsBegin(ReportThreads threads, LogEvent event, uint32_t key)
{
  ReportThreadsState state = threadsState(threads, key);

  if (state == NULL)
    return;
  if (state->ended)
    memset(state->last, 0, sizeof state->last);
  state->known = ~0u;
  state->sampled = event->time;
  state->ended = FALSE;
}

/* threadsSample -- what a thread has done; what the collector read before its end may come after that */
static void threadsSample(ReportThreads threads, LogEvent event, ReportThreadsPlan plan, uint32_t own)
{
  Bool its = event->process->header.role[0] == '\0';
  uint32_t key = its ? own : threadsKey(threads, event, plan);
  ReportThreadsState state = threadsState(threads, key);
  uint64_t word, mask, from;
  Index i, row;

  if (state == NULL || (!its && state->ended))
    return;
  row = SurveyRow(threads->survey, key);
  from = state->sampled != 0 ? state->sampled : threads->span->from;
  from = from < event->time ? from : event->time;
  for (i = 0; i < ReportThreadsSAMPLED; ++i) {
    uint64_t grown;
    if (plan->field[i] < 0 || !ThreadSampleWord(&word, &mask, event, plan->field[i]))
      continue;
    word = ThreadOwn(its, state->last[i], word);
    grown = ThreadGrowth(state->known >> i & 1, threads->whole, state->last[i], word, mask);
    threadsSpread(threads, row, (ReportThreadsField)(ReportThreadsUSER + i), from, event->time, grown * 1000);
    state->last[i] = word;
    state->known |= 1u << i;
  }
  state->sampled = event->time;
  state->ended = its;
}

static void threadsPlan(ReportThreadsPlan plan, EventType type)
{
  Bool task = TypeCacheNamed(type, "TaskSample");
  Index i;

  plan->made = TRUE;
  plan->pid = task ? TypeCacheParam(type, "pid", "UW") : -1;
  plan->tid = TypeCacheParam(type, "task", "UW");
  plan->start = TypeCacheNamed(type, "ThreadStart") ? TypeCacheParam(type, "start", "PAWU") : -1;
  for (i = 0; i < ReportThreadsSAMPLED; ++i)
    plan->field[i] = TypeCacheParam(type, threadsSampled[i], "PAWU");
  plan->wait = ThreadWaitOf(type, &plan->begins);
}

/* threadsWait -- a thread begins or ends to wait for a lock */
static void threadsWait(ReportThreads threads, LogEvent event, ReportThreadsPlan plan, uint32_t key, Index row)
{
  ReportThreadsState state = threadsState(threads, key);

  if (state == NULL)
    return;
  if (!plan->begins && state->since[plan->wait] != 0)
    threadsSpread(threads, row, ReportThreadsLOCK, state->since[plan->wait], event->time,
                  event->time - state->since[plan->wait]);
  state->since[plan->wait] = plan->begins ? event->time : 0;
}

void ReportThreadsEvent(ReportThreads threads, LogEvent event)
{
  ReportThreadsPlan plan = TypeCacheOf(&threads->plans, event);
  SurveyTypePlan type = SurveyType(threads->survey, event);
  uint32_t key = SurveyThreadKey(threads->survey, event->process, event->thread);
  Index row = SurveyRow(threads->survey, key), slice = ReportSlice(threads->span, event->time);

  if (UNLIKELY(plan == NULL || type == NULL)) {
    threads->failed = TRUE;
    return;
  }
  if (UNLIKELY(!plan->made))
    threadsPlan(plan, event->type);
  if (type->number <= threads->types.rows)
    ++*SeriesAt(&threads->types, type->number - 1, slice);
  ++SeriesAt(&threads->table, row, slice)[ReportThreadsEVENTS];
  if (UNLIKELY(plan->pid >= 0 && plan->tid >= 0))
    threadsSample(threads, event, plan, key);
  if (UNLIKELY(plan->start >= 0) && LogEventWord(event, (Index)plan->start) != 0) /* in a state dump it has none */
    threadsBegin(threads, event, key);
  if (UNLIKELY(plan->wait < ThreadLOCKS))
    threadsWait(threads, event, plan, key, row);
}

/* ---- Operations on the heap ---- */

static int64_t *threadsCell(ReportThreads threads, HeapOperation operation)
{
  LogProcess process = LogProcessAt(threads->survey->shared->log, operation->process);
  uint32_t tid = operation->thread != NULL ? operation->thread->id : 0;
  Index row = SurveyRow(threads->survey, SurveyThreadKey(threads->survey, process, tid));

  return SeriesAt(&threads->table, row, ReportSlice(threads->span, operation->time));
}

static void threadsAlloc(void *data, HeapOperation operation)
{
  int64_t *cell = threadsCell(data, operation);

  cell[ReportThreadsALLOCS] += !operation->told;
  cell[ReportThreadsALLOCBYTES] += operation->told ? 0 : (int64_t)operation->object->size;
}

static void threadsFree(void *data, HeapOperation operation)
{
  Bool event = !operation->told && !operation->presumed && !operation->destroyed;
  int64_t *cell = threadsCell(data, operation);

  cell[ReportThreadsFREES] += event;
  cell[ReportThreadsFREEBYTES] += event ? (int64_t)operation->object->size : 0;
}

static void threadsResize(void *data, HeapOperation operation)
{
  int64_t *cell = threadsCell(data, operation);
  int64_t more = (int64_t)operation->object->size - (int64_t)operation->oldSize;

  cell[more > 0 ? ReportThreadsALLOCBYTES : ReportThreadsFREEBYTES] += more > 0 ? more : -more;
}

/* ---- The pass ---- */

Res ReportThreadsInit(ReportThreads threads, ViewHeap shared, Survey survey, ReportSpan span, Bool whole)
{
  ViewClientStruct client = {.heap = {.data = threads, .alloc = threadsAlloc, .free = threadsFree,
                                      .resize = threadsResize, .other = HeapIgnore}};

  *threads = (ReportThreadsStruct){.survey = survey, .span = span, .whole = whole};
  TypeCacheInit(&threads->plans, sizeof(ReportThreadsPlanStruct));
  if (SeriesTableInit(&threads->table, threadsFields, ReportThreadsFIELDS, survey->rows, span->slices) != ResOK ||
      SeriesTableInit(&threads->types, threadsTypeFields, ARRAY_LENGTH(threadsTypeFields), survey->kinds,
                      span->slices) != ResOK)
    return ResMEMORY;
  ViewHeapJoin(shared, &client);
  return ResOK;
}

void ReportThreadsFinish(ReportThreads threads)
{
  SeriesTableFinish(&threads->table);
  SeriesTableFinish(&threads->types);
  TypeCacheFinish(&threads->plans);
  free(threads->state);
}

void ReportThreadsHalve(ReportThreads threads, const Bool *first)
{
  SeriesHalve(&threads->table, first);
  SeriesHalve(&threads->types, first);
}

Size ReportThreadsJson(FILE *out, ReportThreads threads, Bool *failed)
{
  Size size;

  fputs(",\n \"bythread\": ", out);
  size = SeriesPacked(out, &threads->table, threads->table.rows - 1, failed);
  fputs(",\n \"bytype\": ", out);
  return size + SeriesPacked(out, &threads->types, threads->types.rows == 0 ? 0 : threads->types.rows - 1, failed);
}
