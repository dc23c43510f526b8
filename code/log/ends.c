/* ends.c -- what should be there of a process's streams, as its closing header blocks say
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/ends.h"

#include <stdlib.h>

enum { endsMIN = 16 };

static int endsCompare(const void *a, const void *b)
{
  const HeaderStreamStruct *x = a, *y = b;

  return x->stream != y->stream ? (x->stream < y->stream ? -1 : 1) : 0;
}

/* endsJoin -- two lines of one stream.  A number of events that somebody counted belongs to its number of blocks. */
static void endsJoin(HeaderStream to, const HeaderStreamStruct *from)
{
  if (from->blocks > to->blocks || (from->blocks == to->blocks && to->events == HeaderEventsUNKNOWN)) {
    to->blocks = from->blocks;
    to->events = from->events;
  } else if (from->blocks == to->blocks && from->events != HeaderEventsUNKNOWN && from->events > to->events) {
    to->events = from->events;
  }
  if (from->discarded > to->discarded)
    to->discarded = from->discarded;
}

void EndsSettle(Ends ends)
{
  Index i;
  Count kept = 0;

  if (ends->count > 0)
    qsort(ends->stream, ends->count, sizeof *ends->stream, endsCompare);
  for (i = 0; i < ends->count; ++i) {
    if (kept > 0 && ends->stream[kept - 1].stream == ends->stream[i].stream)
      endsJoin(&ends->stream[kept - 1], &ends->stream[i]);
    else
      ends->stream[kept++] = ends->stream[i];
  }
  ends->count = kept;
}

Res EndsAdd(Ends ends, const HeaderStreamStruct *stream)
{
  if (ends->count == ends->capacity) {
    EndsSettle(ends);
    if (ends->count * 2 >= ends->capacity) {
      Count capacity = ends->capacity > 0 ? ends->capacity * 2 : endsMIN;
      HeaderStream more = realloc(ends->stream, capacity * sizeof *more);
      if (more == NULL)
        return ResMEMORY;
      ends->stream = more;
      ends->capacity = capacity;
    }
  }
  ends->stream[ends->count++] = *stream;
  return ResOK;
}

void EndsFree(Ends ends)
{
  free(ends->stream);
}
