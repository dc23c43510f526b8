/* eventdef.h -- the registry: every type of event, once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Plain C, to be included by whoever defines the macros it needs; those left undefined expand to nothing:
 *
 *   KIND(name, value, doc)                        a kind of event; its bit in EventKindControl
 *   RELATION(name, code, always, kind, format)    an event type
 *   DOC(name, template)                           what it says to people; %parameter stands for its value
 *   PARAM(name, index, letter, parameter, doc)    a parameter, in the order of the format
 *   RETIRED(name, code)                           a type that is gone; its code is never used again
 *
 * name      as in the annotation, EVENT_PAW(PoolAlloc, ...), without prefix
 * code      16 bits, in rising order; 0x0001 to 0x00ff belong to the file format, 0x8000 and above to types that
 *           programs define while they run; the high byte is the kind's value plus one
 * always    TRUE if the type is there in every variety; FALSE for what happens per object or per reference
 * kind      Arena (arena or global), Pool, Trace (one collection), Seg, Ref (one reference), Object, User, Sync, System
 * format    a letter for each parameter: P void *, A Addr, W Word, U unsigned int, D double, and S, a string,
 *           at most once and last; 0 for no parameters
 *
 * An event whose form or meaning changes gets a new median version, an added one a new minor (test/registry.t).
 *
 * Design: design/telemetry.md .reg      Tests: test/eventgen.t, test/registry.t
 */
#ifndef EVENTDEF_VERSION
#define EVENTDEF_VERSION
#define EventVersionMAJOR  1 /* the file format */
#define EventVersionMEDIAN 0 /* an existing event changed its form or meaning */
#define EventVersionMINOR  0 /* an event was added */
#endif

#ifndef KIND
#define KIND(name, value, doc)
#endif
#ifndef RELATION
#define RELATION(name, code, always, kind, format)
#endif
#ifndef DOC
#define DOC(name, template)
#endif
#ifndef PARAM
#define PARAM(name, index, letter, parameter, doc)
#endif
#ifndef RETIRED
#define RETIRED(name, code)
#endif

KIND(Arena,  0, "per arena or global: address space")
KIND(Pool,   1, "per pool")
KIND(Trace,  2, "per collection")
KIND(Seg,    3, "per segment")
KIND(Ref,    4, "per reference")
KIND(Object, 5, "per object: allocation and free")
KIND(User,   6, "what the program itself tells")
KIND(Sync,   7, "threads waiting for one another: off unless asked for, because it is neither memory nor rare")
KIND(System, 8, "processes and threads, and what the system says of them")

/* Arena: address space, ours and the program's */

RELATION(ArenaCreate, 0x0101, TRUE, Arena, PWW)
  DOC(ArenaCreate, "creates arena %arena of %size bytes of address space")
  PARAM(ArenaCreate, 0, P, arena, "the arena")
  PARAM(ArenaCreate, 1, W, size, "bytes of address space reserved at first")
  PARAM(ArenaCreate, 2, W, grain, "bytes that it hands out and commits at least")

RELATION(ArenaDestroy, 0x0102, TRUE, Arena, P)
  DOC(ArenaDestroy, "destroys arena %arena")
  PARAM(ArenaDestroy, 0, P, arena, "the arena")

RELATION(ArenaReserve, 0x0103, TRUE, Arena, PAW)
  DOC(ArenaReserve, "arena %arena reserves %size bytes of address space at %base")
  PARAM(ArenaReserve, 0, P, arena, "the arena")
  PARAM(ArenaReserve, 1, A, base, "the first address")
  PARAM(ArenaReserve, 2, W, size, "bytes")

RELATION(ArenaRelease, 0x0104, TRUE, Arena, PAW)
  DOC(ArenaRelease, "arena %arena gives back %size bytes of address space at %base")
  PARAM(ArenaRelease, 0, P, arena, "the arena")
  PARAM(ArenaRelease, 1, A, base, "the first address")
  PARAM(ArenaRelease, 2, W, size, "bytes")

RELATION(ArenaCommit, 0x0105, TRUE, Arena, PAW)
  DOC(ArenaCommit, "arena %arena commits %size bytes at %base")
  PARAM(ArenaCommit, 0, P, arena, "the arena")
  PARAM(ArenaCommit, 1, A, base, "the first address")
  PARAM(ArenaCommit, 2, W, size, "bytes")

