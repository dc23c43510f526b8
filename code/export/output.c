/* output.c -- bytes on their way to a file, in large pieces
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "log/logfile.h"

void OutputInit(Output output, int fd)
{
  output->fd = fd;
  output->failed = 0;
  output->flushed = 0;
  output->before = NULL;
  output->next = output->base;
}

Bool OutputFlush(Output output)
{
  AVER(OutputCheck(output));
  if (output->before != NULL && output->base < output->next)
    output->before(output->data);
  if (output->failed == 0 && FileWriteAll(output->fd, output->base, (Size)(output->next - output->base)) != ResOK)
    output->failed = errno;
  output->flushed = OutputWritten(output);
  output->next = output->base;
  return output->failed == 0;
}

void OutputBytes(Output output, const void *bytes, Size size)
{
  const char *from = bytes;

  while (size > 0) {
    char *room = OutputRoom(output);
    Size here = size < OutputRoomMAX ? size : OutputRoomMAX;
    memcpy(room, from, here);
    output->next = room + here;
    from += here;
    size -= here;
  }
}

void OutputString(Output output, const char *string)
{
  OutputBytes(output, string, strlen(string));
}

/* outputDirective -- what stands behind a % of a format; returns the place behind the directive */
static const char *outputDirective(Output output, const char *next, va_list *args)
{
  unsigned width = 0;
  uint64_t number;
  Bool wide;

  if (*next == 's') {
    OutputString(output, va_arg(*args, const char *));
    return next + 1;
  }
  if (*next == '0') {
    width = (unsigned)(next[1] - '0');
    next += 2;
  }
  wide = *next == 'l' || *next == 'z';
  next += wide;
  number = wide ? va_arg(*args, uint64_t) : va_arg(*args, unsigned);
  AVER(*next == 'u' && (width == 0 || (width <= 9 && number < 1000000000)));
  if (width == 0) {
    output->next = PutDecimal(OutputRoom(output), number);
  } else {
    char digits[PutSLACK];
    OutputBytes(output, PutNanos(digits, (uint32_t)number) - width, width);
  }
  return next + 1;
}

void OutputFormat(Output output, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  for (;;) {
    const char *percent = strchrnul(format, '%');
    OutputBytes(output, format, (Size)(percent - format));
    if (*percent == '\0')
      break;
    format = outputDirective(output, percent + 1, &args);
  }
  va_end(args);
}

void OutputFail(Output output, int reason)
{
  AVER(reason != 0);
  if (output->failed == 0)
    output->failed = reason;
}

Bool OutputCheck(Output output)
{
  return output->fd >= 0 && output->failed >= 0 && output->base <= output->next &&
         output->next <= output->base + OutputSIZE;
}

/* cleanEscape -- a character below U+0100 that JSON does not have as it is, or that a terminal would obey */
static char *cleanEscape(char *p, unsigned char c)
{
  static const char hex[] = "0123456789abcdef";

  *p++ = '\\';
  if (c == '"' || c == '\\') {
    *p++ = (char)c;
    return p;
  }
  memcpy(p, "u00", 3);
  p[3] = hex[c >> 4];
  p[4] = hex[c & 15];
  return p + 5;
}

char *CleanJsonChar(char *p, const char *bytes, Size left, Size *lengthReturn)
{
  Size length = TextUtf8(bytes, left);

  *lengthReturn = length > 0 ? length : 1;
  if (length == 0) {
    memcpy(p, "\xef\xbf\xbd", 3);
    return p + 3;
  }
  if (TextPrintable(bytes, left) == 0 || *bytes == '"' || *bytes == '\\')
    return cleanEscape(p, (unsigned char)bytes[length - 1]); /* C1 has its number in its second byte */
  memcpy(p, bytes, length);
  return p + length;
}

char *CleanLineChar(char *p, const char *bytes, Size left, Size *lengthReturn)
{
  Size length = *bytes == '\n' || *bytes == '\t' ? 1 : TextPrintable(bytes, left);

  *lengthReturn = length > 0 ? length : 1;
  if (length == 0)
    return TextPutEscape(p, *bytes);
  memcpy(p, bytes, length);
  return p + length;
}

void CleanJson(Output output, const char *bytes, Size length)
{
  Size i, n;

  OutputBytes(output, "\"", 1);
  for (i = 0; i < length; i += n)
    output->next = CleanJsonChar(OutputRoom(output), bytes + i, length - i, &n);
  OutputBytes(output, "\"", 1);
}

void CleanPlain(Output output, const char *bytes, Size length, const char *forbidden)
{
  Size i, n;

  for (i = 0; i < length; i += n > 0 ? n : 1) {
    n = strchr(forbidden, bytes[i]) != NULL ? 0 : TextPrintable(bytes + i, length - i);
    OutputBytes(output, n > 0 ? bytes + i : "?", n > 0 ? n : 1);
  }
}

void CleanLines(Output output, const char *bytes, Size length)
{
  Size i, n;

  for (i = 0; i < length; i += n)
    output->next = CleanLineChar(OutputRoom(output), bytes + i, length - i, &n);
}
