/* stackrange.c -- what of a stack can be read without a fault
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/stackrange.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "plinth/rawsyscall.h"

#define pageSIZE ((Word)4096)

/* The thread's own stack is looked for upwards from the stack pointer as far as this; beyond it is taken
 * for another. */
#define ownMAX ((Word)64 << 20)

/* On another stack no frame is greater. */
#define frameMAX ((Word)1 << 20)

/* The main thread's stack ends here, with the arguments and the environment behind it in the same mapping. */
extern void *__libc_stack_end __attribute__((weak));

Bool StackRangeCheck(StackRange range)
{
  return range->low <= range->limit && range->ownLow <= range->ownLimit
         && range->barrier <= range->ownLow
         && ((range->low | range->limit | range->ownLow | range->ownLimit | range->barrier) & (pageSIZE - 1)) == 0;
}

/* pageReadable -- the kernel reads a set of signals from the page before it sees that it is told nothing to do
 * with it */
static Bool pageReadable(Word page)
{
  return RawCall(SYS_rt_sigprocmask, -1, page, 0, 8) == -EINVAL;
}

/* ownLimitOf -- where the calling thread's stack ends: the control block of a thread is at its end, and the kernel puts
 * the main thread's arguments there.  0: not known. */
static Word ownLimitOf(void)
{
  if ((uint32_t)RawCall(SYS_gettid) != RawPid())
    return WordAlignUp((Word)__builtin_thread_pointer(), pageSIZE);
  return &__libc_stack_end != NULL ? WordAlignUp((Word)__libc_stack_end, pageSIZE) : 0;
}

Bool StackRangeIsBase(Word sp)
{
  enum { aligned = 16 }; /* to which the linker aligns it before it calls anything */

  return &__libc_stack_end != NULL && (Word)__libc_stack_end - sp < aligned;
}

/* extendOwn -- the thread's own stack goes down to a page, unless one is on the way that cannot be read */
static void extendOwn(StackRange range, Word page)
{
  while (range->ownLow > page && range->ownLow > range->barrier) {
    if (pageReadable(range->ownLow - pageSIZE))
      range->ownLow -= pageSIZE;
    else
      range->barrier = range->ownLow;
  }
}

void StackRangeEnterSlow(StackRange range, Word sp)
{
  Word page = WordAlignDown(sp, pageSIZE);

  if (range->ownLimit == 0)
    range->ownLow = range->ownLimit = ownLimitOf();
  if (range->ownLimit - page < ownMAX)
    extendOwn(range, page);
  if (sp - range->ownLow < range->ownLimit - range->ownLow) {
    range->low = range->ownLow;
    range->limit = range->ownLimit;
  } else {
    range->low = page;
    range->limit = pageReadable(page) ? page + pageSIZE : page;
  }
  AVER(StackRangeCheck(range));
}

Bool StackRangeReach(StackRange range, Word address)
{
  Word page = WordAlignDown(address, pageSIZE);

  if ((address & (sizeof(Word) - 1)) != 0)
    return FALSE;
  /* Frames lie one above the other: only pages behind the known ones, as far as one frame may reach. */
  if (range->limit != range->ownLimit && page - range->limit < frameMAX)
    while (range->limit <= page && pageReadable(range->limit))
      range->limit += pageSIZE;
  return address - range->low < range->limit - range->low;
}
