/* service.h -- the service of event requests, for its own files
 *
 * What is filed waits or is served.  One pass over the traceset is under way at a time; those that are served are all
 * at the pass's place.  A pass that had to give way is kept, one for each priority, until somebody goes on from there.
 *
 * Always true between steps (ServiceCheck):
 *   filed is in the order of filing; slot[i] has bit i, and who is served has a slot
 *   served is how many are served; if there are any, and a pass, the pass is at `current`
 *   a pass loads every block that any request in its mask needs, from that request's start on
 *
 * Design: design/requests.md      Tests: test/request/requesttest.c
 */
#ifndef REQUEST_SERVICE_H
#define REQUEST_SERVICE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "request/reading.h"
#include "request/request.h"
#include "request/traceset.h"

enum { ServiceSlotMAX = 64 }; /* requests that may share passes at a time: bits of a word */

typedef enum FiledState { FiledWAITING, FiledSERVED, FiledENDED } FiledState;

/* A request that is filed. */
typedef struct FiledStruct {
  LogRequest request;
  LogRequestStruct counter; /* a request of the service's own, of which this is the data: called to count an event */
  LogPositionStruct start, end; /* while it waits: the events that it has still to get are in [start, end), */
  uint64_t left;           /* and are so many at most */
  FiledState state;
  Bool high;               /* its priority */
  Bool begun;              /* its before-hooks were called */
  Index places;            /* how many of the service's places stand before its own */
  Bool refused;            /* it does not accept the event that is being handed out */
  Bool chunk;              /* between beforeChunk and afterChunk */
  uint64_t gaps;           /* the service's, when it was told of one last */
  uint64_t bit;            /* of its slot; 0: it waits for one */
  struct FiledStruct *grave; /* ended, and not freed yet: somebody up the stack may hold it */
} FiledStruct, *Filed;

typedef struct PassStruct {
  Reading reading;         /* NULL: none */
  uint64_t slots;          /* whose requests it reckons with: from their starts on it can serve them */
} PassStruct, *Pass;

/* A process, or one of its streams, in the order in which before-hooks are called. */
typedef struct PlaceStruct {
  Process process;
  Stream stream;           /* NULL: the process itself */
} PlaceStruct, *Place;

/* Somebody who is called for an event, or, if `call` is NULL, who counts it, or is asked whether he accepts it. */
typedef struct RouteEntryStruct {
  PawEventHook call;
  Filed filed;
  int priority;
} RouteEntryStruct, *RouteEntry;

/* A route on which there is more to do than to call one hook of each request: the pass calls its one hook, which calls
 * them. */
typedef struct CarefulStruct {
  LogRequestStruct handed; /* first: a request of the service's own, of which a careful route is found */
  Count takers, hooks;     /* entries: first who is asked or counts, then hooks */
  RouteEntryStruct entry[];
} CarefulStruct, *Careful;

/* Where events go out of blocks of one kind of one process. */
typedef struct RouteTableStruct {
  uint64_t generation;     /* of the service when it was begun; another one: out of date */
  Count types;
  void **own;              /* by type: the memory of what `route` has, or NULL */
  ReadingRouteStruct route[]; /* by type */
} RouteTableStruct, *RouteTable;

/* Who wants what of a process. */
typedef struct RoutesStruct {
  RegistryStruct *registry; /* of which the rest holds */
  uint64_t known;          /* slots that were asked */
  uint64_t reads[EventKindMAX]; /* by kind: slots that want something of its blocks */
  uint64_t *chosen;        /* by type: slots that want it */
  unsigned char *wanted;   /* by type, for the reading */
  RouteTable table[EventKindMAX + 1]; /* by kind of the block, the last for any that no header names; NULL: none yet */
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
  LogRequestStruct learner; /* who is called for an event of which nobody knows yet where it goes */
  Place place;
  Count places, placeCapacity;
  Count knownProcesses, knownStreams; /* that the places have */
  Routes *routes;          /* by process; NULL: nothing asked yet */
  Count processes;
  RouteEntry entry;        /* of the route that is made */
  Count entries, entryCapacity;
  uint64_t generation;     /* changes with who is served; what was learned of routes is out of date then */
  Bool running, closing;
  Bool enough;             /* a hook ended the run that was last */
  uint64_t gaps;           /* that were handed out */
  Bool dry;                /* nothing is left in the traceset */
  Res res;                 /* of what failed where nothing can be returned */
  ServiceCountsStruct counts; /* but for the passes that there are */
};

extern Bool ServiceCheck(PawService service);

/* ServiceEnter -- serve one that waits; its before-hooks are called if they were not yet.  It may have ended then.
 * ServiceLeave -- all that are served wait again, from here on.
 * ServiceEnd -- one has had all that it will: its after-hooks, and it is filed no more. */
extern void ServiceEnter(PawService service, Filed filed);
extern void ServiceLeave(PawService service);
extern void ServiceEnd(PawService service, Filed filed);

/* ServiceStep -- go on by one step; *lookReturn is whether it is time to look what is pending.  ResMEMORY, ResIO. */
extern Res ServiceStep(PawService service, Bool *lookReturn);

/* ServiceFind -- what is filed of a request, or NULL */
extern Filed ServiceFind(PawService service, LogRequest request);

/* ServiceNothing -- was there never anything in it?  ServiceOver -- has one that is served had all? */
extern Bool ServiceNothing(Filed filed);
extern Bool ServiceOver(PawService service, Filed filed);

/* ServiceSlot -- give it a slot, if one is free */
extern void ServiceSlot(PawService service, Filed filed);

/* ServiceKind -- are blocks of this kind read for a request of these?  Those that no header can name are alike. */
static inline Bool ServiceKind(uint32_t kinds, unsigned kind)
{
  return kind < EventKindMAX ? kinds >> kind & 1 : kinds == UINT32_MAX;
}

/* ServicePassEnd -- away with a pass, if it is one; what it cost is kept */
extern void ServicePassEnd(PawService service, Pass pass);

/* ServiceHalt -- something has changed under the pass that runs: it ends behind this event */
static inline void ServiceHalt(PawService service)
{
  if (service->pass.reading != NULL)
    service->pass.reading->halt = TRUE;
}

/* DispatchInit, DispatchFinish -- what dispatch.c needs; the service is zeroed otherwise */
extern void DispatchInit(PawService service);
extern void DispatchFinish(PawService service);

/* DispatchForget -- a slot has a new tenant */
extern void DispatchForget(PawService service, uint64_t bit);

#endif /* REQUEST_SERVICE_H */
