/* heapsave.h -- the whole state of a heap as bytes, and back
 *
 * Whole: what lives, and what is held back, in the middle of a resize, or being told.  A heap that was restored does
 * with all further events exactly what the one that was saved would have done.
 *
 * Bytes are for the program that wrote them: not a format for files that stay.
 *
 * Design: design/view.md .state.save      Tests: test/viewstatetest.c
 */
#ifndef VIEW_HEAPSAVE_H
#define VIEW_HEAPSAVE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heap.h"

/* HeapSave -- the state, which stays as it is
 *
 * bytesReturn    *sizeReturn bytes that the caller frees
 * weightReturn   how many objects live, and as much for all else that was saved as it costs
 * returns        ResMEMORY
 * cost           about 20 ns and 11 bytes for each object that lives
 */
extern Res HeapSave(unsigned char **bytesReturn, Size *sizeReturn, Count *weightReturn, Heap heap);

/* HeapRestore -- the heap is as it was when it was saved; its client is told nothing, and pointers into what it was
 * before are no good.  Pools that were destroyed are forgotten unless something still refers to them.
 * ResMEMORY, ResFORMAT: no such bytes; nothing lives then.  About 20 ns for each object. */
extern Res HeapRestore(Heap heap, const unsigned char *bytes, Size size);

/* HeapUnsettled -- would HeapSettle do anything but what the next event would have been preceded by anyway? */
extern Bool HeapUnsettled(Heap heap);

#endif /* VIEW_HEAPSAVE_H */
