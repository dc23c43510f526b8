/* amslist.h -- objects of a collected pool that have a size and one reference, as in lists
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef AMSLIST_H
#define AMSLIST_H

#include "ams/ams.h"

typedef struct ObjectStruct {
  Word size;
  Addr next;
} ObjectStruct, *Object;

static void formatScan(AMSScan scan, Addr ref, Addr base, Addr limit)
{
  (void)base;
  (void)limit;
  AMSFix(scan, ((Object)(void *)ref)->next);
}

static Addr formatSkip(Addr ref) { return (Addr)((Word)ref + ((Object)(void *)ref)->size); }

static const AMSFormatStruct format = { 16, 0, formatScan, formatSkip };

#endif /* AMSLIST_H */
