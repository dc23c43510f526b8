/* headertext.c -- writes a process's header block again, from what the reader knows
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/headertext.h"

#include "format/block.h"

static void headerTextCode(Text text, uint16_t code)
{
  static const char digits[] = "0123456789abcdef";
  unsigned shift = 16;

  TextString(text, "0x");
  while (shift > 0) {
    shift -= 4;
    TextChar(text, digits[code >> shift & 15]);
  }
}

static void headerTextType(Text text, Registry registry, EventType type)
{
  Index i;

  TextString(text, "event: ");
  headerTextCode(text, type->code);
  TextChar(text, ' ');
  TextBytes(text, type->name, type->nameLength);
  TextChar(text, ' ');
  TextString(text, registry->kind[type->kind]);
  TextString(text, type->always ? " 1 " : " 0 ");
  if (type->params > 0)
    TextBytes(text, type->letter, type->params);
  else
    TextChar(text, '0');
  for (i = 0; i < type->params; ++i) {
    TextChar(text, ' ');
    TextBytes(text, type->param[i], type->paramLength[i]);
  }
  TextChar(text, '\n');
  if (type->describeLength > 0) {
    TextString(text, "describe: ");
    headerTextCode(text, type->code);
    TextChar(text, ' ');
    TextBytes(text, type->describe, type->describeLength);
    TextChar(text, '\n');
  }
}

Res LogHeaderText(Text text, Header header, Registry registry)
{
  Index i;

  HeaderBegin(text, header);
  for (i = 0; i < registry->kinds; ++i)
    if (registry->kind[i][0] != '\0') {
      TextString(text, "kind: ");
      TextDecimal(text, i);
      TextChar(text, ' ');
      TextString(text, registry->kind[i]);
      TextChar(text, '\n');
    }
  for (i = 0; i < registry->count; ++i)
    headerTextType(text, registry, &registry->types[i]);
  return HeaderEnd(text);
}

const char *LogHeaderLines(Text text, Size *lengthReturn)
{
  *lengthReturn = TextLength(text) - BlockMagicSIZE - HeaderLineSIZE;
  return text->base + BlockMagicSIZE + HeaderLineSIZE;
}
