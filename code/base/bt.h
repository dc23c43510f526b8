/* bt.h -- bit tables: arrays of Words taken as bits
 *
 * Bit i is bit i modulo WORD_WIDTH of word i divided by WORD_WIDTH.  Functions, not macros only, so that a
 * debugger can call them: `call BTRes(EventKindControl, EventKindRef)`.  Each changes one bit atomically, because
 * the owner of a table may be reading it in another thread at that moment.
 *
 * Design: design/telemetry.md .control.bt      Tests: test/base/basetest.c
 */
#ifndef BASE_BT_H
#define BASE_BT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "types.h"

typedef Word *BT;

/* Debuggers and programs reach these in the shared library, too. */
#define BT_API PAWPRINT_API

/* BTGet -- bit `i` of `bt`, 0 or 1 */
extern unsigned BTGet(BT bt, Index i) BT_API;

/* BTSet, BTRes -- set bit `i` of `bt` to 1, to 0 */
extern void BTSet(BT bt, Index i) BT_API;
extern void BTRes(BT bt, Index i) BT_API;

/* BTSize -- bytes of a table of `n` bits */
#define BTSize(n) (((n) + WORD_WIDTH - 1) / WORD_WIDTH * sizeof(Word))

#endif /* BASE_BT_H */
