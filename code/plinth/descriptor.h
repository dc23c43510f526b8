/* descriptor.h -- the library's descriptors in a program that closes descriptors which it did not open
 *
 * Programs close descriptors that they did not open, and open files of their own under the same numbers.  So a
 * descriptor of ours has a high number, and before each use we check that it still leads to the same file or socket.
 * Between the check and the use no other file may come under that number.  The wrappers of the calls that could do so
 * (malloc/shimfd.c) ask here which numbers are ours: they close none of them, and a program that wants such a number
 * for itself gets it after we have moved ours.  System calls that bypass the wrappers can still come between.
 *
 * Always true:  `fd` of a plinth is -1, or was ours when `device`, `inode` and `birth` were noted; no number of ours
 * is below DescriptorLowest.
 *
 * Design: design/telemetry.md .descriptor .descriptor.apart
 * Tests: test/plinth/plinthtest.c, test/plinth/sockettest.c, test/plinth/ownfiles.t, test/emit/limits.t
 */
#ifndef PLINTH_DESCRIPTOR_H
#define PLINTH_DESCRIPTOR_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/types.h"
#include "plinth/plinth.h"

/* Our numbers are the highest that the limit on descriptors allows, but not above DescriptorTOP, because the system
 * keeps a table up to the highest number, and copies it at each fork. */
enum { DescriptorTOP = 1024, DescriptorROOM = 16, DescriptorFEW = 64 };

/* DescriptorMay -- may a descriptor be kept open?  Not where the program may have so few (below DescriptorFEW) that it
 * needs each; not in the child of a vfork, because it shares its parent's memory but not its descriptors; and not
 * apart (below). */
extern Bool DescriptorMay(void);

/* DescriptorNote -- note the file that `fd` leads to as the plinth's.  ResIO: `fd` is not open; nothing changes.
 * DescriptorSame -- does `fd` certainly lead to the file that was noted?  If `held`, the number was ours all the time,
 * and the time of the file's birth, which the system may not give any more, is not needed.  *statusReturn is its
 * fstat. */
extern Res DescriptorNote(Plinth plinth, int fd);
extern Bool DescriptorSame(Plinth plinth, int fd, struct stat *statusReturn, Bool held);

/* DescriptorTake -- note the file of `fd` as the plinth's, and move the descriptor to a high number where that is
 * allowed.  ResIO:  `fd` is not open; nothing changes.
 * DescriptorAgain -- the same for the file that was noted, which has been opened again.  ResIO: the program has closed
 * `fd` meanwhile, and may have a file of its own under the number, which is left alone. */
extern Res DescriptorTake(Plinth plinth, int fd);
extern Res DescriptorAgain(Plinth plinth, int fd);

/* DescriptorPass -- move file and descriptor from one plinth to another */
extern void DescriptorPass(Plinth to, Plinth from);

/* DescriptorOurs -- the plinth's descriptor, if it still leads to the file that was noted, else -1.  *statusReturn is
 * its fstat. */
extern int DescriptorOurs(Plinth plinth, struct stat *statusReturn);

/* DescriptorClose -- close the plinth's descriptor; a file of the program's under the same number is left alone */
extern void DescriptorClose(Plinth plinth);

/* DescriptorEnter, DescriptorLeave -- enclose the check of a descriptor of ours and its use: it is not moved in
 * between.  Signals are blocked.  Pass the result of the first to the second. */
extern unsigned DescriptorEnter(void);
extern void DescriptorLeave(unsigned turn);

/* DescriptorLowest -- no lower number is ours, so that a wrapper decides almost all cases by one comparison */
extern int DescriptorLowest;

/* DescriptorKept -- is this number ours now? */
extern Bool DescriptorKept(int fd);

/* DescriptorGap -- the next range of numbers between *first and `last` without one of ours, kept or lent (lent.h):
 * *first to *lastReturn.  FALSE: there is none. */
extern Bool DescriptorGap(unsigned *first, unsigned *lastReturn, unsigned last);

/* DescriptorYield -- the program is about to put a file of its own under a number of ours: move our descriptor, and
 * wait for the threads that use the old number, a second at most.  In the child of a vfork nothing is done: the number
 * is ours in its parent.  Returns whether it was ours, so that the caller has to replace or close it. */
extern Bool DescriptorYield(int fd);

/* DescriptorIsApart -- has the calling thread a table of descriptors of its own (below)?  Its descriptors are closed
 * when it ends, so none is kept. */
extern Bool DescriptorIsApart(void);

/* DescriptorCheck -- is no number of ours below DescriptorLowest? */
extern Bool DescriptorCheck(void) __attribute__((no_sanitize("thread")));

/* DescriptorForked -- in the child of a fork: the inherited descriptors are the child's own */
extern void DescriptorForked(void);

/* ---- Descriptors in a program that has none left ----
 *
 * A program may open files until it can open no more, and fork: its child needs descriptors to meet the collector, or
 * to make a region, but only for a moment, as mappings do not need them.  What needs them runs in a thread that has a
 * table of descriptors of its own, which begins as a copy of the program's and goes with the thread: nothing that the
 * program has open is closed, and no other thread of it sees a number of ours.
 */

/* ApartRoom -- are there as many descriptors as a meeting with the collector takes?  Nine system calls. */
extern Bool ApartRoom(void);

/* ApartRun -- call `function` where there are, and wait until it has returned.  Signals are blocked.  What it opens is
 * closed then, and what it maps stays.
 *
 * returns  FALSE: it was not called.  No thread can be had, or one is there already, or a filter of seccomp would kill
 *          for it.
 */
extern Bool ApartRun(void (*function)(void *closure), void *closure);

#endif /* PLINTH_DESCRIPTOR_H */
