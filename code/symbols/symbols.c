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

#define symbolsBytesMAX  ((uint64_t)4 << 30) /* of sections and tables of all files */
#define symbolsSummedMAX ((uint64_t)1 << 30) /* of all files that are read to their ends for their checksums */

/* An open file.  It serves one module or more: many modules of a log may be the same file, under different paths. */
typedef struct symbolsOpenStruct {
  ObjectFile object, debug, alt; /* owned; each may be NULL, but one of the first two is there */
  FuncTableStruct table;
  Dwarf dwarf, altDwarf;         /* owned; each may be NULL */
  uint64_t begin;                /* what an offset of 0 means in the file */
  Bool told;
} symbolsOpenStruct, *SymbolsOpen;

/* A module that was asked for. */
typedef struct symbolsAskedStruct {
  SymbolsOpen open;              /* NULL: there is nothing that belongs to it */
  Bool told;                     /* that its file is too young */
} symbolsAskedStruct, *SymbolsAsked;

struct SymbolsStruct {
  void (*note)(void *data, const char *line);
  void *data;
  StringsStruct keys;            /* of modules: path and build id */
  Count capacity;
  SymbolsAsked asked;            /* by number of the key, less 1 */
  Count opens, openCapacity;
  SymbolsOpen *open;             /* owned */
  ObjectRoomStruct room;         /* of all that are open */
  Bool full;                     /* that it is has been told */
  StringsStruct strings;         /* names as people write them, and paths of files */
  StringsStruct raw;             /* names as the linker has them, */
  Count shownCapacity;
  uint32_t *shown;               /* and by their number in `strings` those that are shown */
  Size kept;                     /* bytes of both */
  DemanglerStruct demangler;
  Bool unlined;                  /* files and lines are not wanted */
};

/* ---- Opening a module ---- */

/* symbolsSay -- tell what a module lacks, and what that leads to */
static void symbolsSay(Symbols symbols, const char *path, const char *why, const char *so)
{
  char line[symbolsLineMAX];

  (void)snprintf(line, sizeof line, "%s: %s; %s", path, why, so);
  if (symbols->note != NULL)
    symbols->note(symbols->data, line);
}

static void symbolsTell(Symbols symbols, const char *path, const char *why)
{
  symbolsSay(symbols, path, why, "addresses there stay numbers");
}

/* symbolsKnown -- the file, if it is open; NULL stands for one that is gone, whose build id has led to another */
static SymbolsOpen symbolsKnown(Symbols symbols, ObjectFile object, const char *build)
{
  Index i;

  for (i = 0; i < symbols->opens; ++i) {
    ObjectFile has = symbols->open[i]->object;
    if (object == NULL ? has == NULL && ObjectBuildIs(symbols->open[i]->debug, build, strlen(build)) :
                         has != NULL && has->device == object->device && has->inode == object->inode)
      return symbols->open[i];
  }
  return NULL;
}

/* symbolsFits -- TRUE if the file has the build id that the log gives, or the log gives none; else a note says so */
static Bool symbolsFits(Symbols symbols, const SymbolsModuleStruct *module, ObjectFile object)
{
  Bool fits = module->build == NULL || ObjectBuildIs(object, module->build, strlen(module->build));

  if (!fits)
    symbolsTell(symbols, module->path, "the file has another build id than the module that was recorded");
  return fits;
}

/* symbolsObject -- open the module's file, if it is still that; NULL: it is not, or is open already (`known`) */
static ObjectFile symbolsObject(SymbolsOpen *knownReturn, Symbols symbols, const SymbolsModuleStruct *module)
{
  ObjectFile object = NULL;
  SymbolsOpen known = NULL;
  Res res = ObjectBegin(&object, module->path, &symbols->room);

  if (res == ResOK && (known = symbolsKnown(symbols, object, NULL)) == NULL)
    res = ObjectHead(object);
  if (res == ResIO)
    symbolsTell(symbols, module->path, strerror(errno));
  else if (res == ResFORMAT)
    symbolsTell(symbols, module->path, "it is no ELF file with code");
  else if (res == ResMEMORY)
    symbolsTell(symbols, module->path, "no memory for its symbols");
  else if (res == ResOK && symbolsFits(symbols, module, known != NULL ? known->object : object)) {
    *knownReturn = known;
    if (known == NULL)
      return object;
  }
  ObjectClose(object);
  return NULL;
}

