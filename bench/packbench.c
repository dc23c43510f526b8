/* packbench.c -- what packing costs and saves
 *
 *   packbench [FILE]
 *
 * For invented programs, or for the raw events of FILE (one behind the other, 8-byte words, our order; the types
 * below): bytes at rest for each event, block headers included, and nanoseconds for each to pack and to unpack, the
 * best of several runs.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "format/pack.h"

enum { eventsMAX = 200000, runsMAX = 7 };

static const char registryText[] =
  "kind: 5 Object\n"
  "event: 0x0601 PoolAlloc Object 0 PAW pool addr size\n"
  "event: 0x0602 PoolFree Object 0 PA pool addr\n"
  "event: 0x0603 PoolAllocZero Object 0 PAW pool addr size\n"
  "event: 0x0604 PoolAllocAligned Object 0 PAWW pool addr size align\n"
  "event: 0x0605 PoolResizeBegin Object 0 PAW pool addr size\n"
  "event: 0x0606 PoolResizeEnd Object 0 PAAW pool old addr size\n";

static RegistryStruct registry;
static EventTypeStruct types[16];
static Pack pack;
static Unpack unpack;

/* A stream being made. */
typedef struct StreamStruct {
  uint8_t *base, *next;
  uint32_t time;
  uint64_t random;
  uint64_t pool;
} StreamStruct, *Stream;

static uint32_t chance(Stream s)
{
  s->random = s->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(s->random >> 33);
}

static void event(Stream s, uint16_t code, unsigned words, uint64_t addr, uint64_t size)
{
  EventHeaderStruct header = {code, (uint16_t)(8 + 8 * words), s->time};
  uint64_t word[3] = {s->pool, addr, size};

  memcpy(s->next, &header, sizeof header);
  memcpy(s->next + sizeof header, word, 8 * words);
  s->next += header.length;
}

/* makeLoop -- malloc and free of the same size in a tight loop */
static void makeLoop(Stream s)
{
  unsigned i;

  for (i = 0; i < eventsMAX; i += 2) {
    event(s, 0x0601, 3, 0x55d0a1b20010, 64);
    s->time += 25;
    event(s, 0x0602, 2, 0x55d0a1b20010, 0);
    s->time += 25;
  }
}

/* makeSame -- the same event over and over */
static void makeSame(Stream s)
{
  unsigned i;

  for (i = 0; i < eventsMAX; ++i, s->time += 25)
    event(s, 0x0601, 3, 0x55d0a1b20010 + i % 8 * 48, 40);
}

/* makeHeap -- objects of some sizes, bumped and reused, some of which live for long; `pools` of them */
static void makeHeap(Stream s, unsigned pools, unsigned align)
{
  enum { liveMAX = 8192, sizes = 40 };
  static uint64_t live[liveMAX], freed[sizes][256];
  static unsigned char sizeOf[liveMAX];
  unsigned freedCount[sizes] = {0}, i, k = 0;
  uint64_t top = 0x55d0a1b20010;

  memset(live, 0, sizeof live);
  for (i = 0; i < eventsMAX; ++i) {
    k = chance(s) % 4 == 0 ? chance(s) % liveMAX : (k + 1 + chance(s) % 3) % (liveMAX / 16);
    s->time += 30 + (chance(s) % 3 ? chance(s) % 60 : chance(s) % 1500);
    s->pool = 0x7f1234560000 + 64 * (uint64_t)(chance(s) % pools);
    if (live[k] != 0) {
      unsigned size = sizeOf[k];
      event(s, 0x0602, 2, live[k], 0);
      if (freedCount[size] < 256)
        freed[size][freedCount[size]++] = live[k];
      live[k] = 0;
    } else {
      unsigned size = chance(s) % (chance(s) % 4 ? 6 : sizes);
      if (freedCount[size] > 0)
        live[k] = freed[size][--freedCount[size]];
      else
        live[k] = top, top += (16 + size * 8 + align - 1) / align * align + align;
      sizeOf[k] = (unsigned char)size;
      event(s, 0x0601, 3, live[k], 16 + size * 8);
    }
  }
}

