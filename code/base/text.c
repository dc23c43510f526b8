/* text.c -- text built in a fixed piece of memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char TextPairs[201] =
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
    digits[--i] = TextPairs[pair + 1];
    digits[--i] = TextPairs[pair];
  }
  if (n >= 10) {
    digits[--i] = TextPairs[n * 2 + 1];
    digits[--i] = TextPairs[n * 2];
  } else {
    digits[--i] = (char)('0' + n);
  }
  memcpy(p, digits + i, sizeof digits - i);
  return p + (sizeof digits - i);
}

void TextDecimal(Text text, uint64_t n)
{
  TextPadded(text, n, 0);
}

void TextHex(Text text, uint64_t n)
{
  unsigned nibbles = n == 0 ? 1 : (67u - (unsigned)__builtin_clzll(n)) / 4, i;
  char digits[18] = "0x";

  for (i = nibbles; i-- > 0; n >>= 4)
    digits[2 + i] = "0123456789abcdef"[n & 15];
  TextBytes(text, digits, 2 + nibbles);
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

Size TextUtf8(const char *string, Size left)
{
  const unsigned char *bytes = (const unsigned char *)string;
  Size length = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xc2 && bytes[0] < 0xe0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3
              : bytes[0] >= 0xf0 && bytes[0] < 0xf5 ? 4 : 0;
  Index i;

  if (length == 0 || length > left)
    return 0;
  for (i = 1; i < length; ++i)
    if ((bytes[i] & 0xc0) != 0x80)
      return 0;
  if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
      (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
    return 0; /* too long, a surrogate, or beyond Unicode */
  return length;
}

/* textTurns -- does this character of three bytes change the direction in which others are written?  U+202A to U+202E,
 * U+2066 to U+2069 */
static Bool textTurns(const unsigned char *bytes)
{
  unsigned last = (unsigned)bytes[1] << 8 | bytes[2];

  return bytes[0] == 0xe2 && ((last >= 0x80aa && last <= 0x80ae) || (last >= 0x81a6 && last <= 0x81a9));
}

Size TextPrintable(const char *bytes, Size left)
{
  Size length = TextUtf8(bytes, left);
  unsigned char c = (unsigned char)bytes[0];

  if ((length == 1 && (c < ' ' || c == 0x7f)) || (length == 2 && c == 0xc2 && (unsigned char)bytes[1] < 0xa0) ||
      (length == 3 && textTurns((const unsigned char *)bytes)))
    return 0;
  return length;
}

char *TextPutEscape(char *p, char byte)
{
  unsigned char c = (unsigned char)byte;

  p[0] = '\\';
  p[1] = (char)('0' + (c >> 6));
  p[2] = (char)('0' + (c >> 3 & 7));
  p[3] = (char)('0' + (c & 7));
  return p + TextEscapeMAX;
}

/* textWhole -- what must not be cut in two */
static void textWhole(Text text, const char *bytes, Size size)
{
  if (size > TextRoom(text))
    text->overflow = TRUE;
  if (!text->overflow)
    TextBytes(text, bytes, size);
}

/* textEach -- each character as it is, or escaped */
static void textEach(Text text, const char *bytes, Size size, Bool quoted)
{
  char escape[TextEscapeMAX];
  Size i, n;

  for (i = 0; i < size; i += n > 0 ? n : 1) {
    char c = bytes[i];
    n = TextPrintable(bytes + i, size - i);
    if (quoted && (c == '"' || c == '\\'))
      textWhole(text, (char[]){'\\', c}, 2);
    else if (n > 0)
      textWhole(text, bytes + i, n);
    else if (quoted && (c == '\n' || c == '\t' || c == '\r'))
      textWhole(text, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", 2);
    else
      textWhole(text, escape, (Size)(TextPutEscape(escape, c) - escape));
  }
}

void TextPlain(Text text, const char *bytes, Size size)
{
  textEach(text, bytes, size, FALSE);
}

void TextQuoted(Text text, const char *bytes, Size size)
{
  TextChar(text, '"');
  textEach(text, bytes, size, TRUE);
  TextChar(text, '"');
}

char *TextTerminate(Text text)
{
  *text->next = '\0';
  return text->base;
}

/* textSpecified -- append one argument; `at` is behind its %.  Returns where its specifier ends. */
static const char *textSpecified(Text text, const char *at, va_list *args)
{
  uint64_t n;
  int size;

  switch (*at) {
  case 'c': TextChar(text, (char)va_arg(*args, int)); return at;
  case 's': TextString(text, va_arg(*args, const char *)); return at;
  case '.': /* .*s */
    size = va_arg(*args, int);
    TextBytes(text, va_arg(*args, const char *), (Size)size);
    return at + 2;
  case '#': /* #jx */
    TextHex(text, va_arg(*args, uint64_t));
    return at + 2;
  default:
    n = *at == 'j' ? va_arg(*args, uint64_t) : *at == 'z' ? va_arg(*args, Size) : va_arg(*args, unsigned);
    TextDecimal(text, n);
    return at + (*at != 'u');
  }
}

static void textFormat(Text text, const char *format, va_list *args)
{
  for (; *format != '\0'; ++format)
    if (*format == '%')
      format = textSpecified(text, format + 1, args);
    else
      TextChar(text, *format);
}

void TextFormat(Text text, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  textFormat(text, format, &args);
  va_end(args);
}

char *TextMake(char *room, Size size, const char *format, ...)
{
  TextStruct text;
  va_list args;

  TextInit(&text, room, size);
  va_start(args, format);
  textFormat(&text, format, &args);
  va_end(args);
  return TextTerminate(&text);
}

uint64_t TextNumber(const char **at, unsigned base)
{
  uint64_t n = 0;

  for (;; ++*at) {
    unsigned digit = **at >= '0' && **at <= '9' ? (unsigned)(**at - '0') :
                     **at >= 'a' && **at <= 'f' ? (unsigned)(**at - 'a') + 10 : base;
    if (digit >= base)
      return n;
    if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, digit, &n))
      n = UINT64_MAX;
  }
}
