/* requestset.h -- random sets of requests that are served, each call of theirs watched
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * When a request is filed the oracle (requestone.h) lists what it must see; every hook checks that it is called with
 * the next of these, in turn, and in a state in which it may be called.
 */
#ifndef TEST_REQUESTSET_H
#define TEST_REQUESTSET_H

#include "request/traceset.h"
#include "requestone.h"

/* ---- What is called ---- */

static void oneRandom(One it);

/* act -- what a hook may do besides: file, withdraw */
static void act(void)
{
  One it = &one[below(ones)];

  if (often(set.file) && set.budget > 0 && !it->filed && it->after == 0) {
    --set.budget;
    oneRandom(it);
    if (PawServiceFile(set.service, &it->request) != ResOK)
      faulty("a request cannot be filed");
  } else if (often(set.file / 4) && it->filed && it->after == 0) {
    if (PawServiceFile(set.service, &it->request) != ResPARAM)
      faulty("a request was filed twice");
  }
  it = &one[below(ones)];
  if (often(set.withdraw)) {
    Bool was = it->filed, begun = it->begun, already = it->withdrawn;
    uint64_t order = it->order;
    it->withdrawn = TRUE;
    if (!PawServiceWithdraw(set.service, &it->request)) {
      it->withdrawn = already;
      if (was && it->after == 0)
        faulty("a request cannot be withdrawn");
    } else {
      ++tally.withdrawn;
      if (!was)
        faulty("what is not filed was withdrawn");
      if (begun && it->filed && it->order == order)
        faulty("no after-hooks came before withdrawing returned");
      if (!begun)
        it->filed = FALSE;
    }
  }
}

/* maybeStop -- set `stop`, if it is allowed to happen now */
static void maybeStop(One it, uint64_t order)
{
  if (it->order == order && often(set.stop) && !it->stopped && !it->withdrawn && it->filed) {
    it->request.stop = it->stopped = TRUE;
    ++tally.stops;
  }
}

/* progress -- the service came by; how often may it do that without giving anything to anybody? */
static void progress(Bool gives)
{
  enum { idleMAX = 100000 };

  set.idle = gives ? 0 : set.idle + 1;
  if (set.idle > tally.idle)
    tally.idle = set.idle;
  if (set.idle > idleMAX) {
    faulty("the service goes round, and serves nobody");
    stuckEnd();
  }
}

static void mayBeCalled(One it, const char *what)
{
  if (!it->filed || it->withdrawn || it->stopped)
    faulty("%s is called of a request that is %s", what,
           !it->filed ? "not filed" : it->withdrawn ? "withdrawn" : "stopped");
  if (set.interrupted && it->after == 0)
    faulty("%s is called behind an interruption", what);
}

static void before(LogRequest request)
{
  One it = (One)request;
  uint64_t order = it->order;
  Index i;

  mayBeCalled(it, "before");
  if (it->begun)
    faulty("before is called twice");
  it->begun = TRUE;
  progress(TRUE);
  for (i = 0; i < ones && one[i].chunk == FALSE; ++i) {}
  if (i == ones) /* nobody is served: it was chosen */
    for (i = 0; i < ones; ++i) {
      LogRequest other = &one[i].request;
      if (one[i].filed && !one[i].begun &&
          (other->high > request->high ||
           (other->high == request->high && LogPositionCompare(&one[i].first, &it->first) < 0)))
        faulty("a request is served before one that goes first");
    }
  act();
  maybeStop(it, order);
}

static void push(One it, uint64_t place)
{
  uint64_t order = it->order;

  if (it->stack == setPLACES)
    faulty("too many before-hooks");
  else
    it->place[it->stack++] = place;
  act();
  maybeStop(it, order);
}

static void beforeProcess(LogRequest request, LogProcess process)
{
  One it = (One)request;

  mayBeCalled(it, "beforeProcess");
  if (!it->begun || (it->stack > 0 && it->place[it->stack - 1] >> 32 >= process->number + 1))
    faulty("beforeProcess is called out of order");
  push(it, (uint64_t)(process->number + 1) << 32);
}

static void beforeStream(LogRequest request, const PawStream *stream)
{
  One it = (One)request;
  Index i;

  mayBeCalled(it, "beforeStream");
  if (!oneKind(it, stream->kind) || stream->stream >= logStreams || stream->kind != streamKind[stream->stream])
    faulty("beforeStream is called of a wrong stream");
  for (i = 0; i < it->stack; ++i)
    if (it->place[i] == ((uint64_t)(stream->process->number + 1) << 32 | (stream->stream + 1)))
      faulty("beforeStream is called twice");
  if (request->beforeProcess != NULL && it->place[it->stack - 1] >> 32 != stream->process->number + 1)
    faulty("beforeStream is not called within its trace");
  push(it, (uint64_t)(stream->process->number + 1) << 32 | (stream->stream + 1));
}

