/* filtermean.c -- what each comparison of a filter means, for the event types that the log knows
 *
 * Fields are found, types are held against each other, constants become ranges, patterns are compiled.  What can only
 * be a mistake is an error: a name, kind or program that the log does not have, an interval that holds nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "base/aver.h"
#include "log/filterdata.h"
#include "log/logset.h"
#include "log/near.h"
#include "log/when.h"

enum { meanNUMBER = 1, meanSTRING = 2, meanTIME = 4 }; /* what a field or a constant can be compared as */
enum { meanShownMAX = 40 };

static const struct {
  const char *name;
  FilterField field;
  unsigned classes;
} meanFields[] = {
  {"time", FilterFieldTIME, meanTIME},     {"pid", FilterFieldPID, meanNUMBER},
  {"tid", FilterFieldTID, meanNUMBER},     {"kind", FilterFieldKIND, meanNUMBER | meanSTRING},
  {"name", FilterFieldNAME, meanSTRING},   {"process", FilterFieldPROCESS, meanSTRING},
  {"code", FilterFieldCODE, meanNUMBER},   {"cpu", FilterFieldCPU, meanNUMBER},
};

typedef Bool (*MeanVisit)(void *data, Registry registry, EventType type);

/* meanEach -- call `visit` for each type of each registry, until it says TRUE */
static Bool meanEach(Log log, MeanVisit visit, void *data)
{
  Registry last = NULL;
  Index i, t;

  for (i = 0; i < log->table.processes; ++i) {
    Registry registry = LogProcessAt(log, i)->registry;
    for (t = 0; registry != last && t < registry->count; ++t)
      if (visit(data, registry, &registry->types[t]))
        return TRUE;
    last = registry;
  }
  return FALSE;
}

static Bool meanSame(FilterToken token, const char *name, Size length)
{
  return token->stringLength == length && memcmp(token->string, name, length) == 0;
}

typedef struct meanLookStruct {
  FilterOperand operand; /* what is looked for, */
  unsigned classes;      /* what was found, */
  NearStruct near;       /* and what is like it */
} meanLookStruct;

static Bool meanParam(void *data, Registry registry, EventType type)
{
  meanLookStruct *look = data;
  Index i;

  UNUSED(registry);
  for (i = 0; i < type->params; ++i)
    NearOffer(&look->near, type->param[i], type->paramLength[i]);
  if (FilterParam(type, look->operand, FilterClassNUMBER) >= 0)
    look->classes |= meanNUMBER;
  if (FilterParam(type, look->operand, FilterClassSTRING) >= 0)
    look->classes |= meanSTRING;
  return look->classes == (meanNUMBER | meanSTRING);
}

static Bool meanName(void *data, Registry registry, EventType type)
{
  meanLookStruct *look = data;

  UNUSED(registry);
  NearOffer(&look->near, type->name, type->nameLength);
  return meanSame(look->operand->token, type->name, type->nameLength);
}

static Bool meanKind(void *data, Registry registry, EventType type)
{
  meanLookStruct *look = data;
  const char *kind = registry->kind[type->kind];

  NearOffer(&look->near, kind, strlen(kind));
  return meanSame(look->operand->token, kind, strlen(kind));
}

/* meanMissing -- nothing is called like that: say what is near */
static Res meanMissing(Filter filter, FilterToken token, const char *what, Near near)
{
  char room[512];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  NearTell(near, &text);
  return FilterFail(filter, token->at, "%s is called '%.*s'%s", what,
                    (int)(token->stringLength < meanShownMAX ? token->stringLength : meanShownMAX), token->string,
                    TextTerminate(&text));
}

/* meanField -- which field an operand is, and as what it can be compared */
static Res meanField(Filter filter, FilterOperand operand, unsigned *classesReturn)
{
  meanLookStruct look = {.operand = operand};
  Bool own = filter->text[operand->token->at] != '.';
  Index i;

  NearInit(&look.near, operand->token->string, operand->token->stringLength);
  for (i = 0; own && i < ARRAY_LENGTH(meanFields); ++i) {
    NearOffer(&look.near, meanFields[i].name, strlen(meanFields[i].name));
    if (meanSame(operand->token, meanFields[i].name, strlen(meanFields[i].name))) {
      operand->field = meanFields[i].field;
      *classesReturn = meanFields[i].classes;
      filter->own |= operand->field == FilterFieldPID || operand->field == FilterFieldPROCESS;
      return ResOK;
    }
  }
  operand->field = FilterFieldPARAM;
  (void)meanEach(filter->log, meanParam, &look);
  *classesReturn = look.classes;
  if (look.classes == 0)
    return meanMissing(filter, operand->token, "no field of any event", &look.near);
  return ResOK;
}

/* meanMixed -- two things that cannot be compared */
static Res meanMixed(Filter filter, FilterOperand left, unsigned classes, FilterOperand right)
{
  FilterToken a = left->token, b = right->token;
  const char *what = classes == meanTIME ? "a time" : classes == meanSTRING ? "a string" : "a number";
  const char *is = b->mark == FilterMarkNUMBER ? "a number" : b->mark == FilterMarkSTRING ? "a string"
                   : classes == meanTIME ? "no constant" : classes == meanSTRING ? "no string" : "no number";

  return FilterFail(filter, b->at, "'%.*s' is %s, and %.*s is %s", (int)a->length, filter->text + a->at, what,
                    (int)(b->length < meanShownMAX ? b->length : meanShownMAX), filter->text + b->at, is);
}

