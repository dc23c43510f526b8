/* traceset.h -- an opened traceset, for the files that put it together
 *
 * The parts of an opened traceset, for those files of this room that put them together: opening, reading, kinds.
 *
 * Always true: scanned, then fitted, then read; `path` and `file` are in the order of opening, those taken from shared
 * memory last; (LogCheck) each file has its name, and an index file serves further only where there is one file.
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
#include "log/missing.h"
#include "log/scan.h"
#include "log/table.h"

typedef struct FollowStruct *Follow;

/* What passes over a log have cost so far. */
typedef struct LogCostsStruct {
  uint64_t seeks;     /* passes that a service began by looking for a place, */
  uint64_t restores;  /* and by going on with a saved one */
  uint64_t blocks;    /* loaded */
  uint64_t decoded;   /* events that those blocks listed */
} LogCostsStruct;

struct LogStruct {
  Count files;
  File *file;         /* owned */
  char **path;        /* owned copies, by file */
  TableStruct table;
  IndexStruct index;
  DamagedRangesStruct regions;
  ReporterStruct reporter;
  LogSummaryStruct summary; /* except what the table and the reporter have */
  uint64_t origin;    /* ns since 1970 of fine time 0 */
  Bool gapsTold;      /* a pass has told what scanning found, */
  void *told;         /* and damage of blocks: a tree (tsearch) of places, with what it is in the highest bits, so that
                         another pass does not tell it again; its memory grows with the damage, not with the log */
  LogCostsStruct costs;
  IndexFile making;   /* the index file that is being written; or NULL */
  IndexFile known;    /* index file of the only file, if the file has not grown and no memory was added; or NULL */
  Follow follow;      /* where it is followed while it grows (follow.h); else NULL */
};

/* LogScanBegin -- where the scan puts its results */
extern void LogScanBegin(Log log, Scan scan);

/* LogMake -- a Log with its files open, not scanned yet; errors as LogOpen has them
 * LogMade -- hand it out if `res` is ResOK; else close it, and see that there is a message */
extern Res LogMake(Log *logReturn, const char *const *paths, Count n, LogHooks hooks, char *error, Size size);
extern Res LogMade(Log *logReturn, Log log, Res res, char *error, Size size);

/* LogRefuse -- nothing sound was found in a file: say what it is */
extern Res LogRefuse(Scan scan, File file, char *error, Size size);

/* LogScanned -- take the numbers of the summary from the scan */
extern void LogScanned(Log log, Scan scan);

extern Bool LogCheck(Log log);

/* LogSpan -- all files are scanned: make the clocks' lines, and find the first and the last time */
extern Res LogSpan(Log log);

/* LogLeftover -- scan what dead processes left in shared memory, as one more file */
extern Res LogLeftover(Log log, Scan scan);

/* FollowDestroy -- for LogClose */
extern void FollowDestroy(Follow follow);

#endif /* REQUEST_TRACESET_H */
