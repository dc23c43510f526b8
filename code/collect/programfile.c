/* programfile.c -- reads a program's ELF file, and says which allocations of the program cannot be recorded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/programfile.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "collect/regionmaker.h"
#include "log/logfile.h"

typedef ElfW(Ehdr) Ehdr;
typedef ElfW(Phdr) Phdr;
typedef ElfW(Shdr) Shdr;
typedef ElfW(Sym) Sym;

enum {
  programScriptsMAX = 4,       /* interpreters of interpreters */
  programNameMAX = 4096,       /* of an interpreter */
  programGroupsMAX = 1024      /* that we are in */
};

/* A file that is read.  It is not mapped: whoever may write it may truncate it at any time. */
typedef struct ProgramStruct {
  int fd;
  struct stat status;
  uid_t user; /* who named it */
  Size left;  /* bytes that may still be read */
} ProgramStruct, *Program;

/* programMay -- may `user` read the file, by its owner and its mode?  Where we are not root others have no fewer
 * rights. */
static Bool programMay(const struct stat *status, uid_t user)
{
  return geteuid() != 0 || user == 0 || (status->st_mode & S_IROTH) != 0 ||
         (status->st_uid == user && (status->st_mode & S_IRUSR) != 0);
}

/* programAs -- whoever opens files from here on is `user`, in no group; -1: nobody that anybody knows.  `groups` has
 * room for our own, whose number is returned; programSelf puts all back.  Where the system refuses (few users are known
 * in a namespace) we stay who we are. */
static int programAs(uid_t user, gid_t groups[programGroupsMAX])
{
  int count = getgroups(programGroupsMAX, groups);
  uid_t nobody = 65534;

  (void)setfsgid(nobody);
  if (count >= 0)
    (void)syscall(SYS_setgroups, 0, NULL);
  (void)setfsuid(user == ProgramANYBODY ? nobody : user);
  return count;
}

static void programSelf(const gid_t groups[programGroupsMAX], int count)
{
  (void)setfsuid(geteuid());
  (void)setfsgid(getegid());
  if (count >= 0)
    (void)syscall(SYS_setgroups, count, groups);
}

/* programHandle -- a file by its name, through no folder that `user` may not search; not open for reading yet */
static int programHandle(const char *path, uid_t user)
{
  gid_t groups[programGroupsMAX];
  Bool other = geteuid() == 0 && user != 0;
  int count = other ? programAs(user, groups) : 0, handle;

  handle = open(path, O_PATH | O_CLOEXEC);
  if (other)
    programSelf(groups, count);
  return handle;
}

/* programOpen -- a regular file, open for reading.  A recorded program chooses the path: what else may be there (a
 * FIFO, a device), and what it could not read itself, is looked at by its name alone, and not opened. */
static Bool programOpen(Program program, const char *path, uid_t user, Size left)
{
  int handle = programHandle(path, user);

  program->fd = -1;
  program->user = user == ProgramANYBODY ? getuid() : user;
  program->left = left < ProgramBytesMAX ? left : ProgramBytesMAX;
  if (handle < 0)
    return FALSE;
  if (fstat(handle, &program->status) == 0 && S_ISREG(program->status.st_mode) && program->status.st_size > 0 &&
      programMay(&program->status, user))
    program->fd = FileAgain(handle, O_RDONLY | O_NONBLOCK);
  (void)close(handle);
  return program->fd >= 0;
}

/* programClose -- what was read of it is taken off `left` */
static void programClose(Program program, Size *left)
{
  Size had = *left < ProgramBytesMAX ? *left : ProgramBytesMAX;

  AVER(program->fd >= 0 && program->left <= had);
  *left -= had - program->left;
  (void)close(program->fd);
}

/* programRead -- so many bytes of the file, and a NUL behind them, the caller's to free; NULL: they are not all there,
 * or too many for us */
static void *programRead(Program program, uint64_t offset, uint64_t size)
{
  uint64_t there = (uint64_t)program->status.st_size;
  char *bytes;

  if (offset > there || size > there - offset || size > program->left || (bytes = malloc((Size)size + 1)) == NULL)
    return NULL;
  program->left -= (Size)size;
  bytes[size] = '\0';
  if (FileReadAt(program->fd, offset, bytes, (Size)size) == ResOK)
    return bytes;
  free(bytes);
  return NULL;
}

