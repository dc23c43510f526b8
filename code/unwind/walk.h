/* walk.h -- walks the calling thread's stack, and gives the stack a number
 *
 * From one allocation to the next only the innermost frames of a stack change.  So each thread keeps the frames of its
 * last walk, and a new walk goes outwards only until it meets one of them: a frame with the same instruction address,
 * stack pointer and rbp.  From there on outwards the kept frames are verified instead of walked: as long as the words
 * on the stack from which the next frame was found are still the same, so is that frame.  By induction all are.
 *
 * A stack that is deeper than `depth` frames is recorded with its innermost ones: at least `depth`, and at most twice
 * as many.  So a stack that grows and shrinks by a few frames keeps its outermost recorded frame, and with it the
 * numbers of its frames.
 *
 * Always true (StackWalkCheck), for the kept frames, outermost first:
 *   count <= 2 * depth
 *   sp of frame i-1 is the CFA of frame i, and greater than sp of frame i
 *   the parent of number i is number i-1; number 0 says what lies beyond frame 1
 *
 * Threads: each has its own, and only its owner walks.  A signal handler that interrupts a walk gets StackNESTED.
 * Design: design/unwind.md .walk      Tests: test/unwind/walktest.c
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "unwind/stackrange.h"
#include "unwind/stacktree.h"

enum { StackDepthMAX = 64 };

typedef struct StackFrameStruct {
  Word at;             /* address inside the instruction that is running: a return address minus one, if it calls */
  Word sp, bp;         /* registers, as the frame has them behind that call */
  Word slot;           /* address of the word that has the caller's rbp: on the thread's own stack, where it stays
                          readable; or, if the function has not saved rbp, that of `bp` in the caller's frame, with
                          which it is compared, so that it is always equal; or one of those below */
} StackFrameStruct, *StackFrame;

enum {
  StackSlotNONE = 0,   /* of a frame that the present walk has found: the function has not saved rbp */
  StackSlotLOOK = 1,   /* the frame's row is needed to verify it */
  StackSlotSIGNAL = 2, /* it is a signal's frame, and is never taken as unchanged */
  StackSlotODD = 7     /* an address has none of these bits */
};

enum {
  StackKeptMAX = 2 * StackDepthMAX,
  StackFreshMAX = StackDepthMAX + StackDepthMAX / 2
};

typedef struct StackWalkStruct {
  Count depth;           /* frames that a stack has at least, if there are so many */
  Count count;           /* kept frames: frames[1] to frames[count] */
  Word walking;          /* the stack pointer of the walk that is under way; 0: none is */
  uint32_t generation;   /* of the numbers that the frames have */
  StackRangeStruct range;
  uint64_t walks, walked, nested; /* walks; frames that were found by their rows; walks that were refused */
  StackNumber numbers[1 + StackKeptMAX];     /* of the stacks from each kept frame outwards; the first: StackWHOLE,
                                                StackCUT or StackBROKEN */
  StackFrameStruct frames[1 + StackKeptMAX]; /* kept, outermost first; the first is none, and lies above all stacks */
  StackFrameStruct fresh[StackFreshMAX];     /* found by the walk that is under way, innermost first */
} StackWalkStruct, *StackWalk;

/* StackWalkInit -- for one thread; depth is 2 to StackDepthMAX.  The struct is the caller's. */
extern void StackWalkInit(StackWalk walk, Count depth);

/* StackWalkFrom -- the number of the stack of the calling thread
 *
 * from         an address inside a call: the frame with it is the innermost that is wanted; it is at most StackWalkSKIP
 *              frames further out than the given one.  0: the given one
 * at, sp, bp   the frame to begin with: an address inside its call, and its registers after that call
 * returns      a number of stacktree.h
 * cost         some 10 ns, 1 for each frame that is verified, 5 for each that has changed; more for code that is new
 */
#define StackWalkSKIP 4
extern StackNumber StackWalkFrom(StackWalk walk, Word from, Word at, Word sp, Word bp);

/* StackWalkCaller -- the same, beginning with the caller of the function in which the macro is used.  That function
 * then has a frame pointer. */
#define StackWalkCaller(walk, from) \
  StackWalkFrom((walk), (from), (Word)__builtin_return_address(0) - 1, \
                (Word)__builtin_frame_address(0) + 2 * sizeof(Word), *(Word *)__builtin_frame_address(0))

/* StackWalkOmit -- functions from base to limit are walked through, and have no part in a stack's number: the number
 * is that of their caller's frame.  A stack that is cut has fewer frames then.  For all threads, before the first
 * walk; cost: a comparison for each frame that is found */
extern void StackWalkOmit(Word base, Word limit);

/* StackWalkInner -- of the last walk, an address inside the call of the innermost frame that is not omitted; 0: none is
 * known */
extern Word StackWalkInner(StackWalk walk);

/* StackWalkForget -- numbers that were given are void (StackTreeForget), or code was unloaded (RowCacheForget) */
extern void StackWalkForget(void);

extern Bool StackWalkCheck(StackWalk walk);

#endif /* UNWIND_WALK_H */
