/* stacktree.h -- the stacks of a process, each with a number
 *
 * An event has the number of its stack.  Stacks share their outer frames, so they are kept as a tree: a node is a
 * frame, its parent is its caller, and a stack's number is that of its innermost node.  The log must describe each node
 * once: `told` is called for each new node, before its number is used.  If two threads find the same new frame at the
 * same time both may call it, with two numbers, of which only one is used afterwards.
 *
 * Memory: 16 bytes for each node and 256 KiB for the table, touched as they are used.  When all numbers are given, a
 * stack gets the number of its outer part with StackSHORT: readers count how often.
 *
 * Always true (StackTreeCheck):  the parent of a node has a smaller number; nodes of a chain belong to it, but for
 * those of code that has gone
 *
 * Threads: any; signal handlers, too.  No lock.
 * Design: design/unwind.md .tree      Tests: test/unwind/stacktreetest.c
 */
#ifndef UNWIND_STACKTREE_H
#define UNWIND_STACKTREE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

typedef uint32_t StackNumber;

/* Numbers that are not frames: they say what lies beyond the outermost frame of a stack. */
enum {
  StackWHOLE,   /* nothing: the stack is there to its beginning */
  StackCUT,     /* more frames than are recorded */
  StackBROKEN,  /* frames whose caller cannot be found */
  StackNESTED,  /* all: a signal came while this thread's stack was walked */
  StackFIRST    /* the first number of a frame */
};

#define StackTreeMAX ((Count)1 << 20) /* numbers */

/* StackSHORT -- a bit of a number: that of the outer part of a stack, whose inner frames have no number */
#define StackSHORT ((StackNumber)1 << 31)

/* StackTold -- a new node; called before its number is used by any thread */
typedef void (*StackTold)(StackNumber node, StackNumber parent, Word at);

/* StackTreeInit -- get the memory; ResMEMORY: there is none.  Once for each process. */
extern Res StackTreeInit(StackTold told);

/* StackTreeForget -- all numbers are free again; for a forked child, in which there is one thread */
extern void StackTreeForget(void);

/* A node, by its number. */
typedef struct StackNodeStruct {
  Word at;             /* 0: the code has gone, and nobody finds the node any more */
  StackNumber parent;  /* with StackSHORT: not in its chain yet, or never: another thread was faster */
  StackNumber next;    /* in the chain; 0: the last */
} StackNodeStruct, *StackNode;

extern StackNode StackTreeNodes; /* StackTreeMAX; NULL: there is no tree */

/* StackTreeNode -- the number of a frame
 *
 * parent   number of the caller's frame, or a reason why there is none
 * at       address inside the call: the return address minus one
 * returns  the number; `parent` with StackSHORT when all numbers are given, or if it has that itself
 * cost     a comparison with the next node, which is the frame's in two of three cases (.tree.next); else a hash and a
 *          chain of about one node (StackTreeFind): two cache lines
 */
extern StackNumber StackTreeFind(StackNumber parent, Word at);

static inline StackNumber StackTreeNode(StackNumber parent, Word at)
{
  StackNode next = &StackTreeNodes[parent + 1];

  if (LIKELY(parent < StackTreeMAX - 1 && __atomic_load_n(&next->parent, __ATOMIC_ACQUIRE) == parent
             && __atomic_load_n(&next->at, __ATOMIC_RELAXED) == at))
    return parent + 1;
  return StackTreeFind(parent, at);
}

/* StackTreeIs -- is this the number of that frame?  FALSE also for a number that is not given. */
extern Bool StackTreeIs(StackNumber number, StackNumber parent, Word at);

/* StackTreeUnload -- code from base to limit has gone: frames there get new numbers if other code comes to that place.
 * Then StackWalkForget is due.  cost: a pass over all numbers */
extern void StackTreeUnload(Word base, Word limit);

/* StackTreeTell -- call `told` of StackTreeInit again for each frame that has a number, outer ones first.  Nothing if
 * there is no tree. */
extern void StackTreeTell(void);

/* StackTreeCount -- how many frames have a number */
extern Count StackTreeCount(void);

extern Bool StackTreeCheck(void);

#endif /* UNWIND_STACKTREE_H */
