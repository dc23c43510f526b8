/* sitelines.c -- the lines of a table of callers
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/sitelines.h"

#include <stdlib.h>

void SiteLineAdd(SiteLine line, const SiteLineStruct *other)
{
  SiteSumAdd(&line->peak, &other->peak);
  SiteSumAdd(&line->left, &other->left);
  SiteSumAdd(&line->allocated, &other->allocated);
  SiteSumAdd(&line->told, &other->told);
  SiteSumAdd(&line->wasted, &other->wasted);
  line->resizes += other->resizes;
  line->away += other->away;
  line->temporary += other->temporary;
}

SiteLineStruct SiteLineOf(SiteBook book, uint32_t number)
{
  return (SiteLineStruct){.peak = SiteBookAtPeak(book, number), .left = SiteBookLeft(book, number),
                          .allocated = book->row[number].allocated, .told = book->more[number].told,
                          .resizes = book->more[number].resizes, .away = book->more[number].away,
                          .temporary = book->row[number].temporary, .wasted = book->more[number].wasted};
}

Res SiteLinesMake(SiteLines lines, SiteBook book, SiteNumbers numbers, CodeNames names, const Bool *without)
{
  uint32_t number;
  Index i;

  *lines = (SiteLinesStruct){.count = 0};
  if (SiteGroupsMake(&lines->groups, numbers, names) != ResOK ||
      (lines->line = calloc(SiteGroupsCount(&lines->groups) + 1, sizeof *lines->line)) == NULL)
    return ResMEMORY;
  lines->count = SiteGroupsCount(&lines->groups);
  for (i = 0; i < lines->count; ++i)
    lines->line[i].group = i;
  for (number = 1; number <= numbers->count && number < book->count; ++number) {
    SiteLineStruct one = SiteLineOf(book, number);
    if (without != NULL && without[number])
      continue;
    SiteLineAdd(&lines->line[lines->groups.group[number - 1]], &one);
    SiteLineAdd(&lines->all, &one);
  }
  return ResOK;
}

void SiteLinesFinish(SiteLines lines)
{
  SiteGroupsFinish(&lines->groups);
  free(lines->line);
  lines->line = NULL;
}

uint64_t SiteLineKey(const SiteLineStruct *line, SiteOrder order)
{
  switch (order) {
  case SiteOrderPEAK:
    return line->peak.bytes;
  case SiteOrderLEFT:
    return line->left.bytes;
  case SiteOrderALLOCATED:
    return line->allocated.bytes;
  case SiteOrderCALLS:
    return SiteLineCalls(line);
  case SiteOrderWASTED:
    return line->wasted.bytes;
  case SiteOrderTEMPORARY:
    return line->temporary;
  case SiteOrderLIMIT:
    break;
  }
  NOTREACHED;
}

const char *SiteOrderName(SiteOrder order)
{
  switch (order) {
  case SiteOrderPEAK:
    return "at the peak";
  case SiteOrderLEFT:
    return "left";
  case SiteOrderALLOCATED:
    return "allocated";
  case SiteOrderCALLS:
    return "calls";
  case SiteOrderTEMPORARY:
    return "temporary";
  case SiteOrderWASTED:
    return "wasted";
  case SiteOrderLIMIT:
    break;
  }
  NOTREACHED;
}

Bool SiteOrderIsBytes(SiteOrder order)
{
  return order != SiteOrderCALLS && order != SiteOrderTEMPORARY;
}

/* linesCompare -- by one key, then by all others */
static int linesCompare(const void *a, const void *b, void *first)
{
  const SiteLineStruct *x = a, *y = b;
  SiteOrder order = *(SiteOrder *)first, next;

  if (SiteLineKey(x, order) != SiteLineKey(y, order))
    return SiteLineKey(x, order) > SiteLineKey(y, order) ? -1 : 1;
  for (next = 0; next < SiteOrderLIMIT; ++next)
    if (SiteLineKey(x, next) != SiteLineKey(y, next))
      return SiteLineKey(x, next) > SiteLineKey(y, next) ? -1 : 1;
  return x->group < y->group ? -1 : x->group > y->group;
}

void SiteLinesSort(SiteLines lines, SiteOrder order)
{
  qsort_r(lines->line, lines->count, sizeof *lines->line, linesCompare, &order);
}

static void lineSum(FILE *out, const char *name, const SiteSumStruct *sum)
{
  fprintf(out, "\"%s_bytes\": %llu, \"%s_objects\": %llu, ", name, (unsigned long long)sum->bytes, name,
          (unsigned long long)sum->objects);
}

void SiteLineJson(FILE *out, const SiteLineStruct *line)
{
  lineSum(out, "peak", &line->peak);
  lineSum(out, "left", &line->left);
  lineSum(out, "allocated", &line->allocated);
  lineSum(out, "earlier", &line->told);
  lineSum(out, "wasted", &line->wasted);
  fprintf(out, "\"resizes\": %llu, \"temporary_objects\": %llu", (unsigned long long)line->resizes,
          (unsigned long long)line->temporary);
}
