/* drainheader.c -- the header block of a process that is drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/drainheader.h"

#include <stdlib.h>
#include <string.h>

#include "base/fence.h"
#include "plinth/clock.h"

enum { drainTries = 8 }; /* to read a text that is being replaced */

static void typesFree(DrainTypes types)
{
  free(types->registry.types);
  free(types->text);
  free(types);
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
static Res typesGet(DrainTypes *typesReturn, DrainTypes *list, const char *text, Size length, WidthsStruct widths)
{
  DrainTypes types;
  Res res;

  for (types = *list; types != NULL; types = types->next)
    if (types->length == length && types->registry.widths.word == widths.word && memcmp(types->text, text, length) == 0)
      break;
  if (types == NULL) {
    res = typesParse(&types, text, length, widths);
    if (res != ResOK)
      return res;
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
  if (types == NULL || --types->users > 0)
    return;
  for (link = list; *link != types; link = &(*link)->next)
    ;
  *link = types->next;
  typesFree(types);
}

/* headerCopy -- the newest text, as it was at one moment; 0: there is none, or never the same twice */
static Size headerCopy(uint32_t *generationReturn, void *place, RegionHeader region)
{
  unsigned tries;

  for (tries = 0; tries < drainTries; ++tries) {
    uint32_t generation = __atomic_load_n(&region->text.generation, __ATOMIC_ACQUIRE);
    Size length = __atomic_load_n(&region->text.length[generation & 1], __ATOMIC_RELAXED);
    *generationReturn = generation;
    if (length > RegionTextSIZE)
      return 0;
    memcpy(place, (char *)region + RegionTEXT + (generation & 1) * (Size)RegionTextSIZE, length);
    Fence();
    /* One that is written now goes to the other place; only the next but one would stand where we read. */
    if (__atomic_load_n(&region->text.generation, __ATOMIC_RELAXED) == generation)
      return length;
  }
  return 0;
}

/* headerRead -- is that a header block of this process, with types that can be had?  Takes the types if so. */
static Res headerRead(DrainHeader header, const void *bytes, Size length, uint64_t identity, DrainTypes *list)
{
  DrainTypes types;
  const char *body, *limit = (const char *)bytes + length, *begin;
  Res res = HeaderRead(&header->header, &body, bytes, length);

  if (res != ResOK)
    return ResFORMAT;
  if (header->header.identity != identity || header->header.widths.swapped)
    return ResFORMAT;
  begin = HeaderTypes(body, limit);
  res = typesGet(&types, list, begin, (Size)(limit - begin), header->header.widths);
  if (res != ResOK)
    return res == ResMEMORY ? res : ResFORMAT;
  DrainHeaderForget(header, list);
  header->types = types;
  header->slow = strcmp(header->header.clock, "counter") != 0;
  return ResOK;
}

Res DrainHeaderTake(DrainHeader header, RegionHeader region, uint64_t identity, DrainTypes *list, Batch batch)
{
  uint32_t generation = __atomic_load_n(&region->text.generation, __ATOMIC_ACQUIRE);
  unsigned char *place;
  Size length;
  Res res;

  if (generation == header->generation)
    return ResEND;
  place = BatchPlace(batch, RegionTextSIZE);
  if (place == NULL)
    return ResIO;
  length = headerCopy(&generation, place, region);
  header->generation = generation;
  res = length == 0 ? ResFORMAT : headerRead(header, place, length, identity, list);
  if (res == ResMEMORY)
    header->generation = 0;
  if (res == ResOK)
    BatchCommit(batch, length);
  return res;
}

Res DrainHeaderAgain(DrainHeader header, uint64_t lost, Bool last, Batch batch)
{
  HeaderStruct *its = &header->header;
  char region[HeaderTextMAX];
  unsigned char *place;
  TextStruct text;
  Res res;

  if (header->types == NULL)
    return ResOK;
  place = BatchPlace(batch, RegionTextSIZE);
  if (place == NULL)
    return ResIO;
  memcpy(region, its->region, sizeof region);
  if (last)
    its->region[0] = '\0';
  its->lost = lost;
  its->syncs = its->syncs == 0 ? 1 : HeaderSyncsMAX;
  EventClockSync(&its->sync[its->syncs - 1], header->slow);
  TextInit(&text, (char *)place, RegionTextSIZE);
  HeaderBegin(&text, its);
  TextBytes(&text, header->types->text, header->types->length);
  res = HeaderEnd(&text);
  memcpy(its->region, region, sizeof region);
  if (res == ResOK)
    BatchCommit(batch, TextLength(&text));
  return res;
}
