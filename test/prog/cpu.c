/* cpu.c -- allocate on one processor after the other
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     cpu PROCESSOR...     on each 3000 objects, of 1000 bytes and the processor's number
 */
#include <sched.h>
#include <stdlib.h>

enum { cpuOBJECTS = 3000 };

int main(int argc, char **argv)
{
  int i, n;

  for (i = 1; i < argc; ++i) {
    int cpu = atoi(argv[i]);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 || sched_getcpu() != cpu)
      return 2;
    for (n = 0; n < cpuOBJECTS; ++n) {
      void *volatile object = malloc(1000 + (size_t)cpu);
      free(object);
    }
  }
  return 0;
}
