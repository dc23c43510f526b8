/* managerstate.h -- what the memory manager had at a time of a log: arenas, pools and live objects of each process
 *
 * The state before a position is that of a heap (heap.h) which has taken all events before it, and been told that no more
 * will come: as if the log ended there.  Where the log's index file has check points, those events are read from the
 * nearest one before the position on; else from the log's beginning.  The answer is the same.
 *
 * A check point is the whole heap (heapsave.h), with the sites that its objects name.  It serves whoever wants all events:
 * a request that leaves something out (processes, types, a filter) has another heap, and reads all.
 *
 * A state belongs to one thread at a time, and its log must not be closed before it is destroyed.
 *
 * Design: design/view.md .state      Tests: test/heap/managerstatetest.c, test/analyse/live.t
 */
#ifndef HEAP_MANAGERSTATE_H
#define HEAP_MANAGERSTATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "heap/heap.h"
#include "log/indexfile.h"
#include "request/request.h"

typedef struct ManagerStateStruct *ManagerState;

enum { ManagerStateIntervalMIN = 65536 }; /* events between two check points at least */

/* ManagerStateCreate -- the state before `position`
 *
 * only     what this request chooses and its bounds hold besides, so that what it leaves out is not read
 * returns  ResMEMORY
 */
extern Res ManagerStateCreate(ManagerState *stateReturn, Log log, const LogRequestStruct *only, const LogPositionStruct *position);
extern void ManagerStateDestroy(ManagerState state);

/* ManagerStateRequest -- the request that has to be served then: its data is the state; all hooks but `event` are the caller's
 * to set
 * ManagerStateSettle -- the request has ended: the state is that at where it ended.  ResMEMORY. */
extern LogRequest ManagerStateRequest(ManagerState state);
extern Res ManagerStateSettle(ManagerState state);

/* ManagerStateHeap -- the heap, to be looked at with heaplook.h once it is settled */
extern Heap ManagerStateHeap(ManagerState state);

/* ManagerStateSite -- where the object was asked for; 0 if that was not recorded, or there are more than 16 M such places */
extern uint64_t ManagerStateSite(ManagerState state, const HeapObjectStruct *object);

/* ManagerStateSites -- how many such places there are: an object's `client` is the number of its own, from 1, or 0 */
extern Count ManagerStateSites(ManagerState state);

/* ManagerStateRestore -- a heap that has taken nothing yet becomes that of the nearest check point before `position`, if there is
 * one and `only` chooses all; its client is told nothing, and nothing of the objects' `client` is the client's
 * positionReturn  what comes from there on is missing; the log's beginning if nothing was restored
 * returns         ResMEMORY
 */
extern Res ManagerStateRestore(LogPosition positionReturn, Heap heap, Log log, const LogRequestStruct *only,
                               const LogPositionStruct *position);

/* ManagerStateKeep -- read the log and add check points to its index file, as LogIndexWrite wants it
 * ManagerStateKeepEvery -- the same, with so many events between two at least */
extern Res ManagerStateKeep(IndexFile file, Log log);
extern Res ManagerStateKeepEvery(IndexFile file, Log log, uint64_t interval);

#endif /* HEAP_MANAGERSTATE_H */
