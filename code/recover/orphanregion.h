/* orphanregion.h -- reads the orphaned region of one process: its header block and its blocks
 *
 * A region is orphaned when its process has ended and no collector is going to take what it holds.  The process may
 * have written anything there, and another process may truncate the file at any moment.  So the file is read with
 * pread, each part is copied before it is judged, and what is not sound is left out.
 *
 * Always true: OrphanRegionTake writes a sound log of unpacked blocks.  For a region that was read (OrphanRegionCheck):
 *   header.slots <= RegionSlotsMAX;  hole <= data;  if `taken`, there is a file `to`
 *
 * Design: design/log.md .leftover      Tests: test/recover/orphanreadertest.c,
 * test/recover/recoverchecktest.c
 */
#ifndef RECOVER_ORPHANREGION_H
#define RECOVER_ORPHANREGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <time.h>

#include "base/types.h"
#include "format/header.h"
#include "format/region.h"
#include "log/logfile.h"
#include "log/table.h"
#include "recover/regionfile.h"

typedef struct OrphanRegionStruct {
  int fd;                       /* of the region's file; the caller's, who closes it */
  uint32_t pid;                 /* of the process, as the maker of the region numbers it; the caller's */
  Bool strict;                  /* OrphanRegionTake ends at the first failure to read; the caller's */
  Table table;                  /* what the logs have, */
  File *file;                   /* and they, by their numbers; the caller's */
  int to;                       /* where OrphanRegionTake writes; -1: a temporary file will be made; the caller's */
  int failed;                   /* errno of the first read that failed since OrphanRegionRead; 0: none has */
  uint64_t events;              /* that OrphanRegionTake found here and the logs do not have */
  uint64_t spoiled;             /* events of blocks that the program has written over */
  Bool taken;                   /* a header block or a block of this region was written */
  Size hole, data;              /* between these two places nothing is in the file, as was found last */
  RegionHeaderStruct header;    /* as OrphanRegionRead found it */
  HeaderStruct parsed;          /* by OrphanRegionText */
  char text[RegionTextSIZE];    /* the header block, by OrphanRegionText */
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;                      /* the block that is being looked at */
} OrphanRegionStruct, *OrphanRegion;

extern Bool OrphanRegionCheck(const OrphanRegionStruct *region);

/* OrphanRegionOpen -- RegionFileOpen, for region->fd and region->pid; FALSE with errno */
extern Bool OrphanRegionOpen(OrphanRegion region, RegionFile file, Bool write, uid_t owner);

/* OrphanRegionRead -- is the file at region->fd a region of our version?  Then region->header has its header.
 * If region->failed is set the file could not be read: what this and all functions below answer may then lack
 * something. */
extern Bool OrphanRegionRead(OrphanRegion region);

/* What a file with the name of a region is. */
typedef enum OrphanKind {
  OrphanREGION,                   /* a region that can be read */
  OrphanUNREAD,                   /* it cannot be read: region->failed */
  OrphanUNBORN,                   /* its maker was killed before it was a region; it is locked now */
  OrphanHEADLESS,                 /* its process, which has ended, has written over its header; it is locked now */
  OrphanOTHER                     /* something else, or a region of another version */
} OrphanKind;

/* OrphanRegionKind -- OrphanRegionRead, and what the file is if it is no region */
extern OrphanKind OrphanRegionKind(OrphanRegion region, RegionFile file);

/* OrphanRegionRuns -- is there a process of this number that has not ended, and that may have made what was made
 * then? A zombie has ended; and one that began later is another, which was given the number of one that has. */
extern Bool OrphanRegionRuns(uint32_t pid, time_t made);

/* OrphanRegionYoung -- was the file changed within the last minute?  Then its maker may still be about to lock it. */
extern Bool OrphanRegionYoung(RegionFile file);

/* OrphanRegionLock -- lock the region, LOCK_SH or LOCK_EX, until it is closed
 *
 * returns  FALSE: its process runs, and holds the lock.  If that process has ended, another reader holds the lock: it
 *          is waited for, a second at most.
 */
extern Bool OrphanRegionLock(OrphanRegion region, int how);

/* OrphanRegionSender -- does the process send to receivers by itself?  These have a log for each process, so what is
 * here belongs only to a log that has a header block of this one. */
extern Bool OrphanRegionSender(OrphanRegion region);

/* OrphanRegionText -- read the newest whole header block of the process into region->text and region->parsed; FALSE:
 * there is none */
extern Bool OrphanRegionText(OrphanRegion region, Size *lengthReturn);

/* The collector that should have taken what is in a region. */
typedef enum OrphanCollector {
  OrphanCollectorNONE,            /* there was none: the process wrote to the log itself */
  OrphanCollectorLIVES,           /* it lives, and will take what is there */
  OrphanCollectorKILLED,          /* it was killed, or the machine went down */
  OrphanCollectorGONE             /* it has ended and left something: it could not write */
} OrphanCollector;

extern OrphanCollector OrphanRegionCollector(OrphanRegion region);

/* OrphanRegionCut -- how many bytes were cut off the log's end after the region's collector had written them;
 * OrphanCutUNKNOWN: what the region says of that cannot be */
#define OrphanCutUNKNOWN UINT64_MAX
extern uint64_t OrphanRegionCut(OrphanRegion region, int log);

/* OrphanRegionUnwritten -- has the collector, or the process if there was none, ended without being able to write what
 * is here? */
extern Bool OrphanRegionUnwritten(OrphanRegion region, OrphanCollector collector);

/* OrphanRegionTake -- write to region->to what the logs do not have
 *
 * That is the newest header block, unless the logs have a newer one that says when the process ended, and the committed
 * events of the blocks, full or open.  Blocks of the flight recorder are left out.  The counts of the region go into
 * region->table.  What cannot be read is left out, too, and region->failed is set; if `strict`, that is an error.
 * errors   ResIO with errno, ResMEMORY
 */
extern Res OrphanRegionTake(OrphanRegion region);

/* OrphanRegionUsed -- after OrphanRegionTake: has the process put anything into the region?  If not, it found no room
 * for its header block and went on without a region, which then does not know how the process ended. */
extern Bool OrphanRegionUsed(OrphanRegion region);

/* OrphanRegionLost -- after OrphanRegionTake: how many events of the process are in no block, neither here nor in a
 * log */
extern uint64_t OrphanRegionLost(OrphanRegion region);

/* OrphanRegionMiscounts -- has the program written over one of the counts that OrphanRegionLost adds up, as far as can
 * be seen?  Such a count adds one event. */
extern Bool OrphanRegionMiscounts(OrphanRegion region);

/* OrphanRegionSays -- put into the table which kinds of events the process sends, and its number, as the region
 * has them
 * left  the process has ended: then the region is newer than any header block */
extern void OrphanRegionSays(OrphanRegion region, Process process, Bool left);

/* OrphanRegionEvents -- how many events in the region were to be sent, whether or not logs have them; those of
 * region->spoiled are lost besides */
extern Count OrphanRegionEvents(OrphanRegion region);

#endif /* RECOVER_ORPHANREGION_H */
