/* paje.c -- the trace format of Writer, for ViTE and pj_dump
 *
 * Processes are containers, and their threads and pools containers in them; slices are states that are pushed and
 * popped, marks events, and gauges variables.
 *
 * Always true: an alias is defined before it is used; times do not fall.
 *
 * Design: design/view.md .drawn.order      Tests: test/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/clean.h"
#include "view/draw.h"

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

struct WriterStruct {
  Output output;
  Draw draw;
  unsigned char *defined; /* by number in who.strings: what has an alias for it */
  Count capacity;
  Bool failed;            /* there was no memory */
  DrawPenStruct pen;
};

/* pajeName -- a string out of the log; there is no way to write a quote in quotes */
static void pajeName(Writer paje, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&DrawWho(paje->draw)->strings, number, &length);

  CleanPlain(paje->output, bytes, length, "\"");
}

/* pajeAt -- an event's number and time */
static void pajeAt(Writer paje, unsigned event, uint64_t time)
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
static void pajeThreadAlias(Writer paje, WhoThread thread)
{
  OutputNumber(paje->output, " t", thread->process->id);
  OutputNumber(paje->output, "_", thread->tid);
}

/* pajeDefine -- a name is used for something; TRUE: for the first time */
static Bool pajeDefine(Writer paje, uint32_t name, unsigned bit)
{
  if (name >= paje->capacity) {
    Count capacity = 2 * ((Count)name + 32);
    unsigned char *defined = realloc(paje->defined, capacity);
    if (defined == NULL) {
      paje->failed = TRUE;
      return FALSE;
    }
    memset(defined + paje->capacity, 0, capacity - paje->capacity);
    paje->defined = defined;
    paje->capacity = capacity;
  }
  if (paje->defined[name] & bit)
    return FALSE;
  paje->defined[name] |= (unsigned char)bit;
  return TRUE;
}

/* pajeState -- a state that is called so has an alias: `s` and the number of its name */
static void pajeState(Writer paje, uint32_t name)
{
  uint32_t color = name * 0x9e3779b1u;

  if (!pajeDefine(paje, name, pajeSTATE))
    return;
  OutputNumber(paje->output, "4 s", name);
  OutputString(paje->output, " S \"");
  pajeName(paje, name);
  OutputNumber(paje->output, "\" \"0.", color >> 24 & 7);
  OutputNumber(paje->output, " 0.", 2 + (color >> 27 & 7));
  OutputNumber(paje->output, " 0.", 2 + (color >> 20 & 7));
  OutputString(paje->output, "\"\n");
}

/* ---- What the pen writes ---- */

static void pajeProcess(void *data, WhoProcess process, uint64_t time)
{
  Writer paje = data;

  pajeAt(paje, pajeCREATE, time);
  OutputNumber(paje->output, " p", process->id);
  OutputNumber(paje->output, " P 0 \"", process->id);
  OutputString(paje->output, " ");
  pajeName(paje, process->name);
  OutputString(paje->output, "\"\n");
}

static void pajeThread(void *data, WhoThread thread, Bool again, uint64_t time)
{
  Writer paje = data;
  Size length;
  const char *name = WhoThreadName(DrawWho(paje->draw), thread, &length);

  if (again)
    return; /* a container keeps its name */
  pajeAt(paje, pajeCREATE, time);
  pajeThreadAlias(paje, thread);
  OutputNumber(paje->output, " T p", thread->process->id);
  OutputNumber(paje->output, " \"", thread->process->id);
  OutputNumber(paje->output, "/", thread->tid);
  OutputString(paje->output, " ");
  CleanPlain(paje->output, name, length, "\"");
  OutputString(paje->output, "\"\n");
}

