/* shimtimes.h -- what a thread did with its time, as it tells itself when it ends
 *
 * The collector samples the threads that live at the moment.  Of one that lived between two samples it knows nothing,
 * and of others nothing after the last sample.
 *
 * Design: design/shim.md .shim.times      Tests: test/view/threads.t
 */
#ifndef MALLOC_SHIMTIMES_H
#define MALLOC_SHIMTIMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ShimTimesTell -- the calling thread is about to end: tell what it did with its time, as the collector's samples do
 *
 * thread  the system's number of it
 * began   ns of EventClockMonotonic when it began; 0: not known
 * cost    three system calls, and eight more if it lived for a millisecond
 */
extern void ShimTimesTell(unsigned thread, uint64_t began);

#endif /* MALLOC_SHIMTIMES_H */
