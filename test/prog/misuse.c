/* misuse.c -- does one wrong thing with memory, and prints the address that must be named
 *
 *   misuse WHAT SIZE [N]    N times, 1 if not said
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Through these no compiler sees what is done. */
static void *(*volatile take)(size_t) = malloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

static size_t size;

static void *giveThere(void *p)
{
  give(p);
  return NULL;
}

static void elsewhere(void *p)
{
  pthread_t thread;

  if (pthread_create(&thread, NULL, giveThere, p) != 0 || pthread_join(thread, NULL) != 0)
    exit(3);
}

static void say(const void *p)
{
  printf("%p\n", p);
  (void)fflush(stdout);
}

/* neighbours -- two objects, one right behind the other */
static void neighbours(char **first, char **second)
{
  enum { MANY = 4096 };
  static char *object[MANY];
  size_t usable;
  int i;

  object[0] = take(size);
  usable = malloc_usable_size(object[0]);
  for (i = 1; i < MANY; ++i) {
    object[i] = take(size);
    if (object[i] == object[i - 1] + usable) {
      *first = object[i - 1], *second = object[i];
      return;
    }
  }
  exit(4);
}

static void twice(void)
{
  char *p = take(size);

  memset(p, 0x5a, size);
  say(p);
  give(p);
  give(p);
  __asm__ volatile("" : : : "memory"); /* else the last call is a jump, and the frame not there */
}

static void twiceLater(void)
{
  char *p = take(size), *q = take(size), *r = take(size);

  say(p);
  give(q);
  give(p);
  give(r);
  give(p);
}

static void twiceThere(void)
{
  char *p = take(size), *q = take(size);

  say(p);
  elsewhere(q);
  elsewhere(p);
  give(p);
}

static void hereAndThere(void)
{
  char *p = take(size);

  say(p);
  give(p);
  elsewhere(p);
}

static void inner(void)
{
  char *p = take(size);

  say(p);
  give(p + 8);
}

static void innerAligned(void)
{
  char *p = take(size);

  say(p);
  give(p + 16);
}

static void onStack(void)
{
  char room[64] __attribute__((aligned(16)));

  memset(room, 1, sizeof room);
  say(room);
  give(room);
}

static void global(void)
{
  static char room[64] __attribute__((aligned(16)));

  say(room);
  give(room);
}

/* An address where an object of this size could be, and none ever was. */
static void never(void)
{
  char *p = take(size), *q = (char *)(((uintptr_t)p | 0xffff) + 1 - 2 * malloc_usable_size(p));

  q = p + (size_t)(q - p) / malloc_usable_size(p) * malloc_usable_size(p);
  say(q);
  give(q);
}

static void resizeFreed(void)
{
  char *p = take(size);

  say(p);
  give(p);
  (void)resize(p, 2 * size + 100);
}

static void resizeInner(void)
{
  char *p = take(size);

  say(p);
  (void)resize(p + 8, 2 * size + 100);
}

static void overrun(void)
{
  char *a, *b;
  int i;

  neighbours(&a, &b);
  say(b);
  give(b);
  memset(a, 'A', malloc_usable_size(a) + 8);
  for (i = 0; i < 3; ++i)
    (void)take(size);
}

static void afterFree(void)
{
  char *p = take(size);
  int i;

  say(p);
  give(p);
  memset(p, 'A', 8);
  for (i = 0; i < 3; ++i)
    (void)take(size);
}

/* After its free only bits of an object's first byte are changed. */
static void afterFreeBits(char bits)
{
  char *p = take(size);
  int i;

  say(p);
  give(p);
  p[0] ^= bits;
  for (i = 0; i < 3; ++i)
    (void)take(size);
}

static void afterFreeEven(void) { afterFreeBits(8); }
static void afterFreeOdd(void) { afterFreeBits(1); }

/* What is found when the object is freed. */
static void beyond(void)
{
  char *p = take(size);

  say(p);
  p[size] = 0;
  give(p);
}

static void beyondResized(void)
{
  char *p = resize(take(size), size - 100);

  say(p);
  p[size - 100] = 0;
  give(p);
}

