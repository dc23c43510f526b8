/* dwarf.c -- the debug information of an object file: the index of its units, and what is known of an address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/dwarfdata.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"

enum {
  dwarfSpendMIN = 1 << 20, /* so many bytes may be decoded, and those of sections that are read (dwarfsections.c) */
  dwarfBackMAX = 64 /* ranges before an address that are looked at */
};

/* ---- The index ---- */

/* A unit whose ranges are read. */
typedef struct dwarfAddStruct {
  Dwarf dwarf;
  Index unit;
} dwarfAddStruct, *DwarfAdd;

static Bool dwarfRange(void *data, uint64_t low, uint64_t high)
{
  DwarfAdd add = data;
  Dwarf dwarf = add->dwarf;

  if (!ObjectTake(dwarf->object, sizeof *dwarf->range) ||
      !Grow(&dwarf->range, &dwarf->rangeCapacity, dwarf->ranges, sizeof *dwarf->range)) {
    dwarf->failed = TRUE;
    return FALSE;
  }
  dwarf->range[dwarf->ranges++] = (DwarfRangeStruct){low, high, 0, (uint32_t)add->unit};
  return TRUE;
}

static int dwarfCompare(const void *a, const void *b)
{
  const DwarfRangeStruct *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* dwarfIndex -- the ranges of all units, by their root entries */
static void dwarfIndex(Dwarf dwarf)
{
  uint64_t most = 0;
  Index i;

  for (i = 0; i < dwarf->units && !dwarf->failed; ++i) {
    dwarfAddStruct add = {dwarf, i};
    DwarfEntryStruct entry;
    if (DwarfUnitRoot(&dwarf->unit[i], &entry))
      DwarfRangesEach(&dwarf->unit[i], &entry, dwarfRange, &add);
  }
  if (dwarf->ranges > 0)
    qsort(dwarf->range, dwarf->ranges, sizeof *dwarf->range, dwarfCompare);
  for (i = 0; i < dwarf->ranges; ++i) {
    most = dwarf->range[i].high > most ? dwarf->range[i].high : most;
    dwarf->range[i].most = most;
  }
}

Res DwarfOpen(Dwarf *dwarfReturn, ObjectFile object, ObjectFile layout, Dwarf alt)
{
  ObjectSection info = DwarfSectionOf(object, DwarfINFO);
  Dwarf dwarf;

  *dwarfReturn = NULL;
  if (info == NULL)
    return ResOK;
  dwarf = calloc(1, sizeof *dwarf);
  if (dwarf == NULL)
    return ResMEMORY;
  *dwarf = (struct DwarfStruct){.object = object, .layout = layout, .alt = alt, .budget = dwarfSpendMIN};
  if (!DwarfUnits(dwarf))
    dwarf->failed = TRUE;
  dwarfIndex(dwarf);
  AVER(DwarfCheck(dwarf));
  *dwarfReturn = dwarf;
  return ResOK;
}

void DwarfClose(Dwarf dwarf)
{
  DwarfAbbrevs next;
  Index i;

  if (dwarf == NULL)
    return;
  for (i = 0; i < dwarf->units; ++i) {
    DwarfLinesFinish(&dwarf->unit[i].line);
    free(dwarf->unit[i].function);
  }
  for (i = 0; i < DwarfBUCKETS; ++i)
    for (; dwarf->abbrevs[i] != NULL; dwarf->abbrevs[i] = next) {
      next = dwarf->abbrevs[i]->other;
      free(dwarf->abbrevs[i]->abbrev);
      free(dwarf->abbrevs[i]->attribute);
      free(dwarf->abbrevs[i]);
    }
  free(dwarf->unit);
  free(dwarf->range);
  free(dwarf);
}

/* ---- Asking ---- */

/* dwarfFrames -- what a unit knows of an address; 0: nothing */
static Count dwarfFrames(DwarfUnit unit, uint64_t address, DwarfFrame frames, Count max)
{
  DwarfFunction function;
  DwarfRow row;
  Count n = 0;
  const char *part[3] = {NULL, NULL, NULL};
  uint32_t line = 0;

  if (!unit->dwarf->unlined)
    DwarfLinesRead(unit);
  DwarfFunctionsRead(unit);
  row = DwarfLineOf(unit, address);
  function = DwarfFunctionOf(unit, address);
  if (row != NULL) {
    DwarfFileOf(part, unit, row->file);
    line = row->line;
  }
  for (; n < max; function = DwarfFunctionOuter(unit, function, address)) {
    DwarfFrame frame = &frames[n];
    *frame = (DwarfFrameStruct){.line = line, .part = {part[0], part[1], part[2]}};
    if (function == NULL)
      return n + (n > 0 || part[2] != NULL); /* the outermost without a name */
    ++n;
    frame->function = DwarfFunctionName(unit, function);
    if (!function->inlined)
      return n;
    frame->inlined = n < max;
    DwarfFileOf(part, unit, function->callFile);
    line = function->callLine;
  }
  return n;
}

void DwarfUnlined(Dwarf dwarf)
{
  dwarf->unlined = TRUE;
}

Count DwarfFind(Dwarf dwarf, uint64_t address, DwarfFrame frames, Count max)
{
  Index low = 0, high = dwarf->ranges, back;
  Count n = 0;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (dwarf->range[middle].low <= address)
      low = middle + 1;
    else
      high = middle;
  }
  for (back = 0; n == 0 && back < dwarfBackMAX && low > 0 && dwarf->range[low - 1].most > address; ++back, --low)
    if (dwarf->range[low - 1].high > address)
      n = dwarfFrames(&dwarf->unit[dwarf->range[low - 1].unit], address, frames, max);
  return n;
}

Bool DwarfCheck(Dwarf dwarf)
{
  Index i;

  for (i = 0; i < dwarf->units; ++i) {
    DwarfUnit unit = &dwarf->unit[i];
    if (unit->die > unit->limit || unit->limit > dwarf->section[DwarfINFO].size ||
        (i > 0 && unit->offset < dwarf->unit[i - 1].limit))
      return FALSE;
  }
  for (i = 0; i < dwarf->ranges; ++i)
    if (dwarf->range[i].unit >= dwarf->units || (i > 0 && dwarf->range[i].low < dwarf->range[i - 1].low))
      return FALSE;
  return dwarf->spent <= dwarf->budget;
}
