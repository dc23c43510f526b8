/* rawsyscall.c -- the system's help, without the program noticing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/rawsyscall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text.h"
#include "plinth/forbid.h"

enum { quietPAGE = 4096 }; /* bytes of the smallest page: every mapping is so aligned */
enum { quietOVERFLOW = 65534 }; /* what the system calls a user that has no number in a user namespace */

/* Of the calls by this name the one that fills in what <sys/stat.h> has. */
#if defined(SYS_fstat64) && !defined(__LP64__)
#define quietSTAT SYS_fstat64
#else
#define quietSTAT SYS_fstat
#endif

extern char **environ;

static __thread Bool quietBarred __attribute__((tls_model("initial-exec")));

void QuietBar(void)
{
  quietBarred = TRUE;
}

void QuietUnbar(void)
{
  quietBarred = FALSE;
}

Bool QuietBarred(void)
{
  return quietBarred;
}

long QuietSystem(long number, long a, long b, long c, long d, long e, long f)
{
  int error = errno;
  long result;

  if (UNLIKELY(quietBarred) || (UNLIKELY(ForbidAny()) && ForbidCall(number, (const long[]){a, b, c, d, e, f})))
    return -EPERM;
  result = syscall(number, a, b, c, d, e, f);
  if (result == -1)
    result = -errno;
  errno = error;
  return result;
}

uint32_t QuietPid(void)
{
  return (uint32_t)QuietCall(SYS_getpid);
}

/* quietSpaceWhole -- has each user of the system a number here?  Else we are in a user namespace in which all others, and
 * perhaps we ourselves, are called quietOVERFLOW. */
static Bool quietSpaceWhole(void)
{
  static const char wanted[] = "004294967295"; /* the numbers from 0 on are those outside from 0 on, all of them */
  char room[64];
  long fd = QuietCall(SYS_openat, AT_FDCWD, "/proc/self/uid_map", O_RDONLY | O_CLOEXEC), size, i;
  Size n = 0;

  if (fd < 0)
    return TRUE; /* no such thing, or no /proc */
  size = QuietCall(SYS_read, fd, room, sizeof room);
  (void)QuietCall(SYS_close, fd);
  for (i = 0; i < size && room[i] != '\n'; ++i)
    if (room[i] != ' ' && (n == sizeof wanted - 1 || room[i] != wanted[n++]))
      return FALSE;
  return n == sizeof wanted - 1;
}

uint32_t QuietUser(void)
{
  uint32_t user = (uint32_t)QuietCall(SYS_geteuid);

  return user == quietOVERFLOW && !quietSpaceWhole() ? UINT32_MAX : user;
}

uint64_t QuietLimit(int resource)
{
  uint64_t limit[2] = {UINT64_MAX, UINT64_MAX}; /* now, and at most */

  return QuietCall(SYS_prlimit64, 0, resource, NULL, limit) == 0 ? limit[0] : UINT64_MAX;
}

long QuietStat(int fd, struct stat *status)
{
  return QuietCall(quietSTAT, fd, status);
}

/* quietHandle -- a digest of the handle by which a server of files would know it, which has the number's generation */
static uint64_t quietHandle(int fd)
{
  enum { most = 128 };
  struct {
    struct file_handle head;
    unsigned char bytes[most];
  } handle = {.head = {.handle_bytes = most}};
  const unsigned char *bytes = handle.head.f_handle;
  uint64_t digest = 0xcbf29ce484222325u;
  int mount;
  Index i;

  if (QuietCall(SYS_name_to_handle_at, fd, "", &handle, &mount, AT_EMPTY_PATH) != 0)
    return 0;
  for (i = 0; i < handle.head.handle_bytes && i < most; ++i)
    digest = (digest ^ bytes[i]) * 0x100000001b3u;
  return digest | (uint64_t)1 << 63; /* no file is born so late */
}

