/* tree.c -- the family of processes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"

enum {
  treeReadSIZE = 1024,
  treeProgramSIZE = 1024,
  treeLITTLE = 256 << 10,
  scanBATCH = 64,            /* new processes that one poll looks at */
  scanQUIET = 10,            /* polls after which all processes are listed, whatever the system says */
  scanEnvironMAX = 256 << 10,/* bytes of an environment that are searched */
  treeENDED = 64             /* members that have ended are remembered */
};

/* Numbers of processes, rising; grown as need be. */
typedef struct TreePidsStruct {
  uint32_t *pid;
  Count count, capacity;
} TreePidsStruct, *TreePids;

/* A process that was looked at and is not of the family; its parent may turn out to be. */
typedef struct TreeStrangerStruct {
  uint32_t pid, parent;
} TreeStrangerStruct;

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

  /* The scan. */
  int newestFd;            /* for ProcNewest */
  uint32_t newest;         /* what it said last */
  Bool news;               /* it said something else before that, or nothing */
  Bool stale;              /* there was news since all processes were listed */
  Bool joined;             /* there is a member whose children may be among the strangers */
  unsigned quiet;          /* polls since all processes were listed */
  Bool begun;              /* the processes that the recording begins with are told */
  TreePidsStruct known;    /* at the last listing */
  TreePidsStruct fresh;    /* of these, new ones; those from `next` on are to be looked at */
  TreePidsStruct spare;
  Index next;
  TreeStrangerStruct *stranger; /* as many places as `known` has */
  Count strangers, strangerCapacity;
};

