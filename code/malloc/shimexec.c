/* shimexec.c -- exec and posix_spawn, wrapped: the collector learns which programs the family runs
 *
 * A program into which the library cannot be loaded does not announce itself.  So its path is announced here, and
 * whether the environment that it is given has the variables that the library needs.  Blocks that could not be found
 * behind exec are sent before (EmitterLeaves).  The wrappers do nothing else, and nothing that is forbidden in the
 * child of a vfork.  libc's own execl calls libc's execve directly, without our wrapper: so execl and its kin are made
 * here of the functions that take a vector.  system and popen start a shell inside libc, whose process number is not
 * known.
 *
 * Design: design/collector.md .family      Tests: test/collect/collect.t, test/monitor/unrecorded.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/emitter.h"
#include "handover/collectorsocket.h"
#include "malloc/shimdlsym.h"

/* Of an environment so many entries are looked at, so many at a time, and so many bytes of a value; of the program's
 * memory so much is read at a time.  That is little: exec is called on small stacks as well, by handlers of signals
 * above all, and libc's needs next to none. */
enum { shimENVIRONMENT = 4096, shimENTRIES = 32, shimNAME = 20, shimVALUE = 4096, shimPIECE = 256 };

/* The functions of libc behind the wrappers.  They are looked up before the first fork and before a second thread
 * begins (shimsync.c), at the latest: in a child of many threads the dynamic loader's lock may be held by nobody who
 * lives.  Not at the beginning: most programs execute no other one, and looking them up takes 5 microseconds. */
#define EXEC_FUNCTIONS(X) \
  X(execv) X(execvp) X(execvpe) X(posix_spawn) X(posix_spawnp) X(fexecve) X(execveat) X(system) X(popen) X(execve)

static struct {
#define X(name) __typeof__(name) *name;
  EXEC_FUNCTIONS(X)
#undef X
} shimReal;

void ShimExecStart(void)
{
  if (__atomic_load_n((void **)&shimReal.execve, __ATOMIC_ACQUIRE) != NULL) /* the last one: they are all there */
    return;
#define X(name) ShimNextSymbol(&shimReal.name, #name); /* execveat: NULL in older libcs */
  EXEC_FUNCTIONS(X)
#undef X
}

/* What was read of the program's memory last.  The strings of an environment lie near each other, in any order: so it
 * is read by pieces, and not by strings, which costs as much for each of them. */
typedef struct ShimSeenStruct {
  Word base;
  Size size; /* bytes that could be read; 0: nothing was */
  char bytes[shimPIECE];
} ShimSeenStruct, *ShimSeen;

static void shimSeeAt(ShimSeen seen, Word base)
{
  seen->base = base;
  seen->size = RawPeek(seen->bytes, (const void *)base, shimPIECE);
}

/* shimSee -- what stands at `at`: shimNAME bytes of it, or fewer where the memory ends; how many are there */
static const char *shimSee(Size *lengthReturn, ShimSeen seen, const char *at)
{
  Word place = (Word)at;

  if (place < seen->base || place - seen->base + shimNAME > seen->size)
    shimSeeAt(seen, place % shimPIECE + shimNAME <= shimPIECE ? place - place % shimPIECE : place);
  *lengthReturn = seen->size > place - seen->base ? seen->size - (place - seen->base) : 0;
  return seen->bytes + (place - seen->base);
}

/* shimBegins -- does the entry begin so? */
static Bool shimBegins(ShimSeen seen, const char *entry, const char *name, Size length)
{
  Size there;
  const char *bytes = shimSee(&there, seen, entry);

  return there >= length && memcmp(bytes, name, length) == 0;
}

static const char shimPreload[] = "LD_PRELOAD=", shimRecording[] = RegionVARIABLE "=", shimLibrary[] = "libpawprint.so";

_Static_assert(sizeof shimRecording - 1 <= shimNAME && sizeof shimPreload - 1 <= shimNAME, "names fit");
_Static_assert((Size)CollectorSocketOURS <= (Size)shimPIECE, "what is ours fits");

