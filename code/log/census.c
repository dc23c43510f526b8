/* census.c -- how many processes of each recording there are in a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/census.h"

#include <stdlib.h>
#include <string.h>

static int censusCompare(const void *a, const void *b)
{
  const CensusOfStruct *x = a, *y = b;

  return x->recording != y->recording ? (x->recording < y->recording ? -1 : 1) : 0;
}

/* censusJoin -- those of one recording become one */
static void censusJoin(Census census)
{
  Count kept = 0;
  Index i;

  for (i = 0; i < census->count; ++i) {
    CensusOf of = &census->of[i], to = kept > 0 ? &census->of[kept - 1] : NULL;
    if (to == NULL || to->recording != of->recording) {
      census->of[kept++] = *of;
      continue;
    }
    to->there += of->there;
    if (of->said > to->said) {
      to->said = of->said;
      to->teller = of->teller;
    }
  }
  census->count = kept;
}

Res CensusTake(Census census, Table table)
{
  Index i;

  *census = (CensusStruct){0};
  census->of = malloc((table->processes + 1) * sizeof *census->of);
  if (census->of == NULL)
    return ResMEMORY;
  for (i = 0; i < table->processes; ++i) {
    Process process = table->process[i];
    Header header = &process->public.header;
    Bool one = process->headed && strcmp(header->role, HeaderRoleCOLLECTOR) != 0;
    census->moved += one && process->moved;
    census->of[census->count++] = (CensusOfStruct){header->recording != 0 ? header->recording : header->copy,
                                                   one && !process->moved,
                                                   header->ended ? header->processes : 0, process};
  }
  if (census->count > 0)
    qsort(census->of, census->count, sizeof *census->of, censusCompare);
  censusJoin(census);
  return ResOK;
}

void CensusFree(Census census)
{
  free(census->of);
}
