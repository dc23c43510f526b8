/* seccomp.h -- what the filters of seccomp that the program has installed would kill it for
 *
 * The kernel runs a filter for each system call.  One that kills, or stops, the program for a call of ours would not have
 * done so without us, so each call that RawCall makes is tried on copies of the filters first.  What is between Begin
 * and Drop or Keep is one thread's at a time.
 *
 * Design: design/shim.md .shim.forbid      Tests: test/plinth/forbidtest.c test/malloc/forbid.t
 */
#ifndef PLINTH_SECCOMP_H
#define PLINTH_SECCOMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/types.h"

/* ForbidBegin -- room for the copy of a filter of so many instructions; NULL: there is none, or another thread installs one.
 * ForbidSet -- they are there: from here on the filter is heeded, before the kernel has it
 * ForbidKeep -- the kernel has it.  ForbidDrop -- the kernel has refused it.
 * ForbidUnknown -- what is being installed could not be read: everything is forbidden.  ForbidKnown -- it was refused. */
extern struct sock_filter *ForbidBegin(Count length);
extern void ForbidSet(void);
extern void ForbidKeep(void);
extern void ForbidDrop(void);
extern void ForbidUnknown(void);
extern void ForbidKnown(void);

/* ForbidNext -- would the filter that is being installed, and is not set, forbid this call? */
extern Bool ForbidNext(long number, const long arguments[6]);

/* ForbidAny -- is any filter known?  Almost always there is none. */
extern unsigned ForbidFilters;

static inline Bool ForbidAny(void)
{
  return __atomic_load_n(&ForbidFilters, __ATOMIC_ACQUIRE) != 0;
}

/* ForbidCall -- would a filter kill or stop the thread for this system call? */
extern Bool ForbidCall(long number, const long arguments[6]);

/* ForbidRun -- what a filter says to a system call, as the kernel would run it (SECCOMP_RET_...).  What the kernel would not
 * have taken, or what asks where the call comes from, kills. */
extern uint32_t ForbidRun(const struct sock_filter *code, Count length, const struct seccomp_data *call);

#endif /* PLINTH_SECCOMP_H */
