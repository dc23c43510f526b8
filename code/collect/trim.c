/* trim.c -- a log that stays small
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "format/block.h"
#include "format/header.h"
#include "log/logfile.h"

enum {
  trimSHARE = 8,    /* an eighth of the limit goes at a time */
  trimLISTS = 256,
  trimWINDOW = 65536, /* bytes of the log that are read at a time */
  trimLineMAX = 80  /* bytes of the line that tells what has gone */
};

/* ---- The log, thing by thing, and holes in it ---- */

typedef struct TrimFileStruct {
  int fd;
  Size page;            /* what the file system gives back is a multiple of this */
  uint64_t size;        /* of the file, */
  uint64_t freed;       /* and what of that takes no room */
  uint64_t windowAt;
  Size windowSize;
  unsigned char window[trimWINDOW];
} TrimFileStruct, *TrimFile;

/* What stands at a place. */
typedef struct TrimThingStruct {
  enum { TrimBLOCK, TrimHEADER, TrimZEROS, TrimJUNK, TrimEND } what; /* END: what stands there is not all there */
  uint64_t size;
  BlockHeaderStruct header; /* of a block */
} TrimThingStruct, *TrimThing;

/* fileOpen -- ResIO: errno says why; EOPNOTSUPP if there can be no holes */
static Res fileOpen(TrimFile file, int fd)
{
  struct stat status;

  file->fd = fd;
  file->windowSize = 0;
  if (fstat(fd, &status) != 0)
    return ResIO;
  if (!S_ISREG(status.st_mode)) {
    errno = EOPNOTSUPP;
    return ResIO;
  }
  file->page = status.st_blksize > 0 && WordIsPowerOf2((Word)status.st_blksize) ? (Size)status.st_blksize : 4096;
  file->size = (uint64_t)status.st_size;
  if ((uint64_t)status.st_blocks * 512 < file->size)
    file->freed = file->size - (uint64_t)status.st_blocks * 512;
  /* Behind its end there is nothing to lose. */
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)WordAlignUp(file->size, file->page),
                   (off_t)file->page) == 0 ? ResOK : ResIO;
}

/* fileSize -- how large is it now? */
static Res fileSize(TrimFile file)
{
  struct stat status;

  if (fstat(file->fd, &status) != 0)
    return ResIO;
  file->size = (uint64_t)status.st_size;
  file->windowSize = 0; /* what stands there may have gone, or come */
  return ResOK;
}

/* fileBytes -- the bytes of the file from `offset` on: `size` of them, or as many as the window has, if that is more; *thereReturn says
 * how many there are */
static const unsigned char *fileBytes(TrimFile file, uint64_t offset, Size size, Size *thereReturn)
{
  uint64_t left = offset < file->size ? file->size - offset : 0;
  uint64_t end = file->windowAt + file->windowSize;

  if (left < size)
    size = (Size)left;
  if (file->windowSize == 0 || offset < file->windowAt || offset >= end || end - offset < size) {
    file->windowAt = offset;
    file->windowSize = left < trimWINDOW ? (Size)left : trimWINDOW;
    if (FileReadAt(file->fd, offset, file->window, file->windowSize) != ResOK)
      file->windowSize = 0;
  }
  *thereReturn = file->windowSize > 0 ? (Size)(file->windowAt + file->windowSize - offset) : 0;
  return file->window + (offset - file->windowAt);
}

/* fileRun -- zeros from here on: how many; what is in holes is not read */
static uint64_t fileRun(TrimFile file, uint64_t offset, const unsigned char *bytes, Size there)
{
  Size n = 0;
  off_t data;

  while (n < there && bytes[n] == 0)
    ++n;
  if (n < there)
    return n;
  data = lseek(file->fd, (off_t)(offset + n), SEEK_DATA);
  if (data < 0 && errno == ENXIO)
    return file->size - offset;
  return data > 0 && (uint64_t)data > offset + n ? (uint64_t)data - offset : n;
}

/* fileThing -- what stands at `offset`, before the file's end */
static void fileThing(TrimThing thing, TrimFile file, uint64_t offset)
{
  Size there, length;
  const unsigned char *bytes = fileBytes(file, offset, BlockHeaderSIZE, &there), *next;
  unsigned version[3];
  Bool swapped;

  thing->what = TrimEND;
  thing->size = 0;
  if (there < BlockMagicSIZE + HeaderLineSIZE)
    return;
  if (bytes[0] == 0) {
    thing->what = TrimZEROS;
    thing->size = fileRun(file, offset, bytes, there);
    return;
  }
  if (there >= BlockHeaderSIZE && BlockHeaderRead(&thing->header, &swapped, bytes) == ResOK) {
    thing->what = TrimBLOCK;
    thing->size = thing->header.size;
  } else if (HeaderLength(&length, version, bytes, there) == ResOK) {
    thing->what = TrimHEADER;
    thing->size = length;
  } else if (there < BlockHeaderSIZE) {
    return;
  } else {
    thing->what = TrimJUNK;
    next = memchr(bytes + 1, BlockMAGIC[0], there - 1);
    thing->size = next != NULL ? (Size)(next - bytes) : there;
  }
  if (thing->size > file->size - offset)
    thing->what = TrimEND;
}

