/* sites.c -- who asked for memory: a line for each caller
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "analyse/viewnotes.h"
#include "analyse/views.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitelines.h"
#include "callers/sitetree.h"
#include "export/jsondocument.h"

typedef struct SitesStruct {
  ViewHeap shared;
  SiteLinesStruct lines;
  SiteTreeStruct tree;
  ViewTree how;     /* as which tree, if any */
  SiteOrder order;
  Count top;
} SitesStruct, *Sites;

static Res sitesCreate(void **viewReturn, ViewWants wants)
{
  Sites sites = calloc(1, sizeof *sites);

  if (sites == NULL)
    return ResMEMORY;
  sites->shared = wants->heap;
  sites->order = wants->order;
  sites->how = wants->tree;
  sites->top = wants->top;
  ViewHeapBook(wants->heap);
  CodeNamesWant(wants->names);
  *viewReturn = sites;
  return ResOK;
}

static Res sitesFinish(void *view)
{
  Sites sites = view;
  Res res = ViewHeapFinish(sites->shared);

  if (res == ResOK)
    res = SiteLinesMake(&sites->lines, &sites->shared->book, &sites->shared->numbers, sites->shared->names,
                        NULL);
  if (res == ResOK)
    SiteLinesSort(&sites->lines, sites->order);
  if (res == ResOK && sites->how != ViewTreeNONE)
    res = SiteTreeMake(&sites->tree, &sites->shared->book, &sites->shared->numbers, sites->shared->names,
                       sites->how == ViewTreeUP, sites->order);
  return res;
}

static void sitesDestroy(void *view)
{
  Sites sites = view;

  SiteLinesFinish(&sites->lines);
  SiteTreeFinish(&sites->tree);
  free(sites);
}

/* sitesFirst -- ns when the log begins */
static uint64_t sitesFirst(Sites sites)
{
  LogSummaryStruct log;

  LogSummarize(&log, sites->shared->log);
  return log.first;
}

/* Text */

static void textSum(FILE *out, const char *name, const SiteSumStruct *sum)
{
  fprintf(out, "%-14s %llu object%s, ", name, (unsigned long long)sum->objects, TextPlural(sum->objects));
  SayBytes(out, sum->bytes);
}

static void textHead(FILE *out, Sites sites)
{
  SiteLine all = &sites->lines.all;

  textSum(out, "peak", &all->peak);
  fprintf(out, ", at %.9f s\n", DocumentSince(sitesFirst(sites), sites->shared->book.peakTime));
  textSum(out, "allocated", &all->allocated);
  fprintf(out, "\ntemporary      %llu object%s: freed before the thread did anything else\n",
          (unsigned long long)all->temporary, TextPlural(all->temporary));
  textSum(out, "left", &all->left);
  fputs(" at the end\n", out);
  if (all->wasted.objects == 0)
    return;
  fputs("wasted         ", out);
  SayBytes(out, all->wasted.bytes);
  fprintf(out, " more than was asked for, in %llu allocation%s or resize%s\n", (unsigned long long)all->wasted.objects,
          TextPlural(all->wasted.objects), TextPlural(all->wasted.objects));
}

static void textLine(FILE *out, void *data, const SiteLineStruct *line)
{
  Sites sites = data;
  uint64_t all = SiteLineKey(&sites->lines.all, sites->order);

  fprintf(out, "%5.1f%%", all == 0 ? 0 : 100.0 * (double)SiteLineKey(line, sites->order) / (double)all);
  SayColumn(out, 11, line->peak.bytes);
  SayColumn(out, 11, line->left.bytes);
  SayColumn(out, 11, line->allocated.bytes);
  if (sites->lines.all.wasted.objects > 0)
    SayColumn(out, 11, line->wasted.bytes);
  fprintf(out, " %10llu %9llu  ", (unsigned long long)SiteLineCalls(line), (unsigned long long)line->temporary);
}

/* textRest -- the lines that are not shown, as one */
static void textRest(FILE *out, Sites sites, Index from)
{
  SiteLineStruct rest = {.group = 0};
  Index i;

  for (i = from; i < sites->lines.count; ++i)
    SiteLineAdd(&rest, &sites->lines.line[i]);
  textLine(out, sites, &rest);
  fprintf(out, "%zu other%s (--top)\n", sites->lines.count - from, TextPlural(sites->lines.count - from));
}

/* textLines -- the first callers, a line for each, and all others */
static void textLines(FILE *out, Sites sites)
{
  Index i, shown = sites->lines.count < sites->top ? sites->lines.count : sites->top;

  for (i = 0; i < shown; ++i) {
    textLine(out, sites, &sites->lines.line[i]);
    SiteGroupsText(out, &sites->lines.groups, sites->lines.line[i].group);
    putc('\n', out);
  }
  if (shown < sites->lines.count)
    textRest(out, sites, shown);
}

static Bool sitesText(FILE *out, void *view)
{
  static const char *const heads[] = {"caller", "callers, down", "callers, up"};
  Sites sites = view;

  textHead(out, sites);
  if (sites->lines.count > 0)
    fprintf(out, "\n%6s%11s%11s%11s%s %10s %9s  %s\n", "share", "at peak", "left", "allocated",
            sites->lines.all.wasted.objects > 0 ? "     wasted" : "", "calls", "temporary", heads[sites->how]);
  if (sites->how == ViewTreeNONE)
    textLines(out, sites);
  else
    SiteTreeText(out, &sites->tree, textLine, sites);
  if (sites->lines.count > 0)
    putc('\n', out);
  ViewNotesStacksText(out, sites->shared);
  ViewNotesText(out, sites->shared, TRUE);
  return TRUE;
}

/* JSON */

static Bool sitesJson(FILE *out, void *view)
{
  Sites sites = view;
  Index i;

  putc('{', out);
  SiteLineJson(out, &sites->lines.all);
  fprintf(out, ", \"peak_at\": %.9f,\n ", DocumentSince(sitesFirst(sites), sites->shared->book.peakTime));
  ViewNotesStacksJson(out, sites->shared);
  ViewNotesJson(out, sites->shared);
  fputs(",\n \"sites\": [", out);
  for (i = 0; i < sites->lines.count; ++i) {
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    SiteGroupsJson(out, &sites->lines.groups, sites->lines.line[i].group);
    fputs(", ", out);
    SiteLineJson(out, &sites->lines.line[i]);
    putc('}', out);
  }
  putc(']', out);
  if (sites->how != ViewTreeNONE) {
    fputs(",\n \"tree\": ", out);
    SiteTreeJson(out, &sites->tree, SiteLineJson);
  }
  fputs("}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassSites = {
  "sites", "who asked for memory, by caller (--by, --top, --tree)",
  ViewTakesTOP | ViewTakesCALLERS | ViewTakesBY | ViewTakesTREE, sitesCreate, NULL, sitesFinish,
  sitesText, sitesJson, sitesDestroy
};
