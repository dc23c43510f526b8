/* descriptor.h -- descriptors of ours in a program that closes what it does not know
 *
 * Programs close descriptors that they did not open, and open their own in the same place.  So a descriptor of ours has
 * a high number, and before each use it is looked at: it is ours only as long as it leads to the same file or socket.
 * Between the look and the use nobody may put another file in its place.  The wrappers of the calls that could
 * (malloc/shimfd.c) ask here which numbers are ours: they close none of them, and a program that wants such a number for
 * itself gets it after we have moved.  System calls that pass the wrappers by can still come between.
 *
 * Always true: `fd` of a plinth is -1, or was ours when `device`, `inode` and `birth` were noted; no number of ours is below
 * DescriptorLowest.
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

/* Where ours are: at the top of what the limit on descriptors allows, but not above DescriptorTOP, because the system
 * keeps a table up to the highest, and copies it at each fork. */
enum { DescriptorTOP = 1024, DescriptorROOM = 16, DescriptorFEW = 64 };

/* DescriptorMay -- may one be kept?  Not where the program may have so few (below DescriptorFEW) that it needs each,
 * not in a child of vfork, whose numbers mean nothing in its parent, whose memory it has, and not apart (below). */
extern Bool DescriptorMay(void);

/* DescriptorNote -- which file `fd` is, is the plinth's from here on.  ResIO: it is none; nothing is changed.
 * DescriptorSame -- is that certainly the file which was noted?  Where `held`, the number was ours, and it is enough that nothing
 * speaks against it: the system may not tell, or may not be asked any more, when a file was born.  *statusReturn tells of it. */
extern Res DescriptorNote(Plinth plinth, int fd);
extern Bool DescriptorSame(Plinth plinth, int fd, struct stat *statusReturn, Bool held);

/* DescriptorTake -- `fd` becomes the plinth's, moved out of the program's way where that is allowed.  ResIO: it is
 * none; nothing is changed.
 * DescriptorAgain -- the same of the file that was noted, opened again.  ResIO: the program has closed `fd` meanwhile, and may
 * have given the number to a file of its own, which is left alone. */
extern Res DescriptorTake(Plinth plinth, int fd);
extern Res DescriptorAgain(Plinth plinth, int fd);

/* DescriptorPass -- what one plinth has becomes another's */
extern void DescriptorPass(Plinth to, Plinth from);

/* DescriptorOurs -- its number, if it is still the one that was taken, else -1.  *statusReturn tells of it. */
extern int DescriptorOurs(Plinth plinth, struct stat *statusReturn);

/* DescriptorClose -- give it up; a stranger in its place is left alone */
extern void DescriptorClose(Plinth plinth);

/* DescriptorEnter, DescriptorLeave -- around a look at a descriptor of ours and its use: none is moved out from between.
 * Signals are blocked.  What the one returns is for the other. */
extern unsigned DescriptorEnter(void);
extern void DescriptorLeave(unsigned turn);

/* DescriptorLowest -- no lower number is ours: with this a wrapper knows at once of almost all */
extern int DescriptorLowest;

/* DescriptorKept -- is this number ours now? */
extern Bool DescriptorKept(int fd);

/* DescriptorGap -- the next numbers from *first to `last` that are not ours: *first to *lastReturn.  FALSE: there are no
 * more. */
extern Bool DescriptorGap(unsigned *first, unsigned *lastReturn, unsigned last);

/* DescriptorYield -- the program is about to put a file of its own in the place of ours: what is kept there moves, and
 * whoever uses it is waited for, a second at most.  In a child of vfork nothing is done: the number is ours in its
 * parent.  Returns whether it was ours, and is for the caller to replace or to close. */
extern Bool DescriptorYield(int fd);

/* DescriptorIsApart -- has the calling thread a table of descriptors of its own (below)?  What it opens is gone with
 * it, so none of it is kept. */
extern Bool DescriptorIsApart(void);

/* DescriptorForked -- in the child of a fork: what was inherited is its own */
extern void DescriptorForked(void);

/* ---- Descriptors in a program that has none left ----
 *
 * A program may open files until it can open no more, and fork: its child needs descriptors to meet the collector, or to
 * make a region, but only for a moment, as mappings do not need them.  What needs them runs in a thread that has a
 * table of descriptors of its own, which begins as a copy of the program's and goes with the thread: nothing that the
 * program has open is closed, and no other thread of it sees a number of ours.
 */

/* ApartRoom -- are there as many descriptors as a meeting with the collector takes?  Nine system calls. */
extern Bool ApartRoom(void);

/* ApartRun -- call `function` where there are, and wait until it has returned.  Signals are blocked.  What it opens is
 * closed then, and what it maps stays.
 *
 * returns  FALSE: it was not called.  No thread can be had, or one is there already, or a filter of seccomp would kill for it.
 */
extern Bool ApartRun(void (*function)(void *closure), void *closure);

#endif /* PLINTH_DESCRIPTOR_H */
