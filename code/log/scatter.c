/* scatter.c -- a factor that scatters the keys of hash tables, another one in each process
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/scatter.h"

#include <sys/random.h>

#define scatterELSE 0x9e3779b97f4a7c15u /* where the kernel has no random numbers yet */

uint64_t ScatterFactor = scatterELSE;

static __attribute__((constructor)) void scatterBegin(void)
{
  uint64_t factor;

  if (getrandom(&factor, sizeof factor, GRND_NONBLOCK) == sizeof factor)
    ScatterFactor = factor | 1 | (uint64_t)1 << 63;
}
