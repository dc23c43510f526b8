/* bars.c -- bars of block characters
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/bars.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"

enum { barsEIGHTHS = 8 };

Bool BarsBlocks(void)
{
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  const char *locale = NULL;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(names) && (locale == NULL || *locale == '\0'); ++i)
    locale = getenv(names[i]);
  return locale == NULL || *locale == '\0' || strcasestr(locale, "utf-8") != NULL ||
         strcasestr(locale, "utf8") != NULL;
}

/* barsEighths -- how many eighths of `length` characters a bar has: one at least if there is anything */
static unsigned barsEighths(uint64_t value, uint64_t most, unsigned length)
{
  unsigned eighths = most == 0 ? 0 : (unsigned)((double)value / (double)most * length * barsEIGHTHS + 0.5);

  AVER(value <= most);
  return value > 0 && eighths == 0 ? 1 : eighths;
}

void BarsAcross(FILE *out, uint64_t value, uint64_t most, unsigned width)
{
  static const char *const part[barsEIGHTHS] = {
    "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"
  };
  unsigned eighths = barsEighths(value, most, width);
  Bool blocks = BarsBlocks();

  for (; eighths >= barsEIGHTHS; eighths -= barsEIGHTHS)
    fputs(blocks ? "\u2588" : "#", out);
  fputs(blocks ? part[eighths] : eighths >= barsEIGHTHS / 2 ? "#" : "", out);
}

void BarsUp(FILE *out, uint64_t value, uint64_t most, unsigned height, unsigned row)
{
  static const char *const part[barsEIGHTHS + 1] = {
    " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"
  };
  unsigned eighths = barsEighths(value, most, height), below = row * barsEIGHTHS;
  unsigned here = eighths <= below ? 0 : eighths - below >= barsEIGHTHS ? barsEIGHTHS : eighths - below;

  if (BarsBlocks())
    fputs(part[here], out);
  else
    putc(here >= barsEIGHTHS / 2 ? '#' : here > 0 && row == 0 ? '.' : ' ', out);
}
