/* rawsyscall.c -- system calls that the program does not notice: they leave errno alone and allocate nothing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/rawsyscall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "plinth/seccomp.h"

enum { rawNAP = 50000, rawNAPS = 2000 }; /* ns that a locked lock is waited for at a time, and how often */

/* libc's: no thread but this one has ever been created.  Old libraries do not have it. */
extern char __libc_single_threaded __attribute__((weak));

Bool RawAlone(void)
{
  return &__libc_single_threaded != NULL && __libc_single_threaded;
}

/* Of the calls by this name the one that fills in what <sys/stat.h> has. */
#if defined(SYS_fstat64) && !defined(__LP64__)
#define rawSTAT SYS_fstat64
#else
#define rawSTAT SYS_fstat
#endif

static __thread Bool rawBarred __attribute__((tls_model("initial-exec")));

void RawBar(void)
{
  rawBarred = TRUE;
}

void RawUnbar(void)
{
  rawBarred = FALSE;
}

Bool RawBarred(void)
{
  return rawBarred;
}

long RawSystem(long number, long a, long b, long c, long d, long e, long f)
{
  int error = errno;
  long result;

  if (UNLIKELY(rawBarred) || (UNLIKELY(ForbidAny()) && ForbidCall(number, (const long[]){a, b, c, d, e, f})))
    return -EPERM;
  result = syscall(number, a, b, c, d, e, f);
  if (result == -1)
    result = -errno;
  errno = error;
  return result;
}

uint32_t RawPid(void)
{
  return (uint32_t)RawCall(SYS_getpid);
}

uint64_t RawLimit(int resource)
{
  uint64_t limit[2] = {UINT64_MAX, UINT64_MAX}; /* now, and at most */

  return RawCall(SYS_prlimit64, 0, resource, NULL, limit) == 0 ? limit[0] : UINT64_MAX;
}

Bool RawLimitRaise(int resource)
{
  uint64_t limit[2]; /* now, and at most */

  if (RawCall(SYS_prlimit64, 0, resource, NULL, limit) != 0 || limit[0] >= limit[1])
    return FALSE;
  limit[0] = limit[1];
  return RawCall(SYS_prlimit64, 0, resource, limit, NULL) == 0;
}

long RawStat(int fd, struct stat *status)
{
  return RawCall(rawSTAT, fd, status);
}

/* rawHandle -- a digest of the handle by which a server of files would know it, which has the number's generation */
static uint64_t rawHandle(int fd)
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

  if (RawCall(SYS_name_to_handle_at, fd, "", &handle, &mount, AT_EMPTY_PATH) != 0)
    return 0;
  for (i = 0; i < handle.head.handle_bytes && i < most; ++i)
    digest = (digest ^ bytes[i]) * 0x100000001b3u;
  return digest | (uint64_t)1 << 63; /* no file is born so late */
}

uint64_t RawBirth(int fd)
{
  struct statx status;
  long res = RawCall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &status);

  /* If the call is forbidden now, but may have been allowed before, the digest would not be the same as the time. */
  if (res != 0)
    return res == -ENOSYS ? rawHandle(fd) : 0;
  if ((status.stx_mask & STATX_BTIME) == 0)
    return rawHandle(fd);
  return (uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}

Size RawPeek(void *room, const void *from, Size size)
{
  struct iovec to = {room, size}, its = {(void *)(Word)from, size};
  long n = RawCall(SYS_process_vm_readv, RawPid(), &to, 1, &its, 1, 0);

  return n > 0 ? (Size)n : 0;
}

void *RawMapFrom(void *place, Size size, int protection, int flags, int fd, long offset)
{
#if defined(SYS_mmap2)
  long result = RawCall(SYS_mmap2, place, size, protection, flags, fd, offset / 4096);
#else
  long result = RawCall(SYS_mmap, place, size, protection, flags, fd, offset);
#endif

  /* Addresses may be negative as a long on 32-bit machines; errors are the last page's. */
  return (unsigned long)result >= (unsigned long)-4095L ? NULL : (void *)result;
}

#define rawBIT(signal) ((uint64_t)1 << ((signal) - 1))

enum { rawDEPTH = 2048 }; /* bytes of the stack that what is done between RawBegin and RawEnd needs, as a rule */

/* rawTouch -- is there so much of the stack?  If not the program has its SIGSEGV now, and not in the midst of a change:
 * its handler may be on another stack, and jump away.  Nothing is written: a small stack, of a coroutine or a signal
 * handler, may have other memory of the program below it. */
static __attribute__((noinline, no_sanitize("address"))) void rawTouch(void)
{
  (void)*(const volatile char *)((Word)__builtin_frame_address(0) - rawDEPTH);
}

