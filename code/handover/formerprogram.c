/* formerprogram.c -- closes the part of the log of the program that this process was before exec
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/formerprogram.h"

#include <string.h>

#include "emit/send.h"
#include "format/header.h"
#include "plinth/rawsyscall.h"

enum {
  formerSTREAMS = 8192, /* that are known; of more nothing is said.  All of their lines fit into a header block. */
  formerPage = 4096
};

typedef struct FormerStruct {
  uint64_t identity; /* of that program's part, as its region has it */
  Count streams;
  HeaderStreamStruct stream[formerSTREAMS]; /* each once */
  HeaderStruct header;
  char its[RegionTextSIZE]; /* the newest header block of that program, copied before it is judged */
  char text[HeaderMAX];
} FormerStruct;

/* formerMake -- memory, of which no more is there than is used; what was noted of another region, which could not be sent, goes */
static Bool formerMake(Former *former, RegionHeader region)
{
  if (*former == NULL)
    *former = RawMap(WordAlignUp(sizeof(FormerStruct), formerPage), formerPage);
  if (*former != NULL && (*former)->identity != region->identity) {
    (*former)->identity = region->identity;
    (*former)->streams = 0;
  }
  return *former != NULL;
}

/* formerStream -- note how many blocks and events of a stream are in the log.  Of two notes for one stream the one with more
 * blocks counts; if both have as many, the one that knows the number of events. */
static void formerStream(Former former, const HeaderStreamStruct *its)
{
  HeaderStream stream = former->stream, limit = stream + former->streams;

  while (stream < limit && stream->stream != its->stream)
    ++stream;
  if (stream == limit) {
    if (former->streams < formerSTREAMS)
      former->stream[former->streams++] = *its;
    return;
  }
  if (its->blocks > stream->blocks) {
    stream->blocks = its->blocks;
    stream->events = its->events;
  } else if (its->blocks == stream->blocks && stream->events == HeaderEventsUNKNOWN) {
    stream->events = its->events;
  }
  if (its->discarded > stream->discarded)
    stream->discarded = its->discarded;
}

void FormerBlock(Former *former, RegionHeader region, BlockHeader block, Count events)
{
  HeaderStreamStruct its = {block->stream, block->sequence + 1,
                            block->before == BlockBeforeUNKNOWN ? HeaderEventsUNKNOWN : block->before + events,
                            block->discarded};

  if (formerMake(former, region))
    formerStream(*former, &its);
}

/* formerText -- the newest header block in the region, which its program may have written over; 0: there is none */
static Size formerText(Former former, const char **lineReturn, RegionHeader region)
{
  const char *text = (const char *)region + RegionTEXT + (region->text.generation & 1) * RegionTextSIZE;
  unsigned version[3];
  Size length;

  if (region->text.generation == 0)
    return 0;
  memcpy(former->its, text, BlockMagicSIZE + HeaderLineSIZE);
  if (HeaderLength(&length, version, former->its, BlockMagicSIZE + HeaderLineSIZE) != ResOK || length > RegionTextSIZE)
    return 0;
  memcpy(former->its, text, length);
  return HeaderRead(&former->header, lineReturn, former->its, length) == ResOK &&
         former->header.identity == region->identity ? length : 0;
}

/* formerWrite -- the closing header block; its length, 0: there is no room for it */
static Size formerWrite(Former former, RegionHeader region, const char *types, const char *limit)
{
  Header header = &former->header;
  TextStruct text;
  Index i;

  header->region[0] = '\0';
  header->open = 0;
  header->ended = TRUE;
  header->gone = region->ending;
  header->streams = former->streams;
  TextInit(&text, former->text, sizeof former->text);
  HeaderBegin(&text, header);
  for (i = 0; i < former->streams; ++i)
    HeaderStreamWrite(&text, &former->stream[i]);
  TextBytes(&text, types, (Size)(limit - types));
  return HeaderEnd(&text) == ResOK ? TextLength(&text) : 0;
}

/* formerStreams -- take the lines of that program's header block; in a log that was opened late what they tell of is not */
static void formerStreams(Former former, const char *line, const char *limit)
{
  HeaderStreamStruct stream;

  while (former->header.begun == 0 && HeaderStreamNext(&stream, &line, limit))
    formerStream(former, &stream);
}

Res FormerEnd(Former *former, RegionHeader region)
{
  const char *line, *limit;
  Size length;

  if (!formerMake(former, region))
    return ResFAIL;
  length = formerText(*former, &line, region);
  if (length > 0) {
    limit = (*former)->its + length;
    formerStreams(*former, line, limit);
    length = formerWrite(*former, region, HeaderTypes(line, limit), limit);
  }
  return length > 0 ? SendText((*former)->text, length) : ResFAIL;
}

void FormerFree(Former *former)
{
  if (*former != NULL)
    RawUnmap(*former, WordAlignUp(sizeof(FormerStruct), formerPage));
  *former = NULL;
}
