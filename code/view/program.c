/* program.c -- can a program be observed?
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) Ehdr;
typedef ElfW(Phdr) Phdr;
typedef ElfW(Shdr) Shdr;
typedef ElfW(Sym) Sym;

enum { programScriptsMAX = 4 }; /* interpreters of interpreters */

/* A file's bytes. */
typedef struct ProgramStruct {
  const char *base;
  Size size;
} ProgramStruct, *Program;

/* programFile -- a regular file, open for reading.  A recorded program chooses the path: what else may be there (a FIFO, a
 * device) is looked at, and not opened. */
static int programFile(const char *path, struct stat *status)
{
  int handle = open(path, O_PATH | O_CLOEXEC), fd = -1;
  char again[32];

  if (handle < 0)
    return -1;
  (void)snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
  if (fstat(handle, status) == 0 && S_ISREG(status->st_mode))
    fd = open(again, O_RDONLY | O_CLOEXEC);
  (void)close(handle);
  return fd;
}

static Bool programOpen(Program program, const char *path)
{
  struct stat status;
  int fd = programFile(path, &status);
  void *base = MAP_FAILED;

  if (fd < 0)
    return FALSE;
  if (fstat(fd, &status) == 0 && status.st_size > 0)
    base = mmap(NULL, (Size)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  (void)close(fd);
  if (base == MAP_FAILED)
    return FALSE;
  program->base = base;
  program->size = (Size)status.st_size;
  return TRUE;
}

/* programAt -- `count` things of `size` bytes at `offset`; NULL if they are not all there */
static const void *programAt(Program program, uint64_t offset, uint64_t count, Size size)
{
  if (offset > program->size || count > (program->size - offset) / size || offset % 4 != 0)
    return NULL;
  return program->base + offset;
}

/* programInterpreter -- the dynamic loader's path; NULL: none, so it is static */
static const char *programInterpreter(Program program, const Ehdr *elf)
{
  const Phdr *segment = programAt(program, elf->e_phoff, elf->e_phnum, sizeof *segment);
  Index i;

  for (i = 0; segment != NULL && i < elf->e_phnum; ++i)
    if (segment[i].p_type == PT_INTERP) {
      uint64_t offset = segment[i].p_offset, size = segment[i].p_filesz;
      if (offset < program->size && size <= program->size - offset && size > 0 &&
          program->base[offset + size - 1] == '\0')
        return program->base + offset;
    }
  return NULL;
}

/* programFindIn -- does this symbol table define a function of this name; or ask for one, if `asked`? */
static Bool programFindIn(Program program, const Shdr *section, const Shdr *strings, const char *name, Bool asked)
{
  Size count = section->sh_size / sizeof(Sym), length = strlen(name) + 1;
  const Sym *symbol = programAt(program, section->sh_offset, count, sizeof *symbol);
  const char *text = programAt(program, strings->sh_offset & ~(uint64_t)3, 0, 1);
  Index i;

  if (symbol == NULL || text == NULL || strings->sh_offset > program->size ||
      strings->sh_size > program->size - strings->sh_offset)
    return FALSE;
  text = program->base + strings->sh_offset;
  for (i = 0; i < count; ++i)
    if ((symbol[i].st_shndx == SHN_UNDEF ? asked : !asked && (symbol[i].st_info & 15) == STT_FUNC) &&
        symbol[i].st_name < strings->sh_size && strings->sh_size - symbol[i].st_name >= length &&
        memcmp(text + symbol[i].st_name, name, length) == 0)
      return TRUE;
  return FALSE;
}

static Bool programFind(Program program, const Ehdr *elf, const char *name, Bool asked)
{
  const Shdr *section = programAt(program, elf->e_shoff, elf->e_shnum, sizeof *section);
  Index i;

  for (i = 0; section != NULL && i < elf->e_shnum; ++i)
    if ((section[i].sh_type == SHT_DYNSYM || (section[i].sh_type == SHT_SYMTAB && !asked)) &&
        section[i].sh_link < elf->e_shnum &&
        programFindIn(program, &section[i], &section[section[i].sh_link], name, asked))
      return TRUE;
  return FALSE;
}

/* programDefines -- does the executable itself define a function of this name?  Its calls then do not come to us.
 * programAsks -- does it call one that a library has? */
static Bool programDefines(Program program, const Ehdr *elf, const char *name)
{
  return programFind(program, elf, name, FALSE);
}

static Bool programAsks(Program program, const Ehdr *elf, const char *name)
{
  return programFind(program, elf, name, TRUE);
}

/* programSanitized -- what is not seen of a program that a sanitizer was built into */
static const char *programSanitized(Program program, const Ehdr *elf)
{
  if (programDefines(program, elf, "__tsan_init") || programAsks(program, elf, "__tsan_init"))
    return "built with ThreadSanitizer: the library stays out of it";
  if (!programDefines(program, elf, "malloc"))
    return programAsks(program, elf, "__asan_init") && programDefines(program, elf, "__asan_default_options")
               ? "built with AddressSanitizer, and options that do not let a library go first: "
                 "ASAN_OPTIONS=verify_asan_link_order=0 does"
               : NULL;
  if (programDefines(program, elf, "__asan_init"))
    return "built with AddressSanitizer, whose malloc is in the program: calls of it are not seen";
  if (programDefines(program, elf, "__msan_init"))
    return "built with MemorySanitizer, whose malloc is in the program: calls of it are not seen";
  if (programDefines(program, elf, "__lsan_init"))
    return "built with LeakSanitizer, whose malloc is in the program: calls of it are not seen";
  return NULL;
}

/* Functions that only one allocator has.  They are not wrapped: programs find out by their names whether it is there. */
static const struct {
  const char *reason, *names[12];
} programDoors[] = {
  {"it calls functions that only jemalloc has (mallocx and its kin): these calls are not seen",
   {"mallocx", "rallocx", "xallocx", "dallocx", "sdallocx", "je_malloc", "je_mallocx", "je_calloc", "je_realloc",
    "je_free"}},
  {"it calls functions that only mimalloc has (mi_malloc and its kin): these calls are not seen",
   {"mi_malloc", "mi_zalloc", "mi_calloc", "mi_mallocn", "mi_malloc_small", "mi_malloc_aligned", "mi_realloc",
    "mi_heap_malloc", "mi_heap_zalloc", "mi_new", "mi_strdup"}},
  {"it calls functions that only tcmalloc has (tc_malloc and its kin): these calls are not seen",
   {"tc_malloc", "tc_calloc", "tc_realloc", "tc_memalign", "tc_posix_memalign", "tc_new", "tc_newarray",
    "tc_new_nothrow", "tc_malloc_skip_new_handler"}},
};

/* programDoorOf -- the bit of the allocator that has a function of this name; 0: none has it alone */
static unsigned programDoorOf(const char *name, Size room)
{
  Index i, j;

  if (strchr("mrxdsjt", name[0]) == NULL)
    return 0;
  for (i = 0; i < ARRAY_LENGTH(programDoors); ++i)
    for (j = 0; j < ARRAY_LENGTH(programDoors[i].names) && programDoors[i].names[j] != NULL; ++j)
      if (strlen(programDoors[i].names[j]) < room && strcmp(programDoors[i].names[j], name) == 0)
        return 1u << i;
  return 0;
}

/* programDoorsIn -- the functions of one symbol table that only one allocator has */
static void programDoorsIn(ProgramDoors doors, Program program, const Shdr *section, const Shdr *strings)
{
  Size count = section->sh_size / sizeof(Sym);
  const Sym *symbol = programAt(program, section->sh_offset, count, sizeof *symbol);
  const char *text = program->base + strings->sh_offset;
  Index i;

  if (symbol == NULL || strings->sh_offset > program->size || strings->sh_size == 0 ||
      strings->sh_size > program->size - strings->sh_offset || text[strings->sh_size - 1] != '\0')
    return;
  for (i = 0; i < count; ++i) {
    unsigned bit = symbol[i].st_name < strings->sh_size
                     ? programDoorOf(text + symbol[i].st_name, strings->sh_size - symbol[i].st_name) : 0;
    if (symbol[i].st_shndx != SHN_UNDEF)
      doors->has |= bit;
    else if (symbol[i].st_info >> 4 == STB_WEAK)
      doors->may |= bit;
    else
      doors->asks |= bit;
  }
}

static void programDoorsAll(ProgramDoors doors, Program program, const Ehdr *elf)
{
  const Shdr *section = programAt(program, elf->e_shoff, elf->e_shnum, sizeof *section);
  Index i;

  *doors = (ProgramDoorsStruct){0, 0, 0};
  for (i = 0; section != NULL && i < elf->e_shnum; ++i)
    if (section[i].sh_type == SHT_DYNSYM && section[i].sh_link < elf->e_shnum)
      programDoorsIn(doors, program, &section[i], &section[section[i].sh_link]);
}

void ProgramDoorsRead(ProgramDoors doors, const char *path)
{
  ProgramStruct program;
  const Ehdr *elf;

  *doors = (ProgramDoorsStruct){0, 0, 0};
  if (!programOpen(&program, path))
    return;
  elf = programAt(&program, 0, 1, sizeof *elf);
  if (elf != NULL && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 &&
      elf->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
    programDoorsAll(doors, &program, elf);
  (void)munmap((void *)(uintptr_t)program.base, program.size);
}

const char *ProgramDoor(const ProgramDoorsStruct *doors, unsigned there)
{
  unsigned calls = (doors->asks | (doors->may & there)) & ~doors->has;

  return calls == 0 ? NULL : programDoors[__builtin_ctz(calls)].reason;
}

/* programDoor -- does the program go to an allocator by functions that only that one has? */
static const char *programDoor(Program program, const Ehdr *elf)
{
  ProgramDoorsStruct doors;

  programDoorsAll(&doors, program, elf);
  return ProgramDoor(&doors, ~0u);
}

/* programInside -- what of a program's own is called without us; all else is seen */
static const char *programInside(Program program, const Ehdr *elf)
{
  const char *reason = programSanitized(program, elf);

  if (reason != NULL)
    return reason;
  if (programDefines(program, elf, "malloc"))
    return "a malloc of its own: calls inside it are not seen";
  /* One that calls malloc is seen by that. */
  if (programDefines(program, elf, sizeof(size_t) == sizeof(unsigned) ? "_Znwj" : "_Znwm") &&
      !programAsks(program, elf, "malloc"))
    return "an operator new of its own, which does not call malloc: it is not seen";
  return programDoor(program, elf);
}

static const char *programElf(Program program, const char *path)
{
  const Ehdr *elf = programAt(program, 0, 1, sizeof *elf);
  struct stat status;
  const char *interpreter;

  if (elf == NULL || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
    return "not an executable of this system";
  if (elf->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
    return "its words are of another width than this machine's: the library does not fit";
  interpreter = programInterpreter(program, elf);
  if (interpreter == NULL)
    return "static: nothing can be loaded into it";
  if (strstr(interpreter, "musl") != NULL)
    return "linked with musl: the library needs glibc";
  if (stat(path, &status) == 0 && (((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
                                   ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid())))
    return "set-user-id: it takes no library from the environment";
  return programInside(program, elf);
}

Bool ProgramPartly(const char *reason)
{
  return strncmp(reason, "it calls", 8) == 0 || strncmp(reason, "an operator", 11) == 0;
}

/* programScript -- the interpreter that a script names; FALSE: it is no script */
static Bool programScript(Program program, char *room, Size size)
{
  const char *next = program->base + 2, *limit = program->base + program->size;
  Size length = 0;

  if (program->size < 4 || memcmp(program->base, "#!", 2) != 0)
    return FALSE;
  while (next < limit && (*next == ' ' || *next == '\t'))
    ++next;
  while (next < limit && length + 1 < size && *next != ' ' && *next != '\t' && *next != '\n')
    room[length++] = *next++;
  room[length] = '\0';
  return length > 0;
}

const char *ProgramUnseen(const char *path)
{
  char room[2][4096];
  ProgramStruct program;
  unsigned i;

  for (i = 0; i < programScriptsMAX; ++i) {
    const char *reason;
    Bool script;
    if (!programOpen(&program, path))
      return NULL; /* that it cannot be read says nothing: it may be run all the same */
    script = programScript(&program, room[i % 2], sizeof room[0]);
    reason = script ? NULL : programElf(&program, path);
    (void)munmap((void *)(uintptr_t)program.base, program.size);
    if (!script)
      return reason;
    path = room[i % 2];
  }
  return NULL;
}

static Bool programRuns(const char *path, Bool *foundReturn)
{
  struct stat status;

  if (stat(path, &status) != 0)
    return FALSE;
  *foundReturn = TRUE;
  return !S_ISDIR(status.st_mode) && access(path, X_OK) == 0;
}

Res ProgramFind(char *room, Size size, const char *name)
{
  const char *path = getenv("PATH");
  Bool found = FALSE;

  if (strchr(name, '/') != NULL) {
    if ((Size)snprintf(room, size, "%s", name) < size && programRuns(room, &found))
      return ResOK;
    return found ? ResIO : ResPARAM;
  }
  if (path == NULL)
    path = "/usr/local/bin:/usr/bin:/bin";
  while (name[0] != '\0') {
    Size length = strcspn(path, ":");
    if ((Size)snprintf(room, size, "%.*s%s%s", (int)length, path, length > 0 ? "/" : "./", name) < size &&
        programRuns(room, &found))
      return ResOK;
    if (path[length] == '\0')
      break;
    path += length + 1;
  }
  return found ? ResIO : ResPARAM;
}
