/* queue.h -- blocks that came while a pass runs, by the time at which they were opened
 *
 * Always true (QueueCheck): no entry comes before its parent in the heap; at most QueueMAX.
 *
 * Design: design/log.md .follow      Tests: test/followtest.c
 */
#ifndef LOG_QUEUE_H
#define LOG_QUEUE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/index.h"

enum { QueueMAX = 32768 };

typedef struct QueueEntryStruct {
  uint64_t fine; /* of the block's first tick */
  IndexEntryStruct entry;
} QueueEntryStruct, *QueueEntry;

typedef struct QueueStruct {
  QueueEntry heap; /* owned */
  Count count, capacity;
} QueueStruct, *Queue;

/* QueuePut -- one more; ResMEMORY; ResLIMIT if there are too many */
extern Res QueuePut(Queue queue, uint64_t fine, const IndexEntryStruct *entry);

/* QueueTake -- away with the first */
extern void QueueTake(Queue queue);
extern void QueueFree(Queue queue);
extern Bool QueueCheck(Queue queue);

#endif /* LOG_QUEUE_H */
