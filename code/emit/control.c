/* control.c -- what is sent, and where to
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/names.h"
#include "base/text.h"
#include "emit/public.h"
#include "emit/send.h"
#include "plinth/quiet.h"

#define controlKINDS (((Word)1 << EventKindLIMIT) - 1)

/* Everything goes to the flight recorder, nothing is sent, until somebody says otherwise. */
Word EventKindControl[EventControlSIZE / sizeof(Word)] __attribute__((aligned(EventControlSIZE))) = {
  controlKINDS << EventKindBUFFER,
};

#if defined(PAWPRINT_LIBRARY)
extern Word EventKindControlHere[EventControlSIZE / sizeof(Word)] __attribute__((alias("EventKindControl")));
#endif

static EventMessageHandler controlHandler;
static uint32_t controlChosen = controlKINDS; /* what is sent as soon as there is a way out */

/* ControlJoin -- an executable that names EventKindControl may have a copy of it, which debuggers and the program
 * see: then map the same memory in both places.  In the child of a fork, again: it is not to share its parent's. */
void ControlJoin(void)
{
#if defined(PAWPRINT_LIBRARY)
  Word *volatile theirs = EventKindControl;
  Word first = EventKindControlHere[0], clock = EventKindControlHere[EventControlCLOCK];

  if (theirs == EventKindControlHere)
    return;
  if (QuietMapAt(theirs, EventControlSIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1) == NULL)
    return;
  theirs[0] = first;
  theirs[EventControlCLOCK] = clock;
  (void)QuietCall(SYS_mremap, theirs, 0, EventControlSIZE, MREMAP_MAYMOVE | MREMAP_FIXED, EventKindControlHere);
#endif
}

/* controlMask -- the kinds that a list names, or ResPARAM, told */
static Res controlMask(uint32_t *maskReturn, const char *list, uint32_t standard, const char *place)
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

/* controlSet -- these kinds are sent (`first` 0) or kept by the flight recorder (EventKindBUFFER), the others not */
static void controlSet(uint32_t mask, unsigned first)
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
    if (ProcessPlinths[i].class == NULL) {
      reason = NULL;
      res = PlinthOpen(&ProcessPlinths[i], where, family, &reason);
    }
  if (res != ResOK)
    QuietSay("cannot open the log", where, reason);
  return res;
}

const char *ControlVariable(const char *name, char *room, Size size)
{
  return QuietEnvironment(name, room, size);
}

void ControlFromEnvironment(void)
{
  char room[3][1024];
  const char *log = QuietEnvironment("PAWPRINT_LOG", room[0], sizeof room[0]);
  const char *kinds = QuietEnvironment("PAWPRINT_KINDS", room[1], sizeof room[1]);
  const char *buffer = QuietEnvironment("PAWPRINT_BUFFER", room[2], sizeof room[2]);
  const char *raw;
  uint32_t buffered;

  if (kinds != NULL && controlMask(&controlChosen, kinds, controlKINDS, "PAWPRINT_KINDS") != ResOK)
    return;
  /* Who chooses kinds wants the others to cost nothing: they are not kept either, unless that is asked for. */
  buffered = controlChosen;
  if (buffer == NULL || controlMask(&buffered, buffer, controlKINDS, "PAWPRINT_BUFFER") == ResOK)
    controlSet(buffered, EventKindBUFFER);
  raw = QuietEnvironment("PAWPRINT_RAW", room[2], sizeof room[2]);
  SendSetRaw(raw != NULL && strcmp(raw, "1") == 0);
  if (log == NULL || log[0] == '\0')
    return;
  if (controlOpen(log, QuietEnvironment("PAWPRINT_FAMILY", room[1], sizeof room[1])) == ResOK)
    controlSet(controlChosen, 0);
}

void ControlFamily(void)
{
  char room[48];
  TextStruct text;

  /* Absolute: the same place, also for those who start in another folder. */
  if (ProcessPlinths[0].class == &PlinthClassUnix)
    (void)setenv("PAWPRINT_LOG", ProcessPlinths[0].place, 1);
  if (ProcessPlinths[0].class != &PlinthClassFile)
    return;
  TextInit(&text, room, sizeof room);
  TextDecimal(&text, ProcessPlinths[0].device);
  TextChar(&text, ':');
  TextDecimal(&text, ProcessPlinths[0].inode);
  (void)setenv("PAWPRINT_FAMILY", TextTerminate(&text), 1);
  (void)setenv("PAWPRINT_LOG", ProcessPlinths[0].place, 1);
}

EVENT_API int EventControlKinds(const char *list)
{
  uint32_t mask;

  if (controlMask(&mask, list, (uint32_t)(EVENT_CONTROL[0] & controlKINDS), "EventControlKinds") != ResOK)
    return -1;
  controlSet(mask, 0);
  return 0;
}

EVENT_API int EventBufferKinds(const char *list)
{
  uint32_t mask;

  if (controlMask(&mask, list, (uint32_t)(EVENT_CONTROL[0] >> EventKindBUFFER & controlKINDS), "EventBufferKinds") !=
      ResOK)
    return -1;
  controlSet(mask, EventKindBUFFER);
  return 0;
}

EVENT_API int EventLogOpen(const char *where)
{
  QuietMaskStruct mask;
  int error = errno;
  Process process;
  Bool first;
  Res res = ResMEMORY;

  QuietBegin(&mask);
  process = ProcessGet();
  if (process != NULL) {
    ProcessLock(process);
    first = !ProcessSends();
    res = controlOpen(where, NULL);
    ProcessUnlock(process);
    if (res == ResOK) {
      ProcessShare(process);
      /* What was switched on or off by hand before stays so. */
      if (first && (EVENT_CONTROL[0] & controlKINDS) == 0)
        controlSet(controlChosen, 0);
      else if (!first)
        (void)SendHeader(process);
    }
  }
  QuietEnd(&mask);
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

  for (i = 0; i < process->threads; ++i) {
    Thread thread = ProcessThread(process, i);
    if (thread == self)
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
  if (process != NULL && ProcessSends())
    controlFlush(process);
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
    while (ProcessPlinths[i].class != NULL &&
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

EVENT_API void EventEnd(void)
{
  ProcessEnd();
}
