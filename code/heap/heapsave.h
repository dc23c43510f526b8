/* heapsave.h -- the whole state of a heap as bytes, and back
 *
 * Whole: what lives, and what is held back, in the middle of a resize, or being told.  A heap that was restored does
 * with all further events exactly what the one that was saved would have done.
 *
 * The bytes are good for the same log only, and for a program whose heap remembers the same.  They may come out of a file:
 * whatever they say, a heap is made of them that can be looked at and gone on with, or none.
 *
 * Design: design/view.md .state.save      Tests: test/heap/managerstatetest.c
 */
#ifndef HEAP_HEAPSAVE_H
#define HEAP_HEAPSAVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"
#include "heap/heapbytes.h"

/* HeapSave -- append the state, which stays as it is, to `to`; the caller frees to->bytes.  ResMEMORY.  About 20 ns and
 * 11 bytes for each object that lives. */
extern Res HeapSave(HeapBytes to, Heap heap);

/* HeapRestore -- the heap is as it was when it was saved; its client is told nothing, and pointers into what it was
 * before are no good.  Pools that were destroyed are forgotten unless something still refers to them.
 *
 * from     where HeapSave began; nothing is behind what it wrote
 * clients  no object's `client` is more
 * returns  ResMEMORY, ResFORMAT: no such bytes; nothing lives then.  About 20 ns for each object.
 */
extern Res HeapRestore(Heap heap, HeapBytes from, Count clients);

#endif /* HEAP_HEAPSAVE_H */
