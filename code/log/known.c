/* known.c -- what is in a log, by its index file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/known.h"

#include "log/beside.h"
#include "log/take.h"

/* How far comparing has come. */
typedef struct knownStruct {
  uint64_t checks;  /* blocks that were compared */
  uint64_t next;    /* the first block from here on is, too */
} knownStruct, *Known;

/* knownIs -- does the log say the same of a block? */
static Bool knownIs(Scan scan, const FindingStruct *finding)
{
  const BlockHeaderStruct *a = &finding->header, *b;
  ScanThingStruct thing;

  if (ScanThingAt(scan, &thing, finding->offset) != ResOK || !thing.isBlock)
    return FALSE;
  b = &thing.header;
  return finding->size == b->size && a->process == b->process && a->stream == b->stream && a->thread == b->thread &&
         a->pid == b->pid && a->kind == b->kind && a->flags == b->flags && a->count == b->count &&
         a->sequence == b->sequence && a->before == b->before && a->discarded == b->discarded &&
         a->first == b->first && a->last == b->last && a->mono == b->mono;
}

/* knownBlock -- a block; the first ones, and some all over the log, are compared with it */
static Res knownBlock(Known known, Scan scan, ScanPlace place, Finding finding)
{
  Res res;

  if (known->checks < KnownCHECKS || finding->offset >= known->next) {
    if (!knownIs(scan, finding))
      return ResFAIL;
    ++known->checks;
    known->next = finding->offset + scan->file->size / KnownCHECKS;
  }
  finding->header.size = (uint32_t)finding->size;
  res = TakeBlock(scan, &finding->header, finding->offset, FALSE);
  place->follows = TRUE;
  place->previous.size = (uint32_t)finding->size;
  place->offset += finding->size;
  return res;
}

/* knownHeader -- a header block, which must still be there */
static Res knownHeader(Scan scan, ScanPlace place, const FindingStruct *finding)
{
  ScanThingStruct thing;
  Res res = ScanThingAt(scan, &thing, finding->offset);

  if (res != ResMEMORY && (res != ResOK || thing.isBlock || thing.size != finding->size))
    return ResFAIL;
  if (res == ResOK)
    res = TakeHeader(scan, &thing, finding->offset);
  place->follows = FALSE;
  place->offset += finding->size;
  return res;
}

/* knownPrevious -- scanning may look again at the block that led to the place */
static Res knownPrevious(Scan scan, ScanPlace place)
{
  ScanThingStruct thing;
  Res res;

  if (!place->follows)
    return ResOK;
  res = ScanThingAt(scan, &thing, place->offset - place->previous.size);
  if (res == ResMEMORY)
    return res;
  if (res != ResOK || !thing.isBlock || thing.size != place->previous.size)
    return ResFAIL;
  place->previous = thing.header;
  return ResOK;
}

/* knownDamage -- something is damaged: that is looked at again, and must lead to the same place */
static Res knownDamage(Scan scan, ScanPlace place, const FindingStruct *finding)
{
  ScanThingStruct thing;
  Res why = ScanThingAt(scan, &thing, place->offset), res = knownPrevious(scan, place);

  if (why == ResMEMORY || res != ResOK)
    return why == ResMEMORY ? why : res;
  if (why == ResOK)
    return ResFAIL;
  res = ScanDamage(scan, place, why);
  return res == ResOK && place->offset != finding->next ? ResFAIL : res;
}

static Res knownFinding(Known known, Scan scan, ScanPlace place, Finding finding)
{
  if (finding->what == FindingBLOCK)
    return knownBlock(known, scan, place, finding);
  if (finding->what == FindingHEADER)
    return knownHeader(scan, place, finding);
  return knownDamage(scan, place, finding);
}

/* knownTake -- all findings that can be had; ResEND if that is all, ResFORMAT if the others are damaged */
static Res knownTake(Scan scan, ScanPlace place, Beside beside)
{
  knownStruct known = {0, 0};
  FindingStruct finding;
  Res res;

  do {
    ScanProgress(scan, place->offset);
    res = BesideGet(beside, &finding);
    if (res == ResOK)
      res = knownFinding(&known, scan, place, &finding);
  } while (res == ResOK);
  if (res == ResEND)
    scan->wasted = beside->head.wasted;
  return res;
}

/* knownTell -- say that the index is of no use, or of little; what is no index is not overwritten by a new one */
static void knownTell(Scan scan, Res res, const char *why, const char *so)
{
  TellerNote(scan->teller, "%s.idx %s, and %s; eventcnv --index makes a new one%s", scan->file->path, why, so,
             res == ResPARAM ? " when it is gone" : "");
}

Res KnownTake(Scan scan, ScanPlace place)
{
  Beside beside;
  const char *why;
  Res res = BesideOpen(&beside, scan->file, &why);

  if (res == ResFORMAT || res == ResPARAM)
    knownTell(scan, res, why, "is not used");
  if (res != ResOK)
    return res == ResMEMORY ? res : ResOK;
  res = knownTake(scan, place, beside);
  BesideClose(beside);
  if (res == ResFORMAT)
    knownTell(scan, res, "is damaged", "only its first part is used");
  if (res == ResFORMAT || res == ResEND)
    res = knownPrevious(scan, place);
  if (res == ResFAIL)
    knownTell(scan, res, "does not fit the log", "is not used");
  return res;
}
