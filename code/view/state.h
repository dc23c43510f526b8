/* state.h -- what the memory manager had at any time of a log: arenas, pools, live objects, of each process
 *
 * The state at a position is that of a heap (heap.h) which has taken all events before it, and been told that no more
 * will come: as if the log ended there.  While events are taken check points are kept, so that a later question is
 * answered from the nearest one and a short read.  The answer is the same, whichever way it is had.
 *
 * Two ways: StateAt reads by itself; or the request is filed with others, between StateSeek and StateSettle.
 *
 * Always true:
 *   the heap has taken the events of the request's choice before `position`, and no others;  `events` is their number
 *   no check point is wanted before the last one there is
 *
 * A state belongs to one thread at a time, and its log must not be closed before it is destroyed.
 *
 * Design: design/view.md .state      Tests: test/viewstatetest.c, test/live.t
 */
#ifndef VIEW_STATE_H
#define VIEW_STATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/request.h"
#include "view/heap.h"

typedef struct StateStruct *State;

enum { StateIntervalDEFAULT = 16384 };
#define StateIntervalNONE UINT64_MAX

/* StateCreate -- before the first event
 *
 * only      what this request chooses and its times hold besides, so that what it leaves out is not read; or NULL.
 *           With a count, too, only one question may be asked.
 * interval  events between two check points at first: they become more where there are many, or where much lives.
 *           0 for StateIntervalDEFAULT, StateIntervalNONE for no check points, if only one question will be asked
 * returns   ResMEMORY
 */
extern Res StateCreate(State *stateReturn, Log log, const LogRequestStruct *only, uint64_t interval);
extern void StateDestroy(State state);

/* StateAt -- the state of all events before a position: StateHeap has it until the next call
 *
 * returns  ResMEMORY, ResIO; another call may do better
 * cost     a check point restored, and the events read from there: about 1 % of a pass over the log once such a pass
 *          has been made; going on forward, the events in between
 */
extern Res StateAt(State state, const LogPositionStruct *position);

/* StateAtTime -- the same for all events before `time`, ns of wall time; UINT64_MAX for the end of the log */
extern Res StateAtTime(State state, uint64_t time);

/* StateSeek -- go back to the nearest position from which the request leads to `position`; ResMEMORY, ResIO
 * StateRequest -- that request, to be filed then: its data is the state; all hooks but `event` are the caller's to set
 * StateSettle -- the request has ended: the state is that at where it ended.  ResMEMORY. */
extern Res StateSeek(State state, const LogPositionStruct *position);
extern LogRequest StateRequest(State state);
extern Res StateSettle(State state);

/* StateHeap -- the heap, to be looked at with heaplook.h.  It is settled after StateAt or StateSettle. */
extern Heap StateHeap(State state);

/* StateSite -- where the object was asked for; 0 if that was not recorded, or there are more than 16 M such places */
extern uint64_t StateSite(State state, const HeapObjectStruct *object);

/* StateSites -- how many such places there are: an object's `client` is the number of its own, from 1, or 0 */
extern Count StateSites(State state);

/* What it cost so far. */
typedef struct StateCountsStruct {
  uint64_t events;         /* taken from requests */
  uint64_t restores;       /* states restored from a check point */
  uint64_t checks;         /* check points that there are, */
  uint64_t memory, file;   /* and their bytes, in memory and in the file */
} StateCountsStruct, *StateCounts;

extern void StateCount(StateCounts countsReturn, State state);

/* StateBound -- other bounds than those of statecheck.h, for tests; while there are no check points */
extern void StateBound(State state, uint64_t memory, uint64_t file);

extern Bool StateCheckAll(State state);

#endif /* VIEW_STATE_H */
