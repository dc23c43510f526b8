/* drainheader.c -- what is known of a process that is drained: its header block, and how far each of its streams has
 * come
 *
 * The process writes its header block into its region, and anew when it names new types; from here it goes into the
 * log, again and again, with a new relation of ticks to time.  Processes that have the same types, as those of one
 * program have, share one registry.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/drain.h"

#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/fence.h"
#include "plinth/clock.h"

enum {
  drainTries = 8,                    /* to read a text that is being replaced */
  headerSTREAMS = 1024,              /* of which one closing header block tells, with less than 96 bytes each */
  /* for a header block: as the process wrote it, and what is added */
  headerROOM = RegionTextSIZE + headerSTREAMS * 96 + 8192
};

/* ---- The header block ---- */

static void typesFree(DrainTypes types)
{
  free(types->registry.types);
  free(types->text);
  free(types);
}

/* typesNamed -- how much of a text is what `known` names: all or nothing, as readers have it */
static Size typesNamed(const char *text, Size length, RegistryName known)
{
  RegistryNameStruct its;

  if (known->length == 0 || known->length != length)
    return 0;
  its = RegistryNameOf(text, known->length);
  return RegistryNameIs(&its, known) ? known->length : 0;
}

/* typesParse -- a text that nobody had yet */
static Res typesParse(DrainTypes *typesReturn, const char *text, Size length, WidthsStruct widths)
{
  DrainTypes types = calloc(1, sizeof *types);
  EventType room = NULL;
  Count lines = 1;
  Res res = ResMEMORY;
  Size i;

  for (i = 0; i < length; ++i)
    lines += text[i] == '\n';
  if (types != NULL && (types->text = malloc(length + 1)) != NULL && (room = calloc(lines, sizeof *room)) != NULL) {
    memcpy(types->text, text, length);
    types->length = length;
    RegistryInit(&types->registry, room, lines, widths);
    res = RegistryText(&types->registry, types->text, length);
  }
  if (res == ResOK)
    *typesReturn = types;
  else if (types != NULL)
    typesFree(types);
  return res;
}

/* typesGet -- what a text means, from those that are in use or anew */
static Res typesGet(DrainTypes *typesReturn, DrainShop shop, const char *text, Size length, WidthsStruct widths)
{
  DrainTypes *list = &shop->types, types;
  Res res;

  for (types = *list; types != NULL; types = types->next)
    if (types->length == length && types->registry.widths.word == widths.word && memcmp(types->text, text, length) == 0)
      break;
  if (types == NULL) {
    res = typesParse(&types, text, length, widths);
    if (res != ResOK)
      return res;
    types->named = typesNamed(text, length, &shop->known);
    types->next = *list;
    *list = types;
  }
  ++types->users;
  *typesReturn = types;
  return ResOK;
}

void DrainHeaderForget(DrainHeader header, DrainTypes *list)
{
  DrainTypes types = header->types, *link;

  header->types = NULL;
  AVER(types == NULL || types->users > 0);
  if (types == NULL || --types->users > 0)
    return;
  for (link = list; *link != types; link = &(*link)->next)
    ;
  *link = types->next;
  typesFree(types);
}

/* headerCopy -- the newest text, or the one `older` before that, as it was at one moment; 0: there is none, or never
 * the same twice */
static Size headerCopy(uint32_t *generationReturn, void *place, RegionHeader region, unsigned older)
{
  unsigned tries;

  for (tries = 0; tries < drainTries; ++tries) {
    uint32_t generation = __atomic_load_n(&region->text.generation, __ATOMIC_ACQUIRE);
    Size length = RegionTextCopy(place, region, generation - older);
    *generationReturn = generation;
    Fence();
    /* One that is written now goes to the other place; only the next but one would stand where we read. */
    if (__atomic_load_n(&region->text.generation, __ATOMIC_RELAXED) == generation)
      return length;
  }
  return 0;
}

