/* timeparse.c -- parses times as people write them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "filter/timeparse.h"

#include <time.h>

enum { whenNANOS = 1000000000, whenDIGITS = 9 };

/* whenDigits -- decimal digits at *next, at most 12; FALSE if there is none */
static Bool whenDigits(uint64_t *numberReturn, unsigned *digitsReturn, const char **next)
{
  uint64_t n = 0;
  unsigned digits = 0;

  for (; **next >= '0' && **next <= '9'; ++*next)
    if (++digits <= 12)
      n = n * 10 + (uint64_t)(**next - '0');
  *numberReturn = n;
  if (digitsReturn != NULL)
    *digitsReturn = digits;
  return digits > 0 && digits <= 12;
}

/* whenFraction -- what is behind the seconds: nothing, or a point and digits, as ns */
static Bool whenFraction(uint64_t *nsReturn, const char *next)
{
  unsigned digits;

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
static uint64_t whenClock(LogSummary summary, uint64_t hours, uint64_t minutes, uint64_t seconds, uint64_t ns)
{
  time_t start = (time_t)(summary->first / whenNANOS);
  struct tm local;
  uint64_t when;

  (void)localtime_r(&start, &local);
  local.tm_hour = (int)hours;
  local.tm_min = (int)minutes;
  local.tm_sec = (int)seconds;
  local.tm_isdst = -1;
  when = (uint64_t)mktime(&local) * whenNANOS + ns;
  if (when < summary->first) {
    uint64_t next;
    local.tm_mday += 1;
    local.tm_hour = (int)hours;
    local.tm_isdst = -1;
    next = (uint64_t)mktime(&local) * whenNANOS + ns;
    if (next <= summary->last)
      when = next;
  }
  return when;
}

Res LogWhen(uint64_t *timeReturn, LogSummary summary, const char *string)
{
  uint64_t part[3], ns;
  unsigned parts = 0;
  const char *next = string;

  while (parts < 3 && whenDigits(&part[parts], NULL, &next)) {
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
  *timeReturn = whenClock(summary, part[0], part[1], part[2], ns);
  return ResOK;
}
