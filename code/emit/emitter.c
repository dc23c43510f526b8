/* emitter.c -- the emitter of this process: its memory, its locks and its ways out
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/emitter.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/control.h"
#include "handover/collectorsocket.h"

enum {
  emitterWorkingAT = 131072,
  emitterThreadsAT = emitterWorkingAT + EmitterWorkingSIZE,
  emitterThreadsMIN = 128
};

enum {
  emitterMoment = 999999999, /* ns after which a thread that waits for a lock checks whether its owner lives */
  emitterMoments = 5         /* after so many the owner counts as stopped */
};

#define emitterWAITED 0x80000000u  /* in a lock, beside its owner: wake one when it is free */
#define emitterSTOPPED 0x40000000u /* likewise: the owner has not gone on for long, so do not wait */
#define emitterTID 0x3fffffffu     /* the owner */

_Static_assert(sizeof(EmitterStruct) <= emitterWorkingAT, "the working memory is behind the process");

PlinthStruct EmitterPlinths[EmitterPlinthsMAX];

/* EmitterStruct, then working memory, then as many threads as there may be: one mapping that fork leaves zeroed.  Set
 * once. */
static char *emitterMemory;
unsigned EmitterThreadsMax;

static Emitter emitterOf(void)
{
  return (Emitter)(void *)__atomic_load_n(&emitterMemory, __ATOMIC_ACQUIRE);
}

Thread EmitterThread(Emitter emitter, Index i)
{
  AVER(i < EmitterThreadsMax);
  return (Thread)(void *)((char *)emitter + emitterThreadsAT + i * ThreadSIZE);
}

void *EmitterWorking(Emitter emitter)
{
  return (char *)emitter + emitterWorkingAT;
}

/* emitterWipe -- where the kernel does not do it: in the child of fork */
static void emitterWipe(void)
{
  memset(emitterOf(), 0, sizeof(EmitterStruct));
}

/* emitterSize -- bytes for so many threads */
static Size emitterSize(unsigned threads)
{
  return emitterThreadsAT + (Size)threads * ThreadSIZE;
}

/* emitterReserve -- reserve address space for as many threads as possible; for few if address space is limited */
static char *emitterReserve(unsigned *threadsReturn)
{
  uint64_t limit = RawLimit(RLIMIT_AS);
  unsigned threads;
  char *memory = NULL;

  for (threads = ThreadsMAX; memory == NULL && threads >= emitterThreadsMIN; threads /= 8) {
    if (threads / 8 >= emitterThreadsMIN && emitterSize(threads) > limit / 64)
      continue;
    memory = RawMap(emitterSize(threads), RawPAGE);
    *threadsReturn = threads;
  }
  return memory;
}

Emitter EmitterMap(void)
{
  char *none = NULL, *memory;
  unsigned threads;

  if (emitterOf() != NULL)
    return emitterOf();
  memory = emitterReserve(&threads);
  if (memory == NULL)
    return NULL;
  __atomic_store_n(&EmitterThreadsMax, threads, __ATOMIC_RELAXED); /* another thread would find the same */
  ((Emitter)(void *)memory)->state = 0; /* a page that is read before it is written costs a second fault */
  if (!__atomic_compare_exchange_n(&emitterMemory, &none, memory, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    RawUnmap(memory, emitterSize(threads));
  else if (RawCall(SYS_madvise, memory, emitterSize(threads), MADV_WIPEONFORK) != 0)
    (void)pthread_atfork(NULL, NULL, emitterWipe);
  return emitterOf();
}

Plinth EmitterWay(const PlinthClassStruct *class)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) == class)
      return &EmitterPlinths[i];
  return NULL;
}

const char *EmitterLog(void)
{
  Plinth file = EmitterWay(&PlinthClassFile);

  return ControlSettings.log[0] == '/' ? ControlSettings.log : file != NULL ? file->place : "";
}

Bool EmitterOpen(void)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL)
      return TRUE;
  return FALSE;
}

Bool EmitterSends(void)
{
  return ControlSettings.log[0] != '\0' || EmitterOpen();
}

Emitter EmitterIfReady(void)
{
  Emitter emitter = emitterOf();

  return emitter != NULL && __atomic_load_n(&emitter->state, __ATOMIC_ACQUIRE) == 2 ? emitter : NULL;
}

Bool EmitterTells(Word kinds)
{
  Emitter emitter = EmitterIfReady();
  Word tells = emitter != NULL ? __atomic_load_n(&emitter->tells, __ATOMIC_RELAXED) : 0;

  return tells != 0 && (kinds == EVENT_KINDS || (tells & kinds) != 0);
}

Bool EmitterCheck(Emitter emitter)
{
  return emitter->state == 2 && emitter->pid != 0 && emitter->identity != 0 &&
         emitter->threads <= EmitterThreadsMax && emitter->retired <= emitter->threads &&
         (emitter->retired == 0 || (emitter->retiredFirst - 1 < emitter->threads &&
                                    emitter->retiredLast - 1 < emitter->threads)) &&
         emitter->swept <= emitter->serials && WordIsPowerOf2(emitter->blockSize) && emitter->blockSize >= BlockMIN &&
         emitter->blockSize <= BlockMAX;
}

/* emitterDead -- is the lock's owner dead, or is it the calling thread, which has not locked it? */
static Bool emitterDead(Emitter emitter, unsigned owner)
{
  unsigned tid = owner & emitterTID;

  return tid == (unsigned)RawCall(SYS_gettid) || RawCall(SYS_tgkill, emitter->pid, tid, 0) != 0;
}