/* headerRead -- is that a header block of this process?  Then its types become those of the process. */
static Res headerRead(DrainHeader header, const void *bytes, Size length, uint64_t identity, DrainShop shop)
{
  DrainTypes types;
  const char *body, *limit = (const char *)bytes + length, *begin;
  Res res = HeaderRead(&header->header, &body, bytes, length);

  if (res != ResOK)
    return ResFORMAT;
  if (header->header.identity != identity || header->header.widths.swapped)
    return ResFORMAT;
  begin = HeaderTypes(body, limit);
  res = typesGet(&types, shop, begin, (Size)(limit - begin), header->header.widths);
  if (res != ResOK)
    return res == ResMEMORY ? res : ResFORMAT;
  DrainHeaderForget(header, &shop->types);
  header->types = types;
  header->slow = strcmp(header->header.clock, SyncCOUNTER) != 0;
  return ResOK;
}

Res DrainHeaderTake(DrainHeader header, RegionHeader region, uint64_t identity, uint32_t pid, DrainShop shop)
{
  uint32_t generation = __atomic_load_n(&region->text.generation, __ATOMIC_ACQUIRE), seen;
  unsigned char *place;
  Res res = ResFORMAT;
  unsigned older;

  if (generation == header->generation && (generation != 0 || header->types != NULL))
    return ResEND;
  place = BatchPlace(&shop->batch, RegionTextSIZE);
  if (place == NULL)
    return ResIO;
  /* Which is the newest the program may have written over, too. */
  for (older = 0; older < 2 && res == ResFORMAT && (older == 0 || header->types == NULL); ++older) {
    Size length = headerCopy(&seen, place, region, older);
    if (older == 0) /* what is written from here on is looked at the next time */
      generation = seen;
    res = length == 0 ? ResFORMAT : headerRead(header, place, length, identity, shop);
  }
  header->generation = generation;
  if (res == ResMEMORY)
    header->generation = 0;
  if (res == ResOK)
    HeaderOutside(&header->header, pid);
  return res;
}

/* headerEnds -- how many streams have sent a block */
static Count headerEnds(const DrainStreamsStruct *streams)
{
  Count n = 0;
  Index i;

  for (i = 0; i < streams->count; ++i)
    n += streams->stream[i].next > 0;
  return n;
}

/* headerEnd -- what there should be of the streams from `from` on, as many as one header block has; where it came to */
static Index headerEnd(Text text, const DrainStreamsStruct *streams, Index from)
{
  Index limit = streams->count - from < headerSTREAMS ? streams->count : from + headerSTREAMS;

  for (; from < limit; ++from) {
    const DrainStreamStruct *its = &streams->stream[from];
    HeaderStreamStruct stream = {its->id, its->next, its->total, its->discarded};
    if (its->next > 0)
      HeaderStreamWrite(text, &stream);
  }
  return from;
}

/* headerPut -- one header block into the batch; of one that closes, *next is the stream from which on the next one
 * tells */
static Res headerPut(DrainHeader header, const DrainStreamsStruct *ended, Index *next, DrainShop shop)
{
  DrainTypes types = header->types;
  unsigned char *place = BatchPlace(&shop->batch, headerROOM);
  TextStruct text;
  Res res;

  if (place == NULL)
    return ResIO;
  TextInit(&text, (char *)place, headerROOM);
  HeaderBegin(&text, &header->header);
  if (ended != NULL)
    *next = headerEnd(&text, ended, *next);
  TextBytes(&text, types->text + types->named, types->length - types->named);
  res = HeaderEnd(&text);
  if (res == ResOK)
    BatchCommit(&shop->batch, TextLength(&text));
  return res;
}

Res DrainHeaderAgain(DrainHeader header, uint64_t lost, const DrainStreamsStruct *ended, DrainShop shop)
{
  HeaderStruct *its = &header->header;
  char region[HeaderTextMAX];
  Index next = 0;
  Res res;

  if (header->types == NULL)
    return ResOK;
  memcpy(region, its->region, sizeof region);
  if (ended != NULL)
    its->region[0] = '\0';
  its->ended = ended != NULL;
  its->open = ended == NULL;
  its->streams = ended != NULL ? headerEnds(ended) : 0;
  its->lost = lost;
  its->begun = 0; /* our log was there before the process */
  memcpy(its->events, shop->chosen, sizeof its->events);
  its->syncs = its->syncs == 0 ? 1 : HeaderSyncsMAX;
  EventClockSync(&its->sync[its->syncs - 1], header->slow);
  if (header->types->named > 0)
    its->registry = shop->known;
  do
    res = headerPut(header, ended, &next, shop);
  while (res == ResOK && ended != NULL && next < ended->count);
  memcpy(its->region, region, sizeof region);
  return res;
}

