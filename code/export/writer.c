/* writer.c -- the formats
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/writer.h"

#include <string.h>

#include "base/aver.h"
#include "base/option.h"
#include "base/text.h"

/* A format is added by its file, its name in writer.h, and its line here. */
const WriterClassStruct *const WriterClasses[] = {
  &WriterClassText, &WriterClassCsv, &WriterClassJson, &WriterClassSql, &WriterClassCtf, &WriterClassChrome,
  &WriterClassPaje, &WriterClassFolded, &WriterClassPaw,
};
const Count WriterClassCount = ARRAY_LENGTH(WriterClasses);

const char *WriterChoices(char *names, Size size)
{
  TextStruct text;
  Index i;

  TextInit(&text, names, size);
  for (i = 0; i < WriterClassCount; ++i) {
    if (i > 0)
      TextChar(&text, '|');
    TextString(&text, WriterClasses[i]->name);
  }
  AVER(!text.overflow);
  return TextTerminate(&text);
}

Res WriterThin(uint64_t *thinReturn, const char *string)
{
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"s", 1e9}};
  double factor = 1e9, number;
  char digits[64];
  Size length;
  Index i;

  *thinReturn = WriterThinAUTO;
  if (string == NULL)
    return ResOK;
  length = strlen(string);
  for (i = 0; i < ARRAY_LENGTH(units); ++i) {
    Size unit = strlen(units[i].unit);
    if (length > unit && strcmp(string + length - unit, units[i].unit) == 0) {
      factor = units[i].ns;
      length -= unit;
      break;
    }
  }
  if (length >= sizeof digits)
    return ResPARAM;
  memcpy(digits, string, length);
  digits[length] = '\0';
  if (OptionParseDouble(digits, &number) != ResOK || !(number >= 0 && number * factor < 1e18))
    return ResPARAM;
  *thinReturn = (uint64_t)(number * factor + 0.5);
  return ResOK;
}
