/* pages.c -- reserve, commit, decommit, release, on mmap
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All system calls are made raw: the functions of these names may be our own wrappers, which report what a program
 * maps.
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

/* pagesCall -- a system call that keeps errno; -1: it failed */
static long pagesCall(long number, Word a, Word b, Word c, Word d, Word e)
{
  int savedErrno = errno;
  long result = syscall(number, a, b, c, d, e, 0L);

  errno = savedErrno;
  return result;
}

Count PagesFailAt;
Bool PagesFailOn;

/* pagesFails -- is this the call that is to fail? */
static Bool pagesFails(void)
{
  Count n = __atomic_load_n(&PagesFailAt, __ATOMIC_RELAXED);

  if (LIKELY(n == 0))
    return FALSE;
  if (n == 1 && __atomic_load_n(&PagesFailOn, __ATOMIC_RELAXED))
    return TRUE;
  return __atomic_sub_fetch(&PagesFailAt, 1, __ATOMIC_RELAXED) == 0;
}

/* pagesMap -- one anonymous mapping; 0 when there is none.  Not with MAP_NORESERVE: what is committed is to be refused
 * where the system would refuse it to malloc. */
static Word pagesMap(Word hint, Size size, int protection)
{
  long result = pagesFails()
                  ? -1
                  : pagesCall(pagesMMAP, hint, size, (Word)protection, MAP_PRIVATE | MAP_ANONYMOUS, (Word)-1);

  return result == -1 ? 0 : (Word)result;
}

static void pagesUnmap(Word base, Size size) { (void)pagesCall(SYS_munmap, base, size, 0, 0, 0); }

static Word pagesTry(Word hint, Size size) { return pagesMap(hint, size, PROT_NONE); }

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
  Word base = 0;

  AVER(WordIsPowerOf2(align));
  if (size != 0 && size <= SIZE_MAX - align) {
    base = pagesTry(0, size + align);
    base = base != 0 ? pagesCut(base, size, align) : pagesSqueeze(size, align);
  }
  if (base == 0)
    return ResMEMORY;
  *baseReturn = (Addr)base;
  return ResOK;
}

Res PagesCommit(Addr base, Size size)
{
  AVER(size > 0);
  return !pagesFails() && pagesCall(SYS_mprotect, (Word)base, size, PROT_READ | PROT_WRITE, 0, 0) == 0 ? ResOK
                                                                                                       : ResMEMORY;
}

void PagesDecommit(Addr base, Size size)
{
  /* Locked pages (mlockall) refuse; they must still become zero, because their next owner is told that they are. */
  if (pagesCall(SYS_madvise, (Word)base, size, MADV_DONTNEED, 0, 0) != 0)
    __builtin_memset(base, 0, size);
}

void PagesRelease(Addr base, Size size) { pagesUnmap((Word)base, size); }

Res PagesMove(Addr base, Size size, Addr to, Size toSize)
{
  AVER(size > 0 && size <= toSize);
  if (pagesFails())
    return ResMEMORY;
  return pagesCall(SYS_mremap, (Word)base, size, toSize, MREMAP_MAYMOVE | MREMAP_FIXED, (Word)to) == -1 ? ResMEMORY
                                                                                                        : ResOK;
}

Res PagesMap(void **pReturn, Size size)
{
  Word base = pagesMap(0, size, PROT_READ | PROT_WRITE);

  if (base == 0)
    return ResMEMORY;
  *pReturn = (void *)base;
  return ResOK;
}
