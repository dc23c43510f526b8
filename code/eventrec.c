/* eventrec.c -- run a program and record it
 *
 * The program is started with libpawprint.so preloaded and told by its environment where the log is; it writes the log
 * itself.  Here the log is made, the program's end awaited, and what a dead process could not send put into the log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/names.h"
#include "base/option.h"
#include "log/log.h"
#include "log/recover.h"
#include "view/program.h"

enum { eventrecFAILED = 125, eventrecCANNOT = 126, eventrecMISSING = 127 };

/* What the command line asks for. */
typedef struct RecordingStruct {
  const OptionToolStruct *tool;
  const char *output; /* NULL: named after the program and its process */
  const char *kinds;
  const char *stack;  /* callers recorded with each allocation */
  unsigned manage;
  Bool force, raw;
  char program[PATH_MAX];
  char library[PATH_MAX];
  char log[PATH_MAX]; /* absolute */
  double seconds;
  sigset_t mask;             /* the signals as we were given them, for the program */
  struct sigaction children; /* and what to do when children end */
} RecordingStruct, *Recording;

/* recordingKinds -- are all names in the list kinds? */
static Bool recordingKinds(Recording recording)
{
  static const char *const names[32] = {
#define KIND(name, value, doc) [value] = #name,
#include "eventdef.h"
  };
  char room[256];
  TextStruct error;
  uint32_t mask;

  TextInit(&error, room, sizeof room);
  if (NamesMask(&mask, recording->kinds, names, ARRAY_LENGTH(names), UINT32_MAX, "kind", &error) == ResOK)
    return TRUE;
  (void)OptionUsage(recording->tool, "%s", TextTerminate(&error));
  return FALSE;
}

/* recordingLibrary -- where libpawprint.so is: beside us, as built or as installed */
static Bool recordingLibrary(Recording recording)
{
  char self[PATH_MAX], path[PATH_MAX + 32];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  char *slash;

  if (length > 0) {
    self[length] = '\0';
    slash = strrchr(self, '/');
    *slash = '\0';
    (void)snprintf(path, sizeof path, "%s/../lib/libpawprint.so", self);
    if (realpath(path, recording->library) != NULL && strpbrk(recording->library, ": ") == NULL)
      return TRUE;
  }
  (void)OptionFail(recording->tool, "libpawprint.so is not in ../lib beside this program, or its path has a space or "
                                    "a colon, which LD_PRELOAD cannot carry");
  return FALSE;
}

/* recordingLog -- the log's name for a process, absolute */
static Bool recordingLog(Recording recording, pid_t pid)
{
  const char *slash = strrchr(recording->program, '/');
  char name[PATH_MAX], folder[PATH_MAX] = "";
  int length;

  if (recording->output != NULL)
    length = snprintf(name, sizeof name, "%s", recording->output);
  else
    length = snprintf(name, sizeof name, "%s.%ld.paw", slash != NULL ? slash + 1 : recording->program, (long)pid);
  if (name[0] != '/' && getcwd(folder, sizeof folder) == NULL)
    return FALSE;
  return length < PATH_MAX &&
         snprintf(recording->log, sizeof recording->log, "%s%s%s", folder, name[0] != '/' ? "/" : "", name) < PATH_MAX;
}

/* recordingCreate -- make the log, and let the program's whole family append to it */
static Bool recordingCreate(Recording recording)
{
  struct stat status;
  char family[64];
  int fd;

  if (recording->force && lstat(recording->log, &status) == 0) {
    /* A device, a FIFO: nothing that a log was, and gone for everybody if it were removed. */
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
      (void)OptionFail(recording->tool, "%s: it is no file; choose another name", recording->log);
      return FALSE;
    }
    (void)unlink(recording->log);
  }
  fd = open(recording->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || fstat(fd, &status) != 0) {
    (void)OptionFail(recording->tool, "%s: %s%s", recording->log, strerror(errno),
                     errno == EEXIST ? "; --force overwrites it" : "");
    return FALSE;
  }
  (void)close(fd);
  (void)snprintf(family, sizeof family, "%llu:%llu", (unsigned long long)status.st_dev,
                 (unsigned long long)status.st_ino);
  return setenv("PAWPRINT_FAMILY", family, 1) == 0;
}

