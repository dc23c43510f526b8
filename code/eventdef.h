/* eventdef.h -- the registry: every type of event, once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Plain C, to be included by whoever defines the macros it needs; those left undefined expand to nothing:
 *
 *   KIND(name, value, doc)                        a kind of event; its bit in EventKindControl
 *   OFF(name)                                     a kind that is neither sent nor buffered unless somebody names it
 *   RELATION(name, code, always, kind, format)    an event type
 *   DOC(name, template)                           what it says to people; %parameter stands for its value,
 *                                                 %*parameter for the interned string that has this number
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
 * An event whose form or meaning changes gets a new median version, an added one a new minor (test/house/registry.t).
 *
 * Design: design/telemetry.md .reg      Tests: test/house/eventgen.t, test/house/registry.t
 */
#ifndef EVENTDEF_VERSION
#define EVENTDEF_VERSION
#define EventVersionMAJOR  1 /* the file format */
#define EventVersionMEDIAN 1 /* an existing event changed its form or meaning */
#define EventVersionMINOR  1 /* an event was added */
#endif

#ifndef KIND
#define KIND(name, value, doc)
#endif
#ifndef OFF
#define OFF(name)
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
KIND(Sync,   7, "threads waiting for one another")
OFF(Sync) /* which is neither memory nor rare */
OFF(Ref)  /* of which there are many more than of all others */
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

RELATION(ArenaLimit, 0x0109, TRUE, Arena, PW)
  DOC(ArenaLimit, "arena %arena commits no more than %limit bytes")
  PARAM(ArenaLimit, 0, P, arena, "the arena")
  PARAM(ArenaLimit, 1, W, limit, "bytes that may be committed, from now on")

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

RELATION(MemoryBreak, 0x0113, TRUE, Arena, AA)
  DOC(MemoryBreak, "the program moves its break from %before to %limit")
  PARAM(MemoryBreak, 0, A, limit, "the end of the data segment")
  PARAM(MemoryBreak, 1, A, before, "where it was before, also by libc's own doing")

RELATION(MemoryMapStack, 0x0120, TRUE, Arena, AWUUW)
  DOC(MemoryMapStack, "the program maps %size bytes at %base from stack %stack")
  PARAM(MemoryMapStack, 0, A, base, "where the mapping is")
  PARAM(MemoryMapStack, 1, W, size, "bytes asked for")
  PARAM(MemoryMapStack, 2, U, protection, "as mmap has it")
  PARAM(MemoryMapStack, 3, U, flags, "as mmap has them")
  PARAM(MemoryMapStack, 4, W, stack, "the calling stack (StackFrame)")

RELATION(MemoryUnmapStack, 0x0121, TRUE, Arena, AWW)
  DOC(MemoryUnmapStack, "the program unmaps %size bytes at %base from stack %stack")
  PARAM(MemoryUnmapStack, 0, A, base, "the first address")
  PARAM(MemoryUnmapStack, 1, W, size, "bytes")
  PARAM(MemoryUnmapStack, 2, W, stack, "the calling stack (StackFrame)")

RELATION(MemoryRemapStack, 0x0122, TRUE, Arena, AWAWW)
  DOC(MemoryRemapStack, "the program remaps %oldSize bytes at %old to %size bytes at %base from stack %stack")
  PARAM(MemoryRemapStack, 0, A, old, "the first address before")
  PARAM(MemoryRemapStack, 1, W, oldSize, "bytes before")
  PARAM(MemoryRemapStack, 2, A, base, "the first address now")
  PARAM(MemoryRemapStack, 3, W, size, "bytes now")
  PARAM(MemoryRemapStack, 4, W, stack, "the calling stack (StackFrame)")

RELATION(MemoryBreakStack, 0x0123, TRUE, Arena, AAW)
  DOC(MemoryBreakStack, "the program moves its break from %before to %limit from stack %stack")
  PARAM(MemoryBreakStack, 0, A, limit, "the end of the data segment")
  PARAM(MemoryBreakStack, 1, A, before, "where it was before, also by libc's own doing")
  PARAM(MemoryBreakStack, 2, W, stack, "the calling stack (StackFrame)")

/* Pool */

RELATION(PoolCreate, 0x0201, TRUE, Pool, PPS)
  DOC(PoolCreate, "creates pool %pool of class %class in arena %arena")
  PARAM(PoolCreate, 0, P, pool, "the pool")
  PARAM(PoolCreate, 1, P, arena, "the arena it is in; 0 for a pool that stands for a foreign malloc")
  PARAM(PoolCreate, 2, S, class, "MFS, MVFF, SGF, MVFFDebug, SGFDebug, AMS; malloc for libc's; malloc: and its library for another one")

RELATION(PoolParam, 0x0202, TRUE, Pool, PWS)
  DOC(PoolParam, "pool %pool has %name = %value")
  PARAM(PoolParam, 0, P, pool, "the pool; the event follows its PoolCreate")
  PARAM(PoolParam, 1, W, value, "what the parameter was set to")
  PARAM(PoolParam, 2, S, name, "the parameter's name, as PoolCreate's caller gives it")

RELATION(PoolDestroy, 0x0203, TRUE, Pool, P)
  DOC(PoolDestroy, "destroys pool %pool, and every object in it")
  PARAM(PoolDestroy, 0, P, pool, "the pool")

