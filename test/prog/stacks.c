/* stacks.c -- a program that knows the stack of each of its allocations
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks SEED STEPS DEPTH [PLUGIN...]: functions of different frames call each other at random, in four threads, a
 * handler of a signal and a forked child, and inside libraries that are loaded and unloaded; some of them allocate. For
 * each allocation a line: PROCESS HOW SIZE ADDRESS..., where the addresses are those that backtrace() finds, from the
 * caller of the function that allocates on outwards, without the recorder's.  No two allocations have the same size.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { framesMAX = 256, sizeFIRST = 100000, threadsCOUNT = 4 };

static unsigned sizes = sizeFIRST, depthMost, steps;
static __thread uint64_t state;
static __thread unsigned left;

static unsigned random32(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33);
}

static __attribute__((noinline)) void act(unsigned depth);

static uintptr_t recorderLow, recorderLimit;

/* recorder -- where the library that records lies in memory, whose functions have no part in a stack */
static int recorder(struct dl_phdr_info *module, size_t size, void *unused)
{
  int i;

  (void)size;
  (void)unused;
  if (strstr(module->dlpi_name, "libpawprint") == NULL)
    return 0;
  recorderLow = module->dlpi_addr;
  for (i = 0; i < module->dlpi_phnum; ++i)
    if (module->dlpi_phdr[i].p_type == PT_LOAD)
      recorderLimit = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr + module->dlpi_phdr[i].p_memsz;
  return 1;
}

/* Each way to allocate, in a function of its own, whose caller's frames are told. */
static __attribute__((noinline)) void tell(const char *how, unsigned size)
{
  void *frames[framesMAX];
  int count = backtrace(frames, framesMAX), i;
  char line[framesMAX * 20];
  int length = sprintf(line, "%d %s %u", (int)getpid(), how, size);

  /* The frames of this function and of the one that allocates are ours. */
  for (i = 2; i < count; ++i)
    if ((uintptr_t)frames[i] - recorderLow >= recorderLimit - recorderLow)
      length += sprintf(line + length, " %p", frames[i]);
  line[length++] = '\n';
  if (write(1, line, (size_t)length) != length)
    abort();
}

#define WAY(name, call) \
  static __attribute__((noinline)) void name(unsigned size) \
  { \
    void *volatile p = call; \
    tell(#name, size); \
    free(p); \
  }

WAY(byMalloc, malloc(size))
WAY(byCalloc, calloc(1, size))
WAY(byResize, realloc(malloc(8), size))
WAY(byAligned, aligned_alloc(64, size))

static __attribute__((noinline)) void byMap(unsigned size)
{
  void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  tell("byMap", size);
  (void)munmap(p, size);
}

static void (*const ways[])(unsigned) = {byMalloc, byMalloc, byCalloc, byResize, byAligned, byMap};

static __attribute__((noinline)) void allocate(void)
{
  ways[random32() % (sizeof ways / sizeof *ways)](__atomic_add_fetch(&sizes, 1, __ATOMIC_RELAXED));
  __asm__ volatile("");
}

#define CALLER(name, before, use) \
  static __attribute__((noinline)) void name(unsigned depth) \
  { \
    before; \
    act(depth); \
    __asm__ volatile("" ::"r"(use) : "memory"); \
    if (random32() % 3 == 0) \
      act(depth); \
    __asm__ volatile("" ::"r"(use) : "memory"); \
  }

CALLER(small, unsigned x = depth, x)
CALLER(array, char x[200], x)
CALLER(aligned, char x[64] __attribute__((aligned(64))), x)
CALLER(unknown, char *x = alloca(16 + random32() % 300), x)

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
  if (left > 0 && random32() % 4 == 0)
    allocate();
  return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sorts(unsigned depth)
{
  int x[3] = {(int)depth, 1, 2};

  qsort(x, 3, sizeof *x, compare);
  act(depth);
}

static void (*const callers[])(unsigned) = {small, array, aligned, unknown, sorts};

static __attribute__((noinline)) void act(unsigned depth)
{
  if (left == 0)
    return;
  --left;
  if (random32() % 2 == 0)
    allocate();
  if (depth > 0)
    callers[random32() % (sizeof callers / sizeof *callers)](depth - 1);
  __asm__ volatile("");
}

static void program(uint64_t seed)
{
  unsigned done;

  state = seed;
  for (done = 0; done < steps; done += 100)
    for (left = 100; left > 0;)
      act(1 + random32() % depthMost);
}

static void *thread(void *seed)
{
  program((uint64_t)(size_t)seed);
  return NULL;
}

static void handle(int signal)
{
  (void)signal;
  left = 20;
  act(6);
}

static __attribute__((noinline)) void raises(unsigned depth)
{
  if (depth > 0)
    raises(depth - 1);
  else
    (void)raise(SIGUSR1);
  __asm__ volatile("");
}

/* certainly -- act, which allocates by chance, but once at least */
static __attribute__((noinline)) void certainly(unsigned depth)
{
  allocate();
  act(depth);
  __asm__ volatile("");
}

static void plugin(const char *path)
{
  void *library = dlopen(path, RTLD_NOW);
  void (*call)(void (*function)(unsigned), unsigned argument);

  if (library == NULL) {
    (void)fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  *(void **)&call = dlsym(library, "pluginCall");
  left = 50;
  call(certainly, 5);
  (void)dlclose(library);
}

int main(int count, char **arguments)
{
  uint64_t seed = strtoull(arguments[1], NULL, 10);
  pthread_t threads[threadsCOUNT];
  void *frame;
  int i;

  steps = (unsigned)atoi(arguments[2]);
  depthMost = (unsigned)atoi(arguments[3]);
  (void)backtrace(&frame, 1); /* it allocates, once */
  if (dl_iterate_phdr(recorder, NULL) == 0)
    return 1; /* nothing records */
  (void)signal(SIGUSR1, handle);
  program(seed);
  for (i = 4; i < count; ++i)
    plugin(arguments[i]);
  for (i = 0; i < 10; ++i)
    raises((unsigned)i);
  if (fork() == 0) {
    program(seed + 1);
    _exit(0);
  }
  (void)wait(NULL);
  for (i = 0; i < threadsCOUNT; ++i)
    (void)pthread_create(&threads[i], NULL, thread, (void *)(size_t)(seed + 2 + (unsigned)i));
  for (i = 0; i < threadsCOUNT; ++i)
    (void)pthread_join(threads[i], NULL);
  return 0;
}
