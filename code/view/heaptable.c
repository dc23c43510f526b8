/* heaptable.c -- the live objects of one pool, by address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heaptable.h"

#include <stdlib.h>

#include "base/aver.h"

enum { heapTableMIN = 64 };

void HeapTableInit(HeapTable table)
{
  table->objects = NULL;
  table->capacity = 0;
  table->count = 0;
  table->shift = 63;
}

void HeapTableFinish(HeapTable table)
{
  free(table->objects);
  HeapTableInit(table);
}

/* heapTableGap -- the first empty place from the home of `addr` */
static HeapObject heapTableGap(HeapTable table, uint64_t addr)
{
  Index i, mask = table->capacity - 1;

  for (i = heapTableHome(table, addr); table->objects[i].addr != 0; i = (i + 1) & mask)
    ;
  return &table->objects[i];
}

static Res heapTableGrow(HeapTable table)
{
  HeapTableStruct grown = *table;
  Index i;

  grown.capacity = table->capacity == 0 ? heapTableMIN : table->capacity * 2;
  grown.shift = 64u - (unsigned)__builtin_ctzll(grown.capacity);
  grown.objects = calloc(grown.capacity, sizeof(HeapObjectStruct));
  if (grown.objects == NULL)
    return ResMEMORY;
  for (i = 0; i < table->capacity; ++i) {
    if (table->objects[i].addr != 0)
      *heapTableGap(&grown, table->objects[i].addr) = table->objects[i];
  }
  free(table->objects);
  *table = grown;
  return ResOK;
}

Res HeapTableInsert(HeapObject *objectReturn, HeapTable table, uint64_t addr)
{
  HeapObject object;

  AVER_CRITICAL(addr != 0);
  if (table->count >= table->capacity / 8 * 5) {
    Res res = heapTableGrow(table);
    if (res != ResOK)
      return res;
  }
  object = heapTableGap(table, addr);
  object->addr = addr;
  ++table->count;
  *objectReturn = object;
  return ResOK;
}

void HeapTableDelete(HeapTable table, HeapObject object)
{
  Index gap = (Index)(object - table->objects), i = gap, mask = table->capacity - 1;

  AVER_CRITICAL(gap < table->capacity && object->addr != 0);
  for (;;) {
    i = (i + 1) & mask;
    if (table->objects[i].addr == 0)
      break;
    /* What stands at i may move to the gap unless its home lies behind the gap. */
    if (((i - heapTableHome(table, table->objects[i].addr)) & mask) >= ((i - gap) & mask)) {
      table->objects[gap] = table->objects[i];
      gap = i;
    }
  }
  table->objects[gap].addr = 0;
  --table->count;
}

static int heapTableCompare(const void *a, const void *b)
{
  uint64_t x = ((const HeapObjectStruct *)a)->serial, y = ((const HeapObjectStruct *)b)->serial;

  return x < y ? -1 : x > y;
}

Res HeapTableSort(HeapObject *objectsReturn, HeapTable table)
{
  HeapObject objects = NULL;
  Index i, n = 0;

  if (table->count > 0) {
    objects = malloc(table->count * sizeof *objects);
    if (objects == NULL)
      return ResMEMORY;
    for (i = 0; i < table->capacity; ++i) {
      if (table->objects[i].addr != 0)
        objects[n++] = table->objects[i];
    }
    AVER(n == table->count);
    qsort(objects, n, sizeof *objects, heapTableCompare);
  }
  *objectsReturn = objects;
  return ResOK;
}

Bool HeapTableCheck(HeapTable table)
{
  Index i, n = 0;

  AVER(table->capacity == 0 || WordIsPowerOf2(table->capacity));
  AVER(table->count <= table->capacity / 8 * 5);
  for (i = 0; i < table->capacity; ++i) {
    if (table->objects[i].addr != 0) {
      AVER(HeapTableFind(table, table->objects[i].addr) == &table->objects[i]);
      ++n;
    }
  }
  AVER(n == table->count);
  return TRUE;
}