/* meanMoment -- a constant as ns since 1970, however far away */
static Res meanMoment(Filter filter, FilterToken token, FilterNumber numberReturn)
{
  char room[64];
  const char *text = token->mark == FilterMarkSTRING ? token->string : filter->text + token->at;
  Size length = token->mark == FilterMarkSTRING ? token->stringLength : token->length;
  double ns;

  *numberReturn = (FilterNumberStruct){.whole = TRUE};
  (void)snprintf(room, sizeof room, "%.*s", (int)length, text);
  if (strlen(room) == length && LogWhen(&numberReturn->integer, &filter->summary, room) == ResOK) {
    numberReturn->real = (double)numberReturn->integer;
    return ResOK;
  }
  if (token->mark == FilterMarkSTRING)
    return FilterFail(filter, token->at, "this is no time: HH:MM:SS, or seconds since the start");
  ns = token->number.real * 1e9;
  numberReturn->real = (double)filter->summary.first + ns;
  numberReturn->whole = ns > -9e18 && ns < 9e18 && numberReturn->real >= 0 && numberReturn->real < 1.8e19;
  if (numberReturn->whole)
    numberReturn->integer = filter->summary.first + (uint64_t)(int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
  return ResOK;
}

/* meanNumbers -- the ranges of a comparison with numbers, or moments */
static Res meanNumbers(Filter filter, FilterTest test, FilterNumber number, FilterNumber last)
{
  test->class = FilterClassNUMBER;
  test->range = FilterRangeMake(test->relation, number, last);
  FilterRealsMake(&test->lo, &test->hi, test->relation, number->real, last->real);
  if (test->relation == FilterMarkIN && number->real > last->real)
    return FilterFail(filter, test->right.token->at, "the interval ends before it begins");
  return ResOK;
}

static Res meanTimes(Filter filter, FilterTest test)
{
  FilterNumberStruct number, last = {.whole = FALSE};
  Res res;

  if (test->relation == FilterMarkMATCH)
    return meanMixed(filter, &test->left, meanTIME, &test->right);
  res = meanMoment(filter, test->right.token, &number);
  if (res == ResOK && test->relation == FilterMarkIN)
    res = meanMoment(filter, test->last.token, &last);
  return res == ResOK ? meanNumbers(filter, test, &number, &last) : res;
}

/* meanProgram -- is there a process that runs this program? */
static Res meanProgram(Filter filter, FilterTest test)
{
  NearStruct near;
  Index i;

  NearInit(&near, test->right.token->string, test->right.token->stringLength);
  for (i = 0; i < filter->log->table.processes; ++i) {
    const char *program = FilterProgram(test, LogProcessAt(filter->log, i));
    if (FilterStringHolds(test, program, strlen(program)))
      return ResOK;
    NearOffer(&near, program, strlen(program));
  }
  return meanMissing(filter, test->right.token, "no process", &near);
}

/* meanKnown -- is there anything that is called like that? */
static Res meanKnown(Filter filter, FilterTest test)
{
  meanLookStruct look = {.operand = &test->right};

  NearInit(&look.near, test->right.token->string, test->right.token->stringLength);
  if (test->left.field == FilterFieldNAME && !meanEach(filter->log, meanName, &look))
    return meanMissing(filter, test->right.token, "no event", &look.near);
  if (test->left.field == FilterFieldKIND && !meanEach(filter->log, meanKind, &look))
    return meanMissing(filter, test->right.token, "no kind", &look.near);
  if (test->left.field == FilterFieldPROCESS && filter->log->follow == NULL)
    return meanProgram(filter, test);
  return ResOK;
}

static Res meanStrings(Filter filter, FilterTest test)
{
  FilterToken from = test->right.token, to = test->last.token;

  test->class = FilterClassSTRING;
  if (test->relation == FilterMarkMATCH)
    return FilterPattern(filter, test);
  if (test->relation == FilterMarkEQ)
    return meanKnown(filter, test);
  if (test->relation == FilterMarkIN) {
    Size least = from->stringLength < to->stringLength ? from->stringLength : to->stringLength;
    int order = memcmp(from->string, to->string, least);
    if (order > 0 || (order == 0 && from->stringLength > to->stringLength))
      return FilterFail(filter, from->at, "the interval ends before it begins");
  }
  return ResOK;
}

/* meanPair -- two fields */
static Res meanPair(Filter filter, FilterTest test, unsigned classes)
{
  unsigned others;
  Res res = meanField(filter, &test->right, &others);

  if (res != ResOK)
    return res;
  if ((classes & others) == 0 || classes == meanTIME)
    return meanMixed(filter, &test->left, classes, &test->right);
  test->class = (classes & others & meanNUMBER) != 0 ? FilterClassNUMBER : FilterClassSTRING;
  return ResOK;
}

static Res meanTest(Filter filter, FilterTest test)
{
  static const FilterNumberStruct none;
  FilterToken last = test->last.token;
  unsigned classes, constant;
  Res res = meanField(filter, &test->left, &classes);

  if (res != ResOK)
    return res;
  if (test->right.token->mark == FilterMarkNAME)
    return meanPair(filter, test, classes);
  if (last != NULL && last->mark != test->right.token->mark && classes != meanTIME)
    return FilterFail(filter, last->at, "an interval has two numbers, or two strings");
  if (classes == meanTIME)
    return meanTimes(filter, test);
  constant = test->right.token->mark == FilterMarkNUMBER ? meanNUMBER : meanSTRING;
  if ((classes & constant) == 0)
    return meanMixed(filter, &test->left, classes, &test->right);
  if (constant == meanSTRING)
    return meanStrings(filter, test);
  return meanNumbers(filter, test, &test->right.token->number, last != NULL ? &last->number : (FilterNumber)&none);
}

Res FilterMean(Filter filter)
{
  Index i;
  Res res = ResOK;

  for (i = 0; i < filter->tests && res == ResOK; ++i)
    res = meanTest(filter, &filter->test[i]);
  return res;
}
