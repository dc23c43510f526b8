/* made.c -- allocates in functions that are called from code that the program has made itself, of which no .eh_frame tells
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void (*Leaf)(void);
typedef void (*Made)(Leaf leaf);

static __attribute__((noinline)) void allocate(size_t size)
{
  void *volatile object = malloc(size);

  free(object);
}

static __attribute__((noinline)) void withPointer(void)
{
  allocate(1001);
  puts("");
}

static __attribute__((noinline)) void withNothing(void)
{
  allocate(1002);
  puts("");
}

static __attribute__((noinline)) void withOther(void)
{
  allocate(1003);
  puts("");
}

/* make -- code that calls its argument */
static Made make(const char *code, size_t size)
{
  void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (place == MAP_FAILED)
    exit(1);
  memcpy(place, code, size);
  if (mprotect(place, 4096, PROT_READ | PROT_EXEC) != 0)
    exit(1);
  return (Made)place;
}

int main(void)
{
  /* push rbp; mov rbp, rsp;  or xor ebp, ebp;  or lea rbp, [rsp + 32];  then call rdi; pop rbp; ret */
  static const char pointer[] = "\x55\x48\x89\xe5\xff\xd7\x5d\xc3", nothing[] = "\x55\x31\xed\xff\xd7\x5d\xc3",
                    other[] = "\x55\x48\x8d\x6c\x24\x20\xff\xd7\x5d\xc3";
  volatile unsigned long words[8] = {0}; /* to which the last one's rbp leads */

  make(pointer, sizeof pointer)(withPointer);
  make(nothing, sizeof nothing)(withNothing);
  make(other, sizeof other)(withOther);
  return (int)words[0];
}
