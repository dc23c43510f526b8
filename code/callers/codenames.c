/* codenames.c -- who the callers of a site or stack are
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/codenames.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/say.h"
#include "callers/suppressions.h"
#include "callers/wrappers.h"
#include "export/jsondocument.h"

Res CodeNamesCreate(CodeNames *namesReturn, Log log, const regex_t *skip, CodeNote note, void *data)
{
  CodeNames names = calloc(1, sizeof *names);

  if (names == NULL)
    return ResMEMORY;
  if (FrameTableCreate(&names->frames) != ResOK) {
    free(names);
    return ResMEMORY;
  }
  names->log = log;
  names->skip = skip;
  names->note = note;
  names->data = data;
  *namesReturn = names;
  return ResOK;
}

void CodeNamesLine(CodeNames names)
{
  AVER(names->symbols == NULL);
  names->lines = TRUE;
}

void CodeNamesDestroy(CodeNames names)
{
  FrameTableDestroy(names->frames);
  CodeSymbolsDestroy(names->symbols);
  StringsFinish(&names->strings);
  free(names);
}

void CodeNamesWant(CodeNames names)
{
  names->wanted = TRUE;
}

Count CodeNamesRequests(LogRequest requests[CodeRequestsMAX], CodeNames names)
{
  if (!names->wanted)
    return 0;
  requests[0] = FrameTableRequest(names->frames);
  return 1;
}

Res CodeNamesModules(ModuleMap *modulesReturn, CodeNames names)
{
  if (names->res == ResOK && names->symbols == NULL) {
    names->res = CodeSymbolsCreate(&names->symbols, names->log, names->note, names->data);
    if (names->res == ResOK && !names->lines)
      CodeSymbolsUnlined(names->symbols);
  }
  if (names->res == ResOK)
    *modulesReturn = CodeSymbolsModules(names->symbols);
  return names->res;
}

Res CodeNamesRead(CodeNames names)
{
  ModuleMap modules;

  if (names->res == ResOK)
    names->res = FrameTableStatus(names->frames);
  return CodeNamesModules(&modules, names);
}

/* namesString -- the number of a string, which may be NULL; 0: it is, or there is no memory */
static uint32_t namesString(CodeNames names, const char *string, Size length)
{
  uint32_t number = string == NULL ? 0 : StringsAdd(&names->strings, string, length);

  if (string != NULL && length > 0 && number == 0)
    names->res = ResMEMORY;
  return number;
}

/* namesFrame -- fill in what a frame knows of a place */
static void namesFrame(CodePlace place, CodeNames names, const SymbolsFrameStruct *frame)
{
  const char *function = frame->function, *file = names->lines && frame->line != 0 ? frame->file : NULL;

  place->function = namesString(names, function, function == NULL ? 0 : strlen(function));
  if (place->function != 0)
    place->offset = 0;
  place->file = namesString(names, file, file == NULL ? 0 : strlen(file));
  place->line = place->file != 0 ? frame->line : 0;
}

/* namesAddress -- the callers where a call of a process returns to `back`, to the end of `frames`, of which `count` are
 * used; returns how many are then */
static Count namesAddress(CodePlaceStruct frames[CodeFramesMAX], Count count, CodeNames names, const SiteStruct *site,
                          uint64_t back)
{
  LogProcess process = LogProcessAt(names->log, site->asker);
  CodeSymbol symbol = CodeSymbolOf(names->symbols, process, site->time, back, CodeCALL);
  CodePlaceStruct place = {.offset = back};
  Size length;
  Index i;

  if (symbol != NULL && symbol->module != NULL) {
    ModuleMap modules = CodeSymbolsModules(names->symbols);
    const char *path = ModuleMapString(modules, symbol->module->path, &length);
    place.offset = symbol->offset;
    place.module = namesString(names, path, length);
    place.program = strcmp(path, process->header.program) == 0;
  }
  for (i = 0; symbol != NULL && i < symbol->frames && count < CodeFramesMAX - 1; ++i) {
    frames[count] = place;
    namesFrame(&frames[count++], names, &symbol->frame[i]);
  }
  if (symbol == NULL || symbol->frames == 0)
    frames[count++] = place;
  return count;
}

