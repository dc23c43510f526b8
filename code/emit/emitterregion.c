/* emitterregion.c -- the region, which outlives the process: made by a collector or here, and adopted after exec
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/emitter.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/control.h"
#include "emit/send.h"
#include "handover/collectorsocket.h"
#include "handover/regionadopt.h"

/* Of emitterBefore. */
typedef struct emitterBeforeStruct {
  Emitter emitter;
  RegionAdopted former;
} emitterBeforeStruct;

/* emitterFound -- tell readers that all blocks of the region are in the log.  Where it has no header block that can be
 * made the closing one: by an empty block of the flight recorder, which is there also if the region had none */
static Res emitterFound(Emitter emitter, RegionAdopted *former, RegionHeader region)
{
  BlockTallyStruct tally = {0};
  BlockHeaderStruct header = {
    .order = BlockORDER,
    .major = BlockMAJOR,
    .whole = BlockMIN,
    .pid = region->pid,
    .thread = region->pid,
    .process = region->identity,
    .stream = StreamNumbers + 1, /* of the first thread */
    .first = EventClock(EVENT_SLOW),
  };
  const char *text;
  Size length = RegionAdoptClose(&text, former, region);

  if (length > 0)
    return SendText(text, length);
  memcpy(header.magic, BlockMAGIC, BlockMagicSIZE);
  return SendBlock(emitter, &header, &tally, BlockFlagRECOVERED | BlockFlagUNSENT);
}

/* emitterAdopt -- send a block, or a header block, that this process left behind when it was another program, as it is
 */
static Res emitterAdopt(void *data, RegionHeader region, void *base, Size size)
{
  emitterBeforeStruct *before = data;
  Emitter emitter = before->emitter;
  BlockHeader block = base;
  BlockHeaderStruct header;
  BlockTallyStruct tally;
  Res res;

  if (base == NULL)
    return emitterFound(emitter, &before->former, region);
  if (size >= BlockMagicSIZE && memcmp(base, HeaderMAGIC, BlockMagicSIZE) == 0) {
    /* It was for a collector to write, which has died. */
    __atomic_store_n(&emitter->alone, TRUE, __ATOMIC_RELAXED);
    return SendText(base, size);
  }
  if (!BlockUnsealedIs(&header, block, size, 0)) {
    emitter->lost += BlockSpoiled(block, size);
    return ResOK;
  }
  if ((header.flags & BlockFlagUNSENT) != 0)
    return ResOK; /* the flight recorder's events were not requested */
  BlockWalk(&tally, (char *)base + BlockHeaderSIZE, size - BlockHeaderSIZE, block->first, TRUE);
  emitter->lost += tally.broken;
  res = SendBlock(emitter, block, &tally, BlockFlagRECOVERED | (RegionOverwrites(region, block) ? BlockFlagUNSENT : 0));
  if (res == ResOK)
    RegionAdoptSent(&before->former, region, block, tally.count);
  return res;
}

/* emitterPolicy -- where the file system has no room for the counts of what is overwritten, nothing is overwritten: to
 * touch a page that it cannot give would kill the program (design/collector.md .policy.forgotten) */
static uint32_t emitterPolicy(Emitter emitter)
{
  RegionHeader region = EmitterRegion(emitter);
  Bool room = ControlSettings.policy != RegionPolicyOVERWRITE ||
              (StoreProvide(&emitter->shared, 0, sizeof *region) &&
               StoreProvide(&emitter->shared, RegionFORGOT, RegionSlotsOf(region) * sizeof(uint64_t)));

  return room ? ControlSettings.policy : RegionPolicyDISCARD;
}

/* emitterRegion -- tell in the region how blocks are to be handed over, and let others reach the control table in it
 * control  the region's file, without its lock (lent); or with it, where nothing else is to be had */
static void emitterRegion(Emitter emitter, int control, Bool lent)
{
  RegionHeader region = EmitterRegion(emitter);
  Plinth file = EmitterWay(&PlinthClassFile);

  region->policy = emitterPolicy(emitter);
  region->limit = ControlSettings.limit;
  region->blockSize = (uint32_t)emitter->blockSize;
  region->raw = ControlSettings.raw;
  region->chosen = ControlSettings.chosen;
  region->frequent = EventKindsFREQUENT;
  if (file != NULL) {
    region->device = file->device;
    region->inode = file->inode;
  }
  if (StoreProvide(&emitter->shared, RegionCONTROL, RawPAGE))
    ControlShare(control, region, lent);
}

/* emitterAgain -- another description of a file that is open; -1: there is none */
static int emitterAgain(int fd)
{
  struct stat its, status;
  char path[40];
  long own;

  /* The table of descriptors may be this thread's own (plinth/descriptor.h). */
  (void)TextMake(path, sizeof path, "/proc/thread-self/fd/%u", (unsigned)fd);
  own = LentCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (own < 0)
    return -1;
  /* What stands there under /proc need not be the system's. */
  if (RawStat(fd, &its) == 0 && RawStat((int)own, &status) == 0 && its.st_dev == status.st_dev &&
      its.st_ino == status.st_ino)
    return (int)own;
  LentClose(own);
  return -1;
}

/* emitterOpened -- the same of a region that the process has made itself: what its `fd` opens has the lock, and keeps
 * it as long as it is mapped.  It is closed: there may be no other number for the log. */
