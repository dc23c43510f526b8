/* stacktreetest.c -- each frame has one number, however many threads ask; and what has none is counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unwind/stacktree.h"

#include <pthread.h>

#include "tap.h"

#define threadsCOUNT 8
#define parentsCOUNT 60
#define frameCOUNT   50

static struct {
  StackNumber parent;
  Word at;
  unsigned times;
} told[StackTreeMAX];
static Count tellings;

static void tell(StackNumber node, StackNumber parent, Word at)
{
  told[node].parent = parent;
  told[node].at = at;
  ++told[node].times;
  __atomic_fetch_add(&tellings, 1, __ATOMIC_RELAXED);
}

static void testOne(void)
{
  StackNumber outer = StackTreeNode(StackWHOLE, 100), inner = StackTreeNode(outer, 200),
              cut = StackTreeNode(StackCUT, 100);

  TapIs(outer, StackFIRST, "numbers begin behind those that are no frame");
  TapOk(inner > outer && cut > inner, "each frame has another");
  TapIs(StackTreeNode(StackWHOLE, 100), outer, "and keeps it");
  TapIs(StackTreeNode(outer, 200), inner, "also one with a caller");
  TapIs(tellings, 3, "each is told once");
  TapOk(told[inner].parent == outer && told[inner].at == 200, "with its caller and its address");
  TapOk(StackTreeIs(inner, outer, 200) && !StackTreeIs(inner, outer, 201) && !StackTreeIs(inner, cut, 200)
          && !StackTreeIs(StackCUT, 0, 0) && !StackTreeIs(cut + 1, 0, 0),
        "a number is that of its own frame only");
}

static StackNumber numbers[threadsCOUNT][parentsCOUNT][frameCOUNT];

static void *ask(void *argument)
{
  Index self = (Index)argument, i, j;
  uint64_t state = self + 1;

  for (i = 0; i < parentsCOUNT; ++i) {
    StackNumber parent = StackTreeNode(StackWHOLE, 1000 + i);
    for (j = 0; j < frameCOUNT; ++j) {
      Index k = TapRandom(&state) % frameCOUNT;
      numbers[self][i][k] = StackTreeNode(parent, 0x400000 + k);
    }
  }
  return NULL;
}

static void testThreads(void)
{
  pthread_t threads[threadsCOUNT];
  Count wrong = 0, several = 0;
  Index i, j, k;

  for (i = 0; i < threadsCOUNT; ++i)
    (void)pthread_create(&threads[i], NULL, ask, (void *)i);
  for (i = 0; i < threadsCOUNT; ++i)
    (void)pthread_join(threads[i], NULL);
  for (j = 0; j < parentsCOUNT; ++j)
    for (k = 0; k < frameCOUNT; ++k)
      for (i = 0; i < threadsCOUNT; ++i) {
        StackNumber number = numbers[i][j][k];
        if (number == 0)
          continue;
        if (told[number].at != 0x400000 + k || told[told[number].parent].at != 1000 + j || told[number].times != 1)
          ++wrong;
        if (number != StackTreeNode(StackTreeNode(StackWHOLE, 1000 + j), 0x400000 + k))
          ++several;
      }
  TapIs(wrong, 0, "of threads that ask at the same time each gets a number that was told for that frame");
  TapIs(several, 0, "and all the same one");
  TapOk(StackTreeCheck(), "the tree is sound");
  TapSees(StackTreeNodes[StackFIRST + 5].parent, StackFIRST + 6, StackTreeCheck(), "a frame that is its own caller's is seen");
  TapSees(StackTreeNodes[StackFIRST + 5].next, StackFIRST + 5, StackTreeCheck(), "a chain that is a ring is seen");
  TapSees(StackTreeNodes[StackFIRST + 5].next, StackTreeMAX, StackTreeCheck(), "one that leads to no frame is seen");
  TapSees(StackTreeNodes[StackFIRST + 5].at, StackTreeNodes[StackFIRST + 5].at + 1, StackTreeCheck(),
          "a frame in another one's chain is seen");
}

/* Code that is unloaded: another frame may come to the same place. */
static void testUnload(void)
{
  StackNumber outer = StackTreeNode(StackWHOLE, 0x5000), gone = StackTreeNode(outer, 0x6000);
  StackNumber inner = StackTreeNode(gone, 0x7000), again;

  StackTreeUnload(0x6000, 0x7000);
  again = StackTreeNode(outer, 0x6000);
  TapOk(again != gone && StackTreeIs(again, outer, 0x6000), "a frame in code that was unloaded gets a new number");
  TapOk(StackTreeNode(again, 0x7000) != inner, "and so do the frames that it calls");
  TapIs(StackTreeNode(StackWHOLE, 0x5000), outer, "others keep theirs");
  TapOk(StackTreeCheck(), "the tree is sound");
  tellings = 0;
  StackTreeTell();
  TapIs(tellings, StackTreeCount() - 1, "all are told again but the one that has gone");
}

static void testFull(void)
{
  StackNumber last = 0;
  Index i;

  for (i = 0; (last & StackSHORT) == 0; ++i)
    last = StackTreeNode(StackWHOLE, 0x800000 + i);
  TapIs(StackTreeCount(), StackTreeMAX - StackFIRST, "numbers end where the header says");
  TapIs(last, StackWHOLE | StackSHORT, "a frame for which none is left has its caller's, marked");
  last = StackTreeNode(StackFIRST, 0x900000);
  TapIs(last, StackFIRST | StackSHORT, "whichever that is");
  TapIs(StackTreeNode(last, 0x900000), last, "and so have the frames that it calls");
  TapIs(StackTreeNode(StackWHOLE, 100), StackFIRST, "frames that have a number keep it");
  TapOk(StackTreeCheck(), "and the tree is sound");
}

int main(void)
{
  TapIs(StackTreeInit(tell), ResOK, "there is memory for a tree");
  testOne();
  testThreads();
  testUnload();
  testFull();
  StackTreeForget();
  TapOk(StackTreeCount() == 0 && StackTreeCheck(), "when all is forgotten nothing is there");
  tellings = 0;
  TapIs(StackTreeNode(StackWHOLE, 5), StackFIRST, "and numbers begin anew");
  TapIs(tellings, 1, "told anew");
  return TapDone();
}
