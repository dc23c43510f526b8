/* manystacks.c -- allocates on so many different stacks that there are no numbers left for their frames, and then frees
 * an object twice
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdlib.h>

typedef void (*Step)(uint64_t path, int depth);

static Step steps[4];

#define STEP(n) \
  static __attribute__((noinline)) void step##n(uint64_t path, int depth) \
  { \
    void *volatile p; \
    if (depth == 0) { \
      p = malloc(10); \
      free(p); \
    } else { \
      steps[path % 4](path / 4, depth - 1); \
    } \
    __asm__ volatile("" ::: "memory"); /* no call is the last thing that it does */ \
  }
STEP(0)
STEP(1)
STEP(2)
STEP(3)

static Step steps[4] = {step0, step1, step2, step3};

int main(void)
{
  uint64_t path = 0x9e3779b97f4a7c15u;
  long i;
  void *volatile p;

  for (i = 0; i < 250000; ++i) {
    path ^= path << 13;
    path ^= path >> 7;
    path ^= path << 17;
    step0(path, 14);
  }
  p = malloc(50);
  free(p);
  free(p);
  return 0;
}