RELATION(RootCreate, 0x0204, TRUE, Pool, PPUPW)
  DOC(RootCreate, "pool %pool gets root %root of %count references at %base")
  PARAM(RootCreate, 0, P, root, "the root")
  PARAM(RootCreate, 1, P, pool, "the pool")
  PARAM(RootCreate, 2, U, rank, "of its references: 0 ambiguous, 1 exact, 2 weak")
  PARAM(RootCreate, 3, P, base, "a table of references; 0: a function that scans")
  PARAM(RootCreate, 4, W, count, "references in the table")

RELATION(RootDestroy, 0x0205, TRUE, Pool, PP)
  DOC(RootDestroy, "pool %pool loses root %root")
  PARAM(RootDestroy, 0, P, root, "the root")
  PARAM(RootDestroy, 1, P, pool, "the pool")

RELATION(PoolMisuse, 0x0206, TRUE, Pool, PAS)
  DOC(PoolMisuse, "pool %pool finds, of %addr: %what")
  PARAM(PoolMisuse, 0, P, pool, "the pool")
  PARAM(PoolMisuse, 1, A, addr, "the object, or the address that is none")
  PARAM(PoolMisuse, 2, S, what, "what the program did wrong with it, as it was told on standard error")

/* Trace: one collection of a pool.  Between TraceStart and TraceEnd the program runs, but for TraceFlip and for whoever
 * does a step. */

RELATION(TraceStart, 0x0301, TRUE, Trace, PWWS)
  DOC(TraceStart, "pool %pool begins collection %trace of %condemned bytes: %why")
  PARAM(TraceStart, 0, P, pool, "the pool")
  PARAM(TraceStart, 1, W, trace, "the number of the collection in this pool, from 1")
  PARAM(TraceStart, 2, W, condemned, "bytes of the objects that there are: those that nothing leads to will go")
  PARAM(TraceStart, 3, S, why, "client: it was asked for; threshold: so much was allocated; memory: there was none")

RELATION(TraceFlip, 0x0302, TRUE, Trace, PWUUWD)
  DOC(TraceFlip, "collection %trace of pool %pool stopped %threads threads for %seconds s")
  PARAM(TraceFlip, 0, P, pool, "the pool")
  PARAM(TraceFlip, 1, W, trace, "the collection")
  PARAM(TraceFlip, 2, U, threads, "that were stopped, besides the one that did it")
  PARAM(TraceFlip, 3, U, signals, "that were sent to them")
  PARAM(TraceFlip, 4, W, refs, "references that were looked at meanwhile, in roots and on stacks")
  PARAM(TraceFlip, 5, D, seconds, "from the first signal until they could go on; the event comes after that")

RELATION(TraceScan, 0x0303, TRUE, Trace, PWPWW)
  DOC(TraceScan, "collection %trace of pool %pool found %refs references in %what")
  PARAM(TraceScan, 0, P, pool, "the pool")
  PARAM(TraceScan, 1, W, trace, "the collection")
  PARAM(TraceScan, 2, P, what, "a root, the beginning of a thread's stack, or a segment that was scanned once more")
  PARAM(TraceScan, 3, W, kind, "0 root, 1 stack, 2 segment")
  PARAM(TraceScan, 4, W, refs, "references, or words that looked like some")

RELATION(TraceStepBegin, 0x0304, TRUE, Trace, PW)
  DOC(TraceStepBegin, "pool %pool goes on with collection %trace")
  PARAM(TraceStepBegin, 0, P, pool, "the pool")
  PARAM(TraceStepBegin, 1, W, trace, "the collection")

RELATION(TraceStepEnd, 0x0305, TRUE, Trace, PWU)
  DOC(TraceStepEnd, "pool %pool interrupts collection %trace")
  PARAM(TraceStepEnd, 0, P, pool, "the pool")
  PARAM(TraceStepEnd, 1, W, trace, "the collection")
  PARAM(TraceStepEnd, 2, U, phase, "that it is in: 0 ended, 1 marking, 2 finalization, 3 weak references, 4 sweeping")

RELATION(TraceEnd, 0x0306, TRUE, Trace, PWWWWWDDDD)
  DOC(TraceEnd, "collection %trace of pool %pool has taken back %reclaimed of %condemned bytes")
  PARAM(TraceEnd, 0, P, pool, "the pool")
  PARAM(TraceEnd, 1, W, trace, "the collection")
  PARAM(TraceEnd, 2, W, condemned, "bytes of objects when it began")
  PARAM(TraceEnd, 3, W, marked, "bytes of these that were reached, and so were not reclaimed")
  PARAM(TraceEnd, 4, W, reclaimed, "bytes of these that were taken back")
  PARAM(TraceEnd, 5, W, born, "bytes of objects of which it learned since, and that it let be")
  PARAM(TraceEnd, 6, D, flip, "seconds for which it stopped threads")
  PARAM(TraceEnd, 7, D, mark, "seconds in which it marked, in steps; finalization included")
  PARAM(TraceEnd, 8, D, weak, "seconds for weak references")
  PARAM(TraceEnd, 9, D, sweep, "seconds in which it swept, in steps; not what allocations swept for themselves")

