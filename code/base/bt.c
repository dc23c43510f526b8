/* bt.c -- bit tables
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bt.h"

unsigned BTGet(BT bt, Index i)
{
  return (Bool)(__atomic_load_n(&bt[i / WORD_WIDTH], __ATOMIC_RELAXED) >> (i % WORD_WIDTH) & 1);
}

void BTSet(BT bt, Index i)
{
  (void)__atomic_fetch_or(&bt[i / WORD_WIDTH], (Word)1 << (i % WORD_WIDTH), __ATOMIC_SEQ_CST);
}

void BTRes(BT bt, Index i)
{
  (void)__atomic_fetch_and(&bt[i / WORD_WIDTH], ~((Word)1 << (i % WORD_WIDTH)), __ATOMIC_SEQ_CST);
}
