/* pages.h -- the operating system's pages: reserve, commit, decommit, release
 *
 * The only place of the memory manager that makes system calls for memory.  Every function keeps errno, because
 * free() must; a failure is returned as a Res.
 *
 * Design: design/mm.md .pages      Tests: test/mm/arenatest.c
 */
#ifndef MM_PAGES_H
#define MM_PAGES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* PagesReserve -- reserve address space, which may not be touched yet
 *
 * size     bytes, a multiple of 64 KiB
 * align    a power of two, at least the page size
 * errors   ResMEMORY: no address space, or a limit (ulimit -v)
 */
extern Res PagesReserve(Addr *baseReturn, Size size, Size align);

/* PagesCommit -- let reserved pages be read and written; zero unless they were committed before
 * errors   ResMEMORY: the system will not promise so much memory */
extern Res PagesCommit(Addr base, Size size);

/* PagesDecommit -- give the memory back and keep the address space; the pages stay committed in name, and are zero */
extern void PagesDecommit(Addr base, Size size);

/* PagesRelease -- give memory and address space back */
extern void PagesRelease(Addr base, Size size);

/* PagesMove -- move committed pages with their contents, without copying
 *
 * base, size        what to move; afterwards there is a hole
 * to, toSize        reserved pages to replace; what is new of them is zero, and committed
 * errors            ResMEMORY, and then nothing has changed
 */
extern Res PagesMove(Addr base, Size size, Addr to, Size toSize);

/* PagesMap -- zeroed memory for our own data, of at least `size` bytes; given back by PagesRelease
 * errors   ResMEMORY */
extern Res PagesMap(void **pReturn, Size size);

/* PagesFailAt -- for tests: of the system calls from now on by which memory is reserved, committed, moved or mapped,
 * the n-th fails for want of memory; 0: none does
 * PagesFailOn -- and all that follow it */
extern Count PagesFailAt;
extern Bool PagesFailOn;

#endif /* MM_PAGES_H */
