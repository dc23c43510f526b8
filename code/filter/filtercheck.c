/* filtercheck.c -- what each comparison of a filter means, for the event types that the log knows
 *
 * Fields are found, types are held against each other, constants become ranges, patterns are compiled.  What can only
 * be a mistake is an error: a name, kind or program that the log does not have, an interval that holds nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "filter/filterdata.h"
#include "filter/timeparse.h"
#include "format/block.h"
#include "log/typenames.h"
#include "request/traceset.h"

/* ---- The range of numbers for which a comparison holds ---- */

/* rangeNext -- the greatest integer that is not greater than a number, or the least that is not less (`up`); of a
 * number far outside of 64 bits, some integer outside of them */
static __int128 rangeNext(FilterNumber number, Bool up)
{
  static const double far = 0x1p+100;
  double real = number->real > far ? far : number->real < -far ? -far : number->real;
  __int128 next = (__int128)real;

  if (number->whole)
    return number->negative ? -(__int128)number->integer : (__int128)number->integer;
  return next + (up && (double)next < real) - (!up && (double)next > real);
}

/* rangeMake -- the integers that are in a relation to a number; for IN, from `number` to `last` */
static FilterRangeStruct rangeMake(FilterMark relation, FilterNumber number, FilterNumber last)
{
  __int128 lo = 0, hi = UINT64_MAX;

  if (relation == FilterMarkEQ || relation == FilterMarkGE || relation == FilterMarkIN)
    lo = rangeNext(number, TRUE);
  else if (relation == FilterMarkGT)
    lo = rangeNext(number, FALSE) + 1;
  if (relation == FilterMarkEQ || relation == FilterMarkLE)
    hi = rangeNext(number, FALSE);
  else if (relation == FilterMarkLT)
    hi = rangeNext(number, TRUE) - 1;
  else if (relation == FilterMarkIN)
    hi = rangeNext(last, FALSE);
  lo = lo < 0 ? 0 : lo;
  hi = hi > UINT64_MAX ? UINT64_MAX : hi;
  return lo <= hi ? (FilterRangeStruct){(uint64_t)lo, (uint64_t)hi} : (FilterRangeStruct){1, 0};
}

