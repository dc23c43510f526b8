/* verify.h -- whether an allocator keeps what it promises of objects, in a replay with --verify
 *
 * Each object is aligned as its pool, or its allocation, says; is zero where that was asked for; and keeps its contents
 * (contents.h) until it is resized or goes.  What is not so is a fault: it is counted, and the first are kept.
 *
 * Threads: any, each with objects of its own.
 * Design: design/replayer.md .verify      Tests: test/replay/scripttest.c, test/replay/replay.t
 */
#ifndef REPLAY_VERIFY_H
#define REPLAY_VERIFY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/player.h"

typedef struct VerifyKeptStruct { /* what is known of a slot's object */
  uint64_t size, seed;
  Bool live;
} VerifyKeptStruct, *VerifyKept;

typedef struct VerifyStruct {
  VerifyKept kept;               /* the caller's, zeroed: one for each slot */
  PlayFault fault;               /* PlayFaultsMAX of them: the first */
  uint64_t faults;               /* atomic */
} VerifyStruct, *Verify;

/* VerifyNew -- the operation has made the object at `addr`; `align`: its pool's, of every object as large as that
 * VerifyResized -- the operation has resized it, and it is at `addr` now
 * VerifyOld -- something is about to be done to a slot's object; `dies`: it is there no more then */
extern void VerifyNew(Verify verify, ScriptOp op, void *addr, Size align);
extern void VerifyResized(Verify verify, ScriptOp op, void *addr, Size align);
extern void VerifyOld(Verify verify, uint32_t slot, void *addr, Bool dies);

#endif /* REPLAY_VERIFY_H */
