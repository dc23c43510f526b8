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
  if (capacity > DrainStreamsMAX)
    return ResLIMIT;
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

Res DrainStreamGet(Index *numberReturn, DrainStreams streams, uint32_t id)
{
  Index at;
  Res res;

  if (streams->count > 0) {
    at = streamsPlace(streams, id);
    if (streams->place[at] != 0) {
      *numberReturn = streams->place[at] - 1;
      return ResOK;
    }
  }
  res = streamsGrow(streams);
  if (res != ResOK)
    return res;
  streams->stream[streams->count] = (DrainStreamStruct){.id = id};
  *numberReturn = streams->count++;
  streams->place[streamsPlace(streams, id)] = (uint32_t)streams->count;
  return ResOK;
}

void DrainStreamsFree(DrainStreams streams)
{
  free(streams->stream);
  free(streams->place);
  memset(streams, 0, sizeof *streams);
}
