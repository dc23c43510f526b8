/* ehindex.c -- unwind rows of modules without .eh_frame_hdr
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a file says is believed only if the ELF header in it is that of the mapped module; and of .eh_frame only what is
 * inside a segment that is mapped and can be read.
 */
#include "unwind/ehindex.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "base/elf.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

enum { sectionsMAX = 2048 };

/* An entry: offsets from the module's start and from the beginning of .eh_frame. */
typedef struct EhEntryStruct {
  uint32_t function, description;
} EhEntryStruct, *EhEntry;

typedef struct EhIndexStruct {
  const uint8_t *start;        /* of the module; NULL: the place is free */
  const uint8_t *base, *limit; /* its .eh_frame; NULL: none was found */
  EhEntry entries;
  Count count, capacity;
  uint32_t generation;
} EhIndexStruct, *EhIndex;

static struct {
  unsigned busy;  /* the process of which a thread makes a table; a forked child finds its parent's number */
  Count count;
  Size memory;
  EhIndexStruct index[EhIndexMAX];
} eh;

/* ---- A module's file ---- */

/* fileRead -- an ElfReadMethod */
static Bool fileRead(void *data, uint64_t offset, void *bytes, Size size)
{
  return RawCall(SYS_pread64, *(long *)data, bytes, size, offset) == (long)size;
}

/* sectionFind -- the section .eh_frame in an open file, whose header is that of the module */
static Bool sectionFind(ElfSection section, long fd, const LoadedModuleStruct *module)
{
  static const char wanted[] = ".eh_frame";
  char name[sizeof wanted], header[sizeof(ElfW(Ehdr))], mapped[sizeof header];
  ModuleBytesStruct bytes;
  ElfSectionStruct names;
  ElfStruct elf;
  Index i;

  ModuleBytesInit(&bytes, module->start, module->limit, module->fleeting);
  if (ElfOpen(&elf, fileRead, &fd, ElfUNKNOWN) != ResOK || !ElfRead(&elf, 0, header, sizeof header) ||
      (Size)(module->limit - module->start) < sizeof mapped ||
      !ModuleBytesRead(mapped, &bytes, module->start, sizeof mapped) ||
      memcmp(header, mapped, sizeof header) != 0 || !ElfSectionAt(&names, &elf, elf.names))
    return FALSE;
  for (i = 0; i < sectionsMAX && ElfSectionAt(section, &elf, i); ++i)
    if ((section->flags & SHF_ALLOC) != 0 && section->type != SHT_NOBITS &&
        ElfRead(&elf, names.offset + section->name, name, sizeof name) && memcmp(name, wanted, sizeof name) == 0)
      return TRUE;
  return FALSE;
}

/* sectionPlace -- where a module's .eh_frame is in memory; FALSE: its file does not say so, or is not there any more */
static Bool sectionPlace(EhIndex index, const LoadedModuleStruct *module)
{
  const uint8_t *base, *limit;
  ElfSectionStruct section;
  Bool found, program = !module->fleeting && module->path[0] == '\0';
  long fd;

  fd = LentCall(SYS_openat, AT_FDCWD, program ? "/proc/self/exe" : module->path,
               O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0)
    return FALSE;
  found = sectionFind(&section, fd, module);
  LentClose(fd);
  if (!found)
    return FALSE;
  index->base = (const uint8_t *)((Word)module->start + (Word)section.address - LoadedModuleFirst(module));
  if (!LoadedModuleSegment(&base, &limit, module, index->base))
    return FALSE;
  index->limit = section.size < (Size)(limit - index->base) ? index->base + section.size : limit;
  return TRUE;
}

/* ---- The table ---- */

/* indexFill -- the entries of all descriptions, as far as there is room; returns how many there are */
static Count indexFill(EhIndex index, Count room, Bool fleeting)
{
  Word at = (Word)index->base, location = 0, description = 0;
  ModuleBytesStruct bytes;
  Count count = 0;

  ModuleBytesInit(&bytes, index->base, index->limit, fleeting);
  while (EhFrameNext(&location, &description, &at, &bytes)) {
    if (location - (Word)index->start > UINT32_MAX || description - (Word)index->base > UINT32_MAX)
      continue;
    if (count < room) {
      index->entries[count].function = (uint32_t)(location - (Word)index->start);
      index->entries[count].description = (uint32_t)(description - (Word)index->base);
    }
    ++count;
  }
  return count;
}

/* indexSink -- the entry at the root of a heap goes down to its place */
static void indexSink(EhEntry entries, Count root, Count count)
{
  EhEntryStruct entry = entries[root];
  Count child;

  while ((child = 2 * root + 1) < count) {
    child += child + 1 < count && entries[child].function < entries[child + 1].function;
    if (entries[child].function <= entry.function)
      break;
    entries[root] = entries[child];
    root = child;
  }
  entries[root] = entry;
}

