/* statusline.c -- the status line: how a recording goes, for a person at a terminal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/statusline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/terminal.h"

enum { statusRATES = 4, statusWIDTH = 80, statusTextSIZE = 256, statusMILLION = 1000000 };

/* See that there is a row below the cursor (which scrolls at the bottom), remember the cursor, and go there.  Index and
 * the cursor's movements keep the column. */
#define statusDOWN "\033D\033[A\0337\033[B\r"
#define statusBACK "\033[K\0338"

struct StatusLineStruct {
  int fd;                  /* our own way to the terminal, which never blocks */
  uint64_t due;            /* ns */
  Bool shown;              /* the line is on the screen */
  uint64_t time[statusRATES], events[statusRATES]; /* at the last lines, for the rate */
  unsigned next;           /* the oldest of them */
};

Bool StatusLineCheck(StatusLine watch)
{
  return watch->fd >= 0 && watch->next < statusRATES;
}

/* statusOpen -- the terminal, opened anew; -1 if it is none that will do */
static int statusOpen(int fd)
{
  char path[64];
  TextStruct text;

  if (!TerminalMoves(fd))
    return -1;
  TextInit(&text, path, sizeof path);
  TextString(&text, "/proc/self/fd/");
  TextDecimal(&text, (uint64_t)fd);
  return open(TextTerminate(&text), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

Res StatusLineCreate(StatusLine *statusReturn, int fd, uint64_t now)
{
  int mine = statusOpen(fd);
  StatusLine watch;
  Index i;

  if (mine < 0)
    return ResFAIL;
  watch = calloc(1, sizeof *watch);
  if (watch == NULL) {
    (void)close(mine);
    return ResMEMORY;
  }
  watch->fd = mine;
  watch->due = now + StatusLineFIRST * (uint64_t)statusMILLION;
  for (i = 0; i < statusRATES; ++i)
    watch->time[i] = now;
  *statusReturn = watch;
  return ResOK;
}

void StatusLineDestroy(StatusLine watch)
{
  AVER(StatusLineCheck(watch));
  StatusLineErase(watch);
  (void)close(watch->fd);
  free(watch);
}

/* statusScaled -- a number in three digits or so, with a unit */
static void statusScaled(Text text, uint64_t n, unsigned base, const char *const units[])
{
  uint64_t whole = n, part = 0;
  unsigned i;

  for (i = 0; whole >= base && units[i + 1] != NULL; ++i) {
    part = whole % base * 10 / base;
    whole /= base;
  }
  TextDecimal(text, whole);
  if (i > 0 && whole < 100) {
    TextChar(text, '.');
    TextDecimal(text, part);
  }
  TextString(text, units[i]);
}

static void statusNumber(Text text, uint64_t n, const char *what)
{
  static const char *const units[] = {"", " k", " M", " G", " T", NULL};

  statusScaled(text, n, 1000, units);
  TextString(text, what);
}

static void statusBytes(Text text, uint64_t n)
{
  static const char *const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB", NULL};

  statusScaled(text, n, 1024, units);
}

void StatusLineText(Text text, Size width, StatusLineCounts counts, uint64_t rate, uint64_t resident)
{
  TextString(text, "eventrec: ");
  statusNumber(text, rate, " events/s, ");
  statusNumber(text, counts->events, " events, ");
  statusBytes(text, counts->bytes);
  TextString(text, ", ");
  statusNumber(text, counts->discarded, " discarded");
  if (resident > 0) {
    TextString(text, ", resident ");
    statusBytes(text, resident);
  }
  /* In the last column some terminals begin another row. */
  if (TextLength(text) > width - 1)
    text->next = text->base + width - 1;
}

/* statusRate -- events a second, over the last lines */
static uint64_t statusRate(StatusLine watch, uint64_t now, uint64_t events)
{
  uint64_t time = now - watch->time[watch->next], more = events - watch->events[watch->next];

  watch->time[watch->next] = now;
  watch->events[watch->next] = events;
  watch->next = (watch->next + 1) % statusRATES;
  return time == 0 ? 0 : (uint64_t)((double)more * 1e9 / (double)time);
}

/* statusMay -- is the terminal in a state in which a line does no harm? */
static Bool statusMay(StatusLine watch)
{
  struct termios state;
  pid_t group = tcgetpgrp(watch->fd);

  return (group < 0 || group == getpgrp()) && tcgetattr(watch->fd, &state) == 0 &&
         (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

/* statusWrite -- all of it, or what there is room for; nobody waits */
static void statusWrite(StatusLine watch, Text text)
{
  ssize_t length = write(watch->fd, text->base, TextLength(text));

  /* Cut in an escape sequence the terminal would take the program's next letters for the rest of it: cancel that. */
  if (length >= 0 && (Size)length < TextLength(text))
    (void)!write(watch->fd, "\030", 1);
}

void StatusLineErase(StatusLine watch)
{
  char room[sizeof statusDOWN statusBACK];
  TextStruct text;

  if (!watch->shown || !statusMay(watch))
    return;
  TextInit(&text, room, sizeof room);
  TextString(&text, statusDOWN statusBACK);
  statusWrite(watch, &text);
  watch->shown = FALSE;
}

static void statusShow(StatusLine watch, StatusLineCounts counts, uint64_t rate, uint64_t resident)
{
  char room[statusTextSIZE], line[statusTextSIZE];
  TextStruct text, inner;
  struct winsize size;

  if (ioctl(watch->fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    size.ws_col = statusWIDTH;
  TextInit(&inner, line, sizeof line);
  StatusLineText(&inner, size.ws_col, counts, rate, resident);
  TextInit(&text, room, sizeof room);
  TextString(&text, statusDOWN);
  TextBytes(&text, line, TextLength(&inner));
  TextString(&text, statusBACK);
  AVER(!text.overflow);
  statusWrite(watch, &text);
  watch->shown = TRUE;
}

uint64_t StatusLinePoll(StatusLine watch, uint64_t now, StatusLineCounts counts, uint64_t resident)
{
  uint64_t rate;

  if (now < watch->due)
    return watch->due - now;
  rate = statusRate(watch, now, counts->events);
  if (statusMay(watch))
    statusShow(watch, counts, rate, resident);
  watch->due = now + StatusLinePERIOD * (uint64_t)statusMILLION;
  return watch->due - now;
}
