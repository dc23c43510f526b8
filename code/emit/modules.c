/* modules.c -- which files' code is mapped where
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/elf.h"
#include "emit/emitter.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

/* ---- The dynamic linker ---- */

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
extern int _dl_find_object(void *at, struct dl_find_object *found) __attribute__((weak));

const void *ModulesLink(Word at)
{
  struct dl_find_object found;

  return _dl_find_object != NULL && _dl_find_object((void *)at, &found) == 0 ? found.dlfo_link_map : NULL;
}
#else
const void *ModulesLink(Word at)
{
  UNUSED(at);
  return NULL;
}
#endif

enum { modulesLISTED = 10000 /* modules that are looked at: there may be a circle */ };

/* modulesListed -- is there a module at this place of the loader's list?  Another thread may be unloading it: so it is
 * copied as what need not be there, and what has been copied is right if the loader finds the module by it. */
static Bool modulesListed(struct link_map *copy, const struct link_map *module)
{
  return RawPeek(copy, module, sizeof *copy) == sizeof *copy && copy->l_ld != NULL &&
         ModulesLink((Word)copy->l_ld) == module;
}

/* modulesIs -- is the file of a module called so?  What is behind the page of its name need not be there. */
static Bool modulesIs(const struct link_map *module, const char *file)
{
  char path[PATH_MAX] = "";
  Size length = WordAlignUp((Word)module->l_name + 1, RawPAGE) - (Word)module->l_name;
  const char *slash;

  length = RawPeek(path, module->l_name, length < sizeof path ? length : sizeof path - 1);
  if (memchr(path, '\0', length) == NULL)
    (void)RawPeek(path + length, module->l_name + length, sizeof path - 1 - length);
  slash = strrchr(path, '/');
  return strcmp(slash != NULL ? slash + 1 : path, file) == 0;
}

const void *ModulesCalled(const char *file)
{
  const struct link_map *module = ModulesLink((Word)gnu_get_libc_version);
  struct link_map copy;
  Count tries;

  for (tries = 0; tries < modulesLISTED && module != NULL && modulesListed(&copy, module); ++tries) {
    if (modulesIs(&copy, file))
      return module;
    module = copy.l_next;
  }
  return NULL;
}

#if defined(EventModuleLoadCODE) /* the registry of another emitter may have no modules */

enum {
  modulesPATH = 4096,
  modulesLINES = 8192,
  modulesPAGES = 1024,   /* hashes of code pages that are in a module with an event already */
  modulesPAGE = 12,
  modulesFIRST = 1024,   /* bytes of a module that are read at once: program headers and notes, as a rule */
  modulesNOTE = 512,     /* bytes of notes that are looked at */
  modulesSEGMENTS = 64   /* and segments */
};

/* A module of which an event was emitted. */
typedef struct modulesOneStruct {
  Word base;
  Word limit;       /* 0: it was unloaded, and the place is free */
  const void *link; /* the dynamic linker's handle; NULL: it has none */
  Bool chosen;      /* by ModulesChoose */
} modulesOneStruct;

static struct {
  unsigned busy; /* the process of which a thread reads the list; a forked child finds its parent's number, which means
                    nothing to it */
  Bool needed;
  const char *name;                /* of the chosen modules; NULL: none is */
  Count count;
  modulesOneStruct one[ModulesMAX];
  Word page[modulesPAGES];         /* number of the page, by its own hash */
  /* The file of the last lines of /proc/self/maps that were read.  Static, because a stack may be small. */
  Word base, limit;
  Bool runs;                       /* some of it may be executed */
  Bool fresh;                      /* skip modules that have an event already */
  long memory;                     /* /proc/self/mem */
  char path[modulesPATH];
  char lines[modulesLINES];
  uint8_t first[modulesFIRST];
} modules LARGE;

/* ---- Events ---- */

/* modulesEvent -- an event with a string that stands last, behind `before` bytes */
static void *modulesEvent(Size before, const char *string, Size *lengthReturn)
{
  *lengthReturn = EventStringLength(string);
  return BufferReserveNeeded(EventKindSystem, before + *lengthReturn + 1);
}

/* modulesRead -- an ElfReadMethod, for the module whose lines were read last */
static Bool modulesRead(void *data, uint64_t offset, void *bytes, Size size)
{
  Size mapped = modules.limit - modules.base;

  UNUSED(data);
  if (offset < modulesFIRST && size <= modulesFIRST - offset) {
    memcpy(bytes, modules.first + offset, size);
    return TRUE;
  }
  return offset < mapped && size <= mapped - offset &&
         RawCall(SYS_pread64, modules.memory, bytes, size, (uint64_t)modules.base + offset) == (long)size;
}

