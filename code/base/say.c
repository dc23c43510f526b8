/* say.c -- printing for people: strings, lines and sizes, on a stream
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "say.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

Bool SayMoves(int fd)
{
  const char *term = getenv("TERM");

  return isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

/* sayScale -- the unit for so many bytes, and how many of it they are */
static const char *sayScale(double *scaledReturn, uint64_t bytes)
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = (double)bytes / 1024;
  unsigned i = 0;

  for (; scaled >= 1024 && i + 1 < ARRAY_LENGTH(units); ++i)
    scaled /= 1024;
  *scaledReturn = scaled;
  return units[i];
}

char *SayShortly(char room[SayShortMAX], uint64_t bytes)
{
  double scaled;
  const char *unit = sayScale(&scaled, bytes);

  if (bytes < 1024)
    (void)snprintf(room, SayShortMAX, "%llu bytes", (unsigned long long)bytes);
  else
    (void)snprintf(room, SayShortMAX, "%.1f %s", scaled, unit);
  return room;
}

void SayShort(FILE *out, uint64_t bytes)
{
  char room[SayShortMAX];

  fputs(SayShortly(room, bytes), out);
}

/* sayColumn -- bytes in a column, behind a sign, which may be "" */
static void sayColumn(FILE *out, int width, const char *sign, uint64_t bytes)
{
  char text[32];
  double scaled;
  const char *unit = sayScale(&scaled, bytes);

  if (bytes < 1024)
    (void)snprintf(text, sizeof text, "%s%llu B  ", sign, (unsigned long long)bytes);
  else
    (void)snprintf(text, sizeof text, "%s%.1f %s", sign, scaled, unit);
  fprintf(out, "%*s", width, text);
}

void SayColumn(FILE *out, int width, uint64_t bytes)
{
  sayColumn(out, width, "", bytes);
}

void SayChange(FILE *out, int width, uint64_t before, uint64_t after)
{
  const char *sign = after > before ? "+" : after < before ? "-" : "";

  sayColumn(out, width, sign, after > before ? after - before : before - after);
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
