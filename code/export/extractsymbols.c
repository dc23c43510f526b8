/* extractsymbols.c -- the symbols that an extract of a log gets, so that it can be read elsewhere
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/extract.h"

#include <stdlib.h>

#include "base/grow.h"
#include "request/typecache.h"

enum {
  symbolsSERIAL = (1 << 27) - 1, /* of the stream: no thread has it */
  symbolsPARAMS = 4              /* code addresses of a type that are looked at */
};

/* An address, and where it was met first. */
typedef struct symbolsMetStruct {
  LogProcess process;
  uint64_t time, address;
  CodeKind kind;
} symbolsMetStruct, *SymbolsMet;

/* What tells addresses apart: no padding. */
typedef struct symbolsKeyStruct {
  uint64_t process, module, code;
} symbolsKeyStruct;

/* A type's parameters that are code addresses. */
typedef struct symbolsPlanStruct {
  Bool made;
  unsigned count;
  uint8_t param[symbolsPARAMS], kind[symbolsPARAMS];
} symbolsPlanStruct, *SymbolsPlan;

struct ExtractSymbolsStruct {
  LogRewrite rewrite;
  Log log;
  CodeSymbols symbols;
  TypeCacheStruct plans;
  StringsStruct keys;
  Count mets, capacity;
  SymbolsMet met; /* owned */
};

Res ExtractSymbolsCreate(ExtractSymbols *writerReturn, LogRewrite rewrite, Log log, CodeSymbols symbols)
{
  ExtractSymbols writer = calloc(1, sizeof *writer);

  if (writer == NULL)
    return ResMEMORY;
  writer->rewrite = rewrite;
  writer->log = log;
  writer->symbols = symbols;
  TypeCacheInit(&writer->plans, sizeof(symbolsPlanStruct));
  *writerReturn = writer;
  return ResOK;
}

void ExtractSymbolsDestroy(ExtractSymbols writer)
{
  if (writer == NULL)
    return;
  TypeCacheFinish(&writer->plans);
  StringsFinish(&writer->keys);
  free(writer->met);
  free(writer);
}

static void symbolsPlan(SymbolsPlan plan, EventType type)
{
  Index i;

  plan->made = TRUE;
  for (i = 0; i < type->params && plan->count < symbolsPARAMS; ++i)
    if (CodeParam(type, i) != CodeNONE) {
      plan->kind[plan->count] = (uint8_t)CodeParam(type, i);
      plan->param[plan->count++] = (uint8_t)i;
    }
}

/* symbolsMeet -- an address; FALSE: no memory */
static Bool symbolsMeet(ExtractSymbols writer, LogProcess process, uint64_t time, uint64_t address, CodeKind kind)
{
  ModuleMap modules = CodeSymbolsModules(writer->symbols);
  uint64_t code = CodeInside(address, kind);
  Module module = ModuleMapFind(modules, process->number, time, code);
  symbolsKeyStruct key = {process->number, ModuleMapNumber(modules, module), code};
  Count known = writer->keys.count;
  uint32_t number = StringsAdd(&writer->keys, (const char *)&key, sizeof key);

  if (number == 0 || (number > known && !Grow(&writer->met, &writer->capacity, writer->mets, sizeof *writer->met)))
    return FALSE;
  if (number > known)
    writer->met[writer->mets++] = (symbolsMetStruct){process, time, address, kind};
  return TRUE;
}

Bool ExtractSymbolsEvent(ExtractSymbols writer, LogEvent event)
{
  SymbolsPlan plan = TypeCacheOf(&writer->plans, event);
  Index i;

  if (plan == NULL)
    return FALSE;
  if (UNLIKELY(!plan->made))
    symbolsPlan(plan, event->type);
  for (i = 0; i < plan->count; ++i) {
    uint64_t address = LogEventWord(event, plan->param[i]);
    if (address != 0 && !symbolsMeet(writer, event->process, event->time, address, plan->kind[i]))
      return FALSE;
  }
  return TRUE;
}

Bool ExtractSymbolsSite(ExtractSymbols writer, LogProcess process, uint64_t time, uint64_t site)
{
  return symbolsMeet(writer, process, time, site, CodeCALL);
}

static int symbolsCompare(const void *a, const void *b)
{
  const symbolsMetStruct *x = a, *y = b;

  if (x->process != y->process)
    return x->process->number < y->process->number ? -1 : 1;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* symbolsType -- a process's type of that name with these parameters, or NULL */
static EventType symbolsType(LogProcess process, const char *name, const char *letters)
{
  Index i, p;

  for (i = 0; i < process->registry->count; ++i) {
    EventType type = &process->registry->types[i];
    if (TypeCacheNamed(type, name) && type->params == strlen(letters)) {
      for (p = 0; p < type->params && type->letter[p] == letters[p];)
        ++p;
      return p == type->params ? type : NULL;
    }
  }
  return NULL;
}

/* symbolsWrite -- the events for one address; FALSE: its process has no types for it */
static Bool symbolsWrite(ExtractSymbols writer, SymbolsMet met)
{
  LogProcess process = met->process;
  EventType function = symbolsType(process, "SymbolFunction", "AUS"), file = symbolsType(process, "SymbolFile", "AUUS");
  CodeSymbol symbol = CodeSymbolOf(writer->symbols, process, met->time, met->address, met->kind);
  uint64_t ticks = LogRewriteTicks(writer->rewrite, process, met->time), code = CodeInside(met->address, met->kind);
  uint32_t thread = HeaderLeader(&process->header);
  Index i;

  if (symbol == NULL || symbol->frames == 0 || symbol->told)
    return TRUE;
  if (function == NULL || file == NULL)
    return FALSE;
  for (i = 0; i < symbol->frames; ++i) {
    SymbolsFrame frame = &symbol->frame[i];
    uint64_t value[EventParamMAX] = {code, i, frame->line};
    if (frame->function != NULL)
      (void)LogRewriteMake(writer->rewrite, process, function, symbolsSERIAL, thread, ticks, value, frame->function);
    if (frame->file != NULL)
      (void)LogRewriteMake(writer->rewrite, process, file, symbolsSERIAL, thread, ticks, value, frame->file);
  }
  return TRUE;
}

void ExtractSymbolsWrite(Count *lackingReturn, ExtractSymbols writer)
{
  LogProcess lacking = NULL;
  Index i;

  *lackingReturn = 0;
  if (writer->mets > 0)
    qsort(writer->met, writer->mets, sizeof *writer->met, symbolsCompare);
  for (i = 0; i < writer->mets; ++i)
    if (!symbolsWrite(writer, &writer->met[i]) && lacking != writer->met[i].process) {
      lacking = writer->met[i].process;
      ++*lackingReturn;
    }
}
