/* freetree.c -- a treap of free blocks by address
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Recursive: a treap of a billion blocks is expected to be some 75 deep.
 *
 * Design: design/mm.md .mvff.tree      Tests: test/mm/pooltest.c
 */
#include "mm/freetree.h"

#include "base/aver.h"

_Static_assert(WordIsPowerOf2(sizeof(FreeNodeStruct)), "a free block's unit must be a power of two");

#define freeNodeLimit(node) ((Word)(node) + (node)->size)

/* freePriority -- a good hash (the finalizer of MurmurHash3) of a block's end */
static uint32_t freePriority(Word limit)
{
  uint64_t h = limit;

  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return (uint32_t)(h >> 32);
}

#define freeNodePriority(node) freePriority(freeNodeLimit(node))

static Size freeMost(FreeNode node) { return node != NULL ? node->most : 0; }

/* freeMostHere -- the largest size in a node's subtree, as its children have theirs */
static Size freeMostHere(FreeNode node)
{
  Size below = freeMost(node->left), above = freeMost(node->right), most = below > above ? below : above;

  return most > node->size ? most : node->size;
}

static void freeUpdate(FreeNode node) { node->most = freeMostHere(node); }

/* freeSplit -- part a tree into what is below and above `addr` */
static void freeSplit(FreeNode node, Word addr, FreeNode *below, FreeNode *above)
{
  if (node == NULL) {
    *below = *above = NULL;
  } else if ((Word)node < addr) {
    freeSplit(node->right, addr, &node->right, above);
    freeUpdate(node);
    *below = node;
  } else {
    freeSplit(node->left, addr, below, &node->left);
    freeUpdate(node);
    *above = node;
  }
}

/* freeMerge -- join two trees, all of whose blocks are in order */
static FreeNode freeMerge(FreeNode below, FreeNode above)
{
  if (below == NULL)
    return above;
  if (above == NULL)
    return below;
  if (freeNodePriority(below) >= freeNodePriority(above)) {
    below->right = freeMerge(below->right, above);
    freeUpdate(below);
    return below;
  }
  above->left = freeMerge(below, above->left);
  freeUpdate(above);
  return above;
}

static void freeInsert(FreeNode *link, FreeNode node, uint32_t priority)
{
  FreeNode here = *link;

  if (here == NULL || priority > freeNodePriority(here)) {
    freeSplit(here, (Word)node, &node->left, &node->right);
    *link = node;
    freeUpdate(node);
  } else {
    freeInsert(node < here ? &here->left : &here->right, node, priority);
    freeUpdate(here);
  }
}

void FreeTreeInsert(FreeTree *tree, Addr base, Size size)
{
  FreeNode node = (FreeNode)(void *)base;

  AVER_CRITICAL(((Word)base | size) % FreeTreeUNIT == 0 && size > 0);
  node->size = size;
  freeInsert(tree, node, freeNodePriority(node));
}

Size FreeTreeRemove(FreeTree *tree, Addr base)
{
  FreeNode here = *tree;
  Size size;

  AVER(here != NULL);
  if ((Addr)here == base) {
    size = here->size;
    *tree = freeMerge(here->left, here->right);
  } else {
    size = FreeTreeRemove(base < (Addr)here ? &here->left : &here->right, base);
    freeUpdate(here);
  }
  return size;
}

/* freeTakeHere -- take the beginning of the block at `*link`; what is left of it takes its place */
static Addr freeTakeHere(FreeNode *link, Size size)
{
  FreeNode here = *link, rest;

  if (here->size == size) {
    *link = freeMerge(here->left, here->right);
    return (Addr)here;
  }
  rest = (FreeNode)((Word)here + size);
  rest->left = here->left;
  rest->right = here->right;
  rest->size = here->size - size;
  freeUpdate(rest);
  *link = rest;
  return (Addr)here;
}

static Addr freeTake(Size *blockReturn, FreeNode *link, Size size)
{
  FreeNode here = *link;
  Addr addr;

  if (freeMost(here->left) >= size) {
    addr = freeTake(blockReturn, &here->left, size);
  } else if (here->size >= size) {
    *blockReturn = here->size;
    return freeTakeHere(link, size);
  } else {
    addr = freeTake(blockReturn, &here->right, size);
  }
  freeUpdate(here);
  return addr;
}

Addr FreeTreeTake(Size *blockReturn, FreeTree *tree, Size size)
{
  AVER_CRITICAL(size > 0 && size % FreeTreeUNIT == 0);
  return freeMost(*tree) >= size ? freeTake(blockReturn, tree, size) : NULL;
}

Size FreeTreeBelow(FreeTree tree, Addr addr)
{
  FreeNode node = tree, below = NULL;

  while (node != NULL) {
    if ((Addr)node < addr) {
      below = node;
      node = node->right;
    } else {
      node = node->left;
    }
  }
  return below != NULL && freeNodeLimit(below) == (Word)addr ? below->size : 0;
}

Size FreeTreeAt(FreeTree tree, Addr addr)
{
  FreeNode node = tree;

  while (node != NULL && (Addr)node != addr)
    node = (Addr)node < addr ? node->right : node->left;
  return node != NULL ? node->size : 0;
}

Addr FreeTreeNext(FreeTree tree, Addr addr)
{
  FreeNode node = tree, next = NULL;

  while (node != NULL) {
    if ((Addr)node >= addr) {
      next = node;
      node = node->left;
    } else {
      node = node->right;
    }
  }
  return (Addr)next;
}

/* freeCheck -- checks a subtree between two addresses */
static Bool freeCheck(FreeNode node, Word low, Word high, uint32_t priority)
{
  if (node == NULL)
    return TRUE;
  return ((Word)node | node->size) % FreeTreeUNIT == 0 && node->size > 0 && low <= (Word)node &&
         freeNodeLimit(node) <= high && freeNodePriority(node) <= priority && node->most == freeMostHere(node) &&
         freeCheck(node->left, low, (Word)node, freeNodePriority(node)) &&
         freeCheck(node->right, freeNodeLimit(node), high, freeNodePriority(node));
}

Bool FreeTreeCheck(FreeTree tree) { return freeCheck(tree, 0, ~(Word)0, UINT32_MAX); }
