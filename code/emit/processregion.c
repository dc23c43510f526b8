/* processregion.c -- the memory of a process that outlives it: made, by a collector or here, and found again after exec
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "emit/control.h"
#include "emit/send.h"
#include "handover/collectorsocket.h"
#include "handover/formerprogram.h"
#include "plinth/descriptor.h"
#include "plinth/rawsyscall.h"

enum { processPage = 4096 };

/* Whoever sends what an earlier program of the process left. */
typedef struct processBeforeStruct {
  Process process;
  Former former;
} processBeforeStruct, *processBefores;

/* processFound -- tell readers that all blocks of the region are in the log.  Where it has no header block that can be made the closing
 * one: by an empty block of the flight recorder, which is there also if the region had none */
static Res processFound(Process process, Former *former, RegionHeader region)
{
  BlockHeaderStruct header;
  BlockTallyStruct tally;
  Res res = FormerEnd(former, region);

  if (res != ResFAIL)
    return res;
  memset(&header, 0, sizeof header);
  memset(&tally, 0, sizeof tally);
  memcpy(header.magic, BlockMAGIC, BlockMagicSIZE);
  header.order = BlockORDER;
  header.major = BlockMAJOR;
  header.whole = BlockMIN;
  header.pid = header.thread = region->pid;
  header.process = region->identity;
  header.stream = StreamNumbers + 1; /* of the first thread */
  header.first = EventClock(EVENT_SLOW);
  return SendBlock(process, &header, &tally, BlockFlagRECOVERED | BlockFlagUNSENT);
}

/* processAdopt -- a block that this process left behind when it was another program, or its header block: send it as it
 * is */
static Res processAdopt(void *data, RegionHeader region, void *base, Size size)
{
  processBefores before = data;
  Process process = before->process;
  BlockHeader block = base;
  BlockHeaderStruct header;
  BlockTallyStruct tally;
  Bool swapped;
  Res res;

  if (base == NULL)
    return processFound(process, &before->former, region);
  if (size >= BlockMagicSIZE && memcmp(base, HeaderMAGIC, BlockMagicSIZE) == 0) {
    /* It was for a collector to write, which has died. */
    __atomic_store_n(&process->alone, TRUE, __ATOMIC_RELAXED);
    return SendText(base, size);
  }
  if (BlockHeaderUnsealedRead(&header, &swapped, block) != ResOK || swapped || header.whole != size) {
    process->lost += BlockSpoiled(block, size);
    return ResOK;
  }
  if ((header.flags & BlockFlagUNSENT) != 0)
    return ResOK; /* nobody has asked for the flight recorder's events */
  BlockWalk(&tally, (char *)base + BlockHeaderSIZE, size - BlockHeaderSIZE, block->first, TRUE);
  process->lost += tally.broken;
  res = SendBlock(process, block, &tally, BlockFlagRECOVERED | (RegionOverwrites(region, block) ? BlockFlagUNSENT : 0));
  if (res == ResOK)
    FormerBlock(&before->former, region, block, tally.count);
  return res;
}

/* processPolicy -- where the file system has no room for the counts of what is overwritten, nothing is overwritten: to touch a page
 * that it cannot give would kill the program (design/collector.md .policy.forgotten) */
static uint32_t processPolicy(Process process)
{
  RegionHeader region = ProcessRegion(process);
  Bool room = ControlSettings.policy != RegionPolicyOVERWRITE ||
              (StoreProvide(&process->shared, 0, sizeof *region) &&
               StoreProvide(&process->shared, RegionFORGOT, region->slots * sizeof(uint64_t)));

  return room ? ControlSettings.policy : RegionPolicyDISCARD;
}

/* processRegion -- tell in the region how blocks are to be handed over, and let others reach the control table in it
 * control  the region's file, without its lock (lent); or with it, where nothing else is to be had */
static void processRegion(Process process, int control, Bool lent)
{
  RegionHeader region = ProcessRegion(process);
  Index i;

  region->policy = processPolicy(process);
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
  if (StoreProvide(&process->shared, RegionCONTROL, processPage))
    ControlShare(control, region, lent);
}

/* processAgain -- another description of a file that is open; -1: there is none */
static int processAgain(int fd)
{
  struct stat its, status;
  char path[40];
  TextStruct text;
  long own;

  TextInit(&text, path, sizeof path);
  TextString(&text, "/proc/thread-self/fd/"); /* the table may be this thread's own (plinth/descriptor.h) */
  TextDecimal(&text, (uint64_t)fd);
  own = RawCall(SYS_openat, AT_FDCWD, TextTerminate(&text), O_RDWR | O_CLOEXEC);
  if (own < 0)
    return -1;
  /* What stands there under /proc need not be the system's. */
  if (RawStat(fd, &its) == 0 && RawStat((int)own, &status) == 0 && its.st_dev == status.st_dev &&
      its.st_ino == status.st_ino)
    return (int)own;
  (void)RawCall(SYS_close, own);
  return -1;
}

