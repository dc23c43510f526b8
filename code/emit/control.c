/* control.c -- which events are sent, and to where
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <string.h>

#include "emit/selfdrain.h"
#include "emit/send.h"
#include "emit/statedump.h"
#include "emit/pawprint.h" /* behind event.h, which has the kinds */
#include "handover/handover.h"

static EventMessageHandler controlHandler;

EVENT_API int EventControlKinds(const char *list)
{
  uint32_t old = (uint32_t)(EVENT_CONTROL[0] & EVENT_KINDS), mask;

  if (ControlMask(&mask, list, old, "EventControlKinds") != ResOK)
    return -1;
  ControlSet(mask, 0);
  /* Objects changed while their kinds were off; before there is a way out no log has their events. */
  if ((mask & ~old) != 0 && EmitterIfReady() != NULL && EmitterSends())
    StateDumpAsk();
  return 0;
}

EVENT_API int EventBufferKinds(const char *list)
{
  uint32_t mask;

  if (ControlMask(&mask, list, (uint32_t)(EVENT_CONTROL[0] >> EventKindBUFFER & EVENT_KINDS), "EventBufferKinds") !=
      ResOK)
    return -1;
  ControlSet(mask, EventKindBUFFER);
  return 0;
}

EVENT_API int EventLogOpen(const char *where)
{
  RawMaskStruct mask;
  Emitter emitter;
  Bool first, had;
  Res res = ResMEMORY;

  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL && EmitterLock(emitter)) {
    first = !EmitterSends();
    had = EmitterRegion(emitter) != NULL;
    res = ControlOpen(emitter, where, NULL, emitter->serials > 0);
    EmitterUnlock(emitter);
    if (res == ResOK) {
      /* The region may be older than the log: its header learns the log's name. */
      if (had && EmitterRegion(emitter)->log[0] == '\0' && strlen(EmitterLog()) < sizeof EmitterRegion(emitter)->log)
        (void)strcpy(EmitterRegion(emitter)->log, EmitterLog());
      EmitterShare(emitter);
      /* Kinds that were switched by hand before stay so. */
      if (first && (EVENT_CONTROL[0] & EVENT_KINDS) == 0)
        ControlSet(ControlSettings.chosen, 0);
      if (!first || had || emitter->regionless)
        (void)SendHeader(emitter);
    }
  } else if (emitter != NULL) {
    RawSay("cannot open the log", where,
           "another thread, which a debugger may have stopped, is opening or closing one");
  }
  RawEnd(&mask);
  /* This log has no earlier events: begin with a state dump. */
  if (res == ResOK)
    StateDumpWait();
  return res == ResOK ? 0 : -1;
}

/* controlFlushRetired -- the flight recorder of a thread that has ended; a new thread may be about to get its place */
static void controlFlushRetired(Emitter emitter, Thread thread)
{
  if (!EmitterLock(emitter))
    return;
  if (thread->state == ThreadRETIRED)
    ThreadFlush(emitter, thread, TRUE, TRUE);
  EmitterUnlock(emitter);
}

/* controlFlush -- for all threads; signals are blocked */
static void controlFlush(Emitter emitter)
{
  Thread self = EmitterThreadSelf();
  Index i;

  /* The collector sees all blocks, ours too. */
  if (EmitterCollected(emitter) && HandoverFlush(emitter) && !EmitterOpen())
    return;
  if (self != NULL && !self->inside)
    ThreadFlush(emitter, self, TRUE, FALSE);
  for (i = 0; i < emitter->threads; ++i)
    if (__atomic_load_n(&EmitterThread(emitter, i)->state, __ATOMIC_ACQUIRE) == ThreadRETIRED)
      controlFlushRetired(emitter, EmitterThread(emitter, i));
  if (!EmitterCollected(emitter))
    (void)SelfDrainAll(emitter, SelfDrainHURRY);
  (void)SelfDrainSnapshot(emitter, SelfDrainUNSENT);
}

EVENT_API void EventFlush(void)
{
  RawMaskStruct mask;
  Emitter emitter;

  RawBegin(&mask);
  emitter = EmitterGet();
  if (emitter != NULL && EmitterSends()) {
    HandoverPoll(emitter);
    controlFlush(emitter);
  }
  RawEnd(&mask);
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

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    while (PlinthClassOf(&EmitterPlinths[i]) != NULL &&
           PlinthReceive(&EmitterPlinths[i], message, sizeof message - 1, &size) == ResOK)
      controlObey(message, size);
}

EVENT_API EventMessageHandler EventMessageHandlerSet(EventMessageHandler handler)
{
  return __atomic_exchange_n(&controlHandler, handler, __ATOMIC_ACQ_REL);
}

EVENT_API void EventMessagePoll(void)
{
  RawMaskStruct mask;

  RawBegin(&mask);
  controlReceive();
  RawEnd(&mask);
}

/* controlAttend -- do what others have asked for, if they have.  Signals are blocked, nothing is locked. */
static void controlAttend(void)
{
  Emitter emitter;
  RegionHeader region;
  uint32_t asked;

  if (LIKELY(!EVENT_ATTEND))
    return;
  (void)__atomic_fetch_and(&EVENT_CONTROL[EventControlCLOCK], ~(Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  emitter = EmitterGet();
  region = emitter != NULL ? EmitterRegion(emitter) : NULL;
  asked = region != NULL ? __atomic_load_n(&region->hand.attention, __ATOMIC_ACQUIRE) : 0;
  asked &= RegionAskSTATE | RegionAskHEADER | (asked != 0 && RegionCollected(region) ? 0 : RegionAskFLUSH);
  if (asked != 0)
    (void)__atomic_fetch_and(&region->hand.attention, ~asked, __ATOMIC_SEQ_CST);
  if ((asked & RegionAskSTATE) != 0)
    StateDumpAsk();
  if (!StateDumpAttend())
    (void)__atomic_fetch_or(&EVENT_CONTROL[EventControlCLOCK], (Word)EventControlATTEND, __ATOMIC_SEQ_CST);
  if ((asked & RegionAskHEADER) != 0)
    (void)SendHeader(emitter);
  if ((asked & RegionAskFLUSH) != 0 && EmitterSends())
    controlFlush(emitter);
}

const BufferAboveStruct BufferAbove = {controlAttend, controlReceive};

EVENT_API void EventEnd(void)
{
  EmitterEnd();
}
