/* paje.c -- the trace format of Writer, for ViTE and pj_dump
 *
 * Processes are containers, and their threads and pools containers in them; slices are states that are pushed and
 * popped, marks events, and gauges variables.
 *
 * Always true: an alias is defined before it is used; times do not fall.
 *
 * Design: design/view.md .drawn.order      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/output.h"
#include "export/trackbuilder.h"

/* The events that have a time, by their numbers in pajeDefinitions. */
enum { pajeCREATE = 5, pajeDESTROY, pajePUSH, pajePOP, pajeNEW, pajeSET };
enum { pajeSTATE = 1, pajeVARIABLE = 2 };

static const char pajeDefinitions[] =
#define F(name, type) "%       " name " " type "\n"
#define EVENT(number, name, fields) "%EventDef Paje" name " " number "\n" fields "%EndEventDef\n"
  EVENT("0", "DefineContainerType", F("Alias", "string") F("Type", "string") F("Name", "string"))
  EVENT("1", "DefineStateType", F("Alias", "string") F("Type", "string") F("Name", "string"))
  EVENT("2", "DefineEventType", F("Alias", "string") F("Type", "string") F("Name", "string"))
  EVENT("3", "DefineVariableType", F("Alias", "string") F("Type", "string") F("Name", "string"))
  EVENT("4", "DefineEntityValue", F("Alias", "string") F("Type", "string") F("Name", "string") F("Color", "color"))
  EVENT("5", "CreateContainer",
        F("Time", "date") F("Alias", "string") F("Type", "string") F("Container", "string") F("Name", "string"))
  EVENT("6", "DestroyContainer", F("Time", "date") F("Type", "string") F("Name", "string"))
  EVENT("7", "PushState", F("Time", "date") F("Type", "string") F("Container", "string") F("Value", "string"))
  EVENT("8", "PopState", F("Time", "date") F("Type", "string") F("Container", "string"))
  EVENT("9", "NewEvent", F("Time", "date") F("Type", "string") F("Container", "string") F("Value", "string"))
  EVENT("10", "SetVariable", F("Time", "date") F("Type", "string") F("Container", "string") F("Value", "double"))
#undef F
#undef EVENT
  "0 P 0 \"Process\"\n"
  "0 T P \"Thread\"\n"
  "0 L P \"Pool\"\n"
  "1 S T \"State\"\n"
  "2 E T \"Event\"\n"
  "3 B L \"live bytes\"\n";

/* pajeName -- a string out of the log; there is no way to write a quote in quotes */
static void pajeName(TrackBuilder paje, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&paje->who.strings, number, &length);

  CleanPlain(paje->output, bytes, length, "\"");
}

/* pajeAt -- an event's number and time */
static void pajeAt(TrackBuilder paje, unsigned event, uint64_t time)
{
  TextStruct text;

  TextInit(&text, OutputRoom(paje->output), OutputRoomMAX);
  TextDecimal(&text, event);
  TextChar(&text, ' ');
  TextDecimal(&text, time / 1000000000);
  TextChar(&text, '.');
  TextPadded(&text, time % 1000000000, 9);
  paje->output->next = text.next;
}

/* pajeThreadAlias -- equal numbers may be in two processes */
static void pajeThreadAlias(TrackBuilder paje, ThreadsThread thread)
{
  OutputNumber(paje->output, " t", thread->process->id);
  OutputNumber(paje->output, "_", thread->tid);
}

/* pajeDefine -- a name is used for something; TRUE: for the first time.  The pen's own memory has bits by the number of
 * the name. */
static Bool pajeDefine(TrackBuilder paje, uint32_t name, unsigned char bit)
{
  unsigned char *defined = paje->own;

  if (name >= paje->owns) {
    Count size = 2 * ((Count)name + 32);
    defined = realloc(defined, size);
    if (defined == NULL) {
      paje->failed = TRUE;
      return FALSE;
    }
    memset(defined + paje->owns, 0, size - paje->owns);
    paje->own = defined;
    paje->owns = size;
  }
  if (defined[name] & bit)
    return FALSE;
  defined[name] |= bit;
  return TRUE;
}

/* pajeState -- a state that is called so has an alias: `s` and the number of its name */
static void pajeState(TrackBuilder paje, uint32_t name)
{
  uint32_t color = name * 0x9e3779b1u;

  if (!pajeDefine(paje, name, pajeSTATE))
    return;
  OutputFormat(paje->output, "4 s%u S \"", name);
  pajeName(paje, name);
  OutputFormat(paje->output, "\" \"0.%u 0.%u 0.%u\"\n", color >> 24 & 7, 2 + (color >> 27 & 7), 2 + (color >> 20 & 7));
}

/* ---- What the pen writes ---- */

static void pajeProcess(TrackBuilder paje, ThreadsProcess process, uint64_t time)
{
  pajeAt(paje, pajeCREATE, time);
  OutputFormat(paje->output, " p%u P 0 \"%u ", process->id, process->id);
  pajeName(paje, process->name);
  OutputString(paje->output, "\"\n");
}

