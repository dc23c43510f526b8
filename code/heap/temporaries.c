/* temporaries.c -- which objects are temporary
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "heap/temporaries.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void TemporariesFinish(Temporaries temporaries)
{
  Index i;

  for (i = 0; i < temporaries->processes; ++i)
    free(temporaries->process[i].last);
  free(temporaries->process);
}

/* temporariesRoom -- how many places an array gets that has `count`, and no place for `index` */
static Count temporariesRoom(Count count, Index index)
{
  count = count == 0 ? GrowMIN : count;
  while (count <= index)
    count *= 2;
  return count;
}

TemporaryLast TemporariesPlace(Temporaries temporaries, Index process, Index thread)
{
  Count count;
  void *more;

  if (process >= temporaries->processes) {
    count = temporariesRoom(temporaries->processes, process);
    if ((more = reallocarray(temporaries->process, count, sizeof *temporaries->process)) == NULL)
      goto failMemory;
    temporaries->process = more;
    memset(temporaries->process + temporaries->processes, 0,
           (count - temporaries->processes) * sizeof *temporaries->process);
    temporaries->processes = count;
  }
  if (thread >= temporaries->process[process].threads) {
    Count threads = temporaries->process[process].threads;
    count = temporariesRoom(threads, thread);
    if ((more = reallocarray(temporaries->process[process].last, count, sizeof(TemporaryLastStruct))) == NULL)
      goto failMemory;
    temporaries->process[process].last = more;
    memset(temporaries->process[process].last + threads, 0, (count - threads) * sizeof(TemporaryLastStruct));
    temporaries->process[process].threads = count;
  }
  return &temporaries->process[process].last[thread];

failMemory:
  temporaries->failed = TRUE;
  return NULL;
}
