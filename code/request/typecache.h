/* typecache.h -- what a client works out once for each event type that it meets
 *
 * A plan is the client's own struct, zeroed when its type is first met, and found again in a few instructions.
 *
 * Design: design/view.md .drawn      Tests: test/drawn.t
 */
#ifndef REQUEST_TYPECACHE_H
#define REQUEST_TYPECACHE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct plansTableStruct {
  struct plansTableStruct *next;
  Registry registry;
  _Alignas(16) unsigned char plans[];
} plansTableStruct;

typedef struct PlansStruct {
  Size size;               /* bytes of a plan */
  plansTableStruct *front; /* of the registry met last, then the others */
} PlansStruct, *Plans;

extern void PlansInit(Plans plans, Size size);
extern void PlansFinish(Plans plans);

/* PlansTurn -- bring the plans for another registry to the front; FALSE: no memory.  For PlansOf. */
extern Bool PlansTurn(Plans plans, Registry registry);

/* PlansOf -- the plan for the event's type; NULL: no memory */
static inline void *PlansOf(Plans plans, LogEvent event)
{
  Registry registry = event->process->registry;

  if (UNLIKELY(plans->front == NULL || plans->front->registry != registry) && !PlansTurn(plans, registry))
    return NULL;
  return plans->front->plans + (Size)(event->type - registry->types) * plans->size;
}

/* PlansParam -- the place of the parameter that is called so, of one of these letters; -1 if there is none */
extern int PlansParam(EventType type, const char *name, const char *letters);

/* What a type tells a client that knows it by name, and by which parameters. */
enum { PlansPARAMS = 4, PlansUNMADE = 0, PlansNOTHING, PlansCLIENT }; /* what a client knows begins there */

typedef struct PlansTellStruct {
  int tells; /* PlansUNMADE: the type has not been met */
  int param[PlansPARAMS]; /* their places, or -1 */
} PlansTellStruct, *PlansTell;

typedef struct PlansKnownStruct {
  const char *type;
  int tells;
  const char *param[PlansPARAMS]; /* "letters name"; with ? before it one that the type may lack; NULL: none */
} PlansKnownStruct;

/* PlansMatch -- what a type tells: the last of the `count` known that has its name, and all of whose parameters it has
 * PlansTells -- the same of an event's type, worked out once, for Plans of PlansTellStructs; NULL: no memory */
extern void PlansMatch(PlansTell tell, EventType type, const PlansKnownStruct *known, Count count);

static inline PlansTell PlansTells(Plans plans, LogEvent event, const PlansKnownStruct *known, Count count)
{
  PlansTell tell = (PlansTell)PlansOf(plans, event);

  if (LIKELY(tell != NULL) && UNLIKELY(tell->tells == PlansUNMADE))
    PlansMatch(tell, event->type, known, count);
  return tell;
}

/* PlansNamed -- is the type called so? */
extern Bool PlansNamed(EventType type, const char *name);

/* PlansBase -- the last part of a path of *length bytes, which becomes that part's */
extern const char *PlansBase(const char *path, Size *length);

#endif /* REQUEST_TYPECACHE_H */