/* namesNone -- what is no place */
static CodePlaceStruct namesNone(uint64_t what)
{
  return (CodePlaceStruct){.offset = what};
}

/* namesNowhere -- is it no place?  What a program compiled while it ran is in no module, and may have a function. */
static Bool namesNowhere(const CodePlaceStruct *place)
{
  return place->module == 0 && place->function == 0 && place->offset < CodeNOWHERE;
}

/* namesRegex -- does the user's expression match? */
static Bool namesRegex(CodeNames names, const char *name, Size length)
{
  regmatch_t bytes = {.rm_so = 0, .rm_eo = (regoff_t)length};

  return names->skip != NULL && length > 0 && regexec(names->skip, name, 1, &bytes, REG_STARTEND) == 0;
}

/* namesSkipped -- is the caller one that is left out? */
static Bool namesSkipped(CodeNames names, const CodePlaceStruct *place)
{
  Size length, base;
  const char *function = StringsAt(&names->strings, place->function, &length);
  const char *module = CodeNamesModule(names, place, &base);

  return (length > 0 && WrapperIs(function, length)) || namesRegex(names, function, length) ||
         namesRegex(names, module, base);
}

/* namesCaller -- the first from `from` on that is not left out; `count`: none is */
static Index namesCaller(CodeNames names, const CodePlaceStruct *frames, Index from, Count count)
{
  while (from < count && ((frames[from].module == 0 && frames[from].function == 0) ||
                          namesSkipped(names, &frames[from])))
    ++from;
  return from;
}

Index CodeNamesCaller(CodeNames names, const CodePlaceStruct *frames, Count count)
{
  Index i = namesCaller(names, frames, 0, count);

  return i < count ? i : 0;
}

/* namesWalk -- a site's callers as CodeNamesFrames has them; `until`: no further than to the one that CodeNamesCaller
 * chooses */
static Count namesWalk(CodePlaceStruct frames[CodeFramesMAX], CodeNames names, const SiteStruct *site, Bool until)
{
  uint32_t stack = (uint32_t)site->code;
  Count count = 0, inner;

  if (!site->stack)
    return namesAddress(frames, 0, names, site, site->code);
  if ((stack & FrameSHORT) != 0)
    frames[count++] = namesNone(CodeSHORT);
  stack &= ~FrameSHORT;
  while (stack >= FrameFIRST) {
    Frame frame = FrameTableFind(names->frames, site->asker, stack);
    if (frame == NULL || count == CodeFramesMAX - 1) {
      frames[count++] = namesNone(frame == NULL ? CodeUNKNOWN : CodeCUT);
      return count;
    }
    inner = count;
    count = namesAddress(frames, count, names, site, frame->address + 1);
    if (until && namesCaller(names, frames, inner, count) < count)
      return count;
    stack = frame->parent;
  }
  if (stack != FrameWHOLE || count == 0)
    frames[count++] = namesNone(stack == FrameCUT ? CodeCUT : stack == FrameBROKEN ? CodeBROKEN : CodeUNKNOWN);
  return count;
}

Count CodeNamesFrames(CodePlaceStruct frames[CodeFramesMAX], CodeNames names, const SiteStruct *site)
{
  return namesWalk(frames, names, site, FALSE);
}

CodePlaceStruct CodeNamesCallerOf(CodeNames names, const SiteStruct *site)
{
  CodePlaceStruct frames[CodeFramesMAX];
  Count count = namesWalk(frames, names, site, TRUE);

  return frames[CodeNamesCaller(names, frames, count)];
}

