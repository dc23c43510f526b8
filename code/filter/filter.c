/* filter.c -- which events somebody wants, as an expression
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "filter/filter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "filter/filterdata.h"
#include "request/traceset.h"

enum { filterBeforeMAX = 60, filterShownMAX = 100 }; /* letters of the expression that are shown with an error */

/* filterContinues -- is the byte a later one of a letter in UTF-8? */
static Bool filterContinues(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

/* filterPoint -- the part of the expression around a place, and under it what points there */
static void filterPoint(Text text, const char *expression, Size at)
{
  Size from = at > filterBeforeMAX ? at - filterBeforeMAX : 0, i;

  while (filterContinues(expression[from]))
    ++from;
  TextString(text, "\n  ");
  for (i = from; expression[i] != '\0' && i < from + filterShownMAX; ++i)
    TextChar(text, (unsigned char)expression[i] < ' ' || expression[i] == 0x7f ? ' ' : expression[i]);
  TextString(text, "\n  ");
  for (i = from; i < at; ++i)
    if (!filterContinues(expression[i]))
      TextChar(text, ' ');
  TextChar(text, '^');
}

Res FilterFail(Filter filter, Size at, const char *format, ...)
{
  Text text = filter->error;
  Size column = 1, i;
  char room[1024];
  va_list args;

  for (i = 0; i < at; ++i)
    column += !filterContinues(filter->text[i]);
  va_start(args, format);
  (void)vsnprintf(room, sizeof room, format, args);
  va_end(args);
  TextString(text, "column ");
  TextDecimal(text, column);
  TextString(text, ": ");
  TextString(text, room);
  filterPoint(text, filter->text, at);
  return ResPARAM;
}

/* filterRoom -- memory for all that an expression of `length` bytes can become; FALSE: there is none */
static Bool filterRoom(Filter filter, const char *expression, Size length)
{
  Count tests = length + 1 < FilterTestsMAX + 1 ? length + 1 : FilterTestsMAX + 1; /* one that is too many */

  filter->text = strdup(expression);
  filter->strings = malloc(length + 1);
  filter->token = calloc(length + 2, sizeof *filter->token);
  filter->node = calloc(length + 2, sizeof *filter->node);
  filter->test = calloc(tests, sizeof *filter->test);
  filter->scratch = calloc(tests, FilterTestSTEPS * sizeof *filter->scratch);
  return filter->text != NULL && filter->strings != NULL && filter->token != NULL && filter->node != NULL &&
         filter->test != NULL && filter->scratch != NULL;
}

Res FilterMake(Filter *filterReturn, Log log, const char *expression, char *error, Size size)
{
  Size length = strlen(expression);
  TextStruct text;
  Filter filter;
  Res res = ResMEMORY;

  TextInit(&text, error, size);
  if (length > FilterLengthMAX) {
    (void)snprintf(error, size, "the expression is longer than %d bytes", FilterLengthMAX);
    return ResPARAM;
  }
  filter = calloc(1, sizeof *filter);
  if (filter != NULL && filterRoom(filter, expression, length)) {
    filter->log = log;
    filter->to = UINT64_MAX;
    filter->error = &text;
    LogSummarize(&filter->summary, log);
    res = FilterParse(filter);
    if (res == ResOK)
      res = FilterCheckTests(filter);
  }
  if (res == ResMEMORY)
    TextString(&text, "no memory");
  (void)TextTerminate(&text);
  if (res != ResOK) {
    FilterFree(filter);
    return res;
  }
  filter->error = NULL;
  *filterReturn = filter;
  return ResOK;
}

static void filterFreePlans(FilterPlans plans)
{
  while (plans != NULL) {
    FilterPlans next = plans->next;
    Index i;
    for (i = 0; i < plans->registry->count; ++i)
      if (plans->plan[i] != NULL && plans->plan[i]->count > 0) /* the two without steps are nobody's */
        free(plans->plan[i]);
    free(plans);
    plans = next;
  }
}

void FilterFree(Filter filter)
{
  Index i;

  if (filter == NULL)
    return;
  filterFreePlans(filter->plans);
  for (i = 0; i < filter->tests; ++i)
    if (filter->test[i].compiled)
      regfree(&filter->test[i].regex);
  free((char *)filter->text);
  free(filter->strings);
  free(filter->token);
  free(filter->node);
  free(filter->test);
  free(filter->scratch);
  free(filter->by);
  free(filter);
}

/* When a part of an expression can hold; never: lo > hi. */
static const FilterRangeStruct filterEver = {0, UINT64_MAX}, filterNever = {1, 0};

/* filterOutside -- when a time is outside of a range: two ranges become the one that has both */
static FilterRangeStruct filterOutside(FilterRangeStruct range)
{
  if (range.lo > range.hi)
    return filterEver;
  if (range.lo == 0)
    return range.hi == UINT64_MAX ? filterNever : (FilterRangeStruct){range.hi + 1, UINT64_MAX};
  return range.hi == UINT64_MAX ? (FilterRangeStruct){0, range.lo - 1} : filterEver;
}

static FilterRangeStruct filterBoth(FilterRangeStruct a, FilterRangeStruct b)
{
  return (FilterRangeStruct){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

static FilterRangeStruct filterEither(FilterRangeStruct a, FilterRangeStruct b)
{
  if (a.lo > a.hi || b.lo > b.hi)
    return a.lo > a.hi ? b : a;
  return (FilterRangeStruct){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* filterWhen -- outside of which times a part of the expression, or what it denies, does not hold */
static FilterRangeStruct filterWhen(FilterNode node, Bool denied)
{
  FilterRangeStruct left, right;

  if (node->op == FilterNodeNOT)
    return filterWhen(node->left, !denied);
  if (node->op == FilterNodeTEST) {
    if (node->test->left.field != FilterFieldTIME)
      return filterEver;
    return denied != node->test->negated ? filterOutside(node->test->range) : node->test->range;
  }
  left = filterWhen(node->left, denied);
  right = filterWhen(node->right, denied);
  return (node->op == FilterNodeAND) != denied ? filterBoth(left, right) : filterEither(left, right);
}

void FilterTimes(Filter filter, uint64_t *fromInOut, uint64_t *toInOut)
{
  FilterRangeStruct when = filterWhen(filter->root, FALSE);

  AVER(filter->plans == NULL);
  if (when.lo > when.hi) {
    *toInOut = *fromInOut;
  } else {
    if (when.lo > *fromInOut)
      *fromInOut = when.lo;
    if (when.hi != UINT64_MAX && when.hi + 1 < *toInOut)
      *toInOut = when.hi + 1;
  }
  filter->from = *fromInOut;
  filter->to = *toInOut;
}

Bool FilterChooses(Filter filter, LogProcess process, EventType type)
{
  FilterPlan plan = FilterPlanFor(filter, process, type);

  return plan == NULL || plan->first != FilterStepFALSE;
}

uint32_t FilterKinds(Filter filter)
{
  uint32_t mask = 0;
  Index i, t;

  if (filter->log->follow != NULL)
    return UINT32_MAX;
  for (i = 0; i < filter->log->table.processes; ++i) {
    LogProcess process = LogProcessAt(filter->log, i);
    for (t = 0; t < process->registry->count; ++t)
      if (FilterChooses(filter, process, &process->registry->types[t]))
        mask |= (uint32_t)1 << process->registry->types[t].kind;
  }
  return mask;
}

Bool FilterExhausted(Filter filter)
{
  Index i, t;

  if (filter->log->follow != NULL)
    return FALSE;
  for (i = 0; i < filter->log->table.processes; ++i) {
    LogProcess process = LogProcessAt(filter->log, i);
    for (t = 0; t < process->registry->count; ++t) {
      FilterPlan plan = FilterPlanFor(filter, process, &process->registry->types[t]);
      if (plan == NULL || plan->count > 0)
        return FALSE;
    }
  }
  return TRUE;
}

static Bool filterChoose(void *data, LogProcess process, EventType type)
{
  return FilterChooses(data, process, type);
}

static Bool filterAccept(void *data, LogEvent event)
{
  return FilterMatches(data, event);
}

void PawRequestFilter(PawRequest *request, PawFilter filter)
{
  Bool own = request->choose != NULL;

  if (request->from < filter->from)
    request->from = filter->from;
  if (request->to > filter->to)
    request->to = filter->to;
  request->kinds &= FilterKinds(filter);
  if (!own) {
    request->choose = filterChoose;
    request->chooseData = filter;
  }
  if (own || !FilterExhausted(filter)) {
    request->accept = filterAccept;
    request->acceptData = filter;
  }
}

Res FilterRes(Filter filter)
{
  return filter != NULL ? filter->res : ResOK;
}

Bool FilterCheck(Filter filter)
{
  FilterPlans plans;
  Index i, s;

  for (plans = filter->plans; plans != NULL; plans = plans->next)
    for (i = 0; i < plans->registry->count; ++i) {
      FilterPlan plan = plans->plan[i];
      if (plan == NULL)
        continue;
      AVER(plan->first < plan->count || plan->first >= FilterStepFALSE);
      for (s = 0; s < plan->count; ++s) {
        AVER(plan->step[s].yes < s || plan->step[s].yes >= FilterStepFALSE);
        AVER(plan->step[s].no < s || plan->step[s].no >= FilterStepFALSE);
      }
    }
  return filter->root != NULL && filter->from <= filter->to;
}
