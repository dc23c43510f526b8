/* eventdef.h -- the events of a malloc of one's own
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Events called PoolCreate, PoolAlloc and PoolFree, with parameters of these names, are what Pawprint's views of the
 * heap and replay go by, whatever their codes and kinds are, and whatever parameters they have besides (pawprint(3)).
 */
#ifndef EVENTDEF_VERSION
#define EVENTDEF_VERSION
#define EventVersionMAJOR  1
#define EventVersionMEDIAN 0
#define EventVersionMINOR  0
#endif

#ifndef KIND
#define KIND(name, value, doc)
#endif
#ifndef RELATION
#define RELATION(name, code, always, kind, format)
#endif
#ifndef DOC
#define DOC(name, template)
#endif
#ifndef PARAM
#define PARAM(name, index, letter, parameter, doc)
#endif

KIND(Heap, 0, "per heap")
KIND(Cell, 1, "per cell")

RELATION(PoolCreate, 0x0101, TRUE, Heap, PPS)
  DOC(PoolCreate, "opens heap %pool, of class %class")
  PARAM(PoolCreate, 0, P, pool, "the heap")
  PARAM(PoolCreate, 1, P, arena, "0: there is no arena")
  PARAM(PoolCreate, 2, S, class, "what kind of heap it is")

RELATION(HeapGrow, 0x0102, TRUE, Heap, PW)
  DOC(HeapGrow, "heap %heap asks the system for %size bytes")
  PARAM(HeapGrow, 0, P, heap, "the heap")
  PARAM(HeapGrow, 1, W, size, "bytes")

RELATION(PoolAlloc, 0x0201, FALSE, Cell, PAWU)
  DOC(PoolAlloc, "heap %pool gives cell %addr of %size bytes from list %list")
  PARAM(PoolAlloc, 0, P, pool, "the heap")
  PARAM(PoolAlloc, 1, A, addr, "the cell")
  PARAM(PoolAlloc, 2, W, size, "bytes asked for")
  PARAM(PoolAlloc, 3, U, list, "the power of two that its block is of")

RELATION(PoolFree, 0x0202, FALSE, Cell, PA)
  DOC(PoolFree, "heap %pool takes back cell %addr")
  PARAM(PoolFree, 0, P, pool, "the heap")
  PARAM(PoolFree, 1, A, addr, "the cell")

#undef KIND
#undef RELATION
#undef DOC
#undef PARAM