static void pop(One it, uint64_t place)
{
  ++it->after;
  if (it->chunk || it->stack == 0 || it->place[--it->stack] != place)
    faulty("after-hooks do not come in reverse");
  act();
  --it->after;
}

static void afterProcess(LogRequest request, LogProcess process)
{
  pop((One)request, (uint64_t)(process->number + 1) << 32);
}

static void afterStream(LogRequest request, const PawStream *stream)
{
  pop((One)request, (uint64_t)(stream->process->number + 1) << 32 | (stream->stream + 1));
}

static void beforeChunk(LogRequest request)
{
  One it = (One)request;
  uint64_t order = it->order;

  mayBeCalled(it, "beforeChunk");
  if (!it->begun || it->chunk)
    faulty("beforeChunk is called twice");
  if (request->beforeProcess != NULL && it->stack != it->places)
    faulty("%u before-hooks were called instead of %u", (unsigned)it->stack, (unsigned)it->places);
  it->chunk = TRUE;
  progress(FALSE);
  set.same = FALSE;
  act();
  maybeStop(it, order);
}

static void afterChunk(LogRequest request)
{
  One it = (One)request;

  ++it->after;
  if (!it->chunk)
    faulty("afterChunk is called without beforeChunk");
  it->chunk = FALSE;
  act();
  --it->after;
}

static void after(LogRequest request)
{
  One it = (One)request;

  if (!it->begun || !it->filed || it->chunk || it->stack != 0)
    faulty("after is called out of order");
  if (!it->withdrawn && !it->stopped && it->cursor != it->expecteds)
    faulty("request %u ends with %u of %u events", (unsigned)(it - one), (unsigned)it->cursor, (unsigned)it->expecteds);
  it->filed = it->begun = FALSE;
  progress(TRUE);
  act(); /* may file it again */
}

/* newEvent -- the first hook for an event: is it time for it? */
static void newEvent(const LogPositionStruct *position)
{
  Bool waits = FALSE, served = FALSE;
  Index i;

  set.same = TRUE;
  set.event = *position;
  if (set.ask)
    faulty("a hook returned TRUE, and nobody asked what is pending");
  if (++set.since > set.chunk)
    faulty("a chunk is too long");
  for (i = 0; i < ones; ++i)
    if (one[i].filed && one[i].request.high) {
      waits |= !one[i].chunk;
      served |= one[i].chunk;
    }
  if (waits && !served)
    faulty("low priority is served while high priority waits");
}

/* inTurn -- are hooks for one event called by priority, then in the order of filing? */
static void inTurn(One it, int priority, LogEvent event)
{
  LogPositionStruct position;

  LogEventPosition(&position, event);
  if (!set.same || LogPositionCompare(&position, &set.event) != 0)
    newEvent(&position);
  else if (priority < set.priority || (priority == set.priority && it->order < set.byOrder))
    faulty("hooks are not called by priority and order");
  set.priority = priority;
  set.byOrder = it->order;
}

static Bool eventHook(LogRequest request, LogEvent event, Index which)
{
  One it = (One)request;
  Index hooks[setHOOKS + 1];
  Count n;
  const KnownStruct *k;
  LogPositionStruct position;

  ++tally.hooks;
  progress(TRUE);
  mayBeCalled(it, "an event hook");
  inTurn(it, which == 0 ? 0 : it->hook[which - 1].priority, event);
  if (!it->chunk || it->cursor == it->expecteds)
    faulty("request %u is given an event %s", (unsigned)(it - one), it->chunk ? "too many" : "outside a chunk");
  if (fault[0] != '\0')
    return TRUE;
  k = &known[it->expected[it->cursor]];
  LogEventPosition(&position, event);
  n = oneHooks(it, k->code, hooks);
  if (LogPositionCompare(&position, &k->position) != 0 || LogEventWord(event, 1) != k->id || event->time != k->time)
    faulty("request %u is given event %u, not %u", (unsigned)(it - one), (unsigned)LogEventWord(event, 1),
           (unsigned)k->id);
  else if (it->turn >= n || hooks[it->turn] != which)
    faulty("request %u: hook %u is called out of turn", (unsigned)(it - one), (unsigned)which);
  if (++it->turn == n) {
    ++it->cursor;
    it->turn = 0;
  }
  maybeStop(it, it->order);
  act();
  if (often(set.enough)) {
    set.ask = TRUE;
    return TRUE;
  }
  return FALSE;
}

#define HOOK(n) \
  static Bool event##n(LogRequest request, LogEvent event) \
  { \
    return eventHook(request, event, n); \
  }
HOOK(0) HOOK(1) HOOK(2) HOOK(3) HOOK(4)

static const PawEventHook hookOf[setHOOKS + 1] = {event0, event1, event2, event3, event4};

