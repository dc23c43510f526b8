/* heapsim.h -- what threads might do to a heap, and the stamps that a recorder might give it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads take turns at random, one step at a time, so that what is true is known; the allocator is a list of free
 * addresses, last in first out, so that an address is given out again at once, often to another thread.  Each event's
 * stamp is off by up to `jitter` ns; those of one thread stay in order.  The events are then sorted by stamp, as a
 * reader would.
 */
#ifndef TEST_HEAPSIM_H
#define TEST_HEAPSIM_H

#include <stdint.h>
#include <stdlib.h>

#include "base/types.h"
#include "heap/heapreorder.h"
#include "tap.h"

typedef struct SimEventStruct {
  uint64_t stamp, truth;     /* ns */
  HeapInputKind kind;
  unsigned thread;
  uint64_t addr, old, size;
  uint64_t object;           /* the object's number, which no log has */
  unsigned align, zero;
} SimEventStruct, *SimEvent;

typedef struct SimParamsStruct {
  uint64_t seed;
  unsigned threads;
  Count events;              /* about so many */
  Count live;                /* about so many objects */
  uint64_t jitter;           /* ns */
  uint64_t step;             /* ns between two steps, on average */
  unsigned strangers;        /* percent of frees and resizes that are of any thread's objects; the rest of the own */
} SimParamsStruct, *SimParams;

typedef struct SimObjectStruct {
  uint64_t addr, size, object;
  unsigned thread;           /* that allocated it */
  Bool busy;                 /* a resize has begun */
} SimObjectStruct, *SimObject;

enum { simTHREADS = 64, simRESIZES = 3 };

typedef struct SimStruct {
  SimParams params;
  uint64_t random, now, next, objects;
  Count count, capacity;
  SimEvent events;
  uint64_t last[simTHREADS]; /* stamp of each thread's last event */
  Count free;
  uint64_t *freed;           /* addresses, the newest last */
  Count live;
  SimObject object;
  struct {                   /* the resize that a thread is in */
    unsigned step;           /* 0 none */
    unsigned outcome;        /* 0 moves, 1 in place, 2 fails */
    uint64_t object, addr, size;
  } resize[simTHREADS];
} SimStruct, *Sim;

static uint64_t simBelow(Sim sim, uint64_t n)
{
  return TapRandom(&sim->random) % n;
}

static void simEvent(Sim sim, unsigned thread, HeapInputKind kind, uint64_t addr, uint64_t old, uint64_t size,
                     uint64_t object)
{
  SimEvent event = &sim->events[sim->count++];
  uint64_t jitter = sim->params->jitter;

  memset(event, 0, sizeof *event);
  event->kind = kind;
  event->thread = thread;
  event->addr = addr;
  event->old = old;
  event->size = size;
  event->object = object;
  event->truth = sim->now;
  event->stamp = sim->now + jitter - (jitter == 0 ? 0 : simBelow(sim, 2 * jitter));
  if (event->stamp <= sim->last[thread])
    event->stamp = sim->last[thread] + 1;
  sim->last[thread] = event->stamp;
}

static uint64_t simAddress(Sim sim)
{
  if (sim->free > 0)
    return sim->freed[--sim->free];
  return sim->next += 16;
}

static void simAlloc(Sim sim, unsigned thread)
{
  SimObject object = &sim->object[sim->live++];
  SimEvent event;

  object->addr = simAddress(sim);
  object->size = simBelow(sim, 8) == 0 ? simBelow(sim, 5000) : simBelow(sim, 100) + 1;
  object->object = ++sim->objects;
  object->thread = thread;
  object->busy = FALSE;
  simEvent(sim, thread, HeapInALLOC, object->addr, 0, object->size, object->object);
  event = &sim->events[sim->count - 1];
  if (simBelow(sim, 16) == 0)
    event->align = 4 + (unsigned)simBelow(sim, 6);
  else
    event->zero = simBelow(sim, 8) == 0;
}

