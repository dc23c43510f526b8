/* apart.c -- descriptors in a program that has none left
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plinth/descriptor.h"
#include "plinth/forbid.h"
#include "plinth/quiet.h"

enum {
  apartSTACK = 128 << 10, /* bytes */
  apartPIPES = 3,         /* two descriptors each: a socket, a pair of them, and three that come with an answer */
  apartFIRST = STDERR_FILENO + 1,
  apartCLOSED = 32        /* so many of the copies are closed, from apartFIRST on, but for those of ours */
};

/* A thread, but for its table of descriptors (CLONE_FILES).  With CLONE_VFORK we sleep until it has ended, so it may have our
 * thread-local memory. */
#define apartFLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

typedef struct ApartStruct {
  void (*function)(void *closure);
  void *closure;
} ApartStruct, *Apart;

/* Not mapped for the occasion: there may be no memory, either. */
static char apartStack[apartSTACK] __attribute__((aligned(64))) LARGE;

static uint32_t apartBusy; /* the process that runs something so; a child of fork does not */

Bool ApartRoom(void)
{
  int ends[2 * apartPIPES];
  Index i, count;

  for (count = 0; count < 2 * apartPIPES && QuietCall(SYS_pipe2, ends + count, O_CLOEXEC) == 0; count += 2)
    ;
  for (i = 0; i < count; ++i)
    (void)QuietCall(SYS_close, ends[i]);
  return count == 2 * apartPIPES;
}

/* apartMain -- what the thread does */
static int apartMain(void *its)
{
  Apart apart = its;
  int fd;

  DescriptorApart(TRUE);
  for (fd = apartFIRST; fd < apartFIRST + apartCLOSED; ++fd)
    if (!DescriptorKept(fd))
      (void)QuietCall(SYS_close, fd);
  apart->function(apart->closure);
  DescriptorApart(FALSE);
  return 0;
}

Bool ApartRun(void (*function)(void *closure), void *closure)
{
  ApartStruct apart = {function, closure};
  const long call[6] = {apartFLAGS, (long)(apartStack + sizeof apartStack)};
  uint32_t pid = QuietPid(), busy = __atomic_load_n(&apartBusy, __ATOMIC_RELAXED);
  int error = errno;
  Bool run;

  if (QuietBarred() || (ForbidAny() && ForbidCall(SYS_clone, call)) ||
      busy == pid ||
      !__atomic_compare_exchange_n(&apartBusy, &busy, pid, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return FALSE;
  /* By libc, which knows how a thread begins on a stack of its own. */
  run = clone(apartMain, apartStack + sizeof apartStack, apartFLAGS, &apart) > 0;
  __atomic_store_n(&apartBusy, 0, __ATOMIC_RELEASE);
  errno = error;
  return run;
}
