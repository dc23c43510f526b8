/* freetree.h -- free blocks in order of address, the first that is large enough found in logarithmic time
 *
 * A treap whose nodes are in the free blocks themselves, so that freeing can never fail for want of memory.  A node's
 * priority is a hash of the block's end, which costs no room and stays when a block loses its beginning.
 *
 * Always true (FreeTreeCheck), for each node:
 *   left's blocks < this block < right's blocks
 *   most == the largest size in this subtree
 *   its priority is not less than its children's
 *   blocks are multiples of FreeTreeUNIT in address and size
 *
 * Threads: the caller's lock.
 *
 * Design: design/mm.md .mvff.tree      Tests: test/mm/pooltest.c (against a table of bytes)
 */
#ifndef MM_FREETREE_H
#define MM_FREETREE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef struct FreeNodeStruct {
  struct FreeNodeStruct *left, *right;
  Size size; /* bytes of this block, this node included */
  Size most; /* the largest size in this subtree */
} FreeNodeStruct, *FreeNode;

typedef FreeNode FreeTree; /* the root; NULL: no free block */

#define FreeTreeUNIT sizeof(FreeNodeStruct) /* a power of two */

/* FreeTreeInsert -- [base, base + size) is free; it touches no block of the tree that it should be joined with */
extern void FreeTreeInsert(FreeTree *tree, Addr base, Size size);

/* FreeTreeRemove -- take out the block that begins at `base`, which is in the tree; returns its size */
extern Size FreeTreeRemove(FreeTree *tree, Addr base);

/* FreeTreeTake -- take `size` bytes from the beginning of the first block that has them
 *
 * blockReturn   the size that the block had
 * returns       its address, or NULL when there is none
 */
extern Addr FreeTreeTake(Size *blockReturn, FreeTree *tree, Size size);

/* FreeTreeBelow, FreeTreeAt -- the block that ends, begins, at `addr`: its size, or 0 */
extern Size FreeTreeBelow(FreeTree tree, Addr addr);
extern Size FreeTreeAt(FreeTree tree, Addr addr);

/* FreeTreeNext -- the first block that begins at `addr` or behind it; NULL: none */
extern Addr FreeTreeNext(FreeTree tree, Addr addr);

/* FreeTreeCheck -- does all hold that must always be true? */
extern Bool FreeTreeCheck(FreeTree tree);

#endif /* MM_FREETREE_H */
