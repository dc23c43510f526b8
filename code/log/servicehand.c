/* servicehand.c -- who is called for an event
 *
 * For each type of each process, and each kind of block, there is a route: those who are called, in their order.  It is
 * learned when the first such event comes after somebody entered or left; until then the route is to whoever learns it.
 * Where nothing is to be looked at between two hooks the pass calls them itself; else it calls one of ours, which does.
 *
 * Design: design/requests.md .route      Tests: test/requesttest.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "log/bound.h"

/* ---- Who is called for events of a type ---- */

/* handPut -- one more entry of the route that is made */
static Bool handPut(LogService service, const RouteEntryStruct *entry)
{
  if (!Grow(&service->entry, &service->entryCapacity, service->entries, sizeof *service->entry))
    return FALSE;
  service->entry[service->entries++] = *entry;
  return TRUE;
}

/* handHook -- a hook goes behind all, from `first` on, that are not to be called later */
static Bool handHook(LogService service, Index first, const RouteEntryStruct *entry)
{
  Index i;

  if (!handPut(service, entry))
    return FALSE;
  for (i = service->entries - 1; i > first && BoundHookBefore(entry->priority, service->entry[i - 1].priority); --i)
    service->entry[i] = service->entry[i - 1];
  service->entry[i] = *entry;
  return TRUE;
}

/* handHooks -- all hooks that a request has for events of a code */
static Bool handHooks(LogService service, Index first, Filed filed, uint16_t code)
{
  LogRequest request = filed->request;
  RouteEntryStruct entry = {.call = request->event, .filed = filed};
  Index i;

  if (request->event != NULL && !handHook(service, first, &entry))
    return FALSE;
  for (i = 0; i < request->hookCount; ++i) {
    entry.call = request->hooks[i].call;
    entry.priority = request->hooks[i].priority;
    if ((request->hooks[i].code == 0 || request->hooks[i].code == code) && !handHook(service, first, &entry))
      return FALSE;
  }
  return TRUE;
}

/* handTakes -- does a request choose events of a type? */
static Bool handTakes(Routes routes, Filed filed, Index type, unsigned kind)
{
  uint64_t reads = kind < EventKindMAX ? routes->reads[kind] : ~(uint64_t)0;

  return filed->state == FiledSERVED && (filed->bit & routes->chosen[type] & reads) != 0 &&
         BoundKind(filed->request->kinds, kind);
}

/* handList -- list who is called, and before them who is asked or counts; *carefulReturn is whether there is anything
 * to be looked at in between */
static Bool handList(LogService service, Routes routes, Index type, unsigned kind, Count *takersReturn,
                     Bool *carefulReturn)
{
  Index i, before;

  service->entries = 0;
  *carefulReturn = FALSE;
  for (i = 0; i < service->count; ++i) {
    RouteEntryStruct entry = {.filed = service->filed[i]};
    Bool accepts = entry.filed->request->accept != NULL;
    if (!handTakes(routes, entry.filed, type, kind))
      continue;
    *carefulReturn |= accepts;
    if ((accepts || entry.filed->left != UINT64_MAX) && !handPut(service, &entry))
      return FALSE;
  }
  *takersReturn = service->entries;
  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    before = service->entries;
    if (handTakes(routes, filed, type, kind) &&
        !handHooks(service, *takersReturn, filed, routes->registry->types[type].code))
      return FALSE;
    *carefulReturn |= service->entries > before + 1;
  }
  return TRUE;
}

/* ---- Calling them ---- */

/* handCareful -- the hook of a careful route: who withdraws is called no more, nor who stops, nor who refuses it */
static Bool handCareful(LogRequest request, LogEvent event)
{
  Careful careful = (Careful)request;
  RouteEntry entry = careful->entry, end;
  Bool ends = FALSE;

  for (end = entry + careful->takers; entry < end; ++entry) {
    Filed filed = entry->filed;
    filed->refused = filed->request->accept != NULL && !filed->request->accept(filed->request->acceptData, event);
    if (!filed->refused && filed->left != UINT64_MAX)
      ends |= BoundCounted(--filed->left);
  }
  for (end = entry + careful->hooks; entry < end; ++entry) {
    Filed filed = entry->filed;
    if (filed->state != FiledSERVED || filed->refused || filed->request->stop)
      continue;
    ends |= entry->call(filed->request, event);
    ends |= filed->state == FiledSERVED && filed->request->stop; /* one that withdrew itself may be gone */
  }
  return ends;
}

