/* dwarffunctions.c -- the functions of a unit, and those that were inlined into them
 *
 * One walk over all entries of a unit, without recursion, keeps the ranges of those that have code.  Ranges that nest
 * as entries do are sorted so that an outer one comes before those in it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/dwarfdata.h"

#include <stdlib.h>

#include "base/grow.h"

enum {
  functionINLINED = 0x1d, functionSUBPROGRAM = 0x2e, /* DW_TAG_... */
  functionHopsMAX = 16  /* from an entry to another that has its name */
};

/* A function of which ranges are read. */
typedef struct functionAddStruct {
  DwarfUnit unit;
  DwarfFunctionStruct function;
} functionAddStruct, *FunctionAdd;

static Bool functionAdd(void *data, uint64_t low, uint64_t high)
{
  FunctionAdd add = data;
  DwarfUnit unit = add->unit;

  add->function.low = low;
  add->function.high = high;
  if (!ObjectTake(unit->dwarf->object, sizeof *unit->function) ||
      !Grow(&unit->function, &unit->functionCapacity, unit->functions, sizeof *unit->function)) {
    unit->dwarf->failed = TRUE;
    return FALSE;
  }
  unit->function[unit->functions++] = add->function;
  return TRUE;
}

static int functionCompare(const void *a, const void *b)
{
  const DwarfFunctionStruct *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  if (x->high != y->high)
    return x->high > y->high ? -1 : 1;
  return x->die < y->die ? -1 : x->die > y->die;
}

/* functionNest -- for each range the one around its beginning */
static void functionNest(DwarfUnit unit)
{
  Index i;

  for (i = 1; i < unit->functions; ++i) {
    Index outer = i; /* plus 1, as they have it */
    while (outer > 0 && unit->function[outer - 1].high <= unit->function[i].low)
      outer = unit->function[outer - 1].outer;
    unit->function[i].outer = (uint32_t)outer;
  }
}

void DwarfFunctionsRead(DwarfUnit unit)
{
  const unsigned char *base = unit->dwarf->section[DwarfINFO].bytes;
  ReaderStruct reader = DwarfReader(unit->dwarf, DwarfINFO, unit->die);
  unsigned depth = 0;

  if (unit->functionsRead)
    return;
  unit->functionsRead = TRUE;
  reader.limit = base + unit->limit;
  if (!DwarfSpend(unit->dwarf, ReaderLeft(&reader)))
    return;
  do {
    Size die = (Size)(reader.next - base);
    DwarfEntryStruct entry;
    if (!DwarfEntryRead(&entry, unit, &reader)) {
      if (reader.failed)
        break;
      depth -= depth > 0;
      continue;
    }
    if (!DwarfSpend(unit->dwarf, entry.abbrev->count)) /* an attribute may have no bytes */
      break;
    if (entry.abbrev->tag == functionSUBPROGRAM || entry.abbrev->tag == functionINLINED) {
      functionAddStruct add = {unit, {.die = die, .inlined = entry.abbrev->tag == functionINLINED,
                                      .callFile = (uint32_t)entry.callFile, .callLine = (uint32_t)entry.callLine}};
      DwarfRangesEach(unit, &entry, functionAdd, &add);
    }
    depth += entry.abbrev->children; /* anywhere: the function of a lambda stands in a class, in a function */
  } while (depth > 0 && ReaderLeft(&reader) > 0 && !unit->dwarf->failed);
  if (unit->functions > 0) {
    qsort(unit->function, unit->functions, sizeof *unit->function, functionCompare);
    functionNest(unit);
  }
}

DwarfFunction DwarfFunctionOuter(DwarfUnit unit, DwarfFunction function, uint64_t address)
{
  while (function->outer > 0) {
    function = &unit->function[function->outer - 1];
    if (address < function->high)
      return function;
    /* Functions that overlap, as no compiler's do, may have a long way to the one that is around the address. */
    if (!DwarfSpend(unit->dwarf, 1))
      return NULL;
  }
  return NULL;
}

DwarfFunction DwarfFunctionOf(DwarfUnit unit, uint64_t address)
{
  Index low = 0, high = unit->functions;
  DwarfFunction function;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (unit->function[middle].low <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return NULL;
  function = &unit->function[low - 1];
  return address < function->high ? function : DwarfFunctionOuter(unit, function, address);
}

const char *DwarfFunctionName(DwarfUnit unit, DwarfFunction function)
{
  uint64_t die = function->die;
  const char *name = NULL;
  unsigned hops;

  for (hops = 0; hops < functionHopsMAX && unit != NULL; ++hops) {
    ReaderStruct reader = DwarfReader(unit->dwarf, DwarfINFO, die);
    DwarfEntryStruct entry;
    DwarfClass class;
    const char *string;

    if (!reader.failed)
      reader.limit = unit->dwarf->section[DwarfINFO].bytes + unit->limit;
    if (!unit->rooted && !DwarfUnitRoot(unit, &entry))
      break;
    if (!DwarfEntryRead(&entry, unit, &reader))
      break;
    string = DwarfValueString(unit, &entry.linkage);
    if (string != NULL)
      return string;
    if (name == NULL)
      name = DwarfValueString(unit, &entry.name);
    class = entry.originClass != DwarfOTHER ? entry.originClass : entry.specificationClass;
    if (class == DwarfOTHER)
      break;
    die = entry.originClass != DwarfOTHER ? entry.origin : entry.specification;
    unit = class == DwarfENTRY ? DwarfUnitAt(unit->dwarf, die) :
           unit->dwarf->alt == NULL ? NULL : DwarfUnitAt(unit->dwarf->alt, die);
  }
  return name;
}
