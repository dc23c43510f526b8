/* wait.h -- a thread of a replay waits until a counter has come so far
 *
 * Who waits looks a few times, then gives up the processor a few times, and then sleeps until it is woken.  With more
 * threads than processors, whoever only looks or gives up the processor keeps the thread from running that it waits
 * for.
 *
 * Counters only rise.  Those who sleep do so at a word, which is 1 while there may be some.  Who raises the counter
 * calls WaitWake at once, or at least before it waits or ends itself.  Both sides exchange the word: if the sleeper was
 * first, it is woken; if not, it sees the counter as it was before.
 *
 * Design: design/replayer.md .script.wait      Tests: test/replay/waittest.c
 */
#ifndef REPLAY_WAIT_H
#define REPLAY_WAIT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* WaitUntil -- wait until the counter is at least `wanted`
 *
 * sleepers  the word of those who wait for this counter
 * stop      not 0: nobody waits any longer; this is seen within 10 ms
 * returns   ns of the calling thread's processor time that waiting took; 0 where a few looks were enough
 */
extern uint64_t WaitUntil(const uint64_t *counter, uint64_t wanted, uint32_t *sleepers, const uint32_t *stop);

/* WaitWake -- wake those who sleep at the word.  One locked instruction where there are none. */
extern void WaitWake(uint32_t *sleepers);

#endif /* REPLAY_WAIT_H */
