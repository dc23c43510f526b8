/* tree.c -- the family of processes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/tree.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"

enum {
  treeReadSIZE = 1024,
  treeProgramSIZE = 1024,
  treeLITTLE = 256 << 10,
  treeBATCH = 64,            /* new processes that one poll looks at */
  treeQUIET = 10,            /* polls after which all processes are listed, whatever the system says */
  treeEnvironMAX = 256 << 10,/* bytes of an environment that are searched */
  treeENDED = 64             /* members that have ended are remembered */
};

/* A process of the last listing that may be a member, or the parent of one. */
typedef struct TreeOtherStruct {
  uint32_t pid, parent;    /* parent: of a stranger */
  enum {
    treeFRESH,             /* it is to be looked at */
    treeSTRANGER,          /* it is not of the family; its parent may turn out to be */
    treeKNOWN              /* it is a member, or has ended */
  } state;
} TreeOtherStruct, *TreeOther;

struct TreeStruct {
  SelfEvents self;
  Proc proc;
  const char *mark;
  Bool follow;
  TreeGone gone;
  void *data;
  TreeMember *member;      /* each owned; by rising pid */
  Count members, capacity;
  uint64_t resident;       /* bytes of all members, when they were looked at last */
  uint32_t ended[treeENDED]; /* the newest members that have; by turns */
  Count ends;

  /* Looking for members. */
  int newestFd;            /* for ProcNewest */
  uint32_t newest;         /* what it said last */
  Bool news;               /* it said something else before that, or nothing */
  Bool stale;              /* there was news since all processes were listed */
  Bool joined;             /* there is a member whose children may be among the strangers */
  unsigned quiet;          /* polls since all processes were listed */
  Bool begun;              /* ProcessSeen was emitted for the processes that were there at the beginning */
  uint32_t first;          /* our first child, 0: none; whoever has a higher number may be its descendant */
  uint32_t *listed;        /* room for ProcNumbers */
  Count listedCapacity;
  TreeOther other;         /* by rising pid; those before `next` are not fresh */
  Count others;
  Index next;
};

Bool TreeCheck(Tree tree)
{
  Index i;

  for (i = 0; i + 1 < tree->members; ++i)
    if (tree->member[i]->stat.pid >= tree->member[i + 1]->stat.pid)
      return FALSE;
  for (i = 0; i < tree->others; ++i)
    if ((i + 1 < tree->others && tree->other[i].pid >= tree->other[i + 1].pid) ||
        (i < tree->next && tree->other[i].state == treeFRESH))
      return FALSE;
  return tree->members <= tree->capacity && tree->members <= TreeMembersMAX && tree->next <= tree->others;
}

