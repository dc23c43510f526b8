/* chrome.c -- the trace event format of Perfetto and chrome://tracing
 *
 * One JSON document, an object to a line, written as events come; nothing is kept but what trackbuilder.h keeps, and
 * the frames of stacks that events have shown, which come last.
 *
 * Design: design/view.md .drawn      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "export/describe.h"
#include "export/output.h"
#include "export/trackbuilder.h"

enum { chromeDEPTH = 256 }; /* frames of a stack that are written, the innermost ones */

/* chromeOpen -- an object begins, with the members that all of them have */
static void chromeOpen(TrackBuilder chrome, const char *phase, ThreadsProcess process, ThreadsThread thread)
{
  OutputFormat(chrome->output, "%s\n{\"ph\":\"%s\",\"pid\":%u", chrome->objects++ > 0 ? "," : "", phase, process->id);
  if (thread != NULL)
    OutputFormat(chrome->output, ",\"tid\":%u", thread->tid);
}

/* chromeNamed -- write the name of a process, or of one of its threads */
static void chromeNamed(TrackBuilder chrome, ThreadsProcess process, ThreadsThread thread, const char *name, Size size)
{
  chromeOpen(chrome, "M", process, thread);
  OutputFormat(chrome->output, ",\"name\":\"%s_name\",\"args\":{\"name\":", thread == NULL ? "process" : "thread");
  CleanJson(chrome->output, name, size);
  OutputString(chrome->output, "}}");
}

static void chromeProcess(TrackBuilder chrome, ThreadsProcess process, uint64_t time)
{
  Size length;
  const char *name = StringsAt(&chrome->who.strings, process->name, &length);

  UNUSED(time);
  chromeNamed(chrome, process, NULL, name, length);
  if (process->id != process->pid) {
    chromeOpen(chrome, "M", process, NULL);
    OutputFormat(chrome->output, ",\"name\":\"process_labels\",\"args\":{\"labels\":\"pid %u\"}}", process->pid);
  }
}

static void chromeThread(TrackBuilder chrome, ThreadsThread thread, Bool again, uint64_t time)
{
  Size length;
  const char *name = ThreadsThreadName(&chrome->who, thread, &length);

  UNUSED(again);
  UNUSED(time);
  chromeNamed(chrome, thread->process, thread, name, length);
}

/* chromeString -- write a string of the picture, as JSON */
static void chromeString(TrackBuilder chrome, uint32_t string)
{
  Size length;
  const char *bytes = StringsAt(&chrome->who.strings, string, &length);

  CleanJson(chrome->output, bytes, length);
}

/* chromeHappens -- an object begins that has a time, in microseconds, and a name; of a thread, or of all the process */
static void chromeHappens(TrackBuilder chrome, const char *phase, ThreadsProcess process, ThreadsThread thread,
                          uint32_t name, uint64_t time)
{
  chromeOpen(chrome, phase, process, thread);
  OutputFormat(chrome->output, ",\"ts\":%lu.%03lu,\"name\":", time / 1000, time % 1000);
  chromeString(chrome, name);
}

static void chromeValue(TrackBuilder chrome, TrackCounter counter, uint64_t value, uint64_t time)
{
  chromeHappens(chrome, "C", counter->process, NULL, counter->name, time);
  if (counter->real) {
    TextStruct text;
    OutputString(chrome->output, ",\"args\":{\"value\":");
    TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
    DescribeDouble(&text, DescribeJSON, TrackReal(value));
    chrome->output->next = text.next;
    OutputString(chrome->output, "}}");
  } else {
    OutputFormat(chrome->output, ",\"args\":{\"value\":%lu}}", value);
  }
}

/* ---- Who called ---- */

/* A frame, without padding: numbers in who.strings, and the frame that called it; 0: none */
typedef struct chromeFrameStruct {
  uint32_t parent, name, module;
} chromeFrameStruct;

/* chromeFrame -- the id of a frame that is called from the frame `parent`; 0: no memory */
static uint32_t chromeFrame(TrackBuilder chrome, uint32_t parent, const char *name, Size length, uint32_t module)
{
  chromeFrameStruct frame = {parent, StringsAdd(&chrome->who.strings, name, length), module};
  uint32_t id = StringsAdd(&chrome->frames, (const char *)&frame, sizeof frame);

  if (id == 0 || (frame.name == 0 && length > 0))
    chrome->failed = TRUE;
  return id;
}

/* chromeCall -- the id of the innermost function of a call from the frame `parent` */
static uint32_t chromeCall(TrackBuilder chrome, LogEvent event, uint64_t back, uint32_t parent)
{
  char room[CallNameMAX];
  CallStruct call;
  TextStruct text;
  Count i = CallsFind(&call, &chrome->calls, event->process, event->time, back);
  uint32_t module = 0;
  Size length;

  if (call.module != NULL) {
    const char *name = ModuleMapString(chrome->calls.modules, call.module->name, &length);
    module = StringsAdd(&chrome->who.strings, name, length);
  }
  for (; i > 0; --i) {
    TextInit(&text, room, sizeof room);
    CallsName(&text, &chrome->calls, &call, i - 1);
    parent = chromeFrame(chrome, parent, room, TextLength(&text), module);
  }
  return parent;
}

/* chromeStack -- the id of a stack's innermost frame; frames that were not recorded are "...", and those that were not
 * found "?" */
