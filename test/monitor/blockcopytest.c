/* blockcopytest.c -- copies of the blocks in a region, some of which are missing
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "orphanmake.h"

#include <sys/mman.h>

#include "monitor/blockcopy.h"

enum { copyEACH = 20 };

/* copyGot -- the file as words: the blocks in it, each as its thread and its number */
static const char *copyGot(int fd)
{
  static char words[512], bytes[1 << 18];
  ssize_t size = pread(fd, bytes, sizeof bytes, 0), at = 0;
  Size length = 0;

  words[0] = '\0';
  while (at + (ssize_t)sizeof(BlockHeaderStruct) <= size) {
    BlockHeaderStruct header;
    memcpy(&header, bytes + at, sizeof header);
    if (memcmp(header.magic, BlockMAGIC, BlockMagicSIZE) != 0) { /* the text before the blocks */
      ++at;
      continue;
    }
    length += (Size)snprintf(words + length, sizeof words - length, " %u.%llu", header.thread,
                             (unsigned long long)header.sequence);
    at += (ssize_t)header.size;
  }
  return words;
}

/* copyAppend -- what BlockCopyAppend makes of the region */
static const char *copyAppend(LiveRegion live, Bool alone)
{
  FILE *to = tmpfile();
  const char *words;

  if (to == NULL || BlockCopyAppend(live, fileno(to), alone) != ResOK)
    makeFail("a temporary file");
  words = copyGot(fileno(to));
  (void)fclose(to);
  return words;
}

/* copyPut -- a block of a thread, with this number, into the next slot */
static void copyPut(Left left, uint32_t thread, uint64_t sequence)
{
  MakeBlockBegin(&blocks[0], left->process, thread, EventKindObject, sequence, 100);
  blocks[0].header.whole = 4096;
  leftFill(&blocks[0], copyEACH, FALSE);
  leftPut(left, &blocks[0], RegionFULL);
}

int main(void)
{
  static const struct { uint32_t thread; uint64_t sequence; } put[] = {{11, 3}, {12, 0}, {11, 6}, {11, 4}, {12, 1}, {11, 7}};
  static LiveRegionStruct live;
  MakeProcess process = MakeProcessNew(10, 1);
  int fd = mkstemp(path);
  const char *words;
  LeftStruct left;
  Index i;

  (void)close(fd);
  leftBegin(&left, process);
  for (i = 0; i < ARRAY_LENGTH(put); ++i)
    copyPut(&left, put[i].thread, put[i].sequence);
  leftWrite(&left);
  live = (LiveRegionStruct){.size = RegionSize(leftSlots), .slots = leftSlots, .text = strdup("a header block"),
                            .length = 14, .header = process->header};
  live.region = mmap(NULL, live.size, PROT_READ | PROT_WRITE, MAP_SHARED, left.fd, 0);
  if (live.region == MAP_FAILED || !LiveRegionCheck(&live))
    makeFail("the region");
  words = copyAppend(&live, FALSE);
  TapOk(strcmp(words, " 11.7 11.6 11.4 11.3 12.1 12.0") == 0, "all blocks are copied, of each thread the newest first:%s", words);
  words = copyAppend(&live, TRUE);
  TapOk(strcmp(words, " 11.7 11.6 12.1 12.0") == 0, "or those alone behind which none of their thread is missing:%s", words);
  live.region->state[0] = live.region->state[5] = RegionFREE;
  words = copyAppend(&live, TRUE);
  TapOk(strcmp(words, " 11.6 12.1 12.0") == 0, "also where the newest is not there any more:%s", words);
  memset(live.region->state, RegionFREE, leftSlots);
  TapOk(strcmp(copyAppend(&live, TRUE), "") == 0, "of none none");
  (void)munmap(live.region, live.size);
  free(live.text);
  leftEnd(&left);
  MakeProcessFree(process);
  (void)unlink(path);
  return TapDone();
}
