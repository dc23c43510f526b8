/* describe.c -- the parameters of an event in the way of each format, and one event in words
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/describe.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/aver.h"
#include "export/output.h"

Bool DescribeMayLack(EventType type, Index param)
{
  static const char name[] = "TaskSample";

  return type->letter[param] == 'W' && type->nameLength == strlen(name) && memcmp(type->name, name, strlen(name)) == 0;
}

Index DescribeParam(EventType type, const char *name, Size length)
{
  Index i;

  for (i = 0; i < type->params; ++i)
    if (type->paramLength[i] == length && memcmp(type->param[i], name, length) == 0)
      break;
  return i;
}

Index DescribePlace(const char **behindReturn, Bool *internedReturn, EventType type, const char *next)
{
  const char *limit = type->describe + type->describeLength, *word = next + 1, *name;
  Index param;

  if (*next != '%')
    return type->params;
  *internedReturn = word < limit && *word == '*';
  name = word += *internedReturn;
  while (word < limit && (isalnum((unsigned char)*word) || *word == '_'))
    ++word;
  param = DescribeParam(type, name, (Size)(word - name));
  *behindReturn = word;
  return *internedReturn && param < type->params && strchr("UW", type->letter[param]) == NULL ? type->params : param;
}

/* describeHex -- a literal of the bytes as they are: sqlite3 and terminals would take some of them amiss */
static void describeHex(Text text, const char *bytes, Size length, Bool cut)
{
  static const char hex[] = "0123456789abcdef";
  Index i;

  TextString(text, "CAST(x'");
  for (i = 0; i < length; ++i)
    TextBytes(text, (char[]){hex[(unsigned char)bytes[i] >> 4], hex[bytes[i] & 15]}, 2);
  TextString(text, cut ? "2e2e2e' AS TEXT)" : "' AS TEXT)");
}

void DescribeString(Text text, DescribeStyle style, const char *bytes, Size length, Bool cut)
{
  char quote = style == DescribeSQL ? '\'' : '"';
  char room[CleanJsonMAX];
  Size i, n;

  if (style == DescribeTEXT) {
    TextQuoted(text, bytes, length);
    TextString(text, cut ? "..." : "");
    return;
  }
  for (i = 0; style == DescribeSQL && i < length; i += n)
    if ((n = TextPrintable(bytes + i, length - i)) == 0) {
      describeHex(text, bytes, length, cut);
      return;
    }
  TextChar(text, quote);
  for (i = 0; i < length; i += n) {
    char *next = (style == DescribeJSON ? CleanJsonChar : CleanLineChar)(room, bytes + i, length - i, &n);
    if (style != DescribeJSON && bytes[i] == quote)
      TextChar(text, quote);
    TextBytes(text, room, (Size)(next - room));
  }
  TextString(text, cut ? "..." : "");
  TextChar(text, quote);
}

void DescribeDouble(Text text, DescribeStyle style, double d)
{
  Bool quote = style == DescribeJSON && !isfinite(d);
  char *begin = text->next;

  if (style == DescribeSQL && !isfinite(d)) {
    TextString(text, isnan(d) ? "NULL" : d < 0 ? "-9e999" : "9e999");
    return;
  }
  TextString(text, quote ? "\"" : "");
  TextDouble(text, d);
  TextString(text, quote ? "\"" : "");
  if (style == DescribeSQL && memchr(begin, '.', (Size)(text->next - begin)) == NULL &&
      memchr(begin, 'e', (Size)(text->next - begin)) == NULL)
    TextString(text, ".0"); /* a REAL, and not an INTEGER */
}

void DescribeValue(Text text, DescribeStyle style, LogEvent event, Index param)
{
  static const char *const unknown[] = {"unknown", "", "null", "NULL"};
  EventType type = event->type;
  const char *bytes;
  uint64_t word;
  Size length;

  AVER(param < type->params);
  switch (type->letter[param]) {
  case 'D':
    DescribeDouble(text, style, LogEventDouble(event, param));
    return;
  case 'S':
    bytes = LogEventString(event, param, &length);
    DescribeString(text, style, bytes, length, event->cut);
    return;
  }
  word = LogEventWord(event, param);
  if (type->letter[param] == 'P' || type->letter[param] == 'A') {
    TextString(text, style == DescribeJSON ? "\"" : "");
    TextHex(text, word);
    TextString(text, style == DescribeJSON ? "\"" : "");
  } else if (DescribeMayLack(type, param) && word == (type->width[param] == 8 ? UINT64_MAX : UINT32_MAX)) {
    TextString(text, unknown[style]);
  } else if (style == DescribeSQL && word >> 63 != 0) {
    TextHex(text, word); /* which has all 64 bits for SQLite; a decimal literal that large would become a double */
  } else {
    TextDecimal(text, word);
  }
}

static void describeAll(Text text, LogEvent event)
{
  EventType type = event->type;
  Index i;

  CleanText(text, type->name, type->nameLength);
  for (i = 0; i < type->params; ++i) {
    TextChar(text, ' ');
    CleanText(text, type->param[i], type->paramLength[i]);
    TextChar(text, '=');
    DescribeValue(text, DescribeTEXT, event, i);
  }
}

void DescribeEvent(Text text, LogEvent event)
{
  EventType type = event->type;
  const char *next = type->describe, *limit = next + type->describeLength, *behind;
  Bool interned;

  if (next == limit)
    describeAll(text, event);
  while (next < limit && !text->overflow) {
    Index param = DescribePlace(&behind, &interned, type, next);
    if (param < type->params) {
      DescribeValue(text, DescribeTEXT, event, param);
      next = behind;
    } else {
      TextChar(text, *next >= ' ' && *next < 0x7f ? *next : '?');
      ++next;
    }
  }
}
