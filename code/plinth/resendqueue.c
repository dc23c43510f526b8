/* resendqueue.c -- messages that are kept until their receiver has acknowledged them
 *
 * In the ring each message stands behind its size, 4 bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/resendqueue.h"

#include <string.h>

#include "base/aver.h"

enum { resendPrefix = sizeof(uint32_t) };

void ResendQueueInit(ResendQueue keep, void *base, Size size)
{
  AVER(size > resendPrefix);
  memset(keep, 0, sizeof *keep);
  keep->base = base;
  keep->size = size;
}

/* resendCopyIn, resendCopyOut -- bytes at a position, round the ring's end */
static void resendCopyIn(ResendQueue keep, uint64_t at, const void *bytes, Size size)
{
  Size place = (Size)(at % keep->size), first = keep->size - place < size ? keep->size - place : size;

  memcpy(keep->base + place, bytes, first);
  memcpy(keep->base, (const char *)bytes + first, size - first);
}

static void resendCopyOut(ResendQueue keep, uint64_t at, void *bytes, Size size)
{
  Size place = (Size)(at % keep->size), first = keep->size - place < size ? keep->size - place : size;

  memcpy(bytes, keep->base + place, first);
  memcpy((char *)bytes + first, keep->base, size - first);
}

static Size resendSize(ResendQueue keep, ResendQueuePlaceStruct place)
{
  uint32_t size;

  resendCopyOut(keep, place.at, &size, sizeof size);
  return size;
}

Res ResendQueuePut(ResendQueue keep, const void *message, Size size)
{
  uint32_t its = (uint32_t)size;

  AVER_CRITICAL(ResendQueueCheck(keep));
  if (size == 0 || size > keep->size || keep->size - size < resendPrefix ||
      keep->head.at - keep->tail.at > keep->size - size - resendPrefix)
    return ResLIMIT;
  resendCopyIn(keep, keep->head.at, &its, sizeof its);
  resendCopyIn(keep, keep->head.at + resendPrefix, message, size);
  keep->head.at += resendPrefix + size;
  ++keep->head.number;
  return ResOK;
}

Count ResendQueueNext(struct iovec pieces[2], ResendQueue keep)
{
  Size left, place, first;

  if (keep->next.number == keep->head.number)
    return 0;
  left = resendSize(keep, keep->next) - keep->done;
  place = (Size)((keep->next.at + resendPrefix + keep->done) % keep->size);
  first = keep->size - place < left ? keep->size - place : left;
  pieces[0] = (struct iovec){keep->base + place, first};
  pieces[1] = (struct iovec){keep->base, left - first};
  return first < left ? 2 : 1;
}

/* resendForward -- a place, moved to the next message */
static void resendForward(ResendQueue keep, ResendQueuePlaceStruct *place)
{
  place->at += resendPrefix + resendSize(keep, *place);
  ++place->number;
}

/* resendRelease -- free acknowledged messages, except one that is being sent a second time */
static void resendRelease(ResendQueue keep)
{
  while (keep->tail.number < keep->acknowledged && keep->tail.number < keep->next.number)
    resendForward(keep, &keep->tail);
}

void ResendQueueGiven(ResendQueue keep, Size size)
{
  Size whole = resendSize(keep, keep->next);

  AVER(ResendQueueCheck(keep));
  AVER(keep->next.number < keep->head.number);
  keep->done += size;
  AVER(keep->done <= whole);
  if (keep->done < whole)
    return;
  keep->done = 0;
  resendForward(keep, &keep->next);
  if (keep->given < keep->next.number)
    keep->given = keep->next.number;
  resendRelease(keep);
}

Res ResendQueueAcknowledged(ResendQueue keep, uint64_t n)
{
  AVER(ResendQueueCheck(keep));
  if (n > keep->given)
    return ResFORMAT;
  if (n > keep->acknowledged)
    keep->acknowledged = n;
  resendRelease(keep);
  return ResOK;
}

void ResendQueueRewind(ResendQueue keep)
{
  AVER(ResendQueueCheck(keep));
  while (keep->tail.number < keep->acknowledged)
    resendForward(keep, &keep->tail);
  keep->next = keep->tail;
  keep->done = 0;
}

uint64_t ResendQueueSum(ResendQueue keep, uint64_t (*of)(const void *message, Size size))
{
  ResendQueuePlaceStruct place = keep->tail;
  char sight[ResendQueueSightMAX] __attribute__((aligned(8)));
  uint64_t sum = 0;

  for (; place.number < keep->head.number; resendForward(keep, &place)) {
    Size size = resendSize(keep, place), seen = size < sizeof sight ? size : sizeof sight;
    if (place.number < keep->acknowledged)
      continue; /* it is kept only because it is on its way a second time */
    resendCopyOut(keep, place.at + resendPrefix, sight, seen);
    sum += of(sight, size);
  }
  return sum;
}

Bool ResendQueueCheck(ResendQueue keep)
{
  return keep->base != NULL && keep->tail.at <= keep->next.at && keep->next.at <= keep->head.at &&
         keep->head.at - keep->tail.at <= keep->size && keep->tail.number <= keep->next.number &&
         keep->next.number <= keep->head.number && keep->next.number <= keep->given &&
         keep->acknowledged <= keep->given && (keep->done == 0 || keep->next.number < keep->head.number);
}
