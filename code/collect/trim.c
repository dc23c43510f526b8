/* trim.c -- a log that stays small
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/aver.h"

enum { trimSHARE = 8 }; /* an eighth of the limit is given back at a time */

/* ---- What the log has at a place, and holes in it ---- */

typedef struct TrimThingStruct {
  enum { TrimBLOCK, TrimHEADER, TrimZEROS, TrimJUNK, TrimEND } what; /* END: what begins there is not all there */
  uint64_t size;
  BlockHeaderStruct header; /* of a block; of a header block trimHeaderGoes sets only the process */
} TrimThingStruct, *TrimThing;

/* trimSize -- how large is the file now?  The window is read again, as the file may have changed.  ResIO: errno says
 * why. */
static Res trimSize(Trim trim, struct stat *statusReturn)
{
  if (fstat(trim->file.fd, statusReturn) != 0)
    return ResIO;
  trim->file.size = (uint64_t)statusReturn->st_size;
  trim->file.windowSize = 0;
  return ResOK;
}

/* trimOpen -- ResIO: errno says why; EOPNOTSUPP if there can be no holes */
static Res trimOpen(Trim trim)
{
  struct stat status;

  if (trimSize(trim, &status) != ResOK)
    return ResIO;
  if (!S_ISREG(status.st_mode)) {
    errno = EOPNOTSUPP;
    return ResIO;
  }
  trim->page = status.st_blksize > 0 && WordIsPowerOf2((Word)status.st_blksize) ? (Size)status.st_blksize : 4096;
  if ((uint64_t)status.st_blocks * 512 < trim->file.size)
    trim->freed = trim->file.size - (uint64_t)status.st_blocks * 512;
  /* A hole behind the end of the file shows whether there can be holes, and destroys nothing. */
  return fallocate(trim->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   (off_t)WordAlignUp(trim->file.size, trim->page), (off_t)trim->page) == 0 ? ResOK : ResIO;
}

/* trimThing -- what begins at `offset`, which is before the end of the file */
static void trimThing(TrimThing thing, Trim trim, uint64_t offset)
{
  uint64_t left = trim->file.size - offset;
  Size there = left < BlockHeaderSIZE ? (Size)left : BlockHeaderSIZE, length;
  const unsigned char *bytes = FileBytes(&trim->file, offset, there), *next;
  unsigned version[3];
  Bool swapped;

  *thing = (TrimThingStruct){.what = TrimEND};
  if (bytes == NULL || there < BlockMagicSIZE + HeaderLineSIZE)
    return;
  if (bytes[0] == 0) {
    thing->what = TrimZEROS;
    thing->size = FileZeros(&trim->file, offset, trim->file.size) - offset;
  } else if (there == BlockHeaderSIZE && BlockHeaderRead(&thing->header, &swapped, bytes) == ResOK) {
    thing->what = TrimBLOCK;
    thing->size = thing->header.size;
  } else if (HeaderLength(&length, version, bytes, there) == ResOK) {
    thing->what = TrimHEADER;
    thing->size = length;
  } else if (there == BlockHeaderSIZE) {
    thing->what = TrimJUNK;
    next = memchr(bytes + 1, BlockMAGIC[0], there - 1);
    thing->size = next != NULL ? (Size)(next - bytes) : there;
  }
  if (thing->size > left)
    thing->what = TrimEND;
}

/* trimPunch -- make a hole */
static Res trimPunch(Trim trim, uint64_t from, uint64_t to)
{
  uint64_t begin = from - from % trim->page, end = WordAlignUp(to, trim->page);
  struct stat before, after;

  AVER(from < to);
  /* The pages in which it begins and ends are given back, too, if the rest of them is zeros by now. */
  if (FileZeros(&trim->file, begin, from) >= from)
    from = begin;
  if (end <= trim->file.size && FileZeros(&trim->file, to, end) >= end)
    to = end;
  if (fstat(trim->file.fd, &before) != 0 ||
      fallocate(trim->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) != 0 ||
      fstat(trim->file.fd, &after) != 0)
    return ResIO;
  if (after.st_blocks < before.st_blocks)
    trim->freed += (uint64_t)(before.st_blocks - after.st_blocks) * 512;
  trim->file.windowSize = 0;
  return ResOK;
}

/* ---- Headers ---- */

/* trimHeaderRead -- read the header block at a place into `text` and `header`, and the hash of its registry.  Returns
 * where in the lists the newest one of that process and registry is, or would be; NULL: it cannot be read. */
