/* clean.c -- strings out of logs, made fit for the files of others
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/clean.h"

#include <string.h>

/* cleanRune -- bytes of the sound UTF-8 character at `bytes`, of which `left` are there; 0 if there is none */
static Size cleanRune(const unsigned char *bytes, Size left)
{
  unsigned char first = bytes[0];
  Size length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  Index i;

  if (length > left)
    return 0;
  for (i = 1; i < length; ++i) {
    if ((bytes[i] & 0xc0) != 0x80)
      return 0;
  }
  if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) || (first == 0xf0 && bytes[1] < 0x90) ||
      (first == 0xf4 && bytes[1] > 0x8f))
    return 0; /* too long, a surrogate, or beyond Unicode */
  return length;
}

static Bool cleanIsControl(unsigned char c)
{
  return c < ' ' || c == 0x7f;
}

/* cleanEscape -- a character of ASCII that JSON does not have as it is */
static char *cleanEscape(char *p, unsigned char c)
{
  static const char hex[] = "0123456789abcdef";

  *p++ = '\\';
  if (!cleanIsControl(c)) {
    *p++ = (char)c;
    return p;
  }
  memcpy(p, "u00", 3);
  p[3] = hex[c >> 4];
  p[4] = hex[c & 15];
  return p + 5;
}

void CleanJson(Output output, const char *bytes, Size length)
{
  const unsigned char *s = (const unsigned char *)bytes;
  Size i, n;
  char *p;

  OutputBytes(output, "\"", 1);
  for (i = 0; i < length; i += n) {
    p = OutputRoom(output);
    n = cleanRune(s + i, length - i);
    if (n == 0) {
      memcpy(p, "\xef\xbf\xbd", 3);
      output->next = p + 3;
      n = 1;
    } else if (cleanIsControl(s[i]) || s[i] == '"' || s[i] == '\\') {
      output->next = cleanEscape(p, s[i]);
    } else {
      memcpy(p, s + i, n);
      output->next = p + n;
    }
  }
  OutputBytes(output, "\"", 1);
}

void CleanPlain(Output output, const char *bytes, Size length, const char *forbidden)
{
  const unsigned char *s = (const unsigned char *)bytes;
  Size i, n;

  for (i = 0; i < length; i += n) {
    char *p = OutputRoom(output);
    n = cleanRune(s + i, length - i);
    if (n == 0 || cleanIsControl(s[i]) || strchr(forbidden, s[i]) != NULL) {
      *p = '?';
      output->next = p + 1;
      n = 1;
    } else {
      memcpy(p, s + i, n);
      output->next = p + n;
    }
  }
}
