/* verify.c -- whether an allocator keeps what it promises of objects, in a replay with --verify
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/verify.h"

#include "replay/contents.h"

static void verifyFault(Verify verify, unsigned kind, void *addr, uint64_t size, Size offset)
{
  uint64_t i = __atomic_fetch_add(&verify->faults, 1, __ATOMIC_RELAXED);

  if (i < PlayFaultsMAX)
    verify->fault[i] = (PlayFaultStruct){.kind = kind, .addr = (Word)addr, .size = size, .offset = offset};
}

static void verifyAlign(Verify verify, ScriptOp op, void *addr, Size align)
{
  /* malloc promises the alignment of what fits the size: 8 bytes need no more than 8. */
  while (align > 1 && align > op->size)
    align /= 2;
  if (op->kind == ScriptALIGNED)
    align = (Size)1 << op->align;
  if (((Word)addr & (align - 1)) != 0)
    verifyFault(verify, PlayFaultALIGN, addr, op->size, align);
}

void VerifyNew(Verify verify, ScriptOp op, void *addr, Size align)
{
  VerifyKept kept = &verify->kept[op->slot];
  Size bad;

  verifyAlign(verify, op, addr, align);
  if (op->kind == ScriptZERO && !ContentsZero(&bad, addr, op->size))
    verifyFault(verify, PlayFaultZERO, addr, op->size, bad);
  kept->seed += (uint64_t)op->slot * 0x2545f4914f6cdd1dull + 1;
  kept->size = op->size;
  kept->live = TRUE;
  ContentsFill(addr, op->size, kept->seed);
}

void VerifyOld(Verify verify, uint32_t slot, void *addr, Bool dies)
{
  VerifyKept kept = &verify->kept[slot];
  Size bad;

  if (kept->live && !ContentsAre(&bad, addr, kept->size, kept->size, kept->seed))
    verifyFault(verify, PlayFaultOVERLAP, addr, kept->size, bad);
  kept->live = kept->live && !dies;
}

void VerifyResized(Verify verify, ScriptOp op, void *addr, Size align)
{
  VerifyKept kept = &verify->kept[op->slot];
  Size common = kept->size < op->size ? kept->size : op->size, bad;

  verifyAlign(verify, op, addr, align);
  if (!ContentsAre(&bad, addr, common, kept->size, kept->seed))
    verifyFault(verify, PlayFaultLOST, addr, op->size, bad);
  ContentsFill(addr, op->size, kept->seed);
  kept->size = op->size;
}
