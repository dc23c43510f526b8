/* requestmutant.h -- the service once more, with a mistake at one of its boundaries
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources are the service's own.  Every comparison that matters is one of bound.h; here each has a wrong one beside
 * it, which is taken where `mutant` says so.
 */
#ifndef TEST_REQUESTMUTANT_H
#define TEST_REQUESTMUTANT_H

#include "log/bound.h"

static unsigned mutant;

enum {
  mutantNONE, mutantFineUP, mutantFineDOWN, mutantNarrowEND, mutantJoinsNEVER, mutantJoinsBEHIND, mutantAheadNEVER,
  mutantReachedLATE, mutantReachedEARLY, mutantCountedLATE, mutantCountedEARLY, mutantMeetsEND, mutantMeetsSTART,
  mutantKindALL, mutantUrgentEQUAL, mutantUrgentNEVER, mutantHookEQUAL, mutantHookNEVER, mutantReckonsALL
};

static const char *const mutantName[] = {
  [mutantNONE] = "",
  [mutantFineUP] = "a time that is a unit late",
  [mutantFineDOWN] = "a time that is a unit early",
  [mutantNarrowEND] = "positions compared but for their last part",
  [mutantJoinsNEVER] = "nobody joins a pass",
  [mutantJoinsBEHIND] = "who starts before a pass joins it",
  [mutantAheadNEVER] = "no start is ahead",
  [mutantReachedLATE] = "the end is inclusive",
  [mutantReachedEARLY] = "the end comes an event early",
  [mutantCountedLATE] = "the count never ends it",
  [mutantCountedEARLY] = "the count ends it one early",
  [mutantMeetsEND] = "a block is skipped that begins just before the end",
  [mutantMeetsSTART] = "a block is skipped that ends just at the start",
  [mutantKindALL] = "kinds are not looked at",
  [mutantUrgentEQUAL] = "an equal priority goes first",
  [mutantUrgentNEVER] = "high priority waits",
  [mutantHookEQUAL] = "equal hooks in reverse",
  [mutantHookNEVER] = "hooks not by priority",
  [mutantReckonsALL] = "a pass reckons with whoever came later",
};

#define M(which, wrong, right) (mutant == (which) ? (wrong) : (right))

static inline uint64_t mutantFine(uint64_t origin, uint64_t time)
{
  uint64_t fine = BoundFine(origin, time);

  return M(mutantFineUP, fine + (fine != UINT64_MAX), M(mutantFineDOWN, fine - (fine > 0), fine));
}

static inline Bool mutantBefore(const LogPositionStruct *a, const LogPositionStruct *b)
{
  LogPositionStruct x = *a, y = *b;

  x.at = y.at = 0;
  return M(mutantNarrowEND, BoundBefore(&x, &y), BoundBefore(a, b));
}

static inline Bool mutantJoins(const LogPositionStruct *start, const LogPositionStruct *here)
{
  return M(mutantJoinsNEVER, FALSE,
           M(mutantJoinsBEHIND, LogPositionCompare(start, here) <= 0, BoundJoins(start, here)));
}

/* mutantAhead -- that a start counts as ahead which is here is no mistake, so no mutant does it
 *
 * serveBegin then leaps to where the pass stands, and what follows is what a pass from there gives.  serveEnd is called
 * after all that start here and have a slot have joined (ServiceStep); only one that was given its slot meanwhile, for a
 * new pass, starts here and waits: with the bound here nothing is read, and it joins in the next step.
 */
static inline Bool mutantAhead(const LogPositionStruct *start, const LogPositionStruct *here)
{
  return M(mutantAheadNEVER, FALSE, BoundAhead(start, here));
}

static inline Bool mutantReached(const LogPositionStruct *end, const LogPositionStruct *here)
{
  LogPositionStruct later = *here;

  ++later.fine;
  return M(mutantReachedLATE, LogPositionCompare(end, here) < 0,
           M(mutantReachedEARLY, LogPositionCompare(end, &later) < 0, BoundReached(end, here)));
}

static inline Bool mutantCounted(uint64_t left)
{
  return M(mutantCountedLATE, FALSE, M(mutantCountedEARLY, left <= 1, BoundCounted(left)));
}

