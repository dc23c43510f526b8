/* arriving.c -- blocks that come while a pass runs
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include "request/arriving.h"

#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/block.h"

/* ---- Blocks of which a longer copy may still come ---- */

/* partialsList -- the list that a block belongs to */
static Partial *partialsList(Partials partials, uint32_t stream, uint64_t sequence)
{
  return &partials->list[(stream * 31 + sequence) % PartialsLISTS];
}

/* partialsLink -- the link at which the block is in its list, or would be */
static Partial *partialsLink(Partials partials, const IndexEntryStruct *entry)
{
  Partial *link = partialsList(partials, entry->stream, entry->sequence);

  while (*link != NULL && ((*link)->stream != entry->stream || (*link)->sequence != entry->sequence ||
                           (*link)->first != entry->first))
    link = &(*link)->next;
  return link;
}

static void partialsRemove(Partials partials, Partial *link)
{
  Partial partial = *link;

  *link = partial->next;
  --partials->count;
  free(partial);
}

/* partialsAdd -- a block that is not among them, at its link; NULL: no memory */
static Partial partialsAdd(Partials partials, Partial *link, const IndexEntryStruct *entry)
{
  Partial partial = calloc(1, sizeof *partial);

  if (partial == NULL)
    return NULL;
  partial->stream = entry->stream;
  partial->sequence = entry->sequence;
  partial->first = entry->first;
  *link = partial;
  ++partials->count;
  return partial;
}

/* partialsWhole -- is it all of its block, as far as its header tells? */
static Bool partialsWhole(const IndexEntryStruct *entry)
{
  return (entry->flags & (BlockFlagSNAPSHOT | IndexEntryCUT)) == 0;
}

Res PartialsSee(Bool *wantedReturn, Partials partials, const IndexEntryStruct *entry, Bool seen)
{
  Partial *link = partialsLink(partials, entry), partial = *link;

  *wantedReturn = partial != NULL ? !partial->whole : !seen;
  if (partialsWhole(entry)) {
    if (partial != NULL)
      partial->whole = TRUE;
    return ResOK;
  }
  if (partial != NULL || seen)
    return ResOK;
  return partialsAdd(partials, link, entry) != NULL ? ResOK : ResMEMORY;
}

Bool PartialsFail(Partials partials, const IndexEntryStruct *entry, const char *what, uint32_t lost)
{
  Partial *link = partialsLink(partials, entry), partial = *link;

  AVER(what != NULL);
  if (partial == NULL) {
    if (partials->count >= PartialsFAILED || (partial = partialsAdd(partials, link, entry)) == NULL)
      return FALSE;
  }
  partial->whole = FALSE;
  if (partial->failed != NULL && partial->lost >= lost)
    return TRUE; /* of copies that all fail, the first and longest is told */
  partial->failed = what;
  partial->place = entry->place;
  partial->lost = lost;
  return TRUE;
}

/* partialsHad -- how many of its events were delivered */
static uint32_t partialsHad(const PartialStruct *partial)
{
  uint32_t had = 0;
  Index i;

  for (i = 0; i < sizeof partial->had / sizeof partial->had[0]; ++i)
    had += (uint32_t)__builtin_popcountll(partial->had[i]);
  return had;
}

void PartialsTell(Partials partials, PartialsLost lost, void *data)
{
  Index i;

  for (i = 0; i < PartialsLISTS; ++i) {
    Partial partial;
    for (partial = partials->list[i]; partial != NULL; partial = partial->next) {
      uint32_t had = partialsHad(partial);
      if (partial->failed != NULL)
        lost(data, partial->place, partial->failed, partial->lost > had ? partial->lost - had : 0);
      partial->failed = NULL;
    }
  }
}

void PartialsForget(Partials partials, const IndexEntryStruct *entry)
{
  Partial *link = partialsLink(partials, entry);

  if (*link != NULL)
    partialsRemove(partials, link);
}

void PartialsTake(Partials partials, Loaded loaded, const IndexEntryStruct *entry)
{
  Partial *link = partialsLink(partials, entry), partial = *link;
  Count n = 0;
  Index i;

  if (partial == NULL)
    return;
  for (i = 0; i < loaded->count; ++i) {
    uint32_t place = loaded->item[i].at / EventALIGN;
    if ((partial->had[place / 64] >> place % 64 & 1) != 0)
      continue;
    partial->had[place / 64] |= (uint64_t)1 << place % 64;
    loaded->item[n++] = loaded->item[i];
  }
  loaded->count = n;
  if (partialsWhole(entry))
    partialsRemove(partials, link);
}

Bool PartialsCheck(Partials partials)
{
  Count count = 0;
  Index i;

  for (i = 0; i < PartialsLISTS; ++i) {
    const PartialStruct *partial;
    for (partial = partials->list[i]; partial != NULL; partial = partial->next, ++count)
      if (partialsList(partials, partial->stream, partial->sequence) != &partials->list[i])
        return FALSE;
  }
  return count == partials->count;
}

void PartialsFree(Partials partials)
{
  Index i;

  for (i = 0; i < PartialsLISTS; ++i)
    while (partials->list[i] != NULL)
      partialsRemove(partials, &partials->list[i]);
}

/* ---- Blocks that wait ---- */

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
}

Bool QueueCheck(Queue queue)
{
  Bool sound = queue->count <= queue->capacity && queue->count <= QueueMAX;
  Index i;

  for (i = 1; sound && i < queue->count; ++i)
    sound = !queueBefore(&queue->heap[i], &queue->heap[(i - 1) / 2]);
  return sound;
}
