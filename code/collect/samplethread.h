/* samplethread.h -- one thread, as it is sampled
 *
 * Design: design/collector.md .sample      Tests: test/sampletest.c
 */
#ifndef COLLECT_SAMPLETHREAD_H
#define COLLECT_SAMPLETHREAD_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "collect/procfs.h"
#include "collect/teller.h"

/* What was read of a thread.  Times in us. */
typedef struct SampleReadingStruct {
  uint64_t running, waiting; /* SampleUNKNOWN where the system does not measure them */
  uint64_t slices;           /* how often it ran: as long as that is the same, it has done nothing */
  uint64_t user, system, disk, minor, major;
  uint64_t state;            /* a letter; all are of one width, so that there is nothing between them */
} SampleReadingStruct, *SampleReading;

#define SampleUNKNOWN UINT64_MAX

typedef struct SampleThreadStruct {
  uint32_t pid, tid;
  int sched, stat;           /* descriptors, for ProcRead */
  uint64_t start;            /* as its stat has it: another one under its number has another */
  uint64_t birth;            /* when it started, us on the monotonic clock; negative where that clock is younger */
  uint64_t time;             /* of the reading, the same */
  uint64_t blocked;          /* as told last: it never falls */
  Bool told;                 /* the reading is in the log, */
  uint64_t toldTime;         /* as it was then */
  unsigned quiet;            /* readings since its stat was looked at, */
  unsigned asleep;           /* and since it was seen to have run */
  SampleReadingStruct reading;
  char name[ProcNameSIZE];
} SampleThreadStruct, *SampleThread;

/* What holds for all threads. */
typedef struct SampleContextStruct {
  Teller teller;
  Proc proc;
  uint64_t now;              /* us on the monotonic clock, of this round */
  uint64_t uptime;           /* us since the machine's start, the same moment; threads' births count from there */
  Bool delays;               /* the system measures waiting for disks */
} SampleContextStruct, *SampleContext;

/* SampleThreadInit -- a thread of which nothing has been read yet */
extern void SampleThreadInit(SampleThread thread, uint32_t pid, uint32_t tid);

/* SampleThreadRead -- read it, and tell what is new; FALSE: it is gone */
extern Bool SampleThreadRead(SampleThread thread, SampleContext context);

/* SampleThreadLast -- tell the last reading unless that is told, and close the files
 * ended  the thread has; that is told in any case */
extern void SampleThreadLast(SampleThread thread, SampleContext context, Bool ended);

#endif /* COLLECT_SAMPLETHREAD_H */