/* shimHas -- does `name`, without its 0, stand in the first shimVALUE bytes of the string at `at`? */
static Bool shimHas(ShimSeen seen, const char *at, const char *name, Size length)
{
  Word end = (Word)at + shimVALUE, next = (Word)at;
  Size there;

  do {
    shimSeeAt(seen, next);
    there = strnlen(seen->bytes, seen->size);
    if (memmem(seen->bytes, there, name, length) != NULL)
      return TRUE;
    next += shimPIECE - length;
  } while (there == shimPIECE && next < end);
  return FALSE;
}

/* shimLackEntry -- `lack`, and what one entry of an environment changes of it */
static unsigned shimLackEntry(unsigned lack, ShimSeen seen, const char *entry)
{
  if (shimBegins(seen, entry, shimPreload, sizeof shimPreload - 1))
    return shimHas(seen, entry, shimLibrary, sizeof shimLibrary - 1)
               ? lack & ~(unsigned)(RegionLackLIBRARY | RegionLackOTHERS)
               : lack | ((lack & RegionLackLIBRARY) != 0 ? RegionLackOTHERS : 0);
  if (!shimBegins(seen, entry, shimRecording, sizeof shimRecording - 1))
    return lack;
  shimSeeAt(seen, (Word)entry);
  if (seen->size >= sizeof shimRecording && seen->bytes[sizeof shimRecording - 1] == '\0')
    return lack; /* it is empty */
  return (lack & ~(unsigned)RegionLackRECORDING) |
         (CollectorSocketOurs(seen->bytes, seen->size) ? 0 : RegionLackCOLLECTOR);
}

/* shimLack -- which of our variables an environment lacks; 0 also where it cannot be read, so that nothing is known */
static unsigned shimLack(char *const envp[])
{
  unsigned lack = RegionLackLIBRARY | RegionLackRECORDING;
  char *entry[shimENTRIES];
  ShimSeenStruct seen;
  Index i, k;

  seen.base = seen.size = 0;
  for (i = 0; i < shimENVIRONMENT; i += k) {
    Size read = envp != NULL ? RawPeek(entry, envp + i, sizeof entry) / sizeof entry[0] : 0;
    if (envp != NULL && read == 0 && (read = RawPeek(entry, envp + i, sizeof entry[0]) / sizeof entry[0]) == 0)
      return 0;
    for (k = 0; k < read && entry[k] != NULL; ++k)
      lack = shimLackEntry(lack, &seen, entry[k]);
    if (k < read || read == 0)
      return lack;
  }
  return 0;
}

/* shimPath -- can the path be read, to its end, and is it one that a collector can be told? */
static Bool shimPath(const char *path)
{
  ShimSeenStruct seen;
  Size length = 0, there;

  do {
    shimSeeAt(&seen, (Word)path + length);
    there = strnlen(seen.bytes, seen.size);
    length += there;
  } while (there == shimPIECE && length < RegionPathMAX);
  return there < seen.size && length < RegionPathMAX;
}

/* shimTold -- does a collector have to know of this path?
 *
 * The path is the program's, and may point nowhere: then the real function reports the error.  A call that does nothing
 * else tells whether there is such a file.  A filter of system calls may answer in its place, so that the answer does
 * not tell whether the path can be read. */
static Bool shimTold(const char *path)
{
  long res;

  ShimExecStart();
  if (!CollectorSocketNamed())
    return FALSE;
  res = RawCall(SYS_faccessat, AT_FDCWD, path, F_OK);
  if (res == -EFAULT || res == -ENAMETOOLONG || res == -EPERM || !shimPath(path)) /* EPERM: it may not be asked */
    return FALSE;
  return res == 0 || strchr(path, '/') == NULL;
}

/* shimLeaves -- exec is about to be tried: what nobody would find behind it goes out, if there is a program to become
 * path  as the kernel is given it, from `folder`; NULL: it is going to be looked for, or is open */
static void shimLeaves(int folder, const char *path, char *const envp[])
{
  EmitterLeave leave = EmitterLeaves();
  Bool leaves = leave == EmitterLeaveALL || (leave == EmitterLeaveFOREIGN &&
                                             (shimLack(envp) & (RegionLackLIBRARY | RegionLackRECORDING)) != 0);
  long res = !leaves || path == NULL ? 0 : RawCall(SYS_faccessat, folder, path, X_OK);

  if (!CollectorSocketNamed()) /* else its note does that */
    CollectorSocketStarts(shimLack(envp), FALSE);
  if (leaves && (res == 0 || res == -EPERM))
    EmitterEnd();
}

