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
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"

#if !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

/* A process may leave regions behind by exec; more than this many stay for the collector. */
enum {
  storeTriesMAX = 64,
  storeSlotsMIN = 8,
  storeSlotsFEW = 64,
  storeHeadSIZE = offsetof(RegionHeaderStruct, tickets),
  storeAHEAD = 64,         /* slots that StoreAhead sees to: 4 MiB */
  storeDUMPED = RegionFIRST + 6 * RegionSlotSIZE, /* bytes at its beginning that any core has: dumping a hole in tmpfs
                              fills it, so it is no more than a short process needs */
  storeTABLE = 2 << 20,    /* bytes that a table of pages tells of */
  storeLeastLOG = 12,      /* of BlockMIN, */
  storeMostLOG = 16,       /* and of BlockMAX */
  storeENTRIES = 256,      /* words that are read of a folder in one go */
  storePoorNS = 10000000 /* that a file system which had no room is not asked again */
};
_Static_assert(BlockMIN == 1 << storeLeastLOG && BlockMAX == 1 << storeMostLOG, "log2 of the least and the largest block");

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

/* Where the shared store of the process that forked is; "": nowhere. */
static char storeFamily[RegionPathMAX];

/* storeName -- of the `n`th region of this process (format/region.h), in RegionFOLDER or beside the log.  Where a link
 * to the log is to lie beside it, that has room, too. */
static Bool storeName(char *room, Size size, const char *log, uint64_t recording, unsigned n, Bool beside)
{
  RegionNameStruct name = {.recording = recording, .pid = RawPid(), .number = n};
  const char *slash = strrchr(log, '/');
  TextStruct text;

  TextInit(&text, room, size - sizeof RegionLINK);
  if (beside) {
    if (slash == NULL)
      return FALSE;
    TextBytes(&text, log, (Size)(slash + 1 - log));
    RegionNameWrite(&text, &name, slash + 1);
  } else {
    TextString(&text, RegionFOLDER "/");
    RegionNameWrite(&text, &name, NULL);
  }
  (void)TextTerminate(&text);
  return !text.overflow;
}

/* storeLink -- where the link beside a region is */
static const char *storeLink(char *room, const char *path)
{
  (void)strcpy(room, path);
  return strcat(room, RegionLINK);
}

/* storeRemove -- the file at `path`, and then the link beside it, if there is one: a link alone says of nobody that
 * something is left.  FALSE: the file may be there yet. */
static Bool storeRemove(const char *path)
{
  char room[RegionPathMAX];
  Bool removed = RawCall(SYS_unlinkat, AT_FDCWD, path, 0) == 0;

  (void)RawCall(SYS_unlinkat, AT_FDCWD, storeLink(room, path), 0);
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

/* storeStandIn -- memory of the child's own where its parent's blocks were, and no more: where address space is limited, what
 * is left is for a region of its own */
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

/* storeMapNear -- below `near`, if nothing is there: then no address need be reserved, and nothing is left over.  What a
 * short process needs of it is in one table of pages. */
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

/* storeMap -- `size` bytes at an address such that the slots are aligned: of the file, whose descriptor is not needed any
 * more, or of private memory
 * near  memory of ours */
static RegionHeader storeMap(const void *near, int fd, Size size)
{
  StoreMappingStruct mapping;
  char *place;

  if (!storeMapNear(&mapping, near, fd, size) && !storeMapWithin(&mapping, fd, size))
    return NULL;
  place = mapping.place;
  /* A core has what was used.  The rest would be half a gigabyte of zeros, and of a file take room in its file system. */
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
  long fd = RawCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
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
  (void)RawCall(SYS_close, fd);
  return (int)res;
}

/* storeNameless -- the store as a file that nobody can find but by its descriptor; -1: the system has no such thing */
static RegionHeader storeNameless(Store store, Size size, int *fdReturn)
{
  long fd = RawCall(SYS_memfd_create, RegionNAMELESS, MFD_CLOEXEC);
  RegionHeader header = NULL;

  store->path[0] = '\0';
  if (fd < 0)
    return NULL;
  if (RawCall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 && RawCall(SYS_ftruncate, fd, size) == 0)
    header = storeMap(store, (int)fd, size);
  if (header == NULL)
    (void)RawCall(SYS_close, fd);
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
    for (n = 0; n < storeTriesMAX && storeName(store->path, sizeof store->path, log, recording, n, beside); ++n) {
      /* The link is made before the region: so there is never a region of which nobody knows what log it is for.  One
       * that is there is another region's, which is gone, and about to go itself. */
      Bool links = !beside && log[0] == '/';
      long res = links ? RawCall(SYS_symlinkat, log, AT_FDCWD, storeLink(link, store->path)) : 0;
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
        (void)RawCall(SYS_close, fd);
        (void)RawCall(SYS_unlinkat, AT_FDCWD, store->path, 0);
      }
      if (fd != -EEXIST)
        break;
    }
  return storeNameless(store, size, fdReturn);
}

