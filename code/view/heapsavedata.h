/* heapsavedata.h -- what saving and restoring a heap must agree about
 *
 * Design: design/view.md .state.save      Tests: test/heapsavetest.c
 */
#ifndef VIEW_HEAPSAVEDATA_H
#define VIEW_HEAPSAVEDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/heapbytes.h"

enum {
  HeapSavedSHIFT = 5, /* of an object's thread, behind: away, told, stale, align is not 0, client is not 0 */
  HeapSavedPAD = HeapBytesFourMAX /* zeros before the sum */
};

/* The plain numbers of a HeapOrderStruct. */
#define HeapSavedNUMBERS \
  NUMBER(now) NUMBER(key) NUMBER(res) NUMBER(tally.repairs) NUMBER(tally.overlaps) NUMBER(tally.unmatched) \
  NUMBER(tally.early) NUMBER(tally.unfinished) NUMBER(tally.failed) NUMBER(stating) NUMBER(stateFrom) \
  NUMBER(stateTo) NUMBER(crossings) NUMBER(held)

#endif /* VIEW_HEAPSAVEDATA_H */
