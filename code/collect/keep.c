/* keep.c -- a log that stays small
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "collect/keepfile.h"

enum {
  keepSHARE = 8,    /* an eighth of the limit goes at a time */
  keepLISTS = 256,
  keepLineMAX = 80  /* bytes of the line that tells what has gone */
};

/* The newest header block of a process that has this registry: of those before, none is needed. */
typedef struct keepHeaderStruct {
  struct keepHeaderStruct *next; /* in its list, by identity */
  uint64_t identity, registry;   /* a hash of the lines that stand last */
  uint64_t place;
  Size length;
  Bool ended;                    /* it names no region: the process has ended */
  uint64_t block, staying;       /* behind the beginning of the process's newest block, and of its newest that stays */
} keepHeaderStruct, *KeepHeader;

struct KeepStruct {
  uint64_t limit;
  uint32_t stay;
  uint64_t seen;       /* what comes before is in the list of headers; */
  uint64_t frequent;   /* of what comes before, only kinds that stay are left, */
  uint64_t all;        /* and before this only headers */
  DroppedStruct dropped;
  uint64_t bearer;     /* identity of the process whose header tells of it; 0: none yet */
  KeepHeader list[keepLISTS];
  KeepFileStruct file;
  HeaderStruct header;
  char text[HeaderMAX], marked[HeaderMAX];
};

/* ---- Headers ---- */

/* keepHash -- of the registry's lines, which stand last */
static uint64_t keepHash(const char *text, Size length)
{
  const char *next = memmem(text, length, "\nkind: ", 7);
  uint64_t hash = 0xcbf29ce484222325u;

  if (next == NULL)
    next = memmem(text, length, "\nevent: ", 8);
  for (; next != NULL && next < text + length; ++next)
    hash = (hash ^ (unsigned char)*next) * 0x100000001b3u;
  return hash;
}

static KeepHeader *keepLink(Keep keep, uint64_t identity, uint64_t registry)
{
  KeepHeader *link = &keep->list[identity % keepLISTS];

  while (*link != NULL && ((*link)->identity != identity || (*link)->registry != registry))
    link = &(*link)->next;
  return link;
}

/* keepHeaderRead -- the header block at a place, into `text` and `header`, and the hash of its registry */
static Bool keepHeaderRead(Keep keep, uint64_t place, Size length, uint64_t *hashReturn)
{
  const char *body;

  if (KeepFileRead(&keep->file, place, keep->text, length) != ResOK ||
      HeaderRead(&keep->header, &body, keep->text, length) != ResOK)
    return FALSE;
  *hashReturn = keepHash(keep->text, length);
  return TRUE;
}

static Res keepSeeHeader(Keep keep, uint64_t place, Size length)
{
  uint64_t hash;
  KeepHeader *link, header;

  if (!keepHeaderRead(keep, place, length, &hash))
    return ResOK;
  link = keepLink(keep, keep->header.identity, hash);
  header = *link;
  if (header == NULL) {
    header = calloc(1, sizeof *header);
    if (header == NULL)
      return ResMEMORY;
    header->identity = keep->header.identity;
    header->registry = hash;
    *link = header;
  }
  header->place = place;
  header->length = length;
  header->ended = keep->header.region[0] == '\0';
  return ResOK;
}

/* keepStays -- is a block one of those that stay as long as they fit? */
static Bool keepStays(Keep keep, BlockHeader block)
{
  return block->kind < 32 && (keep->stay >> block->kind & 1) != 0;
}

static void keepSeeBlock(Keep keep, uint64_t place, BlockHeader block)
{
  KeepHeader header;

  for (header = keep->list[block->process % keepLISTS]; header != NULL; header = header->next)
    if (header->identity == block->process) {
      header->block = place + 1;
      if (keepStays(keep, block))
        header->staying = place + 1;
    }
}

/* keepSee -- note the headers that came */
static Res keepSee(Keep keep)
{
  KeepThingStruct thing;
  Res res = ResOK;

  while (res == ResOK && keep->seen < keep->file.size) {
    KeepFileThing(&thing, &keep->file, keep->seen);
    if (thing.what == KeepEND)
      break;
    if (thing.what == KeepHEADER)
      res = keepSeeHeader(keep, keep->seen, (Size)thing.size);
    else if (thing.what == KeepBLOCK)
      keepSeeBlock(keep, keep->seen, &thing.header);
    if (res == ResOK)
      keep->seen += thing.size;
  }
  return res;
}

/* keepServes -- does a header serve a process that lives, or a block that is there when all before `place` are gone,
 * or, without `all`, all of those that do not stay? */
static Bool keepServes(Keep keep, KeepHeader header, uint64_t place, Bool all)
{
  return !header->ended || header->identity == keep->bearer || header->block > (all ? keep->frequent : place) ||
         header->staying > (all ? place : keep->all);
}

