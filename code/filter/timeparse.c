/* timeparse.c -- parses times as people write them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "filter/timeparse.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { whenNANOS = 1000000000, whenDIGITS = 9 };

/* whenDigits -- decimal digits at *next, at most 12; FALSE if there is none */
static Bool whenDigits(uint64_t *numberReturn, Size *digitsReturn, const char **next)
{
  *digitsReturn = strspn(*next, "0123456789");
  *numberReturn = *digitsReturn > 0 ? strtoull(*next, NULL, 10) : 0;
  *next += *digitsReturn;
  return *digitsReturn > 0 && *digitsReturn <= 12;
}

/* whenFraction -- what follows the seconds: nothing, or a point and digits, as ns */
static Bool whenFraction(uint64_t *nsReturn, const char *next)
{
  Size digits;

  *nsReturn = 0;
  if (*next == '\0')
    return TRUE;
  if (*next++ != '.' || !whenDigits(nsReturn, &digits, &next) || *next != '\0')
    return FALSE;
  for (; digits < whenDIGITS; ++digits)
    *nsReturn *= 10;
  for (; digits > whenDIGITS; --digits)
    *nsReturn /= 10;
  return TRUE;
}

/* whenClock -- wall time on the day of the traceset's start, or the day after */
static uint64_t whenClock(LogSummary summary, const uint64_t *part, uint64_t ns)
{
  time_t start = (time_t)(summary->first / whenNANOS);
  uint64_t when[2];
  int day;

  for (day = 0; day < 2; ++day) {
    struct tm local;
    (void)localtime_r(&start, &local);
    local.tm_mday += day;
    local.tm_hour = (int)part[0];
    local.tm_min = (int)part[1];
    local.tm_sec = (int)part[2];
    local.tm_isdst = -1;
    when[day] = (uint64_t)mktime(&local) * whenNANOS + ns;
  }
  return when[0] < summary->first && when[1] <= summary->last ? when[1] : when[0];
}

/* whenBack -- so many seconds before the traceset's end; the start, if that is earlier */
static Res whenBack(uint64_t *timeReturn, LogSummary summary, const char *string)
{
  uint64_t seconds, ns, length = summary->last - summary->first;
  Size digits;

  if (!whenDigits(&seconds, &digits, &string) || !whenFraction(&ns, string))
    return ResPARAM;
  *timeReturn = seconds > length / whenNANOS || seconds * whenNANOS + ns > length
                  ? summary->first
                  : summary->last - (seconds * whenNANOS + ns);
  return ResOK;
}

Res LogWhen(uint64_t *timeReturn, LogSummary summary, const char *string)
{
  static const char back[] = "end-";
  uint64_t part[3], ns;
  unsigned parts = 0;
  const char *next = string;
  Size digits;

  if (strncmp(string, back, sizeof back - 1) == 0)
    return whenBack(timeReturn, summary, string + sizeof back - 1);
  while (parts < 3 && whenDigits(&part[parts], &digits, &next)) {
    ++parts;
    if (*next != ':')
      break;
    ++next;
  }
  if (!whenFraction(&ns, next) || (parts != 1 && parts != 3))
    return ResPARAM;
  if (parts == 1) {
    if (part[0] > (UINT64_MAX - summary->first) / whenNANOS - 1)
      return ResPARAM;
    *timeReturn = summary->first + part[0] * whenNANOS + ns;
    return ResOK;
  }
  if (part[0] > 23 || part[1] > 59 || part[2] > 60)
    return ResPARAM;
  *timeReturn = whenClock(summary, part, ns);
  return ResOK;
}
