/* known.h -- what is in a log, by its index file instead of by scanning it
 *
 * What the index file says is taken as if it had been found.  It is not believed blindly: a header block is read from
 * the log all the same, where something is damaged the log itself is searched, and of the blocks' headers some hundred
 * are compared with the log's, all over it; a block's own header is compared when it is loaded.  Where the file is
 * damaged scanning goes on from there; so the index can be cut off anywhere, and a log may have grown.
 *
 * Design: design/log.md .beside      Tests: test/beside.t, test/besidetest.c
 */
#ifndef LOG_KNOWN_H
#define LOG_KNOWN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/scan.h"

enum { KnownCHECKS = 256 }; /* blocks that are compared for certain, the first ones; and about as many all over the
                               log */

/* KnownTake -- take what the index file of scan->file has, if it has one that can be believed
 * placeReturn  where scanning is to go on; all zeros if nothing is known
 * returns      ResFAIL: what it says is not so, and something of it may have been taken; ResMEMORY, ResIO.  A bad
 *              index is told in a line. */
extern Res KnownTake(Scan scan, ScanPlace placeReturn);

#endif /* LOG_KNOWN_H */