RELATION(ArenaDecommit, 0x0106, TRUE, Arena, PAW)
  DOC(ArenaDecommit, "arena %arena decommits %size bytes at %base")
  PARAM(ArenaDecommit, 0, P, arena, "the arena")
  PARAM(ArenaDecommit, 1, A, base, "the first address")
  PARAM(ArenaDecommit, 2, W, size, "bytes")

RELATION(ArenaSpare, 0x0107, TRUE, Arena, PW)
  DOC(ArenaSpare, "arena %arena keeps up to %limit spare bytes committed")
  PARAM(ArenaSpare, 0, P, arena, "the arena")
  PARAM(ArenaSpare, 1, W, limit, "bytes that stay committed though no pool owns them")

RELATION(ArenaFail, 0x0108, TRUE, Arena, PW)
  DOC(ArenaFail, "arena %arena gets no %size bytes")
  PARAM(ArenaFail, 0, P, arena, "the arena")
  PARAM(ArenaFail, 1, W, size, "bytes that were asked for")

RELATION(MemoryMap, 0x0110, TRUE, Arena, AWUU)
  DOC(MemoryMap, "the program maps %size bytes at %base")
  PARAM(MemoryMap, 0, A, base, "where the mapping is")
  PARAM(MemoryMap, 1, W, size, "bytes asked for")
  PARAM(MemoryMap, 2, U, protection, "as mmap has it")
  PARAM(MemoryMap, 3, U, flags, "as mmap has them")

RELATION(MemoryUnmap, 0x0111, TRUE, Arena, AW)
  DOC(MemoryUnmap, "the program unmaps %size bytes at %base")
  PARAM(MemoryUnmap, 0, A, base, "the first address")
  PARAM(MemoryUnmap, 1, W, size, "bytes")

RELATION(MemoryRemap, 0x0112, TRUE, Arena, AWAW)
  DOC(MemoryRemap, "the program remaps %oldSize bytes at %old to %size bytes at %base")
  PARAM(MemoryRemap, 0, A, old, "the first address before")
  PARAM(MemoryRemap, 1, W, oldSize, "bytes before")
  PARAM(MemoryRemap, 2, A, base, "the first address now")
  PARAM(MemoryRemap, 3, W, size, "bytes now")

RELATION(MemoryBreak, 0x0113, TRUE, Arena, A)
  DOC(MemoryBreak, "the program's break is now %limit")
  PARAM(MemoryBreak, 0, A, limit, "the end of the data segment")

/* Pool */

RELATION(PoolCreate, 0x0201, TRUE, Pool, PPS)
  DOC(PoolCreate, "creates pool %pool of class %class in arena %arena")
  PARAM(PoolCreate, 0, P, pool, "the pool")
  PARAM(PoolCreate, 1, P, arena, "the arena it is in; 0 for a pool that stands for a foreign malloc")
  PARAM(PoolCreate, 2, S, class, "MFS, MVFF, SGF, or malloc for a foreign one")

RELATION(PoolParam, 0x0202, TRUE, Pool, PWS)
  DOC(PoolParam, "pool %pool has %name = %value")
  PARAM(PoolParam, 0, P, pool, "the pool; the event follows its PoolCreate")
  PARAM(PoolParam, 1, W, value, "what the parameter was set to")
  PARAM(PoolParam, 2, S, name, "the parameter's name, as PoolCreate's caller gives it")

RELATION(PoolDestroy, 0x0203, TRUE, Pool, P)
  DOC(PoolDestroy, "destroys pool %pool, and every object in it")
  PARAM(PoolDestroy, 0, P, pool, "the pool")

/* Seg */

RELATION(SegAlloc, 0x0401, TRUE, Seg, PPAW)
  DOC(SegAlloc, "pool %pool gets segment %seg of %size bytes at %base")
  PARAM(SegAlloc, 0, P, seg, "the segment")
  PARAM(SegAlloc, 1, P, pool, "the pool that owns it")
  PARAM(SegAlloc, 2, A, base, "its first address")
  PARAM(SegAlloc, 3, W, size, "bytes")

RELATION(SegFree, 0x0402, TRUE, Seg, PPAW)
  DOC(SegFree, "pool %pool gives back segment %seg of %size bytes at %base")
  PARAM(SegFree, 0, P, seg, "the segment")
  PARAM(SegFree, 1, P, pool, "the pool that owned it")
  PARAM(SegFree, 2, A, base, "its first address")
  PARAM(SegFree, 3, W, size, "bytes")

