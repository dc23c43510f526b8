/* lent.c -- the numbers of the files that the library has open for a moment
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/lent.h"

#include <limits.h>
#include <sys/syscall.h>

#include "base/aver.h"

enum {
  lentMAX = 64,        /* descriptors that all threads have for a moment at once */
  lentNAP = 50000,     /* ns between two looks at what others do */
  lentNAPS = 2000,     /* looks of who opens: 0.1 s and more; */
  lentPutNAPS = 20000  /* of who puts: 1 s and more */
};

unsigned LentActive;
__thread Bool LentApart __attribute__((tls_model("initial-exec")));

static int lentNumbers[lentMAX]; /* each + 1; 0: free; below 0: minus that, the program has replaced its file */
static unsigned lentOpening, lentPutting; /* threads that open, and that put */
static uint32_t lentPid; /* the process whose numbers these are */

/* A handler of a signal may interrupt the thread in either, and do the other: it does not wait for its own thread. */
static __thread unsigned lentDepth __attribute__((tls_model("initial-exec")));
static __thread unsigned lentPuts __attribute__((tls_model("initial-exec")));

static unsigned lentLoad(const unsigned *count)
{
  return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

static void lentAdd(unsigned *count)
{
  (void)__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

/* lentSub -- one less, but not less than none: who waited in vain for a count has set it to 0 */
static void lentSub(unsigned *count)
{
  unsigned now = lentLoad(count);

  while (now > 0 && !__atomic_compare_exchange_n(count, &now, now - 1, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    ;
}

/* lentMine -- may there be other threads, and is this the process whose numbers are in the table? */
static Bool lentMine(void)
{
  uint32_t pid, none = 0;

  if (RawAlone())
    return FALSE;
  pid = RawPid();
  return __atomic_compare_exchange_n(&lentPid, &none, pid, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || none == pid;
}

/* lentChange -- the first entry that is `from` becomes `to`; FALSE: none is */
static Bool lentChange(int from, int to)
{
  Index i;

  for (i = 0; i < lentMAX; ++i) {
    int now = from;
    if (__atomic_load_n(&lentNumbers[i], __ATOMIC_SEQ_CST) == from &&
        __atomic_compare_exchange_n(&lentNumbers[i], &now, to, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      return TRUE;
  }
  return FALSE;
}

/* lentHas -- is the number in the table, and the file ours? */
static Bool lentHas(int fd)
{
  return lentChange(fd + 1, fd + 1);
}

/* lentDrop -- free an entry; FALSE: there is none such */
static Bool lentDrop(int entry)
{
  if (!lentChange(entry, 0))
    return FALSE;
  lentSub(&LentActive);
  return TRUE;
}

/* ---- The library opens ---- */

void LentBegin(void)
{
  unsigned naps;

  if (lentDepth == 0 && (LentApart || !lentMine()))
    return;
  if (lentDepth++ > 0)
    return;
  lentAdd(&LentActive);
  for (naps = 0;; ++naps) {
    lentAdd(&lentOpening);
    if (lentLoad(&lentPutting) <= lentPuts)
      return;
    if (naps == lentNAPS)
      break;
    lentSub(&lentOpening);
    RawNap(lentNAP);
  }
  __atomic_store_n(&lentPutting, lentPuts, __ATOMIC_SEQ_CST); /* a thread has not come back, or its close takes long */
}

void LentNumber(long fd)
{
  if (fd < 0 || lentDepth == 0)
    return;
  AVER(fd < INT_MAX);
  lentAdd(&LentActive);
  if (!lentChange(0, (int)fd + 1))
    lentSub(&LentActive);
}

void LentEnd(void)
{
  if (lentDepth == 0 || --lentDepth > 0)
    return;
  lentSub(&lentOpening);
  lentSub(&LentActive);
}

long LentOne(long fd)
{
  LentNumber(fd);
  LentEnd();
  return fd;
}

void LentKeep(long fd)
{
  (void)lentDrop((int)fd + 1);
}

/* The file is closed before its number is taken out, but while no other thread can ask: the next who is given the
 * number may be the program. */
void LentClose(long fd)
{
  AVER(fd >= 0 && fd < INT_MAX);
  LentBegin();
  if (lentDepth == 0 || !lentDrop(-(int)fd - 1)) {
    (void)RawCall(SYS_close, fd);
    (void)(lentDepth > 0 && lentDrop((int)fd + 1));
  }
  LentEnd();
}

/* ---- The program puts ---- */

/* lentStill -- wait until no other thread opens; in *napsIO are the naps that were taken */
static void lentStill(unsigned *napsIO)
{
  const unsigned own = lentDepth > 0;

  for (; lentLoad(&lentOpening) > own && *napsIO < lentPutNAPS; ++*napsIO)
    RawNap(lentNAP);
  if (*napsIO >= lentPutNAPS)
    __atomic_store_n(&lentOpening, own, __ATOMIC_SEQ_CST);
}

Bool LentIs(int fd)
{
  unsigned naps = 0;

  if (fd < 0 || lentLoad(&LentActive) == 0 || !lentMine())
    return FALSE;
  lentStill(&naps);
  return lentHas(fd);
}

void LentPut(int fd)
{
  unsigned naps = 0;

  if (!lentMine())
    return;
  for (;; ++naps) {
    ++lentPuts;
    lentAdd(&lentPutting);
    lentStill(&naps);
    if (fd < 0 || !lentHas(fd))
      return;
    if (naps >= lentPutNAPS)
      break;
    LentPutEnd();
    RawNap(lentNAP);
  }
  (void)lentChange(fd + 1, -fd - 1); /* the program's file replaces ours; who has it will not close that */
}

void LentPutEnd(void)
{
  if (lentPuts == 0)
    return;
  --lentPuts;
  lentSub(&lentPutting);
}

unsigned LentFrom(unsigned first)
{
  unsigned lowest = UINT_MAX;
  Index i;

  for (i = 0; i < lentMAX; ++i) {
    int number = __atomic_load_n(&lentNumbers[i], __ATOMIC_SEQ_CST);
    if (number > 0 && (unsigned)number - 1 >= first && (unsigned)number - 1 < lowest)
      lowest = (unsigned)number - 1;
  }
  return lowest;
}

void LentForked(uint32_t pid)
{
  Index i;

  for (i = 0; i < lentMAX; ++i)
    __atomic_store_n(&lentNumbers[i], 0, __ATOMIC_RELAXED);
  lentPid = pid;
  lentOpening = lentPutting = LentActive = lentDepth = lentPuts = 0;
}

/* Only tests call it: other threads enter and drop numbers at any time, without a lock, and in the child of a fork
 * there are none. */
Bool LentCheck(void)
{
  Count numbers = 0;
  Index i, j;

  for (i = 0; i < lentMAX; ++i) {
    numbers += lentNumbers[i] != 0;
    for (j = 0; j < i; ++j)
      if (lentNumbers[i] != 0 && lentNumbers[i] == lentNumbers[j])
        return FALSE;
  }
  return numbers <= LentActive && lentOpening <= LentActive;
}
