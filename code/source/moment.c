/* moment.c -- times as people give them to tools: those of timeparse.h, and mark:NAME
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source/moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filter/timeparse.h"
#include "request/request.h"

typedef struct momentStruct {
  MarksStruct marks;
  const char *name;
  Bool found, failed;
  uint64_t time;
} momentStruct, *Moment;

enum { momentNAMED = TypeCacheCLIENT, momentTYPE };

/* momentTells -- momentNAMED: an interned string names events of the type; momentTYPE: its own name is theirs */
static void momentTells(TypeCacheTell tell, LogProcess process, EventType type)
{
  static const TypeCacheKnownStruct known[] = {
    {"UserWord", momentNAMED, {"UW id"}}, {"UserDouble", momentNAMED, {"UW id"}},
    {"UserString", momentNAMED, {"UW id"}}};

  TypeCacheMatch(tell, type, known, ARRAY_LENGTH(known));
  if (tell->tells == TypeCacheNOTHING && LabelsTells(type) == LabelsNOTHING &&
      !TypeCacheNamed(type, "StackFrame") &&
      strcmp(process->registry->kind[type->kind % EventKindMAX], "User") == 0)
    tell->tells = momentTYPE;
}

static Bool momentChoose(void *data, LogProcess process, EventType type)
{
  TypeCacheTellStruct tell;

  UNUSED(data);
  momentTells(&tell, process, type);
  return tell.tells != TypeCacheNOTHING || LabelsTells(type) == LabelsSTRING;
}

void MarksInit(Marks marks)
{
  *marks = (MarksStruct){.strings = {.count = 0}};
  LabelsInit(&marks->labels, &marks->strings);
  TypeCacheInit(&marks->plans, sizeof(TypeCacheTellStruct));
}

void MarksFinish(Marks marks)
{
  LabelsFinish(&marks->labels);
  StringsFinish(&marks->strings);
  TypeCacheFinish(&marks->plans);
}

Res MarksEvent(const char **nameReturn, Size *lengthReturn, Marks marks, LogEvent event)
{
  TypeCacheTell tell = TypeCacheOf(&marks->plans, event);
  uint32_t string;

  *nameReturn = NULL;
  if (tell == NULL || LabelsLearn(&marks->labels, event) != ResOK)
    return ResMEMORY;
  if (UNLIKELY(tell->tells == TypeCacheUNMADE))
    momentTells(tell, event->process, event->type);
  if (LIKELY(tell->tells == TypeCacheNOTHING))
    return ResOK;
  if (tell->tells == momentTYPE) {
    *nameReturn = event->type->name;
    *lengthReturn = event->type->nameLength;
    return ResOK;
  }
  string = LabelsString(&marks->labels, event->process, LogEventWord(event, (Index)tell->param[0]));
  if (string != 0)
    *nameReturn = StringsAt(&marks->strings, string, lengthReturn);
  return ResOK;
}

static Bool momentEvent(LogRequest request, LogEvent event)
{
  Moment moment = request->data;
  const char *name;
  Size length;

  moment->failed = MarksEvent(&name, &length, &moment->marks, event) != ResOK;
  moment->found = name != NULL && length == strlen(moment->name) && memcmp(name, moment->name, length) == 0;
  moment->time = event->time;
  return moment->failed || moment->found;
}

/* momentMark -- the time of the first event of this name; ResPARAM: there is none */
static Res momentMark(uint64_t *timeReturn, Log log, const char *name)
{
  momentStruct moment = {.name = name};
  LogRequestStruct request = LogRequestALL;
  Res res;

  MarksInit(&moment.marks);
  request.data = &moment;
  request.choose = momentChoose;
  request.event = momentEvent;
  res = LogRead(log, &request);
  if (res == ResOK)
    res = moment.failed ? ResMEMORY : moment.found ? ResOK : ResPARAM;
  *timeReturn = moment.time;
  MarksFinish(&moment.marks);
  return res;
}

Res MomentFind(uint64_t *timeReturn, Log log, const char *string, char *error, Size size)
{
  static const char mark[] = "mark:";
  LogSummaryStruct summary;
  Res res;

  if (strncmp(string, mark, strlen(mark)) != 0) {
    LogSummarize(&summary, log);
    res = LogWhen(timeReturn, &summary, string);
    if (res != ResOK)
      (void)snprintf(error, size, "'%s' is neither seconds nor HH:MM:SS, nor end-SECONDS, nor mark:NAME", string);
    return res;
  }
  res = momentMark(timeReturn, log, string + strlen(mark));
  if (res == ResPARAM)
    (void)snprintf(error, size, "the log has no event of the program's own that is called '%s'", string + strlen(mark));
  else if (res != ResOK)
    (void)snprintf(error, size, "'%s' was not found: %s", string, res == ResIO ? strerror(errno) : ResName(res));
  return res;
}
