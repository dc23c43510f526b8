/* steady.c -- a program that tells what it has committed: for tests that look at it from outside
 *
 *     steady MICROSECONDS
 *
 * On each line of its standard input it emits as many events as the line says, from two threads in turn, and then
 * prints how many there were in all; 0: it emits one every MICROSECONDS until it is killed.  It ends with its input.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emit/pawprint.h"

static EventWord name;
static unsigned long total;

static void *emitOne(void *unused)
{
  (void)unused;
  EventUserWord(name, ++total);
  return NULL;
}

int main(int argc, char **argv)
{
  unsigned pause = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
  unsigned long n;
  pthread_t thread;

  name = EventIntern("steady");
  while (scanf("%lu", &n) == 1) {
    while (n == 0) {
      (void)emitOne(NULL);
      (void)usleep(pause);
    }
    for (; n > 1; --n)
      (void)emitOne(NULL);
    if (pthread_create(&thread, NULL, emitOne, NULL) != 0 || pthread_join(thread, NULL) != 0)
      return 1;
    printf("%lu\n", total);
    (void)fflush(stdout);
  }
  return 0;
}
