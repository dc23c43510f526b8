/* sites.c -- allocates what is known by construction, at known places
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *   sites        says "name offset" for each function that allocates: where it begins in the program's file
 *
 * What each function does, in order (bytes):
 *   keeper    100 objects of 1000, all of which are left
 *   peaker    50 of 20000, which live together and go; then the process has had its peak
 *   brief     1000 of 64, each freed at once: temporary
 *   swapper   300 of 32, in pairs that are freed in the order in which they came: not temporary
 *   grower    one object of 100, resized to 200, 300 ... 1000 by `regrow`, whose it is then; left
 *   aligner   7 of 4096, aligned; 4 are freed
 *   child     a child of fork frees 30 of the keeper's, and allocates 5 of 500; it ends without freeing them
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char __executable_start;

#if defined(__clang__)
#define PLACE __attribute__((noinline, optnone))
#else
#define PLACE __attribute__((noinline, noipa))
#endif

enum { KEPT = 100, PEAKS = 50, BRIEF = 1000, SWAPS = 150, ALIGNED = 7, CHILD = 5 };

static void *volatile kept[KEPT], *volatile peaks[PEAKS], *volatile grown, *volatile aligned[ALIGNED];
static volatile int keptIn[2];

PLACE static void keeper(void)
{
  int i;

  for (i = 0; i < KEPT; ++i)
    kept[i] = malloc(1000);
  keptIn[0] = 1;
}

PLACE static void peaker(void)
{
  int i;

  for (i = 0; i < PEAKS; ++i)
    peaks[i] = malloc(20000);
  for (i = 0; i < PEAKS; ++i)
    free(peaks[i]);
  keptIn[0] = 2;
}

PLACE static void brief(void)
{
  int i;

  for (i = 0; i < BRIEF; ++i) {
    void *volatile one = malloc(64);
    free(one);
  }
  keptIn[0] = 3;
}

PLACE static void swapper(void)
{
  int i;

  for (i = 0; i < SWAPS; ++i) {
    void *volatile one = malloc(32), *volatile two = malloc(32);
    free(one);
    free(two);
  }
  keptIn[0] = 4;
}

PLACE static void regrow(void)
{
  size_t size;

  for (size = 200; size <= 1000; size += 100)
    grown = realloc(grown, size);
  keptIn[0] = 5;
}

PLACE static void grower(void)
{
  grown = malloc(100);
  regrow();
  keptIn[0] = 6;
}

PLACE static void aligner(void)
{
  int i;

  for (i = 0; i < ALIGNED; ++i)
    aligned[i] = aligned_alloc(256, 4096);
  for (i = 0; i < 4; ++i)
    free(aligned[i]);
  keptIn[0] = 7;
}

PLACE static void child(void)
{
  int i;

  for (i = 0; i < 30; ++i)
    free(kept[i]);
  for (i = 0; i < CHILD; ++i)
    keptIn[1] += malloc(500) != NULL;
  _exit(0);
}

int main(void)
{
  static const struct {
    const char *name;
    void (*function)(void);
  } all[] = {{"keeper", keeper}, {"peaker", peaker}, {"brief", brief}, {"swapper", swapper}, {"regrow", regrow},
             {"grower", grower}, {"aligner", aligner}, {"child", child}};
  char line[64];
  unsigned i;

  for (i = 0; i < sizeof all / sizeof all[0]; ++i) {
    int length = snprintf(line, sizeof line, "%s %#lx\n", all[i].name,
                          (unsigned long)((char *)(uintptr_t)all[i].function - &__executable_start));
    if (write(1, line, (size_t)length) != length)
      return 1;
  }
  keeper();
  peaker();
  brief();
  swapper();
  grower();
  aligner();
  if (fork() == 0)
    child();
  return wait(NULL) < 0;
}
