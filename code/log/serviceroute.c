/* serviceroute.c -- what is read for whom, and who is called for an event
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "log/bound.h"

/* ---- Who wants what ---- */

static Routes routesOf(LogService service, Process process)
{
  Index number = process->public.number;

  if (number >= service->processes) {
    Count count = service->log->table.processes;
    Routes *more = realloc(service->routes, count * sizeof *more);
    if (more == NULL)
      return NULL;
    memset(more + service->processes, 0, (count - service->processes) * sizeof *more);
    service->routes = more;
    service->processes = count;
  }
  if (service->routes[number] == NULL)
    service->routes[number] = calloc(1, sizeof **service->routes);
  return service->routes[number];
}

/* routesRenew -- the process has another registry: nothing is known of it */
static Res routesRenew(Routes routes, RegistryStruct *registry)
{
  Count types = registry->count + 1;
  uint64_t *chosen = calloc(types, sizeof *chosen);
  Route route = calloc(types, sizeof *route);
  unsigned char *wanted = calloc(types, 1);

  if (chosen == NULL || route == NULL || wanted == NULL) {
    free(chosen);
    free(route);
    free(wanted);
    return ResMEMORY;
  }
  free(routes->chosen);
  free(routes->route);
  free(routes->wanted);
  *routes = (RoutesStruct){.registry = registry, .chosen = chosen, .route = route, .wanted = wanted};
  return ResOK;
}

/* routesAsk -- ask one request which types of a process it chooses */
static void routesAsk(Routes routes, Process process, Filed filed)
{
  LogRequest request = filed->request;
  void *data = request->chooseData != NULL ? request->chooseData : request->data;
  uint64_t bit = filed->bit;
  Index i;

  for (i = 0; i < EventKindMAX; ++i) {
    routes->reads[i] &= ~bit;
    if (request->choose == NULL && BoundKind(request->kinds, (unsigned)i))
      routes->reads[i] |= bit;
  }
  for (i = 0; i < routes->registry->count; ++i) {
    EventType type = &routes->registry->types[i];
    routes->chosen[i] &= ~bit;
    if (BoundKind(request->kinds, type->kind) &&
        (request->choose == NULL || request->choose(data, &process->public, type))) {
      routes->chosen[i] |= bit;
      routes->reads[type->kind] |= bit;
    }
  }
  routes->known |= bit;
}

/* routesKnow -- have the choices of these slots; NULL: no memory */
static Routes routesKnow(LogService service, Process process, uint64_t bits)
{
  Routes routes = routesOf(service, process);

  if (routes == NULL ||
      (routes->registry != process->public.registry && routesRenew(routes, process->public.registry) != ResOK)) {
    service->res = ResMEMORY;
    return NULL;
  }
  for (bits &= ~routes->known; bits != 0; bits &= bits - 1)
    routesAsk(routes, process, service->slot[__builtin_ctzll(bits)]);
  return routes;
}

void RoutesForget(LogService service, uint64_t bit)
{
  Index i;

  for (i = 0; i < service->processes; ++i)
    if (service->routes[i] != NULL)
      service->routes[i]->known &= ~bit;
}

/* routesMeet -- the slots that may want something of a block with events in [first, last] */
static uint64_t routesMeet(LogService service, unsigned kind, uint64_t first, uint64_t last)
{
  uint64_t bits = 0;
  Index i;

  for (i = 0; i < ServiceSlotMAX; ++i) {
    Filed filed = service->slot[i];
    if (filed != NULL && BoundKind(filed->request->kinds, kind) && !ServiceNothing(filed) &&
        (filed->state == FiledSERVED || !BoundBefore(&filed->start, &service->current)) &&
        BoundMeets(&filed->start, &filed->end, first, last))
      bits |= filed->bit;
  }
  return bits;
}

