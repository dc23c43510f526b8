/* recordingrun.c -- from the beginning of a program to its end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/readclock.h"
#include "collect/programfile.h"
#include "monitor/procfs.h"
#include "plinth/clock.h"
#include "plinth/rawsyscall.h"
#include "recover/recoverlog.h"

/* recordingCollector -- have a collector, if that can be */
static void recordingCollector(Recording recording)
{
  CollectorSettings wanted = &recording->wanted;

  wanted->events = recording->events != NULL ? recording->codes : NULL;
  wanted->watched = TRUE;
  wanted->library = recording->library;
  wanted->data = recording;
  wanted->program = RecordingProgram;
  wanted->stays = RecordingStays;
  wanted->loaded = RecordingLoaded;
  wanted->absent = RecordingAbsent;
  wanted->last = RecordingLast;
  wanted->tell = RecordingLine;
  if (CollectorNew(&recording->collector, wanted) == ResOK) {
    recording->identity = CollectorRecording(recording->collector);
    return;
  }
  recording->collector = NULL;
  (void)!getrandom(&recording->identity, sizeof recording->identity, 0);
  (void)OptionFail(recording->tool, "no collector: %s; processes write to the log themselves", strerror(errno));
}

/* recordingForward -- the log goes to another place, too, or instead: the collector sends it there.  FALSE: told. */
static Bool recordingForward(Recording recording)
{
  const char *reason;

  if (recording->to == NULL || CollectorSend(recording->collector, recording->to, &reason) == ResOK)
    return TRUE;
  (void)OptionFail(recording->tool, "%s: %s; %s", recording->to, reason,
                   recording->file ? "nothing is sent there" : "processes send by themselves");
  return FALSE;
}

/* recordingOpen -- the log is there: the collector may write to it.  More files than usual may be open. */
static void recordingOpen(Recording recording)
{
  Res res;

  if (recording->fd >= 0)
    recording->own = fcntl(recording->fd, F_DUPFD_CLOEXEC, 0);
  if (recording->own >= 0)
    (void)snprintf(recording->found, sizeof recording->found, "/proc/self/fd/%d", recording->own);
  if (recording->collector == NULL)
    return;
  (void)RawLimitRaise(RLIMIT_NOFILE);
  res = recordingForward(recording) || recording->file ? ResOK : ResFAIL;
  if (res == ResOK) {
    res = CollectorLog(recording->collector, recording->fd, recording->file ? recording->log : NULL);
    recording->fd = -1;
    if (res == ResOK)
      return;
    (void)OptionFail(recording->tool, "%s: %s; processes write to it themselves",
                     recording->file ? recording->log : recording->to, strerror(errno));
  }
  CollectorFree(recording->collector);
  recording->collector = NULL;
}

/* ---- The processes that descend from the program, as the system lists them ----
 *
 * The collector has a tree of them, too (monitor/tree.h).  That one belongs to its thread, is not there when processes
 * write to the log themselves, and finds members among all processes of the machine, also those that have been given
 * another parent.  Here nothing is kept between two looks, and only the lists of children are read. */

enum { familyMAX = 1024 }; /* processes that are looked at */

/* Processes that were met, in the order in which they are looked at. */
typedef struct FamilyStruct {
  ProcStruct proc;
  Count count, threads;
  pid_t pid[familyMAX], parent[familyMAX];
  uint32_t *thread;     /* of one process; owned */
  Count capacity;
} FamilyStruct, *Family;

/* familyAdd -- the numbers in a list, which spaces separate, of processes that one has started */
static void familyAdd(Family family, const char *list, pid_t parent)
{
  char *end;
  long pid;

  for (; family->count < familyMAX && (pid = strtol(list, &end, 10)) > 0 && end != list; list = end) {
    family->parent[family->count] = parent;
    family->pid[family->count++] = (pid_t)pid;
  }
}

