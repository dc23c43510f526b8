/* known.h -- what is in a log, by its index file instead of by scanning it
 *
 * What the index file says is taken as if it had been found.  A header block is read from the log all the same, with its
 * checksum; a block's own header is read when the block is loaded.  Where the file is damaged, or the log is not as it
 * says, scanning goes on from there: so the index can be cut off anywhere, and a log may have grown.
 *
 * Design: design/log.md .beside      Tests: test/beside.t
 */
#ifndef LOG_KNOWN_H
#define LOG_KNOWN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/scan.h"

/* KnownTake -- take what the index file of scan->file has, if it has one that can be believed
 * placeReturn  where scanning is to go on; all zeros if nothing is known
 * returns      ResMEMORY, ResIO; a bad index is told, and is no failure */
extern Res KnownTake(Scan scan, ScanPlace placeReturn);

#endif /* LOG_KNOWN_H */
