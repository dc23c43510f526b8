/* libpawlog.c -- libpawlog: access to what is opaque in pawlog.h, and defaults for what its callers may leave out
 *
 * Requests and positions are those of the reader (request/requestservice.c, request/seek.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/pawlog.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "export/describe.h"
#include "filter/filter.h"
#include "filter/timeparse.h"
#include "log/typenames.h"
#include "source/builtinregistry.h"

#include "eventdef.h"

/* A Res is handed out as it is. */
_Static_assert((int)PAW_OK == (int)ResOK && (int)PAW_FAIL == (int)ResFAIL && (int)PAW_MEMORY == (int)ResMEMORY &&
                 (int)PAW_PENDING == (int)ResLIMIT && (int)PAW_IO == (int)ResIO && (int)PAW_FORMAT == (int)ResFORMAT &&
                 (int)PAW_VERSION == (int)ResVERSION && (int)PAW_PARAM == (int)ResPARAM,
               "errors have the numbers of results");

const char *PawVersion(void)
{
  return PawprintVERSION;
}

const char *PawError(int error)
{
  static const char *const words[] = {
    [PAW_OK] = "no error", [PAW_FAIL] = "failed", [PAW_MEMORY] = "no memory", [PAW_PENDING] = "something is pending",
    [PAW_IO] = "reading failed", [PAW_FORMAT] = "not what it should be", [PAW_VERSION] = "another major version",
    [PAW_PARAM] = "an argument that cannot be meant"
  };

  return error >= 0 && error < (int)ARRAY_LENGTH(words) && words[error] != NULL ? words[error] : "unknown error";
}

/* Opening */

void(PawHandlersInit)(PawHandlers *handlers, size_t size)
{
  memset(handlers, 0, size);
  handlers->size = size;
}

int PawOpen(PawLog *logReturn, const char *const *paths, size_t count, const PawHandlers *handlers, char *message,
            size_t size)
{
  PawHandlers its = {.size = sizeof its};
  char ignored[256];
  Res res;

  if (message == NULL || size == 0) {
    message = ignored;
    size = sizeof ignored;
  }
  if (handlers != NULL && handlers->size != sizeof its) {
    (void)snprintf(message, size, "the handlers are not those of PawHandlersInit");
    return PAW_PARAM;
  }
  if (handlers != NULL)
    its = *handlers;
  if (its.version[0] == 0) {
    its.version[0] = EventVersionMAJOR;
    its.version[1] = EventVersionMEDIAN;
    its.version[2] = EventVersionMINOR;
  }
  if (its.registry == NULL)
    its.registry = BuiltinRegistry;
  res = LogOpen(logReturn, paths, count, &its, message, size);
  return res == ResRESOURCE || res == ResLIMIT || res == ResUNIMPL || res == ResEND ? PAW_FAIL : (int)res;
}

void PawClose(PawLog log)
{
  if (log != NULL)
    LogClose(log);
}

static LogSummaryStruct pawSummary(PawLog log)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, log);
  return summary;
}

uint64_t PawFirst(PawLog log)
{
  return pawSummary(log).first;
}

uint64_t PawLast(PawLog log)
{
  return pawSummary(log).last;
}

uint64_t PawEvents(PawLog log)
{
  return pawSummary(log).events;
}

uint64_t PawDiscarded(PawLog log)
{
  return pawSummary(log).discarded;
}

uint64_t PawGaps(PawLog log)
{
  return pawSummary(log).gaps;
}

uint64_t PawLost(PawLog log)
{
  return pawSummary(log).lost;
}

int PawTime(uint64_t *timeReturn, PawLog log, const char *text)
{
  LogSummaryStruct summary = pawSummary(log);

  return LogWhen(timeReturn, &summary, text);
}

int PawKinds(uint32_t *kindsReturn, PawLog log, const char *names, char *message, size_t size)
{
  char ignored[256];

  return message != NULL && size > 0 ? LogKindMask(kindsReturn, log, names, message, size)
                                     : LogKindMask(kindsReturn, log, names, ignored, sizeof ignored);
}

int PawTypesKnown(PawLog log, const char *names, char *message, size_t size)
{
  char ignored[256];

  return message != NULL && size > 0 ? LogNamesKnown(log, names, message, size)
                                     : LogNamesKnown(log, names, ignored, sizeof ignored);
}

/* Processes */

size_t PawProcesses(PawLog log)
{
  return pawSummary(log).processes;
}

PawProcess PawProcessAt(PawLog log, size_t i)
{
  return i < PawProcesses(log) ? LogProcessAt(log, i) : NULL;
}

size_t PawProcessNumber(PawProcess process)
{
  return process->number;
}

uint32_t PawProcessPid(PawProcess process)
{
  return process->header.pid;
}

uint32_t PawProcessParent(PawProcess process)
{
  return process->header.parent;
}

uint64_t PawProcessIdentity(PawProcess process)
{
  return process->header.identity;
}

const char *PawProcessProgram(PawProcess process)
{
  return process->header.program;
}

int PawProcessIsCollector(PawProcess process)
{
  return strcmp(process->header.role, "collector") == 0;
}

size_t PawProcessArguments(PawProcess process)
{
  Count arguments = process->header.arguments;

  return arguments < HeaderArgumentsMAX ? arguments : HeaderArgumentsMAX;
}

