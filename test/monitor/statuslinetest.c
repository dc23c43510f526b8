/* statuslinetest.c -- the line that moves, on a terminal of its own
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/statusline.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tap.h"

#define MS 1000000ull

enum { ROWS = 5, COLUMNS = 120 };

static int master, slave;
static char screen[ROWS][COLUMNS + 1];
static unsigned row, column, savedRow, savedColumn, strange;

/* ---- A small terminal ---- */

static void scroll(void)
{
  memmove(screen[0], screen[1], sizeof screen[0] * (ROWS - 1));
  memset(screen[ROWS - 1], ' ', COLUMNS);
}

static void down(void)
{
  if (row == ROWS - 1)
    scroll();
  else
    ++row;
}

/* escape -- one sequence behind ESC; returns its length */
static Size escape(const char *at)
{
  switch (at[0]) {
  case 'D': down(); return 1;
  case '7': savedRow = row, savedColumn = column; return 1;
  case '8': row = savedRow, column = savedColumn; return 1;
  case '[': break;
  default: ++strange; return 1;
  }
  if (at[1] == 'A')
    row -= row > 0;
  else if (at[1] == 'B')
    row += row < ROWS - 1;
  else if (at[1] == 'K')
    memset(screen[row] + column, ' ', COLUMNS - column);
  else
    ++strange;
  return 2;
}

static void show(const char *bytes, Size size)
{
  Size i;

  for (i = 0; i < size; ++i) {
    if (bytes[i] == '\033' && i + 1 < size)
      i += escape(bytes + i + 1);
    else if (bytes[i] == '\r')
      column = 0;
    else if (bytes[i] == '\n')
      down();
    else if (bytes[i] < ' ')
      ++strange;
    else if (column < COLUMNS)
      screen[row][column++] = bytes[i];
  }
}

/* take -- put on the screen what the terminal got; how much that was */
static Size take(void)
{
  struct pollfd ready = {.fd = master, .events = POLLIN};
  static char bytes[65536];
  Size all = 0;

  while (poll(&ready, 1, 20) == 1) {
    ssize_t size = read(master, bytes, sizeof bytes);
    if (size <= 0)
      break;
    show(bytes, (Size)size);
    all += (Size)size;
  }
  return all;
}

static Bool blank(unsigned r)
{
  return strspn(screen[r], " ") >= COLUMNS;
}

static Bool begins(unsigned r, const char *text)
{
  return strncmp(screen[r], text, strlen(text)) == 0;
}

static void terminal(unsigned columns)
{
  struct winsize size = {.ws_row = ROWS, .ws_col = (unsigned short)columns};
  unsigned i;

  master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
      (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0) {
    TapSkip("no terminal of one's own to be had here");
    exit(TapDone());
  }
  (void)ioctl(slave, TIOCSWINSZ, &size);
  for (i = 0; i < ROWS; ++i) {
    memset(screen[i], ' ', COLUMNS);
    screen[i][COLUMNS] = '\0';
  }
  row = column = strange = 0;
}

static void away(void)
{
  (void)close(slave);
  (void)close(master);
}

static void print(const char *text)
{
  (void)!write(slave, text, strlen(text));
}

/* ---- The tests ---- */

static void testText(void)
{
  StatusLineCountsStruct counts = {.events = 12345678, .discarded = 0, .bytes = 45ull << 20};
  char room[256];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  StatusLineText(&text, 120, &counts, 1234567, 1536);
  TapOk(strcmp(TextTerminate(&text),
               "eventrec: 1.2 M events/s, 12.3 M events, 45.0 MiB, 0 discarded, resident 1.5 KiB") == 0,
        "the line says what there is to say");
  TextInit(&text, room, sizeof room);
  counts.discarded = 100001;
  StatusLineText(&text, 120, &counts, 0, 0);
  TapOk(strstr(TextTerminate(&text), "0 events/s, ") != NULL, "what does not move,");
  TapOk(strcmp(strchr(room, 'B'), "B, 100 k discarded") == 0, "and nothing of memory that nobody knows");
  TextInit(&text, room, sizeof room);
  StatusLineText(&text, 20, &counts, 0, 17);
  TapIs(TextLength(&text), 19, "it never fills the row");
}

