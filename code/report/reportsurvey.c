/* reportsurvey.c -- what the second pass of a report has to know of the log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .survey      Tests: test/report/report.t
 */
#include "report/reportsurvey.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "base/text.h"
#include "export/jsondocument.h"
#include "log/processname.h"

/* ---- Types ---- */

/* surveyKey -- a type by what it is called, and its parameters; 0: no memory */
static uint32_t surveyKey(Survey survey, LogProcess process, EventType type)
{
  char key[2048];
  TextStruct text;
  Index i;

  TextInit(&text, key, sizeof key);
  TextString(&text, process->registry->kind[type->kind % EventKindMAX]);
  TextFormat(&text, " %u %.*s", type->code, (int)type->nameLength, type->name);
  for (i = 0; i < type->params; ++i)
    TextFormat(&text, " %c%.*s", type->letter[i], (int)type->paramLength[i], type->param[i]);
  return StringsAdd(&survey->typeKeys, key, TextLength(&text));
}

/* surveyTypeMake -- the plan of a type that is met for the first time; FALSE: no memory */
static Bool surveyTypeMake(Survey survey, SurveyTypePlan plan, LogEvent event)
{
  EventType type = event->type;
  uint32_t number = surveyKey(survey, event->process, type);

  if (number == 0)
    return FALSE;
  if (number > survey->kinds) {
    if (!Grow(&survey->kind, &survey->kindCapacity, survey->kinds, sizeof *survey->kind))
      return FALSE;
    survey->kind[survey->kinds++] = (SurveyKindStruct){type, event->process};
  }
  plan->failure = TypeCacheNamed(type, "PoolAllocFail");
  plan->how = TypeCacheNamed(type, "ProcessExit") ? TypeCacheParam(type, "how", "S") : -1;
  plan->status = TypeCacheParam(type, "status", "UW");
  plan->pid = TypeCacheParam(type, "pid", "UW");
  plan->name = TypeCacheNamed(type, "ThreadName") || TypeCacheNamed(type, "ThreadStart")
    ? TypeCacheParam(type, "name", "S") : -1;
  plan->thread = TypeCacheParam(type, "thread", "UW");
  plan->number = number;
  return TRUE;
}

SurveyTypePlan SurveyType(Survey survey, LogEvent event)
{
  SurveyTypePlan plan = TypeCacheOf(&survey->types, event);

  if (UNLIKELY(plan == NULL) || (UNLIKELY(plan->number == 0) && !surveyTypeMake(survey, plan, event))) {
    survey->failed = TRUE;
    return NULL;
  }
  return plan;
}

/* ---- Threads ---- */

uint32_t SurveyThreadKey(Survey survey, LogProcess process, uint32_t tid)
{
  Index i = (tid ^ process->number) % ARRAY_LENGTH(survey->recent);
  uint32_t key[] = {(uint32_t)process->number, tid};

  if (LIKELY(survey->recent[i].process == process && survey->recent[i].tid == tid))
    return survey->recent[i].key;
  survey->recent[i].key = StringsAdd(&survey->threadKeys, (const char *)key, sizeof key);
  survey->recent[i].process = process;
  survey->recent[i].tid = tid;
  return survey->recent[i].key;
}

/* surveyThread -- the thread of the first pass with this number; NULL: no memory */
static SurveyThread surveyThread(Survey survey, LogProcess process, uint32_t tid)
{
  uint32_t key = SurveyThreadKey(survey, process, tid);

  if (key > 0 && key <= survey->threads)
    return &survey->thread[key - 1];
  if (key == 0 || !Grow(&survey->thread, &survey->threadCapacity, survey->threads, sizeof *survey->thread)) {
    survey->failed = TRUE;
    return NULL;
  }
  survey->thread[survey->threads] = (SurveyThreadStruct){.process = (uint32_t)process->number, .tid = tid, .key = key};
  return &survey->thread[survey->threads++];
}

static uint32_t surveyString(Survey survey, LogEvent event, int param)
{
  Size length;
  const char *string = LogEventString(event, (Index)param, &length);

  return StringsAdd(&survey->strings, string, length);
}

/* ---- Events ---- */

/* surveyRare -- what only some types tell */
static void surveyRare(Survey survey, LogEvent event, SurveyTypePlan plan)
{
  if (plan->failure && survey->failures++ < SurveyFAILURES)
    survey->failure[survey->failures - 1] = survey->events;
  if (plan->how >= 0 && plan->status >= 0 && plan->pid >= 0) {
    if (!Grow(&survey->end, &survey->endCapacity, survey->ends, sizeof *survey->end)) {
      survey->failed = TRUE;
      return;
    }
    survey->end[survey->ends++] = (SurveyEndStruct){
      .pid = (uint32_t)LogEventWord(event, (Index)plan->pid), .how = surveyString(survey, event, plan->how),
      .status = (uint32_t)LogEventWord(event, (Index)plan->status), .time = event->time};
  }
  if (plan->name >= 0) {
    uint32_t tid = plan->thread >= 0 ? (uint32_t)LogEventWord(event, (Index)plan->thread) : 0;
    SurveyThread thread = surveyThread(survey, event->process, tid != 0 ? tid : event->thread);
    uint32_t name = surveyString(survey, event, plan->name);
    if (thread != NULL && name != 0)
      thread->name = name;
  }
}

