/* output.c -- bytes on their way to a file, in large pieces
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "log/logfile.h"

void OutputInit(Output output, int fd)
{
  output->fd = fd;
  output->failed = 0;
  output->before = NULL;
  output->next = output->base;
}

Bool OutputFlush(Output output)
{
  if (output->before != NULL && output->base < output->next)
    output->before(output->data);
  if (output->failed == 0 && FileWriteAll(output->fd, output->base, (Size)(output->next - output->base)) != ResOK)
    output->failed = errno;
  output->next = output->base;
  return output->failed == 0;
}

void OutputBytes(Output output, const char *bytes, Size size)
{
  while (size > 0) {
    char *room = OutputRoom(output);
    Size here = size < OutputRoomMAX ? size : OutputRoomMAX;
    memcpy(room, bytes, here);
    output->next = room + here;
    bytes += here;
    size -= here;
  }
}

void OutputString(Output output, const char *string)
{
  OutputBytes(output, string, strlen(string));
}

void OutputNumber(Output output, const char *before, uint64_t number)
{
  OutputString(output, before);
  output->next = TextPutDecimal(OutputRoom(output), number);
}

void OutputFormat(Output output, const char *format, ...)
{
  char *room = OutputRoom(output);
  va_list args;
  int length;

  va_start(args, format);
  length = vsnprintf(room, OutputRoomMAX, format, args);
  va_end(args);
  AVER(length >= 0 && length < OutputRoomMAX);
  output->next = room + length;
}

Res OutputEnd(Output output)
{
  if (OutputFlush(output))
    return ResOK;
  errno = output->failed;
  return ResIO;
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

  for (i = 0; i < length; i += n) {
    char *p = OutputRoom(output);
    n = TextPrintable(bytes + i, length - i);
    if (n == 0 || strchr(forbidden, bytes[i]) != NULL) {
      *p = '?';
      output->next = p + 1;
      n = 1;
    } else {
      memcpy(p, bytes + i, n);
      output->next = p + n;
    }
  }
}

void CleanLines(Output output, const char *bytes, Size length)
{
  Size i, n;

  for (i = 0; i < length; i += n) {
    char *p = OutputRoom(output);
    n = bytes[i] == '\n' || bytes[i] == '\t' ? 1 : TextPrintable(bytes + i, length - i);
    memcpy(p, bytes + i, n);
    output->next = n > 0 ? p + n : TextPutEscape(p, bytes[i]);
    if (n == 0)
      n = 1;
  }
}
