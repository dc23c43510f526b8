/* control.c -- what is sent, and where to
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/names.h"
#include "base/text.h"
#include "emit/hand.h"
#include "emit/public.h"
#include "emit/send.h"
#include "emit/state.h"
#include "plinth/quiet.h"

_Static_assert((unsigned)RegionControlBUFFER == EventKindBUFFER &&
                   (unsigned)RegionControlATTENTION == EventControlCLOCK &&
                   (unsigned)RegionControlATTEND == EventControlATTEND,
               "the table is what others take it for");

#define controlKINDS (((Word)1 << EventKindLIMIT) - 1)

/* Every kind that is not off goes to the flight recorder, nothing is sent, until somebody says otherwise. */
Word EventKindControl[EventControlSIZE / sizeof(Word)] __attribute__((aligned(EventControlSIZE))) = {
  (Word)EventKindsDEFAULT << EventKindBUFFER,
};

#if defined(PAWPRINT_LIBRARY)
extern Word EventKindControlHere[EventControlSIZE / sizeof(Word)] __attribute__((alias("EventKindControl")));
#endif

static EventMessageHandler controlHandler;
static Bool controlShared; /* the table is in memory that a child of fork shares with us */

/* controlFill -- let a page say what the table says */
static void controlFill(Word *page)
{
  __atomic_store_n(&page[0], __atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&page[EventControlCLOCK], __atomic_load_n(&EVENT_CONTROL[EventControlCLOCK], __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
}

/* controlMap -- map `fd`, whose page says what the table says, or memory of our own, over the table: in both places,
 * where the program has a copy of it */
static void controlMap(int fd, long offset)
{
  int flags = MAP_FIXED | MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
  Word *here = EVENT_CONTROL, *volatile theirs = EventKindControl;
  Word first = __atomic_load_n(&here[0], __ATOMIC_RELAXED),
       clock = __atomic_load_n(&here[EventControlCLOCK], __ATOMIC_RELAXED);

  if (QuietMapFrom(here, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset) == NULL)
    return;
  if (fd < 0) {
    __atomic_store_n(&here[0], first, __ATOMIC_RELAXED);
    __atomic_store_n(&here[EventControlCLOCK], clock, __ATOMIC_RELAXED);
  }
  /* No more of the same pages by mremap: that fails where the file's lock is to stay with one mapping alone. */
  if (theirs == here)
    return;
  if (fd >= 0)
    (void)QuietMapFrom(theirs, EventControlSIZE, PROT_READ | PROT_WRITE, flags, fd, offset);
  else
    (void)QuietCall(SYS_mremap, here, 0, EventControlSIZE, MREMAP_MAYMOVE | MREMAP_FIXED, theirs);
}

void ControlJoin(void)
{
  Word *volatile theirs = EventKindControl;

  /* In the child of a fork the table is its parent's, if that was shared. */
  if (controlShared || theirs != EVENT_CONTROL)
    controlMap(-1, 0);
  controlShared = theirs != EVENT_CONTROL;
}

void ControlShare(int fd, RegionHeader region)
{
  char path[32];
  TextStruct text;
  long own;

  /* First: other threads read the table all the time. */
  controlFill((Word *)(void *)((char *)region + RegionCONTROL));
  TextInit(&text, path, sizeof path);
  TextString(&text, "/proc/self/fd/");
  TextDecimal(&text, (uint64_t)fd);
  own = QuietCall(SYS_openat, AT_FDCWD, TextTerminate(&text), O_RDWR | O_CLOEXEC);
  controlMap(own >= 0 ? (int)own : fd, RegionCONTROL);
  controlShared = TRUE;
  if (own >= 0)
    (void)QuietCall(SYS_close, own);
}

Res ControlMask(uint32_t *maskReturn, const char *list, uint32_t standard, const char *place)
{
  const char *names[EventKindLIMIT];
  Registry registry = SendRegistry();
  char room[256];
  TextStruct error;
  Res res;
  Index i;

  for (i = 0; i < EventKindLIMIT; ++i)
    names[i] = registry->kind[i];
  TextInit(&error, room, sizeof room);
  res = NamesMask(maskReturn, list, names, EventKindLIMIT, standard, "kind", &error);
  if (res != ResOK)
    QuietSay("kinds", place, TextTerminate(&error));
  return res;
}

void ControlSet(uint32_t mask, unsigned first)
{
  Word old = __atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED);

  while (!__atomic_compare_exchange_n(&EVENT_CONTROL[0], &old,
                                      (old & ~(controlKINDS << first)) | (mask & controlKINDS) << first, FALSE,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
}

/* controlOpen -- one more way out.  ResPARAM and others: told. */
static Res controlOpen(const char *where, const char *family)
{
  static const char *const full = "as many logs as there can be are open";
  const char *reason = full;
  Res res = ResLIMIT;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX && reason == full; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) == NULL) {
      reason = NULL;
      res = PlinthOpen(&ProcessPlinths[i], where, family, &reason);
    }
  if (res != ResOK)
    QuietSay("cannot open the log", where, reason);
  return res;
}

void ControlStart(void)
{
  ControlSet(ControlSettings.chosen, 0);
}

void ControlStop(void)
{
  ControlSet(0, 0);
}

void ControlOpenLog(void)
{
  Control settings = &ControlSettings;

  (void)controlOpen(settings->log, settings->family[0] != '\0' ? settings->family : NULL);
  settings->log[0] = '\0';
}

EVENT_API int EventControlKinds(const char *list)
{
  uint32_t mask;

  if (ControlMask(&mask, list, (uint32_t)(EVENT_CONTROL[0] & controlKINDS), "EventControlKinds") != ResOK)
    return -1;
  ControlSet(mask, 0);
  return 0;
}

EVENT_API int EventBufferKinds(const char *list)
{
  uint32_t mask;

  if (ControlMask(&mask, list, (uint32_t)(EVENT_CONTROL[0] >> EventKindBUFFER & controlKINDS), "EventBufferKinds") !=
      ResOK)
    return -1;
  ControlSet(mask, EventKindBUFFER);
  return 0;
}

/* controlRegionLog -- a region that was there before its log learns of it */
static void controlRegionLog(Process process)
{
  RegionHeader region = ProcessRegion(process);

  if (region != NULL && region->log[0] == '\0' && strlen(ProcessLog()) < sizeof region->log)
    (void)strcpy(region->log, ProcessLog());
}

EVENT_API int EventLogOpen(const char *where)
{
  QuietMaskStruct mask;
  int error = errno;
  Process process;
  Bool first, had;
  Res res = ResMEMORY;

  QuietBegin(&mask);
  process = ProcessGet();
  if (process != NULL) {
    ProcessLock(process);
    first = !ProcessSends();
    had = ProcessRegion(process) != NULL;
    res = controlOpen(where, NULL);
    ProcessUnlock(process);
    if (res == ResOK) {
      controlRegionLog(process);
      ProcessShare(process);
      /* What was switched on or off by hand before stays so. */
      if (first && (EVENT_CONTROL[0] & controlKINDS) == 0)
        ControlSet(ControlSettings.chosen, 0);
      if (!first || had)
        (void)SendHeader(process);
    }
  }
  QuietEnd(&mask);
  /* What has been is not in this log: so what is comes first. */
  if (res == ResOK)
    StateWait();
  errno = error;
  return res == ResOK ? 0 : -1;
}

/* controlFlushRetired -- the flight recorder of a thread that has ended; a new thread may be about to get its place */
static void controlFlushRetired(Process process, Thread thread)
{
  ProcessLock(process);
  if (thread->state == ThreadRETIRED)
    ThreadFlush(thread, TRUE, TRUE);
  ProcessUnlock(process);
}

/* controlFlush -- for all threads; signals are blocked */
static void controlFlush(Process process)
{
  Thread self = ProcessThreadSelf();
  Index i;

  /* The collector sees all blocks, ours too. */
  if (ProcessCollected(process) && HandFlush(process) && !ProcessOpen())
    return;
  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (thread == self && !thread->inside)
      ThreadFlush(thread, TRUE, FALSE);
    else if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == ThreadLIVE)
      ThreadSnapshot(thread, TRUE);
    else
      controlFlushRetired(process, thread);
  }
}