/* simChoose -- an object for the thread to free or resize, or NULL */
static SimObject simChoose(Sim sim, unsigned thread)
{
  Bool any = simBelow(sim, 100) < sim->params->strangers;
  unsigned i;

  for (i = 0; i < 50 && sim->live > 0; ++i) {
    SimObject object = &sim->object[simBelow(sim, sim->live)];
    if (!object->busy && (any || object->thread == thread))
      return object;
  }
  return NULL;
}

static void simFree(Sim sim, unsigned thread)
{
  SimObject object = simChoose(sim, thread);

  if (object == NULL)
    return;
  simEvent(sim, thread, HeapInFREE, object->addr, 0, object->size, object->object);
  sim->freed[sim->free++] = object->addr;
  *object = sim->object[--sim->live];
}

static void simResizeBegin(Sim sim, unsigned thread)
{
  SimObject object = simChoose(sim, thread);

  if (object == NULL)
    return;
  object->busy = TRUE;
  sim->resize[thread].step = 1;
  sim->resize[thread].outcome = simBelow(sim, 8) == 0 ? 2 : simBelow(sim, 2) == 0 ? 1 : 0;
  sim->resize[thread].object = object->object;
  simEvent(sim, thread, HeapInBEGIN, object->addr, 0, 0, object->object);
}

/* simResizeStep -- first the memory changes hands, then the end is recorded */
static void simResizeStep(Sim sim, unsigned thread)
{
  SimObject object = sim->object;

  while (object->object != sim->resize[thread].object)
    ++object;
  if (sim->resize[thread].step == 1) {
    sim->resize[thread].step = 2;
    sim->resize[thread].addr = object->addr;
    sim->resize[thread].size = simBelow(sim, 3000) + 1;
    if (sim->resize[thread].outcome == 0) {
      uint64_t old = object->addr;
      object->addr = simAddress(sim);
      sim->freed[sim->free++] = old;
    }
    return;
  }
  sim->resize[thread].step = 0;
  object->busy = FALSE;
  if (sim->resize[thread].outcome != 2)
    object->size = sim->resize[thread].size;
  simEvent(sim, thread, HeapInEND, sim->resize[thread].outcome == 2 ? 0 : object->addr, sim->resize[thread].addr,
           sim->resize[thread].size, object->object);
}

static int simCompare(const void *a, const void *b)
{
  const SimEventStruct *x = a, *y = b;

  if (x->stamp != y->stamp)
    return x->stamp < y->stamp ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* SimRun -- events in the order of their stamps, `sim->count` of them; objects that live at the end in sim->object */
static void SimRun(Sim sim, SimParams params)
{
  unsigned thread;

  memset(sim, 0, sizeof *sim);
  sim->params = params;
  sim->random = params->seed | 1;
  sim->now = 1000000 + params->jitter;
  sim->next = 0x10000;
  sim->events = calloc(params->events + 3 * params->threads + 8, sizeof *sim->events);
  sim->freed = calloc(params->events + 8, sizeof *sim->freed);
  sim->object = calloc(params->events + 8, sizeof *sim->object);
  while (sim->count < params->events) {
    sim->now += 1 + simBelow(sim, 2 * params->step);
    thread = (unsigned)simBelow(sim, params->threads);
    if (sim->resize[thread].step != 0)
      simResizeStep(sim, thread);
    else if (simBelow(sim, 10) == 0)
      simResizeBegin(sim, thread);
    else if (simBelow(sim, 2 * params->live + 1) > sim->live)
      simAlloc(sim, thread);
    else
      simFree(sim, thread);
  }
  for (thread = 0; thread < params->threads; ++thread) {
    while (sim->resize[thread].step != 0) {
      sim->now += params->step;
      simResizeStep(sim, thread);
    }
  }
  qsort(sim->events, sim->count, sizeof *sim->events, simCompare);
}

static void SimFinish(Sim sim)
{
  free(sim->events);
  free(sim->freed);
  free(sim->object);
}

#endif /* TEST_HEAPSIM_H */
