/* ways.c -- a program that sends its log where it is told, and does what it is told meanwhile
 *
 *     ways PLACE...
 *
 * Obeys lines of standard input and answers each with a line: a number: so many events, which count on; `flush';
 * `poll': look for messages; `close': close every descriptor that it does not know; `fork': a child obeys what follows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit/pawprint.h"

static EventWord waysCount;

static void waysEmit(EventWord n)
{
  EventWord id = EventIntern("ways"), end;

  for (end = waysCount + n; waysCount < end; ++waysCount)
    EventUserWord(id, waysCount);
}

static void waysClose(void)
{
  int fd;

  for (fd = 3; fd < 1024; ++fd)
    (void)close(fd);
}

static void waysObey(const char *line)
{
  pid_t pid;

  if (strcmp(line, "flush\n") == 0)
    EventFlush();
  else if (strcmp(line, "poll\n") == 0)
    EventMessagePoll();
  else if (strcmp(line, "close\n") == 0)
    waysClose();
  else if (strcmp(line, "fork\n") == 0 && (pid = fork()) != 0)
    exit(waitpid(pid, NULL, 0) == pid ? 0 : 1);
  else
    waysEmit(strtoul(line, NULL, 10));
}

int main(int argc, char **argv)
{
  char line[64];
  int i;

  for (i = 1; i < argc; ++i)
    if (EventLogOpen(argv[i]) != 0)
      return 1;
  while (fgets(line, sizeof line, stdin) != NULL) {
    waysObey(line);
    (void)printf("%s", line);
    (void)fflush(stdout);
  }
  return 0;
}
