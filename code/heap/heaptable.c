/* heaptable.c -- the live objects of one pool, by address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/heaptable.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/aver.h"

enum {
  tableMIN = 8,      /* there may be many pools with next to nothing in them */
  tableSMALL = 1 << 16, /* places; up to there, speed is worth more than room: less than half are used */
  tableHUGE = 2 << 20   /* bytes; from there on, large pages save much */
};

static Count tableLimit(Count capacity)
{
  return capacity / 8 * (capacity <= tableSMALL ? 3 : 5);
}

static Res tableMake(HeapTable table, Count capacity)
{
  Size size = capacity * sizeof(HeapObjectStruct);
  void *objects;

  if (size < tableHUGE) {
    objects = calloc(1, size);
  } else {
    objects = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (objects == MAP_FAILED)
      objects = NULL;
    else
      madvise(objects, size, MADV_HUGEPAGE); /* if there are any */
  }
  table->objects = objects;
  table->capacity = capacity;
  table->count = 0;
  table->limit = tableLimit(capacity);
  table->shift = 64u - (unsigned)__builtin_ctzll(capacity);
  table->factor = HeapTableFACTOR;
  table->shares = NULL;
  return objects == NULL ? ResMEMORY : ResOK;
}

Res HeapTableInit(HeapTable table)
{
  return tableMake(table, tableMIN);
}

Count HeapTableCapacity(Count count)
{
  Count capacity = tableMIN;

  while (tableLimit(capacity) < count && capacity <= SIZE_MAX / sizeof(HeapObjectStruct) / 2)
    capacity *= 2;
  return capacity;
}

Res HeapTableMake(HeapTable table, Count count)
{
  return tableMake(table, HeapTableCapacity(count));
}

void HeapTableFinish(HeapTable table)
{
  Size size = table->capacity * sizeof(HeapObjectStruct);

  if (table->shares != NULL && --*table->shares > 0)
    size = 0; /* the others still have them */
  else
    free(table->shares);
  table->shares = NULL;
  if (size == 0)
    ;
  else if (size < tableHUGE)
    free(table->objects);
  else
    munmap(table->objects, size);
  table->objects = NULL;
  table->count = table->capacity = 0;
}

Res HeapTableShare(HeapTable table, HeapTable other)
{
  AVER(other->objects != NULL);
  if (other->shares == NULL) {
    other->shares = malloc(sizeof *other->shares);
    if (other->shares == NULL) {
      memset(table, 0, sizeof *table);
      return ResMEMORY;
    }
    *other->shares = 1;
  }
  ++*other->shares;
  *table = *other;
  return ResOK;
}

Res HeapTableOwn(HeapTable table)
{
  HeapTableStruct own;
  Res res;

  AVER(table->count <= table->limit);
  if (table->shares == NULL)
    return ResOK;
  if (*table->shares > 1) {
    res = tableMake(&own, table->capacity);
    if (res != ResOK)
      return res;
    memcpy(own.objects, table->objects, table->capacity * sizeof *own.objects);
    own.count = table->count;
    own.factor = table->factor;
    --*table->shares;
    *table = own;
  } else {
    free(table->shares);
    table->shares = NULL;
  }
  return ResOK;
}

Res HeapTableGrow(HeapTable table)
{
  Bool full = table->count == table->limit;
  HeapTableStruct grown;
  Index i;

  AVER(full || table->factor != ScatterFactor);
  if (tableMake(&grown, full ? table->capacity * 2 : table->capacity) != ResOK)
    return ResMEMORY;
  grown.factor = full ? table->factor : ScatterFactor;
  for (i = 0; i < table->capacity; ++i) {
    if (table->objects[i].addr != 0)
      *HeapTableSeek(&grown, table->objects[i].addr) = table->objects[i];
  }
  grown.count = table->count;
  HeapTableFinish(table);
  *table = grown;
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

static int tableCompare(const void *a, const void *b)
{
  const HeapObjectStruct *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->addr < y->addr ? -1 : x->addr > y->addr;
}

Res HeapTableSort(HeapObject *objectsReturn, Count *countReturn, HeapTable table)
{
  HeapObject objects = malloc((table->count + 1) * sizeof *objects);
  Index i, n = 0;

  AVER(table->objects == NULL || HeapTableCheck(table)); /* the sort takes longer */
  if (objects == NULL)
    return ResMEMORY;
  for (i = 0; i < table->capacity; ++i) {
    if (HeapObjectLives(&table->objects[i]))
      objects[n++] = table->objects[i];
  }
  qsort(objects, n, sizeof *objects, tableCompare);
  *objectsReturn = objects;
  *countReturn = n;
  return ResOK;
}

Bool HeapTableCheck(const HeapTableStruct *table)
{
  Index i, n = 0;

  if (!WordIsPowerOf2(table->capacity) || table->shift != 64u - (unsigned)__builtin_ctzll(table->capacity) ||
      table->count > table->limit || table->limit >= table->capacity ||
      (table->factor != HeapTableFACTOR && table->factor != ScatterFactor) ||
      (table->shares != NULL && *table->shares == 0))
    return FALSE;
  for (i = 0; i < table->capacity; ++i) {
    if (table->objects[i].addr != 0 && HeapTableSeek(table, table->objects[i].addr) != &table->objects[i])
      return FALSE;
    n += table->objects[i].addr != 0;
  }
  return n == table->count;
}
