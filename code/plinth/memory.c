/* memory.c -- a plinth into memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plinth/memory.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "plinth/rawsyscall.h"

enum { memoryALIGN = 4096, memoryNap = 50000, memoryNaps = 20000 }; /* ns, and how often */

static Res memoryOpen(Plinth plinth, const char *place, const char *family, const char **reasonReturn)
{
  Size size = 0, own = WordAlignUp(sizeof(PlinthMemoryStruct), memoryALIGN);
  PlinthMemory memory = NULL;
  const char *p;

  UNUSED(family);
  for (p = place; *p >= '0' && *p <= '9' && size < SIZE_MAX / 32; ++p)
    size = size * 10 + (Size)(*p - '0');
  if (*p != '\0' || size == 0) {
    *reasonReturn = "its size is no number of bytes";
    return ResPARAM;
  }
  memory = RawMap(own + WordAlignUp(size, memoryALIGN), memoryALIGN);
  if (memory == NULL) {
    *reasonReturn = "no memory";
    return ResMEMORY;
  }
  memory->base = (char *)memory + own;
  memory->size = size;
  plinth->state = memory;
  (void)strcpy(plinth->place, "memory");
  return ResOK;
}

PlinthMemory PlinthMemoryOf(Plinth plinth)
{
  AVER(plinth->class == &PlinthClassMemory);
  return plinth->state;
}

/* memoryLock -- the lock is its owner's process number: one that fork has copied is nobody's here.  FALSE: a thread has
 * stopped in the middle, or the lock was written over. */
static Bool memoryLock(PlinthMemory memory)
{
  unsigned self = RawPid(), owner = 0, naps = 0;
  long nap[2] = {0, memoryNap};

  while (!__atomic_compare_exchange_n(&memory->lock, &owner, self, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    if (owner == self) {
      owner = 0;
      if (++naps > memoryNaps)
        return FALSE;
      (void)RawCall(SYS_nanosleep, nap, NULL);
    }
  return TRUE;
}

static void memoryUnlock(PlinthMemory memory)
{
  __atomic_store_n(&memory->lock, 0, __ATOMIC_RELEASE);
}

static void memoryDawdle(PlinthMemory memory)
{
  unsigned slow = __atomic_load_n(&memory->slow, __ATOMIC_RELAXED);
  struct timespec time = {slow / 1000000, (long)(slow % 1000000) * 1000};

  if (slow != 0)
    (void)RawCall(SYS_nanosleep, &time, NULL);
}

static Res memorySend(Plinth plinth, const void *message, Size size, const char **reasonReturn)
{
  PlinthMemory memory = PlinthMemoryOf(plinth);
  Res res = ResOK;

  memoryDawdle(memory);
  if (!memoryLock(memory)) {
    *reasonReturn = "another thread has stopped in the middle of sending";
    return ResLIMIT;
  }
  if (__atomic_load_n(&memory->broken, __ATOMIC_RELAXED)) {
    *reasonReturn = "it pretends to be broken";
    res = ResIO;
  } else if (__atomic_load_n(&memory->full, __ATOMIC_RELAXED) || size > memory->size - memory->used) {
    *reasonReturn = "it is full";
    res = ResLIMIT;
  } else {
    memcpy(memory->base + memory->used, message, size);
    memory->used += size;
  }
  memoryUnlock(memory);
  return res;
}

Res PlinthMemoryPost(Plinth plinth, const void *message, Size size)
{
  PlinthMemory memory = PlinthMemoryOf(plinth);
  Res res = ResLIMIT;

  if (!memoryLock(memory))
    return res;
  if (size <= PlinthMemoryMessageMAX && memory->posted - memory->received < PlinthMemoryMessages) {
    Index i = memory->posted++ % PlinthMemoryMessages;
    memcpy(memory->message[i], message, size);
    memory->length[i] = size;
    res = ResOK;
  }
  memoryUnlock(memory);
  return res;
}

static Res memoryReceive(Plinth plinth, void *room, Size size, Size *sizeReturn)
{
  PlinthMemory memory = PlinthMemoryOf(plinth);
  Res res = ResEND;

  if (!memoryLock(memory))
    return res;
  if (memory->received != memory->posted) {
    Index i = memory->received++ % PlinthMemoryMessages;
    *sizeReturn = memory->length[i] < size ? memory->length[i] : size;
    memcpy(room, memory->message[i], *sizeReturn);
    res = ResOK;
  }
  memoryUnlock(memory);
  return res;
}

static void memoryClose(Plinth plinth)
{
  PlinthMemory memory = PlinthMemoryOf(plinth);
  Size own = WordAlignUp(sizeof *memory, memoryALIGN);

  (void)RawCall(SYS_munmap, memory, own + WordAlignUp(memory->size, memoryALIGN));
  plinth->state = NULL;
}

const PlinthClassStruct PlinthClassMemory = {.name = "memory", .open = memoryOpen, .send = memorySend,
                                             .receive = memoryReceive, .close = memoryClose};
