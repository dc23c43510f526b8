/* heapsavedata.h -- what saving and restoring a heap must agree about
 *
 * Design: design/view.md .state.save      Tests: test/heap/managerstatetest.c
 */
#ifndef HEAP_HEAPSAVEDATA_H
#define HEAP_HEAPSAVEDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heapbytes.h"

enum {
  HeapSavedSHIFT = 5, /* of an object's thread, behind: away, told, stale, align is not 0, client is not 0 */
  HeapSavedPAD = HeapBytesFourMAX /* zeros at the end */
};

/* The plain numbers of how well events fitted, and of what lives. */
#define HeapSavedTALLY(of) \
  NUMBER(of.tally.repairs) NUMBER(of.tally.overlaps) NUMBER(of.tally.unmatched) NUMBER(of.tally.early) \
  NUMBER(of.tally.unfinished) NUMBER(of.tally.failed) NUMBER(of.tally.forgotten) NUMBER(of.sum.objects) \
  NUMBER(of.sum.bytes) NUMBER(of.sum.peakObjects) NUMBER(of.sum.peakBytes) NUMBER(of.sum.peakTime)

/* The plain numbers of a HeapReorderStruct. */
#define HeapSavedNUMBERS \
  NUMBER(order->now) NUMBER(order->key) NUMBER(order->res) HeapSavedTALLY((*order)) NUMBER(order->stating) \
  NUMBER(order->stateFrom) NUMBER(order->stateTo) NUMBER(order->held) \
  NUMBER(order->several) NUMBER(order->windowed) NUMBER(order->doubt)

/* Of a HeapProcessStruct, and of a HeapStruct. */
#define HeapSavedPROCESS \
  NUMBER(process->order.now) NUMBER(process->met) NUMBER(process->ended) NUMBER(process->last) NUMBER(process->pools) \
  NUMBER(process->threads) NUMBER(process->inherited) NUMBER(process->child) NUMBER(process->forker) \
  NUMBER(process->childTime) NUMBER(process->seen.unsentLast) NUMBER(process->seen.unsentFrom) \
  NUMBER(process->seen.on)
#define HeapSavedHEAP NUMBER(heap->res) NUMBER(heap->objectTypes) NUMBER(heap->living) NUMBER(heap->kept) \
  NUMBER(heap->forks.next) NUMBER(heap->gone.next) \
  NUMBER(heap->off.times) NUMBER(heap->off.ns) NUMBER(heap->off.until)

enum { HeapSavedLIVES = 1, HeapSavedPAST };

#endif /* HEAP_HEAPSAVEDATA_H */
