/* clean.c -- strings out of logs, made fit for the files of others
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/clean.h"

#include <string.h>

#include "view/put.h"

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
    n = PutUtf8(s + i, length - i);
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
    n = PutUtf8(s + i, length - i);
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
