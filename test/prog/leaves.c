/* leaves.c -- a program that leaves what it has emitted: by its end, or for another program
 *
 *     leaves WORD...   does what each word says, then ends
 *
 *     emit        allocates, and frees, 50 objects of 7001 bytes
 *     threads     has eight threads that do so, and then sleep
 *     orphan      kills its parent, eventrec, and waits until it is gone
 *     fill=FILE   writes to that as much as there is room for
 *     fsize=BYTES limits the size of files, as a program may that ignores the signal
 *     fork        has four children, which do what comes next, up to `done`; it goes on behind that when they have
 *                 ended
 *     exec        becomes `leaves` with the words that come next
 *     failed      tries to become a folder, which is no program
 *     kill        dies
 *
 * Tests: test/emit/limits.t, test/collect/closing.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { leavesCOUNT = 50, leavesSIZE = 7001, leavesTHREADS = 8, leavesCHILDREN = 4, leavesPIECE = 4096 };

static void *volatile leavesObject;
static sem_t leavesEmitted;

static void leavesEmit(void)
{
  int i;

  for (i = 0; i < leavesCOUNT; ++i) {
    leavesObject = malloc(leavesSIZE);
    free(leavesObject);
  }
}

static void *leavesThread(void *unused)
{
  leavesEmit();
  (void)sem_post(&leavesEmitted);
  for (;;)
    (void)pause();
  return unused;
}

static void leavesThreads(void)
{
  pthread_t thread;
  int i;

  for (i = 0; i < leavesTHREADS; ++i)
    if (pthread_create(&thread, NULL, leavesThread, NULL) != 0)
      abort();
  for (i = 0; i < leavesTHREADS; ++i)
    (void)sem_wait(&leavesEmitted);
}

static void leavesOrphan(void)
{
  pid_t parent = getppid();

  if (kill(parent, SIGKILL) != 0)
    abort();
  while (getppid() == parent)
    (void)usleep(1000);
}

static void leavesFill(const char *path)
{
  static char some[leavesPIECE] = "x";
  int fd = open(path, O_CREAT | O_WRONLY, 0600);
  size_t size;

  for (size = sizeof some; size > 0; size /= leavesPIECE)
    while (fd >= 0 && write(fd, some, size) == (ssize_t)size)
      ;
}

static void leavesLimit(const char *bytes)
{
  struct rlimit limit = {strtoul(bytes, NULL, 10), strtoul(bytes, NULL, 10)};

  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
    abort();
}

/* leavesFork -- returns whether it is a child */
static int leavesFork(void)
{
  int i;

  for (i = 0; i < leavesCHILDREN; ++i)
    if (fork() == 0)
      return 1;
  while (wait(NULL) > 0)
    ;
  return 0;
}

static void leavesDo(char **words, char *program)
{
  if (strcmp(words[0], "emit") == 0)
    leavesEmit();
  else if (strcmp(words[0], "threads") == 0)
    leavesThreads();
  else if (strcmp(words[0], "orphan") == 0)
    leavesOrphan();
  else if (strncmp(words[0], "fill=", 5) == 0)
    leavesFill(words[0] + 5);
  else if (strncmp(words[0], "fsize=", 6) == 0)
    leavesLimit(words[0] + 6);
  else if (strcmp(words[0], "failed") == 0)
    (void)execl("/", "folder", (char *)NULL);
  else if (strcmp(words[0], "kill") == 0)
    (void)raise(SIGKILL);
  else if (strcmp(words[0], "exec") == 0) {
    words[0] = program;
    (void)execv("/proc/self/exe", words);
    abort();
  }
}

int main(int argc, char **argv)
{
  int i;

  (void)sem_init(&leavesEmitted, 0, 0);
  for (i = 1; i < argc && strcmp(argv[i], "done") != 0; ++i)
    if (strcmp(argv[i], "fork") != 0)
      leavesDo(argv + i, argv[0]);
    else if (!leavesFork())
      while (i + 1 < argc && strcmp(argv[i], "done") != 0)
        ++i;
  return 0;
}
