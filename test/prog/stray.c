/* stray.c -- a program that writes over the headers of its own blocks in shared memory, or over what is said of these
 *
 *     stray COUNTS WHICH HOW END
 *
 * Its parent, the recorder, is stopped.  strayTHREADS threads emit UserWord (thread, 0), (thread, 1) ...; then the
 * header of one block of each is written over, of thread t in its own way (strayBlock): the t'th word of it, or more,
 * or events.
 *
 * COUNTS  a file that gets a word for each thread: how many events it has emitted
 * WHICH   open, full: of a block that is being filled, or that waits for the recorder; none; region: no block's, but
 *         what the region says of all of them
 * HOW     ones, zeros, flip: what becomes of the words; state: the state of the block's slot is written over instead,
 *         of each thread's with another one.  Of the region: full, many, how many blocks are full; generation, length,
 *         of its header block, and text, that itself; slots, how many it has
 * END     killed: the program; both: the recorder, too; alone: the recorder, and the program goes on and ends;
 *         ends: the recorder goes on, and so does the program, and ends
 *
 * Tests: test/emit/stray.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/region.h"

enum {
  strayWORDS = BlockHeaderSIZE / 4,
  strayTHREADS = strayWORDS + 9,
  strayFEW = 5,
  strayMANY = 200,
  strayALL = 3000
};

static void (*strayWord)(uintptr_t id, uintptr_t value);
static uint64_t strayCount[strayTHREADS];
static pthread_barrier_t strayBarrier;
static uintptr_t strayFirst = strayFEW, strayThen;

static void strayFail(const char *what)
{
  perror(what);
  _exit(3);
}

static void *strayRun(void *number)
{
  uintptr_t id = (uintptr_t)number, i;

  for (i = 0; i < strayFirst; ++i)
    strayWord(id, i);
  strayCount[id] = i;
  (void)pthread_barrier_wait(&strayBarrier);
  (void)pthread_barrier_wait(&strayBarrier);
  for (; i < strayFirst + strayThen; ++i)
    strayWord(id, i);
  strayCount[id] = i;
  return NULL;
}

/* strayStop -- when this returns the recorder stands still */
static void strayStop(pid_t recorder)
{
  char path[64], line[512] = "";
  const char *state = NULL;
  FILE *file;

  (void)kill(recorder, SIGSTOP);
  (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)recorder);
  while (state == NULL || strchr("tT", state[2]) == NULL) {
    file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
      strayFail(path);
    (void)fclose(file);
    state = strrchr(line, ')');
  }
}

/* strayRegion -- where the region is in our memory */
static RegionHeader strayRegion(void)
{
  FILE *file = fopen("/proc/self/maps", "r");
  char line[4096];
  unsigned long at;

  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strstr(line, "/dev/shm/" RegionPREFIX) != NULL && sscanf(line, "%lx", &at) == 1 &&
        memcmp((void *)at, RegionMAGIC, BlockMagicSIZE) == 0) {
      (void)fclose(file);
      return (RegionHeader)at;
    }
  strayFail("no region");
  return NULL;
}

/* strayBlock -- the header of the block of thread `t` */
static void strayBlock(unsigned char *header, uintptr_t t, const char *how)
{
  uint32_t word;
  Index i;

  if (t < strayWORDS) {
    memcpy(&word, header + 4 * t, sizeof word);
    word = how[0] == 'o' ? UINT32_MAX : how[0] == 'z' ? 0 : ~word;
    memcpy(header + 4 * t, &word, sizeof word);
    return;
  }
  switch (t - strayWORDS) {
  case 0: memset(header, 0xff, BlockHeaderSIZE); break;
  case 1: memset(header, 0, BlockHeaderSIZE); break;
  case 2: for (i = 0; i < BlockHeaderSIZE; ++i) header[i] = (unsigned char)rand(); break;
  case 3: memset(header, 0, BlockHeaderSIZE / 2); break;
  case 4: memset(header + BlockHeaderSIZE / 2, 0, BlockHeaderSIZE / 2); break;
  case 5: header[offsetof(BlockHeaderStruct, flags)] = BlockFlagUNSENT; break;
  case 6: memset(header, 0xff, BlockMIN); break; /* and all events */
  case 7: memset(header + BlockHeaderSIZE + 2 * 24, 0xff, 24); break; /* the third event alone */
  default: break; /* whose block is left alone */
  }
}

