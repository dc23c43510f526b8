/* text.c -- text built in a fixed piece of memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char textPairs[] =
  "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
  "8081828384858687888990919293949596979899";

void TextBytes(Text text, const char *bytes, Size size)
{
  Size room = TextRoom(text);

  if (size > room) {
    size = room;
    text->overflow = TRUE;
  }
  memcpy(text->next, bytes, size);
  text->next += size;
}

void TextString(Text text, const char *string)
{
  TextBytes(text, string, strlen(string));
}

void TextChar(Text text, char c)
{
  TextBytes(text, &c, 1);
}

char *TextPutDecimal(char *p, uint64_t n)
{
  char digits[20];
  unsigned i = sizeof digits;

  while (n >= 100) {
    unsigned pair = (unsigned)(n % 100) * 2;
    n /= 100;
    digits[--i] = textPairs[pair + 1];
    digits[--i] = textPairs[pair];
  }
  if (n >= 10) {
    digits[--i] = textPairs[n * 2 + 1];
    digits[--i] = textPairs[n * 2];
  } else {
    digits[--i] = (char)('0' + n);
  }
  memcpy(p, digits + i, sizeof digits - i);
  return p + (sizeof digits - i);
}

char *TextPutHex(char *p, uint64_t n)
{
  unsigned nibbles = n == 0 ? 1 : (67u - (unsigned)__builtin_clzll(n)) / 4;
  unsigned i;

  for (i = nibbles; i-- > 0; n >>= 4)
    p[i] = "0123456789abcdef"[n & 15];
  return p + nibbles;
}

void TextDecimal(Text text, uint64_t n)
{
  char digits[20];

  TextBytes(text, digits, (Size)(TextPutDecimal(digits, n) - digits));
}

void TextSigned(Text text, int64_t n)
{
  if (n < 0)
    TextChar(text, '-');
  TextDecimal(text, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void TextHex(Text text, uint64_t n)
{
  char digits[18] = "0x";

  TextBytes(text, digits, (Size)(TextPutHex(digits + 2, n) - digits));
}

void TextPadded(Text text, uint64_t n, unsigned width)
{
  char digits[20];
  unsigned length = (unsigned)(TextPutDecimal(digits, n) - digits);

  for (; width > length; --width)
    TextChar(text, '0');
  TextBytes(text, digits, length);
}

void TextDouble(Text text, double d)
{
  char room[40];
  int precision;

  /* Not for signal handlers: libc's conversion is right in all cases, ours would have to be shown to be. */
  if (isnan(d)) {
    TextString(text, "nan");
    return;
  }
  for (precision = 1; precision <= 17; ++precision) {
    (void)snprintf(room, sizeof room, "%.*g", precision, d);
    if (strtod(room, NULL) == d)
      break;
  }
  TextString(text, room);
}

void TextQuoted(Text text, const char *bytes, Size size)
{
  Size i;

  TextChar(text, '"');
  for (i = 0; i < size; ++i) {
    unsigned char c = (unsigned char)bytes[i];
    const char *escape = c == 0 ? NULL : strchr("\"\"\\\\\nn\tt\rr", c);
    char octal[4] = {'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)), (char)('0' + (c & 7))};

    if (c == '"' || c == '\\') {
      TextChar(text, '\\');
      TextChar(text, (char)c);
    } else if (escape != NULL && c < ' ') {
      TextChar(text, '\\');
      TextChar(text, escape[1]);
    } else if (c < ' ' || c == 0x7f) {
      TextBytes(text, octal, sizeof octal);
    } else {
      TextChar(text, (char)c);
    }
  }
  TextChar(text, '"');
}

char *TextTerminate(Text text)
{
  *text->next = '\0';
  return text->base;
}
