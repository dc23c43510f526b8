/* loadedmodule.c -- a module as it is mapped: its program headers and segments
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/loadedmodule.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "plinth/rawsyscall.h"

#define headerMAX ((Size)4096) /* program headers that do not lie in a module's first page are not read */

/* programHeaders -- those of a module; how many; 0 if they are not in its first page */
static Count programHeaders(const ElfW(Phdr) **headers, const LoadedModuleStruct *module)
{
  const ElfW(Ehdr) *header = (const void *)module->start;
  Size size = (Size)(module->limit - module->start);

  if (size > headerMAX)
    size = headerMAX;
  if (size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phoff > size
      || header->e_phoff % sizeof(Word) != 0 || header->e_phnum > (size - header->e_phoff) / sizeof **headers)
    return 0;
  *headers = (const ElfW(Phdr) *)(const void *)(module->start + header->e_phoff);
  return header->e_phnum;
}

Word LoadedModuleFirst(const LoadedModuleStruct *module)
{
  const ElfW(Phdr) *segment = NULL;
  Count count = programHeaders(&segment, module), i;

  for (i = 0; i < count; ++i)
    if (segment[i].p_type == PT_LOAD)
      return WordAlignDown(segment[i].p_vaddr, RawPAGE);
  return 0;
}

Bool LoadedModuleSegment(const uint8_t **base, const uint8_t **limit, const LoadedModuleStruct *module, Word address)
{
  const ElfW(Phdr) *segment = NULL;
  Count count = programHeaders(&segment, module), i;
  Size size = (Size)(module->limit - module->start);
  Word first = LoadedModuleFirst(module), at;

  for (i = 0; i < count; ++i) {
    if (segment[i].p_type != PT_LOAD || (segment[i].p_flags & PF_R) == 0
        || address - segment[i].p_vaddr >= segment[i].p_filesz)
      continue;
    at = segment[i].p_vaddr - first;
    if (at > size || segment[i].p_filesz > size - at)
      return FALSE;
    *base = module->start + at;
    *limit = *base + segment[i].p_filesz;
    return TRUE;
  }
  return FALSE;
}
