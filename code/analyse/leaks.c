/* leaks.c -- what was never freed, by caller
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>

#include "analyse/viewnotes.h"
#include "analyse/views.h"
#include "base/say.h"
#include "base/text.h"
#include "callers/sitelines.h"
#include "callers/suppressions.h"
#include "export/jsondocument.h"

typedef struct LeaksStruct {
  ViewHeap shared;
  SiteLinesStruct lines;       /* the first `count` of them are leaks that nobody suppresses */
  Suppressions suppressions;   /* or NULL */
  SiteLineStruct *by;          /* owned; what each pattern suppresses */
  SiteLineStruct suppressed;   /* all of them together */
  Count count, top;
} LeaksStruct, *Leaks;

static Res leaksCreate(void **viewReturn, ViewWants wants)
{
  Leaks leaks = calloc(1, sizeof *leaks);

  if (leaks == NULL)
    return ResMEMORY;
  leaks->shared = wants->heap;
  leaks->suppressions = wants->suppressions;
  leaks->top = wants->top;
  ViewHeapBook(wants->heap);
  CodeNamesWant(wants->names);
  *viewReturn = leaks;
  return ResOK;
}

/* leaksSuppressed -- does a pattern match a caller of this site?  Then what the site has left is the first such
 * pattern's. */
static Bool leaksSuppressed(Leaks leaks, uint32_t number)
{
  SiteLineStruct line = SiteLineOf(&leaks->shared->book, number);
  CodePlaceStruct frames[CodeFramesMAX];
  Count count = CodeNamesFrames(frames, leaks->shared->names, SiteNumbersAt(&leaks->shared->numbers, number));
  Index i, j;

  for (i = 0; i < leaks->suppressions->count; ++i)
    for (j = 0; j < count; ++j)
      if (CodeNamesMatch(leaks->shared->names, &frames[j], leaks->suppressions->pattern[i])) {
        SiteLineAdd(&leaks->by[i], &line);
        SiteLineAdd(&leaks->suppressed, &line);
        return TRUE;
      }
  return FALSE;
}

/* leaksLines -- a line for each caller of which something is left, without what is suppressed */
static Res leaksLines(Leaks leaks, Bool *without)
{
  ViewHeap shared = leaks->shared;
  uint32_t number;
  Index i;
  Res res;

  for (number = 1; leaks->suppressions != NULL && number < shared->book.count; ++number)
    without[number] = SiteBookLeft(&shared->book, number).objects > 0 && leaksSuppressed(leaks, number);
  res = SiteLinesMake(&leaks->lines, &shared->book, &shared->numbers, shared->names, without);
  if (res != ResOK)
    return res;
  SiteLinesSort(&leaks->lines, SiteOrderLEFT);
  for (i = 0; i < leaks->lines.count; ++i)
    if (leaks->lines.line[i].left.objects > 0)
      leaks->lines.line[leaks->count++] = leaks->lines.line[i];
  return ResOK;
}

static Res leaksFinish(void *view)
{
  Leaks leaks = view;
  Res res = ViewHeapFinish(leaks->shared);
  Count patterns = leaks->suppressions == NULL ? 0 : leaks->suppressions->count;
  Bool *without = calloc(leaks->shared->book.count + 1, sizeof *without);

  leaks->by = calloc(patterns + 1, sizeof *leaks->by);
  if (res == ResOK)
    res = CodeNamesRead(leaks->shared->names);
  if (res == ResOK)
    res = without == NULL || leaks->by == NULL ? ResMEMORY : leaksLines(leaks, without);
  free(without);
  return res;
}

static void leaksDestroy(void *view)
{
  Leaks leaks = view;

  SiteLinesFinish(&leaks->lines);
  free(leaks->by);
  free(leaks);
}

/* Text */

static void textSum(FILE *out, const char *name, const SiteLineStruct *sum)
{
  fprintf(out, "%-14s %llu object%s, ", name, (unsigned long long)sum->left.objects, TextPlural(sum->left.objects));
  SayBytes(out, sum->left.bytes);
}

/* textLine -- what is left of how many: those of the caller's that were freed, and those that are left */
static void textLine(FILE *out, const SiteLineStruct *line)
{
  uint64_t had = SiteLineHad(line);

  SayColumn(out, 11, line->left.bytes);
  fprintf(out, " %10llu %10llu %5.1f%%  ", (unsigned long long)line->left.objects, (unsigned long long)had,
          had == 0 ? 0 : 100.0 * (double)line->left.objects / (double)had);
}

