/* eventdef.h -- the events of tinyalloc
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names, codes and kinds are this allocator's own; the columns are explained in Pawprint's code/eventdef.h.  The major
 * version is that of the file format.
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
#ifndef RETIRED
#define RETIRED(name, code)
#endif

KIND(Heap, 0, "per heap")
KIND(Cell, 1, "per cell")
KIND(Note, 2, "what the program says")

RELATION(HeapOpen, 0x0101, TRUE, Heap, PWS)
  DOC(HeapOpen, "opens heap %heap, called %name, of %size bytes")
  PARAM(HeapOpen, 0, P, heap, "the heap")
  PARAM(HeapOpen, 1, W, size, "bytes")
  PARAM(HeapOpen, 2, S, name, "what its owner calls it")

RELATION(HeapFull, 0x0102, TRUE, Heap, PWD)
  DOC(HeapFull, "heap %heap has no %size bytes: it is %filled full")
  PARAM(HeapFull, 0, P, heap, "the heap")
  PARAM(HeapFull, 1, W, size, "bytes asked for")
  PARAM(HeapFull, 2, D, filled, "which part of it is in use")

RELATION(CellGet, 0x0201, FALSE, Cell, AU)
  DOC(CellGet, "gives cell %cell of %size bytes")
  PARAM(CellGet, 0, A, cell, "the cell")
  PARAM(CellGet, 1, U, size, "bytes, rounded up")

RELATION(CellPut, 0x0202, FALSE, Cell, AU)
  DOC(CellPut, "takes back cell %cell of %size bytes")
  PARAM(CellPut, 0, A, cell, "the cell")
  PARAM(CellPut, 1, U, size, "bytes, rounded up")

#undef KIND
#undef RELATION
#undef DOC
#undef PARAM
#undef RETIRED