static void surveyMark(Survey survey, LogEvent event)
{
  const char *name;
  Size length;

  if (MarksEvent(&name, &length, &survey->marks, event) != ResOK)
    survey->failed = TRUE;
  else if (name != NULL && survey->markCount++ < SurveyMARKS)
    survey->mark[survey->markCount - 1] = (SurveyMarkStruct){
      event->time, survey->events, StringsAdd(&survey->strings, name, length),
      SurveyThreadKey(survey, event->process, event->thread)};
}

/* surveyProcess -- the process has an event now */
static inline void surveyProcess(Survey survey, LogEvent event)
{
  Index number = event->process->number;

  if (UNLIKELY(number >= survey->processes))
    return;
  if (survey->first[number] == 0)
    survey->first[number] = event->time;
  survey->last[number] = event->time;
}

static void surveyEvent(void *data, LogEvent event)
{
  Survey survey = data;
  SurveyTypePlan plan;
  SurveyThread thread;

  if (!SurveyShows(survey, event) || (plan = SurveyType(survey, event)) == NULL)
    return;
  surveyProcess(survey, event);
  if (UNLIKELY(plan->failure || plan->how >= 0 || plan->name >= 0))
    surveyRare(survey, event, plan);
  surveyMark(survey, event);
  thread = surveyThread(survey, event->process, event->thread);
  ++survey->events;
  if (UNLIKELY(thread == NULL))
    return;
  if (thread->events++ == 0)
    thread->first = event->time;
  thread->last = event->time;
}

/* surveyTell -- an operation on the heap: is it a new peak?  The event that it comes from is a few before the
 * newest. */
static void surveyTell(void *data, HeapOperation operation)
{
  Survey survey = data;
  uint64_t most = survey->live.peakBytes;

  HeapSumTell(&survey->live, operation);
  if (survey->live.peakBytes > most)
    survey->peak = survey->events;
}

/* ---- The pass ---- */

Res SurveyInit(Survey survey, ViewHeap shared, ReportSpan span, OfProcess of)
{
  ViewClientStruct client = {.heap = {.data = survey, .alloc = surveyTell, .free = surveyTell, .resize = surveyTell,
                                      .other = surveyTell}, .event = surveyEvent};

  *survey = (SurveyStruct){.shared = shared, .span = span, .of = of, .processes = LogProcesses(shared->log)};
  TypeCacheInit(&survey->types, sizeof(SurveyTypePlanStruct));
  MarksInit(&survey->marks);
  survey->first = calloc(survey->processes + 1, sizeof *survey->first);
  survey->last = calloc(survey->processes + 1, sizeof *survey->last);
  if (survey->first == NULL || survey->last == NULL)
    return ResMEMORY;
  ViewHeapJoin(shared, &client);
  return ResOK;
}

void SurveyFinish(Survey survey)
{
  StringsFinish(&survey->strings);
  StringsFinish(&survey->threadKeys);
  StringsFinish(&survey->typeKeys);
  TypeCacheFinish(&survey->types);
  MarksFinish(&survey->marks);
  free(survey->thread);
  free(survey->threadRow);
  free(survey->kind);
  free(survey->end);
  free(survey->first);
  free(survey->last);
}

static int surveyBusier(const void *a, const void *b)
{
  const SurveyThreadStruct *x = a, *y = b;

  if (x->events != y->events)
    return x->events > y->events ? -1 : 1;
  return x->key < y->key ? -1 : x->key > y->key;
}

Res SurveyOver(Survey survey)
{
  Index i;

  survey->threadRow = calloc(survey->threads + 1, sizeof *survey->threadRow);
  if (survey->threadRow == NULL || survey->failed || survey->strings.failed)
    return ResMEMORY;
  if (survey->threads > 0)
    qsort(survey->thread, survey->threads, sizeof *survey->thread, surveyBusier);
  survey->rows = (survey->threads < SurveyTHREADS ? survey->threads : SurveyTHREADS - 1) + 1;
  for (i = 0; i < survey->threads; ++i)
    survey->threadRow[survey->thread[i].key - 1] = (uint32_t)(i < survey->rows - 1 ? i : survey->rows - 1);
  return ResOK;
}

/* ---- JSON ---- */

static void surveyName(FILE *out, Survey survey, const char *member, uint32_t string)
{
  Size length = 0;
  const char *name = string == 0 ? "" : StringsAt(&survey->strings, string, &length);

  fprintf(out, "\"%s\": ", member);
  JsonBytes(out, name, length);
}

static unsigned long long surveyTime(Survey survey, uint64_t time)
{
  return time < survey->span->zero ? 0 : time - survey->span->zero;
}

