/* eventstamp.c -- the time, process and thread of each event as text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/eventstamp.h"

#include "base/aver.h"

void StampInit(Stamp stamp, const StampPartsStruct *parts, uint64_t start)
{
  memset(stamp, 0, sizeof *stamp);
  stamp->parts = parts;
  stamp->start = start;
  (void)StampSeconds(stamp, 0);
  AVER(StampCheck(stamp));
}

Bool StampCheck(Stamp stamp)
{
  Index i;

  for (i = 0; i < StampWhosMAX; ++i)
    if (stamp->who[i].length > StampTextSIZE || (stamp->who[i].process == NULL) != (stamp->who[i].length == 0))
      return FALSE;
  return stamp->secondsLength > 0 && stamp->secondsLength <= StampTextSIZE;
}

/* A log that is followed may bring events that are earlier than the first one. */
__attribute__((noinline)) uint64_t StampSeconds(Stamp stamp, uint64_t time)
{
  Bool before = time >> 63 != 0;
  TextStruct text;

  if (before)
    time = 0 - time;
  TextInit(&text, stamp->seconds, sizeof stamp->seconds);
  TextString(&text, stamp->parts->time);
  TextString(&text, before ? "-" : "");
  TextDecimal(&text, time / StampNANOS);
  TextChar(&text, '.');
  AVER(!text.overflow);
  stamp->secondsLength = TextLength(&text);
  stamp->second = before ? UINT64_MAX : time / StampNANOS;
  return time;
}

__attribute__((noinline)) void StampWhoMake(Stamp stamp, StampWho who, LogEvent event)
{
  const StampPartsStruct *parts = stamp->parts;
  TextStruct text;

  TextInit(&text, who->text, sizeof who->text);
  TextString(&text, parts->process);
  TextDecimal(&text, event->process->header.pid);
  TextString(&text, parts->thread);
  TextDecimal(&text, event->thread);
  if (parts->cpu != NULL && event->cpu != LogCpuUNKNOWN) {
    TextString(&text, parts->cpu);
    TextDecimal(&text, event->cpu);
  }
  TextString(&text, parts->end);
  AVER(!text.overflow);
  who->length = (uint32_t)TextLength(&text);
  who->process = event->process;
  who->thread = event->thread;
  who->cpu = event->cpu;
}
