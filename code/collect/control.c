/* control.c -- changing what a running process records, and asking things of it, through its region
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/control.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static Word *liveTable(Live live)
{
  return (Word *)(void *)((char *)live->region + RegionCONTROL);
}

static Word liveWord(Live live)
{
  return __atomic_load_n(&liveTable(live)[0], __ATOMIC_SEQ_CST);
}

uint32_t LiveSent(Live live)
{
  return (uint32_t)liveWord(live) & ((1u << RegionControlBUFFER) - 1);
}

uint32_t LiveBuffered(Live live)
{
  return (uint32_t)liveWord(live) >> RegionControlBUFFER;
}

/* liveChange -- these bits on, those off, in one step */
static void liveChange(Live live, Word on, Word off)
{
  Word *table = liveTable(live), old = liveWord(live);

  while (!__atomic_compare_exchange_n(&table[0], &old, (old | on) & ~off, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
}

void LiveSend(Live live, uint32_t kinds)
{
  uint32_t old = LiveSent(live), on = kinds & ~old, off = old & ~kinds;

  if (on != 0)
    LiveAsk(live, RegionAskSTATE);
  liveChange(live, on, off);
}

void LiveBuffer(Live live, uint32_t kinds)
{
  uint32_t old = LiveBuffered(live);

  liveChange(live, (Word)(kinds & ~old) << RegionControlBUFFER, (Word)(old & ~kinds) << RegionControlBUFFER);
}

void LiveAsk(Live live, uint32_t what)
{
  (void)__atomic_fetch_or(&live->region->hand.attention, what, __ATOMIC_SEQ_CST);
  (void)__atomic_fetch_or(&liveTable(live)[RegionControlATTENTION], (Word)RegionControlATTEND, __ATOMIC_SEQ_CST);
}

Bool LiveWait(Live live, uint32_t what, unsigned ms)
{
  uint32_t *attention = &live->region->hand.attention, now;
  struct timespec moment = {0, 1000000};
  unsigned waited;

  for (waited = 0; ((now = __atomic_load_n(attention, __ATOMIC_SEQ_CST)) & what) != 0; ++waited) {
    if (waited == ms)
      return FALSE;
    /* Who answers may wake us; a millisecond is the longest that we would miss it. */
    (void)syscall(SYS_futex, attention, FUTEX_WAIT, now, &moment, NULL, 0);
  }
  return TRUE;
}
