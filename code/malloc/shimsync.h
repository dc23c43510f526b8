/* shimsync.h -- threads, and what they wait for
 *
 * A wrapper looks at the control table, and calls on; only where events of the kind Sync are wanted does it more.
 * What it calls is at first a function that looks up the real one, so that the wrapper need not ask; the first
 * pthread_create looks all of them up, because the lookup takes a lock of the dynamic loader's.
 *
 * Always true: what a wrapper returns, errno, cancellation and what is locked are as without it.
 *
 * Design: design/shim.md .sync .shim.thread      Tests: test/malloc/sync.t
 */
#ifndef MALLOC_SHIMSYNC_H
#define MALLOC_SHIMSYNC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* SyncThread -- the system's number of the calling thread; a system call the first time
 * SyncForked -- in the child of a fork the number is another */
extern __thread unsigned SyncThreadNumber __attribute__((tls_model("initial-exec")));
extern unsigned SyncThreadAsk(void);
extern void SyncForked(void);

static inline unsigned SyncThread(void)
{
  return LIKELY(SyncThreadNumber != 0) ? SyncThreadNumber : SyncThreadAsk();
}

/* SyncThreadTell -- tell of the calling thread, which nobody has seen begin: the first one of the process
 * SyncThreadNamed -- the calling thread has a name now; what the program gave need not end where the kernel ends it */
extern void SyncThreadTell(void);
extern void SyncThreadNamed(void);

#endif /* MALLOC_SHIMSYNC_H */