/* oneRandom -- make it a random request, about to be filed */
static void oneRandom(One it)
{
  LogRequest r = &it->request;
  Index i;

  *r = (LogRequestStruct)LogRequestALL;
  r->data = it;
  randomBounds(it);
  it->salt = (uint32_t)below(1 << 20);
  if (below(3) == 0)
    r->choose = oneChoose;
  if (below(4) == 0) {
    r->accept = oneAccept;
    r->acceptData = it;
  }
  if (below(3) == 0) {
    r->chooseData = it;
    r->data = &tally;
  }
  if (below(3) == 0)
    r->kinds = (uint32_t)below(256);
  r->high = below(3) == 0;
  r->hookCount = below(2) == 0 ? 0 : below(setHOOKS + 1);
  r->event = r->hookCount == 0 || below(2) == 0 ? event0 : NULL;
  for (i = 0; i < r->hookCount; ++i)
    it->hook[i] = (PawHook){hookOf[i + 1], (int)below(4) - 1, below(2) == 0 ? 0 : known[below(knowns)].code};
  r->hooks = it->hook;
  r->before = before;
  r->beforeChunk = beforeChunk;
  r->afterChunk = afterChunk;
  r->after = after;
  it->places = 0;
  if (below(2) == 0) {
    r->beforeProcess = beforeProcess;
    r->beforeStream = beforeStream;
    r->afterStream = afterStream;
    r->afterProcess = afterProcess;
    it->places = logProcesses;
    for (i = 0; i < logStreams; ++i)
      it->places += oneKind(it, streamKind[i]);
  }
  PawPositionOfTime(&it->first, theLog, r->from);
  if (r->start != NULL && LogPositionCompare(r->start, &it->first) > 0)
    it->first = *r->start;
  oneExpect(it);
  it->filed = TRUE;
  it->begun = it->chunk = it->stopped = it->withdrawn = FALSE;
  it->stack = 0;
  it->order = ++set.order;
  ++tally.requests;
  tally.expected += it->expecteds;
}

static Bool setPending(void *data)
{
  if (data != &set)
    faulty("pending is not given its data");
  progress(FALSE);
  set.ask = set.same = FALSE;
  set.since = 0;
  set.interrupted = often(set.pending);
  tally.interrupted += set.interrupted;
  return set.interrupted;
}

/* setServed -- a run has returned: what must hold then? */
static void setServed(Res res)
{
  Bool filed = FALSE;
  Index i;

  for (i = 0; i < ones; ++i) {
    filed |= one[i].filed;
    if (one[i].chunk)
      faulty("a request is still served though the run has returned");
  }
  if (res != ResOK && res != ResLIMIT)
    faulty("a run failed");
  if ((res == ResLIMIT) != filed || (res == ResLIMIT && !set.interrupted))
    faulty("a run returned %s though requests %s", ResName(res), filed ? "are filed" : "have ended");
  set.interrupted = set.same = FALSE;
}

static void setRates(void)
{
  Bool calm = below(3) == 0;

  set.pending = below(3) == 0 ? 0 : (unsigned)below(600);
  set.stop = calm ? 0 : (unsigned)below(20);
  set.enough = calm ? 0 : (unsigned)below(100);
  set.withdraw = calm ? 0 : (unsigned)below(10);
  set.file = calm ? 0 : (unsigned)below(50);
}

/* setRun -- file a random set of requests, and have it served to its end, or nearly */
static void setRun(uint64_t seed)
{
  LogCostsStruct counts;
  uint64_t chunk;
  Count now;
  Index i;
  Res res = ResLIMIT;

  seedBy(seed * 104729);
  memset(&set, 0, sizeof set);
  memset(&theLog->costs, 0, sizeof theLog->costs);
  set.often = below(knowns);
  set.budget = 20;
  setRates();
  ones = below(64) == 0 ? setREQUESTS : 1 + below(below(2) == 0 ? 3 : 10);
  for (i = 0; i < ones; ++i)
    one[i].filed = one[i].chunk = one[i].begun = FALSE;
  chunk = below(4) == 0 ? 0 : 1 + below(below(2) == 0 ? 5 : 100);
  set.chunk = chunk != 0 ? chunk : ServiceChunkDEFAULT;
  if (PawServiceCreate(&set.service, theLog, chunk) != ResOK)
    faulty("no service");
  now = ones - below(ones) / 4;
  for (i = 0; i < now && fault[0] == '\0'; ++i) {
    oneRandom(&one[i]);
    if (PawServiceFile(set.service, &one[i].request) != ResOK)
      faulty("a request cannot be filed");
  }
  while (res == ResLIMIT && fault[0] == '\0' && below(50) != 0) {
    ++tally.runs;
    set.since = 0;
    set.ask = FALSE;
    res = PawServiceRun(set.service, setPending, &set);
    if (fault[0] == '\0')
      setServed(res);
    act();
  }
  counts = theLog->costs;
  tally.seeks += counts.seeks;
  tally.restores += counts.restores;
  for (i = 0; i < ones; ++i)
    one[i].withdrawn = TRUE;
  set.file = set.withdraw = set.stop = 0;
  if (fault[0] == '\0')
    PawServiceDestroy(set.service);
  for (i = 0; i < ones; ++i)
    if (one[i].begun && fault[0] == '\0')
      faulty("a service was destroyed, and a request has not been told");
}

