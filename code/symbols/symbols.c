/* symbols.c -- functions, files and lines for addresses in modules
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "request/stringtable.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"
#include "symbols/dwarf.h"
#include "symbols/functable.h"

enum {
  symbolsKeyMAX = 8192, symbolsLineMAX = DebugPathMAX + 512,
  symbolsKeptMAX = 256 << 20, /* bytes of names and paths that are kept whole; */
  symbolsBriefMAX = 256       /* of each further one so many */
};

/* A module that was asked for. */
typedef struct symbolsOpenStruct {
  ObjectFile object, debug, alt; /* owned; each may be NULL */
  FuncTableStruct table;
  Dwarf dwarf, altDwarf;         /* owned; each may be NULL */
  uint64_t begin;                /* what an offset of 0 means in the file */
  Bool told;
} symbolsOpenStruct, *SymbolsOpen;

struct SymbolsStruct {
  void (*note)(void *data, const char *line);
  void *data;
  StringsStruct keys;            /* of modules: path and build id */
  Count capacity;
  SymbolsOpen *open;             /* by number of the key, less 1 */
  StringsStruct strings;         /* names as people write them, and paths of files */
  StringsStruct raw;             /* names as the linker has them, */
  Count shownCapacity;
  uint32_t *shown;               /* and by their number in `strings` those that are shown */
  Size kept;                     /* bytes of both */
  DemanglerStruct demangler;
  Bool unlined;                  /* files and lines are not wanted */
};

/* ---- Opening a module ---- */

static void symbolsTell(Symbols symbols, const char *path, const char *why)
{
  char line[symbolsLineMAX];

  (void)snprintf(line, sizeof line, "%s: %s; addresses there stay numbers", path, why);
  if (symbols->note != NULL)
    symbols->note(symbols->data, line);
}

/* symbolsFits -- is the file the module that was loaded?  If not, that is told. */
static Bool symbolsFits(Symbols symbols, const SymbolsModuleStruct *module, ObjectFile object)
{
  if (module->build != NULL && !ObjectBuildIs(object, module->build, strlen(module->build))) {
    symbolsTell(symbols, module->path, "the file has another build id than the module that was recorded");
    return FALSE;
  }
  if (module->build == NULL && module->loaded > 0 && object->modified > (int64_t)(module->loaded / 1000000000)) {
    symbolsTell(symbols, module->path, "the file was changed after it was loaded, and the log has no build id of it");
    return FALSE;
  }
  return TRUE;
}

/* symbolsObject -- open the module's file, if it is still that */
static void symbolsObject(Symbols symbols, SymbolsOpen open, const SymbolsModuleStruct *module)
{
  Res res = ObjectOpen(&open->object, module->path);

  if (res == ResIO)
    symbolsTell(symbols, module->path, strerror(errno));
  else if (res != ResOK)
    symbolsTell(symbols, module->path, "it is no ELF file with code");
  else if (symbolsFits(symbols, module, open->object))
    return;
  else
    ObjectClose(open->object);
  open->object = NULL;
  open->told = TRUE;
}

/* symbolsDebug -- find the debug information, in the module or elsewhere */
static void symbolsDebug(Symbols symbols, SymbolsOpen open, const SymbolsModuleStruct *module)
{
  ObjectFile object = open->object, with = object;
  const char *build = object != NULL ? object->build : module->build != NULL ? module->build : "";
  char path[DebugPathMAX];

  (void)snprintf(path, sizeof path, "%s", module->path);
  if ((object == NULL || ObjectNamed(object, ".debug_info") == NULL) && strlen(build) <= 2 * ElfBuildMAX)
    with = open->debug = DebugFileFind(path, module->path, object, build, strlen(build));
  if (with == NULL)
    return;
  open->alt = DebugFileAlt(with, path);
  if ((open->alt != NULL && DwarfOpen(&open->altDwarf, open->alt, open->alt, NULL) != ResOK) ||
      DwarfOpen(&open->dwarf, with, object != NULL ? object : with, open->altDwarf) != ResOK)
    symbolsTell(symbols, module->path, "no memory for its debug information");
  if (symbols->unlined && open->dwarf != NULL)
    DwarfUnlined(open->dwarf);
  if (with->packed)
    symbolsTell(symbols, path, "its debug information is compressed, and not with zlib");
}

/* symbolsOpen -- a module, opened; all of it may be NULL */
static SymbolsOpen symbolsOpen(Symbols symbols, const SymbolsModuleStruct *module)
{
  SymbolsOpen open = calloc(1, sizeof *open);
  ObjectFile layout;

  if (open == NULL || module->path[0] != '/') /* [vdso] and the like; a relative path would mean something else here */
    return open;
  symbolsObject(symbols, open, module);
  symbolsDebug(symbols, open, module);
  layout = open->object != NULL ? open->object : open->debug;
  open->begin = layout == NULL ? 0 : layout->begin;
  if ((open->debug != NULL && !FuncTableAdd(&open->table, open->debug)) ||
      (open->object != NULL && !FuncTableAdd(&open->table, open->object)))
    symbolsTell(symbols, module->path, "no memory for its symbols");
  FuncTableSort(&open->table);
  return open;
}

static void symbolsClose(SymbolsOpen open)
{
  if (open == NULL)
    return;
  DwarfClose(open->dwarf);
  DwarfClose(open->altDwarf);
  FuncTableFinish(&open->table);
  ObjectClose(open->alt);
  ObjectClose(open->debug);
  ObjectClose(open->object);
  free(open);
}

