/* churn.c -- two threads that allocate, and free what the other one allocated
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { slots = 4096 };

static void *shared[slots];
static long rounds;

static void *churn(void *seed)
{
  uint64_t x = (uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1;
  long i;

  for (i = 0; i < rounds; ++i) {
    void *old, *p;
    size_t size;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    size = 16 + (x >> 40 & 255);
    p = malloc(size);
    memset(p, 1, size < 64 ? size : 64);
    old = __atomic_exchange_n(&shared[x >> 52], p, __ATOMIC_ACQ_REL);
    free(old);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t thread[2];
  uintptr_t i;

  rounds = argc > 1 ? atol(argv[1]) : 5000000;
  for (i = 0; i < 2; ++i)
    pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
  for (i = 0; i < 2; ++i)
    pthread_join(thread[i], NULL);
  for (i = 0; i < slots; ++i)
    free(shared[i]);
  return 0;
}
