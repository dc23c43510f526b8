/* dispatch.c -- which types are read for the requests, and which hooks are called for an event
 *
 * Before a block is loaded the pass asks for which types.  For each type of each process, and each kind of block, there
 * is a route: those who are called, in their order.  It is learned when the first such event comes after a request
 * entered or left; until then the route leads to dispatchLearn.  If no hook of a route can filter events or is one of
 * several of its request, the pass calls the hooks directly; otherwise it calls dispatchCareful.
 *
 * Design: design/requests.md .wanted .route      Tests: test/request/requesttest.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/requestservice.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"

/* ---- What is read ---- */

static void routesFree(Routes routes)
{
  Index i, t;

  for (i = 0; routes != NULL && i < ARRAY_LENGTH(routes->table); ++i) {
    RouteTable table = routes->table[i];
    for (t = 0; table != NULL && t < table->types; ++t)
      free(table->own[t]);
    free(table);
  }
  free(routes);
}

/* routesOf -- the routes of a process; empty ones if its registry has changed since.  NULL: no memory. */
static Routes routesOf(PawService service, Process process)
{
  Registry registry = process->public.registry;
  Index number = process->public.number;
  Routes fresh;

  if (!GrowTo(&service->routes, &service->processes, number, sizeof *service->routes))
    return NULL;
  if (service->routes[number] != NULL && service->routes[number]->registry == registry)
    return service->routes[number];
  fresh = calloc(1, sizeof *fresh + registry->count * (sizeof fresh->chosen[0] + sizeof fresh->wanted[0]));
  if (fresh == NULL)
    return NULL;
  fresh->registry = registry;
  fresh->wanted = (unsigned char *)(fresh->chosen + registry->count);
  if (service->pass.reading != NULL)
    ReadingRoutesForget(service->pass.reading);
  routesFree(service->routes[number]);
  return service->routes[number] = fresh;
}

/* routesAsk -- ask one request which types of a process it chooses */
static void routesAsk(Routes routes, Process process, Filed filed)
{
  LogRequest request = filed->request;
  uint64_t bit = filed->bit;
  Index i;

  for (i = 0; i < EventKindMAX; ++i) {
    routes->reads[i] &= ~bit;
    if (request->choose == NULL && ServiceKind(request->kinds, (unsigned)i))
      routes->reads[i] |= bit;
  }
  for (i = 0; i < routes->registry->count; ++i) {
    EventType type = &routes->registry->types[i];
    routes->chosen[i] &= ~bit;
    if (LogRequestChooses(request, &process->public, type)) {
      routes->chosen[i] |= bit;
      routes->reads[type->kind] |= bit;
    }
  }
  routes->known |= bit;
}

/* routesKnow -- ask the requests of these slots, as far as they were not asked, which types they choose */
static Routes routesKnow(PawService service, Process process, uint64_t bits)
{
  Routes routes = routesOf(service, process);

  if (routes == NULL)
    service->res = ResMEMORY;
  else
    for (bits &= ~routes->known; bits != 0; bits &= bits - 1)
      routesAsk(routes, process, service->slot[__builtin_ctzll(bits)]);
  return routes;
}

void DispatchForget(PawService service, uint64_t bit)
{
  Index i;

  for (i = 0; i < service->processes; ++i)
    if (service->routes[i] != NULL)
      service->routes[i]->known &= ~bit;
}

/* routesMeet -- the slots whose requests may want an event of a block with events in [first, last], fine */
static uint64_t routesMeet(PawService service, unsigned kind, uint64_t first, uint64_t last)
{
  LogPositionStruct opened = {.fine = first};
  uint64_t bits = 0;
  Index i;

  for (i = 0; i < ServiceSlotMAX; ++i) {
    Filed filed = service->slot[i];
    if (filed != NULL && ServiceKind(filed->request->kinds, kind) && !ServiceNothing(filed) &&
        (filed->state == FiledSERVED || LogPositionCompare(&filed->start, &service->current) >= 0) &&
        filed->start.fine <= last && LogPositionCompare(&filed->end, &opened) > 0)
      bits |= filed->bit;
  }
  return bits;
}

/* routesWanted -- the reading's hook `wanted`: the types of a block that a request wants which is served or will
 * join */
static const unsigned char *routesWanted(void *data, Process process, unsigned kind, uint64_t first, uint64_t last)
{
  PawService service = data;
  uint64_t bits = routesMeet(service, kind, first, last);
  Routes routes = bits != 0 ? routesKnow(service, process, bits) : NULL;
  Index i;

  if (routes == NULL)
    return NULL;
  if (kind < EventKindMAX)
    bits &= routes->reads[kind];
  if (bits == 0)
    return NULL;
  for (i = 0; i < routes->registry->count; ++i)
    routes->wanted[i] = (routes->chosen[i] & bits) != 0;
  return routes->wanted;
}