static void textLines(FILE *out, Leaks leaks)
{
  SiteLineStruct rest = {.group = 0};
  Index i;

  if (leaks->count > 0)
    fprintf(out, "\n%11s %10s %10s %6s  caller\n", "bytes", "objects", "of", "");
  for (i = 0; i < leaks->count; ++i) {
    if (i >= leaks->top) {
      SiteLineAdd(&rest, &leaks->lines.line[i]);
      continue;
    }
    textLine(out, &leaks->lines.line[i]);
    SiteGroupsText(out, &leaks->lines.groups, leaks->lines.line[i].group);
    putc('\n', out);
  }
  if (leaks->count > leaks->top) {
    textLine(out, &rest);
    fprintf(out, "%zu other%s (--top)\n", leaks->count - leaks->top, TextPlural(leaks->count - leaks->top));
  }
  if (leaks->count > 0)
    putc('\n', out);
}

static void textSuppressed(FILE *out, Leaks leaks)
{
  Index i;

  for (i = 0; leaks->suppressions != NULL && i < leaks->suppressions->count; ++i) {
    if (leaks->by[i].left.objects == 0)
      continue;
    textSum(out, "suppressed", &leaks->by[i]);
    fputs(": leak:", out);
    SayPlain(out, leaks->suppressions->pattern[i], strlen(leaks->suppressions->pattern[i]));
    putc('\n', out);
  }
}

static Bool leaksText(FILE *out, void *view)
{
  Leaks leaks = view;

  textSum(out, "never freed", &leaks->lines.all);
  fprintf(out, ", of %zu caller%s", leaks->count, TextPlural(leaks->count));
  fputs("\n               when each process ended, or the log did; what could be reached then is among it\n", out);
  textLines(out, leaks);
  textSuppressed(out, leaks);
  ViewNotesStacksText(out, leaks->shared);
  ViewNotesText(out, leaks->shared, TRUE);
  return TRUE;
}

/* JSON */

static void jsonSum(FILE *out, const char *before, const SiteLineStruct *line)
{
  fprintf(out, "\"%sbytes\": %llu, \"%sobjects\": %llu", before, (unsigned long long)line->left.bytes, before,
          (unsigned long long)line->left.objects);
}

static Bool leaksJson(FILE *out, void *view)
{
  Leaks leaks = view;
  Index i;

  putc('{', out);
  jsonSum(out, "left_", &leaks->lines.all);
  fputs(", ", out);
  jsonSum(out, "suppressed_", &leaks->suppressed);
  fputs(",\n ", out);
  ViewNotesStacksJson(out, leaks->shared);
  ViewNotesJson(out, leaks->shared);
  fputs(",\n \"leaks\": [", out);
  for (i = 0; i < leaks->count; ++i) {
    SiteLine line = &leaks->lines.line[i];
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    SiteGroupsJson(out, &leaks->lines.groups, line->group);
    fputs(", ", out);
    jsonSum(out, "", line);
    fprintf(out, ", \"had_objects\": %llu, \"allocated_objects\": %llu, \"earlier_objects\": %llu, \"resizes\": %llu}",
            (unsigned long long)SiteLineHad(line), (unsigned long long)line->allocated.objects,
            (unsigned long long)line->told.objects, (unsigned long long)line->resizes);
  }
  fputs("],\n \"suppressions\": [", out);
  for (i = 0; leaks->suppressions != NULL && i < leaks->suppressions->count; ++i) {
    fputs(i == 0 ? "\n  {\"pattern\": " : ",\n  {\"pattern\": ", out);
    JsonString(out, leaks->suppressions->pattern[i]);
    fputs(", ", out);
    jsonSum(out, "", &leaks->by[i]);
    putc('}', out);
  }
  fputs("]}\n", out);
  return TRUE;
}

const ViewClassStruct ViewClassLeaks = {
  "leaks", "what was never freed, by caller (--suppressions, --top)",
  ViewTakesTOP | ViewTakesCALLERS | ViewTakesSUPPRESSIONS, leaksCreate,
  NULL, leaksFinish, leaksText, leaksJson, leaksDestroy
};
