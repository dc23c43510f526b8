/* walk.c -- walks the calling thread's stack, and gives the stack a number
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A walk has three parts.  `climb' goes from frame to frame outwards, until it meets a kept frame from which all kept
 * ones further out are still true.  `settle' puts what it found behind those, outermost first, and looks up the number
 * of each frame that it puts there.
 */
#include "unwind/walk.h"

#include <string.h>

#include "base/aver.h"
#include "plinth/rawsyscall.h"
#include "unwind/rowcache.h"

/* Where in the context that the kernel puts on a signal's frame the registers are (struct ucontext, x86-64). */
#define contextRBP ((Word)120)
#define contextRSP ((Word)160)
#define contextRIP ((Word)168)

static uint32_t walkGeneration = 1;
static Word walkOmitBase, walkOmitSize; /* functions that have no part in a number (StackWalkOmit) */

void StackWalkInit(StackWalk walk, Count depth)
{
  AVER(depth >= 2 && depth <= (Count)StackDepthMAX);
  memset(walk, 0, offsetof(StackWalkStruct, frames));
  walk->depth = depth;
  walk->frames[0].sp = ~(Word)0;
  AVER(StackWalkCheck(walk)); /* not after each walk, which belongs to one allocation */
}

void StackWalkForget(void)
{
  __atomic_fetch_add(&walkGeneration, 1, __ATOMIC_RELAXED);
}

void StackWalkOmit(Word base, Word limit)
{
  AVER(base <= limit);
  walkOmitBase = base;
  walkOmitSize = limit - base;
}

static inline Bool omitted(Word at)
{
  return at - walkOmitBase < walkOmitSize;
}

/* numberOf -- the number of a frame that was called by a numbered one */
static inline StackNumber numberOf(StackNumber parent, Word at)
{
  return UNLIKELY(omitted(at)) ? parent : StackTreeNode(parent, at);
}

/* ---- One step ------------------------------------------------------------------------------------------------- */

/* Where a frame's caller is. */
typedef enum StepKind { StepCALLER, StepOUTERMOST, StepBROKEN } StepKind;

/* stackWord -- a word of the stack that is known to be readable */
__attribute__((no_sanitize("address", "thread"))) static inline Word stackWord(Word address)
{
  return *(const volatile Word *)address;
}

/* signalCaller -- what a signal interrupted, which may be on another stack */
static StepKind signalCaller(StackFrame caller, StackRange range, StackFrame frame)
{
  frame->slot = StackSlotSIGNAL;
  if (!StackRangeWord(&caller->at, range, frame->sp + contextRIP)
      || !StackRangeWord(&caller->sp, range, frame->sp + contextRSP)
      || !StackRangeWord(&caller->bp, range, frame->sp + contextRBP))
    return StepBROKEN;
  StackRangeEnter(range, caller->sp);
  return StepCALLER;
}

/* plainCaller -- the caller of a frame whose CFA and rbp are found by fixed offsets */
static StepKind plainCaller(StackFrame caller, StackRange range, StackFrame frame, const UnwindRowStruct *row,
                            Word base)
{
  Word cfa = base + (Word)(int64_t)row->cfaOffset, slot = cfa + (Word)(int64_t)row->rbpOffset, back;

  /* Stacks grow down: a CFA that is not above is wrong, and would be gone round for ever. */
  if (cfa <= frame->sp || !StackRangeWord(&back, range, cfa - sizeof(Word)))
    return StepBROKEN;
  caller->at = back - 1;
  caller->sp = cfa;
  caller->bp = frame->bp;
  frame->slot = StackSlotNONE;
  if (row->rbpSaved) {
    if (!StackRangeWord(&caller->bp, range, slot))
      return StepBROKEN;
    frame->slot = slot;
  }
  /* Another stack may be unmapped before the frame is verified. */
  if (range->low != range->ownLow || range->limit != range->ownLimit)
    frame->slot = StackSlotLOOK;
  return StepCALLER;
}