static void emitterOpened(Emitter emitter, int fd)
{
  int own;

  RawDumped(emitter->shared.path[0] != '\0');
  own = emitterAgain(fd);
  emitterRegion(emitter, own >= 0 ? own : fd, own >= 0);
  if (own >= 0)
    LentClose(own);
  LentClose(fd);
}

/* emitterMeet -- have the collector make the region, and take what is put there.  FALSE: there is none, or it cannot be
 * reached, or no memory. */
static Bool emitterMeet(Emitter emitter)
{
  GrantStruct grant;
  Bool met = FALSE;

  if (!CollectorSocketMeet(emitter, &grant))
    return FALSE;
  if (StoreAttach(&emitter->shared, grant.fd[RegionGrantLOCKED], grant.answer.slots, grant.answer.path) == ResOK) {
    ControlSettings.recording = grant.answer.recording;
    if (grant.answer.quiet)
      ControlSet(0, 0);
    emitterRegion(emitter, grant.fd[RegionGrantCONTROL], TRUE);
    met = SendHeader(emitter) == ResOK;
    if (met)
      GrantLogKeep(&grant);
    else
      StoreDetach(&emitter->shared);
    __atomic_store_n(&emitter->collected, met, __ATOMIC_RELEASE);
  }
  GrantDrop(&grant);
  return met;
}

/* emitterDoomed -- nothing that the process keeps will ever be read: its region has no name, or is where its parent's
 * cannot be seen, in another root folder for instance, and no way out takes its header block: an open one may be full.
 * Another process's region can count what is lost.
 * headedReturn  the header block was taken */
static Bool emitterDoomed(Emitter emitter, int fd, Bool *headedReturn)
{
  Bool hidden = EmitterRegion(emitter) == NULL || emitter->shared.path[0] == '\0' || !StoreFamilySeen();

  *headedReturn = hidden && EmitterOpen() && SendHeader(emitter) == ResOK;
  if (!hidden || *headedReturn || !EmitterSends() || !(ControlLedgerCount(0) || ControlLedgerFind(EmitterLog())))
    return FALSE;
  StoreUnlink(&emitter->shared);
  StoreDetach(&emitter->shared);
  if (fd >= 0)
    LentClose(fd);
  emitter->regionless = emitter->doomed = TRUE;
  RawSay("nothing can be sent", EmitterLog(), "events are only counted, as discarded ones of another process");
  return TRUE;
}

/* emitterBefore -- send the blocks that an earlier program of this process has left.  Our header block is in the log
 * by now: if we are killed meanwhile the log shows which program followed that one, or its blocks are still there.
 * They refer to a header block of their own. */
static void emitterBefore(Emitter emitter)
{
  emitterBeforeStruct before = {emitter, NULL};
  Bool alone = __atomic_load_n(&emitter->alone, __ATOMIC_RELAXED);

  if (EmitterLog()[0] == '\0')
    return;
  RegionAdopt(EmitterLog(), ControlSettings.recording, CollectorSocketNamed(), emitterAdopt, &before);
  RegionAdoptFree(&before.former);
  if (__atomic_load_n(&emitter->alone, __ATOMIC_RELAXED) != alone)
    (void)SendHeader(emitter);
}

/* emitterAlone -- there is no collector, or it cannot be reached: open the log, and make our own memory */
static void emitterAlone(Emitter emitter)
{
  Bool headed;
  int fd;

  if (ControlSettings.log[0] != '\0')
    ControlOpenLog(emitter);
  ControlRecording();
  emitter->regionless =
      StoreOpen(&emitter->shared, EmitterLog(), ControlSettings.recording, emitter->identity, &fd) != ResOK;
  if (emitterDoomed(emitter, fd, &headed))
    return;
  if (emitter->regionless)
    RawSay("no memory for blocks", "", "events go through private memory");
  else if (fd >= 0)
    emitterOpened(emitter, fd);
  else if (EmitterLog()[0] != '\0')
    RawSay("no shared memory for blocks", EmitterLog(),
           "events that are not yet written are lost if the process is killed");
  if (emitter->shared.path[0] == '\0' && ControlSettings.log[0] != '\0')
    StoreMark(ControlSettings.log, ControlSettings.recording);
  if (!headed)
    (void)SendHeader(emitter);
  emitterBefore(emitter);
}

/* emitterShare -- get a region from the collector, or make one; called where descriptors can be opened */
static void emitterShare(void *emitter)
{
  if (ControlSettings.log[0] == '\0' || !emitterMeet(emitter))
    emitterAlone(emitter);
}

void EmitterShareAlone(Emitter emitter)
{
  AVER(ControlCheck());
  if (EmitterRegion(emitter) != NULL || emitter->regionless || !(EmitterSends() || ControlSettings.allowed))
    return;
  if (ControlSettings.log[0] != '\0' && emitterMeet(emitter))
    return;
  /* The program may have taken all descriptors that there are. */
  if (ApartRoom() || !ApartRun(emitterShare, emitter))
    emitterAlone(emitter);
}

void EmitterShare(Emitter emitter)
{
  if (!EmitterLock(emitter))
    return;
  EmitterShareAlone(emitter);
  EmitterUnlock(emitter);
}
