/* orphanregion.c -- reads the region of one dead process: its header block and its blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/orphanregion.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log/logfile.h"

enum { orphanYOUNG = 60 }; /* seconds: whoever has just made a file may yet lock it */
enum { orphanVersionsMAX = 999 };
enum { orphanTriesMAX = 500 }; /* of 2 ms each */

/* orphanBytes -- read some of the file: all reads of it.  ResEND: so much is not there; ResIO: it cannot be read, which
 * is kept. */
static Res orphanBytes(OrphanRegion region, Size at, void *bytes, Size size)
{
  Res res = FileReadAt(region->fd, at, bytes, size);

  if (res == ResIO && region->failed == 0)
    region->failed = errno;
  return res;
}

Bool OrphanRegionRead(OrphanRegion region)
{
  struct stat status;

  region->events = region->spoiled = region->hole = region->data = 0;
  region->taken = FALSE;
  region->failed = 0;
  return fstat(region->fd, &status) == 0 && S_ISREG(status.st_mode) &&
         orphanBytes(region, 0, &region->header, sizeof region->header) == ResOK &&
         RegionHeaderSound(&region->header, (Size)status.st_size);
}

Bool OrphanRegionRuns(uint32_t pid)
{
  char path[32], program[1];

  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    return FALSE;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
  return readlink(path, program, sizeof program) >= 0 || errno != ENOENT ||
         readlink("/proc/self/exe", program, sizeof program) < 0;
}

Bool OrphanRegionUnborn(OrphanRegion region, const struct stat *status, uint32_t pid)
{
  static const char none[BlockMagicSIZE];
  RegionHeader header = &region->header;

  memset(header, 0, offsetof(RegionHeaderStruct, log) + 1);
  return S_ISREG(status->st_mode) && orphanBytes(region, 0, header, sizeof *header) != ResIO &&
         memcmp(header->magic, none, sizeof none) == 0 && header->log[0] == '\0' &&
         (status->st_size > 0 || difftime(time(NULL), status->st_mtime) > orphanYOUNG || !OrphanRegionRuns(pid)) &&
         flock(region->fd, LOCK_EX | LOCK_NB) == 0;
}

Bool OrphanRegionYoung(const struct stat *status)
{
  return difftime(time(NULL), status->st_mtime) <= orphanYOUNG;
}

/* orphanOther -- is it a region of another version, which its own tools can read? */
static Bool orphanOther(RegionHeader header)
{
  return memcmp(header->magic, RegionMAGIC, BlockMagicSIZE) == 0 && header->order == BlockORDER &&
         header->major != BlockMAJOR && header->major <= orphanVersionsMAX;
}

Bool OrphanRegionOver(OrphanRegion region, const struct stat *status, uint32_t pid)
{
  return S_ISREG(status->st_mode) && status->st_size >= (off_t)RegionFIRST && !OrphanRegionRead(region) &&
         region->failed == 0 && !orphanOther(&region->header) && !OrphanRegionRuns(pid) &&
         flock(region->fd, LOCK_EX | LOCK_NB) == 0;
}

static Res orphanWrite(OrphanRegion region, const void *bytes, Size size)
{
  if (region->to < 0 && (region->to = FileOpenTemporary()) < 0)
    return ResIO;
  region->taken = TRUE;
  return FileAppend(region->to, bytes, size);
}

/* orphanTextSound -- is one of the two texts a whole header block of this process?  Its length, then, as it says itself: the
 * program may have written over what the region says. */
static Bool orphanTextSound(OrphanRegion region, unsigned which, Size *lengthReturn)
{
  Size at = RegionTEXT + which * RegionTextSIZE;
  unsigned version[3];
  const char *body;

  return orphanBytes(region, at, region->text, BlockMagicSIZE + HeaderLineSIZE) == ResOK &&
         HeaderLength(lengthReturn, version, region->text, BlockMagicSIZE + HeaderLineSIZE) == ResOK &&
         *lengthReturn <= RegionTextSIZE && orphanBytes(region, at, region->text, *lengthReturn) == ResOK &&
         HeaderRead(&region->parsed, &body, region->text, *lengthReturn) == ResOK &&
         region->parsed.identity == region->header.identity;
}