/* symbolsDebug -- find the debug information, in the module or elsewhere */
static void symbolsDebug(Symbols symbols, SymbolsOpen open, const SymbolsModuleStruct *module)
{
  ObjectFile object = open->object, with = object;
  const char *build = object != NULL ? object->build : module->build != NULL ? module->build : "";
  char path[DebugPathMAX];

  (void)snprintf(path, sizeof path, "%s", module->path);
  symbols->room.unsummed = FALSE;
  if ((object == NULL || ObjectNamed(object, ".debug_info") == NULL) && strlen(build) <= 2 * ElfBuildMAX)
    with = open->debug = DebugFileFind(path, module->path, object, build, strlen(build), &symbols->room);
  if (with == NULL) {
    if (symbols->room.unsummed)
      symbolsSay(symbols, module->path, "its debug file is left out: the module has no build id, and the file is too "
                 "large for its checksum to be made (1 GiB for all modules)", "link with --build-id");
    return;
  }
  open->alt = DebugFileAlt(with, path);
  if ((open->alt != NULL && DwarfOpen(&open->altDwarf, open->alt, open->alt, NULL) != ResOK) ||
      DwarfOpen(&open->dwarf, with, object != NULL ? object : with, open->altDwarf) != ResOK)
    symbolsTell(symbols, module->path, "no memory for its debug information");
  if (symbols->unlined && open->dwarf != NULL)
    DwarfUnlined(open->dwarf);
  if (with->packed)
    symbolsTell(symbols, path, "its debug information is compressed, and not with zlib");
}

static void symbolsClose(SymbolsOpen open)
{
  DwarfClose(open->dwarf);
  DwarfClose(open->altDwarf);
  FuncTableFinish(&open->table);
  ObjectClose(open->alt);
  ObjectClose(open->debug);
  ObjectClose(open->object);
  free(open);
}

/* symbolsRead -- read the symbols and the debug information of a module
 *
 * object   the module's file, taken over; NULL: it was not found, and only a debug file may be there
 * returns  NULL: there is neither, or no memory */
static SymbolsOpen symbolsRead(Symbols symbols, const SymbolsModuleStruct *module, ObjectFile object)
{
  SymbolsOpen open = calloc(1, sizeof *open);

  if (open == NULL || !Grow(&symbols->open, &symbols->openCapacity, symbols->opens, sizeof *symbols->open)) {
    ObjectClose(object);
    free(open);
    return NULL;
  }
  open->object = object;
  symbolsDebug(symbols, open, module);
  if (object == NULL && open->debug == NULL) {
    free(open);
    return NULL;
  }
  open->begin = object != NULL ? object->begin : open->debug->begin;
  if ((open->debug != NULL && !FuncTableAdd(&open->table, open->debug)) ||
      (object != NULL && !FuncTableAdd(&open->table, object)))
    symbolsTell(symbols, module->path, "no memory for its symbols");
  FuncTableSort(&open->table);
  return symbols->open[symbols->opens++] = open;
}

/* symbolsOpen -- the open file of a module that was not asked for before; NULL: there is none */
static SymbolsOpen symbolsOpen(Symbols symbols, const SymbolsModuleStruct *module)
{
  SymbolsOpen known = NULL;
  ObjectFile object;

  if (module->path[0] != '/') /* [vdso] and the like; a relative path would mean something else here */
    return NULL;
  object = symbolsObject(&known, symbols, module);
  if (known == NULL && object == NULL && module->build != NULL && module->build[0] != '\0')
    known = symbolsKnown(symbols, NULL, module->build);
  return known != NULL ? known : symbolsRead(symbols, module, object);
}

