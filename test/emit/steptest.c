/* steptest.c -- whatever dies behind any instruction: what has a size in a region has a sound header
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A child begins, fills, alters and erases blocks, frees slots as a collector does, or overwrites a block; it is
 * stepped through that, instruction by instruction, while its region is looked at as whoever comes after a death would.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/batch.h"
#include "emit/control.h"
#include "emit/event.h"
#include "emit/emitter.h"
#include "emit/pawprint.h"
#include "emit/send.h"
#include "emit/stream.h"
#include "format/region.h"
#include "handover/handover.h"
#include "tap.h"

enum { stepLOOK = 16 /* slots */, stepEVENTS = 150 /* of 24 bytes, which a block nearly holds */, stepMOST = 20000000 };

static char stepLog[] = "/tmp/pawprint-step-XXXXXX";

#if defined(VARIETY_RASH) || !defined(__x86_64__)

int main(void)
{
  TapSkip("no telemetry in this variety, or no single steps here");
  (void)stepLog;
  return TapDone();
}

#else

/* ---- The child ---- */

/* stepTurn -- the parent goes on */
static void stepTurn(void)
{
  (void)raise(SIGSTOP);
}

/* stepWriter -- blocks are filled, sent and erased; one is altered; one that is empty is given back */
static void stepWriter(void)
{
  Thread thread;
  BlockHeader block;
  Word i;

  EVENT_WW(UserWord, 1, 0);
  thread = (Thread)(void *)EventThreadSelf;
  block = thread->stream[EventKindUser][0].block;
  ControlSettings.raw = TRUE; /* packing takes long, step by step */
  for (i = 0; i < stepEVENTS; ++i)
    EVENT_WW(UserWord, 1, i);
  stepTurn();
  for (i = 0; i < 5; ++i)
    StreamAlter(block, block->used, block->before, block->discarded + 1);
  StreamAlter(block, block->used, 1000, block->discarded);
  for (i = 0; i < 2 * (BlockMIN / 24 - stepEVENTS); ++i)
    EVENT_WW(UserWord, 1, i);
  EventFlush();
  EVENT_WW(UserWord, 1, i);
  stepTurn();
}

/* stepOverwrite -- the older of two blocks is overwritten */
static void stepOverwrite(void *region)
{
  stepTurn();
  (void)PolicyOverwrite(region);
  stepTurn();
}

/* stepBatch -- a slot is freed, and its block is in the log */
static void stepBatch(void *region)
{
  static BatchStruct batch;
  RegionHeader header = region;
  BlockHeaderStruct message = {.magic = BlockMAGIC, .size = sizeof message};
  BatchSlotStruct slot = {.header = header, .slot = 0, .size = BlockMIN};
  uint8_t mark = 1;

  slot.block = (char *)header + RegionFIRST + RegionSlotSIZE - slot.size;
  slot.mark = &mark;
  BatchOpen(&batch, open(stepLog, O_RDWR | O_APPEND | O_CREAT, 0600));
  memcpy(BatchPlace(&batch, sizeof message), &message, sizeof message);
  BatchCommit(&batch, sizeof message);
  BatchRelease(&batch, slot);
  stepTurn();
  (void)BatchWrite(&batch);
  stepTurn();
}

static pid_t stepChild(void (*does)(void *), void *region)
{
  pid_t pid = fork();

  if (pid != 0)
    return pid;
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
    _exit(77);
  if (region != NULL)
    does(region);
  else if (unlink(stepLog) == 0 && EventLogOpen(stepLog) == 0)
    stepWriter();
  exit(0); /* as a program ends, which leaves nothing in memory */
}

/* ---- The parent ---- */

