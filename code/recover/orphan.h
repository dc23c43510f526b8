/* orphan.h -- finds what dead processes have left in shared memory, and adds it to a traceset
 *
 * A process that sends keeps its blocks in a file (format/region.h) until they are in the log, and removes the file
 * when it ends. If the file is there and nobody holds its lock, the process was killed; if it has no collector that
 * lives, either, the blocks belong to whoever reads the log.
 *
 * Design: design/log.md .leftover      Tests: test/recover/orphantest.c, test/log/logwhotest.c
 */
#ifndef RECOVER_ORPHAN_H
#define RECOVER_ORPHAN_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/damage.h"
#include "log/logfile.h"
#include "log/table.h"

/* OrphanTake -- find the regions of all processes, and copy what the logs do not have
 *
 * fileReturn  a temporary file of sound, unpacked blocks, to be scanned; the caller's; NULL if nothing was found
 * files       the logs; of each, `live` and `left` are set
 * regions     of these, the tail of a log goes where a block was being written: by somebody who lives, or it is in
 *             a region, whole
 *
 * Regions are those that are called after one of the logs' recordings (regionplace.h); of a log to which nothing has come,
 * those that were made for it.  What was taken, and who still runs, is told in a note each.
 * Nothing outside is changed.  ResMEMORY, ResIO (the temporary file).
 */
extern Res OrphanTake(File *fileReturn, Table table, File *files, Count count, DamagedRanges regions, Reporter reporter);

/* OrphanAlive -- does one of the processes in a log still run, or is its collector about to take what it left?  As
 * their headers name their regions. */
extern Bool OrphanAlive(Table table, File log);

#endif /* RECOVER_ORPHAN_H */
