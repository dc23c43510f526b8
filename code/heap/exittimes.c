/* exittimes.c -- when the processes of a log ended, by their closing header blocks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/exittimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static int goneCompare(const void *a, const void *b)
{
  const GoneOneStruct *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->process < y->process ? -1 : x->process > y->process;
}

void GoneFrom(Gone gone, Index next)
{
  gone->next = next < gone->count ? next : gone->count;
  gone->time = gone->next < gone->count ? gone->one[gone->next].time : UINT64_MAX;
}

Res GoneLook(Gone gone, Log log)
{
  Count known = gone->count;

  for (; gone->looked < LogProcesses(log); ++gone->looked) {
    const HeaderStruct *header = &LogProcessAt(log, gone->looked)->header;
    GoneOneStruct one = {.process = gone->looked};
    if (!header->ended || header->gone == 0)
      continue;
    if (!Grow(&gone->one, &gone->capacity, gone->count, sizeof one))
      return ResMEMORY;
    one.time = LogTime(log, one.process, header->gone);
    /* What has come later is no end: somebody goes on under that identity. */
    if (LogProcessNewest(log, one.process) <= one.time)
      gone->one[gone->count++] = one;
  }
  if (gone->count > known)
    qsort(gone->one + gone->next, gone->count - gone->next, sizeof *gone->one, goneCompare);
  GoneFrom(gone, gone->next);
  return ResOK;
}

Bool GoneNext(Index *processReturn, uint64_t *timeReturn, Gone gone, uint64_t time)
{
  if (gone->time >= time)
    return FALSE;
  *processReturn = gone->one[gone->next].process;
  *timeReturn = gone->time;
  GoneFrom(gone, gone->next + 1);
  return TRUE;
}

void GoneFinish(Gone gone)
{
  free(gone->one);
  memset(gone, 0, sizeof *gone);
}
