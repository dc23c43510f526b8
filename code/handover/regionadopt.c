/* regionadopt.c -- finds and adopts the regions of the program that this process was before exec, and closes its part
 * of the log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/regionadopt.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "format/header.h"
#include "handover/blockstore.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

enum { adoptENTRIES = 256 /* words that are read of a folder in one go */ };

/* adoptLedger -- how many events others have counted in a region: none where there was no room for the page, and to
 * touch that would kill the program */
static uint64_t adoptLedger(RegionHeader header)
{
  Size size = RegionLEDGER - RegionCONTROL + sizeof(uint64_t);
  long res = RawCall(SYS_madvise, (char *)header + RegionCONTROL, size, MADV_POPULATE_WRITE);

  return res == 0 || res == -EINVAL ? RegionCounted(header) : 0;
}

/* adoptCounts -- does the region count events that none of its blocks has? */
static Bool adoptCounts(RegionHeader header)
{
  Index i;

  for (i = 0; i < RegionLEAVING; ++i)
    if (header->leaving[i].count != 0)
      return TRUE;
  return RegionLost(header) != 0 || adoptLedger(header) != 0;
}

/* What is adopted, and what is done with it. */
typedef struct AdoptStruct {
  uint64_t recording;
  RegionAdoptBlock block;
  void *data;
} AdoptStruct, *Adopt;

/* adoptIs -- is this a region to be adopted, in a file of `size` bytes? */
static Bool adoptIs(Adopt adopt, RegionHeader header, Size size)
{
  return RegionHeaderSound(header, size) && header->pid == RawPid() && header->recording == adopt->recording &&
         !RegionCollected(header);
}

/* adoptExtent -- how many bytes of the region there are up to the end of its last block */
static Size adoptExtent(RegionHeader header)
{
  Size extent = RegionFIRST, offset, its;
  Index i;

  for (i = 0; i < RegionSlotsOf(header); ++i)
    if (RegionBlockAt(&offset, &its, header, i))
      extent = offset + its;
  return extent;
}

/* adoptMap -- map a region whose owner has ended; its lock is ours while it is mapped.  The program may have limited
 * its address space before exec, so that there is no room any more for all of the file: no more is mapped than is used.
 * The file is closed: the log may need its descriptor.  NULL: it is none
 * sizeReturn  of what is mapped */
static RegionHeader adoptMap(Size *sizeReturn, Adopt adopt, int fd)
{
  enum { access = PROT_READ | PROT_WRITE };
  RegionHeader header = NULL;
  struct stat status;

  if (RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 && RawStat(fd, &status) == 0 && status.st_uid == RawUser() &&
      (Size)status.st_size >= RegionFIRST)
    header = RawMapAt(NULL, RegionFIRST, access, MAP_PRIVATE, fd);
  if (header != NULL) {
    *sizeReturn = adoptIs(adopt, header, (Size)status.st_size) ? adoptExtent(header) : 0;
    RawUnmap(header, RegionFIRST);
    header = *sizeReturn > 0 ? RawMapAt(NULL, *sizeReturn, access, MAP_PRIVATE, fd) : NULL;
  }
  LentClose(fd);
  return header;
}

/* adoptFile -- a RegionAdoptTake: one region, if its owner has ended and it is of the recording */
static Bool adoptFile(void *data, int fd, const char *path)
{
  Adopt adopt = data;
  Size size, offset, its;
  RegionHeader header = adoptMap(&size, adopt, fd);
  Res res = ResOK;
  Index i;

  if (header == NULL)
    return FALSE;
  /* Where there was a collector that died, it may not have come as far as to write the header block. */
  i = header->text.generation & 1;
  its = header->text.length[i];
  if (header->hand.collector != RegionCollectorNONE && header->text.generation != 0 && its <= RegionTextSIZE)
    res = adopt->block(adopt->data, header, (char *)header + RegionTEXT + i * RegionTextSIZE, its);
  for (i = 0; i < RegionSlotsOf(header) && res == ResOK; ++i)
    if (RegionBlockAt(&offset, &its, header, i) && offset + its <= size)
      res = adopt->block(adopt->data, header, (char *)header + offset, its);
  if (res == ResOK)
    res = adopt->block(adopt->data, header, NULL, 0);
  if (res == ResOK && !adoptCounts(header))
    (void)StoreRemove(path);
  RawUnmap(header, size);
  return FALSE;
}

