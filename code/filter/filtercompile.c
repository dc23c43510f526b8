/* filtercompile.c -- a filter's tree becomes steps, for one type of event
 *
 * A step asks one question of an event and says where to go on, so that &&, || and ! cost nothing: they are in how the
 * steps are tied together.  They are made from the last to the first, each when it is known where its answers lead; a
 * question whose answer is the same for each event of the type is no step, and a plan without steps is an answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/grow.h"
#include "filter/filterdata.h"
#include "log/processname.h"

typedef struct PlanStruct {
  Filter filter;
  LogProcess process;
  EventType type;
  uint16_t count; /* of the steps in the filter's scratch */
} PlanStruct, *Plan;

int FilterParam(EventType type, FilterOperand operand, FilterClass class)
{
  FilterToken token = operand->token;
  Index i;

  for (i = 0; i < type->params; ++i)
    if (type->paramLength[i] == token->stringLength &&
        memcmp(type->param[i], token->string, token->stringLength) == 0 &&
        (type->letter[i] == 'S') == (class == FilterClassSTRING))
      return (int)i;
  return -1;
}

/* planStep -- add a step; none is needed if both answers lead to the same place */
static uint16_t planStep(Plan plan, FilterTest test, FilterAsk ask, Index offset, uint16_t yes, uint16_t no)
{
  FilterStep step = &plan->filter->scratch[plan->count];

  if (yes == no)
    return yes;
  AVER(plan->count < FilterTestSTEPS * plan->filter->tests);
  step->ask = (uint16_t)ask;
  step->offset = (uint16_t)offset;
  step->yes = yes;
  step->no = no;
  step->lo = test->range.lo;
  step->span = test->range.hi - test->range.lo;
  step->test = test;
  return plan->count++;
}

/* planRange -- a test of a number that lies between 0 and `most`; no step if all or no values are in the range */
static uint16_t planRange(Plan plan, FilterTest test, FilterAsk ask, Index offset, uint64_t most, uint16_t yes,
                          uint16_t no)
{
  FilterRange range = &test->range;

  if (range->lo > range->hi || range->lo > most)
    return no;
  if (range->lo == 0 && range->hi >= most)
    return yes;
  return planStep(plan, test, ask, offset, yes, no);
}

/* planWord -- a P, A, W or U of an event */
static uint16_t planWord(Plan plan, FilterTest test, Index i, uint16_t yes, uint16_t no)
{
  EventType type = plan->type;
  uint64_t most = type->width[i] == 8 ? UINT64_MAX : UINT32_MAX;

  if (plan->process->header.widths.swapped)
    return planRange(plan, test, FilterAskWORD, i, most, yes, no);
  return planRange(plan, test, type->width[i] == 8 ? FilterAskWORD8 : FilterAskWORD4, type->offset[i], most, yes, no);
}

/* planTime -- a test of the time; all events are within [filter->from, filter->to) */
static uint16_t planTime(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  FilterRange range = &test->range;
  Filter filter = plan->filter;

  if (range->lo > range->hi || filter->from >= filter->to || range->hi < filter->from || range->lo >= filter->to)
    return no;
  if (range->lo <= filter->from && range->hi >= filter->to - 1)
    return yes;
  return planStep(plan, test, FilterAskTIME, 0, yes, no);
}

/* fixedNumber, fixedString -- a field that all events of a type in a process have in common */
static uint64_t fixedNumber(LogProcess process, EventType type, FilterField field)
{
  return field == FilterFieldKIND ? type->kind : field == FilterFieldCODE ? type->code : process->header.pid;
}

static const char *fixedString(LogProcess process, EventType type, FilterField field, Size *lengthReturn)
{
  const char *string = field == FilterFieldKIND ? process->registry->kind[type->kind] : process->header.program;

  *lengthReturn = field == FilterFieldNAME ? type->nameLength : strlen(string);
  return field == FilterFieldNAME ? type->name : string;
}

