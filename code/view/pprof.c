/* pprof.c -- who asked for memory, as a profile that `go tool pprof' and others read
 *
 * The file is one message of profile.proto, field after field, uncompressed.  There is a sample for each site or stack
 * of each process, with what it allocated, what it has at the end and what it had at the peak, each in objects and
 * bytes. All else is written when the first sample needs it: a location is an address in a mapping, a mapping a module
 * of a process, the first one its program.  Nothing is kept but numbers; strings come last.
 *
 * Always true: ids of locations, mappings and functions are numbers of their keys, 1, 2, ..., and what has an id has
 * been written.
 *
 * Design: design/view.md .pprof      Tests: test/view/pprof.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/viewheap.h"
#include "base/bytesreader.h"
#include "export/output.h"
#include "export/writer.h"
#include "log/processname.h"
#include "request/stringtable.h"
#include "view/formats.h"

enum {
  pprofFRAMES = 512,   /* of a stack; what is further out is one frame */
  pprofMESSAGE = 8192, /* bytes of a message, strings excepted */
  pprofSTRING = 4096   /* bytes of a string that a log has, escaped */
};

/* Fields of profile.proto. */
enum {
  pprofSAMPLETYPE = 1, pprofSAMPLE = 2, pprofMAPPING = 3, pprofLOCATION = 4, pprofFUNCTION = 5, pprofSTRINGS = 6,
  pprofTIME = 9, pprofDURATION = 10, pprofCOMMENT = 13, pprofDEFAULT = 14
};

