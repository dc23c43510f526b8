/* tinyalloc.c -- a small allocator that tells what it does
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tinyalloc.h"

#include "emit/event.h"

static size_t tinyIndex(size_t size)
{
  return size == 0 ? 0 : (size - 1) / TinyGRAIN;
}

void TinyOpen(Tiny tiny, const char *name, void *base, size_t size)
{
  size_t i;

  tiny->base = tiny->next = base;
  tiny->limit = tiny->base + size;
  for (i = 0; i < TinySIZES; ++i)
    tiny->free[i] = NULL;
  EVENT_PWS(HeapOpen, tiny, size, name);
}

void *TinyGet(Tiny tiny, size_t size)
{
  size_t i = tinyIndex(size), bytes = (i + 1) * TinyGRAIN;
  void *cell = NULL;

  if (i < TinySIZES && tiny->free[i] != NULL) {
    cell = tiny->free[i];
    tiny->free[i] = *(void **)cell;
  } else if (i < TinySIZES && bytes <= (size_t)(tiny->limit - tiny->next)) {
    cell = tiny->next;
    tiny->next += bytes;
  }
  if (cell != NULL)
    EVENT_AU(CellGet, cell, (unsigned)bytes);
  else
    EVENT_PWD(HeapFull, tiny, size, (double)(tiny->next - tiny->base) / (double)(tiny->limit - tiny->base));
  return cell;
}

void TinyPut(Tiny tiny, void *cell, size_t size)
{
  size_t i = tinyIndex(size);

  EVENT_AU(CellPut, cell, (unsigned)((i + 1) * TinyGRAIN));
  *(void **)cell = tiny->free[i];
  tiny->free[i] = cell;
}
