/* loadedmodule.c -- a module as it is mapped: its program headers and segments
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/loadedmodule.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/elf.h"
#include "plinth/rawsyscall.h"
#include "unwind/modulebytes.h"

/* ---- The executable ---- */

/* Where it is, as its headers said when it was asked for first; 0: not asked for.  Threads that ask find the same. */
static Word programStart, programLimit;

/* programFind -- from its first segment to its last, by the program headers that the kernel has mapped it by */
static void programFind(void)
{
  const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
  Count count = getauxval(AT_PHENT) == sizeof *header ? getauxval(AT_PHNUM) : 0, i;
  Word start = WordAlignDown((Word)header, RawPAGE), first = 0, limit = 0;

  for (i = 0; header != NULL && i < count; ++i) {
    if (header[i].p_type != PT_LOAD)
      continue;
    if (limit == 0)
      first = WordAlignDown(header[i].p_vaddr, RawPAGE);
    if (header[i].p_vaddr + header[i].p_memsz > limit)
      limit = header[i].p_vaddr + header[i].p_memsz;
  }
  __atomic_store_n(&programStart, start, __ATOMIC_RELAXED);
  __atomic_store_n(&programLimit, limit > first ? start + (limit - first) : start, __ATOMIC_RELEASE);
}

void LoadedModuleProgram(LoadedModule module)
{
  Word start, limit = __atomic_load_n(&programLimit, __ATOMIC_ACQUIRE);

  if (limit == 0) {
    programFind();
    limit = __atomic_load_n(&programLimit, __ATOMIC_ACQUIRE);
  }
  start = __atomic_load_n(&programStart, __ATOMIC_RELAXED);
  if (limit - start < sizeof(ElfW(Ehdr)) || (Word)module->start - start >= limit - start || !ElfMagic((void *)start))
    return;
  module->start = (const uint8_t *)start;
  module->limit = (const uint8_t *)limit;
}

/* ---- What stays ---- */

enum { loadedKEPT = 256 }; /* modules that a program begins with; of more the last may as well be fleeting */

static const struct link_map *loadedKept[loadedKEPT];
static Count loadedCount;

void LoadedModuleKeep(void)
{
  const struct link_map *link = _r_debug.r_map;
  Count count = 0;

  for (; link != NULL && count < loadedKEPT; link = link->l_next)
    loadedKept[count++] = link;
  __atomic_store_n(&loadedCount, count, __ATOMIC_RELEASE);
}

Bool LoadedModuleFleeting(const void *link)
{
  Count count = __atomic_load_n(&loadedCount, __ATOMIC_ACQUIRE);
  Index i;

  for (i = 0; i < count; ++i)
    if (loadedKept[i] == link)
      return FALSE;
  return link != _r_debug.r_map;
}

/* ---- Any module ---- */

/* loadedBytes -- there may be holes behind a module's first page, so nothing is read there */
static void loadedBytes(ModuleBytes bytes, const LoadedModuleStruct *module)
{
  Size there = (Size)(module->limit - module->start);

  ModuleBytesInit(bytes, module->start, module->start + (there < RawPAGE ? there : RawPAGE), module->fleeting);
}

/* loadedRead -- an ElfReadMethod */
static Bool loadedRead(void *data, uint64_t offset, void *room, Size size)
{
  ModuleBytes bytes = data;
  Size there = (Size)(bytes->limit - bytes->base);

  return offset <= there && size <= there - offset && size <= ModuleWindowSIZE &&
         ModuleBytesRead(room, bytes, bytes->base + offset, size);
}

/* loadedSegment -- the next segment of PT_LOAD, from number *i on */
static Bool loadedSegment(ElfSegment segment, Elf elf, Index *i)
{
  while (ElfSegmentAt(segment, elf, (*i)++))
    if (segment->type == PT_LOAD)
      return TRUE;
  return FALSE;
}

Word LoadedModuleFirst(const LoadedModuleStruct *module)
{
  ElfSegmentStruct segment;
  ModuleBytesStruct bytes;
  ElfStruct elf;
  Index i = 0;

  loadedBytes(&bytes, module);
  return ElfOpen(&elf, loadedRead, &bytes, ElfUNKNOWN) == ResOK && loadedSegment(&segment, &elf, &i)
           ? WordAlignDown(segment.address, RawPAGE) : 0;
}

Bool LoadedModuleSegment(const uint8_t **base, const uint8_t **limit, const LoadedModuleStruct *module,
                         const uint8_t *place)
{
  Size size = (Size)(module->limit - module->start), offset = (Size)((Word)place - (Word)module->start);
  Word first = 0, at;
  ElfSegmentStruct segment;
  ModuleBytesStruct bytes;
  Bool begun = FALSE;
  ElfStruct elf;
  Index i = 0;

  loadedBytes(&bytes, module);
  if (ElfOpen(&elf, loadedRead, &bytes, ElfUNKNOWN) != ResOK)
    return FALSE;
  while (loadedSegment(&segment, &elf, &i)) {
    first = begun ? first : WordAlignDown(segment.address, RawPAGE);
    begun = TRUE;
    at = segment.address - first;
    if ((segment.flags & PF_R) == 0 || offset - at >= segment.size)
      continue;
    if (at > size || segment.size > size - at)
      return FALSE;
    *base = module->start + at;
    *limit = *base + segment.size;
    return TRUE;
  }
  return FALSE;
}
