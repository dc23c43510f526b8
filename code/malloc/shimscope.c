/* shimscope.c -- a function behind this library's, found in the symbol tables of what was loaded at the start
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "malloc/shimscope.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "base/aver.h"
#include "emit/modules.h"
#include "malloc/shimdlsym.h"

enum {
  scopeHIDDEN = 0x8000, /* of a symbol's version: only who names the version finds it */
  scopeWORD = 8 * sizeof(ElfW(Addr))
};

/* The tables of a module by which symbols are found; NULL: it has none of these. */
typedef struct ScopeStruct {
  Word base;
  const ElfW(Sym) *symbols;
  const char *strings;
  const uint32_t *hash;
  const ElfW(Half) *versions; /* by symbol */
  const ElfW(Verdef) *defined;
} ScopeStruct, *Scope;

/* scopeTable -- the address in an entry: the dynamic loader has added the base already, but where it cannot write */
static const void *scopeTable(const struct link_map *module, const ElfW(Dyn) *entry)
{
  return (const void *)(entry->d_un.d_ptr < module->l_addr ? entry->d_un.d_ptr + module->l_addr : entry->d_un.d_ptr);
}

/* scopeRead -- find the tables; FALSE: there are symbols, but not in a table of GNU's form */
static Bool scopeRead(Scope scope, const struct link_map *module)
{
  Bool old = FALSE;
  const ElfW(Dyn) *entry;

  *scope = (ScopeStruct){.base = module->l_addr};
  for (entry = module->l_ld; entry != NULL && entry->d_tag != DT_NULL; ++entry)
    switch (entry->d_tag) {
    case DT_SYMTAB:
      scope->symbols = scopeTable(module, entry);
      break;
    case DT_STRTAB:
      scope->strings = scopeTable(module, entry);
      break;
    case DT_GNU_HASH:
      scope->hash = scopeTable(module, entry);
      break;
    case DT_VERSYM:
      scope->versions = scopeTable(module, entry);
      break;
    case DT_VERDEF:
      scope->defined = scopeTable(module, entry);
      break;
    default:
      old |= entry->d_tag == DT_HASH;
      break;
    }
  return scope->hash != NULL || !old;
}

/* scopeHash -- the hash of a name, in tables of GNU's form */
static uint32_t scopeHash(const char *name)
{
  uint32_t hash = 5381;

  for (; *name != '\0'; ++name)
    hash = 33 * hash + (unsigned char)*name;
  return hash;
}

/* scopeDefines -- is this the name of the version with this number? */
static Bool scopeDefines(const ScopeStruct *scope, unsigned number, const char *version)
{
  const ElfW(Verdef) *defined = scope->defined;

  while (defined != NULL) {
    const ElfW(Verdaux) *name = (const void *)((const char *)defined + defined->vd_aux);
    if (defined->vd_ndx == number)
      return strcmp(scope->strings + name->vda_name, version) == 0;
    defined = defined->vd_next != 0 ? (const void *)((const char *)defined + defined->vd_next) : NULL;
  }
  return FALSE;
}

/* scopeMeant -- is this symbol, of the right name, the one that is meant?  A module may have several versions of it. */
static Bool scopeMeant(const ScopeStruct *scope, Index i, const char *version)
{
  unsigned its = scope->versions != NULL ? scope->versions[i] : VER_NDX_GLOBAL;
  const ElfW(Sym) *symbol = &scope->symbols[i];

  if (symbol->st_shndx == SHN_UNDEF || its == VER_NDX_LOCAL ||
      (symbol->st_value == 0 && (symbol->st_info & 0xf) != STT_TLS))
    return FALSE;
  if (version == NULL || scope->versions == NULL)
    return (its & scopeHIDDEN) == 0;
  return scopeDefines(scope, its & ~(unsigned)scopeHIDDEN, version);
}

/* scopeSymbol -- the symbol in a table of GNU's form; NULL: it is not there */
static const ElfW(Sym) *scopeSymbol(const ScopeStruct *scope, const char *name, const char *version)
{
  const uint32_t *head = scope->hash, buckets = head[0], first = head[1], words = head[2], shift = head[3];
  const ElfW(Addr) *filter = (const void *)(head + 4);
  const uint32_t *bucket = (const void *)(filter + words), *chain = bucket + buckets;
  uint32_t hash = scopeHash(name);
  ElfW(Addr) both = (ElfW(Addr))1 << hash % scopeWORD | (ElfW(Addr))1 << (hash >> shift) % scopeWORD;
  Index i;

  if (buckets == 0 || words == 0 || (filter[hash / scopeWORD % words] & both) != both)
    return NULL;
  i = bucket[hash % buckets];
  if (i < first) /* an empty bucket */
    return NULL;
  for (;; ++i) {
    if ((chain[i - first] | 1) == (hash | 1) && strcmp(scope->strings + scope->symbols[i].st_name, name) == 0 &&
        scopeMeant(scope, i, version))
      return &scope->symbols[i];
    if ((chain[i - first] & 1) != 0)
      return NULL;
  }
}