/* keepBury -- the block at `place` goes: if it was the last of a process that has ended, so do its headers */
static Res keepBury(Keep keep, uint64_t identity, uint64_t place, Bool all)
{
  KeepHeader *link = &keep->list[identity % keepLISTS];
  Res res = ResOK;

  while (*link != NULL && res == ResOK) {
    KeepHeader header = *link;
    if (header->identity != identity || header->place > place || keepServes(keep, header, place + 1, all)) {
      link = &header->next;
      continue;
    }
    res = KeepFilePunch(&keep->file, header->place, header->place + header->length);
    *link = header->next;
    free(header);
  }
  return res;
}

/* keepHeaderGoes -- is a header block needed by nothing? */
static Bool keepHeaderGoes(Keep keep, uint64_t place, Size length, Bool all, Bool now)
{
  uint64_t hash;
  KeepHeader *link, header;

  if (!keepHeaderRead(keep, place, length, &hash))
    return TRUE;
  link = keepLink(keep, keep->header.identity, hash);
  header = *link;
  if (header == NULL || header->place > place)
    return TRUE;
  if (!all || keepServes(keep, header, place, all))
    return FALSE;
  /* Its process has ended, and of its blocks none is left. */
  if (now) {
    *link = header->next;
    free(header);
  }
  return TRUE;
}

/* ---- What goes ---- */

/* A walk over old things, of which some go; first to count them, then to let them go. */
typedef struct keepWalkStruct {
  Bool all;           /* also those that stay as long as they fit */
  Bool now;           /* let them go */
  uint64_t from, to;  /* a row of things that go */
  uint64_t bytes;     /* that go */
  DroppedStruct dropped;
} keepWalkStruct, *KeepWalk;

static Bool keepGoes(Keep keep, KeepWalk walk, KeepThing thing, uint64_t offset)
{
  switch (thing->what) {
  case KeepZEROS:
    return TRUE; /* so that the holes beside it become one */
  case KeepHEADER:
    return keepHeaderGoes(keep, offset, (Size)thing->size, walk->all, walk->now);
  case KeepBLOCK:
    return walk->all || !keepStays(keep, &thing->header);
  default:
    return walk->all;
  }
}

/* keepRow -- the row is at its end */
static Res keepRow(Keep keep, KeepWalk walk)
{
  uint64_t from = walk->from - walk->from % keep->file.page;

  if (!walk->now || walk->from == walk->to)
    return ResOK;
  /* The page in which it begins goes if all of it is zeros now. */
  if (!KeepFileZeros(&keep->file, from, walk->from))
    from = walk->from;
  return KeepFilePunch(&keep->file, from, walk->to);
}

/* keepWalk -- from `from` to `to`, or until `bytes` go; *endReturn is how far it came */
static Res keepWalk(Keep keep, KeepWalk walk, uint64_t from, uint64_t to, uint64_t bytes, uint64_t *endReturn)
{
  KeepThingStruct thing;
  Res res = ResOK;

  walk->from = walk->to = from;
  walk->bytes = 0;
  memset(&walk->dropped, 0, sizeof walk->dropped);
  for (; res == ResOK && from < to && walk->bytes < bytes; from += thing.size) {
    KeepFileThing(&thing, &keep->file, from);
    if (thing.what == KeepEND)
      break;
    if (thing.what == KeepZEROS && thing.size > to - from)
      thing.size = to - from;
    if (!keepGoes(keep, walk, &thing, from))
      continue;
    if (walk->to != from) {
      res = keepRow(keep, walk);
      walk->from = from;
    }
    walk->to = from + thing.size;
    if (thing.what != KeepZEROS)
      walk->bytes += thing.size;
    if (thing.what != KeepBLOCK)
      continue;
    if (walk->now && (res = keepBury(keep, thing.header.process, from, walk->all)) != ResOK)
      break;
    ++walk->dropped.blocks;
    walk->dropped.events += thing.header.count;
    if (thing.header.last > walk->dropped.ticks)
      walk->dropped.ticks = thing.header.last;
  }
  *endReturn = from;
  return res == ResOK ? keepRow(keep, walk) : res;
}

/* keepBearer -- the newest header block of the process that tells what has gone; the newest of all if there is none */
static KeepHeader keepBearer(Keep keep)
{
  KeepHeader header, newest = NULL, bearer = NULL;
  Index i;

  for (i = 0; i < keepLISTS; ++i)
    for (header = keep->list[i]; header != NULL; header = header->next) {
      if (newest == NULL || header->place > newest->place)
        newest = header;
      if (header->identity == keep->bearer && (bearer == NULL || header->place > bearer->place))
        bearer = header;
    }
  return bearer != NULL ? bearer : newest;
}

