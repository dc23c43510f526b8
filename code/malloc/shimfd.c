/* shimfd.c -- calls that close descriptors or put files in their place, wrapped: the library's descriptors stay
 *
 * A program that closes all descriptors which it did not open finds that our numbers are not open; one that wants such
 * a number for itself gets it after ours has moved (plinth/descriptor.h), or has been closed (plinth/lent.h).  All
 * other numbers go straight on: close costs two comparisons more.  Calls that bypass these names (libc's calls to
 * itself, raw system calls) are detected before the next write.
 *
 * Design: design/shim.md .shim.fd      Tests: test/plinth/ownfiles.t, test/plinth/lenttest.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emit/emitter.h"
#include "malloc/shimdlsym.h"

#if !defined(SYS_close_range)
#define SYS_close_range 436
#endif

/* Not all of libc's headers have them. */
extern int close_range(unsigned first, unsigned last, int flags);
extern void closefrom(int low);
extern int dup3(int from, int to, int flags);

/* The functions behind the wrappers; looked up at the beginning (shimexec.c tells why). */
static struct {
  int (*close)(int fd);
  int (*closeRange)(unsigned first, unsigned last, int flags);
  int (*dup2)(int from, int to);
  int (*dup3)(int from, int to, int flags);
} shimReal;

__attribute__((constructor(102))) static void shimFdStart(void)
{
  ShimNextSymbol(&shimReal.dup2, "dup2");
  ShimNextSymbol(&shimReal.dup3, "dup3");
  ShimNextSymbol(&shimReal.closeRange, "close_range");
  ShimNextSymbol(&shimReal.close, "close");
}

/* shimOurs -- is this number ours, or lent to us for a moment? */
static inline Bool shimOurs(int fd)
{
  return (UNLIKELY(fd >= __atomic_load_n(&DescriptorLowest, __ATOMIC_RELAXED)) && DescriptorKept(fd)) ||
         (UNLIKELY(__atomic_load_n(&LentActive, __ATOMIC_RELAXED) != 0) && LentIs(fd));
}

SHIM int close(int fd)
{
  int its = shimOurs(fd) ? -1 : fd;

  /* Before the beginning, a sanitizer's first steps for instance, the system itself is asked. */
  return LIKELY(shimReal.close != NULL) ? shimReal.close(its) : (int)syscall(SYS_close, its);
}

/* shimCloses -- close all numbers from `first` to `last` but ours; also on systems without close_range */
static void shimCloses(unsigned first, unsigned last)
{
  unsigned open = (unsigned)sysconf(_SC_OPEN_MAX);

  if (last > open)
    last = open;
  for (; first <= last; ++first)
    (void)close((int)first);
}

/* shimRange -- close_range: libc's or another library's function, or the system call */
static int shimRange(unsigned first, unsigned last, int flags)
{
  return shimReal.closeRange != NULL ? shimReal.closeRange(first, last, flags)
                                     : (int)syscall(SYS_close_range, first, last, flags);
}

SHIM int close_range(unsigned first, unsigned last, int flags)
{
  unsigned gap;
  int result;

  if (first > last)
    return shimRange(first, last, flags);
  /* Beyond all numbers: the system says whether it has this call and knows the flags, and does what they ask. */
  result = shimRange(UINT_MAX, UINT_MAX, flags);
  LentPut(-1);
  for (; result == 0 && DescriptorGap(&first, &gap, last); first = gap + 1) {
    result = shimRange(first, gap, flags);
    if (gap == last)
      break;
  }
  LentPutEnd();
  return result;
}

SHIM void closefrom(int low)
{
  int error = errno;

  if (close_range(low > 0 ? (unsigned)low : 0, UINT_MAX, 0) != 0)
    shimCloses(low > 0 ? (unsigned)low : 0, INT_MAX);
  errno = error;
}

/* shimPut -- what comes before a program's file in the place of `to`; returns whether ours was there, which has moved
 */
static Bool shimPut(int from, int to)
{
  Bool moved =
      UNLIKELY(to >= __atomic_load_n(&DescriptorLowest, __ATOMIC_RELAXED)) && from != to && DescriptorYield(to);

  if (from >= 0 && to >= 0)
    LentPut(to);
  return moved;
}

/* shimPutDone -- and after it; returns the result */
static int shimPutDone(Bool moved, int to, int result)
{
  int error = errno;

  LentPutEnd();
  if (UNLIKELY(moved && result < 0))
    (void)syscall(SYS_close, to);
  if (UNLIKELY(to == STDERR_FILENO && result == to))
    RawVoice();
  errno = error;
  return result;
}

SHIM int dup2(int from, int to)
{
  int its = shimOurs(from) ? -1 : from;
  Bool moved = shimPut(its, to);

  if (shimReal.dup2 == NULL)
    shimFdStart();
  return shimPutDone(moved, to, shimReal.dup2(its, to));
}

SHIM int dup3(int from, int to, int flags)
{
  int its = shimOurs(from) ? -1 : from;
  Bool moved = shimPut(its, to);

  if (shimReal.dup3 == NULL)
    shimFdStart();
  return shimPutDone(moved, to, shimReal.dup3(its, to, flags));
}
