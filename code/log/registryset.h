/* registryset.h -- all registries of a log: processes with equal event types share one
 *
 * The event types of a process come from a sequence of registry texts, one for each header block that had new ones.
 * Processes with the same sequence share one registry: the sequences form a tree, and each node's registry holds the
 * texts from the root to it.
 *
 * Always true (TypesCheck): numbers are given as nodes are made; a node has all types of its parent, and is in the slot
 * of its text's name.  A node's registry never changes once it is made; all nodes together take at most TypesFACTOR
 * times as much memory as the header blocks that were read, TypesFREE, and one node.
 *
 * Design: design/log.md .types      Tests: test/log/logwhotest.c
 */
#ifndef LOG_REGISTRYSET_H
#define LOG_REGISTRYSET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/header.h"
#include "format/registry.h"

typedef struct TypesStruct *Types;

enum {
  TypesSLOTS = 1024,            /* lists of nodes, by the name of their text */
  TypesNODE = 1 << 16,          /* bytes; of no node less is reckoned, so that there are not too many to look through */
  TypesFACTOR = 8,
  TypesFREE = 64 << 20
};

struct TypesStruct {
  Types parent;                 /* NULL: nothing was said before */
  Types before;                 /* the node that was made before it, */
  Types below;                  /* and in its slot */
  Index number;
  char *text;                   /* owned; the registry's names point into it */
  Size length;
  RegistryNameStruct name;      /* of the text */
  WidthsStruct widths;
  RegistryStruct *registry;     /* owned; mapped, because most of its pages stay untouched */
};

typedef struct TypesTreeStruct {
  Types newest;
  Types slot[TypesSLOTS];
  Count count;                  /* of nodes */
  uint64_t taken;               /* bytes of memory that they take */
  uint64_t read;                /* bytes of the header blocks that were read; the caller counts them */
} TypesTreeStruct, *TypesTree;

/* TypesFollow -- the node for `from` (NULL: nothing said yet) after one more registry text
 *
 * tree         the caller's, zeroed at first
 * malformed    set TRUE if a line could not be taken; the others were.  Or no line was, because there are too many
 *              nodes for what was read.
 * returns      ResMEMORY; else `from` itself if the text is known already, or a child
 * Cost: looking through the nodes from the root to `from`, and through those whose text has the same name
 */
extern Res TypesFollow(Types *typesReturn, TypesTree tree, Types from, WidthsStruct widths, const char *text,
                       Size length, Bool *malformed);

/* TypesFull -- do the nodes take as much memory as they may? */
extern Bool TypesFull(TypesTree tree);

/* TypesNamed -- a node that has the text with a name, or NULL */
extern Types TypesNamed(TypesTree tree, const RegistryNameStruct *name);

extern Bool TypesCheck(TypesTree tree);
extern void TypesFree(TypesTree tree);

#endif /* LOG_REGISTRYSET_H */