/* modulesBuild -- the build id of the module, in hex; FALSE: it has none, or it cannot be read */
static Bool modulesBuild(char id[2 * ElfBuildMAX + 1])
{
  ElfSegmentStruct segment;
  Bool loads = FALSE;
  ElfStruct elf;
  uint64_t first = 0, at;
  Index i;

  if (modules.memory < 0 ||
      RawCall(SYS_pread64, modules.memory, modules.first, modulesFIRST, (uint64_t)modules.base) != modulesFIRST ||
      ElfOpen(&elf, modulesRead, NULL, ElfUNKNOWN) != ResOK)
    return FALSE;
  for (i = 0; i < modulesSEGMENTS && ElfSegmentAt(&segment, &elf, i); ++i) {
    if (segment.type == PT_LOAD && !loads) {
      first = segment.address - segment.offset;
      loads = TRUE;
    }
    /* The file's notes are where the module's first segment says that addresses are. */
    at = segment.address - first;
    if (segment.type == PT_NOTE && loads &&
        ElfBuild(id, &elf, at, at + (segment.size < modulesNOTE ? segment.size : modulesNOTE)))
      return TRUE;
  }
  return FALSE;
}

/* modulesEmit -- the events of the module whose lines were read last */
static void modulesEmit(void)
{
  char id[2 * ElfBuildMAX + 1];
  Size length;
  void *room = modulesEvent(offsetof(EventAWSStruct, f2), modules.path, &length);

  if (room != NULL)
    EVENT_FILL_AWS(ModuleLoad, room, modules.base, modules.limit - modules.base, modules.path, length);
#if defined(EventModuleBuildCODE)
  if (!modulesBuild(id))
    return;
  room = modulesEvent(offsetof(EventASStruct, f1), id, &length);
  if (room != NULL)
    EVENT_FILL_AS(ModuleBuild, room, modules.base, id, length);
#else
  UNUSED(id);
#endif
}

/* ---- The list ---- */

/* modulesKnown -- the module at this address that has an event already; NULL: none */
static modulesOneStruct *modulesKnown(Word at)
{
  Count count = __atomic_load_n(&modules.count, __ATOMIC_ACQUIRE);
  Index i;

  for (i = 0; i < count; ++i) {
    Word limit = __atomic_load_n(&modules.one[i].limit, __ATOMIC_ACQUIRE);
    if (at < limit && at >= modules.one[i].base)
      return &modules.one[i];
  }
  return NULL;
}

/* modulesKeep -- put a module into the first free place of the list */
static void modulesKeep(void)
{
  Index i;

  for (i = 0; i < modules.count && modules.one[i].limit != 0; ++i)
    continue;
  if (i == ModulesMAX)
    return;
  modules.one[i].base = modules.base;
  modules.one[i].link = ModulesLink(modules.base);
  modules.one[i].chosen = modules.name != NULL && ElfNamed(strrchr(modules.path, '/') + 1, modules.name);
  __atomic_store_n(&modules.one[i].limit, modules.limit, __ATOMIC_RELEASE);
  if (i == modules.count)
    __atomic_store_n(&modules.count, i + 1, __ATOMIC_RELEASE);
}

/* modulesLast -- all lines of a file were read: emit its event, if a part of it is executable */
static void modulesLast(void)
{
  modulesOneStruct *known;

  if (modules.path[0] != '\0' && modules.runs) {
    known = modulesKnown(modules.base);
    if (!modules.fresh || known == NULL)
      modulesEmit();
    if (known == NULL)
      modulesKeep();
  }
  modules.path[0] = '\0';
}

/* modulesNewlines -- the kernel writes \012 for a newline in a path, and all else as it is; so a path that has these
 * four characters itself is not told from one with a newline */
static void modulesNewlines(char *path)
{
  char *to = path;

  for (; *path != '\0'; ++to)
    if (strncmp(path, "\\012", 4) == 0) {
      *to = '\n';
      path += 4;
    } else {
      *to = *path++;
    }
  *to = '\0';
}

/* modulesLine -- one line, terminated: START-END PERMISSIONS OFFSET DEVICE INODE PATH */
static void modulesLine(char *text)
{
  const char *line = text;
  char *path = strchr(text, '/');
  Word start = (Word)TextNumber(&line, 16), limit, offset;
  Bool runs;

  line += *line == '-';
  limit = (Word)TextNumber(&line, 16);
  if (path == NULL || strlen(line) < 6 || strlen(path) >= sizeof modules.path)
    return;
  runs = line[3] == 'x';
  line += 6;
  offset = (Word)TextNumber(&line, 16);
  modulesNewlines(path);
  if (strcmp(path, modules.path) != 0) {
    modulesLast();
    strcpy(modules.path, path);
    modules.base = start - offset;
    modules.runs = FALSE;
  }
  modules.limit = limit;
  modules.runs |= runs;
}

