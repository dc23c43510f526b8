/* sitetree.h -- the callers of a book as a tree: from the outermost down to those that asked for memory, or up
 *
 * A node is a caller, called from its parent (down) or calling it (up), and has the sum of all stacks that go through
 * it.
 *
 * Always true: node 0 is the root, and has all;  children are sorted, the most first, once the tree is made
 *
 * Design: design/view.md .sites.tree      Tests: test/analyse/sites.t
 */
#ifndef CALLERS_SITETREE_H
#define CALLERS_SITETREE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "callers/sitelines.h"

typedef struct SiteNodeStruct {
  CodePlaceStruct place;
  SiteLineStruct sum;       /* `group` is the number of its parent */
  uint32_t child, sibling;  /* numbers; 0: none */
} SiteNodeStruct, *SiteNode;

typedef struct SiteTreeStruct {
  CodeNames names;
  StringsStruct keys;       /* parents and places; the number is the node's */
  Count count, capacity;
  SiteNode node;            /* owned */
  SiteOrder order;
} SiteTreeStruct, *SiteTree;

/* SiteTreeMake -- of a book that is complete; ResMEMORY.  SiteTreeFinish in either case. */
extern Res SiteTreeMake(SiteTree tree, SiteBook book, SiteNumbers numbers, CodeNames names, Bool up, SiteOrder order);
extern void SiteTreeFinish(SiteTree tree);

/* SiteTreeText -- print it: a line for each node that has a 100th of all at least, those of a chain below each other
 * SiteTreeJson -- print all of it: an array of objects, each with its `children`
 * line  prints what a node has, in columns, or as members */
extern void SiteTreeText(FILE *out, SiteTree tree, void (*line)(FILE *out, void *data, const SiteLineStruct *sum),
                         void *data);
extern void SiteTreeJson(FILE *out, SiteTree tree, void (*line)(FILE *out, const SiteLineStruct *sum));

#endif /* CALLERS_SITETREE_H */
