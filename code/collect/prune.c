/* prune.c -- a log that stays small
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "collect/prunefile.h"

enum {
  pruneSHARE = 8,    /* an eighth of the limit goes at a time */
  pruneLISTS = 256,
  pruneLineMAX = 80  /* bytes of the line that tells what has gone */
};

/* The newest header block of a process that has this registry: of those before, none is needed. */
typedef struct pruneHeaderStruct {
  struct pruneHeaderStruct *next; /* in its list, by identity */
  uint64_t identity, registry;   /* a hash of the lines that stand last */
  uint64_t place;
  Size length;
  Bool ended;                    /* it names no region: the process has ended */
  uint64_t block, staying;       /* behind the beginning of the process's newest block, and of its newest that stays */
} pruneHeaderStruct, *PruneHeader;

struct PruneStruct {
  uint64_t limit;
  uint32_t stay;
  uint64_t seen;       /* what comes before is in the list of headers; */
  uint64_t frequent;   /* of what comes before, only kinds that stay are left, */
  uint64_t all;        /* and before this only headers */
  DroppedStruct dropped;
  uint64_t bearer;     /* identity of the process whose header tells of it; 0: none yet */
  PruneHeader list[pruneLISTS];
  PruneFileStruct file;
  HeaderStruct header;
  char text[HeaderMAX], marked[HeaderMAX];
};

/* ---- Headers ---- */

/* pruneHash -- of the registry's lines, which stand last */
static uint64_t pruneHash(const char *text, Size length)
{
  const char *next = memmem(text, length, "\nkind: ", 7);
  uint64_t hash = 0xcbf29ce484222325u;

  if (next == NULL)
    next = memmem(text, length, "\nevent: ", 8);
  for (; next != NULL && next < text + length; ++next)
    hash = (hash ^ (unsigned char)*next) * 0x100000001b3u;
  return hash;
}

static PruneHeader *pruneLink(Prune prune, uint64_t identity, uint64_t registry)
{
  PruneHeader *link = &prune->list[identity % pruneLISTS];

  while (*link != NULL && ((*link)->identity != identity || (*link)->registry != registry))
    link = &(*link)->next;
  return link;
}

/* pruneHeaderRead -- the header block at a place, into `text` and `header`, and the hash of its registry */
static Bool pruneHeaderRead(Prune prune, uint64_t place, Size length, uint64_t *hashReturn)
{
  const char *body;

  if (PruneFileRead(&prune->file, place, prune->text, length) != ResOK ||
      HeaderRead(&prune->header, &body, prune->text, length) != ResOK)
    return FALSE;
  *hashReturn = pruneHash(prune->text, length);
  return TRUE;
}

static Res pruneSeeHeader(Prune prune, uint64_t place, Size length)
{
  uint64_t hash;
  PruneHeader *link, header;

  if (!pruneHeaderRead(prune, place, length, &hash))
    return ResOK;
  link = pruneLink(prune, prune->header.identity, hash);
  header = *link;
  if (header == NULL) {
    header = calloc(1, sizeof *header);
    if (header == NULL)
      return ResMEMORY;
    header->identity = prune->header.identity;
    header->registry = hash;
    *link = header;
  }
  header->place = place;
  header->length = length;
  header->ended = prune->header.region[0] == '\0';
  return ResOK;
}

/* pruneStays -- is a block one of those that stay as long as they fit? */
static Bool pruneStays(Prune prune, BlockHeader block)
{
  return block->kind < 32 && (prune->stay >> block->kind & 1) != 0;
}

static void pruneSeeBlock(Prune prune, uint64_t place, BlockHeader block)
{
  PruneHeader header;

  for (header = prune->list[block->process % pruneLISTS]; header != NULL; header = header->next)
    if (header->identity == block->process) {
      header->block = place + 1;
      if (pruneStays(prune, block))
        header->staying = place + 1;
    }
}

/* pruneSee -- note the headers that came */
static Res pruneSee(Prune prune)
{
  PruneThingStruct thing;
  Res res = ResOK;

  while (res == ResOK && prune->seen < prune->file.size) {
    PruneFileThing(&thing, &prune->file, prune->seen);
    if (thing.what == PruneEND)
      break;
    if (thing.what == PruneHEADER)
      res = pruneSeeHeader(prune, prune->seen, (Size)thing.size);
    else if (thing.what == PruneBLOCK)
      pruneSeeBlock(prune, prune->seen, &thing.header);
    if (res == ResOK)
      prune->seen += thing.size;
  }
  return res;
}

