/* switch.c -- a program that switches kinds off itself
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     switch HOW      under a preloaded libpawprint
 *
 * It allocates, switches what it tells of objects off, frees half of it, and waits.  HOW: `off` and it stays so, `bit`
 * the same by the bit itself, as a debugger does it; `on` and on again, and allocates once more; `none` of that.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { switchOBJECTS = 400, switchMOMENT = 20000000, switchOBJECT = 5 };

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
  const char *how = argc == 2 ? argv[1] : "none";
  struct timespec moment = {0, switchMOMENT};
  void *volatile object[switchOBJECTS];
  int i, failed = 0;

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
  free(malloc(1000));
  printf("%d\n", failed);
  return failed;
}
