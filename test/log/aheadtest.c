/* aheadtest.c -- while a log is looked through, the system is asked to read ahead where that takes less time
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/logfile.h"
#include "logmake.h"

enum { aheadBLOCKS = 800 };

static char path[] = "/tmp/aheadtestXXXXXX";
static MakeBlockStruct block;

/* What was asked for: `pieces` that follow each other, up to `end`. */
static struct {
  uint64_t pieces, end;
  Bool inOrder;
} asked;

/* Takes the place of libc's. */
int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
  (void)fd;
  if (advice != POSIX_FADV_WILLNEED)
    return 0;
  if (asked.pieces++ > 0 && (uint64_t)offset != asked.end)
    asked.inOrder = FALSE;
  asked.end = (uint64_t)(offset + length);
  return 0;
}

/* aheadOf -- open a log of blocks of about `bytes` each; its size */
static uint64_t aheadOf(Size bytes)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  const char *paths[] = {path};
  LogHooksStruct hooks = {0};
  char error[256] = "";
  uint64_t size, i;
  Log log = NULL;

  MakeHeader(&make, process);
  MakeBlockBegin(&block, process, 20, EventKindObject, 0, 1000);
  for (i = 0; i < aheadBLOCKS; ++i) {
    while (block.header.used + 64 < bytes &&
           MakeEvent(&block, EventPoolFreeCODE, 1000 + i, (uint64_t[]){7, i}, NULL))
      continue;
    MakeBlockEnd(&make, &block, BlockFlagSEALED);
    MakeBlockNext(&block, 1000 + i);
  }
  MakeWrite(&make, path);
  size = make.size;
  asked.pieces = asked.end = 0;
  asked.inOrder = TRUE;
  TapOk(LogOpen(&log, paths, 1, &hooks, error, sizeof error) == ResOK,
        "a log of blocks of %zu bytes is opened%s", bytes, error);
  LogClose(log);
  MakeProcessFree(process);
  MakeFree(&make);
  return size;
}

int main(void)
{
  int fd = mkstemp(path);
  uint64_t size;

  (void)close(fd);
  size = aheadOf(9000);
  TapOk(asked.inOrder && asked.end >= size, "of blocks of some pages all of the log is asked for, once");
  TapOk(asked.pieces > 1 && asked.pieces <= size / 500000, "in large pieces: %llu", (unsigned long long)asked.pieces);
  (void)aheadOf(1000);
  TapIs(asked.pieces, 0, "small blocks are read one behind the other, which the system sees itself");
  (void)unlink(path);
  return TapDone();
}
