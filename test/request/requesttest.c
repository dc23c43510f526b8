/* requesttest.c -- each request sees exactly its events, once, in order, whatever else is filed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random sets of requests over random logs, whose hooks file, withdraw, stop and end chunks at random, are served with
 * interruptions at random.  A brute-force oracle, the list of all events in order, says what each must see.
 * test/request/requestmutants.t gives services with one mistake each the same sets: each of these must be found out.
 */
#include <stdlib.h>
#include <unistd.h>

#include "requestset.h"

/* ---- Positions ---- */

/* stepOnce -- as PawPositionStep should, by hand: the position `n` events of a choice away */
static uint64_t stepOnce(LogPosition positionReturn, One it, const LogPositionStruct *from, int64_t n)
{
  uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n, had = 0;
  Index i;

  *positionReturn = *from;
  for (i = 0; i < knowns && had < left; ++i) {
    const KnownStruct *k = &known[n < 0 ? knowns - 1 - i : i];
    if ((LogPositionCompare(&k->position, from) < 0) == (n < 0) && oneWants(it, k) &&
        (it->request.accept == NULL || oneAccepts(it, k->id))) {
      ++had;
      *positionReturn = k->position;
      positionReturn->at += n > 0;
    }
  }
  return had;
}

static void testSteps(uint64_t seed)
{
  Index round, i, wrong = 0, steps = 0;

  for (round = 0; round < 20; ++round) {
    uint64_t logSeed = seed + round;
    ones = 1;
    for (i = 0; i < 50 && (i > 0 || setLog(&logSeed)); ++i, ++steps) {
      LogPositionStruct from, got, expected;
      uint64_t n = 0, had;
      int64_t by;
      Res res;
      oneRandom(&one[0]);
      randomPosition(&from);
      by = (int64_t)below(knowns + 3) - (int64_t)(knowns / 2);
      had = stepOnce(&expected, &one[0], &from, by);
      got = from;
      res = PawPositionStep(&got, &n, theLog, &one[0].request, by);
      if (res != ResOK || n != had || LogPositionCompare(&got, &expected) != 0) {
        ++wrong;
        printf("# log %u, step %u: %lld steps gave %llu instead of %llu\n", (unsigned)round, (unsigned)i, (long long)by,
               (unsigned long long)n, (unsigned long long)had);
      }
    }
    setLogEnd();
  }
  TapOk(wrong == 0 && steps == 1000 && fault[0] == '\0', "1000 steps forwards and backwards end where they should");
}

static void testTexts(uint64_t seed)
{
  static const char *const bad[] = {"", "x", "1", "1.", ".1", "1.16", "1.1/", "1.1/abc0", "1.1/abc0/1/2",
                                    "1.1/abc0/1/2/", "1.1/abc0/1/2/3/4", "1.1/abc0/1/2/3 ",
                                    "99999999999999999999.1", "-1.0",
                                    "1.0/ABC0/0/0/0"};
  LogPositionStruct position, back;
  char text[PAW_POSITION_TEXT];
  Index i, wrong = 0;

  (void)setLog(&seed);
  for (i = 0; i < knowns; ++i) {
    PawPositionText(text, theLog, &known[i].position);
    wrong += PawPositionRead(&back, theLog, text) != ResOK || LogPositionCompare(&back, &known[i].position) != 0;
  }
  TapIs(wrong, 0, "the position of each event is the same after it was text");
  for (i = wrong = 0; i < ARRAY_LENGTH(bad); ++i)
    if (PawPositionRead(&position, theLog, bad[i]) != ResFORMAT) {
      printf("# it is taken for a position: %s\n", bad[i]);
      ++wrong;
    }
  TapIs(wrong, 0, "what is no position is refused");
  TapOk(PawPositionRead(&position, theLog, "1.0/dead/1/2/3") == ResFAIL, "and so is one of a process that is not here");
  position = (LogPositionStruct)LogPositionLAST;
  --position.fine;
  PawPositionText(text, theLog, &position);
  TapOk(strlen(text) < sizeof text && PawPositionRead(&back, theLog, text) == ResOK && back.fine >= position.fine,
        "the last position but one is text, too");
  TapOk(PawPositionRead(&back, theLog, "1.0") == ResOK &&
          LogPositionCompare(&back, &(LogPositionStruct)LogPositionFIRST) == 0,
        "a time before the traceset is its beginning");
  setLogEnd();
}

/* ---- Damage ---- */

typedef struct HurtStruct {
  uint64_t events, gaps, lost, ends;
} HurtStruct;

static Bool hurtEvent(LogRequest request, LogEvent event)
{
  UNUSED(event);
  ++((HurtStruct *)request->data)->events;
  return FALSE;
}

static void hurtGap(LogRequest request, LogGap gap)
{
  HurtStruct *hurt = request->data;

  ++hurt->gaps;
  hurt->lost += gap->lost;
}

static void hurtEnd(LogRequest request)
{
  ++((HurtStruct *)request->data)->ends;
}