static uint16_t planNumber(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  FilterRange range = &test->range;
  uint64_t value;
  int param;

  switch (test->left.field) {
  case FilterFieldTIME:
    return planTime(plan, test, yes, no);
  case FilterFieldTID:
    return planRange(plan, test, FilterAskTID, 0, UINT32_MAX, yes, no);
  case FilterFieldCPU:
    return planRange(plan, test, FilterAskCPU, 0, LogCpuUNKNOWN - 1, yes, no);
  case FilterFieldPARAM:
    param = FilterParam(plan->type, &test->left, FilterClassNUMBER);
    AVER(param >= 0);
    if (plan->type->letter[param] == 'D')
      return planStep(plan, test, FilterAskREAL, (Index)param, yes, no);
    return planWord(plan, test, (Index)param, yes, no);
  default:
    value = fixedNumber(plan->process, plan->type, test->left.field);
    return value >= range->lo && value <= range->hi ? yes : no;
  }
}

const char *FilterProgram(FilterTest test, LogProcess process)
{
  const char *program = HeaderProgram(&process->header);
  FilterToken token = test->right.token;

  if (test->relation == FilterMarkMATCH || memchr(token->string, '/', token->stringLength) != NULL)
    return process->header.program;
  if (strlen(program) == token->stringLength && memcmp(program, token->string, token->stringLength) == 0)
    return program;
  return HeaderCalled(&process->header);
}

static uint16_t planString(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  FilterField field = test->left.field;
  const char *string;
  Size length;
  int param;

  if (field == FilterFieldPARAM) {
    param = FilterParam(plan->type, &test->left, FilterClassSTRING);
    AVER(param >= 0);
    return planStep(plan, test, FilterAskSTRING, (Index)param, yes, no);
  }
  string = fixedString(plan->process, plan->type, field, &length);
  if (field == FilterFieldPROCESS) {
    string = FilterProgram(test, plan->process);
    length = strlen(string);
  }
  return FilterStringHolds(test, string, length) ? yes : no;
}

/* planLacks -- is an operand a parameter that the type lacks? */
static Bool planLacks(Plan plan, FilterOperand operand, FilterClass class)
{
  return operand->token->mark == FilterMarkNAME && operand->field == FilterFieldPARAM &&
         FilterParam(plan->type, operand, class) < 0;
}

/* planCpu -- is an operand the processor, which some events do not have? */
static Bool planCpu(FilterOperand operand)
{
  return operand->token->mark == FilterMarkNAME && operand->field == FilterFieldCPU;
}

/* planCpuKnown -- a step before the comparison: if the processor is not known, no comparison holds */
static uint16_t planCpuKnown(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  uint16_t step = planStep(plan, test, FilterAskCPU, 0, yes, no);

  if (yes != no) {
    plan->filter->scratch[step].lo = 0;
    plan->filter->scratch[step].span = LogCpuUNKNOWN - 1;
  }
  return step;
}

/* planHolds -- a test of one comparison of the event's own values */
static uint16_t planHolds(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  if (test->right.token->mark == FilterMarkNAME)
    return planStep(plan, test, FilterAskPAIR, 0, yes, no);
  return test->class == FilterClassNUMBER ? planNumber(plan, test, yes, no) : planString(plan, test, yes, no);
}

/* planTest -- one comparison */
static uint16_t planTest(Plan plan, FilterTest test, uint16_t yes, uint16_t no)
{
  uint16_t first;

  if (planLacks(plan, &test->left, test->class) || planLacks(plan, &test->right, test->class))
    return no;
  first = test->negated ? planHolds(plan, test, no, yes) : planHolds(plan, test, yes, no);
  return planCpu(&test->left) || planCpu(&test->right) ? planCpuKnown(plan, test, first, no) : first;
}

/* planNode -- the steps that lead to `yes` if a part of the expression holds, else to `no`; returns the first */
static uint16_t planNode(Plan plan, FilterNode node, uint16_t yes, uint16_t no)
{
  switch (node->op) {
  case FilterNodeAND:
    return planNode(plan, node->left, planNode(plan, node->right, yes, no), no);
  case FilterNodeOR:
    return planNode(plan, node->left, yes, planNode(plan, node->right, yes, no));
  case FilterNodeNOT:
    return planNode(plan, node->left, no, yes);
  default:
    return planTest(plan, node->test, yes, no);
  }
}

