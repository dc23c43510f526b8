/* processregion.c -- the memory of a process that outlives it: made, offered to a collector, and found again after exec
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/process.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "emit/control.h"
#include "emit/handoffer.h"
#include "emit/send.h"
#include "plinth/quiet.h"

enum { processPage = 4096 };

/* processAdopt -- a block that this process left behind when it was another program: send it as it is */
static Res processAdopt(void *process, void *base, Size size)
{
  BlockHeader block = base;
  BlockHeaderStruct header;
  BlockTallyStruct tally;
  Bool swapped;

  if (BlockHeaderUnsealedRead(&header, &swapped, block) != ResOK || swapped || header.whole != size)
    return ResOK;
  BlockWalk(&tally, (char *)base + BlockHeaderSIZE, size - BlockHeaderSIZE, block->first, TRUE);
  /* Also if there is nothing in it: that it was found is worth knowing. */
  return SendBlock(process, block, &tally, BlockFlagRECOVERED);
}

/* processDumped -- cores of this process are to have its region, which the system leaves out of them unless asked: bits
 * of coredump_filter.  Nothing is taken out. */
static void processDumped(Store store)
{
  enum { nameless = 2, named = 8, hex = 16 };
  static const char path[] = "/proc/self/coredump_filter";
  char room[32];
  Word filter = 0, wanted = store->path[0] != '\0' ? named : nameless;
  Size length = QuietReadFile(path, room, sizeof room - 1);
  TextStruct text;
  const char *at;
  long fd;

  room[length] = '\0';
  for (at = room; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); ++at)
    filter = filter * hex + (Word)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  if (at == room || (filter & wanted) != 0)
    return;
  TextInit(&text, room, sizeof room);
  TextHex(&text, filter | wanted);
  fd = QuietCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)QuietCall(SYS_write, fd, room, TextLength(&text));
  (void)QuietCall(SYS_close, fd);
}

/* processRegion -- tell in the region how blocks are to be handed over, and let others reach the control table in it */
static void processRegion(Process process, int fd)
{
  RegionHeader region = ProcessRegion(process);
  Index i;

  processDumped(&process->shared);
  region->policy = ControlSettings.policy;
  region->limit = ControlSettings.limit;
  region->blockSize = (uint32_t)process->blockSize;
  region->raw = ControlSettings.raw;
  region->chosen = ControlSettings.chosen;
  region->frequent = EventKindsFREQUENT;
  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) == &PlinthClassFile) {
      region->device = ProcessPlinths[i].device;
      region->inode = ProcessPlinths[i].inode;
    }
  if (ControlSettings.log[0] != '\0')
    ControlLogFile(&region->device, &region->inode);
  if (region->policy == RegionPolicyOVERWRITE)
    (void)StoreProvide(&process->shared, 0, sizeof *region);
  if (StoreProvide(&process->shared, RegionCONTROL, processPage))
    ControlShare(fd, region);
}

/* processAlone -- there is no collector to be had: open the log, and begin with what an earlier program of this process
 * left */
static void processAlone(Process process)
{
  if (ControlSettings.log[0] != '\0')
    ControlOpenLog();
  if (ProcessLog()[0] != '\0')
    StoreAdopt(ProcessLog(), processAdopt, process);
}

void ProcessShareAlone(Process process)
{
  int fd;

  if (ProcessRegion(process) != NULL || !(ProcessSends() || ControlSettings.allowed))
    return;
  /* The blocks of what this process was before exec refer to a header of theirs, which is in the log. */
  if (ControlSettings.log[0] == '\0')
    processAlone(process);
  if (StoreOpen(&process->shared, ProcessLog(), process->identity, &fd) != ResOK)
    QuietSay("no memory for blocks", "", "events go through private memory");
  else if (fd >= 0)
    processRegion(process, fd);
  else if (ProcessLog()[0] != '\0')
    QuietSay("no shared memory for blocks", ProcessLog(),
             "events that are not yet written are lost if the process is killed");
  if (ControlSettings.log[0] != '\0' && (fd < 0 || SendHeader(process) != ResOK || !HandOffer(process, fd)))
    processAlone(process);
  if (!ProcessCollected(process))
    (void)SendHeader(process);
  if (fd >= 0)
    (void)QuietCall(SYS_close, fd);
}

void ProcessShare(Process process)
{
  ProcessLock(process);
  ProcessShareAlone(process);
  ProcessUnlock(process);
}
