/* forks.h -- a fork while other threads are in the memory manager
 *
 * A fork copies every lock as it is.  So whoever forks takes all of them first, and both processes release them: the
 * child finds arenas and pools in order.  Caches of threads that the child lacks are as they were in mid-operation: the
 * child never takes a block from them; what it frees into them stays there.
 *
 * Where a client makes an arena this is done by itself (ArenaCreate, which is in this file for that); the process's
 * malloc does it in handlers of its own.
 *
 * Threads: MMForkPrepare in the thread that forks, before it; MMForkDone in both processes, in the thread that is then
 * there: in the child it is the one that holds the locks.  Handlers may be nested.
 *
 * Where there is no other thread no lock is taken: if one is held, it is by this thread itself, which a signal has
 * interrupted whose handler forks.  Parent and child go on with what was interrupted.
 *
 * Design: design/mm.md .fork      Tests: test/mm/malloctest.c, test/mm/pooltest.c
 */
#ifndef MM_FORKS_H
#define MM_FORKS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "mm/lock.h"

/* ForksMallocLock -- guards the making of the malloc's pool; the first in the order of locks
 * ForksWatched -- fork handlers are set already, or the malloc sets its own: ArenaCreate is to set none */
extern LockStruct ForksMallocLock;
extern Bool ForksWatched;

/* MMForkAlone -- is there no other thread?  Then a client takes no lock of his own before a fork, either. */
extern Bool MMForkAlone(void);

extern void MMForkPrepare(void);
extern void MMForkDone(void);

#endif /* MM_FORKS_H */