/* familyChildren -- those that the threads of a process have started */
static void familyChildren(Family family, uint32_t pid)
{
  char path[ProcPathSIZE], list[ProcReadMAX + 1];
  Count count;
  Index i;

  if (ProcNumbers(&family->thread, &family->capacity, &count, &family->proc, ProcPath(path, pid, 0, "task")) != ResOK)
    return;
  for (i = 0; i < count && family->threads < familyMAX; ++i, ++family->threads) {
    int fd = -1;
    Size n = ProcRead(&family->proc, &fd, ProcPath(path, pid, family->thread[i], "children"), list, ProcReadMAX);
    list[n] = '\0';
    /* A number that was cut off is another one. */
    if (n == ProcReadMAX && strrchr(list, ' ') != NULL)
      *strrchr(list, ' ') = '\0';
    familyAdd(family, list, (pid_t)pid);
  }
}

/* familyShares -- have two processes the same memory?  Then one is about to execute a program (vfork), or works for the
 * other as a thread would, as the tracer of LeakSanitizer does, and is not counted besides it. */
static Bool familyShares(pid_t pid, pid_t other)
{
  enum { KCMPVM = 1 }; /* linux/kcmp.h: KCMP_VM */

  return other != 0 && RawCall(SYS_kcmp, pid, other, KCMPVM, 0, 0) == 0;
}

/* familyOne -- look at one process; the nanoseconds that its file took, which is read once and not at every look */
static uint64_t familyOne(Recording recording, Family family, Index i)
{
  pid_t pid = family->pid[i];
  Size left = recording->looked;
  char path[PATH_MAX];
  uint64_t begun, took;
  Bool certain;

  if (familyShares(pid, family->parent[i]) || !ProcProgram(path, sizeof path, family->proc.root, pid))
    return 0;
  begun = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  certain = RecordingProgram(recording, path, ProgramANYBODY);
  took = recording->looked != left ? ReadClock(CLOCK_THREAD_CPUTIME_ID) - begun : 0;
  if (recording->collector != NULL)
    CollectorSeen(recording->collector, pid, path, certain);
  return took;
}

/* recordingFamily -- look at the program and all that descend from it: a few system calls for each process and thread,
 * of no more than familyMAX.  This is done from time to time, so that programs that announce nothing are met all the
 * same.  A process that lives shorter than the time between two looks, or has been given another parent, is missed.
 *
 * returns  the nanoseconds of processor time that such a look takes; not those for files that were read, and not what
 *          the clock shows: where others have the processor, the looks do not become fewer
 */
static uint64_t recordingFamily(Recording recording)
{
  FamilyStruct family = {.count = 1, .pid = {recording->pid}};
  uint64_t begun = ReadClock(CLOCK_THREAD_CPUTIME_ID), files = 0;
  Index i;

  if (ProcInit(&family.proc, "/proc", 0) != ResOK)
    return 0;
  for (i = 0; i < family.count; ++i) {
    files += familyOne(recording, &family, i);
    familyChildren(&family, (uint32_t)family.pid[i]);
  }
  free(family.thread);
  ProcFinish(&family.proc);
  return ReadClock(CLOCK_THREAD_CPUTIME_ID) - begun - files;
}

/* ---- The whole of it ---- */

/* recordingStopped -- say how much of the program the log does not have, as the recording ended before it */
static void recordingStopped(Recording recording)
{
  double beyond = (double)(EventClockMonotonic() - recording->stopped) * 1e-9;

  if (recording->stopped == 0)
    return;
  if (recording->signalled)
    RecordingTell(recording, "the recording ended a second after the signal; the last %.3f s of the program are not in "
                  "it", beyond);
  else
    RecordingTell(recording, "-t %g: the recording ended then; the last %.3f s of the program are not in it",
                  recording->limit, beyond);
}

