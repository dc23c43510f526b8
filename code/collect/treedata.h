/* treedata.h -- the family of processes, for the two files that know its inside
 *
 * Design: design/collector.md .tree      Tests: test/treetest.c
 */
#ifndef COLLECT_TREEDATA_H
#define COLLECT_TREEDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "collect/tree.h"

/* Numbers of processes, rising; grown as need be. */
typedef struct TreePidsStruct {
  uint32_t *pid;
  Count count, capacity;
} TreePidsStruct, *TreePids;

/* A process that was looked at and is not of the family; its parent may turn out to be. */
typedef struct TreeStrangerStruct {
  uint32_t pid, parent;
} TreeStrangerStruct;

enum { TreeENDED = 64 /* members that have ended are remembered */ };

struct TreeStruct {
  Teller teller;
  Proc proc;
  const char *mark;
  Bool follow;
  TreeGone gone;
  void *data;
  TreeMember *member;      /* each owned; by rising pid */
  Count members, capacity;
  uint64_t resident;       /* bytes of all members, when they were looked at last */
  uint32_t ended[TreeENDED]; /* the newest members that have; by turns */
  Count ends;

  /* The scan (treescan.c). */
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

/* TreeFind -- where the member with this pid is, or would be */
extern Bool TreeFind(Index *iReturn, Tree tree, uint32_t pid);

/* TreeJoin -- a member by what its stat says; NULL without memory, or if there are too many */
extern TreeMember TreeJoin(Tree tree, ProcStat stat, Bool direct);

/* TreeStat -- read a process's stat; FALSE: it is gone, or has ended */
extern Bool TreeStat(ProcStat statReturn, Tree tree, uint32_t pid);

/* TreeScan -- find members; TRUE: there is more to be looked at soon */
extern Bool TreeScan(Tree tree);
extern void TreeScanFinish(Tree tree);

#endif /* COLLECT_TREEDATA_H */
