/* optionfit.c -- options that would mean nothing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "aver.h"
#include "option.h"
#include "text.h"

enum { fitNamesMAX = 3, fitTextSIZE = 1024 };

/* fitNames -- the names of some uses, as one would say them */
static void fitNames(Text text, const OptionUseStruct *uses, Count count, uint64_t which)
{
  Count left = (Count)__builtin_popcountll(which);
  Index i;

  for (i = 0; i < count; ++i)
    if (which >> i & 1) {
      TextString(text, uses[i].name);
      --left;
      TextString(text, left > 1 ? ", " : left == 1 ? " and " : "");
    }
}

/* fitIsUse -- is the option what asks for one of these uses? */
static Bool fitIsUse(const OptionStruct *option, const OptionUseStruct *uses, Count count, uint64_t which)
{
  Index i;

  for (i = 0; i < count; ++i)
    if (which >> i & 1 && strncmp(uses[i].name, "--", 2) == 0 && strcmp(uses[i].name + 2, option->name) == 0)
      return TRUE;
  return FALSE;
}

Bool OptionFit(const OptionToolStruct *tool, const OptionUseStruct *uses, Count count, uint64_t chosen,
               int *statusReturn)
{
  char room[fitTextSIZE];
  TextStruct text;
  Index i, u;

  AVER(tool->given != NULL && tool->count <= 64 && count <= 64);
  for (i = 0; i < tool->count; ++i) {
    const OptionStruct *option = &tool->options[i];
    uint64_t takers = 0;
    if ((*tool->given >> i & 1) == 0 || option->group == 0)
      continue;
    for (u = 0; u < count; ++u)
      if ((uses[u].takes & option->group) != 0)
        takers |= (uint64_t)1 << u;
    if ((takers & chosen) != 0)
      continue;
    TextInit(&text, room, sizeof room);
    TextString(&text, "has no meaning with ");
    fitNames(&text, uses, count, chosen);
    if (__builtin_popcountll(takers) <= fitNamesMAX && !fitIsUse(option, uses, count, takers)) {
      TextString(&text, "; it is for ");
      fitNames(&text, uses, count, takers);
    }
    *statusReturn = OptionUsage(tool, "--%s %s", option->name, TextTerminate(&text));
    return FALSE;
  }
  return TRUE;
}
