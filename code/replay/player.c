/* player.c -- run a script on an allocator, and measure
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/player.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/readclock.h"
#include "base/resident.h"
#include "log/logfile.h"
#include "replay/verify.h"
#include "replay/visits.h"
#include "replay/wait.h"

enum {
  PlayWAKE = 64,  /* after so many operations a thread looks whether others sleep until it has done more, and wakes them */
  PlayAHEAD = 16, /* operations whose slots are fetched before their turn */
  PlayPAGE = 4096,
  PlayKNOWN = 8   /* so many times as much is touched of an object of which it is known that the program did */
};

typedef struct PlayThreadStruct {
  uint64_t done;                 /* operations that it has done; atomic */
  Play play;
  const ScriptThreadStruct *list;
  ScriptOp ops;                 /* ScriptChunkOPS + PlayAHEAD of them; the last ones are zero */
  uint64_t epoch;                /* that it is in, + 1 */
  uint64_t old;                  /* size of the object that is being resized */
  uint64_t failures;
  uint64_t waited;               /* ns of processor time that it has spent in waiting for others */
  uint32_t sleepers;             /* of who waits for `done` (wait.h); they are woken when the thread leaves an epoch, and
                                    before it waits */
  pthread_t thread;
} __attribute__((aligned(64))) PlayThreadStruct, *PlayThread;

struct PlayStruct {
  PlayParamsStruct params;
  PlayAllocator allocator;
  PlayResult result;
  ScriptHeaderStruct header;
  char *tables;                  /* the script's, mapped from byte `from` of the file on; the file is not written to */
  uint64_t from;
  const ScriptChunkStruct *chunks;
  ScriptEpochStruct *epochs;
  const ScriptTouchStruct *touches;
  Count threads;
  PlayThread runners;            /* one for each thread */
  PlayPool pool;                 /* by the script's number */
  void **slots;
  VisitsStruct visits;           /* if there is one thread */
  VerifyStruct verify;           /* of params.verify */
  uint64_t begin;                /* ns */
  uint64_t waited;               /* as a thread's, of who starts the threads */
  uint64_t completed;            /* epochs that all are done with, and all before them; atomic */
  uint32_t failed;               /* atomic: a thread cannot go on, and result->message says why */
};

/* playFailed -- has a thread found that it cannot go on?  Then no thread waits any longer. */
static inline Bool playFailed(Play play)
{
  return __atomic_load_n(&play->failed, __ATOMIC_RELAXED) != 0;
}

/* playFail -- this thread cannot go on, and so no thread can */
static __attribute__((format(printf, 2, 3))) void playFail(Play play, const char *format, ...)
{
  va_list args;

  if (__atomic_exchange_n(&play->failed, 1, __ATOMIC_SEQ_CST) == 0) {
    va_start(args, format);
    vsnprintf(play->result->message, sizeof play->result->message, format, args);
    va_end(args);
  }
}

#define playABSENT ((void *)1) /* an object whose allocation failed */

enum { playSHOWN = 16 << 20 /* bytes of buffers that are touched before the measurement begins */ };

