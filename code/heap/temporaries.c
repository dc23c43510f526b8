/* temporaries.c -- which objects are temporary
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/temporaries.h"

#include <stdlib.h>

#include "base/grow.h"

void TemporariesFinish(Temporaries temporaries)
{
  Index i;

  for (i = 0; i < temporaries->processes; ++i)
    free(temporaries->process[i].last);
  free(temporaries->process);
}

TemporaryLast TemporariesPlace(Temporaries temporaries, Index process, Index thread)
{
  TemporaryProcess its;

  if (GrowTo(&temporaries->process, &temporaries->processes, process, sizeof *temporaries->process)) {
    its = &temporaries->process[process];
    if (GrowTo(&its->last, &its->threads, thread, sizeof *its->last))
      return &its->last[thread];
  }
  temporaries->failed = TRUE;
  return NULL;
}