/* symbolsOf -- the module, opened once; NULL: no memory */
static SymbolsOpen symbolsOf(Symbols symbols, const SymbolsModuleStruct *module)
{
  char key[symbolsKeyMAX];
  int n = snprintf(key, sizeof key, "%s%c%s", module->path, module->build == NULL ? '\1' : '\2',
                   module->build == NULL ? "" : module->build);
  Count known = symbols->keys.count;
  uint32_t number;

  if (n < 0 || n >= (int)sizeof key || !Grow(&symbols->open, &symbols->capacity, known, sizeof *symbols->open))
    return NULL;
  number = StringsAdd(&symbols->keys, key, (Size)n);
  if (number == 0)
    return NULL;
  if (number > known)
    symbols->open[number - 1] = symbolsOpen(symbols, module);
  return symbols->open[number - 1];
}

/* ---- Asking ---- */

/* symbolsMost -- bytes that a name or path may have: those of a file may overlap, and be millions of times its size */
static Size symbolsMost(Symbols symbols)
{
  return symbols->kept < symbolsKeptMAX ? DemangleMAX - 1 : symbolsBriefMAX;
}

/* symbolsKeep -- the number of a name or path, which is cut if it is too long */
static uint32_t symbolsKeep(Symbols symbols, Strings strings, const char *bytes)
{
  Count known = strings->count;
  Size length = strnlen(bytes, symbolsMost(symbols));
  uint32_t number = StringsAdd(strings, bytes, length);

  if (strings->count > known)
    symbols->kept += length;
  return number;
}

const char *SymbolsName(Symbols symbols, const char *name)
{
  char room[DemangleMAX];
  Count known = symbols->raw.count;
  Size length = strnlen(name, DemangleMAX);
  uint32_t number;

  if (!Grow(&symbols->shown, &symbols->shownCapacity, known, sizeof *symbols->shown))
    return NULL;
  number = symbolsKeep(symbols, &symbols->raw, name);
  if (number == 0)
    return NULL;
  if (number > known) {
    const char *version = memchr(name, '@', length); /* as in memcpy@@GLIBC_2.14 */
    char plain[DemangleMAX];
    if (version != NULL && version > name && version - name < DemangleMAX) {
      (void)snprintf(plain, sizeof plain, "%.*s", (int)(version - name), name);
      name = plain;
    }
    name = Demangle(room, &symbols->demangler, name);
    symbols->shown[number - 1] = symbolsKeep(symbols, &symbols->strings, name);
  }
  return StringsAt(&symbols->strings, symbols->shown[number - 1], &length);
}

/* symbolsPath -- the parts of a path as one */
static const char *symbolsPath(Symbols symbols, const char *const part[3])
{
  char path[DwarfPathMAX];
  Size length = 0, unused;
  Index i;

  for (i = 0; i < 3; ++i)
    if (part[i] != NULL && part[i][0] != '\0' && length < sizeof path)
      length += (Size)snprintf(path + length, sizeof path - length, "%s%.*s",
                               length > 0 && path[length - 1] != '/' ? "/" : "", (int)sizeof path, part[i]);
  if (length == 0)
    return NULL;
  return StringsAt(&symbols->strings, symbolsKeep(symbols, &symbols->strings, path), &unused);
}

Count SymbolsFind(Symbols symbols, const SymbolsModuleStruct *module, uint64_t offset, SymbolsFrame frames, Count max)
{
  DwarfFrameStruct found[DwarfFramesMAX];
  SymbolsOpen open = symbolsOf(symbols, module);
  uint64_t address;
  Func func;
  Count n;
  Index i;

  if (open == NULL || (open->object == NULL && open->debug == NULL) || max == 0)
    return 0;
  address = offset + open->begin;
  n = open->dwarf == NULL ? 0 : DwarfFind(open->dwarf, address, found, max < DwarfFramesMAX ? max : DwarfFramesMAX);
  for (i = 0; i < n; ++i)
    frames[i] = (SymbolsFrameStruct){found[i].function == NULL ? NULL : SymbolsName(symbols, found[i].function),
                                     symbolsPath(symbols, found[i].part), found[i].line, found[i].inlined};
  func = FuncTableFind(&open->table, address);
  if (n > 0 && frames[n - 1].function != NULL) {
    /* Of a function that is one file's own the debug information may have the bare name only. */
    if (func != NULL && DemangleMay(func->name) && !DemangleMay(found[n - 1].function))
      frames[n - 1].function = SymbolsName(symbols, func->name);
    return n;
  }
  if (func == NULL) {
    if (n == 0 && !open->told)
      symbolsTell(symbols, module->path, "it has no symbols for some of its code");
    open->told = TRUE;
    return n;
  }
  if (n == 0)
    frames[n++] = (SymbolsFrameStruct){.line = 0};
  frames[n - 1].function = SymbolsName(symbols, func->name);
  return n;
}

/* ---- The whole ---- */

Res SymbolsCreate(Symbols *symbolsReturn, void (*note)(void *data, const char *line), void *data)
{
  Symbols symbols = calloc(1, sizeof *symbols);

  if (symbols == NULL)
    return ResMEMORY;
  symbols->note = note;
  symbols->data = data;
  *symbolsReturn = symbols;
  return ResOK;
}

void SymbolsUnlined(Symbols symbols)
{
  symbols->unlined = TRUE;
}

void SymbolsDestroy(Symbols symbols)
{
  Index i;

  if (symbols == NULL)
    return;
  for (i = 0; i < symbols->keys.count; ++i)
    symbolsClose(symbols->open[i]);
  free(symbols->open);
  free(symbols->shown);
  StringsFinish(&symbols->keys);
  StringsFinish(&symbols->raw);
  StringsFinish(&symbols->strings);
  DemangleFinish(&symbols->demangler);
  free(symbols);
}
