/* livetop.c -- the first so many of any number of objects
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "livetop.h"

#include <stdlib.h>

Res LiveTopInit(LiveTop top, Count most, LiveBefore before)
{
  top->before = before;
  top->count = 0;
  top->most = most;
  top->object = malloc((most + 1) * sizeof *top->object);
  return top->object == NULL ? ResMEMORY : ResOK;
}

void LiveTopFinish(LiveTop top)
{
  free(top->object);
  top->object = NULL;
  top->count = 0;
}

static void topUp(LiveTop top, Index i)
{
  LiveObjectStruct moving = top->object[i];
  Index parent;

  for (; i > 0; i = parent) {
    parent = (i - 1) / 2;
    if (top->before(&top->object[parent], &moving) >= 0)
      break;
    top->object[i] = top->object[parent];
  }
  top->object[i] = moving;
}

static void topDown(LiveTop top)
{
  LiveObjectStruct moving = top->object[0];
  Index i = 0, child;

  while ((child = 2 * i + 1) < top->count) {
    if (child + 1 < top->count && top->before(&top->object[child], &top->object[child + 1]) < 0)
      ++child;
    if (top->before(&top->object[child], &moving) <= 0)
      break;
    top->object[i] = top->object[child];
    i = child;
  }
  top->object[i] = moving;
}

void LiveTopAdd(LiveTop top, HeapPool pool, HeapObject object)
{
  LiveObjectStruct new = {pool, *object};

  if (top->count < top->most) {
    top->object[top->count++] = new;
    topUp(top, top->count - 1);
  } else if (top->count > 0 && top->before(&new, &top->object[0]) < 0) {
    top->object[0] = new;
    topDown(top);
  }
}

void LiveTopSort(LiveTop top)
{
  qsort(top->object, top->count, sizeof *top->object, top->before);
}
