/* batchtest.c -- what a batch writes, and what it knows of a log that another program cuts meanwhile
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/batch.h"
#include "format/block.h"
#include "log/logfile.h"
#include "tap.h"

enum { testBLOCK = 4096, testCut = 1000 };

static char path[] = "/tmp/batchtestXXXXXX";
static BatchStruct batch;
static Bool cutting; /* the log is cut at the last moment before the next write */
static Bool interrupting; /* a signal comes before the next write has written anything */
static size_t shortly;    /* the most that one write writes; 0: all */

/* write -- of libc, for the batch */
ssize_t write(int fd, const void *bytes, size_t size)
{
  if (cutting && fd == batch.fd) {
    cutting = FALSE;
    if (truncate(path, testCut) != 0)
      return -1;
  }
  if (interrupting && fd == batch.fd) {
    interrupting = FALSE;
    errno = EINTR;
    return -1;
  }
  return syscall(SYS_write, fd, bytes, shortly > 0 && size > shortly ? shortly : size);
}

/* pwrite -- the same */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
  return syscall(SYS_pwrite64, fd, bytes, shortly > 0 && size > shortly ? shortly : size, offset);
}

/* pieces -- bytes are written whole although each write takes a piece of them */
static void pieces(void)
{
  unsigned char out[1000], in[sizeof out];
  int fd = FileOpenTemporary();
  Index i;

  for (i = 0; i < sizeof out; ++i)
    out[i] = (unsigned char)(i * 7 >> 3);
  shortly = 300;
  TapIs(FileWriteAt(fd, 500, out, sizeof out), ResOK, "bytes are written to a place in pieces");
  TapOk(pread(fd, in, sizeof in, 500) == sizeof in && memcmp(in, out, sizeof in) == 0,
        "which lie one behind the other");
  TapIs(FileWriteAll(fd, out, sizeof out), ResOK, "and where the descriptor stands");
  TapOk(pread(fd, in, sizeof in, 0) == sizeof in && memcmp(in, out, sizeof in) == 0, "all of them");
  shortly = 0;
  (void)close(fd);
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
  interrupting = TRUE;
  TapIs(append(), testBLOCK, "a write that a signal interrupts is made again");
  pieces();
  (void)unlink(path);
  return TapDone();
}
