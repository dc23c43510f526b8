/* requestservice.h -- the service of event requests, for its own files
 *
 * What is filed waits or is served.  One pass over the traceset is under way at a time; those that are served are all
 * at the pass's place.  A pass that had to give way is kept, one for each priority, until a request goes on from there.
 *
 * Always true between steps (ServiceCheck):
 *   filed is in the order of filing; the request in slot[i] has bit i, and each that is served has a slot
 *   served is how many are served; if there are any, and a pass, the pass is at `current`
 *   a pass loads every block that any request in its mask needs, from that request's start on
 *
 * Design: design/requests.md      Tests: test/request/requesttest.c, test/request/requestchecktest.c
 */
#ifndef REQUEST_REQUESTSERVICE_H
#define REQUEST_REQUESTSERVICE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/reading.h"
#include "request/request.h"
#include "request/traceset.h"

enum { ServiceSlotMAX = 64 }; /* requests that can share a pass: one bit each of a word */

typedef enum FiledState { FiledWAITING, FiledSERVED, FiledENDED } FiledState;

/* A request that is filed. */
typedef struct FiledStruct {
  LogRequest request;
  LogRequestStruct counter; /* an internal request whose data this is: called to count an event */
  LogPositionStruct start, end; /* while it waits: its remaining events are in [start, end), */
  uint64_t left;           /* and are so many at most */
  FiledState state;
  Bool high;               /* its priority */
  Bool begun;              /* its before-hooks were called */
  Count processes, streams; /* of the log, when its before-hooks were called, */
  Count places;            /* and for how many of these they were */
  Bool refused;            /* it does not accept the event that is being handed out */
  Bool chunk;              /* between beforeChunk and afterChunk */
  uint64_t gaps;           /* the service's, when it was told of one last */
  uint64_t bit;            /* of its slot; 0: it waits for one */
  struct FiledStruct *grave; /* ended, and not freed yet: a caller up the stack may use it */
} FiledStruct, *Filed;

typedef struct PassStruct {
  Reading reading;         /* NULL: none */
  uint64_t slots;          /* mask of the requests that it can serve, each from its start on */
} PassStruct, *Pass;

/* A hook for an event; or, if `call` is NULL, a request that counts the event or filters it (accept). */
typedef struct RouteEntryStruct {
  PawEventHook call;
  Filed filed;
  int priority;
} RouteEntryStruct, *RouteEntry;

/* A careful route: something must be tested between its hooks, so the pass calls one hook, which calls them. */
typedef struct CarefulStruct {
  LogRequestStruct handed; /* first member: an internal request, from which a careful route is found */
  Count takers, hooks;     /* entries: first the requests that filter or count, then the hooks */
  RouteEntryStruct entry[];
} CarefulStruct, *Careful;

/* The routes for events of blocks of one kind of one process. */
typedef struct RouteTableStruct {
  uint64_t generation;     /* the service's number when it was begun; if that differs now, it is out of date */
  Count types;
  void **own;              /* by type: the memory of what `route` has, or NULL */
  ReadingRouteStruct route[]; /* by type */
} RouteTableStruct, *RouteTable;

/* Who wants what of a process. */
typedef struct RoutesStruct {
  RegistryStruct *registry; /* of which the rest holds */
  uint64_t known;          /* slots that were asked */
  uint64_t reads[EventKindMAX]; /* by kind: slots of requests that want events of it */
  RouteTable table[EventKindMAX + 1]; /* by kind of the block, the last for any that no header names; NULL: none yet */
  unsigned char *wanted;   /* by type, for the reading; behind `chosen` */
  uint64_t chosen[];       /* by type: slots that want it */
} RoutesStruct, *Routes;

struct LogServiceStruct {
  Log log;
  uint64_t chunk;
  Filed *filed;
  Count count, capacity, served;
  Filed slot[ServiceSlotMAX];
  Filed grave;
  LogPositionStruct current;
  PassStruct pass, saved[2]; /* saved: of low, of high priority */
  ReadingClientStruct client;
  LogRequestStruct learner; /* its hook is called for an event whose route is not known yet */
  Routes *routes;          /* by process; NULL: nothing asked yet */
  Count processes;
  RouteEntry entry;        /* of the route that is made */
  Count entries, entryCapacity;
  uint64_t generation;     /* changes when a request is served or leaves; routes made before are out of date */
  Bool running, closing;
  Bool enough;             /* a hook ended the run that was last */
  uint64_t gaps;           /* that were handed out */
  Bool dry;                /* nothing is left in the traceset */
  Res res;                 /* the first failure in a hook, which cannot return it */
};

extern Bool ServiceCheck(PawService service);

/* ServiceEnter -- serve one that waits; its before-hooks are called if they were not yet.  It may have ended then.
 * ServiceLeave -- all that are served wait again, from here on.
 * ServiceEnd -- one has had all that it will: its after-hooks, and it is filed no more. */
extern void ServiceEnter(PawService service, Filed filed);
extern void ServiceLeave(PawService service);
extern void ServiceEnd(PawService service, Filed filed);

/* ServiceStep -- take one step; *lookReturn: should `pending` be called now?  ResMEMORY, ResIO. */
extern Res ServiceStep(PawService service, Bool *lookReturn);

/* ServiceFind -- the service's entry for a request, or NULL */
extern Filed ServiceFind(PawService service, LogRequest request);

/* ServiceNothing -- was there never anything in it?  ServiceOver -- has one that is served had all? */
extern Bool ServiceNothing(Filed filed);
extern Bool ServiceOver(PawService service, Filed filed);

/* ServiceSlot -- give the entry a slot, if one is free */
extern void ServiceSlot(PawService service, Filed filed);

/* ServiceKind -- are blocks of this kind read for a request of these?  Those that no header can name are alike. */
static inline Bool ServiceKind(uint32_t kinds, unsigned kind)
{
  return kind < EventKindMAX ? kinds >> kind & 1 : kinds == UINT32_MAX;
}

/* ServicePassEnd -- destroy a pass, unless it is NULL */
extern void ServicePassEnd(Pass pass);

/* ServiceHalt -- requests have changed while the pass runs: end the run after this event */
static inline void ServiceHalt(PawService service)
{
  if (service->pass.reading != NULL)
    service->pass.reading->halt = TRUE;
}

/* DispatchInit, DispatchFinish -- the part of the service that dispatch.c uses; the rest is zeroed */
extern void DispatchInit(PawService service);
extern void DispatchFinish(PawService service);

/* DispatchForget -- a slot was given to another request */
extern void DispatchForget(PawService service, uint64_t bit);

#endif /* REQUEST_REQUESTSERVICE_H */