/* realignedCaller -- the caller of a function that aligns its stack, and keeps the CFA in its frame */
static StepKind realignedCaller(StackFrame caller, StackRange range, StackFrame frame, const UnwindRowStruct *row)
{
  Word back;

  frame->slot = StackSlotLOOK;
  if (!StackRangeWord(&caller->sp, range, frame->bp + (Word)(int64_t)row->cfaOffset) || caller->sp <= frame->sp
      || !StackRangeWord(&back, range, caller->sp - sizeof(Word))
      || !StackRangeWord(&caller->bp, range, frame->bp + (Word)(int64_t)row->rbpOffset))
    return StepBROKEN;
  caller->at = back - 1;
  return StepCALLER;
}

/* calledTo -- does a call return to this address?  The instruction before it is one then.  The kernel copies the
 * bytes before it, and returns an error where nothing is mapped: the word on the stack need not be an address of code.
 */
static Bool calledTo(Word back)
{
  enum { callMAX = 7 }; /* bytes of the longest call, without prefixes */
  uint8_t code[callMAX], *next = code + callMAX;
  Count length;

  if (RawPeek(code, (const void *)(back - callMAX), callMAX) != callMAX)
    return FALSE;
  if (next[-5] == 0xe8) /* call a place that is so far from here */
    return TRUE;
  for (length = 2; length <= callMAX; ++length) /* ff /2: call what a register or a word has */
    if (length != 5 && next[-(int)length] == 0xff && (next[1 - (int)length] >> 3 & 7) == 2)
      return TRUE;
  return FALSE;
}

/* pointerCaller -- the caller of a frame of which no description tells, as of code that the program has made: if its
 * rbp is a frame pointer, the return address is above what that leads to */
static StepKind pointerCaller(StackFrame caller, StackRange range, StackFrame frame)
{
  static const UnwindRowStruct row = {.kind = RowRBP, .rbpSaved = TRUE, .cfaOffset = 2 * (int32_t)sizeof(Word),
                                      .rbpOffset = -2 * (int32_t)sizeof(Word)};

  if (frame->bp < frame->sp || plainCaller(caller, range, frame, &row, frame->bp) != StepCALLER ||
      !calledTo(caller->at + 1))
    return StepBROKEN;
  return StepCALLER;
}

/* contextBegins -- was the frame never called?  makecontext puts the address of a function where a coroutine's first
 * one looks for its return address.  That address is the first of a description, and no call stands before it.  A frame
 * that a signal interrupted is none: there the word below is not its address. */
static Bool contextBegins(StackRange range, StackFrame frame)
{
  UnwindRowStruct row;
  Word back;

  RowCacheFind(&row, frame->at + 1);
  return row.kind != RowUNKNOWN && StackRangeWord(&back, range, frame->sp - sizeof(Word)) && back == frame->at + 1
         && !calledTo(back);
}

/* undescribedCaller -- the caller of a frame of which no description tells */
static StepKind undescribedCaller(StackFrame caller, StackRange range, StackFrame frame)
{
  return StackRangeIsBase(frame->sp) || contextBegins(range, frame) ? StepOUTERMOST : pointerCaller(caller, range, frame);
}

/* stepAny -- find the caller of any frame */
static __attribute__((noinline)) StepKind stepAny(StackFrame caller, StackRange range, StackFrame frame)
{
  UnwindRowStruct row;

  RowCacheFind(&row, frame->at);
  switch (row.kind) {
  case RowRSP:
    return plainCaller(caller, range, frame, &row, frame->sp);
  case RowRBP:
    return plainCaller(caller, range, frame, &row, frame->bp);
  case RowREALIGNED:
    return realignedCaller(caller, range, frame, &row);
  case RowSIGNAL:
    return signalCaller(caller, range, frame);
  case RowOUTERMOST:
    return StepOUTERMOST;
  case RowBROKEN:
    return StepBROKEN;
  default:
    return undescribedCaller(caller, range, frame);
  }
}

/* ownSpan -- how much of the thread's own stack is known; 0: the walk is on another one */
static inline Size ownSpan(StackRange range)
{
  return LIKELY(range->low == range->ownLow) ? range->ownLimit - range->ownLow : 0;
}

