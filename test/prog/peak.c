/* peak.c -- has much memory for a moment, and prints how much of it is resident: before, then, and after (KiB)
 *
 *   peak SIZE MIB [THREADS]    objects of about SIZE bytes, so much of them in each of so many threads, 1 if not said
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t size, each;
static long most;
static pthread_barrier_t full, seen;

static long resident(void)
{
  char text[256] = "";
  long pages = 0;
  int fd = open("/proc/self/statm", O_RDONLY);

  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || sscanf(text, "%*d %ld", &pages) != 1)
    exit(3);
  (void)close(fd);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void *fill(void *unused)
{
  void **last = NULL, **object;
  size_t had = 0, n, i = 0;

  while (had < each) {
    n = size + i++ % (size / 2 + 1);
    object = malloc(n < sizeof *object ? sizeof *object : n);
    if (object == NULL)
      exit(4);
    memset(object, 1, n);
    *object = last;
    last = object;
    had += n;
  }
  (void)pthread_barrier_wait(&full);
  (void)pthread_barrier_wait(&seen);
  while (last != NULL) {
    object = *last;
    free(last);
    last = object;
  }
  return unused;
}

int main(int argc, char **argv)
{
  int threads = argc > 3 ? atoi(argv[3]) : 1, i;
  pthread_t thread[16];
  long before;

  if (argc < 3 || threads < 1 || threads > 16)
    return 2;
  size = (size_t)atol(argv[1]);
  each = (size_t)atol(argv[2]) << 20;
  before = resident();
  if (pthread_barrier_init(&full, NULL, (unsigned)threads + 1) != 0 ||
      pthread_barrier_init(&seen, NULL, (unsigned)threads + 1) != 0)
    return 3;
  for (i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, fill, NULL) != 0)
      return 3;
  (void)pthread_barrier_wait(&full);
  most = resident();
  (void)pthread_barrier_wait(&seen);
  for (i = 0; i < threads; ++i)
    (void)pthread_join(thread[i], NULL);
  printf("%ld %ld %ld\n", before, most, resident());
  return 0;
}