/* routesGap -- the reading's hook for gaps */
static void routesGap(void *data, LogGap gap)
{
  PawService service = data;
  Index i = 0;

  ++service->gaps;
  while (i < service->count) {
    Filed filed = service->filed[i++];
    if (filed->state != FiledSERVED || filed->gaps == service->gaps || filed->request->gap == NULL ||
        filed->request->stop)
      continue;
    filed->gaps = service->gaps;
    filed->request->gap(filed->request, gap);
    if (filed->state == FiledSERVED && filed->request->stop)
      ServiceHalt(service);
    i = 0; /* anybody may have been withdrawn */
  }
}

/* ---- Hooks for events of a type ---- */

/* dispatchPut -- add an entry to the route: after all entries from `first` on that must not be called later */
static Bool dispatchPut(PawService service, Index first, const RouteEntryStruct *entry)
{
  Index i;

  if (!Grow(&service->entry, &service->entryCapacity, service->entries, sizeof *service->entry))
    return FALSE;
  for (i = service->entries++; i > first && entry->priority < service->entry[i - 1].priority; --i)
    service->entry[i] = service->entry[i - 1];
  service->entry[i] = *entry;
  return TRUE;
}

/* dispatchHooks -- add all hooks of a request for events of a code */
static Bool dispatchHooks(PawService service, Index first, Filed filed, uint16_t code)
{
  LogRequest request = filed->request;
  RouteEntryStruct entry = {.call = request->event, .filed = filed};
  Index i;

  if (request->event != NULL && !dispatchPut(service, first, &entry))
    return FALSE;
  for (i = 0; i < request->hookCount; ++i) {
    entry.call = request->hooks[i].call;
    entry.priority = request->hooks[i].priority;
    if ((request->hooks[i].code == 0 || request->hooks[i].code == code) && !dispatchPut(service, first, &entry))
      return FALSE;
  }
  return TRUE;
}

/* dispatchTakes -- does a request choose events of a type? */
static Bool dispatchTakes(Routes routes, Filed filed, Index type, unsigned kind)
{
  uint64_t reads = kind < EventKindMAX ? routes->reads[kind] : ~(uint64_t)0;

  return filed->state == FiledSERVED && (filed->bit & routes->chosen[type] & reads) != 0 &&
         ServiceKind(filed->request->kinds, kind);
}

/* dispatchList -- list the hooks to call, and before them the requests that filter or count; *carefulReturn: must
 * something be tested between two hooks? */
static Bool dispatchList(PawService service, Routes routes, Index type, unsigned kind, Count *takersReturn,
                         Bool *carefulReturn)
{
  Index i, before;

  service->entries = 0;
  *carefulReturn = FALSE;
  for (i = 0; i < service->count; ++i) {
    RouteEntryStruct entry = {.filed = service->filed[i]};
    Bool accepts = entry.filed->request->accept != NULL;
    if (!dispatchTakes(routes, entry.filed, type, kind))
      continue;
    *carefulReturn |= accepts;
    if ((accepts || entry.filed->left != UINT64_MAX) && !dispatchPut(service, service->entries, &entry))
      return FALSE;
  }
  *takersReturn = service->entries;
  for (i = 0; i < service->count; ++i) {
    Filed filed = service->filed[i];
    before = service->entries;
    if (dispatchTakes(routes, filed, type, kind) &&
        !dispatchHooks(service, *takersReturn, filed, routes->registry->types[type].code))
      return FALSE;
    *carefulReturn |= service->entries > before + 1;
  }
  return TRUE;
}

/* ---- Calling them ---- */

/* dispatchCareful -- the one hook of a careful route: it calls the hooks, except those of requests that have been
 * withdrawn, have stopped, or do not accept the event */
