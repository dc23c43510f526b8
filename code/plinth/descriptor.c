/* descriptor.c -- keeps the library's descriptors open in a program that may close, or reuse, any number
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"
#include "plinth/seccomp.h"

enum {
  descriptorPlinthsMAX = 16, /* plinths whose descriptors are moved out of the program's way; those of more are only
                                checked before each use */
  descriptorNap = 50000,     /* ns between two looks whether a thread still uses a descriptor; and how many looks */
  descriptorNaps = 20000
};

int DescriptorLowest = INT_MAX;

static Plinth descriptorPlinths[descriptorPlinthsMAX];
static uint32_t descriptorPid; /* the process whose numbers are in them */

/* Threads that check a descriptor and use it are counted, in one of two counts by turns: after a move the turn
 * changes, and when the old count is 0 no thread has the old number. */
static unsigned descriptorTurn, descriptorUsers[2];

static Size descriptorLimit(void)
{
  uint64_t limit = RawLimit(RLIMIT_NOFILE);

  return limit > DescriptorTOP ? DescriptorTOP : (Size)limit;
}

Bool DescriptorIsApart(void)
{
  return LentApart;
}

Bool DescriptorMay(void)
{
  return !LentApart && descriptorLimit() >= DescriptorFEW && (descriptorPid == 0 || descriptorPid == RawPid());
}

/* descriptorHigh -- the same file under a higher number; minus an errno: there is none */
static long descriptorHigh(int fd)
{
  long high = -EMFILE;
  Size from = descriptorLimit();

  for (from = from > DescriptorROOM ? from - DescriptorROOM : 0; high < 0 && from > (Size)STDERR_FILENO; from /= 2)
    high = RawCall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from);
  return high;
}

static int descriptorOf(Plinth plinth)
{
  return __atomic_load_n(&plinth->fd, __ATOMIC_SEQ_CST);
}