RELATION(TraceAbandon, 0x0307, TRUE, Trace, PUUD)
  DOC(TraceAbandon, "pool %pool begins no collection: of %threads threads %late did not stop in %seconds s")
  PARAM(TraceAbandon, 0, P, pool, "the pool")
  PARAM(TraceAbandon, 1, U, threads, "that should have stopped")
  PARAM(TraceAbandon, 2, U, late, "that have not")
  PARAM(TraceAbandon, 3, D, seconds, "for which the others stood still")

RELATION(MessagePost, 0x0310, FALSE, Trace, PA)
  DOC(MessagePost, "pool %pool posts that %addr is out of reach")
  PARAM(MessagePost, 0, P, pool, "the pool")
  PARAM(MessagePost, 1, A, addr, "an object that was registered for finalization; its message keeps it")

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

RELATION(SegReclaim, 0x0403, TRUE, Seg, PPWW)
  DOC(SegReclaim, "pool %pool takes back %reclaimed bytes in segment %seg, and %left bytes stay")
  PARAM(SegReclaim, 0, P, seg, "the segment")
  PARAM(SegReclaim, 1, P, pool, "the pool that owns it")
  PARAM(SegReclaim, 2, W, reclaimed, "bytes of objects")
  PARAM(SegReclaim, 3, W, left, "bytes that are not free, runs of allocation points included")

/* Ref */

RELATION(RefFix, 0x0501, FALSE, Ref, PAU)
  DOC(RefFix, "pool %pool finds a reference to %addr")
  PARAM(RefFix, 0, P, pool, "the pool")
  PARAM(RefFix, 1, A, addr, "the object")
  PARAM(RefFix, 2, U, marks, "1: the first one, by which it is marked")

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

RELATION(PoolLive, 0x0608, FALSE, Object, PAW)
  DOC(PoolLive, "pool %pool has an object of %size bytes at %addr")
  PARAM(PoolLive, 0, P, pool, "the pool")
  PARAM(PoolLive, 1, A, addr, "an object that was allocated before its allocation could be told")
  PARAM(PoolLive, 2, W, size, "bytes that it may use; what was asked for is not known any more")

RELATION(PoolLiveEnd, 0x0609, FALSE, Object, PW)
  DOC(PoolLiveEnd, "pool %pool has these %count objects, and none besides")
  PARAM(PoolLiveEnd, 0, P, pool, "the pool")
  PARAM(PoolLiveEnd, 1, W, count, "PoolLive events of the pool since StateBegin")

RELATION(PoolReclaim, 0x060a, FALSE, Object, PA)
  DOC(PoolReclaim, "pool %pool takes back %addr, which nothing leads to")
  PARAM(PoolReclaim, 0, P, pool, "the pool")
  PARAM(PoolReclaim, 1, A, addr, "the object")

RELATION(PoolTouch, 0x060b, FALSE, Object, PAWW)
  DOC(PoolTouch, "of the object at %addr in %pool, %size bytes, %touched bytes are in memory")
  PARAM(PoolTouch, 0, P, pool, "as PoolAlloc had it")
  PARAM(PoolTouch, 1, A, addr, "the object, which is freed or resized next, or lives when the process ends")
  PARAM(PoolTouch, 2, W, size, "bytes that were asked for")
  PARAM(PoolTouch, 3, W, touched, "bytes of it in pages that the program has touched, or who had the memory before")

RELATION(PoolUsable, 0x060c, FALSE, Object, PAWW)
  DOC(PoolUsable, "of the object at %addr in %pool, for which %size bytes were asked, %usable can be used")
  PARAM(PoolUsable, 0, P, pool, "as PoolAlloc had it")
  PARAM(PoolUsable, 1, A, addr, "the object, which was just allocated or resized")
  PARAM(PoolUsable, 2, W, size, "bytes asked for")
  PARAM(PoolUsable, 3, W, usable, "bytes that the allocator gave")

RELATION(PoolAllocSite, 0x0611, FALSE, Object, PAWA)
  DOC(PoolAllocSite, "pool %pool allocates %size bytes at %addr for %site")
  PARAM(PoolAllocSite, 0, P, pool, "the pool")
  PARAM(PoolAllocSite, 1, A, addr, "the object")
  PARAM(PoolAllocSite, 2, W, size, "bytes asked for")
  PARAM(PoolAllocSite, 3, A, site, "where that was asked for: the address that the call returns to")

RELATION(PoolAllocZeroSite, 0x0613, FALSE, Object, PAWA)
  DOC(PoolAllocZeroSite, "pool %pool allocates %size zeroed bytes at %addr for %site")
  PARAM(PoolAllocZeroSite, 0, P, pool, "the pool")
  PARAM(PoolAllocZeroSite, 1, A, addr, "the object")
  PARAM(PoolAllocZeroSite, 2, W, size, "bytes asked for")
  PARAM(PoolAllocZeroSite, 3, A, site, "where that was asked for: the address that the call returns to")

RELATION(PoolAllocAlignedSite, 0x0614, FALSE, Object, PAWWA)
  DOC(PoolAllocAlignedSite, "pool %pool allocates %size bytes at %addr, aligned to %align, for %site")
  PARAM(PoolAllocAlignedSite, 0, P, pool, "the pool")
  PARAM(PoolAllocAlignedSite, 1, A, addr, "the object")
  PARAM(PoolAllocAlignedSite, 2, W, size, "bytes asked for")
  PARAM(PoolAllocAlignedSite, 3, W, align, "the alignment asked for")
  PARAM(PoolAllocAlignedSite, 4, A, site, "where that was asked for: the address that the call returns to")