static TrimHeader *trimHeaderRead(Trim trim, uint64_t place, Size length)
{
  const char *body, *types, *limit = trim->text + length;
  RegistryNameStruct name;
  TrimHeader *link;

  if (FileReadAt(trim->file.fd, place, trim->text, length) != ResOK ||
      HeaderRead(&trim->header, &body, trim->text, length) != ResOK)
    return NULL;
  types = HeaderTypes(body, limit);
  name = RegistryNameOf(types, (Size)(limit - types));
  trim->registry = name.length << 32 | name.crc;
  link = &trim->list[trim->header.identity % TrimLISTS];
  while (*link != NULL && ((*link)->identity != trim->header.identity || (*link)->registry != trim->registry))
    link = &(*link)->next;
  return link;
}

/* trimSeeHeader -- a header block was appended, and replaces an older one of the same process and registry.  If the
 * walks have passed the older one it is cut away here, because no walk comes to it again.  Nothing is cut away here
 * before a header block (`bearer') says that the log may have holes. */
static Res trimSeeHeader(Trim trim, uint64_t place, Size length)
{
  TrimHeader *link = trimHeaderRead(trim, place, length), header, its;
  TrimLevel level;

  if (link == NULL)
    return ResOK;
  header = *link;
  if (header == NULL) {
    *link = header = calloc(1, sizeof *header);
    if (header == NULL)
      return ResMEMORY;
    header->identity = trim->header.identity;
    header->registry = trim->registry;
  } else if (header->place < trim->gone[TrimFREQUENT] && trim->bearer != 0 &&
             trimPunch(trim, header->place, header->place + header->length) != ResOK) {
    return ResIO;
  }
  header->place = place;
  header->length = length;
  for (its = trim->list[header->identity % TrimLISTS]; its != NULL; its = its->next)
    if (its->identity == header->identity) {
      /* The collector has no region, and lives. */
      its->ended = trim->header.region[0] == '\0' && trim->header.role[0] == '\0';
      for (level = 0; level < TrimLEVELS; ++level)
        CountRaise(&header->newest[level], its->newest[level]);
    }
  return ResOK;
}

/* trimLevel -- what a block is */
static TrimLevel trimLevel(Trim trim, BlockHeader block)
{
  uint32_t kind = block->kind < 32 ? (uint32_t)1 << block->kind : 0;

  /* A thread's stream that is not its kind's holds what defines something. */
  return BlockStreamPlace(block) != block->kind || (trim->defining & kind) != 0 ? TrimDEFINING
         : (trim->rare & kind) != 0                                            ? TrimRARE
                                                                               : TrimFREQUENT;
}

static void trimSeeBlock(Trim trim, uint64_t place, BlockHeader block)
{
  TrimHeader header;

  for (header = trim->list[block->process % TrimLISTS]; header != NULL; header = header->next)
    if (header->identity == block->process)
      header->newest[trimLevel(trim, block)] = place + 1;
}

/* trimSee -- note the headers that came */
static Res trimSee(Trim trim)
{
  TrimThingStruct thing;
  Res res = ResOK;

  while (res == ResOK && trim->seen < trim->file.size) {
    trimThing(&thing, trim, trim->seen);
    if (thing.what == TrimEND)
      break;
    if (thing.what == TrimHEADER)
      res = trimSeeHeader(trim, trim->seen, (Size)thing.size);
    else if (thing.what == TrimBLOCK)
      trimSeeBlock(trim, trim->seen, &thing.header);
    if (res == ResOK)
      trim->seen += thing.size;
  }
  return res;
}

/* trimServes -- does a header serve a process that lives, or a block that is there when all before `place` are gone, up
 * to this level? */
static Bool trimServes(Trim trim, TrimHeader header, uint64_t place, TrimLevel level)
{
  TrimLevel its;

  if (!header->ended || header->identity == trim->bearer)
    return TRUE;
  for (its = 0; its < TrimLEVELS; ++its)
    if (header->newest[its] > trim->gone[its] && (its > level || header->newest[its] > place))
      return TRUE;
  return FALSE;
}

/* trimNeeds -- when everything up to `place` is cut away, does anything still need a header block of this process?  The
 * header blocks of all its registries are cut away together. */
static Bool trimNeeds(Trim trim, uint64_t identity, uint64_t place, TrimLevel level)
{
  TrimHeader header;

  for (header = trim->list[identity % TrimLISTS]; header != NULL; header = header->next)
    if (header->identity == identity && (header->place > place || trimServes(trim, header, place + 1, level)))
      return TRUE;
  return FALSE;
}

/* trimBury -- what is at `place` goes: if it was the last of a process that has ended, so do its header blocks */
static Res trimBury(Trim trim, uint64_t identity, uint64_t place, TrimLevel level)
{
  TrimHeader *link = &trim->list[identity % TrimLISTS];
  Res res = ResOK;

  if (trimNeeds(trim, identity, place, level))
    return ResOK;
  while (*link != NULL && res == ResOK) {
    TrimHeader header = *link;
    if (header->identity != identity) {
      link = &header->next;
      continue;
    }
    res = trimPunch(trim, header->place, header->place + header->length);
    *link = header->next;
    free(header);
  }
  return res;
}

