/* eventstamp.h -- the time, process and thread of each event as text
 *
 * What events that follow each other have in common is converted once: the seconds of the time, and the numbers of
 * processes and threads.
 *
 * Always true (StampCheck): the lengths are those of texts that lie within their arrays.
 *
 * Design: design/view.md .writer.shared      Tests: test/export/linetest.c, test/export/exportchecktest.c
 */
#ifndef EXPORT_EVENTSTAMP_H
#define EXPORT_EVENTSTAMP_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "export/output.h"
#include "log/log.h"

enum {
  StampTextSIZE = 64, StampWhosMAX = 64, StampNANOS = 1000000000,
  StampMAX = 2 * StampTextSIZE + 9 /* bytes that StampPut may write */
};

/* What a format writes before the time, the process and the thread, behind the thread, and before the processor, which
 * is left out where that is NULL. */
typedef struct StampPartsStruct {
  const char *time, *process, *thread, *end, *cpu;
} StampPartsStruct;

typedef struct StampWhoStruct {
  LogProcess process; /* NULL: of no event */
  uint32_t thread;
  uint32_t length;
  uint16_t cpu;
  char text[StampTextSIZE];
} StampWhoStruct, *StampWho;

typedef struct StampStruct {
  const StampPartsStruct *parts;
  uint64_t start;                  /* ns of wall time from which times are counted */
  uint64_t second;                 /* whose text `seconds` is; UINT64_MAX: that of a time before the start */
  Size secondsLength;
  char seconds[StampTextSIZE];
  StampWhoStruct who[StampWhosMAX]; /* by thread, modulo; the event that came last has the place */
} StampStruct, *Stamp;

/* StampInit -- `parts` must stay; its texts have at most 24 bytes together */
extern void StampInit(Stamp stamp, const StampPartsStruct *parts, uint64_t start);
extern Bool StampCheck(Stamp stamp);

/* StampSeconds, StampWhoMake -- StampPut's slow parts; StampSeconds returns the distance from the start */
extern uint64_t StampSeconds(Stamp stamp, uint64_t time);
extern void StampWhoMake(Stamp stamp, StampWho who, LogEvent event);

/* StampPut -- write the stamp of an event at `p`, where StampMAX bytes are free; returns the place behind it */
static inline char *StampPut(char *p, Stamp stamp, LogEvent event)
{
  uint64_t time = event->time - stamp->start, second = time / StampNANOS;
  StampWho who = &stamp->who[event->thread % StampWhosMAX];

  if (UNLIKELY(second != stamp->second)) {
    time = StampSeconds(stamp, time);
    second = time / StampNANOS;
  }
  if (UNLIKELY(event->thread != who->thread || event->process != who->process || event->cpu != who->cpu))
    StampWhoMake(stamp, who, event);
  memcpy(p, stamp->seconds, sizeof stamp->seconds);
  p = PutNanos(p + stamp->secondsLength, (uint32_t)(time - second * StampNANOS));
  memcpy(p, who->text, sizeof who->text);
  return p + who->length;
}

#endif /* EXPORT_EVENTSTAMP_H */
