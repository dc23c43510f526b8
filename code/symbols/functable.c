/* functable.c -- the functions of an object file's symbol table
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/functable.h"

#include <elf.h>
#include <stdlib.h>

#include "base/grow.h"

enum { funcBackMAX = 64 }; /* functions before an address that are looked at */

/* funcSection -- the first section of a type that has symbols in it, or NULL */
static ObjectSection funcSection(ObjectFile object, uint32_t type)
{
  Index i;

  for (i = 0; i < object->sections; ++i)
    if (object->section[i].type == type && object->section[i].size > 0 && object->section[i].link < object->sections)
      return &object->section[i];
  return NULL;
}

/* funcSymbol -- read one symbol; FALSE: it is no function that is here */
static Bool funcSymbol(Func func, uint32_t *nameReturn, ObjectFile object, Reader reader)
{
  unsigned info, section, word = object->wide ? 8 : 4;

  *nameReturn = ReaderU32(reader);
  if (object->wide) {
    info = ReaderU8(reader);
    ReaderSkip(reader, 1);
    section = ReaderU16(reader);
    func->address = ReaderUnsigned(reader, word);
    func->size = ReaderUnsigned(reader, word);
  } else {
    func->address = ReaderUnsigned(reader, word);
    func->size = ReaderUnsigned(reader, word);
    info = ReaderU8(reader);
    ReaderSkip(reader, 1);
    section = ReaderU16(reader);
  }
  func->rank = ELF32_ST_BIND(info) == STB_GLOBAL ? 0 : ELF32_ST_BIND(info) == STB_WEAK ? 1 : 2;
  info = ELF32_ST_TYPE(info);
  return section != SHN_UNDEF && func->address != 0 &&
         (info == STT_FUNC || info == STT_GNU_IFUNC || (info == STT_NOTYPE && func->size > 0)) &&
         ObjectRuns(object, func->address);
}

Bool FuncTableAdd(FuncTable table, ObjectFile object)
{
  ObjectSection section = funcSection(object, SHT_SYMTAB);
  Size size, namesSize, entry = object->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  const unsigned char *bytes, *names;
  ReaderStruct reader;

  if (section == NULL)
    section = funcSection(object, SHT_DYNSYM);
  if (section == NULL)
    return TRUE;
  bytes = ObjectBytes(object, section, &size);
  names = ObjectBytes(object, &object->section[section->link], &namesSize);
  if (bytes == NULL || names == NULL)
    return TRUE;
  reader = ReaderOf(bytes, size / entry * entry, 0, object->swapped);
  while (ReaderLeft(&reader) >= entry) {
    FuncStruct func;
    uint32_t name;
    Size at = ReaderLeft(&reader);
    Bool is = funcSymbol(&func, &name, object, &reader);
    ReaderStruct string = ReaderOf(names, namesSize, name, FALSE);
    ReaderSkip(&reader, entry - (at - ReaderLeft(&reader)));
    if (!is || (func.name = ReaderString(&string)) == NULL || func.name[0] == '\0' || func.name[0] == '$')
      continue;
    func.rank = (uint8_t)(func.rank * 4 + (func.name[0] == '_') + (func.name[0] == '_' && func.name[1] == '_'));
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

void FuncTableSort(FuncTable table)
{
  if (table->count > 0)
    qsort(table->func, table->count, sizeof *table->func, funcCompare);
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
