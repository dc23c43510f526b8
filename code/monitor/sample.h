/* sample.h -- what the system says of the family's threads, told at intervals
 *
 * For each thread: time in user and system mode, time waiting for a processor, time blocked, of that for the disk, page
 * faults, state, and its name when it is new or changed; for each process its memory; for the machine its times.  A
 * thread or process that has done nothing since it was told last is not told again; the first and the last sample of a
 * thread always are.
 *
 * Always true (SampleCheck): the threads of a process are in order of their numbers;  what was told of one is at most
 * what was read.
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
  SampleINTERVAL = 100,    /* ms, where nobody says otherwise */
  SampleSHARE = 50,        /* at most one part of so many of the time goes into it: the interval grows if need be */
  SampleRELIST = 5,        /* rounds between two listings of a process's threads while their number is the same */
  SampleMANY = 64,         /* of more threads than this in a process, */
  SampleASLEEP = 10,       /* those that slept through so many rounds */
  SampleSELDOM = 8,        /* are looked at in each such round only */
  SampleThreadsMAX = 1 << 17, /* threads of the family that are sampled */
  SampleKEEP = 256         /* descriptors that stay open: a good number for ProcInit */
};

/* SampleCreate -- samples of the members of `tree`
 *
 * self, proc, tree  the caller's, and stay; the tree's TreeSetGone is taken
 * interval            ms; 0: no samples, the tree alone is looked after
 * ResMEMORY */
extern Res SampleCreate(Sample *sampleReturn, SelfEvents self, Proc proc, Tree tree, unsigned interval);

/* SampleDestroy -- the last samples, of all; before the tree goes */
extern void SampleDestroy(Sample sample);
extern Bool SampleCheck(Sample sample);

/* SamplePoll -- look after the tree, and take samples, as far as it is time
 *
 * now      CLOCK_MONOTONIC, ns
 * returns  ns after which it should be called again
 * cost     for a thread that sleeps 1 to 3 us; for one that runs 5 */
extern uint64_t SamplePoll(Sample sample, uint64_t now);

#endif /* MONITOR_SAMPLE_H */
