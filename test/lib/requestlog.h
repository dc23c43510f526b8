/* requestlog.h -- random logs, of which all events are known, for tests of requests
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Always true once a log is set: `known` has its events in order, as they were written, and reading it gave the same.
 * The first thing that is wrong goes to `fault`.
 */
#ifndef TEST_REQUESTLOG_H
#define TEST_REQUESTLOG_H

#include <stdarg.h>

#include "logmake.h"
#include "request/request.h"

enum { setEVENTS = 600, setREQUESTS = 90, setHOOKS = 4, setSTREAMS = 10, setPLACES = 32 };

static char path[256] = "/tmp/requesttestXXXXXX";
static char fault[256];
static uint64_t state; /* of the random numbers */

static uint64_t below(uint64_t n)
{
  return (TapRandom(&state) >> 16) % n;
}

static void seedBy(uint64_t seed)
{
  state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
  (void)below(2);
  (void)below(2);
}

__attribute__((format(printf, 1, 2))) static void faulty(const char *format, ...)
{
  va_list args;

  if (fault[0] != '\0')
    return;
  va_start(args, format);
  (void)vsnprintf(fault, sizeof fault, format, args);
  va_end(args);
}

/* An event as it was written, and as it was read. */
typedef struct KnownStruct {
  uint64_t ticks, id;
  LogPositionStruct position; /* as written, but for `fine` */
  uint16_t code;
  uint8_t kind; /* of its block */
  uint64_t time;
  LogProcess process;
  EventType type;
} KnownStruct;

static Log theLog;
static KnownStruct known[setEVENTS];
/* A block as it was written. */
typedef struct WrittenStruct {
  Index process;
  uint8_t kind;
  uint32_t stream;
  uint64_t sequence, first, last; /* fine */
} WrittenStruct;

static WrittenStruct written[setEVENTS + setSTREAMS];
static Count knowns, readKnowns, logStreams, logProcesses, writtens;
static uint64_t logBegin, logRate; /* ticks; and to a nanosecond */
static uint8_t streamKind[setSTREAMS];
static MakeBlockStruct setBlock[setSTREAMS];
static MakeProcess maker[3];

static const uint16_t codes[][2] = {{EventArenaReserveCODE, EventArenaCommitCODE},
                                    {EventSegAllocCODE, EventSegFreeCODE},
                                    {EventPoolAllocCODE, EventPoolFreeCODE}, {EventLabelCODE, EventUserWordCODE}};
static const uint8_t kindsMade[] = {EventKindArena, EventKindSeg, EventKindObject, EventKindUser};

static int knownCompare(const void *a, const void *b)
{
  const KnownStruct *x = a, *y = b;
  LogPositionStruct p = x->position, q = y->position;

  p.fine = x->ticks;
  q.fine = y->ticks;
  return LogPositionCompare(&p, &q);
}

static uint64_t logFine(uint64_t ticks)
{
  return (ticks - logBegin) * 16 / logRate;
}

static void logBlockEnd(Make make, MakeBlock block)
{
  BlockHeader header = &block->header;

  written[writtens++] = (WrittenStruct){block->process->header.pid - 10, header->kind, header->stream, header->sequence,
                                        logFine(header->first), logFine(header->last)};
  MakeBlockEnd(make, block, BlockFlagSEALED | (below(3) == 0 ? BlockFlagPACKED : 0));
}

/* logEvent -- one more event in a stream: often at the time of the last one, now and then behind it */
static void logEvent(Make make, Index stream, uint64_t *now)
{
  MakeBlock block = &setBlock[stream];
  KnownStruct *k = &known[knowns];
  Index which = 0;

  *now += below(2) * below(4);
  while (kindsMade[which] != block->header.kind)
    ++which;
  if (below(100) == 0)
    which = below(4); /* in a block of a kind that is not its own */
  if (block->header.count > below(40)) {
    logBlockEnd(make, block);
    MakeBlockNext(block, *now);
  }
  k->ticks = below(16) == 0 && *now >= block->header.first + 3 ? *now - 3 : *now;
  k->id = knowns++;
  k->code = codes[which][below(2)];
  k->kind = block->header.kind;
  k->position = (LogPositionStruct){0, (uint64_t)(block->process->header.pid - 10), block->header.stream,
                                    block->header.sequence, block->header.used};
  if (!MakeEvent(block, k->code, k->ticks, (uint64_t[]){1, k->id, 2, 3}, NULL))
    makeFail("an event does not fit");
}

