/* holders.c -- the five callers that hold most at the peak
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/holders.h"

#include "base/say.h"
#include "callers/sitelines.h"

enum { holdersSHOWN = 5 };

/* holdersMake -- the lines, those that hold most first; returns how many are shown */
static Count holdersMake(SiteLines lines, ViewHeap shared)
{
  Count count;

  if (ViewHeapCallers(shared) == ViewCallersNONE ||
      SiteLinesMake(lines, &shared->book, &shared->numbers, shared->names, NULL) != ResOK)
    return 0;
  SiteLinesSort(lines, SiteOrderPEAK);
  for (count = 0; count < lines->count && count < holdersSHOWN && lines->line[count].peak.bytes > 0; ++count)
    ;
  return count;
}

void HoldersText(FILE *out, ViewHeap shared)
{
  SiteLinesStruct lines = {.count = 0};
  Count count = holdersMake(&lines, shared);
  Index i;

  for (i = 0; i < count; ++i) {
    uint64_t bytes = lines.line[i].peak.bytes;
    fprintf(out, "%-14s", i == 0 ? "most at peak" : "");
    SayColumn(out, 11, bytes);
    fprintf(out, " %5.1f%%  ", 100.0 * (double)bytes / (double)lines.all.peak.bytes);
    SiteGroupsText(out, &lines.groups, lines.line[i].group);
    putc('\n', out);
  }
  SiteLinesFinish(&lines);
}

void HoldersJson(FILE *out, ViewHeap shared)
{
  SiteLinesStruct lines = {.count = 0};
  Count count = holdersMake(&lines, shared);
  Index i;

  fputs("\"most_at_peak\": [", out);
  for (i = 0; i < count; ++i) {
    fputs(i == 0 ? "{" : ", {", out);
    SiteGroupsJson(out, &lines.groups, lines.line[i].group);
    fprintf(out, ", \"peak_bytes\": %llu, \"peak_objects\": %llu}", (unsigned long long)lines.line[i].peak.bytes,
            (unsigned long long)lines.line[i].peak.objects);
  }
  fputs("], ", out);
  SiteLinesFinish(&lines);
}
