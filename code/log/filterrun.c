/* filterrun.c -- does an event pass?
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "log/filterdata.h"

/* runOrder -- how two strings stand: below 0, 0, above */
static int runOrder(const char *a, Size n, const char *b, Size m)
{
  int order = memcmp(a, b, n < m ? n : m);

  return order != 0 ? order : (n > m) - (n < m);
}

static Bool runRelation(FilterMark relation, int order)
{
  switch (relation) {
  case FilterMarkEQ: return order == 0;
  case FilterMarkLT: return order < 0;
  case FilterMarkLE: return order <= 0;
  case FilterMarkGT: return order > 0;
  default: return order >= 0;
  }
}

Bool FilterStringHolds(FilterTest test, const char *string, Size length)
{
  FilterToken right = test->right.token;

  if (test->relation == FilterMarkMATCH)
    return FilterPatternMatches(test, string, length);
  if (test->relation == FilterMarkIN)
    return runOrder(string, length, right->string, right->stringLength) >= 0 &&
           runOrder(string, length, test->last.token->string, test->last.token->stringLength) <= 0;
  if (test->relation == FilterMarkEQ)
    return length == right->stringLength && memcmp(string, right->string, length) == 0;
  return runRelation(test->relation, runOrder(string, length, right->string, right->stringLength));
}

/* runString -- an operand of an event as a string */
static const char *runString(FilterOperand operand, LogEvent event, Size *lengthReturn)
{
  const char *string = event->process->header.program;

  if (operand->field == FilterFieldPARAM)
    return LogEventString(event, (Index)FilterParam(event->type, operand, FilterClassSTRING), lengthReturn);
  if (operand->field == FilterFieldNAME) {
    *lengthReturn = event->type->nameLength;
    return event->type->name;
  }
  if (operand->field == FilterFieldKIND)
    string = event->process->registry->kind[event->type->kind];
  *lengthReturn = strlen(string);
  return string;
}

/* runNumber -- an operand of an event as a number; *realReturn instead if it is a double */
static uint64_t runNumber(FilterOperand operand, LogEvent event, Bool *isReal, double *realReturn)
{
  Index i;

  *isReal = FALSE;
  switch (operand->field) {
  case FilterFieldPID:
    return event->process->header.pid;
  case FilterFieldTID:
    return event->thread;
  case FilterFieldKIND:
    return event->type->kind;
  case FilterFieldCODE:
    return event->type->code;
  case FilterFieldCPU:
    return event->cpu;
  default:
    i = (Index)FilterParam(event->type, operand, FilterClassNUMBER);
    *isReal = event->type->letter[i] == 'D';
    if (*isReal)
      *realReturn = LogEventDouble(event, i);
    return LogEventWord(event, i);
  }
}

Bool FilterPairHolds(FilterTest test, LogEvent event)
{
  double real[2];
  uint64_t word[2];
  Bool isReal[2];
  long double a, b;

  if (test->class == FilterClassSTRING) {
    Size n, m;
    const char *left = runString(&test->left, event, &n), *right = runString(&test->right, event, &m);
    return runRelation(test->relation, runOrder(left, n, right, m));
  }
  word[0] = runNumber(&test->left, event, &isReal[0], &real[0]);
  word[1] = runNumber(&test->right, event, &isReal[1], &real[1]);
  if (!isReal[0] && !isReal[1])
    return runRelation(test->relation, (word[0] > word[1]) - (word[0] < word[1]));
  a = isReal[0] ? (long double)real[0] : (long double)word[0];
  b = isReal[1] ? (long double)real[1] : (long double)word[1];
  return a == a && b == b && runRelation(test->relation, (a > b) - (a < b));
}

/* runRare -- the answers that take longer */
static __attribute__((noinline)) Bool runRare(const FilterStepStruct *step, LogEvent event)
{
  const char *string;
  double real;
  Size length;

  switch ((FilterAsk)step->ask) {
  case FilterAskWORD:
    return LogEventWord(event, step->offset) - step->lo <= step->span;
  case FilterAskCPU:
    return event->cpu - step->lo <= step->span;
  case FilterAskREAL:
    real = LogEventDouble(event, step->offset);
    return real >= step->test->lo && real <= step->test->hi;
  case FilterAskSTRING:
    string = LogEventString(event, step->offset, &length);
    return FilterStringHolds(step->test, string, length);
  default:
    return FilterPairHolds(step->test, event);
  }
}

Bool FilterMatches(Filter filter, LogEvent event)
{
  LogProcess process = event->process;
  FilterPlans plans = process->number < filter->processes ? filter->by[process->number] : NULL;
  FilterPlan plan = NULL;
  uint64_t value;
  uint32_t small;
  uint16_t at;

  if (LIKELY(plans != NULL && plans->registry == process->registry))
    plan = plans->plan[event->type - process->registry->types];
  if (UNLIKELY(plan == NULL) && (plan = FilterPlanFor(filter, process, event->type)) == NULL)
    return FALSE;
  for (at = plan->first; at < FilterStepFALSE;) {
    const FilterStepStruct *step = &plan->step[at];
    Bool holds;
    switch ((FilterAsk)step->ask) {
    case FilterAskWORD8:
      memcpy(&value, event->bytes + step->offset, sizeof value);
      holds = value - step->lo <= step->span;
      break;
    case FilterAskWORD4:
      memcpy(&small, event->bytes + step->offset, sizeof small);
      holds = small - step->lo <= step->span;
      break;
    case FilterAskTIME:
      holds = event->time - step->lo <= step->span;
      break;
    case FilterAskTID:
      holds = event->thread - step->lo <= step->span;
      break;
    default:
      holds = runRare(step, event);
    }
    at = holds ? step->yes : step->no;
  }
  return at == FilterStepTRUE;
}
