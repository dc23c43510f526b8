/* viewheap.h -- the one heap of all views that read the same events, and who asked for what lives in it
 *
 * A view joins before the pass, with hooks as a client of a heap has them (heap.h); it gets no operation of processes
 * that are there only because others inherit from them.  In its hooks
 *
 *   object->client   ALLOC, FREE: number of the site or stack that has the object (sitenumbers.h)
 *                    RESIZE: of the one that had it;  operation->mark: of the one that has it from now on
 *   PROCESSBEGIN     the client's `many` follows for each site that the process inherits from, unless it was `revived`:
 *                    then its sites have again what they had when it ended
 *
 * A resize with a site of its own gives the object to that.  The book changes behind the hooks.
 *
 * Design: design/view.md .views.heap, .sites.number      Tests: test/analyse/sites.t, test/heap/familytest.c
 */
#ifndef ANALYSE_VIEWHEAP_H
#define ANALYSE_VIEWHEAP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/temporaries.h"
#include "callers/codenames.h"
#include "callers/sitebook.h"
#include "callers/sitenumbers.h"
#include "heap/heap.h"
#include "request/typecache.h"

enum { ViewHeapClientsMAX = 16 };

typedef struct ViewClientStruct {
  HeapClientStruct heap; /* `each` is FALSE; a hook that is NULL gets nothing */
  void (*many)(void *data, HeapOperation operation, uint32_t site, const SiteSumStruct *sum); /* or NULL */
  void (*event)(void *data, LogEvent event); /* after the heap has it; NULL: unless another view asks for all events,
                                                those that a heap does not understand are not read */
} ViewClientStruct, *ViewClient;

/* What is kept of a process. */
typedef struct ViewProcessStruct {
  uint32_t unknown;      /* number of what it has of unknown sites; 0: none yet */
  Bool sited, stacked;   /* it has told of sites; of stacks */
} ViewProcessStruct, *ViewProcess;

typedef struct ViewHeapStruct {
  Log log;
  OfProcess of;
  Heap heap;
  LogRequestStruct only; /* what was asked for; */
  LogRequestStruct request; /* and what is */
  CodeNames names;       /* the views'; NULL: nobody wants any */
  Count clients;
  ViewClientStruct client[ViewHeapClientsMAX];
  Bool events;           /* some client has an `event` */
  Bool booked;           /* some view wants the book */
  SiteBookStruct book;
  TemporariesStruct temporaries; /* if `booked` */
  Bool temporary;        /* if so, in the hook for a free: the object was temporary */
  SiteNumbersStruct numbers;
  TypeCacheStruct plans;
  Count processes;       /* places in `process` */
  ViewProcess process;   /* owned; by the log's number */
  Bool nowhere;          /* some event has the place of a site, and none in it: there was no caller in --range */
  SiteSumStruct *many;   /* owned; of `manys` numbers, all 0 between two uses */
  Count manys;
  Bool failed;           /* there was no memory */
  Bool finished;
  Res res;               /* if so */
  Count unended;         /* if so: processes of which nobody knows that they have ended */
} ViewHeapStruct, *ViewHeap;

/* ViewHeapCreate -- a heap for the events that `only` chooses, of the processes `of`, or of all.  ResMEMORY. */
extern Res ViewHeapCreate(ViewHeap *sharedReturn, Log log, const LogRequestStruct *only, OfProcess of,
                          CodeNames names);
extern void ViewHeapDestroy(ViewHeap shared);

/* ViewHeapJoin -- the client gets what happens; it is copied */
extern void ViewHeapJoin(ViewHeap shared, ViewClient client);

/* ViewHeapBook -- keep a book; it is `shared->book`, and complete when ViewHeapFinish has been called
 * ViewHeapJoined -- does some view want anything? */
extern void ViewHeapBook(ViewHeap shared);
extern Bool ViewHeapJoined(ViewHeap shared);

/* ViewHeapRequest -- to be served once, when all have joined; reads the log's modules if names are wanted */
extern LogRequest ViewHeapRequest(ViewHeap shared);

/* ViewHeapFinish -- it has been served; each view may say so.  ResMEMORY. */
extern Res ViewHeapFinish(ViewHeap shared);

/* ViewHeapSite -- the number of the site that has an object which lives in the process; 0: no memory */
extern uint32_t ViewHeapSite(ViewHeap shared, Index process, const HeapObjectStruct *object);

/* ViewHeapCallers -- what is known of callers: the best that some process tells, and whether some process that
 * allocates tells less */
typedef enum ViewCallers { ViewCallersNONE, ViewCallersSITES, ViewCallersSTACKS } ViewCallers;

extern ViewCallers ViewHeapCallers(ViewHeap shared);

#endif /* ANALYSE_VIEWHEAP_H */