static inline Bool mutantMeets(const LogPositionStruct *start, const LogPositionStruct *end, uint64_t first,
                               uint64_t last)
{
  return M(mutantMeetsEND, start->fine <= last && end->fine > first + 16,
           M(mutantMeetsSTART, start->fine < last && BoundMeets(start, end, first, last),
             BoundMeets(start, end, first, last)));
}

static inline Bool mutantKind(uint32_t kinds, unsigned kind)
{
  return M(mutantKindALL, TRUE, BoundKind(kinds, kind));
}

static inline Bool mutantUrgent(LogPriority a, LogPriority b)
{
  return M(mutantUrgentEQUAL, a >= b, M(mutantUrgentNEVER, FALSE, BoundUrgent(a, b)));
}

static inline Bool mutantHookBefore(int a, int b)
{
  return M(mutantHookEQUAL, a <= b, M(mutantHookNEVER, FALSE, BoundHookBefore(a, b)));
}

static inline Bool mutantReckons(uint64_t slots, uint64_t slot)
{
  return M(mutantReckonsALL, TRUE, BoundReckons(slots, slot));
}

#define BoundFine mutantFine
#define BoundBefore mutantBefore
#define BoundJoins mutantJoins
#define BoundAhead mutantAhead
#define BoundReached mutantReached
#define BoundCounted mutantCounted
#define BoundMeets mutantMeets
#define BoundKind mutantKind
#define BoundUrgent mutantUrgent
#define BoundHookBefore mutantHookBefore
#define BoundReckons mutantReckons

#define LogServiceCreate MutantServiceCreate
#define LogServiceDestroy MutantServiceDestroy
#define LogServiceFile MutantServiceFile
#define LogServiceWithdraw MutantServiceWithdraw
#define LogServiceRun MutantServiceRun
#define LogServiceCount MutantServiceCount
#define LogRead MutantRead
#define LogPositionOfTime MutantPositionOfTime
#define LogPositionText MutantPositionText
#define LogPositionRead MutantPositionRead
#define LogPositionStep MutantPositionStep
#define ServiceCheck MutantCheck
#define ServiceEnter MutantEnter
#define ServiceLeave MutantLeave
#define ServiceEnd MutantEnd
#define ServiceStep MutantStep
#define ServiceFind MutantFind
#define ServiceNothing MutantNothing
#define ServiceOver MutantOver
#define ServiceSlot MutantSlot
#define ServicePassEnd MutantPassEnd
#define ServiceHalt MutantHalt
#define RoutesInit MutantRoutesInit
#define RoutesFinish MutantRoutesFinish
#define RoutesForget MutantRoutesForget
#define RoutesKnow MutantRoutesKnow
#define RoutesTable MutantRoutesTable
#define RoutesTableFree MutantRoutesTableFree
#define RoutesHalted MutantRoutesHalted

/* Their prototypes: request.h has been included under the real names. */
extern Res LogServiceCreate(LogService *serviceReturn, Log log, uint64_t chunk);
extern void LogServiceDestroy(LogService service);
extern Res LogServiceFile(LogService service, LogRequest request);
extern Bool LogServiceWithdraw(LogService service, LogRequest request);
extern Res LogServiceRun(LogService service, Bool (*pending)(void *data), void *data);
extern void LogServiceCount(LogServiceCounts countsReturn, LogService service);
extern Res LogRead(Log log, LogRequest request);
extern void LogPositionOfTime(LogPosition positionReturn, Log log, uint64_t time);
extern void LogPositionText(char text[LogPositionTextMAX], Log log, const LogPositionStruct *position);
extern Res LogPositionRead(LogPosition positionReturn, Log log, const char *text);
extern Res LogPositionStep(LogPosition positionReturn, uint64_t *nReturn, Log log, LogRequest request,
                           const LogPositionStruct *position, int64_t n);

#include "../code/log/position.c"
#include "../code/log/serve.c"
#include "../code/log/service.c"
#include "../code/log/servicehand.c"
#include "../code/log/servicehook.c"
#include "../code/log/serviceroute.c"

static const ApiStruct mutantApi = {LogServiceCreate, LogServiceDestroy, LogServiceFile, LogServiceWithdraw,
                                    LogServiceRun, LogServiceCount};

#endif /* TEST_REQUESTMUTANT_H */
