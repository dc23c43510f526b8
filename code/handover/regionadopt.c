/* regionadopt.c -- finds and adopts the regions of the program that this process was before exec
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "plinth/rawsyscall.h"

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

enum { adoptENTRIES = 256 /* words that are read of a folder in one go */ };

/* adoptLedger -- how many events others have counted in a region: none where there was no room for the page, and to touch
 * that would kill the program */
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

/* adoptMap -- a region whose owner is gone; its lock is ours while it is mapped.  The file is closed: there may be
 * no other number for the log.  NULL: it is none */
static RegionHeader adoptMap(Size *sizeReturn, int fd)
{
  RegionHeader header = NULL;
  struct stat status;

  if (RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 && RawStat(fd, &status) == 0 && status.st_uid == RawUser()) {
    *sizeReturn = (Size)status.st_size;
    if (*sizeReturn >= RegionFIRST)
      header = RawMapAt(NULL, *sizeReturn, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  }
  (void)RawCall(SYS_close, fd);
  return header;
}

/* adoptFile -- one region, if its owner is gone and it is of the recording */
static void adoptFile(int fd, const char *path, uint64_t recording, StoreAdoptFunction block, void *data)
{
  Size size, offset, its;
  RegionHeader header = adoptMap(&size, fd);
  Res res = ResOK;
  Index i;

  if (header == NULL)
    return;
  if (RegionHeaderSound(header, size) && header->pid == RawPid() && header->recording == recording &&
      !RegionCollected(header)) {
    /* Where there was a collector that died, it may not have come as far as to write the header block. */
    i = header->text.generation & 1;
    its = header->text.length[i];
    if (header->hand.collector != RegionCollectorNONE && header->text.generation != 0 && its <= RegionTextSIZE &&
        RegionTEXT + (i + 1) * RegionTextSIZE <= size)
      res = block(data, header, (char *)header + RegionTEXT + i * RegionTextSIZE, its);
    for (i = 0; i < header->slots && res == ResOK; ++i)
      if (RegionBlockAt(&offset, &its, header, i))
        res = block(data, header, (char *)header + offset, its);
    if (res == ResOK)
      res = block(data, header, NULL, 0);
    if (res == ResOK && !adoptCounts(header))
      (void)StoreRemove(path);
  }
  (void)RawCall(SYS_munmap, header, size);
}

typedef struct AdoptEntryStruct {
  uint64_t inode, offset;
  uint16_t size;
  uint8_t type;
  char name[];
} AdoptEntryStruct, *AdoptEntry; /* as getdents64 has it */

/* eachSays -- does the file say that it is a region of the recording, as we make them?  It is read: of one that another process
 * is making there may be no page yet, and on a full disk whoever touches that dies. */
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
         memcmp(begin.magic, RegionMAGIC, BlockMagicSIZE) == 0 && begin.order == BlockORDER && begin.major == BlockMAJOR &&
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
  fd = RawCall(SYS_openat, folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return -1;
  if (RawStat((int)fd, &status) == 0 && status.st_uid == RawUser() && (Size)status.st_size >= RegionFIRST &&
      eachSays((int)fd, recording))
    return (int)fd;
  (void)RawCall(SYS_close, fd);
  return -1;
}

/* Whoever is given such files. */
typedef struct eachStruct {
  StoreEachFunction take;   /* StoreEach's, or NULL: */
  StoreAdoptFunction block; /* StoreAdopt's, */
  void *data;
  uint64_t recording;
  uint32_t pid;             /* for regions of this process */
} eachStruct, *adoptEachs;

/* eachTake -- the file, which is closed; FALSE: on with the next one */
static Bool eachTake(adoptEachs each, int fd, const char *path)
{
  Bool taken = FALSE;

  if (each->take == NULL) {
    adoptFile(fd, path, each->recording, each->block, each->data);
  } else {
    taken = each->take(fd);
    (void)RawCall(SYS_close, fd);
  }
  return taken;
}

/* adoptEach -- all of one folder */
static Bool adoptEach(const char *log, Bool beside, adoptEachs each)
{
  uint64_t entries[adoptENTRIES];
  char path[RegionPathMAX], *name;
  Bool taken = FALSE;
  long folder, size, at;

  if (!StoreName(path, sizeof path, log, each->recording, 0, beside))
    return FALSE;
  name = strrchr(path, '/');
  *name++ = '\0';
  folder = RawCall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  name[-1] = '/';
  while (folder >= 0 && !taken && (size = RawCall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (at = 0; at < size && !taken; at += ((AdoptEntry)(void *)((char *)entries + at))->size) {
      const char *its = ((AdoptEntry)(void *)((char *)entries + at))->name;
      Size length = strlen(its);
      Bool fits = length < sizeof path - sizeof RegionLINK - (Size)(name - path);
      int fd = fits ? eachOpen(folder, its, each->recording, each->pid) : -1;
      if (fd < 0)
        continue;
      memcpy(name, its, length + 1);
      taken = eachTake(each, fd, path);
    }
  if (folder >= 0)
    (void)RawCall(SYS_close, folder);
  return taken;
}

Bool StoreEach(const char *log, uint64_t recording, Bool beside, StoreEachFunction take)
{
  eachStruct each = {.take = take, .recording = recording};

  return adoptEach(log, beside, &each);
}

/* adoptNext -- the regions that this process has numbered itself: in a row */
static void adoptNext(const char *log, adoptEachs each, Bool beside)
{
  char path[RegionPathMAX], link[RegionPathMAX];
  struct stat status;
  unsigned n;

  for (n = 0; n < StoreNumbersMAX && StoreName(path, sizeof path, log, each->recording, n, beside); ++n) {
    int fd = (int)RawCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    /* Where only the link of one that is gone is left, there may be more behind it. */
    if (fd == -ENOENT && RawCall(SYS_newfstatat, AT_FDCWD, StoreLink(link, path), &status, AT_SYMLINK_NOFOLLOW) != 0)
      break;
    if (fd >= 0) /* else it is somebody else's, which may stand in front of ours */
      adoptFile(fd, path, each->recording, each->block, each->data);
  }
}

void StoreAdopt(const char *log, uint64_t recording, Bool collected, StoreAdoptFunction block, void *data)
{
  eachStruct each = {.block = block, .data = data, .recording = recording, .pid = RawPid()};
  unsigned beside;

  for (beside = 0; beside < 2; ++beside)
    if (collected)
      (void)adoptEach(log, beside != 0, &each);
    else
      adoptNext(log, &each, beside != 0);
}
