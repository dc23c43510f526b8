/* paje.c -- the trace format of Writer, for ViTE and pj_dump
 *
 * Processes are containers, and their threads and pools containers in them; slices are states that are pushed and
 * popped, marks events, and counters variables.
 *
 * Always true: an alias is defined before it is used; times do not fall.
 *
 * Design: design/view.md .drawn.order      Tests: test/export/drawn.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "export/output.h"
#include "export/trackbuilder.h"

/* The events that have a time, by their numbers in pajeDefinitions. */
enum { pajeCREATE = 5, pajeDESTROY, pajePUSH, pajePOP, pajeNEW, pajeSET };
enum { pajeSTATE, pajeVARIABLE }; /* which names have as aliases */

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

/* pajeName -- write a string out of the log; there is no way to write a quote in quotes */
static void pajeName(TrackBuilder paje, uint32_t number)
{
  Size length;
  const char *bytes = StringsAt(&paje->who.strings, number, &length);

  CleanPlain(paje->output, bytes, length, "\"");
}

/* pajeAt -- begin a line with an event's number and time */
static void pajeAt(TrackBuilder paje, unsigned event, uint64_t time)
{
  OutputFormat(paje->output, "%u %lu.%09lu", event, time / 1000000000, time % 1000000000);
}

/* pajeAtThread -- the same for a thread, whose alias has its process's number, too: two processes may have threads of
 * one number */
static void pajeAtThread(TrackBuilder paje, unsigned event, const char *before, ThreadsThread thread, uint64_t time)
{
  pajeAt(paje, event, time);
  OutputFormat(paje->output, " %st%u_%u", before, thread->process->id, thread->tid);
}

/* pajeDefine -- a name is used as an alias; TRUE: for the first time */
static Bool pajeDefine(TrackBuilder paje, uint32_t name, uint32_t as)
{
  Count before = paje->defined.count;
  uint32_t key[] = {name, as};

  if (StringsAdd(&paje->defined, (const char *)key, sizeof key) == 0)
    paje->failed = TRUE;
  return paje->defined.count > before;
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

/* ---- The sink ---- */

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
  pajeAtThread(paje, pajeCREATE, "", thread, time);
  OutputFormat(paje->output, " T p%u \"%u/%u ", thread->process->id, thread->process->id, thread->tid);
  CleanPlain(paje->output, name, length, "\"");
  OutputString(paje->output, "\"\n");
}

static void pajeCounter(TrackBuilder paje, TrackCounter counter, uint64_t time)
{
  if (counter->pool) {
    pajeAt(paje, pajeCREATE, time);
    OutputFormat(paje->output, " g%u L p%u \"%u ", counter->number, counter->process->id, counter->process->id);
  } else if (pajeDefine(paje, counter->name, pajeVARIABLE)) {
    OutputFormat(paje->output, "3 v%u P \"", counter->name);
  } else {
    return;
  }
  pajeName(paje, counter->name);
  OutputString(paje->output, "\"\n");
}

static void pajeValue(TrackBuilder paje, TrackCounter counter, uint64_t value, uint64_t time)
{
  char *p;

  pajeAt(paje, pajeSET, time);
  if (counter->pool)
    OutputFormat(paje->output, " B g%u", counter->number);
  else
    OutputFormat(paje->output, " v%u p%u", counter->name, counter->process->id);
  if (counter->real) {
    p = OutputRoom(paje->output);
    paje->output->next = p + snprintf(p, OutputRoomMAX, " %.9f\n", TrackReal(value)); /* readers know no exponents */
  } else {
    OutputFormat(paje->output, " %lu\n", value);
  }
}

static void pajeBegin(TrackBuilder paje, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  UNUSED(event);
  pajeState(paje, name);
  pajeAtThread(paje, pajePUSH, "S ", thread, time);
  OutputFormat(paje->output, " s%u\n", name);
}

static void pajeEnd(TrackBuilder paje, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  UNUSED(name);
  UNUSED(event);
  pajeAtThread(paje, pajePOP, "S ", thread, time);
  OutputString(paje->output, "\n");
}

static void pajeMark(TrackBuilder paje, ThreadsThread thread, uint32_t name, LogEvent event, uint64_t time)
{
  UNUSED(event);
  pajeAtThread(paje, pajeNEW, "E ", thread, time);
  OutputString(paje->output, " \""); /* the name itself: ViTE has aliases for states only */
  pajeName(paje, name);
  OutputString(paje->output, "\"\n");
}

/* pajeTail -- destroy the containers, the inner ones first */
static void pajeTail(TrackBuilder paje, uint64_t time)
{
  ThreadsProcess process;
  ThreadsThread thread;
  Index i;

  for (i = paje->counters; i-- > 0;) {
    if (paje->counter[i]->pool) {
      pajeAt(paje, pajeDESTROY, time);
      OutputFormat(paje->output, " L g%u\n", paje->counter[i]->number);
    }
  }
  for (process = paje->who.first; process != NULL; process = process->next) {
    if (process->client == NULL)
      continue; /* which was never drawn */
    for (thread = process->threads; thread != NULL; thread = thread->next) {
      if (thread->client == NULL)
        continue;
      pajeAtThread(paje, pajeDESTROY, "T ", thread, time);
      OutputString(paje->output, "\n");
    }
    pajeAt(paje, pajeDESTROY, time);
    OutputFormat(paje->output, " P p%u\n", process->id);
  }
}

static const TrackSinkStruct pajeSink = {
  .strict = TRUE, .head = pajeDefinitions, .process = pajeProcess, .thread = pajeThread, .counter = pajeCounter,
  .value = pajeValue, .begin = pajeBegin, .end = pajeEnd, .mark = pajeMark, .tail = pajeTail
};

const WriterClassStruct WriterClassPaje = TrackCLASS("paje", &pajeSink, 0);
