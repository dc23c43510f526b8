/* chrome.c -- the trace event format of Perfetto and chrome://tracing
 *
 * One JSON document, an object to a line, written as events come; nothing is kept but what trackbuilder.h keeps.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "export/output.h"
#include "export/trackbuilder.h"

static void chromeInterned(TrackBuilder chrome, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&chrome->who.strings, number, &length);

  CleanJson(chrome->output, bytes, length);
}

/* chromeOpen -- an object begins: what all have */
static void chromeOpen(TrackBuilder chrome, const char *phase, ThreadsProcess process, ThreadsThread thread)
{
  OutputString(chrome->output, chrome->owns++ > 0 ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  OutputString(chrome->output, phase);
  OutputNumber(chrome->output, "\",\"pid\":", process->id);
  if (thread != NULL)
    OutputNumber(chrome->output, ",\"tid\":", thread->tid);
}

/* chromeTime -- microseconds */
static void chromeTime(TrackBuilder chrome, uint64_t time)
{
  TextStruct text;

  TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
  TextString(&text, ",\"ts\":");
  TextDecimal(&text, time / 1000);
  TextChar(&text, '.');
  TextPadded(&text, time % 1000, 3);
  chrome->output->next = text.next;
}

static void chromeName(TrackBuilder chrome, uint32_t name)
{
  OutputString(chrome->output, ",\"name\":");
  chromeInterned(chrome, name);
}

static void chromeProcess(TrackBuilder chrome, ThreadsProcess process, uint64_t time)
{
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

static void chromeThread(TrackBuilder chrome, ThreadsThread thread, Bool again, uint64_t time)
{
  Size length;
  const char *name = ThreadsThreadName(&chrome->who, thread, &length);

  UNUSED(again);
  UNUSED(time);
  chromeOpen(chrome, "M", thread->process, thread);
  OutputString(chrome->output, ",\"name\":\"thread_name\",\"args\":{\"name\":");
  CleanJson(chrome->output, name, length);
  OutputString(chrome->output, "}}");
}

static void chromeDouble(TrackBuilder chrome, double d)
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

static void chromeValue(TrackBuilder chrome, TrackCounter gauge, uint64_t value, uint64_t time)
{
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
static void chromeParam(TrackBuilder chrome, LogEvent event, Index i)
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

static void chromeParams(TrackBuilder chrome, LogEvent event)
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
static void chromeHappens(TrackBuilder chrome, const char *phase, ThreadsThread thread, uint32_t name, uint64_t time)
{
  chromeOpen(chrome, phase, thread->process, thread);
  chromeTime(chrome, time);
  chromeName(chrome, name);
}

static void chromeBegin(TrackBuilder chrome, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  chromeHappens(chrome, "B", thread, name, time);
  chromeParams(chrome, event);
}

static void chromeEnd(TrackBuilder chrome, ThreadsThread thread, uint32_t name, uint64_t time)
{
  chromeHappens(chrome, "E", thread, name, time);
  OutputString(chrome->output, "}");
}

static void chromeMark(TrackBuilder chrome, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  chromeHappens(chrome, "i", thread, name, time);
  OutputString(chrome->output, ",\"s\":\"t\"");
  chromeParams(chrome, event);
}

static void chromeTail(TrackBuilder chrome, uint64_t time)
{
  UNUSED(time);
  OutputString(chrome->output, "\n]}\n");
}

static Res chromeCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                        Size size)
{
  static const TrackSinkStruct pen = {
    .head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", .process = chromeProcess, .thread = chromeThread,
    .value = chromeValue, .begin = chromeBegin, .end = chromeEnd, .mark = chromeMark, .tail = chromeTail};

  UNUSED(error);
  UNUSED(size);
  return TrackCreate(writerReturn, options, log, output, &pen);
}

const WriterClassStruct WriterClassChrome = {.name = "chrome", .create = chromeCreate, TrackCLASS};
