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
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/types.h"

/* With `verify` an object's contents are a function of its seed and the place in the object, so that a resized object
 * is checked as far as it reaches and only the rest is filled.  Of an object larger than PlayCheckMAX, the first and
 * the last PlayCheckMAX / 2 bytes are filled, so that memory that no program would touch is not. */
enum { PlayCheckMAX = 1 << 20 };

enum {
  PlayAHEAD = 16, /* operations whose slots are fetched before their turn */
  PlayPAGE = 4096
};

typedef struct PlayEpochStruct { /* as ScriptEpochStruct has it in the file */
  uint32_t threads; /* that are not done with it; atomic */
  uint32_t lag;
} PlayEpochStruct;

_Static_assert(sizeof(PlayEpochStruct) == sizeof(ScriptEpochStruct), "read from the file in one piece");

typedef struct PlayThreadStruct {
  uint64_t done;                 /* operations that it has done; atomic */
  Play play;
  const ScriptThreadStruct *list;
  ScriptOp ops;                 /* ScriptChunkOPS + PlayAHEAD of them; the last ones are zero */
  uint64_t epoch;                /* that it is in, + 1 */
  uint64_t old;                  /* size of the object that is being resized */
  uint64_t failures;
  pthread_t thread;
} __attribute__((aligned(64))) PlayThreadStruct, *PlayThread;

typedef struct PlayKeptStruct { /* what --verify knows of a slot's object */
  uint64_t size, seed;
  Bool live;
} PlayKeptStruct, *PlayKept;

struct PlayStruct {
  PlayParamsStruct params;
  PlayAllocator allocator;
  PlayResult result;
  ScriptHeaderStruct header;
  ScriptThreadStruct *threads;
  ScriptChunkStruct *chunks;
  ScriptPoolStruct *pools;
  ScriptParamStruct *poolParams;
  ScriptArenaStruct *arenas;
  PlayEpochStruct *epochs;
  PlayThread runners;
  PlayPool pool;                 /* by the script's number */
  void **slots;
  PlayKept kept;                 /* NULL without verify */
  char *buffers;
  uint64_t begin;                /* ns */
  uint64_t completed;    /* epochs that all are done with, and all before them; atomic */
  uint64_t faults;               /* atomic */
  uint32_t failed;       /* atomic: a thread cannot go on, and result->message says why */
};