static double now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* measure -- pack and unpack a stream in blocks of `whole` bytes; prints a line */
static void measure(const char *name, const uint8_t *events, Size size, Size whole)
{
  static uint8_t in[BlockMAX], packed[BlockRestMAX + PackSlackSIZE], back[BlockMAX + PackSlackSIZE];
  double best[2] = {1e99, 1e99};
  unsigned run;
  Size bytes = 0, count = 0;

  for (run = 0; run < runsMAX; ++run) {
    double spent[2] = {0, 0};
    Size at = 0;
    bytes = count = 0;
    while (at < size) {
      Size used = 0, rest;
      EventHeaderStruct first, header;
      double a, b, c;
      memcpy(&first, events + at, sizeof first);
      while (at + used < size) {
        memcpy(&header, events + at + used, sizeof header);
        if (header.length < sizeof header || used + EventSizeOfLength(header.length) > whole - BlockHeaderSIZE)
          break;
        used += EventSizeOfLength(header.length);
        ++count;
      }
      if (used == 0)
        break;
      memcpy(in, events + at, used);
      a = now();
      rest = BlockPack(pack, &registry, in, used, first.time, packed, &(Count){0});
      b = now();
      if (BlockUnpack(unpack, &registry, packed, rest, first.time, back, used) != ResOK ||
          memcmp(in, back, used) != 0) {
        printf("%s: what comes back is not what was packed\n", name);
        exit(1);
      }
      c = now();
      spent[0] += b - a;
      spent[1] += c - b;
      bytes += rest + BlockHeaderSIZE;
      at += used;
    }
    best[0] = spent[0] < best[0] ? spent[0] : best[0];
    best[1] = spent[1] < best[1] ? spent[1] : best[1];
  }
  printf("%-26s %6zu %9zu %9.2f %9.2f %9.2f\n", name, whole, count, (double)bytes / (double)count,
         best[0] / (double)count, best[1] / (double)count);
}

static void measureMade(const char *name, void (*make)(Stream))
{
  StreamStruct s = {malloc((Size)eventsMAX * 32), NULL, 1000, 1, 0x7f1234560000};

  s.next = s.base;
  make(&s);
  measure(name, s.base, (Size)(s.next - s.base), 65536);
  measure(name, s.base, (Size)(s.next - s.base), 4096);
  free(s.base);
}

static void makeHeap16(Stream s) { makeHeap(s, 1, 16); }
static void makeHeap8(Stream s) { makeHeap(s, 1, 8); }
static void makePools(Stream s) { makeHeap(s, 4, 16); }

int main(int argc, char **argv)
{
  RegistryInit(&registry, types, ARRAY_LENGTH(types), (WidthsStruct){8, FALSE});
  if (RegistryText(&registry, registryText, sizeof registryText - 1) != ResOK)
    return 1;
  pack = calloc(1, PackSIZE);
  unpack = calloc(1, UnpackSIZE);
  printf("%-26s %6s %9s %9s %9s %9s\n", "", "block", "events", "bytes/ev", "pack ns", "unpack ns");
  if (argc > 1) {
    struct stat status;
    int fd = open(argv[1], O_RDONLY);
    void *file;
    if (fd < 0 || fstat(fd, &status) != 0 ||
        (file = mmap(NULL, (Size)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
      perror(argv[1]);
      return 1;
    }
    measure(argv[1], file, (Size)status.st_size, 65536);
    measure(argv[1], file, (Size)status.st_size, 16384);
    return 0;
  }
  measureMade("one event", makeSame);
  measureMade("malloc and free in a loop", makeLoop);
  measureMade("a heap, multiples of 16", makeHeap16);
  measureMade("a heap, multiples of 8", makeHeap8);
  measureMade("four pools", makePools);
  free(pack);
  free(unpack);
  return 0;
}