uint64_t QuietBirth(int fd)
{
  struct statx status;
  long res = QuietCall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &status);

  /* Who may not ask, but might before, is not to have something else instead. */
  if (res != 0)
    return res == -ENOSYS ? quietHandle(fd) : 0;
  if ((status.stx_mask & STATX_BTIME) == 0)
    return quietHandle(fd);
  return (uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

Size QuietPeek(void *room, const void *from, Size size)
{
  struct iovec to = {room, size}, its = {(void *)(Word)from, size};
  long n = QuietCall(SYS_process_vm_readv, QuietPid(), &to, 1, &its, 1, 0);

  return n > 0 ? (Size)n : 0;
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
  enum { flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
  Size more = align <= quietPAGE ? 0 : align;
  char *base = QuietMapAt(NULL, size + more, PROT_READ | PROT_WRITE, flags, -1);
  char *place = (char *)WordAlignUp(base, align);

  if (base == NULL || more == 0)
    return base;
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

/* quietWriteLimited -- write; the signal for a write past the limit is this thread's, and is taken before it arrives,
 * unless one has been waiting already */
static long quietWriteLimited(int fd, const void *bytes, Size size)
{
  const uint64_t limit = (uint64_t)1 << (SIGXFSZ - 1);
  uint64_t waiting = 0, mask = 0;
  long none[2] = {0, 0}, n;

  (void)QuietCall(SYS_rt_sigprocmask, SIG_BLOCK, &limit, &mask, sizeof limit);
  (void)QuietCall(SYS_rt_sigpending, &waiting, sizeof waiting);
  n = QuietCall(SYS_write, fd, bytes, size);
  if (n == -EFBIG && (waiting & limit) == 0)
    (void)QuietCall(SYS_rt_sigtimedwait, &limit, NULL, none, sizeof limit);
  (void)QuietCall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
  return n;
}

long QuietWrite(int fd, const void *bytes, Size size)
{
  if (QuietLimit(RLIMIT_FSIZE) == UINT64_MAX)
    return QuietCall(SYS_write, fd, bytes, size);
  return quietWriteLimited(fd, bytes, size);
}

static char quietProgram[QuietProgramMAX] LARGE;
static Bool quietProgramKnown;

const char *QuietProgram(void)
{
  char room[QuietProgramMAX];
  long length;

  if (!__atomic_load_n(&quietProgramKnown, __ATOMIC_ACQUIRE)) {
    length = QuietCall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", room, sizeof room - 1);
    memcpy(quietProgram, room, length > 0 ? (Size)length : 0); /* another thread would copy the same */
    __atomic_store_n(&quietProgramKnown, length > 0, __ATOMIC_RELEASE);
  }
  return quietProgram;
}

void QuietProgramTold(const char *path)
{
  if (path[0] == '\0' || strlen(path) >= sizeof quietProgram || __atomic_load_n(&quietProgramKnown, __ATOMIC_ACQUIRE))
    return;
  (void)strcpy(quietProgram, path);
  __atomic_store_n(&quietProgramKnown, TRUE, __ATOMIC_RELEASE);
}

const char *QuietProgramCalled(void)
{
  return __atomic_load_n(&quietProgramKnown, __ATOMIC_ACQUIRE) ? NULL : (const char *)getauxval(AT_EXECFN);
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

const char *QuietEnvironment(const char *name)
{
  static char early[65536] LARGE; /* touched only where libc is not ready */

  if (getauxval(AT_SECURE) != 0)
    return NULL;
  if (environ != NULL)
    return getenv(name);
  return quietFind(early, QuietReadFile("/proc/self/environ", early, sizeof early), name);
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

void QuietDumped(Bool named)
{
  enum { dumpedNAMELESS = 2, dumpedNAMED = 8, hex = 16 };
  static const char path[] = "/proc/self/coredump_filter";
  char room[32];
  Word filter = 0, wanted = named ? dumpedNAMED : dumpedNAMELESS;
  Size length = QuietReadFile(path, room, sizeof room - 1);
  TextStruct text;
  const char *at;
  long fd;

  room[length] = '\0';
  for (at = room; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); ++at)
    filter = filter * hex + (Word)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  if (at == room || (filter & wanted) != 0)
    return;
  TextInit(&text, room, sizeof room);
  TextHex(&text, filter | wanted);
  fd = QuietCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)QuietCall(SYS_write, fd, room, TextLength(&text));
  (void)QuietCall(SYS_close, fd);
}

const char *QuietErrno(int error)
{
  const char *words = strerrordesc_np(error);

  return words != NULL ? words : "unknown error";
}

/* Where messages go.  A program that began without a descriptor 2, or has closed it, may have a file of its own or a
 * socket there by now. */
static struct {
  Bool known, is; /* it was looked at, and was open */
  dev_t device;
  ino_t inode;
} quietVoice;

void QuietVoice(void)
{
  struct stat status;

  quietVoice.is = QuietStat(STDERR_FILENO, &status) == 0;
  if (quietVoice.is) {
    quietVoice.device = status.st_dev;
    quietVoice.inode = status.st_ino;
  }
  quietVoice.known = TRUE;
}

void QuietVoiceWrite(const char *bytes, Size size)
{
  struct stat status;

  if (!quietVoice.known)
    QuietVoice();
  if (quietVoice.is && QuietStat(STDERR_FILENO, &status) == 0 && status.st_dev == quietVoice.device &&
      status.st_ino == quietVoice.inode)
    (void)QuietWrite(STDERR_FILENO, bytes, size);
}

void QuietSay(const char *thing, const char *place, const char *reason)
{
  char room[1024];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextString(&text, "pawprint: ");
  TextString(&text, thing);
  TextString(&text, ": ");
  /* From outside: it is one line, which no terminal obeys, whatever stands in it. */
  if (place[0] != '\0') {
    TextPlain(&text, place, strlen(place));
    TextString(&text, ": ");
  }
  TextPlain(&text, reason, strlen(reason));
  /* The line ends, also where the text was cut. */
  if (TextRoom(&text) == 0)
    --text.next;
  TextChar(&text, '\n');
  QuietVoiceWrite(room, TextLength(&text));
}