void RoutesHalted(void *data, const ReadingHandStruct *more, LogEvent event)
{
  LogService service = data;

  for (; more != NULL && more->call != NULL; ++more) {
    Filed filed = ServiceFind(service, more->request);
    if (filed != NULL && filed->state == FiledSERVED && !more->request->stop)
      (void)more->call(more->request, event);
  }
}

/* ---- Routes ---- */

static Bool handNobody(LogRequest request, LogEvent event)
{
  UNUSED(request);
  UNUSED(event);
  return FALSE;
}

/* handCount -- the hook of one who counts */
static Bool handCount(LogRequest request, LogEvent event)
{
  Filed filed = request->data;

  UNUSED(event);
  return BoundCounted(--filed->left);
}

/* handPlain -- the route is the hooks themselves */
static void *handPlain(LogService service, ReadingRouteStruct *route)
{
  ReadingHand hand = malloc((service->entries + 1) * sizeof *hand);
  Index i;

  if (hand == NULL)
    return NULL;
  for (i = 0; i < service->entries; ++i) {
    RouteEntry entry = &service->entry[i];
    hand[i] = entry->call != NULL ? (ReadingHandStruct){entry->call, entry->filed->request}
                                  : (ReadingHandStruct){handCount, &entry->filed->counter};
  }
  hand[i] = (ReadingHandStruct){NULL, NULL};
  route->hand = service->entries > 0 ? hand[0] : (ReadingHandStruct){handNobody, &service->learner};
  route->more = service->entries > 1 ? &hand[1] : NULL;
  return hand;
}

/* handGuarded -- the route is to handCareful */
static void *handGuarded(LogService service, ReadingRouteStruct *route, Count takers)
{
  Careful careful = malloc(sizeof *careful + service->entries * sizeof careful->entry[0]);

  if (careful == NULL)
    return NULL;
  careful->handed = (LogRequestStruct){.stop = FALSE};
  careful->takers = takers;
  careful->hooks = service->entries - takers;
  memcpy(careful->entry, service->entry, service->entries * sizeof careful->entry[0]);
  route->hand = (ReadingHandStruct){handCareful, &careful->handed};
  route->more = NULL;
  return careful;
}

/* handLearn -- the hook of a route of which nothing is known yet: find out, and stand in for the first on it.  The pass
 * looks at the route again behind each call. */
static Bool handLearn(LogRequest request, LogEvent event)
{
  LogService service = request->data;
  Routes routes = service->routes[event->process->number];
  RouteTable table = routes->table[event->kind < EventKindMAX ? event->kind : EventKindMAX];
  Index type = (Index)(event->type - routes->registry->types);
  Count takers;
  Bool careful;

  AVER(table->generation == service->generation && type < table->types);
  free(table->own[type]);
  table->own[type] = NULL;
  if (handList(service, routes, type, event->kind, &takers, &careful))
    table->own[type] = careful ? handGuarded(service, &table->route[type], takers)
                               : handPlain(service, &table->route[type]);
  if (table->own[type] == NULL) {
    service->res = ResMEMORY;
    return TRUE;
  }
  return table->route[type].hand.call(table->route[type].hand.request, event);
}

static RouteTable handTableMake(Count types)
{
  RouteTable table = calloc(1, sizeof *table + types * (sizeof table->route[0] + sizeof table->own[0]));

  if (table != NULL) {
    table->types = types;
    table->own = (void **)(table->route + types);
  }
  return table;
}

const ReadingRouteStruct *RoutesTable(void *data, Process process, unsigned kind)
{
  LogService service = data;
  uint64_t bits = 0;
  Routes routes;
  RouteTable *place, table;
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED)
      bits |= service->filed[i]->bit;
  routes = RoutesKnow(service, process, bits);
  if (routes == NULL)
    return NULL;
  place = &routes->table[kind < EventKindMAX ? kind : EventKindMAX];
  if (*place == NULL)
    *place = handTableMake(routes->registry->count);
  table = *place;
  if (table != NULL && table->generation != service->generation) {
    table->generation = service->generation;
    for (i = 0; i < table->types; ++i)
      table->route[i] = (ReadingRouteStruct){{handLearn, &service->learner}, NULL, &routes->registry->types[i]};
  }
  return table != NULL ? table->route : NULL;
}

void RoutesTableFree(RouteTable table)
{
  Index i;

  for (i = 0; table != NULL && i < table->types; ++i)
    free(table->own[i]);
  free(table);
}