/* routesWanted -- for the reading: the types of a block that anybody wants who is served or will join */
static const unsigned char *routesWanted(void *data, Process process, unsigned kind, uint64_t first, uint64_t last)
{
  LogService service = data;
  uint64_t bits = routesMeet(service, kind, first, last);
  Routes routes = bits != 0 ? routesKnow(service, process, bits) : NULL;
  Index i;

  if (routes == NULL)
    return NULL;
  if (kind < EventKindMAX)
    bits &= routes->reads[kind];
  if (bits == 0)
    return NULL;
  service->pass.served |= bits;
  for (i = 0; i < routes->registry->count; ++i)
    routes->wanted[i] = (routes->chosen[i] & bits) != 0;
  return routes->wanted;
}

/* ---- Who is called ---- */

/* routesPut -- one more entry at the end of the service's */
static Bool routesPut(LogService service, Index *end, const RouteEntryStruct *entry)
{
  if (*end == service->entryCapacity) {
    Count capacity = service->entryCapacity == 0 ? 64 : service->entryCapacity * 2;
    RouteEntry more = realloc(service->entry, capacity * sizeof *more);
    if (more == NULL)
      return FALSE;
    service->entry = more;
    service->entryCapacity = capacity;
  }
  service->entry[(*end)++] = *entry;
  return TRUE;
}

/* routesHook -- a hook goes behind all that are not to be called later */
static Bool routesHook(LogService service, Index first, Index *end, const RouteEntryStruct *entry)
{
  Index i;

  if (!routesPut(service, end, entry))
    return FALSE;
  for (i = *end - 1; i > first && BoundHookBefore(entry->priority, service->entry[i - 1].priority); --i)
    service->entry[i] = service->entry[i - 1];
  service->entry[i] = *entry;
  return TRUE;
}

/* routesHooks -- all hooks that a request has for events of a code */
static Bool routesHooks(LogService service, Index first, Index *end, Filed filed, uint16_t code)
{
  LogRequest request = filed->request;
  RouteEntryStruct entry = {.call = request->event, .request = request, .filed = filed};
  Index i;

  if (request->event != NULL && !routesHook(service, first, end, &entry))
    return FALSE;
  for (i = 0; i < request->hookCount; ++i) {
    entry.call = request->hooks[i].call;
    entry.priority = request->hooks[i].priority;
    if ((request->hooks[i].code == 0 || request->hooks[i].code == code) && !routesHook(service, first, end, &entry))
      return FALSE;
  }
  return TRUE;
}

/* routesTakes -- does a request choose events of a type? */
static Bool routesTakes(Routes routes, Filed filed, Index type, unsigned kind)
{
  uint64_t reads = kind < EventKindMAX ? routes->reads[kind] : ~(uint64_t)0;

  return filed->state == FiledSERVED && (filed->bit & routes->chosen[type] & reads) != 0 &&
         BoundKind(filed->request->kinds, kind);
}

/* routesMake -- find out who is called for events of a type out of blocks of a kind */
static Bool routesMake(LogService service, Routes routes, Index type, unsigned kind)
{
  Route route = &routes->route[type];
  uint16_t code = routes->registry->types[type].code;
  Index i, tallies, hooks, end;

  if (service->entryGeneration != service->generation) {
    service->entries = 0;
    service->entryGeneration = service->generation;
  }
  route->at = end = service->entries;
  for (i = 0; i < service->count; ++i) {
    RouteEntryStruct entry = {.filed = service->filed[i]};
    if (entry.filed->request->accept != NULL && routesTakes(routes, entry.filed, type, kind) &&
        !routesPut(service, &end, &entry))
      return FALSE;
  }
  tallies = end;
  for (i = 0; i < service->count; ++i) {
    RouteEntryStruct entry = {.filed = service->filed[i]};
    if (entry.filed->left != UINT64_MAX && routesTakes(routes, entry.filed, type, kind) &&
        !routesPut(service, &end, &entry))
      return FALSE;
  }
  hooks = end;
  for (i = 0; i < service->count; ++i)
    if (routesTakes(routes, service->filed[i], type, kind) &&
        !routesHooks(service, hooks, &end, service->filed[i], code))
      return FALSE;
  route->asked = tallies - route->at;
  route->tallies = hooks - tallies;
  route->hooks = end - hooks;
  /* An event in a block of a kind that is not its own is looked up each time: such blocks are not what writers make. */
  route->kind = (uint8_t)kind;
  route->generation = 0;
  if (kind == routes->registry->types[type].kind) {
    service->entries = end;
    route->generation = service->generation;
  }
  return TRUE;
}

