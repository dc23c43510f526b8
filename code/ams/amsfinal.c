/* amsfinal.c -- finalization: for each registered object that has become unreachable a message is posted
 *
 * Registered objects, and those of messages, are in two arrays.  The second one always has room for all of the first,
 * so that a collection never needs memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/ams.md .final      Tests: test/ams/amstest.c
 */
#include "ams/amsdata.h"

#include <string.h>

#include "base/aver.h"
#include "mm/pages.h"

enum { amsFinalSOME = 512 }; /* registered objects that are looked at between two looks at the clock */

static void amsArrayFinish(AMSArrayStruct *array)
{
  if (array->capacity > 0)
    PagesRelease((Addr)array->at, array->capacity * sizeof *array->at);
  memset(array, 0, sizeof *array);
}

/* amsArrayNeed -- room for `count` references in all */
static Res amsArrayNeed(AMSArrayStruct *array, Count count)
{
  Count capacity = array->capacity > 0 ? 2 * array->capacity : 8192;
  void *at;

  if (count <= array->capacity)
    return ResOK;
  while (capacity < count)
    capacity *= 2;
  if (PagesMap(&at, capacity * sizeof *array->at) != ResOK)
    return ResMEMORY;
  if (array->capacity > 0) {
    memcpy(at, array->at, array->count * sizeof *array->at);
    PagesRelease((Addr)array->at, array->capacity * sizeof *array->at);
  }
  array->at = at;
  array->capacity = capacity;
  return ResOK;
}

/* amsFinalRoom -- room for one object more */
static Res amsFinalRoom(AMS ams)
{
  AMSArrayStruct *message = &ams->message;

  /* Forget those that were got, when they are half of all: so each moves once, however many there are. */
  if (ams->messageNext > message->count / 2 && !AMSMarking(ams)) {
    message->count -= ams->messageNext;
    memmove(message->at, message->at + ams->messageNext, message->count * sizeof *message->at);
    ams->messageNext = 0;
  }
  if (amsArrayNeed(message, message->count + ams->final.count + 1) != ResOK)
    return ResMEMORY;
  return amsArrayNeed(&ams->final, ams->final.count + 1);
}

/* amsFinalIs -- does an object begin at `base`? */
static Bool amsFinalIs(AMS ams, Addr base)
{
  AMSSeg seg = (AMSSeg)SegOfAddr(base);

  if (seg == NULL || seg->seg.pool != AMSPool(ams))
    return FALSE;
  if (seg->ap != NULL)
    AMSAPSettle(ams, seg->ap);
  return AMSSegFind(ams, (Word)base) == base;
}

Res AMSFinalize(Pool pool, Addr object)
{
  AMS ams = PoolAMS(pool);
  Res res = ResPARAM;

  AMSClaim(ams);
  if (object != NULL && amsFinalIs(ams, AMSBase(ams, object)))
    res = amsFinalRoom(ams);
  if (res == ResOK)
    ams->final.at[ams->final.count++] = object;
  LockRelease(&pool->lock);
  return res;
}

Bool AMSMessageGet(Addr *objectReturn, Pool pool)
{
  AMS ams = PoolAMS(pool);
  Bool got = FALSE;

  if (__atomic_load_n(&ams->messages, __ATOMIC_RELAXED) == 0)
    return FALSE;
  AMSClaim(ams);
  if (ams->messages > 0) {
    *objectReturn = ams->message.at[ams->messageNext++];
    (void)__atomic_sub_fetch(&ams->messages, 1, __ATOMIC_RELAXED);
    if (AMSMarking(ams)) /* its message keeps it no longer */
      AMSFix(&ams->scan, *objectReturn);
    got = TRUE;
  }
  LockRelease(&pool->lock);
  return got;
}

void AMSFinalBegin(AMS ams)
{
  ams->finalNext = ams->finalKept = 0;
  ams->finalLimit = ams->final.count;
  ams->messageScan = ams->messageNext;
  ams->messageOld = ams->message.count;
}

/* amsFinalLook -- post a message for each of the next registered objects that is not marked.  None is to be got before
 * all have been looked at: who gets one may mark what it refers to. */
static void amsFinalLook(AMS ams)
{
  Addr *at = ams->final.at;
  Count left;

  for (left = amsFinalSOME; left > 0 && ams->finalNext < ams->finalLimit; --left) {
    Addr object = at[ams->finalNext++];
    if (AMSIsMarked(ams, object)) {
      at[ams->finalKept++] = object;
    } else {
      AVER(ams->message.count < ams->message.capacity);
      ams->message.at[ams->message.count++] = object;
      ++ams->stats.messages;
      EVENT_PA(MessagePost, AMSPool(ams), AMSBase(ams, object));
    }
  }
  if (ams->finalNext == ams->finalLimit) { /* what was registered meanwhile */
    memmove(at + ams->finalKept, at + ams->finalLimit, (ams->final.count - ams->finalLimit) * sizeof *at);
    ams->final.count -= ams->finalLimit - ams->finalKept;
    ams->finalLimit = ams->finalNext = ams->finalKept = 0;
    (void)__atomic_add_fetch(&ams->messages, ams->message.count - ams->messageOld, __ATOMIC_RELAXED);
  }
}

Bool AMSFinalSome(AMS ams)
{
  /* What earlier messages keep is marked first; what new ones do, when all that is registered has been looked at. */
  Count left, limit = ams->finalLimit > 0 ? ams->messageOld : ams->message.count;

  if (ams->messageScan < ams->messageNext)
    ams->messageScan = ams->messageNext;
  if (ams->messageScan < limit) {
    for (left = amsFinalSOME; left > 0 && ams->messageScan < limit; --left)
      AMSFix(&ams->scan, ams->message.at[ams->messageScan++]);
    return TRUE;
  }
  if (ams->finalLimit == 0)
    return FALSE;
  amsFinalLook(ams);
  return TRUE;
}

void AMSFinalFinish(AMS ams)
{
  amsArrayFinish(&ams->final);
  amsArrayFinish(&ams->message);
}
