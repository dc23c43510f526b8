/* batchtest.c -- what a batch writes, and what it knows of a log that another program cuts meanwhile
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/batch.h"
#include "format/block.h"
#include "tap.h"

enum { testBLOCK = 4096, testCut = 1000 };

static char path[] = "/tmp/batchtestXXXXXX";
static BatchStruct batch;
static Bool cutting; /* the log is cut at the last moment before the next write */

/* write -- of libc, for the batch */
ssize_t write(int fd, const void *bytes, size_t size)
{
  if (cutting && fd == batch.fd) {
    cutting = FALSE;
    if (truncate(path, testCut) != 0)
      return -1;
  }
  return syscall(SYS_write, fd, bytes, size);
}

/* append -- one block more; returns how long the log is */
static uint64_t append(void)
{
  BlockHeaderStruct header = {.size = testBLOCK, .order = BlockORDER};
  unsigned char *place = BatchPlace(&batch, testBLOCK);
  struct stat status;

  memcpy(header.magic, BlockMAGIC, BlockMagicSIZE);
  memset(place, 0, testBLOCK);
  memcpy(place, &header, sizeof header);
  BatchCommit(&batch, testBLOCK);
  if (BatchWrite(&batch) != ResOK || fstat(batch.fd, &status) != 0)
    return 0;
  return (uint64_t)status.st_size;
}

int main(void)
{
  int fd = mkostemp(path, O_APPEND | O_CLOEXEC);

  if (fd < 0)
    return 1;
  BatchOpen(&batch, fd);
  TapIs(append(), testBLOCK, "a block is appended");
  TapIs(append(), 2 * testBLOCK, "and another one");
  TapIs(BatchMissing(&batch), 0, "nothing is missing");
  TapOk(truncate(path, testCut) == 0 && append() == testCut + testBLOCK, "the log is cut between two writes");
  TapIs(BatchMissing(&batch), 2 * testBLOCK - testCut, "what is missing is counted");
  cutting = TRUE;
  TapIs(append(), testCut + testBLOCK, "it is cut between the look at its length and the write");
  TapIs(BatchMissing(&batch), 3 * testBLOCK - testCut, "that is counted, too");
  TapIs(BatchReached(&batch), 4 * testBLOCK, "and how long it would be");
  TapOk(truncate(path, 0) == 0 && BatchMissing(&batch) == 4 * testBLOCK, "and what is cut at the end");
  (void)unlink(path);
  return TapDone();
}
