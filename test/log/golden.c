/* golden.c -- makes the logs in test/good/ and test/bad/
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *   make build/cool/test/golden && build/cool/test/golden test
 *
 * Run by hand, when a log is added.  The logs that are there stay: that what was once written can still be read is
 * the point of them.  So it never overwrites one.
 */
#include <stdio.h>

#include "logmake.h"

/* A registry of its own, which no change of ours touches. */
static const char goldenRegistry[] =
  "kind: 0 Arena\nkind: 1 Pool\nkind: 5 Object\nkind: 6 User\n"
  "event: 0x0101 ArenaCreate Arena 1 PWW arena size grain\n"
  "describe: 0x0101 creates arena %arena of %size bytes\n"
  "event: 0x0201 PoolCreate Pool 1 PPS pool arena class\n"
  "describe: 0x0201 creates pool %pool of class %class\n"
  "event: 0x0601 PoolAlloc Object 0 PAW pool addr size\n"
  "describe: 0x0601 pool %pool allocates %size bytes at %addr\n"
  "event: 0x0602 PoolFree Object 0 PA pool addr\n"
  "describe: 0x0602 pool %pool frees %addr\n"
  "event: 0x0701 UserAll User 1 PAWUDS p a w u d s\n"
  "event: 0x0702 UserNone User 1 0\n"
  "describe: 0x0702 nothing happens, 100%\n";

static MakeBlockStruct block;
static const char *folder;

static void goldenWrite(Make make, const char *name)
{
  char path[4096];
  int fd;

  (void)snprintf(path, sizeof path, "%s/%s.paw", folder, name);
  fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd < 0)
    printf("%s: there already\n", path);
  else if (write(fd, make->bytes, make->size) != (ssize_t)make->size || close(fd) != 0)
    makeFail(path);
  else
    printf("%s: %zu bytes\n", path, make->size);
  make->size = 0;
}

static uint64_t doubleBits(double d)
{
  uint64_t bits;

  memcpy(&bits, &d, sizeof bits);
  return bits;
}

/* goldenAll -- one event of each letter, with values that are hard to write */
static void goldenAll(MakeBlock b, uint64_t ticks)
{
  static char longString[1100];
  static const double reals[] = {0.1, -0.0, 1e300, 5e-324, 1.0 / 3.0};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(reals); ++i)
    (void)MakeEvent(b, 0x0701, ticks + i, (uint64_t[]){i, 0xffffffffu - i, i * 99, 10 * i, doubleBits(reals[i])},
                    i == 0 ? "plain" : i == 1 ? "quote \" comma , backslash \\" : i == 2 ? "line\nbreak\ttab\001"
                          : "caf\xc3\xa9 \xff");
  memset(longString, 'x', sizeof longString - 1);
  (void)MakeEvent(b, 0x0701, ticks + 10, (uint64_t[]){1, 2, 3, 4, doubleBits(2)}, longString);
  (void)MakeEvent(b, 0x0702, ticks + 11, NULL, NULL);
}

/* goldenObjects -- allocations and frees */
static void goldenObjects(MakeBlock b, uint64_t ticks, unsigned n)
{
  unsigned i;

  for (i = 0; i < n; ++i) {
    uint64_t addr = 0x7f001000 + 0x40 * (i / 2 * 7 % 16);
    if (i % 2 == 0)
      (void)MakeEvent(b, 0x0601, ticks + 100 * i, (uint64_t[]){0x5000, addr, 24 + i}, NULL);
    else
      (void)MakeEvent(b, 0x0602, ticks + 100 * i, (uint64_t[]){0x5000, addr}, NULL);
  }
}

