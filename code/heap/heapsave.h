/* heapsave.h -- the whole state of a heap as bytes, and back
 *
 * The bytes have live objects, held events, open resizes and state dumps: a restored heap does with all further events
 * exactly what the saved one would have done.
 *
 * The bytes belong to one log and to one HeapSaveVERSION.  They may come from a file that somebody made: HeapRestore
 * makes a sound heap of any bytes, or none.
 *
 * Design: design/view.md .state.save      Tests: test/heap/heapattest.c
 */
#ifndef HEAP_HEAPSAVE_H
#define HEAP_HEAPSAVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"
#include "heap/heapbytes.h"

enum { HeapSaveVERSION = 7 }; /* changes whenever a heap has other members, or applies events in another way */

/* HeapSave -- append the state to `to`; the caller frees to->bytes.  ResMEMORY.  About 20 ns and 11 bytes for each live
 * object. */
extern Res HeapSave(HeapBytes to, Heap heap);

/* HeapRestore -- make the heap what it was when it was saved.  No hook is called; pointers into the heap become
 * invalid. Destroyed pools are restored only if something refers to them.
 *
 * from     `next` is where HeapSave began; nothing follows what it wrote
 * clients  the largest `client` that an object may have
 * room     bytes of memory that the heap may take, about
 * returns  ResMEMORY; ResFORMAT: the bytes have another version, or are unsound, or there is no room.  The heap is
 *          empty then.  About 20 ns for each object.
 */
extern Res HeapRestore(Heap heap, HeapBytes from, Count clients, Size room);

#endif /* HEAP_HEAPSAVE_H */
