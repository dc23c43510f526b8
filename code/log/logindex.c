/* logindex.c -- write the index file of a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/logset.h"

/* logIndexFail -- say why the file cannot be written */
static Res logIndexFail(Res res, const char *path, char *error, Size size)
{
  if (res == ResUNIMPL)
    (void)snprintf(error, size, "%s: only a log in a file has an index", path);
  else if (res == ResPARAM)
    (void)snprintf(error, size, "%s.idx: the file is no index, and is not overwritten", path);
  else if (res == ResLIMIT)
    (void)snprintf(error, size, "%s: the name is too long", path);
  else
    (void)snprintf(error, size, "%s.idx: %s", path, res == ResMEMORY ? "no memory" : strerror(errno));
  return res;
}

/* logIndexScan -- look through the log, and write down what is found */
static Res logIndexScan(LogIndexed indexed, Log log, Scan scan, char *error, Size size)
{
  File file = log->file[0];
  Res res = BesideCreate(&scan->beside, file);

  if (res != ResOK)
    return logIndexFail(res, file->path, error, size);
  LogScanBegin(log, scan);
  res = ScanFile(scan, file, 0);
  if (res == ResOK && scan->blocks + scan->headers == 0) {
    res = LogRefuse(scan, file, error, size);
  } else {
    if (res == ResOK)
      res = BesideFinish(scan->beside);
    if (res != ResOK)
      (void)logIndexFail(res, file->path, error, size);
  }
  indexed->blocks = scan->beside->head.blocks;
  indexed->covered = scan->beside->head.covered;
  indexed->bytes = scan->beside->at;
  BesideClose(scan->beside);
  return res;
}

Res LogIndexWrite(LogIndexed indexedReturn, const char *path, LogHooks hooks, char *error, Size size)
{
  Scan scan;
  Log log;
  Res res = LogMake(&log, &path, 1, hooks, error, size);

  if (res != ResOK)
    return res;
  scan = calloc(1, sizeof *scan);
  if (scan != NULL) {
    res = logIndexScan(indexedReturn, log, scan, error, size);
    free(scan->text);
  } else {
    res = ResMEMORY;
    (void)snprintf(error, size, "%s: no memory", path);
  }
  free(scan);
  LogClose(log);
  return res;
}