RELATION(PoolResizeEndSite, 0x0616, FALSE, Object, PAAWA)
  DOC(PoolResizeEndSite, "pool %pool has resized %old to %size bytes at %addr for %site")
  PARAM(PoolResizeEndSite, 0, P, pool, "the pool")
  PARAM(PoolResizeEndSite, 1, A, old, "the object as it was")
  PARAM(PoolResizeEndSite, 2, A, addr, "the object as it is; 0 where that failed, and the old one lives on")
  PARAM(PoolResizeEndSite, 3, W, size, "bytes asked for")
  PARAM(PoolResizeEndSite, 4, A, site, "where that was asked for: the address that the call returns to")

RELATION(PoolLiveSite, 0x0618, FALSE, Object, PAWA)
  DOC(PoolLiveSite, "pool %pool has an object of %size bytes at %addr, which %site asked for")
  PARAM(PoolLiveSite, 0, P, pool, "the pool")
  PARAM(PoolLiveSite, 1, A, addr, "an object that lived where a part of a log begins")
  PARAM(PoolLiveSite, 2, W, size, "bytes of it")
  PARAM(PoolLiveSite, 3, A, site, "where it was asked for, or resized last: the address that the call returns to")

RELATION(PoolUsableSite, 0x061c, FALSE, Object, PAWWA)
  DOC(PoolUsableSite, "of the object at %addr in %pool, for which %site asked %size bytes, %usable can be used")
  PARAM(PoolUsableSite, 0, P, pool, "as PoolAlloc had it")
  PARAM(PoolUsableSite, 1, A, addr, "the object, which was just allocated or resized")
  PARAM(PoolUsableSite, 2, W, size, "bytes asked for")
  PARAM(PoolUsableSite, 3, W, usable, "bytes that the allocator gave")
  PARAM(PoolUsableSite, 4, A, site, "where they were asked for: the address that the call returns to")

RELATION(PoolAllocStack, 0x0621, FALSE, Object, PAWW)
  DOC(PoolAllocStack, "pool %pool allocates %size bytes at %addr for stack %stack")
  PARAM(PoolAllocStack, 0, P, pool, "the pool")
  PARAM(PoolAllocStack, 1, A, addr, "the object")
  PARAM(PoolAllocStack, 2, W, size, "bytes asked for")
  PARAM(PoolAllocStack, 3, W, stack, "the calling stack (StackFrame)")

RELATION(PoolFreeStack, 0x0622, FALSE, Object, PAW)
  DOC(PoolFreeStack, "pool %pool frees %addr for stack %stack")
  PARAM(PoolFreeStack, 0, P, pool, "the pool")
  PARAM(PoolFreeStack, 1, A, addr, "the object")
  PARAM(PoolFreeStack, 2, W, stack, "the calling stack (StackFrame)")

RELATION(PoolAllocZeroStack, 0x0623, FALSE, Object, PAWW)
  DOC(PoolAllocZeroStack, "pool %pool allocates %size zeroed bytes at %addr for stack %stack")
  PARAM(PoolAllocZeroStack, 0, P, pool, "the pool")
  PARAM(PoolAllocZeroStack, 1, A, addr, "the object")
  PARAM(PoolAllocZeroStack, 2, W, size, "bytes asked for")
  PARAM(PoolAllocZeroStack, 3, W, stack, "the calling stack (StackFrame)")

RELATION(PoolAllocAlignedStack, 0x0624, FALSE, Object, PAWWW)
  DOC(PoolAllocAlignedStack, "pool %pool allocates %size bytes at %addr, aligned to %align, for stack %stack")
  PARAM(PoolAllocAlignedStack, 0, P, pool, "the pool")
  PARAM(PoolAllocAlignedStack, 1, A, addr, "the object")
  PARAM(PoolAllocAlignedStack, 2, W, size, "bytes asked for")
  PARAM(PoolAllocAlignedStack, 3, W, align, "the alignment asked for")
  PARAM(PoolAllocAlignedStack, 4, W, stack, "the calling stack (StackFrame)")

RELATION(PoolResizeEndStack, 0x0626, FALSE, Object, PAAWW)
  DOC(PoolResizeEndStack, "pool %pool has resized %old to %size bytes at %addr for stack %stack")
  PARAM(PoolResizeEndStack, 0, P, pool, "the pool")
  PARAM(PoolResizeEndStack, 1, A, old, "the object as it was")
  PARAM(PoolResizeEndStack, 2, A, addr, "the object as it is; 0 where that failed, and the old one lives on")
  PARAM(PoolResizeEndStack, 3, W, size, "bytes asked for")
  PARAM(PoolResizeEndStack, 4, W, stack, "the calling stack (StackFrame)")

RELATION(PoolLiveStack, 0x0628, FALSE, Object, PAWW)
  DOC(PoolLiveStack, "pool %pool has an object of %size bytes at %addr, which stack %stack asked for")
  PARAM(PoolLiveStack, 0, P, pool, "the pool")
  PARAM(PoolLiveStack, 1, A, addr, "an object that lived where a part of a log begins")
  PARAM(PoolLiveStack, 2, W, size, "bytes of it")
  PARAM(PoolLiveStack, 3, W, stack, "the stack that asked for it, or resized it last (StackFrame)")

