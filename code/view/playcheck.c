/* playcheck.c -- objects filled with what only they can hold, and checked
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "playcheck.h"

#include <string.h>

enum { checkHALF = PlayCheckMAX / 2 };

/* checkWord -- what stands at word `i` of an object */
static inline uint64_t checkWord(uint64_t seed, Index i)
{
  return (seed + i) * 0x9e3779b97f4a7c15ull ^ seed;
}

static void checkFillRange(unsigned char *p, Size from, Size to, uint64_t seed)
{
  Size at = WordAlignDown(from, 8);

  for (; at < to; at += 8) {
    uint64_t word = checkWord(seed, at / 8);
    memcpy(p + at, &word, to - at < 8 ? to - at : 8);
  }
}

/* checkRange -- where [from, to) is not what it should be, or `to` */
static Size checkRange(const unsigned char *p, Size from, Size to, uint64_t seed)
{
  Size at = WordAlignDown(from, 8), i;

  for (; at < to; at += 8) {
    uint64_t word = checkWord(seed, at / 8);
    Size n = to - at < 8 ? to - at : 8;
    if (memcmp(p + at, &word, n) == 0)
      continue;
    for (i = 0; i < n; ++i) {
      if (p[at + i] != ((unsigned char *)&word)[i] && at + i >= from)
        return at + i;
    }
  }
  return to;
}

void PlayFill(void *addr, Size from, Size size, uint64_t seed)
{
  if (size <= PlayCheckMAX) {
    checkFillRange(addr, from, size, seed);
  } else {
    if (from < checkHALF)
      checkFillRange(addr, from, checkHALF, seed);
    checkFillRange(addr, WordAlignUp(size - checkHALF, 8), size, seed);
  }
}

Bool PlayCheck(Size *badReturn, const void *addr, Size upto, Size size, uint64_t seed)
{
  Size head = size <= PlayCheckMAX ? size : checkHALF, bad;

  if (head > upto)
    head = upto;
  bad = checkRange(addr, 0, head, seed);
  if (bad == head && size > PlayCheckMAX && upto > size - checkHALF) {
    bad = checkRange(addr, WordAlignUp(size - checkHALF, 8), upto, seed);
    head = upto;
  }
  *badReturn = bad;
  return bad >= head;
}

Bool PlayCheckZero(Size *badReturn, const void *addr, Size size)
{
  const unsigned char *p = addr;
  Size i;

  for (i = 0; i < size; ++i) {
    if (size > PlayCheckMAX && i == checkHALF)
      i = size - checkHALF;
    if (p[i] != 0) {
      *badReturn = i;
      return FALSE;
    }
  }
  return TRUE;
}
