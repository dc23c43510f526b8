/* functable.c -- the functions of an object file's symbol table
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/functable.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"

enum {
  funcBackMAX = 64, /* functions before an address that are looked at */
  funcLABEL = 16    /* rank of a symbol without type and size: hand-written assembly has such for functions, and for
                       places in them */
};

/* funcSection -- the first section of a type that has symbols in it, or NULL */
static ObjectSection funcSection(ObjectFile object, uint32_t type)
{
  Index i;

  for (i = 0; i < object->sections; ++i)
    if (object->section[i].head.type == type && object->section[i].head.size > 0 &&
        object->section[i].head.link < object->sections)
      return &object->section[i];
  return NULL;
}

/* funcOf -- FALSE: the symbol is no function that is here */
static Bool funcOf(Func func, ObjectFile object, const ElfSymbolStruct *symbol)
{
  func->address = symbol->address;
  func->size = symbol->size;
  func->rank = symbol->bind == STB_GLOBAL ? 0 : symbol->bind == STB_WEAK ? 1 : 2;
  return symbol->section != SHN_UNDEF && func->address != 0 &&
         (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC ||
          symbol->type == STT_NOTYPE) &&
         ObjectRuns(object, func->address);
}

Bool FuncTableAdd(FuncTable table, ObjectFile object)
{
  ObjectSection section = funcSection(object, SHT_SYMTAB);
  const unsigned char *bytes, *names;
  ElfSymbolStruct symbol;
  Size size, namesSize;
  ReaderStruct reader;

  if (section == NULL)
    section = funcSection(object, SHT_DYNSYM);
  if (section == NULL)
    return TRUE;
  bytes = ObjectBytes(object, section, &size);
  names = ObjectBytes(object, &object->section[section->head.link], &namesSize);
  if (bytes == NULL || names == NULL)
    return TRUE;
  table->whole |= section->head.type == SHT_SYMTAB;
  reader = ReaderOf(bytes, size, 0, object->elf.swapped);
  while (ElfSymbolNext(&symbol, &object->elf, &reader)) {
    FuncStruct func;
    if (!funcOf(&func, object, &symbol) || (func.name = ObjectString(names, namesSize, symbol.name)) == NULL ||
        func.name[0] == '\0' || func.name[0] == '$')
      continue;
    func.rank = (uint8_t)(func.rank * 4 + (func.name[0] == '_') + (func.name[0] == '_' && func.name[1] == '_'));
    if (symbol.type == STT_NOTYPE && func.size == 0) {
      if (func.name[0] == '.')
        continue; /* of tools, which mark places by them */
      func.rank = (uint8_t)(func.rank + funcLABEL);
    }
    if (!ObjectTake(object, sizeof func))
      return TRUE; /* which the room says */
    if (!Grow(&table->func, &table->capacity, table->count, sizeof func))
      return FALSE;
    table->func[table->count++] = func;
  }
  return TRUE;
}

static int funcCompare(const void *a, const void *b)
{
  const FuncStruct *x = a, *y = b;

  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  if (x->rank != y->rank)
    return x->rank < y->rank ? -1 : 1;
  return x->name < y->name ? -1 : x->name > y->name;
}

/* funcInner -- leave out labels that are places in a function */
static void funcInner(FuncTable table)
{
  Count kept = 0;
  uint64_t end = 0; /* of the functions so far */
  Index i;

  for (i = 0; i < table->count; ++i) {
    const FuncStruct *func = &table->func[i];

    if (func->rank >= funcLABEL && func->address < end)
      continue;
    if (func->size > 0 && func->address + func->size > end)
      end = func->address + func->size;
    table->func[kept++] = *func;
  }
  table->count = kept;
}

void FuncTableSort(FuncTable table)
{
  if (table->count == 0)
    return;
  qsort(table->func, table->count, sizeof *table->func, funcCompare);
  funcInner(table);
  AVER(FuncCheck(table));
}

void FuncTableFinish(FuncTable table)
{
  free(table->func);
  *table = (FuncTableStruct){.func = NULL};
}

Func FuncTableFind(FuncTable table, uint64_t address)
{
  Index low = 0, high = table->count, back;
  Func found = NULL;
  uint64_t nearest;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (table->func[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  nearest = low > 0 ? table->func[low - 1].address : 0;
  for (back = 0; back < funcBackMAX && low > 0; ++back) {
    Func func = &table->func[--low];
    if (found != NULL && func->address != found->address)
      break;
    if (address - func->address < func->size || (func->size == 0 && func->address == nearest))
      found = func; /* of one address the first */
  }
  return found;
}

Bool FuncCheck(FuncTable table)
{
  Index i;

  for (i = 1; i < table->count; ++i)
    if (funcCompare(&table->func[i - 1], &table->func[i]) > 0)
      return FALSE;
  return table->count <= table->capacity;
}
