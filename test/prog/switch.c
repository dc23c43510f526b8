/* switch.c -- a program that switches kinds off itself
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     switch HOW [THREADS]      under a preloaded libpawprint
 *
 * It allocates, switches what it tells of objects off, frees half of it, and waits.  HOW: `off` and it stays so, `bit`
 * the same by the bit itself, as a debugger does it; `on` and on again, and allocates once more; `none` of that.
 * All the while THREADS threads allocate and free.  HOW `wait`: it says its number, and for each line that it reads it
 * waits until each of the threads has allocated so many more, and says the line.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { switchOBJECTS = 400, switchMOMENT = 20000000, switchOBJECT = 5, switchTHREADS = 64, switchBREATH = 64 };

static unsigned long allocated[switchTHREADS];

static void *busy(void *data)
{
  unsigned long *mine = data;

  for (;;) {
    free(malloc(100));
    if (__atomic_add_fetch(mine, 1, __ATOMIC_RELAXED) % switchBREATH == 0)
      (void)usleep(switchBREATH);
  }
  return NULL;
}

/* more -- wait until each thread has allocated again */
static void more(int threads)
{
  int i;

  for (i = 0; i < threads; ++i) {
    unsigned long until = __atomic_load_n(&allocated[i], __ATOMIC_RELAXED) + switchOBJECTS;
    while (__atomic_load_n(&allocated[i], __ATOMIC_RELAXED) < until)
      (void)usleep(switchBREATH);
  }
}

/* obey -- HOW `wait` */
static int obey(int threads)
{
  char line[64];

  (void)printf("%d\n", (int)getpid());
  (void)fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    more(threads);
    (void)fputs(line, stdout);
    (void)fflush(stdout);
  }
  return 0;
}

/* kinds -- what the library has of that name does it */
static int kinds(const char *list)
{
  union {
    void *object;
    int (*function)(const char *list);
  } symbol = {dlsym(RTLD_DEFAULT, "EventControlKinds")};

  return symbol.object != NULL ? symbol.function(list) : 1;
}

static int bit(void)
{
  union {
    void *object;
    void (*function)(void *bt, size_t i);
  } symbol = {dlsym(RTLD_DEFAULT, "BTRes")};
  void *table = dlsym(RTLD_DEFAULT, "EventKindControl");

  if (symbol.object == NULL || table == NULL)
    return 1;
  symbol.function(table, switchOBJECT);
  return 0;
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "none";
  int threads = argc > 2 ? atoi(argv[2]) : 0;
  struct timespec moment = {0, switchMOMENT};
  void *volatile object[switchOBJECTS];
  pthread_t thread;
  int i, failed = 0;

  for (i = 0; i < threads && i < switchTHREADS; ++i)
    failed |= pthread_create(&thread, NULL, busy, &allocated[i]);
  more(failed ? 0 : threads);
  if (strcmp(how, "wait") == 0)
    return failed ? failed : obey(threads);
  for (i = 0; i < switchOBJECTS; ++i)
    object[i] = malloc(100);
  if (strcmp(how, "off") == 0 || strcmp(how, "on") == 0)
    failed = kinds("-Object");
  else if (strcmp(how, "bit") == 0)
    failed = bit();
  for (i = 0; i < switchOBJECTS / 2; ++i)
    free(object[i]);
  (void)nanosleep(&moment, NULL);
  if (strcmp(how, "on") == 0)
    failed |= kinds("+Object");
  more(failed ? 0 : threads);
  free(malloc(1000));
  printf("%d\n", failed);
  return failed;
}
