/* statusline.c -- the line that moves
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

enum { watchRATES = 4, watchWIDTH = 80, watchTextSIZE = 256, watchMILLION = 1000000 };

/* See that there is a row below the cursor (which scrolls at the bottom), remember the cursor, and go there.  Index and
 * the cursor's movements keep the column. */
#define watchDOWN "\033D\033[A\0337\033[B\r"
#define watchBACK "\033[K\0338"

struct WatchStruct {
  int fd;                  /* our own way to the terminal, which never blocks */
  uint64_t due;            /* ns */
  Bool shown;              /* the line is on the screen */
  uint64_t time[watchRATES], events[watchRATES]; /* at the last lines, for the rate */
  unsigned next;           /* the oldest of them */
};

Bool WatchCheck(Watch watch)
{
  return watch->fd >= 0 && watch->next < watchRATES;
}

/* watchOpen -- the terminal, opened anew; -1 if it is none that will do */
static int watchOpen(int fd)
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

Res WatchCreate(Watch *watchReturn, int fd, uint64_t now)
{
  int mine = watchOpen(fd);
  Watch watch;
  Index i;

  if (mine < 0)
    return ResFAIL;
  watch = calloc(1, sizeof *watch);
  if (watch == NULL) {
    (void)close(mine);
    return ResMEMORY;
  }
  watch->fd = mine;
  watch->due = now + WatchFIRST * (uint64_t)watchMILLION;
  for (i = 0; i < watchRATES; ++i)
    watch->time[i] = now;
  *watchReturn = watch;
  return ResOK;
}

void WatchDestroy(Watch watch)
{
  AVER(WatchCheck(watch));
  WatchErase(watch);
  (void)close(watch->fd);
  free(watch);
}

/* watchScaled -- a number in three digits or so, with a unit */
static void watchScaled(Text text, uint64_t n, unsigned base, const char *const units[])
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

static void watchNumber(Text text, uint64_t n, const char *what)
{
  static const char *const units[] = {"", " k", " M", " G", " T", NULL};

  watchScaled(text, n, 1000, units);
  TextString(text, what);
}

static void watchBytes(Text text, uint64_t n)
{
  static const char *const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB", NULL};

  watchScaled(text, n, 1024, units);
}

void WatchText(Text text, Size width, WatchCounts counts, uint64_t rate, uint64_t resident)
{
  TextString(text, "eventrec: ");
  watchNumber(text, rate, " events/s, ");
  watchNumber(text, counts->events, " events, ");
  watchBytes(text, counts->bytes);
  TextString(text, ", ");
  watchNumber(text, counts->discarded, " discarded");
  if (resident > 0) {
    TextString(text, ", resident ");
    watchBytes(text, resident);
  }
  /* In the last column some terminals begin another row. */
  if (TextLength(text) > width - 1)
    text->next = text->base + width - 1;
}

/* watchRate -- events a second, over the last lines */
static uint64_t watchRate(Watch watch, uint64_t now, uint64_t events)
{
  uint64_t time = now - watch->time[watch->next], more = events - watch->events[watch->next];

  watch->time[watch->next] = now;
  watch->events[watch->next] = events;
  watch->next = (watch->next + 1) % watchRATES;
  return time == 0 ? 0 : (uint64_t)((double)more * 1e9 / (double)time);
}

/* watchMay -- is the terminal in a state in which a line does no harm? */
static Bool watchMay(Watch watch)
{
  struct termios state;
  pid_t group = tcgetpgrp(watch->fd);

  return (group < 0 || group == getpgrp()) && tcgetattr(watch->fd, &state) == 0 &&
         (state.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

/* watchWrite -- all of it, or what there is room for; nobody waits */
static void watchWrite(Watch watch, Text text)
{
  ssize_t length = write(watch->fd, text->base, TextLength(text));

  /* Cut in an escape sequence the terminal would take the program's next letters for the rest of it: cancel that. */
  if (length >= 0 && (Size)length < TextLength(text))
    (void)!write(watch->fd, "\030", 1);
}

void WatchErase(Watch watch)
{
  char room[sizeof watchDOWN watchBACK];
  TextStruct text;

  if (!watch->shown || !watchMay(watch))
    return;
  TextInit(&text, room, sizeof room);
  TextString(&text, watchDOWN watchBACK);
  watchWrite(watch, &text);
  watch->shown = FALSE;
}

static void watchShow(Watch watch, WatchCounts counts, uint64_t rate, uint64_t resident)
{
  char room[watchTextSIZE], line[watchTextSIZE];
  TextStruct text, inner;
  struct winsize size;

  if (ioctl(watch->fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    size.ws_col = watchWIDTH;
  TextInit(&inner, line, sizeof line);
  WatchText(&inner, size.ws_col, counts, rate, resident);
  TextInit(&text, room, sizeof room);
  TextString(&text, watchDOWN);
  TextBytes(&text, line, TextLength(&inner));
  TextString(&text, watchBACK);
  AVER(!text.overflow);
  watchWrite(watch, &text);
  watch->shown = TRUE;
}

uint64_t WatchPoll(Watch watch, uint64_t now, WatchCounts counts, uint64_t resident)
{
  uint64_t rate;

  if (now < watch->due)
    return watch->due - now;
  rate = watchRate(watch, now, counts->events);
  if (watchMay(watch))
    watchShow(watch, counts, rate, resident);
  watch->due = now + WatchPERIOD * (uint64_t)watchMILLION;
  return watch->due - now;
}
