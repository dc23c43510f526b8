/* describe.c -- one event in words, as the registry of its log describes it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/describe.h"

#include <string.h>

#include "export/output.h"

Bool DescribeMayLack(EventType type, Index param)
{
  static const char name[] = "TaskSample";

  return type->letter[param] == 'W' && type->nameLength == strlen(name) && memcmp(type->name, name, strlen(name)) == 0;
}

Bool DescribeUnknown(LogEvent event, Index i)
{
  return DescribeMayLack(event->type, i) &&
         LogEventWord(event, i) == (event->type->width[i] == 8 ? UINT64_MAX : UINT32_MAX);
}

static Bool describeIsWord(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
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
  while (word < limit && describeIsWord(*word))
    ++word;
  param = DescribeParam(type, name, (Size)(word - name));
  *behindReturn = word;
  return *internedReturn && param < type->params && strchr("UW", type->letter[param]) == NULL ? type->params : param;
}

static void describeValue(Text text, LogEvent event, Index param)
{
  const char *bytes;
  Size length;

  switch (event->type->letter[param]) {
  case 'P':
  case 'A':
    TextHex(text, LogEventWord(event, param));
    break;
  case 'D':
    TextDouble(text, LogEventDouble(event, param));
    break;
  case 'S':
    bytes = LogEventString(event, param, &length);
    TextQuoted(text, bytes, length);
    if (event->cut)
      TextString(text, "...");
    break;
  default:
    if (DescribeUnknown(event, param))
      TextString(text, "unknown");
    else
      TextDecimal(text, LogEventWord(event, param));
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
    describeValue(text, event, i);
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
      describeValue(text, event, param);
      next = behind;
    } else {
      TextChar(text, *next >= ' ' && *next < 0x7f ? *next : '?');
      ++next;
    }
  }
}