static void pajeGauge(void *data, DrawGauge gauge, uint64_t time)
{
  Writer paje = data;

  if (gauge->pool) {
    pajeAt(paje, pajeCREATE, time);
    OutputNumber(paje->output, " g", gauge->number);
    OutputNumber(paje->output, " L p", gauge->process->id);
    OutputNumber(paje->output, " \"", gauge->process->id);
    OutputString(paje->output, " ");
    pajeName(paje, gauge->name);
    OutputString(paje->output, "\"\n");
  } else if (pajeDefine(paje, gauge->name, pajeVARIABLE)) {
    OutputNumber(paje->output, "3 v", gauge->name);
    OutputString(paje->output, " P \"");
    pajeName(paje, gauge->name);
    OutputString(paje->output, "\"\n");
  }
}

static void pajeValue(void *data, DrawGauge gauge, uint64_t value, uint64_t time)
{
  Writer paje = data;
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
static void pajeHappens(Writer paje, unsigned event, const char *type, WhoThread thread, uint64_t time)
{
  pajeAt(paje, event, time);
  OutputString(paje->output, type);
  pajeThreadAlias(paje, thread);
}

static void pajeBegin(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  Writer paje = data;

  UNUSED(event);
  pajeState(paje, name);
  pajeHappens(paje, pajePUSH, " S", thread, time);
  OutputNumber(paje->output, " s", name);
  OutputString(paje->output, "\n");
}

static void pajeEnd(void *data, WhoThread thread, uint32_t name, uint64_t time)
{
  Writer paje = data;

  UNUSED(name);
  pajeHappens(paje, pajePOP, " S", thread, time);
  OutputString(paje->output, "\n");
}

static void pajeMark(void *data, WhoThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  Writer paje = data;

  UNUSED(event);
  /* The name itself: ViTE has aliases for states only. */
  pajeHappens(paje, pajeNEW, " E", thread, time);
  OutputString(paje->output, " \"");
  pajeName(paje, name);
  OutputString(paje->output, "\"\n");
}

/* ---- The writer ---- */

static Bool pajeEvent(LogRequest request, LogEvent event)
{
  Writer paje = request->data;

  return !DrawEvent(paje->draw, event) || paje->failed || paje->output->failed != 0;
}

/* pajeDestroyAll -- what was made, the inner first */
static void pajeDestroyAll(Writer paje, uint64_t time)
{
  WhoProcess process;
  WhoThread thread;
  DrawGauge gauge;

  for (gauge = DrawGauges(paje->draw); gauge != NULL; gauge = gauge->next) {
    if (gauge->pool) {
      pajeAt(paje, pajeDESTROY, time);
      OutputNumber(paje->output, " L g", gauge->number);
      OutputString(paje->output, "\n");
    }
  }
  for (process = DrawWho(paje->draw)->first; process != NULL; process = process->next) {
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
    OutputNumber(paje->output, " P p", process->id);
    OutputString(paje->output, "\n");
  }
}

static Res pajeRead(Writer paje, LogRequest request)
{
  return DrawRead(paje->draw, request);
}

static Res pajeFinish(Writer paje)
{
  uint64_t end;

  if (DrawFinish(paje->draw, &end) != ResOK || paje->failed) {
    errno = ENOMEM;
    return ResIO;
  }
  pajeDestroyAll(paje, end);
  return OutputEnd(paje->output);
}

static void pajeDestroy(Writer paje)
{
  DrawDestroy(paje->draw);
  free(paje->defined);
  free(paje);
}

static Res pajeCreate(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                      Size size)
{
  Writer paje = calloc(1, sizeof *paje);

  UNUSED(error);
  UNUSED(size);
  if (paje == NULL)
    return ResMEMORY;
  paje->output = output;
  paje->pen = (DrawPenStruct){paje, TRUE, pajeProcess, pajeThread, pajeGauge, pajeValue, pajeBegin, pajeEnd, pajeMark};
  if (DrawCreate(&paje->draw, options, log, &paje->pen) != ResOK) {
    free(paje);
    return ResMEMORY;
  }
  OutputString(paje->output, pajeDefinitions);
  *writerReturn = paje;
  return ResOK;
}

const WriterClassStruct WriterClassPaje = {
  .name = "paje", .heirs = TRUE, .takes = WriterTakesTHIN, .create = pajeCreate, .event = pajeEvent, .read = pajeRead,
  .finish = pajeFinish, .destroy = pajeDestroy,
};
