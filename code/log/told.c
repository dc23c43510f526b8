/* told.c -- which blocks' damage has been told
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/told.h"

#include <stdlib.h>

enum { toldCapacityMIN = 64 };

/* toldSlot -- where `key`, which is not 0, is or would be */
static uint64_t *toldSlot(uint64_t *slot, Count capacity, uint64_t key)
{
  Index i = (Index)(key * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);

  while (slot[i] != 0 && slot[i] != key)
    i = (i + 1) & (capacity - 1);
  return &slot[i];
}

static Bool toldGrow(Told told)
{
  Count capacity = told->capacity == 0 ? toldCapacityMIN : told->capacity * 2;
  uint64_t *slot = calloc(capacity, sizeof *slot);
  Index i;

  if (slot == NULL)
    return FALSE;
  for (i = 0; i < told->capacity; ++i)
    if (told->slot[i] != 0)
      *toldSlot(slot, capacity, told->slot[i]) = told->slot[i];
  free(told->slot);
  told->slot = slot;
  told->capacity = capacity;
  return TRUE;
}

Bool ToldAdd(Told told, uint64_t place)
{
  uint64_t *slot, key = place + 1;

  if (told->count >= told->capacity * 2 / 3 && !toldGrow(told))
    return TRUE;
  slot = toldSlot(told->slot, told->capacity, key);
  if (*slot == key)
    return FALSE;
  *slot = key;
  ++told->count;
  return TRUE;
}

void ToldFree(Told told)
{
  free(told->slot);
}