/* stepOut -- the same, quickly where the row is in the cache and is a plain one, and all is on the thread's own stack.
 * The caller has low = range->ownLow and span = ownSpan(range), which only stepAny changes. */
static inline StepKind stepOut(StackFrame caller, StackRange range, StackFrame frame, Word *low, Size *span)
{
  PackedRow row = RowCacheRow(frame->at);
  RowKind kind = PackedRowKind(row);
  Word cfa = (kind == RowRBP ? frame->bp : frame->sp) + (Word)PackedRowCfa(row), slot = cfa + (Word)PackedRowRbp(row);
  Word back = cfa - sizeof(Word) - *low;
  StepKind step;

  back = back >> 3 | back << 61; /* in words; a part of a word makes it great */
  if (LIKELY((kind == RowRSP || kind == RowRBP) && cfa > frame->sp && back < *span >> 3 && slot - *low < *span)) {
    caller->at = stackWord(cfa - sizeof(Word)) - 1;
    caller->sp = cfa;
    caller->bp = frame->bp;
    frame->slot = StackSlotNONE;
    if (PackedRowSaved(row)) {
      frame->slot = slot;
      caller->bp = stackWord(slot);
    }
    return StepCALLER;
  }
  step = stepAny(caller, range, frame);
  *low = range->ownLow;
  *span = ownSpan(range);
  return step;
}

/* ---- Kept frames ---------------------------------------------------------------------------------------------- */

/* stillTrue -- is the kept frame `outer` still the caller of `inner`, for which that is to be found anew? */
static __attribute__((noinline)) Bool stillTrue(StackRange range, const StackFrameStruct *inner,
                                                const StackFrameStruct *outer)
{
  StackFrameStruct frame = *inner, caller;

  /* What a signal interrupted is on another stack, perhaps. */
  return inner->slot != StackSlotSIGNAL && stepAny(&caller, range, &frame) == StepCALLER && caller.at == outer->at
         && caller.sp == outer->sp && caller.bp == outer->bp;
}

static inline Bool sameFrame(const StackFrameStruct *one, const StackFrameStruct *other)
{
  return one->sp == other->sp && one->at == other->at && one->bp == other->bp;
}

/* verify -- of the kept frames from one outwards: the last that is known to be true, frames[1] if all are */
static inline StackFrame verify(StackWalk walk, StackFrame inner)
{
  StackFrame outer;

  for (; inner > &walk->frames[1]; inner = outer) {
    outer = inner - 1;
    if (UNLIKELY((inner->slot & StackSlotODD) != 0)) {
      if (!stillTrue(&walk->range, inner, outer))
        break;
    } else if (stackWord(outer->sp - sizeof(Word)) != outer->at + 1 || stackWord(inner->slot) != outer->bp) {
      break;
    }
  }
  return inner;
}

/* placed -- put a frame into its place among the kept ones */
static inline void placed(StackFrame place, const StackFrameStruct *frame)
{
  Word slot = frame->slot;

  place->at = frame->at;
  place->sp = frame->sp;
  place->bp = frame->bp;
  place->slot = slot == StackSlotNONE ? (Word)&place[-1].bp : slot;
}

/* unplaced -- a kept frame, as one that was just found */
static StackFrameStruct unplaced(const StackFrameStruct *place)
{
  StackFrameStruct frame = *place;

  if (frame.slot == (Word)&place[-1].bp)
    frame.slot = StackSlotNONE;
  return frame;
}

/* shift -- move the kept frames from one on to where another is */
static void shift(StackWalk walk, Index from, Index to)
{
  Count count = walk->count - from + 1;
  Index i;

  for (i = 0; i < count; ++i) {
    Index k = to < from ? i : count - 1 - i;
    StackFrameStruct frame = unplaced(&walk->frames[from + k]);
    placed(&walk->frames[to + k], &frame);
  }
  walk->count = to + count - 1;
}

/* ---- The walk ------------------------------------------------------------------------------------------------- */