Res TreeCreate(Tree *treeReturn, SelfEvents self, Proc proc, const char *mark, Bool follow)
{
  Tree tree = calloc(1, sizeof *tree);

  if (tree == NULL)
    return ResMEMORY;
  tree->self = self;
  tree->proc = proc;
  tree->mark = mark;
  tree->follow = follow;
  tree->newestFd = -1;
  AVER(TreeCheck(tree));
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

/* treeFind -- where the member with this pid is, or would be */
static Bool treeFind(Index *iReturn, Tree tree, uint32_t pid)
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

/* treeLeave -- remove a member */
static void treeLeave(Tree tree, Index i)
{
  TreeMember member = tree->member[i];

  AVER(i < tree->members);
  if (tree->gone != NULL)
    tree->gone(tree->data, member);
  AVER(member->client == NULL); /* else nobody would free it */
  ProcDrop(tree->proc, &member->fd);
  ProcRelease(tree->proc, member->held);
  free(member);
  --tree->members;
  memmove(&tree->member[i], &tree->member[i + 1], (tree->members - i) * sizeof *tree->member);
}

/* treeRead -- read and parse a stat; FALSE: there is none, and *statReturn is as it was */
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

/* treeStat -- read a process's stat; FALSE: it is gone, or has ended */
static Bool treeStat(ProcStat statReturn, Tree tree, uint32_t pid)
{
  return treeRead(statReturn, tree, pid, NULL) && !treeDead(statReturn);
}

static void treeTellExec(Tree tree, ProcStat stat)
{
  char program[treeProgramSIZE];
  SelfEvents self = tree->self;
  Bool known = ProcProgram(program, sizeof program, tree->proc->root, (pid_t)stat->pid);

  EVENT_US(ProcessExec, stat->pid, known ? program : stat->name);
}

/* treeTellEnd -- emit ProcessExit; `status` as wait returns it, NULL if it is not known */
static void treeTellEnd(Tree tree, uint32_t pid, const int *status)
{
  SelfEvents self = tree->self;

  tree->ended[tree->ends++ % treeENDED] = pid;
  if (status == NULL)
    EVENT_UUS(ProcessExit, pid, 0, "unknown");
  else if (WIFSIGNALED(*status))
    EVENT_UUS(ProcessExit, pid, WTERMSIG(*status), "signal");
  else
    EVENT_UUS(ProcessExit, pid, WEXITSTATUS(*status), "exit");
}

/* treeInsert -- make a member, and emit ProcessStart; `held` is taken over.  NULL: no memory, or too many members. */
static TreeMember treeInsert(Tree tree, ProcStat stat, int held)
{
  SelfEvents self = tree->self;
  TreeMember member;
  Index i;
  Bool there = treeFind(&i, tree, stat->pid);

  AVER(!there);
  UNUSED(there); /* where nothing is checked */
  if (tree->members == TreeMembersMAX || !Grow(&tree->member, &tree->capacity, tree->members, sizeof *tree->member) ||
      (member = calloc(1, sizeof *member)) == NULL) {
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

/* treeForked -- has the process still its parent's image, with its stack?  A child of fork has, until it executes. */
static Bool treeForked(Tree tree, ProcStat stat)
{
  Index parent;

  return treeFind(&parent, tree, stat->parent) && tree->member[parent]->stat.stack == stat->stack;
}

/* treeJoin -- make a process a member, by its stat; without memory, or if there are too many, it does not become one */
static void treeJoin(Tree tree, ProcStat stat, Bool direct)
{
  TreeMember member = treeInsert(tree, stat, direct ? -1 : ProcHold(tree->proc, stat->pid));

  if (member == NULL)
    return;
  member->direct = direct;
  if (stat->stack != 0 && !treeForked(tree, stat))
    treeTellExec(tree, stat);
}

/* treeJoinSaid -- make a process a member by what it says itself, and its parent by its pidfd; FALSE: that is not
 * enough */
static Bool treeJoinSaid(Tree tree, uint32_t pid, RegionMeet met)
{
  ProcStatStruct stat = {.pid = pid, .stack = met->stack};
  SelfEvents self = tree->self;
  int held = met->stack != 0 ? ProcHold(tree->proc, pid) : -1;

  if (!ProcParent(&stat.parent, held)) {
    ProcRelease(tree->proc, held);
    return FALSE;
  }
  (void)strncpy(stat.name, met->name, sizeof stat.name - 1);
  if (treeInsert(tree, &stat, held) != NULL && !treeForked(tree, &stat))
    EVENT_US(ProcessExec, stat.pid, met->program);
  return TRUE;
}

/* treeEnd -- remove a member that has ended, and emit ProcessExit; its last stat may have the status */
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

/* treeEnded -- does its pidfd show that it has ended, and was reaped? */
static Bool treeEnded(TreeMember member)
{
  uint32_t parent;

  return member->stat.start == 0 && !ProcParent(&parent, member->held);
}

/* treeExecuted -- has the process executed a program?  Its stack is elsewhere then.  While exec builds the image the
 * stack moves a little, and where addresses are not random it moves only a little. */
static Bool treeExecuted(ProcStat was, ProcStat is)
{
  uint64_t moved = is->stack > was->stack ? is->stack - was->stack : was->stack - is->stack;

  return is->stack != 0 && was->stack != 0 && moved != 0 && (moved > treeLITTLE || strcmp(is->name, was->name) != 0);
}

/* treeLook -- read the stat of a member, and emit what has changed; FALSE: it has ended, and was removed */
static Bool treeLook(Tree tree, Index i)
{
  TreeMember member = tree->member[i];
  ProcStatStruct stat;
  /* Another process may have the same number by now. */
  Bool there = !treeEnded(member) && treeRead(&stat, tree, member->stat.pid, &member->fd) &&
               (member->stat.start != 0 ? stat.start == member->stat.start : !treeEnded(member));
  Bool lives = there && !treeDead(&stat);

  if (lives && treeExecuted(&member->stat, &stat))
    treeTellExec(tree, &stat);
  if (lives && stat.stack == 0)
    stat.stack = member->stat.stack;
  if (there)
    member->stat = stat;
  if (lives || member->direct)
    return TRUE;
  treeEnd(tree, i, there ? &stat : NULL);
  return FALSE;
}

/* ---- Looking for members ---- */

/* treeMarked -- is the mark in the environment of the process? */
static Bool treeMarked(Tree tree, uint32_t pid)
{
  ssize_t read;

  return tree->mark != NULL && ProcHolds(&read, tree->proc->root, (pid_t)pid, "environ", tree->mark, treeEnvironMAX);
}

/* treeLater -- has the process, by its number, started later than the first of the family? */
static Bool treeLater(Tree tree, uint32_t pid)
{
  return tree->begun || (tree->first != 0 && pid > tree->first);
}

/* treeAdopt -- make members of strangers whose parent is a member now, and of their children in turn */
static void treeAdopt(Tree tree)
{
  ProcStatStruct stat;
  TreeOther other;
  Index at;

  while (tree->joined) {
    tree->joined = FALSE;
    for (other = tree->other; other < tree->other + tree->others; ++other)
      if (other->state == treeSTRANGER && treeFind(&at, tree, other->parent)) {
        other->state = treeKNOWN;
        if (!treeFind(&at, tree, other->pid) && treeStat(&stat, tree, other->pid))
          treeJoin(tree, &stat, FALSE);
      }
  }
}

/* treeScanOne -- find out whether a process that was not there before is a member or a stranger */
static void treeScanOne(Tree tree, TreeOther other)
{
  SelfEvents self = tree->self;
  ProcStatStruct stat;
  Index i;

  other->state = treeKNOWN;
  if (treeFind(&i, tree, other->pid) || !treeStat(&stat, tree, other->pid))
    return;
  if (tree->follow &&
      (treeFind(&i, tree, stat.parent) || (treeLater(tree, other->pid) && treeMarked(tree, other->pid)))) {
    treeJoin(tree, &stat, FALSE);
    return;
  }
  if (!tree->begun)
    EVENT_UUS(ProcessSeen, other->pid, stat.parent, stat.name);
  other->state = treeSTRANGER;
  other->parent = stat.parent;
}

/* treeScanSome -- look at some of the fresh processes; TRUE if more are left */
static Bool treeScanSome(Tree tree)
{
  Count looked = 0;

  for (; tree->next < tree->others; ++tree->next)
    if (tree->other[tree->next].state == treeFRESH) {
      if (looked++ == treeBATCH)
        break;
      treeScanOne(tree, &tree->other[tree->next]);
    }
  if (tree->follow)
    treeAdopt(tree);
  tree->begun |= tree->next == tree->others;
  return tree->next < tree->others;
}

/* treeList -- list all processes, and keep what is known of those that were listed before; FALSE: that failed */
static Bool treeList(Tree tree)
{
  TreeOther was = tree->other, limit = was + tree->others, now;
  Count count;
  Index i;

  if (ProcNumbers(&tree->listed, &tree->listedCapacity, &count, tree->proc, ".") != ResOK ||
      (now = calloc(count + 1, sizeof *now)) == NULL)
    return FALSE;
  for (i = 0; i < count; ++i) {
    while (was < limit && was->pid < tree->listed[i])
      ++was;
    now[i] = was < limit && was->pid == tree->listed[i] ? *was : (TreeOtherStruct){.pid = tree->listed[i]};
  }
  free(tree->other);
  tree->other = now;
  tree->others = count;
  tree->next = 0;
  tree->stale = FALSE;
  tree->quiet = 0;
  return TRUE;
}

/* treeScan -- look for new members; TRUE: more processes are to be looked at soon */
static Bool treeScan(Tree tree)
{
  uint32_t newest = ProcNewest(tree->proc, &tree->newestFd);

  tree->news = newest == 0 || newest != tree->newest;
  tree->newest = newest;
  tree->stale |= tree->news;
  if (tree->next < tree->others)
    return treeScanSome(tree);
  if (tree->begun && !tree->follow)
    return FALSE;
  if (tree->stale || ++tree->quiet >= treeQUIET)
    return treeList(tree) && treeScanSome(tree);
  treeAdopt(tree);
  return FALSE;
}

/* ---- What the collector calls ---- */

void TreeDestroy(Tree tree)
{
  AVER(TreeCheck(tree));
  while (tree->members > 0)
    treeLeave(tree, tree->members - 1);
  ProcDrop(tree->proc, &tree->newestFd);
  free(tree->listed);
  free(tree->other);
  free(tree->member);
  free(tree);
}

void TreeAdd(Tree tree, uint32_t pid, Bool direct)
{
  ProcStatStruct stat = {.pid = pid, .parent = direct ? (uint32_t)getpid() : 0};
  Index i;

  if (direct && tree->first == 0)
    tree->first = pid;
  if (treeFind(&i, tree, pid))
    return;
  /* Our own child stays a member until TreeEnded. */
  if (treeStat(&stat, tree, pid) || direct)
    treeJoin(tree, &stat, direct);
}

void TreeMeet(Tree tree, uint32_t pid, RegionMeet met)
{
  const char *slash = strrchr(met->program, '/');
  SelfEvents self = tree->self;
  ProcStatStruct stat;
  Index i;

  if ((treeFind(&i, tree, pid) && treeLook(tree, i)) || treeJoinSaid(tree, pid, met))
    return;
  if (treeStat(&stat, tree, pid)) {
    treeJoin(tree, &stat, FALSE);
    return;
  }
  /* Perhaps it was a member not long ago, and its request for a region was read after its end was seen. */
  for (i = 0; i < treeENDED && tree->ended[i] != pid; ++i)
    ;
  if (i < treeENDED)
    return;
  EVENT_UUS(ProcessStart, pid, 0, slash != NULL ? slash + 1 : met->program);
  treeTellEnd(tree, pid, NULL);
}

void TreeEnded(Tree tree, uint32_t pid, int status)
{
  Index i;

  if (!treeFind(&i, tree, pid))
    return;
  /* If it has not been reaped yet, its last times can still be read. */
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
  more = treeScan(tree);
  AVER(TreeCheck(tree));
  return more ? TreePOLL / 20 : TreePOLL;
}

Bool TreeNews(Tree tree)
{
  return tree->news;
}
