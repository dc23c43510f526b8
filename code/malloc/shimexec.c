/* shimexec.c -- exec and posix_spawn, wrapped: the collector is told which programs the family runs
 *
 * So that one that the library cannot be loaded into, and so says nothing itself, is named all the same, and whether the
 * environment that it is given has what the library needs.  What nobody would find behind it goes out before (ProcessLeaves).
 * Nothing else is done, and nothing that a child of vfork may not do.  libc's own execl calls its own execve, by a name that is not ours: so execl and its kin are made here of the
 * functions with a vector.  system and popen start a shell inside libc: nobody knows its number.
 *
 * Design: design/collector.md .family      Tests: test/collect/collect.t, test/monitor/absent.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
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

#include "emit/process.h"
#include "handover/collectorsocket.h"
#include "malloc/shimlookup.h"
#include "malloc/shimthread.h"

/* Of an environment so many entries are looked at, so many at a time, and so many bytes of a value; of the program's memory
 * so much is read at a time. */
enum { shimENVIRONMENT = 4096, shimENTRIES = 64, shimNAME = 20, shimVALUE = 4096, shimPAGE = 4096 };

/* The functions of libc behind the wrappers.  They are looked up before the first fork and before a second thread begins
 * (shimthread.h), at the latest: in a child of many threads the dynamic loader's lock may be held by nobody who lives.  Not
 * at the beginning: most programs execute no other one, and looking them up takes 5 microseconds. */
#define EXEC_FUNCTIONS(X) \
  X(execv) X(execvp) X(execvpe) X(posix_spawn) X(posix_spawnp) X(fexecve) X(execveat) X(system) X(popen)

static struct {
  __typeof__(execve) *execve;
#define X(name) __typeof__(name) *name;
  EXEC_FUNCTIONS(X)
#undef X
} shimReal;

void ShimExecStart(void)
{
  void *symbol;

  if (__atomic_load_n((void **)&shimReal.execve, __ATOMIC_ACQUIRE) != NULL)
    return;
#define X(name) *(void **)&shimReal.name = ShimSymbol(RTLD_NEXT, #name); /* execveat: NULL in older libcs */
  EXEC_FUNCTIONS(X)
#undef X
  symbol = ShimSymbol(RTLD_NEXT, "execve"); /* last: who sees it has all of them */
  __atomic_store_n((void **)&shimReal.execve, symbol, __ATOMIC_RELEASE);
}

/* What was read of the program's memory last.  The strings of an environment lie near each other, in any order: so it is
 * read by pages, and not by strings, which costs as much for each of them. */
typedef struct ShimSeenStruct {
  Word base;
  Size size; /* bytes that could be read; 0: nothing was */
  char bytes[shimPAGE];
} ShimSeenStruct, *ShimSeen;

/* shimSee -- what stands at `at`: shimNAME bytes of it, or fewer where the memory ends; how many are there */
static const char *shimSee(Size *lengthReturn, ShimSeen seen, const char *at)
{
  Word place = (Word)at;

  if (place < seen->base || place - seen->base + shimNAME > seen->size) {
    seen->base = place % shimPAGE + shimNAME <= shimPAGE ? place - place % shimPAGE : place;
    seen->size = RawPeek(seen->bytes, (const void *)seen->base, shimPAGE);
  }
  *lengthReturn = seen->size > place - seen->base ? seen->size - (place - seen->base) : 0;
  return seen->bytes + (place - seen->base);
}

/* shimHas -- is our library in the value of LD_PRELOAD? */
static Bool shimHas(const char *entry)
{
  char room[shimVALUE + 1];

  room[RawPeek(room, entry, shimVALUE)] = '\0';
  return strstr(room, "libpawprint.so") != NULL;
}

/* shimOurs -- does this entry name the collector that we have? */
static Bool shimOurs(const char *entry)
{
  char room[shimVALUE];

  return HandOurs(room, RawPeek(room, entry, sizeof room));
}

/* shimNothing -- is this value empty? */
static Bool shimNothing(const char *value)
{
  char first;

  return RawPeek(&first, value, 1) == 1 && first == '\0';
}

