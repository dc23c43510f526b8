/* pages.c -- reserve, commit, decommit, release, on mmap
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * System calls that programs' mappings are observed by are made raw: the functions of these names may be our own
 * wrappers.
 *
 * Design: design/mm.md .pages
 */
#include "mm/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"

#if defined(SYS_mmap2)
#define pagesMMAP SYS_mmap2
#else
#define pagesMMAP SYS_mmap
#endif

/* pagesMap -- one anonymous mapping; 0 when there is none */
static Word pagesMap(Word hint, Size size, int protection, int flags)
{
  long result = syscall(pagesMMAP, hint, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0L);

  return (void *)result == MAP_FAILED ? 0 : (Word)result;
}

static void pagesUnmap(Word base, Size size) { (void)syscall(SYS_munmap, base, size); }

/* Not with MAP_NORESERVE: what is committed is to be refused where the system would refuse it to malloc. */
static Word pagesTry(Word hint, Size size) { return pagesMap(hint, size, PROT_NONE, 0); }

/* pagesCut -- keep the aligned piece of a reservation that is `align` longer than needed */
static Word pagesCut(Word base, Size size, Size align)
{
  Word aligned = WordAlignUp(base, align);

  if (aligned != base)
    pagesUnmap(base, aligned - base);
  if (aligned != base + align)
    pagesUnmap(aligned + size, base + align - aligned);
  return aligned;
}

/* pagesSqueeze -- reserve where there is no room to cut from: take what the system likes, or the aligned place below */
static Word pagesSqueeze(Size size, Size align)
{
  Word base = pagesTry(0, size);

  if (base != 0 && WordAlignDown(base, align) != base) {
    Word hint = WordAlignDown(base, align);
    pagesUnmap(base, size);
    base = pagesTry(hint, size);
    if (base != 0 && base != hint) {
      pagesUnmap(base, size);
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

  pagesUnmap((Word)base, size);
  errno = savedErrno;
}

Res PagesMove(Addr base, Size size, Addr to, Size toSize)
{
  int savedErrno = errno;
  long result = syscall(SYS_mremap, base, size, toSize, (unsigned long)(MREMAP_MAYMOVE | MREMAP_FIXED), to);

  errno = savedErrno;
  return (void *)result == MAP_FAILED ? ResMEMORY : ResOK;
}

Res PagesMap(void **pReturn, Size size)
{
  int savedErrno = errno;
  Word base = pagesMap(0, size, PROT_READ | PROT_WRITE, 0);

  errno = savedErrno;
  if (base == 0)
    return ResMEMORY;
  *pReturn = (void *)base;
  return ResOK;
}