/* routesFind -- who is called for an event; NULL: no memory */
static Route routesFind(LogService service, LogEvent event)
{
  Routes routes;
  Route route;
  Index type, i;
  uint64_t bits = 0;

  AVER_CRITICAL(event->process->number < service->processes);
  routes = service->routes[event->process->number];
  type = (Index)(event->type - event->process->registry->types);
  route = &routes->route[type];
  if (LIKELY(routes->registry == event->process->registry && route->generation == service->generation &&
             route->kind == event->kind))
    return route;
  for (i = 0; i < service->count; ++i)
    if (service->filed[i]->state == FiledSERVED)
      bits |= service->filed[i]->bit;
  routes = routesKnow(service, (Process)event->process, bits);
  if (routes == NULL || !routesMake(service, routes, type, event->kind)) {
    service->res = ResMEMORY;
    return NULL;
  }
  return &routes->route[type];
}

/* routesCareful -- call hooks, while who is served may change; TRUE: the run ends behind this event */
static Bool routesCareful(LogService service, RouteEntry entry, RouteEntry end, LogEvent event)
{
  Bool ends = FALSE;

  for (; entry < end; ++entry)
    if (entry->filed->state == FiledSERVED && !entry->filed->refused && !entry->request->stop) {
      ++service->counts.delivered;
      service->enough |= entry->call(entry->request, event);
      ends |= entry->filed->state == FiledSERVED && entry->request->stop; /* one that withdrew itself may be gone */
    }
  return ends | service->enough | service->halted;
}

/* routesAsked -- hand an event to those who chose it and accept it */
static Bool routesAsked(LogService service, Route route, LogEvent event)
{
  RouteEntry entry = service->entry + route->at, end;
  Bool counted = FALSE, enough;

  for (end = entry + route->asked; entry < end; ++entry)
    entry->filed->refused = !entry->filed->request->accept(entry->filed->request->acceptData, event);
  for (end = entry + route->tallies; entry < end; ++entry)
    if (!entry->filed->refused)
      counted |= BoundCounted(--entry->filed->left);
  enough = routesCareful(service, entry, entry + route->hooks, event);
  return enough | counted;
}

/* routesEvent -- the reading's hook: hand an event to all who chose it */
static Bool routesEvent(LogRequest request, LogEvent event)
{
  LogService service = request->data;
  Route route = routesFind(service, event);
  RouteEntry entry, end;
  Bool enough = FALSE, counted = FALSE;

  if (UNLIKELY(route == NULL))
    return TRUE;
  if (UNLIKELY(route->asked > 0))
    return routesAsked(service, route, event);
  entry = service->entry + route->at;
  for (end = entry + route->tallies; entry < end; ++entry)
    counted |= BoundCounted(--entry->filed->left);
  service->counts.delivered += route->hooks;
  for (end = entry + route->hooks; entry < end; ++entry) {
    enough |= entry->call(entry->request, event);
    if (UNLIKELY(service->halted) || UNLIKELY(entry->request->stop)) {
      service->enough |= enough;
      service->counts.delivered -= (uint64_t)(end - entry) - 1;
      (void)routesCareful(service, entry + 1, end, event);
      return TRUE;
    }
  }
  if (UNLIKELY(enough))
    service->enough = TRUE;
  return enough | counted;
}

/* routesGap -- the reading's other hook: events are lost */
static void routesGap(void *data, LogGap gap)
{
  LogService service = data;
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

void RoutesInit(LogService service)
{
  service->generation = 1;
  service->client = (ReadingClientStruct){.data = service, .wanted = routesWanted, .gap = routesGap};
  service->all = (LogRequestStruct)LogRequestALL;
  service->all.data = service;
  service->all.event = routesEvent;
}

void RoutesFinish(LogService service)
{
  Index i;

  for (i = 0; i < service->processes; ++i)
    if (service->routes[i] != NULL) {
      free(service->routes[i]->chosen);
      free(service->routes[i]->route);
      free(service->routes[i]->wanted);
      free(service->routes[i]);
    }
  free(service->routes);
  free(service->entry);
}
