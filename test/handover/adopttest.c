/* adopttest.c -- the memory that a process left when it became another program goes when nothing in it is needed any
 * more
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handover/blockstore.h"
#include "handover/regionadopt.h"
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
static Bool adopted(Bool collected)
{
  Count blocks = 0;

  RegionAdopt(path, adoptRECORDING, collected, block, &blocks);
  TapIs(blocks, 0, "there is no block in it");
  return access(store.path, F_OK) != 0;
}

/* testCheck -- the check of a store sees each thing that cannot be */
static void testCheck(void)
{
  Size size = BlockMIN;
  void *taken = StoreTake(&store, &size);
  uint8_t log2 = store.provided[0];
  RegionHeader header = store.header;

  TapOk(taken != NULL && StoreCheck(&store), "a store is sound");
  store.provided[0] = 11;
  TapOk(!StoreCheck(&store), "but not if a slot has less than the smallest block");
  store.provided[0] = 17;
  TapOk(!StoreCheck(&store), "or more than the largest");
  store.provided[0] = log2;
  store.header = (RegionHeader)(void *)((char *)header + 4096);
  TapOk(!StoreCheck(&store), "if its slots are not aligned");
  store.header = header;
  store.shared = FALSE;
  TapOk(!StoreCheck(&store), "if private memory has a path");
  store.shared = TRUE;
  store.limit += RegionSlotsMAX;
  TapOk(!StoreCheck(&store), "or if it has more slots than a region");
  store.limit -= RegionSlotsMAX;
  StoreGive(&store, taken);
  TapOk(StoreCheck(&store), "and it is sound again");
}

static StoreStruct inherited;
static char *inheritedBlock;

/* overwrite -- what another thread does at the moment when the block is looked at: it claims it, to erase it */
static void overwrite(int signal)
{
  RegionHeader header = inherited.header;

  UNUSED(signal);
  (void)mprotect(inheritedBlock, BlockMAX, PROT_READ | PROT_WRITE);
  __atomic_store_n(&header->state[StoreSlot(header, inheritedBlock)], RegionERASED, __ATOMIC_RELEASE);
}

/* testInherit -- a thread that is overwriting an old block as the collector dies is let alone: what it has claimed does
 * not become full again */
static void testInherit(void)
{
  Size size = BlockMAX;
  uint8_t *state;

  if (StoreOpen(&inherited, "", adoptRECORDING, 1, NULL) != ResOK ||
      (inheritedBlock = StoreTake(&inherited, &size)) == NULL) {
    TapSkip("no memory");
    return;
  }
  state = &inherited.header->state[StoreSlot(inherited.header, inheritedBlock)];
  *state = (uint8_t)(RegionFULL | __builtin_ctzl(size));
  (void)signal(SIGSEGV, overwrite);
  (void)mprotect(inheritedBlock, size, PROT_NONE);
  StoreInherit(&inherited);
  TapIs(*state, RegionERASED, "a block that another thread erases meanwhile does not become full again");
  (void)signal(SIGSEGV, SIG_DFL);
}

/* testBehind -- where only a link is left in the first place, what is in the next one is found */
static void testBehind(void)
{
  char link[RegionPathMAX + 8];
  int fd = -1;

  (void)snprintf(link, sizeof link, "%s" RegionLINK, store.path);
  TapOk(symlink(path, link) == 0 && StoreOpen(&store, path, adoptRECORDING, 1, &fd) == ResOK && fd >= 0 &&
          strcmp(store.path + strlen(store.path) - 2, "-1") == 0, "a link that is there takes the number");
  (void)flock(fd, LOCK_UN);
  (void)close(fd);
  TapOk(adopted(FALSE), "what is behind it is adopted");
  (void)unlink(link);
}

/* testFar -- a collector numbers the regions of a process on and on: one that is there is found, whatever is not */
static void testFar(void)
{
  char far[RegionPathMAX], *number;
  int fd = -1;

  TapOk(StoreOpen(&store, path, adoptRECORDING, 1, &fd) == ResOK && fd >= 0, "one more region");
  (void)strcpy(far, store.path);
  number = strrchr(far, '-');
  (void)strcpy(number, "-1234");
  TapOk(rename(store.path, far) == 0, "with a high number, as a collector gives it");
  (void)snprintf(far + strlen(far), sizeof far - strlen(far), RegionLINK);
  (void)strcat(store.path, RegionLINK);
  (void)rename(store.path, far);
  far[strlen(far) - strlen(RegionLINK)] = '\0';
  (void)strcpy(store.path, far);
  (void)flock(fd, LOCK_UN);
  (void)close(fd);
  TapOk(!adopted(FALSE), "where there was no collector nobody looks so far");
  TapOk(adopted(TRUE), "where there was one it is adopted");
  (void)strcat(far, RegionLINK);
  TapOk(access(far, F_OK) != 0, "and its link goes, too");
}

int main(void)
{
  RegionHeader header;
  uint64_t *ledger;
  int log = mkstemp(path), fd;

  testInherit();
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
  TapOk(!adopted(FALSE), "a region that counts lost events stays");
  header->lost = 0;
  header->pool.away = 3;
  TapOk(!adopted(FALSE), "so does one that counts events in private memory");
  header->pool.away = 0;
  header->leaving[RegionLEAVING - 1].count = 3;
  TapOk(!adopted(FALSE), "so does one that counts a block that was being sent");
  header->leaving[RegionLEAVING - 1].count = 0;
  *ledger = 3;
  TapOk(!adopted(FALSE), "so does one in which children have counted");
  *ledger = 0;
  TapOk(adopted(FALSE), "one that counts nothing is removed");
  testCheck();
  testBehind();
  testFar();
  (void)close(log);
  (void)unlink(path);
  return TapDone();
}

#endif