static Bool dispatchCareful(LogRequest request, LogEvent event)
{
  Careful careful = (Careful)request;
  RouteEntry entry = careful->entry, end;
  Bool ends = FALSE;

  for (end = entry + careful->takers; entry < end; ++entry) {
    Filed filed = entry->filed;
    filed->refused = filed->request->accept != NULL && !filed->request->accept(filed->request->acceptData, event);
    if (!filed->refused && filed->left != UINT64_MAX)
      ends |= --filed->left == 0;
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

/* dispatchRest -- a hook has filed or withdrawn a request: call the hooks after it whose requests are still served */
static void dispatchRest(void *data, const ReadingHandStruct *more, LogEvent event)
{
  PawService service = data;

  for (; more != NULL && more->call != NULL; ++more) {
    Filed filed = ServiceFind(service, more->request);
    if (filed != NULL && filed->state == FiledSERVED && !more->request->stop)
      (void)more->call(more->request, event);
  }
}

/* ---- Routes ---- */

static Bool dispatchNobody(LogRequest request, LogEvent event)
{
  UNUSED(request);
  UNUSED(event);
  return FALSE;
}

/* dispatchCount -- the hook of a request that counts its events */
static Bool dispatchCount(LogRequest request, LogEvent event)
{
  Filed filed = request->data;

  UNUSED(event);
  return --filed->left == 0;
}

/* dispatchPlain -- the route calls the hooks directly */
static void *dispatchPlain(PawService service, ReadingRouteStruct *route)
{
  ReadingHand hand = malloc((service->entries + 1) * sizeof *hand);
  Index i;

  if (hand == NULL)
    return NULL;
  for (i = 0; i < service->entries; ++i) {
    RouteEntry entry = &service->entry[i];
    hand[i] = entry->call != NULL ? (ReadingHandStruct){entry->call, entry->filed->request}
                                  : (ReadingHandStruct){dispatchCount, &entry->filed->counter};
  }
  hand[i] = (ReadingHandStruct){NULL, NULL};
  route->hand = service->entries > 0 ? hand[0] : (ReadingHandStruct){dispatchNobody, &service->learner};
  route->more = service->entries > 1 ? &hand[1] : NULL;
  return hand;
}

/* dispatchGuarded -- the route calls dispatchCareful */
static void *dispatchGuarded(PawService service, ReadingRouteStruct *route, Count takers)
{
  Careful careful = malloc(sizeof *careful + service->entries * sizeof careful->entry[0]);

  if (careful == NULL)
    return NULL;
  careful->handed = (LogRequestStruct){.stop = FALSE};
  careful->takers = takers;
  careful->hooks = service->entries - takers;
  memcpy(careful->entry, service->entry, service->entries * sizeof careful->entry[0]);
  route->hand = (ReadingHandStruct){dispatchCareful, &careful->handed};
  route->more = NULL;
  return careful;
}

/* dispatchLearn -- the hook of a route that is not made yet: make it, and call its first hook.  The pass reads the
 * route again after each call. */
static Bool dispatchLearn(LogRequest request, LogEvent event)
{
  PawService service = request->data;
  Routes routes = service->routes[event->process->number];
  RouteTable table = routes->table[event->kind < EventKindMAX ? event->kind : EventKindMAX];
  Index type = event->type->number;
  Count takers;
  Bool careful;

  AVER(table->generation == service->generation && type < table->types);
  free(table->own[type]);
  table->own[type] = NULL;
  if (dispatchList(service, routes, type, event->kind, &takers, &careful))
    table->own[type] = careful ? dispatchGuarded(service, &table->route[type], takers)
                               : dispatchPlain(service, &table->route[type]);
  if (table->own[type] == NULL) {
    service->res = ResMEMORY;
    return TRUE;
  }
  return table->route[type].hand.call(table->route[type].hand.request, event);
}

static const ReadingRouteStruct *routesTable(void *data, Process process, unsigned kind)
{
  PawService service = data;
  uint64_t bits = 0;
  Routes routes;
  RouteTable *place, table;
  Index i;

  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED)
      bits |= service->filed[i]->bit;
  routes = routesKnow(service, process, bits);
  if (routes == NULL)
    return NULL;
  place = &routes->table[kind < EventKindMAX ? kind : EventKindMAX];
  table = *place;
  if (table == NULL) {
    Count types = routes->registry->count;
    table = *place = calloc(1, sizeof *table + types * (sizeof table->route[0] + sizeof table->own[0]));
    if (table == NULL)
      return NULL;
    table->types = types;
    table->own = (void **)(table->route + types);
  }
  if (table->generation != service->generation) {
    table->generation = service->generation;
    for (i = 0; i < table->types; ++i)
      table->route[i] = (ReadingRouteStruct){{dispatchLearn, &service->learner}, NULL, &routes->registry->types[i]};
  }
  return table->route;
}

void DispatchInit(PawService service)
{
  service->generation = 1;
  service->client = (ReadingClientStruct){.data = service, .wanted = routesWanted, .routes = routesTable,
                                          .halted = dispatchRest, .gap = routesGap};
  service->learner = (LogRequestStruct){.data = service};
}

void DispatchFinish(PawService service)
{
  Index i;

  for (i = 0; i < service->processes; ++i)
    routesFree(service->routes[i]);
  free(service->routes);
  free(service->entry);
}
