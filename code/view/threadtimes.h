/* threadtimes.h -- what threads did with their time: running, waiting for a processor or for locks, blocked, resizing
 *
 * Times come from samples, which say what has been since a thread's beginning: the collector's, and a last one that
 * the thread tells itself when it ends.  So a view from the log's beginning has a thread's whole life up to its last
 * sample; one that begins later has what was between its first and its last sample, or from its beginning.  Waits come
 * from the pairs of Sync events, and time in the allocator from those of resizes: of other calls the log has one event
 * each, and no duration.
 *
 * Always true (ThreadTimesCheck):
 *   a row is found by its process (pidlives.h) and number;  a field is known if some sample has had it
 *   processors of a row rise, and the events of all, and those of unknown ones, sum up to its events
 *
 * Design: design/view.md .threads      Tests: test/view/threads.t
 */
#ifndef VIEW_THREADTIMES_H
#define VIEW_THREADTIMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "analyse/pidlives.h"
#include "analyse/viewlabels.h"
#include "analyse/views.h"
#include "request/stringtable.h"
#include "request/typecache.h"

/* What a sample has, us. */
typedef enum ThreadField {
  ThreadRUNNING, ThreadUSER, ThreadSYSTEM, ThreadWAITING, ThreadBLOCKED, ThreadDISK, ThreadFIELDS
} ThreadField;

/* What threads wait for.  The first are locks. */
typedef enum ThreadWait {
  ThreadMUTEX, ThreadRWLOCK, ThreadSPIN, ThreadLOCKS, ThreadBARRIER = ThreadLOCKS, ThreadCOND, ThreadSEM, ThreadJOIN,
  ThreadWAITS
} ThreadWait;

extern const char *const ThreadWaitName[ThreadWAITS];

typedef struct ThreadProcessorStruct {
  uint16_t number;
  uint64_t events;
} ThreadProcessorStruct, *ThreadProcessor;

typedef struct ThreadRowStruct {
  uint32_t pid, tid;
  uint32_t name;               /* in `strings`; 0: not known */
  unsigned known;              /* a bit for each field */
  uint64_t samples;
  uint64_t last[ThreadFIELDS]; /* us, as the last sample had it */
  uint64_t total[ThreadFIELDS]; /* us, in the time that is looked at */
  uint64_t sampled;            /* ns of the last sample; */
  Bool ended;                  /* which the thread has told itself, at its end */
  uint64_t began;              /* ns; 0: not known */
  struct {
    uint64_t since, object;    /* ns, and for what, while it waits; 0: it does not */
    LogProcess process;        /* whose object that is */
    uint64_t ns, count;
  } wait[ThreadWAITS];
  uint64_t calls;              /* of the allocator, resizes included, */
  uint64_t resizes, resizing;  /* of which these took so long, ns; */
  uint64_t resizeSince;        /* and it is in one since then, or 0 */
  uint64_t events, lost;       /* its own; and those whose block names no processor */
  Count processors, capacity;
  Index newest;                /* in `processor`: that of the newest event */
  ThreadProcessor processor;   /* owned */
} ThreadRowStruct, *ThreadRow;

/* What a machine did, us, over all its processors. */
typedef enum ThreadMachine {
  ThreadMachineUSER, ThreadMachineSYSTEM, ThreadMachineIDLE, ThreadMachineDISK, ThreadMachineSTOLEN, ThreadMachineTIMES
} ThreadMachine;

enum { ThreadTimesRECENT = 64 };

typedef struct ThreadTimesStruct {
  Log log;
  OfProcess of;
  LogRequestStruct request;
  Count top;
  Bool whole;                  /* from the log's beginning on */
  Bool failed;
  TypeCacheStruct plans;
  ViewLabelsStruct labels;
  PidLivesStruct lives;
  StringsStruct strings, keys; /* names; process and number of each row */
  Count rows, capacity;
  ThreadRow *row;              /* owned, each, by its key's number less one */
  struct {
    LogProcess process;
    ThreadRow row;
  } recent[ThreadTimesRECENT];
  Bool sync, objects;          /* there were such events */
  uint64_t end;                /* ns of the last event */
  uint64_t looks;              /* samples of the machine, of the first that had any; */
  Index collector;             /* who told them, */
  uint32_t processors;
  uint64_t machine[ThreadMachineTIMES], machineFirst[ThreadMachineTIMES];
} ThreadTimesStruct, *ThreadTimes;

/* ThreadElapsed -- us that a row's times sum up to: how long it lived, as far as it is looked at.  0: not known */
static inline uint64_t ThreadElapsed(const ThreadRowStruct *row)
{
  if ((row->known >> ThreadWAITING & 1) == 0)
    return row->ended && row->began != 0 ? (row->sampled - row->began) / 1000 : 0;
  return row->total[ThreadRUNNING] + row->total[ThreadWAITING] + row->total[ThreadBLOCKED];
}

/* ThreadPs -- the share of a thread's life, up to its last sample, that `ps' would say it ran; below 0: not known */
static inline double ThreadPs(const ThreadRowStruct *row)
{
  uint64_t age = row->last[ThreadRUNNING] + row->last[ThreadWAITING] + row->last[ThreadBLOCKED];

  if ((row->known >> ThreadWAITING & 1) == 0 || age == 0)
    return -1;
  return (double)(row->last[ThreadUSER] + row->last[ThreadSYSTEM]) / (double)age;
}

/* ThreadOwn -- a number of a thread's own sample, at its end: the collector's clocks are coarser, and may have been
 * ahead */
static inline uint64_t ThreadOwn(Bool own, uint64_t last, uint64_t word)
{
  return own && word < last ? last : word;
}

/* ThreadGrowth -- by how much a number of a thread's samples has grown: the first counts whole in a view of the `whole`
 * log. One that has fallen is that of another thread with its number, unless it has 32 bits, which wrap. mask  the bits
 * that it has */
static inline uint64_t ThreadGrowth(Bool known, Bool whole, uint64_t last, uint64_t word, uint64_t mask)
{
  if (!known)
    return whole ? word : 0;
  return word >= last || mask != UINT64_MAX ? (word - last) & mask : word;
}

/* ThreadSampleWord -- a number of a sample; FALSE: the system does not say.  `mask` has the bits that it has. */
extern Bool ThreadSampleWord(uint64_t *word, uint64_t *mask, LogEvent event, int param);

/* ThreadWaitOf -- what a type begins or ends to wait for; ThreadWAITS: it tells nothing of waiting */
extern ThreadWait ThreadWaitOf(EventType type, Bool *beginsReturn);

extern Bool ThreadTimesCheck(ThreadTimes times);

/* ThreadTimesText, ThreadTimesJson -- print it, as views do */
extern Bool ThreadTimesText(FILE *out, void *view);
extern Bool ThreadTimesJson(FILE *out, void *view);

#endif /* VIEW_THREADTIMES_H */
