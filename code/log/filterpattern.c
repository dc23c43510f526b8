/* filterpattern.c -- the regular expressions of a filter
 *
 * What regcomp makes of a pattern grows with what its repetitions multiply to: (((a{200}){200}){200}, and as quickly
 * ((((a+)+)+)+)+, because a+ becomes aa*; and its time with the square of that.  So what repetitions add is reckoned
 * first.  Back references, and repetitions of repetitions (a+*), cost time without bound; POSIX does not have the ones
 * in extended expressions, and says nothing of the others.  They are refused.
 *
 * Always true of a pattern that was compiled: repetitions have added patternAddedMAX pieces at most; patternDepthMAX
 * parentheses are within one another at most.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "format/block.h"
#include "log/filterdata.h"

enum { patternAddedMAX = 1000, patternDepthMAX = 100, patternRepeatMAX = 1 << 15 };

typedef struct PatternStruct {
  const char *next;
  unsigned depth;
  uint64_t sum[patternDepthMAX + 1]; /* pieces, in each of the groups that are open */
  uint64_t last;                     /* those that a repetition would be of */
  uint64_t added;                    /* by repetitions, in all */
  Bool repeated;                     /* what was last is a repetition */
} PatternStruct, *Pattern;

/* patternTimes -- what was last comes so often */
static void patternTimes(Pattern pattern, uint64_t times)
{
  uint64_t more = pattern->last * (times > 0 ? times - 1 : 0) + 1;

  pattern->added += more;
  pattern->sum[pattern->depth] += more;
  pattern->last += more;
}

/* patternPiece -- what a repetition may be of, of so many pieces */
static void patternPiece(Pattern pattern, uint64_t pieces)
{
  pattern->last = pieces;
  pattern->sum[pattern->depth] += pieces;
}

/* patternInterval -- behind {: the largest of its numbers */
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

/* patternStep -- one piece further; FALSE: there is nothing that it can be compiled to */
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

/* patternRefers -- does it have a back reference? */
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

Res FilterPattern(Filter filter, FilterTest test)
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

/* The string is copied, because not everybody's regexec leaves alone what is behind REG_STARTEND's end; nothing that an
 * event can hold is longer than the room. */
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