typedef struct AdoptEntryStruct {
  uint64_t inode, offset;
  uint16_t size;
  uint8_t type;
  char name[];
} AdoptEntryStruct, *AdoptEntry; /* as getdents64 has it */

/* eachSays -- does the file say that it is a region of the recording, as we make them?  It is read: of one that another
 * process is making there may be no page yet, and on a full disk whoever touches that dies. */
static Bool eachSays(int fd, uint64_t recording)
{
  struct {
    char magic[BlockMagicSIZE];
    uint32_t order, major;
  } begin;
  uint64_t its;

  _Static_assert(offsetof(RegionHeaderStruct, order) == BlockMagicSIZE &&
                     offsetof(RegionHeaderStruct, major) == BlockMagicSIZE + sizeof(uint32_t), "so regions begin");
  return RawCall(SYS_pread64, fd, &begin, sizeof begin, 0) == sizeof begin &&
         memcmp(begin.magic, RegionMAGIC, BlockMagicSIZE) == 0 && begin.order == BlockORDER &&
         begin.major == BlockMAJOR &&
         RawCall(SYS_pread64, fd, &its, sizeof its, offsetof(RegionHeaderStruct, recording)) == sizeof its &&
         its == recording;
}

/* eachOpen -- the file of a region, which is ours, by its name in the folder; -1: it is none
 * pid  0, or whose it is to be */
