/* ways.c -- a program that sends its log where it is told, and does what it is told meanwhile
 *
 *     ways PLACE...
 *
 * Obeys lines of standard input and answers each with a line: a number: so many events, which count on; `flush';
 * `poll': look for messages; `close': close every descriptor that it does not know; `fork': a child obeys what follows;
 * `open PLACE': one more way out; `thread N': a thread has so many events, and ends; `stay N': it stays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <semaphore.h>
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

static sem_t waysDone;

static void *waysRun(void *number)
{
  waysEmit(strtoul((char *)number + strcspn(number, " "), NULL, 10));
  (void)sem_post(&waysDone);
  while (strncmp(number, "stay", 4) == 0)
    (void)pause();
  return NULL;
}

static void waysThread(char *line)
{
  pthread_t thread;

  if (pthread_create(&thread, NULL, waysRun, strdup(line)) != 0)
    exit(1);
  (void)sem_wait(&waysDone);
  if (strncmp(line, "thread", 6) == 0)
    (void)pthread_join(thread, NULL);
}

/* waysOpen -- the line up to its end, which is put back, says where */
static void waysOpen(char *line)
{
  char *end = strchr(line, '\n');

  *end = '\0';
  if (EventLogOpen(line + 5) != 0)
    exit(1);
  *end = '\n';
}

static void waysObey(char *line)
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
  else if (strncmp(line, "open ", 5) == 0)
    waysOpen(line);
  else if (strncmp(line, "thread ", 7) == 0 || strncmp(line, "stay ", 5) == 0)
    waysThread(line);
  else
    waysEmit(strtoul(line, NULL, 10));
}

int main(int argc, char **argv)
{
  char line[512];
  int i;

  (void)sem_init(&waysDone, 0, 0);
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