/* fileZeros -- is there nothing but zeros? */
static Bool fileZeros(TrimFile file, uint64_t from, uint64_t to)
{
  while (from < to) {
    Size there, i;
    const unsigned char *bytes = fileBytes(file, from, 1, &there);
    for (i = 0; i < there && from + i < to; ++i)
      if (bytes[i] != 0)
        return FALSE;
    if (there == 0)
      return FALSE;
    from += there;
  }
  return TRUE;
}

/* filePunch -- make a hole */
static Res filePunch(TrimFile file, uint64_t from, uint64_t to)
{
  uint64_t begin = from - from % file->page, end = WordAlignUp(to, file->page);
  struct stat before, after;

  AVER(from < to);
  /* The pages in which it begins and ends go if the rest of them is zeros by now. */
  if (fileZeros(file, begin, from))
    from = begin;
  if (end <= file->size && fileZeros(file, to, end))
    to = end;
  if (fstat(file->fd, &before) != 0 ||
      fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)) != 0 ||
      fstat(file->fd, &after) != 0)
    return ResIO;
  if (after.st_blocks < before.st_blocks)
    file->freed += (uint64_t)(before.st_blocks - after.st_blocks) * 512;
  file->windowSize = 0;
  return ResOK;
}

/* ---- What is kept in mind ---- */

/* The newest header block of a process that has this registry: of those before, none is needed. */
typedef struct trimHeaderStruct {
  struct trimHeaderStruct *next; /* in its list, by identity */
  uint64_t identity, registry;   /* a hash of the lines that stand last */
  uint64_t place;
  Size length;
  Bool ended;                    /* it names no region: the process has ended */
  uint64_t block, staying;       /* behind the beginning of the process's newest block, and of its newest that stays */
} trimHeaderStruct, *TrimHeader;

struct TrimStruct {
  uint64_t limit;
  uint32_t stay;
  uint64_t seen;       /* what comes before is in the list of headers; */
  uint64_t frequent;   /* of what comes before, only kinds that stay are left, */
  uint64_t all;        /* and before this only headers */
  DroppedStruct dropped;
  uint64_t bearer;     /* identity of the process whose header tells of it; 0: none yet */
  TrimHeader list[trimLISTS];
  TrimFileStruct file;
  HeaderStruct header;
  char text[HeaderMAX], marked[HeaderMAX];
};

/* ---- Headers ---- */

static TrimHeader *trimLink(Trim trim, uint64_t identity, uint64_t registry)
{
  TrimHeader *link = &trim->list[identity % trimLISTS];

  while (*link != NULL && ((*link)->identity != identity || (*link)->registry != registry))
    link = &(*link)->next;
  return link;
}

/* trimHeaderRead -- the header block at a place, into `text` and `header`, and the hash of its registry */
static Bool trimHeaderRead(Trim trim, uint64_t place, Size length, uint64_t *hashReturn)
{
  const char *body, *types, *limit = trim->text + length;
  RegistryNameStruct name;

  if (FileReadAt(trim->file.fd, place, trim->text, length) != ResOK ||
      HeaderRead(&trim->header, &body, trim->text, length) != ResOK)
    return FALSE;
  types = HeaderTypes(body, limit);
  name = RegistryNameOf(types, (Size)(limit - types));
  *hashReturn = name.length << 32 | name.crc;
  return TRUE;
}

static Res trimSeeHeader(Trim trim, uint64_t place, Size length)
{
  uint64_t hash;
  TrimHeader *link, header;

  if (!trimHeaderRead(trim, place, length, &hash))
    return ResOK;
  link = trimLink(trim, trim->header.identity, hash);
  header = *link;
  if (header == NULL) {
    header = calloc(1, sizeof *header);
    if (header == NULL)
      return ResMEMORY;
    header->identity = trim->header.identity;
    header->registry = hash;
    *link = header;
  }
  header->place = place;
  header->length = length;
  /* The collector has no region, and lives. */
  header->ended = trim->header.region[0] == '\0' && trim->header.role[0] == '\0';
  return ResOK;
}

