/* typeids.c -- one number for each event type of a traceset
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/typeids.h"

#include <stdlib.h>

/* typeIdsShared -- an earlier process with the same registry, or `i` itself */
static Index typeIdsShared(Log log, Index i)
{
  Registry registry = LogProcessAt(log, i)->registry;
  Index j;

  /* Families of one program stand together: the neighbour first. */
  for (j = i; j > 0; --j)
    if (LogProcessAt(log, j - 1)->registry == registry)
      return j - 1;
  return i;
}

Res TypeIdsMake(TypeIds ids, Log log)
{
  Index i, shared;

  ids->count = 0;
  ids->first = calloc(LogProcesses(log) + 1, sizeof *ids->first);
  if (ids->first == NULL)
    return ResMEMORY;
  for (i = 0; i < LogProcesses(log); ++i) {
    shared = typeIdsShared(log, i);
    ids->first[i] = shared < i ? ids->first[shared] : (uint32_t)ids->count;
    if (shared == i)
      ids->count += LogProcessAt(log, i)->registry->count;
  }
  return ids->count <= UINT32_MAX ? ResOK : ResMEMORY;
}

void TypeIdsFree(TypeIds ids)
{
  free(ids->first);
}
