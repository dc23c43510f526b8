/* near.c -- what somebody who misspelt a name may have meant
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/near.h"

#include <string.h>

void NearInit(Near near, const char *word, Size length)
{
  memset(near, 0, sizeof *near);
  near->word = word;
  near->length = length;
}

static Bool nearHas(Near near, const char *name, Size length)
{
  Index i;

  for (i = 0; i < near->count; ++i)
    if (near->name[i].length == length && memcmp(near->name[i].name, name, length) == 0)
      return TRUE;
  return FALSE;
}

void NearOffer(Near near, const char *name, Size length)
{
  char copy[NamesLengthMAX + 1];
  unsigned distance;
  Index i;

  if (length == 0 || length > NamesLengthMAX || nearHas(near, name, length))
    return;
  memcpy(copy, name, length);
  copy[length] = '\0';
  distance = NamesDistance(near->word, near->length, copy);
  if (near->count == NamesNearMAX && distance >= near->name[NamesNearMAX - 1].distance)
    return;
  if (near->count < NamesNearMAX)
    ++near->count;
  for (i = near->count - 1; i > 0 && near->name[i - 1].distance > distance; --i)
    near->name[i] = near->name[i - 1];
  near->name[i] = (NearNameStruct){name, length, distance};
}

void NearTell(Near near, Text text)
{
  Index i, k;

  for (i = 0; i < near->count; ++i) {
    TextString(text, i == 0 ? "; near it are " : ", ");
    for (k = 0; k < near->name[i].length; ++k) {
      unsigned char c = (unsigned char)near->name[i].name[k];
      TextChar(text, c > ' ' && c < 0x7f ? (char)c : '?');
    }
  }
}
