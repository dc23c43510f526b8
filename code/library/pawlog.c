/* pawlog.c -- libpawlog: logs, processes, types, events, positions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "library/pawdata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "log/when.h"
#include "view/describe.h"
#include "view/known.h"

#include "eventdef.h"

int PawResult(Res res)
{
  switch (res) {
  case ResOK: case ResEND: return PAW_OK;
  case ResMEMORY: return PAW_MEMORY;
  case ResIO: return PAW_IO;
  case ResFORMAT: return PAW_FORMAT;
  case ResVERSION: return PAW_VERSION;
  case ResPARAM: return PAW_PARAM;
  case ResLIMIT: return PAW_PENDING;
  default: return PAW_FAIL;
  }
}

const char *PawVersion(void)
{
  return PawprintVERSION;
}

const char *PawError(int error)
{
  static const char *const words[] = {"no error", "failed", "no memory", "reading failed", "not what it should be",
                                      "another major version", "an argument that cannot be meant",
                                      "something is pending"};

  return error >= 0 && error < (int)ARRAY_LENGTH(words) ? words[error] : "unknown error";
}

/* Opening */

void(PawHandlersInit)(PawHandlers *handlers, size_t size)
{
  memset(handlers, 0, size);
  handlers->size = size;
}

static void pawGap(void *data, LogGap gap)
{
  PawLog log = data;
  PawGap told = {gap->path, gap->offset, gap->what, gap->lost, (int)gap->exact};

  if (log->handlers.gap != NULL)
    log->handlers.gap(log->handlers.data, &told);
}

static void pawNote(void *data, const char *line)
{
  PawLog log = data;

  if (log->handlers.note != NULL)
    log->handlers.note(log->handlers.data, line);
}

static void pawProgress(void *data, uint64_t done, uint64_t total)
{
  PawLog log = data;

  if (log->handlers.progress != NULL)
    log->handlers.progress(log->handlers.data, done, total);
}

int PawOpen(PawLog *logReturn, const char *const *paths, size_t count, const PawHandlers *handlers, char *message,
            size_t size)
{
  LogHooksStruct hooks = {.gap = pawGap, .note = pawNote, .progress = pawProgress,
                          .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR},
                          .registry = KnownRegistry};
  char ignored[256];
  PawLog log;
  Res res;

  if (message == NULL || size == 0) {
    message = ignored;
    size = sizeof ignored;
  }
  if (handlers != NULL && handlers->size != sizeof *handlers) {
    (void)snprintf(message, size, "the handlers are not those of PawHandlersInit");
    return PAW_PARAM;
  }
  log = calloc(1, sizeof *log);
  if (log == NULL) {
    (void)snprintf(message, size, "no memory");
    return PAW_MEMORY;
  }
  if (handlers != NULL)
    log->handlers = *handlers;
  hooks.data = log;
  res = LogOpen(&log->log, paths, count, &hooks, message, size);
  if (res == ResOK)
    *logReturn = log;
  else
    free(log);
  return PawResult(res);
}

void PawClose(PawLog log)
{
  if (log == NULL)
    return;
  LogClose(log->log);
  free(log);
}

static LogSummaryStruct pawSummary(PawLog log)
{
  LogSummaryStruct summary;

  LogSummarize(&summary, log->log);
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

  return PawResult(LogWhen(timeReturn, &summary, text));
}

int PawKinds(uint32_t *kindsReturn, PawLog log, const char *names, char *message, size_t size)
{
  char ignored[256];

  return PawResult(message != NULL && size > 0 ? LogKindMask(kindsReturn, log->log, names, message, size)
                                               : LogKindMask(kindsReturn, log->log, names, ignored, sizeof ignored));
}

/* Processes */

size_t PawProcesses(PawLog log)
{
  return pawSummary(log).processes;
}

PawProcess PawProcessAt(PawLog log, size_t i)
{
  return i < PawProcesses(log) ? (PawProcess)LogProcessAt(log->log, i) : NULL;
}

size_t PawProcessNumber(PawProcess process)
{
  return PawTheProcess(process)->number;
}

uint32_t PawProcessPid(PawProcess process)
{
  return PawTheProcess(process)->header.pid;
}

uint32_t PawProcessParent(PawProcess process)
{
  return PawTheProcess(process)->header.parent;
}

uint64_t PawProcessIdentity(PawProcess process)
{
  return PawTheProcess(process)->header.identity;
}

const char *PawProcessProgram(PawProcess process)
{
  return PawTheProcess(process)->header.program;
}

int PawProcessIsCollector(PawProcess process)
{
  return strcmp(PawTheProcess(process)->header.role, "collector") == 0;
}

size_t PawProcessArguments(PawProcess process)
{
  Count arguments = PawTheProcess(process)->header.arguments;

  return arguments < HeaderArgumentsMAX ? arguments : HeaderArgumentsMAX;
}

const char *PawProcessArgument(PawProcess process, size_t i)
{
  return i < PawProcessArguments(process) ? PawTheProcess(process)->header.argument[i] : "";
}

unsigned PawProcessWord(PawProcess process)
{
  return PawTheProcess(process)->header.widths.word;
}

/* Types */

static Bool pawNamed(const char *name, Size length, const char *wanted)
{
  return strlen(wanted) == length && memcmp(wanted, name, length) == 0;
}

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
  Registry registry = PawTheProcess(process)->registry;

  return registry == NULL ? 0 : registry->count;
}

