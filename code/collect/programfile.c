/* programfile.c -- reads a program's ELF file, and says which allocations of the program cannot be recorded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/programfile.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/elf.h"
#include "collect/regionmaker.h"
#include "log/logfile.h"

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

/* programPart -- an ElfReadMethod: so many bytes of the file; FALSE: they are not all there, or too many for us */
static Bool programPart(void *data, uint64_t offset, void *bytes, Size size)
{
  Program program = data;
  uint64_t there = (uint64_t)program->status.st_size;

  if (offset > there || size > there - offset || size > program->left)
    return FALSE;
  program->left -= size;
  return FileReadAt(program->fd, offset, bytes, size) == ResOK;
}

/* programRead -- the same, and a NUL behind them, the caller's to free; NULL: not all there, or too many */
static void *programRead(Program program, uint64_t offset, uint64_t size)
{
  char *bytes = size > program->left ? NULL : malloc((Size)size + 1);

  if (bytes == NULL || !programPart(program, offset, bytes, (Size)size)) {
    free(bytes);
    return NULL;
  }
  bytes[size] = '\0';
  return bytes;
}

/* programInterpreter -- the dynamic loader's path, the caller's to free; "": none, so it is static.  NULL: not known */
static char *programInterpreter(Program program, Elf elf)
{
  ElfSegmentStruct segment;
  Index i;

  for (i = 0; i < elf->segments.count; ++i) {
    if (!ElfSegmentAt(&segment, elf, i))
      return NULL;
    if (segment.type == PT_INTERP)
      return segment.cut || segment.size > programNameMAX ? NULL
                                                          : programRead(program, segment.offset, segment.size);
  }
  return strdup("");
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
static void programSymbol(ProgramSymbols symbols, const ElfSymbolStruct *symbol, const char *name, Bool dynamic)
{
  Bool there = symbol->section != SHN_UNDEF;
  unsigned door = dynamic ? programDoorOf(name) : 0;
  Index i;

  for (i = 0; (name[0] == '_' || name[0] == 'm') && i < ARRAY_LENGTH(programNames); ++i)
    if (strcmp(programNames[i], name) == 0) {
      if (there && symbol->type == STT_FUNC) {
        symbols->defines |= 1u << i;
        symbols->shows |= dynamic ? 1u << i : 0;
      } else if (!there && dynamic)
        symbols->asks |= 1u << i;
    }
  if (there)
    symbols->doors.has |= door;
  else if (symbol->bind == STB_WEAK)
    symbols->doors.may |= door;
  else
    symbols->doors.asks |= door;
}

/* programTable -- the symbols of the first section of this type; there is one of each in what linkers make */
static void programTable(ProgramSymbols symbols, Program program, Elf elf, unsigned type)
{
  ElfSectionStruct section, strings;
  ElfSymbolStruct symbol;
  ReaderStruct reader;
  char *table, *text = NULL;
  Index i = 0;

  do
    if (!ElfSectionAt(&section, elf, i++))
      return;
  while (section.type != type);
  if (section.cut || !ElfSectionAt(&strings, elf, section.link) || strings.cut)
    return;
  table = programRead(program, section.offset, section.size);
  if (table != NULL)
    text = programRead(program, strings.offset, strings.size);
  reader = ReaderOf((unsigned char *)table, (Size)section.size, 0, elf->swapped);
  while (text != NULL && ElfSymbolNext(&symbol, elf, &reader))
    if (symbol.name < strings.size)
      programSymbol(symbols, &symbol, text + symbol.name, type == SHT_DYNSYM);
  free(table);
  free(text);
}

/* programSymbols -- what can be known; the symbols that the dynamic loader needs come first */
static void programSymbols(ProgramSymbols symbols, Program program, Elf elf, Bool all)
{
  *symbols = (ProgramSymbolsStruct){.defines = 0};
  programTable(symbols, program, elf, SHT_DYNSYM);
  if (all)
    programTable(symbols, program, elf, SHT_SYMTAB);
  if ((symbols->defines & programMALLOC) != 0) /* its own malloc calls libc's */
    symbols->doors.has |= programDoorLIBC;
}

/* programMagic -- does the file begin as an ELF file does? */
static Bool programMagic(Program program)
{
  char magic[SELFMAG];

  return programPart(program, 0, magic, SELFMAG) && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* programIs -- is it an ELF file, of this machine's width? */
static Bool programIs(Elf elf, Program program, Bool *foreignReturn)
{
  Bool is = ElfOpen(elf, programPart, program, (uint64_t)program->status.st_size) == ResOK && !elf->swapped;

  *foreignReturn = is && elf->wide != (sizeof(void *) == 8);
  return is && !*foreignReturn;
}

void ProgramDoorsRead(ProgramDoors doors, const char *path, uid_t user, Size *left)
{
  ProgramSymbolsStruct symbols = {.defines = 0};
  ProgramStruct program;
  ElfStruct elf;
  Bool foreign;

  if (programOpen(&program, path, user, *left)) {
    if (programIs(&elf, &program, &foreign))
      programSymbols(&symbols, &program, &elf, FALSE);
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

static const char programMUSL[] = "linked with musl: the library needs glibc";

/* programOther -- is the program's loader musl's? */
static const char *programOther(Program program)
{
  char *interpreter = NULL;
  const char *reason = NULL;
  ElfStruct elf;
  Bool foreign;

  if (programIs(&elf, program, &foreign) && (interpreter = programInterpreter(program, &elf)) != NULL &&
      strstr(interpreter, "musl") != NULL)
    reason = programMUSL;
  free(interpreter);
  return reason;
}

/* programCapable -- would the file give capabilities to who runs it?  Not those that it may only inherit. */
static Bool programCapable(Program program)
{
  struct vfs_ns_cap_data caps;
  ssize_t length = fgetxattr(program->fd, "security.capability", &caps, sizeof caps);

  if (length < (ssize_t)sizeof(struct vfs_cap_data))
    return FALSE;
  return (le32toh(caps.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE) != 0 || caps.data[0].permitted != 0 ||
         caps.data[1].permitted != 0;
}

/* programPrivileged -- would it have more rights than who runs it?  Then the dynamic loader takes no library from the
 * environment.  NULL: no */
static const char *programPrivileged(Program program)
{
  const struct stat *status = &program->status;
  struct statvfs system;

  if (fstatvfs(program->fd, &system) == 0 && (system.f_flag & ST_NOSUID) != 0)
    return NULL;
  if (((status->st_mode & S_ISUID) != 0 && status->st_uid != program->user) ||
      ((status->st_mode & S_ISGID) != 0 && status->st_gid != getgid()))
    return "set-user-id: it takes no library from the environment";
  return program->user != 0 && programCapable(program)
             ? "it has file capabilities, and takes no library from the environment" : NULL;
}

/* programLoads -- why no library of ours is loaded into it; NULL: one is, or that is not known */
static const char *programLoads(Program program, const char *interpreter)
{
  if (interpreter[0] == '\0')
    return "static: nothing can be loaded into it";
  if (strstr(interpreter, "musl") != NULL)
    return programMUSL;
  return programPrivileged(program);
}

/* programElf -- why a program would not be observed.  Nothing is said of what is no ELF file: either the exec fails,
 * and a shell, maybe, reads the file; or the system has an interpreter for such files.  Each is a program that comes.
 */
static const char *programElf(Program program)
{
  const char *reason = NULL;
  ProgramSymbolsStruct symbols;
  char *interpreter = NULL;
  ElfStruct elf;
  Bool foreign;

  if (programIs(&elf, program, &foreign)) {
    interpreter = programInterpreter(program, &elf);
    reason = interpreter == NULL ? NULL : programLoads(program, interpreter);
    if (interpreter != NULL && reason == NULL) {
      programSymbols(&symbols, program, &elf, TRUE);
      reason = programInside(&symbols);
    }
  } else if (foreign || programMagic(program)) {
    reason = foreign ? "its words are of another width than this machine's: the library does not fit"
                     : "not an executable of this system";
  }
  free(interpreter);
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

/* programLooked -- what `look` says of a program, or of that which runs it if it is a script */
static const char *programLooked(const char *path, uid_t user, Size *left, const char *(*look)(Program program))
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
    reason = script ? NULL : look(&program);
    programClose(&program, left);
    if (!script)
      return reason;
    path = room[i % 2];
  }
  return NULL;
}

const char *ProgramUnseen(const char *path, uid_t user, Size *left)
{
  return programLooked(path, user, left, programElf);
}

Bool ProgramPreloads(const char *path, uid_t user)
{
  Size left = ProgramBytesMAX;

  return programLooked(path, user, &left, programOther) == NULL;
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
