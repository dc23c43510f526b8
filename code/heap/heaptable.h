/* heaptable.h -- the live objects of one pool, by address
 *
 * Open addressing with linear probing and deletion by shifting back, so that a table that has seen a billion objects
 * is as quick as a fresh one.  An object moves when others come and go: a pointer to one is good until the next change.
 *
 * Always true (HeapTableCheck):
 *   capacity is a power of two, and `shift` belongs to it;  count <= limit < capacity
 *   the object at an empty place has address 0; so many others as `count` says are there, each where a search finds it
 *   shares, if it is there, is not 0
 *
 * Design: design/view.md .heap.table      Tests: test/heap/heaptest.c
 */
#ifndef HEAP_HEAPTABLE_H
#define HEAP_HEAPTABLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/scatter.h"

typedef struct HeapObjectStruct {
  uint64_t addr;       /* where it is; never 0 */
  uint64_t size : 55;  /* bytes asked for; what is more is cut to HeapSizeMAX */
  uint64_t align : 6;  /* log2 of the alignment asked for; 0 if none was */
  uint64_t away : 1;   /* nothing lives there for the moment: it is being resized */
  uint64_t told : 1;   /* heapstatedump.h */
  uint64_t stale : 1;  /* the same */
  uint64_t time;       /* ns of its allocation; a resize does not change it */
  uint32_t thread;     /* number of the thread that allocated it */
  uint32_t client;     /* the client's; 0 at first */
} HeapObjectStruct, *HeapObject;

#define HeapTableFACTOR 0x9e3779b97f4a7c15ull

#define HeapSizeMAX (((uint64_t)1 << 55) - 1)

_Static_assert(sizeof(HeapObjectStruct) == 32, "two objects to a cache line");

typedef struct HeapTableStruct {
  HeapObject objects;
  Count capacity;
  Count count;    /* objects */
  Count limit;    /* the most objects before it grows */
  unsigned shift; /* 64 - log2(capacity) */
  uint64_t factor; /* HeapTableFACTOR, or ScatterFactor once many addresses had one place */
  Count *shares;  /* how many tables share these objects; NULL: none but this, which may then change them */
} HeapTableStruct, *HeapTable;

/* HeapTableInit -- an empty table; ResMEMORY.  HeapTableFinish frees its memory; a table of zeros has none. */
extern Res HeapTableInit(HeapTable table);
extern void HeapTableFinish(HeapTable table);

/* HeapTableMake -- an empty table with room for `count` objects.  ResMEMORY.
 * HeapTableCapacity -- the places that it has */
extern Res HeapTableMake(HeapTable table, Count count);
extern Count HeapTableCapacity(Count count);

/* HeapTableShare -- a table with the objects of another; ResMEMORY
 * HeapTableOwn -- its objects are going to change: if they are shared it gets a copy.  ResMEMORY. */
extern Res HeapTableShare(HeapTable tableReturn, HeapTable other);
extern Res HeapTableOwn(HeapTable table);

/* heapTableHome -- where the search for `addr` begins */
static inline Index heapTableHome(const HeapTableStruct *table, uint64_t addr)
{
  return (Index)((addr * table->factor) >> table->shift);
}

/* HeapTableTouch -- let the processor fetch what HeapTableSeek(addr) will read */
static inline void HeapTableTouch(HeapTable table, uint64_t addr)
{
  HeapObject home = &table->objects[heapTableHome(table, addr)];

  __builtin_prefetch(home, 1);
  __builtin_prefetch(home + 2, 1);
}

/* HeapTableSeek -- the place of the object at `addr`; if there is none, its address is 0, and HeapTableInsert may
 * take it. About 1.3 probes in small tables, 2 in large ones. */
static inline HeapObject HeapTableSeek(const HeapTableStruct *table, uint64_t addr)
{
  Index i, mask = table->capacity - 1;

  for (i = heapTableHome(table, addr);; i = (i + 1) & mask) {
    if (LIKELY(table->objects[i].addr == addr || table->objects[i].addr == 0))
      return &table->objects[i];
  }
}

/* HeapObjectLives -- is what HeapTableSeek found an object that lives? */
static inline Bool HeapObjectLives(HeapObject object)
{
  return object->addr != 0 && !object->away;
}

/* HeapTableFar -- is the place of an address so far from its home as only addresses are that were chosen for it? */
static inline Bool HeapTableFar(const HeapTableStruct *table, const HeapObjectStruct *place, uint64_t addr)
{
  enum { far = 1024 };

  return (((Index)(place - table->objects) - heapTableHome(table, addr)) & (table->capacity - 1)) >= far &&
         table->factor != ScatterFactor;
}

/* HeapTableGrow -- make room for one more object, when count == limit, or find other places for all, with a factor
 * that nobody knows; places move.  ResMEMORY. */
extern Res HeapTableGrow(HeapTable table);

/* HeapTableInsert -- put an object at the place that HeapTableSeek(addr) found, where none lives; all else is the
 * caller's to set
 * returns  its place, which may be another; NULL if the table could not grow */
static inline HeapObject HeapTableInsert(HeapTable table, HeapObject place, uint64_t addr)
{
  if (place->addr == addr) {
    place->away = 0;
    return place;
  }
  if (UNLIKELY(table->count == table->limit || HeapTableFar(table, place, addr))) {
    if (HeapTableGrow(table) != ResOK)
      return NULL;
    place = HeapTableSeek(table, addr);
  }
  place->addr = addr;
  place->away = 0;
  ++table->count;
  return place;
}

/* HeapTablePut -- the place of `addr`, which is not 0, in a table from which nothing is away.  If it is new, all else
 * there is 0.  NULL: no memory. */
static inline HeapObject HeapTablePut(HeapTable table, uint64_t addr)
{
  HeapObject place = HeapTableSeek(table, addr);

  if (place->addr != addr && (place = HeapTableInsert(table, place, addr)) != NULL)
    *place = (HeapObjectStruct){.addr = addr};
  return place;
}

/* HeapTableDelete -- remove `object`, which HeapTableSeek found */
extern void HeapTableDelete(HeapTable table, HeapObject object);

/* HeapTableSort -- the objects that live, by age, in an array of *countReturn that the caller frees.  ResMEMORY. */
extern Res HeapTableSort(HeapObject *objectsReturn, Count *countReturn, HeapTable table);

extern Bool HeapTableCheck(const HeapTableStruct *table);

#endif /* HEAP_HEAPTABLE_H */