/* trimStays -- is a block one of those that stay as long as they fit? */
static Bool trimStays(Trim trim, BlockHeader block)
{
  /* A thread's stream that is not its kind's holds what defines something. */
  return BlockStreamPlace(block) != block->kind || (block->kind < 32 && (trim->stay >> block->kind & 1) != 0);
}

static void trimSeeBlock(Trim trim, uint64_t place, BlockHeader block)
{
  TrimHeader header;

  for (header = trim->list[block->process % trimLISTS]; header != NULL; header = header->next)
    if (header->identity == block->process) {
      header->block = place + 1;
      if (trimStays(trim, block))
        header->staying = place + 1;
    }
}

/* trimSee -- note the headers that came */
static Res trimSee(Trim trim)
{
  TrimThingStruct thing;
  Res res = ResOK;

  while (res == ResOK && trim->seen < trim->file.size) {
    fileThing(&thing, &trim->file, trim->seen);
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

/* trimServes -- does a header serve a process that lives, or a block that is there when all before `place` are gone,
 * or, without `all`, all of those that do not stay? */
static Bool trimServes(Trim trim, TrimHeader header, uint64_t place, Bool all)
{
  return !header->ended || header->identity == trim->bearer || header->block > (all ? trim->frequent : place) ||
         header->staying > (all ? place : trim->all);
}

/* trimBury -- the block at `place` goes: if it was the last of a process that has ended, so do its headers */
static Res trimBury(Trim trim, uint64_t identity, uint64_t place, Bool all)
{
  TrimHeader *link = &trim->list[identity % trimLISTS];
  Res res = ResOK;

  while (*link != NULL && res == ResOK) {
    TrimHeader header = *link;
    if (header->identity != identity || header->place > place || trimServes(trim, header, place + 1, all)) {
      link = &header->next;
      continue;
    }
    res = filePunch(&trim->file, header->place, header->place + header->length);
    *link = header->next;
    free(header);
  }
  return res;
}

/* trimHeaderGoes -- is a header block needed by nothing? */
static Bool trimHeaderGoes(Trim trim, uint64_t place, Size length, Bool all, Bool now)
{
  uint64_t hash;
  TrimHeader *link, header;

  if (!trimHeaderRead(trim, place, length, &hash))
    return TRUE;
  link = trimLink(trim, trim->header.identity, hash);
  header = *link;
  if (header == NULL || header->place > place)
    return TRUE;
  if (!all || trimServes(trim, header, place, all))
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
typedef struct trimWalkStruct {
  Bool all;           /* also those that stay as long as they fit */
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
    return trimHeaderGoes(trim, offset, (Size)thing->size, walk->all, walk->now);
  case TrimBLOCK:
    return walk->all || !trimStays(trim, &thing->header);
  default:
    return walk->all;
  }
}

/* trimRow -- the row is at its end */
static Res trimRow(Trim trim, TrimWalk walk)
{
  if (!walk->now || walk->from == walk->to)
    return ResOK;
  return filePunch(&trim->file, walk->from, walk->to);
}

/* trimWalk -- from `from` to `to`, or until `bytes` go; *endReturn is how far it came */
static Res trimWalk(Trim trim, TrimWalk walk, uint64_t from, uint64_t to, uint64_t bytes, uint64_t *endReturn)
{
  TrimThingStruct thing;
  Res res = ResOK;

  walk->from = walk->to = from;
  walk->bytes = 0;
  memset(&walk->dropped, 0, sizeof walk->dropped);
  for (; res == ResOK && from < to && walk->bytes < bytes; from += thing.size) {
    fileThing(&thing, &trim->file, from);
    if (thing.what == TrimEND)
      break;
    if (thing.what == TrimZEROS && thing.size > to - from)
      thing.size = to - from;
    if (!trimGoes(trim, walk, &thing, from))
      continue;
    if (walk->to != from) {
      res = trimRow(trim, walk);
      walk->from = from;
    }
    walk->to = from + thing.size;
    if (thing.what != TrimZEROS)
      walk->bytes += thing.size;
    if (thing.what != TrimBLOCK)
      continue;
    if (walk->now && (res = trimBury(trim, thing.header.process, from, walk->all)) != ResOK)
      break;
    ++walk->dropped.blocks;
    walk->dropped.events += thing.header.count;
    if (thing.header.last > walk->dropped.ticks)
      walk->dropped.ticks = thing.header.last;
  }
  *endReturn = from;
  return res == ResOK ? trimRow(trim, walk) : res;
}

/* trimBearer -- the newest header block of the process that tells what has gone; the newest of all if there is none */
static TrimHeader trimBearer(Trim trim)
{
  TrimHeader header, newest = NULL, bearer = NULL;
  Index i;

  for (i = 0; i < trimLISTS; ++i)
    for (header = trim->list[i]; header != NULL; header = header->next) {
      if (newest == NULL || header->place > newest->place)
        newest = header;
      if (header->identity == trim->bearer && (bearer == NULL || header->place > bearer->place))
        bearer = header;
    }
  return bearer != NULL ? bearer : newest;
}

/* trimMark -- append the bearer's header block with a line that tells what has gone, what goes now included */
static Res trimMark(Trim trim, Dropped dropped)
{
  TrimHeader bearer = trimBearer(trim);
  const char *line, *end, *limit;
  uint64_t hash;
  TextStruct text;

  if (bearer == NULL || !trimHeaderRead(trim, bearer->place, bearer->length, &hash)) {
    errno = EINVAL;
    return ResIO;
  }
  trim->bearer = bearer->identity;
  line = trim->text + BlockMagicSIZE + HeaderLineSIZE;
  limit = trim->text + bearer->length;
  TextInit(&text, trim->marked, sizeof trim->marked);
  TextBytes(&text, trim->text, BlockMagicSIZE + HeaderLineSIZE);
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
  return FileAppend(trim->file.fd, trim->marked, TextLength(&text));
}

/* trimDrop -- let go what goes from *cursor on, up to `to`; it is marked first, so that nobody takes it for damage */
static Res trimDrop(Trim trim, uint64_t *cursor, uint64_t to, uint64_t bytes, Bool all)
{
  trimWalkStruct walk = {.all = all};
  DroppedStruct dropped = trim->dropped;
  uint64_t end;
  Bool full = FALSE;
  Res res = trimWalk(trim, &walk, *cursor, to, bytes, &end);

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
  if (walk.bytes > 0 && (res = trimMark(trim, &dropped)) != ResOK) {
    full = errno == ENOSPC; /* then room comes first */
    if (!full)
      return res;
  }
  walk.now = TRUE;
  res = trimWalk(trim, &walk, *cursor, end, UINT64_MAX, &end);
  if (res != ResOK)
    return res;
  *cursor = end;
  trim->dropped = dropped;
  return full ? trimMark(trim, &dropped) : ResOK;
}

/* trimLive -- bytes that it takes */
static uint64_t trimLive(Trim trim)
{
  return trim->file.size > trim->file.freed ? trim->file.size - trim->file.freed : 0;
}

Res TrimNewest(Trim trim)
{
  uint64_t share = trim->limit / trimSHARE, target = trim->limit - share, old;
  Res res = fileSize(&trim->file);

  if (res == ResOK)
    res = trimSee(trim);
  if (res != ResOK || trimLive(trim) <= trim->limit)
    return res;
  old = trim->seen > trim->limit / 2 ? trim->seen - trim->limit / 2 : 0; /* the newest half stays, whatever it is */
  while (res == ResOK && trimLive(trim) > target) {
    if (trim->frequent < old)
      res = trimDrop(trim, &trim->frequent, old, share, FALSE);
    else if (trim->all < trim->frequent)
      res = trimDrop(trim, &trim->all, trim->frequent, share, TRUE);
    else
      break;
    if (res == ResOK)
      res = fileSize(&trim->file);
    if (res == ResOK)
      res = trimSee(trim);
  }
  return res;
}

void TrimDropped(Dropped droppedReturn, Trim trim)
{
  *droppedReturn = trim->dropped;
}

Res TrimCreate(Trim *trimReturn, int log, uint64_t limit, uint32_t stay)
{
  Trim trim;
  Res res;

  if (limit < TrimLimitMIN)
    return ResPARAM;
  trim = calloc(1, sizeof *trim);
  if (trim == NULL)
    return ResMEMORY;
  trim->limit = limit;
  trim->stay = stay;
  res = fileOpen(&trim->file, log);
  if (res != ResOK) {
    free(trim);
    return res;
  }
  *trimReturn = trim;
  return ResOK;
}

void TrimDestroy(Trim trim)
{
  Index i;

  for (i = 0; i < trimLISTS; ++i)
    while (trim->list[i] != NULL) {
      TrimHeader header = trim->list[i];
      trim->list[i] = header->next;
      free(header);
    }
  free(trim);
}

Bool TrimCheck(Trim trim)
{
  AVER(trim->all <= trim->frequent);
  AVER(trim->frequent <= trim->seen);
  AVER(trim->seen <= trim->file.size);
  return TRUE;
}
