/* quiet.c -- the system's help, without the program noticing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

extern char **environ;

/* The system calls directly: libc's functions would keep its own two signals out of the set, be cancellation points, or change
 * errno. */
static long quietCall(long number, long a, long b, long c, long d)
{
  int error = errno;
  long result = syscall(number, a, b, c, d);

  if (result == -1)
    result = -errno;
  errno = error;
  return result;
}

void QuietBegin(QuietMask mask)
{
  uint64_t all = UINT64_MAX;

  mask->bits = 0;
  (void)quietCall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask->bits, sizeof all);
}

void QuietEnd(QuietMask mask)
{
  (void)quietCall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask->bits, 0, sizeof mask->bits);
}

void *QuietMap(Size size, Size align)
{
  int error = errno;
  char *base = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char *place;

  if (base == MAP_FAILED) {
    errno = error;
    return NULL;
  }
  place = (char *)WordAlignUp(base, align);
  if (place > base)
    (void)munmap(base, (Size)(place - base));
  (void)munmap(place + size, align - (Size)(place - base));
  errno = error;
  return place;
}

Size QuietReadFile(const char *path, char *room, Size size)
{
  Size done = 0;
  long fd = quietCall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);

  if (fd < 0)
    return 0;
  while (done < size) {
    long n = quietCall(SYS_read, fd, (long)(room + done), (long)(size - done), 0);
    if (n == -EINTR)
      continue;
    if (n <= 0)
      break;
    done += (Size)n;
  }
  (void)quietCall(SYS_close, fd, 0, 0, 0);
  return done;
}

/* quietFind -- NAME=value in `size` bytes of NUL-terminated strings */
static const char *quietFind(const char *strings, Size size, const char *name)
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

const char *QuietEnvironment(const char *name, char *room, Size size)
{
  static char early[65536]; /* touched only where libc is not ready */
  const char *value;

  if (getauxval(AT_SECURE) != 0)
    return NULL;
  if (environ != NULL)
    return getenv(name);
  value = quietFind(early, QuietReadFile("/proc/self/environ", early, sizeof early), name);
  if (value == NULL || strlen(value) >= size)
    return NULL;
  return strcpy(room, value);
}

const char *QuietErrno(int error)
{
  const char *words = strerrordesc_np(error);

  return words != NULL ? words : "unknown error";
}

void QuietSay(const char *thing, const char *place, const char *reason)
{
  char room[1024];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, "pawprint: ");
  TextString(&text, thing);
  TextString(&text, ": ");
  if (place[0] != '\0') {
    TextString(&text, place);
    TextString(&text, ": ");
  }
  TextString(&text, reason);
  /* The line ends, also where the text was cut. */
  if (TextRoom(&text) == 0)
    --text.next;
  TextChar(&text, '\n');
  (void)quietCall(SYS_write, 2, (long)room, (long)TextLength(&text), 0);
}
