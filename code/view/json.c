/* json.c -- a string as JSON has it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "json.h"

#include "base/types.h"

/* jsonRune -- the character that begins at *place, which is moved behind it; U+FFFD for a byte that begins none */
static uint32_t jsonRune(const unsigned char **place)
{
  const unsigned char *p = *place;
  unsigned i, more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
  uint32_t rune = *p & (0x3fu >> more);

  ++*place;
  if (*p < 0xc2 || *p > 0xf4)
    return 0xfffd;
  for (i = 1; i <= more; ++i) {
    if ((p[i] & 0xc0) != 0x80)
      return 0xfffd;
    rune = rune << 6 | (p[i] & 0x3fu);
  }
  if ((more == 2 && (rune < 0x800 || rune - 0xd800 < 0x800)) || (more == 3 && (rune < 0x10000 || rune > 0x10ffff)))
    return 0xfffd;
  *place += more;
  return rune;
}

void JsonString(FILE *out, const char *string)
{
  const unsigned char *p = (const unsigned char *)string;

  putc('"', out);
  while (*p != '\0') {
    uint32_t rune = *p;
    if (rune < 0x80)
      ++p;
    else
      rune = jsonRune(&p);
    if (rune == '"' || rune == '\\')
      fprintf(out, "\\%c", (int)rune);
    else if (rune >= 0x20 && rune < 0x7f)
      putc((int)rune, out);
    else if (rune < 0x10000)
      fprintf(out, "\\u%04x", rune);
    else
      fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (rune >> 10), 0xdc00 + (rune & 0x3ff));
  }
  putc('"', out);
}