/* recordingEnvironment -- tell the library in the program what is wanted */
static Bool recordingEnvironment(Recording recording)
{
  const char *others = getenv("LD_PRELOAD");
  char preload[2 * PATH_MAX];

  if (snprintf(preload, sizeof preload, "%s%s%s", recording->library, others != NULL ? ":" : "",
               others != NULL ? others : "") >= (int)sizeof preload)
    return FALSE;
  return setenv("LD_PRELOAD", preload, 1) == 0 && setenv("PAWPRINT_LOG", recording->log, 1) == 0 &&
         setenv("PAWPRINT_KINDS", recording->kinds, 1) == 0 &&
         setenv("PAWPRINT_MODE", recording->manage ? "manage" : "observe", 1) == 0 &&
         setenv("PAWPRINT_STACK", recording->stack, 1) == 0 &&
         setenv("PAWPRINT_RAW", recording->raw ? "1" : "0", 1) == 0;
}

/* recordingBecome -- in the child: become the program.  What goes wrong is told here; then our status is returned. */
static int recordingBecome(Recording recording, char **argv)
{
  int error;

  if (!recordingLog(recording, getpid()) || !recordingCreate(recording))
    return eventrecFAILED;
  if (!recordingEnvironment(recording)) {
    (void)OptionFail(recording->tool, "no room in the environment");
    return eventrecFAILED;
  }
  (void)sigaction(SIGCHLD, &recording->children, NULL);
  (void)sigprocmask(SIG_SETMASK, &recording->mask, NULL);
  (void)execv(recording->program, argv);
  error = errno;
  (void)OptionFail(recording->tool, "%s: %s", recording->program, strerror(error));
  (void)unlink(recording->log);
  return error == ENOENT ? eventrecMISSING : eventrecCANNOT;
}

/* recordingStart -- start the program; -1 if it did not come to that, *statusReturn is ours then */
static pid_t recordingStart(Recording recording, char **argv, int *statusReturn)
{
  int ends[2], failed = 0;
  pid_t pid;

  *statusReturn = eventrecFAILED;
  if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
    (void)OptionFail(recording->tool, "cannot start a process: %s", strerror(errno));
    return -1;
  }
  if (pid == 0) {
    failed = recordingBecome(recording, argv);
    (void)!write(ends[1], &failed, sizeof failed);
    _exit(failed);
  }
  /* Our status comes through, or the end of it as the program begins: whose own status might be the same number. */
  (void)close(ends[1]);
  (void)!read(ends[0], &failed, sizeof failed);
  (void)close(ends[0]);
  if (failed == 0)
    return pid;
  (void)waitpid(pid, NULL, 0);
  *statusReturn = failed;
  return -1;
}

static pid_t recordingPid; /* for the signal handler alone */

/* recordingPass -- a signal meant to end us ends the program; we end when it has */
static void recordingPass(int signal)
{
  (void)kill(recordingPid, signal);
}

/* recordingWait -- until the program has ended; its wait status */
static int recordingWait(Recording recording, pid_t pid)
{
  static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  struct sigaction before[ARRAY_LENGTH(ends)];
  siginfo_t info;
  int status = 0;
  Index i;

  recordingPid = pid;
  for (i = 0; i < ARRAY_LENGTH(ends); ++i) {
    /* The terminal sends the last two to the program, too. */
    struct sigaction action = {.sa_handler = i < 2 ? recordingPass : SIG_IGN, .sa_flags = SA_RESTART};
    (void)sigaction(ends[i], &action, &before[i]);
  }
  (void)sigprocmask(SIG_SETMASK, &recording->mask, NULL);
  while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
    ;
  /* As long as it is not reaped nobody else has its number; after that signals are meant for us. */
  for (i = 0; i < ARRAY_LENGTH(ends); ++i)
    (void)sigaction(ends[i], &before[i], NULL);
  (void)waitpid(pid, &status, 0);
  return status;
}

static void recordingNote(void *data, LogGap gap)
{
  Recording recording = data;

  (void)OptionFail(recording->tool, "%s: offset %llu: %s", gap->path, (unsigned long long)gap->offset, gap->what);
}

static void recordingSilent(void *data, const char *line)
{
  UNUSED(data), UNUSED(line);
}

