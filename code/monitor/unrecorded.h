/* unrecorded.h -- finds processes of the family that do not record themselves
 *
 * Each exec by a recorded process is announced beforehand, and a process whose program loads the library asks for a
 * region within a moment.  Who was to come and has not is named at the end, with what is known of the reason.  Programs
 * that nobody announces are found by looking at the family from time to time.
 *
 * Always true (UnrecordedCheck): no process waits twice; no program is named twice for the same reason.
 *
 * One thread.
 *
 * Design: design/collector.md .family      Tests: test/monitor/absenttest.c, test/monitor/absent.t
 */
#ifndef MONITOR_UNRECORDED_H
#define MONITOR_UNRECORDED_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

typedef struct UnrecordedStruct *Unrecorded;

/* UnrecordedCreate -- nobody is waited for.  ResMEMORY */
extern Res UnrecordedCreate(Unrecorded *absentReturn);
extern void UnrecordedDestroy(Unrecorded absent);
extern Bool UnrecordedCheck(Unrecorded absent);

/* UnrecordedExec -- a process is about to become this program.  UnrecordedStart -- it was started as this program, and may have
 * come already.  UnrecordedSeen -- it was found in the family, running this program.
 *
 * pid   as we number it
 * lack     what is missing in its environment: RegionLack...; 0 if nothing is, or nobody knows
 * certain  by its file it cannot announce itself, however long it lives
 * now      monotonic, ns
 */
extern void UnrecordedExec(Unrecorded absent, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now);
extern void UnrecordedStart(Unrecorded absent, pid_t pid, const char *path, unsigned lack, Bool certain, uint64_t now);
extern void UnrecordedSeen(Unrecorded absent, pid_t pid, const char *path, Bool certain, uint64_t now);

/* UnrecordedHidden -- a process was started as this program, and nobody knows its number; it may have been seen, too */
extern void UnrecordedHidden(Unrecorded absent, const char *path, unsigned lack);

/* UnrecordedStays -- what UnrecordedExec said did not come to pass.  UnrecordedMet -- the process has come. */
extern void UnrecordedStays(Unrecorded absent, pid_t pid);
extern void UnrecordedMet(Unrecorded absent, pid_t pid, const char *path, uint64_t now);

/* UnrecordedForgive -- the collector has stood still for a time, and processes that saw it have recorded themselves without a word:
 * whoever was announced until a moment after now, and has ended before anybody could look, may be one of them, and is not
 * named */
extern void UnrecordedForgive(Unrecorded absent, uint64_t now);

/* UnrecordedPoll -- judge those for whom the moment is over; all of them if `last`
 * cost  some system calls for each */
extern void UnrecordedPoll(Unrecorded absent, uint64_t now, Bool last);

/* UnrecordedTell -- call `tell` for each program and reason, with the number of processes; without a reason: by its file it
 * could not announce itself.  UnrecordedUnnamed -- processes that nobody can be told of, because there were too many */
extern Count UnrecordedUnnamed(Unrecorded absent);
extern void UnrecordedTell(Unrecorded absent, void (*tell)(void *data, const char *path, const char *reason, Count count),
                           void *data);

#endif /* MONITOR_UNRECORDED_H */
