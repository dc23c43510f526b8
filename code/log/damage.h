/* damage.h -- what is damaged and what is missing, reported once
 *
 * Two things are known when the files are scanned: regions where nothing sound stands, and gaps in the numbering of
 * the streams' blocks (tally.h).  A gap that lies at a region is the region's loss, told with its place; the others
 * are told with the place of the block behind them.
 *
 * Always true (DamagedRangesCheck): regions do not overlap and stand in order of place.
 *
 * Design: design/log.md .gap      Tests: test/log/logbadtest.c, test/log/badlog.t
 */
#ifndef LOG_DAMAGE_H
#define LOG_DAMAGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/index.h"
#include "log/log.h"

typedef struct DamagedRangeStruct {
  uint64_t place, end; /* as the index has them; end is in the same file */
  const char *what;    /* a constant */
  Bool zeros;          /* nothing else stands here: the file may have been cut down to its newest blocks */
  Bool harmless;       /* what stood here held no events: a header block */
  Bool torn;           /* writes that were cut short stand here, and nothing else */
  Bool tail;           /* nothing sound follows in the file, */
  Bool cut;            /* and it ends within something */
  uint32_t guess;      /* events that the damaged header claims; 0 if it cannot be read */
  Bool matched;        /* a gap in some stream's numbering lies here, */
  Bool doubted;        /* or one of which nobody knows whether all that was in it was overwritten on purpose */
  int exact;           /* LogLost...: how well `lost` is known; lying in two regions, the split is a guess */
  uint64_t lost;       /* events of those gaps */
} DamagedRangeStruct, *DamagedRange;

enum { DamagedRangesMAX = 4096 }; /* kept; what comes then is added to the last */

typedef struct DamagedRangesStruct {
  Count count, capacity;
  DamagedRange region; /* owned */
} DamagedRangesStruct, *DamagedRanges;

/* DamagedRangesAdd -- one more, behind all others; ResMEMORY */
extern Res DamagedRangesAdd(DamagedRanges regions, const DamagedRangeStruct *region);
extern void DamagedRangesFree(DamagedRanges regions);

/* DamagedRangesNothing -- has a file of `size` bytes nothing but, perhaps, the beginning of its first block?  Then nobody says
 * which recording it is of. */
extern Bool DamagedRangesNothing(DamagedRanges regions, Index file, uint64_t size);
extern Bool DamagedRangesCheck(DamagedRanges regions);

/* GapsDropped -- what was cut away from the logs on purpose, all in all; FALSE if nothing was.  *processReturn is the
 * one whose clock tells until when. */
extern Bool GapsDropped(Dropped droppedReturn, Process *processReturn, Table table);

/* Whom to tell.  Gaps are counted, and told while `telling`. */
typedef struct ReporterStruct {
  LogHooksStruct hooks;
  const char *const *paths; /* by file */
  Index memory;             /* the file of what was taken from memory; 0: nothing was */
  uint64_t gaps, lost;
  uint64_t lacks;           /* of ReporterLack */
  Bool telling;
  Bool accounted;           /* of all processes it is known that nothing is missing: what was cut short came again */
  Bool killed;              /* a process or eventrec was killed, as far as is known: see gapsDoubt */
  Bool dropped;             /* blocks were cut away on purpose: zeros, and gaps that they explain, are no damage */
} ReporterStruct, *Reporter;

/* ReporterGap -- one line: at `place`, `what` happened and `lost` events are gone; exact as LogGapStruct has it */
extern void ReporterGap(Reporter reporter, uint64_t place, const char *what, uint64_t lost, int exact);

/* ReporterNote -- printf to the note hook */
extern void ReporterNote(Reporter reporter, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ReporterLack -- a note that the log, or what was read of it, may not have all that was recorded */
extern void ReporterLack(Reporter reporter, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* GapsOlder -- how many events at least of a stream of which only the newest were to be kept are not there; 0: it is none */
extern uint64_t GapsOlder(Stream stream);

/* GapsTell -- all files are scanned: tell of everything that is missing
 * growing  but not of ends, which are to come: whoever finds that nobody writes any more tells of those (GapsEnds) */
extern void GapsTell(Reporter reporter, DamagedRanges regions, Table table, Bool growing);

/* GapsBehind -- a block with this number came: tell what of its stream is missing before it */
extern void GapsBehind(Reporter reporter, DamagedRanges regions, Stream stream, uint64_t sequence);

/* GapsRegions -- tell the regions from `first` to `limit`, exclusive */
extern void GapsRegions(Reporter reporter, DamagedRanges regions, Index first, Index limit);

/* GapsEnds -- tell what is missing at the end of processes' parts, by their closing header blocks; FALSE if it is not
 * known of all processes that nothing is, there */
extern Bool GapsEnds(Reporter reporter, DamagedRanges regions, Table table);

/* GapsDiscarded -- what was discarded in each process's streams, as its closing header blocks say: also in those of which
 * no block is there (`unseen`) */
extern void GapsDiscarded(Table table);

#endif /* LOG_DAMAGE_H */
