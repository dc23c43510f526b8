/* store.c -- where a process's blocks lie
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "plinth/quiet.h"

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

/* A process may leave regions behind by exec; more than this many stay for the collector. */
enum { storeTriesMAX = 64, storeSlotsMIN = 64, storeHeadSIZE = offsetof(RegionHeaderStruct, tickets) };

/* The mappings of this process's stores, and of its parent's, where an event that fork has interrupted may yet be
 * written. */
enum { storeMappingsMAX = 4 };

typedef struct StoreMappingStruct {
  char *base, *place;  /* of the reservation, and of the store in it */
  Size reserved, size; /* 0: nothing of ours is there */
  Bool shared;
} StoreMappingStruct, *StoreMapping;

static StoreMappingStruct storeMappings[storeMappingsMAX], storeParents[storeMappingsMAX];

/* storeName -- "DIRECTORY/pawprint-PID-N", or beside the log */
static Bool storeName(char *room, Size size, const char *log, unsigned n, Bool beside)
{
  TextStruct text;

  TextInit(&text, room, size);
  if (beside) {
    TextString(&text, log);
    TextString(&text, ".region-");
  } else {
    TextString(&text, "/dev/shm/pawprint-");
  }
  TextDecimal(&text, (uint64_t)getpid());
  TextChar(&text, '-');
  TextDecimal(&text, n);
  (void)TextTerminate(&text);
  return !text.overflow;
}

/* storeRemember -- for the child of a fork; what finds no place stays where it is */
static void storeRemember(StoreMappingStruct mapping)
{
  Index i;

  for (i = 0; i < storeMappingsMAX; ++i)
    if (storeMappings[i].reserved == 0) {
      storeMappings[i] = mapping;
      return;
    }
}

void StoreForked(void)
{
  Index i;

  for (i = 0; i < storeMappingsMAX; ++i) {
    StoreMapping mapping = &storeParents[i];
    if (mapping->reserved != 0)
      QuietUnmap(mapping->base, mapping->reserved);
    *mapping = storeMappings[i];
    memset(&storeMappings[i], 0, sizeof storeMappings[i]);
    if (mapping->reserved != 0 && mapping->shared &&
        QuietMapAt(mapping->place, mapping->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1) == NULL)
      mapping->reserved = 0; /* somebody was quicker */
  }
}

/* storeMap -- `size` bytes at an address such that the slots are aligned; the descriptor is not needed any more */
static RegionHeader storeMap(int fd, Size size)
{
  int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
  Size reserved = size + 2 * RegionSlotSIZE;
  char *base = QuietMapAt(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  char *place, *slots;

  if (base == NULL)
    return NULL;
  slots = (char *)WordAlignUp(base + RegionFIRST, RegionSlotSIZE);
  place = slots - RegionFIRST;
  if (QuietMapAt(place, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd) == NULL) {
    (void)QuietCall(SYS_munmap, base, reserved);
    return NULL;
  }
  /* A core has what was used.  A dump of the rest would be half a gigabyte of zeros, and fill the file system with
   * it. */
  (void)QuietCall(SYS_madvise, place, size, MADV_DONTDUMP);
  (void)QuietCall(SYS_madvise, place, WordAlignUp(sizeof(RegionHeaderStruct), BlockMIN), MADV_DODUMP);
  /* A child of fork must not write where its parent does: it has no such memory, and starts its own. */
  (void)QuietCall(SYS_madvise, place, size, fd >= 0 ? MADV_DONTFORK : MADV_WIPEONFORK);
  storeRemember((StoreMappingStruct){base, place, reserved, size, fd >= 0});
  return (RegionHeader)(void *)place;
}

/* storeFile -- a new file of mode 0600, locked; or minus an errno */
static int storeFile(const char *path, Size size)
{
  long fd = QuietCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  long res;

  if (fd < 0)
    return (int)fd;
  res = QuietCall(SYS_flock, fd, LOCK_EX | LOCK_NB);
  if (res == 0)
    res = QuietCall(SYS_ftruncate, fd, size);
  if (res == 0)
    res = QuietCall(SYS_fallocate, fd, 0, 0, storeHeadSIZE);
  if (res == 0 || res == -EOPNOTSUPP)
    return (int)fd;
  (void)QuietCall(SYS_unlinkat, AT_FDCWD, path, 0);
  (void)QuietCall(SYS_close, fd);
  return (int)res;
}

/* storeNameless -- the store as a file that nobody can find but by its descriptor; -1: the system has no such thing */
static RegionHeader storeNameless(Store store, Size size, int *fdReturn)
{
  long fd = QuietCall(SYS_memfd_create, "pawprint-region", MFD_CLOEXEC);
  RegionHeader header = NULL;

  store->path[0] = '\0';
  if (fd < 0)
    return NULL;
  if (QuietCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 && QuietCall(SYS_ftruncate, fd, size) == 0)
    header = storeMap((int)fd, size);
  if (header == NULL)
    (void)QuietCall(SYS_close, fd);
  else
    *fdReturn = (int)fd;
  return header;
}

/* storeShared -- the store as a file, in tmpfs or else beside the log */
static RegionHeader storeShared(Store store, const char *log, Size size, int *fdReturn)
{
  unsigned beside, n;

  for (beside = 0; beside < (log[0] != '\0' ? 2 : 1); ++beside)
    for (n = 0; n < storeTriesMAX && storeName(store->path, sizeof store->path, log, n, beside); ++n) {
      int fd = storeFile(store->path, size);
      if (fd >= 0) {
        RegionHeader header = storeMap(fd, size);
        *fdReturn = fd;
        if (header != NULL)
          return header;
        (void)QuietCall(SYS_close, fd);
        (void)QuietCall(SYS_unlinkat, AT_FDCWD, store->path, 0);
      }
      if (fd != -EEXIST)
        break;
    }
  return storeNameless(store, size, fdReturn);
}

/* storeSlotsMax -- how many slots a file may have: a limit on file sizes comes with a signal that kills */
static unsigned storeSlotsMax(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= RegionSize(RegionSlotsMAX))
    return RegionSlotsMAX;
  return limit.rlim_cur < RegionSize(storeSlotsMIN) ? 0 : (unsigned)((limit.rlim_cur - RegionFIRST) / RegionSlotSIZE);
}