/* What each sample counts, as Go calls it, so that readers know what to call it. */
static const struct {
  const char *type, *unit;
} pprofTypes[] = {
  {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"},
  {"peak_objects", "count"}, {"peak_space", "bytes"}
};

/* A key of a location, without padding. */
typedef struct pprofPlaceStruct {
  uint64_t mapping; /* its id; 0: none */
  uint64_t process; /* if there is none, the process in which it is code; UINT64_MAX: it is words */
  uint64_t address; /* or the number of words */
} pprofPlaceStruct;

/* A key of a mapping. */
typedef struct pprofSpanStruct {
  uint64_t process, module; /* numbers */
} pprofSpanStruct;

struct WriterStruct {
  const WriterOptionsStruct *options;
  Output output;
  CodeNames names;
  ViewHeap heap;
  StringsStruct strings;             /* of the profile */
  StringsStruct places, spans, functions; /* keys; a number is an id */
  Res res;                           /* ResOK until memory ran out */
};

/* A message that is being made. */
typedef struct pprofMessageStruct {
  Size length;
  unsigned char bytes[pprofMESSAGE];
} pprofMessageStruct, *pprofMessage;

/* ---- Messages ---- */

static void pprofVarint(pprofMessage message, uint64_t n)
{
  AVER(message->length + LebMAX <= sizeof message->bytes);
  message->length = (Size)(LebPut(message->bytes + message->length, n) - message->bytes);
}

/* pprofNumber -- a field that is a number; 0 is what a field has that is not there */
static void pprofNumber(pprofMessage message, unsigned field, uint64_t n)
{
  if (n == 0)
    return;
  pprofVarint(message, field << 3);
  pprofVarint(message, n);
}

/* pprofInner -- a field that is a message, or packed numbers */
static void pprofInner(pprofMessage message, unsigned field, const pprofMessageStruct *inner)
{
  pprofVarint(message, field << 3 | 2);
  pprofVarint(message, inner->length);
  AVER(message->length + inner->length <= sizeof message->bytes);
  memcpy(message->bytes + message->length, inner->bytes, inner->length);
  message->length += inner->length;
}

/* pprofBytes -- write a field of the profile that is a message or a string */
static void pprofBytes(Writer profile, unsigned field, const void *bytes, Size length)
{
  pprofMessageStruct head = {.length = 0};

  pprofVarint(&head, field << 3 | 2);
  pprofVarint(&head, length);
  OutputBytes(profile->output, head.bytes, head.length);
  OutputBytes(profile->output, bytes, length);
}

static void pprofWrite(Writer profile, unsigned field, const pprofMessageStruct *message)
{
  pprofBytes(profile, field, message->bytes, message->length);
}

/* pprofKey -- the number of a key; *newReturn: it is new.  Without memory it is 0. */
static uint64_t pprofKey(Writer profile, Strings keys, const void *key, Size size, Bool *newReturn)
{
  Count known = keys->count;
  uint32_t number = StringsAdd(keys, key, size);

  *newReturn = number > known;
  if (number == 0 && size > 0)
    profile->res = ResMEMORY;
  return number;
}

/* pprofString -- the number of a string out of a log, made fit for a terminal, and for UTF-8 */
static uint64_t pprofString(Writer profile, const char *bytes, Size length)
{
  char room[pprofSTRING];
  TextStruct text;
  Bool new;

  TextInit(&text, room, sizeof room);
  TextPlain(&text, bytes, length);
  return pprofKey(profile, &profile->strings, room, TextLength(&text), &new);
}

static uint64_t pprofWords(Writer profile, const char *words)
{
  return pprofString(profile, words, strlen(words));
}

/* ---- Locations ---- */

/* pprofSymbols -- what knows the modules; with --symbols also its functions are shown */
static CodeSymbols pprofSymbols(Writer profile)
{
  return profile->options->symbols != NULL ? profile->options->symbols : profile->names->symbols;
}

/* pprofMapping -- the id of a module of a process; 0: none */
static uint64_t pprofMapping(Writer profile, Index process, Module module)
{
  pprofMessageStruct message = {.length = 0};
  ModuleMap modules = CodeSymbolsModules(pprofSymbols(profile));
  pprofSpanStruct key = {process, 0};
  const char *string;
  uint64_t id;
  unsigned i;
  Size length;
  Bool new;

  if (module == NULL)
    return 0;
  key.module = ModuleMapNumber(modules, module);
  id = pprofKey(profile, &profile->spans, &key, sizeof key, &new);
  if (!new)
    return id;
  pprofNumber(&message, 1, id);
  pprofNumber(&message, 2, module->base);
  pprofNumber(&message, 3, module->base + module->size);
  string = ModuleMapString(modules, module->path, &length);
  pprofNumber(&message, 5, pprofString(profile, string, length));
  string = ModuleMapString(modules, module->build, &length);
  pprofNumber(&message, 6, pprofString(profile, string, length));
  for (i = 7; i <= 10; ++i) /* functions, files, lines and inlined functions: what can be said of them is said */
    pprofNumber(&message, i, profile->options->symbols != NULL);
  pprofWrite(profile, pprofMAPPING, &message);
  return id;
}

/* pprofLine -- add a function to a location; `file` may be NULL */
static void pprofLine(Writer profile, pprofMessage location, Text name, const char *file, uint32_t line)
{
  pprofMessageStruct function = {.length = 0}, inner = {.length = 0};
  uint64_t key[2] = {pprofString(profile, name->base, TextLength(name)), file != NULL ? pprofWords(profile, file) : 0};
  uint64_t id;
  Bool new;

  id = pprofKey(profile, &profile->functions, key, sizeof key, &new);
  if (new) {
    pprofNumber(&function, 1, id);
    pprofNumber(&function, 2, key[0]);
    pprofNumber(&function, 4, key[1]);
    pprofWrite(profile, pprofFUNCTION, &function);
  }
  pprofNumber(&inner, 1, id);
  pprofNumber(&inner, 2, line);
  pprofInner(location, 4, &inner);
}

/* pprofNamed -- the id of a location that is no code, but words */
static uint64_t pprofNamed(Writer profile, const char *words)
{
  pprofPlaceStruct place = {0, UINT64_MAX, pprofWords(profile, words)};
  pprofMessageStruct message = {.length = 0};
  char room[64];
  TextStruct name;
  uint64_t id;
  Bool new;

  id = pprofKey(profile, &profile->places, &place, sizeof place, &new);
  if (!new)
    return id;
  TextInit(&name, room, sizeof room);
  TextString(&name, words);
  pprofNumber(&message, 1, id);
  pprofLine(profile, &message, &name, NULL, 0);
  pprofWrite(profile, pprofLOCATION, &message);
  return id;
}

/* pprofFunctions -- add the functions of a call, the innermost first; FALSE: none is known, or none is asked for */
static Bool pprofFunctions(Writer profile, pprofMessage location, CodeSymbol symbol)
{
  char room[pprofSTRING];
  TextStruct name;
  Index i;

  if (symbol == NULL)
    return FALSE;
  for (i = 0; i < symbol->frames; ++i) {
    TextInit(&name, room, sizeof room);
    CodeSymbolFrame(&name, profile->options->symbols, symbol, i);
    pprofLine(profile, location, &name, symbol->frame[i].file, symbol->frame[i].line);
  }
  return symbol->frames > 0;
}

/* pprofOffset -- add as a function the module and the place in that to which the call returns, as the views have it */
static void pprofOffset(Writer profile, pprofMessage location, Module module, uint64_t back)
{
  char room[pprofSTRING];
  TextStruct name;
  Size length;

  TextInit(&name, room, sizeof room);
  if (module != NULL) {
    const char *path = ModuleMapString(CodeSymbolsModules(pprofSymbols(profile)), module->name, &length);
    TextBytes(&name, path, length < pprofSTRING / 2 ? length : pprofSTRING / 2);
    TextChar(&name, '+');
  }
  TextHex(&name, module != NULL ? back - module->base : back);
  pprofLine(profile, location, &name, NULL, 0);
}

/* pprofLocation -- the id of the location of a call, given what it returns to: the address is within the call, as
 * profiles have it */
static uint64_t pprofLocation(Writer profile, Site site, uint64_t back)
{
  LogProcess process = LogProcessAt(profile->options->log, site->asker);
  CodeSymbols symbols = profile->options->symbols; /* NULL: the log says which module it is, and no file is opened */
  CodeSymbol symbol = symbols == NULL ? NULL : CodeSymbolOf(symbols, process, site->time, back, CodeCALL);
  Module module = ModuleMapFind(CodeSymbolsModules(pprofSymbols(profile)), site->asker, site->time,
                                CodeInside(back, CodeCALL));
  uint64_t mapping = pprofMapping(profile, site->asker, module);
  pprofPlaceStruct place = {mapping, mapping == 0 ? site->asker : 0, back - 1};
  pprofMessageStruct message = {.length = 0};
  uint64_t id;
  Bool new;

  id = pprofKey(profile, &profile->places, &place, sizeof place, &new);
  if (!new)
    return id;
  pprofNumber(&message, 1, id);
  pprofNumber(&message, 2, place.mapping);
  pprofNumber(&message, 3, place.address);
  if (!pprofFunctions(profile, &message, symbol))
    pprofOffset(profile, &message, module, back);
  pprofWrite(profile, pprofLOCATION, &message);
  return id;
}

/* pprofBeyond -- what lies beyond the outermost frame, which has such a number of a stack; NULL: nothing */
static const char *pprofBeyond(uint32_t stack)
{
  switch (stack) {
  case FrameWHOLE:
    return NULL;
  case FrameCUT:
    return "frames not recorded";
  case FrameBROKEN:
    return "frames not found";
  case FrameNESTED:
    return "a walk of the stack, interrupted";
  default:
    return "frames not in the log";
  }
}

/* pprofFrames -- the ids of a stack's locations, the innermost first */
static void pprofFrames(Writer profile, Site site, pprofMessage ids)
{
  uint32_t stack = (uint32_t)site->code & ~FrameSHORT;
  const char *beyond;
  Frame frame = NULL;
  Count n;

  if ((site->code & FrameSHORT) != 0)
    pprofVarint(ids, pprofNamed(profile, "inner frames not recorded"));
  for (n = 0; n < pprofFRAMES && (frame = FrameTableFind(profile->names->frames, site->asker, stack)) != NULL; ++n) {
    pprofVarint(ids, pprofLocation(profile, site, frame->address + 1));
    stack = frame->parent;
  }
  beyond = frame != NULL ? pprofBeyond(FrameCUT) : pprofBeyond(stack);
  if (beyond != NULL)
    pprofVarint(ids, pprofNamed(profile, beyond));
}

/* pprofStack -- the ids of the locations of who asked for memory, the innermost first */
static void pprofStack(Writer profile, Site site, pprofMessage ids)
{
  if (site->code == 0)
    pprofVarint(ids, pprofNamed(profile, "caller not recorded"));
  else if (site->stack)
    pprofFrames(profile, site, ids);
  else
    pprofVarint(ids, pprofLocation(profile, site, site->code));
}

/* ---- Samples ---- */

/* pprofLabel -- a label of a sample: a string, or a number */
static void pprofLabel(Writer profile, pprofMessage sample, const char *key, uint64_t string, uint64_t number)
{
  pprofMessageStruct label = {.length = 0};

  pprofNumber(&label, 1, pprofWords(profile, key));
  pprofNumber(&label, 2, string);
  pprofNumber(&label, 3, number);
  pprofInner(sample, 3, &label);
}

static void pprofSample(Writer profile, uint32_t number)
{
  Site site = SiteNumbersAt(&profile->heap->numbers, number);
  SiteBook book = &profile->heap->book;
  SiteSumStruct allocated = book->row[number].allocated, left = SiteBookLeft(book, number);
  SiteSumStruct peak = SiteBookAtPeak(book, number);
  pprofMessageStruct message = {.length = 0}, inner = {.length = 0};
  LogProcess process = LogProcessAt(profile->options->log, site->process);
  const char *name = HeaderCalled(&process->header);

  if (allocated.objects == 0 && allocated.bytes == 0 && left.objects == 0 && peak.objects == 0)
    return;
  if (profile->spans.count == 0) /* the first mapping is taken for that of the program, whoever asked for memory first */
    (void)pprofMapping(profile, site->process,
                       ModuleMapOf(CodeSymbolsModules(pprofSymbols(profile)), site->process, process->header.program));
  pprofStack(profile, site, &inner);
  pprofInner(&message, 1, &inner);
  inner.length = 0;
  pprofVarint(&inner, allocated.objects);
  pprofVarint(&inner, allocated.bytes);
  pprofVarint(&inner, left.objects);
  pprofVarint(&inner, left.bytes);
  pprofVarint(&inner, peak.objects);
  pprofVarint(&inner, peak.bytes);
  pprofInner(&message, 2, &inner);
  pprofLabel(profile, &message, "process", pprofWords(profile, name), 0);
  pprofLabel(profile, &message, "pid", 0, process->header.pid);
  pprofWrite(profile, pprofSAMPLE, &message);
}

/* ---- The profile ---- */

/* pprofField -- write a field of the profile that is a number */
static void pprofField(Writer profile, unsigned field, uint64_t n)
{
  pprofMessageStruct message = {.length = 0};

  pprofNumber(&message, field, n);
  OutputBytes(profile->output, message.bytes, message.length);
}

static void pprofHead(Writer profile)
{
  LogSummaryStruct summary;
  char line[128];
  Index i;

  LogSummarize(&summary, profile->options->log);
  for (i = 0; i < ARRAY_LENGTH(pprofTypes); ++i) {
    pprofMessageStruct message = {.length = 0};
    pprofNumber(&message, 1, pprofWords(profile, pprofTypes[i].type));
    pprofNumber(&message, 2, pprofWords(profile, pprofTypes[i].unit));
    pprofWrite(profile, pprofSAMPLETYPE, &message);
  }
  pprofField(profile, pprofDEFAULT, pprofWords(profile, "peak_space"));
  pprofField(profile, pprofTIME, summary.first);
  pprofField(profile, pprofDURATION, summary.last - summary.first);
  if (summary.discarded + summary.lost > 0) {
    (void)snprintf(line, sizeof line, "%lu events were discarded while recording, %lu are damaged", summary.discarded,
                   summary.lost);
    pprofField(profile, pprofCOMMENT, pprofWords(profile, line));
  }
  if (ViewHeapCallers(profile->heap) == ViewCallersNONE)
    pprofField(profile, pprofCOMMENT, pprofWords(profile, profile->heap->nowhere
               ? "no caller lay in the module or the addresses of eventrec -r"
               : "callers were not recorded; eventrec -s records them"));
}

static void pprofFinish(Writer profile)
{
  Count i;

  if (profile->heap == NULL)
    return;
  if (ViewHeapFinish(profile->heap) != ResOK || CodeNamesRead(profile->names) != ResOK) {
    OutputFail(profile->output, ENOMEM);
    return;
  }
  pprofHead(profile);
  for (i = 1; i <= profile->heap->numbers.count && profile->output->failed == 0; ++i)
    pprofSample(profile, (uint32_t)i);
  for (i = 0; i <= profile->strings.count; ++i) {
    Size length;
    const char *string = StringsAt(&profile->strings, (uint32_t)i, &length);
    pprofBytes(profile, pprofSTRINGS, string, length);
  }
  if (profile->res != ResOK)
    OutputFail(profile->output, ENOMEM);
}

static Res pprofRead(Writer profile, LogRequest request)
{
  LogRequest requests[CodeRequestsMAX + 2];
  Count count;

  if (ViewHeapCreate(&profile->heap, profile->options->log, request, profile->options->of, profile->names) != ResOK) {
    profile->heap = NULL;
    return ResMEMORY;
  }
  ViewHeapBook(profile->heap);
  CodeNamesWant(profile->names);
  count = CodeNamesRequests(requests, profile->names);
  requests[count++] = ViewHeapRequest(profile->heap);
  requests[count++] = request; /* without hooks: what is damaged is told, also in blocks of which nothing is needed */
  return LogServe(profile->options->log, requests, count);
}

static void pprofDestroy(Writer profile)
{
  if (profile->heap != NULL)
    ViewHeapDestroy(profile->heap);
  if (profile->names != NULL)
    CodeNamesDestroy(profile->names);
  StringsFinish(&profile->strings);
  StringsFinish(&profile->places);
  StringsFinish(&profile->spans);
  StringsFinish(&profile->functions);
  free(profile);
}

static Res pprofCreate(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  Writer profile;

  UNUSED(class);
  if (isatty(options->output->fd)) {
    (void)snprintf(options->error, WriterErrorMAX, "a profile is not for a terminal; -o names a file for it");
    return ResPARAM;
  }
  profile = calloc(1, sizeof *profile);
  if (profile == NULL)
    return ResMEMORY;
  if (CodeNamesCreate(&profile->names, options->log, NULL, NULL, NULL) != ResOK) {
    pprofDestroy(profile);
    return ResMEMORY;
  }
  profile->options = options;
  profile->output = options->output;
  *writerReturn = profile;
  return ResOK;
}

const WriterClassStruct WriterClassPprof = {
  .name = "pprof", .heirs = TRUE, .takes = WriterTakesSYMBOLS, .create = pprofCreate, .read = pprofRead,
  .finish = pprofFinish, .destroy = pprofDestroy,
};