/* Object */

RELATION(PoolAlloc, 0x0601, FALSE, Object, PAW)
  DOC(PoolAlloc, "pool %pool allocates %size bytes at %addr")
  PARAM(PoolAlloc, 0, P, pool, "the pool")
  PARAM(PoolAlloc, 1, A, addr, "the object")
  PARAM(PoolAlloc, 2, W, size, "bytes asked for")

RELATION(PoolFree, 0x0602, FALSE, Object, PA)
  DOC(PoolFree, "pool %pool frees %addr")
  PARAM(PoolFree, 0, P, pool, "the pool")
  PARAM(PoolFree, 1, A, addr, "the object")

RELATION(PoolAllocZero, 0x0603, FALSE, Object, PAW)
  DOC(PoolAllocZero, "pool %pool allocates %size zeroed bytes at %addr")
  PARAM(PoolAllocZero, 0, P, pool, "the pool")
  PARAM(PoolAllocZero, 1, A, addr, "the object")
  PARAM(PoolAllocZero, 2, W, size, "bytes asked for")

RELATION(PoolAllocAligned, 0x0604, FALSE, Object, PAWW)
  DOC(PoolAllocAligned, "pool %pool allocates %size bytes at %addr, aligned to %align")
  PARAM(PoolAllocAligned, 0, P, pool, "the pool")
  PARAM(PoolAllocAligned, 1, A, addr, "the object")
  PARAM(PoolAllocAligned, 2, W, size, "bytes asked for")
  PARAM(PoolAllocAligned, 3, W, align, "the alignment asked for")

RELATION(PoolResizeBegin, 0x0605, FALSE, Object, PAW)
  DOC(PoolResizeBegin, "pool %pool begins to resize %old to %size bytes")
  PARAM(PoolResizeBegin, 0, P, pool, "the pool")
  PARAM(PoolResizeBegin, 1, A, old, "the object; it may be gone from here on")
  PARAM(PoolResizeBegin, 2, W, size, "bytes asked for")

RELATION(PoolResizeEnd, 0x0606, FALSE, Object, PAAW)
  DOC(PoolResizeEnd, "pool %pool has resized %old to %size bytes at %addr")
  PARAM(PoolResizeEnd, 0, P, pool, "the pool")
  PARAM(PoolResizeEnd, 1, A, old, "the object as it was")
  PARAM(PoolResizeEnd, 2, A, addr, "the object as it is; 0 where that failed, and the old one lives on")
  PARAM(PoolResizeEnd, 3, W, size, "bytes asked for")

RELATION(PoolAllocFail, 0x0607, FALSE, Object, PW)
  DOC(PoolAllocFail, "pool %pool has no %size bytes")
  PARAM(PoolAllocFail, 0, P, pool, "the pool")
  PARAM(PoolAllocFail, 1, W, size, "bytes asked for")

/* User: what the program itself tells (pawprint.h) */

RELATION(Intern, 0x0701, TRUE, User, WS)
  DOC(Intern, "string %id is %string")
  PARAM(Intern, 0, W, id, "the number that stands for the string from here on")
  PARAM(Intern, 1, S, string, "the string")

RELATION(Label, 0x0702, TRUE, User, AW)
  DOC(Label, "labels %addr with string %id")
  PARAM(Label, 0, A, addr, "what is labelled")
  PARAM(Label, 1, W, id, "the interned string")

RELATION(UserWord, 0x0703, TRUE, User, WW)
  DOC(UserWord, "%id: %value")
  PARAM(UserWord, 0, W, id, "the interned string that names the event")
  PARAM(UserWord, 1, W, value, "whatever the program means by it")

RELATION(UserDouble, 0x0704, TRUE, User, WD)
  DOC(UserDouble, "%id: %value")
  PARAM(UserDouble, 0, W, id, "the interned string that names the event")
  PARAM(UserDouble, 1, D, value, "whatever the program means by it")

RELATION(UserString, 0x0705, TRUE, User, WS)
  DOC(UserString, "%id: %text")
  PARAM(UserString, 0, W, id, "the interned string that names the event")
  PARAM(UserString, 1, S, text, "whatever the program means by it")

/* System: what the collector sees from outside.  Times are in microseconds, and wrap where words have 32 bits; all bits
 * set where the system does not say. */

