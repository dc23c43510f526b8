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

static Bool programOpen(Program program, const char *path)
{
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  void *base = MAP_FAILED;

  if (fd < 0)
    return FALSE;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
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

/* programDefinesIn -- does this symbol table define a function of this name? */
static Bool programDefinesIn(Program program, const Shdr *section, const Shdr *strings, const char *name)
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
    if (symbol[i].st_shndx != SHN_UNDEF && (symbol[i].st_info & 15) == STT_FUNC &&
        symbol[i].st_name < strings->sh_size && strings->sh_size - symbol[i].st_name >= length &&
        memcmp(text + symbol[i].st_name, name, length) == 0)
      return TRUE;
  return FALSE;
}

/* programDefines -- does the executable itself define a function of this name?  Its calls then do not come to us. */
static Bool programDefines(Program program, const Ehdr *elf, const char *name)
{
  const Shdr *section = programAt(program, elf->e_shoff, elf->e_shnum, sizeof *section);
  Index i;

  for (i = 0; section != NULL && i < elf->e_shnum; ++i)
    if ((section[i].sh_type == SHT_DYNSYM || section[i].sh_type == SHT_SYMTAB) && section[i].sh_link < elf->e_shnum &&
        programDefinesIn(program, &section[i], &section[section[i].sh_link], name))
      return TRUE;
  return FALSE;
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
  if (programDefines(program, elf, "malloc"))
    return "a malloc of its own: calls inside it are not seen";
  return NULL;
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
