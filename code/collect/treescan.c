/* treescan.c -- the family of processes: looking for members
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "collect/treedata.h"

enum {
  scanBATCH = 64,            /* new processes that one poll looks at */
  scanQUIET = 10,            /* polls after which all processes are listed, whatever the system says */
  scanEnvironMAX = 256 << 10 /* bytes of an environment that are searched */
};

/* scanMarked -- does the mark stand in the environment of the process? */
static Bool scanMarked(Tree tree, uint32_t pid)
{
  char path[ProcPathSIZE], room[ProcReadMAX];
  Size length = tree->mark == NULL ? 0 : strlen(tree->mark), kept = 0, at = 0;
  Bool found = FALSE;
  ssize_t size;
  int fd;

  if (length == 0 || length >= sizeof room / 2)
    return FALSE;
  fd = openat(tree->proc->root, ProcPath(path, pid, 0, "environ"), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return FALSE;
  /* The mark may be cut by the end of what is read at once: that much is kept. */
  while (!found && at < scanEnvironMAX && (size = pread(fd, room + kept, sizeof room - kept, (off_t)at)) > 0) {
    Size there = kept + (Size)size;
    found = memmem(room, there, tree->mark, length) != NULL;
    at += (Size)size;
    kept = there < length - 1 ? there : length - 1;
    memmove(room, room + there - kept, kept);
  }
  (void)close(fd);
  return found;
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
      if (!TreeFind(&at, tree, stranger.parent)) {
        ++i;
        continue;
      }
      tree->stranger[i] = tree->stranger[--tree->strangers];
      if (!TreeFind(&at, tree, stranger.pid) && TreeStat(&stat, tree, stranger.pid))
        (void)TreeJoin(tree, &stat, FALSE);
    }
  }
}

/* scanOne -- a process that was not there before: member or stranger */
static void scanOne(Tree tree, uint32_t pid)
{
  Teller teller = tree->teller;
  ProcStatStruct stat;
  Index i;

  if (TreeFind(&i, tree, pid) || !TreeStat(&stat, tree, pid))
    return;
  if (tree->follow && (TreeFind(&i, tree, stat.parent) || (tree->begun && scanMarked(tree, pid)))) {
    (void)TreeJoin(tree, &stat, FALSE);
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

Bool TreeScan(Tree tree)
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

void TreeScanFinish(Tree tree)
{
  ProcDrop(tree->proc, &tree->newestFd);
  free(tree->known.pid);
  free(tree->fresh.pid);
  free(tree->spare.pid);
  free(tree->stranger);
}