/* symbolsFull -- write a note, once, if the room was too small for some file, section or table */
static void symbolsFull(Symbols symbols, const SymbolsModuleStruct *module)
{
  if (symbols->room.full && !symbols->full)
    symbolsTell(symbols, module->path, "its symbols, or some of them, are left out, and may be of further modules: no "
                                       "more than 4096 files, and 4 GiB of what is in them, are kept");
  symbols->full = symbols->room.full;
}

/* symbolsOf -- the module, opened once; NULL: no memory */
static SymbolsAsked symbolsOf(Symbols symbols, const SymbolsModuleStruct *module)
{
  char key[symbolsKeyMAX];
  int n = snprintf(key, sizeof key, "%s%c%s", module->path, module->build == NULL ? '\1' : '\2',
                   module->build == NULL ? "" : module->build);
  Count known = symbols->keys.count;
  uint32_t number;

  if (n < 0 || n >= (int)sizeof key || !Grow(&symbols->asked, &symbols->capacity, known, sizeof *symbols->asked))
    return NULL;
  number = StringsAdd(&symbols->keys, key, (Size)n);
  if (number == 0)
    return NULL;
  if (number > known)
    symbols->asked[number - 1] = (symbolsAskedStruct){.open = symbolsOpen(symbols, module)};
  return &symbols->asked[number - 1];
}

/* symbolsYoung -- was the module's file changed after the module was loaded, and is no build id known that says it is
 * the same? */
static Bool symbolsYoung(Symbols symbols, SymbolsAsked asked, const SymbolsModuleStruct *module)
{
  ObjectFile object = asked->open->object;

  if (module->build != NULL || module->loaded == 0 || object == NULL ||
      object->modified <= (int64_t)(module->loaded / 1000000000))
    return FALSE;
  if (!asked->told)
    symbolsTell(symbols, module->path, "the file was changed after it was loaded, and the log has no build id of it");
  return asked->told = TRUE;
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

/* symbolsFrames -- SymbolsFind, in a file that is open */
static Count symbolsFrames(Symbols symbols, SymbolsOpen open, uint64_t address, SymbolsFrame frames, Count max)
{
  DwarfFrameStruct found[DwarfFramesMAX];
  Func func;
  Count n;
  Index i;

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
  if (func == NULL)
    return n;
  if (n == 0)
    frames[n++] = (SymbolsFrameStruct){.line = 0};
  frames[n - 1].function = SymbolsName(symbols, func->name);
  return n;
}

Count SymbolsFind(Symbols symbols, const SymbolsModuleStruct *module, uint64_t offset, Bool call, SymbolsFrame frames,
                  Count max)
{
  SymbolsAsked asked = symbolsOf(symbols, module);
  SymbolsOpen open = asked == NULL ? NULL : asked->open;
  Count n = 0;

  if (open != NULL && max > 0 && !symbolsYoung(symbols, asked, module)) {
    n = symbolsFrames(symbols, open, offset + open->begin, frames, max);
    if (n == 0 && call && open->table.whole) /* what was entered by a return: __restore_rt, behind a signal handler */
      n = symbolsFrames(symbols, open, offset + open->begin + 1, frames, max);
    if (n == 0 && !open->told) {
      symbolsTell(symbols, module->path, "it has no symbols for some of its code");
      open->told = TRUE;
    }
  }
  symbolsFull(symbols, module);
  return n;
}

/* ---- The whole ---- */

Res SymbolsCreate(Symbols *symbolsReturn, void (*note)(void *data, const char *line), void *data)
{
  Symbols symbols = calloc(1, sizeof *symbols);

  if (symbols == NULL)
    return ResMEMORY;
  symbols->room = (ObjectRoomStruct){.files = SymbolsFilesMAX, .bytes = symbolsBytesMAX,
                                     .summed = symbolsSummedMAX};
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
  for (i = 0; i < symbols->opens; ++i)
    symbolsClose(symbols->open[i]);
  free(symbols->open);
  free(symbols->asked);
  free(symbols->shown);
  StringsFinish(&symbols->keys);
  StringsFinish(&symbols->raw);
  StringsFinish(&symbols->strings);
  DemangleFinish(&symbols->demangler);
  free(symbols);
}