/* goldenThreads -- two processes, three threads, packed and not */
static void goldenThreads(Make make)
{
  MakeProcess a = MakeProcessForeign(4711, 0xa1, 8, FALSE, goldenRegistry);
  MakeProcess b = MakeProcessForeign(4712, 0xb2, 8, FALSE, goldenRegistry);

  strcpy(a->header.program, "/bin/first");
  strcpy(a->header.argument[0], "first");
  strcpy(a->header.argument[1], "with \"quotes\"\nand lines");
  a->header.arguments = 2;
  MakeHeader(make, a);
  MakeBlockBegin(&block, a, 4711, 0, 0, 1000);
  (void)MakeEvent(&block, 0x0101, 1000, (uint64_t[]){0x4000, 1 << 30, 4096}, NULL);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, a, 4711, 1, 0, 1500);
  (void)MakeEvent(&block, 0x0201, 1500, (uint64_t[]){0x5000, 0x4000}, "MVFF");
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, a, 4711, 5, 0, 2000);
  goldenObjects(&block, 2000, 12);
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeHeader(make, b);
  MakeBlockBegin(&block, b, 4712, 5, 0, 2050);
  goldenObjects(&block, 2050, 6);
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockNext(&block, 4294967000u);
  goldenObjects(&block, 4294967000u, 6); /* over the end of an epoch */
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagPACKED);
  MakeBlockBegin(&block, a, 4713, 6, 0, 2100);
  goldenAll(&block, 2100);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  MakeHeader(make, a);
  goldenWrite(make, "good/threads");
  MakeProcessFree(a);
  MakeProcessFree(b);
}

/* goldenForeign -- as a big-endian machine with 32-bit words writes it */
static void goldenForeign(Make make)
{
  static const uint32_t one = 1;
  Bool little = *(const unsigned char *)&one == 1;
  MakeProcess process = MakeProcessForeign(17, 0xc3, 4, little, goldenRegistry);

  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 2000);
  goldenObjects(&block, 2000, 6);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, process, 18, 6, 0, 2100);
  goldenAll(&block, 2100);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  goldenWrite(make, "good/foreign");
  MakeProcessFree(process);
}

/* goldenHandler -- what signal handlers and hurry leave in a block: disorder, holes, pads; and snapshots of it */
static void goldenHandler(Make make)
{
  MakeProcess process = MakeProcessForeign(17, 0xd4, 8, FALSE, goldenRegistry);

  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 2000);
  goldenObjects(&block, 2000, 3);
  MakeHole(&block, 2);
  goldenObjects(&block, 2250, 2);
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagSNAPSHOT);
  goldenObjects(&block, 2050, 2);
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagSNAPSHOT);
  goldenObjects(&block, 3000, 4);
  MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagPACKED);
  goldenWrite(make, "good/handler");
  MakeProcessFree(process);
}

/* goldenNewer -- of a newer median version, with a kind and a type that nobody here knows */
static void goldenNewer(Make make)
{
  static const char registry[] = "kind: 9 Weather\nevent: 0x0a01 Rain Weather 1 UD drops warmth\n"
                                 "describe: 0x0a01 %drops drops fall at %warmth degrees\n";
  MakeProcess process = MakeProcessForeign(17, 0xe5, 8, FALSE, registry);

  process->header.median = 7;
  process->header.minor = 3;
  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 9, 0, 2000);
  (void)MakeEvent(&block, 0x0a01, 2000, (uint64_t[]){77, doubleBits(12.5)}, NULL);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  goldenWrite(make, "good/newer");
  MakeProcessFree(process);
}

/* goldenOdd -- names and values that formats must not take amiss: names that are words of SQL and CTF, or differ in
 * capitals alone; twice the same type, differently; numbers that have all bits; no numbers; seconds of silence */
