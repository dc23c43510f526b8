/* damage.c -- what is damaged and what is missing, reported once
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/damage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/aver.h"
#include "base/grow.h"

/* damagedExtend -- make the last region reach to the end of one behind it */
static void damagedExtend(DamagedRange last, const DamagedRangeStruct *region)
{
  last->end = region->end;
  last->zeros &= region->zeros;
  last->harmless &= region->harmless;
  last->torn &= region->torn;
  last->header = 0;
  last->tail = region->tail;
}

Res DamagedRangesAdd(DamagedRanges regions, const DamagedRangeStruct *region)
{
  DamagedRange before = regions->count > 0 ? &regions->region[regions->count - 1] : NULL;

  AVER(region->place < region->end && (before == NULL || before->end <= region->place) && region->what != NULL);
  /* Of zeros there may be any number, between blocks that stay; which of them is of no interest. */
  if (before != NULL && before->zeros && region->zeros &&
      IndexPlaceFile(before->place) == IndexPlaceFile(region->place)) {
    damagedExtend(before, region);
    return ResOK;
  }
  if (regions->count == DamagedRangesMAX) {
    if (IndexPlaceFile(before->place) == IndexPlaceFile(region->place))
      damagedExtend(before, region);
    return ResOK;
  }
  if (!Grow(&regions->region, &regions->capacity, regions->count, sizeof *regions->region))
    return ResMEMORY;
  regions->region[regions->count++] = *region;
  return ResOK;
}

Bool DamagedRangesNothing(DamagedRanges regions, Index file, uint64_t size)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (regions->region[i].place == IndexPlace(file, 0) && regions->region[i].end == IndexPlace(file, size))
      return regions->region[i].torn;
  return size == 0;
}

void DamagedRangesForgetTail(DamagedRanges regions, Index file)
{
  Index i;

  for (i = 0; i < regions->count; ++i)
    if (IndexPlaceFile(regions->region[i].place) == file && regions->region[i].tail && regions->region[i].cut) {
      memmove(&regions->region[i], &regions->region[i + 1], (regions->count - i - 1) * sizeof regions->region[0]);
      --regions->count;
      return;
    }
}

void DamagedRangesFree(DamagedRanges regions)
{
  free(regions->region);
}

Bool DamagedRangesCheck(DamagedRanges regions)
{
  Bool sound = regions->count <= regions->capacity && regions->capacity <= DamagedRangesMAX;
  Index i;

  for (i = 0; sound && i < regions->count; ++i) {
    const DamagedRangeStruct *region = &regions->region[i];
    sound = region->place < region->end && IndexPlaceFile(region->place) == IndexPlaceFile(region->end) &&
            (i == 0 || region[-1].end <= region->place);
  }
  return sound;
}

/* damagedFirst -- the first region at or behind `place`; regions->count if there is none */
static Index damagedFirst(DamagedRanges regions, uint64_t place)
{
  Index low = 0, high = regions->count;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (regions->region[middle].place < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Bool DamagedRangesZeros(DamagedRanges regions, uint64_t from, uint64_t to)
{
  Index i;

  for (i = damagedFirst(regions, from); i < regions->count && regions->region[i].place < to; ++i)
    if (regions->region[i].zeros)
      return TRUE;
  return FALSE;
}

void DamagedRangesDoubt(DamagedRanges regions, uint64_t from, uint64_t to)
{
  Index i;

  for (i = damagedFirst(regions, from); i < regions->count && regions->region[i].place < to; ++i)
    regions->region[i].doubted = !regions->region[i].harmless;
}

Bool DamagedRangesMatch(DamagedRanges regions, uint64_t from, uint64_t to, uint64_t lost, Bool exact)
{
  Index i, begin = damagedFirst(regions, from);
  Count left = 0, count;

  for (i = begin; i < regions->count && regions->region[i].place < to; ++i)
    left += !regions->region[i].harmless;
  count = left;
  for (i = begin; left > 0; ++i) {
    DamagedRange region = &regions->region[i];
    uint64_t share = left == 1 || region->guess > lost ? lost : region->guess;
    int how = !exact ? LogLostATLEAST : count > 1 ? LogLostABOUT : LogLostEXACTLY;
    if (region->harmless)
      continue;
    --left;
    lost -= share;
    if (!exact && region->guess >= share) {
      share = region->guess;
      how = LogLostABOUT;
    }
    region->matched = TRUE;
    region->lost = CountAdd(region->lost, share);
    if (how > region->exact)
      region->exact = how; /* how well that is known is as bad as the worst that is said of it */
  }
  return count > 0;
}

void DamagedRangesTell(DamagedRanges regions, Reporter reporter, Index limit, Bool last)
{
  Index i;

  for (i = 0; i < limit && i < regions->count; ++i) {
    DamagedRange region = &regions->region[i];
    uint64_t lost = region->matched ? region->lost : region->harmless ? 0 : region->guess;
    int exact = region->matched ? region->exact
              : region->harmless ? LogLostEXACTLY
              : region->guess > 0 ? LogLostABOUT : LogLostATLEAST;
    if (region->told || (!last && region->torn && !region->matched))
      continue;
    region->told = TRUE;
    if (!(reporter->dropped && region->zeros) && !(region->again && !region->matched) &&
        !(reporter->accounted && region->torn && !region->matched && !region->doubted))
      ReporterGap(reporter, region->place, lost, exact, "%s", region->what);
  }
}

LogGapStruct ReporterGapOf(Reporter reporter, uint64_t place, const char *what, uint64_t lost, int exact)
{
  return (LogGapStruct){.path = reporter->paths[IndexPlaceFile(place)], .offset = IndexPlaceOffset(place), .what = what,
                        .lost = lost, .exact = exact};
}

void ReporterGap(Reporter reporter, uint64_t place, uint64_t lost, int exact, const char *format, ...)
{
  char what[1024];
  LogGapStruct gap = ReporterGapOf(reporter, place, what, lost, exact);
  va_list args;

  if (!reporter->telling)
    return;
  ++reporter->gaps;
  reporter->lost = CountAdd(reporter->lost, lost);
  if (reporter->hooks.gap == NULL)
    return;
  va_start(args, format);
  (void)vsnprintf(what, sizeof what, format, args);
  va_end(args);
  reporter->hooks.gap(reporter->hooks.data, &gap);
}

static void reporterLine(Reporter reporter, const char *format, va_list args)
{
  char line[1024];

  if (reporter->hooks.note == NULL)
    return;
  (void)vsnprintf(line, sizeof line, format, args);
  reporter->hooks.note(reporter->hooks.data, line);
}

void ReporterNote(Reporter reporter, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  reporterLine(reporter, format, args);
  va_end(args);
}

void ReporterLack(Reporter reporter, const char *format, ...)
{
  va_list args;

  ++reporter->lacks;
  va_start(args, format);
  reporterLine(reporter, format, args);
  va_end(args);
}
