/* damage.h -- what is damaged and what is missing, reported once
 *
 * Two things are known when the files are scanned: regions where nothing sound stands, and gaps in the numbering of
 * the streams' blocks (blockruns.h).  A gap that lies at a region is the region's loss, told with its place; the others
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
  uint64_t header;     /* if it is one, of a header block: the identity of its process; else 0 */
  Bool again;          /* another header block of that process is whole */
  Bool tail;           /* nothing sound follows in the file, */
  Bool cut;            /* and it ends within something */
  uint32_t guess;      /* events that the damaged header claims; 0 if it cannot be read */
  Bool matched;        /* a gap in some stream's numbering lies here, */
  Bool doubted;        /* or one of which it is not known whether all of it was overwritten on purpose */
  int exact;           /* LogLost...: how well `lost` is known; lying in two regions, the split is a guess */
  uint64_t lost;       /* events of those gaps */
  Bool told;
} DamagedRangeStruct, *DamagedRange;

enum { DamagedRangesMAX = 4096 }; /* kept; what comes then is added to the last */

typedef struct DamagedRangesStruct {
  Count count, capacity;
  DamagedRange region; /* owned */
} DamagedRangesStruct, *DamagedRanges;

/* Whom to tell.  Gaps are counted, and told while `telling`. */
typedef struct ReporterStruct {
  LogHooksStruct hooks;
  const char *const *paths; /* by file */
  Index memory;             /* the file of what was taken from memory; 0: nothing was */
  uint64_t gaps, lost;
  uint64_t lacks;           /* of ReporterLack */
  Bool telling;
  Bool accounted;           /* of all processes it is known that nothing is missing: what was cut short came again */
  Bool killed;              /* a process or eventrec was killed, as far as is known: see missing.c */
  Bool dropped;             /* blocks were cut away on purpose: zeros, and gaps that they explain, are no damage */
} ReporterStruct, *Reporter;

/* DamagedRangesAdd -- one more, behind all others; ResMEMORY */
extern Res DamagedRangesAdd(DamagedRanges regions, const DamagedRangeStruct *region);
extern void DamagedRangesFree(DamagedRanges regions);

/* DamagedRangesNothing -- has a file of `size` bytes nothing but, perhaps, the beginning of its first block?  Then
 * nobody says which recording it is of. */
extern Bool DamagedRangesNothing(DamagedRanges regions, Index file, uint64_t size);

/* DamagedRangesForgetTail -- an incomplete block at the end of a file is no damage: it is being written, or is whole in
 * shared memory.  Forget its range, if there is one. */
extern void DamagedRangesForgetTail(DamagedRanges regions, Index file);

extern Bool DamagedRangesCheck(DamagedRanges regions);

/* DamagedRangesZeros -- do zeros stand somewhere between two places?
 * DamagedRangesDoubt -- regions between two places have, perhaps, blocks of which it is not known whether they were
 * overwritten on purpose
 * DamagedRangesMatch -- lay `lost` events between two places to the regions there; FALSE if there are none.  Where
 * there are several, each but the last gets what its damaged header claims.  So does each where `lost` is only the
 * least that it can be. */
extern Bool DamagedRangesZeros(DamagedRanges regions, uint64_t from, uint64_t to);
extern void DamagedRangesDoubt(DamagedRanges regions, uint64_t from, uint64_t to);
extern Bool DamagedRangesMatch(DamagedRanges regions, uint64_t from, uint64_t to, uint64_t lost, Bool exact);

/* DamagedRangesTell -- tell of the regions before `limit` that were not told of yet
 * last  all that comes has come; else writes that were cut short wait: what they lack may come again */
extern void DamagedRangesTell(DamagedRanges regions, Reporter reporter, Index limit, Bool last);

/* ReporterGap -- one line: at `place`, this happened and `lost` events are gone; exact as LogGapStruct has it
 * ReporterGapOf -- the same as a gap */
extern void ReporterGap(Reporter reporter, uint64_t place, uint64_t lost, int exact, const char *format, ...)
  __attribute__((format(printf, 5, 6)));
extern LogGapStruct ReporterGapOf(Reporter reporter, uint64_t place, const char *what, uint64_t lost, int exact);

/* ReporterNote -- printf to the note hook */
extern void ReporterNote(Reporter reporter, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ReporterLack -- a note that the log, or what was read of it, may not have all that was recorded */
extern void ReporterLack(Reporter reporter, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* LOG_DAMAGE_H */
