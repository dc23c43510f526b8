/* leaderless.c -- a process whose first thread ends before the others
 *
 *     leaderless HOW END
 *
 * The first thread allocates, and again after the library was told of its end (HOW `key': in the last round of
 * destructors of its thread-specific data), or ends without telling (HOW `raw').  Another one ends the process, a while
 * later: END is `return', `exit' or `_exit'; its status is 3, or 0 where it returns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 5000, SIZE = 100 };

static pthread_key_t key;
static const char *end;
static void *volatile keep;

static void objects(void)
{
  int i;

  for (i = 0; i < OBJECTS; ++i) {
    keep = malloc(SIZE);
    free(keep);
  }
}

static void again(void *value)
{
  keep = malloc(SIZE);
  free(keep);
  (void)pthread_setspecific(key, value);
}

static void *run(void *unused)
{
  struct timespec moment = {0, 100000000};

  (void)nanosleep(&moment, NULL);
  objects();
  if (strcmp(end, "exit") == 0)
    exit(3);
  if (strcmp(end, "_exit") == 0)
    _exit(3);
  return unused;
}

int main(int argc, char **argv)
{
  pthread_t thread;

  if (argc != 3)
    return 2;
  end = argv[2];
  (void)pthread_key_create(&key, again);
  if (pthread_create(&thread, NULL, run, NULL) != 0)
    return 2;
  objects();
  (void)pthread_setspecific(key, argv);
  if (strcmp(argv[1], "raw") == 0)
    (void)syscall(SYS_exit, 0);
  pthread_exit(NULL);
}
