/* noheader.c -- allocates at known depths; linked without .eh_frame_hdr
 *
 *   noheader TIMES
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void inner(size_t size)
{
  char *volatile p = malloc(size);

  free(p);
}

__attribute__((noinline)) static void array(size_t size)
{
  char room[300];

  memset(room, (int)size, sizeof room);
  inner(size);
  __asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) static void unknown(size_t size)
{
  char *room = __builtin_alloca(16 + size % 100);

  __asm__ volatile("" ::"r"(room) : "memory");
  array(size);
  __asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) static void deeper(size_t size, int depth)
{
  if (depth > 0)
    deeper(size, depth - 1);
  else
    unknown(size);
  __asm__ volatile("" ::: "memory");
  inner(size + 1);
  __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
  int times = argc > 1 ? atoi(argv[1]) : 1, i;

  for (i = 0; i < times; ++i)
    deeper(1000, i % 4);
  return 0;
}