/* shimBegins -- does the entry begin so? */
static Bool shimBegins(ShimSeen seen, const char *entry, const char *name, Size length)
{
  Size there;
  const char *bytes = shimSee(&there, seen, entry);

  return there >= length && memcmp(bytes, name, length) == 0;
}

/* shimLack -- what of ours is missing in an environment; 0, too, where it cannot be read: then nobody knows */
static unsigned shimLack(char *const envp[])
{
  static const char preload[] = "LD_PRELOAD=", recording[] = RegionVARIABLE "=";
  unsigned lack = RegionLackLIBRARY | RegionLackRECORDING;
  char *entry[shimENTRIES];
  ShimSeenStruct seen;
  Index i, k;

  _Static_assert(sizeof recording - 1 <= shimNAME && sizeof preload - 1 <= shimNAME, "names fit");
  seen.base = seen.size = 0;
  for (i = 0; i < shimENVIRONMENT; i += k) {
    Size read = envp != NULL ? RawPeek(entry, envp + i, sizeof entry) / sizeof entry[0] : 0;
    if (envp != NULL && read == 0 && (read = RawPeek(entry, envp + i, sizeof entry[0]) / sizeof entry[0]) == 0)
      return 0;
    for (k = 0; k < read && entry[k] != NULL; ++k) {
      if (shimBegins(&seen, entry[k], recording, sizeof recording - 1) && !shimNothing(entry[k] + sizeof recording - 1))
        lack = (lack & ~(unsigned)RegionLackRECORDING) | (shimOurs(entry[k]) ? 0 : RegionLackCOLLECTOR);
      else if (shimBegins(&seen, entry[k], preload, sizeof preload - 1))
        lack = shimHas(entry[k]) ? lack & ~(unsigned)(RegionLackLIBRARY | RegionLackOTHERS)
                                 : lack | ((lack & RegionLackLIBRARY) != 0 ? RegionLackOTHERS : 0);
    }
    if (k < read || read == 0)
      return lack;
  }
  return 0;
}

/* shimTold -- is there anybody to be told of this path?
 *
 * The path is the program's, and may point nowhere: then the real function says so.  Whether it can be read we learn
 * from a call that only asks; and whether there is anything to be told of. */
static Bool shimTold(const char *path)
{
  long res;

  ShimExecStart();
  if (!HandListened())
    return FALSE;
  res = RawCall(SYS_faccessat, AT_FDCWD, path, F_OK);
  /* EPERM: it may not be asked. */
  return res == 0 || (res != -EFAULT && res != -ENAMETOOLONG && res != -EPERM && strchr(path, '/') == NULL);
}

/* shimForeign -- will the program that is given this environment take nothing over? */
static Bool shimForeign(char *const envp[])
{
  return (shimLack(envp) & (RegionLackLIBRARY | RegionLackRECORDING)) != 0;
}

/* shimLeaves -- exec is about to be tried: what nobody would find behind it goes out, if there is a program to become
 * path  as the kernel is given it, from `folder`; NULL: it is going to be looked for, or is open */
static void shimLeaves(int folder, const char *path, char *const envp[])
{
  ProcessLeave leave = ProcessLeaves();
  Bool leaves = leave == ProcessLeaveALL || (leave == ProcessLeaveFOREIGN && shimForeign(envp));
  long res = !leaves || path == NULL ? 0 : RawCall(SYS_faccessat, folder, path, X_OK);

  if (leaves && (res == 0 || res == -EPERM))
    ProcessEnd();
}

/* shimStarts -- a program is about to be started inside libc: it may have to be left what it cannot ask for */
static void shimStarts(unsigned lack)
{
  Process process = ProcessIfReady();
  RegionHeader region = process != NULL ? ProcessRegion(process) : NULL;

  HandStarts(lack, region != NULL && RegionCollected(region));
}

/* shimNote -- tell of a program, once all is looked up; returns whether there was anything to be told */
static Bool shimNote(const char *path, char *const envp[])
{
  Bool told = shimTold(path);

  if (told)
    HandNote(RegionNoteEXEC, path, shimLack(envp), 0);
  ProcessEnding(TRUE);
  return told;
}

