/* types.h -- the registries of a traceset, each kept once
 *
 * What a process's event types are is a sequence of registry texts, one for each header block that said something
 * new.  Processes that said the same share one registry: the sequences form a tree, and each node's registry holds
 * the texts from the root to it.
 *
 * Always true: a node's registry never changes once it is made.
 *
 * Design: design/log.md .types      Tests: test/logwhotest.c
 */
#ifndef LOG_TYPES_H
#define LOG_TYPES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/registry.h"

typedef struct TypesStruct *Types;

struct TypesStruct {
  Types parent, child, sibling; /* parent is NULL in the root's children */
  char *text;                   /* owned; the registry's names point into it */
  Size length;
  WidthsStruct widths;
  RegistryStruct *registry;     /* owned */
};

/* TypesFollow -- the node for `from` (NULL: nothing said yet) after one more registry text
 *
 * roots        where the first nodes hang; the caller's, NULL at first
 * malformed    set TRUE if a line could not be taken; the others were
 * returns      ResMEMORY; else `from` itself if the text is known already, or a child
 */
extern Res TypesFollow(Types *typesReturn, Types *roots, Types from, WidthsStruct widths, const char *text, Size length,
                       Bool *malformed);

/* TypesFree -- all nodes that hang at `types` and beside it */
extern void TypesFree(Types types);

#endif /* LOG_TYPES_H */
