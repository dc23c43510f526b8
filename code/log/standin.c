/* standin.c -- SPDX-License-Identifier: BSD-2-Clause */
#include "log/standin.h"
#include <stdlib.h>
#include <string.h>

static Bool standinEvent(LogRequest request, LogEvent event)
{
  Reading r = request->data;
  StandinEventStruct *e;
  Stream stream = TableStreamFind(&r->log->table, event->process->header.identity, event->stream);
  unsigned char *bytes;
  if ((r->events & (r->events + 1)) == 0 || r->events == 0)
    r->event = realloc(r->event, (r->events + 1) * 2 * sizeof *r->event);
  e = &r->event[r->events++];
  e->event = *event;
  bytes = malloc(event->length + 64u);
  memcpy(bytes, event->bytes, event->length);
  e->event.bytes = bytes;
  LogEventPosition(&e->position, event);
  for (e->block = 0; e->block < r->blockCount; ++e->block) {
    StandinBlockStruct *b = &r->block[e->block];
    if (b->process == (Process)event->process && b->stream == event->stream && b->sequence == event->sequence)
      break;
  }
  if (e->block == r->blockCount) {
    r->block = realloc(r->block, (r->blockCount + 1) * sizeof *r->block);
    r->block[r->blockCount++] = (StandinBlockStruct){.process = stream->process, .kind = stream->kind, .stream = event->stream,
      .sequence = event->sequence, .first = event->fine};
  }
  r->block[e->block].last = event->fine;
  ++r->block[e->block].events;
  return FALSE;
}

Res ReadingCreate(Reading *readingReturn, Log log, const ReadingClientStruct *client, const LogPositionStruct *position)
{
  Reading r = calloc(1, sizeof *r);
  LogRequestStruct request = LogRequestALL;
  Res res;
  r->log = log;
  r->client = client;
  r->position = *position;
  request.event = standinEvent;
  request.data = r;
  res = LogRead(log, &request);
  while (r->next < r->events && LogPositionCompare(&r->event[r->next].position, position) < 0)
    ++r->next;
  *readingReturn = r;
  return res;
}

void ReadingDestroy(Reading r)
{
  Index i;
  for (i = 0; i < r->events; ++i) free((void *)r->event[i].event.bytes);
  for (i = 0; i < r->blockCount; ++i) free(r->block[i].wanted);
  free(r->event);
  free(r->block);
  free(r);
}

static void standinLoad(Reading r, uint64_t fine)
{
  Index i;
  for (i = 0; i < r->blockCount; ++i) {
    StandinBlockStruct *b = &r->block[i];
    if (!b->met && b->first <= fine) {
      const unsigned char *w = b->last < r->position.fine ? NULL : r->client->wanted(r->client->data, b->process, b->kind, b->first, b->last);
      b->met = TRUE;
      if (w != NULL) {
        b->wanted = malloc(b->process->public.registry->count);
        memcpy(b->wanted, w, b->process->public.registry->count);
        ++r->blocks;
        r->decoded += b->events;
      }
    }
  }
}

Res ReadingRun(Reading r, LogRequest request, const LogPositionStruct *end, uint64_t count)
{
  for (;;) {
    StandinEventStruct *e = &r->event[r->next];
    StandinBlockStruct *b;
    if (r->next == r->events) { r->position = *end; return ResEND; }
    if (LogPositionCompare(&e->position, end) >= 0) { r->position = *end; return ResOK; }
    standinLoad(r, e->position.fine);
    b = &r->block[e->block];
    if (b->wanted == NULL || !b->wanted[e->event.type - b->process->public.registry->types]) { ++r->next; continue; }
    if (count == 0) return ResOK;
    --count;
    ++r->next;
    r->position = e->position;
    ++r->position.at;
    ++r->delivered;
    { Bool stop = request->event(request, &e->event);
      if (stop || request->stop || r->halt) return ResOK; }
  }
}