/* shimStarts -- a program is about to be started inside libc: it may have to be left what it cannot ask for */
static void shimStarts(unsigned lack)
{
  Emitter emitter = EmitterIfReady();
  RegionHeader region = emitter != NULL ? EmitterRegion(emitter) : NULL;

  CollectorSocketStarts(lack, region != NULL && RegionCollected(region));
}

/* shimNote -- announce the program to the collector, once all functions are looked up; FALSE: it was not announced */
static Bool shimNote(const char *path, char *const envp[])
{
  Bool told = shimTold(path);

  if (told)
    CollectorSocketNote(RegionNoteEXEC, path, shimLack(envp), 0);
  EmitterEnding(TRUE);
  return told;
}

/* shimStays -- exec has failed; returns its result */
static int shimStays(Bool told, const char *path, int result)
{
  EmitterEnding(FALSE);
  if (told)
    CollectorSocketNote(RegionNoteSTAYS, path, 0, 0);
  return result;
}

/* SHIM_EXEC -- the wrapper of a function that becomes the program at `path`
 * known  that path, as the kernel is given it; NULL: it is going to be looked for */
#define SHIM_EXEC(name, parameters, arguments, path, known, envp) \
  SHIM int name parameters \
  { \
    Bool told = shimNote(path, envp); \
    shimLeaves(AT_FDCWD, known, envp); \
    return shimStays(told, path, shimReal.name arguments); \
  }

SHIM_EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp), path, path, envp)
SHIM_EXEC(execv, (const char *path, char *const argv[]), (path, argv), path, path, environ)
SHIM_EXEC(execvp, (const char *path, char *const argv[]), (path, argv), path, NULL, environ)
SHIM_EXEC(execvpe, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp), path, NULL, envp)