/* ---- What it costs ---- */

static Bool costEvent(LogRequest request, LogEvent event)
{
  UNUSED(request);
  UNUSED(event);
  progress(TRUE);
  return FALSE;
}

static void costChunk(LogRequest request)
{
  UNUSED(request);
  progress(FALSE);
}

/* costEnd -- where it ends indeed */
static void costEnd(LogPosition endReturn, One it)
{
  PawPositionOfTime(endReturn, theLog, it->request.to);
  if (it->request.end != NULL && LogPositionCompare(it->request.end, endReturn) < 0)
    *endReturn = *it->request.end;
}

/* costWants -- does anybody want something of a block, or `k` out of it? */
static Bool costWants(const WrittenStruct *block, const KnownStruct *k)
{
  Index i;

  for (i = 0; i < ones; ++i) {
    LogPositionStruct end;
    costEnd(&end, &one[i]);
    if (LogPositionCompare(&one[i].first, &end) < 0 && one[i].first.fine <= block->last &&
        LogPositionCompare(&end, &(LogPositionStruct){.fine = block->first}) > 0 &&
        oneReads(&one[i], LogProcessAt(theLog, block->process), block->kind) && (k == NULL || oneWants(&one[i], k)))
      return TRUE;
  }
  return FALSE;
}

/* costOf -- which blocks one pass for all has to load, and which events to list */
static void costOf(uint64_t *blocksReturn, uint64_t *decodedReturn)
{
  uint64_t first = UINT64_MAX;
  Index b, i;

  *blocksReturn = *decodedReturn = 0;
  for (i = 0; i < ones; ++i) {
    LogPositionStruct end;
    costEnd(&end, &one[i]);
    if (LogPositionCompare(&one[i].first, &end) < 0 && one[i].first.fine < first)
      first = one[i].first.fine;
  }
  for (b = 0; b < writtens; ++b) {
    if (!costWants(&written[b], NULL))
      continue;
    ++*blocksReturn;
    for (i = 0; i < knowns; ++i)
      if (known[i].position.stream == written[b].stream && known[i].position.sequence == written[b].sequence &&
          known[i].position.fine >= first)
        *decodedReturn += costWants(&written[b], &known[i]);
  }
}

/* setCost -- requests of one priority, filed up front: one pass, which loads each block once, and only those that
 * somebody wants; also where it is interrupted after every chunk */
static void setCost(uint64_t seed)
{
  LogCostsStruct counts;
  uint64_t blocks, decoded, chunk;
  PawService service;
  Index i;

  seedBy(seed * 15485863);
  memset(&set, 0, sizeof set);
  memset(&theLog->costs, 0, sizeof theLog->costs);
  set.often = below(knowns);
  chunk = below(2) == 0 ? 0 : 1 + below(50);
  set.pending = chunk == 0 ? 0 : 1000;
  set.chunk = ServiceChunkDEFAULT;
  ones = 1 + below(10);
  if (PawServiceCreate(&service, theLog, chunk) != ResOK)
    faulty("no service");
  for (i = 0; i < ones; ++i) {
    LogRequest r = &one[i].request;
    oneRandom(&one[i]);
    r->count = UINT64_MAX;
    r->high = FALSE;
    r->event = costEvent;
    r->hookCount = 0;
    r->before = r->afterChunk = r->after = NULL;
    r->beforeChunk = costChunk;
    r->beforeProcess = r->afterProcess = NULL;
    r->beforeStream = r->afterStream = NULL;
    if (PawServiceFile(service, r) != ResOK)
      faulty("a request cannot be filed");
  }
  while (PawServiceRun(service, setPending, &set) == ResLIMIT) {}
  counts = theLog->costs;
  PawServiceDestroy(service);
  costOf(&blocks, &decoded);
  if (counts.blocks != blocks || counts.decoded != decoded || counts.seeks > 1)
    faulty("%u seeks, %u blocks instead of %u, %u events instead of %u", (unsigned)counts.seeks,
           (unsigned)counts.blocks, (unsigned)blocks, (unsigned)counts.decoded, (unsigned)decoded);
  ++tally.costs;
  tally.decoded += decoded;
}

#endif /* TEST_REQUESTSET_H */