Bool TreeCheck(Tree tree)
{
  Index i;

  for (i = 0; i + 1 < tree->members; ++i)
    if (tree->member[i]->stat.pid >= tree->member[i + 1]->stat.pid)
      return FALSE;
  return tree->members <= tree->capacity && tree->members <= TreeMembersMAX && tree->next <= tree->fresh.count;
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

/* treeStat -- read a process's stat; FALSE: it is gone, or has ended */
static Bool treeStat(ProcStat statReturn, Tree tree, uint32_t pid)
{
  Proc proc = tree->proc;
  int fd = -1;
  Bool there = treeRead(statReturn, tree, pid, &fd) && !treeDead(statReturn);

  ProcDrop(proc, &fd);
  return there;
}

static void treeTellExec(Tree tree, ProcStat stat)
{
  char program[treeProgramSIZE];
  SelfEvents self = tree->self;
  Bool known = ProcProgram(program, sizeof program, tree->proc->root, (pid_t)stat->pid);

  EVENT_US(ProcessExec, stat->pid, known ? program : stat->name);
}

/* treeKnew -- was it a member not long ago?  Its offer may be read after its end was seen. */
static Bool treeKnew(Tree tree, uint32_t pid)
{
  Index i;

  for (i = 0; i < treeENDED && tree->ended[i] != pid; ++i)
    ;
  return i < treeENDED;
}

/* treeTellEnd -- status as wait has it; NULL if nobody knows */
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

/* treeInsert -- a member, of which it is told; `held` is taken over */
static TreeMember treeInsert(Tree tree, ProcStat stat, int held)
{
  SelfEvents self = tree->self;
  TreeMember member;
  Index i;
  Bool there = treeFind(&i, tree, stat->pid);

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

  return treeFind(&parent, tree, stat->parent) && tree->member[parent]->stat.stack == stat->stack;
}

/* treeJoin -- a member by what its stat says; NULL without memory, or if there are too many */
static TreeMember treeJoin(Tree tree, ProcStat stat, Bool direct)
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
  SelfEvents self = tree->self;
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

/* ---- Looking for members ---- */

/* scanMarked -- does the mark stand in the environment of the process? */
static Bool scanMarked(Tree tree, uint32_t pid)
{
  ssize_t read;

  return tree->mark != NULL && ProcHolds(&read, tree->proc->root, (pid_t)pid, "environ", tree->mark, scanEnvironMAX);
}

/* scanAdopt -- strangers whose parent is a member now, and theirs in turn */
static void scanAdopt(Tree tree)
{
  Index i, at;

  while (tree->joined) {
    tree->joined = FALSE;
    for (i = 0; i < tree->strangers;) {
      TreeStrangerStruct stranger = tree->stranger[i];
      ProcStatStruct stat;
      if (!treeFind(&at, tree, stranger.parent)) {
        ++i;
        continue;
      }
      tree->stranger[i] = tree->stranger[--tree->strangers];
      if (!treeFind(&at, tree, stranger.pid) && treeStat(&stat, tree, stranger.pid))
        (void)treeJoin(tree, &stat, FALSE);
    }
  }
}

/* scanOne -- a process that was not there before: member or stranger */
static void scanOne(Tree tree, uint32_t pid)
{
  SelfEvents self = tree->self;
  ProcStatStruct stat;
  Index i;

  if (treeFind(&i, tree, pid) || !treeStat(&stat, tree, pid))
    return;
  if (tree->follow && (treeFind(&i, tree, stat.parent) || (tree->begun && scanMarked(tree, pid)))) {
    (void)treeJoin(tree, &stat, FALSE);
    return;
  }
  if (!tree->begun)
    EVENT_UUS(ProcessSeen, pid, stat.parent, stat.name);
  AVER(tree->strangers < tree->strangerCapacity);
  tree->stranger[tree->strangers++] = (TreeStrangerStruct){pid, stat.parent};
}

/* scanSome -- look at some of those that are new; TRUE if more are left */
static Bool scanSome(Tree tree)
{
  Index end = tree->fresh.count - tree->next > scanBATCH ? tree->next + scanBATCH : tree->fresh.count;

  while (tree->next < end)
    scanOne(tree, tree->fresh.pid[tree->next++]);
  if (tree->follow)
    scanAdopt(tree);
  if (tree->next < tree->fresh.count)
    return TRUE;
  tree->begun = TRUE;
  return FALSE;
}

static int scanCompare(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* scanStrangers -- forget strangers that have gone; have room for as many as there are processes */
static Bool scanStrangers(Tree tree, TreePids now)
{
  TreeStrangerStruct *more;
  Index i;

  for (i = 0; i < tree->strangers;) {
    if (bsearch(&tree->stranger[i].pid, now->pid, now->count, sizeof now->pid[0], scanCompare) == NULL)
      tree->stranger[i] = tree->stranger[--tree->strangers];
    else
      ++i;
  }
  if (now->count <= tree->strangerCapacity)
    return TRUE;
  more = realloc(tree->stranger, now->capacity * sizeof *more);
  if (more == NULL)
    return FALSE;
  tree->stranger = more;
  tree->strangerCapacity = now->capacity;
  return TRUE;
}

/* scanFresh -- `fresh` are those of `now` that are not known; FALSE without memory */
static Bool scanFresh(Tree tree, TreePids now)
{
  TreePids known = &tree->known, fresh = &tree->fresh;
  Index i, j = 0;

  tree->next = fresh->count = 0;
  if (now->count > fresh->capacity) {
    uint32_t *more = realloc(fresh->pid, now->capacity * sizeof *more);
    if (more == NULL)
      return FALSE;
    fresh->pid = more;
    fresh->capacity = now->capacity;
  }
  for (i = 0; i < now->count; ++i) {
    while (j < known->count && known->pid[j] < now->pid[i])
      ++j;
    if (j == known->count || known->pid[j] != now->pid[i])
      fresh->pid[fresh->count++] = now->pid[i];
  }
  return TRUE;
}

/* scanList -- list all processes; FALSE: not now */
static Bool scanList(Tree tree)
{
  TreePids now = &tree->spare;
  TreePidsStruct before = tree->known;

  if (ProcNumbers(&now->pid, &now->capacity, &now->count, tree->proc, ".") != ResOK || !scanStrangers(tree, now) ||
      !scanFresh(tree, now))
    return FALSE;
  tree->known = *now;
  tree->spare = before;
  tree->stale = FALSE;
  tree->quiet = 0;
  return TRUE;
}

/* treeScan -- find members; TRUE: there is more to be looked at soon */
static Bool treeScan(Tree tree)
{
  uint32_t newest = ProcNewest(tree->proc, &tree->newestFd);

  tree->news = newest == 0 || newest != tree->newest;
  tree->newest = newest;
  tree->stale |= tree->news;
  if (tree->next < tree->fresh.count)
    return scanSome(tree);
  if (tree->begun && !tree->follow)
    return FALSE;
  if (tree->stale || ++tree->quiet >= scanQUIET)
    return scanList(tree) && scanSome(tree);
  scanAdopt(tree);
  return FALSE;
}

/* ---- What the collector calls ---- */

void TreeDestroy(Tree tree)
{
  AVER(TreeCheck(tree));
  while (tree->members > 0)
    treeLeave(tree, tree->members - 1);
  ProcDrop(tree->proc, &tree->newestFd);
  free(tree->known.pid);
  free(tree->fresh.pid);
  free(tree->spare.pid);
  free(tree->stranger);
  free(tree->member);
  free(tree);
}

void TreeAdd(Tree tree, uint32_t pid, Bool direct)
{
  ProcStatStruct stat = {.pid = pid, .parent = direct ? (uint32_t)getpid() : 0};
  Index i;

  if (treeFind(&i, tree, pid))
    return;
  /* Our own child stays until it is told that it has ended. */
  if (treeStat(&stat, tree, pid) || direct)
    (void)treeJoin(tree, &stat, direct);
}

void TreeMeet(Tree tree, TreeMet met)
{
  const char *slash = met->program != NULL ? strrchr(met->program, '/') : NULL;
  const char *name = slash != NULL ? slash + 1 : met->program != NULL ? met->program : "";
  SelfEvents self = tree->self;
  ProcStatStruct stat;
  Index i;

  if ((treeFind(&i, tree, met->pid) && treeLook(tree, i)) || treeJoinSaid(tree, met))
    return;
  if (treeStat(&stat, tree, met->pid)) {
    (void)treeJoin(tree, &stat, FALSE);
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

  if (!treeFind(&i, tree, pid))
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
  more = treeScan(tree);
  AVER(TreeCheck(tree));
  return more ? TreePOLL / 20 : TreePOLL;
}

Bool TreeNews(Tree tree)
{
  return tree->news;
}
