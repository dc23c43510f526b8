/* predict.h -- what the whole program would take with another allocator: its processor time, its resident peak
 *
 * In:  what the program itself took, by the collector's samples (PredictEvent), and what the replays took (measure.h)
 * Out: for each allocator a range of each; and which allocators differ, where the ranges say so
 *
 * Where the program was run once more, unrecorded (eventrec --baseline), that run says what it took.
 *
 * A replay does only what the program did to its heap.  So its own numbers are not those of the program, but the
 * difference between two of its allocators is nearly that between two runs of the program: to what the program took a
 * prediction adds the difference between the allocator and the one that the program had when it was recorded.
 *
 * Design: design/replayer.md .predict      Tests: test/replay/measuretest.c, test/replay/replay.t
 */
#ifndef REPLAY_PREDICT_H
#define REPLAY_PREDICT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "replay/measure.h"
#include "replay/script.h"
#include "request/typecache.h"

/* What the program took when it was recorded. */
typedef struct PredictStruct {
  LogProcess process;      /* of which samples count; NULL: none */
  uint64_t from, to;       /* ns: samples of its number before are those of what it was before an exec, and from `to` on
                              those of what it has become */
  Bool shared;             /* there are such */
  double before;           /* seconds of processor time that it had before */
  TypeCacheStruct types;
  Bool known;              /* there was a sample */
  double cpu;              /* seconds of processor time, until the last sample */
  double peak;             /* resident bytes, at most, without the recording's */
  Bool family;             /* it has started other processes */
  double alone;            /* seconds of processor time of the second run, unrecorded (ProcessBaseline); 0: not
                              known, as of one with a family, whose time is in it */
  double alonePeak;        /* resident bytes at most, of the same; 0: not known */
  uint64_t region;         /* those, as told last */
  uint64_t operations;     /* that it recorded: each took time */
  uint64_t missing;        /* events of it that were recorded, or would have been, and are not in the log */
  uint64_t unknown;        /* bytes of large objects of which it is not known how much it touched */
  Bool threads;            /* several of its threads allocate */
  const char *stranger;    /* why it is not known which allocator it had; NULL: it is */
} PredictStruct, *Predict;

extern void PredictInit(Predict predict);
extern void PredictFinish(Predict predict);

/* PredictBegin -- from now on samples of this process of the log count
 * PredictWants -- does PredictEvent learn from an event of this type?
 * PredictEvent -- one event, of any process; the resident bytes of the process that it tells, without the
 * recording's, if it is a sample; else 0
 * PredictRecorded -- all events have come, and the script of them is finished: the name of the allocator that the
 * numbers are of, as AllocatorParse takes it; libc's also where that is not known, and nothing can be said */
extern void PredictBegin(Predict predict, Log log, LogProcess process);
extern Bool PredictWants(EventType type);
extern uint64_t PredictEvent(Predict predict, LogEvent event);
extern const char *PredictRecorded(Predict predict, Script script);

/* PredictPossible -- can anything be said?  NULL: yes; else why not, in words.
 * PredictKnows -- if so, of this allocator, which has run?  NULL, or why not. */
extern const char *PredictPossible(const PredictStruct *predict, const MeasureStruct *measure);
extern const char *PredictKnows(const PredictStruct *predict, const MeasureStruct *measure, Index allocator);

/* PredictShare -- which part of the program's processor time allocation takes with the allocator that it had, from 0 to
 * 1; 0: not known */
extern MeasureRangeStruct PredictShare(const PredictStruct *predict, const MeasureStruct *measure);

/* PredictCpu, PredictPeak -- what the program would take with this allocator, of which PredictKnows: seconds of
 * processor time, resident bytes
 * PredictFaster -- of two allocators, does the first take less processor time?  FALSE also where that cannot be told.
 */
extern MeasureRangeStruct PredictCpu(const PredictStruct *predict, const MeasureStruct *measure, Index allocator);
extern MeasureRangeStruct PredictPeak(const PredictStruct *predict, const MeasureStruct *measure, Index allocator);
extern Bool PredictFaster(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that);
extern Bool PredictSmaller(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that);

#endif /* REPLAY_PREDICT_H */
