/* filterparse.c -- a filter's expression becomes tokens, and those a tree of comparisons
 *
 * Errors name the place of the token that cannot be understood.  A number must end where its letters end: 12abc is
 * not 12 and a name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "filter/filterdata.h"

/* Longer tokens come before their own beginnings. */
static const struct {
  char text[3];
  FilterMark mark;
} filterMarks[] = {
  {"==", FilterMarkEQ}, {"!=", FilterMarkNE}, {"<=", FilterMarkLE}, {">=", FilterMarkGE}, {"=~", FilterMarkMATCH},
  {"&&", FilterMarkAND}, {"||", FilterMarkOR}, {"<", FilterMarkLT}, {">", FilterMarkGT}, {"!", FilterMarkNOT},
  {"(", FilterMarkOPEN}, {")", FilterMarkCLOSE}, {"[", FilterMarkFROM}, {"]", FilterMarkTO}, {",", FilterMarkCOMMA},
};

static Bool lexInName(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

/* lexSuffix -- K, M, G, T behind a number, as a power of two */
static unsigned lexSuffix(const char *next)
{
  static const char letters[] = "KMGT";
  const char *found = memchr(letters, *next, strlen(letters));

  return found != NULL ? (unsigned)(found - letters + 1) * 10 : 0;
}

/* lexWhole -- digits that stand for an integer; FALSE: too large */
static Bool lexWhole(FilterNumber number, const char *digits, int base, unsigned shift)
{
  errno = 0;
  number->integer = strtoull(digits, NULL, base);
  number->whole = errno == 0 && number->integer <= UINT64_MAX >> shift;
  number->integer <<= shift;
  number->real = (double)number->integer;
  return number->whole;
}

/* lexNumber -- a number, perhaps with a sign before it */
static Res lexNumber(Filter filter, FilterToken token)
{
  const char *text = filter->text + token->at, *digits = text + (*text == '-'), *end = digits;
  FilterNumber number = &token->number;
  Bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'), real = FALSE;
  unsigned shift;

  if (hex) {
    for (end += 2; isxdigit((unsigned char)*end); ++end)
      ;
  } else {
    end += strspn(end, "0123456789");
    if (*end == '.' || ((*end == 'e' || *end == 'E') && strchr("+-0123456789", end[1]) != NULL)) {
      char *behind;
      number->real = strtod(digits, &behind);
      end = behind;
      real = TRUE;
    }
  }
  shift = lexSuffix(end);
  token->length = (Size)(end + (shift > 0) - text);
  if ((hex && end == digits + 2) || lexInName(text[token->length]) || text[token->length] == '.') {
    while (lexInName(text[token->length]) || text[token->length] == '.')
      ++token->length;
    return FilterFail(filter, token->at, "'%.*s' is no number", (int)token->length, text);
  }
  if (real)
    number->real *= (double)((uint64_t)1 << shift);
  else if (!lexWhole(number, digits, hex ? 16 : 10, shift))
    return FilterFail(filter, token->at, "%.*s is too large", (int)token->length, text);
  if (isinf(number->real))
    return FilterFail(filter, token->at, "%.*s is too large", (int)token->length, text);
  number->negative = *text == '-';
  if (number->negative)
    number->real = -number->real;
  return ResOK;
}

/* lexEscape -- the byte for the letter or digits after a backslash; NULL: C has no such escape */
static const char *lexEscape(char *byteReturn, const char *next)
{
  static const char letters[] = "abfnrtv\\\"'?", bytes[] = "\a\b\f\n\r\t\v\\\"'?";
  const char *found = *next != '\0' ? strchr(letters, *next) : NULL;
  Bool hex = *next == 'x';
  char digits[4] = "";
  unsigned long value;
  Size length;

  if (found != NULL) {
    *byteReturn = bytes[found - letters];
    return next + 1;
  }
  next += hex;
  length = strspn(next, hex ? "0123456789abcdefABCDEF" : "01234567");
  if (length > (hex ? 2 : 3))
    length = hex ? 2 : 3;
  memcpy(digits, next, length);
  value = strtoul(digits, NULL, hex ? 16 : 8);
  *byteReturn = (char)value;
  return length > 0 && value <= 0xff ? next + length : NULL;
}

/* lexString -- a string; `room` gets its value, which is never longer than its text */
static Res lexString(Filter filter, FilterToken token, char **room)
{
  const char *text = filter->text + token->at, *next = text + 1;

  token->string = *room;
  while (*next != '"') {
    const char *from = next;
    if (*next == '\0')
      return FilterFail(filter, token->at, "the string has no end");
    if (*next != '\\') {
      *(*room)++ = *next++;
      continue;
    }
    next = lexEscape((*room)++, next + 1);
    if (next == NULL)
      return FilterFail(filter, (Size)(from - filter->text), "no escape in C begins like that; \\\\ is a backslash");
  }
  token->length = (Size)(next + 1 - text);
  token->stringLength = (Size)(*room - token->string);
  return ResOK;
}

/* lexName -- a name; with a point before it, it is a parameter's */
static void lexName(Filter filter, FilterToken token)
{
  const char *text = filter->text + token->at;

  token->mark = FilterMarkNAME;
  token->string = text + (*text == '.');
  for (token->length = 1; lexInName(text[token->length]); ++token->length)
    ;
  token->stringLength = token->length - (*text == '.');
  if (token->length == 2 && memcmp(text, "in", 2) == 0)
    token->mark = FilterMarkIN;
}

static Res lexMark(Filter filter, FilterToken token)
{
  const char *text = filter->text + token->at;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(filterMarks); ++i)
    if (strncmp(text, filterMarks[i].text, strlen(filterMarks[i].text)) == 0) {
      token->mark = filterMarks[i].mark;
      token->length = strlen(filterMarks[i].text);
      return ResOK;
    }
  if (*text == '=' || *text == '&' || *text == '|')
    return FilterFail(filter, token->at, "%c is written twice: %c%c", *text, *text, *text);
  if (*text == '\'')
    return FilterFail(filter, token->at, "strings stand in double quotes");
  if (isprint((unsigned char)*text))
    return FilterFail(filter, token->at, "nothing begins with '%c'", *text);
  return FilterFail(filter, token->at, "nothing begins with the byte 0x%02x", (unsigned char)*text);
}

