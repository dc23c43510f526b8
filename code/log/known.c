/* known.c -- what is in a log, by its index file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/known.h"

#include "log/beside.h"
#include "log/take.h"

/* knownHeader -- a header block must still be there */
static Res knownHeader(Scan scan, const FindingStruct *finding)
{
  ScanThingStruct thing;
  Res res = ScanThingAt(scan, &thing, finding->offset);

  if (res == ResMEMORY)
    return res;
  if (res != ResOK || thing.isBlock || thing.size != finding->size)
    return ResFORMAT;
  return TakeHeader(scan, &thing, finding->offset);
}

static Res knownFinding(Scan scan, ScanPlace place, Finding finding)
{
  RegionStruct region = {.zeros = finding->zeros, .harmless = finding->harmless, .guess = finding->guess};
  Res res = ResOK;

  switch (finding->what) {
  case FindingBLOCK:
    finding->header.size = (uint32_t)finding->size;
    res = TakeBlock(scan, &finding->header, finding->offset, FALSE);
    break;
  case FindingHEADER:
    res = knownHeader(scan, finding);
    break;
  case FindingCUT:
    TakeCut(scan, finding->offset);
    break;
  default:
    res = finding->damage < ScanWhatLIMIT ? TakeRegion(scan, &region, finding->damage, finding->offset, finding->size)
                                          : ResFORMAT;
  }
  if (res != ResOK)
    return res;
  place->follows = finding->what == FindingBLOCK;
  place->previous.size = (uint32_t)finding->size;
  place->offset = finding->offset + finding->size;
  return ResOK;
}

/* knownPrevious -- scanning may have to look again at the block that led to the place */
static void knownPrevious(Scan scan, ScanPlace place)
{
  ScanThingStruct thing = {.isBlock = FALSE};

  if (!place->follows)
    return;
  place->follows = ScanThingAt(scan, &thing, place->offset - place->previous.size) == ResOK && thing.isBlock;
  place->previous = thing.header;
}

Res KnownTake(Scan scan, ScanPlace place)
{
  FindingStruct finding;
  Beside beside;
  const char *why;
  Res res = BesideOpen(&beside, scan->file, &why);

  if (res == ResFORMAT)
    TellerNote(scan->teller, "%s.idx %s, and is not used; eventcnv --index makes a new one", scan->file->path, why);
  if (res != ResOK)
    return res == ResMEMORY ? res : ResOK;
  while ((res = BesideGet(beside, &finding)) == ResOK && (res = knownFinding(scan, place, &finding)) == ResOK)
    ScanProgress(scan, place->offset);
  if (res == ResFORMAT)
    TellerNote(scan->teller, "%s.idx is damaged, and only its first part is used; eventcnv --index makes a new one",
               scan->file->path);
  else if (res == ResEND)
    scan->wasted = beside->head.wasted;
  BesideClose(beside);
  knownPrevious(scan, place);
  return res == ResFORMAT || res == ResEND ? ResOK : res;
}