/* storeFair -- how many bytes to reserve: where they are limited (ulimit -v), a sixteenth; the program wants the
 * rest */
static Size storeFair(void)
{
  Size fair = SIZE_MAX;
  struct rlimit limit;

  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / 16 < fair)
    fair = (Size)limit.rlim_cur / 16;
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur / 16 < fair)
    fair = (Size)limit.rlim_cur / 16;
  return fair < RegionSize(storeSlotsMIN) ? RegionSize(storeSlotsMIN) : fair;
}

/* storeMemory -- the store's mapping, as large as can be had; a file's if `fdReturn` is given and one can be */
static RegionHeader storeMemory(Store store, const char *log, unsigned *slotsReturn, int *fdReturn)
{
  Size fair = storeFair();
  unsigned private, slots;

  for (private = fdReturn == NULL; private < 2; ++private)
    for (slots = RegionSlotsMAX; slots >= storeSlotsMIN; slots /= 8) {
      RegionHeader header = NULL;
      if (RegionSize(slots) > fair)
        continue;
      if (private)
        header = storeMap(-1, RegionSize(slots));
      else if (slots <= storeSlotsMax())
        header = storeShared(store, log, RegionSize(slots), fdReturn);
      *slotsReturn = slots;
      store->shared = !private;
      if (header != NULL)
        return header;
    }
  return NULL;
}

Res StoreOpen(Store store, const char *log, uint64_t identity, int *fdReturn)
{
  RegionHeader header;
  unsigned slots;

  store->path[0] = '\0';
  memset(store->provided, 0, sizeof store->provided);
  if (fdReturn != NULL)
    *fdReturn = -1;
  header = storeMemory(store, log, &slots, fdReturn);
  if (header == NULL)
    return ResMEMORY;
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->pid = (uint32_t)getpid();
  header->slots = slots;
  header->identity = identity;
  if (strlen(log) < sizeof header->log)
    (void)strcpy(header->log, log);
  /* Last: other threads take from it as soon as they see it. */
  __atomic_store_n(&store->header, header, __ATOMIC_RELEASE);
  return ResOK;
}

void StoreUnlink(Store store)
{
  if (store->path[0] != '\0')
    (void)QuietCall(SYS_unlinkat, AT_FDCWD, store->path, 0);
  store->path[0] = '\0';
}

