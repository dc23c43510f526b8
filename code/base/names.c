/* names.c -- a list of names as a set of bits
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/names.h"

#include <ctype.h>
#include <string.h>

static Bool namesIs(const char *name, const char *word, Size length)
{
  return name != NULL && strlen(name) == length && memcmp(name, word, length) == 0;
}

static void namesComplain(Text error, const char *word, Size length, const char *const *names, Count count,
                          const char *what)
{
  const char *separator = " ";
  Index i;

  TextString(error, "no ");
  TextString(error, what);
  TextString(error, " is called '");
  TextBytes(error, word, length);
  TextString(error, "'; there are");
  for (i = 0; i < count; ++i)
    if (names[i] != NULL) {
      TextString(error, separator);
      TextString(error, names[i]);
      separator = ", ";
    }
}

/* namesOne -- the bits that one word stands for; 0 if none */
static uint32_t namesOne(const char *word, Size length, const char *const *names, Count count)
{
  uint32_t all = 0;
  Index i;

  for (i = 0; i < count; ++i) {
    if (namesIs(names[i], word, length))
      return (uint32_t)1 << i;
    if (names[i] != NULL)
      all |= (uint32_t)1 << i;
  }
  return namesIs("all", word, length) ? all : 0;
}

Res NamesMask(uint32_t *maskReturn, const char *list, const char *const *names, Count count, uint32_t standard,
              const char *what, Text error)
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
        namesComplain(error, word, length - changes, names, count, what);
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

unsigned NamesDistance(const char *word, Size length, const char *name)
{
  unsigned row[NamesLengthMAX + 1], diagonal, above;
  Size n = strlen(name), i, k;

  if (length > NamesLengthMAX || n > NamesLengthMAX)
    return NamesLengthMAX;
  for (k = 0; k <= n; ++k)
    row[k] = (unsigned)k;
  for (i = 0; i < length; ++i) {
    diagonal = row[0];
    row[0] = (unsigned)i + 1;
    for (k = 0; k < n; ++k) {
      unsigned best = diagonal + (tolower((unsigned char)word[i]) != tolower((unsigned char)name[k]));
      above = row[k + 1];
      if (above + 1 < best)
        best = above + 1;
      if (row[k] + 1 < best)
        best = row[k] + 1;
      diagonal = above;
      row[k + 1] = best;
    }
  }
  return row[n];
}
