/* quiet.c -- the system's help, without the program noticing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/quiet.h"

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

long QuietSystem(long number, long a, long b, long c, long d, long e, long f)
{
  int error = errno;
  long result = syscall(number, a, b, c, d, e, f);

  if (result == -1)
    result = -errno;
  errno = error;
  return result;
}

void *QuietMapFrom(void *place, Size size, int protection, int flags, int fd, long offset)
{
#if defined(SYS_mmap2)
  long result = QuietCall(SYS_mmap2, place, size, protection, flags, fd, offset / 4096);
#else
  long result = QuietCall(SYS_mmap, place, size, protection, flags, fd, offset);
#endif

  /* Addresses may be negative as a long on 32-bit machines; errors are the last page's. */
  return (unsigned long)result >= (unsigned long)-4095L ? NULL : (void *)result;
}

void *QuietMapAt(void *place, Size size, int protection, int flags, int fd)
{
  return QuietMapFrom(place, size, protection, flags, fd, 0);
}

void QuietBegin(QuietMask mask)
{
  uint64_t all = UINT64_MAX;

  mask->bits = 0;
  (void)QuietCall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask->bits, sizeof all);
}

void QuietEnd(QuietMask mask)
{
  (void)QuietCall(SYS_rt_sigprocmask, SIG_SETMASK, &mask->bits, 0, sizeof mask->bits);
}

void *QuietMap(Size size, Size align)
{
  char *base = QuietMapAt(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  char *place = (char *)WordAlignUp(base, align);

  if (base == NULL)
    return NULL;
  if (place > base)
    (void)QuietCall(SYS_munmap, base, place - base);
  (void)QuietCall(SYS_munmap, place + size, align - (Size)(place - base));
  return place;
}

void QuietUnmap(void *base, Size size)
{
  (void)QuietCall(SYS_munmap, base, size);
}

Size QuietReadFile(const char *path, char *room, Size size)
{
  Size done = 0;
  long n, fd = QuietCall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return 0;
  while (done < size && ((n = QuietCall(SYS_read, fd, room + done, size - done)) > 0 || n == -EINTR))
    done += n > 0 ? (Size)n : 0;
  (void)QuietCall(SYS_close, fd);
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

Res QuietAbsolute(Text text, const char *path)
{
  long length;

  if (path[0] != '/') {
    length = QuietCall(SYS_getcwd, text->next, TextRoom(text));
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
    /* From outside: it is one line, whatever stands in it. */
    for (; *place != '\0'; ++place)
      TextChar(&text, (unsigned char)*place < ' ' ? '?' : *place);
    TextString(&text, ": ");
  }
  TextString(&text, reason);
  /* The line ends, also where the text was cut. */
  if (TextRoom(&text) == 0)
    --text.next;
  TextChar(&text, '\n');
  (void)QuietCall(SYS_write, 2, room, TextLength(&text));
}
