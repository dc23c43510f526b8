/* contents.c -- what is in the objects of a replay with --verify, and whether it still is
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/contents.h"

#include <string.h>

enum { contentsHALF = ContentsMAX / 2 };

/* contentsPart -- where part 0 or 1 of what is filled of an object of `size` bytes begins; *toReturn: where it ends.
 * Each begins at a multiple of 8; the second is empty in an object that is filled from end to end. */
static Size contentsPart(Size *toReturn, Size size, Index part)
{
  Bool whole = size <= ContentsMAX;

  *toReturn = part == 0 && !whole ? contentsHALF : size;
  return part == 0 ? 0 : whole ? size : WordAlignUp(size - contentsHALF, 8);
}

/* contentsWord -- the word with which byte `at` of an object is filled */
static inline uint64_t contentsWord(uint64_t seed, Size at)
{
  return (seed + at / 8) * 0x9e3779b97f4a7c15ull ^ seed;
}

void ContentsFill(void *addr, Size size, uint64_t seed)
{
  Size at, to;
  Index part;

  for (part = 0; part < 2; ++part)
    for (at = contentsPart(&to, size, part); at < to; at += 8) {
      uint64_t word = contentsWord(seed, at);
      memcpy((char *)addr + at, &word, to - at < 8 ? to - at : 8);
    }
}

Bool ContentsAre(Size *badReturn, const void *addr, Size upto, Size size, uint64_t seed)
{
  const unsigned char *p = addr;
  Size at, to;
  Index part;

  for (part = 0; part < 2; ++part)
    for (at = contentsPart(&to, size, part); at < to && at < upto; at += 8) {
      uint64_t word = contentsWord(seed, at);
      Size limit = to < upto ? to : upto, n = limit - at < 8 ? limit - at : 8;
      if (memcmp(p + at, &word, n) != 0) {
        for (*badReturn = at; p[*badReturn] == ((unsigned char *)&word)[*badReturn - at];)
          ++*badReturn;
        return FALSE;
      }
    }
  return TRUE;
}

Bool ContentsZero(Size *badReturn, const void *addr, Size size)
{
  const unsigned char *p = addr;
  Index part;
  Size to;

  for (part = 0; part < 2; ++part)
    for (*badReturn = contentsPart(&to, size, part); *badReturn < to; ++*badReturn)
      if (p[*badReturn] != 0)
        return FALSE;
  return TRUE;
}
