/* playwait.c -- the threads of a replay, waiting for each other and for the time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "playdata.h"

#include <errno.h>
#include <sched.h>

enum {
  playSPINS = 20,    /* looks before a waiting thread gives up the processor */
  playYIELDS = 5000, /* and more before it goes to sleep */
  playNAP = 50000    /* ns */
};

static void playPause(unsigned *looks)
{
  const struct timespec nap = {0, playNAP};

  ++*looks;
  if (*looks < playSPINS) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  } else if (*looks < playSPINS + playYIELDS) {
    sched_yield();
  } else {
    nanosleep(&nap, NULL);
  }
}

void PlayAwait(Play play, uint64_t *counter, uint64_t wanted)
{
  unsigned looks = 0;

  while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < wanted && !PlayFailed(play))
    playPause(&looks);
}

/* PlayLeave -- the thread is done with the epoch that it is in.  Whoever is the last to leave the oldest one moves
 * `completed` on, past all that are empty by then. */
void PlayLeave(Play play, PlayThread runner)
{
  uint64_t at;

  if (runner->epoch == 0)
    return;
  __atomic_fetch_sub(&play->epochs[runner->epoch - 1].threads, 1, __ATOMIC_SEQ_CST);
  at = __atomic_load_n(&play->completed, __ATOMIC_SEQ_CST);
  while (at < play->header.epochs && __atomic_load_n(&play->epochs[at].threads, __ATOMIC_SEQ_CST) == 0) {
    if (__atomic_compare_exchange_n(&play->completed, &at, at + 1, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      ++at;
  }
}

uint64_t PlayBarrier(Play play, uint64_t epoch)
{
  uint64_t lag = play->epochs[epoch].lag;

  return epoch + 1 > lag ? epoch + 1 - lag : 0;
}

void PlayEnter(Play play, PlayThread runner, uint64_t epoch)
{
  PlayLeave(play, runner);
  runner->epoch = epoch + 1;
  PlayAwait(play, &play->completed, PlayBarrier(play, epoch));
}

void PlaySleep(Play play, uint64_t time)
{
  uint64_t until;
  struct timespec at;

  if (play->params.speed <= 0)
    return;
  until = play->begin + (uint64_t)((double)time / play->params.speed);
  if (PlayClock(CLOCK_MONOTONIC) >= until)
    return;
  at.tv_sec = (time_t)(until / 1000000000u);
  at.tv_nsec = (long)(until % 1000000000u);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
    ;
}
