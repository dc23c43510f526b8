/* tree.h -- the tree of processes: who was there, and who of the family comes, changes and goes
 *
 * The family is the program that was started and all that descend from it.  Its members are told of by whoever starts
 * or meets one; the others, which no library speaks for, are found in /proc, by their parent or by a mark in their
 * environment, a tenth of a second late at the worst; what comes and goes in between is not seen.  Each step is an
 * event of the collector's own: ProcessSeen (once, of every process of the system), ProcessStart, ProcessExec,
 * ProcessExit.
 *
 * Always true (TreeCheck): members are in order of their pids;  a member's process had not ended when it was looked at.
 *
 * Design: design/collector.md .tree      Tests: test/monitor/treetest.c
 */
#ifndef MONITOR_TREE_H
#define MONITOR_TREE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "monitor/procfs.h"
#include "monitor/selfevents.h"

typedef struct TreeStruct *Tree;

typedef struct TreeMemberStruct {
  ProcStatStruct stat;     /* as of the last TreePoll; start 0: as it said itself, and its stat was not read yet */
  int fd;                  /* for ProcRead, of its stat */
  int held;                /* for ProcStatus */
  Bool direct;             /* its end will be told (TreeEnded) */
  void *client;            /* the sampler's; NULL at first */
} TreeMemberStruct, *TreeMember;

/* A member is about to go: the last moment for its `client`. */
typedef void (*TreeGone)(void *data, TreeMember member);

enum {
  TreePOLL = 100,          /* ms between two polls */
  TreeMembersMAX = 1 << 16 /* more are not followed */
};

/* TreeCreate -- an empty family
 *
 * self, proc  the caller's, and stay
 * mark          what stands in the environment of each process of the family ("NAME=value"); NULL: nothing does
 * follow        descendants belong to the family
 * ResMEMORY */
extern Res TreeCreate(Tree *treeReturn, SelfEvents self, Proc proc, const char *mark, Bool follow);
extern void TreeDestroy(Tree tree);
extern Bool TreeCheck(Tree tree);
extern void TreeSetGone(Tree tree, TreeGone gone, void *data);

/* TreeAdd -- a process that belongs to the family: our child (`direct`), or one that was asked to join */
extern void TreeAdd(Tree tree, uint32_t pid, Bool direct);

/* TreeMeet -- a process has said that it belongs to the family (it asked for memory)
 *
 * parent   as it says itself, for one that has gone meanwhile
 * program  that it runs, as it says; may be NULL
 * name, stack  as its stat would have them, as it says; stack 0: it does not.  Else its stat is not read: for a process
 *              that lives for a moment that is most of what we do for it. */
typedef struct TreeMetStruct {
  uint32_t pid, parent;
  uint64_t stack;
  const char *name, *program;
} TreeMetStruct, *TreeMet;
extern void TreeMeet(Tree tree, TreeMet met);

/* TreeEnded -- a process has ended; `status` as wait has it.  What is no member any longer is left alone.  Best called
 * before it is reaped (waitid with WNOWAIT): then its last times are told, too. */
extern void TreeEnded(Tree tree, uint32_t pid, int status);

/* TreePoll -- look at every member, and for new ones
 *
 * returns  ms after which it should be called again: TreePOLL, or less while there is more to tell
 * cost     2 us for each member; when a process or thread has started on the machine, 0.3 us for each process of it,
 *          and 10 us for each new one. */
extern unsigned TreePoll(Tree tree);

/* TreeRefresh -- the first half of that: look at every member */
extern void TreeRefresh(Tree tree);

/* TreeMembers, TreeMemberAt -- the family as it is now */
extern Count TreeMembers(Tree tree);
extern TreeMember TreeMemberAt(Tree tree, Index i);

/* TreeResident -- bytes that its members had in memory when they were looked at last; what they share counts in each */
extern uint64_t TreeResident(Tree tree);

/* TreeNews -- has any process or thread of the system started since the last poll but one?  TRUE if nobody knows. */
extern Bool TreeNews(Tree tree);

#endif /* MONITOR_TREE_H */