/* stepRegion -- the region that the child has mapped */
static RegionHeader stepRegion(pid_t pid)
{
  char path[64], line[4096], *name;
  RegionHeader region = NULL;
  FILE *maps;
  int fd;

  (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  maps = fopen(path, "r");
  while (region == NULL && maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    name = strchr(line, '/');
    if (name == NULL || !RegionNamed(name) || (fd = open(name, O_RDWR)) < 0)
      continue;
    region = mmap(NULL, RegionSize(stepLOOK), PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
  }
  if (maps != NULL)
    (void)fclose(maps);
  return region != MAP_FAILED ? region : NULL;
}

/* stepSpoiled -- how many slots have a size and no sound header; *changesReturn is raised where a slot has another
 * state */
static Count stepSpoiled(RegionHeader region, uint8_t *states, Count *changes)
{
  BlockHeaderStruct header;
  Count spoiled = 0;
  Size offset, size;
  Index i;

  for (i = 0; i < stepLOOK; ++i) {
    *changes += region->state[i] != states[i];
    states[i] = region->state[i];
    if (RegionBlockAt(&offset, &size, region, i))
      spoiled += !BlockUnsealedIs(&header, (char *)region + offset, size, 0);
  }
  return spoiled;
}

/* stepThrough -- from where the child waits to where it waits again */
static void stepThrough(pid_t pid, RegionHeader region, Count least, const char *what)
{
  uint8_t states[stepLOOK] = {0};
  Count steps = 0, spoiled = 0, changes = 0;
  int status = 0;

  do {
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
      break;
    spoiled += stepSpoiled(region, states, &changes) > 0;
  } while (++steps < stepMOST && WSTOPSIG(status) == SIGTRAP);
  TapOk(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "%s: the child comes to its end in %zu steps", what, steps);
  TapOk(changes >= least, "%s: it has changed the state of slots %zu times", what, changes);
  TapIs(spoiled, 0, "%s: at no moment one has a size and no sound header", what);
}

/* stepEnd -- the child is not needed any more; the memory that it has goes
 *
 * It is told to go on before it is let go: afterwards that would take back the stop by which the leak sanitizer, at the
 * child's exit, gets hold of it, and which it then waits for. */
static void stepEnd(pid_t pid)
{
  (void)kill(pid, SIGCONT);
  (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
  (void)waitpid(pid, NULL, 0);
}

/* stepMake -- a region with a full block, shared with the child */
static RegionHeader stepMake(void)
{
  RegionHeader region = mmap(NULL, RegionSize(stepLOOK), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BlockHeader block;

  if (region == MAP_FAILED)
    return NULL;
  region->slots = stepLOOK;
  region->pool.full = 1;
  region->state[0] = RegionFULL | 12;
  block = (BlockHeader)(void *)((char *)region + RegionFIRST + RegionSlotSIZE - BlockMIN);
  *block = (BlockHeaderStruct){.magic = BlockMAGIC, .order = BlockORDER, .major = BlockMAJOR, .flags = BlockFlagSUMMED,
                               .whole = BlockMIN};
  block->last = block->mono = BlockHeaderSum(block);
  memset(block + 1, 7, BlockMIN - BlockHeaderSIZE);
  return region;
}

/* stepBlock -- a full block of `events` events in slot `slot` of a region where the newest are kept */
static void stepBlock(RegionHeader region, Index slot, uint32_t events)
{
  BlockHeader block = (BlockHeader)(void *)((char *)region + RegionSize(slot + 1) - BlockMIN);

  region->state[slot] = RegionFULL | 12;
  region->tickets[slot] = 2 * ++region->pool.ticket;
  ++region->pool.full;
  *block = (BlockHeaderStruct){.magic = BlockMAGIC,
                               .order = BlockORDER,
                               .major = BlockMAJOR,
                               .flags = BlockFlagSUMMED,
                               .whole = BlockMIN,
                               .used = events * EventALIGN,
                               .count = events,
                               .size = 2,
                               .first = 1000,
                               .rest = 1,
                               .kind = EventKindObject};
  block->last = block->mono = BlockHeaderSum(block);
  memset(block + 1, 7, events * EventALIGN);
}

/* stepForgot -- so many events are full, or told as overwritten by whoever comes after a death */
static Count stepForgot(RegionHeader region)
{
  Count events = 0;
  Index i;

  for (i = 0; i < stepLOOK; ++i) {
    BlockHeader begun = RegionForgetBegun(region, i, (char *)region + RegionSize(i + 1));
    events += begun != NULL ? RegionForgotThen(*RegionForgot(region, i), begun) : *RegionForgot(region, i);
    if (region->state[i] == (RegionFULL | 12))
      events += i == 0 ? 100 : 50;
  }
  return events;
}

/* testOverwrite -- at any moment of it a block is there, or counted, and none is both */
static void testOverwrite(void)
{
  RegionHeader region = mmap(NULL, RegionSize(stepLOOK), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Count steps = 0, wrong = 0;
  int status = 0;
  pid_t pid;

  if (region == MAP_FAILED) {
    TapSkip("no memory");
    return;
  }
  region->slots = stepLOOK;
  region->policy = RegionPolicyOVERWRITE;
  region->hand.collector = 4711;
  *RegionForgot(region, 0) = 7;
  stepBlock(region, 0, 102); /* the log has two of them */
  stepBlock(region, 1, 50);
  pid = stepChild(stepOverwrite, region);
  (void)waitpid(pid, &status, 0);
  do {
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
      break;
    wrong += stepForgot(region) != 157;
  } while (++steps < stepMOST && WSTOPSIG(status) == SIGTRAP);
  stepEnd(pid);
  TapOk(region->state[0] == RegionFREE && region->state[1] == (RegionFULL | 12), "in %zu steps the older block goes",
        steps);
  TapIs(wrong, 0, "at each of them it is there, or counted, and at none it is both");
  TapIs(RegionForgotten(region), 107, "it is counted in the end,");
  TapIs(region->pool.forgottenTo, 1000 + (1 << RegionRestSHIFT), "and so is its time");
  region->pool.forgotten = BlockMAX;
  TapIs(RegionForgotten(region), 0, "more than so many blocks can have had is not believed,");
  region->pool.overwritten = 100;
  TapIs(RegionForgotten(region), BlockMAX + 107, "but as many as they can,");
  region->policy = RegionPolicyDISCARD;
  TapIs(RegionForgotten(region), 0, "where the newest are kept");
}

int main(void)
{
  RegionHeader region;
  int fd = mkstemp(stepLog), status = 0;
  pid_t pid = stepChild(NULL, NULL);

  (void)close(fd);
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
    TapSkip("nobody may be traced here");
    (void)unlink(stepLog);
    return TapDone();
  }
  region = stepRegion(pid);
  TapOk(region != NULL, "a program has its blocks in shared memory");
  if (region != NULL)
    stepThrough(pid, region, 6, "a program's thread");
  stepEnd(pid);
  region = stepMake();
  pid = stepChild(stepBatch, region);
  (void)waitpid(pid, &status, 0);
  stepThrough(pid, region, 2, "who frees what is in the log");
  stepEnd(pid);
  TapIs(region->state[0], RegionFREE, "which is free then");
  testOverwrite();
  (void)unlink(stepLog);
  return TapDone();
}

#endif
