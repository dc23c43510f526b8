/* shimstack.c -- the stacks that events of calls carry
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread's last walk is kept in memory that belongs to its place among the threads of the process (ThreadStruct): the
 * next thread with that place takes it over.
 */
#include "malloc/shimstack.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/aver.h"
#include "emit/emitter.h"
#include "emit/modules.h"
#include "malloc/shimdlsym.h"
#include "malloc/shimnext.h"
#include "malloc/shimscope.h"
#include "unwind/loadedmodule.h"
#include "unwind/rowcache.h"
#include "unwind/stacktree.h"
#include "unwind/walk.h"

enum { stackPAGE = 4096, stackNAME = 128 };

static Count stackDepth;       /* 0: no stacks are recorded */
Bool ShimStackRanged;
static Word stackLow, stackLimit; /* the range; both 0: it is a module */
static char stackModule[stackNAME];
static uint64_t stackIdentity; /* of the process whose log was told the frames */
static Bool stackKept;         /* numbers outlive a fork */

/* stackGone -- code was unloaded: nothing that is remembered of it is true for what is mapped there next */
static void stackGone(Word base, Word limit)
{
  if (stackDepth == 0)
    return;
  RowCacheForget();
  StackTreeUnload(base, limit);
  StackWalkForget();
}

static void stackTold(StackNumber node, StackNumber parent, Word at)
{
  void *room;

  ModulesSee(at, stackGone);
  if (ShimStackRanged || ShimNext.depth < 2)
    return; /* the frames are kept, and no event has their numbers */
  room = BufferReserveNeeded(EventStreamDEFINITION, sizeof(EventWWAStruct));
  if (room != NULL)
    EVENT_FILL_WWA(StackFrame, room, (Word)node, (Word)parent, at);
}

Bool ShimStackStart(Count depth)
{
  AVER(depth >= 2 && depth <= (Count)StackDepthMAX);
  AVER(stackDepth == 0);
  if (StackTreeInit(stackTold) != ResOK)
    return FALSE;
  LoadedModuleKeep();
  StackWalkOmit((Word)__ehdr_start, (Word)_end);
  stackDepth = depth;
  return TRUE;
}

/* stackAddresses -- read LO-HI; FALSE: it is none */
static Bool stackAddresses(const char *range)
{
  const char *end;

  range += strncmp(range, "0x", 2) == 0 ? 2 : 0;
  end = range;
  stackLow = (Word)TextNumber(&end, 16);
  if (end == range || *end != '-')
    return FALSE;
  range = end + 1 + (strncmp(end + 1, "0x", 2) == 0 ? 2 : 0);
  end = range;
  stackLimit = (Word)TextNumber(&end, 16);
  return end != range && *end == '\0' && stackLow < stackLimit;
}

Bool ShimStackRange(const char *range)
{
  if (!stackAddresses(range)) {
    stackLow = stackLimit = 0;
    if (range[0] == '\0' || strlen(range) >= sizeof stackModule)
      return FALSE;
    strcpy(stackModule, range);
    ModulesChoose(stackModule);
  }
  ShimStackRanged = TRUE;
  return ShimStackStart(StackDepthMAX);
}

void ShimStackTell(void)
{
  if (stackDepth != 0 && !ShimStackRanged)
    StackTreeTell();
}

void ShimStackKeep(void)
{
  stackKept = TRUE;
}

/* stackOwn -- the numbers are this process's: a child of a fork, also of one that libc knows nothing of, begins anew.
 * If others keep numbers (ShimStackKeep), they stay valid, and the child emits all frames again for its own log. */
static void stackOwn(Emitter emitter)
{
  uint64_t before = __atomic_exchange_n(&stackIdentity, emitter->identity, __ATOMIC_ACQ_REL);

  if (before == emitter->identity || before == 0)
    return;
  ModulesForget();
  if (stackKept) {
    StackTreeTell();
  } else {
    StackTreeForget();
    StackWalkForget();
  }
}

void ShimStackForked(void)
{
  RawMaskStruct mask;
  Emitter emitter;

  ModulesForget();
  if (stackDepth == 0)
    return;
  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL)
    stackOwn(emitter);
  RawEnd(&mask);
}

/* stackWalkMake -- the calling thread's walk, where it has none yet; NULL: there is no memory, or no place for it */
static __attribute__((cold, noinline)) StackWalk stackWalkMake(void)
{
  RawMaskStruct mask;
  Emitter emitter;
  Thread thread = NULL;

  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL) {
    stackOwn(emitter);
    thread = EmitterThreadSelf();
  }
  if (thread != NULL && thread->walk == NULL)
    thread->walk = RawMap(sizeof(StackWalkStruct), stackPAGE);
  if (thread != NULL && thread->walk != NULL) {
    StackWalkInit(thread->walk, stackDepth);
    thread->walkSerial = thread->serial;
  }
  RawEnd(&mask);
  return thread != NULL ? thread->walk : NULL;
}

StackWalk ShimWalk(void)
{
  EventThread self = EventThreadSelf;
  Thread thread = (Thread)(void *)self;

  return LIKELY(self != NULL && self->self == self && thread->walkSerial == thread->serial) ? thread->walk
                                                                                           : stackWalkMake();
}

Word ShimStack(const void *site)
{
  return SHIM_STACK(site);
}

const void *ShimStackFirst(const void *site)
{
  StackWalk walk = ShimWalk();
  Word from = (Word)site - 1, at;
  Index i;

  if (walk == NULL || StackWalkCaller(walk, from) == StackNESTED)
    return NULL;
  for (i = walk->count; i > 0; --i) {
    at = walk->frames[i].at;
    if (stackLimit != 0 ? at - stackLow < stackLimit - stackLow : ModulesChosen(at))
      return (const void *)(at + 1);
  }
  return NULL;
}

void ShimSite(const void *site)
{
  ShimCode((Word)site - 1);
}

void ShimCode(Word at)
{
  ModulesSee(at, stackGone);
}

/* ---- Code that is unloaded ---- */

/* stackUnloads -- how many modules the dynamic linker has unloaded; the same of each module */
static int stackUnloads(struct dl_phdr_info *info, size_t size, void *countReturn)
{
  UNUSED(size);
  *(unsigned long long *)countReturn = info->dlpi_subs;
  return 1;
}

SHIM int dlclose(void *library)
{
  static unsigned long long unloaded;
  static int (*next)(void *);
  unsigned long long count = 0;
  const char *used;
  int result;

  if (UNLIKELY(next == NULL))
    ShimNextSymbol(&next, "dlclose");
  if (next == NULL)
    return -1; /* a program without a dynamic linker has no library to close */
  while ((used = ShimScopeUnkept()) != NULL)
    (void)ShimLibrary(used); /* our pointers lead there */
  result = next(library);
  (void)dl_iterate_phdr(stackUnloads, &count);
  if (__atomic_exchange_n(&unloaded, count, __ATOMIC_RELAXED) != count) {
    /* Also rows of modules of which nothing was told. */
    RowCacheForget();
    StackWalkForget();
    ModulesGone(stackGone);
  }
  return result;
}
