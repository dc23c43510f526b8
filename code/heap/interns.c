/* interns.c -- strings to which a program gave numbers, and addresses that it labelled with them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/interns.h"

#include <stdlib.h>
#include <string.h>

#include "request/typecache.h"

void InternsInit(Interns interns, Strings strings)
{
  *interns = (InternsStruct){.strings = strings};
}

void InternsFinish(Interns interns)
{
  Index i;

  for (i = 0; i < interns->count; ++i)
    if (interns->table[i].objects != NULL)
      HeapTableFinish(&interns->table[i]);
  for (i = 0; i < interns->labelled; ++i)
    if (interns->label[i].objects != NULL)
      HeapTableFinish(&interns->label[i]);
  free(interns->table);
  free(interns->label);
  InternsInit(interns, interns->strings);
}

Bool InternsTells(int *idReturn, int *stringReturn, EventType type)
{
  if (!TypeCacheNamed(type, "Intern"))
    return FALSE;
  *idReturn = TypeCacheParam(type, "id", "UW");
  *stringReturn = TypeCacheParam(type, "string", "S");
  return *idReturn >= 0 && *stringReturn >= 0;
}

Bool InternsLabels(int *addrReturn, int *idReturn, EventType type)
{
  if (!TypeCacheNamed(type, "Label"))
    return FALSE;
  *addrReturn = TypeCacheParam(type, "addr", "PA");
  *idReturn = TypeCacheParam(type, "id", "UW");
  return *addrReturn >= 0 && *idReturn >= 0;
}

/* internsTable -- of the process with this number, in a list of such tables; NULL: no memory */
static HeapTable internsTable(HeapTable *list, Count *count, Index number)
{
  if (number >= *count) {
    HeapTable table = realloc(*list, (number + 1) * sizeof *table);
    if (table == NULL)
      return NULL;
    memset(table + *count, 0, (number + 1 - *count) * sizeof *table);
    *list = table;
    *count = number + 1;
  }
  if ((*list)[number].objects == NULL && HeapTableInit(&(*list)[number]) != ResOK)
    return NULL;
  return &(*list)[number];
}

/* internsSet -- from now on that is what `key` has in the process's table of a list; 0, which is no address and no
 * number plus one, has nothing */
static Res internsSet(HeapTable *list, Count *count, LogEvent event, uint64_t key, uint32_t string)
{
  HeapTable table = internsTable(list, count, event->process->number);
  HeapObject place;

  if (table == NULL)
    return ResMEMORY;
  if (key == 0)
    return ResOK;
  place = HeapTableInsert(table, HeapTableSeek(table, key), key);
  if (place == NULL)
    return ResMEMORY;
  place->client = string;
  place->time = event->time;
  return ResOK;
}

Res InternsAdd(Interns interns, LogEvent event, int id, int string)
{
  Size length;
  const char *bytes = LogEventString(event, (Index)string, &length);

  return internsSet(&interns->table, &interns->count, event, LogEventWord(event, (Index)id) + 1,
                    StringsAdd(interns->strings, bytes, length));
}

uint32_t InternsFind(Interns interns, LogProcess process, uint64_t id)
{
  HeapObject place;

  if (process->number >= interns->count || interns->table[process->number].objects == NULL || id + 1 == 0)
    return 0;
  place = HeapTableSeek(&interns->table[process->number], id + 1);
  return place->addr == id + 1 ? place->client : 0;
}

Res InternsLabel(Interns interns, LogEvent event, int addr, int id)
{
  return internsSet(&interns->label, &interns->labelled, event, LogEventWord(event, (Index)addr),
                    InternsFind(interns, event->process, LogEventWord(event, (Index)id)));
}

uint32_t InternsLabelOf(Interns interns, LogProcess process, uint64_t addr, uint64_t since)
{
  HeapObject place;

  if (process->number >= interns->labelled || interns->label[process->number].objects == NULL || addr == 0)
    return 0;
  place = HeapTableSeek(&interns->label[process->number], addr);
  return place->addr == addr && place->time >= since ? place->client : 0;
}

