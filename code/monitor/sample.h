/* sample.h -- samples of the family's threads: at intervals, what /proc shows of them, as events
 *
 * For each thread: time in user and system mode, time waiting for a processor, time blocked, and for the disk of that,
 * page faults, state, and its name when it is new or changed; for each process its memory; for the machine its times.
 * There is no sample of a thread or process that has done nothing since its last one; but the first and the last sample
 * of a thread are always emitted.
 *
 * Always true (SampleCheck): the threads of a process are in order of their numbers;  `threads` is the sum of those of
 * all members, and at most SampleThreadsMAX;  ProcCheck holds.
 *
 * Design: design/collector.md .sample      Tests: test/monitor/sampletest.c
 */
#ifndef MONITOR_SAMPLE_H
#define MONITOR_SAMPLE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "monitor/procfs.h"
#include "monitor/selfevents.h"
#include "monitor/tree.h"

typedef struct SampleStruct *Sample;

enum {
  SampleINTERVAL = 100,    /* ms between two samples, by default */
  SampleSHARE = 50,        /* sampling takes at most 1/50 of the time: the interval grows if need be */
  SampleRELIST = 5,        /* rounds between two listings of a process's threads while their number is the same */
  SampleMANY = 64,         /* in a process with more threads than this */
  SampleASLEEP = 10,       /* a thread that slept through this many rounds */
  SampleSELDOM = 8,        /* is looked at only once in this many rounds */
  SampleThreadsMAX = 1 << 17, /* threads of the family that are sampled */
  SampleKEEP = 256         /* descriptors that stay open: a good number for ProcInit */
};

/* SampleCreate -- sample the members of `tree`
 *
 * self, proc, tree  the caller's, and stay; the sampler calls TreeSetGone
 * interval          ms; 0: no samples, the tree is only polled
 * errors            ResMEMORY */
extern Res SampleCreate(Sample *sampleReturn, SelfEvents self, Proc proc, Tree tree, unsigned interval);

/* SampleRegions -- how many bytes of a process's memory are regions of the recording; 0: not known, or not any more
 * SampleSetRegions -- call that with `data` before each sample of a process, and emit what it says (ProcessRegion) */
typedef uint64_t (*SampleRegions)(void *data, uint32_t pid);
extern void SampleSetRegions(Sample sample, SampleRegions regions, void *data);

/* SampleDestroy -- emit the last samples of all; to be called before TreeDestroy */
extern void SampleDestroy(Sample sample);
extern Bool SampleCheck(Sample sample);

/* SamplePoll -- poll the tree, and take samples, if either is due
 *
 * now      CLOCK_MONOTONIC, ns
 * returns  ns after which it should be called again
 * cost     for a thread that sleeps 1 to 3 us; for one that runs 5 */
extern uint64_t SamplePoll(Sample sample, uint64_t now);

#endif /* MONITOR_SAMPLE_H */
