/* eventrec.c -- run a program and record it
 *
 * The program is started with libpawprint.so preloaded, and told by its environment where the collector is and what is
 * wanted.  Here the log is made, and filled with what the program's family of processes hand over (collect/collector.h),
 * until the program ends.  A process that cannot reach us writes to the log itself; what it leaves in memory when it
 * dies is put there at the end.
 *
 * Design: design/collector.md      Tests: test/eventrec.t, test/collect.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/names.h"
#include "base/option.h"
#include "collect/choose.h"
#include "collect/clean.h"
#include "collect/collector.h"
#include "collect/family.h"
#include "collect/listen.h"
#include "collect/sample.h"
#include "format/block.h"
#include "log/log.h"
#include "log/recover.h"
#include "plinth/plinth.h"
#include "view/program.h"

enum { eventrecFAILED = 125, eventrecCANNOT = 126, eventrecMISSING = 127 };

enum {
  recordingBlocks = 1920,     /* that may wait, and their size: 60 MiB a process */
  recordingBlock = 32768,
  recordingBlocksMAX = 3072,
  recordingLook = 100,        /* ms between two looks at the family */
  recordingGrace = 1000,      /* ms that a program has to end when it was told to; then the recording does */
  recordingLinesMAX = 256,    /* to be told at the end */
  recordingKnownMAX = 1024    /* programs of the family */
};

/* What the command line asks for, and what becomes of it. */
typedef struct RecordingStruct {
  const OptionToolStruct *tool;
  const char *output; /* NULL: named after the program and its process */
  const char *to;     /* NULL: a file */
  const char *kinds, *events, *process, *stack;
  unsigned manage, policy;
  Size blockSize;
  Count blocks;
  Count sample;       /* ms between two samples; 0: none */
  Bool system;        /* what the collector sees of processes and threads is wanted */
  double limit;       /* seconds; 0: none */
  Bool force, raw, paused, alone, clean;
  uint8_t codes[ChooseSIZE]; /* that `events` names */
  Collector collector; /* NULL: there is none, processes write to the log themselves */
  int signals;         /* a descriptor that tells of signals */
  pid_t pid;
  uint64_t end;        /* when the recording ends, monotonic ns */
  Count lines;         /* for the summary, owned */
  char *line[recordingLinesMAX];
  Count known;         /* paths of programs that were looked at, owned */
  char *path[recordingKnownMAX];
  char program[PATH_MAX];
  char library[PATH_MAX];
  char log[PATH_MAX]; /* absolute */
  double seconds;
  sigset_t watched;          /* the signals that `signals` tells of */
  sigset_t mask;             /* as we were given them, for the program */
  struct sigaction children; /* and what to do when children end */
} RecordingStruct, *Recording;

static const char *const recordingKindNames[32] = {
#define KIND(name, value, doc) [value] = #name,
#include "eventdef.h"
};

/* recordingEvents -- are all names in the list types, and which kinds are left of `mask`?  Those alone are asked for. */
static Bool recordingEvents(Recording recording, uint32_t mask)
{
  static char kinds[256];
  char room[512];
  TextStruct error, text;
  uint32_t theirs;
  Index i;

  TextInit(&error, room, sizeof room);
  if (ChooseEvents(recording->codes, &theirs, recording->events, &error) != ResOK) {
    (void)OptionUsage(recording->tool, "%s", TextTerminate(&error));
    return FALSE;
  }
  TextInit(&text, kinds, sizeof kinds);
  for (i = 0; i < ARRAY_LENGTH(recordingKindNames); ++i)
    if (recordingKindNames[i] != NULL && (theirs & mask) >> i & 1) {
      if (TextLength(&text) > 0)
        TextChar(&text, ',');
      TextString(&text, recordingKindNames[i]);
    }
  recording->kinds = TextLength(&text) > 0 ? TextTerminate(&text) : "none";
  recording->system = (theirs & mask) >> EventKindSystem & 1;
  return TRUE;
}