/* freshLimit -- frames that a walk finds at most: between a stack's least and greatest number of frames, so that it may
 * then grow or shrink by as many before it is cut at another frame */
static inline Count freshLimit(StackWalk walk)
{
  return walk->depth + walk->depth / 2;
}

/* climb -- find frames outwards from fresh[0], which is filled in, up to the first kept frame that is true with all
 * that lie beyond it; returns how many were found
 *
 * The walk's count becomes that of the kept frames that lie beyond them.
 * rootReturn  what lies beyond the found frames, if no kept one does
 */
static inline Count climb(StackNumber *rootReturn, StackWalk walk)
{
  StackFrame frame = walk->fresh, limit = frame + freshLimit(walk) - 1; /* the last that may be found */
  StackFrame kept = walk->frames + walk->count; /* the innermost that may still be met; frames[0] is above all stacks */
  Word low = walk->range.ownLow;
  Size span = ownSpan(&walk->range);
  StepKind step = StepCALLER;

  for (;; ++frame) {
    while (kept->sp < frame->sp)
      --kept;
    if (sameFrame(kept, frame)) {
      StackFrame outermost = verify(walk, kept);

      if (outermost == &walk->frames[1]) {
        walk->count = (Count)(kept - walk->frames);
        return (Count)(frame - walk->fresh);
      }
      /* These frames are true, but the caller of the outermost has changed, and their numbers with it. */
      for (*frame = unplaced(kept--); kept >= outermost && frame < limit;)
        *++frame = unplaced(kept--);
    }
    if (frame == limit || (step = stepOut(frame + 1, &walk->range, frame, &low, &span)) != StepCALLER)
      break;
  }
  *rootReturn = frame == limit ? StackCUT : step == StepOUTERMOST ? StackWHOLE : StackBROKEN;
  frame->slot = StackSlotLOOK;
  walk->count = 0;
  return (Count)(frame - walk->fresh) + 1;
}

/* renumber -- look up the numbers of all kept frames */
static void renumber(StackWalk walk)
{
  Index i;

  for (i = 1; i <= walk->count; ++i)
    walk->numbers[i] = numberOf(walk->numbers[i - 1], walk->frames[i].at);
}

/* extend -- a stack that was cut has lost so many inner frames that it is too short: find further ones beyond
 * frames[1] */
static __attribute__((cold, noinline)) void extend(StackWalk walk)
{
  Count wanted = freshLimit(walk) - walk->count, found = 0, i;
  StackFrameStruct frame = unplaced(&walk->frames[1]);
  StackFrame from = &frame;
  StepKind step = StepCALLER;

  StackRangeEnter(&walk->range, frame.sp);
  while (found < wanted && (step = stepAny(&walk->fresh[found], &walk->range, from)) == StepCALLER)
    from = &walk->fresh[found++];
  walk->walked += found;
  placed(&walk->frames[1], &frame);
  shift(walk, 1, 1 + found);
  for (i = 0; i < found; ++i)
    placed(&walk->frames[1 + i], &walk->fresh[found - 1 - i]);
  walk->numbers[0] = step == StepCALLER ? StackCUT : step == StepOUTERMOST ? StackWHOLE : StackBROKEN;
  renumber(walk);
}

/* cut -- drop the outermost kept frames, so that with `found` others the stack has no more than it should */
static __attribute__((cold, noinline)) void cut(StackWalk walk, Count found)
{
  Count most = freshLimit(walk), left = found >= most ? 0 : most - found;

  shift(walk, 1 + walk->count - left, 1);
  walk->numbers[0] = StackCUT;
  renumber(walk);
}

