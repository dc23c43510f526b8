/* filterexpr.h -- random expressions of filters, as trees and as text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TEST_FILTEREXPR_H
#define TEST_FILTEREXPR_H

#include <float.h>
#include <math.h>

#include "filterlog.h"

enum { asNUMBER = 1, asSTRING = 2, asTIME = 4 };

static const struct {
  const char *name;
  unsigned as; /* in these logs */
} fields[] = {
    {"time", asTIME},    {"pid", asNUMBER},
    {"tid", asNUMBER},   {"kind", asNUMBER | asSTRING},
    {"name", asSTRING},  {"process", asSTRING},
    {"code", asNUMBER},  {"cpu", asNUMBER},
    {"pool", asNUMBER},  {"addr", asNUMBER},
    {"size", asNUMBER},  {"p", asNUMBER},
    {"a", asNUMBER},     {"w", asNUMBER},
    {"u", asNUMBER},     {"d", asNUMBER},
    {"s", asSTRING},     {"value", asNUMBER | asSTRING},
    {".name", asSTRING}, {".pool", asNUMBER},
};

typedef enum Relation { EQ, NE, LT, LE, GT, GE, IN, CONTAINS, BEGINS, ENDS } Relation;

typedef struct ConstantStruct {
  char text[64];
  long double number; /* or ns since the log's start */
  const char *string;
} ConstantStruct;

typedef struct ExprStruct *Expr;
typedef struct ExprStruct {
  char op; /* & | ! or 0 for a comparison */
  Expr left, right;
  Index field, other; /* other: of two fields */
  Bool two, turned;
  unsigned as;
  Relation relation;
  ConstantStruct constant, last;
} ExprStruct;

static ExprStruct exprs[256];
static Count exprCount;
static uint64_t first; /* time of the log's first event */

static void constantNumber(ConstantStruct *constant)
{
  uint64_t word = randomWord();

  constant->number = (long double)word;
  switch (randomUpTo(7)) {
  case 0:
    (void)snprintf(constant->text, sizeof constant->text, "0x%llx", (unsigned long long)word);
    break;
  case 1:
    word %= 5000;
    constant->number = (long double)(word * 1024);
    (void)snprintf(constant->text, sizeof constant->text, "%lluK", (unsigned long long)word);
    break;
  case 2:
    constant->number = (long double)(word % 100) + 0.5L;
    (void)snprintf(constant->text, sizeof constant->text, "%llu.5", (unsigned long long)word % 100);
    break;
  case 3:
    constant->number = -(long double)(word % 100);
    (void)snprintf(constant->text, sizeof constant->text, "-%llu", (unsigned long long)word % 100);
    break;
  case 4:
    constant->number = (long double)1e300;
    strcpy(constant->text, "1e300");
    break;
  default:
    (void)snprintf(constant->text, sizeof constant->text, "%llu", (unsigned long long)word);
  }
}

static void constantTime(ConstantStruct *constant)
{
  uint64_t ns = all.event[randomUpTo(all.count)].time - first + randomUpTo(3) - (randomUpTo(2) == 0);

  ns = ns > UINT64_MAX / 2 ? 0 : ns;
  constant->number = (long double)ns;
  if (randomUpTo(4) == 0)
    (void)snprintf(constant->text, sizeof constant->text, "%llue-9", (unsigned long long)ns);
  else if (randomUpTo(4) == 0)
    (void)snprintf(constant->text, sizeof constant->text, "\"00:00:00.%09llu\"",
                   (unsigned long long)((ns + first) % 1000000000));
  else
    (void)snprintf(constant->text, sizeof constant->text, "0.%09llu", (unsigned long long)ns);
}

static void constantString(ConstantStruct *constant, const char *string)
{
  TextStruct text;

  constant->string = string;
  TextInit(&text, constant->text, sizeof constant->text);
  TextQuoted(&text, string, strlen(string));
  (void)TextTerminate(&text);
}

/* randomString -- for a field: one that the log has, where another would be a mistake */
static const char *randomString(const char *field, Relation relation)
{
  static const char *const names[] = {"PoolAlloc", "PoolFree", "All", "None", "Mixed", "Twice"};
  static const char *const kinds[] = {"Arena", "Object", "User"};
  static const char *const programs[] = {"made", "cc1", "/usr/lib/cc1", "/bin/made"};

  if (relation <= NE && strcmp(field, "name") == 0)
    return names[randomUpTo(ARRAY_LENGTH(names))];
  if (relation <= NE && strcmp(field, "kind") == 0)
    return kinds[randomUpTo(ARRAY_LENGTH(kinds))];
  if (relation <= NE && strcmp(field, "process") == 0)
    return programs[randomUpTo(ARRAY_LENGTH(programs))];
  return strings[randomUpTo(ARRAY_LENGTH(strings))];
}

