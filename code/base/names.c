/* names.c -- a list of names as a set of bits
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/names.h"

#include <string.h>

static Bool namesIs(const char *name, const char *word, Size length)
{
  return name != NULL && length > 0 && strlen(name) == length && memcmp(name, word, length) == 0;
}

static void namesComplain(Text error, const char *word, Size length, const char *const *names, Count count)
{
  const char *separator = " ";
  Index i;

  TextString(error, "no kind is called '");
  TextBytes(error, word, length);
  TextString(error, "'; there are");
  for (i = 0; i < count; ++i)
    if (names[i] != NULL && *names[i] != '\0') {
      TextString(error, separator);
      TextString(error, names[i]);
      separator = ", ";
    }
}

/* namesOne -- the bits that one word stands for; 0 if none */
static uint32_t namesOne(const char *word, Size length, const char *const *names, Count count)
{
  Bool all = namesIs("all", word, length);
  uint32_t bits = 0;
  Index i;

  for (i = 0; i < count; ++i)
    if (namesIs(names[i], word, length) || (all && names[i] != NULL))
      bits |= (uint32_t)1 << i % 32;
  return bits;
}

Res NamesMask(uint32_t *maskReturn, const char *list, const char *const *names, Count count, uint32_t standard,
              Text error)
{
  uint32_t mask = 0;
  Bool first = TRUE;

  while (*list != '\0') {
    Size length = strcspn(list, ", ");
    Bool changes = *list == '+' || *list == '-';
    const char *word = list + changes;
    uint32_t bits;

    if (length > 0) {
      bits = namesOne(word, length - changes, names, count);
      if (bits == 0 && !namesIs("none", word, length - changes)) {
        namesComplain(error, word, length - changes, names, count);
        return ResPARAM;
      }
      if (first && changes)
        mask = standard;
      first = FALSE;
      mask = *list == '-' ? mask & ~bits : mask | bits;
    }
    list += length;
    list += *list != '\0';
  }
  *maskReturn = first ? standard : mask;
  return ResOK;
}