Bool OrphanRegionText(OrphanRegion region, Size *lengthReturn)
{
  unsigned newest = region->header.text.generation & 1;

  return region->header.text.generation != 0 &&
         (orphanTextSound(region, newest, lengthReturn) || orphanTextSound(region, !newest, lengthReturn));
}

/* orphanBooted -- is the system that the process ran on still up, as far as is known? */
static Bool orphanBooted(OrphanRegion region)
{
  char boot[40] = "";
  Size length;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

  if (fd >= 0) {
    ssize_t n = read(fd, boot, sizeof boot - 1);
    boot[n > 0 && boot[n - 1] == '\n' ? n - 1 : 0] = '\0';
    (void)close(fd);
  }
  return boot[0] == '\0' || !OrphanRegionText(region, &length) || region->parsed.boot[0] == '\0' ||
         strcmp(region->parsed.boot, boot) == 0;
}

Bool OrphanRegionLock(OrphanRegion region, int how)
{
  static const struct timespec moment = {0, 2000000};
  unsigned tries;

  for (tries = 0; tries < orphanTriesMAX; ++tries) {
    if (flock(region->fd, how | LOCK_NB) == 0)
      return TRUE;
    if (OrphanRegionRuns(region->pid))
      return FALSE;
    (void)nanosleep(&moment, NULL);
  }
  return FALSE;
}

