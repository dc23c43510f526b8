/* traceset.h -- an opened traceset, for the files that put it together
 *
 * The parts of an opened traceset, for those files of this room that put them together: opening, reading, kinds.
 *
 * Always true: scanned, then fitted, then read; `paths` and `file` are in the order of opening, those
 * taken from shared memory last.
 *
 * Design: design/log.md      Tests: test/log/logtest.c
 */
#ifndef REQUEST_TRACESET_H
#define REQUEST_TRACESET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/damage.h"
#include "log/index.h"
#include "log/indexfile.h"
#include "log/log.h"
#include "log/logfile.h"
#include "log/scan.h"
#include "log/table.h"

typedef struct FollowStruct *Follow;

/* Which blocks' damage has been told, so that another pass over them does not tell it again: a set of numbers, in
 * memory that grows with the damage, not with the log.
 * Always true: over a third of the slots are empty; an empty slot is 0. */
typedef struct ToldStruct {
  uint64_t *slot; /* owned */
  Count count, capacity;
} ToldStruct, *Told;

struct LogStruct {
  Count files;
  File *file;         /* owned */
  char **path;        /* owned copies, by file */
  TableStruct table;
  IndexStruct index;
  DamagedRangesStruct regions;
  ReporterStruct reporter;
  LogSummaryStruct summary; /* but for what the table and the reporter know */
  uint64_t origin;    /* ns since 1970 of fine time 0 */
  Bool gapsTold;      /* a pass has told what scanning found, */
  ToldStruct told;    /* and the damage of these blocks: by place, with what it is in the highest bits */
  IndexFile making;   /* the index file that is being written; or NULL */
  IndexFile known;    /* that of the only file, where nothing has come to it since, and nothing from elsewhere; or NULL */
  Follow follow;      /* where it is followed while it grows (follow.h); else NULL */
};

/* LogScanBegin -- where the scan puts what it finds */
extern void LogScanBegin(Log log, Scan scan);

/* LogMake -- a Log with its files open, not scanned yet; errors as LogOpen has them
 * LogMade -- hand it out if `res` is ResOK; else close it, and see that there is a message */
extern Res LogMake(Log *logReturn, const char *const *paths, Count n, LogHooks hooks, char *error, Size size);
extern Res LogMade(Log *logReturn, Log log, Res res, char *error, Size size);

/* LogRefuse -- a file in which nothing sound was found: say what it is */
extern Res LogRefuse(Scan scan, File file, char *error, Size size);

/* LogScanned -- take from the scan what the summary says */
extern void LogScanned(Log log, Scan scan);

/* LogSpan -- all files are scanned: lay the clocks, and find the first and the last time */
extern Res LogSpan(Log log);

/* LogLeftover -- take what processes that died have left in shared memory, as one more file, and scan it */
extern Res LogLeftover(Log log, Scan scan);

/* FollowDestroy -- for LogClose */
extern void FollowDestroy(Follow follow);

#endif /* REQUEST_TRACESET_H */