static void testLine(void)
{
  StatusLineCountsStruct counts = {.events = 1000, .bytes = 10};
  StatusLine watch;

  terminal(COLUMNS);
  TapIs(StatusLineCreate(&watch, slave, 0), ResOK, "somebody watches");
  TapIs(StatusLinePoll(watch, 1, &counts, 17), StatusLineFIRST * MS - 1, "what is soon over");
  TapIs(take(), 0, "needs no line");
  print("Name: ");
  TapIs(StatusLinePoll(watch, 500 * MS, &counts, 17), StatusLinePERIOD * MS, "later it comes");
  (void)take();
  TapOk(begins(0, "Name: ") && column == 6 && row == 0, "the program's output is untouched, and the cursor behind it");
  TapOk(begins(1, "eventrec: 2.0 k events/s, 1.0 k events, 10 bytes, 0 discarded, resident 17 bytes"),
        "the line is below");
  print("me\r\n");
  (void)StatusLinePoll(watch, 750 * MS, &counts, 17);
  (void)take();
  TapOk(begins(0, "Name: me ") && row == 1, "the program goes on,");
  TapOk(begins(2, "eventrec: "), "and the line moves out of its way");
  print("one\r\ntwo\r\nthree\r\nfour");
  (void)take();
  counts.events = 1500;
  (void)StatusLinePoll(watch, 1000 * MS, &counts, 17);
  (void)take();
  TapOk(begins(3, "four") && row == 3 && column == 4, "at the bottom the screen scrolls by one row");
  TapOk(begins(4, "eventrec: "), "for the line");
  StatusLineDestroy(watch);
  (void)take();
  TapOk(blank(4) && row == 3 && column == 4, "at the end it is gone");
  TapIs(strange, 0, "and nothing strange was sent");
  away();
}

static void testQuiet(void)
{
  StatusLineCountsStruct counts = {0};
  struct termios state;
  StatusLine watch;

  terminal(30);
  (void)StatusLineCreate(&watch, slave, 0);
  (void)tcgetattr(slave, &state);
  state.c_lflag &= ~(tcflag_t)ICANON;
  (void)tcsetattr(slave, TCSANOW, &state);
  (void)StatusLinePoll(watch, 1000 * MS, &counts, 17);
  TapIs(take(), 0, "an editor has the terminal for itself,");
  state.c_lflag = (state.c_lflag | ICANON) & ~(tcflag_t)ECHO;
  (void)tcsetattr(slave, TCSANOW, &state);
  (void)StatusLinePoll(watch, 2000 * MS, &counts, 17);
  TapIs(take(), 0, "so has who asks for a password");
  state.c_lflag |= ECHO;
  (void)tcsetattr(slave, TCSANOW, &state);
  (void)StatusLinePoll(watch, 3000 * MS, &counts, 17);
  TapOk(take() > 0, "and then it is there again");
  TapOk(screen[1][28] != ' ' && screen[1][29] == ' ', "as wide as the terminal, but one");
  StatusLineErase(watch);
  (void)take();
  TapOk(blank(1), "it goes when something else is to be written");
  StatusLineDestroy(watch);
  TapIs(take(), 0, "once");
  away();
}

static void testStopped(void)
{
  StatusLineCountsStruct counts = {0};
  StatusLine watch;
  unsigned i;

  terminal(COLUMNS);
  (void)StatusLineCreate(&watch, slave, 0);
  (void)alarm(20);
  for (i = 1; i < 2000; ++i)
    (void)StatusLinePoll(watch, i * 1000 * MS, &counts, 17);
  (void)alarm(0);
  TapOk(TRUE, "a terminal that takes nothing more holds nobody up");
  TapOk((fcntl(slave, F_GETFL) & O_NONBLOCK) == 0, "and for the program it blocks as ever");
  StatusLineDestroy(watch);
  away();
}

static void testNobody(void)
{
  StatusLine watch;
  int ends[2];

  terminal(COLUMNS);
  if (pipe(ends) != 0)
    exit(1);
  TapIs(StatusLineCreate(&watch, ends[1], 0), ResFAIL, "nobody watches a pipe");
  (void)setenv("TERM", "dumb", 1);
  TapIs(StatusLineCreate(&watch, slave, 0), ResFAIL, "nor a terminal that cannot move its cursor");
  (void)unsetenv("TERM");
  TapIs(StatusLineCreate(&watch, slave, 0), ResFAIL, "nor one of which nothing is known");
  (void)setenv("TERM", "xterm", 1);
  away();
}

/* testBackground -- in a session of its own, whose terminal has another group in front */
static void testBackground(void)
{
  StatusLineCountsStruct counts = {0};
  StatusLine watch;
  int status = 0;
  pid_t pid;

  terminal(COLUMNS);
  pid = fork();
  if (pid == 0) {
    (void)signal(SIGTTOU, SIG_IGN);
    if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0 || (pid = fork()) < 0)
      _exit(2);
    if (pid == 0) {
      (void)pause();
      _exit(0);
    }
    (void)setpgid(pid, pid);
    status = StatusLineCreate(&watch, slave, 0) != ResOK;
    (void)StatusLinePoll(watch, 1000 * MS, &counts, 17);
    status |= take() == 0 ? 4 : 0;
    (void)tcsetpgrp(slave, pid);
    (void)StatusLinePoll(watch, 2000 * MS, &counts, 17);
    status |= take() != 0 ? 8 : 0;
    (void)kill(pid, SIGKILL);
    _exit(status);
  }
  (void)waitpid(pid, &status, 0);
  TapIs(status, 0, "in front there is a line, in the background none");
  away();
}

int main(void)
{
  (void)setenv("TERM", "xterm", 1);
  testText();
  testLine();
  testQuiet();
  testStopped();
  testNobody();
  testBackground();
  return TapDone();
}
