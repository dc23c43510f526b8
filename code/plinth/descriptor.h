/* descriptor.h -- a descriptor of ours in a program that closes what it does not know
 *
 * Programs close descriptors that they did not open, and open their own in the same place.  So before each use the
 * descriptor is looked at: it is ours only as long as it leads to the same file or socket.
 *
 * Always true: `fd` is -1, or was ours when `device` and `inode` were noted.
 *
 * Design: design/telemetry.md .sol.msg      Tests: test/plinthtest.c, test/sockettest.c
 */
#ifndef PLINTH_DESCRIPTOR_H
#define PLINTH_DESCRIPTOR_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "plinth/plinth.h"

/* DescriptorTake -- `fd` becomes the plinth's, moved out of the program's way where that is allowed.  ResIO: it is
 * none; nothing is changed. */
extern Res DescriptorTake(Plinth plinth, int fd);

/* DescriptorOurs -- is it still the one that was taken?  *statusReturn tells of it. */
extern Bool DescriptorOurs(Plinth plinth, struct stat *statusReturn);

/* DescriptorClose -- give it up; a stranger in its place is left alone */
extern void DescriptorClose(Plinth plinth);

#endif /* PLINTH_DESCRIPTOR_H */
