/* plans.h -- what a client works out once for each event type that it meets
 *
 * A plan is the client's own struct, zeroed when its type is first met, and found again in a few instructions.
 *
 * Design: design/view.md .drawn      Tests: test/drawn.t
 */
#ifndef VIEW_PLANS_H
#define VIEW_PLANS_H

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

/* PlansNamed -- is the type called so? */
extern Bool PlansNamed(EventType type, const char *name);

#endif /* VIEW_PLANS_H */