EVENT_API void EventFlush(void)
{
  QuietMaskStruct mask;
  int error = errno;
  Process process;

  QuietBegin(&mask);
  process = ProcessGet();
  if (process != NULL && ProcessSends()) {
    HandCheck(process);
    controlFlush(process);
  }
  QuietEnd(&mask);
  errno = error;
}

/* controlObey -- one message */
static void controlObey(char *message, Size size)
{
  EventMessageHandler handler = __atomic_load_n(&controlHandler, __ATOMIC_ACQUIRE);

  if (handler != NULL && handler(message, size) != 0)
    return;
  message[size] = '\0';
  if (strcmp(message, "flush") == 0)
    EventFlush();
  else if (strncmp(message, "kinds ", 6) == 0)
    (void)EventControlKinds(message + 6);
  else
    QuietSay("message", message, "not understood: \"kinds LIST\" and \"flush\" are");
}

void ControlReceive(void)
{
  char message[257];
  Size size;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    while (PlinthClassOf(&ProcessPlinths[i]) != NULL &&
           PlinthReceive(&ProcessPlinths[i], message, sizeof message - 1, &size) == ResOK)
      controlObey(message, size);
}

EVENT_API EventMessageHandler EventMessageHandlerSet(EventMessageHandler handler)
{
  return __atomic_exchange_n(&controlHandler, handler, __ATOMIC_ACQ_REL);
}

EVENT_API void EventMessagePoll(void)
{
  QuietMaskStruct mask;
  int error = errno;

  QuietBegin(&mask);
  ControlReceive();
  QuietEnd(&mask);
  errno = error;
}

EVENT_API uint64_t EventClockElse(void)
{
  return EVENT_ATTEND ? UINT64_MAX : EventClock(TRUE);
}

void ControlAttend(void)
{
  Process process;
  RegionHeader region;
  uint32_t asked;

  if (LIKELY(!EVENT_ATTEND))
    return;
  (void)__atomic_fetch_and(&EVENT_CONTROL[EventControlCLOCK], ~(Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  process = ProcessGet();
  region = process != NULL ? ProcessRegion(process) : NULL;
  asked = region != NULL ? __atomic_load_n(&region->hand.attention, __ATOMIC_ACQUIRE) : 0;
  if ((asked & RegionAskSTATE) != 0) {
    (void)__atomic_fetch_and(&region->hand.attention, ~(uint32_t)RegionAskSTATE, __ATOMIC_SEQ_CST);
    StateAsk();
  }
  if (!StateAttend())
    (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  if ((asked & RegionAskFLUSH) != 0 && !RegionCollected(region)) {
    (void)__atomic_fetch_and(&region->hand.attention, ~(uint32_t)RegionAskFLUSH, __ATOMIC_SEQ_CST);
    if (ProcessSends())
      controlFlush(process);
  }
}

EVENT_API void EventEnd(void)
{
  ProcessEnd();
}