/* emitterMark -- add a mark to the lock's word, unless that has changed; FALSE: it has changed to *ownerIO */
static Bool emitterMark(unsigned *lock, unsigned *ownerIO, unsigned mark)
{
  if ((*ownerIO & mark) == 0 &&
      !__atomic_compare_exchange_n(lock, ownerIO, *ownerIO | mark, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return FALSE;
  *ownerIO |= mark;
  return TRUE;
}

/* emitterLockSlow -- EmitterLock, where `owner` has the lock.  A thread that waits sleeps: if thousands of threads
 * yielded to each other, the one that has the lock could not run. */
static Bool emitterLockSlow(Emitter emitter, unsigned owner)
{
  /* Others may wait behind us. */
  unsigned self = (unsigned)RawCall(SYS_gettid) | emitterWAITED, *lock = &emitter->lock, before = 0, waits = 0;
  long moment[2] = {0, emitterMoment};

  for (;;) {
    if ((owner & emitterTID) != before)
      waits = 0;
    before = owner & emitterTID;
    if (before == 0 || ((waits != 0 || (owner & emitterSTOPPED) != 0) && emitterDead(emitter, owner))) {
      if (__atomic_compare_exchange_n(lock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return TRUE;
    } else if ((owner & emitterSTOPPED) != 0) {
      return FALSE;
    } else if (waits == emitterMoments) {
      (void)emitterMark(lock, &owner, emitterSTOPPED);
    } else if (emitterMark(lock, &owner, emitterWAITED)) {
      waits += RawCall(SYS_futex, lock, FUTEX_WAIT_PRIVATE, owner, moment, NULL, 0) == -ETIMEDOUT;
      owner = __atomic_load_n(lock, __ATOMIC_RELAXED);
    }
  }
}

Bool EmitterLock(Emitter emitter)
{
  unsigned owner = 0;

  return __atomic_compare_exchange_n(&emitter->lock, &owner, (unsigned)RawCall(SYS_gettid), FALSE, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED) ||
         emitterLockSlow(emitter, owner);
}

void EmitterUnlock(Emitter emitter)
{
  if ((__atomic_exchange_n(&emitter->lock, 0, __ATOMIC_RELEASE) & emitterWAITED) != 0)
    (void)RawCall(SYS_futex, &emitter->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

Bool EmitterLockText(Emitter emitter)
{
  unsigned self = (unsigned)RawCall(SYS_gettid), owner = 0;

  return __atomic_compare_exchange_n(&emitter->textLock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
         (emitterDead(emitter, owner) &&
          __atomic_compare_exchange_n(&emitter->textLock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

Store EmitterOwnMore(Emitter emitter, Index i)
{
  Store store = i < EmitterOwnMAX ? &emitter->own[i] : NULL;

  if (store == NULL || !EmitterLock(emitter))
    return NULL;
  if (store->header == NULL && StoreOpen(store, "", 0, emitter->identity, NULL) == ResOK)
    store->header->limit = ControlSettings.limit;
  EmitterUnlock(emitter);
  return store->header != NULL ? store : NULL;
}

void EmitterLose(Emitter emitter)
{
  RegionHeader region = emitter->shared.header;

  if (emitter->doomed && ControlLedgerCount(1))
    return;
  (void)__atomic_fetch_add(region != NULL ? &region->lost : &emitter->lost, 1, __ATOMIC_RELAXED);
}

Res ControlOpen(Emitter emitter, const char *where, const char *family, Bool late)
{
  const char *reason = "as many logs as there can be are open";
  Plinth plinth = EmitterWay(NULL);
  Res res = ResLIMIT;

  if (plinth != NULL) {
    /* Before: others may send a header block as soon as the way is open. */
    emitter->begun[plinth - EmitterPlinths] = late ? EventClock(EVENT_SLOW) : 0;
    res = PlinthOpen(plinth, where, family, &reason);
  }
  if (res != ResOK)
    RawSay("cannot open the log", where, reason);
  return res;
}

/* emitterPiece -- how long the first of several places is; a comma in front of an option belongs to it */
static Size emitterPiece(const char *places)
{
  static const char option[] = ",keep=";
  Size length = strcspn(places, ",");

  while (strncmp(places + length, option, sizeof option - 1) == 0)
    length += 1 + strcspn(places + length + 1, ",");
  return length;
}

/* emitterNumber -- which file of the family's is to be at this place, into `number`; NULL: this is no family, or the
 * place is none of a file.  The family's files are named in the order of their places. */
static const char *emitterNumber(char number[PlinthFileTellMAX + 1], const char **familyIO, const char *place)
{
  Size length = strcspn(*familyIO, "+");

  if (ControlSettings.family[0] == '\0')
    return NULL;
  if (place[0] != '/' || length > PlinthFileTellMAX)
    return ControlSettings.family;
  memcpy(number, *familyIO, length);
  number[length] = '\0';
  *familyIO += length + ((*familyIO)[length] == '+');
  return number;
}

void ControlOpenLog(Emitter emitter)
{
  Control settings = &ControlSettings;
  const char *at = settings->log;
  char place[PlinthPlaceMAX], number[PlinthFileTellMAX + 1];
  const char *family = settings->family;
  Plinth plinth = EmitterWay(NULL);

  if (plinth != NULL)
    emitter->begun[plinth - EmitterPlinths] = 0;
  if (plinth != NULL && GrantLogTake(plinth, settings->log))
    at = ""; /* the collector has given us the log's descriptor, and it is one log */
  while (*at != '\0') {
    Size length = emitterPiece(at);
    memcpy(place, at, length);
    place[length] = '\0';
    if (length > 0)
      (void)ControlOpen(emitter, place, emitterNumber(number, &family, place), FALSE);
    at += length;
    at += *at == ',';
  }
  /* A recorder's log that cannot be opened stays the one that our blocks belong to. */
  if (EmitterOpen() || settings->collector[0] == '\0')
    settings->log[0] = '\0';
}