/* modulesLines -- whole lines of `size` bytes; returns how many bytes they were */
static Size modulesLines(Size size)
{
  char *line = modules.lines, *end;

  while ((end = memchr(line, '\n', (Size)(modules.lines + size - line))) != NULL) {
    *end = '\0';
    modulesLine(line);
    line = end + 1;
  }
  return (Size)(line - modules.lines);
}

/* modulesScan -- read the list; `fresh`: skip modules that have an event already.  FALSE: another thread reads it. */
static Bool modulesScan(Bool fresh)
{
  unsigned self = (unsigned)RawCall(SYS_getpid);
  Size had = 0;
  long fd, n;

  if (__atomic_exchange_n(&modules.busy, self, __ATOMIC_ACQUIRE) == self)
    return FALSE;
  modules.path[0] = '\0';
  modules.fresh = fresh;
  modules.memory = LentCall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
  fd = LentCall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && had < sizeof modules.lines &&
         (n = RawCall(SYS_read, fd, modules.lines + had, sizeof modules.lines - had)) > 0) {
    Size used = modulesLines(had + (Size)n);
    had += (Size)n - used;
    memmove(modules.lines, modules.lines + used, had);
  }
  modulesLast();
  if (fd >= 0)
    LentClose(fd);
  if (modules.memory >= 0)
    LentClose(modules.memory);
  __atomic_store_n(&modules.busy, 0, __ATOMIC_RELEASE);
  return TRUE;
}

void ModulesChoose(const char *name)
{
  modules.name = name;
}

Bool ModulesChosen(Word at)
{
  const modulesOneStruct *known = modulesKnown(at);

  return known != NULL && known->chosen;
}

void ModulesTell(Bool needed)
{
  RawMaskStruct mask;

  if (needed)
    modules.needed = TRUE;
  if (!modules.needed && !EVENT_WANTED(EventKindSystem))
    return;
  RawBegin(&mask);
  (void)modulesScan(FALSE);
  RawEnd(&mask);
}

/* modulesPagesForget -- no page of code is known */
static void modulesPagesForget(void)
{
  Index i;

  for (i = 0; i < modulesPAGES; ++i)
    __atomic_store_n(&modules.page[i], 0, __ATOMIC_RELAXED);
}

void ModulesGone(ModulesHook gone)
{
  Count count = __atomic_load_n(&modules.count, __ATOMIC_ACQUIRE);
  Index i;

  for (i = 0; i < count; ++i) {
    modulesOneStruct *one = &modules.one[i];
    Word limit = __atomic_load_n(&one->limit, __ATOMIC_ACQUIRE), base = one->base;

    if (limit == 0 || one->link == NULL || ModulesLink(base) == one->link)
      continue;
    /* One thread tells it. */
    if (!__atomic_compare_exchange_n(&one->limit, &limit, 0, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    modulesPagesForget();
    if (gone != NULL)
      gone(base, limit);
#if defined(EventModuleUnloadCODE)
    void *room = BufferReserveNeeded(EventKindSystem, sizeof(EventAWStruct));
    if (room != NULL)
      EVENT_FILL_AW(ModuleUnload, room, base, limit - base);
#endif
  }
}

/* modulesTold -- is there nothing to be told of the module with this address? */
static Bool modulesTold(Word at)
{
  const void *link = ModulesLink(at);
  const modulesOneStruct *known = modulesKnown(at);

  /* Without a link it is code that the program has made. */
  return link == NULL || (known != NULL && (known->link == link || known->link == NULL));
}

/* modulesFind -- tell of the module with this address, which is new; TRUE: its page need not be looked at again */
static Bool modulesFind(Word at, ModulesHook gone)
{
  RawMaskStruct mask;
  Bool found;

  RawBegin(&mask);
  ModulesGone(gone);
  found = modulesKnown(at) != NULL || modulesScan(TRUE);
  RawEnd(&mask);
  return found;
}

void ModulesSee(Word at, ModulesHook gone)
{
  Word page = at >> modulesPAGE;
  Word *place = &modules.page[page % modulesPAGES];

  if (LIKELY(__atomic_load_n(place, __ATOMIC_RELAXED) == page))
    return;
  if (modulesTold(at) || modulesFind(at, gone))
    __atomic_store_n(place, page, __ATOMIC_RELAXED);
}

void ModulesForget(void)
{
  modules.count = 0;
  modulesPagesForget();
}

#else

void ModulesTell(Bool needed)
{
  UNUSED(needed);
}

void ModulesSee(Word at, ModulesHook gone)
{
  UNUSED(at), UNUSED(gone);
}

void ModulesChoose(const char *name)
{
  UNUSED(name);
}

Bool ModulesChosen(Word at)
{
  UNUSED(at);
  return FALSE;
}

void ModulesGone(ModulesHook gone)
{
  UNUSED(gone);
}

void ModulesForget(void)
{
}

#endif
