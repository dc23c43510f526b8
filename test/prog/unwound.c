/* unwound.c -- preloaded: walks the stack of each allocation, and of some compares it with what backtrace() finds
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *   UNWOUND_OUT=FILE UNWOUND_EVERY=N UNWOUND_SEED=N UNWOUND_DEPTH=N
 *
 * One of N allocations, at random, is compared.  When the process ends it appends a line to the file: its name, how many
 * stacks were walked, compared, wrong and broken, how many frames backtrace() had found in all, and how many of the
 * walks' frames were found by their rows.  The first wrong stacks stand before that, side by side.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/walk.h"

#define VISIBLE __attribute__((visibility("default")))

enum { FRAMES = 1024, SHOWN = 3 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static struct {
  StackNumber parent;
  Word at;
} *nodes;
static __thread StackWalkStruct walk;
static __thread Bool inside, begun;
static uint64_t state, walked, compared, wrong, broken, frames, every;
static Count depth;
static int started; /* 0: not yet; 1: by one thread; 2: all is there; 3: no more */

static void told(StackNumber node, StackNumber parent, Word at)
{
  nodes[node].parent = parent;
  nodes[node].at = at;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
  const char *value = getenv(name);

  return value != NULL ? strtoull(value, NULL, 10) : otherwise;
}

static void start(void)
{
  int none = 0;
  void *frame;

  if (!__atomic_compare_exchange_n(&started, &none, 1, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return;
  nodes = mmap(NULL, StackTreeMAX * sizeof *nodes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
               -1, 0);
  every = setting("UNWOUND_EVERY", 10);
  depth = (Count)setting("UNWOUND_DEPTH", 64);
  state = setting("UNWOUND_SEED", 1) * 2 + 1;
  (void)backtrace(&frame, 1); /* it allocates, once */
  if (nodes != MAP_FAILED && every != 0 && StackTreeInit(told) == ResOK)
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
}

static Bool chosen(void)
{
  uint64_t x = __atomic_load_n(&state, __ATOMIC_RELAXED);

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  __atomic_store_n(&state, x, __ATOMIC_RELAXED);
  return x % every == 0;
}

static void show(StackNumber number, void **found, int count)
{
  int i;

  for (i = 0; i < count || number >= StackFIRST; ++i) {
    fprintf(stderr, "# %3d %14p %14zx\n", i, i < count ? found[i] : NULL,
            number >= StackFIRST ? nodes[number].at + 1 : number);
    number = number >= StackFIRST ? nodes[number].parent : number;
  }
}

/* differs -- is a stack other than the frames that backtrace() found?  Where a signal interrupted something that one has
 * the address itself. */
static Bool differs(StackNumber number, void **found, int count)
{
  Count left = depth;
  int i;

  for (i = 0; number >= StackFIRST && left > 0; ++i, --left, number = nodes[number].parent)
    if (i >= count || ((Word)found[i] != nodes[number].at + 1 && (Word)found[i] != nodes[number].at))
      return TRUE;
  broken += number == StackBROKEN;
  return left > 0 && i != count;
}

static void compare(StackNumber number, Word at)
{
  void *found[FRAMES];
  int count = backtrace(found, FRAMES), first = 0;

  while (first < count && (Word)found[first] != at + 1)
    ++first;
  __atomic_fetch_add(&compared, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&frames, (uint64_t)(count - first), __ATOMIC_RELAXED);
  if (differs(number, found + first, count - first) && __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED) < SHOWN)
    show(number, found + first, count - first);
}

__attribute__((noinline)) static void take(Word at, Word sp, Word bp)
{
  int error = errno;
  StackNumber number;

  if (inside || started > 2)
    return;
  inside = TRUE;
  if (UNLIKELY(started == 0))
    start();
  if (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == 2) {
    if (!begun)
      StackWalkInit(&walk, depth);
    begun = TRUE;
    number = StackWalkFrom(&walk, 0, at, sp, bp);
    __atomic_fetch_add(&walked, 1, __ATOMIC_RELAXED);
    if (chosen())
      compare(number, at);
  }
  inside = FALSE;
  errno = error;
}

#define TAKE \
  take((Word)__builtin_return_address(0) - 1, (Word)__builtin_frame_address(0) + 2 * sizeof(Word), \
       *(Word *)__builtin_frame_address(0))

VISIBLE void *malloc(size_t size)
{
  TAKE;
  return __libc_malloc(size);
}

VISIBLE void *calloc(size_t count, size_t size)
{
  TAKE;
  return __libc_calloc(count, size);
}

VISIBLE void *realloc(void *p, size_t size)
{
  TAKE;
  return __libc_realloc(p, size);
}

VISIBLE void *memalign(size_t align, size_t size)
{
  TAKE;
  return __libc_memalign(align, size);
}

__attribute__((destructor)) static void end(void)
{
  const char *path = getenv("UNWOUND_OUT");
  char line[256];
  int fd, size;

  started = 3;
  if (path == NULL || (fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0)
    return;
  size = snprintf(line, sizeof line, "%s %lu %lu %lu %lu %lu %lu\n", program_invocation_short_name, walked, compared,
                  wrong, broken, frames, walk.walked);
  if (write(fd, line, (size_t)size) != size)
    perror(path);
  close(fd);
}
