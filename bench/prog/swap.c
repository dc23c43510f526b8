/* swap.c -- threads that swap objects of sizes as programs have them: each frees what any of them allocated
 *
 *   swap [threads [objects [rounds]]]    2, 20000 and 3000000 if not said
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { most = 1000000 };

static void *shared[most];
static long slots, rounds;

static size_t someSize(uint64_t r)
{
  switch (r % 64) {
  case 0: return 4000 + (r >> 32) % 30000;
  case 1: case 2: case 3: return 500 + (r >> 32) % 3000;
  default: return 8 + (r >> 32) % 250;
  }
}

static uint64_t next(uint64_t *state)
{
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

static void *swap(void *seed)
{
  uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1;
  long i;

  for (i = 0; i < rounds; ++i) {
    size_t size = someSize(next(&state)), place = next(&state) % (uint64_t)slots;
    void *p = malloc(size);
    memset(p, 1, size);
    free(__atomic_exchange_n(&shared[place], p, __ATOMIC_ACQ_REL));
  }
  return NULL;
}

int main(int argc, char **argv)
{
  int threads = argc > 1 ? atoi(argv[1]) : 2;
  pthread_t thread[64];
  uintptr_t i;

  slots = argc > 2 ? atol(argv[2]) : 20000;
  rounds = argc > 3 ? atol(argv[3]) : 3000000;
  if (threads < 1 || threads > 64 || slots < 1 || slots > most)
    return 2;
  for (i = 0; i < (uintptr_t)threads; ++i)
    if (pthread_create(&thread[i], NULL, swap, (void *)(i + 1)) != 0)
      return 3;
  for (i = 0; i < (uintptr_t)threads; ++i)
    (void)pthread_join(thread[i], NULL);
  for (i = 0; i < (uintptr_t)slots; ++i)
    free(shared[i]);
  return 0;
}
