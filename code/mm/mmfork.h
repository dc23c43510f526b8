/* mmfork.h -- forking while other threads are in the memory manager
 *
 * A fork copies every lock as it is.  So whoever forks takes all of them first, and both processes release them: the
 * child finds arenas and pools in order.  Caches of threads that the child lacks are as they were in mid-operation: the
 * child never takes a block from them; what it frees into them stays there.
 *
 * Threads: MMForkPrepare in the thread that forks, before it; then MMForkParent there, MMForkChild in the child.
 *
 * Design: design/mm.md .fork      Tests: test/malloctest.c
 */
#ifndef MM_MMFORK_H
#define MM_MMFORK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "mm/lock.h"

extern void MMForkPrepare(void);
extern void MMForkParent(void);
extern void MMForkChild(void);

/* MMCreateLock -- guards the making of the process's own pool; the first in the order of locks */
extern LockStruct MMCreateLock;

#endif /* MM_MMFORK_H */
