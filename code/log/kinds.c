/* kinds.c -- kinds of events by their names
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/text.h"
#include "log/logset.h"

/* kindsNamed -- the bits of the kind that is called `name` in any process */
static uint32_t kindsNamed(Log log, const char *name, Size length)
{
  uint32_t mask = 0;
  Index i, k;

  for (i = 0; i < log->table.processes; ++i) {
    Registry registry = log->table.process[i]->public.registry;
    for (k = 0; k < registry->kinds; ++k)
      if (strlen(registry->kind[k]) == length && length > 0 && memcmp(registry->kind[k], name, length) == 0)
        mask |= (uint32_t)1 << k;
  }
  return mask;
}

/* kindsList -- the names there are, each once */
static void kindsList(Text text, Log log)
{
  Index i, k;
  const char *separator = "";

  for (k = 0; k < EventKindMAX; ++k)
    for (i = 0; i < log->table.processes; ++i) {
      Registry registry = log->table.process[i]->public.registry;
      if (k < registry->kinds && registry->kind[k][0] != '\0') {
        TextString(text, separator);
        TextString(text, registry->kind[k]);
        separator = ", ";
        break;
      }
    }
}

static Res kindsUnknown(Log log, const char *name, Size length, char *error, Size size)
{
  TextStruct text;

  TextInit(&text, error, size);
  TextString(&text, "no kind is called '");
  TextBytes(&text, name, length);
  TextString(&text, "'; there are ");
  kindsList(&text, log);
  TextString(&text, ", all and none");
  (void)TextTerminate(&text);
  return ResPARAM;
}

static Bool kindsIs(const char *name, Size length, const char *word)
{
  return strlen(word) == length && memcmp(name, word, length) == 0;
}

Res LogKindMask(uint32_t *maskReturn, Log log, const char *list, char *error, Size size)
{
  uint32_t mask = list[0] == '+' || list[0] == '-' ? UINT32_MAX : 0;

  while (*list != '\0') {
    Size length = strcspn(list, ",");
    const char *name = list;
    Bool remove = *name == '-';
    Size nameLength = length;
    uint32_t bits;

    if (*name == '+' || *name == '-') {
      ++name;
      --nameLength;
    }
    if (kindsIs(name, nameLength, "all"))
      bits = UINT32_MAX;
    else if (kindsIs(name, nameLength, "none"))
      bits = 0;
    else if ((bits = kindsNamed(log, name, nameLength)) == 0)
      return kindsUnknown(log, name, nameLength, error, size);
    mask = remove ? mask & ~bits : mask | bits;
    list += length;
    list += *list == ',';
  }
  *maskReturn = mask;
  return ResOK;
}

uint32_t LogKindsThere(Log log)
{
  uint32_t mask = 0;
  Index i;

  for (i = 0; log->follow == NULL && i < log->table.streams; ++i)
    if (log->table.stream[i]->kind < 32)
      mask |= (uint32_t)1 << log->table.stream[i]->kind;
  return mask;
}
