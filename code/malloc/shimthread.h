/* shimthread.h -- threads: their beginnings, names and ends
 *
 * Design: design/shim.md .shim.thread      Tests: test/malloc/sync.t
 */
#ifndef MALLOC_SHIMTHREAD_H
#define MALLOC_SHIMTHREAD_H

/* SPDX-License-Identifier: BSD-2-Clause */

/* ShimThreadTell -- tell of the calling thread, which nobody has seen begin: the first one of the process */
extern void ShimThreadTell(void);

/* ShimThreadNamed -- the calling thread has a name now; what the program gave need not end where the kernel ends it */
extern void ShimThreadNamed(void);

/* ShimExecStart -- look up what starts programs (shimexec.c): before a child may need it, whose parent has more threads
 * than one */
extern void ShimExecStart(void);

#endif /* MALLOC_SHIMTHREAD_H */
