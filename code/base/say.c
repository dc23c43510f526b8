/* say.c -- printing for people: strings, lines and sizes, on a stream
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "say.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aver.h"
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

/* sayWrite -- lines, and a newline behind them, by one call: standard error has no buffer, and whatever others write
 * there, or read meanwhile, must not come between the characters */
static void sayWrite(FILE *out, const char *lines, Size length, Bool newlines)
{
  char room[sayLineMAX * TextEscapeMAX + 2];
  const char *end = lines + length, *line = lines, *next;
  TextStruct text;

  TextInit(&text, room, sizeof room);
  for (; newlines && (next = memchr(line, '\n', (Size)(end - line))) != NULL; line = next + 1) {
    TextPlain(&text, line, (Size)(next - line));
    TextChar(&text, '\n');
  }
  TextPlain(&text, line, (Size)(end - line));
  TextChar(&text, '\n');
  (void)!fwrite(room, 1, TextLength(&text), out);
}

void SayLine(FILE *out, const char *format, ...)
{
  char room[sayLineMAX];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(room, sizeof room, format, args);
  va_end(args);
  sayWrite(out, room, strlen(room), FALSE);
}

void SayLines(FILE *out, const char *name, const char *format, va_list args)
{
  char room[sayLineMAX];
  int n = snprintf(room, sizeof room, "%s: ", name);

  AVER(n > 0 && (Size)n < sizeof room);
  (void)vsnprintf(room + n, sizeof room - (Size)n, format, args);
  sayWrite(out, room, strlen(room), TRUE);
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
