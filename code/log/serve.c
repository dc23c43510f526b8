/* serve.c -- the algorithm: who is served next, from where, and how far
 *
 * One step at a time.  Somebody enters; or all that are served give way; or a chunk is read, and who has had all
 * ends.  Each step begins by looking at everything anew, because hooks file and withdraw as they like.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include "base/aver.h"
#include "log/bound.h"

/* serveBetter -- of two that wait, does `a` go first? */
static Bool serveBetter(Filed a, Filed b)
{
  if (a->request->priority != b->request->priority)
    return BoundUrgent(a->request->priority, b->request->priority);
  return BoundBefore(&a->start, &b->start);
}

/* serveFirst -- of those that wait, and if `bare` have no slot, the one that goes first; NULL if there is none */
static Filed serveFirst(LogService service, Bool bare)
{
  Filed first = NULL;
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledWAITING && (!bare || filed->bit == 0) && (first == NULL || serveBetter(filed, first)))
      first = filed;
  }
  return first;
}

/* serveJoin -- one that can join those that are served, or NULL */
static Filed serveJoin(LogService service)
{
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    if (filed->state == FiledWAITING && filed->bit != 0 && BoundJoins(&filed->start, &service->current))
      return filed;
  }
  return NULL;
}

/* serveTake -- a slot for one that must have it: of those that wait, the last in turn gives its own up */
static void serveTake(LogService service, Filed filed)
{
  Filed last = NULL;
  Index i;

  ServiceSlot(service, filed);
  if (filed->bit != 0)
    return;
  for (i = 0; i < service->count; ++i) {
    Filed other = service->filed[i];
    if (other->state == FiledWAITING && other->bit != 0 && (last == NULL || !serveBetter(other, last)))
      last = other;
  }
  AVER(last != NULL);
  service->slot[__builtin_ctzll(last->bit)] = NULL;
  last->bit = 0;
  ServiceSlot(service, filed);
}

/* serveGivesWay -- are only requests served that must give way to one that waits? */
static Bool serveGivesWay(LogService service)
{
  LogPriority served = LogPriorityLOW, waiting = LogPriorityLOW;
  Index i;

  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    LogPriority *highest = filed->state == FiledSERVED ? &served : &waiting;
    if (filed->request->priority > *highest)
      *highest = filed->request->priority;
  }
  return BoundUrgent(waiting, served);
}

/* serveReckoned -- does a pass reckon with all that are served? */
static Bool serveReckoned(LogService service, const PassStruct *pass)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED && !BoundReckons(pass->slots, service->filed[i]->bit))
      return FALSE;
  return TRUE;
}

/* serveRestore -- go on with a pass that was saved here, if there is one that serves */
static Bool serveRestore(LogService service)
{
  Index i;

  for (i = 0; i < LogPriorityLIMIT; ++i) {
    Pass saved = &service->saved[i];
    if (saved->reading != NULL && BoundJoins(&service->current, &saved->reading->position) &&
        serveReckoned(service, saved)) {
      service->pass = *saved;
      *saved = (PassStruct){.reading = NULL};
      ++service->counts.restores;
      return TRUE;
    }
  }
  return FALSE;
}

/* serveReady -- have a pass that stands at `current` and reckons with all that are served */
static Res serveReady(LogService service)
{
  Filed bare;

  if (service->pass.reading != NULL && serveReckoned(service, &service->pass))
    return ResOK;
  ServicePassEnd(service, &service->pass);
  if (serveRestore(service))
    return ResOK;
  /* A new pass can reckon with more of them. */
  while ((bare = serveFirst(service, TRUE)) != NULL) {
    ServiceSlot(service, bare);
    if (bare->bit == 0)
      break;
  }
  service->pass.slots = ~(uint64_t)0; /* those that come later see to themselves */
  ++service->counts.seeks;
  return ReadingCreate(&service->pass.reading, service->log, &service->client, &service->current);
}

/* serveEnd -- up to where nothing changes: the lowest end of those served, or start that is ahead */
static void serveEnd(LogPosition endReturn, LogService service)
{
  Index i;

  *endReturn = (LogPositionStruct)LogPositionLAST;
  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    const LogPositionStruct *bound = &filed->end;
    if (filed->state == FiledWAITING) {
      if (filed->bit == 0 || !BoundAhead(&filed->start, &service->current))
        continue;
      bound = &filed->start;
    }
    if (BoundBefore(bound, endReturn))
      *endReturn = *bound;
  }
}

/* serveOver -- the next of those served that has had all, or NULL */
static Filed serveOver(LogService service)
{
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED && ServiceOver(service, service->filed[i]))
      return service->filed[i];
  return NULL;
}

/* serveRead -- one run of the pass, up to `end` or for a chunk */
static Res serveRead(LogService service, const LogPositionStruct *end)
{
  Reading reading = service->pass.reading;
  Res res;

  reading->halt = FALSE;
  res = ReadingRun(reading, end, service->chunk);
  service->enough = reading->ended;
  return res;
}

/* serveChunk -- read on, and let those go that have had all */
static Res serveChunk(LogService service)
{
  LogPositionStruct end;
  uint64_t generation = service->generation;
  Filed over;
  Res res = serveReady(service);

  if (res != ResOK || service->generation != generation)
    return res; /* or a hook that was told of a gap has changed something */
  serveEnd(&end, service);
  res = serveRead(service, &end);
  if (res == ResOK || res == ResEND) {
    service->current = service->pass.reading->position;
    service->dry = res == ResEND;
    while ((over = serveOver(service)) != NULL)
      ServiceEnd(service, over);
    service->dry = FALSE;
    res = service->res;
  }
  service->res = ResOK;
  return res;
}

/* serveBegin -- nobody is served: who is next?  A pass that can come to where it starts leaps there. */
static Res serveBegin(LogService service, Bool *lookReturn)
{
  Filed next = serveFirst(service, FALSE);
  Pass pass = &service->pass;
  Res res = ResOK;

  if (!ServiceNothing(next)) {
    if (pass->reading != NULL && BoundReckons(pass->slots, next->bit) &&
        BoundAhead(&next->start, &service->current))
      res = ReadingLeap(pass->reading, &next->start);
    else if (!BoundJoins(&next->start, &service->current))
      ServicePassEnd(service, pass);
    if (res != ResOK)
      return res;
    serveTake(service, next);
    service->current = next->start;
  }
  ServiceEnter(service, next);
  *lookReturn = next->state == FiledENDED;
  return ResOK;
}

Res ServiceStep(LogService service, Bool *lookReturn)
{
  Filed next;

  if (service->served == 0)
    return serveBegin(service, lookReturn);
  next = serveJoin(service);
  if (next != NULL) {
    ServiceEnter(service, next);
    *lookReturn = next->state == FiledENDED;
    return ResOK;
  }
  *lookReturn = !serveGivesWay(service);
  if (*lookReturn)
    return serveChunk(service);
  ServiceLeave(service);
  return ResOK;
}