static int eachOpen(long folder, const char *name, uint64_t recording, uint32_t pid)
{
  RegionNameStruct its;
  struct stat status;
  long fd;

  if (!RegionNameParse(&its, name) || its.recording != recording || (pid != 0 && its.pid != pid))
    return -1;
  fd = LentCall(SYS_openat, folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return -1;
  if (RawStat((int)fd, &status) == 0 && status.st_uid == RawUser() && (Size)status.st_size >= RegionFIRST &&
      eachSays((int)fd, recording))
    return (int)fd;
  LentClose(fd);
  return -1;
}

Bool RegionAdoptEach(const char *log, uint64_t recording, uint32_t pid, Bool beside, RegionAdoptTake take, void *data)
{
  uint64_t entries[adoptENTRIES];
  char path[RegionPathMAX], *name;
  Bool taken = FALSE;
  long folder, size, at;

  AVER(take != NULL);
  if (!StoreName(path, sizeof path, log, recording, 0, beside))
    return FALSE;
  name = strrchr(path, '/');
  *name++ = '\0';
  folder = LentCall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  name[-1] = '/';
  while (folder >= 0 && !taken && (size = RawCall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (at = 0; at < size && !taken; at += ((AdoptEntry)(void *)((char *)entries + at))->size) {
      const char *its = ((AdoptEntry)(void *)((char *)entries + at))->name;
      Size length = strlen(its);
      Bool fits = length < sizeof path - sizeof RegionLINK - (Size)(name - path);
      int fd = fits ? eachOpen(folder, its, recording, pid) : -1;
      if (fd < 0)
        continue;
      memcpy(name, its, length + 1);
      taken = take(data, fd, path);
    }
  if (folder >= 0)
    LentClose(folder);
  return taken;
}

/* adoptNext -- the regions that this process has numbered itself: in a row.  One descriptor is enough for that. */
static void adoptNext(const char *log, Adopt adopt, Bool beside)
{
  char path[RegionPathMAX], link[RegionPathMAX];
  struct stat status;
  unsigned n;

  for (n = 0; n < StoreNumbersMAX && StoreName(path, sizeof path, log, adopt->recording, n, beside); ++n) {
    int fd = (int)LentCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    /* If only the link of a region that was removed is left, there may be more regions behind it. */
    if (fd == -ENOENT && RawCall(SYS_newfstatat, AT_FDCWD, StoreLink(link, path), &status, AT_SYMLINK_NOFOLLOW) != 0)
      break;
    if (fd >= 0) /* else it is another user's, which may stand in front of ours */
      (void)adoptFile(adopt, fd, path);
  }
}

void RegionAdopt(const char *log, uint64_t recording, Bool collected, RegionAdoptBlock block, void *data)
{
  AdoptStruct adopt = {recording, block, data};
  unsigned beside;

  AVER(block != NULL);
  for (beside = 0; beside < 2; ++beside)
    if (collected)
      (void)RegionAdoptEach(log, recording, RawPid(), beside != 0, adoptFile, &adopt);
    else
      adoptNext(log, &adopt, beside != 0);
}

/* ---- The closing header block of that program ---- */

enum {
  adoptSTREAMS = 8192, /* that are known; of more nothing is said.  All of their lines fit into a header block. */
  adoptPAGE = 4096
};

typedef struct RegionAdoptedStruct {
  uint64_t identity; /* of that program's part, as its region has it */
  Count streams;
  HeaderStreamStruct stream[adoptSTREAMS]; /* each once */
  HeaderStruct header;
  char its[RegionTextSIZE]; /* the newest header block of that program, copied before it is judged */
  char text[HeaderMAX];
} RegionAdoptedStruct;

/* adoptMake -- memory, of which no more is there than is used; what was noted of another region, which could not be
 * sent, goes */
static Bool adoptMake(RegionAdopted *former, RegionHeader region)
{
  if (*former == NULL)
    *former = RawMap(WordAlignUp(sizeof(RegionAdoptedStruct), adoptPAGE), adoptPAGE);
  if (*former != NULL && (*former)->identity != region->identity) {
    (*former)->identity = region->identity;
    (*former)->streams = 0;
  }
  return *former != NULL;
}

/* adoptStream -- note how many blocks and events of a stream are in the log */
static void adoptStream(RegionAdopted former, const HeaderStreamStruct *its)
{
  HeaderStream stream = former->stream, limit = stream + former->streams;

  while (stream < limit && stream->stream != its->stream)
    ++stream;
  if (stream == limit) {
    AVER(former->streams <= adoptSTREAMS);
    if (former->streams < adoptSTREAMS)
      former->stream[former->streams++] = *its;
    return;
  }
  HeaderStreamJoin(stream, its);
}

void RegionAdoptSent(RegionAdopted *former, RegionHeader region, BlockHeader block, Count events)
{
  HeaderStreamStruct its = {block->stream, block->sequence + 1,
                            block->before == BlockBeforeUNKNOWN ? HeaderEventsUNKNOWN : block->before + events,
                            block->discarded};

  if (adoptMake(former, region))
    adoptStream(*former, &its);
}

/* adoptText -- the newest header block in the region, which its program may have written over; 0: there is none */
static Size adoptText(RegionAdopted former, const char **lineReturn, RegionHeader region)
{
  Size length = region->text.generation != 0 ? RegionTextCopy(former->its, region, region->text.generation) : 0;

  return length > 0 && HeaderRead(&former->header, lineReturn, former->its, length) == ResOK &&
         former->header.identity == region->identity ? length : 0;
}

/* adoptWrite -- the closing header block; its length, 0: there is no room for it */
static Size adoptWrite(RegionAdopted former, RegionHeader region, const char *types, const char *limit)
{
  Header header = &former->header;
  TextStruct text;
  Index i;

  header->region[0] = '\0';
  header->open = 0;
  header->ended = TRUE;
  header->gone = region->ending;
  header->streams = former->streams;
  TextInit(&text, former->text, sizeof former->text);
  HeaderBegin(&text, header);
  for (i = 0; i < former->streams; ++i)
    HeaderStreamWrite(&text, &former->stream[i]);
  TextBytes(&text, types, (Size)(limit - types));
  return HeaderEnd(&text) == ResOK ? TextLength(&text) : 0;
}

Size RegionAdoptClose(const char **textReturn, RegionAdopted *former, RegionHeader region)
{
  const char *line, *next, *limit;
  HeaderStreamStruct stream;
  Size length;

  if (!adoptMake(former, region))
    return 0;
  *textReturn = (*former)->text;
  length = adoptText(*former, &line, region);
  if (length > 0) {
    limit = (*former)->its + length;
    /* In a log that was opened late there are not the blocks that these lines tell of. */
    for (next = line; (*former)->header.begun == 0 && HeaderStreamNext(&stream, &next, limit); )
      adoptStream(*former, &stream);
    length = adoptWrite(*former, region, HeaderTypes(line, limit), limit);
  }
  return length;
}

void RegionAdoptFree(RegionAdopted *former)
{
  if (*former != NULL)
    RawUnmap(*former, WordAlignUp(sizeof(RegionAdoptedStruct), adoptPAGE));
  *former = NULL;
}
