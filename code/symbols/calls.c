/* calls.c -- the calls that stacks and sites consist of, as words
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/calls.h"

#include <string.h>

Res CallsInit(Calls calls, Log log, CodeSymbols symbols)
{
  Res res = ResOK;

  memset(calls, 0, sizeof *calls);
  calls->symbols = symbols;
  if (symbols != NULL)
    calls->modules = CodeSymbolsModules(symbols);
  else
    res = ModuleMapRead(&calls->modules, log);
  if (res == ResOK)
    res = FrameTableCreate(&calls->frames);
  if (res == ResOK)
    res = LogRead(log, FrameTableRequest(calls->frames));
  return res == ResOK ? FrameTableStatus(calls->frames) : res;
}

void CallsFinish(Calls calls)
{
  if (calls->symbols == NULL)
    ModuleMapDestroy(calls->modules);
  if (calls->frames != NULL)
    FrameTableDestroy(calls->frames);
}

Count CallsFind(Call call, Calls calls, LogProcess process, uint64_t time, uint64_t back)
{
  call->symbol = calls->symbols == NULL ? NULL : CodeSymbolOf(calls->symbols, process, time, back, CodeCALL);
  if (call->symbol != NULL)
    call->module = call->symbol->module;
  else
    call->module = ModuleMapFind(calls->modules, process->number, time, CodeInside(back, CodeCALL));
  call->back = back;
  return call->symbol != NULL && call->symbol->frames > 0 ? call->symbol->frames : 1;
}

void CallsName(Text text, Calls calls, Call call, Index i)
{
  Size length;

  if (call->symbol != NULL && i < call->symbol->frames) {
    CodeSymbolFrame(text, calls->symbols, call->symbol, i);
    return;
  }
  if (call->module != NULL) {
    const char *name = ModuleMapString(calls->modules, call->module->name, &length);
    TextBytes(text, length > 0 ? name : "?", length > 0 ? length : 1);
    TextChar(text, '+');
  }
  TextHex(text, call->module != NULL ? call->back - call->module->base : call->back);
}

Bool CallsParam(EventType type, Index param)
{
  static const char name[] = "stack";

  return type->letter[param] == 'W' && type->paramLength[param] == sizeof name - 1 &&
         memcmp(type->param[param], name, sizeof name - 1) == 0 && !FrameTableWants(type);
}

/* callsNext -- append a name to a list of them */
static void callsNext(Text text, Size begin, const char *name)
{
  TextFormat(text, "%s%s", TextLength(text) > begin ? " < " : "", name);
}

void CallsStack(Text text, Calls calls, LogProcess process, uint64_t time, uint32_t stack)
{
  uint32_t number = stack & ~FrameSHORT;
  Size begin = TextLength(text);
  CallStruct call;
  Frame frame;
  Count i, n;

  if ((stack & FrameSHORT) != 0)
    callsNext(text, begin, "...");
  while (!text->overflow && (frame = FrameTableFind(calls->frames, process->number, number)) != NULL) {
    n = CallsFind(&call, calls, process, time, frame->address + 1);
    for (i = 0; i < n; ++i) {
      callsNext(text, begin, "");
      CallsName(text, calls, &call, i);
    }
    number = frame->parent;
  }
  if (number != FrameWHOLE && TextLength(text) > begin && !text->overflow)
    callsNext(text, begin, number == FrameCUT ? "..." : "?");
}
