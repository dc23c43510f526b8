/* biglog.c -- a log of any size, for measuring how it is opened and read
 *
 *   biglog PATH EVENTS STREAMS [SIZE]
 *
 * Allocations and frees of STREAMS threads that take turns all the time; EVENTS in all, rounded up to whole blocks.
 * Each block is sound and has its own times and number; what is in them is the same, packed, so writing is fast.  With
 * SIZE each takes so many bytes of the file, of which those behind its events are a hole.  Says how many seconds it
 * spans.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>

#include "../test/lib/logmake.h"

enum {
  spanLOG = 21,     /* ticks (ns) of a block, as a power of two: none crosses an epoch */
  stepTICKS = 1000  /* between two events */
};

/* theBlock -- a block's bytes at rest, as every stream has them */
static MakeStruct theBlock(MakeProcess process, uint64_t first)
{
  static MakeBlockStruct block;
  MakeStruct make = {0};
  uint64_t tick = first, random = 1, address = 0x7f0000001000;

  MakeBlockBegin(&block, process, 1, EventKindObject, 0, first);
  while (tick - first < (1 << spanLOG) - 2 * stepTICKS) {
    uint64_t size = 16 + TapRandom(&random) % 64 * 16;
    if (!MakeEvent(&block, EventPoolAllocCODE, tick, (uint64_t[]){0x1000, address, size}, NULL) ||
        !MakeEvent(&block, EventPoolFreeCODE, tick + stepTICKS, (uint64_t[]){0x1000, address}, NULL))
      break;
    address += size;
    tick += 2 * stepTICKS;
  }
  MakeBlockEnd(&make, &block, BlockFlagSEALED | BlockFlagPACKED);
  return make;
}

/* put -- `size` bytes of log, and a hole up to `whole` */
static void put(FILE *file, const void *bytes, Size size, uint64_t whole)
{
  if (fwrite(bytes, 1, size, file) != size || (whole > size && fseeko(file, (off_t)(whole - size), SEEK_CUR) != 0)) {
    fprintf(stderr, "biglog: %s\n", strerror(errno));
    exit(1);
  }
}

int main(int argc, char **argv)
{
  uint64_t first = (uint64_t)1 << 40, events, streams, size, done = 0, round, s;
  MakeProcess process = MakeProcessNew(4711, 1);
  MakeStruct header = {0}, block;
  BlockHeaderStruct its;
  FILE *file;

  if (argc < 4 || (file = fopen(argv[1], "w")) == NULL) {
    fprintf(stderr, "biglog PATH EVENTS STREAMS [SIZE]\n");
    return 2;
  }
  events = strtoull(argv[2], NULL, 10);
  streams = strtoull(argv[3], NULL, 10);
  MakeHeader(&header, process);
  put(file, header.bytes, header.size, 0);
  block = theBlock(process, first);
  memcpy(&its, block.bytes, sizeof its);
  size = argc > 4 ? strtoull(argv[4], NULL, 10) : its.size;
  its.size = size < its.size ? its.size : (uint32_t)size;
  for (round = 0; done < events; ++round)
    for (s = 0; s < streams; ++s, done += its.count) {
      uint64_t since = (round << spanLOG) + s; /* so no two streams have the same time */
      BlockHeaderStruct h = its;
      h.thread = (uint32_t)(1000 + s);
      h.stream = (uint32_t)(s * 32 + EventKindObject * 2);
      h.sequence = round;
      h.before = round * its.count;
      h.first = its.first + since;
      h.last = its.last + since;
      h.mono = h.last;
      BlockHeaderSeal(&h);
      put(file, &h, sizeof h, 0);
      put(file, block.bytes + BlockHeaderSIZE, block.size - BlockHeaderSIZE, h.size - BlockHeaderSIZE);
    }
  /* A file may not end in a hole that a block claims. */
  if (fflush(file) != 0 || ftruncate(fileno(file), ftello(file)) != 0 || fclose(file) != 0) {
    fprintf(stderr, "biglog: %s: %s\n", argv[1], strerror(errno));
    return 1;
  }
  printf("%.9f\n", (double)(round << spanLOG) / 1e9);
  MakeFree(&header);
  MakeFree(&block);
  MakeProcessFree(process);
  return 0;
}