/* shimStays -- exec has failed; returns what it did */
static int shimStays(Bool told, const char *path, int result)
{
  int error = errno;

  ProcessEnding(FALSE);
  if (told)
    HandNote(RegionNoteSTAYS, path, 0, 0);
  errno = error;
  return result;
}

/* shimStarted -- the same of posix_spawn, which gives back an error's number */
static int shimStarted(Bool told, const char *path, unsigned lack, const pid_t *pid, int result)
{
  if (told && result == 0)
    HandNote(RegionNoteSTART, path, lack, *pid);
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

/* shimOpened -- the path of an open file into `path`; "" if it has none */
static void shimOpened(char path[PATH_MAX], int fd)
{
  char link[32];
  long length;

  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = RawCall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  path[length > 0 && path[0] == '/' ? length : 0] = '\0';
}

/* shimNoteOpened -- tell of a program that is an open file, or stands in a folder that is one; returns whether there was
 * anything to be told.  A file may have no name any more, or never had one: it is told as the system calls it. */
static Bool shimNoteOpened(int fd, const char *path, char *const envp[])
{
  char whole[2 * PATH_MAX], name[PATH_MAX];
  Size length = path != NULL ? RawPeek(name, path, sizeof name - 1) : 0;

  name[length] = '\0';
  ShimExecStart();
  if (!HandListened() || (path != NULL && (length == 0 || strlen(name) == length)))
    return FALSE; /* there is no path, or it has no end */
  if (name[0] == '/')
    return shimNote(name, envp);
  shimOpened(whole, fd);
  if (whole[0] == '\0')
    return FALSE;
  if (name[0] != '\0')
    (void)strcat(strcat(whole, "/"), name);
  HandNote(RegionNoteEXEC, whole, shimLack(envp), 0);
  ProcessEnding(TRUE);
  return TRUE;
}

SHIM int fexecve(int fd, char *const argv[], char *const envp[])
{
  Bool told = shimNoteOpened(fd, NULL, envp);

  shimLeaves(AT_FDCWD, NULL, envp);
  return shimStays(told, "", shimReal.fexecve(fd, argv, envp));
}

SHIM int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
  Bool told = folder == AT_FDCWD ? shimNote(path, envp) : shimNoteOpened(folder, path, envp);

  ShimExecStart();
  shimLeaves(folder, (flags & AT_EMPTY_PATH) != 0 ? NULL : path, envp);
  if (shimReal.execveat == NULL)
    return shimStays(told, "", (int)syscall(SYS_execveat, folder, path, argv, envp, flags));
  return shimStays(told, "", shimReal.execveat(folder, path, argv, envp, flags));
}

/* shimShell -- libc has started a shell, and only that its environment lacks something is worth telling: otherwise it
 * comes by itself */
static void shimShell(unsigned lack)
{
  int error = errno;

  if (lack != 0)
    HandNote(RegionNoteSTART, "/bin/sh", lack, 0);
  errno = error;
}

SHIM int system(const char *command)
{
  unsigned lack = command != NULL ? shimLack(environ) : 0;
  int result;

  ShimExecStart();
  shimStarts(lack);
  result = shimReal.system(command);
  if (result != -1)
    shimShell(lack);
  return result;
}

SHIM FILE *popen(const char *command, const char *type)
{
  unsigned lack = shimLack(environ);
  FILE *pipe;

  ShimExecStart();
  shimStarts(lack);
  pipe = shimReal.popen(command, type);
  if (pipe != NULL)
    shimShell(lack);
  return pipe;
}

#define SHIM_SPAWN(name) \
  SHIM int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
                const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) \
  { \
    Bool told = shimTold(path); \
    unsigned lack = told ? shimLack(envp) : 0; \
    pid_t child = 0, *childReturn = pid != NULL ? pid : &child; \
    shimStarts(lack); \
    return shimStarted(told, path, lack, childReturn, \
                       shimReal.name(childReturn, path, actions, attributes, argv, envp)); \
  }

SHIM_SPAWN(posix_spawn)
SHIM_SPAWN(posix_spawnp)
