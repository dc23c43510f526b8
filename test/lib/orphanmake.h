/* orphanmake.h -- synthetic regions, for tests of what reads what dead processes left
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_LEFTMAKE_H
#define TEST_LEFTMAKE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "format/region.h"
#include "loglist.h"

enum { leftEach = 30, leftSlots = 70 };

/* No two tests that run at the same time make regions of the same recording. */
#define leftRECORDING ((uint64_t)0x5eed << 48 | (uint64_t)getpid() << 8)

/* A region being built, in its file; slots are used one after the other. */
typedef struct LeftStruct {
  MakeProcess process;
  RegionHeaderStruct header;
  char path[300];
  int fd;
  Index slot;
} LeftStruct, *Left;

static char leftFolder[] = "/tmp/lefttestXXXXXX";

/* leftLog -- make an empty log, `path`, in a folder of its own: who reads an empty log looks into each region beside it,
 * and there are other tests in /tmp */
__attribute__((unused)) static void leftLog(void)
{
  int fd = mkdtemp(leftFolder) == NULL ? -1 : 0;

  (void)snprintf(path, sizeof path, "%s/log.paw", leftFolder);
  if (fd < 0 || (fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600)) < 0)
    makeFail(path);
  (void)close(fd);
}

__attribute__((unused)) static void leftLogEnd(void)
{
  (void)unlink(path);
  if (rmdir(leftFolder) != 0)
    makeFail(leftFolder); /* a test has left something */
}

/* leftBegin -- the region of a process, beside the log, which has this name and no other */
static void leftBegin(Left left, MakeProcess process)
{
  struct stat log;

  memset(left, 0, sizeof *left);
  left->process = process;
  process->header.recording = leftRECORDING;
  (void)snprintf(left->path, sizeof left->path, "%s.region-%016llx-%u-0", path,
                 (unsigned long long)leftRECORDING, process->header.pid);
  strcpy(process->header.region, left->path);
  left->fd = open(left->path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (left->fd < 0 || ftruncate(left->fd, (off_t)RegionSize(leftSlots)) != 0)
    makeFail(left->path);
  memcpy(left->header.magic, RegionMAGIC, BlockMagicSIZE);
  left->header.order = BlockORDER;
  left->header.major = BlockMAJOR;
  left->header.pid = process->header.pid;
  left->header.slots = leftSlots;
  left->header.identity = process->header.identity;
  left->header.recording = leftRECORDING;
  if (stat(path, &log) == 0)
    left->header.inode = (uint64_t)log.st_ino;
}

/* leftPut -- a block in memory, as the process has it there: neither sealed nor counted */
static void leftPut(Left left, MakeBlock b, unsigned state)
{
  BlockHeaderStruct header = b->header;
  unsigned log2 = (unsigned)__builtin_ctz(header.whole);
  off_t at = (off_t)(RegionFIRST + (left->slot + 1) * RegionSlotSIZE - header.whole);

  header.before = BlockBeforeUNKNOWN;
  header.used = header.count = 0;
  header.last = header.mono = 0;
  left->header.state[left->slot++] = (uint8_t)(state | log2);
  if (pwrite(left->fd, &header, sizeof header, at) != sizeof header ||
      pwrite(left->fd, b->events, b->header.used, at + BlockHeaderSIZE) != (ssize_t)b->header.used)
    makeFail(left->path);
}

/* leftText -- the process's header block as the newest text */
__attribute__((unused)) static void leftText(Left left)
{
  MakeStruct make = {0};
  unsigned which = ++left->header.text.generation & 1;

  MakeHeader(&make, left->process);
  left->header.text.length[which] = (uint32_t)make.size;
  if (pwrite(left->fd, make.bytes, make.size, RegionTEXT + which * RegionTextSIZE) != (ssize_t)make.size)
    makeFail(left->path);
  MakeFree(&make);
}

/* Not inlined: gcc takes the header for its magic. */
static __attribute__((noinline)) void leftWrite(Left left)
{
  if (pwrite(left->fd, &left->header, sizeof left->header, 0) != sizeof left->header)
    makeFail(left->path);
}

/* leftCollected -- the region has a collector that lives.  leftAbandoned -- it has none any more */
static void leftCollector(Left left, short how)
{
  struct flock all = {.l_type = how, .l_whence = SEEK_SET};

  if (fcntl(left->fd, F_OFD_SETLK, &all) != 0)
    makeFail(left->path);
}

__attribute__((unused)) static void leftCollected(Left left)
{
  leftCollector(left, F_RDLCK);
}

__attribute__((unused)) static void leftAbandoned(Left left)
{
  leftCollector(left, F_UNLCK);
}

static void leftEnd(Left left)
{
  (void)close(left->fd);
  (void)unlink(left->path);
}

/* leftFill -- events into the block; expected, if `listed` */
__attribute__((unused)) static void leftFill(MakeBlock b, Count n, Bool listed)
{
  Index i;

  for (i = 0; i < n; ++i) {
    uint64_t id = made.count, time = b->header.last + 1;
    (void)MakeEvent(b, EventPoolFreeCODE, time, (uint64_t[]){7, listed ? id : 999999}, NULL);
    if (listed)
      listAdd(&made, time, b, (uint32_t)id, id, EventPoolFreeCODE);
  }
}

__attribute__((unused)) static void leftUncounted(MakeBlock b, Make make, uint8_t flags)
{
  uint64_t before = b->header.before;

  b->header.before = BlockBeforeUNKNOWN;
  MakeBlockEnd(make, b, flags);
  b->header.before = before;
}

#endif /* TEST_LEFTMAKE_H */
