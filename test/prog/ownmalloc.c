/* ownmalloc.c -- a program with a malloc of its own, and without a reallocarray: libc's serves, by the program's
 * realloc
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each object is cut from one table, and whatever lies elsewhere is not the program's: it says so and has status 1.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char heap[1 << 22] __attribute__((aligned(16)));
static size_t at;

static void foreign(const char *what)
{
  static const char said[] = ": an object that is not of this malloc\n";

  (void)!write(2, what, strlen(what));
  (void)!write(2, said, sizeof said - 1);
  _exit(1);
}

static int ours(const void *p) { return (const char *)p >= heap && (const char *)p < heap + sizeof heap; }

void *malloc(size_t size)
{
  size_t *p = (size_t *)(void *)(heap + at);

  size = (size + 31) & ~(size_t)15;
  if (size > sizeof heap - at)
    return NULL;
  at += size;
  p[0] = size - 16;
  return p + 2;
}

void free(void *p)
{
  if (p != NULL && !ours(p))
    foreign("free");
}

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *old, size_t size)
{
  size_t had = 0;
  void *p;

  if (old != NULL && !ours(old))
    foreign("realloc");
  p = malloc(size);
  if (old != NULL)
    had = ((size_t *)old)[-2];
  if (p != NULL && old != NULL)
    memcpy(p, old, had < size ? had : size);
  return p;
}

int main(void)
{
  static volatile size_t half = SIZE_MAX / 2;
  char *p = reallocarray(NULL, 3, 5);

  if (p == NULL || !ours(p))
    foreign("reallocarray");
  strcpy(p, "it grows");
  p = reallocarray(p, 100, 100);
  if (p == NULL || !ours(p) || strcmp(p, "it grows") != 0)
    foreign("reallocarray");
  errno = 0;
  if (reallocarray(p, half, 3) != NULL || errno != ENOMEM)
    return 2;
  free(p);
  puts("ok");
  return 0;
}
