/* scheduler.c -- the algorithm: which request is served next, from where, and how far
 *
 * One step at a time.  Somebody enters; or all that are served give way; or a chunk is read, and who has had all
 * ends.  Each step begins by looking at everything anew, because hooks file and withdraw as they like.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/requestservice.h"

#include "base/aver.h"

/* schedulerBetter -- of two waiting requests, does `a` go first? */
static Bool schedulerBetter(Filed a, Filed b)
{
  if (a->high != b->high)
    return a->high;
  return LogPositionCompare(&a->start, &b->start) < 0;
}

/* schedulerFirst -- the waiting request (with `bare`: without a slot) that goes first; NULL: none */
static Filed schedulerFirst(PawService service, Bool bare)
{
  Filed first = NULL;
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledWAITING && (!bare || filed->bit == 0) && (first == NULL || schedulerBetter(filed, first)))
      first = filed;
  }
  return first;
}

/* schedulerJoin -- a waiting request that can join those that are served, or NULL */
static Filed schedulerJoin(PawService service)
{
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledWAITING && filed->bit != 0 && LogPositionCompare(&filed->start, &service->current) == 0)
      return filed;
  }
  return NULL;
}

/* schedulerTake -- a slot for a request that needs one: the waiting request that goes last loses its own */
static void schedulerTake(PawService service, Filed filed)
{
  Filed last = NULL;
  Index i;

  ServiceSlot(service, filed);
  if (filed->bit != 0)
    return;
  for (i = 0; i < service->count; ++i) {
    Filed other = service->filed[i];
    if (other->state == FiledWAITING && other->bit != 0 && (last == NULL || !schedulerBetter(other, last)))
      last = other;
  }
  AVER(last != NULL);
  service->slot[__builtin_ctzll(last->bit)] = NULL;
  last->bit = 0;
  ServiceSlot(service, filed);
}

/* schedulerGivesWay -- are only low-priority requests served while one of high priority waits? */
static Bool schedulerGivesWay(PawService service)
{
  Bool served = FALSE, waiting = FALSE; /* any of high priority */
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledSERVED)
      served |= filed->high;
    else
      waiting |= filed->high;
  }
  return waiting && !served;
}

/* schedulerReckoned -- are all served requests in the pass's mask? */
static Bool schedulerReckoned(PawService service, const PassStruct *pass)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED && (pass->slots & service->filed[i]->bit) == 0)
      return FALSE;
  return TRUE;
}

/* schedulerRestore -- continue a pass that was saved at this position, if one can serve all */
static Bool schedulerRestore(PawService service)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(service->saved); ++i) {
    Pass saved = &service->saved[i];
    if (saved->reading != NULL && LogPositionCompare(&service->current, &saved->reading->position) == 0 &&
        schedulerReckoned(service, saved)) {
      service->pass = *saved;
      *saved = (PassStruct){.reading = NULL};
      ++service->log->costs.restores;
      return TRUE;
    }
  }
  return FALSE;
}

/* schedulerReady -- have a pass that is at `current` and has all served requests in its mask */
static Res schedulerReady(PawService service)
{
  Filed bare;

  if (service->pass.reading != NULL && schedulerReckoned(service, &service->pass))
    return ResOK;
  ServicePassEnd(&service->pass);
  if (schedulerRestore(service))
    return ResOK;
  /* A new pass can have more of them in its mask. */
  while ((bare = schedulerFirst(service, TRUE)) != NULL) {
    ServiceSlot(service, bare);
    if (bare->bit == 0)
      break;
  }
  service->pass.slots = ~(uint64_t)0; /* requests that start later will leap or make a pass of their own */
  ++service->log->costs.seeks;
  return ReadingCreate(&service->pass.reading, service->log, &service->client, &service->current);
}

/* schedulerEnd -- how far nothing changes: the lowest end of a served request, or start of one that is ahead */
static void schedulerEnd(LogPosition endReturn, PawService service)
{
  Index i;

  *endReturn = (LogPositionStruct)LogPositionLAST;
  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    const LogPositionStruct *bound = &filed->end;
    if (filed->state == FiledWAITING) {
      if (filed->bit == 0 || LogPositionCompare(&filed->start, &service->current) <= 0)
        continue;
      bound = &filed->start;
    }
    if (LogPositionCompare(bound, endReturn) < 0)
      *endReturn = *bound;
  }
}

/* schedulerOver -- the next served request that has had all its events, or NULL */
static Filed schedulerOver(PawService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED && ServiceOver(service, service->filed[i]))
      return service->filed[i];
  return NULL;
}

/* schedulerChunk -- read a chunk, and end the requests that have had all their events */
static Res schedulerChunk(PawService service)
{
  LogPositionStruct end;
  uint64_t generation = service->generation;
  Reading reading;
  Filed over;
  Res res = schedulerReady(service);

  if (res != ResOK || service->generation != generation)
    return res; /* or a hook for a gap has changed the requests */
  schedulerEnd(&end, service);
  reading = service->pass.reading;
  reading->halt = FALSE;
  res = ReadingRun(reading, &end, service->chunk);
  service->enough = reading->ended;
  if (res == ResOK || res == ResEND) {
    service->current = reading->position;
    service->dry = res == ResEND;
    while ((over = schedulerOver(service)) != NULL)
      ServiceEnd(service, over);
    service->dry = FALSE;
    res = service->res;
  }
  service->res = ResOK;
  return res;
}

/* schedulerBegin -- no request is served: begin the next.  A pass that can reach its start leaps there. */
static Res schedulerBegin(PawService service, Bool *lookReturn)
{
  Filed next = schedulerFirst(service, FALSE);
  Pass pass = &service->pass;
  Res res = ResOK;

  if (!ServiceNothing(next)) {
    if (pass->reading != NULL && (pass->slots & next->bit) != 0 &&
        LogPositionCompare(&next->start, &service->current) > 0)
      res = ReadingLeap(pass->reading, &next->start);
    else if (LogPositionCompare(&next->start, &service->current) != 0)
      ServicePassEnd(pass);
    if (res != ResOK)
      return res;
    schedulerTake(service, next);
    service->current = next->start;
  }
  ServiceEnter(service, next);
  *lookReturn = next->state == FiledENDED;
  return ResOK;
}

Res ServiceStep(PawService service, Bool *lookReturn)
{
  Filed next;

  if (service->served == 0)
    return schedulerBegin(service, lookReturn);
  next = schedulerJoin(service);
  if (next != NULL) {
    ServiceEnter(service, next);
    *lookReturn = next->state == FiledENDED;
    return ResOK;
  }
  *lookReturn = !schedulerGivesWay(service);
  if (*lookReturn)
    return schedulerChunk(service);
  ServiceLeave(service);
  return ResOK;
}
