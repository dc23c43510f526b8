/* logset.h -- a Log, from the inside
 *
 * The parts of an opened traceset, for those files of this room that put them together: opening, reading, kinds.
 *
 * Always true: scanned, then fitted, then read; `paths` and `file` are in the order of opening, those
 * taken from shared memory last.
 *
 * Design: design/log.md      Tests: test/logtest.c
 */
#ifndef LOG_LOGSET_H
#define LOG_LOGSET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/file.h"
#include "log/gap.h"
#include "log/index.h"
#include "log/log.h"
#include "log/scan.h"
#include "log/table.h"

struct LogStruct {
  Count files;
  File *file;         /* owned */
  char **path;        /* owned copies, by file */
  TableStruct table;
  IndexStruct index;
  RegionsStruct regions;
  TellerStruct teller;
  LogSummaryStruct summary; /* but for what the table and the teller know */
  uint64_t origin;    /* ns since 1970 of fine time 0 */
  Bool told;          /* a pass has told the gaps */
};

#endif /* LOG_LOGSET_H */