uint64_t CodeNamesLacks(CodeNames names, const SiteStruct *site)
{
  uint32_t stack = (uint32_t)site->code;
  Count count = 0;
  Frame frame;

  if (!site->stack)
    return CodeNOWHERE;
  if ((stack & FrameSHORT) != 0)
    return CodeSHORT;
  for (; stack >= FrameFIRST; stack = frame->parent)
    if (++count >= CodeFramesMAX)
      return CodeNOWHERE; /* CodeNamesFrames cuts it there, too */
    else if ((frame = FrameTableFind(names->frames, site->asker, stack)) == NULL)
      return CodeUNKNOWN;
  return stack == FrameWHOLE || stack == FrameCUT ? CodeNOWHERE : stack == FrameBROKEN ? CodeBROKEN : CodeUNKNOWN;
}

/* namesText -- print a place; `modules`: that of a function, too */
static void namesText(FILE *out, CodeNames names, const CodePlaceStruct *place, Bool modules)
{
  static const char *const none[CodeNOWHERE] = {"(not known)", "(outer callers were not recorded)",
                                                "(outer callers were not found)", "(inner callers were not recorded)"};
  Size length, base, source;
  const char *function = StringsAt(&names->strings, place->function, &length);
  const char *module = CodeNamesModule(names, place, &base);
  const char *file = TypeCacheBase(StringsAt(&names->strings, place->file, &source), &source);

  if (namesNowhere(place)) {
    fputs(none[place->offset], out);
    return;
  }
  if (length == 0) {
    SayPlain(out, module, base);
    fprintf(out, "%s0x%llx", base > 0 ? "+" : "", (unsigned long long)place->offset);
  } else {
    SayPlain(out, function, length);
    if (modules && base > 0) {
      fputs(" (", out);
      SayPlain(out, module, base);
      putc(')', out);
    }
  }
  if (place->line != 0) {
    fputs(" at ", out);
    SayPlain(out, file, source);
    fprintf(out, ":%u", place->line);
  }
}

void CodeNamesText(FILE *out, CodeNames names, const CodePlaceStruct *place)
{
  namesText(out, names, place, TRUE);
}

void CodeNamesShort(FILE *out, CodeNames names, const CodePlaceStruct *place)
{
  namesText(out, names, place, FALSE);
}

/* jsonName -- print a member that is a string of the table, or null */
static void jsonName(FILE *out, CodeNames names, const char *name, uint32_t number)
{
  Size length;
  const char *string = StringsAt(&names->strings, number, &length);

  fprintf(out, "\"%s\": ", name);
  if (number == 0)
    fputs("null", out);
  else
    JsonBytes(out, string, length);
}

void CodeNamesJson(FILE *out, CodeNames names, const CodePlaceStruct *place)
{
  static const char *const none[CodeNOWHERE] = {"unknown", "cut", "broken", "short"};

  jsonName(out, names, "function", place->function);
  fputs(", ", out);
  jsonName(out, names, "module", place->module);
  if (namesNowhere(place))
    fprintf(out, ", \"offset\": null, \"none\": \"%s\"", none[place->offset]);
  else if (place->function != 0)
    fputs(", \"offset\": null", out);
  else
    fprintf(out, ", \"offset\": \"0x%llx\"", (unsigned long long)place->offset);
  if (!names->lines)
    return;
  fputs(", ", out);
  jsonName(out, names, "file", place->file);
  if (place->line != 0)
    fprintf(out, ", \"line\": %u", place->line);
  else
    fputs(", \"line\": null", out);
}

Bool CodeNamesMatch(CodeNames names, const CodePlaceStruct *place, const char *pattern)
{
  Size length, path, file;
  const char *function = StringsAt(&names->strings, place->function, &length);
  const char *module = StringsAt(&names->strings, place->module, &path);
  const char *source = StringsAt(&names->strings, place->file, &file);

  return (length > 0 && SuppressionMatches(pattern, function, length)) ||
         (path > 0 && SuppressionMatches(pattern, module, path)) ||
         (file > 0 && SuppressionMatches(pattern, source, file));
}

const char *CodeNamesModule(CodeNames names, const CodePlaceStruct *place, Size *lengthReturn)
{
  const char *path = StringsAt(&names->strings, place->module, lengthReturn);

  return TypeCacheBase(path, lengthReturn);
}
