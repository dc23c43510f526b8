/* rowcache.c -- the unwind rows of a process, found once for each address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/rowcache.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "plinth/rawsyscall.h"
#include "unwind/ehindex.h"

uint64_t RowCacheTable[RowCacheSIZE] LARGE;
static uint32_t cacheGeneration; /* how many times all was forgotten */

/* ---- Modules -------------------------------------------------------------------------------------------------- */

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
/* The dynamic linker finds the module of an address without a lock, since glibc 2.35.  Programs also run on
 * older ones. */
extern int _dl_find_object(void *at, struct dl_find_object *found) __attribute__((weak));

/* modulePath -- by what name a module was loaded.  FALSE: it has been unloaded. */
static Bool modulePath(LoadedModule module, const struct link_map *link)
{
  if (module->fleeting && RawPeek(&module->path, &link->l_name, sizeof module->path) == sizeof module->path)
    return TRUE;
  /* Where nothing can be peeked at, the linker's word has to do. */
  if (module->fleeting && RawPeek(&module->path, &module->path, sizeof module->path) != 0)
    return FALSE;
  module->path = link->l_name;
  return TRUE;
}

/* moduleRow -- the row of an address, from the module that has it; RowUNKNOWN: none has.  FALSE: ask again later, what
 * the row has is not known. */
static Bool moduleRow(UnwindRow row, Word at, uint32_t generation)
{
  const uint8_t *hdr, *base, *limit;
  struct dl_find_object found;
  LoadedModuleStruct module;
  ModuleBytesStruct bytes;

  if (_dl_find_object == NULL || _dl_find_object((void *)at, &found) != 0)
    return TRUE;
  module.start = found.dlfo_map_start;
  module.limit = found.dlfo_map_end;
  module.fleeting = LoadedModuleFleeting(found.dlfo_link_map);
  if (!modulePath(&module, found.dlfo_link_map))
    return FALSE;
  if (!module.fleeting && module.path[0] == '\0')
    LoadedModuleProgram(&module);
  hdr = found.dlfo_eh_frame;
  if (hdr == NULL)
    return EhIndexRow(row, at, &module, generation);
  if (!LoadedModuleSegment(&base, &limit, &module, hdr))
    return !module.fleeting;
  ModuleBytesInit(&bytes, base, limit, module.fleeting);
  EhFrameRow(row, at, hdr, &bytes);
  return !bytes.gone;
}
#else
static Bool moduleRow(UnwindRow row, Word at, uint32_t generation)
{
  UNUSED(row);
  UNUSED(at);
  UNUSED(generation);
  return TRUE;
}
#endif

/* ---- The cache ------------------------------------------------------------------------------------------------ */

static void unpack(UnwindRow row, PackedRow word)
{
  row->kind = PackedRowKind(word);
  row->rbpSaved = PackedRowSaved(word);
  row->cfaOffset = (int32_t)PackedRowCfa(word);
  row->rbpOffset = (int32_t)PackedRowRbp(word);
}

/* packed -- a row in 31 bits; 0: it does not fit */
static PackedRow packed(const UnwindRowStruct *row)
{
  int32_t cfa = row->cfaOffset / (int32_t)sizeof(Word), rbp = row->rbpOffset / (int32_t)sizeof(Word);
  UnwindRowStruct again;
  PackedRow word;

  word = ((PackedRow)row->kind + 1) | (PackedRow)(row->rbpSaved != FALSE) << 3 | ((PackedRow)rbp & 0xff) << 4
         | ((PackedRow)cfa & 0x7ffff) << 12;
  unpack(&again, word);
  return again.cfaOffset == row->cfaOffset && again.rbpOffset == row->rbpOffset ? word : 0;
}

/* cacheKeep -- put an entry into one of its two places: the first, if that is free.  Where all has been forgotten since
 * the row was looked for it may be stale, and is taken out again. */
static void cacheKeep(uint64_t *place, uint64_t *beside, uint64_t entry, uint32_t generation)
{
  if (__atomic_load_n(place, __ATOMIC_RELAXED) != 0)
    place = beside;
  __atomic_store_n(place, entry, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&cacheGeneration, __ATOMIC_SEQ_CST) != generation)
    __atomic_compare_exchange_n(place, &entry, 0, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void RowCacheFind(UnwindRow row, Word at)
{
  uint32_t generation = __atomic_load_n(&cacheGeneration, __ATOMIC_SEQ_CST);
  Word scattered = rowScattered(at);
  uint64_t *place = &RowCacheTable[rowIndex(scattered)];
  uint64_t *beside = &RowCacheTable[rowIndex(scattered) ^ 1];
  Bool cached = at >> RowAddressBITS == 0;
  PackedRow word = 0;

  if (cached && (word = rowIn(__atomic_load_n(place, __ATOMIC_RELAXED), scattered)) == 0)
    word = rowIn(__atomic_load_n(beside, __ATOMIC_RELAXED), scattered);
  if (word != 0) {
    unpack(row, word);
    return;
  }
  memset(row, 0, sizeof *row);
  if (!moduleRow(row, at, generation))
    row->kind = RowBROKEN;
  else if (cached && (word = packed(row)) != 0)
    cacheKeep(place, beside, scattered << (RowCacheSHIFT - 1) | word, generation);
}

void RowCacheForget(void)
{
  Index i;

  __atomic_fetch_add(&cacheGeneration, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < RowCacheSIZE; ++i)
    if (__atomic_load_n(&RowCacheTable[i], __ATOMIC_RELAXED) != 0) /* pages that were never used stay so */
      __atomic_store_n(&RowCacheTable[i], 0, __ATOMIC_RELAXED);
}