RELATION(PoolUsableStack, 0x062c, FALSE, Object, PAWWW)
  DOC(PoolUsableStack, "of the object at %addr in %pool, for which stack %stack asked %size bytes, %usable can be used")
  PARAM(PoolUsableStack, 0, P, pool, "as PoolAlloc had it")
  PARAM(PoolUsableStack, 1, A, addr, "the object, which was just allocated or resized")
  PARAM(PoolUsableStack, 2, W, size, "bytes asked for")
  PARAM(PoolUsableStack, 3, W, usable, "bytes that the allocator gave")
  PARAM(PoolUsableStack, 4, W, stack, "the calling stack (StackFrame)")

/* User: what the program itself tells (pawprint.h) */

RELATION(Intern, 0x0701, TRUE, User, WS)
  DOC(Intern, "string %id is %string")
  PARAM(Intern, 0, W, id, "the number that stands for the string from here on")
  PARAM(Intern, 1, S, string, "the string")

RELATION(Label, 0x0702, TRUE, User, AW)
  DOC(Label, "labels %addr with string %*id")
  PARAM(Label, 0, A, addr, "what is labelled")
  PARAM(Label, 1, W, id, "the interned string")

RELATION(UserWord, 0x0703, TRUE, User, WW)
  DOC(UserWord, "%*id: %value")
  PARAM(UserWord, 0, W, id, "the interned string that names the event")
  PARAM(UserWord, 1, W, value, "whatever the program means by it")

RELATION(UserDouble, 0x0704, TRUE, User, WD)
  DOC(UserDouble, "%*id: %value")
  PARAM(UserDouble, 0, W, id, "the interned string that names the event")
  PARAM(UserDouble, 1, D, value, "whatever the program means by it")

RELATION(UserString, 0x0705, TRUE, User, WS)
  DOC(UserString, "%*id: %text")
  PARAM(UserString, 0, W, id, "the interned string that names the event")
  PARAM(UserString, 1, S, text, "whatever the program means by it")

/* What events with a stack refer to.  It is of this kind because it stands where strings are defined. */

RELATION(StackFrame, 0x0706, TRUE, User, WWA)
  DOC(StackFrame, "stack %stack is the call at %address, from stack %parent")
  PARAM(StackFrame, 0, W, stack, "the number that stands for the stack from here on in this process; 4 or more")
  PARAM(StackFrame, 1, W, parent, "the caller's stack; 0: none, 1: it was cut, 2: the caller was not found")
  PARAM(StackFrame, 2, A, address,
        "inside the call: the address that it returns to, minus one; or where a signal interrupted")

/* Sync: what threads wait for, seen where the program calls the functions of POSIX threads by name
 *
 * Who has to wait leaves a request and, when the waiting is over, what came of it; who does not, only the latter.  A
 * release is told before it happens, so that what it lets go on comes behind it. */

RELATION(ThreadCreate, 0x0801, TRUE, Sync, UPA)
  DOC(ThreadCreate, "thread %thread creates thread %handle to run %start")
  PARAM(ThreadCreate, 0, U, thread, "the system's number of the thread that does this")
  PARAM(ThreadCreate, 1, P, handle, "pthread_t of the new thread")
  PARAM(ThreadCreate, 2, A, start, "the function that it runs")

RELATION(ThreadJoinBegin, 0x0802, TRUE, Sync, UP)
  DOC(ThreadJoinBegin, "thread %thread waits for the end of thread %handle")
  PARAM(ThreadJoinBegin, 0, U, thread, "the system's number of the thread that does this")
  PARAM(ThreadJoinBegin, 1, P, handle, "pthread_t of the other")

RELATION(ThreadJoinEnd, 0x0803, TRUE, Sync, UPU)
  DOC(ThreadJoinEnd, "thread %thread has joined thread %handle with result %result")
  PARAM(ThreadJoinEnd, 0, U, thread, "the system's number of the thread that does this")
  PARAM(ThreadJoinEnd, 1, P, handle, "pthread_t of the other")
  PARAM(ThreadJoinEnd, 2, U, result, "0, or the error")

RELATION(ThreadDetach, 0x0804, TRUE, Sync, UP)
  DOC(ThreadDetach, "thread %thread detaches thread %handle")
  PARAM(ThreadDetach, 0, U, thread, "the system's number of the thread that does this")
  PARAM(ThreadDetach, 1, P, handle, "pthread_t of the other")

RELATION(ThreadExit, 0x0805, TRUE, Sync, U)
  DOC(ThreadExit, "thread %thread ends itself")
  PARAM(ThreadExit, 0, U, thread, "the system's number of the thread that does this")

