/* pages.c -- reserve, commit, decommit, release, on mmap
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/mm.md .pages
 */
#include "mm/pages.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/aver.h"

#define pagesRESERVE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* pagesTry -- one reservation; 0 when there is none */
static Word pagesTry(Word hint, Size size)
{
  void *p = mmap((void *)hint, size, PROT_NONE, pagesRESERVE, -1, 0);

  return p == MAP_FAILED ? 0 : (Word)p;
}

/* pagesCut -- keep the aligned piece of a reservation that is `align` longer than needed */
static Word pagesCut(Word base, Size size, Size align)
{
  Word aligned = WordAlignUp(base, align);

  if (aligned != base)
    (void)munmap((void *)base, aligned - base);
  if (aligned != base + align)
    (void)munmap((void *)(aligned + size), base + align - aligned);
  return aligned;
}

/* pagesSqueeze -- reserve where there is no room to cut from: take what the system likes, or the aligned place below */
static Word pagesSqueeze(Size size, Size align)
{
  Word base = pagesTry(0, size);

  if (base != 0 && WordAlignDown(base, align) != base) {
    Word hint = WordAlignDown(base, align);
    (void)munmap((void *)base, size);
    base = pagesTry(hint, size);
    if (base != 0 && base != hint) {
      (void)munmap((void *)base, size);
      base = 0;
    }
  }
  return base;
}

Res PagesReserve(Addr *baseReturn, Size size, Size align)
{
  int savedErrno = errno;
  Word base = 0;

  AVER(WordIsPowerOf2(align));
  if (size != 0 && size <= SIZE_MAX - align) {
    base = pagesTry(0, size + align);
    base = base != 0 ? pagesCut(base, size, align) : pagesSqueeze(size, align);
  }
  errno = savedErrno;
  if (base == 0)
    return ResMEMORY;
  *baseReturn = (Addr)base;
  return ResOK;
}

Res PagesCommit(Addr base, Size size)
{
  int savedErrno = errno;
  int result = mprotect(base, size, PROT_READ | PROT_WRITE);

  errno = savedErrno;
  return result == 0 ? ResOK : ResMEMORY;
}

void PagesDecommit(Addr base, Size size)
{
  int savedErrno = errno;

  /* Locked pages (mlockall) refuse; they must still become zero, because their next owner is told that they are. */
  if (madvise(base, size, MADV_DONTNEED) != 0)
    __builtin_memset(base, 0, size);
  errno = savedErrno;
}

void PagesRelease(Addr base, Size size)
{
  int savedErrno = errno;

  (void)munmap(base, size);
  errno = savedErrno;
}

Res PagesMove(Addr base, Size size, Addr to, Size toSize)
{
  int savedErrno = errno;
  void *p = mremap(base, size, toSize, MREMAP_MAYMOVE | MREMAP_FIXED, to);

  errno = savedErrno;
  return p == MAP_FAILED ? ResMEMORY : ResOK;
}

Res PagesMap(void **pReturn, Size size)
{
  int savedErrno = errno;
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  errno = savedErrno;
  if (p == MAP_FAILED)
    return ResMEMORY;
  *pReturn = p;
  return ResOK;
}
