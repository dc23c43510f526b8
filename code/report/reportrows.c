/* reportrows.c -- the callers that a report tells apart
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .rows      Tests: test/report/report.t
 */
#include "report/reportrows.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "export/jsondocument.h"

/* rowsShare -- the largest part that a group has of any of these sums */
static double rowsShare(const SiteLineStruct *line, const SiteLineStruct *all)
{
  uint64_t part[] = {line->peak.bytes, line->left.bytes, line->allocated.bytes};
  uint64_t whole[] = {all->peak.bytes, all->left.bytes, all->allocated.bytes};
  double most = 0;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(part); ++i)
    if (whole[i] > 0 && (double)part[i] / (double)whole[i] > most)
      most = (double)part[i] / (double)whole[i];
  return most;
}

static int rowsCompare(const void *a, const void *b, void *all)
{
  const RowsGroupStruct *x = a, *y = b;
  double xs = rowsShare(&x->line, all), ys = rowsShare(&y->line, all);

  if (xs != ys)
    return xs > ys ? -1 : 1;
  return x->line.group < y->line.group ? -1 : x->line.group > y->line.group;
}

/* rowsAdd -- add what a site has to the group with this number, which may be new */
static Res rowsAdd(RowsGroup *group, Count *count, Count *capacity, uint32_t number, const SiteLineStruct *line)
{
  if (number == 0 || (number > *count && !Grow(group, capacity, *count, sizeof **group)))
    return ResMEMORY;
  if (number > *count)
    (*group)[(*count)++] = (RowsGroupStruct){.line = {.group = number - 1}};
  SiteLineAdd(&(*group)[number - 1].line, line);
  return ResOK;
}

/* rowsGroup -- add a site to its stack, and to its caller */
static Res rowsGroup(Rows rows, uint32_t number, uint32_t *groupReturn)
{
  CodePlaceStruct frames[CodeFramesMAX];
  Count count = CodeNamesFrames(frames, rows->shared->names, SiteNumbersAt(&rows->shared->numbers, number));
  Index at = CodeNamesCaller(rows->shared->names, frames, count);
  SiteLineStruct one = SiteLineOf(&rows->shared->book, number);
  uint32_t stack, caller;

  AVER(count > 0 && count <= CodeFramesMAX && at < count);
  stack = StringsAdd(&rows->stacks, (const char *)frames, count * sizeof *frames);
  caller = StringsAdd(&rows->callers, (const char *)&frames[at], sizeof frames[at]);
  if (rowsAdd(&rows->group, &rows->groups, &rows->capacity, stack, &one) != ResOK ||
      rowsAdd(&rows->caller, &rows->callerCount, &rows->callerCapacity, caller, &one) != ResOK)
    return ResMEMORY;
  rows->group[stack - 1].caller = caller - 1;
  SiteLineAdd(&rows->all, &one);
  *groupReturn = stack - 1;
  return ResOK;
}

/* rowsLargest -- mark the largest callers: `row` is not 0 */
static Res rowsLargest(Rows rows)
{
  RowsGroup sorted = malloc((rows->callerCount + 1) * sizeof *sorted);
  Index i;

  if (sorted == NULL)
    return ResMEMORY;
  for (i = 0; i < rows->callerCount; ++i) /* there may be none, and then no memory to copy from */
    sorted[i] = rows->caller[i];
  qsort_r(sorted, rows->callerCount, sizeof *sorted, rowsCompare, &rows->all);
  for (i = 0; i < rows->callerCount && i < RowsCALLERS; ++i)
    rows->caller[sorted[i].line.group].row = 1;
  free(sorted);
  return ResOK;
}

/* rowsRest -- give the other stacks of the largest callers their rows, and all that is left the last one */
static void rowsRest(Rows rows)
{
  Index i;

  for (i = rows->singles; i < rows->groups; ++i) {
    RowsGroup caller = &rows->caller[rows->group[i].caller];
    if (caller->row == 1) {
      rows->rest[rows->rows] = rows->group[i].caller;
      caller->row = (uint32_t)rows->rows++ + 2; /* 1 is a mark */
    }
  }
  for (i = 0; i < rows->groups; ++i) {
    RowsGroup stack = &rows->group[i];
    uint32_t rest = rows->caller[stack->caller].row;
    stack->row = (uint32_t)(i < rows->singles ? i : rest > 1 ? rest - 2 : rows->rows);
    SiteLineAdd(&rows->line[stack->row], &stack->line);
  }
  ++rows->rows;
}

