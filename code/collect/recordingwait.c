/* recordingwait.c -- signals, and waiting for a program's end
 *
 * From RecordingSignals on signals wait until they are read from a descriptor, with which the collector can be waited
 * for, too.  Who ignores ended children, as we may have been told to, learns no status.  A write past the limit on file
 * sizes fails, like one to a full disk.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plinth/clock.h"

Bool RecordingSignals(Recording recording)
{
  static const int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  struct sigaction children = {.sa_handler = SIG_DFL}, limited = {.sa_handler = SIG_IGN};
  Index i;

  (void)sigemptyset(&recording->watched);
  for (i = 0; i < ARRAY_LENGTH(signals); ++i)
    (void)sigaddset(&recording->watched, signals[i]);
  (void)sigprocmask(SIG_BLOCK, &recording->watched, &recording->mask);
  (void)sigaction(SIGCHLD, &children, &recording->children);
  (void)sigaction(SIGXFSZ, &limited, &recording->limited);
  recording->signals = signalfd(-1, &recording->watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (recording->signals >= 0)
    return TRUE;
  (void)OptionFail(recording->tool, "signals cannot be waited for: %s", strerror(errno));
  return FALSE;
}

void RecordingRestore(Recording recording)
{
  (void)sigaction(SIGCHLD, &recording->children, NULL);
  (void)sigaction(SIGXFSZ, &recording->limited, NULL);
  (void)sigprocmask(SIG_SETMASK, &recording->mask, NULL);
}

/* What is meant to end us ends the program and the recording; we end when it has. */
Bool RecordingEnded(Recording recording)
{
  struct signalfd_siginfo info;
  siginfo_t child = {0};

  while (read(recording->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      continue;
    /* The terminal sends its own to the program, too. */
    if (info.ssi_code != SI_KERNEL)
      (void)kill(recording->pid, (int)info.ssi_signo);
    if (recording->stopped != 0)
      continue; /* it has ended before, and why is known */
    recording->signalled = TRUE;
    if (EventClockMonotonic() + recordingGrace * 1000000u < recording->end)
      recording->end = EventClockMonotonic() + recordingGrace * 1000000u;
  }
  /* As long as it is not reaped nobody else has its number. */
  return waitid(P_PID, (id_t)recording->pid, &child, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD
                                                                                       : child.si_pid != 0;
}

void RecordingNap(Recording recording, uint64_t until)
{
  uint64_t now = EventClockMonotonic(), ns = until > now ? until - now : 0;
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  struct pollfd poll = {recording->signals, POLLIN, 0};

  if (recording->collector != NULL)
    (void)CollectorRun(recording->collector, recording->signals, until);
  else
    (void)ppoll(&poll, 1, &time, NULL);
}
