/* mvff.c -- a program with an MVFF pool of its own, which is recorded from its middle on
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     mvff SEED     says "ready", waits for a line, goes on, and says what lives then: address and size, one a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/arena.h"
#include "mm/pool.h"

enum { mvffOBJECTS = 3000, mvffSTEPS = 20000 };

static struct {
  Addr addr;
  Size size;
} object[mvffOBJECTS];
static uint64_t mvffSeed;

static Size mvffRandom(Size most)
{
  mvffSeed = mvffSeed * 6364136223846793005u + 1442695040888963407u;
  return (Size)(mvffSeed >> 33) % most;
}

/* mvffGo -- so many allocations, frees and resizes of random sizes */
static void mvffGo(Pool pool, Count steps)
{
  while (steps-- > 0) {
    Index i = mvffRandom(mvffOBJECTS);
    Size size = 1 + mvffRandom(mvffRandom(50) == 0 ? 100000 : 300);
    Res res = ResOK;
    if (object[i].addr == NULL) {
      res = PoolAlloc(&object[i].addr, pool, size);
    } else if (mvffRandom(3) == 0) {
      res = PoolResize(&object[i].addr, pool, object[i].addr, object[i].size, size);
    } else {
      PoolFree(pool, object[i].addr, object[i].size);
      object[i].addr = NULL;
    }
    if (res != ResOK)
      exit(2);
    object[i].size = size;
    if (object[i].addr != NULL)
      memset((void *)object[i].addr, 0xff, size);
  }
}

int main(int argc, char **argv)
{
  char line[16];
  Arena arena;
  Pool pool;
  Index i;

  mvffSeed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  if (ArenaCreate(&arena, 1) != ResOK || PoolCreate(&pool, arena, "MVFF", NULL, 0) != ResOK)
    return 2;
  mvffGo(pool, mvffSTEPS);
  puts("ready");
  (void)fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL)
    return 2;
  mvffGo(pool, 200);
  for (i = 0; i < mvffOBJECTS; ++i)
    if (object[i].addr != NULL)
      printf("%#llx %zu\n", (unsigned long long)(Word)object[i].addr, object[i].size);
  (void)fflush(stdout);
  return 0;
}