/* strayState -- what the state of a slot becomes: free, open, full and nobody's, with no size, with that of the
 * block, a larger
 * and none that there is */
static uint8_t strayState(uintptr_t t)
{
  static const uint8_t bits[] = {RegionFREE, RegionOPEN, RegionFULL, RegionTAKEN, RegionFULL | RegionTAKEN, 0xe0};
  static const uint8_t log2[] = {0, 12, 14, 3, 31};

  return bits[t % sizeof bits] | log2[t / sizeof bits % sizeof log2];
}

/* strayAll -- of each thread the block that is in this state */
static void strayAll(RegionHeader region, uint8_t which, const char *how)
{
  Size offset, size;
  Index i;

  for (i = 0; i < region->slots; ++i) {
    unsigned char *block;
    uint64_t id;
    if ((region->state[i] & (RegionFULL | RegionOPEN)) != which || !RegionBlockAt(&offset, &size, region, i))
      continue;
    block = (unsigned char *)region + offset;
    memcpy(&id, block + BlockHeaderSIZE + 8, sizeof id);
    if (((BlockHeader)(void *)block)->stream / 2 % 16 != 6 || id >= strayTHREADS)
      continue;
    if (strcmp(how, "state") == 0)
      region->state[i] = strayState((uintptr_t)id);
    else
      strayBlock(block, (uintptr_t)id, how);
  }
}

/* strayRegionWide -- what the region says of all blocks */
static void strayRegionWide(RegionHeader region, const char *how)
{
  if (strcmp(how, "full") == 0)
    region->pool.full = UINT32_MAX - 7;
  else if (strcmp(how, "many") == 0)
    region->pool.full += region->limit;
  else if (strcmp(how, "slots") == 0)
    region->slots = UINT32_MAX;
  else if (strcmp(how, "generation") == 0)
    region->text.generation = 0;
  else if (strcmp(how, "length") == 0)
    region->text.length[0] = region->text.length[1] = 77;
  else
    memset((char *)region + RegionTEXT + (region->text.generation & 1) * RegionTextSIZE + BlockMagicSIZE, '?', 4);
}

/* strayWrite -- say how many events there were */
static void strayWrite(const char *path)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  if (fd < 0 || write(fd, strayCount, sizeof strayCount) != (ssize_t)sizeof strayCount)
    strayFail(path);
  (void)close(fd);
}

int main(int argc, char **argv)
{
  pthread_t thread[strayTHREADS];
  pid_t recorder = getppid();
  const char *end;
  uintptr_t i;

  *(void **)(void *)&strayWord = dlsym(RTLD_DEFAULT, "EventUserWord");
  if (argc != 5 || strayWord == NULL)
    return 2;
  end = argv[4];
  strayFirst = strcmp(argv[2], "full") == 0 ? strayMANY : strayFEW;
  strayThen = strcmp(end, "alone") == 0 || strcmp(end, "ends") == 0 ? strayMANY : 0;
  if (strayThen > 0 && strcmp(argv[2], "region") == 0)
    strayThen = strcmp(argv[3], "full") == 0 ? strayMANY : strayALL; /* more than there is room for */
  (void)pthread_barrier_init(&strayBarrier, NULL, strayTHREADS + 1);
  strayStop(recorder);
  for (i = 0; i < strayTHREADS; ++i)
    if (pthread_create(&thread[i], NULL, strayRun, (void *)i) != 0)
      strayFail("pthread_create");
  (void)pthread_barrier_wait(&strayBarrier);
  strayWrite(argv[1]);
  if (strcmp(argv[2], "region") == 0)
    strayRegionWide(strayRegion(), argv[3]);
  else if (strcmp(argv[2], "none") != 0)
    strayAll(strayRegion(), strayFirst == strayMANY ? RegionFULL : RegionOPEN, argv[3]);
  if (strcmp(end, "both") == 0 || strcmp(end, "alone") == 0)
    (void)kill(recorder, SIGKILL);
  if (strcmp(end, "killed") == 0 || strcmp(end, "both") == 0)
    (void)kill(getpid(), SIGKILL);
  (void)kill(recorder, SIGCONT);
  (void)pthread_barrier_wait(&strayBarrier);
  for (i = 0; i < strayTHREADS; ++i)
    (void)pthread_join(thread[i], NULL);
  strayWrite(argv[1]);
  return 0;
}
