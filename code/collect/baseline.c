/* baseline.c -- the program once more, unrecorded: what it takes of processor time and memory by itself
 *
 * What recording costs a program is not the same for any two programs, so what a recorded one took says only about what
 * it would have taken.  The second run says it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resident.h"
#include "monitor/selfevents.h"
#include "plinth/clock.h"

void BaselineKeep(Recording recording)
{
  struct stat status;

  recording->input = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR)
                                                                                  : -1;
  (void)getrlimit(RLIMIT_NOFILE, &recording->files);
  EventChoiceAdd(recording->codes, EventProcessBaselineCODE); /* whatever -E names, it is asked for, too */
}

/* baselineBecome -- in the child: become the program, with what the first run began with; its output goes to /dev/null
 *
 * The bytes that this process has resident before that are written to `end`, because the system counts them in the
 * program's peak. */
static void baselineBecome(Recording recording, char **argv, int end)
{
  int nobody = open("/dev/null", O_WRONLY | O_CLOEXEC);
  uint64_t ours;

  if (nobody < 0 || dup2(nobody, STDOUT_FILENO) < 0 || dup2(nobody, STDERR_FILENO) < 0)
    _exit(eventrecFAILED);
  if (recording->input >= 0)
    (void)lseek(STDIN_FILENO, recording->input, SEEK_SET);
  (void)setrlimit(RLIMIT_NOFILE, &recording->files);
  RecordingRestore(recording);
  ResidentForget();
  ours = ResidentPeak();
  (void)!write(end, &ours, sizeof ours);
  (void)execv(recording->program, argv);
  _exit(eventrecCANNOT);
}

/* baselineStart -- start the second run; -1: it cannot be
 * oursReturn  bytes that are counted as its resident peak if it has fewer */
static pid_t baselineStart(uint64_t *oursReturn, Recording recording, char **argv)
{
  int ends[2];
  pid_t pid;

  *oursReturn = 0;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return -1;
  pid = fork();
  if (pid == 0)
    baselineBecome(recording, argv, ends[1]);
  (void)close(ends[1]);
  if (pid > 0)
    (void)!read(ends[0], oursReturn, sizeof *oursReturn);
  (void)close(ends[0]);
  return pid;
}

/* baselineWait -- until the second run has ended; its status, and what it took */
static int baselineWait(struct rusage *tookReturn, Recording recording)
{
  int status = 0;

  recording->end = UINT64_MAX;
  while (!RecordingEnded(recording)) {
    if (EventClockMonotonic() >= recording->end) {
      (void)kill(recording->pid, SIGKILL); /* a signal asked us both to end, and the program has not */
      recording->end = UINT64_MAX;
    }
    RecordingNap(recording, recording->end);
  }
  (void)wait4(recording->pid, &status, 0, tookReturn);
  return status;
}

static uint64_t baselineTime(const struct timeval *time)
{
  return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

/* baselineTell -- say what was found, here and in the log */
static void baselineTell(Recording recording, pid_t pid, const struct rusage *took, uint64_t peak)
{
  uint64_t user = baselineTime(&took->ru_utime), system = baselineTime(&took->ru_stime);
  uint64_t recorded = baselineTime(&recording->took.ru_utime) + baselineTime(&recording->took.ru_stime);
  double now = (double)(user + system) / 1e6;
  char memory[32] = "";

  if (peak > 0)
    (void)snprintf(memory, sizeof memory, " and %.1f MiB", (double)peak / (1 << 20));
  CollectorBaseline(recording->collector, pid, user, system, peak);
  RecordingTell(recording, "--baseline: unrecorded it took %.3f s of processor time%s; recorded %.3f s (%.2f times)", now,
                memory, (double)recorded / 1e6, now > 0 ? (double)recorded / 1e6 / now : 1);
}

/* baselineAgainst -- why the second run would say nothing; NULL: it would say something */
static const char *baselineAgainst(Recording recording, int status)
{
  if (recording->collector == NULL)
    return "there is no collector that could tell the log";
  if (recording->stopped != 0 || recording->signalled)
    return "the recording ended before the program did";
  return WIFSIGNALED(status) ? "the program was ended by a signal" : NULL;
}

void BaselineRun(Recording recording, char **argv, int status)
{
  const char *against = baselineAgainst(recording, status);
  pid_t first = recording->pid;
  struct rusage took = {0};
  uint64_t ours, peak;
  int again;

  if (against != NULL) {
    RecordingTell(recording, "--baseline: the program was not run again: %s", against);
    return;
  }
  recording->pid = baselineStart(&ours, recording, argv);
  if (recording->pid < 0) {
    RecordingTell(recording, "--baseline: the program could not be run again: %s", strerror(errno));
  } else {
    again = baselineWait(&took, recording);
    peak = (uint64_t)took.ru_maxrss * 1024;
    if (again == status)
      baselineTell(recording, first, &took, peak > ours ? peak : 0);
    else
      RecordingTell(recording, "--baseline: run again it ended with %s %d, and not %d; what it took is not in the log",
                    WIFSIGNALED(again) ? "signal" : "status",
                    WIFSIGNALED(again) ? WTERMSIG(again) : WEXITSTATUS(again), WEXITSTATUS(status));
  }
  recording->pid = first;
}