static void constantsSwap(Expr expr)
{
  ConstantStruct constant = expr->constant;

  expr->constant = expr->last;
  expr->last = constant;
}

/* randomPattern -- one that needs no escapes, in one of three forms */
static void randomPattern(Expr expr)
{
  static const char *const plain[] = {"a", "l", "Pool", "c1", "made", "O"};
  const char *part = plain[randomUpTo(ARRAY_LENGTH(plain))];

  expr->as = asSTRING;
  expr->relation = (Relation)(CONTAINS + randomUpTo(3));
  expr->constant.string = part;
  (void)snprintf(expr->constant.text, sizeof expr->constant.text, "\"%s%s%s\"", expr->relation == BEGINS ? "^" : "",
                 part, expr->relation == ENDS ? "$" : "");
}

static void randomConstants(Expr expr)
{
  const char *field = fields[expr->field].name;
  ConstantStruct *const both[] = {&expr->constant, &expr->last};
  Index i;

  for (i = 0; i < 2; ++i) {
    if (expr->as == asTIME)
      constantTime(both[i]);
    else if (expr->as == asNUMBER)
      constantNumber(both[i]);
    else
      constantString(both[i], randomString(field, expr->relation));
  }
  if (expr->relation == IN && (expr->as == asSTRING ? strcmp(expr->constant.string, expr->last.string) > 0
                                                    : expr->constant.number > expr->last.number))
    constantsSwap(expr);
  expr->turned = expr->relation < IN && randomUpTo(5) == 0;
}

static Expr randomComparison(Expr expr)
{
  unsigned as;

  expr->field = randomUpTo(ARRAY_LENGTH(fields));
  expr->relation = (Relation)randomUpTo(IN + 1);
  as = fields[expr->field].as;
  if (expr->relation < IN && as != asTIME && randomUpTo(6) == 0) {
    do
      expr->other = randomUpTo(ARRAY_LENGTH(fields));
    while ((fields[expr->other].as & as) == 0);
    as &= fields[expr->other].as;
    expr->two = TRUE;
    expr->as = (as & asNUMBER) != 0 ? asNUMBER : asSTRING;
    return expr;
  }
  expr->as = as != (asNUMBER | asSTRING) ? as : randomUpTo(2) == 0 ? asNUMBER : asSTRING;
  if (expr->as == asSTRING && randomUpTo(4) == 0)
    randomPattern(expr);
  else
    randomConstants(expr);
  return expr;
}

static Expr randomExpr(unsigned depth)
{
  Expr expr = &exprs[exprCount++];

  memset(expr, 0, sizeof *expr);
  if (depth == 0 || randomUpTo(3) == 0)
    return randomComparison(expr);
  expr->op = "&|&|!"[randomUpTo(5)];
  expr->left = randomExpr(depth - 1);
  if (expr->op != '!')
    expr->right = randomExpr(depth - 1);
  return expr;
}

static void space(Text text)
{
  if (randomUpTo(2) == 0)
    TextChar(text, ' ');
}

static void printComparison(Text text, Expr expr)
{
  static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">=", " in ", "=~", "=~", "=~"};
  static const char *const turned[] = {"==", "!=", ">", ">=", "<", "<="};

  TextString(text, expr->turned ? expr->constant.text : fields[expr->field].name);
  space(text);
  TextString(text, expr->turned ? turned[expr->relation] : relations[expr->relation]);
  space(text);
  if (expr->relation == IN) {
    TextChar(text, '[');
    TextString(text, expr->constant.text);
    TextString(text, " ,");
    TextString(text, expr->last.text);
    TextChar(text, ']');
  } else {
    TextString(text, expr->turned || expr->two ? fields[expr->two ? expr->other : expr->field].name
                                               : expr->constant.text);
  }
}

static void printExpr(Text text, Expr expr, char around)
{
  Bool parentheses = expr->op == '|' ? around != 0 && around != '|' : expr->op == '&' ? around == '!' : FALSE;

  parentheses = parentheses || randomUpTo(8) == 0;
  if (parentheses)
    TextChar(text, '(');
  space(text);
  if (expr->op == 0) {
    printComparison(text, expr);
  } else if (expr->op == '!') {
    TextChar(text, '!');
    printExpr(text, expr->left, '!');
  } else {
    printExpr(text, expr->left, expr->op);
    TextString(text, expr->op == '&' ? "&&" : "||");
    printExpr(text, expr->right, expr->op);
  }
  space(text);
  if (parentheses)
    TextChar(text, ')');
}

#endif /* TEST_FILTEREXPR_H */