/* ---- Streams ---- */

/* streamsPlace -- where `id` is, or would be */
static Index streamsPlace(DrainStreams streams, uint32_t id)
{
  Index at = (id * 0x9e3779b1u) & (streams->places - 1);

  while (streams->place[at] != 0 && streams->stream[streams->place[at] - 1].id != id)
    at = (at + 1) & (streams->places - 1);
  return at;
}

/* streamsGrow -- room for one more */
static Res streamsGrow(DrainStreams streams)
{
  uint32_t *place;
  Index i;

  if (streams->count * 4 < streams->places)
    return ResOK;
  if (!Grow(&streams->stream, &streams->capacity, streams->count, sizeof *streams->stream) ||
      (place = calloc(streams->capacity * 4, sizeof *place)) == NULL)
    return ResMEMORY;
  free(streams->place);
  streams->place = place;
  streams->places = streams->capacity * 4;
  for (i = 0; i < streams->count; ++i)
    place[streamsPlace(streams, streams->stream[i].id)] = (uint32_t)i + 1;
  return ResOK;
}

/* streamsForget -- take the stream out of the table; what may have had to make way for it moves up */
static void streamsForget(DrainStreams streams, uint32_t id)
{
  Index mask = streams->places - 1, hole = streamsPlace(streams, id), at;

  for (at = (hole + 1) & mask; streams->place[at] != 0; at = (at + 1) & mask) {
    Index home = (streams->stream[streams->place[at] - 1].id * 0x9e3779b1u) & mask;
    if (((at - home) & mask) < ((at - hole) & mask))
      continue;
    streams->place[hole] = streams->place[at];
    hole = at;
  }
  streams->place[hole] = 0;
}

/* streamsOld -- a number for one more, which was that of another */
static Res streamsOld(Index *numberReturn, DrainStreams streams)
{
  Index left;

  for (left = 2 * streams->count; left > 0; --left) {
    DrainStream stream = &streams->stream[streams->hand];
    Index number = streams->hand;
    streams->hand = (number + 1) % streams->count;
    if (stream->stall == 0 && !stream->used) {
      streamsForget(streams, stream->id);
      *numberReturn = number;
      return ResOK;
    }
    stream->used = FALSE;
  }
  return ResLIMIT;
}

/* streamsNew -- a number for one more */
static Res streamsNew(Index *numberReturn, DrainStreams streams)
{
  Res res;

  if (streams->count == DrainStreamsMAX)
    return streamsOld(numberReturn, streams);
  res = streamsGrow(streams);
  if (res == ResOK)
    *numberReturn = streams->count++;
  return res;
}

Res DrainStreamGet(Index *numberReturn, DrainStreams streams, uint32_t id)
{
  Index at;
  Res res;

  if (streams->count > 0) {
    at = streamsPlace(streams, id);
    if (streams->place[at] != 0) {
      *numberReturn = streams->place[at] - 1;
      streams->stream[*numberReturn].used = TRUE;
      return ResOK;
    }
  }
  res = streamsNew(numberReturn, streams);
  if (res != ResOK)
    return res;
  streams->stream[*numberReturn] = (DrainStreamStruct){.id = id};
  streams->place[streamsPlace(streams, id)] = (uint32_t)*numberReturn + 1;
  return ResOK;
}

uint64_t DrainStreamDiscarded(DrainStream stream, uint64_t discarded)
{
  uint64_t before = stream->discarded;

  if (discarded <= before)
    return 0;
  stream->discarded = discarded;
  return discarded - before;
}

void DrainStreamsFree(DrainStreams streams)
{
  free(streams->stream);
  free(streams->place);
  memset(streams, 0, sizeof *streams);
}

Bool DrainStreamsCheck(DrainStreams streams)
{
  Index i;

  if (streams->count > streams->capacity || streams->count > DrainStreamsMAX || streams->count * 4 > streams->places ||
      (streams->places & (streams->places - 1)) != 0 || (streams->count > 0 && streams->hand >= streams->count))
    return FALSE;
  for (i = 0; i < streams->places; ++i)
    if (streams->place[i] > streams->count)
      return FALSE;
  for (i = 0; i < streams->count; ++i)
    if (streams->place[streamsPlace(streams, streams->stream[i].id)] != i + 1)
      return FALSE;
  return TRUE;
}
