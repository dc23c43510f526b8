/* progress.c -- progress of long work, as a line on standard error if that is a terminal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/say.h"

enum { progressMILLION = 1000000, progressBILLION = 1000000000, progressWIDTH = 80, progressLineMAX = 256 };

static uint64_t progressNow(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * progressBILLION + (uint64_t)now.tv_nsec;
}

void ProgressBegin(Progress progress, const char *tool)
{
  *progress = (ProgressStruct){.tool = tool, .watched = SayMoves(STDERR_FILENO),
                               .due = progressNow() + ProgressFIRST * (uint64_t)progressMILLION};
}

/* progressBehind -- does somebody else have the terminal, as with a job in the background? */
static Bool progressBehind(void)
{
  pid_t front = tcgetpgrp(STDERR_FILENO);

  return front >= 0 && front != getpgrp();
}

/* progressShow -- the line, cut so that it stays one */
static void progressShow(Progress progress, const char *line, uint64_t now)
{
  struct winsize size;
  int width = progressWIDTH;

  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    width = size.ws_col;
  progress->due = now + ProgressPERIOD * (uint64_t)progressMILLION;
  if (progressBehind())
    return;
  fputc('\r', stderr);
  SayPlain(stderr, line, strnlen(line, (Size)width - 1));
  fputs("\033[K", stderr);
  progress->shown = TRUE;
}

void ProgressPart(Progress progress, const char *what, uint64_t done, uint64_t total)
{
  char line[progressLineMAX];
  uint64_t now;

  if (!progress->watched || (now = progressNow()) < progress->due)
    return;
  if (total == 0)
    (void)snprintf(line, sizeof line, "%s: %s: %.1f MiB", progress->tool, what, (double)done / (1 << 20));
  else
    (void)snprintf(line, sizeof line, "%s: %s: %.0f%%", progress->tool, what,
                   done < total ? (double)done / (double)total * 100 : 100.0);
  progressShow(progress, line, now);
}

void ProgressSay(Progress progress, const char *what, const char *whose)
{
  char line[progressLineMAX];

  if (!progress->watched)
    return;
  (void)snprintf(line, sizeof line, "%s: %s %s ...", progress->tool, what, whose);
  progressShow(progress, line, progressNow());
}

void ProgressErase(Progress progress)
{
  if (progress->shown)
    fprintf(stderr, "\r\033[K");
  progress->shown = FALSE;
}

void ProgressOutput(Progress progress, int fd)
{
  struct stat status;

  if (!progress->watched)
    return;
  ProgressErase(progress);
  if (isatty(fd) || fstat(fd, &status) != 0 || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
    progress->watched = FALSE;
}
