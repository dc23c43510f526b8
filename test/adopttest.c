/* adopttest.c -- the memory that a process left when it became another program goes when nothing in it is needed any more
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <sys/file.h>
#include <unistd.h>

#include "emit/store.h"
#include "tap.h"

#if defined(VARIETY_RASH)

int main(void)
{
  TapSkip("no telemetry in this variety");
  return TapDone();
}

#else

enum { adoptRECORDING = 0x5eed };

static StoreStruct store;
static char path[] = "/tmp/adoptXXXXXX";

static Res block(void *blocks, RegionHeader region, void *base, Size size)
{
  UNUSED(region);
  UNUSED(size);
  *(Count *)blocks += base != NULL;
  return ResOK;
}

/* adopted -- is the region gone when it was adopted? */
static Bool adopted(void)
{
  Count blocks = 0;

  StoreAdopt(path, adoptRECORDING, block, &blocks);
  TapIs(blocks, 0, "there is no block in it");
  return access(store.path, F_OK) != 0;
}

int main(void)
{
  RegionHeader header;
  uint64_t *ledger;
  int log = mkstemp(path), fd;

  if (log < 0 || StoreOpen(&store, path, adoptRECORDING, 1, &fd) != ResOK || fd < 0 || store.path[0] == '\0' ||
      !StoreProvide(&store, RegionCONTROL, 4096)) {
    TapSkip("no shared memory");
    return TapDone();
  }
  (void)flock(fd, LOCK_UN); /* as if its process had ended */
  (void)close(fd);
  header = store.header;
  ledger = (uint64_t *)(void *)((char *)header + RegionLEDGER);
  header->lost = 3;
  TapOk(!adopted(), "a region that counts lost events stays");
  header->lost = 0;
  header->pool.away = 3;
  TapOk(!adopted(), "so does one that counts events in private memory");
  header->pool.away = 0;
  header->leaving[RegionLEAVING - 1].count = 3;
  TapOk(!adopted(), "so does one that counts a block that was being sent");
  header->leaving[RegionLEAVING - 1].count = 0;
  *ledger = 3;
  TapOk(!adopted(), "so does one in which children have counted");
  *ledger = 0;
  TapOk(adopted(), "one that counts nothing is removed");
  (void)close(log);
  (void)unlink(path);
  return TapDone();
}

#endif