/* A pass with two requests: the caller's, and the one that learns. */
typedef struct internsReadingStruct {
  Interns interns;
  PawService service;
  LogRequest request;                /* the caller's own */
  LogRequestStruct its, learns;      /* that are filed */
  Bool enough;                       /* its hook wants no more */
  Res res;
} internsReadingStruct, *InternsReading;

static Bool internsChoose(void *data, LogProcess process, EventType type)
{
  int one, other;

  UNUSED(data);
  UNUSED(process);
  return InternsTells(&one, &other, type) || InternsLabels(&one, &other, type);
}

static Bool internsLearn(LogRequest request, LogEvent event)
{
  InternsReading reading = request->data;
  int one = -1, other = -1;

  if (reading->res != ResOK)
    return FALSE;
  if (InternsTells(&one, &other, event->type))
    reading->res = InternsAdd(reading->interns, event, one, other);
  else if (InternsLabels(&one, &other, event->type))
    reading->res = InternsLabel(reading->interns, event, one, other);
  return FALSE;
}

Bool InternsMay(Log log)
{
  uint32_t there = LogKindsThere(log);
  int addr, id;
  Index i, t;

  for (i = 0; there != 0 && i < LogProcesses(log); ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; t < registry->count; ++t)
      if (registry->types[t].kind < 32 && (there >> registry->types[t].kind & 1) != 0 &&
          InternsLabels(&addr, &id, &registry->types[t]))
        return TRUE;
  }
  return FALSE;
}

Res InternsLearn(Interns interns, Log log, const LogPositionStruct *end)
{
  internsReadingStruct reading = {.interns = interns};
  LogRequestStruct request = LogRequestALL;
  Res res;

  request.end = end;
  request.data = &reading;
  request.choose = internsChoose;
  request.event = internsLearn;
  res = LogRead(log, &request);
  return res == ResOK ? reading.res : res;
}

static Bool internsEvent(LogRequest request, LogEvent event)
{
  InternsReading reading = request->data;

  reading->enough = reading->request->event(reading->request, event);
  return reading->enough;
}

/* internsEnd -- nobody wants to know any more */
static void internsEnd(LogRequest request)
{
  InternsReading reading = request->data;

  (void)PawServiceWithdraw(reading->service, &reading->learns);
}

static Bool internsEnough(void *data)
{
  InternsReading reading = data;

  return reading->enough;
}

/* internsChosen -- does the request itself get every event that gives a string a number, or an address a label? */
static Bool internsChosen(Log log, LogRequest request)
{
  Index i, t;

  if (request->from > 0 || request->start != NULL || request->accept != NULL)
    return FALSE;
  for (i = 0; i < LogProcesses(log); ++i) {
    LogProcess process = LogProcessAt(log, i);
    for (t = 0; t < process->registry->count; ++t) {
      EventType type = &process->registry->types[t];
      if (internsChoose(NULL, process, type) && !LogRequestChooses(request, process, type))
        return FALSE;
    }
  }
  return TRUE;
}

Res InternsRead(Interns interns, Log log, LogRequest request)
{
  static const LogRequestStruct all = LogRequestALL;
  internsReadingStruct reading = {.interns = interns, .request = request, .its = *request, .learns = all};
  Res res;

  if (internsChosen(log, request))
    return LogRead(log, request);
  res = PawServiceCreate(&reading.service, log, 0);
  if (res != ResOK)
    return res;
  reading.its.data = &reading;
  reading.its.chooseData = request->chooseData != NULL ? request->chooseData : request->data;
  reading.its.event = internsEvent;
  reading.its.after = internsEnd;
  reading.learns.data = &reading;
  reading.learns.choose = internsChoose;
  reading.learns.event = internsLearn;
  res = PawServiceFile(reading.service, &reading.learns); /* first, so that it knows what the same event says */
  if (res == ResOK)
    res = PawServiceFile(reading.service, &reading.its);
  if (res == ResOK)
    res = PawServiceRun(reading.service, internsEnough, &reading);
  PawServiceDestroy(reading.service);
  return res == ResOK || res == ResLIMIT ? reading.res : res;
}
