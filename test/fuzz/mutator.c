/* mutator.c -- calls a fuzzing target where there is no libFuzzer: seeds, changed at random
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *   target -max_total_time=SECONDS [-seed=N] [-artifact_prefix=PREFIX] FILE|FOLDER...
 *
 * It knows nothing of coverage.  The input stands in PREFIXcrash-SEED while it is tried, and is left there if the
 * target does not come back: a sanitizer, a signal, or more than 20 seconds.  Without a time each file is tried once.
 * Options are libFuzzer's, and those it does not know are left alone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz.h"

enum { mutSeedsMAX = 4096, mutInputMAX = 1 << 15, mutSecondsMAX = 20 };

static struct {
  uint8_t *bytes;
  size_t size;
} seeds[mutSeedsMAX];
static size_t seedCount;
static uint64_t state = 1;

/* What is being tried: a file, mapped, so that it is there whatever happens. */
typedef struct CurrentStruct {
  uint8_t bytes[mutInputMAX];
} CurrentStruct;

static uint64_t mutRandom(uint64_t n)
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return n == 0 ? 0 : (state * 0x2545f4914f6cdd1dull >> 16) % n;
}

static void mutLoadFile(const char *path)
{
  FILE *in = fopen(path, "rb");
  uint8_t *bytes = malloc(mutInputMAX);

  if (in == NULL || bytes == NULL)
    FuzzFail(path);
  if (seedCount < mutSeedsMAX) {
    seeds[seedCount].bytes = bytes;
    seeds[seedCount++].size = fread(bytes, 1, mutInputMAX, in);
  } else {
    free(bytes);
  }
  (void)fclose(in);
}

static void mutLoad(const char *path)
{
  char below[4096];
  struct dirent *entry;
  DIR *dir = opendir(path);

  if (dir == NULL) {
    mutLoadFile(path);
    return;
  }
  while ((entry = readdir(dir)) != NULL) {
    (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (entry->d_name[0] != '.')
      mutLoadFile(below);
  }
  (void)closedir(dir);
}

/* mutByte -- one place gets another value */
static void mutByte(uint8_t *bytes, size_t size)
{
  static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '"', '(', '0', '\n'};
  uint8_t *place = &bytes[mutRandom(size)];

  switch (mutRandom(4)) {
  case 0: *place ^= (uint8_t)(1u << mutRandom(8)); break;
  case 1: *place = telling[mutRandom(sizeof telling)]; break;
  case 2: *place = (uint8_t)(*place + mutRandom(7) - 3); break;
  default: *place = (uint8_t)mutRandom(256);
  }
}

/* mutPiece -- a piece of a seed comes in somewhere, over what is there or between */
static size_t mutPiece(uint8_t *bytes, size_t size, size_t from)
{
  size_t start = mutRandom(seeds[from].size), n = mutRandom(seeds[from].size - start + 1), at = mutRandom(size + 1);

  if (mutRandom(2) == 0) {
    n = n < mutInputMAX - size ? n : mutInputMAX - size;
    memmove(bytes + at + n, bytes + at, size - at);
    size += n;
  } else {
    n = n < size - at ? n : size - at;
  }
  if (n > 0)
    memcpy(bytes + at, seeds[from].bytes + start, n);
  return size;
}

static size_t mutCut(uint8_t *bytes, size_t size)
{
  size_t at = mutRandom(size), n = mutRandom(mutRandom(2) == 0 ? size - at + 1 : 9);

  n = n < size - at ? n : size - at;
  memmove(bytes + at, bytes + at + n, size - at - n);
  return size - n;
}

static size_t mutMake(uint8_t *bytes)
{
  size_t seed = mutRandom(seedCount), size = seeds[seed].size, changes = 1 + mutRandom(8);

  if (size > 0)
    memcpy(bytes, seeds[seed].bytes, size);
  while (changes-- > 0) {
    uint64_t what = mutRandom(16);
    if (what == 0 && size > 0)
      size = mutCut(bytes, size);
    else if (what == 1)
      size = mutPiece(bytes, size, mutRandom(seedCount));
    else if (size > 0)
      mutByte(bytes, size);
  }
  return size;
}

static CurrentStruct *mutCurrent(char *path, size_t size, const char *prefix, int *fdReturn)
{
  CurrentStruct *current;

  (void)snprintf(path, size, "%scrash-%llu", prefix, (unsigned long long)state);
  *fdReturn = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (*fdReturn < 0 || ftruncate(*fdReturn, sizeof *current) != 0)
    FuzzFail(path);
  current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED, *fdReturn, 0);
  if (current == MAP_FAILED)
    FuzzFail(path);
  return current;
}

/* mutRun -- until the time is over */
static void mutRun(const char *prefix, time_t seconds)
{
  static uint8_t bytes[mutInputMAX];
  char path[4096];
  int fd;
  CurrentStruct *current = mutCurrent(path, sizeof path, prefix, &fd);
  time_t end = time(NULL) + seconds;
  unsigned long runs = 0;

  for (; time(NULL) < end; ++runs) {
    size_t size = mutMake(bytes);
    memcpy(current->bytes, bytes, size);
    if (ftruncate(fd, (off_t)size) != 0)
      FuzzFail(path);
    (void)alarm(mutSecondsMAX);
    (void)LLVMFuzzerTestOneInput(bytes, size);
    if (ftruncate(fd, sizeof *current) != 0)
      FuzzFail(path);
  }
  (void)unlink(path);
  printf("Done %lu runs in %lld second(s)\n", runs, (long long)seconds);
}

int main(int argc, char **argv)
{
  const char *prefix = "";
  long long seconds = 0;
  size_t i;
  int a;

  state = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
  for (a = 1; a < argc; ++a) {
    unsigned long long seed;
    if (sscanf(argv[a], "-seed=%llu", &seed) == 1)
      state = seed != 0 ? seed | 1 : state;
    else if (strncmp(argv[a], "-artifact_prefix=", 17) == 0)
      prefix = argv[a] + 17;
    else if (argv[a][0] != '-')
      mutLoad(argv[a]);
    else
      (void)sscanf(argv[a], "-max_total_time=%lld", &seconds);
  }
  if (seedCount == 0)
    FuzzFail("no seeds");
  for (i = 0; i < seedCount; ++i)
    (void)LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
  if (seconds > 0)
    mutRun(prefix, (time_t)seconds);
  return 0;
}
