/* shimstack.h -- the stacks that events of calls carry
 *
 * A wrapper's event has the number of its caller's stack.  Each frame is told once, by StackFrame, before its number is
 * used; and the module that it is in before that.
 *
 * Always true: no call here allocates from the program's malloc, waits for another thread, or changes errno.
 *
 * Threads: any; signal handlers, too.
 * Design: design/unwind.md .emit      Tests: test/malloc/stack.t
 */
#ifndef MALLOC_SHIMSTACK_H
#define MALLOC_SHIMSTACK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "unwind/walk.h"

/* ShimStackStart -- from here on stacks of `depth` frames are recorded, 2 to StackDepthMAX; FALSE: there is no memory
 * for it.  Before a second thread begins. */
extern Bool ShimStackStart(Count depth);

/* ShimStackRange -- record no stacks, but of each the first caller in a range of addresses, LO-HI in hexadecimal
 * digits, or in a module (ModulesChoose); instead of ShimStackStart.  FALSE: there is no memory for it, or no name. */
extern Bool ShimStackRange(const char *range);

/* ShimStackRanged -- is that asked for?
 * ShimStackFirst -- the address that the first call in the range returns to; 0: there is none.  As ShimStack. */
extern Bool ShimStackRanged;
extern const void *ShimStackFirst(const void *site) __attribute__((noinline));

/* ShimStack -- the number of a stack, from the caller of the wrapper that calls this; `site` is where the wrapper
 * returns to, and at most StackWalkSKIP functions of ours are on the stack behind that
 * cost: design/unwind.md .walk */
extern Word ShimStack(const void *site) __attribute__((noinline));

/* ShimWalk -- the calling thread's walk, for SHIM_STACK; NULL: it has none
 * SHIM_STACK -- as ShimStack, where it stands in a function that the wrapper calls as the last thing it does: then that
 * function's caller is the wrapper's, as a rule, and no frame of ours is to be skipped */
extern StackWalk ShimWalk(void);

#define SHIM_STACK(site) \
  ({ \
    StackWalk walk_ = ShimWalk(); \
    walk_ != NULL ? StackWalkCaller(walk_, (Word)(site) - 1) : StackTreeNode(StackBROKEN, (Word)(site) - 1); \
  })

/* ShimSite -- an event with this site follows: the site's module is told before, if it is new
 * cost: a load and a comparison for a page of code that was seen lately */
extern void ShimSite(const void *site);

/* ShimCode -- the same for an event that has an address in code, which no call returns to */
extern void ShimCode(Word at);

/* ShimStackKeep -- numbers are kept where this file does not know: the child of a fork goes on with its parent's,
 * instead of giving them out anew.  Before a second thread begins.
 * cost: the child emits an event for each frame, if the log has frames */
extern void ShimStackKeep(void);

/* ShimStackTell -- tell all frames once more, for a log that begins now
 * ShimStackForked -- in the child of a fork: its log knows nothing of what its parent's was told */
extern void ShimStackTell(void);
extern void ShimStackForked(void);

#endif /* MALLOC_SHIMSTACK_H */
