/* orphanregion.c -- reads the orphaned region of one process: its header block and its blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "recover/orphanregion.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/sound.h"

enum {
  orphanYOUNG = 60,        /* seconds */
  orphanLATER = 1,         /* seconds by which the times of a process and of a file may differ */
  orphanVersionsMAX = 999, /* a major above this is no version */
  orphanTriesMAX = 500     /* of 2 ms each */
};

/* orphanBytes -- all reads of the file.  ResEND: the file is shorter; ResIO: it cannot be read, which region->failed
 * keeps. */
static Res orphanBytes(OrphanRegion region, Size at, void *bytes, Size size)
{
  Res res = FileReadAt(region->fd, at, bytes, size);

  if (res == ResIO && region->failed == 0)
    region->failed = errno;
  return res;
}

Bool OrphanRegionOpen(OrphanRegion region, RegionFile file, Bool write, uid_t owner)
{
  region->pid = file->name.pid;
  region->fd = RegionFileOpen(file, write, owner);
  return region->fd >= 0;
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

/* ---- What a file is that has the name of a region ---- */

/* orphanBegan -- when the process of this number began, seconds since 1970; 0: that is not known */
static double orphanBegan(uint32_t pid)
{
  char path[32], text[1024], *behind;
  unsigned long long ticks = 0;
  struct timespec now, up;
  Size length;
  FILE *file;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
  file = fopen(path, "re");
  if (file == NULL)
    return 0;
  length = fread(text, 1, sizeof text - 1, file);
  (void)fclose(file);
  text[length] = '\0';
  behind = strrchr(text, ')'); /* of its name, in which anything may be; its state follows, and 18 numbers */
  if (behind == NULL ||
      sscanf(behind + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
             &ticks) != 1 ||
      clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &up) != 0)
    return 0;
  return (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9 +
         (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

Bool OrphanRegionRuns(uint32_t pid, time_t made)
{
  char path[32], program[1];

  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    return FALSE;
  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
  if (readlink(path, program, sizeof program) < 0 && errno == ENOENT &&
      readlink("/proc/self/exe", program, sizeof program) >= 0)
    return FALSE;
  return orphanBegan(pid) <= (double)made + orphanLATER;
}

Bool OrphanRegionYoung(RegionFile file)
{
  return difftime(time(NULL), file->status.st_mtime) <= orphanYOUNG;
}

/* orphanUnborn -- was the maker of a region killed while it made this file?  It locks a region before the file has a
 * size, and writes the header after that (format/region.h). */
static Bool orphanUnborn(OrphanRegion region, RegionFile file)
{
  static const char none[BlockMagicSIZE];
  RegionHeader header = &region->header;

  memset(header, 0, offsetof(RegionHeaderStruct, log) + 1);
  return orphanBytes(region, 0, header, sizeof *header) != ResIO && memcmp(header->magic, none, sizeof none) == 0 &&
         header->log[0] == '\0' &&
         (file->status.st_size > 0 || !OrphanRegionYoung(file) ||
          !OrphanRegionRuns(file->name.pid, file->status.st_mtime)) &&
         flock(region->fd, LOCK_EX | LOCK_NB) == 0;
}

/* orphanForeign -- is this the header of a region of another version, which that version's tools can read? */
static Bool orphanForeign(RegionHeader header)
{
  return memcmp(header->magic, RegionMAGIC, BlockMagicSIZE) == 0 && header->order == BlockORDER &&
         header->major != BlockMAJOR && header->major <= orphanVersionsMAX;
}

/* orphanHeadless -- has the process of this region written over the header, or cut the file, and ended? */
static Bool orphanHeadless(OrphanRegion region, RegionFile file)
{
  return !OrphanRegionRead(region) && region->failed == 0 &&
         (file->status.st_size >= (off_t)RegionFIRST ||
          memcmp(region->header.magic, RegionMAGIC, BlockMagicSIZE) == 0) &&
         !orphanForeign(&region->header) && !OrphanRegionRuns(file->name.pid, file->status.st_mtime) &&
         flock(region->fd, LOCK_EX | LOCK_NB) == 0;
}

OrphanKind OrphanRegionKind(OrphanRegion region, RegionFile file)
{
  OrphanKind kind;

  if (OrphanRegionRead(region))
    return OrphanREGION;
  if (region->failed != 0)
    return OrphanUNREAD;
  kind = orphanUnborn(region, file) ? OrphanUNBORN
         : region->failed == 0 && orphanHeadless(region, file) ? OrphanHEADLESS : OrphanOTHER;
  return region->failed != 0 ? OrphanUNREAD : kind;
}

Bool OrphanRegionSender(OrphanRegion region)
{
  RegionHeader header = &region->header;

  return header->hand.collector == RegionCollectorNONE && header->inode == 0 && header->log[0] == '\0';
}

/* ---- The header block ---- */

static Res orphanWrite(OrphanRegion region, const void *bytes, Size size)
{
  if (region->to < 0 && (region->to = FileOpenTemporary()) < 0)
    return ResIO;
  region->taken = TRUE;
  return FileAppend(region->to, bytes, size);
}

/* orphanTextSound -- is one of the two texts a whole header block of this process?  Its length is taken from the text
 * itself, because the program may have written over the length in the region's header. */
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

/* ---- Who else uses the region ---- */

/* orphanBooted -- did the process run since the machine was last booted, as far as is known? */
static Bool orphanBooted(OrphanRegion region)
{
  char boot[40];
  Size length;

  (void)FileText("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  boot[strcspn(boot, "\n")] = '\0';
  return boot[0] == '\0' || !OrphanRegionText(region, &length) || region->parsed.boot[0] == '\0' ||
         strcmp(region->parsed.boot, boot) == 0;
}

Bool OrphanRegionLock(OrphanRegion region, int how)
{
  static const struct timespec moment = {0, 2000000};
  struct stat status;
  unsigned tries;

  AVER(how == LOCK_SH || how == LOCK_EX);
  AVER(region->fd >= 0);
  for (tries = 0; tries < orphanTriesMAX; ++tries) {
    if (flock(region->fd, how | LOCK_NB) == 0)
      return TRUE;
    if (fstat(region->fd, &status) != 0 || OrphanRegionRuns(region->pid, status.st_mtime))
      return FALSE;
    (void)nanosleep(&moment, NULL);
  }
  return FALSE;
}

/* orphanHeld -- does a collector hold its lock on the region?  The program may have written over the collector's
 * number, but it cannot take away that lock. */
static Bool orphanHeld(OrphanRegion region)
{
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

  return fcntl(region->fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

OrphanCollector OrphanRegionCollector(OrphanRegion region)
{
  uint32_t collector = region->header.hand.collector;

  /* A collector that looks at its own region was not able to write what is there. */
  if ((pid_t)(collector & RegionCollectorTID) != gettid() && orphanHeld(region))
    return OrphanCollectorLIVES;
  if (collector == RegionCollectorNONE)
    return OrphanCollectorNONE;
  /* If the region is on a disk and the machine went down, the kernel could not mark the collector's death. */
  return (collector & RegionCollectorDIED) != 0 || !orphanBooted(region) ? OrphanCollectorKILLED : OrphanCollectorGONE;
}

uint64_t OrphanRegionCut(OrphanRegion region, int log)
{
  uint64_t reached = region->header.pool.reached;
  struct stat status;

  if (reached > CountMAX)
    return OrphanCutUNKNOWN;
  return fstat(log, &status) == 0 && reached > (uint64_t)status.st_size ? reached - (uint64_t)status.st_size : 0;
}

Bool OrphanRegionUnwritten(OrphanRegion region, OrphanCollector collector)
{
  return collector == OrphanCollectorGONE || (collector == OrphanCollectorNONE && region->header.hand.unwritten != 0);
}

/* ---- Blocks ---- */

/* orphanPiece -- was a block of a stream cut short, though it looks whole in the log?  That is known of those that were
 * taken last. */
static Bool orphanPiece(OrphanRegion region, LogStream stream, uint64_t sequence)
{
  LogStreamRecent recent = LogStreamRecentOf(stream, sequence);

  return recent->there && recent->sequence == sequence &&
         !SoundBlock(region->file[IndexPlaceFile(recent->place)], IndexPlaceOffset(recent->place));
}

/* orphanKnown -- how many of a block's `count` events the logs have */
static Count orphanKnown(OrphanRegion region, BlockHeader header, Count count)
{
  LogStream stream = TableStreamFind(region->table, header->process, header->stream);

  if (stream == NULL || (stream->cut == header->first && stream->cutSequence == header->sequence) ||
      orphanPiece(region, stream, header->sequence))
    return 0;
  if (stream->newest == header->first && stream->newestSequence == header->sequence)
    return stream->newestCount < count ? stream->newestCount : count;
  return BlockRunsHas(&stream->runs, header->sequence) ? count : 0;
}

/* orphanMemory -- does the file, which is sparse, have memory in slot `i`?  One lseek finds a whole run of slots
 * without any; behind the last memory of the file it fails with ENXIO. */
static Bool orphanMemory(OrphanRegion region, Index i)
{
  Size end = RegionSize(i + 1), from = end - BlockMAX;

  AVER(region->hole <= region->data);
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

/* orphanAt -- where the block in slot `i` is, and its size: by the state of the slot, or by the block's own header if
 * the program has written over the state */
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

/* orphanRead -- read the block in slot `i` into region->block; FALSE: there is none, or it was not to be sent.  A slot
 * whose state has a size has a block with a sound header, unless the program has written over one of them.  If it wrote
 * over the state of an empty slot, nothing is lost. */
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

  AVER(OrphanRegionCheck(region));
  for (i = 0; i < region->header.slots; ++i)
    if (orphanRead(&sound, &tally, region, i))
      count += tally.count;
  return count;
}

/* orphanBlock -- write the block in slot `i`, unless the logs have all of it */
static Res orphanBlock(OrphanRegion region, Index i)
{
  BlockHeader header = &region->block.header;
  BlockHeaderStruct sound;
  BlockTallyStruct tally;
  LogStream stream;
  Count known;

  if (!orphanRead(&sound, &tally, region, i))
    return ResOK;
  known = orphanKnown(region, &sound, tally.count);
  stream = TableStreamFind(region->table, sound.process, sound.stream);
  if (stream != NULL && sound.discarded > stream->discarded)
    stream->discarded = sound.discarded;
  region->spoiled += tally.used == 0 && tally.broken;
  /* If the log has it whole as its newest block, the process was killed after it sent the block and before it freed
   * it. */
  if (tally.used == 0 || (stream != NULL && known == tally.count && stream->newest == sound.first))
    return ResOK;
  region->events += tally.count - known;
  if (RegionOverwrites(&region->header, &sound))
    header->flags |= BlockFlagUNSENT;
  region->spoiled += tally.broken;
  BlockSealOpen(header, &tally, BlockFlagRECOVERED);
  return orphanWrite(region, header, header->size);
}

/* ---- Counts ---- */

/* orphanLedger -- how many events were counted as lost by children of the process that could send nothing
 * (RegionLEDGER) */
static uint64_t orphanLedger(OrphanRegion region)
{
  uint64_t ledger;

  return orphanBytes(region, RegionLEDGER, &ledger, sizeof ledger) == ResOK ? ledger & ~RegionLedgerCLOSED : 0;
}

/* orphanForgot -- how many events in blocks of slot `i` were overwritten, the block that was being overwritten
 * included */
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
  ++region->header.pool.overwritten; /* in case the process had not yet counted this block there */
  CountRaise(&region->header.pool.forgottenTo, RegionForgotLast(block));
  return RegionForgotThen(forgot, block);
}

/* orphanForgotten -- how many events were overwritten in all slots, and in private memory */
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
  return RegionMiscounts(&region->header) || orphanLedger(region) > CountMAX;
}

uint64_t OrphanRegionLost(OrphanRegion region)
{
  uint64_t lost = CountAdd(CountAdd(RegionLost(&region->header), region->spoiled), orphanLedger(region));
  Index i;

  for (i = 0; i < RegionLEAVING; ++i) {
    const RegionLeavingStruct *leaving = &region->header.leaving[i];
    LogStream stream = TableStreamFind(region->table, region->header.identity, leaving->stream);
    if (leaving->count < RegionLeavingCLAIMED && (stream == NULL || (stream->newestSequence != leaving->sequence &&
                                                                     !BlockRunsHas(&stream->runs, leaving->sequence))))
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

/* ---- Taking ---- */

/* orphanGivesUp -- has a read failed, and does that end OrphanRegionTake? */
static Bool orphanGivesUp(OrphanRegion region)
{
  return region->strict && region->failed != 0;
}

/* orphanEnded -- do the logs have a header block that says when the process ended, and is newer than region->parsed?
 * Then the process could not remove its region, or was killed just before it would have. */
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

  AVER(region->table != NULL && OrphanRegionCheck(region));
  region->spoiled = 0;
  if (OrphanRegionText(region, &length) && !orphanEnded(region))
    res = orphanWrite(region, region->text, length);
  if (res == ResOK)
    res = TableProcess(&process, region->table, region->header.identity);
  if (res != ResOK)
    return res;
  OrphanRegionSays(region, process, TRUE);
  for (i = 0; i < region->header.slots && res == ResOK && !orphanGivesUp(region); ++i)
    res = orphanBlock(region, i);
  if (res == ResOK && !orphanGivesUp(region) && OrphanRegionUsed(region)) {
    uint64_t forgotten = orphanForgotten(region);
    process->lost = OrphanRegionLost(region);
    HeaderForgotten(&process->public.header, forgotten, region->header.pool.forgottenTo);
    process->public.header.stopped = region->header.stopped;
  }
  if (res == ResOK && orphanGivesUp(region)) {
    errno = region->failed;
    res = ResIO;
  }
  return res;
}

Bool OrphanRegionUsed(OrphanRegion region)
{
  return region->header.text.generation != 0 || region->taken || region->spoiled > 0 || OrphanRegionLost(region) > 0;
}

Bool OrphanRegionCheck(const OrphanRegionStruct *region)
{
  return region->fd >= 0 && region->header.slots <= RegionSlotsMAX && region->hole <= region->data &&
         (!region->taken || region->to >= 0);
}
