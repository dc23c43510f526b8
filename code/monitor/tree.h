/* tree.h -- the tree of processes: which were there, and which of the family start, execute a program, and end
 *
 * The family is the program that was started and its descendants.  The collector adds the processes that it starts, and
 * those that ask for a region.  The others are found in /proc, by their parent or by a mark in their environment, at
 * most a tenth of a second late; a process that starts and ends in between is not seen.  Each step is an event of the
 * collector's own: ProcessSeen (once, for every process of the system), ProcessStart, ProcessExec, ProcessExit.
 *
 * Always true (TreeCheck): members, and the other processes of the last listing, are in order of their pids;  of these,
 * all before the next that is to be looked at have been looked at.
 *
 * Design: design/collector.md .tree      Tests: test/monitor/treetest.c
 */
#ifndef MONITOR_TREE_H
#define MONITOR_TREE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/region.h"
#include "monitor/procfs.h"
#include "monitor/selfevents.h"

typedef struct TreeStruct *Tree;

typedef struct TreeMemberStruct {
  ProcStatStruct stat;     /* as of the last TreePoll; start 0: as the process said itself, its stat was not read yet */
  int fd;                  /* of its stat, for ProcRead */
  int held;                /* for ProcStatus */
  Bool direct;             /* a child of ours: TreeEnded will be called for it */
  void *client;            /* the sampler's; NULL at first */
} TreeMemberStruct, *TreeMember;

/* Called before a member is removed; it frees the `client`, and sets it to NULL. */
typedef void (*TreeGone)(void *data, TreeMember member);

enum {
  TreePOLL = 100,          /* ms between two polls */
  TreeMembersMAX = 1 << 16 /* more are not followed */
};

/* TreeCreate -- an empty family
 *
 * self, proc  the caller's, and stay
 * mark        what is in the environment of each process of the family ("NAME=value"); NULL: nothing
 * follow      descendants belong to the family
 * errors      ResMEMORY */
extern Res TreeCreate(Tree *treeReturn, SelfEvents self, Proc proc, const char *mark, Bool follow);
extern void TreeDestroy(Tree tree);
extern Bool TreeCheck(Tree tree);
extern void TreeSetGone(Tree tree, TreeGone gone, void *data);

/* TreeAdd -- add a process to the family: our child (`direct`), or one that was asked to join */
extern void TreeAdd(Tree tree, uint32_t pid, Bool direct);

/* TreeMeet -- add a process that has asked for a region, and so belongs to the family
 *
 * request  program: the path of the program that it runs, as the process says.  name, stack: what its stat would show,
 *          as the process says; stack 0: it does not say.  If it does, its stat is not read, which for a process that
 *          lives for a moment is most of the work that it causes. */
extern void TreeMeet(Tree tree, uint32_t pid, RegionMeet request);

/* TreeEnded -- our child has ended; `status` as wait returns it.  Does nothing if it is no member.  Best called before
 * the child is reaped (waitid with WNOWAIT): then its last times can still be read. */
extern void TreeEnded(Tree tree, uint32_t pid, int status);

/* TreePoll -- look at every member, and for new ones
 *
 * returns  ms after which it should be called again: TreePOLL, or less while more processes are to be looked at
 * cost     2 us for each member; when a process or thread has started on the machine, 0.3 us for each process of it,
 *          and 10 us for each new one. */
extern unsigned TreePoll(Tree tree);

/* TreeRefresh -- the first half of that: look at every member */
extern void TreeRefresh(Tree tree);

/* TreeMembers, TreeMemberAt -- the family as it is now */
extern Count TreeMembers(Tree tree);
extern TreeMember TreeMemberAt(Tree tree, Index i);

/* TreeResident -- resident bytes of all members when they were last looked at; shared pages count in each of them */
extern uint64_t TreeResident(Tree tree);

/* TreeNews -- has any process or thread of the system started since the last poll but one?  TRUE if that is not
 * known. */
extern Bool TreeNews(Tree tree);

#endif /* MONITOR_TREE_H */