/* programInterpreter -- the dynamic loader's path, the caller's to free; "": none, so it is static.  NULL: not known */
static char *programInterpreter(Program program, const Ehdr *elf)
{
  Phdr *segment = programRead(program, elf->e_phoff, elf->e_phnum * sizeof *segment);
  char *path = NULL;
  Index i = 0;

  if (segment == NULL)
    return NULL;
  while (i < elf->e_phnum && segment[i].p_type != PT_INTERP)
    ++i;
  if (i == elf->e_phnum)
    path = strdup("");
  else if (segment[i].p_filesz <= programNameMAX)
    path = programRead(program, segment[i].p_offset, segment[i].p_filesz);
  free(segment);
  return path;
}

/* Functions that only one allocator has.  They are not wrapped: programs find out by their names whether it is there.
 * Those of libc are the first: who calls them has a malloc itself, which is wrapped, or is not seen. */
static const struct {
  const char *reason, *names[12];
} programDoors[] = {
  {"it calls libc's malloc by names that are not wrapped (__libc_malloc and its kin): these calls are not seen",
   {"__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign"}},
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

enum { programDoorLIBC = 1 }; /* the bit of the first */

/* programDoorOf -- the bit of the allocator that has a function of this name; 0: none has it alone */
static unsigned programDoorOf(const char *name)
{
  Index i, j;

  if (strchr("_mrxdsjt", name[0]) == NULL)
    return 0;
  for (i = 0; i < ARRAY_LENGTH(programDoors); ++i)
    for (j = 0; j < ARRAY_LENGTH(programDoors[i].names) && programDoors[i].names[j] != NULL; ++j)
      if (strcmp(programDoors[i].names[j], name) == 0)
        return 1u << i;
  return 0;
}

/* Functions that tell what a program is made of, a bit for each. */
enum {
  programTSAN = 1, programASAN = 2, programOPTIONS = 4, programMSAN = 8, programLSAN = 16, programMALLOC = 32,
  programNEW = 64
};

static const char *const programNames[] = {
  "__tsan_init", "__asan_init", "__asan_default_options", "__msan_init", "__lsan_init", "malloc",
  sizeof(size_t) == sizeof(unsigned) ? "_Znwj" : "_Znwm"
};

/* What a program's symbols say. */
typedef struct ProgramSymbolsStruct {
  unsigned defines; /* these functions are in the executable itself: their calls do not come to us */
  unsigned shows;   /* those of them that libraries find there */
  unsigned asks;    /* it calls these, which a library has */
  ProgramDoorsStruct doors;
} ProgramSymbolsStruct, *ProgramSymbols;

/* programSymbol -- one more symbol; all are asked for what is defined, and those for the dynamic loader for the rest,
 * too */
static void programSymbol(ProgramSymbols symbols, const Sym *symbol, const char *name, Bool dynamic)
{
  Bool there = symbol->st_shndx != SHN_UNDEF;
  unsigned door = dynamic ? programDoorOf(name) : 0;
  Index i;

  for (i = 0; (name[0] == '_' || name[0] == 'm') && i < ARRAY_LENGTH(programNames); ++i)
    if (strcmp(programNames[i], name) == 0) {
      if (there && (symbol->st_info & 15) == STT_FUNC) {
        symbols->defines |= 1u << i;
        symbols->shows |= dynamic ? 1u << i : 0;
      } else if (!there && dynamic)
        symbols->asks |= 1u << i;
    }
  if (there)
    symbols->doors.has |= door;
  else if (symbol->st_info >> 4 == STB_WEAK)
    symbols->doors.may |= door;
  else
    symbols->doors.asks |= door;
}

/* programTable -- the symbols of the first section of this type; there is one of each in what linkers make */
static void programTable(ProgramSymbols symbols, Program program, const Shdr *section, Count count, unsigned type)
{
  Sym *symbol = NULL;
  char *text = NULL;
  Index i = 0, k;

  while (i < count && section[i].sh_type != type)
    ++i;
  if (i < count && section[i].sh_link < count) {
    const Shdr *strings = &section[section[i].sh_link];
    symbol = programRead(program, section[i].sh_offset, section[i].sh_size);
    text = symbol == NULL ? NULL : programRead(program, strings->sh_offset, strings->sh_size);
    for (k = 0; text != NULL && k < section[i].sh_size / sizeof *symbol; ++k)
      if (symbol[k].st_name < strings->sh_size)
        programSymbol(symbols, &symbol[k], text + symbol[k].st_name, type == SHT_DYNSYM);
  }
  free(symbol);
  free(text);
}

/* programSymbols -- what can be known; the symbols that the dynamic loader needs come first */
static void programSymbols(ProgramSymbols symbols, Program program, const Ehdr *elf, Bool all)
{
  Shdr *section = programRead(program, elf->e_shoff, elf->e_shnum * sizeof *section);

  *symbols = (ProgramSymbolsStruct){.defines = 0};
  if (section != NULL)
    programTable(symbols, program, section, elf->e_shnum, SHT_DYNSYM);
  if (section != NULL && all)
    programTable(symbols, program, section, elf->e_shnum, SHT_SYMTAB);
  if ((symbols->defines & programMALLOC) != 0) /* its own malloc calls libc's */
    symbols->doors.has |= programDoorLIBC;
  free(section);
}

/* programIs -- is it an ELF file, of this machine's width? */
static Bool programIs(const Ehdr *elf, Bool *foreignReturn)
{
  Bool is = elf != NULL && memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0;

  *foreignReturn = is && elf->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
  return is && !*foreignReturn;
}

void ProgramDoorsRead(ProgramDoors doors, const char *path, uid_t user, Size *left)
{
  ProgramSymbolsStruct symbols = {.defines = 0};
  ProgramStruct program;
  Bool foreign;
  Ehdr *elf;

  if (programOpen(&program, path, user, *left)) {
    elf = programRead(&program, 0, sizeof *elf);
    if (programIs(elf, &foreign))
      programSymbols(&symbols, &program, elf, FALSE);
    free(elf);
    programClose(&program, left);
  }
  *doors = symbols.doors;
}

const char *ProgramDoor(const ProgramDoorsStruct *doors, unsigned there)
{
  unsigned calls = (doors->asks | (doors->may & there)) & ~doors->has;

  return calls == 0 ? NULL : programDoors[__builtin_ctz(calls)].reason;
}

/* programSanitized -- what is not seen of a program that a sanitizer was built into */
static const char *programSanitized(const ProgramSymbolsStruct *symbols)
{
  unsigned defines = symbols->defines;

  /* The library stays out where it finds this. */
  if (((symbols->shows | symbols->asks) & programTSAN) != 0)
    return "built with ThreadSanitizer: the library stays out of it";
  if ((defines & programMALLOC) == 0)
    return (symbols->asks & programASAN) != 0 && (defines & programOPTIONS) != 0
               ? "built with AddressSanitizer, and options that do not let a library go first: "
                 "ASAN_OPTIONS=verify_asan_link_order=0 does"
               : NULL;
  if ((defines & programASAN) != 0)
    return "built with AddressSanitizer, whose malloc is in the program: calls of it are not seen";
  if ((defines & programTSAN) != 0)
    return "built with ThreadSanitizer, whose malloc is in the program: calls of it are not seen";
  if ((defines & programMSAN) != 0)
    return "built with MemorySanitizer, whose malloc is in the program: calls of it are not seen";
  if ((defines & programLSAN) != 0)
    return "built with LeakSanitizer, whose malloc is in the program: calls of it are not seen";
  return NULL;
}

/* programInside -- what of a program's own is called without us; all else is seen.  A function that it calls only if it
 * is there counts where that is known (ProgramDoor). */
static const char *programInside(const ProgramSymbolsStruct *symbols)
{
  const char *reason = programSanitized(symbols);

  if (reason != NULL)
    return reason;
  if ((symbols->defines & programMALLOC) != 0)
    return "a malloc of its own: calls inside it are not seen";
  /* One that calls malloc is seen by that. */
  if ((symbols->defines & programNEW) != 0 && (symbols->asks & programMALLOC) == 0)
    return "an operator new of its own, which does not call malloc: it is not seen";
  return ProgramDoor(&symbols->doors, 0);
}

/* programLoads -- why no library of ours is loaded into it; NULL: one is, or that is not known */
static const char *programLoads(Program program, const char *interpreter)
{
  const struct stat *status = &program->status;

  if (interpreter[0] == '\0')
    return "static: nothing can be loaded into it";
  if (strstr(interpreter, "musl") != NULL)
    return "linked with musl: the library needs glibc";
  return ((status->st_mode & S_ISUID) != 0 && status->st_uid != program->user) ||
                 ((status->st_mode & S_ISGID) != 0 && status->st_gid != getgid())
             ? "set-user-id: it takes no library from the environment" : NULL;
}

static const char *programElf(Program program)
{
  const char *reason = NULL;
  ProgramSymbolsStruct symbols;
  char *interpreter = NULL;
  Ehdr *elf = programRead(program, 0, sizeof *elf);
  Bool foreign;

  if (programIs(elf, &foreign)) {
    interpreter = programInterpreter(program, elf);
    reason = interpreter == NULL ? NULL : programLoads(program, interpreter);
    if (interpreter != NULL && reason == NULL) {
      programSymbols(&symbols, program, elf, TRUE);
      reason = programInside(&symbols);
    }
  } else {
    reason = foreign ? "its words are of another width than this machine's: the library does not fit"
                     : "not an executable of this system";
  }
  free(interpreter);
  free(elf);
  return reason;
}

Bool ProgramPartly(const char *reason)
{
  return strncmp(reason, "it calls", 8) == 0 || strncmp(reason, "an operator", 11) == 0;
}

Bool ProgramStatic(const char *reason)
{
  return strncmp(reason, "static", 6) == 0;
}

/* programScript -- the interpreter that a script names; FALSE: it is no script */
static Bool programScript(Program program, char *room, Size size)
{
  Size there = (Size)program->status.st_size, length = 0;
  char *text = programRead(program, 0, there < size ? there : size), *next = text;
  Bool script = text != NULL && there >= 4 && memcmp(text, "#!", 2) == 0;

  if (script) {
    next += 2 + strspn(text + 2, " \t");
    length = strcspn(next, " \t\n");
    length = length < size ? length : size - 1;
    memcpy(room, next, length);
    room[length] = '\0';
  }
  free(text);
  return script && length > 0;
}

Bool ProgramInterpreter(char *room, Size size, const char *path, uid_t user)
{
  Size left = ProgramBytesMAX;
  ProgramStruct program;
  Bool script;

  if (!programOpen(&program, path, user, left))
    return FALSE;
  script = programScript(&program, room, size);
  programClose(&program, &left);
  return script;
}

const char *ProgramUnseen(const char *path, uid_t user, Size *left)
{
  char room[2][programNameMAX];
  ProgramStruct program;
  unsigned i;

  for (i = 0; i < programScriptsMAX; ++i) {
    const char *reason;
    Bool script;
    if (!programOpen(&program, path, user, *left))
      return NULL; /* that it cannot be read says nothing: it may be run all the same */
    script = programScript(&program, room[i % 2], sizeof room[0]);
    reason = script ? NULL : programElf(&program);
    programClose(&program, left);
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
  Bool placed = strchr(name, '/') != NULL, found = FALSE;
  const char *path = placed ? "" : getenv("PATH");

  if (path == NULL)
    path = "/usr/local/bin:/usr/bin:/bin";
  while (name[0] != '\0') {
    Size length = strcspn(path, ":");
    const char *between = length > 0 ? "/" : placed ? "" : "./";
    if ((Size)snprintf(room, size, "%.*s%s%s", (int)length, path, between, name) < size &&
        programRuns(room, &found))
      return ResOK;
    if (path[length] == '\0')
      break;
    path += length + 1;
  }
  return found ? ResIO : ResPARAM;
}
