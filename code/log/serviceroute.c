/* serviceroute.c -- what is read for whom
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/service.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "log/bound.h"

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

static void routesFree(Routes routes)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(routes->table); ++i)
    RoutesTableFree(routes->table[i]);
  free(routes->chosen);
  free(routes->wanted);
}

/* routesRenew -- the process has another registry: nothing is known of it */
static Res routesRenew(LogService service, Routes routes, RegistryStruct *registry)
{
  Count types = registry->count + 1;
  uint64_t *chosen = calloc(types, sizeof *chosen);
  unsigned char *wanted = calloc(types, 1);

  if (chosen == NULL || wanted == NULL) {
    free(chosen);
    free(wanted);
    return ResMEMORY;
  }
  if (service->pass.reading != NULL)
    ReadingRoutesForget(service->pass.reading);
  routesFree(routes);
  *routes = (RoutesStruct){.registry = registry, .chosen = chosen, .wanted = wanted};
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

Routes RoutesKnow(LogService service, Process process, uint64_t bits)
{
  Routes routes = routesOf(service, process);

  if (routes == NULL || (routes->registry != process->public.registry &&
                         routesRenew(service, routes, process->public.registry) != ResOK)) {
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
  Routes routes = bits != 0 ? RoutesKnow(service, process, bits) : NULL;
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
  service->client = (ReadingClientStruct){.data = service, .wanted = routesWanted, .routes = RoutesTable,
                                          .halted = RoutesHalted, .gap = routesGap};
  service->learner = (LogRequestStruct){.data = service};
}

void RoutesFinish(LogService service)
{
  Index i;

  for (i = 0; i < service->processes; ++i)
    if (service->routes[i] != NULL) {
      routesFree(service->routes[i]);
      free(service->routes[i]);
    }
  free(service->routes);
  free(service->entry);
}