/* keepMark -- append the bearer's header block with a line that tells what has gone, what goes now included */
static Res keepMark(Keep keep, Dropped dropped)
{
  KeepHeader bearer = keepBearer(keep);
  const char *line, *end, *limit;
  uint64_t hash;
  TextStruct text;

  if (bearer == NULL || !keepHeaderRead(keep, bearer->place, bearer->length, &hash)) {
    errno = EINVAL;
    return ResIO;
  }
  keep->bearer = bearer->identity;
  line = keep->text + BlockMagicSIZE + HeaderLineSIZE;
  limit = keep->text + bearer->length;
  TextInit(&text, keep->marked, sizeof keep->marked);
  TextBytes(&text, keep->text, BlockMagicSIZE + HeaderLineSIZE);
  TextString(&text, HeaderDROPPED);
  TextDecimal(&text, dropped->blocks);
  TextChar(&text, ' ');
  TextDecimal(&text, dropped->events);
  TextChar(&text, ' ');
  TextDecimal(&text, dropped->ticks);
  TextChar(&text, '\n');
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
  return KeepFileAppend(&keep->file, keep->marked, TextLength(&text));
}

/* keepDrop -- let go what goes from *cursor on, up to `to`; it is marked first, so that nobody takes it for damage */
static Res keepDrop(Keep keep, uint64_t *cursor, uint64_t to, uint64_t bytes, Bool all)
{
  keepWalkStruct walk = {.all = all};
  DroppedStruct dropped = keep->dropped;
  uint64_t end;
  Bool full = FALSE;
  Res res = keepWalk(keep, &walk, *cursor, to, bytes, &end);

  if (res != ResOK)
    return res;
  if (end == *cursor) { /* what stands there cannot be read */
    *cursor = to;
    return ResOK;
  }
  dropped.blocks += walk.dropped.blocks;
  dropped.events += walk.dropped.events;
  if (walk.dropped.ticks > dropped.ticks)
    dropped.ticks = walk.dropped.ticks;
  if (walk.bytes > 0 && (res = keepMark(keep, &dropped)) != ResOK) {
    full = errno == ENOSPC; /* then room comes first */
    if (!full)
      return res;
  }
  walk.now = TRUE;
  res = keepWalk(keep, &walk, *cursor, end, UINT64_MAX, &end);
  if (res != ResOK)
    return res;
  *cursor = end;
  keep->dropped = dropped;
  return full ? keepMark(keep, &dropped) : ResOK;
}

/* keepLive -- bytes that it takes */
static uint64_t keepLive(Keep keep)
{
  return keep->file.size > keep->file.freed ? keep->file.size - keep->file.freed : 0;
}

Res KeepNewest(Keep keep)
{
  uint64_t share = keep->limit / keepSHARE, target = keep->limit - share, old;
  Res res = KeepFileSize(&keep->file);

  if (res == ResOK)
    res = keepSee(keep);
  if (res != ResOK || keepLive(keep) <= keep->limit)
    return res;
  old = keep->seen > keep->limit / 2 ? keep->seen - keep->limit / 2 : 0; /* the newest half stays, whatever it is */
  while (res == ResOK && keepLive(keep) > target) {
    if (keep->frequent < old)
      res = keepDrop(keep, &keep->frequent, old, share, FALSE);
    else if (keep->all < keep->frequent)
      res = keepDrop(keep, &keep->all, keep->frequent, share, TRUE);
    else
      break;
    if (res == ResOK)
      res = KeepFileSize(&keep->file);
    if (res == ResOK)
      res = keepSee(keep);
  }
  return res;
}

void KeepDropped(Dropped droppedReturn, Keep keep)
{
  *droppedReturn = keep->dropped;
}

Res KeepCreate(Keep *keepReturn, int log, uint64_t limit, uint32_t stay)
{
  Keep keep;
  Res res;

  if (limit < KeepLimitMIN)
    return ResPARAM;
  keep = calloc(1, sizeof *keep);
  if (keep == NULL)
    return ResMEMORY;
  keep->limit = limit;
  keep->stay = stay;
  res = KeepFileOpen(&keep->file, log);
  if (res != ResOK) {
    free(keep);
    return res;
  }
  *keepReturn = keep;
  return ResOK;
}

void KeepDestroy(Keep keep)
{
  Index i;

  for (i = 0; i < keepLISTS; ++i)
    while (keep->list[i] != NULL) {
      KeepHeader header = keep->list[i];
      keep->list[i] = header->next;
      free(header);
    }
  free(keep);
}

Bool KeepCheck(Keep keep)
{
  AVER(keep->all <= keep->frequent);
  AVER(keep->frequent <= keep->seen);
  AVER(keep->seen <= keep->file.size);
  return TRUE;
}
