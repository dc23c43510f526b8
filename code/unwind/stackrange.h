/* stackrange.h -- what of a stack can be read without a fault
 *
 * A walk reads words of the stack that it goes up.  Where unwind information is wrong, or the stack has been written
 * over, it would read anywhere.  So each read is checked against a range of addresses that are known to be readable:
 * from the stack pointer of the walk upwards.  The thread's own stack is known for as long as the thread lives.  Of any
 * other stack (a coroutine's, a signal's) each page is asked for again in each walk.
 *
 * Always true (StackRangeCheck):  low <= limit;  barrier <= ownLow <= ownLimit;  all multiples of the size of a page
 *
 * Threads: each has its own.
 * Design: design/unwind.md .range      Tests: test/unwind/walktest.c
 */
#ifndef UNWIND_STACKRANGE_H
#define UNWIND_STACKRANGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct StackRangeStruct {
  Word low, limit;         /* what this walk may read */
  Word ownLow, ownLimit;   /* of the thread's own stack what is known so far; both 0: nothing */
  Word barrier;            /* the thread's own stack does not go below this */
} StackRangeStruct, *StackRange;

extern Bool StackRangeCheck(StackRange range);

/* StackRangeEnter -- a walk begins at this stack pointer */
extern void StackRangeEnterSlow(StackRange range, Word sp);

static inline void StackRangeEnter(StackRange range, Word sp)
{
  if (LIKELY(sp - range->ownLow < range->ownLimit - range->ownLow)) {
    range->low = range->ownLow;
    range->limit = range->ownLimit;
  } else {
    StackRangeEnterSlow(range, sp);
  }
}

/* StackRangeIsBase -- is a stack pointer where that of the main thread was when the kernel started it?  Then nothing
 * lies beyond the frame, which may be the dynamic linker's first, of which no unwind information tells. */
extern Bool StackRangeIsBase(Word sp);

/* StackRangeReach -- can the word at this address be read?  Called where it is not known to be. */
extern Bool StackRangeReach(StackRange range, Word address);

/* StackRangeWord -- the word at an address; FALSE: it cannot be read, or is no place for a word of the stack */
__attribute__((no_sanitize("address", "thread"))) static inline Bool StackRangeWord(Word *wordReturn, StackRange range,
                                                                                    Word address)
{
  if (UNLIKELY(address - range->low >= range->limit - range->low || (address & (sizeof(Word) - 1)) != 0)
      && !StackRangeReach(range, address))
    return FALSE;
  *wordReturn = *(const volatile Word *)address;
  return TRUE;
}

#endif /* UNWIND_STACKRANGE_H */
