/* seccomp.h -- for which system calls would the program's seccomp filters kill it?
 *
 * The kernel runs a filter for each system call.  A filter that kills or stops the program because of a call of ours
 * would not do so without us.  So RawCall first runs copies of the filters on each call.  One thread at a time is
 * between ForbidBegin and ForbidEnd.
 *
 * Always true (ForbidCheck): each copy has instructions, and all of them have room; so has the one being installed.
 *
 * Design: design/shim.md .shim.forbid      Tests: test/plinth/forbidtest.c test/malloc/forbid.t
 */
#ifndef PLINTH_SECCOMP_H
#define PLINTH_SECCOMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/types.h"

/* ForbidBegin -- room for the copy of a filter of `length` instructions; NULL: there is none, or another thread
 * installs one
 * ForbidSet -- the copy is complete: RawCall obeys it from here on, before the kernel has the filter
 * ForbidEnd -- the kernel has the filter, or it was never set; or, not `kept`, the kernel has refused it after
 * ForbidSet
 * ForbidUnknown -- a filter is being installed that could not be read, so all calls are forbidden; or, not `begins`,
 * the kernel has refused it */
extern struct sock_filter *ForbidBegin(Count length);
extern void ForbidSet(void);
extern void ForbidEnd(Bool kept);
extern void ForbidUnknown(Bool begins);

extern Bool ForbidCheck(void);

/* ForbidNext -- would the filter that is being installed, and is not set, forbid this call? */
extern Bool ForbidNext(long number, const long arguments[6]);

/* ForbidAny -- is a filter known?  Most programs have none. */
extern unsigned ForbidFilters;

static inline Bool ForbidAny(void)
{
  return __atomic_load_n(&ForbidFilters, __ATOMIC_ACQUIRE) != 0;
}

/* ForbidCall -- would a filter kill or stop the thread for this system call? */
extern Bool ForbidCall(long number, const long arguments[6]);

/* ForbidRun -- the result of a filter for a system call, as the kernel would compute it (SECCOMP_RET_...).  A filter
 * that the kernel would not have accepted, or that reads the address from which the call is made, gives
 * SECCOMP_RET_KILL_THREAD. */
extern uint32_t ForbidRun(const struct sock_filter *code, Count length, const struct seccomp_data *call);

#endif /* PLINTH_SECCOMP_H */
