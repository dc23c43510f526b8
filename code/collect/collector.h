/* collector.h -- the regions of a family of processes, drained into one log
 *
 * One thread, which its owner lends it: CollectorRun drains, naps while there is work, and sleeps while there is none.
 *
 *   CollectorNew(&collector, &settings)
 *   start the program, with PAWPRINT_RECORDING=collector=ADDRESS,... in its environment (CollectorAddress)
 *   CollectorSend(collector, where, &reason), CollectorLog(collector, fd, path)
 *   while (!ended) CollectorRun(collector, fd, until)
 *   CollectorEnd(collector), CollectorFree(collector)
 *
 * Always true: the kernel's robust list of this thread has every region that names this thread as its collector; so
 * each process learns of our death, whatever we die of.  CollectorCheck sees that the list begins with the first of
 * them, that each drain and the batch are sound, and that no region is kept for its header's sake while another process
 * has one.
 *
 * Design: design/collector.md      Tests: test/collect/collecttest.c, test/collect/collect.t
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

typedef struct CollectorStruct *Collector;

/* The options of a recording.  The hooks may be NULL. */
typedef struct CollectorSettingsStruct {
  const char *process;    /* only processes of this program (the last part of its path, or its name in ps), or with this
                             number; NULL: all */
  const char *library;    /* the absolute path of the library that is preloaded, which stays there; NULL: not known */
  const uint8_t *events;  /* bits by code: only these types; NULL: all.  8192 bytes. */
  Bool raw;               /* blocks are not packed */
  uint64_t keep;          /* bytes of the log that are kept on the disk, the newest; 0: all */
  Bool watcher;           /* the log gets events of what the collector sees of processes and threads from outside, */
  Bool paused;            /* but none before a process has sent one, */
  Count sample;           /* ms between two samples of them; 0: none */
  Bool alone;             /* there is no family, but one process */
  Bool watched;           /* standard error may be a person's terminal */
  void *data;             /* the hooks' first argument */
  Bool (*program)(void *data, const char *path, uid_t user); /* a process of the family, which is this user's, is about
                                                    to run this program: absolute, or a name to be looked for in PATH.
                                                    TRUE: by its file it cannot announce itself. */
  void (*stays)(void *data, const char *path, uid_t user); /* it could not, and stays what it was */
  void (*loaded)(void *data, pid_t pid, uid_t user, const char *program); /* a process has asked for a region, and
                                                    waits for the answer */
  void (*absent)(void *data, const char *path, const char *reason, Count count); /* at the end: so many processes of the
                                                    family ran this program, and did not announce themselves; without a
                                                    reason: by its file they could not */
  void (*last)(void *data); /* at the end, after all calls of `absent`: the last chance to call CollectorUnseen */
  void (*tell)(void *data, const char *line);    /* a line for the user */
} CollectorSettingsStruct, *CollectorSettings;

/* CollectorNew -- with its socket; ResIO (errno), ResMEMORY.  `settings` is copied. */
extern Res CollectorNew(Collector *collectorReturn, const CollectorSettingsStruct *settings);

/* CollectorAddress -- the value of the setting `collector`, which must come first in PAWPRINT_RECORDING */
extern const char *CollectorAddress(Collector collector);

/* CollectorRecording -- the identity of the recording; recorded processes get it with the collector's address */
extern uint64_t CollectorRecording(Collector collector);

/* CollectorSend -- send the log to a place, as PlinthOpen names it; requests that come from there are passed on to all
 * processes
 * reasonReturn  why it failed, in words that live forever */
extern Res CollectorSend(Collector collector, const char *where, const char **reasonReturn);

/* CollectorLog -- begin the recording, into a log that was just made
 *
 * fd       open for reading and appending; the collector's from now on.  It is never opened by its name again.  -1:
 *          there is no file, it is only sent
 * path     absolute: what it is called; NULL
 * returns  ResIO.  Before CollectorRun, by the thread that calls that. */
extern Res CollectorLog(Collector collector, int fd, const char *path);

/* CollectorRun -- drain until `fd` is readable (TRUE) or CLOCK_MONOTONIC has come to `until` ns (FALSE) */
extern Bool CollectorRun(Collector collector, int fd, uint64_t until);

/* CollectorProgram -- our child `pid` runs the program.  CollectorEnded -- it has ended, with this status (wait); to be
 * called before the child is reaped, if possible. */
extern void CollectorProgram(Collector collector, pid_t pid);
extern void CollectorEnded(Collector collector, pid_t pid, int status);

/* CollectorSeen -- a process of the family was found, which runs this program: if it does not announce itself it will
 * be named at the end
 * certain  its file shows that it cannot announce itself */
extern void CollectorSeen(Collector collector, pid_t pid, const char *path, Bool certain);

/* CollectorStop -- end the recording: switch off what processes send, also in processes that begin later, and write
 * what has been sent */
extern void CollectorStop(Collector collector);

/* CollectorUnseen -- say in the log that so many processes of a program were not seen, or not all that they did, and
 * why.  Not behind the hook `last`.  0: they were not counted. */
extern void CollectorUnseen(Collector collector, const char *program, const char *reason, Count processes);

/* CollectorBaseline -- say in the log what our child took in a second run, unrecorded (ProcessBaseline): us in user and
 * in system mode, and bytes resident at most; 0: not known */
extern void CollectorBaseline(Collector collector, pid_t pid, uint64_t user, uint64_t system, uint64_t resident);

/* CollectorEnd -- drain all processes.  Of those that have ended everything is taken; the others write to the log
 * themselves from then on
 * runningReturn  how many that is, with those that have not asked for a region yet (.tree.newborn)
 * returns        ResIO: not all could be written (errno); CollectorCount says what became of it */
extern Res CollectorEnd(Collector collector, Count *runningReturn);

/* CollectorCount -- what was collected so far.  What waits in memory is in none of these. */
typedef struct CollectorCountsStruct {
  uint64_t events;    /* that were written; if the log is only sent, that have arrived there */
  uint64_t discarded; /* that were discarded, or have not arrived there */
  uint64_t bytes;
  uint64_t missing;   /* bytes that another program has truncated from the log, as far as was noticed (BatchMissing) */
  uint64_t untold;    /* after CollectorEnd: lost events that the log does not tell of, because it has no room, or tells
                         of in a block that is cut off */
  Count stayed;       /* after CollectorEnd: regions that stay, with what could not be written; 0: that is lost */
} CollectorCountsStruct, *CollectorCounts;
extern void CollectorCount(CollectorCounts countsReturn, Collector collector);

extern void CollectorFree(Collector collector);
extern Bool CollectorCheck(Collector collector);

#endif /* COLLECT_COLLECTOR_H */