/* pruneServes -- does a header serve a process that lives, or a block that is there when all before `place` are gone,
 * or, without `all`, all of those that do not stay? */
static Bool pruneServes(Prune prune, PruneHeader header, uint64_t place, Bool all)
{
  return !header->ended || header->identity == prune->bearer || header->block > (all ? prune->frequent : place) ||
         header->staying > (all ? place : prune->all);
}

/* pruneBury -- the block at `place` goes: if it was the last of a process that has ended, so do its headers */
static Res pruneBury(Prune prune, uint64_t identity, uint64_t place, Bool all)
{
  PruneHeader *link = &prune->list[identity % pruneLISTS];
  Res res = ResOK;

  while (*link != NULL && res == ResOK) {
    PruneHeader header = *link;
    if (header->identity != identity || header->place > place || pruneServes(prune, header, place + 1, all)) {
      link = &header->next;
      continue;
    }
    res = PruneFilePunch(&prune->file, header->place, header->place + header->length);
    *link = header->next;
    free(header);
  }
  return res;
}

/* pruneHeaderGoes -- is a header block needed by nothing? */
static Bool pruneHeaderGoes(Prune prune, uint64_t place, Size length, Bool all, Bool now)
{
  uint64_t hash;
  PruneHeader *link, header;

  if (!pruneHeaderRead(prune, place, length, &hash))
    return TRUE;
  link = pruneLink(prune, prune->header.identity, hash);
  header = *link;
  if (header == NULL || header->place > place)
    return TRUE;
  if (!all || pruneServes(prune, header, place, all))
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
typedef struct pruneWalkStruct {
  Bool all;           /* also those that stay as long as they fit */
  Bool now;           /* let them go */
  uint64_t from, to;  /* a row of things that go */
  uint64_t bytes;     /* that go */
  DroppedStruct dropped;
} pruneWalkStruct, *PruneWalk;

static Bool pruneGoes(Prune prune, PruneWalk walk, PruneThing thing, uint64_t offset)
{
  switch (thing->what) {
  case PruneZEROS:
    return TRUE; /* so that the holes beside it become one */
  case PruneHEADER:
    return pruneHeaderGoes(prune, offset, (Size)thing->size, walk->all, walk->now);
  case PruneBLOCK:
    return walk->all || !pruneStays(prune, &thing->header);
  default:
    return walk->all;
  }
}

/* pruneRow -- the row is at its end */
static Res pruneRow(Prune prune, PruneWalk walk)
{
  uint64_t from = walk->from - walk->from % prune->file.page;

  if (!walk->now || walk->from == walk->to)
    return ResOK;
  /* The page in which it begins goes if all of it is zeros now. */
  if (!PruneFileZeros(&prune->file, from, walk->from))
    from = walk->from;
  return PruneFilePunch(&prune->file, from, walk->to);
}

/* pruneWalk -- from `from` to `to`, or until `bytes` go; *endReturn is how far it came */
static Res pruneWalk(Prune prune, PruneWalk walk, uint64_t from, uint64_t to, uint64_t bytes, uint64_t *endReturn)
{
  PruneThingStruct thing;
  Res res = ResOK;

  walk->from = walk->to = from;
  walk->bytes = 0;
  memset(&walk->dropped, 0, sizeof walk->dropped);
  for (; res == ResOK && from < to && walk->bytes < bytes; from += thing.size) {
    PruneFileThing(&thing, &prune->file, from);
    if (thing.what == PruneEND)
      break;
    if (thing.what == PruneZEROS && thing.size > to - from)
      thing.size = to - from;
    if (!pruneGoes(prune, walk, &thing, from))
      continue;
    if (walk->to != from) {
      res = pruneRow(prune, walk);
      walk->from = from;
    }
    walk->to = from + thing.size;
    if (thing.what != PruneZEROS)
      walk->bytes += thing.size;
    if (thing.what != PruneBLOCK)
      continue;
    if (walk->now && (res = pruneBury(prune, thing.header.process, from, walk->all)) != ResOK)
      break;
    ++walk->dropped.blocks;
    walk->dropped.events += thing.header.count;
    if (thing.header.last > walk->dropped.ticks)
      walk->dropped.ticks = thing.header.last;
  }
  *endReturn = from;
  return res == ResOK ? pruneRow(prune, walk) : res;
}

/* pruneBearer -- the newest header block of the process that tells what has gone; the newest of all if there is none */
static PruneHeader pruneBearer(Prune prune)
{
  PruneHeader header, newest = NULL, bearer = NULL;
  Index i;

  for (i = 0; i < pruneLISTS; ++i)
    for (header = prune->list[i]; header != NULL; header = header->next) {
      if (newest == NULL || header->place > newest->place)
        newest = header;
      if (header->identity == prune->bearer && (bearer == NULL || header->place > bearer->place))
        bearer = header;
    }
  return bearer != NULL ? bearer : newest;
}

/* pruneMark -- append the bearer's header block with a line that tells what has gone, what goes now included */
static Res pruneMark(Prune prune, Dropped dropped)
{
  PruneHeader bearer = pruneBearer(prune);
  const char *line, *end, *limit;
  uint64_t hash;
  TextStruct text;

  if (bearer == NULL || !pruneHeaderRead(prune, bearer->place, bearer->length, &hash)) {
    errno = EINVAL;
    return ResIO;
  }
  prune->bearer = bearer->identity;
  line = prune->text + BlockMagicSIZE + HeaderLineSIZE;
  limit = prune->text + bearer->length;
  TextInit(&text, prune->marked, sizeof prune->marked);
  TextBytes(&text, prune->text, BlockMagicSIZE + HeaderLineSIZE);
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
  return PruneFileAppend(&prune->file, prune->marked, TextLength(&text));
}

/* pruneDrop -- let go what goes from *cursor on, up to `to`; it is marked first, so that nobody takes it for damage */
static Res pruneDrop(Prune prune, uint64_t *cursor, uint64_t to, uint64_t bytes, Bool all)
{
  pruneWalkStruct walk = {.all = all};
  DroppedStruct dropped = prune->dropped;
  uint64_t end;
  Bool full = FALSE;
  Res res = pruneWalk(prune, &walk, *cursor, to, bytes, &end);

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
  if (walk.bytes > 0 && (res = pruneMark(prune, &dropped)) != ResOK) {
    full = errno == ENOSPC; /* then room comes first */
    if (!full)
      return res;
  }
  walk.now = TRUE;
  res = pruneWalk(prune, &walk, *cursor, end, UINT64_MAX, &end);
  if (res != ResOK)
    return res;
  *cursor = end;
  prune->dropped = dropped;
  return full ? pruneMark(prune, &dropped) : ResOK;
}

/* pruneLive -- bytes that it takes */
static uint64_t pruneLive(Prune prune)
{
  return prune->file.size > prune->file.freed ? prune->file.size - prune->file.freed : 0;
}

Res PruneNewest(Prune prune)
{
  uint64_t share = prune->limit / pruneSHARE, target = prune->limit - share, old;
  Res res = PruneFileSize(&prune->file);

  if (res == ResOK)
    res = pruneSee(prune);
  if (res != ResOK || pruneLive(prune) <= prune->limit)
    return res;
  old = prune->seen > prune->limit / 2 ? prune->seen - prune->limit / 2 : 0; /* the newest half stays, whatever it is */
  while (res == ResOK && pruneLive(prune) > target) {
    if (prune->frequent < old)
      res = pruneDrop(prune, &prune->frequent, old, share, FALSE);
    else if (prune->all < prune->frequent)
      res = pruneDrop(prune, &prune->all, prune->frequent, share, TRUE);
    else
      break;
    if (res == ResOK)
      res = PruneFileSize(&prune->file);
    if (res == ResOK)
      res = pruneSee(prune);
  }
  return res;
}

void PruneDropped(Dropped droppedReturn, Prune prune)
{
  *droppedReturn = prune->dropped;
}

Res PruneCreate(Prune *pruneReturn, int log, uint64_t limit, uint32_t stay)
{
  Prune prune;
  Res res;

  if (limit < PruneLimitMIN)
    return ResPARAM;
  prune = calloc(1, sizeof *prune);
  if (prune == NULL)
    return ResMEMORY;
  prune->limit = limit;
  prune->stay = stay;
  res = PruneFileOpen(&prune->file, log);
  if (res != ResOK) {
    free(prune);
    return res;
  }
  *pruneReturn = prune;
  return ResOK;
}

void PruneDestroy(Prune prune)
{
  Index i;

  for (i = 0; i < pruneLISTS; ++i)
    while (prune->list[i] != NULL) {
      PruneHeader header = prune->list[i];
      prune->list[i] = header->next;
      free(header);
    }
  free(prune);
}

Bool PruneCheck(Prune prune)
{
  AVER(prune->all <= prune->frequent);
  AVER(prune->frequent <= prune->seen);
  AVER(prune->seen <= prune->file.size);
  return TRUE;
}
