/* chrome.c -- the trace event format of Perfetto and chrome://tracing
 *
 * One JSON document, an object to a line, written as events come; nothing is kept but what draw.h keeps.
 *
 * Design: design/view.md .drawn      Tests: test/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/clean.h"
#include "view/draw.h"

struct WriterStruct {
  Output output;
  Draw draw;
  Bool begun;       /* something stands in the list */
  DrawPenStruct pen;
};

static void chromeInterned(Writer chrome, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&DrawWho(chrome->draw)->strings, number, &length);

  CleanJson(chrome->output, bytes, length);
}

/* chromeOpen -- an object begins: what all have */
static void chromeOpen(Writer chrome, const char *phase, WhoProcess process, WhoThread thread)
{
  OutputString(chrome->output, chrome->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  chrome->begun = TRUE;
  OutputString(chrome->output, phase);
  OutputNumber(chrome->output, "\",\"pid\":", process->id);
  if (thread != NULL)
    OutputNumber(chrome->output, ",\"tid\":", thread->tid);
}

/* chromeTime -- microseconds */
static void chromeTime(Writer chrome, uint64_t time)
{
  TextStruct text;

  TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
  TextString(&text, ",\"ts\":");
  TextDecimal(&text, time / 1000);
  TextChar(&text, '.');
  TextPadded(&text, time % 1000, 3);
  chrome->output->next = text.next;
}

static void chromeName(Writer chrome, uint32_t name)
{
  OutputString(chrome->output, ",\"name\":");
  chromeInterned(chrome, name);
}

static void chromeProcess(void *data, WhoProcess process, uint64_t time)
{
  Writer chrome = data;

  UNUSED(time);
  chromeOpen(chrome, "M", process, NULL);
  OutputString(chrome->output, ",\"name\":\"process_name\",\"args\":{\"name\":");
  chromeInterned(chrome, process->name);
  OutputString(chrome->output, "}}");
  if (process->id != process->pid) {
    chromeOpen(chrome, "M", process, NULL);
    OutputNumber(chrome->output, ",\"name\":\"process_labels\",\"args\":{\"labels\":\"pid ", process->pid);
    OutputString(chrome->output, "\"}}");
  }
}

static void chromeThread(void *data, WhoThread thread, Bool again, uint64_t time)
{
  Writer chrome = data;
  Size length;
  const char *name = WhoThreadName(DrawWho(chrome->draw), thread, &length);

  UNUSED(again);
  UNUSED(time);
  chromeOpen(chrome, "M", thread->process, thread);
  OutputString(chrome->output, ",\"name\":\"thread_name\",\"args\":{\"name\":");
  CleanJson(chrome->output, name, length);
  OutputString(chrome->output, "}}");
}

static void chromeGauge(void *data, DrawGauge gauge, uint64_t time)
{
  UNUSED(data);
  UNUSED(gauge);
  UNUSED(time);
}

static void chromeDouble(Writer chrome, double d)
{
  TextStruct text;

  TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
  if (isfinite(d)) {
    TextDouble(&text, d);
  } else {
    TextChar(&text, '"');
    TextDouble(&text, d);
    TextChar(&text, '"');
  }
  chrome->output->next = text.next;
}

static void chromeValue(void *data, DrawGauge gauge, uint64_t value, uint64_t time)
{
  Writer chrome = data;

  chromeOpen(chrome, "C", gauge->process, NULL);
  chromeTime(chrome, time);
  chromeName(chrome, gauge->name);
  if (gauge->real) {
    double d;
    memcpy(&d, &value, sizeof d);
    OutputString(chrome->output, ",\"args\":{\"value\":");
    chromeDouble(chrome, d);
  } else {
    OutputNumber(chrome->output, ",\"args\":{\"value\":", value);
  }
  OutputString(chrome->output, "}}");
}

/* chromeParam -- one parameter of an event */
static void chromeParam(Writer chrome, LogEvent event, Index i)
{
  TextStruct text;
  const char *bytes;
  Size length;

  switch (event->type->letter[i]) {
  case 'P':
  case 'A':
    TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
    TextChar(&text, '"');
    TextHex(&text, LogEventWord(event, i));
    TextChar(&text, '"');
    chrome->output->next = text.next;
    break;
  case 'D':
    chromeDouble(chrome, LogEventDouble(event, i));
    break;
  case 'S':
    bytes = LogEventString(event, i, &length);
    CleanJson(chrome->output, bytes, length);
    break;
  default:
    OutputNumber(chrome->output, "", LogEventWord(event, i));
  }
}

static void chromeParams(Writer chrome, LogEvent event)
{
  Index i;

  OutputString(chrome->output, ",\"args\":{");
  for (i = 0; event != NULL && i < event->type->params; ++i) {
    if (i > 0)
      OutputString(chrome->output, ",");
    CleanJson(chrome->output, event->type->param[i], event->type->paramLength[i]);
    OutputString(chrome->output, ":");
    chromeParam(chrome, event, i);
  }
  if (event != NULL && event->cut)
    OutputString(chrome->output, ",\"cut\":true");
  OutputString(chrome->output, "}}");
}

/* chromeHappens -- an object of a thread begins, with its time and name */
static void chromeHappens(Writer chrome, const char *phase, WhoThread thread, uint32_t name, uint64_t time)
{
  chromeOpen(chrome, phase, thread->process, thread);
  chromeTime(chrome, time);
  chromeName(chrome, name);
}

static void chromeBegin(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  chromeHappens(data, "B", thread, name, time);
  chromeParams(data, event);
}

static void chromeEnd(void *data, WhoThread thread, uint32_t name, uint64_t time)
{
  Writer chrome = data;

  chromeHappens(chrome, "E", thread, name, time);
  OutputString(chrome->output, "}");
}

static void chromeMark(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  Writer chrome = data;

  chromeHappens(chrome, "i", thread, name, time);
  OutputString(chrome->output, ",\"s\":\"t\"");
  chromeParams(chrome, event);
}

static Bool chromeEvent(LogRequest request, LogEvent event)
{
  Writer chrome = request->data;

  return !DrawEvent(chrome->draw, event) || chrome->output->failed != 0;
}

static Res chromeRead(Writer chrome, LogRequest request)
{
  return DrawRead(chrome->draw, request);
}

static Res chromeFinish(Writer chrome)
{
  uint64_t end;

  if (DrawFinish(chrome->draw, &end) != ResOK) {
    errno = ENOMEM;
    return ResIO;
  }
  OutputString(chrome->output, "\n]}\n");
  return OutputEnd(chrome->output);
}

static void chromeDestroy(Writer chrome)
{
  DrawDestroy(chrome->draw);
  free(chrome);
}

static Res chromeCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                        Size size)
{
  Writer chrome = calloc(1, sizeof *chrome);

  UNUSED(error);
  UNUSED(size);
  if (chrome == NULL)
    return ResMEMORY;
  chrome->output = output;
  chrome->pen = (DrawPenStruct){chrome,      FALSE,       chromeProcess, chromeThread, chromeGauge,
                                chromeValue, chromeBegin, chromeEnd,     chromeMark};
  if (DrawCreate(&chrome->draw, options, log, &chrome->pen) != ResOK) {
    free(chrome);
    return ResMEMORY;
  }
  OutputString(chrome->output, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  *writerReturn = chrome;
  return ResOK;
}

const WriterClassStruct WriterClassChrome = {
  .name = "chrome", .heirs = TRUE, .takes = WriterTakesTHIN, .create = chromeCreate, .event = chromeEvent, .read = chromeRead,
  .finish = chromeFinish, .destroy = chromeDestroy,
};