/* descriptorShow -- enter the plinth's descriptor where the wrappers of close and its kin look */
static void descriptorShow(Plinth plinth, int fd)
{
  int lowest = __atomic_load_n(&DescriptorLowest, __ATOMIC_RELAXED);
  Index i;

  if (descriptorPid == 0)
    descriptorPid = RawPid();
  for (i = 0; i < descriptorPlinthsMAX && descriptorPlinths[i] != plinth; ++i)
    ;
  for (i = i < descriptorPlinthsMAX ? i : 0; i < descriptorPlinthsMAX; ++i) {
    Plinth none = NULL;
    if (__atomic_compare_exchange_n(&descriptorPlinths[i], &none, plinth, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        none == plinth)
      break;
  }
  while (fd < lowest && !__atomic_compare_exchange_n(&DescriptorLowest, &lowest, fd, FALSE, __ATOMIC_RELEASE,
                                                     __ATOMIC_RELAXED))
    ;
}

/* descriptorHide -- take the plinth's descriptor out again */
static void descriptorHide(Plinth plinth)
{
  Index i;

  for (i = 0; i < descriptorPlinthsMAX; ++i)
    if (descriptorPlinths[i] == plinth)
      __atomic_store_n(&descriptorPlinths[i], NULL, __ATOMIC_RELEASE);
}

Res DescriptorNote(Plinth plinth, int fd)
{
  struct stat status;

  if (RawStat(fd, &status) != 0)
    return ResIO;
  plinth->device = status.st_dev;
  plinth->inode = status.st_ino;
  plinth->birth = S_ISREG(status.st_mode) ? RawBirth(fd) : 0;
  return ResOK;
}

Bool DescriptorSame(Plinth plinth, int fd, struct stat *status, Bool held)
{
  uint64_t birth;

  if (RawStat(fd, status) != 0 || status->st_dev != plinth->device || status->st_ino != plinth->inode)
    return FALSE;
  birth = plinth->birth != 0 ? RawBirth(fd) : 0;
  return birth == 0 ? held : birth == plinth->birth;
}

Res DescriptorAgain(Plinth plinth, int fd)
{
  int before = descriptorOf(plinth), now = fd;
  struct stat status;
  Bool same;
  long high;

  LentBegin();
  high = LentApart ? -EMFILE : descriptorHigh(fd);
  if (high >= 0)
    now = (int)high;
  same = DescriptorSame(plinth, now, &status, TRUE);
  if (same) {
    if (high >= 0)
      LentClose(fd);
    else
      LentKeep(fd);
    descriptorShow(plinth, now);
  }
  /* Another thread may have noticed that the program closed ours, and opened the file again. */
  if (same ? !__atomic_compare_exchange_n(&plinth->fd, &before, now, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
           : high >= 0)
    (void)RawCall(SYS_close, now);
  LentEnd();
  return same ? ResOK : ResIO;
}

Res DescriptorTake(Plinth plinth, int fd)
{
  AVER(fd >= 0);
  return DescriptorNote(plinth, fd) == ResOK ? DescriptorAgain(plinth, fd) : ResIO;
}

void DescriptorPass(Plinth to, Plinth from)
{
  to->device = from->device;
  to->inode = from->inode;
  to->birth = from->birth;
  __atomic_store_n(&to->fd, descriptorOf(from), __ATOMIC_SEQ_CST);
  descriptorShow(to, to->fd);
  descriptorHide(from);
  __atomic_store_n(&from->fd, -1, __ATOMIC_SEQ_CST);
}

int DescriptorOurs(Plinth plinth, struct stat *status)
{
  int fd = descriptorOf(plinth);

  return fd >= 0 && DescriptorSame(plinth, fd, status, TRUE) ? fd : -1;
}

void DescriptorClose(Plinth plinth)
{
  struct stat status;
  int fd;

  LentBegin();
  fd = DescriptorOurs(plinth, &status);
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
  descriptorHide(plinth);
  __atomic_store_n(&plinth->fd, -1, __ATOMIC_SEQ_CST);
  LentEnd();
}

unsigned DescriptorEnter(void)
{
  for (;;) {
    unsigned turn = __atomic_load_n(&descriptorTurn, __ATOMIC_SEQ_CST) & 1;
    (void)__atomic_fetch_add(&descriptorUsers[turn], 1, __ATOMIC_SEQ_CST);
    /* Another thread has just moved a descriptor, which happens only when the program takes a number of ours: again. */
    if ((__atomic_load_n(&descriptorTurn, __ATOMIC_SEQ_CST) & 1) == turn)
      return turn;
    DescriptorLeave(turn);
  }
}

void DescriptorLeave(unsigned turn)
{
  AVER(turn <= 1);
  (void)__atomic_fetch_sub(&descriptorUsers[turn], 1, __ATOMIC_SEQ_CST);
}

/* descriptorSettle -- wait until no thread uses the old number of a moved descriptor; a write to a slow disk may take
 * long */
static void descriptorSettle(void)
{
  unsigned turn = __atomic_fetch_add(&descriptorTurn, 1, __ATOMIC_SEQ_CST) & 1, naps;

  for (naps = 0; naps < descriptorNaps && __atomic_load_n(&descriptorUsers[turn], __ATOMIC_SEQ_CST) != 0; ++naps)
    RawNap(descriptorNap);
}

/* descriptorFind -- the plinth that has this number; NULL: the number is not ours */
static Plinth descriptorFind(int fd)
{
  struct stat status;
  Index i;

  for (i = 0; i < descriptorPlinthsMAX; ++i) {
    Plinth plinth = __atomic_load_n(&descriptorPlinths[i], __ATOMIC_ACQUIRE);
    if (plinth != NULL && descriptorOf(plinth) == fd && DescriptorOurs(plinth, &status) == fd)
      return plinth;
  }
  return NULL;
}

/* Only tests call it: while it looks at a plinth another thread may close that, and nothing locks the table. */
Bool DescriptorCheck(void)
{
  Bool sound = TRUE;
  Index i;

  for (i = 0; i < descriptorPlinthsMAX; ++i) {
    int fd = descriptorPlinths[i] != NULL ? descriptorPlinths[i]->fd : -1;
    sound &= fd == -1 || fd >= DescriptorLowest;
  }
  return sound;
}

Bool DescriptorKept(int fd)
{
  return fd >= 0 && descriptorFind(fd) != NULL;
}

Bool DescriptorGap(unsigned *first, unsigned *lastReturn, unsigned last)
{
  unsigned ours;
  Index i;

  do {
    ours = UINT_MAX;
    for (i = 0; i < descriptorPlinthsMAX; ++i) {
      Plinth plinth = __atomic_load_n(&descriptorPlinths[i], __ATOMIC_ACQUIRE);
      int fd = plinth != NULL ? descriptorOf(plinth) : -1;
      if (fd >= 0 && (unsigned)fd >= *first && (unsigned)fd < ours && DescriptorKept(fd))
        ours = (unsigned)fd;
    }
    if (LentFrom(*first) < ours)
      ours = LentFrom(*first);
    if (*first < ours) {
      *lastReturn = ours != UINT_MAX && ours <= last ? ours - 1 : last;
      return *first <= last;
    }
  } while ((*first)++ < last);
  return FALSE;
}

Bool DescriptorYield(int fd)
{
  Plinth plinth = fd >= 0 ? descriptorFind(fd) : NULL;
  long high;

  if (plinth == NULL || descriptorPid != RawPid())
    return FALSE;
  LentBegin();
  high = descriptorHigh(fd);
  if (high >= 0)
    descriptorShow(plinth, (int)high);
  __atomic_store_n(&plinth->fd, high >= 0 ? (int)high : -1, __ATOMIC_SEQ_CST);
  LentEnd();
  descriptorSettle();
  return TRUE;
}

void DescriptorForked(void)
{
  descriptorPid = RawPid();
  descriptorUsers[0] = descriptorUsers[1] = 0;
  LentForked(descriptorPid);
}

/* ---- Descriptors in a program that has none left ---- */

enum {
  apartSTACK = 128 << 10, /* bytes */
  apartPIPES = 3,         /* two descriptors each: a socket, a pair of them, and three that come with an answer */
  apartFIRST = STDERR_FILENO + 1,
  apartCLOSED = 32        /* so many of the program's copies are closed, from apartFIRST on, but none of ours */
};

/* A thread, except that it has a copy of the descriptor table (no CLONE_FILES).  With CLONE_VFORK we sleep until it has
 * ended, so it can use our thread-local memory. */
#define apartFLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

typedef struct ApartStruct {
  void (*function)(void *closure);
  void *closure;
} ApartStruct, *Apart;

/* Its stack is static, because there may be no memory to map one, either. */
static char apartStack[apartSTACK] __attribute__((aligned(64))) LARGE;

static uint32_t apartBusy; /* the process in which such a thread runs: in a child of fork none does */

Bool ApartRoom(void)
{
  int ends[2 * apartPIPES];
  Index i, count;

  for (count = 0; count < 2 * apartPIPES && RawCall(SYS_pipe2, ends + count, O_CLOEXEC) == 0; count += 2)
    ;
  for (i = 0; i < count; ++i)
    (void)RawCall(SYS_close, ends[i]);
  return count == 2 * apartPIPES;
}

/* apartMain -- where the thread begins: close its copies of the program's descriptors, so that numbers are free, and
 * call the function that ApartRun was given */
static int apartMain(void *its)
{
  Apart apart = its;
  int fd;

  LentApart = TRUE;
  for (fd = apartFIRST; fd < apartFIRST + apartCLOSED; ++fd)
    if (!DescriptorKept(fd))
      (void)RawCall(SYS_close, fd);
  apart->function(apart->closure);
  LentApart = FALSE;
  return 0;
}

Bool ApartRun(void (*function)(void *closure), void *closure)
{
  ApartStruct apart = {function, closure};
  const long call[6] = {apartFLAGS, (long)(apartStack + sizeof apartStack)};
  uint32_t pid = RawPid(), busy = __atomic_load_n(&apartBusy, __ATOMIC_RELAXED);
  int error = errno;
  Bool run;

  AVER(function != NULL);
  if (RawBarred() || (ForbidAny() && ForbidCall(SYS_clone, call)) ||
      busy == pid ||
      !__atomic_compare_exchange_n(&apartBusy, &busy, pid, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return FALSE;
  /* libc's clone, because it knows how to start a function on another stack. */
  run = clone(apartMain, apartStack + sizeof apartStack, apartFLAGS, &apart) > 0;
  __atomic_store_n(&apartBusy, 0, __ATOMIC_RELEASE);
  errno = error;
  return run;
}