static uint32_t chromeStack(TrackBuilder chrome, LogEvent event, uint32_t stack)
{
  uint64_t back[chromeDEPTH];
  uint32_t number = stack & ~FrameSHORT, id = 0;
  Index of = event->process->number;
  Count count = 0;
  Frame frame;

  while (count < chromeDEPTH && (frame = FrameTableFind(chrome->calls.frames, of, number)) != NULL) {
    back[count++] = frame->address + 1;
    number = frame->parent;
  }
  if (number != FrameWHOLE)
    id = number == FrameCUT || count == chromeDEPTH ? chromeFrame(chrome, 0, "...", 3, 0) :
                                                      chromeFrame(chrome, 0, "?", 1, 0);
  while (count > 0)
    id = chromeCall(chrome, event, back[--count], id);
  return (stack & FrameSHORT) != 0 ? chromeFrame(chrome, id, "...", 3, 0) : id;
}

/* chromeCaller -- if an event, which may be NULL, says who called, write the id of the innermost frame as this member;
 * returns it, or 0 */
static uint32_t chromeCaller(TrackBuilder chrome, const char *member, LogEvent event)
{
  int stack = event == NULL ? -1 : TypeCacheParam(event->type, "stack", "W");
  int site = event == NULL ? -1 : TypeCacheParam(event->type, "site", "PA");
  uint32_t id = 0;

  if (stack >= 0)
    id = chromeStack(chrome, event, (uint32_t)LogEventWord(event, (Index)stack));
  else if (site >= 0 && LogEventWord(event, (Index)site) != 0)
    id = chromeCall(chrome, event, LogEventWord(event, (Index)site), 0);
  if (id != 0)
    OutputFormat(chrome->output, ",\"%s\":%u", member, id);
  return id;
}

static chromeFrameStruct chromeFrameAt(TrackBuilder chrome, uint32_t id)
{
  chromeFrameStruct frame;
  Size size;

  memcpy(&frame, StringsAt(&chrome->frames, id, &size), sizeof frame);
  return frame;
}

/* chromeCalled -- write the innermost frame's name as an argument, for viewers that do not know frames */
static void chromeCalled(TrackBuilder chrome, const char *before, uint32_t frame)
{
  OutputFormat(chrome->output, "%s\"caller_symbol\":", before);
  chromeString(chrome, chromeFrameAt(chrome, frame).name);
}

/* chromeFrames -- write the frames that events have named */
static void chromeFrames(TrackBuilder chrome)
{
  uint32_t id;

  for (id = 1; id <= chrome->frames.count && chrome->output->failed == 0; ++id) {
    chromeFrameStruct frame = chromeFrameAt(chrome, id);
    OutputFormat(chrome->output, "%s\n\"%u\":{\"name\":", id > 1 ? "," : "", id);
    chromeString(chrome, frame.name);
    OutputString(chrome->output, ",\"category\":");
    chromeString(chrome, frame.module);
    if (frame.parent != 0)
      OutputFormat(chrome->output, ",\"parent\":%u", frame.parent);
    OutputString(chrome->output, "}");
  }
}

/* ---- Slices and marks ---- */

/* chromeParams -- who called, the parameters of an event, which may be NULL, and the end of the object */
static void chromeParams(TrackBuilder chrome, LogEvent event)
{
  Bool cut = event != NULL && event->cut;
  uint32_t caller = chromeCaller(chrome, "sf", event);
  TextStruct text;
  Size length;
  Index i;

  OutputString(chrome->output, ",\"args\":{");
  for (i = 0; event != NULL && i < event->type->params; ++i) {
    OutputString(chrome->output, i > 0 ? "," : "");
    CleanJson(chrome->output, event->type->param[i], event->type->paramLength[i]);
    OutputString(chrome->output, ":");
    TextInit(&text, OutputRoom(chrome->output), OutputRoomMAX);
    if (event->type->letter[i] == 'S') {
      const char *bytes = LogEventString(event, i, &length);
      DescribeString(&text, DescribeJSON, bytes, length, FALSE);
    } else {
      DescribeValue(&text, DescribeJSON, event, i);
    }
    chrome->output->next = text.next;
  }
  if (caller != 0)
    chromeCalled(chrome, ",", caller);
  OutputString(chrome->output, cut ? ",\"cut\":true}}" : "}}");
}

static void chromeBegin(TrackBuilder chrome, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  chromeHappens(chrome, "B", thread->process, thread, name, time);
  chromeParams(chrome, event);
}

static void chromeEnd(TrackBuilder chrome, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  uint32_t caller;

  chromeHappens(chrome, "E", thread->process, thread, name, time);
  caller = chromeCaller(chrome, "esf", event);
  if (caller != 0) {
    chromeCalled(chrome, ",\"args\":{", caller);
    OutputString(chrome->output, "}");
  }
  OutputString(chrome->output, "}");
}

static void chromeMark(TrackBuilder chrome, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  chromeHappens(chrome, "i", thread->process, thread, name, time);
  OutputString(chrome->output, ",\"s\":\"t\"");
  chromeParams(chrome, event);
}

static void chromeTail(TrackBuilder chrome, uint64_t time)
{
  UNUSED(time);
  OutputString(chrome->output, "\n],\"stackFrames\":{");
  chromeFrames(chrome);
  OutputString(chrome->output, "}}\n");
}

static const TrackSinkStruct chromeSink = {
  .calls = TRUE,
  .head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", .process = chromeProcess, .thread = chromeThread,
  .value = chromeValue, .begin = chromeBegin, .end = chromeEnd, .mark = chromeMark, .tail = chromeTail
};

const WriterClassStruct WriterClassChrome = TrackCLASS("chrome", &chromeSink, WriterTakesSYMBOLS);
