/* blockstore.c -- the memory in which a process's blocks lie: its file, its mapping, and their end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/blockstore.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

enum {
  storeSlotsMIN = 8,
  storeSlotsFEW = 64,
  storeHeadSIZE = offsetof(RegionHeaderStruct, tickets),
  storeDUMPED = RegionFIRST + 6 * RegionSlotSIZE, /* bytes at its beginning that any core has: dumping a hole in tmpfs
                              fills it, so it is no more than a short process needs */
  storeTABLE = 2 << 20     /* bytes that a table of pages tells of */
};

/* The mappings of this process's stores, and of its parent's, where an event that fork has interrupted may yet be
 * written. */
enum { storeMappingsMAX = 4 };

typedef struct StoreMappingStruct {
  char *base, *place;  /* of the reservation, and of the store in it */
  Size reserved, size; /* 0: nothing of ours is there */
  Bool shared;
} StoreMappingStruct, *StoreMapping;

static StoreMappingStruct storeMappings[storeMappingsMAX], storeParents[storeMappingsMAX];

/* How many slots of the shared store an event may be written in that a fork interrupts. */
static Index storeForking = RegionSlotsMAX;

/* The path of the shared store of the process that forked; "": it has none. */
static char storeFamily[RegionPathMAX];

/* StoreName -- of the `n`th region of this process (format/region.h), in RegionFOLDER or beside the log.  Where a link
 * to the log is to lie beside it, that has room, too. */
Bool StoreName(char *room, Size size, const char *log, uint64_t recording, unsigned n, Bool beside)
{
  RegionNameStruct name = {.recording = recording, .pid = RawPid(), .number = n};
  const char *slash = strrchr(log, '/');
  TextStruct text;

  TextInit(&text, room, size - sizeof RegionLINK);
  if (beside && slash == NULL)
    return FALSE;
  TextBytes(&text, beside ? log : RegionFOLDER "/", beside ? (Size)(slash + 1 - log) : sizeof RegionFOLDER);
  RegionNameWrite(&text, &name, beside ? slash + 1 : NULL);
  (void)TextTerminate(&text);
  return !text.overflow;
}

/* StoreLink -- where the link beside a region is */
const char *StoreLink(char *room, const char *path)
{
  (void)strcpy(room, path);
  return strcat(room, RegionLINK);
}

/* StoreRemove -- the file at `path`, and then the link beside it, if there is one: a link alone says of nobody that
 * something is left.  FALSE: the file may be there yet. */
