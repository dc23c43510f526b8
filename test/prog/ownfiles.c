/* ownfiles.c -- a program that closes every descriptor, or puts files of its own in their places, while it is recorded
 *
 *     ownfiles MODE FOLDER ROUNDS
 *
 * MODE is `range' (close_range), `from' (closefrom), `each' (close of each number), `dup2' or `dup3' (its own file in
 * the place of each number), or `raw' (close_range past libc).  Two threads allocate meanwhile.  After each round it
 * opens its own files under all numbers that come, and writes to them, and leaves them open for a while, so that who
 * takes one for the log puts many blocks into it; at the end it looks what is in them.  Status 0: its own bytes and no
 * others; what is wrong is said.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 2, NUMBERS = 1200, FILES = 4, LINE = 8, NAP = 20000 /* us */ };

static int stop, wrong;
static const char *folder;
static long lines[FILES];

static void *run(void *unused)
{
  void *p[64];
  int i;

  (void)unused;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    for (i = 0; i < 64; ++i)
      p[i] = malloc(16 + (unsigned)i);
    for (i = 0; i < 64; ++i)
      free(p[i]);
  }
  return NULL;
}

static void is(int good, const char *what, int number)
{
  if (good)
    return;
  wrong = 1;
  (void)fprintf(stderr, "ownfiles: %s, %d: %s\n", what, number, strerror(errno));
}

static const char *name(int i)
{
  static char room[512];

  (void)snprintf(room, sizeof room, "%s/own%d", folder, i);
  return room;
}

static int own(int i)
{
  int fd = open(name(i), O_WRONLY | O_CREAT | O_APPEND, 0600);

  is(fd >= 0, "cannot open a file", i);
  return fd;
}

static void line(int fd, int i)
{
  is(write(fd, "my line\n", LINE) == LINE, "cannot write to a file", fd);
  ++lines[i];
}

/* closeAll -- by one of the ways; what is closed is closed */
static void closeAll(const char *mode)
{
  int fd;

  if (strcmp(mode, "range") == 0)
    is(close_range(3, ~0U, 0) == 0, "close_range", 3);
  else if (strcmp(mode, "raw") == 0)
    is(syscall(SYS_close_range, 3, ~0U, 0) == 0, "close_range", 3);
  else if (strcmp(mode, "from") == 0)
    closefrom(3);
  /* Past libc the log is opened again meanwhile, under numbers that may not be known as ours yet. */
  for (fd = 3; fd < NUMBERS; ++fd)
    if (strcmp(mode, "each") != 0 && strcmp(mode, "raw") != 0)
      is(close(fd) < 0 && errno == EBADF, "closed, and still there", fd);
    else
      (void)close(fd);
}

static void openAll(void)
{
  int fd, i;

  for (i = 0; i < NUMBERS - 100; ++i) {
    fd = own(i % FILES);
    line(fd, i % FILES);
  }
}

/* putAll -- a file of ours in the place of each number */
static void putAll(const char *mode)
{
  struct stat its, status;
  int first = own(0), fd;

  is(fstat(first, &its) == 0, "fstat", first);
  for (fd = first + 1; fd < NUMBERS; ++fd) {
    is((mode[3] == '2' ? dup2(first, fd) : dup3(first, fd, O_CLOEXEC)) == fd, mode, fd);
    line(fd, 0);
  }
  is(dup2(NUMBERS + 1, 3) < 0 && errno == EBADF, "dup2 of none", NUMBERS + 1);
  for (fd = first; fd < NUMBERS; ++fd) {
    is(fstat(fd, &status) == 0 && status.st_ino == its.st_ino, "another file is in its place, or none", fd);
    is(close(fd) == 0, "cannot close", fd);
  }
}

static void look(int i)
{
  char room[LINE];
  long n = 0;
  FILE *in = fopen(name(i), "r");

  while (in != NULL && fread(room, LINE, 1, in) == 1) {
    is(memcmp(room, "my line\n", LINE) == 0, "foreign bytes in a file", i);
    ++n;
  }
  is(n == lines[i], "lines are missing in a file, or too many", i);
  if (in != NULL)
    (void)fclose(in);
}

int main(int argc, char **argv)
{
  pthread_t thread[THREADS];
  int i, rounds;

  if (argc != 4)
    return 2;
  folder = argv[2];
  rounds = atoi(argv[3]);
  for (i = 0; i < THREADS; ++i)
    (void)pthread_create(&thread[i], NULL, run, NULL);
  while (rounds-- > 0) {
    if (strncmp(argv[1], "dup", 3) == 0) {
      putAll(argv[1]);
    } else {
      closeAll(argv[1]);
      openAll();
      (void)usleep(NAP);
    }
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (i = 0; i < THREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  for (i = 3; i < NUMBERS; ++i)
    (void)close(i);
  for (i = 0; i < FILES; ++i)
    if (lines[i] > 0)
      look(i);
  return wrong;
}
