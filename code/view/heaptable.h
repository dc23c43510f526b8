/* heaptable.h -- the live objects of one pool, by address
 *
 * Open addressing with linear probing and deletion by shifting back, so that a table that has seen a billion objects
 * is as quick as a fresh one.  An object moves when others come and go: a pointer to one is good until the next change.
 *
 * Always true (HeapTableCheck):
 *   capacity is 0 or a power of two;  count <= capacity * 5 / 8;  the object at an empty place has address 0
 *
 * Design: design/view.md .heap.table      Tests: test/heaptest.c
 */
#ifndef VIEW_HEAPTABLE_H
#define VIEW_HEAPTABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct HeapObjectStruct {
  uint64_t addr;        /* where it is; never 0 */
  uint64_t size;        /* bytes asked for */
  uint64_t time;        /* ns; when it was had (not changed by a resize) */
  uint64_t serial : 56; /* 1, 2, ... within its process, in the order of allocation */
  uint64_t align : 8;   /* log2 of the alignment asked for; 0 if none was */
  uint32_t thread;      /* number of the thread that allocated it */
  uint32_t client;      /* whatever the hook's owner keeps with it; 0 at first */
} HeapObjectStruct, *HeapObject;

typedef struct HeapTableStruct {
  HeapObject objects;
  Count capacity;
  Count count;    /* objects that are there */
  unsigned shift; /* 64 - log2(capacity) */
} HeapTableStruct, *HeapTable;

/* HeapTableInit -- an empty table, which owns no memory yet; HeapTableFinish gives back what it has since got */
extern void HeapTableInit(HeapTable table);
extern void HeapTableFinish(HeapTable table);

/* heapTableHome -- where the search for `addr` begins */
static inline Index heapTableHome(HeapTable table, uint64_t addr)
{
  return (Index)((addr * 0x9e3779b97f4a7c15ull) >> table->shift);
}

/* HeapTableTouch -- have the processor fetch what HeapTableFind(addr) will read */
static inline void HeapTableTouch(HeapTable table, uint64_t addr)
{
  if (table->capacity != 0)
    __builtin_prefetch(&table->objects[heapTableHome(table, addr)], 1);
}

/* HeapTableFind -- the object at `addr`, or NULL; about 2 probes */
static inline HeapObject HeapTableFind(HeapTable table, uint64_t addr)
{
  Index i, mask = table->capacity - 1;

  if (table->capacity == 0)
    return NULL;
  for (i = heapTableHome(table, addr); table->objects[i].addr != 0; i = (i + 1) & mask) {
    if (table->objects[i].addr == addr)
      return &table->objects[i];
  }
  return NULL;
}

/* HeapTableInsert -- a place for the object at `addr`, which must not be there yet; all else in it is the caller's to set
 * ResMEMORY: the table could not grow. */
extern Res HeapTableInsert(HeapObject *objectReturn, HeapTable table, uint64_t addr);

/* HeapTableDelete -- take `object`, which HeapTableFind found, out of the table */
extern void HeapTableDelete(HeapTable table, HeapObject object);

/* HeapTableSort -- the objects by serial number, in an array of `table->count` that the caller frees
 * ResMEMORY; NULL for an empty table. */
extern Res HeapTableSort(HeapObject *objectsReturn, HeapTable table);

extern Bool HeapTableCheck(HeapTable table);

#endif /* VIEW_HEAPTABLE_H */