static void goldenOdd(Make make)
{
  static const char registry[] =
    "kind: 6 User\n"
    "event: 0x0701 events User 1 WAS n time name\n"
    "event: 0x0702 Events User 1 WW value Value\n"
    "event: 0x0703 sqlite_master User 1 W select\n"
    "event: 0x0704 Ev\"';-- User 1 WU a;b integer\n"
    "event: 0x0705 Number User 1 PWD p w d\n"
    "event: 0x0706 number User 1 UDS u d s\n";
  static const char other[] =
      "kind: 6 User\nevent: 0x0705 Number User 1 US u s\nevent: 0x0707 events User 1 WAS n time name\n";
  MakeProcess a = MakeProcessForeign(17, 0xab, 8, FALSE, registry);
  MakeProcess b = MakeProcessForeign(18, 0xac, 8, FALSE, other);
  uint64_t all = UINT64_MAX;

  strcpy(a->header.program, "/usr/bin/it's a long program name");
  MakeHeader(make, a);
  MakeHeader(make, b);
  MakeBlockBegin(&block, a, 17, 6, 0, 1000);
  (void)MakeEvent(&block, 0x0701, 1000, (uint64_t[]){1, all}, "it's; DROP TABLE events; --");
  (void)MakeEvent(&block, 0x0702, 1001, (uint64_t[]){all, (uint64_t)1 << 63}, NULL);
  (void)MakeEvent(&block, 0x0703, 1002, (uint64_t[]){all >> 1}, NULL);
  (void)MakeEvent(&block, 0x0704, 1003, (uint64_t[]){10000, 4294967295u}, NULL);
  (void)MakeEvent(&block, 0x0705, 1004, (uint64_t[]){all - 1, 9, doubleBits(__builtin_nan(""))}, NULL);
  (void)MakeEvent(&block, 0x0705, 1005, (uint64_t[]){0, 99, doubleBits(__builtin_inf())}, NULL);
  (void)MakeEvent(&block, 0x0706, 1006, (uint64_t[]){1, doubleBits(-__builtin_inf())}, "\n.quit\n");
  (void)MakeEvent(&block, 0x0706, 4294968302u, (uint64_t[]){2, doubleBits(1e15)}, ""); /* 2^32 ns later */
  (void)MakeEvent(&block, 0x0706, 30000000000u, (uint64_t[]){3, doubleBits(-2)}, "nul");
  block.events[block.header.used - 3] = '\0'; /* within the string, which with its NUL is the last four bytes */
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  MakeBlockBegin(&block, b, 18, 6, 0, 30000000000u);
  (void)MakeEvent(&block, 0x0705, 30000000000u, (uint64_t[]){5}, "another");
  (void)MakeEvent(&block, 0x0707, 30000000001u, (uint64_t[]){6, 7}, "one table");
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  goldenWrite(make, "good/odd");
  MakeProcessFree(a);
  MakeProcessFree(b);
}

/* goldenStream -- for the damaged ones: a header, and `n` blocks of one stream; places of the blocks in `begin` */
static void goldenStream(Make make, Size *begin, unsigned n)
{
  MakeProcess process = MakeProcessForeign(17, 0xf6, 8, FALSE, goldenRegistry);
  unsigned i;

  make->size = 0;
  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 1000);
  for (i = 0; i < n; ++i) {
    goldenObjects(&block, 1000 + 1000 * i, 4 + i);
    MakeBlockEnd(make, &block, BlockFlagSEALED | (i % 2 == 0 ? BlockFlagPACKED : 0));
    begin[i] = make->last;
    MakeBlockNext(&block, 2000 + 1000 * i);
  }
  begin[n] = make->size;
  MakeProcessFree(process);
}

static void goldenBad(Make make)
{
  MakeStruct other = {0};
  Size begin[4];

  goldenStream(make, begin, 3);
  make->size -= 10;
  goldenWrite(make, "bad/cut");
  goldenStream(make, begin, 3);
  make->bytes[begin[1] + BlockHeaderSIZE + 20] ^= 4;
  goldenWrite(make, "bad/payload");
  goldenStream(make, begin, 3);
  make->bytes[begin[1] + 40] ^= 4;
  goldenWrite(make, "bad/header");
  goldenStream(make, begin, 3);
  make->bytes[100] ^= 4;
  goldenWrite(make, "bad/process");
  goldenStream(make, begin, 3);
  MakeBytes(&other, make->bytes, begin[1]);
  MakeBytes(&other, make->bytes + begin[2], begin[3] - begin[2]);
  goldenWrite(&other, "bad/missing");
  goldenStream(make, begin, 3);
  MakeBytes(&other, make->bytes, begin[1]);
  MakeBytes(&other, "Here somebody has written over the log.\n", 40);
  MakeBytes(&other, make->bytes + begin[2], begin[3] - begin[2]);
  goldenWrite(&other, "bad/overwritten");
  goldenStream(make, begin, 3);
  memcpy(make->bytes + BlockMagicSIZE + 9, "007.001.002", 11);
  make->size = begin[0];
  goldenWrite(make, "bad/version");
  MakeFree(&other);
}

/* goldenUncounted -- blocks that were handed over uncounted, and left in memory by both; in the bad log one is
 * missing */
