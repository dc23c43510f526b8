/* touches.c -- allocates large objects, and touches a part of each; see test/malloc/touched.t
 *
 *   touches exit|_exit|kill     how it ends
 *
 * For each object that goes, or lives at the end, it prints its address, its size and the bytes that it has written to:
 * from its beginning on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MiB = 1 << 20 };

/* said -- what is about to happen to an object */
static void said(const void *p, size_t size, size_t written)
{
  printf("%p %zu %zu\n", p, size, written);
  fflush(stdout);
}

/* rest -- so long that counting the pages of the next object takes a small part of the time */
static void rest(void)
{
  nanosleep(&(struct timespec){0, 100000000}, NULL);
}

static void *frees(void *p)
{
  said(p, 48 * (size_t)MiB, 7 * (size_t)MiB);
  free(p);
  return NULL;
}

int main(int argc, char **argv)
{
  char *unmapped = malloc(64 * (size_t)MiB), *cleared = calloc(1, 40 * (size_t)MiB), *aligned, *other, *lives, *child;
  pthread_t thread;
  int i;

  (void)argc;
  memset(unmapped, 1, 10 * (size_t)MiB);
  said(unmapped, 64 * (size_t)MiB, 10 * (size_t)MiB);
  free(unmapped);
  memset(cleared, 1, 3 * (size_t)MiB);
  rest();
  said(cleared, 40 * (size_t)MiB, 3 * (size_t)MiB);
  cleared = realloc(cleared, 72 * (size_t)MiB);
  rest();
  aligned = aligned_alloc(65536, 33 * (size_t)MiB);
  memset(aligned, 1, 33 * (size_t)MiB);
  said(aligned, 33 * (size_t)MiB, 33 * (size_t)MiB);
  free(aligned);
  other = malloc(48 * (size_t)MiB);
  memset(other, 1, 7 * (size_t)MiB);
  pthread_create(&thread, NULL, frees, other);
  pthread_join(thread, NULL);
  child = malloc(50 * (size_t)MiB);
  memset(child, 1, 9 * (size_t)MiB);
  if (fork() == 0) {
    said(child, 50 * (size_t)MiB, 9 * (size_t)MiB);
    free(child);
    _exit(0);
  }
  wait(NULL);
  lives = malloc(44 * (size_t)MiB);
  memset(lives, 1, 5 * (size_t)MiB);
  rest();
  for (i = 0; i < 100000; ++i)
    free(malloc((size_t)i)); /* most of them are no large objects, and the last are recycled at once */
  if (strcmp(argv[1], "kill") == 0)
    kill(getpid(), SIGKILL);
  said(lives, 44 * (size_t)MiB, 5 * (size_t)MiB);
  said(cleared, 72 * (size_t)MiB, 3 * (size_t)MiB);
  said(child, 50 * (size_t)MiB, 9 * (size_t)MiB);
  if (strcmp(argv[1], "_exit") == 0)
    _exit(0);
  return 0;
}
