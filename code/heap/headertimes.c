/* headertimes.c -- when the processes of a log were forked and when they ended, as their header blocks say
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/headertimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

LogProcess HeaderTimesParent(Log log, LogProcess child)
{
  uint64_t identity = child->header.forked.identity;

  return identity != 0 ? LogProcessFind(log, identity) : NULL;
}

/* timesCompare -- by time; at one time forks come first, so that a parent that ends then is there */
static int timesCompare(const void *a, const void *b)
{
  const HeaderTimeStruct *x = a, *y = b;

  if (x->due != y->due)
    return x->due < y->due ? -1 : 1;
  if (x->fork != y->fork)
    return x->fork ? -1 : 1;
  return x->process < y->process ? -1 : x->process > y->process;
}

Bool HeaderTimesFrom(HeaderTimes times, Index next)
{
  times->next = next < times->count ? next : times->count;
  times->due = times->next < times->count ? times->one[times->next].due : UINT64_MAX;
  return times->next == next;
}

static Res timesAdd(HeaderTimes times, Index process, Bool fork, uint64_t due)
{
  if (!Grow(&times->one, &times->capacity, times->count, sizeof *times->one))
    return ResMEMORY;
  times->one[times->count++] = (HeaderTimeStruct){.due = due, .process = process, .fork = fork};
  return ResOK;
}

Res HeaderTimesLook(HeaderTimes times, Log log)
{
  Count known = times->count;
  Res res = ResOK;

  for (; times->looked < LogProcesses(log) && res == ResOK; ++times->looked) {
    Index i = times->looked;
    LogProcess process = LogProcessAt(log, i);
    HeaderStruct *header = &process->header;
    uint64_t gone = header->ended && header->gone != 0 ? LogTime(log, i, header->gone) : UINT64_MAX;
    if (HeaderTimesParent(log, process) != NULL)
      res = timesAdd(times, i, TRUE, LogTime(log, i, header->forked.before));
    /* If events came later, it was no end: a program goes on under that identity. */
    if (res == ResOK && gone != UINT64_MAX && LogProcessNewest(log, i) <= gone)
      res = timesAdd(times, i, FALSE, gone + 1);
  }
  if (times->count > known)
    qsort(times->one + times->next, times->count - times->next, sizeof *times->one, timesCompare);
  (void)HeaderTimesFrom(times, times->next);
  AVER(times->count == known || HeaderTimesCheck(times));
  return res;
}

HeaderTime HeaderTimesNext(HeaderTimes times, uint64_t time)
{
  Index next = times->next;

  AVER(next <= times->count);
  if (next == times->count || times->one[next].due > time)
    return NULL;
  (void)HeaderTimesFrom(times, next + 1);
  return &times->one[next];
}

void HeaderTimesFinish(HeaderTimes times)
{
  free(times->one);
  memset(times, 0, sizeof *times);
}

Bool HeaderTimesCheck(const HeaderTimesStruct *times)
{
  Index i;

  if (times->next > times->count || times->count > times->capacity || times->count > 2 * times->looked)
    return FALSE;
  if (times->looked > 0 && times->due != (times->next < times->count ? times->one[times->next].due : UINT64_MAX))
    return FALSE;
  for (i = times->next + 1; i < times->count; ++i)
    if (times->one[i - 1].due > times->one[i].due)
      return FALSE;
  return TRUE;
}
