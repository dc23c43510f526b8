/* units.h -- memory of one size for the pool's own data, mapped
 *
 * Threads: the caller sees to it that one uses it at a time.
 *
 * Tests: test/ams/amstest.c
 */
#ifndef AMS_UNITS_H
#define AMS_UNITS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct UnitsStruct {
  Size size;   /* bytes of a unit: a multiple of 64, at most UnitsSizeMAX */
  void *free;  /* units that are free: each begins with the address of the next */
  void *slabs; /* mappings: each begins with the address of the next */
} UnitsStruct, *Units;

#define UnitsSizeMAX ((Size)4096)

/* UnitsInit -- `size` is rounded up */
extern void UnitsInit(Units units, Size size);

/* UnitsAlloc -- a unit, zeroed; NULL: no memory */
extern void *UnitsAlloc(Units units);
extern void UnitsFree(Units units, void *unit);

/* UnitsFinish -- give all back */
extern void UnitsFinish(Units units);

#endif /* AMS_UNITS_H */
