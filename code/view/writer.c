/* writer.c -- the formats
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/writer.h"

#include "base/aver.h"
#include "base/text.h"

/* A format is added by its file, its name in writer.h, and its line here. */
const WriterClassStruct *const WriterClasses[] = {
  &WriterClassText, &WriterClassCsv, &WriterClassJson, &WriterClassCtf, &WriterClassPaw,
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
