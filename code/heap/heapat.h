/* heapat.h -- the heap at a position of a log: arenas, pools and live objects of each process
 *
 * The state before a position is that of a heap (heap.h) that has applied all events before it and was then settled, as
 * if the log ended there.  If the log's index file has check points, events are read from the nearest one before the
 * position on, else from the log's beginning.  The result is the same.
 *
 * A check point is the whole heap (heapsave.h) with the sites of its objects.  It is used by requests for all events:
 * one that leaves out processes, types or events has another heap, and reads the log from its beginning.  A check point
 * for which there is no memory, or which would take more than reading the log might, is not used (.state.room).
 *
 * A state belongs to one thread at a time, and its log must not be closed before it is destroyed.
 *
 * Design: design/view.md .state      Tests: test/heap/heapattest.c, test/analyse/live.t
 */
#ifndef HEAP_HEAPAT_H
#define HEAP_HEAPAT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"
#include "log/indexfile.h"
#include "request/request.h"

/* Who asked for objects, by number: an object's `client` is the number of its site (HeapSiteIsStack); 0 is none. */
typedef struct HeapSitesStruct {
  HeapTableStruct table; /* by site; `client` is the site's place in `site` plus one */
  uint64_t *site;        /* owned; table.count of them */
  Count capacity;
} HeapSitesStruct, *HeapSites;

typedef struct HeapAtStruct {
  Log log;
  Heap heap;                  /* to be looked at with heaplook.h once it is settled */
  LogRequestStruct request;   /* the caller serves it next, and may set all hooks but `event`; its data is the state */
  LogRequestStruct only;      /* the one that was given */
  LogPositionStruct from, to; /* the request's bounds */
  HeapSitesStruct sites;
  HeapClientStruct client;    /* the client that gets the operations; all 0: none */
} HeapAtStruct, *HeapAt;

enum { HeapAtIntervalMIN = 65536 }; /* events between two check points at least */

/* HeapSitesInit -- none yet; ResMEMORY.  HeapSitesFinish frees their memory; sites of zeros have none.
 * HeapSitesAsked -- give the object of an allocation or a resize the number of who asked for it, if that was recorded.
 *   More than 16 M sites are not told apart: objects of the others have the number 0.
 * HeapSitesOf -- who asked for an object; 0: not known */
extern Res HeapSitesInit(HeapSites sites);
extern void HeapSitesFinish(HeapSites sites);
extern void HeapSitesAsked(HeapSites sites, HeapOperation operation);
extern uint64_t HeapSitesOf(const HeapSitesStruct *sites, const HeapObjectStruct *object);

/* HeapAtCreate -- the state before `position`, once its request was served and HeapSettle has been called for its heap.
 * If the request is left early, the state is the one where it was left.
 *
 * only     events that this request does not choose, or that lie beyond its bounds, are not read
 * client   is told of all operations: no check point is used then.  An object's `client` is the state's.  Copied; NULL:
 *          nobody is told.
 * returns  ResMEMORY
 */
extern Res HeapAtCreate(HeapAt *stateReturn, Log log, const LogRequestStruct *only, const LogPositionStruct *position,
                        HeapClient client);
extern void HeapAtDestroy(HeapAt state);

/* HeapAtSite -- where the object was asked for; 0 if that was not recorded, or there are more than 16 M such places */
extern uint64_t HeapAtSite(HeapAt state, const HeapObjectStruct *object);

/* HeapAtRestore -- restore an empty heap from the nearest check point before `position`, if there is one that can be
 * had and `only` chooses all events.  No hook is called.
 * positionReturn  where reading must go on; the log's beginning if nothing was restored
 * sites           become those of the objects; NULL: nobody wants them, and the objects' `client` is meaningless
 * returns         ResMEMORY: for sites
 */
extern Res HeapAtRestore(LogPosition positionReturn, Heap heap, HeapSites sites, Log log,
                         const LogRequestStruct *only, const LogPositionStruct *position);

/* HeapAtKeep -- read the log and add check points to its index file; a hook for LogIndexWrite
 * HeapAtKeepEvery -- the same, with at least `interval` events between two check points */
extern Res HeapAtKeep(IndexFile file, Log log);
extern Res HeapAtKeepEvery(IndexFile file, Log log, uint64_t interval);

#endif /* HEAP_HEAPAT_H */
