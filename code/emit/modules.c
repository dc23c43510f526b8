/* modules.c -- which files' code is mapped where
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "emit/emitter.h"

#if defined(EventModuleLoadCODE) /* the registry of another emitter may have no modules */

enum {
  modulesPATH = 4096,
  modulesLINES = 8192,
  modulesPAGES = 1024,   /* hashes of code pages that are in a module with an event already */
  modulesPAGE = 12,
  modulesHEADER = 1024,  /* bytes of an ELF file that are read for its program headers */
  modulesNOTE = 512,     /* and for its notes */
  modulesBUILD = 64      /* bytes of a build id at most */
};

/* A module that was told. */
typedef struct modulesOneStruct {
  Word base;
  Word limit;       /* 0: it has gone */
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
  uint8_t bytes[modulesHEADER];
} modules LARGE;

/* ---- The dynamic linker ---- */

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
extern int _dl_find_object(void *at, struct dl_find_object *found) __attribute__((weak));

/* modulesLink -- the dynamic linker's handle for the module with this address; NULL: none.  Takes no lock. */
static const void *modulesLink(Word at)
{
  struct dl_find_object found;

  return _dl_find_object != NULL && _dl_find_object((void *)at, &found) == 0 ? found.dlfo_link_map : NULL;
}
#else
static const void *modulesLink(Word at)
{
  UNUSED(at);
  return NULL;
}
#endif

/* ---- Events ---- */

/* modulesEvent -- an event with a string that stands last, behind `before` bytes */
static void *modulesEvent(Size before, const char *string, Size *lengthReturn)
{
  *lengthReturn = EventStringLength(string);
  return BufferReserveNeeded(EventKindSystem, before + *lengthReturn + 1);
}

static Bool modulesRead(Word at, Size size)
{
  return modules.memory >= 0 &&
         RawCall(SYS_pread64, modules.memory, modules.bytes, size, (uint64_t)at) == (long)size;
}

/* modulesNote -- the build id in the notes that were read, as text in `id`; FALSE: there is none */
static Bool modulesNote(char *id, Size size)
{
  static const char digits[] = "0123456789abcdef";
  Size at = 0, i;

  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    Size name = at + sizeof note, value;

    memcpy(&note, modules.bytes + at, sizeof note);
    if (note.n_namesz > size || note.n_descsz > size)
      return FALSE;
    value = name + WordAlignUp(note.n_namesz, 4);
    at = value + WordAlignUp(note.n_descsz, 4);
    if (at > size)
      return FALSE;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(modules.bytes + name, "GNU", 4) != 0)
      continue;
    if (note.n_descsz == 0 || note.n_descsz > modulesBUILD)
      return FALSE;
    for (i = 0; i < note.n_descsz; ++i) {
      id[2 * i] = digits[modules.bytes[value + i] >> 4];
      id[2 * i + 1] = digits[modules.bytes[value + i] & 15];
    }
    id[2 * i] = '\0';
    return TRUE;
  }
  return FALSE;
}

/* modulesBuild -- the build id of the module; FALSE: it has none, or it cannot be read */
static Bool modulesBuild(char *id)
{
  ElfW(Ehdr) header;
  ElfW(Phdr) segment[16], *at;
  Word first = 0;
  Bool loads = FALSE;

  if (!modulesRead(modules.base, modulesHEADER))
    return FALSE;
  memcpy(&header, modules.bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *segment ||
      header.e_phnum > ARRAY_LENGTH(segment) || header.e_phoff > modulesHEADER ||
      header.e_phnum * sizeof *segment > modulesHEADER - header.e_phoff)
    return FALSE;
  memcpy(segment, modules.bytes + header.e_phoff, header.e_phnum * sizeof *segment);
  for (at = segment; at < segment + header.e_phnum; ++at) {
    if (at->p_type == PT_LOAD && !loads) {
      first = at->p_vaddr - at->p_offset;
      loads = TRUE;
    }
    if (at->p_type == PT_NOTE && loads) {
      Size size = at->p_filesz < modulesNOTE ? (Size)at->p_filesz : modulesNOTE;
      if (modulesRead(modules.base + (Word)at->p_vaddr - first, size) && modulesNote(id, size))
        return TRUE;
    }
  }
  return FALSE;
}

/* modulesEmit -- the events of the module whose lines were read last */
static void modulesEmit(void)
{
  char id[2 * modulesBUILD + 1];
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

/* modulesNamed -- has the module whose lines were read last the name that was chosen? */
static Bool modulesNamed(void)
{
  const char *base = strrchr(modules.path, '/') + 1;
  Size length = modules.name != NULL ? strlen(modules.name) : 0;

  if (length == 0 || strncmp(base, modules.name, length) != 0)
    return FALSE;
  return base[length] == '\0' || base[length] == '.' || (base[length] == '-' && strstr(base + length, ".so") != NULL);
}

/* modulesKeep -- remember it: in the place of one that has gone, or behind all others */
static void modulesKeep(void)
{
  Index i;

  for (i = 0; i < modules.count && modules.one[i].limit != 0; ++i)
    continue;
  if (i == ModulesMAX)
    return;
  modules.one[i].base = modules.base;
  modules.one[i].link = modulesLink(modules.base);
  modules.one[i].chosen = modulesNamed();
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

/* modulesLine -- one line, terminated: START-END PERMISSIONS OFFSET DEVICE INODE PATH */
static void modulesLine(const char *line)
{
  const char *path = strchr(line, '/');
  Word start = (Word)TextNumber(&line, 16), limit, offset;
  Bool runs;

  line += *line == '-';
  limit = (Word)TextNumber(&line, 16);
  if (path == NULL || strlen(line) < 6 || strlen(path) >= sizeof modules.path)
    return;
  runs = line[3] == 'x';
  line += 6;
  offset = (Word)TextNumber(&line, 16);
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
  modules.memory = RawCall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
  fd = RawCall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && had < sizeof modules.lines &&
         (n = RawCall(SYS_read, fd, modules.lines + had, sizeof modules.lines - had)) > 0) {
    Size used = modulesLines(had + (Size)n);
    had += (Size)n - used;
    memmove(modules.lines, modules.lines + used, had);
  }
  modulesLast();
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
  if (modules.memory >= 0)
    (void)RawCall(SYS_close, modules.memory);
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

    if (limit == 0 || one->link == NULL || modulesLink(base) == one->link)
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
  const void *link = modulesLink(at);
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