/* recordingSummary -- one line of what is in the log, and one for what is not.  FALSE: there is no log to speak of. */
static Bool recordingSummary(Recording recording, Count running)
{
  LogHooksStruct hooks = {.data = recording, .gap = recordingNote, .note = recordingSilent};
  const char *path = recording->log, *reason = ProgramUnseen(recording->program);
  LogSummaryStruct summary;
  char error[512];
  Log log;

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK) {
    (void)fprintf(stderr, "eventrec: 0 events (0 discarded), 0 bytes, %.3f s -> %s\n", recording->seconds, path);
    (void)fprintf(stderr, "eventrec: not seen: %s: %s\n", recording->program,
                  reason != NULL ? reason : "it did not load the library");
    return FALSE;
  }
  LogSummarize(&summary, log);
  LogClose(log);
  (void)fprintf(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s\n",
                (unsigned long long)summary.events, (unsigned long long)summary.discarded,
                (unsigned long long)summary.bytes, recording->seconds,
                recording->output != NULL ? recording->output : strrchr(path, '/') + 1);
  if (reason != NULL)
    (void)fprintf(stderr, "eventrec: not seen: %s: %s\n", recording->program, reason);
  if (running > 0)
    (void)fprintf(stderr, "eventrec: %zu of its processes still run, and write to the log\n", running);
  return TRUE;
}

static double recordingNow(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* recordingRun -- the whole of it; our status */
static int recordingRun(Recording recording, char **argv)
{
  double begin = recordingNow();
  Count blocks, running = 0;
  struct sigaction children = {.sa_handler = SIG_DFL};
  sigset_t all;
  int status;
  pid_t pid;

  /* Until the handlers are there a signal waits; the program gets the mask that we were given.  Who ignores ended
   * children, as we may have been told to, learns no status. */
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, &recording->mask);
  (void)sigaction(SIGCHLD, &children, &recording->children);
  pid = recordingStart(recording, argv, &status);
  if (pid < 0)
    return status;
  (void)recordingLog(recording, pid);
  status = recordingWait(recording, pid);
  recording->seconds = recordingNow() - begin;
  if (LogRecover(recording->log, &blocks, &running) != ResOK)
    (void)OptionFail(recording->tool, "%s: what the program left in memory could not be added: %s; it stays in /dev/shm",
                     recording->log, strerror(errno));
  (void)recordingSummary(recording, running);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
  RecordingStruct recording = {.kinds = "", .stack = "0"};
  const OptionStruct options[] = {
    OptionString('o', "output", &recording.output, "FILE", "the log (PROGRAM.PID.paw)"),
    OptionString('k', "kinds", &recording.kinds, "LIST", "kinds to send: all, none, names separated by commas, +Name, -Name (all but Sync)"),
    OptionChoice('m', "mode", &recording.manage, "observe|manage", "whose malloc serves the program (observe)"),
    OptionString('s', "stack", &recording.stack, "DEPTH", "callers recorded with each allocation: 0, or 1 for the caller itself (0)"),
    OptionFlag(0, "force", &recording.force, "overwrite a log that is there"),
    OptionFlag(0, "raw", &recording.raw, "leave the log as it was recorded, not packed"),
  };
  const OptionToolStruct tool = {
    .name = "eventrec",
    .synopsis = "[options] [--] program [argument...]",
    .summary = "Runs a program and records what it does with its memory.",
    .options = options,
    .count = ARRAY_LENGTH(options),
    .notes = "The status is the program's own, 128 + the number of the signal that ended it,\n"
             "125 if eventrec fails, 126 if the program cannot be run, 127 if there is none.\n",
    .usage = eventrecFAILED,
    .failure = eventrecFAILED,
    .stopAtOperand = TRUE,
  };
  Count operands;
  int status;
  Res res;

  recording.tool = &tool;
  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  if (operands == 0)
    return OptionUsage(&tool, "no program is named");
  if (!recordingKinds(&recording))
    return eventrecFAILED;
  if (strcmp(recording.stack, "0") != 0 && strcmp(recording.stack, "1") != 0)
    return OptionUsage(&tool, "--stack %s: it is 0, or 1 for the caller; deeper stacks are not recorded yet", recording.stack);
  if (!recordingLibrary(&recording))
    return eventrecFAILED;
  res = ProgramFind(recording.program, sizeof recording.program, argv[1]);
  if (res != ResOK) {
    (void)OptionFail(&tool, "%s: %s", argv[1], res == ResIO ? "it may not be run" : "there is no such program");
    return res == ResIO ? eventrecCANNOT : eventrecMISSING;
  }
  return recordingRun(&recording, argv + 1);
}