Bool ShimScopeFind(void **functionReturn, const void *module, const char *name, const char *version)
{
  ScopeStruct scope;
  const ElfW(Sym) *symbol;

  AVER(functionReturn != NULL && module != NULL && name != NULL);
  *functionReturn = NULL;
  if (!scopeRead(&scope, module))
    return FALSE;
  if (scope.hash == NULL || scope.symbols == NULL || scope.strings == NULL)
    return TRUE;
  symbol = scopeSymbol(&scope, name, version);
  if (symbol == NULL)
    return TRUE;
  if ((symbol->st_info & 0xf) != STT_FUNC)
    return FALSE;
  *functionReturn = (void *)(scope.base + symbol->st_value);
  return TRUE;
}

/* scopeEnd -- the last module that was loaded at the start, as the first call finds it: malloc makes that before any
 * code of the program runs */
static const struct link_map *scopeEnd(const struct link_map *module)
{
  static const struct link_map *end; /* atomic */
  const struct link_map *its = __atomic_load_n(&end, __ATOMIC_ACQUIRE);

  if (its != NULL || module == NULL)
    return its;
  while (module->l_next != NULL)
    module = module->l_next;
  (void)__atomic_compare_exchange_n(&end, &its, module, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return its != NULL ? its : module;
}

/* scopeOurs -- this library, if it was loaded at the start: then it stands before libc; else NULL */
static const struct link_map *scopeOurs(void)
{
  const struct link_map *ours = ModulesLink((Word)__ehdr_start), *module = ModulesLink((Word)gnu_get_libc_version);

  while (module != NULL && module != ours)
    module = module->l_prev;
  return module;
}

/* scopeFrom -- in the first that has it, of this module and those behind it that were loaded at the start: these stay
 * where they are */
static void *scopeFrom(const struct link_map *module, const char *name, const char *version)
{
  const struct link_map *end = scopeEnd(module);
  void *function = NULL;

  for (; module != NULL && function == NULL; module = module == end ? NULL : module->l_next)
    if (!ShimScopeFind(&function, module, name, version))
      return NULL;
  return function;
}

void *ShimScopeNext(const char *name, const char *version)
{
  const struct link_map *ours = scopeOurs();

  return ours != NULL ? scopeFrom(ours->l_next, name, version) : NULL;
}

void *ShimScopeFirst(const char *name)
{
  const struct link_map *module = scopeOurs();

  while (module != NULL && module->l_prev != NULL)
    module = module->l_prev;
  return scopeFrom(module, name, NULL);
}

/* ---- What came later ---- */

/* The modules of functions that were found so, a struct link_map each; NULL behind the last.  Atomic. */
enum { scopeFoundMAX = 8 };
static const void *scopeFound[scopeFoundMAX];
static uint32_t scopeKept; /* which of them ShimScopeUnkept has told; a mask; atomic */

/* scopeNote -- a function was found in this module; FALSE: there are too many */
static Bool scopeNote(const void *module)
{
  Index i;

  for (i = 0; i < scopeFoundMAX; ++i) {
    const void *its = NULL;
    if (__atomic_compare_exchange_n(&scopeFound[i], &its, module, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
        its == module)
      return TRUE;
  }
  return FALSE;
}

const char *ShimScopeUnkept(void)
{
  Index i;

  for (i = 0; i < scopeFoundMAX; ++i) {
    const struct link_map *module = __atomic_load_n(&scopeFound[i], __ATOMIC_ACQUIRE);
    if (module == NULL)
      break;
    if ((__atomic_fetch_or(&scopeKept, (uint32_t)1 << i, __ATOMIC_ACQ_REL) >> i & 1) == 0)
      return module->l_name;
  }
  return NULL;
}

/* scopeIn -- the function in this module, unless that is ours; NULL: it has none */
static void *scopeIn(const void *module, const char *name)
{
  void *function = NULL;

  if (module != NULL && module != ModulesLink((Word)__ehdr_start))
    (void)ShimScopeFind(&function, module, name, NULL);
  return function;
}

/* scopeNeeded -- the function in the first of the modules that this one was linked with that has it */
static void *scopeNeeded(const struct link_map *user, const char *name, const void **moduleReturn)
{
  const char *strings = NULL;
  const ElfW(Dyn) *entry;
  void *function = NULL;

  for (entry = user->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      strings = scopeTable(user, entry);
  for (entry = user->l_ld; entry->d_tag != DT_NULL && strings != NULL && function == NULL; ++entry)
    if (entry->d_tag == DT_NEEDED)
      function = scopeIn(*moduleReturn = ModulesCalled(strings + entry->d_un.d_val), name);
  return function;
}

/* scopeUser -- the function that the caller at `site` would find */
static void *scopeUser(const char *name, const void *site, const void **moduleReturn)
{
  static const char *const runtimes[] = {"libstdc++.so.6", "libc++abi.so.1"};
  const struct link_map *user = ModulesLink((Word)site);
  void *function = scopeIn(*moduleReturn = user, name);
  Index i;

  if (user != NULL && function == NULL)
    function = scopeNeeded(user, name, moduleReturn);
  for (i = 0; function == NULL && i < ARRAY_LENGTH(runtimes); ++i)
    function = scopeIn(*moduleReturn = ModulesCalled(runtimes[i]), name);
  return function;
}

void *ShimScopeLocal(const char *name, const void *site)
{
  void *function = NULL;
  const void *module;
  Index i;

  for (i = 0; i < scopeFoundMAX && function == NULL; ++i)
    function = scopeIn(__atomic_load_n(&scopeFound[i], __ATOMIC_ACQUIRE), name);
  if (function == NULL && (function = scopeUser(name, site, &module)) != NULL && !scopeNote(module))
    function = NULL;
  return function;
}
