/* emitbench.c -- what an event costs the thread that emits it
 *
 * Prints a line for each measurement: name, ns per event, ratio to the floor, the ratio or time to be reached.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emit/control.h"
#include "emit/event.h"
#include "emit/emitter.h"
#include "emit/pawprint.h"
#include "emit/send.h"

#include "floor.h"

/* The address moves on as a simple allocator's would. */
static void benchEmit(uint64_t n)
{
  static char pool;
  uint64_t i;

  for (i = 0; i < n; ++i) {
    EVENT_PAW(PoolAlloc, &pool, (Addr)(0x10000000 + (i & 0xffff) * 32), 24 + (i & 3) * 8);
    __asm__ volatile("" : : : "memory");
  }
}

static void benchEmpty(uint64_t n)
{
  uint64_t i;

  for (i = 0; i < n; ++i)
    __asm__ volatile("" : : : "memory");
}

static void benchLine(const char *name, double ns, double ratio, const char *target)
{
  printf("%-48s %8.2f ns %6.2f   %s\n", name, ns, ratio, target);
}

static void benchOff(void)
{
  double empty;

  EventKindControl[0] &= ~(Word)(0x10001u << EventKindObject);
  empty = BenchBest(benchEmpty, 100000000);
  benchLine("event compiled in, switched off, net of the loop", BenchBest(benchEmit, 100000000) - empty, 0,
            "0.5 ns or less");
  EventKindControl[0] |= (Word)0x10000u << EventKindObject;
}

static void benchFile(const char *name, const char *folder, Bool raw, double base, const char *target)
{
  char path[256];
  double ns;

  (void)snprintf(path, sizeof path, "%s/pawprint-bench-%ld.paw", folder, (long)getpid());
  (void)unlink(path);
  ControlSettings.raw = raw;
  if (EventLogOpen(path) != 0)
    exit(1);
  ns = BenchBest(benchEmit, 2000000);
  EventFlush();
  benchLine(name, ns, ns / base, target);
  PlinthClose(&EmitterPlinths[0]);
  (void)unlink(path);
}

int main(void)
{
  const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  double base = BenchFloor(), ns;

  benchLine("the floor F: counter and 32 bytes to a ring", base, 1, "");
  benchOff();
  ns = BenchBest(benchEmit, 5000000);
  benchLine("EVENT_PAW, buffered only", ns, ns / base, "1.3 F");
  benchFile("EVENT_PAW, to a file on tmpfs, raw", folder, TRUE, base, "");
  benchFile("EVENT_PAW, to a file on tmpfs, packed", folder, FALSE, base, "2.0 F");
  return 0;
}
