/* tree.c -- the family of processes: its members
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "collect/treedata.h"

enum { treeReadSIZE = 1024, treeProgramSIZE = 1024, treeLITTLE = 256 << 10 };

Bool TreeCheck(Tree tree)
{
  Index i;

  for (i = 0; i + 1 < tree->members; ++i)
    if (tree->member[i]->stat.pid >= tree->member[i + 1]->stat.pid)
      return FALSE;
  return tree->members <= tree->capacity && tree->members <= TreeMembersMAX && tree->next <= tree->fresh.count;
}

Res TreeCreate(Tree *treeReturn, Teller teller, Proc proc, const char *mark, Bool follow)
{
  Tree tree = calloc(1, sizeof *tree);

  if (tree == NULL)
    return ResMEMORY;
  tree->teller = teller;
  tree->proc = proc;
  tree->mark = mark;
  tree->follow = follow;
  tree->newestFd = -1;
  *treeReturn = tree;
  return ResOK;
}

void TreeSetGone(Tree tree, TreeGone gone, void *data)
{
  tree->gone = gone;
  tree->data = data;
}

Count TreeMembers(Tree tree)
{
  return tree->members;
}

TreeMember TreeMemberAt(Tree tree, Index i)
{
  AVER(i < tree->members);
  return tree->member[i];
}

Bool TreeFind(Index *iReturn, Tree tree, uint32_t pid)
{
  Index low = 0, high = tree->members;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (tree->member[middle]->stat.pid < pid)
      low = middle + 1;
    else
      high = middle;
  }
  *iReturn = low;
  return low < tree->members && tree->member[low]->stat.pid == pid;
}

/* treeLeave -- a member is one no longer */
static void treeLeave(Tree tree, Index i)
{
  TreeMember member = tree->member[i];

  if (tree->gone != NULL)
    tree->gone(tree->data, member);
  ProcDrop(tree->proc, &member->fd);
  ProcRelease(tree->proc, member->held);
  free(member);
  --tree->members;
  memmove(&tree->member[i], &tree->member[i + 1], (tree->members - i) * sizeof *tree->member);
}

void TreeDestroy(Tree tree)
{
  AVER(TreeCheck(tree));
  while (tree->members > 0)
    treeLeave(tree, tree->members - 1);
  TreeScanFinish(tree);
  free(tree->member);
  free(tree);
}

static Bool treeRoom(Tree tree)
{
  return tree->members < TreeMembersMAX &&
         Grow(&tree->member, &tree->capacity, tree->members, sizeof *tree->member);
}

/* treeRead -- a stat; *statReturn is as it was if there is none */
static Bool treeRead(ProcStat statReturn, Tree tree, uint32_t pid, int *fd)
{
  char path[ProcPathSIZE], text[treeReadSIZE];
  ProcStatStruct stat;
  Size size = ProcRead(tree->proc, fd, ProcPath(path, pid, 0, "stat"), text, sizeof text);

  if (!ProcStatParse(&stat, tree->proc, text, size) || stat.pid != pid)
    return FALSE;
  *statReturn = stat;
  return TRUE;
}

