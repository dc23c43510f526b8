/* codesymbols.c -- what the code addresses in a log's events are
 *
 * Always true: a place's number is that of its key; the frames' strings are in `symbols` or in `strings`.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/codesymbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "log/typenames.h"
#include "request/request.h"
#include "request/typecache.h"
#include "symbols/perfmap.h"

#define placesFOLDER "/tmp"

/* What tells places apart: no padding. */
typedef struct placesKeyStruct {
  uint64_t module;   /* its number; 0: none */
  uint64_t process;  /* the number of the process: what the log tells is of one */
  uint64_t address, kind;
} placesKeyStruct;

typedef struct placesMapStruct {
  Bool tried;
  PerfMap map;
} placesMapStruct;

/* What an event of the log tells. */
typedef struct placesToldStruct {
  LogProcess process;
  uint64_t time, code, order;
  uint64_t module;       /* its number, once modules are known */
  uint32_t frame, line;
  uint32_t text;         /* a function or a file, in `strings` */
  Bool file;
} placesToldStruct, *PlacesTold;

enum { placesFUNCTION = TypeCacheCLIENT, placesFILE };
enum { placesCODE, placesFRAME, placesTEXT, placesLINE };

static const TypeCacheKnownStruct placesKnown[] = {
  {"SymbolFunction", placesFUNCTION, {"AP code", "U frame", "S function"}},
  {"SymbolFile", placesFILE, {"AP code", "U frame", "S file", "U line"}}};

struct CodeSymbolsStruct {
  Log log;
  Symbols symbols;
  ModuleMap modules;
  TypeCacheStruct types;   /* TypeCacheTellStructs */
  StringsStruct strings;
  Count tolds, toldCapacity;
  PlacesTold told;       /* owned; by process, module, code, frame and order */
  StringsStruct keys;
  Count capacity;
  CodeSymbol *place;      /* owned; by number of the key, less 1 */
  Count processes;
  placesMapStruct *perf; /* owned; by process */
  Bool failed;           /* there was no memory for an event */
};

CodeKind CodeParam(EventType type, Index param)
{
  static const struct { const char *name; CodeKind kind; } known[] = {{"site", CodeCALL}, {"pc", CodeCALL},
                                                                      {"address", CodeINSIDE},
                                                                      {"start", CodeEXACT}};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(known); ++i)
    if ((type->letter[param] == 'A' || type->letter[param] == 'P') &&
        type->paramLength[param] == strlen(known[i].name) &&
        memcmp(type->param[param], known[i].name, type->paramLength[param]) == 0)
      return known[i].kind;
  return CodeNONE;
}

/* ---- What the log tells ---- */

