/* stacktree.c -- the stacks of a process, each with a number
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes are given out in order.  Each is in one chain of a hash table, at whose head new ones are put; none is ever
 * removed while others may look.  The first are in a table that is small, and so in the cache; those that come when its
 * chains are long are in another one.
 */
#include "unwind/stacktree.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "plinth/rawsyscall.h"

#define chainsFEW    16 /* log2 of the chains for nodes with low numbers; */
#define chainsMANY   20 /* and of those for the others, */
#define chainsBORDER ((StackNumber)2 << chainsFEW) /* from this number on */
#define chainsCOUNT  (((Count)1 << chainsFEW) + ((Count)1 << chainsMANY))

StackNode StackTreeNodes;

static struct {
  StackTold told;
  StackNumber *chains;     /* heads: of those for low numbers, and then of the others */
  uint64_t given;          /* numbers that have been given, those of no frame among them; may be beyond the maximum */
} tree;

#define nodesSIZE  (StackTreeMAX * sizeof(StackNodeStruct))
#define chainsSIZE (chainsCOUNT * sizeof(StackNumber))

Res StackTreeInit(StackTold told)
{
  uint8_t *memory = RawMapAt(NULL, nodesSIZE + chainsSIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

  AVER(StackTreeNodes == NULL);
  AVER(told != NULL);
  if (memory == NULL)
    return ResMEMORY;
  tree.told = told;
  tree.chains = (StackNumber *)(memory + nodesSIZE);
  tree.given = StackFIRST;
  __atomic_store_n(&StackTreeNodes, (StackNode)(void *)memory, __ATOMIC_RELEASE);
  return ResOK;
}

void StackTreeForget(void)
{
  AVER(StackTreeNodes != NULL);
  /* The pages are zero when they are touched again. */
  (void)RawCall(SYS_madvise, StackTreeNodes, nodesSIZE + chainsSIZE, MADV_DONTNEED);
  tree.given = StackFIRST;
}

/* chainOf -- the chain for a frame whose number is, or would be, this */
static StackNumber *chainOf(StackNumber number, StackNumber parent, Word at)
{
  uint64_t hash = (at ^ (Word)parent << 40 ^ (Word)parent << 7) * 0x9e3779b97f4a7c15u;

  return LIKELY(number < chainsBORDER) ? &tree.chains[hash >> (64 - chainsFEW)] :
         &tree.chains[((Count)1 << chainsFEW) + (hash >> (64 - chainsMANY))];
}

/* parentOf -- the number of a node's caller */
static StackNumber parentOf(StackNumber number)
{
  return __atomic_load_n(&StackTreeNodes[number].parent, __ATOMIC_RELAXED) & ~StackSHORT;
}

/* chainFind -- a node of a chain from one number up to, not including, another; 0: it has none such */
static StackNumber chainFind(StackNumber from, StackNumber to, StackNumber parent, Word at)
{
  StackNumber number;

  for (number = from; number != to; number = StackTreeNodes[number].next)
    if (__atomic_load_n(&StackTreeNodes[number].at, __ATOMIC_RELAXED) == at && parentOf(number) == parent)
      return number;
  return 0;
}

/* nodeMake -- a new node, put at the head of its chain; `looked` was looked through last, when its head was `head` */
static StackNumber nodeMake(const StackNumber *looked, StackNumber head, StackNumber parent, Word at)
{
  StackNumber *chain, seen, found;
  uint64_t number;
  StackNode node;

  if (__atomic_load_n(&tree.given, __ATOMIC_RELAXED) >= StackTreeMAX)
    return parent | StackSHORT;
  number = __atomic_fetch_add(&tree.given, 1, __ATOMIC_RELAXED);
  if (number >= StackTreeMAX) {
    __atomic_store_n(&tree.given, StackTreeMAX, __ATOMIC_RELAXED);
    return parent | StackSHORT;
  }
  chain = chainOf((StackNumber)number, parent, at);
  seen = head = chain == looked ? head : 0; /* the border has been crossed: look through all of the other chain */
  node = &StackTreeNodes[number];
  __atomic_store_n(&node->parent, parent | StackSHORT, __ATOMIC_RELAXED);
  node->next = head;
  __atomic_store_n(&node->at, at, __ATOMIC_RELEASE);
  /* Before anybody else can find and use it: readers have events in order of time. */
  tree.told((StackNumber)number, parent, at);
  while (!__atomic_compare_exchange_n(chain, &head, (StackNumber)number, FALSE, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
    /* Another thread was faster.  If it has put the same frame there, our number is not used. */
    found = chainFind(head, seen, parent, at);
    if (found != 0)
      return found;
    seen = head;
    node->next = head;
  }
  __atomic_store_n(&node->parent, parent, __ATOMIC_RELEASE);
  return (StackNumber)number;
}

StackNumber StackTreeFind(StackNumber parent, Word at)
{
  StackNumber *chain, head, number;

  AVER_CRITICAL((parent & ~StackSHORT) < StackTreeMAX);
  /* No frame's caller is one that numbers were not left for. */
  if (UNLIKELY((parent & StackSHORT) != 0))
    return parent;
  chain = chainOf(StackFIRST, parent, at);
  head = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
  number = chainFind(head, 0, parent, at);
  if (LIKELY(number != 0))
    return number;
  if (__atomic_load_n(&tree.given, __ATOMIC_RELAXED) > chainsBORDER) {
    chain = chainOf(chainsBORDER, parent, at);
    head = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
    number = chainFind(head, 0, parent, at);
    if (number != 0)
      return number;
  }
  return nodeMake(chain, head, parent, at);
}

void StackTreeUnload(Word base, Word limit)
{
  StackNumber end = (StackNumber)(StackTreeCount() + StackFIRST), number;

  for (number = StackFIRST; number < end; ++number)
    if (__atomic_load_n(&StackTreeNodes[number].at, __ATOMIC_ACQUIRE) - base < limit - base)
      __atomic_store_n(&StackTreeNodes[number].at, 0, __ATOMIC_RELEASE);
}

void StackTreeTell(void)
{
  StackNumber limit = (StackNumber)(StackTreeCount() + StackFIRST), number;

  if (__atomic_load_n(&StackTreeNodes, __ATOMIC_ACQUIRE) == NULL)
    return;
  for (number = StackFIRST; number < limit; ++number)
    /* A thread that has taken a number and not yet filled it in tells the frame itself. */
    if (__atomic_load_n(&StackTreeNodes[number].at, __ATOMIC_ACQUIRE) != 0)
      tree.told(number, parentOf(number), StackTreeNodes[number].at);
}

Bool StackTreeIs(StackNumber number, StackNumber parent, Word at)
{
  return number >= StackFIRST && number < StackFIRST + StackTreeCount() && StackTreeNodes[number].at == at
         && parentOf(number) == parent;
}

Count StackTreeCount(void)
{
  uint64_t given = __atomic_load_n(&tree.given, __ATOMIC_RELAXED);

  return given < StackFIRST ? 0 : (given < StackTreeMAX ? given : StackTreeMAX) - StackFIRST;
}

/* Only tests call it: it reads all chains, of a million and more, and no moment in a program's life is long enough for
 * that: a child that begins anew forgets the tree, and at the end of the process other threads still add to it. */
Bool StackTreeCheck(void)
{
  Count count = StackTreeCount() + StackFIRST;
  Count left = count; /* nodes that chains may still have; a chain that closes to a ring has too many */
  StackNumber number;
  Index i;

  for (number = StackFIRST; number < count; ++number)
    if (parentOf(number) >= number)
      return FALSE;
  for (i = 0; i < chainsCOUNT; ++i)
    for (number = tree.chains[i]; number != 0; number = StackTreeNodes[number].next)
      if (number < StackFIRST || number >= count || left-- == 0
          || (StackTreeNodes[number].at != 0
              && chainOf(number, parentOf(number), StackTreeNodes[number].at) != &tree.chains[i]))
        return FALSE;
  return TRUE;
}
