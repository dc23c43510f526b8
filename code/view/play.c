/* play.c -- run a script on an allocator, and measure
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "playdata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "view/playcheck.h"

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
  if (op->kind == ScriptZERO && !PlayCheckZero(&bad, addr, op->size))
    playFault(play, PlayFaultZERO, addr, op->size, bad);
  kept->seed += (uint64_t)op->slot * 0x2545f4914f6cdd1dull + 1;
  kept->size = op->size;
  kept->live = TRUE;
  PlayFill(addr, 0, op->size, kept->seed);
}

static void playVerifyOld(Play play, uint32_t slot, void *addr, Bool dies)
{
  PlayKept kept = &play->kept[slot];
  Size bad;

  if (kept->live && !PlayCheck(&bad, addr, kept->size, kept->size, kept->seed))
    playFault(play, PlayFaultOVERLAP, addr, kept->size, bad);
  kept->live = kept->live && !dies;
}

static void playVerifyResized(Play play, ScriptOp op, void *addr)
{
  PlayKept kept = &play->kept[op->slot];
  Size common = kept->size < op->size ? kept->size : op->size, bad;

  playVerifyAlign(play, op, addr);
  if (!PlayCheck(&bad, addr, common, kept->size, kept->seed))
    playFault(play, PlayFaultLOST, addr, op->size, bad);
  PlayFill(addr, kept->size > PlayCheckMAX && op->size <= PlayCheckMAX ? 0 : common, op->size, kept->seed);
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
    PlayEnter(play, runner, op->size);
    break;
  case ScriptWAIT:
    PlayAwait(play, &play->runners[op->slot].done, op->size);
    break;
  default:
    AVER(op->kind == ScriptTIME);
    PlaySleep(play, op->size);
    break;
  }
}

/* Lists */

static inline void playChunk(Play play, PlayThread runner, Count count, Bool verify)
{
  uint64_t done = runner->done;
  ScriptOp op = runner->ops, limit = op + count;

  for (; op < limit && !PlayFailed(play); ++op) {
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

  for (i = 0; i < runner->list->chunks && !PlayFailed(play); ++i) {
    const ScriptChunkStruct *chunk = &play->chunks[runner->list->chunk + i];
    if (chunk->count > ScriptChunkOPS ||
        !PlayRead(play->params.fd, runner->ops, chunk->count * sizeof(ScriptOpStruct), chunk->offset)) {
      playFail(play, "cannot read the script: %s", strerror(errno));
      break;
    }
    if (play->params.verify)
      playChunk(play, runner, chunk->count, TRUE);
    else
      playChunk(play, runner, chunk->count, FALSE);
  }
  PlayLeave(play, runner);
  return NULL;
}

/* playThreads -- start each list in a thread of its own when its first epoch may begin, and see them all end */
static void playThreads(Play play)
{
  pthread_attr_t attributes;
  Index i, started;

  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, playSTACK);
  for (i = 0; i < play->header.threads && !PlayFailed(play); ++i) {
    PlayThread runner = &play->runners[i];
    int error;
    if (runner->list->count == 0)
      continue;
    PlayAwait(play, &play->completed, PlayBarrier(play, runner->list->epoch));
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
    play->runners[i].ops = (ScriptOp)(void *)(play->buffers + i * PlayBuffer());
  }
  playForget();
  result->base = playStatus("VmRSS:");
  result->cpu = PlayClock(CLOCK_PROCESS_CPUTIME_ID);
  play->begin = PlayClock(CLOCK_MONOTONIC);
  if (play->header.threads == 1)
    playList(&play->runners[0]);
  else
    playThreads(play);
  result->ns = PlayClock(CLOCK_MONOTONIC) - play->begin;
  result->cpu = PlayClock(CLOCK_PROCESS_CPUTIME_ID) - result->cpu;
  result->peak = playStatus("VmHWM:");
  if (play->params.verify && !PlayFailed(play))
    playLive(play);
  for (i = 0; i < play->header.threads; ++i)
    result->failures += play->runners[i].failures;
  result->faults = play->faults;
  result->done = !PlayFailed(play);
}
