/* statesystem.c -- what the system knows of the process: its threads and the files it has mapped
 *
 * All from /proc: the dynamic loader and libc have locks, which whoever was interrupted may hold.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "emit/event.h"
#include "plinth/quiet.h"

#if defined(EventThreadStartCODE) /* a registry of somebody else's may have none of these */

enum { systemROOM = 4096, systemLINE = 8192 };

/* As getdents64 gives them. */
typedef struct systemEntryStruct {
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
  char name[];
} systemEntryStruct;

/* systemThread -- tell of the thread that /proc/self/task calls `number` */
static void systemThread(const char *number)
{
  char path[64], name[32];
  TextStruct text;
  unsigned thread = 0;
  Size length;

  for (length = 0; number[length] >= '0' && number[length] <= '9'; ++length)
    thread = thread * 10 + (unsigned)(number[length] - '0');
  if (length == 0)
    return;
  TextInit(&text, path, sizeof path);
  TextString(&text, "/proc/self/task/");
  TextBytes(&text, number, length);
  TextString(&text, "/comm");
  length = QuietReadFile(TextTerminate(&text), name, sizeof name - 1);
  while (length > 0 && name[length - 1] == '\n')
    --length;
  name[length] = '\0';
  EVENT_UPAS(ThreadStart, thread, (void *)NULL, (Addr)NULL, name);
}

void StateThreads(void)
{
  static char room[systemROOM] __attribute__((aligned(8))) LARGE;
  long fd, n, at;

  if (!EVENT_WANTED(EventKindSystem))
    return;
  fd = QuietCall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (fd >= 0 && (n = QuietCall(SYS_getdents64, fd, room, sizeof room)) > 0)
    for (at = 0; at < n;) {
      const systemEntryStruct *entry = (const void *)(room + at);
      systemThread(entry->name);
      at += entry->size;
    }
  if (fd >= 0)
    (void)QuietCall(SYS_close, fd);
}

/* The file that the lines of /proc/self/maps are about. */
typedef struct systemModuleStruct {
  Word base, limit;
  Bool runs;               /* some of it may be executed */
  char path[systemROOM];
} systemModuleStruct, *systemModule;

/* systemModuleTell -- tell of it, if it is one */
static void systemModuleTell(systemModule module)
{
  if (module->path[0] != '\0' && module->runs)
    EVENT_AWS(ModuleLoad, (Addr)module->base, module->limit - module->base, module->path);
  module->path[0] = '\0';
}

/* systemHex -- a number in hex; *at goes behind it */
static Word systemHex(const char **at)
{
  Word word = 0;

  for (;; ++*at) {
    unsigned digit = **at >= '0' && **at <= '9' ? (unsigned)(**at - '0') :
                     **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : 16;
    if (digit == 16)
      return word;
    word = word << 4 | digit;
  }
}

/* systemLine -- one line, terminated: START-END PERMISSIONS OFFSET DEVICE INODE PATH */
static void systemLine(systemModule module, const char *line)
{
  const char *path = strchr(line, '/');
  Word start = systemHex(&line), limit, offset;
  Bool runs;

  line += *line == '-';
  limit = systemHex(&line);
  if (path == NULL || strlen(line) < 6 || strlen(path) >= sizeof module->path)
    return;
  runs = line[3] == 'x';
  line += 6;
  offset = systemHex(&line);
  if (strcmp(path, module->path) != 0) {
    systemModuleTell(module);
    strcpy(module->path, path);
    module->base = start - offset;
    module->runs = FALSE;
  }
  module->limit = limit;
  module->runs |= runs;
}

/* systemLines -- whole lines of `size` bytes at `room`; returns how many bytes they were */
static Size systemLines(systemModule module, char *room, Size size)
{
  char *line = room, *end;

  while ((end = memchr(line, '\n', (Size)(room + size - line))) != NULL) {
    *end = '\0';
    systemLine(module, line);
    line = end + 1;
  }
  return (Size)(line - room);
}

void StateModules(void)
{
  /* On no stack, which may be small; one tells at a time. */
  static struct {
    unsigned busy; /* the process in which somebody does: in a child of fork nobody does who did in its parent */
    systemModuleStruct module;
    char room[systemLINE];
  } maps LARGE;
  unsigned self = (unsigned)QuietCall(SYS_getpid);
  Size had = 0;
  long fd, n;

  if (!EVENT_WANTED(EventKindSystem) || __atomic_exchange_n(&maps.busy, self, __ATOMIC_ACQUIRE) == self)
    return;
  maps.module.path[0] = '\0';
  fd = QuietCall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && had < sizeof maps.room &&
         (n = QuietCall(SYS_read, fd, maps.room + had, sizeof maps.room - had)) > 0) {
    Size used = systemLines(&maps.module, maps.room, had + (Size)n);
    had += (Size)n - used;
    memmove(maps.room, maps.room + used, had);
  }
  systemModuleTell(&maps.module);
  if (fd >= 0)
    (void)QuietCall(SYS_close, fd);
  __atomic_store_n(&maps.busy, 0, __ATOMIC_RELEASE);
}

#else

void StateThreads(void)
{
}

void StateModules(void)
{
}

#endif