const char *PawProcessArgument(PawProcess process, size_t i)
{
  return i < PawProcessArguments(process) ? process->header.argument[i] : "";
}

unsigned PawProcessWord(PawProcess process)
{
  return process->header.widths.word;
}

/* Types */

static const char *pawCopy(char *to, size_t size, const char *name, Size length)
{
  if (size == 0)
    return "";
  if (length >= size)
    length = size - 1;
  memcpy(to, name, length);
  to[length] = '\0';
  return to;
}

size_t PawTypes(PawProcess process)
{
  return process->registry->count;
}

PawType PawTypeAt(PawProcess process, size_t i)
{
  return i < PawTypes(process) ? &process->registry->types[i] : NULL;
}

PawType PawTypeFind(PawProcess process, const char *name)
{
  Index i;

  for (i = 0; i < PawTypes(process); ++i)
    if (PawTypeIs(PawTypeAt(process, i), name))
      return PawTypeAt(process, i);
  return NULL;
}

unsigned PawTypeCode(PawType type)
{
  return type->code;
}

unsigned PawTypeKind(PawType type)
{
  return type->kind;
}

int PawTypeIs(PawType type, const char *name)
{
  return strlen(name) == type->nameLength && memcmp(name, type->name, type->nameLength) == 0;
}

unsigned PawTypeFields(PawType type)
{
  return type->params;
}

int PawTypeField(PawType type, const char *name)
{
  Index i = DescribeParam(type, name, strlen(name));

  return i < type->params ? (int)i : -1;
}

char PawTypeLetter(PawType type, unsigned field)
{
  return field < type->params ? type->letter[field] : '\0';
}

const char *PawTypeName(PawType type, char *name, size_t size)
{
  return pawCopy(name, size, type->name, type->nameLength);
}

const char *PawTypeFieldName(PawType type, unsigned field, char *name, size_t size)
{
  return field < type->params ? pawCopy(name, size, type->param[field], type->paramLength[field])
                              : pawCopy(name, size, "", 0);
}

const char *PawTypeKindName(PawProcess process, PawType type)
{
  unsigned kind = PawTypeKind(type);

  return kind < EventKindMAX ? process->registry->kind[kind] : "";
}

/* Events */

uint64_t PawEventTime(PawEvent event)
{
  return event->time;
}

PawProcess PawEventProcess(PawEvent event)
{
  return event->process;
}

PawType PawEventType(PawEvent event)
{
  return event->type;
}

uint32_t PawEventThread(PawEvent event)
{
  return event->thread;
}

uint32_t PawEventStream(PawEvent event)
{
  return event->stream;
}

int PawEventCpu(PawEvent event)
{
  return event->cpu == LogCpuUNKNOWN ? -1 : event->cpu;
}

/* pawLetter -- of a field, or 0 if the event has no such */
static inline char pawLetter(LogEvent event, int field)
{
  return field >= 0 && field < event->type->params ? event->type->letter[field] : '\0';
}

uint64_t PawEventWord(PawEvent event, int field)
{
  char letter = pawLetter(event, field);

  return letter == '\0' || letter == 'S' || letter == 'D' ? 0 : LogEventWord(event, (Index)field);
}

double PawEventDouble(PawEvent event, int field)
{
  return pawLetter(event, field) == 'D' ? LogEventDouble(event, (Index)field)
                                                     : (double)PawEventWord(event, field);
}

const char *PawEventString(PawEvent event, int field, size_t *lengthReturn)
{
  *lengthReturn = 0;
  return pawLetter(event, field) == 'S' ? LogEventString(event, (Index)field, lengthReturn)
                                                     : NULL;
}

int PawEventGet(uint64_t *valueReturn, PawEvent event, const char *name)
{
  int field = PawTypeField(PawEventType(event), name);
  char letter = pawLetter(event, field);

  if (letter == '\0' || letter == 'S' || letter == 'D')
    return 0;
  *valueReturn = LogEventWord(event, (Index)field);
  return 1;
}

const char *PawEventDescribe(PawEvent event, char *text, size_t size)
{
  TextStruct words;

  if (size == 0)
    return "";
  TextInit(&words, text, size);
  DescribeEvent(&words, event);
  return TextTerminate(&words);
}

/* Positions */

void PawEventPosition(PawPosition *positionReturn, PawEvent event)
{
  LogEventPosition(positionReturn, event);
}

int PawPositionCompare(const PawPosition *a, const PawPosition *b)
{
  return LogPositionCompare(a, b);
}

/* Requests */

void(PawRequestInit)(PawRequest *request, size_t size)
{
  memset(request, 0, size);
  request->size = size;
  request->to = UINT64_MAX;
  request->count = UINT64_MAX;
  request->kinds = UINT32_MAX;
}

int PawFilterMake(PawFilter *filterReturn, PawLog log, const char *expression, char *message, size_t size)
{
  char ignored[256];
  uint64_t from = 0, to = UINT64_MAX;
  Res res = message != NULL && size > 0 ? FilterMake(filterReturn, log, expression, message, size)
                                        : FilterMake(filterReturn, log, expression, ignored, sizeof ignored);

  if (res == ResOK)
    FilterTimes(*filterReturn, &from, &to); /* once for all requests that will have it */
  return res;
}

void PawFilterFree(PawFilter filter)
{
  FilterFree(filter);
}

int PawFilterError(PawFilter filter)
{
  return FilterRes(filter);
}
