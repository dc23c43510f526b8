/* smallstack.c -- programs are started on stacks of so many bytes
 *
 * smallstack WAY BYTES: by a process of clone, by the handler of a signal on a stack of its own, or by a thread.  It says
 * how what was started has ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char *way;
static int status;
static char word[] = "true", *arguments[] = {word, NULL};

static void becomes(void)
{
  if (strcmp(way, "fexecve") == 0)
    fexecve(open("/bin/true", O_RDONLY), arguments, environ);
  else if (strcmp(way, "execveat") == 0)
    execveat(open("/bin", O_RDONLY), "true", arguments, environ, 0);
  else if (strcmp(way, "execl") == 0)
    execl("/bin/true", "true", NULL);
  else
    execve("/bin/true", arguments, environ);
  _exit(9);
}

static void starts(void)
{
  pid_t child = 0;

  if (strcmp(way, "spawn") == 0)
    (void)posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ);
  else if ((child = fork()) == 0)
    becomes();
  (void)waitpid(child, &status, 0);
}

static void *begins(void *argument)
{
  starts();
  return argument;
}

static int cloned(void *argument)
{
  (void)argument;
  becomes();
  return 0;
}

static void handles(int number)
{
  (void)number;
  starts();
}

int main(int count, char **argument)
{
  size_t size = count == 3 ? strtoul(argument[2], NULL, 10) : 0;
  char *stack = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (count != 3 || stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE) != 0)
    return 2;
  way = argument[1];
  stack += PAGE;
  if (strcmp(way, "clone") == 0) {
    (void)waitpid(clone(cloned, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), &status, 0);
  } else if (strcmp(way, "handler") == 0) {
    stack_t other = {.ss_sp = stack, .ss_size = size};
    struct sigaction action = {.sa_handler = handles, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&other, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0 || raise(SIGUSR1) != 0)
      return 3;
  } else {
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, size) != 0 ||
        pthread_create(&thread, &attributes, begins, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 3;
  }
  printf("%s: %d\n", way, status);
  return status != 0;
}
