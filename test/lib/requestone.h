/* requestone.h -- random requests, and which events each must see
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The oracle goes through all events of the log, and knows nothing of passes, blocks and heaps.
 */
#ifndef TEST_REQUESTONE_H
#define TEST_REQUESTONE_H

#include "requestlog.h"

static struct {
  uint64_t requests, expected, hooks, runs, interrupted, stops, withdrawn, seeks, restores, costs, decoded, idle;
} tally;

typedef struct OneStruct {
  LogRequestStruct request;   /* first: so that a request is one of these */
  LogPositionStruct start, end;
  LogPositionStruct first;    /* where it starts indeed */
  PawHook hook[setHOOKS];
  uint32_t salt;              /* of its choice */
  Count places;               /* that it has hooks for */
  uint16_t expected[setEVENTS];
  Count expecteds, cursor;
  Index turn;                 /* how many of its hooks were called for the event at the cursor */
  Bool filed, begun, chunk, stopped, withdrawn;
  unsigned after;             /* in how many of its after-hooks we are */
  uint64_t order;             /* of filing */
  Count stack;
  uint64_t place[setPLACES];
} OneStruct, *One;

static OneStruct one[setREQUESTS];
static Count ones;

/* The set that is served. */
static struct {
  PawService service;
  uint64_t chunk, order, since; /* events since it was asked what is pending */
  uint64_t idle;              /* calls since a request was given an event, began or ended */
  unsigned pending, stop, enough, withdraw, file; /* how often: of 1000 */
  Index often;                /* the event whose time and place are chosen most: requests meet there */
  Count budget;               /* how many more may be filed */
  Bool running, interrupted;
  Bool ask;                   /* a hook has returned TRUE */
  Bool same;                  /* the event before has its turn yet: */
  LogPositionStruct event;
  int priority;               /* of the hook that was called last, */
  uint64_t byOrder;           /* and the order of its request */
} set;

static Bool often(unsigned thousandths)
{
  return below(1000) < thousandths;
}

static Bool oneChooses(One it, LogProcess process, EventType type)
{
  return ((type->code ^ it->salt) * 0x9e3779b1u + process->number * 0x85ebca6bu) >> 24 < 170;
}

static Bool oneChoose(void *data, LogProcess process, EventType type)
{
  return oneChooses(data, process, type);
}

/* oneAccepts -- what it may refuse besides, event by event */
static Bool oneAccepts(One it, uint64_t id)
{
  return ((id ^ it->salt) * 0x9e3779b97f4a7c15u) >> 56 < 150;
}

static Bool oneAccept(void *data, LogEvent event)
{
  return oneAccepts(data, LogEventWord(event, 1));
}

static Bool oneKind(One it, unsigned kind)
{
  return it->request.kinds >> kind & 1;
}

/* oneReads -- are blocks of a kind read for it? */
static Bool oneReads(One it, LogProcess process, unsigned kind)
{
  Index i;

  if (!oneKind(it, kind) || it->request.choose == NULL)
    return oneKind(it, kind);
  for (i = 0; i < process->registry->count; ++i)
    if (process->registry->types[i].kind == kind && oneChooses(it, process, &process->registry->types[i]))
      return TRUE;
  return FALSE;
}

static Bool oneWants(One it, const KnownStruct *k)
{
  LogRequest r = &it->request;

  return oneKind(it, k->type->kind) && (r->choose == NULL || oneChooses(it, k->process, k->type)) &&
         oneReads(it, k->process, k->kind);
}

static Bool oneWithin(One it, const KnownStruct *k)
{
  LogRequest r = &it->request;

  return k->time >= r->from && k->time < r->to &&
         (r->start == NULL || LogPositionCompare(&k->position, r->start) >= 0) &&
         (r->end == NULL || LogPositionCompare(&k->position, r->end) < 0);
}

/* oneHooks -- its hooks for a code in the order in which they are to be called; hook 0 is request.event */
static Count oneHooks(One it, uint16_t code, Index hooks[setHOOKS + 1])
{
  Count n = 0;
  Index i, j;

  if (it->request.event != NULL)
    hooks[n++] = 0;
  for (i = 0; i < it->request.hookCount; ++i) {
    int priority = it->hook[i].priority;
    if (it->hook[i].code != 0 && it->hook[i].code != code)
      continue;
    for (j = n; j > 0 && (hooks[j - 1] == 0 ? 0 : it->hook[hooks[j - 1] - 1].priority) > priority; --j)
      hooks[j] = hooks[j - 1];
    hooks[j] = i + 1;
    ++n;
  }
  return n;
}

/* oneExpect -- list what it must be given */
static void oneExpect(One it)
{
  Index hooks[setHOOKS + 1], i;
  uint64_t left = it->request.count;

  it->expecteds = it->cursor = it->turn = 0;
  for (i = 0; i < knowns && left > 0; ++i)
    if (oneWithin(it, &known[i]) && oneWants(it, &known[i]) &&
        (it->request.accept == NULL || oneAccepts(it, known[i].id))) {
      --left;
      if (oneHooks(it, known[i].code, hooks) > 0)
        it->expected[it->expecteds++] = (uint16_t)i;
    }
}

static uint64_t randomTime(void)
{
  switch (below(8)) {
  case 0: return 0;
  case 1: return UINT64_MAX;
  case 2: return known[0].time - below(10);
  case 3: return known[knowns - 1].time + below(10);
  case 4: return known[set.often % knowns].time;
  default: return known[below(knowns)].time + below(3) - 1;
  }
}

/* randomPosition -- before, between, at and behind events; also by way of its text */
static void randomPosition(LogPosition position)
{
  char text[PAW_POSITION_TEXT];

  *position = known[below(knowns)].position;
  switch (below(8)) {
  case 0: PawPositionOfTime(position, theLog, randomTime()); break;
  case 1: *position = (LogPositionStruct)LogPositionFIRST; break;
  case 2: *position = (LogPositionStruct)LogPositionLAST; break;
  case 3: position->process = below(4); break;
  case 4: position->fine += below(3) - 1; break;
  case 6:
    PawPositionOfTime(position, theLog, known[set.often % knowns].time);
    position->fine += below(3) - 1;
    break;
  case 5: ++position->at; break;
  default: break;
  }
  if (below(4) == 0) {
    PawPositionText(text, theLog, position);
    if (PawPositionRead(position, theLog, text) != ResOK)
      faulty("position %s cannot be read", text);
  }
}

static void randomBounds(One it)
{
  LogRequest r = &it->request;

  if (below(3) == 0)
    r->from = randomTime();
  if (below(3) == 0)
    r->to = randomTime();
  if (below(3) == 0) {
    randomPosition(&it->start);
    r->start = &it->start;
  }
  if (below(3) == 0) {
    randomPosition(&it->end);
    r->end = &it->end;
  }
  if (below(4) == 0)
    r->count = below(4) == 0 ? below(3) : below(knowns + 2);
}

#endif /* TEST_REQUESTONE_H */
