/* resendqueue.c -- messages that are kept until their receiver has acknowledged them
 *
 * In the ring each message stands behind its size, 4 bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/resendqueue.h"

#include <string.h>

#include "base/aver.h"

enum { keepPrefix = sizeof(uint32_t) };

void KeepInit(Keep keep, void *base, Size size)
{
  memset(keep, 0, sizeof *keep);
  keep->base = base;
  keep->size = size;
}

/* keepCopyIn, keepCopyOut -- bytes at a position, round the ring's end */
static void keepCopyIn(Keep keep, uint64_t at, const void *bytes, Size size)
{
  Size place = (Size)(at % keep->size), first = keep->size - place < size ? keep->size - place : size;

  memcpy(keep->base + place, bytes, first);
  memcpy(keep->base, (const char *)bytes + first, size - first);
}

static void keepCopyOut(Keep keep, uint64_t at, void *bytes, Size size)
{
  Size place = (Size)(at % keep->size), first = keep->size - place < size ? keep->size - place : size;

  memcpy(bytes, keep->base + place, first);
  memcpy((char *)bytes + first, keep->base, size - first);
}

static Size keepSize(Keep keep, KeepPlaceStruct place)
{
  uint32_t size;

  keepCopyOut(keep, place.at, &size, sizeof size);
  return size;
}

Res KeepPut(Keep keep, const void *message, Size size)
{
  uint32_t its = (uint32_t)size;

  AVER_CRITICAL(KeepCheck(keep));
  if (size == 0 || size > keep->size || keep->size - size < keepPrefix ||
      keep->head.at - keep->tail.at > keep->size - size - keepPrefix)
    return ResLIMIT;
  keepCopyIn(keep, keep->head.at, &its, sizeof its);
  keepCopyIn(keep, keep->head.at + keepPrefix, message, size);
  keep->head.at += keepPrefix + size;
  ++keep->head.number;
  return ResOK;
}

Count KeepNext(struct iovec pieces[2], Keep keep)
{
  Size left, place, first;

  if (keep->next.number == keep->head.number)
    return 0;
  left = keepSize(keep, keep->next) - keep->done;
  place = (Size)((keep->next.at + keepPrefix + keep->done) % keep->size);
  first = keep->size - place < left ? keep->size - place : left;
  pieces[0] = (struct iovec){keep->base + place, first};
  pieces[1] = (struct iovec){keep->base, left - first};
  return first < left ? 2 : 1;
}

/* keepForward -- a place, moved to the next message */
static void keepForward(Keep keep, KeepPlaceStruct *place)
{
  place->at += keepPrefix + keepSize(keep, *place);
  ++place->number;
}

/* keepRelease -- what is acknowledged makes room, unless it is on its way a second time */
static void keepRelease(Keep keep)
{
  while (keep->tail.number < keep->acknowledged && keep->tail.number < keep->next.number)
    keepForward(keep, &keep->tail);
}

void KeepGiven(Keep keep, Size size)
{
  Size whole = keepSize(keep, keep->next);

  keep->done += size;
  AVER(keep->done <= whole);
  if (keep->done < whole)
    return;
  keep->done = 0;
  keepForward(keep, &keep->next);
  if (keep->given < keep->next.number)
    keep->given = keep->next.number;
  keepRelease(keep);
}

Res KeepAcknowledged(Keep keep, uint64_t n)
{
  if (n > keep->given)
    return ResFORMAT;
  if (n > keep->acknowledged)
    keep->acknowledged = n;
  keepRelease(keep);
  return ResOK;
}

void KeepRewind(Keep keep)
{
  while (keep->tail.number < keep->acknowledged)
    keepForward(keep, &keep->tail);
  keep->next = keep->tail;
  keep->done = 0;
}

uint64_t KeepSum(Keep keep, uint64_t (*of)(const void *message, Size size))
{
  KeepPlaceStruct place = keep->tail;
  char sight[KeepSightMAX] __attribute__((aligned(8)));
  uint64_t sum = 0;

  for (; place.number < keep->head.number; keepForward(keep, &place)) {
    Size size = keepSize(keep, place), seen = size < sizeof sight ? size : sizeof sight;
    if (place.number < keep->acknowledged)
      continue; /* it is kept only because it is on its way a second time */
    keepCopyOut(keep, place.at + keepPrefix, sight, seen);
    sum += of(sight, size);
  }
  return sum;
}

Bool KeepCheck(Keep keep)
{
  AVER(keep->base != NULL);
  AVER(keep->tail.at <= keep->next.at && keep->next.at <= keep->head.at);
  AVER(keep->head.at - keep->tail.at <= keep->size);
  AVER(keep->tail.number <= keep->next.number && keep->next.number <= keep->head.number);
  AVER(keep->next.number <= keep->given && keep->acknowledged <= keep->given);
  return TRUE;
}
