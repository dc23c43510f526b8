/* leftover.h -- what processes that died have left in shared memory
 *
 * A process that sends keeps its open blocks in a file that its header names (format/region.h), and removes the file
 * when it ends. If the file is there and nobody holds its lock, the process was killed, and the blocks belong to the
 * log.
 *
 * Design: design/log.md .leftover      Tests: test/logwhotest.c
 */
#ifndef LOG_LEFTOVER_H
#define LOG_LEFTOVER_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/file.h"
#include "log/gap.h"
#include "log/table.h"

/* LeftoverTake -- look for the regions of all processes, and copy what the logs do not have
 *
 * fileReturn  a temporary file of sound, unpacked blocks, to be scanned; the caller's; NULL if nothing was found
 * files       by number: what a process had, whose header is in a core file, was taken with that
 * regions     of these, the tail of a log whose process was recovered goes: a block was being written, and is in the
 *             region whole
 *
 * Each process that something was taken of is told by a note.  Nothing outside is changed.  ResMEMORY, ResIO (the
 * temporary file).
 */
extern Res LeftoverTake(File *fileReturn, Table table, File *files, Regions regions, Teller teller);

#endif /* LOG_LEFTOVER_H */
