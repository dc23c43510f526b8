/* formats.c -- the formats that eventcnv writes
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/formats.h"

#include "base/aver.h"
#include "base/text.h"

/* A format is added by its file, its name in writer.h, and its line here. */
const WriterClassStruct *const FormatClasses[] = {
  &WriterClassText, &WriterClassCsv, &WriterClassJson, &WriterClassSql, &WriterClassCtf, &WriterClassChrome,
  &WriterClassPaje, &WriterClassFolded, &WriterClassPprof, &WriterClassPaw,
};
const Count FormatCount = ARRAY_LENGTH(FormatClasses);

const char *FormatChoices(char *names, Size size)
{
  TextStruct text;
  Index i;

  TextInit(&text, names, size);
  for (i = 0; i < FormatCount; ++i) {
    TextString(&text, i > 0 ? "|" : "");
    TextString(&text, FormatClasses[i]->name);
  }
  AVER(!text.overflow);
  return TextTerminate(&text);
}