static Bool logKnow(LogRequest request, LogEvent event)
{
  KnownStruct *k = &known[readKnowns];
  LogPositionStruct position;

  UNUSED(request);
  LogEventPosition(&position, event);
  k->position.fine = position.fine;
  if (readKnowns++ == knowns || LogPositionCompare(&position, &k->position) != 0 || event->type->code != k->code ||
      LogEventWord(event, 1) != k->id) {
    faulty("the log does not read as it was written");
    return TRUE;
  }
  k->time = event->time;
  k->process = event->process;
  k->type = event->type;
  return FALSE;
}

/* stuckEnd -- how the process ends where a service goes round for ever: nothing that a hook returns would stop it */
static void (*stuckEnd)(void);

/* logChunk -- a log is one chunk for its only request */
static void logChunk(LogRequest request)
{
  unsigned *chunks = request->data;

  if (++*chunks > 1000) {
    faulty("the service goes round, and serves nobody");
    stuckEnd();
  }
}

static void logMake(void)
{
  MakeStruct make = {0};
  uint64_t now = 1000 + below(100), rate = below(2) == 0 ? 1 : 4;
  Count events = 1 + below(below(4) == 0 ? setEVENTS - 1 : 120);
  Index i;

  logProcesses = 1 + below(3);
  logStreams = logProcesses + below(setSTREAMS - logProcesses + 1);
  knowns = readKnowns = 0;
  logBegin = now;
  logRate = rate;
  writtens = 0;
  for (i = 0; i < logProcesses; ++i) {
    maker[i] = MakeProcessNew((uint32_t)(10 + i), 0xabc0 + i);
    maker[i]->header.frequency = rate * 1000000000;
    MakeHeader(&make, maker[i]);
  }
  for (i = 0; i < logStreams; ++i) {
    streamKind[i] = kindsMade[below(4)];
    MakeBlockBegin(&setBlock[i], maker[i % logProcesses], (uint32_t)(100 + below(4)), streamKind[i], 0, now);
    setBlock[i].header.stream = (uint32_t)i;
  }
  for (i = 0; i < events; ++i)
    logEvent(&make, below(logStreams), &now);
  for (i = 0; i < logStreams; ++i)
    logBlockEnd(&make, &setBlock[i]);
  MakeWrite(&make, path);
  MakeFree(&make);
  for (i = 0; i < logProcesses; ++i)
    MakeProcessFree(maker[i]);
  qsort(known, knowns, sizeof known[0], knownCompare);
}

/* setLog -- open a random log, and learn what its events are; FALSE: it is not what was written */
static Bool setLog(const uint64_t *seed)
{
  LogHooksStruct hooks = {.data = NULL};
  LogRequestStruct request = LogRequestALL;
  const char *paths[1] = {path};
  unsigned chunks = 0;
  char error[256];
  Index i;

  seedBy(*seed * 7919);
  logMake();
  if (LogOpen(&theLog, paths, 1, &hooks, error, sizeof error) != ResOK) {
    faulty("%s", error);
    return FALSE;
  }
  request.data = &chunks;
  request.event = logKnow;
  request.beforeChunk = logChunk;
  if (LogRead(theLog, &request) != ResOK || readKnowns != knowns)
    faulty("the log does not read as it was written: %u events of %u", (unsigned)readKnowns, (unsigned)knowns);
  /* Fine time 0 is a whole nanosecond, and need not be where the first block begins. */
  for (i = 0; i < writtens; ++i) {
    written[i].first += known[0].position.fine - logFine(known[0].ticks);
    written[i].last += known[0].position.fine - logFine(known[0].ticks);
  }
  return fault[0] == '\0';
}

static void setLogEnd(void)
{
  LogClose(theLog);
  theLog = NULL;
}

#endif /* TEST_REQUESTLOG_H */
