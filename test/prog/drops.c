/* drops.c -- a program that gives up its rights, its root folder or its mounts, and counts what it emits
 *
 *     drops HOW CHILD EVENTS FOLDER
 *
 * HOW    any of the letters u, c, m: it becomes nobody, it makes FOLDER its root folder, other file systems are in the
 *        place of /dev/shm and FOLDER
 * CHILD  none; exit, kill: after the drop it emits from a child, too, which ends so; self: it is killed itself at its
 *        end
 *
 * For each line of standard input it does a step, and says how many events it has emitted by then, its children
 * included:
 * EVENTS events; the drop; EVENTS events; with a child EVENTS more by that.  Then it ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit/pawprint.h"

enum { dropsNOBODY = 65534 };

static EventWord name;
static unsigned long emitted;

static void emit(unsigned long events)
{
  while (events-- > 0)
    EventUserWord(name, ++emitted);
}

static void drop(const char *how, const char *folder)
{
  if (strchr(how, 'm') != NULL &&
      (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
       mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0 || mount("none", folder, "tmpfs", 0, NULL) != 0))
    exit(77);
  if (strchr(how, 'c') != NULL && (chroot(folder) != 0 || chdir("/") != 0))
    exit(77);
  if (strchr(how, 'u') != NULL && (setgid(dropsNOBODY) != 0 || setuid(dropsNOBODY) != 0))
    exit(77);
}

/* child -- one that emits as many, and ends as `end` says; only its own events are its own */
static void child(unsigned long events, const char *end)
{
  pid_t pid = fork();

  if (pid == 0) {
    emit(events);
    if (strcmp(end, "kill") == 0)
      (void)kill(getpid(), SIGKILL);
    exit(0);
  }
  if (pid < 0 || waitpid(pid, NULL, 0) != pid)
    exit(77);
  emitted += events;
}

/* step -- a line has come; FALSE: it is the end */
static int step(void)
{
  char line[16];

  printf("%lu\n", emitted);
  (void)fflush(stdout);
  return fgets(line, sizeof line, stdin) != NULL;
}

int main(int argc, char **argv)
{
  unsigned long events = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;

  if (argc <= 4)
    return 2;
  name = EventIntern("drops");
  if (step())
    emit(events);
  if (step())
    drop(argv[1], argv[4]);
  if (step())
    emit(events);
  if ((strcmp(argv[2], "exit") == 0 || strcmp(argv[2], "kill") == 0) && step())
    child(events, argv[2]);
  (void)step();
  if (strcmp(argv[2], "self") == 0)
    (void)kill(getpid(), SIGKILL);
  return 0;
}
