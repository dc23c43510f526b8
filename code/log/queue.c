/* queue.c -- blocks that came while a pass runs, by the time at which they were opened
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/queue.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"

static Bool queueBefore(const QueueEntryStruct *a, const QueueEntryStruct *b)
{
  return a->fine != b->fine ? a->fine < b->fine : IndexCompare(&a->entry, &b->entry) < 0;
}

Res QueuePut(Queue queue, uint64_t fine, const IndexEntryStruct *entry)
{
  QueueEntryStruct put = {fine, *entry};
  Index i = queue->count, parent;

  if (queue->count == QueueMAX)
    return ResLIMIT;
  if (!Grow(&queue->heap, &queue->capacity, queue->count, sizeof *queue->heap))
    return ResMEMORY;
  ++queue->count;
  for (; i > 0 && queueBefore(&put, &queue->heap[parent = (i - 1) / 2]); i = parent)
    queue->heap[i] = queue->heap[parent];
  queue->heap[i] = put;
  return ResOK;
}

void QueueTake(Queue queue)
{
  QueueEntryStruct moving;
  Index i = 0, child;

  AVER(queue->count > 0);
  moving = queue->heap[--queue->count];
  while ((child = 2 * i + 1) < queue->count) {
    if (child + 1 < queue->count && queueBefore(&queue->heap[child + 1], &queue->heap[child]))
      ++child;
    if (!queueBefore(&queue->heap[child], &moving))
      break;
    queue->heap[i] = queue->heap[child];
    i = child;
  }
  queue->heap[i] = moving;
}

void QueueFree(Queue queue)
{
  free(queue->heap);
  queue->heap = NULL;
  queue->count = queue->capacity = 0;
}

Bool QueueCheck(Queue queue)
{
  Index i;

  AVER(queue->count <= queue->capacity && queue->count <= QueueMAX);
  for (i = 1; i < queue->count; ++i)
    AVER(!queueBefore(&queue->heap[i], &queue->heap[(i - 1) / 2]));
  return TRUE;
}
