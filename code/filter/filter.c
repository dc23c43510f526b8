/* filter.c -- which events a user wants, as an expression
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
#include "log/typenames.h"
#include "request/traceset.h"

enum { filterBeforeMAX = 60, filterShownMAX = 100 }; /* letters of the expression that are shown with an error */

/* filterContinues -- is this a continuation byte of UTF-8? */
static Bool filterContinues(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

/* filterPoint -- print the part of the expression around a position, and below it a mark that points there */
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

/* filterRoom -- allocate for the largest tree and tests that an expression of `length` bytes can have; FALSE: no
 * memory */
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
  AVER(FilterCheck(filter));
  *filterReturn = filter;
  return ResOK;
}

static void filterFreePlans(FilterPlans plans)
{
  while (plans != NULL) {
    FilterPlans next = plans->next;
    Index i;
    for (i = 0; i < plans->registry->count; ++i)
      if (plans->plan[i] != NULL && plans->plan[i]->count > 0) /* the two without steps are static */
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

/* The range of times in which a part of an expression can hold; never: lo > hi. */
static const FilterRangeStruct filterEver = {0, UINT64_MAX}, filterNever = {1, 0};

/* filterOutside -- the times outside of a range: of two such ranges, the hull */
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

/* filterWhen -- the range of times outside of which a part of the expression, or its denial, cannot hold */
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

  AVER(filter->plans == NULL && *fromInOut <= *toInOut);
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

static Bool filterChoose(void *data, LogProcess process, EventType type)
{
  return FilterChooses(data, process, type);
}

/* filterAsks -- must the expression be evaluated for events of this type? */
static Bool filterAsks(void *data, LogProcess process, EventType type)
{
  FilterPlan plan = FilterPlanFor(data, process, type);

  return plan == NULL || plan->count > 0;
}

/* filterKinds -- a bit for each kind of which an event can pass; all kinds if the log still grows */
static uint32_t filterKinds(Filter filter)
{
  return filter->log->follow != NULL ? UINT32_MAX : LogKindsOf(filter->log, filterChoose, filter);
}

Bool FilterExhausted(Filter filter)
{
  return filter->log->follow == NULL && LogKindsOf(filter->log, filterAsks, filter) == 0;
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
  request->kinds &= filterKinds(filter);
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

/* filterPlanCheck -- does each step lead to earlier steps or to an end? */
static Bool filterPlanCheck(FilterPlan plan)
{
  Index i;

  for (i = 0; i < plan->count; ++i)
    if ((plan->step[i].yes >= i && plan->step[i].yes < FilterStepFALSE) ||
        (plan->step[i].no >= i && plan->step[i].no < FilterStepFALSE))
      return FALSE;
  return plan->first < plan->count || plan->first >= FilterStepFALSE;
}

Bool FilterCheck(Filter filter)
{
  FilterPlans plans;
  Index i;

  for (plans = filter->plans; plans != NULL; plans = plans->next)
    for (i = 0; i < plans->registry->count; ++i)
      if (plans->plan[i] != NULL && !filterPlanCheck(plans->plan[i]))
        return FALSE;
  for (i = 0; i < filter->processes; ++i)
    if (filter->by[i] != NULL && filter->own && filter->by[i]->process->number != i)
      return FALSE;
  return filter->root != NULL && filter->from <= filter->to;
}