/* rowsAssign -- which row each stack has */
static Res rowsAssign(Rows rows)
{
  uint32_t *row = calloc(rows->groups + 1, sizeof *row);
  Index i;

  rows->line = calloc(RowsSTACKS + RowsCALLERS + 1, sizeof *rows->line);
  rows->rest = calloc(RowsSTACKS + RowsCALLERS + 1, sizeof *rows->rest);
  if (row == NULL || rows->line == NULL || rows->rest == NULL || rowsLargest(rows) != ResOK) {
    free(row);
    return ResMEMORY;
  }
  if (rows->groups > 0)
    qsort_r(rows->group, rows->groups, sizeof *rows->group, rowsCompare, &rows->all);
  rows->singles = rows->rows = rows->groups < RowsSTACKS ? rows->groups : RowsSTACKS;
  rowsRest(rows);
  for (i = 0; i < rows->groups; ++i)
    row[rows->group[i].line.group] = rows->group[i].row;
  for (i = 1; i < rows->numbers; ++i)
    rows->row[i] = row[rows->row[i]];
  free(row);
  return ResOK;
}

Res RowsMake(Rows rows, ViewHeap shared)
{
  uint32_t number;
  Res res = CodeNamesRead(shared->names);

  *rows = (RowsStruct){.shared = shared, .numbers = shared->numbers.count + 1};
  if (shared->book.count < rows->numbers)
    rows->numbers = shared->book.count;
  rows->row = calloc(rows->numbers + 1, sizeof *rows->row);
  if (rows->row == NULL)
    res = ResMEMORY;
  for (number = 1; number < rows->numbers && res == ResOK; ++number)
    res = rowsGroup(rows, number, &rows->row[number]);
  return res == ResOK ? rowsAssign(rows) : res;
}

void RowsFinish(Rows rows)
{
  StringsFinish(&rows->stacks);
  StringsFinish(&rows->callers);
  StringsFinish(&rows->places);
  free(rows->group);
  free(rows->caller);
  free(rows->line);
  free(rows->rest);
  free(rows->row);
}

Index RowsOf(Rows rows, const SiteStruct *site)
{
  uint32_t number = SiteNumbersAdd(&rows->shared->numbers, site);

  return number > 0 && number < rows->numbers ? rows->row[number] : rows->rows - 1;
}

/* rowsPlace -- print a place of `places`: its members, and `name`, in words */
static void rowsPlace(FILE *out, Rows rows, uint32_t number)
{
  CodeNames names = rows->shared->names;
  CodePlaceStruct place;
  Size size;
  char *name = NULL;
  FILE *text;

  memcpy(&place, StringsAt(&rows->places, number, &size), sizeof place);
  text = open_memstream(&name, &size);
  if (text != NULL) {
    CodeNamesShort(text, names, &place);
    (void)fclose(text);
  }
  putc('{', out);
  CodeNamesJson(out, names, &place);
  fputs(", \"name\": ", out);
  JsonBytes(out, name, name == NULL ? 0 : size);
  putc('}', out);
  free(name);
}

/* rowsFunction -- the number of a place in `functions` */
static uint32_t rowsFunction(Rows rows, const CodePlaceStruct *place)
{
  return StringsAdd(&rows->places, (const char *)place, sizeof *place) - 1;
}

/* rowsStack -- print the frames of a stack, as places in `functions`, and which of them is the caller that counts */
static void rowsStack(FILE *out, Rows rows, Index row)
{
  CodePlaceStruct frames[CodeFramesMAX];
  Size size;
  const char *bytes = StringsAt(&rows->stacks, (uint32_t)rows->group[row].line.group + 1, &size);
  Count count = size / sizeof *frames;
  Index i;

  AVER(count > 0 && count <= CodeFramesMAX);
  memcpy(frames, bytes, size);
  fputs("\"stack\": [", out);
  for (i = 0; i < count; ++i)
    fprintf(out, "%s%u", i == 0 ? "" : ", ", rowsFunction(rows, &frames[i]));
  fprintf(out, "], \"function\": %u, ",
          rowsFunction(rows, &frames[CodeNamesCaller(rows->shared->names, frames, count)]));
}

/* rowsCaller -- print the caller whose other stacks a row has */
static void rowsCaller(FILE *out, Rows rows, Index row)
{
  CodePlaceStruct place;
  Size size;

  memcpy(&place, StringsAt(&rows->callers, rows->rest[row] + 1, &size), sizeof place);
  fprintf(out, "\"rest\": true, \"stack\": [], \"function\": %u, ", rowsFunction(rows, &place));
}

void RowsJson(FILE *out, Rows rows)
{
  Index i;

  fputs("\"sites\": [", out);
  for (i = 0; i < rows->rows; ++i) {
    fputs(i == 0 ? "\n  {" : ",\n  {", out);
    if (i < rows->singles)
      rowsStack(out, rows, i);
    else if (i + 1 < rows->rows)
      rowsCaller(out, rows, i);
    else
      fputs("\"other\": true, \"stack\": [], ", out);
    SiteLineJson(out, &rows->line[i]);
    putc('}', out);
  }
  fputs("],\n \"functions\": [", out);
  for (i = 1; i <= rows->places.count; ++i) {
    fputs(i == 1 ? "\n  " : ",\n  ", out);
    rowsPlace(out, rows, (uint32_t)i);
  }
  putc(']', out);
}