/* Whoever asks how much there is may use it: nothing is wrong here. */
static void usable(void)
{
  char *p = take(size);

  memset(p, 'A', malloc_usable_size(p));
  give(p);
}

/* firstOfSlab -- an object where 64 KiB begin, that has others right in front of it; `*object` are `many` of one size */
static char *firstOfSlab(char **object, int many)
{
  char *before;
  int i, j;

  for (i = 0; i < many; ++i)
    object[i] = take(size);
  for (i = 0; i < many; ++i) {
    before = object[i] - 65536;
    for (j = 0; ((uintptr_t)before & 0xffff) == 0 && j < i; ++j)
      if (object[j] == before)
        return object[i];
  }
  exit(4);
}

enum { MANY = 8192 };
static char *all[MANY];

static void giveAll(void)
{
  int i;

  for (i = 0; i < MANY; ++i)
    give(all[i]);
}

/* These write beyond the first object of a slab, forwards or backwards, or the last one of the slab before. */
static void beforeFirst(void)
{
  char *p = firstOfSlab(all, MANY);

  say(p);
  memset(p - 8, 'A', 8);
  giveAll();
}

static void beyondLast(void)
{
  char *p = firstOfSlab(all, MANY);
  size_t has = malloc_usable_size(p);

  p += (65536 / has - 1) * has - 65536;
  say(p);
  p[has] = 0;
  giveAll();
}

static void before(void)
{
  char *p = take(size);

  say(p);
  p[-1] = 0;
  give(p);
}

/* What is found when enough others were freed, or at the end. */
static void late(void)
{
  char *p = take(size);

  say(p);
  give(p);
  p[size - 1] = 0;
}

static void flood(void)
{
  int i;

  late();
  for (i = 0; i < 100000; ++i)
    give(take(1000));
  puts("not reached");
}

/* Between its allocation and its free is so much that its first events are overwritten. */
static void oldTwice(void)
{
  char *p = take(size);
  int i;

  say(p);
  for (i = 0; i < 3000000; ++i)
    give(take(1000));
  give(p);
  give(p);
}

static __attribute__((noinline)) char *takeBefore(void)
{
  char *p = take(size);

  p[0] = 1; /* no jump to malloc, which would leave no frame */
  return p;
}

static __attribute__((noinline)) void giveBefore(char *p)
{
  give(p);
  __asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) char *takeInChild(void)
{
  char *p = take(size);

  p[0] = 2;
  return p;
}

/* A child frees again what its parent had freed, having made calls of its own, from other places. */
static void twiceForked(void)
{
  char *p = takeBefore();
  int status = 0, i;
  pid_t child;

  giveBefore(p);
  say(p);
  child = fork();
  if (child == 0) {
    for (i = 0; i < 3; ++i)
      giveBefore(takeInChild());
    giveBefore(p);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child)
    exit(3);
  exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static const struct {
  const char *name;
  void (*act)(void);
} acts[] = {
  {"twice", twice}, {"twice-later", twiceLater}, {"twice-there", twiceThere}, {"here-and-there", hereAndThere},
  {"inner", inner}, {"inner-aligned", innerAligned}, {"stack", onStack}, {"global", global}, {"never", never},
  {"resize-freed", resizeFreed}, {"resize-inner", resizeInner}, {"overrun", overrun}, {"after-free", afterFree},
  {"beyond", beyond}, {"before", before}, {"late", late}, {"flood", flood},
  {"old-twice", oldTwice}, {"beyond-resized", beyondResized}, {"usable", usable}, {"before-first", beforeFirst},
  {"beyond-last", beyondLast}, {"twice-forked", twiceForked},
  {"after-free-even", afterFreeEven}, {"after-free-odd", afterFreeOdd},
};

int main(int argc, char **argv)
{
  size_t i;
  int n = argc > 3 ? atoi(argv[3]) : 1;

  size = argc > 2 ? (size_t)atol(argv[2]) : 32;
  for (i = 0; argc > 1 && i < sizeof acts / sizeof acts[0]; ++i)
    if (strcmp(argv[1], acts[i].name) == 0) {
      for (; n > 0; --n)
        acts[i].act();
      return 0;
    }
  return 2;
}