static Res lexToken(Filter filter, FilterToken token, char **room)
{
  const char *text = filter->text + token->at;

  if (isdigit((unsigned char)text[*text == '-' || *text == '.'])) {
    token->mark = FilterMarkNUMBER;
    return lexNumber(filter, token);
  }
  if (*text == '"') {
    token->mark = FilterMarkSTRING;
    return lexString(filter, token, room);
  }
  if (isalpha((unsigned char)*text) || *text == '_' ||
      (*text == '.' && lexInName(text[1]))) {
    lexName(filter, token);
    return ResOK;
  }
  if (*text == '\0') {
    token->mark = FilterMarkEND;
    return ResOK;
  }
  return lexMark(filter, token);
}

/* lexAll -- turn the expression into tokens */
static Res lexAll(Filter filter)
{
  char *room = filter->strings;
  Size at = 0;
  FilterToken token;
  Res res;

  do {
    at += strspn(filter->text + at, " \t\r\n");
    token = &filter->token[filter->tokens++];
    token->at = at;
    res = lexToken(filter, token, &room);
    at += token->length;
  } while (res == ResOK && token->mark != FilterMarkEND);
  return res;
}

/* ---- The tree ----
 *
 *   any         = all { "||" all }
 *   all         = not { "&&" not }
 *   not         = "!" not | "(" any ")" | comparison
 *   comparison  = operand relation operand | operand "in" "[" constant "," constant "]" | operand "=~" string
 */

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

/* parseExpected -- the error for a token that cannot come here */
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

/* parseTurn -- put the field on the left of the comparison */
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

/* parseJoin -- one or more of what `part` parses, with `mark` between */
static Res parseJoin(Parse parse, FilterNode *nodeReturn, FilterMark mark, int op, Res (*part)(Parse, FilterNode *))
{
  Res res = part(parse, nodeReturn);

  while (res == ResOK && parseIs(parse, mark)) {
    FilterNode right;
    res = part(parse, &right);
    if (res == ResOK)
      *nodeReturn = parseNode(parse, op, *nodeReturn, right);
  }
  return res;
}

static Res parseAll(Parse parse, FilterNode *nodeReturn)
{
  return parseJoin(parse, nodeReturn, FilterMarkAND, FilterNodeAND, parseNot);
}

static Res parseAny(Parse parse, FilterNode *nodeReturn)
{
  return parseJoin(parse, nodeReturn, FilterMarkOR, FilterNodeOR, parseAll);
}

Res FilterParse(Filter filter)
{
  ParseStruct parse = {.filter = filter, .next = filter->token};
  Res res = lexAll(filter);

  if (res != ResOK)
    return res;
  if (parse.next->mark == FilterMarkEND)
    return FilterFail(filter, 0, "the expression is empty");
  res = parseAny(&parse, &filter->root);
  if (res == ResOK && parse.next->mark != FilterMarkEND)
    res = parseExpected(&parse, "&& or ||");
  AVER(res != ResOK || filter->root != NULL);
  return res;
}
