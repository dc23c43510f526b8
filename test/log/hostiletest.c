/* hostiletest.c -- logs made by somebody who wants to hurt: every checksum is right, and nothing else
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Header blocks, block headers and events are changed at random and sealed again, so that what lies behind the
 * checksums is met: the walk over events, unpacking, registries, clocks, and the writing of lines and logs.  Nothing
 * is expected but that each reading ends; the sanitizers see to the rest.
 */
#include <stddef.h>

#include "export/rewrite.h"
#include "export/eventlines.h"
#include "logmake.h"
#include "request/request.h"

enum { hostileRounds = 1500, hostileBlocks = 12 };

static const char hostileRegistry[] = "kind: 0 Arena\nkind: 5 Object\nkind: 6 User\n"
                                      "event: 0x0601 PoolAlloc Object 0 PAW pool addr size\n"
                                      "describe: 0x0601 pool %pool allocates %size bytes at %addr%addr\n"
                                      "event: 0x0602 PoolFree Object 0 PA pool addr\n"
                                      "event: 0x0701 All User 1 PAWUDS p a w u d s\n"
                                      "event: 0x0702 None User 1 0\n";

static MakeBlockStruct block;
static OutputStruct output;
static char path[] = "/tmp/hostileXXXXXX";
static HeaderStruct said;
static Count opened, delivered;
static Count untouched, sound;  /* header blocks that say what they did, and how many of those are accepted */
static Count changed, believed; /* and of those that do not */

/* hostileMutate -- a few bytes of `size`, changed in ways that matter */
static void hostileMutate(unsigned char *bytes, Size size, uint64_t *seed)
{
  unsigned n = (unsigned)(TapRandom(seed) % 4) + 1;

  while (size > 0 && n-- > 0) {
    uint64_t r = TapRandom(seed);
    unsigned char *place = &bytes[(r >> 8) % size];
    switch (r % 5) {
    case 0: *place = 0; break;
    case 1: *place = 0xff; break;
    case 2: *place ^= (unsigned char)(1u << (r >> 40) % 8); break;
    case 3: *place = (unsigned char)(r >> 40); break;
    default: *place += (unsigned char)((r >> 40) % 3 - 1); break;
    }
  }
}

/* hostileHeader -- a header block with changed lines, and the checksum to go with them */
static void hostileHeader(Make make, MakeProcess process, uint64_t *seed)
{
  Size prefix = BlockMagicSIZE + HeaderLineSIZE, length;
  const char *body;
  char *bytes;

  MakeHeader(make, process);
  bytes = (char *)make->bytes + make->last;
  length = make->size - make->last;
  bytes[prefix - 2] ^= 1; /* so that nothing is accepted but what is sealed here */
  if (TapRandom(seed) % 3 == 0) {
    HeaderSeal(bytes, length);
    ++untouched;
    sound += HeaderRead(&said, &body, bytes, length) == ResOK;
    return;
  }
  hostileMutate((unsigned char *)bytes + prefix, length - prefix, seed);
  HeaderSeal(bytes, length);
  ++changed;
  believed += HeaderRead(&said, &body, bytes, length) == ResOK;
}

/* hostileBlock -- a block with changed fields and events */
static void hostileBlock(Make make, MakeProcess process, uint64_t *seed)
{
  uint64_t r = TapRandom(seed), time = r >> 40;
  BlockHeaderStruct header;
  unsigned char *bytes;
  unsigned i;

  MakeBlockBegin(&block, process, (uint32_t)(r % 4), (r & 16) != 0 ? 5 : 6, r >> 8 & 3, time);
  for (i = 0; i < 20; ++i) {
    uint64_t s = TapRandom(seed);
    time += s % 1000 << (s >> 60 == 0 ? 32 : 0);
    (void)MakeEvent(&block, (uint16_t)((s & 64) != 0 ? 0x0601 + (s & 1) : 0x0701 + (s & 1)), time,
                    (uint64_t[]){s >> 50, s >> 20, s >> 55, s >> 44, s}, (s & 65) == 0 ? "a string" : NULL);
  }
  MakeBlockEnd(make, &block, (uint8_t)(r >> 12 & 0x1b));
  if ((r & 0x70000) == 0)
    return;
  bytes = make->bytes + make->last;
  memcpy(&header, bytes, sizeof header);
  hostileMutate(bytes + BlockHeaderSIZE, header.rest, seed);
  if ((r & 0x80000) != 0)
    hostileMutate((unsigned char *)&header + 12, 116, seed);
  if (header.rest <= make->size - make->last - BlockHeaderSIZE)
    header.restCrc = Crc32c(0, bytes + BlockHeaderSIZE, header.rest);
  BlockHeaderSeal(&header);
  memcpy(bytes, &header, sizeof header);
}

/* hostileRead -- read the file in a way that depends on the round */
static void hostileRead(Index round, int sink)
{
  static const LineStyle styles[] = {LineTEXT, LineVERBOSE, LineDESCRIBE, LineCSV, LineJSON};
  LogRequestStruct request = LogRequestALL;
  LogHooksStruct hooks = {.data = NULL};
  const char *paths[2] = {path, path};
  WriterOptionsStruct options = {.output = &output, .raw = round % 8 != 0};
  LogRewrite rewrite;
  char error[256];
  Line line;
  Log log;

  if (LogOpen(&log, paths, 1 + round % 2, &hooks, error, sizeof error) != ResOK)
    return;
  ++opened;
  options.log = log;
  OutputInit(&output, sink);
  if (LineCreate(&line, styles[round % ARRAY_LENGTH(styles)], log, &output, NULL) == ResOK) {
    request.event = LineEvent;
    request.data = line;
    (void)LogRead(log, &request);
    LineDestroy(line);
    delivered += (Count)(output.next - output.base);
  }
  if (round % 4 == 0 && LogRewriteCreate(&rewrite, &options) == ResOK) {
    request.event = LogRewriteEvent;
    request.data = rewrite;
    (void)LogRead(log, &request);
    LogRewriteEnd(rewrite);
    LogRewriteDestroy(rewrite);
  }
  LogClose(log);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  MakeProcess process[2];
  MakeStruct make = {0};
  int fd = mkstemp(path), sink = open("/dev/null", O_WRONLY);
  Index round, i;

  (void)close(fd);
  process[0] = MakeProcessForeign(10, 1, 8, FALSE, hostileRegistry);
  process[1] = MakeProcessForeign(11, 2, 4, FALSE, hostileRegistry);
  for (round = 0; round < hostileRounds; ++round) {
    make.size = 0;
    hostileHeader(&make, process[0], &seed);
    hostileHeader(&make, process[1], &seed);
    for (i = 0; i < hostileBlocks; ++i)
      hostileBlock(&make, process[TapRandom(&seed) % 2], &seed);
    MakeWrite(&make, path);
    hostileRead(round, sink);
  }
  TapOk(opened > hostileRounds / 2, "%zu of %u hostile logs open, and reading each ends", opened,
        (unsigned)hostileRounds);
  TapOk(untouched > 0 && sound == untouched, "%zu of %zu header blocks that were not changed are accepted", sound,
        untouched);
  TapOk(believed > changed / 10 && believed < changed, "and %zu of %zu that were", believed, changed);
  TapOk(delivered > 0, "with %zu bytes of what may be believed", delivered);
  MakeProcessFree(process[0]);
  MakeProcessFree(process[1]);
  MakeFree(&make);
  (void)unlink(path);
  return TapDone();
}