void RawBegin(RawMask mask)
{
  /* Not signals that a thread causes by what it does: the kernel ends a program that blocks the one that it causes. */
  uint64_t all = ~(rawBIT(SIGSEGV) | rawBIT(SIGBUS) | rawBIT(SIGFPE) | rawBIT(SIGILL) | rawBIT(SIGTRAP) | rawBIT(SIGSYS));

  rawTouch();
  mask->bits = 0;
  mask->error = errno;
  (void)RawCall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask->bits, sizeof all);
}

void RawEnd(RawMask mask)
{
  (void)RawCall(SYS_rt_sigprocmask, SIG_SETMASK, &mask->bits, 0, sizeof mask->bits);
  errno = mask->error;
}

void RawNap(long ns)
{
  long time[2] = {0, ns};

  (void)RawCall(SYS_nanosleep, time, NULL);
}

Bool RawLock(unsigned *lock, Bool copied)
{
  unsigned self = RawPid(), owner = 0, naps = 0;

  while (!__atomic_compare_exchange_n(lock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    if (owner == self || !copied) {
      owner = 0;
      if (naps++ == rawNAPS)
        return FALSE;
      RawNap(rawNAP);
    }
  return TRUE;
}

void RawUnlock(unsigned *lock)
{
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

uint64_t RawRandom(void)
{
  uint64_t random = 0;
  struct timespec now = {0, 0};

  if (RawCall(SYS_getrandom, &random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    (void)RawCall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    random = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15u + RawPid();
  }
  return random | 1;
}

/* rawOrder -- who is given a mapping comes after those who gave theirs back, perhaps at the same place.  The system
 * itself keeps that order; the thread sanitizer, which does not see system calls that are not libc's, has to be told.
 */
static void rawOrder(void)
{
#if defined(__SANITIZE_THREAD__)
  static Count given;
  (void)__atomic_fetch_add(&given, 1, __ATOMIC_ACQ_REL);
#endif
}

void *RawMap(Size size, Size align)
{
  enum { flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
  Size more = align <= RawPAGE ? 0 : align;
  char *base = RawMapAt(NULL, size + more, PROT_READ | PROT_WRITE, flags, -1);
  char *place = (char *)WordAlignUp(base, align);

  AVER(size > 0 && WordIsPowerOf2(align));
  rawOrder();
  if (base == NULL || more == 0)
    return base;
  if (place > base)
    (void)RawCall(SYS_munmap, base, place - base);
  (void)RawCall(SYS_munmap, place + size, align - (Size)(place - base));
  return place;
}

void RawUnmap(void *base, Size size)
{
  rawOrder();
  (void)RawCall(SYS_munmap, base, size);
}

/* rawWriteLimited -- write; the signal for a write past the limit is this thread's, and is taken before it arrives,
 * unless one has been waiting already */
static long rawWriteLimited(int fd, const void *bytes, Size size)
{
  const uint64_t limit = (uint64_t)1 << (SIGXFSZ - 1);
  uint64_t waiting = 0, mask = 0;
  long none[2] = {0, 0}, n;

  (void)RawCall(SYS_rt_sigprocmask, SIG_BLOCK, &limit, &mask, sizeof limit);
  (void)RawCall(SYS_rt_sigpending, &waiting, sizeof waiting);
  n = RawCall(SYS_write, fd, bytes, size);
  if (n == -EFBIG && (waiting & limit) == 0)
    (void)RawCall(SYS_rt_sigtimedwait, &limit, NULL, none, sizeof limit);
  (void)RawCall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
  return n;
}

long RawWrite(int fd, const void *bytes, Size size)
{
  if (RawLimit(RLIMIT_FSIZE) == UINT64_MAX)
    return RawCall(SYS_write, fd, bytes, size);
  return rawWriteLimited(fd, bytes, size);
}

const char *RawErrno(int error)
{
  const char *words = strerrordesc_np(error);

  return words != NULL ? words : "unknown error";
}

/* The file to which messages go.  A program that began without a descriptor 2, or has closed it, may have a file of
 * its own or a socket under that number by now. */
static struct {
  Bool known, is; /* it was looked at, and was open */
  dev_t device;
  ino_t inode;
} rawVoice;

void RawVoice(void)
{
  struct stat status;

  rawVoice.is = RawStat(STDERR_FILENO, &status) == 0;
  if (rawVoice.is) {
    rawVoice.device = status.st_dev;
    rawVoice.inode = status.st_ino;
  }
  rawVoice.known = TRUE;
}

/* rawVoiceWrite -- write to that file, if descriptor 2 still leads to it */
static void rawVoiceWrite(const char *bytes, Size size)
{
  struct stat status;

  if (!rawVoice.known)
    RawVoice();
  if (rawVoice.is && RawStat(STDERR_FILENO, &status) == 0 && status.st_dev == rawVoice.device &&
      status.st_ino == rawVoice.inode)
    (void)RawWrite(STDERR_FILENO, bytes, size);
}

void RawSay(const char *thing, const char *place, const char *reason)
{
  char room[1024];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  TextFormat(&text, "pawprint: %s: ", thing);
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
  rawVoiceWrite(room, TextLength(&text));
}
