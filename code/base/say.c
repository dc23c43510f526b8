/* say.c -- printing for people: strings, lines and sizes, on a stream
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "say.h"

#include <string.h>

#include "text.h"

enum { sayLineMAX = 16384 /* bytes of a message; what is longer is cut */ };

void SayPlain(FILE *out, const char *string, Size length)
{
  char escape[TextEscapeMAX];
  Size i, n;

  for (i = 0; i < length; i += n) {
    n = TextPrintable(string + i, length - i);
    if (n > 0) {
      (void)!fwrite(string + i, 1, n, out);
    } else {
      (void)!fwrite(escape, 1, (Size)(TextPutEscape(escape, string[i]) - escape), out);
      n = 1;
    }
  }
}

void SayLine(FILE *out, const char *format, ...)
{
  char room[sayLineMAX];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(room, sizeof room, format, args);
  va_end(args);
  SayPlain(out, room, strlen(room));
  putc('\n', out);
}

void SayLines(FILE *out, const char *format, va_list args)
{
  char room[sayLineMAX], *line = room, *end;

  (void)vsnprintf(room, sizeof room, format, args);
  for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    SayPlain(out, line, (Size)(end - line));
    putc('\n', out);
  }
  SayPlain(out, line, strlen(line));
  putc('\n', out);
}

void SayShort(FILE *out, uint64_t bytes)
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = (double)bytes / 1024;
  unsigned i = 0;

  if (bytes < 1024) {
    fprintf(out, "%llu bytes", (unsigned long long)bytes);
    return;
  }
  for (; scaled >= 1024 && i + 1 < ARRAY_LENGTH(units); ++i)
    scaled /= 1024;
  fprintf(out, "%.1f %s", scaled, units[i]);
}

void SayBytes(FILE *out, uint64_t bytes)
{
  fprintf(out, "%llu bytes", (unsigned long long)bytes);
  if (bytes < 1024)
    return;
  fputs(" (", out);
  SayShort(out, bytes);
  putc(')', out);
}