/* rangeBeside -- the next greater double, or the next less; without libm, which libpawlog would then need */
static double rangeBeside(double number, Bool up)
{
  uint64_t bits;

  if (number == 0)
    return up ? 0x1p-1074 : -0x1p-1074;
  memcpy(&bits, &number, sizeof bits);
  bits += (number > 0) == up ? 1 : UINT64_MAX;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* rangeReals -- the same for doubles */
static void rangeReals(double *loReturn, double *hiReturn, FilterMark relation, double number, double last)
{
  *loReturn = relation == FilterMarkGT ? rangeBeside(number, TRUE) : number;
  *hiReturn = relation == FilterMarkLT ? rangeBeside(number, FALSE) : number;
  if (relation == FilterMarkGT || relation == FilterMarkGE)
    *hiReturn = INFINITY;
  if (relation == FilterMarkLT || relation == FilterMarkLE)
    *loReturn = -INFINITY;
  if (relation == FilterMarkIN)
    *hiReturn = last;
}

/* ---- Regular expressions ----
 *
 * What regcomp makes of a pattern grows with what its repetitions multiply to: (((a{200}){200}){200}, and as quickly
 * ((((a+)+)+)+)+, because a+ becomes aa*; and its time with the square of that.  So what repetitions add is reckoned
 * first.  Back references, and repetitions of repetitions (a+*), cost time without bound; POSIX does not have the ones
 * in extended expressions, and says nothing of the others.  They are refused.
 *
 * Always true of a pattern that was compiled: repetitions have added patternAddedMAX pieces at most; patternDepthMAX
 * parentheses are within one another at most.
 */

enum { patternAddedMAX = 1000, patternDepthMAX = 100, patternRepeatMAX = 1 << 15 };

typedef struct PatternStruct {
  const char *next;
  unsigned depth;
  uint64_t sum[patternDepthMAX + 1]; /* pieces, in each of the groups that are open */
  uint64_t last;                     /* those that a repetition would be of */
  uint64_t added;                    /* by repetitions, in all */
  Bool repeated;                     /* what was last is a repetition */
} PatternStruct, *Pattern;

/* patternTimes -- the last piece is repeated this often */
static void patternTimes(Pattern pattern, uint64_t times)
{
  uint64_t more = pattern->last * (times > 0 ? times - 1 : 0) + 1;

  pattern->added += more;
  pattern->sum[pattern->depth] += more;
  pattern->last += more;
}

/* patternPiece -- the next part of the pattern, which may be repeated, has so many pieces */
static void patternPiece(Pattern pattern, uint64_t pieces)
{
  pattern->last = pieces;
  pattern->sum[pattern->depth] += pieces;
}

/* patternInterval -- after {: the largest of its numbers */
static uint64_t patternInterval(Pattern pattern)
{
  uint64_t most = 0, n = 0;

  for (; (*pattern->next >= '0' && *pattern->next <= '9') || *pattern->next == ','; ++pattern->next) {
    n = *pattern->next == ',' ? 0 : n * 10 + (uint64_t)(*pattern->next - '0');
    n = n < patternRepeatMAX ? n : patternRepeatMAX;
    most = n > most ? n : most;
  }
  pattern->next += *pattern->next == '}';
  return most;
}

/* patternBracket -- behind [: go to what follows its ], which may stand among its members, first or in [:alpha:] */
static void patternBracket(Pattern pattern)
{
  const char *next = pattern->next;

  next += *next == '^';
  next += *next == ']';
  while (*next != '\0' && *next != ']') {
    if (*next == '[' && next[1] != '\0' && strchr(":.=", next[1]) != NULL) {
      const char end[] = {next[1], ']', '\0'}, *found = strstr(next + 2, end);
      next = found != NULL ? found + 1 : next;
    }
    ++next;
  }
  pattern->next = next + (*next == ']');
}

/* patternStep -- go on by one piece; FALSE: the pattern is too large or refused */
static Bool patternStep(Pattern pattern)
{
  Bool repeats = strchr("*+?{", *pattern->next) != NULL;

  if (repeats && pattern->repeated)
    return FALSE;
  pattern->repeated = repeats;
  switch (*pattern->next++) {
  case '(':
    pattern->last = 0;
    if (pattern->depth == patternDepthMAX)
      return FALSE;
    pattern->sum[++pattern->depth] = 0;
    break;
  case ')':
    if (pattern->depth > 0)
      --pattern->depth;
    patternPiece(pattern, pattern->sum[pattern->depth + 1] + 2);
    break;
  case '+':
    patternTimes(pattern, 2);
    break;
  case '*':
  case '?':
    patternTimes(pattern, 1);
    break;
  case '{':
    patternTimes(pattern, patternInterval(pattern));
    break;
  case '[':
    patternBracket(pattern);
    patternPiece(pattern, 1);
    break;
  case '\\':
    pattern->next += *pattern->next != '\0';
    patternPiece(pattern, 1);
    break;
  default:
    patternPiece(pattern, 1);
  }
  return pattern->added <= patternAddedMAX;
}

/* patternRefers -- does the pattern have a back reference? */
static Bool patternRefers(const char *pattern)
{
  for (; *pattern != '\0'; ++pattern)
    if (*pattern == '\\' && *++pattern >= '1' && *pattern <= '9')
      return TRUE;
    else if (*pattern == '\0')
      return FALSE;
  return FALSE;
}

static Res patternCompile(Filter filter, FilterTest test, const char *string)
{
  PatternStruct pattern = {.next = string};
  char why[128];
  int code;

  while (*pattern.next != '\0')
    if (!patternStep(&pattern))
      return FilterFail(filter, test->right.token->at, "the regular expression repeats too often, or too deep");
  if (patternRefers(string))
    return FilterFail(filter, test->right.token->at, "a regular expression here has no back references");
  code = regcomp(&test->regex, string, REG_EXTENDED | REG_NOSUB);
  test->compiled = code == 0;
  if (code == 0)
    return ResOK;
  if (code == REG_ESPACE)
    return ResMEMORY;
  (void)regerror(code, &test->regex, why, sizeof why);
  return FilterFail(filter, test->right.token->at, "no regular expression: %s", why);
}

/* patternTest -- compile a test's pattern */
static Res patternTest(Filter filter, FilterTest test)
{
  FilterToken token = test->right.token;
  char *string;
  Res res;

  if (memchr(token->string, '\0', token->stringLength) != NULL)
    return FilterFail(filter, token->at, "a regular expression has no zero byte");
  string = strndup(token->string, token->stringLength);
  if (string == NULL)
    return ResMEMORY;
  res = patternCompile(filter, test, string);
  free(string);
  return res;
}

/* Copied, because some regexec read beyond REG_STARTEND's end; no string of an event is longer than the room. */
Bool FilterPatternMatches(FilterTest test, const char *string, Size length)
{
  char room[EventSizeMAX + 1];
  regmatch_t match = {.rm_so = 0};

  if (length > EventSizeMAX)
    length = EventSizeMAX;
  memcpy(room, string, length);
  room[length] = '\0';
  match.rm_eo = (regoff_t)length;
  return regexec(&test->regex, room, 1, &match, REG_STARTEND) == 0;
}

/* ---- Comparisons ---- */

enum { checkNUMBER = 1, checkSTRING = 2, checkTIME = 4 }; /* what a field or a constant can be compared as */
enum { checkShownMAX = 40 };

static const struct {
  const char *name;
  FilterField field;
  unsigned classes;
} checkFields[] = {
  {"time", FilterFieldTIME, checkTIME},     {"pid", FilterFieldPID, checkNUMBER},
  {"tid", FilterFieldTID, checkNUMBER},     {"kind", FilterFieldKIND, checkNUMBER | checkSTRING},
  {"name", FilterFieldNAME, checkSTRING},   {"process", FilterFieldPROCESS, checkSTRING},
  {"code", FilterFieldCODE, checkNUMBER},   {"cpu", FilterFieldCPU, checkNUMBER},
};

static Bool checkSame(FilterToken token, const char *name, Size length)
{
  return token->stringLength == length && memcmp(token->string, name, length) == 0;
}

typedef struct checkLookStruct {
  FilterOperand operand; /* what is looked for, */
  unsigned classes;      /* what was found, */
  SuggestStruct near;       /* and what is like it */
} checkLookStruct;

static Bool checkParam(void *data, Registry registry, EventType type)
{
  checkLookStruct *look = data;
  Index i;

  UNUSED(registry);
  for (i = 0; i < type->params; ++i)
    SuggestOffer(&look->near, type->param[i], type->paramLength[i]);
  if (FilterParam(type, look->operand, FilterClassNUMBER) >= 0)
    look->classes |= checkNUMBER;
  if (FilterParam(type, look->operand, FilterClassSTRING) >= 0)
    look->classes |= checkSTRING;
  return look->classes == (checkNUMBER | checkSTRING);
}

static Bool checkName(void *data, Registry registry, EventType type)
{
  checkLookStruct *look = data;

  UNUSED(registry);
  SuggestOffer(&look->near, type->name, type->nameLength);
  return checkSame(look->operand->token, type->name, type->nameLength);
}

static Bool checkKind(void *data, Registry registry, EventType type)
{
  checkLookStruct *look = data;
  const char *kind = registry->kind[type->kind];

  SuggestOffer(&look->near, kind, strlen(kind));
  return checkSame(look->operand->token, kind, strlen(kind));
}

/* checkMissing -- there is no such name: the error lists similar ones */
static Res checkMissing(Filter filter, FilterToken token, const char *what, Suggest near)
{
  char room[512];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  SuggestTell(near, &text);
  return FilterFail(filter, token->at, "%s is called '%.*s'%s", what,
                    (int)(token->stringLength < checkShownMAX ? token->stringLength : checkShownMAX), token->string,
                    TextTerminate(&text));
}

/* checkField -- find the field of an operand, and the class in which it can be compared */
static Res checkField(Filter filter, FilterOperand operand, unsigned *classesReturn)
{
  checkLookStruct look = {.operand = operand};
  Bool own = filter->text[operand->token->at] != '.';
  Index i;

  SuggestInit(&look.near, operand->token->string, operand->token->stringLength);
  for (i = 0; own && i < ARRAY_LENGTH(checkFields); ++i) {
    SuggestOffer(&look.near, checkFields[i].name, strlen(checkFields[i].name));
    if (checkSame(operand->token, checkFields[i].name, strlen(checkFields[i].name))) {
      operand->field = checkFields[i].field;
      *classesReturn = checkFields[i].classes;
      filter->own |= operand->field == FilterFieldPID || operand->field == FilterFieldPROCESS;
      return ResOK;
    }
  }
  operand->field = FilterFieldPARAM;
  (void)LogTypesEach(filter->log, checkParam, &look);
  *classesReturn = look.classes;
  if (look.classes == 0)
    return checkMissing(filter, operand->token, "no field of any event", &look.near);
  return ResOK;
}

/* checkMixed -- the error for two operands that cannot be compared */
static Res checkMixed(Filter filter, FilterOperand left, unsigned classes, FilterOperand right)
{
  FilterToken a = left->token, b = right->token;
  const char *what = classes == checkTIME ? "a time" : classes == checkSTRING ? "a string" : "a number";
  const char *is = b->mark == FilterMarkNUMBER ? "a number" : b->mark == FilterMarkSTRING ? "a string"
                   : classes == checkTIME ? "no constant" : classes == checkSTRING ? "no string" : "no number";

  return FilterFail(filter, b->at, "'%.*s' is %s, and %.*s is %s", (int)a->length, filter->text + a->at, what,
                    (int)(b->length < checkShownMAX ? b->length : checkShownMAX), filter->text + b->at, is);
}

/* checkMoment -- a constant as ns since 1970, also if that does not fit 64 bits */
static Res checkMoment(Filter filter, FilterToken token, FilterNumber numberReturn)
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
    return FilterFail(filter, token->at, "this is no time: HH:MM:SS, seconds since the start, or end-SECONDS");
  ns = token->number.real * 1e9;
  numberReturn->real = (double)filter->summary.first + ns;
  numberReturn->whole = ns > -9e18 && ns < 9e18 && numberReturn->real >= 0 && numberReturn->real < 1.8e19;
  if (numberReturn->whole)
    numberReturn->integer = filter->summary.first + (uint64_t)(int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
  return ResOK;
}

/* checkNumbers -- the ranges of a comparison with numbers, or moments */
static Res checkNumbers(Filter filter, FilterTest test, FilterNumber number, FilterNumber last)
{
  test->class = FilterClassNUMBER;
  test->range = rangeMake(test->relation, number, last);
  rangeReals(&test->lo, &test->hi, test->relation, number->real, last->real);
  if (test->relation == FilterMarkIN && number->real > last->real)
    return FilterFail(filter, test->right.token->at, "the interval ends before it begins");
  return ResOK;
}

static Res checkTimes(Filter filter, FilterTest test)
{
  FilterNumberStruct number, last = {.whole = FALSE};
  Res res;

  if (test->relation == FilterMarkMATCH)
    return checkMixed(filter, &test->left, checkTIME, &test->right);
  res = checkMoment(filter, test->right.token, &number);
  if (res == ResOK && test->relation == FilterMarkIN)
    res = checkMoment(filter, test->last.token, &last);
  return res == ResOK ? checkNumbers(filter, test, &number, &last) : res;
}

/* checkProgram -- is there a process that runs this program? */
static Res checkProgram(Filter filter, FilterTest test)
{
  SuggestStruct near;
  Index i;

  SuggestInit(&near, test->right.token->string, test->right.token->stringLength);
  for (i = 0; i < filter->log->table.processes; ++i) {
    const char *program = FilterProgram(test, LogProcessAt(filter->log, i));
    if (FilterStringHolds(test, program, strlen(program)))
      return ResOK;
    SuggestOffer(&near, program, strlen(program));
  }
  return checkMissing(filter, test->right.token, "no process", &near);
}

/* checkKnown -- does the log have a kind, type or program of this name? */
static Res checkKnown(Filter filter, FilterTest test)
{
  checkLookStruct look = {.operand = &test->right};

  SuggestInit(&look.near, test->right.token->string, test->right.token->stringLength);
  if (test->left.field == FilterFieldNAME && !LogTypesEach(filter->log, checkName, &look))
    return checkMissing(filter, test->right.token, "no event", &look.near);
  if (test->left.field == FilterFieldKIND && !LogTypesEach(filter->log, checkKind, &look))
    return checkMissing(filter, test->right.token, "no kind", &look.near);
  if (test->left.field == FilterFieldPROCESS && filter->log->follow == NULL)
    return checkProgram(filter, test);
  return ResOK;
}

static Res checkStrings(Filter filter, FilterTest test)
{
  FilterToken from = test->right.token, to = test->last.token;

  test->class = FilterClassSTRING;
  if (test->relation == FilterMarkMATCH)
    return patternTest(filter, test);
  if (test->relation == FilterMarkEQ)
    return checkKnown(filter, test);
  if (test->relation == FilterMarkIN) {
    Size least = from->stringLength < to->stringLength ? from->stringLength : to->stringLength;
    int order = memcmp(from->string, to->string, least);
    if (order > 0 || (order == 0 && from->stringLength > to->stringLength))
      return FilterFail(filter, from->at, "the interval ends before it begins");
  }
  return ResOK;
}

/* checkPair -- two fields */
static Res checkPair(Filter filter, FilterTest test, unsigned classes)
{
  unsigned others;
  Res res = checkField(filter, &test->right, &others);

  if (res != ResOK)
    return res;
  if ((classes & others) == 0 || classes == checkTIME)
    return checkMixed(filter, &test->left, classes, &test->right);
  test->class = (classes & others & checkNUMBER) != 0 ? FilterClassNUMBER : FilterClassSTRING;
  return ResOK;
}

static Res checkTest(Filter filter, FilterTest test)
{
  static const FilterNumberStruct none;
  FilterToken last = test->last.token;
  unsigned classes, constant;
  Res res = checkField(filter, &test->left, &classes);

  if (res != ResOK)
    return res;
  if (test->right.token->mark == FilterMarkNAME)
    return checkPair(filter, test, classes);
  if (last != NULL && last->mark != test->right.token->mark && classes != checkTIME)
    return FilterFail(filter, last->at, "an interval has two numbers, or two strings");
  if (classes == checkTIME)
    return checkTimes(filter, test);
  constant = test->right.token->mark == FilterMarkNUMBER ? checkNUMBER : checkSTRING;
  if ((classes & constant) == 0)
    return checkMixed(filter, &test->left, classes, &test->right);
  if (constant == checkSTRING)
    return checkStrings(filter, test);
  return checkNumbers(filter, test, &test->right.token->number, last != NULL ? &last->number : (FilterNumber)&none);
}

Res FilterCheckTests(Filter filter)
{
  Index i;
  Res res = ResOK;

  for (i = 0; i < filter->tests && res == ResOK; ++i)
    res = checkTest(filter, &filter->test[i]);
  return res;
}
