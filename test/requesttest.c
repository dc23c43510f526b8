/* requesttest.c -- each request sees exactly its events, once, in order, whatever else is filed
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random sets of requests over random logs, whose hooks file, withdraw, stop and end chunks at random, are served with
 * interruptions at random.  A brute-force oracle, the list of all events in order, says what each must see.  The same
 * is done to services with a wrong comparison at one of their boundaries: every one of these must be found out.
 */
#include <sys/wait.h>

#include "requestset.h"

static const ApiStruct real = {LogServiceCreate, LogServiceDestroy, LogServiceFile, LogServiceWithdraw, LogServiceRun,
                               LogServiceCount};

#include "requestmutant.h"

/* testSets -- so many sets over as many logs as it takes; the number done before the first fault */
static Count testSets(const ApiStruct *api, uint64_t seed, Count sets)
{
  Count done = 0;

  while (done < sets && fault[0] == '\0') {
    Count i;
    uint64_t logSeed = seed + done;
    if (!setLog(&logSeed))
      break;
    for (i = 0; i < 100 && done < sets && fault[0] == '\0'; ++i, ++done)
      (done % 10 == 9 ? setCost : setRun)(api, seed + done);
    setLogEnd();
  }
  return done;
}

static void testStrict(uint64_t seed)
{
  enum { sets = 25000 };
  Count done = testSets(&real, seed, sets);

  TapIs(done, (Count)sets, "each request of %u random sets sees exactly its events, and none is listed twice", (unsigned)sets);
  if (fault[0] != '\0')
    printf("# set %u: %s\n", (unsigned)done, fault);
  printf("# %llu requests, %llu events, %llu hooks called; %llu runs, %llu interrupted; %llu stops, %llu withdrawn\n",
         (unsigned long long)tally.requests, (unsigned long long)tally.expected, (unsigned long long)tally.hooks,
         (unsigned long long)tally.runs, (unsigned long long)tally.interrupted, (unsigned long long)tally.stops,
         (unsigned long long)tally.withdrawn);
  printf("# %llu seeks, %llu restores; %llu sets without surprises, %llu events listed for them\n",
         (unsigned long long)tally.seeks, (unsigned long long)tally.restores, (unsigned long long)tally.costs,
         (unsigned long long)tally.decoded);
  TapOk(tally.restores > 1000 && tally.interrupted > 1000 && tally.stops > 1000 && tally.withdrawn > 1000,
        "and all that can happen to them happened often");
}

/* testMutant -- is a service with this mistake found out?  In a process of its own: it may hang or crash. */
static void testMutant(unsigned which, uint64_t seed)
{
  int status;
  pid_t pid;

  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    mutant = which;
    (void)alarm(10);
    (void)freopen("/dev/null", "w", stderr);
    (void)testSets(&mutantApi, seed, 20000);
    _exit(fault[0] != '\0');
  }
  TapOk(pid > 0 && waitpid(pid, &status, 0) == pid && status != 0, "found out: %s", mutantName[which]);
}

int main(void)
{
  uint64_t seed = TapSeed() * 1000003 | 1;
  int fd = mkstemp(path);
  unsigned i;

  (void)close(fd);
  testStrict(seed);
  for (i = 1; i < ARRAY_LENGTH(mutantName); ++i)
    testMutant(i, seed);
  (void)unlink(path);
  return TapDone();
}
