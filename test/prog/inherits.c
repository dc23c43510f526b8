/* inherits.c -- allocates COUNT objects and forks; or starts COUNT threads
 *
 *   inherits COUNT free      the child resizes every tenth and frees all
 *   inherits COUNT keep      the child frees none, and allocates one
 *   inherits COUNT threads   threads, one after the other, whose data a destructor frees
 *   inherits COUNT beside    a second thread allocates and frees before and after an object of 7777 bytes; then the
 *                            first thread frees what it had allocated before
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void **objects;
static long count;
static pthread_key_t key;

static void allocate(void)
{
  long i;

  for (i = 0; i < count; ++i)
    if ((objects[i] = malloc(32 + (size_t)i % 7 * 16)) == NULL)
      exit(1);
}

static void release(void)
{
  long i;

  for (i = 0; i < count; ++i) {
    if (i % 10 == 9 && (objects[i] = realloc(objects[i], 500)) == NULL)
      exit(1);
    free(objects[i]);
  }
}

static void *thread(void *data)
{
  (void)pthread_setspecific(key, malloc(100));
  return data;
}

static void start(void)
{
  pthread_t id;
  long i;

  (void)pthread_key_create(&key, free);
  for (i = 0; i < count; ++i)
    if (pthread_create(&id, NULL, thread, NULL) != 0 || pthread_join(id, NULL) != 0)
      exit(1);
}

/* beside -- what the second thread does, told to go on by a byte and telling that it has */
static void *beside(void *ends)
{
  int *fd = ends;
  char byte;

  while (read(fd[0], &byte, 1) == 1) {
    free(malloc(100));
    if (write(fd[0], &byte, 1) != 1)
      exit(1);
  }
  return NULL;
}

static void two(void)
{
  pthread_t id;
  int fd[2];
  char byte = 0;

  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0 || pthread_create(&id, NULL, beside, fd) != 0)
    exit(1);
  allocate();
  if (write(fd[1], &byte, 1) != 1 || read(fd[1], &byte, 1) != 1)
    exit(1);
  free(malloc(7777));
  if (write(fd[1], &byte, 1) != 1 || read(fd[1], &byte, 1) != 1)
    exit(1);
  release();
  (void)close(fd[1]);
  (void)pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
  const char *what = argc > 2 ? argv[2] : "";
  int status = 0;
  pid_t child;

  count = argc > 1 ? atol(argv[1]) : 1;
  objects = malloc((size_t)count * sizeof *objects);
  if (objects == NULL)
    return 1;
  if (strcmp(what, "threads") == 0) {
    start();
    return 0;
  }
  if (strcmp(what, "beside") == 0) {
    two();
    return 0;
  }
  allocate();
  child = fork();
  if (child == 0) {
    if (strcmp(what, "free") == 0)
      release();
    else
      objects[0] = malloc(7777);
    exit(0);
  }
  (void)waitpid(child, &status, 0);
  if (strcmp(what, "keep") == 0)
    release();
  return status;
}