PawType PawTypeAt(PawProcess process, size_t i)
{
  return i < PawTypes(process) ? (PawType)&PawTheProcess(process)->registry->types[i] : NULL;
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
  return PawTheType(type)->code;
}

unsigned PawTypeKind(PawType type)
{
  return PawTheType(type)->kind;
}

int PawTypeIs(PawType type, const char *name)
{
  return pawNamed(PawTheType(type)->name, PawTheType(type)->nameLength, name) != FALSE;
}

unsigned PawTypeFields(PawType type)
{
  return PawTheType(type)->params;
}

int PawTypeField(PawType theType, const char *name)
{
  EventType type = PawTheType(theType);
  Index i;

  for (i = 0; i < type->params; ++i)
    if (pawNamed(type->param[i], type->paramLength[i], name))
      return (int)i;
  return -1;
}

char PawTypeLetter(PawType type, unsigned field)
{
  return field < PawTheType(type)->params ? PawTheType(type)->letter[field] : '\0';
}

const char *PawTypeName(PawType type, char *name, size_t size)
{
  return pawCopy(name, size, PawTheType(type)->name, PawTheType(type)->nameLength);
}

const char *PawTypeFieldName(PawType theType, unsigned field, char *name, size_t size)
{
  EventType type = PawTheType(theType);

  return field < type->params ? pawCopy(name, size, type->param[field], type->paramLength[field])
                              : pawCopy(name, size, "", 0);
}

const char *PawTypeKindName(PawProcess process, PawType type)
{
  unsigned kind = PawTypeKind(type);

  return kind < EventKindMAX ? PawTheProcess(process)->registry->kind[kind] : "";
}

/* Events */

uint64_t PawEventTime(PawEvent event)
{
  return PawTheEvent(event)->time;
}

PawProcess PawEventProcess(PawEvent event)
{
  return (PawProcess)PawTheEvent(event)->process;
}

PawType PawEventType(PawEvent event)
{
  return (PawType)PawTheEvent(event)->type;
}

uint32_t PawEventThread(PawEvent event)
{
  return PawTheEvent(event)->thread;
}

uint32_t PawEventStream(PawEvent event)
{
  return PawTheEvent(event)->stream;
}

int PawEventCpu(PawEvent event)
{
  return PawTheEvent(event)->cpu == LogCpuUNKNOWN ? -1 : PawTheEvent(event)->cpu;
}

/* pawLetter -- of a field, or 0 if the event has no such */
static inline char pawLetter(LogEvent event, int field)
{
  return field >= 0 && field < event->type->params ? event->type->letter[field] : '\0';
}

uint64_t PawEventWord(PawEvent theEvent, int field)
{
  LogEvent event = PawTheEvent(theEvent);
  char letter = pawLetter(event, field);

  return letter == '\0' || letter == 'S' || letter == 'D' ? 0 : LogEventWord(event, (Index)field);
}

double PawEventDouble(PawEvent event, int field)
{
  return pawLetter(PawTheEvent(event), field) == 'D' ? LogEventDouble(PawTheEvent(event), (Index)field)
                                                     : (double)PawEventWord(event, field);
}

const char *PawEventString(PawEvent event, int field, size_t *lengthReturn)
{
  *lengthReturn = 0;
  return pawLetter(PawTheEvent(event), field) == 'S' ? LogEventString(PawTheEvent(event), (Index)field, lengthReturn)
                                                     : NULL;
}

int PawEventGet(uint64_t *valueReturn, PawEvent event, const char *name)
{
  int field = PawTypeField(PawEventType(event), name);
  char letter = pawLetter(PawTheEvent(event), field);

  if (letter == '\0' || letter == 'S' || letter == 'D')
    return 0;
  *valueReturn = LogEventWord(PawTheEvent(event), (Index)field);
  return 1;
}

const char *PawEventDescribe(PawEvent event, char *text, size_t size)
{
  TextStruct words;

  if (size == 0)
    return "";
  TextInit(&words, text, size);
  DescribeEvent(&words, PawTheEvent(event));
  return TextTerminate(&words);
}

/* Positions */

void PawEventPosition(PawPosition *positionReturn, PawEvent event)
{
  LogPositionStruct position;

  LogEventPosition(&position, PawTheEvent(event));
  *positionReturn = PawPositionOf(&position);
}

int PawPositionCompare(const PawPosition *a, const PawPosition *b)
{
  LogPositionStruct theA = PawThePosition(a), theB = PawThePosition(b);

  return LogPositionCompare(&theA, &theB);
}

void PawPositionOfTime(PawPosition *positionReturn, PawLog log, uint64_t time)
{
  LogPositionStruct position;

  LogPositionOfTime(&position, log->log, time);
  *positionReturn = PawPositionOf(&position);
}

void PawPositionText(char text[PAW_POSITION_TEXT], PawLog log, const PawPosition *position)
{
  LogPositionStruct thePosition = PawThePosition(position);

  _Static_assert((int)PAW_POSITION_TEXT >= (int)LogPositionTextMAX, "a position fits");
  LogPositionText(text, log->log, &thePosition);
}

int PawPositionRead(PawPosition *positionReturn, PawLog log, const char *text)
{
  LogPositionStruct position;
  Res res = LogPositionRead(&position, log->log, text);

  if (res == ResOK)
    *positionReturn = PawPositionOf(&position);
  return PawResult(res);
}
