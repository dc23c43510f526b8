/* netns.c -- a family some of which is in another network namespace
 *
 *     netns N STEP...
 *
 * Emits UserWord events (s, 0) ... (s, N - 1), s being the number of steps that follow, and an object of 100000 + s
 * bytes; takes the first; and goes on so, as another process or program perhaps:
 *
 * unshare  into a network namespace of its own
 * clone    a child in one, by a system call that nobody sees
 * fork, exec, vfork, spawn, system, popen
 *          a child, or a program, which goes on; it is waited for
 * sleep    the same process, a second later
 *
 * Ends with status 99 if there can be no such namespace.
 *
 * Tests: test/emit/netns.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/types.h"

enum { netnsNOT = 99, netnsBYTES = 100000, netnsLINE = 4096 };

extern char **environ;

static void (*netnsWord)(uintptr_t id, uintptr_t value); /* EventUserWord, where the library is */
static char **netnsArgument; /* "netns", N, STEP... */

/* netnsEmit -- what is emitted when so many steps follow */
static void netnsEmit(long count, uintptr_t step)
{
  void *volatile object = malloc(netnsBYTES + step);
  long i;

  for (i = 0; netnsWord != NULL && i < count; ++i)
    netnsWord(step, (uintptr_t)i);
  free(object);
}

/* netnsWait -- the child goes on instead of us: its end is ours */
static void netnsWait(pid_t child)
{
  int status = netnsNOT << 8;

  if (child < 0 || waitpid(child, &status, 0) != child)
    exit(netnsNOT);
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* netnsShell -- a shell runs what follows */
static void netnsShell(Bool pipe)
{
  char line[netnsLINE] = "exec";
  FILE *end;
  int i, status;

  for (i = 0; netnsArgument[i] != NULL; ++i)
    (void)strcat(strcat(line, " "), netnsArgument[i]);
  if (pipe) {
    end = popen(line, "w");
    status = end != NULL ? pclose(end) : -1;
  } else {
    status = system(line);
  }
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* netnsProgram -- this program follows, or is started */
static void netnsProgram(const char *step)
{
  char *program = netnsArgument[0];
  pid_t child = -1;

  if (strcmp(step, "exec") == 0) {
    (void)execv(program, netnsArgument);
  } else if (strcmp(step, "spawn") == 0) {
    (void)posix_spawn(&child, program, NULL, NULL, netnsArgument, environ);
  } else if ((child = vfork()) == 0) {
    (void)execv(program, netnsArgument);
    _exit(netnsNOT);
  }
  netnsWait(child);
}

/* netnsTake -- take a step: who returns is who goes on */
static void netnsTake(const char *step)
{
  pid_t child = 0;

  if (strcmp(step, "unshare") == 0)
    child = unshare(CLONE_NEWNET);
  else if (strcmp(step, "sleep") == 0)
    (void)sleep(1);
  else if (strcmp(step, "fork") == 0)
    child = fork();
  else if (strcmp(step, "clone") == 0)
    child = (pid_t)syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
  else if (strcmp(step, "system") == 0 || strcmp(step, "popen") == 0)
    netnsShell(strcmp(step, "popen") == 0);
  else
    netnsProgram(step);
  if (child != 0)
    netnsWait(child);
}

int main(int argc, char **argv)
{
  char *program = argv[0], *count = argv[1];
  int i;

  if (argc < 2)
    return 2;
  *(void **)&netnsWord = dlsym(RTLD_DEFAULT, "EventUserWord");
  netnsEmit(atol(count), (uintptr_t)argc - 2);
  for (i = 2; i < argc; ++i) {
    netnsArgument = argv + i - 1;
    argv[i - 1] = program;
    char *step = argv[i];
    argv[i] = count;
    netnsTake(step);
    netnsEmit(atol(count), (uintptr_t)(argc - i - 1));
  }
  return 0;
}