/* testHurt -- the second of three blocks is damaged */
static void testHurt(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(10, 1);
  LogHooksStruct hooks = {.data = NULL};
  LogRequestStruct request[2] = {LogRequestALL, LogRequestALL};
  HurtStruct hurt[2];
  const char *paths[1] = {path};
  PawService service;
  char error[256];
  Index i;
  Res res;

  MakeHeader(&make, process);
  MakeBlockBegin(&setBlock[0], process, 11, EventKindObject, 0, 1000);
  for (i = 0; i < 30; ++i) {
    (void)MakeEvent(&setBlock[0], EventPoolFreeCODE, 1000 + 10 * i, (uint64_t[]){1, i}, NULL);
    if (i % 10 == 9) {
      MakeBlockEnd(&make, &setBlock[0], BlockFlagSEALED);
      MakeBlockNext(&setBlock[0], 1005 + 10 * i);
    }
    if (i == 19)
      make.bytes[make.size - 5] ^= 1;
  }
  MakeWrite(&make, path);
  memset(hurt, 0, sizeof hurt);
  if (LogOpen(&theLog, paths, 1, &hooks, error, sizeof error) != ResOK ||
      PawServiceCreate(&service, theLog, 0) != ResOK) {
    TapOk(FALSE, "a damaged log opens");
    return;
  }
  for (i = 0; i < 2; ++i) {
    request[i].data = &hurt[i];
    request[i].event = hurtEvent;
    request[i].gap = hurtGap;
    request[i].after = hurtEnd;
    (void)PawServiceFile(service, &request[i]);
  }
  PawPositionOfTime(&known[0].position, theLog, 86400 * (uint64_t)1000000000 + 1050);
  request[1].end = &known[0].position;
  (void)PawServiceWithdraw(service, &request[1]);
  (void)PawServiceFile(service, &request[1]);
  res = PawServiceRun(service, NULL, NULL);
  TapOk(res == ResOK && hurt[0].events == 20 && hurt[0].ends == 1, "a request goes on behind a damaged block");
  TapOk(hurt[0].gaps == 1 && hurt[0].lost == 10, "and was told of it, once");
  TapOk(hurt[1].events == 5 && hurt[1].gaps == 0 && hurt[1].ends == 1, "one that had ended before was not");
  PawServiceDestroy(service);
  setLogEnd();
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- Enough ---- */

static Bool enoughEvent(LogRequest request, LogEvent event)
{
  uint64_t *left = request->data;

  UNUSED(event);
  return --*left == 0;
}

/* aRow -- one thread's events, ten ticks apart, `each` to a block; event `i` has the number i */
static void aRow(Make make, MakeProcess process, Count events, Count each)
{
  Index i;

  MakeHeader(make, process);
  MakeBlockBegin(&setBlock[0], process, 11, EventKindObject, 0, 1000);
  for (i = 0; i < events; ++i) {
    if (i > 0 && i % each == 0) {
      MakeBlockEnd(make, &setBlock[0], BlockFlagSEALED);
      MakeBlockNext(&setBlock[0], 1000 + 10 * i);
    }
    (void)MakeEvent(&setBlock[0], EventPoolFreeCODE, 1000 + 10 * i, (uint64_t[]){1, i}, NULL);
  }
  MakeBlockEnd(make, &setBlock[0], BlockFlagSEALED);
}

/* rowTime -- the time of event `i` of a row */
static uint64_t rowTime(Index i)
{
  return 86400 * (uint64_t)1000000000 + 1000 + 10 * i;
}

/* testEnough -- a hook's TRUE ends LogRead, also with the last event of a chunk */
static void testEnough(void)
{
  LogHooksStruct hooks = {.data = NULL};
  LogRequestStruct request = LogRequestALL;
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  const char *paths[1] = {path};
  uint64_t left = ServiceChunkDEFAULT;
  char error[256];

  aRow(&make, process, ServiceChunkDEFAULT + 10, 1000);
  MakeWrite(&make, path);
  request.data = &left;
  request.event = enoughEvent;
  TapOk(LogOpen(&theLog, paths, 1, &hooks, error, sizeof error) == ResOK && LogRead(theLog, &request) == ResOK &&
          left == 0, "a hook that returns TRUE for the last event of a chunk is given no other");
  setLogEnd();
  MakeProcessFree(process);
  MakeFree(&make);
}

/* ---- Leaps ---- */

static void leapProgress(void *data, uint64_t done, uint64_t total)
{
  UNUSED(done);
  UNUSED(total);
  ++*(uint64_t *)data;
}

static Bool leapEvent(LogRequest request, LogEvent event)
{
  *(uint64_t *)request->data += LogEventWord(event, 1);
  return FALSE;
}

/* leapLog -- a row, a block for each event; and another thread's block that is as long as all of them */
static void leapLog(Make make, MakeProcess process, Count events)
{
  Index i;

  aRow(make, process, events, 1);
  MakeBlockBegin(&setBlock[1], process, 12, EventKindObject, 0, 1000);
  setBlock[1].header.stream = 1;
  for (i = 0; i < events; i += 1000)
    (void)MakeEvent(&setBlock[1], EventPoolFreeCODE, 1005 + 10 * i, (uint64_t[]){1, 1000000}, NULL);
  MakeBlockEnd(make, &setBlock[1], BlockFlagSEALED);
  MakeWrite(make, path);
}

/* testLeap -- from a request's end to the next one's start the pass goes by the index, and takes along what is open */
static void testLeap(void)
{
  enum { far = 9000, some = 20 };
  uint64_t come = 0, sum[2] = {0, 0};
  LogHooksStruct hooks = {.data = &come, .progress = leapProgress};
  LogRequestStruct request[2] = {LogRequestALL, LogRequestALL};
  LogCostsStruct counts;
  MakeProcess process = MakeProcessNew(10, 1);
  MakeStruct make = {0};
  const char *paths[1] = {path};
  PawService service;
  char error[256];
  Index i;

  leapLog(&make, process, far + 1000);
  if (LogOpen(&theLog, paths, 1, &hooks, error, sizeof error) != ResOK ||
      PawServiceCreate(&service, theLog, 0) != ResOK) {
    TapOk(FALSE, "a log of many blocks opens");
    return;
  }
  request[0].to = rowTime(1);
  request[1].from = rowTime(far);
  request[1].to = rowTime(far + some);
  for (i = 0; i < 2; ++i) {
    request[i].data = &sum[i];
    request[i].event = leapEvent;
    (void)PawServiceFile(service, &request[i]);
  }
  memset(&theLog->costs, 0, sizeof theLog->costs);
  (void)PawServiceRun(service, NULL, NULL);
  counts = theLog->costs;
  TapOk(sum[0] == 1000000 && sum[1] == 1000000 + some * far + some * (some - 1) / 2,
        "two requests far apart see theirs");
  TapOk(counts.seeks == 1 && counts.blocks == 1 + 1 + some, "in one pass, which loads a block once that both want");
  TapOk(come < far / 10, "and comes to few of the blocks between them");
  printf("# it came to %u blocks\n", (unsigned)come);
  PawServiceDestroy(service);
  setLogEnd();
  MakeProcessFree(process);
  MakeFree(&make);
}

/* testSets -- so many sets over as many logs as it takes; the number done before the first fault */
static Count testSets(uint64_t seed, Count sets)
{
  Count done = 0;

  while (done < sets && fault[0] == '\0') {
    Count i;
    uint64_t logSeed = seed + done;
    if (!setLog(&logSeed))
      break;
    for (i = 0; i < 100 && done < sets && fault[0] == '\0'; ++i, ++done)
      (done % 10 == 9 ? setCost : setRun)(seed + done);
    setLogEnd();
  }
  return done;
}

static void testStrict(uint64_t seed)
{
  enum { sets = 25000 };
  Count done = testSets(seed, sets);

  TapIs(done, (Count)sets, "each request of %u random sets sees exactly its events, and none is listed twice",
        (unsigned)sets);
  if (fault[0] != '\0')
    printf("# set %u: %s\n", (unsigned)done, fault);
  printf("# %llu requests, %llu events, %llu hooks called; %llu runs, %llu interrupted; %llu stops, %llu withdrawn\n",
         (unsigned long long)tally.requests, (unsigned long long)tally.expected, (unsigned long long)tally.hooks,
         (unsigned long long)tally.runs, (unsigned long long)tally.interrupted, (unsigned long long)tally.stops,
         (unsigned long long)tally.withdrawn);
  printf("# at most %llu calls in a row that gave nothing\n", (unsigned long long)tally.idle);
  printf("# %llu seeks, %llu restores; %llu sets without surprises, %llu events listed for them\n",
         (unsigned long long)tally.seeks, (unsigned long long)tally.restores, (unsigned long long)tally.costs,
         (unsigned long long)tally.decoded);
  TapOk(tally.restores > 1000 && tally.interrupted > 1000 && tally.stops > 1000 && tally.withdrawn > 1000,
        "and all that can happen to them happened often");
}

static void stuckReal(void)
{
  printf("Bail out! %s\n", fault);
  exit(1);
}

static void stuckSets(void)
{
  puts(fault);
  exit(1);
}

/* setsOnly -- only random sets, for a service that may be wrong: prints what the oracle finds first; status 1 if that
 * was anything, 2 if not all sets could be made */
static int setsOnly(uint64_t seed, Count sets)
{
  Count done;

  stuckEnd = stuckSets;
  done = testSets(seed, sets);
  if (fault[0] != '\0')
    printf("%s (set %u)\n", fault, (unsigned)done);
  return fault[0] != '\0' ? 1 : done < sets ? 2 : 0;
}

/* requesttest [SEED SETS FILE] -- all tests; or, for test/request/requestmutants.t, only so many sets, with their logs
 * in a file */
int main(int argc, char **argv)
{
  uint64_t seed;

  if (argc == 4) {
    (void)snprintf(path, sizeof path, "%s", argv[3]);
    (void)alarm(300); /* a wrong service may go round and call nobody */
    return setsOnly(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
  }
  (void)close(mkstemp(path));
  seed = TapSeed() * 1000003 | 1;
  stuckEnd = stuckReal;
  testStrict(seed);
  testSteps(seed);
  testTexts(seed);
  testHurt();
  testEnough();
  testLeap();
  (void)unlink(path);
  return TapDone();
}