RELATION(MutexInit, 0x0810, TRUE, Sync, UP)
  DOC(MutexInit, "thread %thread initialised mutex %mutex")
  PARAM(MutexInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(MutexInit, 1, P, mutex, "the mutex")

RELATION(MutexDestroy, 0x0811, TRUE, Sync, UP)
  DOC(MutexDestroy, "thread %thread destroyed mutex %mutex")
  PARAM(MutexDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(MutexDestroy, 1, P, mutex, "the mutex")

RELATION(MutexRequest, 0x0812, FALSE, Sync, UP)
  DOC(MutexRequest, "thread %thread waits for mutex %mutex")
  PARAM(MutexRequest, 0, U, thread, "the system's number of the thread that does this")
  PARAM(MutexRequest, 1, P, mutex, "the mutex")

RELATION(MutexAcquire, 0x0813, FALSE, Sync, UPU)
  DOC(MutexAcquire, "thread %thread gets mutex %mutex with result %result")
  PARAM(MutexAcquire, 0, U, thread, "the system's number of the thread that does this")
  PARAM(MutexAcquire, 1, P, mutex, "the mutex")
  PARAM(MutexAcquire, 2, U, result, "0, or the error: then it has not; but EOWNERDEAD has")

RELATION(MutexRelease, 0x0814, FALSE, Sync, UP)
  DOC(MutexRelease, "thread %thread releases mutex %mutex")
  PARAM(MutexRelease, 0, U, thread, "the system's number of the thread that does this")
  PARAM(MutexRelease, 1, P, mutex, "the mutex")

RELATION(RwlockInit, 0x0820, TRUE, Sync, UP)
  DOC(RwlockInit, "thread %thread initialised read-write lock %rwlock")
  PARAM(RwlockInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(RwlockInit, 1, P, rwlock, "the read-write lock")

RELATION(RwlockDestroy, 0x0821, TRUE, Sync, UP)
  DOC(RwlockDestroy, "thread %thread destroyed read-write lock %rwlock")
  PARAM(RwlockDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(RwlockDestroy, 1, P, rwlock, "the read-write lock")

RELATION(RwlockRequest, 0x0822, FALSE, Sync, UPU)
  DOC(RwlockRequest, "thread %thread waits for read-write lock %rwlock (write %write)")
  PARAM(RwlockRequest, 0, U, thread, "the system's number of the thread that does this")
  PARAM(RwlockRequest, 1, P, rwlock, "the read-write lock")
  PARAM(RwlockRequest, 2, U, write, "1 to write, 0 to read")

RELATION(RwlockAcquire, 0x0823, FALSE, Sync, UPUU)
  DOC(RwlockAcquire, "thread %thread gets read-write lock %rwlock (write %write) with result %result")
  PARAM(RwlockAcquire, 0, U, thread, "the system's number of the thread that does this")
  PARAM(RwlockAcquire, 1, P, rwlock, "the read-write lock")
  PARAM(RwlockAcquire, 2, U, write, "1 to write, 0 to read")
  PARAM(RwlockAcquire, 3, U, result, "0, or the error: then it has not")

RELATION(RwlockRelease, 0x0824, FALSE, Sync, UP)
  DOC(RwlockRelease, "thread %thread releases read-write lock %rwlock")
  PARAM(RwlockRelease, 0, U, thread, "the system's number of the thread that does this")
  PARAM(RwlockRelease, 1, P, rwlock, "the read-write lock")

RELATION(SpinInit, 0x0830, TRUE, Sync, UP)
  DOC(SpinInit, "thread %thread initialised spin lock %spin")
  PARAM(SpinInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SpinInit, 1, P, spin, "the spin lock")

RELATION(SpinDestroy, 0x0831, TRUE, Sync, UP)
  DOC(SpinDestroy, "thread %thread destroyed spin lock %spin")
  PARAM(SpinDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SpinDestroy, 1, P, spin, "the spin lock")

RELATION(SpinRequest, 0x0832, FALSE, Sync, UP)
  DOC(SpinRequest, "thread %thread waits for spin lock %spin")
  PARAM(SpinRequest, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SpinRequest, 1, P, spin, "the spin lock")

RELATION(SpinAcquire, 0x0833, FALSE, Sync, UPU)
  DOC(SpinAcquire, "thread %thread gets spin lock %spin with result %result")
  PARAM(SpinAcquire, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SpinAcquire, 1, P, spin, "the spin lock")
  PARAM(SpinAcquire, 2, U, result, "0, or the error: then it has not")

RELATION(SpinRelease, 0x0834, FALSE, Sync, UP)
  DOC(SpinRelease, "thread %thread releases spin lock %spin")
  PARAM(SpinRelease, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SpinRelease, 1, P, spin, "the spin lock")

RELATION(BarrierInit, 0x0840, TRUE, Sync, UPU)
  DOC(BarrierInit, "thread %thread initialised barrier %barrier for %count threads")
  PARAM(BarrierInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(BarrierInit, 1, P, barrier, "the barrier")
  PARAM(BarrierInit, 2, U, count, "threads that it waits for")

RELATION(BarrierDestroy, 0x0841, TRUE, Sync, UP)
  DOC(BarrierDestroy, "thread %thread destroyed barrier %barrier")
  PARAM(BarrierDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(BarrierDestroy, 1, P, barrier, "the barrier")

RELATION(BarrierReach, 0x0842, TRUE, Sync, UP)
  DOC(BarrierReach, "thread %thread requires barrier %barrier")
  PARAM(BarrierReach, 0, U, thread, "the system's number of the thread that does this")
  PARAM(BarrierReach, 1, P, barrier, "the barrier")

RELATION(BarrierResume, 0x0843, TRUE, Sync, UPU)
  DOC(BarrierResume, "thread %thread goes on behind barrier %barrier with result %result")
  PARAM(BarrierResume, 0, U, thread, "the system's number of the thread that does this")
  PARAM(BarrierResume, 1, P, barrier, "the barrier")
  PARAM(BarrierResume, 2, U, result,
        "0, or the error; all bits set in one of the threads, which POSIX calls the serial one")

RELATION(BarrierBlock, 0x0844, TRUE, Sync, UPU)
  DOC(BarrierBlock, "blocked thread: %thread, at barrier %barrier, which waits for %left more")
  PARAM(BarrierBlock, 0, U, thread, "the system's number of the thread that waits")
  PARAM(BarrierBlock, 1, P, barrier, "the barrier, which the thread has reached and is not the last")
  PARAM(BarrierBlock, 2, U, left, "threads that the barrier still waits for")

RELATION(CondInit, 0x0850, TRUE, Sync, UP)
  DOC(CondInit, "thread %thread initialised condition %cond")
  PARAM(CondInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondInit, 1, P, cond, "the condition variable")

RELATION(CondDestroy, 0x0851, TRUE, Sync, UP)
  DOC(CondDestroy, "thread %thread destroyed condition %cond")
  PARAM(CondDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondDestroy, 1, P, cond, "the condition variable")

RELATION(CondWaitBegin, 0x0852, FALSE, Sync, UPP)
  DOC(CondWaitBegin, "thread %thread waits for condition %cond, without mutex %mutex")
  PARAM(CondWaitBegin, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondWaitBegin, 1, P, cond, "the condition variable")
  PARAM(CondWaitBegin, 2, P, mutex, "the mutex, which the thread releases while it waits")

RELATION(CondWaitEnd, 0x0853, FALSE, Sync, UPPU)
  DOC(CondWaitEnd, "thread %thread has mutex %mutex again after condition %cond with result %result")
  PARAM(CondWaitEnd, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondWaitEnd, 1, P, cond, "the condition variable")
  PARAM(CondWaitEnd, 2, P, mutex, "the mutex, which the thread releases while it waits")
  PARAM(CondWaitEnd, 3, U, result, "0, or the error; ECANCELED: the thread was cancelled meanwhile")

RELATION(CondSignal, 0x0854, FALSE, Sync, UP)
  DOC(CondSignal, "thread %thread wakes one that waits for condition %cond")
  PARAM(CondSignal, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondSignal, 1, P, cond, "the condition variable")

RELATION(CondBroadcast, 0x0855, FALSE, Sync, UP)
  DOC(CondBroadcast, "thread %thread wakes all that wait for condition %cond")
  PARAM(CondBroadcast, 0, U, thread, "the system's number of the thread that does this")
  PARAM(CondBroadcast, 1, P, cond, "the condition variable")

RELATION(SemInit, 0x0860, TRUE, Sync, UPU)
  DOC(SemInit, "thread %thread initialised semaphore %sem to %count")
  PARAM(SemInit, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SemInit, 1, P, sem, "the semaphore")
  PARAM(SemInit, 2, U, count, "its value")

RELATION(SemDestroy, 0x0861, TRUE, Sync, UP)
  DOC(SemDestroy, "thread %thread destroyed semaphore %sem")
  PARAM(SemDestroy, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SemDestroy, 1, P, sem, "the semaphore")

RELATION(SemRequest, 0x0862, FALSE, Sync, UP)
  DOC(SemRequest, "thread %thread waits for semaphore %sem")
  PARAM(SemRequest, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SemRequest, 1, P, sem, "the semaphore")

RELATION(SemAcquire, 0x0863, FALSE, Sync, UPU)
  DOC(SemAcquire, "thread %thread gets one from semaphore %sem with result %result")
  PARAM(SemAcquire, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SemAcquire, 1, P, sem, "the semaphore")
  PARAM(SemAcquire, 2, U, result, "0, or the error: then it has not; ECANCELED: the thread was cancelled meanwhile")

RELATION(SemPost, 0x0864, FALSE, Sync, UP)
  DOC(SemPost, "thread %thread adds one to semaphore %sem")
  PARAM(SemPost, 0, U, thread, "the system's number of the thread that does this")
  PARAM(SemPost, 1, P, sem, "the semaphore")

/* System: threads, modules, and where a process tells first what already is */

RELATION(ThreadStart, 0x0901, TRUE, System, UPAS)
  DOC(ThreadStart, "thread %thread (%name) begins with %start")
  PARAM(ThreadStart, 0, U, thread, "the system's number of it")
  PARAM(ThreadStart, 1, P, handle, "pthread_t; 0 where it is not known")
  PARAM(ThreadStart, 2, A, start, "the function that it runs; 0 where it is not known")
  PARAM(ThreadStart, 3, S, name, "as the system has it")

RELATION(ThreadName, 0x0902, TRUE, System, UPS)
  DOC(ThreadName, "thread %thread (%handle) is called %name")
  PARAM(ThreadName, 0, U, thread, "the system's number of it; 0 where only the handle is known")
  PARAM(ThreadName, 1, P, handle, "pthread_t")
  PARAM(ThreadName, 2, S, name, "from now on")

RELATION(ThreadEnd, 0x0903, TRUE, System, UP)
  DOC(ThreadEnd, "thread %thread ends")
  PARAM(ThreadEnd, 0, U, thread, "the system's number of it; what comes after this is done by destructors")
  PARAM(ThreadEnd, 1, P, handle, "pthread_t")

RELATION(ModuleLoad, 0x0904, TRUE, System, AWS)
  DOC(ModuleLoad, "%path is mapped at %base, %size bytes")
  PARAM(ModuleLoad, 0, A, base, "where its first byte would be")
  PARAM(ModuleLoad, 1, W, size, "bytes of address space, to the end of its last segment")
  PARAM(ModuleLoad, 2, S, path, "the file")

RELATION(StateBegin, 0x0905, TRUE, System, U)
  DOC(StateBegin, "the process tells what already is, of kinds %kinds")
  PARAM(StateBegin, 0, U, kinds, "a bit for each kind that is told: those that are sent")

RELATION(StateEnd, 0x0906, TRUE, System, U)
  DOC(StateEnd, "the process has told what already was, of kinds %kinds")
  PARAM(StateEnd, 0, U, kinds, "as StateBegin had them")

RELATION(KindsOn, 0x0907, TRUE, System, UD)
  DOC(KindsOn, "kinds %kinds are on again, which were off for at most %seconds s")
  PARAM(KindsOn, 0, U, kinds, "a bit for each that was off; StateBegin follows")
  PARAM(KindsOn, 1, D, seconds, "since the first of them was switched off")

RELATION(ModuleUnload, 0x0908, TRUE, System, AW)
  DOC(ModuleUnload, "what was mapped at %base, %size bytes, is unloaded")
  PARAM(ModuleUnload, 0, A, base, "as ModuleLoad had it")
  PARAM(ModuleUnload, 1, W, size, "bytes of address space")

RELATION(ModuleBuild, 0x0909, TRUE, System, AS)
  DOC(ModuleBuild, "what is mapped at %base has build id %id")
  PARAM(ModuleBuild, 0, A, base, "as the ModuleLoad before had it")
  PARAM(ModuleBuild, 1, S, id, "the build id of the file, in hexadecimal digits")

/* System: what code addresses are.  No program emits these: eventcnv -f paw --symbols writes them, so that the log can
 * be read where the files of its modules are not. */

RELATION(SymbolFunction, 0x0910, TRUE, System, AUS)
  DOC(SymbolFunction, "the code at %code is in function %function (frame %frame)")
  PARAM(SymbolFunction, 0, A, code, "an address inside a call: the one that it returns to, minus one; or a function")
  PARAM(SymbolFunction, 1, U, frame, "0: the innermost function; 1: the one that it was inlined into, and so on")
  PARAM(SymbolFunction, 2, S, function, "its name, as people write it")

RELATION(SymbolFile, 0x0911, TRUE, System, AUUS)
  DOC(SymbolFile, "the code at %code is from line %line of %file (frame %frame)")
  PARAM(SymbolFile, 0, A, code, "as SymbolFunction has it")
  PARAM(SymbolFile, 1, U, frame, "as SymbolFunction has it")
  PARAM(SymbolFile, 2, U, line, "0: not known")
  PARAM(SymbolFile, 3, S, file, "its path")

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

RELATION(ProcessRegion, 0x0925, TRUE, System, UW)
  DOC(ProcessRegion, "of what process %pid has in memory, %bytes bytes are shared memory of the recording")
  PARAM(ProcessRegion, 0, U, pid, "the process; told before the sample of which it is true, when it has changed")
  PARAM(ProcessRegion, 1, W, bytes, "that a process has resident which is recorded, and would not have otherwise")

RELATION(ProcessPeak, 0x0926, TRUE, System, W)
  DOC(ProcessPeak, "this process had at most %resident bytes in memory")
  PARAM(ProcessPeak, 0, W, resident, "bytes, the recording's among them; told at the end, unless that comes soon")

RELATION(ProcessBaseline, 0x0927, TRUE, System, UWWW)
  DOC(ProcessBaseline, "unrecorded, process %pid took %user us in user and %system in system mode, and %resident bytes")
  PARAM(ProcessBaseline, 0, U, pid, "the process, as it was recorded")
  PARAM(ProcessBaseline, 1, W, user, "us that the second run ran in user mode, with the processes that it waited for")
  PARAM(ProcessBaseline, 2, W, system, "us in system mode")
  PARAM(ProcessBaseline, 3, W, resident, "bytes in memory at most, of the largest of them; 0: not known")

RELATION(TaskName, 0x0928, TRUE, System, UUS)
  DOC(TaskName, "thread %task of process %pid is called %name")
  PARAM(TaskName, 0, U, pid, "the process")
  PARAM(TaskName, 1, U, task, "the thread")
  PARAM(TaskName, 2, S, name, "as the system has it, 15 characters at most")

RELATION(TaskSample, 0x0929, TRUE, System, UUWWWWWWWWS)
  DOC(TaskSample, "thread %task of process %pid has run %running us, waited %waiting, been blocked %blocked")
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

RELATION(ProgramUnseen, 0x092b, TRUE, System, US)
  DOC(ProgramUnseen, "not seen: %program")
  PARAM(ProgramUnseen, 0, U, processes, "that ran it, and did not announce themselves; 0 where they were not counted")
  PARAM(ProgramUnseen, 1, S, program,
        "the program, or a library that one has loaded, a colon, and why it was not seen, or what of it")

#undef KIND
#undef OFF
#undef RELATION
#undef DOC
#undef PARAM
#undef RETIRED
