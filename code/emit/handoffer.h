/* handoffer.h -- words to the collector: an offer of a region, a note that a program is about to be run, a call to wake up
 *
 * Each is a datagram to the socket that the environment names.  No call waits, but for an offer, which a full queue
 * may keep for some milliseconds.
 *
 * Design: design/collector.md .hand, .wake      Tests: test/handtest.c, test/collect.t
 */
#ifndef EMIT_HANDOFFER_H
#define EMIT_HANDOFFER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/process.h"

/* HandOffer -- offer the region to the collector that the environment names
 *
 * fd       of the region's file
 * returns  FALSE if it cannot be reached: the process sends by itself
 */
extern Bool HandOffer(Process process, int fd);

/* HandNote -- tell the collector, if there is one, that the calling process is about to run a program, or starts one
 * path  as exec has it; a name without a slash is looked for in PATH
 * Also in a child of vfork.  A few us; errno is kept. */
extern void HandNote(const char *path);

/* HandWake -- let the collector know that there is something to do, if it sleeps; else one load */
extern void HandWake(RegionHeader region);

#endif /* EMIT_HANDOFFER_H */