static void goldenUncounted(Make make, Bool missing)
{
  MakeProcess process = MakeProcessForeign(17, 0xf8, 8, FALSE, goldenRegistry);
  unsigned i;

  make->size = 0;
  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 1000);
  for (i = 0; i < 5; ++i) {
    goldenObjects(&block, 1000 + 1000 * i, 4);
    if (i >= 2)
      block.header.before = BlockBeforeUNKNOWN;
    if (i != 3 || !missing)
      MakeBlockEnd(make, &block, i < 3 ? BlockFlagSEALED | BlockFlagPACKED : BlockFlagRECOVERED);
    MakeBlockNext(&block, 2000 + 1000 * i);
  }
  goldenWrite(make, missing ? "bad/uncounted" : "good/uncounted");
  MakeProcessFree(process);
}

/* goldenDiscarded -- a writer that found no room, twice */
static void goldenDiscarded(Make make)
{
  MakeProcess process = MakeProcessForeign(17, 0xad, 8, FALSE, goldenRegistry);
  unsigned i;

  make->size = 0;
  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 1000);
  for (i = 0; i < 4; ++i) {
    goldenObjects(&block, 1000 + 1000 * i, 4);
    block.header.discarded = (uint32_t[]){0, 7, 7, 10}[i];
    MakeBlockEnd(make, &block, BlockFlagSEALED | BlockFlagPACKED);
    MakeBlockNext(&block, 2000 + 1000 * i);
  }
  goldenWrite(make, "good/discarded");
  MakeProcessFree(process);
}

/* goldenNamed -- three processes with one registry, of which the second has the lines, or, in the bad log, nobody */
static void goldenNamed(Make make, Bool bad)
{
  MakeProcess process[3];
  unsigned i;

  make->size = 0;
  for (i = 0; i < 3; ++i) {
    process[i] = MakeProcessForeign(17 + i, 0xba + i, i == 2 ? 4 : 8, i == 2, goldenRegistry);
    if (i == 1 && !bad)
      MakeHeader(make, process[i]);
    else
      MakeHeaderNamed(make, process[i]);
    MakeBlockBegin(&block, process[i], 20 + i, 5, 0, 1000);
    goldenObjects(&block, 1000 + i, 2);
    MakeBlockEnd(make, &block, BlockFlagSEALED | (i == 2 ? 0 : BlockFlagPACKED));
  }
  goldenWrite(make, bad ? "bad/unnamed" : "good/named");
  for (i = 0; i < 3; ++i)
    MakeProcessFree(process[i]);
}

static void goldenUnknown(Make make)
{
  static const uint16_t longest = 32000;
  Size at;
  MakeProcess process = MakeProcessForeign(17, 0xf7, 8, FALSE, goldenRegistry);

  make->size = 0;
  MakeHeader(make, process);
  MakeBlockBegin(&block, process, 18, 5, 0, 1000);
  goldenObjects(&block, 1000, 4);
  block.events[1] = 0x7e; /* of the first event's code */
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  goldenWrite(make, "bad/unknown");
  MakeBlockBegin(&block, process, 18, 6, 0, 1000);
  goldenObjects(&block, 1000, 4);
  /* An event that is longer than any may be, full of what takes the most room to write. */
  at = block.header.used;
  (void)MakeEvent(&block, 0x0701, 1500, (uint64_t[]){0, 0, 0, 0, 0}, "long");
  memset(block.events + at + 48, 1, longest - 48);
  memcpy(block.events + at + 2, &longest, sizeof longest);
  block.header.used = (uint32_t)at + longest;
  goldenObjects(&block, 1600, 2);
  MakeHeader(make, process);
  MakeBlockEnd(make, &block, BlockFlagSEALED);
  goldenWrite(make, "bad/long");
  MakeBytes(make, "", 0);
  goldenWrite(make, "bad/empty");
  MakeBytes(make, "This is a text, and no log.\n", 28);
  goldenWrite(make, "bad/text");
  MakeProcessFree(process);
}

int main(int argc, char **argv)
{
  MakeStruct make = {0};

  folder = argc > 1 ? argv[1] : "test";
  goldenThreads(&make);
  goldenForeign(&make);
  goldenHandler(&make);
  goldenNewer(&make);
  goldenOdd(&make);
  goldenDiscarded(&make);
  goldenBad(&make);
  goldenUnknown(&make);
  goldenUncounted(&make, FALSE);
  goldenUncounted(&make, TRUE);
  goldenNamed(&make, FALSE);
  goldenNamed(&make, TRUE);
  MakeFree(&make);
  return 0;
}