/* trimHeaderGoes -- does nothing need a header block any more? */
static Bool trimHeaderGoes(Trim trim, uint64_t place, TrimThing thing, TrimLevel level)
{
  TrimHeader *link = trimHeaderRead(trim, place, (Size)thing->size);

  if (link == NULL)
    return TRUE;
  thing->header.process = trim->header.identity;
  /* There is a newer one, or its process has ended, and of its blocks none is left. */
  return *link == NULL || (*link)->place > place ||
         (level == TrimDEFINING && !trimNeeds(trim, trim->header.identity, place, level));
}

/* ---- What is cut away ---- */

/* A walk over old things, some of which are cut away: the first walk counts those, the second makes the holes. */
typedef struct trimWalkStruct {
  TrimLevel level;    /* blocks up to this level */
  Bool now;           /* let them go */
  uint64_t from, to;  /* a row of things that go */
  uint64_t bytes;     /* that go */
  DroppedStruct dropped;
} trimWalkStruct, *TrimWalk;

static Bool trimGoes(Trim trim, TrimWalk walk, TrimThing thing, uint64_t offset)
{
  switch (thing->what) {
  case TrimZEROS:
    return TRUE; /* so that the holes beside it become one */
  case TrimHEADER:
    return trimHeaderGoes(trim, offset, thing, walk->level);
  case TrimBLOCK:
    return trimLevel(trim, &thing->header) <= walk->level;
  default:
    return walk->level == TrimDEFINING;
  }
}

/* trimRow -- the row is at its end */
static Res trimRow(Trim trim, TrimWalk walk)
{
  if (!walk->now || walk->from == walk->to)
    return ResOK;
  return trimPunch(trim, walk->from, walk->to);
}

/* trimWalk -- from `from` to `to`, or until `bytes` go; *endReturn is how far it came */
static Res trimWalk(Trim trim, TrimWalk walk, uint64_t from, uint64_t to, uint64_t bytes, uint64_t *endReturn)
{
  uint64_t limit = walk->level > TrimFREQUENT ? trim->gone[TrimFREQUENT] : trim->seen;
  TrimThingStruct thing;
  Res res = ResOK;

  walk->from = walk->to = from;
  walk->bytes = 0;
  memset(&walk->dropped, 0, sizeof walk->dropped);
  for (; res == ResOK && from < to && walk->bytes < bytes; from += thing.size) {
    trimThing(&thing, trim, from);
    if (thing.what == TrimZEROS && thing.size > to - from)
      thing.size = to - from;
    /* Another program may have changed the log: nothing is given back that was not looked at before. */
    if (thing.what == TrimEND || thing.size > limit - from)
      break;
    if (!trimGoes(trim, walk, &thing, from))
      continue;
    if (walk->to != from) {
      res = trimRow(trim, walk);
      walk->from = from;
    }
    walk->to = from + thing.size;
    if (thing.what != TrimZEROS)
      walk->bytes += thing.size;
    if (walk->now && (res = trimBury(trim, thing.header.process, from, walk->level)) != ResOK)
      break;
    if (thing.what != TrimBLOCK)
      continue;
    ++walk->dropped.blocks;
    walk->dropped.events += thing.header.count;
    CountRaise(&walk->dropped.ticks, thing.header.last);
  }
  *endReturn = from;
  return res == ResOK ? trimRow(trim, walk) : res;
}

/* trimBearer -- the newest header block of the process whose header blocks tell what was cut away; the newest of all if
 * none does */
static TrimHeader trimBearer(Trim trim)
{
  TrimHeader header, newest = NULL, bearer = NULL;
  Index i;

  for (i = 0; i < TrimLISTS; ++i)
    for (header = trim->list[i]; header != NULL; header = header->next) {
      if (newest == NULL || header->place > newest->place)
        newest = header;
      if (header->identity == trim->bearer && (bearer == NULL || header->place > bearer->place))
        bearer = header;
    }
  return bearer != NULL ? bearer : newest;
}

/* trimMark -- append the bearer's header block with a line that tells what was cut away, including what is cut away
 * now */