/* processOpened -- the same of a region that the process has made itself: what its `fd` opens has the lock, and keeps
 * it as long as it is mapped.  It is closed: there may be no other number for the log. */
static void processOpened(Process process, int fd)
{
  int own;

  RawDumped(process->shared.path[0] != '\0');
  own = processAgain(fd);
  processRegion(process, own >= 0 ? own : fd, own >= 0);
  if (own >= 0)
    (void)RawCall(SYS_close, own);
  (void)RawCall(SYS_close, fd);
}

/* processMeet -- have the collector make the region, and take what is put there.  FALSE: there is none, or it cannot be
 * reached, or no memory. */
static Bool processMeet(Process process)
{
  HandGrantStruct grant;
  Bool met = FALSE;

  if (!HandMeet(process, &grant))
    return FALSE;
  if (StoreAttach(&process->shared, grant.fd[RegionGrantLOCKED], grant.answer.slots, grant.answer.path) == ResOK) {
    ControlSettings.recording = grant.answer.recording;
    if (grant.answer.quiet)
      ControlStop();
    processRegion(process, grant.fd[RegionGrantCONTROL], TRUE);
    met = SendHeader(process) == ResOK;
    if (met)
      HandGrantLog(&grant);
    else
      StoreDetach(&process->shared);
    __atomic_store_n(&process->collected, met, __ATOMIC_RELEASE);
  }
  HandGrantDrop(&grant);
  return met;
}

/* processDoomed -- nothing that the process keeps will ever be read: its region has no name, or is where its parent's cannot be
 * seen, in another root folder for instance, and no way out takes its header block: an open one may be full.  Another process's
 * region can count what is lost.
 * headedReturn  the header block was taken */
static Bool processDoomed(Process process, int fd, Bool *headedReturn)
{
  Bool hidden = ProcessRegion(process) == NULL || process->shared.path[0] == '\0' || !StoreFamilySeen();

  *headedReturn = hidden && ProcessOpen() && SendHeader(process) == ResOK;
  if (!hidden || *headedReturn || !ProcessSends() || !(ControlLedgerCount(0) || ControlLedgerFind(ProcessLog())))
    return FALSE;
  StoreUnlink(&process->shared);
  StoreDetach(&process->shared);
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
  process->regionless = process->doomed = TRUE;
  RawSay("nothing can be sent", ProcessLog(), "events are only counted, as discarded ones of another process");
  return TRUE;
}

/* processBefore -- what an earlier program of this process left.  Our header block is in the log by now: so if we are killed
 * meanwhile it is known who came after that program, or what it left is still there.  Its blocks refer to a header of their own. */
static void processBefore(Process process)
{
  processBeforeStruct before = {process, NULL};
  Bool alone = __atomic_load_n(&process->alone, __ATOMIC_RELAXED);

  if (ProcessLog()[0] == '\0')
    return;
  StoreAdopt(ProcessLog(), ControlSettings.recording, HandListened(), processAdopt, &before);
  FormerFree(&before.former);
  if (__atomic_load_n(&process->alone, __ATOMIC_RELAXED) != alone)
    (void)SendHeader(process);
}

/* processAlone -- there is no collector to be had: open the log, and make our own memory */
static void processAlone(Process process)
{
  Bool headed;
  int fd;

  if (ControlSettings.log[0] != '\0')
    ControlOpenLog(process);
  ControlRecording();
  process->regionless =
      StoreOpen(&process->shared, ProcessLog(), ControlSettings.recording, process->identity, &fd) != ResOK;
  if (processDoomed(process, fd, &headed))
    return;
  if (process->regionless)
    RawSay("no memory for blocks", "", "events go through private memory");
  else if (fd >= 0)
    processOpened(process, fd);
  else if (ProcessLog()[0] != '\0')
    RawSay("no shared memory for blocks", ProcessLog(),
           "events that are not yet written are lost if the process is killed");
  if (process->shared.path[0] == '\0' && ControlSettings.log[0] != '\0')
    StoreMark(ControlSettings.log, ControlSettings.recording);
  if (!headed)
    (void)SendHeader(process);
  processBefore(process);
}

/* processShare -- where descriptors can be had */
static void processShare(void *process)
{
  if (ControlSettings.log[0] == '\0' || !processMeet(process))
    processAlone(process);
}

void ProcessShareAlone(Process process)
{
  if (ProcessRegion(process) != NULL || process->regionless || !(ProcessSends() || ControlSettings.allowed))
    return;
  if (ControlSettings.log[0] != '\0' && processMeet(process))
    return;
  /* The program may have taken all descriptors that there are. */
  if (ApartRoom() || !ApartRun(processShare, process))
    processAlone(process);
}

void ProcessShare(Process process)
{
  ProcessLock(process);
  ProcessShareAlone(process);
  ProcessUnlock(process);
}