/* playMap -- zeroed memory of the system's; `touched`: its pages are there already; NULL without memory */
static void *playMap(Size size, Bool touched)
{
  void *p = mmap(NULL, size == 0 ? 1 : size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (touched ? MAP_POPULATE : 0), -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

/* ---- Loading ---- */

const void *PlayTable(Play play, ScriptTable table)
{
  AVER(table < ScriptTABLES && play->tables != NULL);
  return play->tables + (play->header.table[table].offset - play->from);
}

Count PlayTableCount(Play play, ScriptTable table)
{
  return play->header.table[table].count;
}

Bool PlayCheck(Play play)
{
  Index i;

  for (i = 0; i < play->threads; ++i)
    if (play->runners[i].play != play || play->runners[i].epoch > PlayTableCount(play, ScriptEPOCHS) ||
        play->runners[i].done > play->runners[i].list->count)
      return FALSE;
  return play->result != NULL && play->from % PlayPAGE == 0 && play->from <= play->header.table[0].offset &&
         play->completed <= PlayTableCount(play, ScriptEPOCHS) && (play->verify.kept != NULL) == play->params.verify;
}

/* playTables -- read the header, and map all tables; FALSE: errno says why not */
static Bool playTables(Play play)
{
  int fd = play->params.fd;
  struct stat status;
  void *tables;

  if (fstat(fd, &status) != 0 || status.st_size < (off_t)sizeof play->header ||
      FileReadAt(fd, (uint64_t)status.st_size - sizeof play->header, &play->header, sizeof play->header) != ResOK)
    return FALSE;
  play->from = WordAlignDown(play->header.table[0].offset, PlayPAGE);
  tables = mmap(NULL, (Size)status.st_size - play->from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_POPULATE, fd,
                (off_t)play->from);
  if (tables == MAP_FAILED)
    return FALSE;
  play->tables = tables;
  play->chunks = PlayTable(play, ScriptCHUNKS);
  play->touches = PlayTable(play, ScriptTOUCHES);
  play->epochs = (ScriptEpochStruct *)(void *)(play->tables + (play->header.table[ScriptEPOCHS].offset - play->from));
  return TRUE;
}

/* playRoom -- memory for threads, pools and objects; FALSE: there is not as much */
static Bool playRoom(Play play)
{
  const Size size = WordAlignUp((ScriptChunkOPS + PlayAHEAD) * sizeof(ScriptOpStruct), PlayPAGE);
  Count pools = PlayTableCount(play, ScriptPOOLS), slots = play->header.slots + 1;
  const ScriptThreadStruct *list = PlayTable(play, ScriptTHREADS);
  char *buffers;
  Index i;

  play->threads = PlayTableCount(play, ScriptTHREADS);
  play->runners = playMap(play->threads * sizeof *play->runners, TRUE);
  play->pool = playMap(pools * sizeof *play->pool, TRUE);
  play->slots = playMap(slots * sizeof *play->slots, TRUE);
  buffers = playMap(play->threads * size, play->threads * size <= playSHOWN);
  play->visits.on = play->params.visits && play->threads == 1;
  play->visits.slots = play->slots;
  play->visits.absent = playABSENT;
  play->visits.random = 0x9e3779b97f4a7c15u; /* the same for each allocator */
  play->visits.sizes = play->visits.on ? playMap(slots * sizeof(uint32_t), TRUE) : NULL;
  play->visits.recent = play->visits.on ? playMap(VisitsRECENT * sizeof(uint32_t), TRUE) : NULL;
  play->verify.kept = play->params.verify ? playMap(slots * sizeof *play->verify.kept, TRUE) : NULL;
  if (play->runners == NULL || play->pool == NULL || play->slots == NULL || buffers == NULL ||
      (play->params.verify && play->verify.kept == NULL) ||
      (play->visits.on && (play->visits.sizes == NULL || play->visits.recent == NULL)))
    return FALSE;
  for (i = 0; i < play->threads; ++i)
    play->runners[i] =
      (PlayThreadStruct){.play = play, .list = &list[i], .ops = (ScriptOp)(void *)(buffers + i * size)};
  for (i = 0; i < pools; ++i)
    play->pool[i].align = 2 * sizeof(void *);
  return TRUE;
}

Play PlayLoad(PlayResult result, PlayParams params)
{
  Play play = playMap(sizeof *play, TRUE);

  if (play == NULL) {
    snprintf(result->message, sizeof result->message, "no memory");
    return NULL;
  }
  play->params = *params;
  play->result = result;
  play->verify.fault = result->fault;
  if (!playTables(play))
    playFail(play, "cannot read the script: %s", strerror(errno));
  else if (!playRoom(play))
    playFail(play, "no memory for %llu objects in %zu threads", (unsigned long long)play->header.slots, play->threads);
  AVER(playFailed(play) || PlayCheck(play));
  return playFailed(play) ? NULL : play;
}

/* ---- Waiting ---- */

/* playBarrier -- how many epochs must be complete before this one may begin */
static uint64_t playBarrier(Play play, uint64_t epoch)
{
  uint64_t lag = play->epochs[epoch].lag;

  return epoch + 1 > lag ? epoch + 1 - lag : 0;
}

/* playComplete -- one epoch more is complete, so many altogether: wake who waits to begin another one */
static void playComplete(Play play, uint64_t completed)
{
  Index i;

  for (i = completed; i < completed + 2 && i < PlayTableCount(play, ScriptEPOCHS); ++i)
    WaitWake(&play->epochs[i].sleepers);
}

/* playLeave -- the thread is done with the epoch that it is in.  The last thread to leave the oldest epoch moves
 * `completed` on, past all epochs that are empty by then. */
static void playLeave(Play play, PlayThread runner)
{
  uint64_t at;

  WaitWake(&runner->sleepers);
  if (runner->epoch == 0)
    return;
  __atomic_fetch_sub(&play->epochs[runner->epoch - 1].threads, 1, __ATOMIC_SEQ_CST);
  at = __atomic_load_n(&play->completed, __ATOMIC_SEQ_CST);
  while (at < PlayTableCount(play, ScriptEPOCHS) && __atomic_load_n(&play->epochs[at].threads, __ATOMIC_SEQ_CST) == 0) {
    if (__atomic_compare_exchange_n(&play->completed, &at, at + 1, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      playComplete(play, ++at);
  }
}

/* playEnter -- the thread enters an epoch, when that may begin */
static void playEnter(Play play, PlayThread runner, uint64_t epoch)
{
  playLeave(play, runner);
  runner->epoch = epoch + 1;
  runner->waited += WaitUntil(&play->completed, playBarrier(play, epoch), &play->epochs[epoch].sleepers, &play->failed);
}

/* playAwait -- the thread waits until another one has done so many operations */
static void playAwait(Play play, PlayThread runner, Index other, uint64_t wanted)
{
  PlayThread its = &play->runners[other];

  if (LIKELY(__atomic_load_n(&its->done, __ATOMIC_ACQUIRE) >= wanted))
    return;
  WaitWake(&runner->sleepers);
  runner->waited += WaitUntil(&its->done, wanted, &its->sleepers, &play->failed);
}

/* playSleep -- until `time`, ns since the beginning of the recording, has come at the speed asked for */
static void playSleep(Play play, uint64_t time)
{
  uint64_t until;
  struct timespec at;

  if (play->params.speed <= 0)
    return;
  until = play->begin + (uint64_t)((double)time / play->params.speed);
  if (ReadClock(CLOCK_MONOTONIC) >= until)
    return;
  at.tv_sec = (time_t)(until / 1000000000u);
  at.tv_nsec = (long)(until % 1000000000u);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
    ;
}

enum { playSTACK = 512 << 10 /* bytes of a thread's stack; touched ones count */ };

/* ---- Objects.  A slot is NULL while it has none. ---- */

static char playNothing[PlayPAGE] __attribute__((aligned(PlayPAGE))); /* every object of no allocator */

/* playTouch -- write to the pages of [from, size) as the program would have, sooner or later */
static inline void playTouch(Play play, void *addr, Size from, Size size)
{
  volatile char *p = addr;
  Size at;

  if (size <= from || play->allocator->nothing)
    return;
  p[from] = 1;
  if (size > play->params.touch || size >= LargeSIZE) /* ScriptTOUCH follows */
    return;
  for (at = WordAlignUp((Word)p + from + 1, PlayPAGE) - (Word)p; at < size; at += PlayPAGE)
    p[at] = 1;
}

/* playTouched -- write to as many pages of a large object as the program has touched; all of them, where that is not
 * known and they are not too many */
static void playTouched(Play play, ScriptOp op)
{
  const ScriptTouchStruct *touch = &play->touches[op->size];
  volatile char *p = play->slots[op->slot];
  Size size, at;
  Bool known;

  AVER_CRITICAL(op->size < PlayTableCount(play, ScriptTOUCHES));
  known = touch->touched != ScriptTouchUNKNOWN;
  size = known ? touch->touched : touch->size;
  if (p == playABSENT || play->allocator->nothing || play->params.verify ||
      size > play->params.touch * (known ? PlayKNOWN : 1))
    return;
  for (at = 0; at < size; at += PlayPAGE)
    p[at] = 1;
}

/* playSized -- the slot's object has this size now; `new`: it may be visited from now on */
static inline void playSized(Play play, ScriptOp op, Bool new)
{
  if (play->visits.on)
    VisitsSized(&play->visits, op->slot, op->size, new);
}

static inline void playNew(Play play, PlayThread runner, ScriptOp op, Bool verify)
{
  PlayAllocator allocator = play->allocator;
  void *pool = play->pool[op->pool].pool, *addr;

  addr = UNLIKELY(allocator->nothing)
             ? playNothing
             : allocator->alloc(pool, op->size, op->align == 0 ? 0 : (Size)1 << op->align, op->kind == ScriptZERO);
  AVER_CRITICAL(play->slots[op->slot] == NULL); /* the former object has gone: the script's order holds */
  play->slots[op->slot] = addr;
  if (UNLIKELY(addr == NULL)) {
    play->slots[op->slot] = playABSENT;
    ++runner->failures;
  } else if (verify)
    VerifyNew(&play->verify, op, addr, play->pool[op->pool].align);
  else
    playTouch(play, addr, 0, op->size);
  playSized(play, op, TRUE);
}

static inline void playResize(Play play, PlayThread runner, ScriptOp op, Bool verify)
{
  PlayAllocator allocator = play->allocator;
  void *pool = play->pool[op->pool].pool, *old = play->slots[op->slot], *addr;

  AVER_CRITICAL(old != NULL);
  if (UNLIKELY(old == playABSENT)) {
    play->slots[op->slot] = NULL;
    playNew(play, runner, &(ScriptOpStruct){.slot = op->slot, .kind = ScriptALLOC, .pool = op->pool, .size = op->size},
            verify);
    return;
  }
  if (verify)
    VerifyOld(&play->verify, op->slot, old, FALSE);
  addr = UNLIKELY(allocator->nothing) ? old : allocator->resize(pool, old, runner->old, op->size);
  if (UNLIKELY(addr == NULL)) {
    ++runner->failures;
    return;
  }
  play->slots[op->slot] = addr;
  if (verify)
    VerifyResized(&play->verify, op, addr, play->pool[op->pool].align);
  else
    playTouch(play, addr, runner->old, op->size);
  playSized(play, op, FALSE);
}

static inline void playFree(Play play, ScriptOp op, Bool verify)
{
  void *addr = play->slots[op->slot];

  AVER_CRITICAL(addr != NULL);
  play->slots[op->slot] = NULL;
  if (UNLIKELY(addr == playABSENT))
    return;
  if (verify)
    VerifyOld(&play->verify, op->slot, addr, TRUE);
  if (!UNLIKELY(play->allocator->nothing) && (LIKELY(op->kind == ScriptFREE) || !play->allocator->drops))
    play->allocator->free(play->pool[op->pool].pool, addr, op->size);
}

static void playPoolCreate(Play play, Index number)
{
  const ScriptPoolStruct *pools = PlayTable(play, ScriptPOOLS);
  Res res = play->allocator->poolCreate(play->allocator->data, &play->pool[number], number);

  if (res != ResOK)
    playFail(play, "cannot create pool %zu: class %s: %s", number, pools[number].class, ResName(res));
}

/* playTime -- the thread has come to this recorded time */
static void playTime(Play play, PlayThread runner, uint64_t time)
{
  uint64_t slice = play->params.slice, *resident = slice != 0 && time / slice < CurveSLICES
                                                     ? &play->result->resident[time / slice] : NULL;

  if (resident != NULL && __atomic_load_n(resident, __ATOMIC_RELAXED) == 0)
    __atomic_store_n(resident, ResidentNow(), __ATOMIC_RELAXED);
  WaitWake(&runner->sleepers);
  playSleep(play, time);
}

/* playRare -- an operation that is none on an object */
static void playRare(Play play, PlayThread runner, ScriptOp op)
{
  switch (op->kind) {
  case ScriptOLD:
    runner->old = op->size;
    break;
  case ScriptPOOLCREATE:
    if (play->allocator->poolCreate != NULL)
      playPoolCreate(play, op->pool);
    break;
  case ScriptPOOLDESTROY:
    if (play->allocator->poolDestroy != NULL)
      play->allocator->poolDestroy(play->allocator->data, &play->pool[op->pool]);
    break;
  case ScriptENTER:
    playEnter(play, runner, op->size);
    break;
  case ScriptTOUCH:
    playTouched(play, op);
    break;
  case ScriptWAIT:
    playAwait(play, runner, op->slot, op->size);
    break;
  default:
    AVER(op->kind == ScriptTIME);
    playTime(play, runner, op->size);
    break;
  }
}

/* ---- Threads ---- */

static inline __attribute__((always_inline)) void playOps(Play play, PlayThread runner, ScriptOp op, ScriptOp limit,
                                                          Bool verify)
{
  uint64_t done = runner->done;

  for (; op < limit && !playFailed(play); ++op) {
    __builtin_prefetch(&play->slots[op[PlayAHEAD].slot], 1);
    if (op->kind <= ScriptALIGNED)
      playNew(play, runner, op, verify);
    else if (op->kind <= ScriptDROP)
      playFree(play, op, verify);
    else if (op->kind == ScriptRESIZE)
      playResize(play, runner, op, verify);
    else
      playRare(play, runner, op);
    __atomic_store_n(&runner->done, ++done, __ATOMIC_RELEASE);
    if (UNLIKELY(done % PlayWAKE == 0) && __atomic_load_n(&runner->sleepers, __ATOMIC_RELAXED) != 0)
      WaitWake(&runner->sleepers);
  }
}

/* playChunk -- do the operations that have been read */
static void playChunk(Play play, PlayThread runner, Count count)
{
  ScriptOp op = runner->ops, limit = op + count, next;

  if (play->params.verify) {
    playOps(play, runner, op, limit, TRUE);
  } else if (!play->visits.on) {
    playOps(play, runner, op, limit, FALSE);
  } else {
    for (; op < limit; op = next) {
      next = limit - op > VisitsPAUSE ? op + VisitsPAUSE : limit;
      VisitsMake(&play->visits, op, next);
      playOps(play, runner, op, next, FALSE);
    }
  }
}

static void *playList(void *closure)
{
  PlayThread runner = closure;
  Play play = runner->play;
  const ScriptChunkStruct *chunk;
  uint64_t next;

  for (next = runner->list->chunk; next != 0 && !playFailed(play); next = chunk->next) {
    chunk = &play->chunks[next - 1];
    if (chunk->count > ScriptChunkOPS ||
        FileReadAt(play->params.fd, chunk->offset, runner->ops, chunk->count * sizeof(ScriptOpStruct)) != ResOK) {
      playFail(play, "cannot read the script: %s", strerror(errno));
      break;
    }
    playChunk(play, runner, chunk->count);
  }
  playLeave(play, runner);
  return NULL;
}

/* playThreads -- start each list in a thread of its own when its first epoch may begin, and join all */
static void playThreads(Play play)
{
  pthread_attr_t attributes;
  Index i, started;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, playSTACK);
  for (i = 0; i < play->threads && !playFailed(play); ++i) {
    PlayThread runner = &play->runners[i];
    uint64_t epoch = runner->list->epoch;
    int error;
    if (runner->list->count == 0)
      continue;
    play->waited += WaitUntil(&play->completed, playBarrier(play, epoch), &play->epochs[epoch].sleepers, &play->failed);
    error = pthread_create(&runner->thread, &attributes, playList, runner);
    if (error != 0) {
      playFail(play, "cannot start thread %zu of %zu: %s; try -j merged", i + 1, play->threads, strerror(error));
      break;
    }
  }
  started = i;
  for (i = 0; i < started; ++i) {
    if (play->runners[i].list->count != 0)
      pthread_join(play->runners[i].thread, NULL);
  }
}

void PlayRun(Play play, PlayAllocator allocator)
{
  PlayResult result = play->result;
  uint64_t others;
  Index i;

  AVER(PlayCheck(play) && play->completed == 0);
  play->allocator = allocator;
  ResidentForget();
  result->base = ResidentNow();
  if (play->params.base) {
    result->done = TRUE;
    return;
  }
  result->cpu = ReadClock(CLOCK_PROCESS_CPUTIME_ID);
  play->begin = ReadClock(CLOCK_MONOTONIC);
  if (play->threads == 1)
    playList(&play->runners[0]);
  else
    playThreads(play);
  result->ns = ReadClock(CLOCK_MONOTONIC) - play->begin;
  result->cpu = ReadClock(CLOCK_PROCESS_CPUTIME_ID) - result->cpu;
  result->peak = ResidentPeak();
  if (play->params.verify && !playFailed(play))
    for (i = 0; i < play->header.slots; ++i) /* what lives at the end */
      VerifyOld(&play->verify, (uint32_t)i, play->slots[i], TRUE);
  for (i = 0; i < play->threads; ++i) {
    result->failures += play->runners[i].failures;
    play->waited += play->runners[i].waited;
  }
  result->waited = play->waited;
  result->visits = play->visits.ns;
  result->ns -= result->visits < result->ns ? result->visits : result->ns;
  others = play->waited + result->visits;
  result->cpu -= others < result->cpu ? others : result->cpu;
  result->faults = play->verify.faults;
  result->done = !playFailed(play);
}