/* indexSort -- by functions: a heap, because that needs no memory, and no bad order makes it slow */
static void indexSort(EhEntry entries, Count count)
{
  Count i;

  for (i = count / 2; i-- > 0;)
    indexSink(entries, i, count);
  for (i = count; i-- > 1;) {
    EhEntryStruct last = entries[i];
    entries[i] = entries[0];
    entries[0] = last;
    indexSink(entries, 0, i);
  }
}

/* indexRoom -- see to it that a table has room for so many entries */
static Bool indexRoom(EhIndex index, Count count)
{
  Size size = WordAlignUp(count * sizeof *index->entries, RawPAGE);

  if (count <= index->capacity)
    return TRUE;
  if (size > EhIndexMemoryMAX - eh.memory)
    return FALSE;
  index->entries = RawMap(size, RawPAGE);
  index->capacity = index->entries != NULL ? size / sizeof *index->entries : 0;
  eh.memory += index->entries != NULL ? size : 0;
  return index->entries != NULL;
}

/* indexCheck -- EhIndexCheck's part about one table */
static Bool indexCheck(EhIndex index)
{
  Count i;

  if (index->count > index->capacity)
    return FALSE;
  for (i = 0; i < index->count; ++i)
    if (index->entries[i].description >= (Size)(index->limit - index->base)
        || (i > 0 && index->entries[i].function < index->entries[i - 1].function))
      return FALSE;
  return TRUE;
}

/* indexMake -- the table of a module */
static void indexMake(EhIndex index, const LoadedModuleStruct *module)
{
  Count count, again;

  index->count = 0;
  index->start = module->start;
  index->base = index->limit = NULL;
  if (!sectionPlace(index, module)) {
    index->base = index->limit = NULL;
    return;
  }
  count = indexFill(index, 0, module->fleeting);
  if (!indexRoom(index, count))
    return;
  /* The module may have been unloaded between the two, and another be there. */
  again = indexFill(index, count, module->fleeting);
  count = again < count ? again : count;
  indexSort(index->entries, count);
  index->count = count;
  AVER(indexCheck(index)); /* only this one: in the child of a fork another may be left half made */
}

/* indexOf -- the table of a module as it is now, made if need be.  FALSE: another thread makes one. */
static Bool indexOf(EhIndex *indexReturn, const LoadedModuleStruct *module, uint32_t generation)
{
  unsigned self = (unsigned)RawPid();
  Count count = __atomic_load_n(&eh.count, __ATOMIC_ACQUIRE), i;
  RawMaskStruct mask;

  for (i = 0; i < count && eh.index[i].start != module->start; ++i)
    ;
  /* The table of a module that stays is made once; that of another is made again while threads look into it. */
  if (i < count && (!module->fleeting || __atomic_load_n(&eh.index[i].generation, __ATOMIC_ACQUIRE) == generation)) {
    *indexReturn = &eh.index[i];
    return TRUE;
  }
  *indexReturn = NULL;
  if (i == EhIndexMAX)
    return TRUE;
  RawBegin(&mask);
  if (__atomic_exchange_n(&eh.busy, self, __ATOMIC_ACQUIRE) == self) {
    RawEnd(&mask);
    return FALSE;
  }
  /* Another thread may have added one since. */
  if (i == eh.count || eh.index[i].start == module->start) {
    indexMake(&eh.index[i], module);
    __atomic_store_n(&eh.index[i].generation, generation, __ATOMIC_RELEASE);
    if (i == eh.count)
      __atomic_store_n(&eh.count, i + 1, __ATOMIC_RELEASE);
    *indexReturn = &eh.index[i];
  }
  __atomic_store_n(&eh.busy, 0, __ATOMIC_RELEASE);
  RawEnd(&mask);
  return *indexReturn != NULL;
}

Bool EhIndexRow(UnwindRow row, Word at, const LoadedModuleStruct *module, uint32_t generation)
{
  Count low = 0, high;
  ModuleBytesStruct bytes;
  EhIndex index;

  memset(row, 0, sizeof *row);
  if (!indexOf(&index, module, generation))
    return FALSE;
  high = index != NULL ? index->count : 0;
  while (low < high) {
    Count middle = low + (high - low) / 2;

    if (index->entries[middle].function <= at - (Word)index->start)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return TRUE;
  ModuleBytesInit(&bytes, index->base, index->limit, module->fleeting);
  EhFrameDescribed(row, at, (Word)bytes.base + index->entries[low - 1].description, &bytes);
  return !bytes.gone;
}

Bool EhIndexCheck(void)
{
  Count i;

  for (i = 0; i < eh.count; ++i)
    if (!indexCheck(&eh.index[i]))
      return FALSE;
  return eh.memory <= EhIndexMemoryMAX;
}