/* SHIM_VECTOR -- the words of execl from `first` on, up to NULL, as a vector on the stack; `list` is behind that */
#define SHIM_VECTOR(argv, list, first) \
  va_list list; \
  Count argv##Count = 1; \
  va_start(list, first); \
  for (; va_arg(list, char *) != NULL; ++argv##Count) \
    ; \
  va_end(list); \
  char **argv = __builtin_alloca((argv##Count + 1) * sizeof *argv); \
  va_start(list, first); \
  shimVector(argv, argv##Count, first, &list)

static void shimVector(char **argv, Count count, const char *first, va_list *list)
{
  Index i;

  argv[0] = (char *)(Word)first;
  for (i = 1; i <= count; ++i)
    argv[i] = va_arg(*list, char *);
}

SHIM int execl(const char *path, const char *argument, ...)
{
  SHIM_VECTOR(argv, list, argument);
  va_end(list);
  return execve(path, argv, environ);
}

SHIM int execlp(const char *name, const char *argument, ...)
{
  SHIM_VECTOR(argv, list, argument);
  va_end(list);
  return execvp(name, argv);
}

SHIM int execle(const char *path, const char *argument, ...)
{
  char *const *envp;
  SHIM_VECTOR(argv, list, argument);
  envp = va_arg(list, char *const *);
  va_end(list);
  return execve(path, argv, envp);
}

/* shimOpened -- the path of an open file into `path`, without a 0; its length, or 0 if it has none, or one that is as
 * long as the room */
static Size shimOpened(char *path, Size room, int fd)
{
  char link[32];
  long length;

  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = RawCall(SYS_readlinkat, AT_FDCWD, link, path, room);
  return length > 0 && path[0] == '/' && (Size)length < room ? (Size)length : 0;
}

/* shimWhole -- the path of a program that is an open file (`path` is NULL or empty), or stands in a folder that is one;
 * FALSE: there is none.  A file may have lost its name, or never had one: then its name is the one that the system
 * gives. */
static Bool shimWhole(char whole[RegionPathMAX], int fd, const char *path)
{
  Size length = path != NULL ? strnlen(path, RegionPathMAX - 1) : 0;
  Size folder = shimOpened(whole, RegionPathMAX - length - 1, fd);
  char *name = whole + folder;

  if (folder == 0)
    return FALSE;
  if (length > 0) {
    *name++ = '/';
    memcpy(name, path, length);
  }
  name[length] = '\0';
  return TRUE;
}

/* shimNoteOpened -- announce such a program, or one with an absolute path; FALSE: it was not announced */
static Bool shimNoteOpened(int fd, const char *path, char *const envp[])
{
  char whole[RegionPathMAX];

  ShimExecStart();
  if (!CollectorSocketNamed() || (path != NULL && !shimPath(path)))
    return FALSE;
  if (path != NULL && path[0] == '/')
    return shimNote(path, envp);
  if (!shimWhole(whole, fd, path))
    return FALSE;
  CollectorSocketNote(RegionNoteEXEC, whole, shimLack(envp), 0);
  EmitterEnding(TRUE);
  return TRUE;
}

/* shimStaysOpened -- exec of such a program has failed; returns its result */
static int shimStaysOpened(Bool told, int fd, const char *path, int result)
{
  char whole[RegionPathMAX];

  if (!told || (path != NULL && path[0] == '/'))
    return shimStays(told, path, result);
  if (!shimWhole(whole, fd, path))
    whole[0] = '\0';
  return shimStays(told, whole, result);
}

SHIM int fexecve(int fd, char *const argv[], char *const envp[])
{
  Bool told = shimNoteOpened(fd, NULL, envp);

  shimLeaves(AT_FDCWD, NULL, envp);
  return shimStaysOpened(told, fd, NULL, shimReal.fexecve(fd, argv, envp));
}

SHIM int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
  Bool told = folder == AT_FDCWD ? shimNote(path, envp) : shimNoteOpened(folder, path, envp);
  int result;

  shimLeaves(folder, (flags & AT_EMPTY_PATH) != 0 ? NULL : path, envp);
  result = shimReal.execveat == NULL ? (int)syscall(SYS_execveat, folder, path, argv, envp, flags)
                                     : shimReal.execveat(folder, path, argv, envp, flags);
  return folder == AT_FDCWD ? shimStays(told, path, result) : shimStaysOpened(told, folder, path, result);
}

#if defined(__x86_64__) && defined(__LP64__)
/* ShimSystemExecve -- syscall(SYS_execve, ...), which `syscall' (shimseccomp.c) leaves to this */
__attribute__((used)) long ShimSystemExecve(long number, const char *path, char *const argv[], char *const envp[]);
long ShimSystemExecve(long number, const char *path, char *const argv[], char *const envp[])
{
  UNUSED(number);
  return execve(path, argv, envp);
}
#endif

/* shimShell -- libc is about to start a shell; returns what its environment lacks.  Only that is worth telling then: a
 * shell that lacks nothing comes by itself. */
static unsigned shimShell(void)
{
  unsigned lack = shimLack(environ);

  ShimExecStart();
  shimStarts(lack);
  return lack;
}

SHIM int system(const char *command)
{
  unsigned lack = shimShell();
  int result = shimReal.system(command);

  if (result != -1 && command != NULL && lack != 0)
    CollectorSocketNote(RegionNoteSTART, "/bin/sh", lack, 0);
  return result;
}

SHIM FILE *popen(const char *command, const char *type)
{
  unsigned lack = shimShell();
  FILE *pipe = shimReal.popen(command, type);

  if (pipe != NULL && lack != 0)
    CollectorSocketNote(RegionNoteSTART, "/bin/sh", lack, 0);
  return pipe;
}

#define SHIM_SPAWN(name) \
  SHIM int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
                const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) \
  { \
    Bool told = shimTold(path); \
    unsigned lack = shimLack(envp); \
    pid_t child = 0, *childReturn = pid != NULL ? pid : &child; \
    int result; \
    shimStarts(lack); \
    result = shimReal.name(childReturn, path, actions, attributes, argv, envp); \
    if (told && result == 0) \
      CollectorSocketNote(RegionNoteSTART, path, lack, *childReturn); \
    return result; \
  }

SHIM_SPAWN(posix_spawn)
SHIM_SPAWN(posix_spawnp)
