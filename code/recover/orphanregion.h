/* orphanregion.h -- reads the region of one dead process: its header block and its blocks
 *
 * The process may have written anything there, and somebody may cut the file short meanwhile: it is read by place, each
 * part is copied first and judged then, and what is not sound is left out.
 *
 * Always true: what is written is a sound log, unpacked.
 *
 * Design: design/log.md .leftover      Tests: test/recover/orphantest.c
 */
#ifndef RECOVER_ORPHANREGION_H
#define RECOVER_ORPHANREGION_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/stat.h>

#include "base/types.h"
#include "format/header.h"
#include "format/region.h"
#include "log/table.h"

typedef struct OrphanRegionStruct {
  int fd;                       /* the region; the caller's, open and locked */
  uint32_t pid;                 /* of the process, for who made the region, as its name says; the caller's */
  int failed;                   /* why a read of it failed, since OrphanRegionRead began: errno; 0: none has */
  Bool strict;                  /* OrphanRegionTake ends where one does; the caller's */
  Table table;                  /* what the logs have */
  int to;                       /* the temporary file; -1 as long as there is none */
  uint64_t events;              /* taken that the logs have not, of this region */
  Bool taken;                   /* a header block or a block was written, of this region */
  Size hole, data;              /* nothing is in the file between these two places, as was found last */
  uint64_t spoiled;             /* events of blocks in it that the program has written over */
  RegionHeaderStruct header;    /* as OrphanRegionRead found it */
  HeaderStruct parsed;
  char text[RegionTextSIZE];
  union {
    BlockHeaderStruct header;
    uint64_t align;
    unsigned char bytes[BlockMAX];
  } block;
} OrphanRegionStruct, *OrphanRegion;

/* OrphanRegionRead -- is the file at region->fd a region of our version?  Its header, then.  Where region->failed is set
 * nobody knows, nor is what any of these says of a region all that is there. */
extern Bool OrphanRegionRead(OrphanRegion region);

/* OrphanRegionUnborn -- is the file, which is none, what was to become a region when its maker was killed?  Then it is
 * locked.  Who makes one locks it before it has a size, and writes its header after that (format/region.h). */
extern Bool OrphanRegionUnborn(OrphanRegion region, const struct stat *status, uint32_t pid);

/* OrphanRegionOver -- is the file, which no region can be read from, one whose process has written over its beginning, and has
 * ended?  Then it is locked.  One of another version is none. */
extern Bool OrphanRegionOver(OrphanRegion region, const struct stat *status, uint32_t pid);

/* OrphanRegionRuns -- is there a process of this number that has not ended?  One that nobody has waited for has no program any
 * more. */
extern Bool OrphanRegionRuns(uint32_t pid);

/* OrphanRegionYoung -- was the file made just now?  Somebody may be about to read it. */
extern Bool OrphanRegionYoung(const struct stat *status);

/* OrphanRegionUsed -- after OrphanRegionTake: has its process put anything there?  One that found no room for its header block in it
 * has gone on without it: then the region knows nothing of that process's end. */
extern Bool OrphanRegionUsed(OrphanRegion region);

/* OrphanRegionLock -- lock it, LOCK_SH or LOCK_EX, until it is closed.  FALSE: somebody has it who lives.  Where there is no
 * process of that number any more, who has it reads it or takes it, and is waited for, a second at most. */
extern Bool OrphanRegionLock(OrphanRegion region, int how);

/* OrphanRegionText -- find the newest header block that is whole: it is in region->text then, and in region->parsed what
 * it says.  FALSE: there is none. */
extern Bool OrphanRegionText(OrphanRegion region, Size *lengthReturn);

/* Who should have taken what is there. */
typedef enum OrphanCollector {
  OrphanCollectorNONE,            /* nobody: the process sent itself */
  OrphanCollectorLIVES,           /* a collector, which will */
  OrphanCollectorKILLED,          /* one that was killed, or went down with the machine */
  OrphanCollectorGONE             /* one that has ended without: it could not write */
} OrphanCollector;

extern OrphanCollector OrphanRegionCollector(OrphanRegion region);

/* OrphanRegionCut -- how many bytes of its end the log lacks that the region's collector had written; LeftCutUNKNOWN: what the
 * region says of that cannot be */
#define LeftCutUNKNOWN UINT64_MAX
extern uint64_t OrphanRegionCut(OrphanRegion region, int log);

/* OrphanRegionUnwritten -- did whoever should have written what is there end without: its collector, or the process, if that
 * has none? */
extern Bool OrphanRegionUnwritten(OrphanRegion region, OrphanCollector collector);

/* OrphanRegionLost -- how many events of the dead process no block has, neither here nor in the logs; after OrphanRegionTake */
extern uint64_t OrphanRegionLost(OrphanRegion region);

/* OrphanRegionMiscounts -- has it written over a count of those, as far as that can be seen?  Then one event of it counts. */
extern Bool OrphanRegionMiscounts(OrphanRegion region);

/* OrphanRegionSays -- which kinds the process sends, or sent at last, and its number, as its region has them
 * left  so it was when it died: no header block knows better */
extern void OrphanRegionSays(OrphanRegion region, Process process, Bool left);

/* OrphanRegionTake -- write to region->to (made if need be) what the logs do not have: the header block's newest text,
 * unless they have a newer one that says when the process had ended, and what is committed in blocks, full or open.  The
 * flight recorder's are left.  What the region counts of the process is in region->table then.  What cannot be read is left
 * out, which region->failed says; if `strict`, it ends there: ResIO, with errno.  ResIO, ResMEMORY. */
extern Res OrphanRegionTake(OrphanRegion region);

/* OrphanRegionEvents -- how many events are there that were to be sent, whatever logs have; region->spoiled are
 * lost besides */
extern Count OrphanRegionEvents(OrphanRegion region);

#endif /* RECOVER_ORPHANREGION_H */
