/* position.c -- positions as times, as text, and so many events away
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
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

/* What stands for times before all events, and behind them. */
static const char positionLast[] = "end";

void PawPositionText(char text[PAW_POSITION_TEXT], PawLog log, const PawPosition *position)
{
  uint64_t fine = position->fine;
  Bool beyond = position->process >= log->table.processes;

  if (fine == UINT64_MAX) {
    (void)snprintf(text, PAW_POSITION_TEXT, "%s", positionLast);
  } else if (beyond || (position->process | position->stream | position->sequence | position->at) == 0) {
    /* Before all events of a time, or behind them: wherever processes have other numbers, too. */
    fine += beyond;
    (void)snprintf(text, PAW_POSITION_TEXT, "%llu.%u", (unsigned long long)(log->origin + (fine >> ClockFineSHIFT)),
                   (unsigned)(fine & ((1 << ClockFineSHIFT) - 1)));
  } else {
    (void)snprintf(text, PAW_POSITION_TEXT, "%llu.%u/%llx/%llu/%llu/%llu",
                   (unsigned long long)(log->origin + (fine >> ClockFineSHIFT)),
                   (unsigned)(fine & ((1 << ClockFineSHIFT) - 1)),
                   (unsigned long long)log->table.process[position->process]->public.header.identity,
                   (unsigned long long)position->stream, (unsigned long long)position->sequence,
                   (unsigned long long)position->at);
  }
}

/* positionNumber -- a number in a base, and the mark behind it; FALSE: there is none, or it is too large */
static Bool positionNumber(uint64_t *numberReturn, const char **next, unsigned base, char mark)
{
  static const char digits[] = "0123456789abcdef";
  const char *digit;
  uint64_t n = 0;
  Count length = 0;

  for (; **next != '\0' && (digit = memchr(digits, **next, base)) != NULL; ++*next, ++length) {
    uint64_t d = (uint64_t)(digit - digits);
    if (n > (UINT64_MAX - d) / base)
      return FALSE;
    n = n * base + d;
  }
  if (length == 0 || **next != mark)
    return FALSE;
  *next += mark != '\0';
  *numberReturn = n;
  return TRUE;
}

/* positionFine -- wall time and sixteenths as fine time; *beforeReturn is whether it is before the traceset */
static uint64_t positionFine(Bool *beforeReturn, Log log, uint64_t time, uint64_t sixteenths)
{
  uint64_t fine = ClockFineAt(log->origin, time);

  *beforeReturn = time < log->origin;
  if (!*beforeReturn && fine != UINT64_MAX)
    fine += sixteenths;
  return fine;
}

int PawPositionRead(PawPosition *positionReturn, PawLog log, const char *text)
{
  uint64_t time, sixteenths, identity;
  LogPositionStruct position = LogPositionFIRST;
  LogProcess process;
  const char *next = text;
  Bool whole = strchr(text, '/') != NULL, before;

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
  position.fine = positionFine(&before, log, time, sixteenths);
  *positionReturn = before ? (LogPositionStruct)LogPositionFIRST : position;
  return ResOK;
}

/* ---- Steps ---- */

/* A walk through events of somebody's choice, to count them or to find one. */
typedef struct positionWalkStruct {
  LogRequest chooser;        /* whose choice it is */
  uint64_t count;            /* events that there were, */
  LogPositionStruct last;    /* and the position of the last of them */
} positionWalkStruct, *PositionWalk;

static Bool positionChoose(void *data, LogProcess process, EventType type)
{
  LogRequest chooser = data;

  return chooser->choose(chooser->chooseData != NULL ? chooser->chooseData : chooser->data, process, type);
}

static Bool positionEvent(LogRequest request, LogEvent event)
{
  PositionWalk walk = request->data;

  ++walk->count;
  LogEventPosition(&walk->last, event);
  return FALSE;
}

/* positionWalk -- go through up to `count` events of [start, end) */
static Res positionWalk(PositionWalk walk, Log log, const LogPositionStruct *start, const LogPositionStruct *end,
                        uint64_t count)
{
  LogRequestStruct request = LogRequestALL;

  request.data = walk;
  request.chooseData = walk->chooser;
  request.choose = walk->chooser->choose != NULL ? positionChoose : NULL;
  request.kinds = walk->chooser->kinds;
  request.accept = walk->chooser->accept;
  request.acceptData = walk->chooser->acceptData;
  request.start = start;
  request.end = end;
  request.count = count;
  request.event = positionEvent;
  walk->count = 0;
  return LogRead(log, &request);
}

/* positionWindow -- how much time should hold `n` events, if they came evenly */
static uint64_t positionWindow(Log log, uint64_t n)
{
  double span = (double)(log->summary.last - log->summary.first + 1) * (1 << ClockFineSHIFT);
  double window = span / (double)(log->summary.events + 1) * ((double)n + 1) * 2;

  return window < span ? (uint64_t)window + 1 : (uint64_t)span + 1;
}

/* positionBack -- windows that double, each before the last one; then to its place in the window that it is in */
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
  positionWalkStruct walk = {.chooser = request, .last = *position};
  uint64_t had = 0;
  Res res;

  if (request->size != sizeof *request)
    return ResPARAM;
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
