/* twomalloc.c -- a malloc that cuts memory into powers of two, and tells what it does
 *
 * Made to be preloaded.  It never gives memory back to the system, and one lock serves all threads: it is here to show
 * the EVENT_ lines, which stand where an allocator's always should: an allocation's when the memory is had, a free's
 * before it is given up.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "emit/event.h"

#define TWO __attribute__((visibility("default")))

enum { twoFIRST = 5, twoLIMIT = 47, twoALIGN = 16, twoCHUNK = 20 /* powers of two */ };

/* What stands before each cell. */
typedef struct TwoHeaderStruct {
  char *block;   /* where its block begins */
  unsigned list; /* the block has 2^list bytes */
  unsigned unused;
} __attribute__((aligned(twoALIGN))) TwoHeaderStruct, *TwoHeader;

static struct {
  unsigned locked, told;
  char *free[twoLIMIT]; /* blocks, each beginning with the next one's address */
  char *next, *limit;   /* memory that was not cut yet */
} two;

static void twoLock(void)
{
  while (__atomic_exchange_n(&two.locked, 1, __ATOMIC_ACQUIRE) != 0)
    (void)sched_yield();
}

static void twoUnlock(void)
{
  __atomic_store_n(&two.locked, 0, __ATOMIC_RELEASE);
}

/* twoCut -- a block that nobody had yet; NULL: no memory.  *grownReturn is how much the system gave for it. */
static char *twoCut(unsigned list, size_t *grownReturn)
{
  size_t size = (size_t)1 << list, chunk = list > twoCHUNK ? size : (size_t)1 << twoCHUNK;
  char *block;

  if ((size_t)(two.limit - two.next) < size) {
    block = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
      return NULL;
    *grownReturn = chunk;
    if (chunk == size)
      return block;
    two.next = block;
    two.limit = block + chunk;
  }
  block = two.next;
  two.next += size;
  return block;
}

static void *twoGet(size_t size, size_t align)
{
  size_t need = size + sizeof(TwoHeaderStruct) + align, grown = 0;
  unsigned list = twoFIRST;
  TwoHeader header;
  char *block, *cell;

  if (size > (size_t)1 << (twoLIMIT - 2) || align > (size_t)1 << (twoLIMIT - 2)) {
    errno = ENOMEM;
    return NULL;
  }
  while ((size_t)1 << list < need)
    ++list;
  if (__atomic_exchange_n(&two.told, 1, __ATOMIC_RELAXED) == 0)
    EVENT_PPS(PoolCreate, &two, (void *)NULL, "powers of two");
  twoLock();
  block = two.free[list];
  if (block != NULL)
    memcpy(&two.free[list], block, sizeof two.free[list]);
  else
    block = twoCut(list, &grown);
  twoUnlock();
  if (grown != 0)
    EVENT_PW(HeapGrow, &two, grown);
  if (block == NULL)
    return NULL;
  cell = block + sizeof *header;
  cell += -(uintptr_t)cell & (align - 1);
  header = (TwoHeader)(void *)cell - 1;
  header->block = block;
  header->list = list;
  EVENT_PAWU(PoolAlloc, &two, (Addr)(void *)cell, size, list);
  return cell;
}

static void twoPut(void *cell)
{
  TwoHeader header = (TwoHeader)cell - 1;

  if (cell == NULL)
    return;
  EVENT_PA(PoolFree, &two, (Addr)cell);
  twoLock();
  memcpy(header->block, &two.free[header->list], sizeof two.free[header->list]);
  two.free[header->list] = header->block;
  twoUnlock();
}

/* Nothing here calls malloc, free and the like: by these names a call might go to another library. */

TWO void *malloc(size_t size)
{
  return twoGet(size, twoALIGN);
}

TWO void free(void *cell)
{
  twoPut(cell);
}

static size_t twoUsable(void *cell)
{
  TwoHeader header = (TwoHeader)cell - 1;

  return cell == NULL ? 0 : (size_t)(header->block + ((size_t)1 << header->list) - (char *)cell);
}

TWO size_t malloc_usable_size(void *cell)
{
  return twoUsable(cell);
}

TWO void *calloc(size_t count, size_t size)
{
  size_t bytes;
  void *cell;

  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  cell = twoGet(bytes, twoALIGN);
  return cell == NULL ? NULL : memset(cell, 0, bytes);
}

TWO void *realloc(void *old, size_t size)
{
  size_t had = twoUsable(old);
  void *cell = twoGet(size, twoALIGN);

  if (cell != NULL && old != NULL) {
    memcpy(cell, old, had < size ? had : size);
    twoPut(old);
  }
  return cell;
}

static void *twoAligned(size_t align, size_t size)
{
  return twoGet(size, align < twoALIGN ? twoALIGN : align);
}

TWO void *memalign(size_t align, size_t size)
{
  return twoAligned(align, size);
}

TWO void *aligned_alloc(size_t align, size_t size)
{
  return twoAligned(align, size);
}

TWO int posix_memalign(void **cellReturn, size_t align, size_t size)
{
  void *cell;

  if (align < sizeof(void *) || (align & (align - 1)) != 0)
    return EINVAL;
  cell = twoAligned(align, size);
  if (cell == NULL)
    return ENOMEM;
  *cellReturn = cell;
  return 0;
}
