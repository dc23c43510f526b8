/* orphanreader.h -- adds to a traceset what orphaned regions hold, without changing anything
 *
 * A process that is recorded keeps its blocks in a region (format/region.h) until they are in the log, and removes the
 * region's file when it ends.  If the file is there and its lock is not held, the process was killed.  If no collector
 * lives either, the region is orphaned, and whoever reads the log takes the blocks from it.
 *
 * Design: design/log.md .leftover      Tests: test/recover/orphanreadertest.c, test/log/logwhotest.c
 */
#ifndef RECOVER_ORPHANREADER_H
#define RECOVER_ORPHANREADER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/damage.h"
#include "log/logfile.h"
#include "log/table.h"

/* OrphanReaderTake -- find the orphaned regions that belong to the logs, and copy what the logs do not have
 *
 * Regions belong to a log if their names have one of its recordings (regionfile.h); to a log in which nothing sound is,
 * if they were made for it.  The reporter gets notes of what was taken, and of the processes that still run.
 * fileReturn  a temporary file of sound, unpacked blocks, which is to be scanned; the caller's; NULL: there were none
 * files       the logs; of each, `live` and `left` are set
 * regions     the damaged ranges of the logs; the end of a log is taken off if it is an incomplete block that is being
 *             written now, or that is whole in a region
 * errors      ResMEMORY; ResIO: the temporary file
 */
extern Res OrphanReaderTake(File *fileReturn, Table table, File *files, Count count, DamagedRanges regions,
                            Reporter reporter);

/* OrphanReaderAlive -- does one of the processes in a log still run, or is its collector about to take what it left?
 * The header blocks name the regions that are looked at. */
extern Bool OrphanReaderAlive(Table table, File log);

#endif /* RECOVER_ORPHANREADER_H */
