/* unrecorded.h -- finds processes of the family that do not record themselves
 *
 * A recorded process announces each exec beforehand, and a process whose program loads the library asks for a region
 * within a moment.  A process that was announced and does not ask is named at the end of the recording, with the reason
 * as far as it is known.  Processes that are not announced are found by looking at the family from time to time.
 *
 * Always true (UnrecordedCheck): no process waits twice; no program is named twice for the same reason.
 *
 * One thread.
 *
 * Design: design/collector.md .family      Tests: test/monitor/unrecordedtest.c, test/monitor/unrecorded.t
 */
#ifndef MONITOR_UNRECORDED_H
#define MONITOR_UNRECORDED_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

typedef struct UnrecordedStruct *Unrecorded;

/* UnrecordedCreate -- ResMEMORY; no process is waited for yet
 * library  the absolute path of the library that is preloaded, which stays there; NULL: not known */
extern Res UnrecordedCreate(Unrecorded *unrecordedReturn, const char *library);
extern void UnrecordedDestroy(Unrecorded unrecorded);
extern Bool UnrecordedCheck(Unrecorded unrecorded);

/* UnrecordedExec -- process `pid` is about to execute the program `path`
 * UnrecordedStart -- the process was started with this program, and may have asked for a region already
 * UnrecordedSeen -- the process was found in the family, running this program
 *
 * pid      in the collector's namespace
 * lack     what its environment lacks, a mask of RegionLack...; 0 if it lacks nothing, or that is not known
 * certain  the program's file shows that it cannot load the library
 * now      CLOCK_MONOTONIC, ns
 */
extern void UnrecordedExec(Unrecorded unrecorded, pid_t pid, const char *path, unsigned lack, Bool certain,
                           uint64_t now);
extern void UnrecordedStart(Unrecorded unrecorded, pid_t pid, const char *path, unsigned lack, Bool certain,
                            uint64_t now);
extern void UnrecordedSeen(Unrecorded unrecorded, pid_t pid, const char *path, Bool certain, uint64_t now);

/* UnrecordedHidden -- a process with an unknown number was, or is about to be, started with this program; it may have
 * been seen, too */
extern void UnrecordedHidden(Unrecorded unrecorded, const char *path, unsigned lack, Bool certain);

/* UnrecordedStays -- the exec that UnrecordedExec announced has failed
 * UnrecordedMet -- the process has asked for a region */
extern void UnrecordedStays(Unrecorded unrecorded, pid_t pid);
extern void UnrecordedMet(Unrecorded unrecorded, pid_t pid, const char *path, uint64_t now);

/* UnrecordedForgive -- the collector has stood still for a time, and processes that noticed have recorded themselves
 * without asking it.  A process that was announced until a moment after now, and ended before it was looked at, may be
 * one of them, and is not named. */
extern void UnrecordedForgive(Unrecorded unrecorded, uint64_t now);

/* UnrecordedPoll -- decide about the processes that have had their moment to ask for a region; if `last`, about all
 * cost  some system calls for each */
extern void UnrecordedPoll(Unrecorded unrecorded, uint64_t now, Bool last);

/* UnrecordedTell -- call `tell` for each program and reason, with the number of processes.  The reason is NULL where
 * the program's file shows that it could not load the library.
 * UnrecordedUnnamed -- how many processes are left out, because there were too many */
extern Count UnrecordedUnnamed(Unrecorded unrecorded);
extern void UnrecordedTell(Unrecorded unrecorded,
                           void (*tell)(void *data, const char *path, const char *reason, Count count), void *data);

#endif /* MONITOR_UNRECORDED_H */