/* recordingKinds -- are all names in the lists kinds, and types? */
static Bool recordingKinds(Recording recording)
{
  char room[256];
  TextStruct error;
  uint32_t mask;

  TextInit(&error, room, sizeof room);
  if (NamesMask(&mask, recording->kinds, recordingKindNames, ARRAY_LENGTH(recordingKindNames), UINT32_MAX, "kind",
                &error) == ResOK) {
    recording->system = mask >> EventKindSystem & 1;
    return recording->events == NULL || recordingEvents(recording, mask);
  }
  (void)OptionUsage(recording->tool, "%s", TextTerminate(&error));
  return FALSE;
}

/* recordingBuffers -- can such buffers be? */
static Bool recordingBuffers(Recording recording)
{
  Size size = recording->blockSize;

  if (size < BlockMIN || size > BlockMAX || !WordIsPowerOf2(size))
    (void)OptionUsage(recording->tool, "a block has 4K, 8K, 16K, 32K or 64K bytes, not %zu", size);
  else if (recording->blocks == 0 || recording->blocks > recordingBlocksMAX)
    (void)OptionUsage(recording->tool, "there can be 1 to %u blocks, not %zu", (unsigned)recordingBlocksMAX,
                      recording->blocks);
  else
    return TRUE;
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

/* recordingTo -- --to, with its host looked up: the program itself asks no network */
static Bool recordingTo(Recording recording)
{
  static char room[PlinthPlaceMAX];
  const char *reason;

  if (recording->to == NULL)
    return TRUE;
  if (ListenResolve(room, sizeof room, recording->to, &reason) != ResOK) {
    (void)OptionUsage(recording->tool, "--to %s: %s", recording->to, reason);
    return FALSE;
  }
  recording->to = room;
  return TRUE;
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

static Bool recordingNumber(const char *name, Count number)
{
  char room[24];

  (void)snprintf(room, sizeof room, "%zu", number);
  return setenv(name, room, 1) == 0;
}

/* recordingHand -- what is told of the collector, and of what is handed over to it */
static Bool recordingHand(Recording recording)
{
  static const char *const policies[] = {"discard", "block", "overwrite", "stop"};

  if (recording->collector == NULL)
    return unsetenv("PAWPRINT_COLLECTOR") == 0;
  return setenv("PAWPRINT_COLLECTOR", CollectorAddress(recording->collector), 1) == 0 &&
         setenv("PAWPRINT_POLICY", policies[recording->policy], 1) == 0 &&
         recordingNumber("PAWPRINT_BLOCK", recording->blockSize) && recordingNumber("PAWPRINT_BLOCKS", recording->blocks);
}

/* recordingEnvironment -- tell the library in the program what is wanted */
static Bool recordingEnvironment(Recording recording)
{
  const char *others = getenv("LD_PRELOAD");
  char preload[2 * PATH_MAX];

  if (snprintf(preload, sizeof preload, "%s%s%s", recording->library, others != NULL ? ":" : "",
               others != NULL ? others : "") >= (int)sizeof preload)
    return FALSE;
  /* What another recording around this one has told its family is not for ours. */
  if (recording->to != NULL && unsetenv("PAWPRINT_FAMILY") != 0)
    return FALSE;
  return setenv("LD_PRELOAD", preload, 1) == 0 &&
         setenv("PAWPRINT_LOG", recording->to != NULL ? recording->to : recording->log, 1) == 0 &&
         setenv("PAWPRINT_KINDS", recording->kinds, 1) == 0 &&
         setenv("PAWPRINT_MODE", recording->manage ? "manage" : "observe", 1) == 0 &&
         setenv("PAWPRINT_STACK", recording->stack, 1) == 0 &&
         setenv("PAWPRINT_RAW", recording->raw ? "1" : "0", 1) == 0 &&
         setenv("PAWPRINT_PAUSED", recording->paused ? "1" : "0", 1) == 0 &&
         recordingNumber("PAWPRINT_ONLY", recording->alone ? (Count)getpid() : 0) && recordingHand(recording);
}

/* recordingBecome -- in the child: become the program.  What goes wrong is told here; then our status is returned. */
static int recordingBecome(Recording recording, char **argv)
{
  int error;

  if (recording->to == NULL && (!recordingLog(recording, getpid()) || !recordingCreate(recording)))
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
  if (recording->to == NULL)
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

/* recordingLine -- to be told at the end, once */
static void recordingLine(void *data, const char *line)
{
  Recording recording = data;
  Index i;

  for (i = 0; i < recording->lines; ++i)
    if (strcmp(recording->line[i], line) == 0)
      return;
  if (recording->lines < recordingLinesMAX && (recording->line[recording->lines] = strdup(line)) != NULL)
    ++recording->lines;
}

/* recordingProgram -- a program of the family: is there anything against its being observed? */
static void recordingProgram(void *data, const char *name)
{
  Recording recording = data;
  char line[PATH_MAX + 256], found[PATH_MAX], path[PATH_MAX];
  const char *reason;
  Index i;

  if (ProgramFind(found, sizeof found, name) != ResOK || realpath(found, path) == NULL)
    return;
  for (i = 0; i < recording->known; ++i)
    if (strcmp(recording->path[i], path) == 0)
      return;
  if (recording->known == recordingKnownMAX || (recording->path[recording->known] = strdup(path)) == NULL)
    return;
  ++recording->known;
  reason = ProgramUnseen(path);
  if (reason == NULL)
    return;
  (void)snprintf(line, sizeof line, "not seen: %s: %s", path, reason);
  recordingLine(recording, line);
}

/* recordingCollector -- have a collector, if that can be */
static void recordingCollector(Recording recording)
{
  CollectorSettingsStruct settings = {
    .process = recording->process,
    .events = recording->events != NULL ? recording->codes : NULL,
    .raw = recording->raw,
    .witness = recording->system,
    .paused = recording->paused,
    .sample = (unsigned)recording->sample,
    .alone = recording->alone,
    .watched = TRUE,
    .data = recording,
    .program = recordingProgram,
    .tell = recordingLine,
  };

  if (CollectorNew(&recording->collector, &settings) == ResOK)
    return;
  recording->collector = NULL;
  (void)OptionFail(recording->tool, "no collector: %s; processes write to the log themselves", strerror(errno));
}

/* recordingOutlet -- the log goes to another place: the collector sends it there */
static void recordingOutlet(Recording recording)
{
  const char *reason;

  if (CollectorSend(recording->collector, recording->to, &reason) == ResOK)
    return;
  (void)OptionFail(recording->tool, "%s: %s; processes send by themselves", recording->to, reason);
  CollectorFree(recording->collector);
  recording->collector = NULL;
}

/* recordingOpen -- the log is there: the collector may write to it.  More files than usual may be open. */
static void recordingOpen(Recording recording)
{
  struct rlimit limit;

  if (recording->collector == NULL)
    return;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (recording->to != NULL) {
    recordingOutlet(recording);
    return;
  }
  if (CollectorLog(recording->collector, recording->log) == ResOK) {
    CollectorProgram(recording->collector, recording->pid);
    return;
  }
  (void)OptionFail(recording->tool, "%s: %s; processes write to it themselves", recording->log, strerror(errno));
  CollectorFree(recording->collector);
  recording->collector = NULL;
}

static uint64_t recordingClock(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* recordingSignal -- take those that are there; TRUE: the program has ended.  What is meant to end us ends the program
 * and the recording; we end when it has. */
static Bool recordingSignal(Recording recording)
{
  struct signalfd_siginfo info;
  siginfo_t child = {0};

  while (read(recording->signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      continue;
    /* The terminal sends its own to the program, too. */
    if (info.ssi_code != SI_KERNEL)
      (void)kill(recording->pid, (int)info.ssi_signo);
    if (recordingClock() + recordingGrace * 1000000u < recording->end)
      recording->end = recordingClock() + recordingGrace * 1000000u;
  }
  /* As long as it is not reaped nobody else has its number. */
  return waitid(P_PID, (id_t)recording->pid, &child, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD
                                                                                       : child.si_pid != 0;
}

/* recordingNap -- until a signal comes, or `until`; the collector works meanwhile, if there is one */
static void recordingNap(Recording recording, uint64_t until)
{
  uint64_t now = recordingClock(), ns = until > now ? until - now : 0;
  struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  struct pollfd poll = {recording->signals, POLLIN, 0};

  if (recording->collector != NULL)
    (void)CollectorRun(recording->collector, recording->signals, until);
  else
    (void)ppoll(&poll, 1, &time, NULL);
}

/* recordingWait -- until the program has ended; its wait status */
static int recordingWait(Recording recording)
{
  uint64_t look = 0;
  siginfo_t child = {0};
  int status = 0;

  while (!recordingSignal(recording)) {
    uint64_t now = recordingClock();
    if (now >= recording->end) {
      if (recording->collector != NULL)
        CollectorStop(recording->collector);
      recording->end = UINT64_MAX;
    }
    if (now >= look) {
      FamilyPrograms(recording->pid, recordingProgram, recording);
      /* A large family is looked at less often: it is to cost a hundredth at most. */
      look = recordingClock();
      look += (look - now) * 100 > recordingLook * 1000000u ? (look - now) * 100 : recordingLook * 1000000u;
    }
    recordingNap(recording, look < recording->end ? look : recording->end);
  }
  if (recording->collector != NULL &&
      waitid(P_PID, (id_t)recording->pid, &child, WEXITED | WNOWAIT) == 0)
    CollectorEnded(recording->collector, recording->pid,
                   child.si_code == CLD_EXITED ? W_EXITCODE(child.si_status, 0) : child.si_status);
  (void)waitpid(recording->pid, &status, 0);
  return status;
}

/* recordingFinish -- what is still in memory goes into the log; how many processes still run */
static Count recordingFinish(Recording recording)
{
  Count blocks, others = 0, running = 0;

  if (recording->collector != NULL && CollectorEnd(recording->collector, &running) != ResOK)
    (void)OptionFail(recording->tool, "%s: what processes left in memory could not be added: %s; eventrec --clean adds it",
                     recording->log, strerror(errno));
  if (recording->collector != NULL)
    CollectorFree(recording->collector);
  if (LogRecover(recording->log, &blocks, &others) != ResOK)
    (void)OptionFail(recording->tool, "%s: what the program left in memory could not be added: %s; it stays in /dev/shm",
                     recording->log, strerror(errno));
  return others > running ? others : running;
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

static void recordingLines(Recording recording)
{
  Index i;

  for (i = 0; i < recording->lines; ++i)
    (void)fprintf(stderr, "eventrec: %s\n", recording->line[i]);
}

/* recordingSeen -- is there a recorded program in the log, not only what the collector saw? */
static Bool recordingSeen(Log log, Count processes)
{
  Index i;

  for (i = 0; i < processes; ++i)
    if (LogProcessAt(log, i)->header.role[0] == '\0')
      return TRUE;
  return FALSE;
}

/* recordingSummary -- one line of what is in the log, and one for what is not.  FALSE: there is no log to speak of. */
static Bool recordingSummary(Recording recording, Count running)
{
  LogHooksStruct hooks = {.data = recording, .gap = recordingNote, .note = recordingSilent};
  const char *path = recording->log;
  LogSummaryStruct summary;
  char error[512], line[PATH_MAX + 64];
  Log log;

  recordingProgram(recording, recording->program);

  if (LogOpen(&log, &path, 1, &hooks, error, sizeof error) != ResOK) {
    (void)fprintf(stderr, "eventrec: 0 events (0 discarded), 0 bytes, %.3f s -> %s\n", recording->seconds, path);
    if (recording->lines == 0)
      (void)fprintf(stderr, "eventrec: not seen: %s: it did not load the library\n", recording->program);
    recordingLines(recording);
    return FALSE;
  }
  LogSummarize(&summary, log);
  if (!recordingSeen(log, summary.processes) && recording->lines == 0) {
    (void)snprintf(line, sizeof line, "not seen: %s: it did not load the library", recording->program);
    recordingLine(recording, line);
  }
  LogClose(log);
  (void)fprintf(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s\n",
                (unsigned long long)summary.events, (unsigned long long)summary.discarded,
                (unsigned long long)summary.bytes, recording->seconds,
                recording->output != NULL ? recording->output : strrchr(path, '/') + 1);
  recordingLines(recording);
  if (running > 0)
    (void)fprintf(stderr, "eventrec: %zu of its processes still run, and write to the log\n", running);
  return TRUE;
}

/* recordingSent -- the end of a recording that went to another place, and a line of what was sent */
static void recordingSent(Recording recording)
{
  uint64_t events = 0, discarded = 0, bytes = 0;
  Count running = 0;

  recordingProgram(recording, recording->program);
  if (recording->collector != NULL) {
    if (CollectorEnd(recording->collector, &running) != ResOK)
      (void)OptionFail(recording->tool, "%s: not all could be sent: %s; eventrec --clean removes what is left in memory",
                       recording->to, strerror(errno));
    CollectorCount(recording->collector, &events, &discarded, &bytes);
    CollectorFree(recording->collector);
  }
  (void)fprintf(stderr, "eventrec: %llu events (%llu discarded), %llu bytes, %.3f s -> %s\n", (unsigned long long)events,
                (unsigned long long)discarded, (unsigned long long)bytes, recording->seconds, recording->to);
  recordingLines(recording);
  if (running > 0)
    (void)fprintf(stderr, "eventrec: %zu of its processes still run, and send by themselves\n", running);
}

/* recordingSignals -- from here on signals wait until they are read; the program gets the mask that we were given.  Who
 * ignores ended children, as we may have been told to, learns no status. */
static Bool recordingSignals(Recording recording)
{
  static const int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  struct sigaction children = {.sa_handler = SIG_DFL};
  Index i;

  (void)sigemptyset(&recording->watched);
  for (i = 0; i < ARRAY_LENGTH(signals); ++i)
    (void)sigaddset(&recording->watched, signals[i]);
  (void)sigprocmask(SIG_BLOCK, &recording->watched, &recording->mask);
  (void)sigaction(SIGCHLD, &children, &recording->children);
  recording->signals = signalfd(-1, &recording->watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (recording->signals >= 0)
    return TRUE;
  (void)OptionFail(recording->tool, "signals cannot be waited for: %s", strerror(errno));
  return FALSE;
}

/* recordingRun -- the whole of it; our status */
static int recordingRun(Recording recording, char **argv)
{
  uint64_t begin = recordingClock();
  Count running;
  int status;

  if (!recordingSignals(recording))
    return eventrecFAILED;
  recordingCollector(recording);
  recording->end = recording->limit > 0 && recording->limit < 1e9 ? begin + (uint64_t)(recording->limit * 1e9) : UINT64_MAX;
  recording->pid = recordingStart(recording, argv, &status);
  if (recording->pid < 0)
    return status;
  (void)recordingLog(recording, recording->pid);
  recordingOpen(recording);
  status = recordingWait(recording);
  recording->seconds = (double)(recordingClock() - begin) * 1e-9;
  if (recording->to != NULL) {
    recordingSent(recording);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  running = recordingFinish(recording);
  (void)recordingSummary(recording, running);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void recordingSay(void *data, const char *line)
{
  UNUSED(data);
  (void)printf("%s\n", line);
}

/* recordingClean -- no program: remove what dead recordings have left */
static int recordingClean(Recording recording)
{
  Count removed;
  Res res = CleanRegions(recordingSay, recording, &removed);

  if (fflush(stdout) != 0)
    return OptionFail(recording->tool, "standard output: %s", strerror(errno));
  return res == ResOK ? 0 : eventrecFAILED;
}

int main(int argc, char **argv)
{
  static RecordingStruct recording = {.kinds = "", .stack = "0", .blockSize = recordingBlock, .blocks = recordingBlocks,
                                      .sample = SampleINTERVAL};
  ListenStruct listen = {.senders = ListenSendersDEFAULT, .limit = ListenSizeDEFAULT};
  const OptionStruct options[] = {
    OptionString('o', "output", &recording.output, "FILE", "the log (PROGRAM.PID.paw)"),
    OptionString('k', "kinds", &recording.kinds, "LIST", "kinds to send: all, none, names separated by commas, +Name, -Name (all but Sync)"),
    OptionString('E', "events", &recording.events, "LIST", "only these event types, of the kinds chosen (all)"),
    OptionChoice('m', "mode", &recording.manage, "observe|manage", "whose malloc serves the program (observe)"),
    OptionChoice('p', "policy", &recording.policy, "discard|block|overwrite|stop",
                 "when no block is free: count what is lost, wait, keep the newest, end the recording (discard)"),
    OptionSize('b', "block-size", &recording.blockSize, "SIZE", "bytes of a block: 4K to 64K (32K)"),
    OptionNumber('n', "blocks", &recording.blocks, "N", "full blocks of a process that may wait (1920)"),
    OptionString(0, "process", &recording.process, "NAME|PID", "of the family, only these processes (all)"),
    OptionFlag(0, "paused", &recording.paused, "begin with everything off; `eventctl PID start' begins"),
    OptionDouble('t', "time", &recording.limit, "SECONDS", "end the recording then; the program goes on"),
    OptionNumber(0, "sample", &recording.sample, "MS",
                 "sample processes and threads so often: times, memory, page faults; 0: never (100)"),
    OptionFlag(0, "no-follow", &recording.alone, "only this process, not its children"),
    OptionFlag(0, "clean", &recording.clean, "no program: list and remove what dead recordings left in memory"),
    OptionString('s', "stack", &recording.stack, "DEPTH", "callers recorded with each allocation: 0, or 1 for the caller itself (0)"),
    OptionFlag(0, "force", &recording.force, "overwrite a log that is there"),
    OptionFlag(0, "raw", &recording.raw, "leave the log as it was recorded, not packed"),
    OptionString(0, "to", &recording.to, "WHERE", "send the log to tcp:HOST:PORT or unix:PATH instead of a file"),
    OptionString(0, "listen", &listen.where, "WHERE", "no program: receive logs there, one file for each sender"),
    OptionNumber(0, "senders", &listen.senders, "N", "with --listen: at most so many senders (256)"),
    OptionSize(0, "max-size", &listen.limit, "SIZE", "with --listen: at most so much for each sender (4G)"),
  };
  const OptionToolStruct tool = {
    .name = "eventrec",
    .synopsis = "[options] [--] program [argument...]",
    .summary = "Runs a program and records what it does with its memory.",
    .options = options,
    .count = ARRAY_LENGTH(options),
    .notes = "Buffers: at most 1920 blocks of 32 KiB, 60 MiB, for a process that is faster than eventrec for a while,\n"
             "and a block for each thread and kind; memory is used as it is needed.\n"
             "The status is the program's own, 128 + the number of the signal that ended it,\n"
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
  if (recording.clean)
    return operands == 0 ? recordingClean(&recording) : OptionUsage(&tool, "--clean runs no program");
  if (listen.where != NULL && operands > 0)
    return OptionUsage(&tool, "--listen runs no program");
  if (listen.where != NULL) {
    listen.tool = &tool;
    listen.output = recording.output;
    return ListenRun(&listen);
  }
  if (operands == 0)
    return OptionUsage(&tool, "no program is named");
  if (!recordingKinds(&recording) || !recordingTo(&recording) || !recordingBuffers(&recording))
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