/* playClock -- ns of a clock */
static inline uint64_t playClock(clockid_t clock)
{
  struct timespec now;

  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* playFailed -- has a thread found that it cannot go on?  Nobody waits any longer then. */
static inline Bool playFailed(Play play)
{
  return __atomic_load_n(&play->failed, __ATOMIC_RELAXED) != 0;
}

enum { playSHOWN = 16 << 20 /* bytes of buffers that are touched before the measurement begins */ };

/* playMap -- zeroed memory that is there (touched) and is nobody's allocator's; NULL without memory */
static void *playMap(Size size, Bool touched)
{
  void *p = mmap(NULL, size == 0 ? 1 : size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (touched ? MAP_POPULATE : 0), -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

/* playRead -- `size` bytes of the file at `offset`; FALSE: errno says why not, or the file is shorter */
static Bool playRead(int fd, void *p, Size size, uint64_t offset)
{
  while (size > 0) {
    ssize_t n = pread(fd, p, size, (off_t)offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    p = (char *)p + n;
    size -= (Size)n;
    offset += (uint64_t)n;
  }
  return TRUE;
}

/* Loading */

static Bool playTable(Play play, void *tableReturn, uint64_t offset, uint64_t count, Size size)
{
  void *table = playMap(count * size, TRUE);

  memcpy(tableReturn, &table, sizeof table);
  return table != NULL && playRead(play->params.fd, table, count * size, offset);
}

static Bool playTables(Play play)
{
  ScriptHeader header = &play->header;

  return playTable(play, &play->threads, header->threadTable, header->threads, sizeof *play->threads) &&
         playTable(play, &play->chunks, header->chunkTable, header->chunks, sizeof *play->chunks) &&
         playTable(play, &play->epochs, header->epochTable, header->epochs, sizeof *play->epochs) &&
         playTable(play, &play->pools, header->poolTable, header->pools, sizeof *play->pools) &&
         playTable(play, &play->poolParams, header->paramTable, header->params, sizeof *play->poolParams) &&
         playTable(play, &play->arenas, header->arenaTable, header->arenas, sizeof *play->arenas);
}

/* playBuffer -- bytes of a list's buffer */
static Size playBuffer(void)
{
  return WordAlignUp((ScriptChunkOPS + PlayAHEAD) * sizeof(ScriptOpStruct), PlayPAGE);
}

static Bool playRoom(Play play)
{
  ScriptHeader header = &play->header;
  Size buffers = header->threads * playBuffer();

  play->runners = playMap(header->threads * sizeof *play->runners, TRUE);
  play->pool = playMap(header->pools * sizeof *play->pool, TRUE);
  play->slots = playMap((header->slots + 1) * sizeof *play->slots, TRUE);
  play->buffers = playMap(buffers, buffers <= playSHOWN);
  if (play->params.verify)
    play->kept = playMap((header->slots + 1) * sizeof *play->kept, TRUE);
  return play->runners != NULL && play->pool != NULL && play->slots != NULL && play->buffers != NULL &&
         (!play->params.verify || play->kept != NULL);
}

Res PlayLoad(Play *playReturn, PlayParams params, char *error, Size size)
{
  Play play = playMap(sizeof *play, TRUE);
  struct stat status;

  if (play == NULL) {
    snprintf(error, size, "no memory");
    return ResMEMORY;
  }
  play->params = *params;
  if (fstat(params->fd, &status) != 0 || status.st_size < (off_t)sizeof play->header ||
      !playRead(params->fd, &play->header, sizeof play->header, (uint64_t)status.st_size - sizeof play->header)) {
    snprintf(error, size, "cannot read the script: %s", strerror(errno));
    return ResIO;
  }
  if (!playTables(play) || !playRoom(play)) {
    snprintf(error, size, "no memory for %llu objects in %llu threads", (unsigned long long)play->header.slots,
             (unsigned long long)play->header.threads);
    return ResMEMORY;
  }
  *playReturn = play;
  return ResOK;
}

ScriptHeader PlayHeader(Play play)
{
  return &play->header;
}

const ScriptPoolStruct *PlayPools(Play play)
{
  return play->pools;
}

const ScriptParamStruct *PlayPoolParams(Play play)
{
  return play->poolParams;
}

const ScriptArenaStruct *PlayArenas(Play play)
{
  return play->arenas;
}

enum {
  playSPINS = 20,    /* looks before a waiting thread gives up the processor */
  playYIELDS = 5000, /* and more before it goes to sleep */
  playNAP = 50000    /* ns */
};

static void playPause(unsigned *looks)
{
  const struct timespec nap = {0, playNAP};

  ++*looks;
  if (*looks < playSPINS) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  } else if (*looks < playSPINS + playYIELDS) {
    sched_yield();
  } else {
    nanosleep(&nap, NULL);
  }
}

/* playAwait -- wait until the counter is at least `wanted` */
static void playAwait(Play play, uint64_t *counter, uint64_t wanted)
{
  unsigned looks = 0;

  while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < wanted && !playFailed(play))
    playPause(&looks);
}

/* playLeave -- the thread is done with the epoch that it is in.  Whoever is the last to leave the oldest one moves
 * `completed` on, past all that are empty by then. */
static void playLeave(Play play, PlayThread runner)
{
  uint64_t at;

  if (runner->epoch == 0)
    return;
  __atomic_fetch_sub(&play->epochs[runner->epoch - 1].threads, 1, __ATOMIC_SEQ_CST);
  at = __atomic_load_n(&play->completed, __ATOMIC_SEQ_CST);
  while (at < play->header.epochs && __atomic_load_n(&play->epochs[at].threads, __ATOMIC_SEQ_CST) == 0) {
    if (__atomic_compare_exchange_n(&play->completed, &at, at + 1, FALSE, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      ++at;
  }
}

/* playBarrier -- how many epochs must be complete before this one may begin */
static uint64_t playBarrier(Play play, uint64_t epoch)
{
  uint64_t lag = play->epochs[epoch].lag;

  return epoch + 1 > lag ? epoch + 1 - lag : 0;
}

/* playEnter -- leave the epoch that the thread is in, and enter another when it may begin; playLeave -- be done
 * altogether */
static void playEnter(Play play, PlayThread runner, uint64_t epoch)
{
  playLeave(play, runner);
  runner->epoch = epoch + 1;
  playAwait(play, &play->completed, playBarrier(play, epoch));
}

/* playSleep -- until `time`, ns since the beginning of the recording, has come at the speed asked for */
static void playSleep(Play play, uint64_t time)
{
  uint64_t until;
  struct timespec at;

  if (play->params.speed <= 0)
    return;
  until = play->begin + (uint64_t)((double)time / play->params.speed);
  if (playClock(CLOCK_MONOTONIC) >= until)
    return;
  at.tv_sec = (time_t)(until / 1000000000u);
  at.tv_nsec = (long)(until % 1000000000u);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
    ;
}

enum { checkHALF = PlayCheckMAX / 2 };

/* checkWord -- what stands at word `i` of an object */
static inline uint64_t checkWord(uint64_t seed, Index i)
{
  return (seed + i) * 0x9e3779b97f4a7c15ull ^ seed;
}

static void checkFillRange(unsigned char *p, Size from, Size to, uint64_t seed)
{
  Size at = WordAlignDown(from, 8);

  for (; at < to; at += 8) {
    uint64_t word = checkWord(seed, at / 8);
    memcpy(p + at, &word, to - at < 8 ? to - at : 8);
  }
}

/* checkRange -- where [from, to) is not what it should be, or `to` */
static Size checkRange(const unsigned char *p, Size from, Size to, uint64_t seed)
{
  Size at = WordAlignDown(from, 8), i;

  for (; at < to; at += 8) {
    uint64_t word = checkWord(seed, at / 8);
    Size n = to - at < 8 ? to - at : 8;
    if (memcmp(p + at, &word, n) == 0)
      continue;
    for (i = 0; i < n; ++i) {
      if (p[at + i] != ((unsigned char *)&word)[i] && at + i >= from)
        return at + i;
    }
  }
  return to;
}

/* playFill -- fill [from, size) of an object of `size` bytes; `from` is what was filled when it was smaller */
static void playFill(void *addr, Size from, Size size, uint64_t seed)
{
  if (size <= PlayCheckMAX) {
    checkFillRange(addr, from, size, seed);
  } else {
    if (from < checkHALF)
      checkFillRange(addr, from, checkHALF, seed);
    checkFillRange(addr, WordAlignUp(size - checkHALF, 8), size, seed);
  }
}

/* playCheck -- is [0, upto) of an object that was filled with `size` bytes as PlayFill left it?  *badReturn is where
 * not. */
static Bool playCheck(Size *badReturn, const void *addr, Size upto, Size size, uint64_t seed)
{
  Size head = size <= PlayCheckMAX ? size : checkHALF, bad;

  if (head > upto)
    head = upto;
  bad = checkRange(addr, 0, head, seed);
  if (bad == head && size > PlayCheckMAX && upto > size - checkHALF) {
    bad = checkRange(addr, WordAlignUp(size - checkHALF, 8), upto, seed);
    head = upto;
  }
  *badReturn = bad;
  return bad >= head;
}

/* playCheckZero -- is it zero, as far as playFill would fill it? */
static Bool playCheckZero(Size *badReturn, const void *addr, Size size)
{
  const unsigned char *p = addr;
  Size i;

  for (i = 0; i < size; ++i) {
    if (size > PlayCheckMAX && i == checkHALF)
      i = size - checkHALF;
    if (p[i] != 0) {
      *badReturn = i;
      return FALSE;
    }
  }
  return TRUE;
}

enum { playSTACK = 512 << 10 /* bytes of a thread's stack; touched ones count */ };

/* What is measured */

/* playStatus -- a line of /proc/self/status in bytes, read without stdio, which might allocate */
static uint64_t playStatus(const char *key)
{
  char text[4096], *line;
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

  if (fd >= 0)
    close(fd);
  text[n < 0 ? 0 : n] = '\0';
  line = strstr(text, key);
  return line == NULL ? 0 : strtoull(line + strlen(key), NULL, 10) * 1024;
}

/* playForget -- let the peak of resident memory begin anew */
static void playForget(void)
{
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

  if (fd >= 0) {
    if (write(fd, "5", 1) < 0) /* an old kernel: the peak is that since the start, hardly more */
      errno = 0;
    close(fd);
  }
}

/* playFail -- this thread cannot go on, so nobody can */
static void playFail(Play play, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void playFail(Play play, const char *format, ...)
{
  va_list args;

  if (__atomic_exchange_n(&play->failed, 1, __ATOMIC_SEQ_CST) == 0) {
    va_start(args, format);
    vsnprintf(play->result->message, sizeof play->result->message, format, args);
    va_end(args);
  }
}

/* Objects.  A slot is NULL while it has none. */

#define playABSENT ((void *)1) /* an object whose allocation failed */

/* playTouch -- write to the pages of [from, size) as the program would have, sooner or later */
static inline void playTouch(Play play, void *addr, Size from, Size size)
{
  volatile char *p = addr;
  Size at;

  if (size <= from || play->allocator->nothing)
    return;
  p[from] = 1;
  if (size - from < PlayPAGE && (((Word)p + from) & (PlayPAGE - 1)) + (size - from) <= PlayPAGE)
    return;
  if (size > play->params.touch)
    return;
  for (at = WordAlignUp((Word)p + from + 1, PlayPAGE) - (Word)p; at < size; at += PlayPAGE)
    p[at] = 1;
}

static void playFault(Play play, unsigned kind, void *addr, uint64_t size, Size offset)
{
  uint64_t i = __atomic_fetch_add(&play->faults, 1, __ATOMIC_RELAXED);

  if (i < PlayFaultsMAX) {
    PlayFault fault = &play->result->fault[i];
    fault->kind = kind;
    fault->addr = (Word)addr;
    fault->size = size;
    fault->offset = offset;
  }
}

static void playVerifyAlign(Play play, ScriptOp op, void *addr)
{
  Size align = play->pool[op->pool].align;

  /* malloc promises the alignment of what fits the size: 8 bytes need no more than 8. */
  while (align > 1 && align > op->size)
    align /= 2;
  if (op->kind == ScriptALIGNED)
    align = (Size)1 << op->align;
  if (((Word)addr & (align - 1)) != 0)
    playFault(play, PlayFaultALIGN, addr, op->size, align);
}

static void playVerifyNew(Play play, ScriptOp op, void *addr)
{
  PlayKept kept = &play->kept[op->slot];
  Size bad;

  playVerifyAlign(play, op, addr);
  if (op->kind == ScriptZERO && !playCheckZero(&bad, addr, op->size))
    playFault(play, PlayFaultZERO, addr, op->size, bad);
  kept->seed += (uint64_t)op->slot * 0x2545f4914f6cdd1dull + 1;
  kept->size = op->size;
  kept->live = TRUE;
  playFill(addr, 0, op->size, kept->seed);
}

static void playVerifyOld(Play play, uint32_t slot, void *addr, Bool dies)
{
  PlayKept kept = &play->kept[slot];
  Size bad;

  if (kept->live && !playCheck(&bad, addr, kept->size, kept->size, kept->seed))
    playFault(play, PlayFaultOVERLAP, addr, kept->size, bad);
  kept->live = kept->live && !dies;
}

static void playVerifyResized(Play play, ScriptOp op, void *addr)
{
  PlayKept kept = &play->kept[op->slot];
  Size common = kept->size < op->size ? kept->size : op->size, bad;

  playVerifyAlign(play, op, addr);
  if (!playCheck(&bad, addr, common, kept->size, kept->seed))
    playFault(play, PlayFaultLOST, addr, op->size, bad);
  playFill(addr, kept->size > PlayCheckMAX && op->size <= PlayCheckMAX ? 0 : common, op->size, kept->seed);
  kept->size = op->size;
}

static inline void playNew(Play play, PlayThread runner, ScriptOp op, Bool verify)
{
  PlayAllocator allocator = play->allocator;
  void *pool = play->pool[op->pool].pool, *addr;

  if (LIKELY(op->kind == ScriptALLOC))
    addr = allocator->alloc(pool, op->size);
  else if (op->kind == ScriptZERO)
    addr = allocator->zero(pool, op->size);
  else
    addr = allocator->aligned(pool, op->size, (Size)1 << op->align);
  AVER_CRITICAL(play->slots[op->slot] == NULL); /* the former object has gone: the script's order holds */
  play->slots[op->slot] = addr;
  if (UNLIKELY(addr == NULL)) {
    play->slots[op->slot] = playABSENT;
    ++runner->failures;
  } else if (verify)
    playVerifyNew(play, op, addr);
  else
    playTouch(play, addr, 0, op->size);
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
    playVerifyOld(play, op->slot, old, FALSE);
  addr = allocator->resize(pool, old, runner->old, op->size);
  if (UNLIKELY(addr == NULL)) {
    ++runner->failures;
    return;
  }
  play->slots[op->slot] = addr;
  if (verify)
    playVerifyResized(play, op, addr);
  else
    playTouch(play, addr, runner->old, op->size);
}

static inline void playFree(Play play, ScriptOp op, Bool verify)
{
  void *addr = play->slots[op->slot];

  AVER_CRITICAL(addr != NULL);
  play->slots[op->slot] = NULL;
  if (UNLIKELY(addr == playABSENT))
    return;
  if (verify)
    playVerifyOld(play, op->slot, addr, TRUE);
  if (LIKELY(op->kind == ScriptFREE) || !play->allocator->drops)
    play->allocator->free(play->pool[op->pool].pool, addr, op->size);
}

static void playPoolCreate(Play play, Index number)
{
  char error[PlayMessageSIZE - 64];

  if (!play->allocator->poolCreate(play->allocator->data, &play->pool[number], number, error, sizeof error))
    playFail(play, "cannot create pool %zu: %s", number, error);
}

/* playRare -- an operation that is none on an object */
static void playRare(Play play, PlayThread runner, ScriptOp op)
{
  switch (op->kind) {
  case ScriptOLD:
    runner->old = op->size;
    break;
  case ScriptPOOLCREATE:
    playPoolCreate(play, op->pool);
    break;
  case ScriptPOOLDESTROY:
    play->allocator->poolDestroy(play->allocator->data, &play->pool[op->pool]);
    break;
  case ScriptENTER:
    playEnter(play, runner, op->size);
    break;
  case ScriptWAIT:
    playAwait(play, &play->runners[op->slot].done, op->size);
    break;
  default:
    AVER(op->kind == ScriptTIME);
    playSleep(play, op->size);
    break;
  }
}

/* Lists */

static inline void playChunk(Play play, PlayThread runner, Count count, Bool verify)
{
  uint64_t done = runner->done;
  ScriptOp op = runner->ops, limit = op + count;

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
  }
}

static void *playList(void *closure)
{
  PlayThread runner = closure;
  Play play = runner->play;
  Index i;

  for (i = 0; i < runner->list->chunks && !playFailed(play); ++i) {
    const ScriptChunkStruct *chunk = &play->chunks[runner->list->chunk + i];
    if (chunk->count > ScriptChunkOPS ||
        !playRead(play->params.fd, runner->ops, chunk->count * sizeof(ScriptOpStruct), chunk->offset)) {
      playFail(play, "cannot read the script: %s", strerror(errno));
      break;
    }
    if (play->params.verify)
      playChunk(play, runner, chunk->count, TRUE);
    else
      playChunk(play, runner, chunk->count, FALSE);
  }
  playLeave(play, runner);
  return NULL;
}

/* playThreads -- start each list in a thread of its own when its first epoch may begin, and see them all end */
static void playThreads(Play play)
{
  pthread_attr_t attributes;
  Index i, started;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, playSTACK);
  for (i = 0; i < play->header.threads && !playFailed(play); ++i) {
    PlayThread runner = &play->runners[i];
    int error;
    if (runner->list->count == 0)
      continue;
    playAwait(play, &play->completed, playBarrier(play, runner->list->epoch));
    error = pthread_create(&runner->thread, &attributes, playList, runner);
    if (error != 0) {
      playFail(play, "cannot start thread %zu of %llu: %s; try -j merged", i + 1,
               (unsigned long long)play->header.threads, strerror(error));
      break;
    }
  }
  started = i;
  for (i = 0; i < started; ++i) {
    if (play->runners[i].list->count != 0)
      pthread_join(play->runners[i].thread, NULL);
  }
}

/* playLive -- check what is left at the end */
static void playLive(Play play)
{
  Index i;

  for (i = 0; i < play->header.slots; ++i)
    playVerifyOld(play, (uint32_t)i, play->slots[i], TRUE);
}

void PlayRun(PlayResult result, Play play, PlayAllocator allocator)
{
  Index i;

  play->result = result;
  play->allocator = allocator;
  for (i = 0; i < play->header.threads; ++i) {
    play->runners[i].play = play;
    play->runners[i].list = &play->threads[i];
    play->runners[i].ops = (ScriptOp)(void *)(play->buffers + i * playBuffer());
  }
  playForget();
  result->base = playStatus("VmRSS:");
  result->cpu = playClock(CLOCK_PROCESS_CPUTIME_ID);
  play->begin = playClock(CLOCK_MONOTONIC);
  if (play->header.threads == 1)
    playList(&play->runners[0]);
  else
    playThreads(play);
  result->ns = playClock(CLOCK_MONOTONIC) - play->begin;
  result->cpu = playClock(CLOCK_PROCESS_CPUTIME_ID) - result->cpu;
  result->peak = playStatus("VmHWM:");
  if (play->params.verify && !playFailed(play))
    playLive(play);
  for (i = 0; i < play->header.threads; ++i)
    result->failures += play->runners[i].failures;
  result->faults = play->faults;
  result->done = !playFailed(play);
}