static Res trimMark(Trim trim, Dropped dropped)
{
  TrimHeader bearer = trimBearer(trim);
  const char *line, *end, *limit;
  TextStruct text;

  if (bearer == NULL || trimHeaderRead(trim, bearer->place, bearer->length) == NULL) {
    errno = EINVAL;
    return ResIO;
  }
  trim->bearer = bearer->identity;
  line = trim->text + BlockMagicSIZE + HeaderLineSIZE;
  limit = trim->text + bearer->length;
  TextInit(&text, trim->marked, sizeof trim->marked);
  TextBytes(&text, trim->text, BlockMagicSIZE + HeaderLineSIZE);
  TextFormat(&text, HeaderDROPPED "%ju %ju %ju\n", dropped->blocks, dropped->events, dropped->ticks);
  for (; line < limit; line = end) {
    end = memchr(line, '\n', (Size)(limit - line));
    end = end != NULL ? end + 1 : limit;
    if (strncmp(line, HeaderDROPPED, strlen(HeaderDROPPED)) != 0)
      TextBytes(&text, line, (Size)(end - line));
  }
  if (HeaderEnd(&text) != ResOK) {
    errno = EFBIG;
    return ResIO;
  }
  return FileAppend(trim->file.fd, trim->marked, TextLength(&text));
}

/* trimGone -- of blocks before `place` none up to this level is left */
static void trimGone(Trim trim, TrimLevel level, uint64_t place)
{
  TrimLevel its;

  for (its = 0; its <= level; ++its)
    CountRaise(&trim->gone[its], place);
}

/* trimDrop -- cut away old things up to this level, from where that was done last, up to `to`; a header block says so
 * first, so that no reader takes it for damage */
static Res trimDrop(Trim trim, TrimLevel level, uint64_t to, uint64_t bytes)
{
  trimWalkStruct walk = {.level = level};
  DroppedStruct dropped = trim->dropped;
  uint64_t begin = trim->gone[level], end;
  Bool full = FALSE;
  Res res = trimWalk(trim, &walk, begin, to, bytes, &end);

  if (res != ResOK)
    return res;
  if (end == begin) { /* what stands there cannot be read */
    trimGone(trim, level, to);
    return ResOK;
  }
  dropped.blocks += walk.dropped.blocks;
  dropped.events += walk.dropped.events;
  CountRaise(&dropped.ticks, walk.dropped.ticks);
  if (walk.bytes > 0 && (res = trimMark(trim, &dropped)) != ResOK) {
    full = errno == ENOSPC; /* then room comes first */
    if (!full)
      return res;
  }
  walk.now = TRUE;
  res = trimWalk(trim, &walk, begin, end, UINT64_MAX, &end);
  if (res != ResOK)
    return res;
  trimGone(trim, level, end);
  trim->dropped = dropped;
  return full ? trimMark(trim, &dropped) : ResOK;
}

Res TrimNewest(Trim trim)
{
  const uint64_t *gone = trim->gone;
  uint64_t share = trim->limit / trimSHARE, spare = share / 2, target = trim->limit, old = 0;
  struct stat status;

  AVER(TrimCheck(trim));
  for (;; target = trim->limit - share) {
    Res res = trimSize(trim, &status);
    if (res == ResOK)
      res = trimSee(trim);
    if (res != ResOK || trim->file.size <= trim->freed + target)
      return res;
    if (target == trim->limit) /* the newest stays, whatever it is; what is appended below does not count */
      old = trim->seen > share ? trim->seen - share : 0;
    if (gone[TrimRARE] < gone[TrimFREQUENT] && gone[TrimFREQUENT] > trim->freed + trim->limit / 2)
      res = trimDrop(trim, TrimRARE, gone[TrimFREQUENT], spare);
    else if (gone[TrimFREQUENT] < old)
      res = trimDrop(trim, TrimFREQUENT, old, share);
    else if (gone[TrimDEFINING] < gone[TrimFREQUENT] && trim->file.size > trim->freed + trim->limit - spare)
      res = trimDrop(trim, TrimDEFINING, gone[TrimFREQUENT], spare); /* only where the limit is near */
    else
      return ResOK;
    if (res != ResOK)
      return res;
  }
}

Res TrimCreate(Trim *trimReturn, int log, uint64_t limit, uint32_t rare, uint32_t defining)
{
  Trim trim;
  Res res;

  if (limit < TrimLimitMIN)
    return ResPARAM;
  trim = calloc(1, sizeof *trim);
  if (trim == NULL)
    return ResMEMORY;
  trim->limit = limit;
  trim->rare = rare;
  trim->defining = defining;
  trim->file.fd = log;
  res = trimOpen(trim);
  if (res == ResOK)
    *trimReturn = trim;
  else
    free(trim);
  return res;
}

void TrimDestroy(Trim trim)
{
  Index i;

  for (i = 0; i < TrimLISTS; ++i)
    while (trim->list[i] != NULL) {
      TrimHeader header = trim->list[i];
      trim->list[i] = header->next;
      free(header);
    }
  free(trim);
}

Bool TrimCheck(Trim trim)
{
  const uint64_t *gone = trim->gone;

  return trim->limit >= TrimLimitMIN && WordIsPowerOf2(trim->page) && gone[TrimDEFINING] <= gone[TrimRARE] &&
         gone[TrimRARE] <= gone[TrimFREQUENT] && gone[TrimFREQUENT] <= trim->seen;
}