/* orphanHeld -- has a collector that lives the region?  The program may have written over who that is, and not over its lock. */
static Bool orphanHeld(OrphanRegion region)
{
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  return fcntl(region->fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

OrphanCollector OrphanRegionCollector(OrphanRegion region)
{
  uint32_t collector = region->header.hand.collector;

  /* A collector that asks what it has left itself could not write it. */
  if ((pid_t)(collector & RegionCollectorTID) != gettid() && orphanHeld(region))
    return OrphanCollectorLIVES;
  if (collector == RegionCollectorNONE)
    return OrphanCollectorNONE;
  /* A region on a disk may have seen the machine go down: nobody has marked the collector's death then. */
  return (collector & RegionCollectorDIED) != 0 || !orphanBooted(region) ? OrphanCollectorKILLED : OrphanCollectorGONE;
}

uint64_t OrphanRegionCut(OrphanRegion region, int log)
{
  uint64_t reached = region->header.pool.reached;
  struct stat status;

  if (reached > CountMAX)
    return LeftCutUNKNOWN;
  return fstat(log, &status) == 0 && reached > (uint64_t)status.st_size ? reached - (uint64_t)status.st_size : 0;
}

Bool OrphanRegionUnwritten(OrphanRegion region, OrphanCollector collector)
{
  return collector == OrphanCollectorGONE || (collector == OrphanCollectorNONE && region->header.hand.unwritten != 0);
}

/* orphanKnown -- how many of a block's `count` events the logs have */
static Count orphanKnown(Table table, BlockHeader header, Count count)
{
  Stream stream = TableStreamFind(table, header->process, header->stream);

  if (stream == NULL || (stream->cut == header->first && stream->cutSequence == header->sequence))
    return 0;
  if (stream->newest == header->first && stream->newestSequence == header->sequence)
    return stream->newestCount < count ? stream->newestCount : count;
  return TallyHas(&stream->tally, header->sequence) ? count : 0;
}

/* orphanMemory -- has slot `i` any?  Behind the last of the file's it is ENXIO.  One look finds a whole run of slots that have none. */
static Bool orphanMemory(OrphanRegion region, Index i)
{
  Size end = RegionSize(i + 1), from = end - BlockMAX;

  if (from < region->hole || from >= region->data) {
    off_t data = lseek(region->fd, (off_t)from, SEEK_DATA);
    if (data < 0 && errno != ENXIO) {
      region->failed = region->failed == 0 ? errno : region->failed;
      return FALSE;
    }
    region->hole = from;
    region->data = data < 0 ? SIZE_MAX : (Size)data;
  }
  return region->data < end;
}

/* orphanAt -- where the block in slot `i` is, and its size: by the slot's state, or by the block itself, if the program has written
 * over that */
static Bool orphanAt(Size *atReturn, Size *sizeReturn, OrphanRegion region, Index i)
{
  BlockHeader header = &region->block.header;
  Bool sized = RegionBlockAt(atReturn, sizeReturn, &region->header, i);
  uint8_t told;

  if (sized && orphanBytes(region, *atReturn, header, sizeof *header) == ResOK && header->whole == *sizeReturn)
    return TRUE;
  if (!orphanMemory(region, i) || orphanBytes(region, RegionSize(i + 1) - BlockMAX, header, BlockMAX) != ResOK)
    return sized;
  told = RegionStateTold((char *)header + BlockMAX, BlockMAX, region->header.identity);
  if (RegionStateWrong(region->header.state[i], told))
    region->header.state[i] = told;
  return RegionBlockAt(atReturn, sizeReturn, &region->header, i);
}

/* orphanRead -- is there a block in slot `i` that was to be sent?  Then it is in region->block.  What has a size has a header, or
 * the program has written over it; or over the state of a slot that is empty: nothing is lost by that. */
static Bool orphanRead(BlockHeader soundReturn, BlockTally tallyReturn, OrphanRegion region, Index i)
{
  BlockHeader header = &region->block.header;
  Size at, size;

  if (!orphanAt(&at, &size, region, i) || orphanBytes(region, at, header, size) != ResOK)
    return FALSE;
  if (!BlockUnsealedIs(soundReturn, header, size, region->header.identity)) {
    region->spoiled += BlockSpoiled(header, size);
    return FALSE;
  }
  if ((soundReturn->flags & BlockFlagUNSENT) != 0)
    return FALSE;
  BlockWalk(tallyReturn, header + 1, size - BlockHeaderSIZE, soundReturn->first, TRUE);
  return TRUE;
}

Count OrphanRegionEvents(OrphanRegion region)
{
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Count count = 0;
  Index i;

  for (i = 0; i < region->header.slots; ++i)
    if (orphanRead(&sound, &tally, region, i))
      count += tally.count;
  return count;
}

/* orphanBlock -- copy the block in slot `i`, unless the logs have all of it */
static Res orphanBlock(OrphanRegion region, Index i)
{
  BlockHeader header = &region->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  Stream stream;
  Count known;

  if (!orphanRead(&sound, &tally, region, i))
    return ResOK;
  known = orphanKnown(region->table, &sound, tally.count);
  stream = TableStreamFind(region->table, sound.process, sound.stream);
  if (stream != NULL && sound.discarded > stream->discarded)
    stream->discarded = sound.discarded;
  /* What the log has whole as its newest block was sent, and the process killed before it could forget it. */
  region->spoiled += tally.used == 0 && tally.broken;
  if (tally.used == 0 || (stream != NULL && known == tally.count && stream->newest == sound.first))
    return ResOK;
  region->events += tally.count - known;
  if (RegionOverwrites(&region->header, &sound))
    header->flags |= BlockFlagUNSENT;
  region->spoiled += tally.broken;
  BlockSealOpen(header, &tally, BlockFlagRECOVERED);
  return orphanWrite(region, header, header->size);
}

/* orphanLedger -- how many events children of the process that can send nothing have counted */
static Bool orphanLedger(uint64_t *ledger, OrphanRegion region)
{
  if (orphanBytes(region, RegionLEDGER, ledger, sizeof *ledger) != ResOK)
    return FALSE;
  *ledger &= ~RegionLedgerCLOSED;
  return TRUE;
}

/* orphanForgot -- how many events of a slot's blocks were overwritten, with those of one that was being counted */
static uint64_t orphanForgot(OrphanRegion region, Index i)
{
  unsigned char *bytes = region->block.bytes;
  BlockHeader block = NULL;
  uint64_t forgot = 0;

  if (orphanBytes(region, RegionFORGOT + i * sizeof forgot, &forgot, sizeof forgot) != ResOK)
    return 0;
  if (region->header.state[i] == RegionOVERWRITTEN &&
      orphanBytes(region, RegionSize(i + 1) - BlockMAX, bytes, BlockMAX) == ResOK)
    block = RegionForgetBegun(&region->header, i, bytes + BlockMAX);
  if (block == NULL)
    return forgot;
  ++region->header.pool.overwritten; /* if it is not counted there yet */
  if (RegionForgotLast(block) > region->header.pool.forgottenTo)
    region->header.pool.forgottenTo = RegionForgotLast(block);
  return RegionForgotThen(forgot, block);
}

/* orphanForgotten -- how many events were overwritten, also in a block that was being overwritten when the process died */
static uint64_t orphanForgotten(OrphanRegion region)
{
  uint64_t events = region->header.pool.forgotten;
  Index i;

  for (i = 0; region->header.policy == RegionPolicyOVERWRITE && i < region->header.slots; ++i)
    events = CountAdd(events, orphanForgot(region, i));
  return RegionForgotCan(&region->header, events);
}

Bool OrphanRegionMiscounts(OrphanRegion region)
{
  uint64_t ledger;

  return RegionMiscounts(&region->header) || (orphanLedger(&ledger, region) && ledger > CountMAX);
}

uint64_t OrphanRegionLost(OrphanRegion region)
{
  uint64_t lost = CountAdd(RegionLost(&region->header), region->spoiled), ledger;
  Index i;

  if (orphanLedger(&ledger, region))
    lost = CountAdd(lost, ledger);
  for (i = 0; i < RegionLEAVING; ++i) {
    const RegionLeavingStruct *leaving = &region->header.leaving[i];
    Stream stream = TableStreamFind(region->table, region->header.identity, leaving->stream);
    if (leaving->count < RegionLeavingCLAIMED &&
        (stream == NULL || (stream->newestSequence != leaving->sequence && !TallyHas(&stream->tally, leaving->sequence))))
      lost = CountAdd(lost, leaving->count);
  }
  return lost;
}

void OrphanRegionSays(OrphanRegion region, Process process, Bool left)
{
  uint32_t word;
  Size length;

  if (!OrphanRegionText(region, &length) ||
      orphanBytes(region, RegionControlAt(region->parsed.widths.word), &word, sizeof word) != ResOK)
    return;
  process->left = left;
  process->leftKinds = process->public.header.sent.now = word & RegionControlSENT;
  process->leftPid = region->pid;
  if (process->headed)
    HeaderOutside(&process->public.header, region->pid);
}

/* orphanStrict -- has all been read so far that was to be? */
static Res orphanStrict(OrphanRegion region)
{
  if (!region->strict || region->failed == 0)
    return ResOK;
  errno = region->failed;
  return ResIO;
}

/* orphanEnded -- do the logs have a header block that says when the process had ended, and is newer than the text in hand?  Then
 * that is over: the process could not remove the region, or was killed just before. */
static Bool orphanEnded(OrphanRegion region)
{
  Process process = TableProcessFind(region->table, region->parsed.identity);
  Header header = process != NULL ? &process->public.header : NULL;

  return header != NULL && process->headed && header->ended && region->parsed.syncs > 0 &&
         header->gone >= region->parsed.sync[region->parsed.syncs - 1].ticks;
}

Res OrphanRegionTake(OrphanRegion region)
{
  Process process;
  Size length;
  Index i;
  Res res = ResOK;

  region->spoiled = 0;
  if (OrphanRegionText(region, &length) && !orphanEnded(region))
    res = orphanWrite(region, region->text, length);
  if (res == ResOK)
    res = orphanStrict(region);
  if (res == ResOK)
    res = TableProcess(&process, region->table, region->header.identity);
  if (res == ResOK)
    OrphanRegionSays(region, process, TRUE);
  for (i = 0; i < region->header.slots && res == ResOK; ++i)
    if ((res = orphanBlock(region, i)) == ResOK)
      res = orphanStrict(region);
  if (res == ResOK && OrphanRegionUsed(region)) {
    process->lost = OrphanRegionLost(region);
    uint64_t forgotten = orphanForgotten(region);
    HeaderForgotten(&process->public.header, forgotten, region->header.pool.forgottenTo);
    process->public.header.stopped = region->header.stopped;
  }
  return res == ResOK ? orphanStrict(region) : res;
}

Bool OrphanRegionUsed(OrphanRegion region)
{
  return region->header.text.generation != 0 || region->taken || region->spoiled > 0 || OrphanRegionLost(region) > 0;
}
