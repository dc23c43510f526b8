/* newest.c -- the newest events of each kind in a log that has only the last blocks of each stream
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "request/newest.h"

#include <stdlib.h>

#include "base/grow.h"
#include "request/stringtable.h"

/* A thread and kind. */
typedef struct NewestPairStruct {
  uint64_t process, streams; /* without the bit that tells the two streams apart */
} NewestPairStruct;

typedef struct NewestSinceStruct {
  Bool seen[2];  /* an event of the stream */
  uint64_t time; /* ns, from when on both are whole */
} NewestSinceStruct, *NewestSince;

typedef struct NewestStruct {
  Count processes, newest;
  uint64_t addr;
  uint64_t (*left)[EventKindMAX]; /* events of a process and kind that are not passed yet; owned */
  StringsStruct pairs;            /* a NewestPairStruct for each two streams of a thread and kind */
  Count capacity, count;          /* places in `since`, and how many are used */
  NewestSince since;              /* of each pair, by its number less one; owned */
  LogRequestStruct chosen;        /* the caller's hook */
} NewestStruct, *Newest;

/* newestSince -- what is known of the thread and kind of an event; NULL: no memory */
static NewestSince newestSince(Newest newest, LogEvent event)
{
  NewestPairStruct pair = {event->process->number, event->stream / 2};
  uint32_t number;

  /* Room first: each number has its place, whatever fails. */
  if (!Grow(&newest->since, &newest->capacity, newest->count, sizeof *newest->since))
    return NULL;
  number = StringsAdd(&newest->pairs, (const char *)&pair, sizeof pair);
  if (number == 0)
    return NULL;
  if (number > newest->count)
    newest->since[newest->count++] = (NewestSinceStruct){.time = 0};
  return &newest->since[number - 1];
}

/* newestWhole -- first pass: a stream whose oldest block is not its first one is whole from that block on */
static Bool newestWhole(LogRequest request, LogEvent event)
{
  NewestSince since = newestSince(request->data, event);

  if (since == NULL)
    return TRUE;
  if (!since->seen[event->stream % 2] && event->sequence > 0 && event->time > since->time)
    since->time = event->time;
  since->seen[event->stream % 2] = TRUE;
  return FALSE;
}

/* newestWanted -- is this an event of a process that is looked at, and of the address that is asked for? */
static Bool newestWanted(Newest newest, LogEvent event)
{
  NewestSince since = event->process->number < newest->processes ? newestSince(newest, event) : NULL;
  EventType type = event->type;
  Index i;

  if (since == NULL || event->time < since->time)
    return FALSE;
  for (i = 0; i < type->params && newest->addr != 0; ++i)
    if ((type->letter[i] == 'A' || type->letter[i] == 'P') && LogEventWord(event, i) == newest->addr)
      return TRUE;
  return newest->addr == 0;
}

/* newestCount -- second pass */
static Bool newestCount(LogRequest request, LogEvent event)
{
  Newest newest = request->data;

  if (newestWanted(newest, event))
    ++newest->left[event->process->number][event->type->kind];
  return FALSE;
}

/* newestPass -- third pass */
static Bool newestPass(LogRequest request, LogEvent event)
{
  Newest newest = request->data;

  return newestWanted(newest, event) &&
         newest->left[event->process->number][event->type->kind]-- <= newest->newest &&
         newest->chosen.event(&newest->chosen, event);
}

Res NewestRead(Log log, Count processes, Count newest, uint64_t addr, PawEventHook hook, void *data)
{
  static const PawEventHook pass[] = {newestWhole, newestCount, newestPass};
  NewestStruct all = {.processes = processes, .newest = newest, .addr = addr, .chosen = {.event = hook, .data = data}};
  LogRequestStruct request = LogRequestALL;
  Res res = ResOK;
  Index i;

  all.left = calloc(processes + 1, sizeof *all.left);
  if (all.left == NULL)
    return ResMEMORY;
  request.data = &all;
  for (i = 0; i < ARRAY_LENGTH(pass) && res == ResOK; ++i) {
    request.event = pass[i];
    res = LogRead(log, &request);
  }
  StringsFinish(&all.pairs);
  free(all.since);
  free(all.left);
  return res;
}
