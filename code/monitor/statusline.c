/* statusline.c -- the status line: how a recording goes, for a person at a terminal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/statusline.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/say.h"
#include "log/logfile.h"

enum { statusRATES = 4, statusWIDTH = 80, statusTextSIZE = 256, statusMILLION = 1000000 };

/* Make a row below the cursor (at the bottom that scrolls), save the cursor, and move to that row.  Index and the
 * movements of the cursor keep the column. */
#define statusDOWN "\033D\033[A\0337\033[B\r"
#define statusBACK "\033[K\0338"

struct StatusLineStruct {
  int fd;                  /* our own way to the terminal, which never blocks */
  uint64_t due;            /* ns */
  Bool shown;              /* the line is on the screen */
  uint64_t time[statusRATES], events[statusRATES]; /* at the last lines, for the rate */
  unsigned next;           /* the oldest of them */
};

Bool StatusLineCheck(StatusLine line)
{
  return line->fd >= 0 && line->next < statusRATES;
}

Res StatusLineCreate(StatusLine *lineReturn, int fd, uint64_t now)
{
  StatusLine line;
  Index i;

  if (!SayMoves(fd))
    return ResFAIL;
  line = calloc(1, sizeof *line);
  if (line == NULL)
    return ResMEMORY;
  line->fd = FileAgain(fd, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (line->fd < 0) {
    free(line);
    return ResFAIL;
  }
  line->due = now + StatusLineFIRST * (uint64_t)statusMILLION;
  for (i = 0; i < statusRATES; ++i)
    line->time[i] = now;
  AVER(StatusLineCheck(line));
  *lineReturn = line;
  return ResOK;
}

void StatusLineDestroy(StatusLine line)
{
  AVER(StatusLineCheck(line));
  StatusLineErase(line);
  (void)close(line->fd);
  free(line);
}

/* statusScaled -- a number of bytes or of other things, in three digits or so, with a unit; and what comes behind it */
static void statusScaled(Text text, uint64_t n, Bool bytes, const char *behind)
{
  static const char *const units[2][6] = {{"", " k", " M", " G", " T", NULL},
                                          {" bytes", " KiB", " MiB", " GiB", " TiB", NULL}};
  unsigned base = bytes ? 1024 : 1000, i;
  uint64_t part = 0;

  for (i = 0; n >= base && units[bytes][i + 1] != NULL; ++i) {
    part = n % base * 10 / base;
    n /= base;
  }
  TextDecimal(text, n);
  if (i > 0 && n < 100)
    TextFormat(text, ".%ju", part);
  TextFormat(text, "%s%s", units[bytes][i], behind);
}

void StatusLineText(Text text, Size width, StatusLineCounts counts, uint64_t rate, uint64_t resident)
{
  TextString(text, "eventrec: ");
  statusScaled(text, rate, FALSE, " events/s, ");
  statusScaled(text, counts->events, FALSE, " events, ");
  statusScaled(text, counts->bytes, TRUE, ", ");
  statusScaled(text, counts->discarded, FALSE, " discarded");
  if (resident > 0) {
    TextString(text, ", resident ");
    statusScaled(text, resident, TRUE, "");
  }
  AVER(width > 0);
  /* In the last column some terminals begin another row. */
  if (TextLength(text) > width - 1)
    text->next = text->base + width - 1;
}

/* statusRate -- events a second, over the last lines */
static uint64_t statusRate(StatusLine line, uint64_t now, uint64_t events)
{
  uint64_t time = now - line->time[line->next], more = events - line->events[line->next];

  line->time[line->next] = now;
  line->events[line->next] = events;
  line->next = (line->next + 1) % statusRATES;
  return time == 0 ? 0 : (uint64_t)((double)more * 1e9 / (double)time);
}

/* statusMay -- does the terminal edit lines, and are we in the foreground? */
static Bool statusMay(StatusLine line)
{
  struct termios state;
  pid_t group = tcgetpgrp(line->fd);

  return (group < 0 || group == getpgrp()) && tcgetattr(line->fd, &state) == 0 &&
         (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

/* statusWrite -- write all of it, or what there is room for, without waiting */
static void statusWrite(StatusLine line, const char *bytes, Size size)
{
  ssize_t length = write(line->fd, bytes, size);

  /* Cut in an escape sequence the terminal would take the program's next letters for the rest of it: cancel that. */
  if (length >= 0 && (Size)length < size)
    (void)!write(line->fd, "\030", 1);
}

void StatusLineErase(StatusLine line)
{
  if (!line->shown || !statusMay(line))
    return;
  statusWrite(line, statusDOWN statusBACK, sizeof statusDOWN statusBACK - 1);
  line->shown = FALSE;
}

static void statusShow(StatusLine line, StatusLineCounts counts, uint64_t rate, uint64_t resident)
{
  char room[statusTextSIZE] = statusDOWN;
  TextStruct text;
  struct winsize size;

  if (ioctl(line->fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    size.ws_col = statusWIDTH;
  TextInit(&text, room + strlen(room), sizeof room - strlen(room));
  StatusLineText(&text, size.ws_col, counts, rate, resident);
  TextString(&text, statusBACK);
  AVER(!text.overflow);
  statusWrite(line, room, (Size)(text.next - room));
  line->shown = TRUE;
}

uint64_t StatusLinePoll(StatusLine line, uint64_t now, StatusLineCounts counts, uint64_t resident)
{
  uint64_t rate;

  AVER(StatusLineCheck(line));
  if (now < line->due)
    return line->due - now;
  rate = statusRate(line, now, counts->events);
  if (statusMay(line))
    statusShow(line, counts, rate, resident);
  line->due = now + StatusLinePERIOD * (uint64_t)statusMILLION;
  return line->due - now;
}
