/* apart.h -- descriptors in a program that has none left
 *
 * A program may open files until it can open no more, and fork: its child needs descriptors to meet the collector, or to
 * make a region, but only for a moment, as mappings do not need them.  What needs them runs in a thread that has a
 * table of descriptors of its own, which begins as a copy of the program's and goes with the thread: nothing that the
 * program has open is closed, and no other thread of it sees a number of ours.
 *
 * Design: design/telemetry.md .descriptor.apart      Tests: test/plinthtest.c, test/limits.t
 */
#ifndef PLINTH_APART_H
#define PLINTH_APART_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* ApartRoom -- are there as many descriptors as a meeting with the collector takes?  Nine system calls. */
extern Bool ApartRoom(void);

/* ApartRun -- call `function` where there are, and wait until it has returned.  Signals are blocked.  What it opens is
 * closed then, and what it maps stays.
 *
 * returns  FALSE: it was not called.  No thread can be had, or one is there already, or a filter of seccomp would kill for it.
 */
extern Bool ApartRun(void (*function)(void *closure), void *closure);

#endif /* PLINTH_APART_H */