static void pajeThread(TrackBuilder paje, ThreadsThread thread, Bool again, uint64_t time)
{
  Size length;
  const char *name = ThreadsThreadName(&paje->who, thread, &length);

  if (again)
    return; /* a container keeps its name */
  pajeAt(paje, pajeCREATE, time);
  pajeThreadAlias(paje, thread);
  OutputFormat(paje->output, " T p%u \"%u/%u ", thread->process->id, thread->process->id, thread->tid);
  CleanPlain(paje->output, name, length, "\"");
  OutputString(paje->output, "\"\n");
}

static void pajeGauge(TrackBuilder paje, TrackCounter gauge, uint64_t time)
{
  if (gauge->pool) {
    pajeAt(paje, pajeCREATE, time);
    OutputFormat(paje->output, " g%u L p%u \"%u ", gauge->number, gauge->process->id, gauge->process->id);
    pajeName(paje, gauge->name);
    OutputString(paje->output, "\"\n");
  } else if (pajeDefine(paje, gauge->name, pajeVARIABLE)) {
    OutputFormat(paje->output, "3 v%u P \"", gauge->name);
    pajeName(paje, gauge->name);
    OutputString(paje->output, "\"\n");
  }
}

static void pajeValue(TrackBuilder paje, TrackCounter gauge, uint64_t value, uint64_t time)
{
  double d;

  pajeAt(paje, pajeSET, time);
  if (gauge->pool) {
    OutputNumber(paje->output, " B g", gauge->number);
  } else {
    OutputNumber(paje->output, " v", gauge->name);
    OutputNumber(paje->output, " p", gauge->process->id);
  }
  if (gauge->real) {
    char *p = OutputRoom(paje->output);
    memcpy(&d, &value, sizeof d);
    /* Readers know no exponents. */
    paje->output->next = p + snprintf(p, OutputRoomMAX, " %.9f\n", d);
  } else {
    OutputNumber(paje->output, " ", value);
    OutputString(paje->output, "\n");
  }
}

/* pajeHappens -- the beginning of a line about what happens in a thread */
static void pajeHappens(TrackBuilder paje, unsigned event, const char *type, ThreadsThread thread, uint64_t time)
{
  pajeAt(paje, event, time);
  OutputString(paje->output, type);
  pajeThreadAlias(paje, thread);
}

static void pajeBegin(TrackBuilder paje, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  UNUSED(event);
  pajeState(paje, name);
  pajeHappens(paje, pajePUSH, " S", thread, time);
  OutputNumber(paje->output, " s", name);
  OutputString(paje->output, "\n");
}

static void pajeEnd(TrackBuilder paje, ThreadsThread thread, uint32_t name, uint64_t time)
{
  UNUSED(name);
  pajeHappens(paje, pajePOP, " S", thread, time);
  OutputString(paje->output, "\n");
}

static void pajeMark(TrackBuilder paje, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  UNUSED(event);
  /* The name itself: ViTE has aliases for states only. */
  pajeHappens(paje, pajeNEW, " E", thread, time);
  OutputString(paje->output, " \"");
  pajeName(paje, name);
  OutputString(paje->output, "\"\n");
}

/* pajeTail -- what was made, the inner first */
static void pajeTail(TrackBuilder paje, uint64_t time)
{
  ThreadsProcess process;
  ThreadsThread thread;
  TrackCounter gauge;

  for (gauge = paje->gauges; gauge != NULL; gauge = gauge->next) {
    if (gauge->pool) {
      pajeAt(paje, pajeDESTROY, time);
      OutputFormat(paje->output, " L g%u\n", gauge->number);
    }
  }
  for (process = paje->who.first; process != NULL; process = process->next) {
    if (process->client == NULL)
      continue; /* which was never drawn */
    for (thread = process->threads; thread != NULL; thread = thread->next) {
      if (thread->client == NULL)
        continue;
      pajeAt(paje, pajeDESTROY, time);
      OutputString(paje->output, " T");
      pajeThreadAlias(paje, thread);
      OutputString(paje->output, "\n");
    }
    pajeAt(paje, pajeDESTROY, time);
    OutputFormat(paje->output, " P p%u\n", process->id);
  }
}

static Res pajeCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                      Size size)
{
  static const TrackSinkStruct pen = {
    .strict = TRUE, .head = pajeDefinitions, .process = pajeProcess, .thread = pajeThread, .gauge = pajeGauge,
    .value = pajeValue, .begin = pajeBegin, .end = pajeEnd, .mark = pajeMark, .tail = pajeTail};

  UNUSED(error);
  UNUSED(size);
  return TrackCreate(writerReturn, options, log, output, &pen);
}

const WriterClassStruct WriterClassPaje = {.name = "paje", .create = pajeCreate, TrackCLASS};