static int placesCompare(const void *a, const void *b)
{
  const placesToldStruct *x = a, *y = b;

  if (x->process != y->process)
    return x->process->number < y->process->number ? -1 : 1;
  if (x->module != y->module)
    return x->module < y->module ? -1 : 1;
  if (x->code != y->code)
    return x->code < y->code ? -1 : 1;
  if (x->frame != y->frame)
    return x->frame < y->frame ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static Bool placesChoose(void *data, LogProcess process, EventType type)
{
  UNUSED(data);
  UNUSED(process);
  return TypeCacheKnows(type, placesKnown, ARRAY_LENGTH(placesKnown)) || ModuleMapTells(type);
}

static Bool placesEvent(LogRequest request, LogEvent event)
{
  CodeSymbols places = request->data;
  TypeCacheTell plan = TypeCacheTells(&places->types, event, placesKnown, ARRAY_LENGTH(placesKnown));
  placesToldStruct told = {.process = event->process, .time = event->time, .order = places->tolds};
  const char *text;
  Size length;

  if (plan == NULL || !ModuleMapTake(places->modules, event)) {
    places->failed = TRUE;
    return TRUE;
  }
  if (plan->tells == TypeCacheNOTHING)
    return FALSE;
  told.code = LogEventWord(event, (Index)plan->param[placesCODE]);
  told.frame = (uint32_t)LogEventWord(event, (Index)plan->param[placesFRAME]);
  told.file = plan->tells == placesFILE;
  if (told.file)
    told.line = (uint32_t)LogEventWord(event, (Index)plan->param[placesLINE]);
  text = LogEventString(event, (Index)plan->param[placesTEXT], &length);
  told.text = StringsAdd(&places->strings, text, length);
  if (told.frame >= SymbolsFramesMAX)
    return FALSE;
  if (!Grow(&places->told, &places->toldCapacity, places->tolds, sizeof told)) {
    places->failed = TRUE;
    return TRUE;
  }
  places->told[places->tolds++] = told;
  return FALSE;
}

/* placesRead -- modules and symbols that the log tells, in one pass */
static Res placesRead(CodeSymbols places)
{
  LogRequestStruct request = LogRequestALL;
  Index i;
  Res res;

  request.data = places;
  request.choose = placesChoose;
  request.kinds = LogKindsOf(places->log, placesChoose, places);
  request.event = placesEvent;
  res = LogRead(places->log, &request);
  if (res == ResOK)
    res = places->failed ? ResMEMORY : ModuleMapSettle(places->modules);
  for (i = 0; i < places->tolds && res == ResOK; ++i) {
    PlacesTold told = &places->told[i];
    told->module = ModuleMapNumber(places->modules, ModuleMapFind(places->modules, told->process->number, told->time,
                                                                  told->code));
  }
  if (places->tolds > 0)
    qsort(places->told, places->tolds, sizeof *places->told, placesCompare);
  return res;
}

/* placesTold -- the frames that the log has of an address; returns how many */
static Count placesTold(CodeSymbols places, LogProcess process, Module module, uint64_t code, SymbolsFrame frames)
{
  placesToldStruct key = {.process = process, .module = ModuleMapNumber(places->modules, module), .code = code};
  Index low = 0, high = places->tolds;
  Count n = 0;
  Size length;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (placesCompare(&places->told[middle], &key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < places->tolds; ++low) {
    PlacesTold told = &places->told[low];
    const char *text = StringsAt(&places->strings, told->text, &length);
    if (told->process != process || told->module != key.module || told->code != code || told->frame > n)
      break;
    if (told->frame == n)
      frames[n++] = (SymbolsFrameStruct){.line = 0};
    if (n > 1)
      frames[n - 2].inlined = TRUE;
    if (told->file) {
      frames[n - 1].file = text;
      frames[n - 1].line = told->line;
    } else {
      frames[n - 1].function = text;
    }
  }
  return n;
}

/* ---- The whole ---- */

Res CodeSymbolsCreate(CodeSymbols *placesReturn, Log log, void (*note)(void *data, const char *line), void *data)
{
  CodeSymbols places = calloc(1, sizeof *places);
  Res res;

  if (places == NULL)
    return ResMEMORY;
  places->log = log;
  places->processes = LogProcesses(log);
  places->perf = calloc(places->processes + 1, sizeof *places->perf);
  TypeCacheInit(&places->types, sizeof(TypeCacheTellStruct));
  res = places->perf == NULL ? ResMEMORY : SymbolsCreate(&places->symbols, note, data);
  if (res == ResOK)
    res = ModuleMapMake(&places->modules, places->processes);
  if (res == ResOK)
    res = placesRead(places);
  if (res == ResOK)
    *placesReturn = places;
  else
    CodeSymbolsDestroy(places);
  return res;
}

void CodeSymbolsDestroy(CodeSymbols places)
{
  Index i;

  if (places == NULL)
    return;
  for (i = 0; i < places->keys.count; ++i)
    free(places->place[i]);
  for (i = 0; i < places->processes && places->perf != NULL; ++i)
    PerfMapClose(places->perf[i].map);
  free(places->perf);
  free(places->place);
  free(places->told);
  TypeCacheFinish(&places->types);
  StringsFinish(&places->strings);
  StringsFinish(&places->keys);
  ModuleMapDestroy(places->modules);
  SymbolsDestroy(places->symbols);
  free(places);
}

void CodeSymbolsUnlined(CodeSymbols places)
{
  SymbolsUnlined(places->symbols);
}

ModuleMap CodeSymbolsModules(CodeSymbols places)
{
  return places->modules;
}

/* placesPerf -- the function that a process compiled while it ran */
static Count placesPerf(CodeSymbols places, LogProcess process, uint64_t address, SymbolsFrame frame)
{
  placesMapStruct *perf = &places->perf[process->number];
  const char *name;

  if (!perf->tried) {
    LogSummaryStruct summary;
    perf->tried = TRUE;
    LogSummarize(&summary, places->log);
    (void)PerfMapOpen(&perf->map, placesFOLDER, HeaderLeader(&process->header), (int64_t)(summary.first / 1000000000));
  }
  name = perf->map == NULL ? NULL : PerfMapFind(perf->map, address);
  *frame = (SymbolsFrameStruct){.function = name == NULL ? NULL : SymbolsName(places->symbols, name)};
  return name != NULL;
}

/* placesMake -- find out what an address is; NULL: no memory */
static CodeSymbol placesMake(CodeSymbols places, LogProcess process, Module module, uint64_t address, CodeKind kind)
{
  SymbolsFrameStruct frames[SymbolsFramesMAX];
  SymbolsModuleStruct known = {.build = NULL};
  uint64_t code = CodeInside(address, kind);
  Count n = placesTold(places, process, module, code, frames);
  Bool told = n > 0;
  CodeSymbol place;
  Size length;

  if (n > 0)
    ;
  else if (module == NULL) {
    n = placesPerf(places, process, code, frames);
  } else {
    known.path = ModuleMapString(places->modules, module->path, &length);
    if (module->build != 0)
      known.build = ModuleMapString(places->modules, module->build, &length);
    known.loaded = module->from;
    n = SymbolsFind(places->symbols, &known, code - module->base, kind != CodeEXACT, frames, SymbolsFramesMAX);
  }
  place = malloc(sizeof *place + n * sizeof *frames);
  if (place == NULL)
    return NULL;
  *place = (CodeSymbolStruct){.module = module, .address = address, .told = told, .frames = n,
                             .offset = module == NULL ? 0 : address - module->base};
  memcpy(place->frame, frames, n * sizeof *frames);
  return place;
}

CodeSymbol CodeSymbolOf(CodeSymbols places, LogProcess process, uint64_t time, uint64_t address, CodeKind kind)
{
  Module module = ModuleMapFind(places->modules, process->number, time, CodeInside(address, kind));
  placesKeyStruct key = {ModuleMapNumber(places->modules, module), process->number, address, kind};
  Count known = places->keys.count;
  uint32_t number;

  if (address == 0 || process->number >= places->processes ||
      !Grow(&places->place, &places->capacity, known, sizeof *places->place))
    return NULL;
  number = StringsAdd(&places->keys, (const char *)&key, sizeof key);
  if (number == 0)
    return NULL;
  if (number > known)
    places->place[number - 1] = placesMake(places, process, module, address, kind);
  return places->place[number - 1];
}

/* ---- In words ---- */

static void placesModule(Text text, CodeSymbols places, CodeSymbol place)
{
  Size length;
  const char *name = ModuleMapString(places->modules, place->module->name, &length);

  TextBytes(text, name, length);
}

void CodeSymbolFrame(Text text, CodeSymbols places, CodeSymbol place, Index i)
{
  if (i < place->frames && place->frame[i].function != NULL) {
    TextString(text, place->frame[i].function);
  } else if (place->module != NULL) {
    placesModule(text, places, place);
    TextChar(text, '+');
    TextHex(text, place->offset);
  } else {
    TextHex(text, place->address);
  }
}

void CodeSymbolText(Text text, CodeSymbols places, CodeSymbol place)
{
  Index i;

  if (place->frames == 0 && place->module != NULL)
    CodeSymbolFrame(text, places, place, 0);
  for (i = 0; i < place->frames; ++i) {
    SymbolsFrame frame = &place->frame[i];
    if (i > 0)
      TextString(text, " (inlined by) ");
    CodeSymbolFrame(text, places, place, i);
    if (frame->file != NULL) {
      TextFormat(text, " at %s:%u", frame->file, frame->line);
    } else if (place->module != NULL && frame->function != NULL) {
      TextString(text, " in ");
      placesModule(text, places, place);
    }
  }
}
