/* units.c -- memory of one size: a free list in mappings of 64 KiB
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tests: test/ams/amstest.c
 */
#include "ams/units.h"

#include <string.h>

#include "base/aver.h"
#include "mm/pages.h"

enum { unitsALIGN = 64 };

#define unitsSLAB ((Size)65536)

void UnitsInit(Units units, Size size)
{
  units->size = WordAlignUp(size, unitsALIGN);
  units->free = NULL;
  units->slabs = NULL;
  AVER(units->size > 0 && units->size <= UnitsSizeMAX);
}

static Bool unitsExtend(Units units)
{
  void *slab;
  Size at;

  if (PagesMap(&slab, unitsSLAB) != ResOK)
    return FALSE;
  *(void **)slab = units->slabs;
  units->slabs = slab;
  for (at = unitsALIGN; at + units->size <= unitsSLAB; at += units->size)
    UnitsFree(units, (char *)slab + at);
  return TRUE;
}

void *UnitsAlloc(Units units)
{
  void *unit;

  if (units->free == NULL && !unitsExtend(units))
    return NULL;
  unit = units->free;
  units->free = *(void **)unit;
  return memset(unit, 0, units->size);
}

void UnitsFree(Units units, void *unit)
{
  *(void **)unit = units->free;
  units->free = unit;
}

void UnitsFinish(Units units)
{
  while (units->slabs != NULL) {
    void *slab = units->slabs;
    units->slabs = *(void **)slab;
    PagesRelease((Addr)slab, unitsSLAB);
  }
  units->free = NULL;
}