/* storeSlotsMax -- how many slots a file may have: a limit on file sizes comes with a signal that kills */
static unsigned storeSlotsMax(void)
{
  uint64_t limit = RawLimit(RLIMIT_FSIZE);

  if (limit >= RegionSize(RegionSlotsMAX))
    return RegionSlotsMAX;
  return limit < RegionSize(storeSlotsMIN) ? 0 : (unsigned)((limit - RegionFIRST) / RegionSlotSIZE);
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

/* storeMemory -- the store's mapping, as large as can be had; a file's if `fdReturn` is given and one can be */
static RegionHeader storeMemory(Store store, const char *log, uint64_t recording, unsigned *slotsReturn,
                                int *fdReturn)
{
  Size fair = storeFair();
  unsigned private, slots;

  for (private = fdReturn == NULL; private < 2; ++private)
    for (slots = RegionSlotsMAX; slots >= storeSlotsMIN; slots /= 2) {
      RegionHeader header = NULL;
      if (RegionSize(slots) > fair)
        continue;
      if (private)
        header = storeMap(store, -1, RegionSize(slots));
      else if (slots <= storeSlotsMax())
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
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->pid = RawPid();
  header->slots = slots;
  header->identity = identity;
  header->recording = recording;
  if (strlen(log) < sizeof header->log)
    (void)strcpy(header->log, log);
  /* Last: other threads take from it as soon as they see it. */
  __atomic_store_n(&store->header, header, __ATOMIC_RELEASE);
  return ResOK;
}

Count StoreSlots(void)
{
  Size fair = storeFair();
  unsigned slots = RegionSlotsMAX;

  while (slots > storeSlotsMIN && RegionSize(slots) > fair)
    slots /= 2;
  return slots;
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
  return ResOK;
}

void StoreDetach(Store store)
{
  Index i;

  for (i = 0; i < storeMappingsMAX; ++i)
    if (storeMappings[i].reserved != 0 && storeMappings[i].place == (char *)store->header) {
      RawUnmap(storeMappings[i].base, storeMappings[i].reserved);
      memset(&storeMappings[i], 0, sizeof storeMappings[i]);
    }
  store->path[0] = '\0';
  __atomic_store_n(&store->header, NULL, __ATOMIC_RELEASE);
}

void StoreMark(const char *log, uint64_t recording)
{
  char path[RegionPathMAX];
  long fd = -EEXIST;
  unsigned n;

  for (n = 0; fd == -EEXIST && n < storeTriesMAX && storeName(path, sizeof path, log, recording, n, FALSE); ++n)
    fd = RawCall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0)
    (void)RawCall(SYS_close, fd);
}

/* storeEmpty -- give back what the region's file holds, but for its header, which says that there is nothing: by the mapping, as
 * whoever has changed its user, or its root folder, cannot remove the name */
static void storeEmpty(Store store)
{
  Index i;

  for (i = 0; i < storeMappingsMAX && store->header != NULL && store->shared; ++i) {
    StoreMapping mapping = &storeMappings[i];
    if (mapping->reserved != 0 && mapping->place == (char *)store->header &&
        RawCall(SYS_madvise, mapping->place + RegionTEXT, mapping->size - RegionTEXT, MADV_REMOVE) == 0)
      __atomic_store_n(&store->header->text.generation, 0, __ATOMIC_RELEASE);
  }
}

void StoreUnlink(Store store)
{
  if (store->path[0] != '\0' && !storeRemove(store->path))
    storeEmpty(store);
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
  fd = RawCall(SYS_openat, AT_FDCWD, store->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return FALSE;
  res = RawCall(SYS_fallocate, fd, 0, offset, size);
  (void)RawCall(SYS_close, fd);
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
  __atomic_store_n(&store->provided[i], (uint8_t)log2, __ATOMIC_RELAXED); /* who looks for a slot reads it before he has it */
  return TRUE;
}

/* storeRaise -- slot `i` has been taken */
static void storeRaise(Store store, Index i)
{
  Index limit = StoreLimit(store);

  while (limit <= i && !__atomic_compare_exchange_n(&store->limit, &limit, i + 1, FALSE, __ATOMIC_ACQ_REL,
                                                    __ATOMIC_ACQUIRE))
    ;
}

/* storeEnd -- where a slot ends */
static char *storeEnd(RegionHeader header, Index i)
{
  return (char *)header + RegionSize(i + 1);
}

uint8_t StoreTold(Store store, Index i)
{
  return RegionStateTold(storeEnd(store->header, i), (Size)1 << store->provided[i], store->header->identity);
}

/* storeFree -- the first free slot from `i` on, or `slots`.  Eight states are looked at in one go. */
static Index storeFree(RegionHeader header, Index i)
{
  enum { together = sizeof(uint64_t) };
  const uint64_t ones = 0x0101010101010101u;

  while (i < header->slots) {
    /* All places have a state, also those behind the last slot. */
    uint64_t states = i % together == 0 ? __atomic_load_n((uint64_t *)(void *)&header->state[i], __ATOMIC_RELAXED) : 0;
    if (((states - ones) & ~states & ones << 7) == 0)
      i += together;
    else if (__atomic_load_n(&header->state[i], __ATOMIC_RELAXED) == RegionFREE)
      return i;
    else
      ++i;
  }
  return header->slots;
}

/* Then it is not asked again: what was had before serves. */
Bool StorePoor(Store store)
{
  uint64_t poor = __atomic_load_n(&store->poor, __ATOMIC_RELAXED);

  return poor != 0 && EventClockMonotonic() - poor < storePoorNS;
}

/* storeTaken -- is there a block in a slot that was free, and is ours now?  Then the program has written over the slot's state,
 * which gets what it should be; its owner may have come first, and handed the block over. */
static Bool storeTaken(Store store, Index i, unsigned had)
{
  const char *end = storeEnd(store->header, i);
  uint8_t ours = RegionOPEN, told;
  uint64_t some = 0;
  unsigned log2;

  for (log2 = storeLeastLOG; log2 <= had; ++log2)
    some |= *(const uint64_t *)(const void *)(end - ((Size)1 << log2));
  if (LIKELY(some == 0))
    return FALSE;
  told = StoreTold(store, i);
  if (told != RegionFREE)
    (void)__atomic_compare_exchange_n(&store->header->state[i], &ours, told, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  return TRUE;
}

/* storeClaim -- take a free slot for a block of 1 << *log2 bytes, or of what was had there before; FALSE: not this one.
 * It does not say how large it is: others look at the headers of all that have a size, and there is none yet. */
static Bool storeClaim(Store store, Index i, unsigned *log2, Bool *poor)
{
  RegionHeader header = store->header;
  uint8_t had = __atomic_load_n(&store->provided[i], __ATOMIC_RELAXED), none = RegionFREE;
  unsigned its = *poor && had < *log2 ? had : *log2;

  if ((1u << its) < BlockMIN ||
      !__atomic_compare_exchange_n(&header->state[i], &none, RegionOPEN, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return FALSE;
  if (storeTaken(store, i, had))
    return FALSE;
  storeRaise(store, i);
  if (!storeSlotProvide(store, i, its)) {
    __atomic_store_n(&store->poor, EventClockMonotonic(), __ATOMIC_RELAXED);
    *poor = TRUE;
    its = store->provided[i];
  }
  if ((1u << its) < BlockMIN) {
    __atomic_store_n(&header->state[i], RegionFREE, __ATOMIC_RELEASE);
    return FALSE;
  }
  *log2 = its;
  return TRUE;
}

void StoreAhead(Store store)
{
  RegionHeader header = __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
  Bool poor = FALSE;
  Index i, slots = 0;

  for (i = 0; header != NULL && !poor && slots < storeAHEAD && (i = storeFree(header, i)) < header->slots; ++i) {
    unsigned log2 = storeMostLOG;
    if (storeClaim(store, i, &log2, &poor))
      __atomic_store_n(&header->state[i], RegionFREE, __ATOMIC_RELEASE);
    ++slots;
  }
}

void *StoreTake(Store store, Size *size)
{
  RegionHeader header = __atomic_load_n(&store->header, __ATOMIC_ACQUIRE);
  unsigned log2 = (unsigned)__builtin_ctzl(*size);
  Bool poor = StorePoor(store);
  Index i;

  AVER(WordIsPowerOf2(*size) && *size >= BlockMIN && *size <= BlockMAX);
  for (i = 0; header != NULL && (i = storeFree(header, i)) < header->slots; ++i)
    if (storeClaim(store, i, &log2, &poor)) {
      *size = (Size)1 << log2;
      return (char *)header + RegionFIRST + (i + 1) * RegionSlotSIZE - *size;
    }
  return NULL;
}

void StoreGive(Store store, void *block)
{
  __atomic_store_n(&store->header->state[StoreSlot(store->header, block)], RegionFREE, __ATOMIC_RELEASE);
}

/* storeErased -- nothing is left of the block in a slot */
static void storeErased(Store store, Index i)
{
  Size size = (Size)1 << store->provided[i];

  memset(storeEnd(store->header, i) - size, 0, size);
  __atomic_store_n(&store->header->state[i], RegionFREE, __ATOMIC_RELEASE);
  (void)__atomic_fetch_sub(&store->header->pool.full, 1, __ATOMIC_ACQ_REL);
}

/* storeState -- the state of a slot becomes `new`, unless another thread has changed it since it was `old` */
static Bool storeState(RegionHeader region, Index i, uint8_t old, uint8_t new)
{
  return __atomic_compare_exchange_n(&region->state[i], &old, new, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Another thread may still be overwriting an old block, as it has begun that before the collector died. */
void StoreInherit(Store store)
{
  RegionHeader region = store->header;
  Index i;

  for (i = 0; i < StoreLimit(store); ++i) {
    uint8_t old = __atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE), state = old, told;
    if ((old & RegionFULL) == 0)
      continue;
    told = StoreTold(store, i);
    if (RegionStateWrong(state, told))
      state = told;
    if ((state & RegionLog2MASK) != 0)
      (void)storeState(region, i, old, state & (uint8_t)~RegionTAKEN);
    else if (storeState(region, i, old, RegionERASED))
      storeErased(store, i);
  }
}

void StoreMend(Store store)
{
  RegionHeader region = StoreRegion(store);
  Index i;

  for (i = 0; region != NULL && i < StoreLimit(store); ++i) {
    uint8_t state = __atomic_load_n(&region->state[i], __ATOMIC_ACQUIRE), told = StoreTold(store, i);
    if (RegionStateWrong(state, told))
      (void)storeState(region, i, state, told);
  }
}

/* storeLedger -- how many events others have counted in a region: none where there was no room for the page, and to touch
 * that would kill the program */
static uint64_t storeLedger(RegionHeader header)
{
  Size size = RegionLEDGER - RegionCONTROL + sizeof(uint64_t);
  long res = RawCall(SYS_madvise, (char *)header + RegionCONTROL, size, MADV_POPULATE_WRITE);

  return res == 0 || res == -EINVAL ? RegionCounted(header) : 0;
}

/* storeCounts -- does the region count events that none of its blocks has? */
static Bool storeCounts(RegionHeader header)
{
  Index i;

  for (i = 0; i < RegionLEAVING; ++i)
    if (header->leaving[i].count != 0)
      return TRUE;
  return RegionLost(header) != 0 || storeLedger(header) != 0;
}

/* storeAdoptMap -- a region whose owner is gone; its lock is ours while it is mapped.  The file is closed: there may be
 * no other number for the log.  NULL: it is none */
static RegionHeader storeAdoptMap(Size *sizeReturn, int fd)
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

/* storeAdoptFile -- one region, if its owner is gone and it is of the recording */
static void storeAdoptFile(int fd, const char *path, uint64_t recording, StoreAdoptFunction block, void *data)
{
  Size size, offset, its;
  RegionHeader header = storeAdoptMap(&size, fd);
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
    if (res == ResOK && !storeCounts(header))
      (void)storeRemove(path);
  }
  (void)RawCall(SYS_munmap, header, size);
}

typedef struct StoreEntryStruct {
  uint64_t inode, offset;
  uint16_t size;
  uint8_t type;
  char name[];
} StoreEntryStruct, *StoreEntry; /* as getdents64 has it */

/* storeEachSays -- does the file say that it is a region of the recording, as we make them?  It is read: of one that another process
 * is making there may be no page yet, and on a full disk whoever touches that dies. */
static Bool storeEachSays(int fd, uint64_t recording)
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

/* storeEachOpen -- the file of a region, which is ours, by its name in the folder; -1: it is none
 * pid  0, or whose it is to be */
static int storeEachOpen(long folder, const char *name, uint64_t recording, uint32_t pid)
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
      storeEachSays((int)fd, recording))
    return (int)fd;
  (void)RawCall(SYS_close, fd);
  return -1;
}

/* Whoever is given such files. */
typedef struct storeEachStruct {
  StoreEachFunction take;   /* StoreEach's, or NULL: */
  StoreAdoptFunction block; /* StoreAdopt's, */
  void *data;
  uint64_t recording;
  uint32_t pid;             /* for regions of this process */
} storeEachStruct, *storeEachs;

/* storeEachTake -- the file, which is closed; FALSE: on with the next one */
static Bool storeEachTake(storeEachs each, int fd, const char *path)
{
  Bool taken = FALSE;

  if (each->take == NULL) {
    storeAdoptFile(fd, path, each->recording, each->block, each->data);
  } else {
    taken = each->take(fd);
    (void)RawCall(SYS_close, fd);
  }
  return taken;
}

/* storeEach -- all of one folder */
static Bool storeEach(const char *log, Bool beside, storeEachs each)
{
  uint64_t entries[storeENTRIES];
  char path[RegionPathMAX], *name;
  Bool taken = FALSE;
  long folder, size, at;

  if (!storeName(path, sizeof path, log, each->recording, 0, beside))
    return FALSE;
  name = strrchr(path, '/');
  *name++ = '\0';
  folder = RawCall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  name[-1] = '/';
  while (folder >= 0 && !taken && (size = RawCall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (at = 0; at < size && !taken; at += ((StoreEntry)(void *)((char *)entries + at))->size) {
      const char *its = ((StoreEntry)(void *)((char *)entries + at))->name;
      Size length = strlen(its);
      Bool fits = length < sizeof path - sizeof RegionLINK - (Size)(name - path);
      int fd = fits ? storeEachOpen(folder, its, each->recording, each->pid) : -1;
      if (fd < 0)
        continue;
      memcpy(name, its, length + 1);
      taken = storeEachTake(each, fd, path);
    }
  if (folder >= 0)
    (void)RawCall(SYS_close, folder);
  return taken;
}

Bool StoreEach(const char *log, uint64_t recording, Bool beside, StoreEachFunction take)
{
  storeEachStruct each = {.take = take, .recording = recording};

  return storeEach(log, beside, &each);
}

/* storeAdoptNext -- the regions that this process has numbered itself: in a row */
static void storeAdoptNext(const char *log, storeEachs each, Bool beside)
{
  char path[RegionPathMAX], link[RegionPathMAX];
  struct stat status;
  unsigned n;

  for (n = 0; n < storeTriesMAX && storeName(path, sizeof path, log, each->recording, n, beside); ++n) {
    int fd = (int)RawCall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    /* Where only the link of one that is gone is left, there may be more behind it. */
    if (fd == -ENOENT && RawCall(SYS_newfstatat, AT_FDCWD, storeLink(link, path), &status, AT_SYMLINK_NOFOLLOW) != 0)
      break;
    if (fd >= 0) /* else it is somebody else's, which may stand in front of ours */
      storeAdoptFile(fd, path, each->recording, each->block, each->data);
  }
}

void StoreAdopt(const char *log, uint64_t recording, Bool collected, StoreAdoptFunction block, void *data)
{
  storeEachStruct each = {.block = block, .data = data, .recording = recording, .pid = RawPid()};
  unsigned beside;

  for (beside = 0; beside < 2; ++beside)
    if (collected)
      (void)storeEach(log, beside != 0, &each);
    else
      storeAdoptNext(log, &each, beside != 0);
}