/* settle -- put what was found behind the kept frames, and look up their numbers; returns the innermost's */
static inline StackNumber settle(StackWalk walk, Count found, StackNumber root)
{
  StackFrame fresh = walk->fresh + found, place;
  StackNumber *number, parent;

  if (walk->count == 0)
    walk->numbers[0] = root;
  else if (UNLIKELY(walk->count + found > 2 * walk->depth))
    cut(walk, found);
  place = &walk->frames[walk->count];
  number = &walk->numbers[walk->count];
  walk->count += found;
  for (parent = *number; fresh > walk->fresh; *++number = parent) {
    placed(++place, --fresh);
    parent = numberOf(parent, fresh->at);
  }
  if (UNLIKELY(walk->count < walk->depth && walk->numbers[0] == StackCUT)) {
    extend(walk);
    parent = walk->numbers[walk->count];
  }
  return parent;
}

/* interrupted -- has this walk interrupted another of the same thread?  Not if that was abandoned, by a jump out of the
 * handler that interrupted it: then it lies below us on the same stack. */
static Bool interrupted(StackWalk walk, Word sp)
{
  StackRange range = &walk->range;

  return !(walk->walking - range->ownLow < range->ownLimit - range->ownLow
           && sp - range->ownLow < range->ownLimit - range->ownLow && sp > walk->walking);
}

/* skip -- leave out the frames that are further in than the one whose address is `from`; FALSE: it is not there.
 * fresh[1] serves for the frame behind, fresh[0] has the wanted one. */
static Bool skip(StackWalk walk, Word from)
{
  Word low = walk->range.ownLow;
  Size span = ownSpan(&walk->range);
  Count left;

  for (left = StackWalkSKIP; walk->fresh[0].at != from; --left) {
    if (left == 0 || stepOut(&walk->fresh[1], &walk->range, &walk->fresh[0], &low, &span) != StepCALLER)
      return FALSE;
    walk->fresh[0] = walk->fresh[1];
  }
  return TRUE;
}

StackNumber StackWalkFrom(StackWalk walk, Word from, Word at, Word sp, Word bp)
{
  uint32_t generation = __atomic_load_n(&walkGeneration, __ATOMIC_RELAXED);
  StackNumber root = StackWHOLE, result;
  Count found;

  if (UNLIKELY(walk->walking != 0)) {
    if (interrupted(walk, sp)) {
      walk->nested += 1;
      return StackNESTED;
    }
    walk->count = 0; /* a walk that was abandoned may have left frames without their numbers */
  }
  walk->walking = sp;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (UNLIKELY(walk->generation != generation)) {
    walk->generation = generation;
    walk->count = 0;
  }
  walk->walks += 1;
  StackRangeEnter(&walk->range, sp);
  walk->fresh[0].at = at;
  walk->fresh[0].sp = sp;
  walk->fresh[0].bp = bp;
  if (LIKELY(from == 0 || at == from) || skip(walk, from)) {
    found = climb(&root, walk);
    walk->walked += found;
    result = settle(walk, found, root);
  } else {
    result = StackTreeNode(StackBROKEN, from);
  }
  AVER_CRITICAL(walk->count <= 2 * walk->depth);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  walk->walking = 0;
  return result;
}

Word StackWalkInner(StackWalk walk)
{
  Index i = walk->count;

  while (i > 0 && omitted(walk->frames[i].at))
    --i;
  return i > 0 ? walk->frames[i].at : 0;
}

Bool StackWalkCheck(StackWalk walk)
{
  Index i;

  if (walk->depth < 2 || walk->depth > (Count)StackDepthMAX || walk->count > 2 * walk->depth
      || walk->numbers[0] >= StackNESTED || walk->frames[0].sp != ~(Word)0 || !StackRangeCheck(&walk->range))
    return FALSE;
  for (i = 1; i <= walk->count; ++i) {
    StackFrame frame = &walk->frames[i];
    StackNumber parent = walk->numbers[i - 1];

    if (i > 1 && frame->slot != StackSlotSIGNAL && frame[-1].sp <= frame->sp)
      return FALSE;
    /* A frame for which no number was left has its caller's, and so has one that is omitted. */
    if (omitted(frame->at) ? walk->numbers[i] != parent
                           : walk->numbers[i] != (parent | StackSHORT) && !StackTreeIs(walk->numbers[i], parent, frame->at))
      return FALSE;
  }
  return TRUE;
}