/* recordingWait -- until the program has ended; its wait status */
static int recordingWait(Recording recording)
{
  uint64_t look = 0;
  siginfo_t child = {0};
  int status = 0;

  while (!RecordingEnded(recording)) {
    uint64_t now = EventClockMonotonic();
    if (now >= recording->end) {
      /* The program goes on; where it writes to the log itself, so does the recording. */
      if (recording->collector != NULL) {
        CollectorStop(recording->collector);
        recording->stopped = EventClockMonotonic();
      }
      recording->end = UINT64_MAX;
    }
    if (now >= look) {
      /* A large family is looked at less often: it is to cost a hundredth at most. */
      uint64_t pause = recordingFamily(recording) * 100;
      look = EventClockMonotonic() + (pause > recordingLook * 1000000u ? pause : recordingLook * 1000000u);
    }
    RecordingNap(recording, look < recording->end ? look : recording->end);
  }
  if (recording->collector != NULL &&
      waitid(P_PID, (id_t)recording->pid, &child, WEXITED | WNOWAIT) == 0)
    CollectorEnded(recording->collector, recording->pid,
                   child.si_code == CLD_EXITED ? W_EXITCODE(child.si_status, 0) : child.si_status);
  (void)wait4(recording->pid, &status, 0, &recording->took);
  return status;
}

/* recordingCollected -- the collector ends, and takes what processes hold; how many of them still run */
static Count recordingCollected(Recording recording)
{
  Count running = 0;
  const char *reason;

  if (recording->collector == NULL)
    return 0;
  recording->whole = CollectorEnd(recording->collector, &running) == ResOK;
  reason = strerror(errno);
  CollectorCount(&recording->counts, recording->collector);
  if (!recording->whole && recording->file) /* the collector itself says what could not be sent */
    (void)OptionFail(recording->tool, recording->counts.stayed > 0
                     ? "%s: what processes left in memory could not be added: %s; eventrec --clean adds it"
                     : "%s: the log could not be written to its end: %s; what is lost counts as discarded",
                     recording->log, reason);
  CollectorFree(recording->collector);
  recording->collector = NULL;
  return running;
}

/* recordingFinish -- what is still in memory goes into the log; how many processes still run, of which the collector
 * knows of `running` */
static Count recordingFinish(Recording recording, Count running)
{
  RecoveredStruct recovered = {0};

  RecordingFind(recording);
  if (recording->own >= 0 &&
      RecoverLog(recording->own, TRUE, recording->log, recording->identity, EventClockSync, FALSE, &recovered) != ResOK)
    (void)OptionFail(recording->tool,
                     "%s: what the program left in memory could not be added: %s; it stays in /dev/shm", recording->log,
                     strerror(errno));
  recording->barred = recovered.barred;
  running -= recovered.released < running ? recovered.released : running;
  return recovered.running > running ? recovered.running : running;
}

/* RecordingRun -- the whole of it; our status */
int RecordingRun(Recording recording, char **argv)
{
  uint64_t begin = EventClockMonotonic();
  Count running;
  int status;

  if (!RecordingSignals(recording))
    return eventrecFAILED;
  recording->looked = recordingLookedMAX;
  if (recording->baseline)
    BaselineKeep(recording);
  recordingCollector(recording);
  recording->end =
      recording->limit < 1e9 ? begin + (uint64_t)(recording->limit * 1e9) : UINT64_MAX;
  recording->pid = RecordingStart(recording, argv, &status);
  if (recording->pid < 0)
    return status;
  (void)RecordingLog(recording, recording->pid);
  recordingOpen(recording);
  if (recording->collector != NULL)
    CollectorProgram(recording->collector, recording->pid);
  status = recordingWait(recording);
  recording->seconds = (double)(EventClockMonotonic() - begin) * 1e-9;
  recordingStopped(recording);
  if (recording->baseline)
    BaselineRun(recording, argv, status);
  if (recording->file && recording->collector == NULL)
    RecordingLast(recording);
  running = recordingCollected(recording);
  if (recording->file)
    RecordingSummary(recording, recordingFinish(recording, running));
  else
    RecordingSent(recording, running);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
