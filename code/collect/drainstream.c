/* drainstream.c -- the streams of a process that is drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/drainstream.h"

#include <stdlib.h>
#include <string.h>

enum { drainStreamsMIN = 16 };

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
  Count capacity = streams->capacity == 0 ? drainStreamsMIN : streams->capacity * 2;
  DrainStream stream;
  uint32_t *place;
  Index i;

  if (streams->count < streams->capacity)
    return ResOK;
  stream = realloc(streams->stream, capacity * sizeof *stream);
  if (stream == NULL)
    return ResMEMORY;
  streams->stream = stream;
  place = calloc(capacity * 4, sizeof *place);
  if (place == NULL)
    return ResMEMORY;
  free(streams->place);
  streams->place = place;
  streams->places = capacity * 4;
  streams->capacity = capacity;
  for (i = 0; i < streams->count; ++i)
    place[streamsPlace(streams, stream[i].id)] = (uint32_t)i + 1;
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
