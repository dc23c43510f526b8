/* labels.c -- strings to which a program gave numbers, and addresses that it labelled with them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/labels.h"

#include <stdlib.h>
#include "base/aver.h"
#include "base/grow.h"

void LabelsInit(Labels labels, Strings strings)
{
  *labels = (LabelsStruct){.strings = strings};
}

static void labelsTablesFinish(LabelsTables tables)
{
  Index i;

  for (i = 0; i < tables->count; ++i)
    HeapTableFinish(&tables->table[i]);
  free(tables->table);
}

void LabelsFinish(Labels labels)
{
  labelsTablesFinish(&labels->string);
  labelsTablesFinish(&labels->label);
  LabelsInit(labels, labels->strings);
}

static void labelsMatch(TypeCacheTell tell, EventType type)
{
  static const TypeCacheKnownStruct known[] = {{"Intern", LabelsSTRING, {"UW id", "S string"}},
                                               {"Label", LabelsLABEL, {"UW id", "PA addr"}}};

  TypeCacheMatch(tell, type, known, ARRAY_LENGTH(known));
}

int LabelsTells(EventType type)
{
  TypeCacheTellStruct tell;

  labelsMatch(&tell, type);
  return tell.tells;
}

/* labelsTable -- the table of the process with this number; NULL: no memory */
static HeapTable labelsTable(LabelsTables tables, Index number)
{
  while (number >= tables->count) {
    if (!Grow(&tables->table, &tables->capacity, tables->count, sizeof *tables->table))
      return NULL;
    tables->table[tables->count++] = (HeapTableStruct){.objects = NULL};
  }
  if (tables->table[number].objects == NULL && HeapTableInit(&tables->table[number]) != ResOK)
    return NULL;
  return &tables->table[number];
}

/* labelsSet -- store a value for `key` in the process's table; 0, which is neither an address nor a number plus one,
 * removes it */
static Res labelsSet(LabelsTables tables, LogEvent event, uint64_t key, uint32_t string)
{
  HeapTable table = labelsTable(tables, event->process->number);
  HeapObject place;

  AVER_CRITICAL(table == NULL || table->objects != NULL);
  if (table == NULL)
    return ResMEMORY;
  if (key == 0)
    return ResOK;
  if ((place = HeapTablePut(table, key)) == NULL)
    return ResMEMORY;
  place->client = string;
  place->time = event->time;
  return ResOK;
}

/* labelsGet -- the value of `key` in a process's table, if it was set at `since` or later; 0: none */
static uint32_t labelsGet(LabelsTables tables, LogProcess process, uint64_t key, uint64_t since)
{
  HeapTable table = process->number < tables->count ? &tables->table[process->number] : NULL;
  HeapObject place;

  if (table == NULL || table->objects == NULL || key == 0)
    return 0;
  place = HeapTableSeek(table, key);
  return place->addr == key && place->time >= since ? place->client : 0;
}

Res LabelsLearn(Labels labels, LogEvent event)
{
  TypeCacheTellStruct tell;
  const char *bytes;
  uint64_t id;
  Size length;

  labelsMatch(&tell, event->type);
  if (tell.tells == LabelsNOTHING)
    return ResOK;
  id = LogEventWord(event, (Index)tell.param[0]);
  if (tell.tells == LabelsLABEL)
    return labelsSet(&labels->label, event, LogEventWord(event, (Index)tell.param[1]),
                      LabelsString(labels, event->process, id));
  bytes = LogEventString(event, (Index)tell.param[1], &length);
  return labelsSet(&labels->string, event, id + 1, StringsAdd(labels->strings, bytes, length));
}

uint32_t LabelsString(Labels labels, LogProcess process, uint64_t id)
{
  return labelsGet(&labels->string, process, id + 1, 0);
}

uint32_t LabelsOf(Labels labels, LogProcess process, uint64_t addr, uint64_t since)
{
  return labelsGet(&labels->label, process, addr, since);
}

/* A pass with two requests: the caller's, and the one that learns. */
typedef struct labelsReadingStruct {
  Labels labels;
  PawService service;
  LogRequest request;                /* the caller's own */
  LogRequestStruct its, learns;      /* that are filed */
  Bool enough;                       /* its hook wants no more */
  Res res;
} labelsReadingStruct, *LabelsReading;

static Bool labelsChoose(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return LabelsTells(type) != LabelsNOTHING;
}

static Bool labelsLearn(LogRequest request, LogEvent event)
{
  LabelsReading reading = request->data;

  if (reading->res == ResOK)
    reading->res = LabelsLearn(reading->labels, event);
  return FALSE;
}

Bool LabelsMay(Log log)
{
  uint32_t there = LogKindsThere(log);
  Index i, t;

  for (i = 0; there != 0 && i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; t < registry->count; ++t)
      if (registry->types[t].kind < 32 && (there >> registry->types[t].kind & 1) != 0 &&
          LabelsTells(&registry->types[t]) == LabelsLABEL)
        return TRUE;
  }
  return FALSE;
}

Res LabelsBefore(Labels labels, Log log, const LogPositionStruct *end)
{
  labelsReadingStruct reading = {.labels = labels};
  LogRequestStruct request = LogRequestALL;
  Res res;

  request.end = end;
  request.data = &reading;
  request.choose = labelsChoose;
  request.event = labelsLearn;
  res = LogRead(log, &request);
  return res == ResOK ? reading.res : res;
}

static Bool labelsEvent(LogRequest request, LogEvent event)
{
  LabelsReading reading = request->data;

  reading->enough = reading->request->event(reading->request, event);
  return reading->enough;
}

/* labelsEnd -- the caller's request has ended: withdraw the other */
static void labelsEnd(LogRequest request)
{
  LabelsReading reading = request->data;

  (void)PawServiceWithdraw(reading->service, &reading->learns);
}

static Bool labelsEnough(void *data)
{
  LabelsReading reading = data;

  return reading->enough;
}

/* labelsChosen -- does the request itself get every event that interns a string or labels an address? */
static Bool labelsChosen(Log log, LogRequest request)
{
  Index i, t;

  if (request->from > 0 || request->start != NULL || request->accept != NULL)
    return FALSE;
  for (i = 0; i < LogProcesses(log); ++i) {
    LogProcess process = LogProcessAt(log, i);
    for (t = 0; t < process->registry->count; ++t) {
      EventType type = &process->registry->types[t];
      if (labelsChoose(NULL, process, type) && !LogRequestChooses(request, process, type))
        return FALSE;
    }
  }
  return TRUE;
}

Res LabelsRead(Labels labels, Log log, LogRequest request)
{
  static const LogRequestStruct all = LogRequestALL;
  labelsReadingStruct reading = {.labels = labels, .request = request, .its = *request, .learns = all};
  Res res;

  if (labelsChosen(log, request))
    return LogRead(log, request);
  res = PawServiceCreate(&reading.service, log, 0);
  if (res != ResOK)
    return res;
  reading.its.data = &reading;
  reading.its.chooseData = request->chooseData != NULL ? request->chooseData : request->data;
  reading.its.event = labelsEvent;
  reading.its.after = labelsEnd;
  reading.learns.data = &reading;
  reading.learns.choose = labelsChoose;
  reading.learns.event = labelsLearn;
  res = PawServiceFile(reading.service, &reading.learns); /* first, so that the hook knows the label that this event
                                                             sets */
  if (res == ResOK)
    res = PawServiceFile(reading.service, &reading.its);
  if (res == ResOK)
    res = PawServiceRun(reading.service, labelsEnough, &reading);
  PawServiceDestroy(reading.service);
  return res == ResOK || res == ResLIMIT ? reading.res : res;
}