Bool StoreRemove(const char *path)
{
  char room[RegionPathMAX];
  Bool removed = RawCall(SYS_unlinkat, AT_FDCWD, path, 0) == 0;

  (void)RawCall(SYS_unlinkat, AT_FDCWD, StoreLink(room, path), 0);
  return removed;
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

/* storeMapping -- that of a store; NULL: it has none, or found no place */
static StoreMapping storeMapping(Store store)
{
  Index i;

  for (i = 0; i < storeMappingsMAX && store->header != NULL; ++i)
    if (storeMappings[i].reserved != 0 && storeMappings[i].place == (char *)store->header)
      return &storeMappings[i];
  return NULL;
}

void StoreForks(Store store)
{
  storeForking = StoreLimit(store);
  (void)strcpy(storeFamily, store->path);
}

Bool StoreFamilySeen(void)
{
  struct stat status;

  return storeFamily[0] == '\0' || RawCall(SYS_newfstatat, AT_FDCWD, storeFamily, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* storeStandIn -- memory of the child's own where its parent's blocks were, and no more: where address space is
 * limited, what is left is for a region of its own */
static void storeStandIn(StoreMapping mapping)
{
  Size size = RegionSize(storeForking) < mapping->size ? RegionSize(storeForking) : mapping->size;
  char *end = mapping->place + mapping->size, *all = mapping->base + mapping->reserved;

  if (mapping->base < mapping->place)
    RawUnmap(mapping->base, (Size)(mapping->place - mapping->base));
  if (end < all)
    RawUnmap(end, (Size)(all - end));
  if (RawMapAt(mapping->place, size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1) == NULL)
    size = 0; /* another mapping has taken the place meanwhile */
  *mapping = (StoreMappingStruct){mapping->place, mapping->place, size, size, TRUE};
}

void StoreForked(void)
{
  Index i;

  for (i = 0; i < storeMappingsMAX; ++i) {
    StoreMapping mapping = &storeParents[i];
    if (mapping->reserved != 0)
      RawUnmap(mapping->base, mapping->reserved);
    *mapping = storeMappings[i];
    memset(&storeMappings[i], 0, sizeof storeMappings[i]);
    if (mapping->reserved != 0 && mapping->shared)
      storeStandIn(mapping);
  }
  storeForking = RegionSlotsMAX;
}

/* storeAligned -- are the slots aligned, in a mapping that begins here? */
static Bool storeAligned(char *place)
{
  return (Word)(place + RegionFIRST) % RegionSlotSIZE == 0;
}

/* storeMapAt -- a mapping of the file, or private memory */
static char *storeMapAt(char *place, Size size, int fd, int more)
{
  return RawMapAt(place, size, PROT_READ | PROT_WRITE,
                  (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | MAP_NORESERVE | more, fd);
}

/* storeMapNear -- below `near`, if nothing is there: then no address need be reserved, and nothing is left over.  What
 * a short process needs of it is in one table of pages. */
static Bool storeMapNear(StoreMapping mapping, const void *near, int fd, Size size)
{
  char *place = (char *)WordAlignDown((Word)near - RegionSlotSIZE - size, storeTABLE);

  place = storeMapAt(place, size, fd, 0);
  *mapping = (StoreMappingStruct){place, place, size, size, fd >= 0};
  if (place != NULL && !storeAligned(place))
    RawUnmap(place, size);
  return place != NULL && storeAligned(place);
}

/* storeMapWithin -- where there is room, in a larger piece */
static Bool storeMapWithin(StoreMapping mapping, int fd, Size size)
{
  Size reserved = size + 2 * RegionSlotSIZE;
  char *base = RawMapAt(NULL, reserved, fd < 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  char *place;

  if (base == NULL)
    return FALSE;
  place = (char *)WordAlignUp(base + RegionFIRST, RegionSlotSIZE) - RegionFIRST;
  *mapping = (StoreMappingStruct){base, place, reserved, size, fd >= 0};
  if (fd < 0 || storeMapAt(place, size, fd, MAP_FIXED) != NULL)
    return TRUE;
  (void)RawCall(SYS_munmap, base, reserved);
  return FALSE;
}

/* storeMap -- `size` bytes at an address such that the slots are aligned: of the file, whose descriptor is not needed
 * any more, or of private memory
 * near  memory of ours */
static RegionHeader storeMap(const void *near, int fd, Size size)
{
  StoreMappingStruct mapping;
  char *place;

  if (!storeMapNear(&mapping, near, fd, size) && !storeMapWithin(&mapping, fd, size))
    return NULL;
  place = mapping.place;
  /* A core has what was used.  The rest would be half a gigabyte of zeros, and of a file take room in its file
   * system. */
  if (size > storeDUMPED)
    (void)RawCall(SYS_madvise, place + storeDUMPED,
                  (fd >= 0 ? place + size : mapping.base + mapping.reserved) - (place + storeDUMPED), MADV_DONTDUMP);
  /* A child of fork must not write where its parent does: it has no such memory, and starts its own. */
  if (fd >= 0)
    (void)RawCall(SYS_madvise, place, size, MADV_DONTFORK);
  else /* What lies before it has other flags: so it begins a mapping, as debuggers and readers of cores look for it. */
    (void)RawCall(SYS_madvise, place, mapping.base + mapping.reserved - place, MADV_WIPEONFORK);
  storeRemember(mapping);
  return (RegionHeader)(void *)place;
}

/* storeFile -- a new file of mode 0600, locked; or minus an errno */
static int storeFile(const char *path, Size size)
{
  long fd = LentCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  long res;

  if (fd < 0)
    return (int)fd;
  res = RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB);
  if (res == 0)
    res = RawCall(SYS_ftruncate, fd, size);
  if (res == 0)
    res = RawCall(SYS_fallocate, fd, 0, 0, storeHeadSIZE);
  if (res == 0 || res == -EOPNOTSUPP)
    return (int)fd;
  (void)RawCall(SYS_unlinkat, AT_FDCWD, path, 0);
  LentClose(fd);
  return (int)res;
}

/* storeNameless -- the store as a file that nobody can find but by its descriptor; -1: the system has no such thing */
static RegionHeader storeNameless(Store store, Size size, int *fdReturn)
{
  long fd = LentCall(SYS_memfd_create, RegionNAMELESS, MFD_CLOEXEC);
  RegionHeader header = NULL;

  store->path[0] = '\0';
  if (fd < 0)
    return NULL;
  if (RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 && RawCall(SYS_ftruncate, fd, size) == 0)
    header = storeMap(store, (int)fd, size);
  if (header == NULL)
    LentClose(fd);
  else
    *fdReturn = (int)fd;
  return header;
}

/* storeShared -- the store as a file, in tmpfs or else beside the log */
static RegionHeader storeShared(Store store, const char *log, uint64_t recording, Size size, int *fdReturn)
{
  char link[RegionPathMAX];
  unsigned beside, n;

  for (beside = 0; beside < (log[0] != '\0' ? 2 : 1); ++beside)
    for (n = 0; n < StoreNumbersMAX && StoreName(store->path, sizeof store->path, log, recording, n, beside); ++n) {
      /* The link is made before the region: so there is never a region of which nobody knows what log it is for.  One
       * that is there belongs to another region, which was removed; the link is about to be. */
      Bool links = !beside && log[0] == '/';
      long res = links ? RawCall(SYS_symlinkat, log, AT_FDCWD, StoreLink(link, store->path)) : 0;
      Bool linked = links && res == 0;
      int fd = res == -EEXIST ? -EEXIST : storeFile(store->path, size);
      RegionHeader header = fd >= 0 ? storeMap(store, fd, size) : NULL;
      if (header != NULL) {
        *fdReturn = fd;
        return header;
      }
      if (linked)
        (void)RawCall(SYS_unlinkat, AT_FDCWD, link, 0);
      if (fd >= 0) {
        LentClose(fd);
        (void)RawCall(SYS_unlinkat, AT_FDCWD, store->path, 0);
      }
      if (fd != -EEXIST)
        break;
    }
  return storeNameless(store, size, fdReturn);
}

/* storeFair -- how many bytes to reserve: where they are limited (ulimit -v), a sixteenth, or up to an eighth for some
 * slots; the program wants the rest */
static Size storeFair(void)
{
  uint64_t space = RawLimit(RLIMIT_AS), data = RawLimit(RLIMIT_DATA);
  Size least, fair;

  fair = (Size)(space < data ? space : data);
  least = fair / 8 < RegionSize(storeSlotsFEW) ? fair / 8 : RegionSize(storeSlotsFEW);
  if (least < RegionSize(storeSlotsMIN))
    least = RegionSize(storeSlotsMIN);
  return fair / 16 < least ? least : fair / 16;
}

Count StoreSlots(void)
{
  Size fair = storeFair();
  unsigned slots = RegionSlotsMAX;

  while (slots > storeSlotsMIN && RegionSize(slots) > fair)
    slots /= 2;
  return slots;
}

/* storeMemory -- map the store, as large as possible; a file if `fdReturn` is given and there can be one, else private
 * memory */
static RegionHeader storeMemory(Store store, const char *log, uint64_t recording, unsigned *slotsReturn,
                                int *fdReturn)
{
  uint64_t limit = fdReturn != NULL ? RawLimit(RLIMIT_FSIZE) : 0; /* beyond which a signal kills */
  unsigned private, slots, most = StoreSlots();

  for (private = fdReturn == NULL; private < 2; ++private)
    for (slots = most; slots >= storeSlotsMIN; slots /= 2) {
      RegionHeader header = NULL;
      if (private)
        header = storeMap(store, -1, RegionSize(slots));
      else if (RegionSize(slots) <= limit)
        header = storeShared(store, log, recording, RegionSize(slots), fdReturn);
      *slotsReturn = slots;
      store->shared = !private;
      if (header != NULL)
        return header;
    }
  return NULL;
}

/* storeClear -- as new; what was not touched is left alone */
static void storeClear(Store store)
{
  /* What is only read first is given to us twice: as zeros, and when it is written. */
  memset(store->provided, 0, __atomic_exchange_n(&store->limit, 0, __ATOMIC_RELAXED));
}

Res StoreOpen(Store store, const char *log, uint64_t recording, uint64_t identity, int *fdReturn)
{
  RegionHeader header;
  unsigned slots;

  storeClear(store);
  if (fdReturn != NULL) {
    store->path[0] = '\0';
    *fdReturn = -1;
  }
  header = storeMemory(store, log, recording, &slots, fdReturn);
  if (header == NULL)
    return ResMEMORY;
  RegionBegin(header, RawPid(), slots, identity, recording, log);
  /* Last: other threads take from it as soon as they see it. */
  __atomic_store_n(&store->header, header, __ATOMIC_RELEASE);
  AVER(StoreCheck(store));
  return ResOK;
}

Res StoreAttach(Store store, int fd, Count slots, const char *path)
{
  RegionHeader header;

  if (slots == 0 || slots > RegionSlotsMAX || strlen(path) + sizeof RegionLINK > sizeof store->path)
    return ResFORMAT;
  storeClear(store);
  header = storeMap(store, fd, RegionSize(slots));
  if (header == NULL)
    return ResMEMORY;
  (void)strcpy(store->path, path);
  store->shared = TRUE;
  __atomic_store_n(&store->header, header, __ATOMIC_RELEASE);
  AVER(StoreCheck(store));
  return ResOK;
}

void StoreDetach(Store store)
{
  StoreMapping mapping = storeMapping(store);

  if (mapping != NULL) {
    RawUnmap(mapping->base, mapping->reserved);
    memset(mapping, 0, sizeof *mapping);
  }
  store->path[0] = '\0';
  __atomic_store_n(&store->header, NULL, __ATOMIC_RELEASE);
}

void StoreMark(const char *log, uint64_t recording)
{
  char path[RegionPathMAX];
  long fd = -EEXIST;
  unsigned n;

  for (n = 0; fd == -EEXIST && n < StoreNumbersMAX && StoreName(path, sizeof path, log, recording, n, FALSE); ++n)
    fd = LentCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0)
    LentClose(fd);
}

/* A process that has changed its user, or its root folder, cannot remove the name.  So the file's memory is given back
 * through the mapping first, all but the header, which says that nothing is there. */
void StoreUnlink(Store store)
{
  StoreMapping mapping = store->shared ? storeMapping(store) : NULL;

  if (store->path[0] != '\0' && !StoreRemove(store->path) && mapping != NULL &&
      RawCall(SYS_madvise, mapping->place + RegionTEXT, mapping->size - RegionTEXT, MADV_REMOVE) == 0)
    __atomic_store_n(&store->header->text.generation, 0, __ATOMIC_RELEASE);
  store->path[0] = '\0';
}

Bool StoreProvide(Store store, Size offset, Size size)
{
  long fd, res;

  if (offset + size > storeDUMPED)
    (void)RawCall(SYS_madvise, (char *)store->header + offset, WordAlignUp(size, BlockMIN), MADV_DODUMP);
  if (!store->shared || store->path[0] == '\0')
    return TRUE;
  /* By the mapping: a program that has given up its rights, its root folder or its descriptors still has that. */
  res = RawCall(SYS_madvise, (char *)store->header + offset, WordAlignUp(size, BlockMIN), MADV_POPULATE_WRITE);
  if (res != -EINVAL)
    return res == 0;
  /* Systems before 5.14 have no such thing.  By path, not by a descriptor kept open: programs close descriptors that
   * they do not know. */
  fd = LentCall(SYS_openat, AT_FDCWD, store->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return FALSE;
  res = RawCall(SYS_fallocate, fd, 0, offset, size);
  LentClose(fd);
  return res == 0 || res == -EOPNOTSUPP;
}

Bool StoreCheck(Store store)
{
  RegionHeader header = StoreRegion(store);
  Index limit = StoreLimit(store), i;

  if (limit > RegionSlotsMAX || memchr(store->path, '\0', sizeof store->path) == NULL ||
      (store->path[0] != '\0' && !store->shared) || (header != NULL && !storeAligned((char *)header)))
    return FALSE;
  for (i = 0; i < limit; ++i) {
    Size size = (Size)1 << __atomic_load_n(&store->provided[i], __ATOMIC_RELAXED);
    if (size != 1 && (size < BlockMIN || size > BlockMAX))
      return FALSE;
  }
  return TRUE;
}
