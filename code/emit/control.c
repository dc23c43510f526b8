/* control.c -- what is sent, and where to
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "emit/public.h"
#include "emit/selfdrain.h"
#include "emit/send.h"
#include "emit/statedump.h"
#include "handover/handover.h"
#include "plinth/rawsyscall.h"

#define controlKINDS (((Word)1 << EventKindLIMIT) - 1)

static EventMessageHandler controlHandler;

EVENT_API int EventControlKinds(const char *list)
{
  uint32_t old = (uint32_t)(EVENT_CONTROL[0] & controlKINDS), mask;

  if (ControlMask(&mask, list, old, "EventControlKinds") != ResOK)
    return -1;
  ControlSet(mask, 0);
  /* What was not told until now changed meanwhile; before there is a way out nobody was told anything. */
  if ((mask & ~old) != 0 && ProcessIfReady() != NULL && ProcessSends())
    StateDumpAsk();
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
  RawMaskStruct mask;
  int error = errno;
  Process process;
  Bool first, had;
  Res res = ResMEMORY;

  RawBegin(&mask);
  process = ProcessGet();
  if (process != NULL && ProcessLock(process)) {
    first = !ProcessSends();
    had = ProcessRegion(process) != NULL;
    res = ControlOpen(process, where, NULL, process->serials > 0);
    ProcessUnlock(process);
    if (res == ResOK) {
      controlRegionLog(process);
      ProcessShare(process);
      /* What was switched on or off by hand before stays so. */
      if (first && (EVENT_CONTROL[0] & controlKINDS) == 0)
        ControlSet(ControlSettings.chosen, 0);
      if (!first || had || process->regionless)
        (void)SendHeader(process);
    }
  } else if (process != NULL) {
    RawSay("cannot open the log", where, "another thread, which a debugger may have stopped, is opening or closing one");
  }
  RawEnd(&mask);
  /* What has been is not in this log: so what is comes first. */
  if (res == ResOK)
    StateDumpWait();
  errno = error;
  return res == ResOK ? 0 : -1;
}

/* controlFlushRetired -- the flight recorder of a thread that has ended; a new thread may be about to get its place */
static void controlFlushRetired(Process process, Thread thread)
{
  if (!ProcessLock(process))
    return;
  if (thread->state == ThreadRETIRED)
    ThreadFlush(process, thread, TRUE, TRUE);
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
  if (self != NULL && !self->inside)
    ThreadFlush(process, self, TRUE, FALSE);
  for (i = 0; i < process->threads; ++i)
    if (__atomic_load_n(&ProcessThread(process, i)->state, __ATOMIC_ACQUIRE) == ThreadRETIRED)
      controlFlushRetired(process, ProcessThread(process, i));
  if (!ProcessCollected(process))
    (void)SelfDrainAll(process, SelfDrainHURRY);
  (void)SelfDrainSnapshot(process, SelfDrainUNSENT);
}

EVENT_API void EventFlush(void)
{
  RawMaskStruct mask;
  int error = errno;
  Process process;

  RawBegin(&mask);
  process = ProcessGet();
  if (process != NULL && ProcessSends()) {
    HandCheck(process);
    controlFlush(process);
  }
  RawEnd(&mask);
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
    RawSay("message", message, "not understood: \"kinds LIST\" and \"flush\" are");
}

/* controlReceive -- obey the messages that the plinths have brought */
static void controlReceive(void)
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
  RawMaskStruct mask;
  int error = errno;

  RawBegin(&mask);
  controlReceive();
  RawEnd(&mask);
  errno = error;
}

/* controlAttend -- do what others have asked for, if they have.  Signals are blocked, nothing is locked. */
static void controlAttend(void)
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
    StateDumpAsk();
  }
  if (!StateDumpAttend())
    (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  if ((asked & RegionAskHEADER) != 0) {
    (void)__atomic_fetch_and(&region->hand.attention, ~(uint32_t)RegionAskHEADER, __ATOMIC_SEQ_CST);
    (void)SendHeader(process);
  }
  if ((asked & RegionAskFLUSH) != 0 && !RegionCollected(region)) {
    (void)__atomic_fetch_and(&region->hand.attention, ~(uint32_t)RegionAskFLUSH, __ATOMIC_SEQ_CST);
    if (ProcessSends())
      controlFlush(process);
  }
}

const BufferAboveStruct BufferAbove = {controlAttend, controlReceive};

EVENT_API void EventEnd(void)
{
  ProcessEnd();
}