static void surveyThreadsJson(FILE *out, Survey survey)
{
  Count rows = survey->rows - 1;
  Index i;

  fputs(",\n \"threads\": [", out);
  for (i = 0; i < rows; ++i) {
    SurveyThread thread = &survey->thread[i];
    fprintf(out, "%s\n  {\"pid\": %u, \"tid\": %u, \"process\": %u, \"begin\": %llu, \"end\": %llu, ",
            i == 0 ? "" : ",", LogProcessAt(survey->shared->log, thread->process)->header.pid, thread->tid,
            thread->process, surveyTime(survey, thread->first), surveyTime(survey, thread->last));
    surveyName(out, survey, "name", thread->name);
    putc('}', out);
  }
  fprintf(out, "%s\n  {\"other\": true, \"name\": \"%zu other threads\"}]", rows == 0 ? "" : ",",
          survey->threads - rows);
}

/* surveyEndOf -- how a process ended, as the collector saw it; NULL: it did not see that */
static SurveyEnd surveyEndOf(Survey survey, Index number)
{
  uint32_t pid = LogProcessAt(survey->shared->log, number)->header.pid;
  SurveyEnd found = NULL;
  Index i;

  for (i = 0; i < survey->ends && survey->last[number] != 0; ++i)
    if (survey->end[i].pid == pid && survey->end[i].time + 1000000000u >= survey->last[number] && found == NULL)
      found = &survey->end[i];
  return found;
}

/* surveyEndJson -- print when and how a process ended */
static void surveyEndJson(FILE *out, Survey survey, SurveyEnd end)
{
  Size length = 0;
  const char *how = end->how == 0 ? "" : StringsAt(&survey->strings, end->how, &length);

  fprintf(out, ", \"ended\": %llu", surveyTime(survey, end->time));
  if (strcmp(how, "exit") == 0)
    fprintf(out, ", \"how\": \"exited %u\"", end->status);
  else if (strcmp(how, "signal") == 0)
    fprintf(out, ", \"how\": \"killed by signal %u\"", end->status);
}

static void surveyProcessesJson(FILE *out, Survey survey)
{
  Index i;

  fputs(",\n \"processes\": [", out);
  for (i = 0; i < survey->processes; ++i) {
    LogProcess process = LogProcessAt(survey->shared->log, i);
    SurveyEnd end = surveyEndOf(survey, i);
    const char *name = HeaderCalled(&process->header);
    fprintf(out, "%s\n  {\"pid\": %u, \"begin\": %llu, \"end\": %llu, \"events\": %s, \"collector\": %s, \"name\": ",
            i == 0 ? "" : ",", process->header.pid, surveyTime(survey, survey->first[i]),
            surveyTime(survey, survey->last[i]), survey->last[i] != 0 ? "true" : "false",
            process->header.role[0] != '\0' ? "true" : "false");
    JsonString(out, name);
    fputs(", \"program\": ", out);
    JsonString(out, process->header.program);
    if (end != NULL)
      surveyEndJson(out, survey, end);
    putc('}', out);
  }
  putc(']', out);
}

static void surveyMarksJson(FILE *out, Survey survey)
{
  Index i;

  fprintf(out, ",\n \"marks_all\": %zu,\n \"marks\": [", survey->markCount);
  for (i = 0; i < survey->markCount && i < SurveyMARKS; ++i) {
    fprintf(out, "%s\n  {\"time\": %llu, \"thread\": %zu, ", i == 0 ? "" : ",",
            surveyTime(survey, survey->mark[i].time), SurveyRow(survey, survey->mark[i].thread));
    surveyName(out, survey, "name", survey->mark[i].name);
    putc('}', out);
  }
  putc(']', out);
}

/* surveyTypesJson -- print the types of events: the rows of bytype, and what the events themselves are */
static void surveyTypesJson(FILE *out, Survey survey)
{
  Index i, j;

  fputs(",\n \"types\": [", out);
  for (i = 0; i < survey->kinds; ++i) {
    EventType type = survey->kind[i].type;
    fprintf(out, "%s\n  {\"code\": %u, \"kind\": ", i == 0 ? "" : ",", type->code);
    JsonString(out, survey->kind[i].process->registry->kind[type->kind % EventKindMAX]);
    fputs(", \"name\": ", out);
    JsonBytes(out, type->name, type->nameLength);
    fputs(", \"format\": ", out);
    JsonBytes(out, type->describe, type->describeLength);
    fprintf(out, ", \"site\": %s, \"params\": [", SurveyTypeAsks(type) ? "true" : "false");
    for (j = 0; j < type->params; ++j) {
      fprintf(out, "%s{\"sort\": \"%c\", \"name\": ", j == 0 ? "" : ", ", type->letter[j]);
      JsonBytes(out, type->param[j], type->paramLength[j]);
      putc('}', out);
    }
    fputs("]}", out);
  }
  putc(']', out);
}

void SurveyJson(FILE *out, Survey survey)
{
  surveyThreadsJson(out, survey);
  surveyProcessesJson(out, survey);
  surveyMarksJson(out, survey);
  surveyTypesJson(out, survey);
}
