/* rawprocess.c -- what the process is, as the system tells it in files: its user, its program, its environment
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/rawsyscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "plinth/lent.h"

extern char **environ;

enum { rawOVERFLOW = 65534 }; /* the number that the system gives a user without one in a user namespace */

Size RawReadFile(const char *path, char *room, Size size)
{
  Size done = 0;
  long n, fd = LentCall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return 0;
  while (done < size && ((n = RawCall(SYS_read, fd, room + done, size - done)) > 0 || n == -EINTR))
    done += n > 0 ? (Size)n : 0;
  LentClose(fd);
  return done;
}

/* rawSpaceWhole -- has each user of the system a number here?  Else we are in a user namespace in which all others, and
 * perhaps we ourselves, are called rawOVERFLOW. */
static Bool rawSpaceWhole(void)
{
  static const char wanted[] = "004294967295"; /* the numbers from 0 on are those outside from 0 on, all of them */
  char room[64];
  long fd = LentCall(SYS_openat, AT_FDCWD, "/proc/self/uid_map", O_RDONLY | O_CLOEXEC), size, i;
  Size n = 0;

  if (fd < 0)
    return TRUE; /* no such thing, or no /proc */
  size = RawCall(SYS_read, fd, room, sizeof room);
  LentClose(fd);
  for (i = 0; i < size && room[i] != '\n'; ++i)
    if (room[i] != ' ' && (n == sizeof wanted - 1 || room[i] != wanted[n++]))
      return FALSE;
  return n == sizeof wanted - 1;
}

uint32_t RawUser(void)
{
  uint32_t user = (uint32_t)RawCall(SYS_geteuid);

  return user == rawOVERFLOW && !rawSpaceWhole() ? UINT32_MAX : user;
}

static char rawProgram[RawProgramMAX] LARGE;
static Bool rawProgramKnown;

const char *RawProgram(void)
{
  char room[RawProgramMAX];
  long length;

  if (!__atomic_load_n(&rawProgramKnown, __ATOMIC_ACQUIRE)) {
    length = RawCall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", room, sizeof room - 1);
    memcpy(rawProgram, room, length > 0 ? (Size)length : 0); /* another thread would copy the same */
    __atomic_store_n(&rawProgramKnown, length > 0, __ATOMIC_RELEASE);
  }
  return rawProgram;
}

void RawProgramTold(const char *path)
{
  if (path[0] == '\0' || strlen(path) >= sizeof rawProgram || __atomic_load_n(&rawProgramKnown, __ATOMIC_ACQUIRE))
    return;
  (void)strcpy(rawProgram, path);
  __atomic_store_n(&rawProgramKnown, TRUE, __ATOMIC_RELEASE);
}

const char *RawProgramCalled(void)
{
  return __atomic_load_n(&rawProgramKnown, __ATOMIC_ACQUIRE) ? NULL : (const char *)getauxval(AT_EXECFN);
}

/* rawFind -- NAME=value in `size` bytes of NUL-terminated strings */
static const char *rawFind(const char *strings, Size size, const char *name)
{
  Size length = strlen(name);
  const char *at = strings, *limit = strings + size;

  while (at < limit) {
    const char *end = memchr(at, '\0', (Size)(limit - at));
    if (end == NULL)
      return NULL;
    if ((Size)(end - at) > length && memcmp(at, name, length) == 0 && at[length] == '=')
      return at + length + 1;
    at = end + 1;
  }
  return NULL;
}

const char *RawEnvironment(const char *name)
{
  static char early[65536] LARGE; /* touched only where libc is not ready */

  if (getauxval(AT_SECURE) != 0)
    return NULL;
  if (environ != NULL)
    return getenv(name);
  return rawFind(early, RawReadFile("/proc/self/environ", early, sizeof early), name);
}

Res RawAbsolute(Text text, const char *path)
{
  long length;

  if (path[0] != '/') {
    length = RawCall(SYS_getcwd, text->next, TextRoom(text));
    if (length <= 1)
      return length == -ERANGE ? ResLIMIT : ResIO;
    text->next += length - 1;
    if (length > 2)
      TextChar(text, '/');
  }
  TextString(text, path);
  (void)TextTerminate(text);
  return text->overflow ? ResLIMIT : ResOK;
}

void RawDumped(Bool named)
{
  enum { dumpedNAMELESS = 2, dumpedNAMED = 8 };
  static const char path[] = "/proc/self/coredump_filter";
  char room[32];
  uint64_t filter, wanted = named ? dumpedNAMED : dumpedNAMELESS;
  Size length = RawReadFile(path, room, sizeof room - 1);
  const char *at = room;
  long fd;

  room[length] = '\0';
  filter = TextNumber(&at, 16);
  if (at == room || (filter & wanted) != 0)
    return;
  (void)TextMake(room, sizeof room, "%#jx", filter | wanted);
  fd = LentCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)RawCall(SYS_write, fd, room, strlen(room));
  LentClose(fd);
}
