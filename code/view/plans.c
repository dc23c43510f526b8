/* plans.c -- what a client works out once for each event type that it meets
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/plans.h"

#include <stdlib.h>

void PlansInit(Plans plans, Size size)
{
  plans->size = size;
  plans->front = NULL;
}

void PlansFinish(Plans plans)
{
  while (plans->front != NULL) {
    plansTableStruct *next = plans->front->next;
    free(plans->front);
    plans->front = next;
  }
}

Bool PlansTurn(Plans plans, Registry registry)
{
  plansTableStruct **link, *table;

  for (link = &plans->front; *link != NULL && (*link)->registry != registry; link = &(*link)->next)
    ;
  table = *link;
  if (table != NULL) {
    *link = table->next;
  } else {
    table = calloc(1, sizeof *table + registry->count * plans->size);
    if (table == NULL)
      return FALSE;
    table->registry = registry;
  }
  table->next = plans->front;
  plans->front = table;
  return TRUE;
}

int PlansParam(EventType type, const char *name, const char *letters)
{
  Index i;

  for (i = 0; i < type->params; ++i) {
    if (type->paramLength[i] == strlen(name) && memcmp(type->param[i], name, type->paramLength[i]) == 0 &&
        strchr(letters, type->letter[i]) != NULL)
      return (int)i;
  }
  return -1;
}

Bool PlansNamed(EventType type, const char *name)
{
  return type->nameLength == strlen(name) && memcmp(type->name, name, type->nameLength) == 0;
}