static FilterPlan planMake(Filter filter, LogProcess process, EventType type)
{
  static FilterPlanStruct yes = {.first = FilterStepTRUE}, no = {.first = FilterStepFALSE};
  PlanStruct plan = {filter, process, type, 0};
  uint16_t first = planNode(&plan, filter->root, FilterStepTRUE, FilterStepFALSE);
  FilterPlan made;

  if (first >= FilterStepFALSE)
    return first == FilterStepTRUE ? &yes : &no;
  made = malloc(sizeof *made + plan.count * sizeof made->step[0]);
  if (made == NULL)
    return NULL;
  made->first = first;
  made->count = plan.count;
  memcpy(made->step, filter->scratch, plan.count * sizeof made->step[0]);
  return made;
}

/* planPlans -- the table of plans for a process: a new one, or that of another process with the same types */
static FilterPlans planPlans(Filter filter, LogProcess process)
{
  FilterPlans plans;

  for (plans = filter->plans; plans != NULL; plans = plans->next)
    if (plans->registry == process->registry && (!filter->own || plans->process == process))
      return plans;
  plans = calloc(1, sizeof *plans + process->registry->count * sizeof plans->plan[0]);
  if (plans == NULL)
    return NULL;
  plans->process = process;
  plans->registry = process->registry;
  plans->next = filter->plans;
  filter->plans = plans;
  return plans;
}

/* planProcess -- make room for a process in the table by number */
static Bool planProcess(Filter filter, Index number)
{
  while (number >= filter->processes) {
    Count before = filter->processes;
    if (!Grow(&filter->by, &filter->processes, before, sizeof *filter->by))
      return FALSE;
    memset(filter->by + before, 0, (filter->processes - before) * sizeof *filter->by);
  }
  return TRUE;
}

FilterPlan FilterPlanFor(Filter filter, LogProcess process, EventType type)
{
  Index i = type->number;
  FilterPlans plans = NULL;

  AVER(i < process->registry->count);
  if (planProcess(filter, process->number)) {
    plans = filter->by[process->number];
    if (plans == NULL || plans->registry != process->registry)
      filter->by[process->number] = plans = planPlans(filter, process);
  }
  if (plans != NULL && plans->plan[i] == NULL)
    plans->plan[i] = planMake(filter, process, type);
  if (plans == NULL || plans->plan[i] == NULL) {
    filter->res = ResMEMORY;
    return NULL;
  }
  return plans->plan[i];
}

/* ---- Does an event pass? ---- */

/* runOrder -- compare two strings: below 0, 0, above */
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
  if (operand->field == FilterFieldPARAM)
    return LogEventString(event, (Index)FilterParam(event->type, operand, FilterClassSTRING), lengthReturn);
  return fixedString(event->process, event->type, operand->field, lengthReturn);
}

/* runNumber -- an operand of an event as a number; *realReturn instead if it is a double */
static uint64_t runNumber(FilterOperand operand, LogEvent event, Bool *isReal, double *realReturn)
{
  Index i;

  *isReal = FALSE;
  if (operand->field == FilterFieldTID)
    return event->thread;
  if (operand->field == FilterFieldCPU)
    return event->cpu;
  if (operand->field != FilterFieldPARAM)
    return fixedNumber(event->process, event->type, operand->field);
  i = (Index)FilterParam(event->type, operand, FilterClassNUMBER);
  *isReal = event->type->letter[i] == 'D';
  if (*isReal)
    *realReturn = LogEventDouble(event, i);
  return LogEventWord(event, i);
}

/* runPair -- are two fields in the test's relation? */
static Bool runPair(FilterTest test, LogEvent event)
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

/* runRare -- the tests that take longer */
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
    return runPair(step->test, event);
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
