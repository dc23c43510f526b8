/* handlers.c -- forks three times, with handlers that allocate and free on both sides
 *
 *   handlers early   registered before any library's constructor runs
 *   handlers late    registered by main
 *
 * Each process frees all that the handler before the fork allocates, and keeps one object of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECTS = 100, FORKS = 3 };

static void *held[OBJECTS], *own;

static void allocate(void)
{
  int i;

  for (i = 0; i < OBJECTS; ++i)
    held[i] = malloc(1000 + (size_t)i);
}

static void release(void)
{
  int i;

  for (i = 0; i < OBJECTS; ++i)
    free(held[i]);
  own = malloc(5555);
}

static void start(void)
{
  if (pthread_atfork(allocate, release, release) != 0)
    exit(1);
}

static void early(int argc, char **argv, char **environment)
{
  (void)environment;
  if (argc > 1 && strcmp(argv[1], "early") == 0)
    start();
}

__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **, char **) = early;

int main(int argc, char **argv)
{
  void *object = malloc(7777);
  int i, status;

  if (argc > 1 && strcmp(argv[1], "late") == 0)
    start();
  for (i = 0; i < FORKS; ++i) {
    pid_t child = fork();
    if (child == 0) {
      free(object);
      free(own);
      return 0;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
      return 1;
  }
  return 0;
}
