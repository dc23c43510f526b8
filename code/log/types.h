/* types.h -- the registries of a traceset, each kept once
 *
 * What a process's event types are is a sequence of registry texts, one for each header block that said something
 * new.  Processes that said the same share one registry: the sequences form a tree, and each node's registry holds
 * the texts from the root to it.
 *
 * Always true: a node's registry never changes once it is made; numbers are given as nodes are made.
 *
 * Design: design/log.md .types      Tests: test/logwhotest.c
 */
#ifndef LOG_TYPES_H
#define LOG_TYPES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "format/registry.h"

typedef struct TypesStruct *Types;

struct TypesStruct {
  Types parent, child, sibling; /* parent is NULL in the root's children */
  Types before;                 /* the node that was made before it */
  Index number;
  char *text;                   /* owned; the registry's names point into it */
  Size length;
  RegistryNameStruct name;      /* of the text */
  WidthsStruct widths;
  RegistryStruct *registry;     /* owned */
};

typedef struct TypesTreeStruct {
  Types roots, newest;
  Count count;                  /* of nodes */
} TypesTreeStruct, *TypesTree;

/* TypesFollow -- the node for `from` (NULL: nothing said yet) after one more registry text
 *
 * tree         the caller's, zeroed at first
 * malformed    set TRUE if a line could not be taken; the others were
 * returns      ResMEMORY; else `from` itself if the text is known already, or a child
 */
extern Res TypesFollow(Types *typesReturn, TypesTree tree, Types from, WidthsStruct widths, const char *text,
                       Size length, Bool *malformed);

/* TypesNamed -- a node that has the text with a name, or NULL */
extern Types TypesNamed(TypesTree tree, const RegistryNameStruct *name);

extern void TypesFree(TypesTree tree);

#endif /* LOG_TYPES_H */