Bool StoreProvide(Store store, Size offset, Size size)
{
  long fd, res;

  (void)QuietCall(SYS_madvise, (char *)store->header + offset, WordAlignUp(size, BlockMIN), MADV_DODUMP);
  if (store->path[0] == '\0')
    return TRUE;
  /* By the mapping: a program that has given up its rights, its root folder or its descriptors still has that. */
  res = QuietCall(SYS_madvise, (char *)store->header + offset, WordAlignUp(size, BlockMIN), MADV_POPULATE_WRITE);
  if (res != -EINVAL)
    return res == 0;
  /* Systems before 5.14 have no such thing.  By path, not by a descriptor kept open: programs close descriptors that
   * they do not know. */
  fd = QuietCall(SYS_openat, AT_FDCWD, store->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return FALSE;
  res = QuietCall(SYS_fallocate, fd, 0, offset, size);
  (void)QuietCall(SYS_close, fd);
  return res == 0 || res == -EOPNOTSUPP;
}

/* storeSlotProvide -- the same for the block in a slot that is ours, once */
static Bool storeSlotProvide(Store store, Index i, unsigned log2)
{
  Size size = (Size)1 << log2;

  if (store->provided[i] >= log2)
    return TRUE;
  if (!StoreProvide(store, RegionFIRST + (i + 1) * RegionSlotSIZE - size, size))
    return FALSE;
  store->provided[i] = (uint8_t)log2;
  return TRUE;
}

void *StoreTake(Store store, Size size)
{
  RegionHeader header = __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
  unsigned log2 = (unsigned)__builtin_ctzl(size);
  Bool full = FALSE; /* the file system: what was had before still serves */
  Index i;

  AVER(WordIsPowerOf2(size) && size >= BlockMIN && size <= BlockMAX);
  for (i = 0; header != NULL && i < header->slots; ++i) {
    uint8_t none = RegionFREE;
    if (__atomic_load_n(&header->state[i], __ATOMIC_RELAXED) != RegionFREE || (full && store->provided[i] < log2) ||
        !__atomic_compare_exchange_n(&header->state[i], &none, (uint8_t)(RegionOPEN | log2), FALSE, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    if (storeSlotProvide(store, i, log2))
      return (char *)header + RegionFIRST + (i + 1) * RegionSlotSIZE - size;
    __atomic_store_n(&header->state[i], RegionFREE, __ATOMIC_RELEASE);
    full = TRUE;
  }
  return NULL;
}

void StoreGive(Store store, void *block, Size size)
{
  Size end = (Size)((char *)block + size - (char *)store->header);

  AVER((end - RegionFIRST) % RegionSlotSIZE == 0);
  __atomic_store_n(&store->header->state[(end - RegionFIRST) / RegionSlotSIZE - 1], RegionFREE, __ATOMIC_RELEASE);
}

/* storeAdoptFile -- one region, if its owner is gone and it belongs to `log` */
static void storeAdoptFile(int fd, const char *path, const char *log,
                           Res (*block)(void *data, void *base, Size size), void *data)
{
  struct stat status;
  RegionHeader header;
  Size size, offset, its;
  Res res = ResOK;
  Index i;

  if (QuietCall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &status) != 0 || status.st_uid != geteuid())
    return;
  size = (Size)status.st_size;
  header = size < RegionFIRST ? NULL : QuietMapAt(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  if (header == NULL)
    return;
  if (RegionHeaderSound(header, size) && header->pid == (uint32_t)getpid() && strcmp(header->log, log) == 0 &&
      !RegionCollected(header)) {
    for (i = 0; i < header->slots && res == ResOK; ++i)
      if (RegionBlockAt(&offset, &its, header, i))
        res = block(data, (char *)header + offset, its);
    if (res == ResOK)
      (void)QuietCall(SYS_unlinkat, AT_FDCWD, path, 0);
  }
  (void)QuietCall(SYS_munmap, header, size);
}

void StoreAdopt(const char *log, Res (*block)(void *data, void *base, Size size), void *data)
{
  char path[RegionPathMAX];
  unsigned beside, n;

  for (beside = 0; beside < 2; ++beside)
    for (n = 0; n < storeTriesMAX && storeName(path, sizeof path, log, n, beside); ++n) {
      int fd = (int)QuietCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
      if (fd == -ENOENT)
        break;
      if (fd < 0) /* somebody else's, which may stand in front of ours */
        continue;
      storeAdoptFile(fd, path, log, block, data);
      (void)QuietCall(SYS_close, fd);
    }
}