/* treeDead -- has the process ended, though its parent may not know yet?  A first thread may end before the others. */
static Bool treeDead(ProcStat stat)
{
  return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

Bool TreeStat(ProcStat statReturn, Tree tree, uint32_t pid)
{
  Proc proc = tree->proc;
  int fd = -1;
  Bool there = treeRead(statReturn, tree, pid, &fd) && !treeDead(statReturn);

  ProcDrop(proc, &fd);
  return there;
}

static void treeTellExec(Tree tree, ProcStat stat)
{
  char path[ProcPathSIZE], program[treeProgramSIZE];
  Teller teller = tree->teller;
  ssize_t length = readlinkat(tree->proc->root, ProcPath(path, stat->pid, 0, "exe"), program, sizeof program - 1);

  program[length > 0 ? length : 0] = '\0';
  EVENT_US(ProcessExec, stat->pid, length > 0 ? program : stat->name);
}

/* treeKnew -- was it a member not long ago?  Its offer may be read after its end was seen. */
static Bool treeKnew(Tree tree, uint32_t pid)
{
  Index i;

  for (i = 0; i < TreeENDED && tree->ended[i] != pid; ++i)
    ;
  return i < TreeENDED;
}

/* treeTellEnd -- status as wait has it; NULL if nobody knows */
static void treeTellEnd(Tree tree, uint32_t pid, const int *status)
{
  Teller teller = tree->teller;

  tree->ended[tree->ends++ % TreeENDED] = pid;
  if (status == NULL)
    EVENT_UUS(ProcessExit, pid, 0, "unknown");
  else if (WIFSIGNALED(*status))
    EVENT_UUS(ProcessExit, pid, WTERMSIG(*status), "signal");
  else
    EVENT_UUS(ProcessExit, pid, WEXITSTATUS(*status), "exit");
}

/* treeInsert -- a member, of which it is told; `held` is taken over */
static TreeMember treeInsert(Tree tree, ProcStat stat, int held)
{
  Teller teller = tree->teller;
  TreeMember member;
  Index i;
  Bool there = TreeFind(&i, tree, stat->pid);

  AVER(!there);
  UNUSED(there); /* where nothing is checked */
  if (!treeRoom(tree) || (member = calloc(1, sizeof *member)) == NULL) {
    ProcRelease(tree->proc, held);
    return NULL;
  }
  memmove(&tree->member[i + 1], &tree->member[i], (tree->members - i) * sizeof *tree->member);
  tree->member[i] = member;
  ++tree->members;
  member->stat = *stat;
  member->fd = -1;
  member->held = held;
  tree->joined = TRUE;
  EVENT_UUS(ProcessStart, stat->pid, stat->parent, stat->name);
  return member;
}

/* treeForked -- has it its parent's image yet, stack and all?  A child of fork has, until it executes something else. */
static Bool treeForked(Tree tree, ProcStat stat)
{
  Index parent;

  return TreeFind(&parent, tree, stat->parent) && tree->member[parent]->stat.stack == stat->stack;
}

TreeMember TreeJoin(Tree tree, ProcStat stat, Bool direct)
{
  TreeMember member = treeInsert(tree, stat, direct ? -1 : ProcHold(tree->proc, stat->pid));

  if (member == NULL)
    return NULL;
  member->direct = direct;
  if (stat->stack != 0 && !treeForked(tree, stat))
    treeTellExec(tree, stat);
  return member;
}

/* treeJoinSaid -- a member by what it says itself, and what the system says without /proc; FALSE: that is not enough */
static Bool treeJoinSaid(Tree tree, TreeMet met)
{
  ProcStatStruct stat = {.pid = met->pid, .stack = met->stack};
  Teller teller = tree->teller;
  int held = met->stack != 0 ? ProcHold(tree->proc, met->pid) : -1;

  if (!ProcParent(&stat.parent, held)) {
    ProcRelease(tree->proc, held);
    return FALSE;
  }
  (void)strncpy(stat.name, met->name, sizeof stat.name - 1);
  if (treeInsert(tree, &stat, held) != NULL && !treeForked(tree, &stat))
    EVENT_US(ProcessExec, stat.pid, met->program);
  return TRUE;
}

/* treeEnd -- a member has ended; with what status, its stat may say */
static void treeEnd(Tree tree, Index i, ProcStat stat)
{
  uint32_t pid = tree->member[i]->stat.pid;
  int status = stat != NULL ? (int)stat->exit : 0;
  char path[ProcPathSIZE];
  struct stat owner;
  Bool known = status != 0;

  /* The system says 0 to those who may not know. */
  if (stat != NULL && !known)
    known = fstatat(tree->proc->root, ProcPath(path, pid, 0, "."), &owner, 0) == 0 &&
            (geteuid() == 0 || owner.st_uid == geteuid());
  if (!known)
    known = ProcStatus(&status, tree->member[i]->held);
  treeLeave(tree, i);
  treeTellEnd(tree, pid, known ? &status : NULL);
}

/* treeEnded -- is it known, without a look, that nothing of it is there any more? */
static Bool treeEnded(TreeMember member)
{
  uint32_t parent;

  return member->stat.start == 0 && !ProcParent(&parent, member->held);
}

/* treeSame -- is that the stat of this member?  Another process may have its number by now. */
static Bool treeSame(TreeMember member, ProcStat stat)
{
  return member->stat.start != 0 ? stat->start == member->stat.start : !treeEnded(member);
}

/* treeExecuted -- has the process got another image?  Its stack lies elsewhere then.  While that is being built it
 * moves a little; and where addresses are not random, only a little. */
static Bool treeExecuted(ProcStat was, ProcStat is)
{
  uint64_t moved = is->stack > was->stack ? is->stack - was->stack : was->stack - is->stack;

  return is->stack != 0 && was->stack != 0 && moved != 0 && (moved > treeLITTLE || strcmp(is->name, was->name) != 0);
}

/* treeLook -- what has become of a member?  FALSE: it is one no longer. */
static Bool treeLook(Tree tree, Index i)
{
  TreeMember member = tree->member[i];
  ProcStatStruct stat;

  if (treeEnded(member) || !treeRead(&stat, tree, member->stat.pid, &member->fd) || !treeSame(member, &stat)) {
    if (member->direct)
      return TRUE;
    treeEnd(tree, i, NULL);
    return FALSE;
  }
  if (treeDead(&stat)) {
    member->stat = stat;
    if (member->direct)
      return TRUE;
    treeEnd(tree, i, &stat);
    return FALSE;
  }
  if (treeExecuted(&member->stat, &stat))
    treeTellExec(tree, &stat);
  if (stat.stack == 0)
    stat.stack = member->stat.stack;
  member->stat = stat;
  return TRUE;
}

void TreeAdd(Tree tree, uint32_t pid, Bool direct)
{
  ProcStatStruct stat = {.pid = pid, .parent = direct ? (uint32_t)getpid() : 0};
  Index i;

  if (TreeFind(&i, tree, pid))
    return;
  /* Our own child stays until it is told that it has ended. */
  if (TreeStat(&stat, tree, pid) || direct)
    (void)TreeJoin(tree, &stat, direct);
}

void TreeMeet(Tree tree, TreeMet met)
{
  const char *slash = met->program != NULL ? strrchr(met->program, '/') : NULL;
  const char *name = slash != NULL ? slash + 1 : met->program != NULL ? met->program : "";
  Teller teller = tree->teller;
  ProcStatStruct stat;
  Index i;

  if ((TreeFind(&i, tree, met->pid) && treeLook(tree, i)) || treeJoinSaid(tree, met))
    return;
  if (TreeStat(&stat, tree, met->pid)) {
    (void)TreeJoin(tree, &stat, FALSE);
    return;
  }
  if (treeKnew(tree, met->pid))
    return;
  EVENT_UUS(ProcessStart, met->pid, met->parent, name);
  treeTellEnd(tree, met->pid, NULL);
}

void TreeEnded(Tree tree, uint32_t pid, int status)
{
  Index i;

  if (!TreeFind(&i, tree, pid))
    return;
  /* If nobody has waited for it yet, its last times can still be had. */
  tree->member[i]->direct = TRUE;
  (void)treeLook(tree, i);
  treeLeave(tree, i);
  treeTellEnd(tree, pid, &status);
}

void TreeRefresh(Tree tree)
{
  Index i;

  tree->resident = 0;
  for (i = 0; i < tree->members;)
    if (treeLook(tree, i))
      tree->resident += tree->member[i++]->stat.resident;
}

uint64_t TreeResident(Tree tree)
{
  return tree->resident;
}

unsigned TreePoll(Tree tree)
{
  Bool more;

  TreeRefresh(tree);
  more = TreeScan(tree);
  AVER(TreeCheck(tree));
  return more ? TreePOLL / 20 : TreePOLL;
}

Bool TreeNews(Tree tree)
{
  return tree->news;
}