RELATION(ProcessSeen, 0x0920, TRUE, System, UUS)
  DOC(ProcessSeen, "process %pid (%name), a child of %parent, is there already")
  PARAM(ProcessSeen, 0, U, pid, "the process")
  PARAM(ProcessSeen, 1, U, parent, "its parent; 0 for none")
  PARAM(ProcessSeen, 2, S, name, "as the system has it, 15 characters at most")

RELATION(ProcessStart, 0x0921, TRUE, System, UUS)
  DOC(ProcessStart, "process %parent starts process %pid (%name)")
  PARAM(ProcessStart, 0, U, pid, "the process, which belongs to the recording")
  PARAM(ProcessStart, 1, U, parent, "its parent when it was noticed")
  PARAM(ProcessStart, 2, S, name, "as the system has it; empty if it had ended when it was noticed")

RELATION(ProcessExec, 0x0922, TRUE, System, US)
  DOC(ProcessExec, "process %pid becomes %program")
  PARAM(ProcessExec, 0, U, pid, "the process")
  PARAM(ProcessExec, 1, S, program, "the path of what it executes; its name where the path cannot be read")

RELATION(ProcessExit, 0x0923, TRUE, System, UUS)
  DOC(ProcessExit, "process %pid ends: %how %status")
  PARAM(ProcessExit, 0, U, pid, "the process")
  PARAM(ProcessExit, 1, U, status, "what it gave to exit, or the number of the signal; 0 where that is not known")
  PARAM(ProcessExit, 2, S, how, "exit, signal, or unknown")

RELATION(ProcessSample, 0x0924, TRUE, System, UUWWWWWW)
  DOC(ProcessSample, "process %pid has %threads threads and %resident of %virtual bytes in memory")
  PARAM(ProcessSample, 0, U, pid, "the process")
  PARAM(ProcessSample, 1, U, threads, "that it has now")
  PARAM(ProcessSample, 2, W, resident, "bytes in memory")
  PARAM(ProcessSample, 3, W, virtual, "bytes of address space")
  PARAM(ProcessSample, 4, W, user, "us that its threads, those that ended too, have run in user mode")
  PARAM(ProcessSample, 5, W, system, "us in system mode")
  PARAM(ProcessSample, 6, W, minor, "page faults that needed no reading")
  PARAM(ProcessSample, 7, W, major, "page faults that needed reading")

RELATION(TaskName, 0x0928, TRUE, System, UUS)
  DOC(TaskName, "thread %task of process %pid is called %name")
  PARAM(TaskName, 0, U, pid, "the process")
  PARAM(TaskName, 1, U, task, "the thread")
  PARAM(TaskName, 2, S, name, "as the system has it, 15 characters at most")

RELATION(TaskSample, 0x0929, TRUE, System, UUWWWWWWWWS)
  DOC(TaskSample, "thread %task of process %pid has run for %running us, been ready for %waiting, and blocked for %blocked")
  PARAM(TaskSample, 0, U, pid, "the process")
  PARAM(TaskSample, 1, U, task, "the thread")
  PARAM(TaskSample, 2, W, running, "us that it has run")
  PARAM(TaskSample, 3, W, user, "of these in user mode, as the system divides them, in ticks of its clock")
  PARAM(TaskSample, 4, W, system, "in system mode")
  PARAM(TaskSample, 5, W, waiting, "us that it was ready and had no processor")
  PARAM(TaskSample, 6, W, blocked, "us that it neither ran nor could have")
  PARAM(TaskSample, 7, W, disk, "of these waiting for a disk")
  PARAM(TaskSample, 8, W, minor, "page faults that needed no reading")
  PARAM(TaskSample, 9, W, major, "page faults that needed reading")
  PARAM(TaskSample, 10, S, state, "as the system has it: R S D T ...; X: it has ended since")

RELATION(MachineSample, 0x092a, TRUE, System, UWWWWW)
  DOC(MachineSample, "the machine has idled for %idle us, and run for %user and %system")
  PARAM(MachineSample, 0, U, processors, "that it has; the times are sums over them")
  PARAM(MachineSample, 1, W, user, "us in user mode, of all processes")
  PARAM(MachineSample, 2, W, system, "us in system mode, interrupts included")
  PARAM(MachineSample, 3, W, idle, "us with nothing to do")
  PARAM(MachineSample, 4, W, disk, "us with nothing to do while somebody waited for a disk")
  PARAM(MachineSample, 5, W, stolen, "us that another machine on the same hardware had")

#undef KIND
#undef RELATION
#undef DOC
#undef PARAM
#undef RETIRED
