/* seek.c -- positions as times, as text, and so many events away
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "log/clocktime.h"
#include "request/request.h"
#include "request/traceset.h"

void PawPositionOfTime(PawPosition *positionReturn, PawLog log, uint64_t time)
{
  *positionReturn = (LogPositionStruct){.fine = ClockFineAt(log->origin, time)};
}

/* ---- Text ---- */

/* Times before all events, and after them. */
static const char positionLast[] = "end";

void PawPositionText(char text[PAW_POSITION_TEXT], PawLog log, const PawPosition *position)
{
  uint64_t fine = position->fine;
  Bool beyond = position->process >= log->table.processes;
  int length;

  if (fine == UINT64_MAX) {
    (void)snprintf(text, PAW_POSITION_TEXT, "%s", positionLast);
    return;
  }
  fine += beyond;
  length = snprintf(text, PAW_POSITION_TEXT, "%llu.%u", (unsigned long long)(log->origin + (fine >> ClockFineSHIFT)),
                    (unsigned)(fine & ((1 << ClockFineSHIFT) - 1)));
  /* Before all events of a time, or after them: comparable also if processes have other numbers. */
  if (beyond || (position->process | position->stream | position->sequence | position->at) == 0)
    return;
  (void)snprintf(text + length, PAW_POSITION_TEXT - (Size)length, "/%llx/%llu/%llu/%llu",
                 (unsigned long long)log->table.process[position->process]->public.header.identity,
                 (unsigned long long)position->stream, (unsigned long long)position->sequence,
                 (unsigned long long)position->at);
}

/* positionNumber -- a number in a base, digits only, and the separator behind it; FALSE: none, or too large */
static Bool positionNumber(uint64_t *numberReturn, const char **next, int base, char mark)
{
  char *end;

  if (strspn(*next, base == 16 ? "0123456789abcdef" : "0123456789") == 0 || strncmp(*next, "0x", 2) == 0)
    return FALSE;
  errno = 0;
  *numberReturn = strtoull(*next, &end, base);
  if (errno != 0 || *end != mark)
    return FALSE;
  *next = end + 1;
  return TRUE;
}

int PawPositionRead(PawPosition *positionReturn, PawLog log, const char *text)
{
  uint64_t time, sixteenths, identity;
  LogPositionStruct position = LogPositionFIRST;
  LogProcess process;
  const char *next = text;
  Bool whole = strchr(text, '/') != NULL;

  if (strcmp(text, positionLast) == 0) {
    *positionReturn = (LogPositionStruct)LogPositionLAST;
    return ResOK;
  }
  if (!positionNumber(&time, &next, 10, '.') || !positionNumber(&sixteenths, &next, 10, whole ? '/' : '\0') ||
      sixteenths >= 1 << ClockFineSHIFT)
    return ResFORMAT;
  if (whole) {
    if (!positionNumber(&identity, &next, 16, '/') || !positionNumber(&position.stream, &next, 10, '/') ||
        !positionNumber(&position.sequence, &next, 10, '/') || !positionNumber(&position.at, &next, 10, '\0'))
      return ResFORMAT;
    if ((process = LogProcessFind(log, identity)) == NULL)
      return ResFAIL;
    position.process = process->number;
  }
  position.fine = ClockFineAt(log->origin, time);
  if (position.fine != UINT64_MAX)
    position.fine += sixteenths;
  *positionReturn = time < log->origin ? (LogPositionStruct)LogPositionFIRST : position;
  return ResOK;
}

/* ---- Steps ---- */

/* A walk through events that a request chooses and accepts, to count them or to find one. */
typedef struct positionWalkStruct {
  LogRequestStruct request;  /* first */
  uint64_t count;            /* events that there were, */
  LogPositionStruct last;    /* and the position of the last of them */
} positionWalkStruct, *PositionWalk;

static Bool positionEvent(LogRequest request, LogEvent event)
{
  PositionWalk walk = (PositionWalk)request;

  ++walk->count;
  LogEventPosition(&walk->last, event);
  return FALSE;
}

/* positionWalk -- pass over at most `count` events of [start, end) */
static Res positionWalk(PositionWalk walk, Log log, const LogPositionStruct *start, const LogPositionStruct *end,
                        uint64_t count)
{
  walk->request.start = start;
  walk->request.end = end;
  walk->request.count = count;
  walk->count = 0;
  return LogRead(log, &walk->request);
}

/* positionWindow -- the length of time that would hold `n` events, if they came evenly */
static uint64_t positionWindow(Log log, uint64_t n)
{
  double span = (double)(log->summary.last - log->summary.first + 1) * (1 << ClockFineSHIFT);
  double window = span / (double)(log->summary.events + 1) * ((double)n + 1) * 2;

  return window < span ? (uint64_t)window + 1 : (uint64_t)span + 1;
}

/* positionBack -- go backwards in windows, each twice as long as the one after it; then to the place in the right
 * window */
static Res positionBack(LogPosition position, uint64_t *nReturn, Log log, PositionWalk walk, uint64_t n)
{
  uint64_t width = positionWindow(log, n), had = 0;
  LogPositionStruct end = *position, start = end, first = end;
  Res res = ResOK;

  while (res == ResOK && had < n && LogPositionCompare(&end, &(LogPositionStruct)LogPositionFIRST) > 0) {
    start = (LogPositionStruct){.fine = end.fine > width ? end.fine - width : 0};
    res = positionWalk(walk, log, &start, &end, UINT64_MAX);
    if (res == ResOK && walk->count > 0) {
      uint64_t beyond = had + walk->count > n ? had + walk->count - n : 0;
      had += walk->count - beyond;
      res = positionWalk(walk, log, &start, &end, beyond + 1);
      first = walk->last;
    }
    end = start;
    width = width < UINT64_MAX / 2 ? width * 2 : UINT64_MAX;
  }
  if (res == ResOK) {
    *position = first;
    *nReturn = had;
  }
  return res;
}

int PawPositionStep(PawPosition *position, uint64_t *nReturn, PawLog log, PawRequest *request, int64_t n)
{
  positionWalkStruct walk = {LogRequestALL, .last = *position};
  uint64_t had = 0;
  Res res;

  if (request->size != sizeof *request)
    return ResPARAM;
  walk.request.data = request->data;
  walk.request.kinds = request->kinds;
  walk.request.choose = request->choose;
  walk.request.chooseData = request->chooseData;
  walk.request.accept = request->accept;
  walk.request.acceptData = request->acceptData;
  walk.request.event = positionEvent;
  if (n < 0) {
    res = positionBack(position, &had, log, &walk, 0 - (uint64_t)n);
  } else {
    res = positionWalk(&walk, log, position, NULL, (uint64_t)n);
    if (res == ResOK) {
      *position = walk.last;
      position->at += walk.count > 0;
      had = walk.count;
    }
  }
  if (res == ResOK && nReturn != NULL)
    *nReturn = had;
  return res;
}
