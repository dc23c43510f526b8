/* arenas.h -- address space of arenas: reserved and committed, as their events say
 *
 * A request of its own for the types that tell of arenas, which are rare.  What a child of fork does with an arena of
 * its parent is a row without `created`: how much it had at first is not known.
 *
 * Always true: rows are in the order in which arenas were met;  the newest of an address of a process is in `newest`
 *
 * Design: design/view.md .pools      Tests: test/view/heapviews.t
 */
#ifndef VIEW_ARENAS_H
#define VIEW_ARENAS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/processevents.h"
#include "request/request.h"
#include "request/stringtable.h"
#include "request/typecache.h"

typedef struct ArenaRowStruct {
  LogProcess process;
  uint64_t arena;
  Bool created, destroyed;
  uint64_t time;                     /* ns, when it was created */
  uint64_t reserved, committed;      /* bytes now, or when it was destroyed: what was there then */
  uint64_t reservedPeak, committedPeak;
} ArenaRowStruct, *ArenaRow;

typedef struct ArenasStruct {
  OfProcess of;
  LogRequestStruct request;
  TypeCacheStruct plans;
  StringsStruct keys;    /* a process and an address; */
  Index *newest;         /* owned; by the key's number less one: the row */
  Count keysRoom;
  Count rows, rowsRoom;
  ArenaRow row;          /* owned */
  const LogRequestStruct *only; /* what was asked for */
  Bool failed;
} ArenasStruct, *Arenas;

/* ArenasInit -- none yet; `only`, the caller's, says which events, `of` whose.  The request is to be served once. */
extern void ArenasInit(Arenas arenas, const LogRequestStruct *only, OfProcess of);
extern void ArenasFinish(Arenas arenas);

#endif /* VIEW_ARENAS_H */
