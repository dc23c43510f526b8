/* filterparse.c -- a filter's tokens become a tree of comparisons
 *
 *   any         = all { "||" all }
 *   all         = not { "&&" not }
 *   not         = "!" not | "(" any ")" | comparison
 *   comparison  = operand relation operand | operand "in" "[" constant "," constant "]" | operand "=~" string
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/aver.h"
#include "log/filterdata.h"

typedef struct ParseStruct {
  Filter filter;
  FilterToken next;
  unsigned depth;
} ParseStruct, *Parse;

/* parseIs -- take the next token if it is this one */
static Bool parseIs(Parse parse, FilterMark mark)
{
  if (parse->next->mark != mark)
    return FALSE;
  ++parse->next;
  return TRUE;
}

/* parseExpected -- something else stands here than can */
static Res parseExpected(Parse parse, const char *what)
{
  FilterToken token = parse->next;

  if (token->mark == FilterMarkEND)
    return FilterFail(parse->filter, token->at, "%s is missing", what);
  return FilterFail(parse->filter, token->at, "%s is missing before '%.*s'", what,
                    (int)(token->length < 40 ? token->length : 40), parse->filter->text + token->at);
}

static FilterNode parseNode(Parse parse, int op, FilterNode left, FilterNode right)
{
  FilterNode node = &parse->filter->node[parse->filter->nodes++];

  node->op = op;
  node->left = left;
  node->right = right;
  return node;
}

static Bool parseConstant(FilterToken token)
{
  return token->mark == FilterMarkNUMBER || token->mark == FilterMarkSTRING;
}

static Res parseOperand(Parse parse, FilterOperand operand)
{
  if (!parseConstant(parse->next) && parse->next->mark != FilterMarkNAME)
    return parseExpected(parse, "a field, a number or a string");
  operand->token = parse->next++;
  return ResOK;
}

/* parseInterval -- [constant, constant] */
static Res parseInterval(Parse parse, FilterTest test)
{
  if (!parseIs(parse, FilterMarkFROM))
    return parseExpected(parse, "the [ of an interval, as in [1, 10],");
  if (!parseConstant(parse->next))
    return parseExpected(parse, "a number or a string");
  test->right.token = parse->next++;
  if (!parseIs(parse, FilterMarkCOMMA))
    return parseExpected(parse, "a comma");
  if (!parseConstant(parse->next))
    return parseExpected(parse, "a number or a string");
  test->last.token = parse->next++;
  return parseIs(parse, FilterMarkTO) ? ResOK : parseExpected(parse, "]");
}

/* parseTurn -- the field comes to the left */
static void parseTurn(FilterTest test)
{
  static const FilterMark turned[] = {
    [FilterMarkEQ] = FilterMarkEQ, [FilterMarkLT] = FilterMarkGT, [FilterMarkLE] = FilterMarkGE,
    [FilterMarkGT] = FilterMarkLT, [FilterMarkGE] = FilterMarkLE,
  };
  FilterOperandStruct left = test->left;

  test->left = test->right;
  test->right = left;
  test->relation = turned[test->relation];
}

static Res parseRelation(Parse parse, FilterTest test)
{
  FilterToken token = parse->next;
  Res res;

  if (token->mark < FilterMarkEQ || token->mark > FilterMarkIN) {
    if (token->mark == FilterMarkEND)
      return FilterFail(parse->filter, test->left.token->at, "this is compared with nothing");
    return parseExpected(parse, "a comparison");
  }
  ++parse->next;
  test->negated = token->mark == FilterMarkNE;
  test->relation = test->negated ? FilterMarkEQ : token->mark;
  if (token->mark == FilterMarkIN)
    res = parseInterval(parse, test);
  else if (token->mark == FilterMarkMATCH && parse->next->mark != FilterMarkSTRING)
    res = parseExpected(parse, "a regular expression, as a string,");
  else
    res = parseOperand(parse, &test->right);
  if (res != ResOK)
    return res;
  if (parseConstant(test->left.token) && (test->relation > FilterMarkGE || parseConstant(test->right.token)))
    return FilterFail(parse->filter, test->left.token->at, "a constant here says nothing of an event");
  if (parseConstant(test->left.token))
    parseTurn(test);
  return ResOK;
}

static Res parseComparison(Parse parse, FilterNode *nodeReturn)
{
  Filter filter = parse->filter;
  FilterTest test = &filter->test[filter->tests];
  Res res;

  if (filter->tests == FilterTestsMAX)
    return FilterFail(filter, parse->next->at, "more than %d comparisons", FilterTestsMAX);
  res = parseOperand(parse, &test->left);
  if (res == ResOK)
    res = parseRelation(parse, test);
  if (res != ResOK)
    return res;
  if (parse->next->mark >= FilterMarkEQ && parse->next->mark <= FilterMarkIN)
    return FilterFail(filter, parse->next->at, "comparisons do not chain; && joins two");
  ++filter->tests;
  *nodeReturn = parseNode(parse, FilterNodeTEST, NULL, NULL);
  (*nodeReturn)->test = test;
  return ResOK;
}

static Res parseAny(Parse parse, FilterNode *nodeReturn);

static Res parseNot(Parse parse, FilterNode *nodeReturn)
{
  FilterToken token = parse->next;
  Res res;

  if (token->mark != FilterMarkNOT && token->mark != FilterMarkOPEN)
    return parseComparison(parse, nodeReturn);
  if (++parse->depth > FilterDepthMAX)
    return FilterFail(parse->filter, token->at, "more than %d parentheses within one another", FilterDepthMAX);
  ++parse->next;
  if (token->mark == FilterMarkNOT) {
    res = parseNot(parse, nodeReturn);
    if (res == ResOK)
      *nodeReturn = parseNode(parse, FilterNodeNOT, *nodeReturn, NULL);
  } else {
    res = parseAny(parse, nodeReturn);
    if (res == ResOK && !parseIs(parse, FilterMarkCLOSE))
      res = parseExpected(parse, "&&, || or )");
  }
  --parse->depth;
  return res;
}

static Res parseAll(Parse parse, FilterNode *nodeReturn)
{
  Res res = parseNot(parse, nodeReturn);

  while (res == ResOK && parseIs(parse, FilterMarkAND)) {
    FilterNode right;
    res = parseNot(parse, &right);
    if (res == ResOK)
      *nodeReturn = parseNode(parse, FilterNodeAND, *nodeReturn, right);
  }
  return res;
}

static Res parseAny(Parse parse, FilterNode *nodeReturn)
{
  Res res = parseAll(parse, nodeReturn);

  while (res == ResOK && parseIs(parse, FilterMarkOR)) {
    FilterNode right;
    res = parseAll(parse, &right);
    if (res == ResOK)
      *nodeReturn = parseNode(parse, FilterNodeOR, *nodeReturn, right);
  }
  return res;
}

Res FilterParse(Filter filter)
{
  ParseStruct parse = {.filter = filter, .next = filter->token};
  Res res;

  if (parse.next->mark == FilterMarkEND)
    return FilterFail(filter, 0, "the expression is empty");
  res = parseAny(&parse, &filter->root);
  if (res == ResOK && parse.next->mark != FilterMarkEND)
    res = parseExpected(&parse, "&& or ||");
  AVER(res != ResOK || filter->root != NULL);
  return res;
}
