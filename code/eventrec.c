/* eventrec.c -- run a program and record it
 *
 * The program is started with libpawprint.so preloaded, and told by its environment where the collector is and what is
 * wanted.  Here the log is made, and filled with what the program's family of processes hand over
 * (collect/collector.h), until the program ends.  A process that cannot reach us writes to the log itself; what it
 * leaves in memory when it dies is put there at the end.
 *
 * Design: design/collector.md      Tests: test/end/eventrec.t, test/collect/collect.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/names.h"
#include "base/option.h"
#include "base/say.h"
#include "collect/programfile.h"
#include "collect/recording.h"
#include "collect/trim.h"
#include "format/block.h"
#include "listen/listen.h"
#include "monitor/sample.h"
#include "recover/clean.h"
#include "recover/recoverlog.h"
#include "recover/regionfile.h"

/* Groups of options (OptionFit). */
enum {
  recordingForRUN = 1,
  recordingForFILE = 2,
  recordingForKEEP = 4,
  recordingForTO = 8,
  recordingForLISTEN = 16,
  recordingForCLEAN = 32
};

static const char *const recordingKindNames[32] = {
#define KIND(name, value, doc) [value] = #name,
#include "eventdef.h"
};

/* recordingKinds -- are all names in the lists kinds, and types?  Of the kinds only those are asked for that have one
 * of the types. */
static Bool recordingKinds(Recording recording)
{
  static char kinds[256];
  char room[512];
  uint32_t mask, theirs = UINT32_MAX;
  TextStruct error, text;
  Index i;

  TextInit(&error, room, sizeof room);
  if (NamesMask(&mask, recording->kinds, recordingKindNames, ARRAY_LENGTH(recordingKindNames), UINT32_MAX,
                &error) != ResOK ||
      (recording->events != NULL && EventChoiceParse(recording->codes, &theirs, recording->events, &error) != ResOK)) {
    (void)OptionUsage(recording->tool, "%s", TextTerminate(&error));
    return FALSE;
  }
  mask &= theirs;
  recording->wanted.watcher = mask >> EventKindSystem & 1;
  if (recording->events == NULL)
    return TRUE;
  EventChoiceCallers(recording->codes, recording->stack > 1                               ? "Stack"
                                       : recording->stack > 0 || recording->range != NULL ? "Site"
                                                                                          : "", recording->stackFrees);
  if (recording->usable) { /* whatever -E names, it is asked for, too */
    EventChoiceAdd(recording->codes, EventPoolUsableSiteCODE);
    EventChoiceAdd(recording->codes, EventPoolUsableStackCODE);
  }
  TextInit(&text, kinds, sizeof kinds);
  for (i = 0; i < ARRAY_LENGTH(recordingKindNames); ++i)
    if (recordingKindNames[i] != NULL && mask >> i & 1)
      TextFormat(&text, "%s%s", TextLength(&text) > 0 ? "," : "", recordingKindNames[i]);
  recording->kinds = TextLength(&text) > 0 ? TextTerminate(&text) : "none";
  return TRUE;
}

/* recordingTo -- can the log be sent to where --to says?  Its host is looked up here: the program itself asks no
 * network. */
static Bool recordingTo(Recording recording)
{
  static char room[ListenPlaceMAX];
  const char *reason;

  if (recording->to != NULL && ListenResolve(room, sizeof room, recording->to, TRUE, &reason) != ResOK) {
    (void)OptionUsage(recording->tool, "--to %s: %s", recording->to, reason);
    return FALSE;
  }
  recording->to = recording->to != NULL ? room : NULL;
  return TRUE;
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

/* recordingFit -- does every option mean something?  FALSE: reported, with the status */
static Bool recordingFit(Recording recording, Bool listens, int *statusReturn)
{
  static const OptionUseStruct uses[] = {
    {"a program", recordingForRUN | recordingForFILE | recordingForKEEP},
    {"--to", recordingForRUN | recordingForTO},
    {"--listen", recordingForLISTEN | recordingForFILE | recordingForKEEP},
    {"--clean", recordingForCLEAN},
  };
  Index chosen = recording->clean ? 3 : listens ? 2 : recording->to != NULL ? 1 : 0;
  uint64_t both = chosen == 1 && recording->output != NULL; /* a file, and sent */

  AVER(chosen < ARRAY_LENGTH(uses));
  recording->file = chosen == 0 || both;
  if (!OptionFit(recording->tool, uses, ARRAY_LENGTH(uses), (uint64_t)1 << chosen | both, statusReturn))
    return FALSE;
  if (!listens && recording->output != NULL && strcmp(recording->output, "-") == 0) {
    *statusReturn =
      OptionUsage(recording->tool, "--output -: standard output is the program's own; name a file (./- is one)");
    return FALSE;
  }
  return TRUE;
}

static void recordingSay(void *data, const char *line)
{
  UNUSED(data);
  SayLine(stdout, "%s", line);
}

/* recordingHas -- has a log that was named something of a recording, and of this process of it, if one is given? */
static Bool recordingHas(const char *log, uint64_t identity, uint64_t sender)
{
  int fd = RecoverLogOpen(log, identity, sender);

  if (fd >= 0)
    (void)close(fd);
  return fd >= 0;
}

/* recordingMeant -- one of the logs that were named is meant; it */
static const char *recordingMeant(Recording recording, char **name)
{
  recording->meant[name - recording->logs] = TRUE;
  return *name;
}

/* recordingCleans -- the log that a region is for, if none was named; the one of those that were named that it is, by
 * that name, which may lead there without links; or else one of those that has its recording: it was moved, or what a
 * collector has sent was received in it */
static const char *recordingCleans(void *data, const char *log, uint64_t identity, uint64_t sender)
{
  Recording recording = data;
  char named[PATH_MAX], its[PATH_MAX];
  char **name;

  for (name = recording->logs; *name != NULL; ++name)
    if (strcmp(*name, log) == 0 ||
        (realpath(*name, named) != NULL && realpath(log, its) != NULL && strcmp(named, its) == 0))
      return recordingMeant(recording, name);
  for (name = recording->logs; *name != NULL; ++name)
    if (access(log, F_OK) != 0 && recordingHas(*name, identity, sender))
      return recordingMeant(recording, name);
  return recording->logs[0] == NULL ? log : NULL;
}

/* recordingLink -- the first of these logs that is a link; NULL: none is */
static const char *recordingLink(char **logs)
{
  struct stat status;

  while (*logs != NULL && (lstat(*logs, &status) != 0 || !S_ISLNK(status.st_mode)))
    ++logs;
  return *logs;
}

/* recordingShare -- several logs may be of one recording: each is to have what it left in memory, before that goes */
static Res recordingShare(Recording recording, char **logs)
{
  Res res = ResOK;
  char **log;

  for (log = logs; logs[0] != NULL && logs[1] != NULL && *log != NULL && res == ResOK; ++log)
    if (access(*log, F_OK) == 0 && (res = CleanAdd(*log)) != ResOK)
      (void)OptionFail(recording->tool, "%s: what is left in memory cannot be added: %s; it stays", *log,
                       strerror(errno));
  return res;
}

/* recordingNamed -- one of the logs that were named: is it one?  What lies beside it comes to it, too.
 * meant  something in memory was for it, and told */
static Res recordingNamed(Recording recording, const char *log, Bool meant)
{
  const char *reason = NULL;
  struct stat status;
  Res res = ResOK;

  if (lstat(log, &status) != 0)
    reason = meant ? NULL : strerror(errno);
  else if (!S_ISREG(status.st_mode))
    reason = "it is no file";
  else if (status.st_size == 0)
    reason = meant ? NULL : "it is empty, and nothing that is left in memory is certainly its own";
  else if ((res = CleanBeside(log, recordingSay, recording)) == ResPARAM)
    reason = errno == EINVAL ? "it is no log" : strerror(errno);
  if (reason == NULL)
    return res;
  (void)OptionFail(recording->tool, "%s: %s", log, reason);
  return ResPARAM;
}

/* recordingClean -- no program: remove what dead recordings of these logs have left, or all of them */
static int recordingClean(Recording recording, char **logs, Count count)
{
  Count removed;
  Res res;
  Index i;

  if (recordingLink(logs) != NULL)
    return OptionFail(recording->tool, "%s: it is a link, which is not followed: name the log that it leads to",
                      recordingLink(logs));
  recording->logs = logs;
  recording->meant = calloc(count + 1, sizeof *recording->meant);
  if (recording->meant == NULL)
    return OptionFail(recording->tool, "no memory");
  res = recordingShare(recording, logs);
  if (res == ResOK)
    res = CleanRegions(recordingCleans, recordingSay, recording, &removed);
  for (i = 0; i < count; ++i)
    if (recordingNamed(recording, logs[i], recording->meant[i]) != ResOK)
      res = ResIO;
  free(recording->meant);
  if (fflush(stdout) != 0)
    return OptionFail(recording->tool, "standard output: %s", strerror(errno));
  return res == ResOK ? 0 : eventrecFAILED;
}

/* recordingListen -- no program: receive logs */
static int recordingListen(Recording recording, Listen listen, Count operands)
{
  if (operands > 0)
    return OptionUsage(recording->tool, "--listen runs no program");
  listen->tool = recording->tool;
  if (recording->wanted.keep != 0)
    listen->limit = recording->wanted.keep;
  listen->output = recording->output;
  return ListenRun(listen);
}

/* recordingAgain -- can what is read from standard input be read again? */
static Bool recordingAgain(void)
{
  struct stat input;

  return fstat(STDIN_FILENO, &input) != 0 || (!S_ISFIFO(input.st_mode) && !S_ISSOCK(input.st_mode));
}

/* recordingProgram -- can it be run so?  Then it is; `arguments` begin with its name, or are none */
static int recordingProgram(Recording recording, char **arguments)
{
  const char *name = arguments[0];
  Res res;

  if (name == NULL)
    return OptionUsage(recording->tool, "no program is named");
  if (recording->wanted.keep != 0 && recording->wanted.keep < TrimLimitMIN)
    return OptionUsage(recording->tool, "--max-size is less than %d MiB, which would hold little but headers",
                       TrimLimitMIN >> 20);
  if (recording->limit <= 0)
    return OptionUsage(recording->tool, "--time %g: it is more than 0 seconds", recording->limit);
  if (!recordingKinds(recording) || !recordingTo(recording) || !recordingBuffers(recording))
    return eventrecFAILED;
  if (recording->stack > recordingDepthMAX)
    return OptionUsage(recording->tool, "--stack %zu: it is 0, 1 for the caller, or a depth of 2 to %d",
                       recording->stack, recordingDepthMAX);
  if (recording->range != NULL && (recording->stack > 0 || recording->stackFrees))
    return OptionUsage(recording->tool, "--range records one caller: it goes without --stack and --stack-frees");
  if (recording->range != NULL && (recording->range[0] == '\0' || strlen(recording->range) > 120))
    return OptionUsage(recording->tool, "--range %s: it is the name of a module, such as libfoo.so, or LO-HI",
                       recording->range);
  if (recording->range != NULL && RecordingRangeEmpty(recording->range))
    return OptionUsage(recording->tool, "--range %s: no address is between these; LO is less than HI", recording->range);
  if (recording->debug && !recording->manage)
    return OptionUsage(recording->tool, "--debug is about Pawprint's own pools; it needs --mode manage");
  if (recording->stackFrees && recording->stack < 2)
    return OptionUsage(recording->tool, "--stack-frees needs stacks: --stack with a depth of 2 to %d",
                       recordingDepthMAX);
  if (recording->usable && recording->stack < 1 && recording->range == NULL)
    return OptionUsage(recording->tool, "--usable needs callers: --stack with 1 or more, or --range");
  if (recording->baseline && !recordingAgain())
    return OptionUsage(recording->tool, "--baseline: standard input is a pipe, which the second run would find empty; "
                       "redirect it from a file, or from /dev/null");
  if (!RecordingLibrary(recording))
    return eventrecFAILED;
  res = ProgramFind(recording->program, sizeof recording->program, name);
  if (res != ResOK) {
    (void)OptionFail(recording->tool, "%s: %s%s", name,
                     res == ResIO ? "it may not be run: it is a folder, or lacks the permission (chmod +x)"
                                  : "there is no such program",
                     res == ResIO || strchr(name, '/') != NULL ? "" : " in PATH");
    return res == ResIO ? eventrecCANNOT : eventrecMISSING;
  }
  return RecordingRun(recording, arguments);
}

/* recordingDo -- what the command line asks for; our status */
static int recordingDo(Recording recording, Listen listen, char **arguments, Count operands)
{
  int status;

  if (!recordingFit(recording, listen->where != NULL, &status))
    return status;
  if (!recording->clean && listen->where == NULL)
    return recordingProgram(recording, arguments);
  (void)signal(SIGXFSZ, SIG_IGN); /* a write past the limit on file sizes fails, like one to a full disk */
  return recording->clean ? recordingClean(recording, arguments, operands)
                          : recordingListen(recording, listen, operands);
}

static const char recordingNotes[] =
  "Buffers: at most 1920 blocks of 32 KiB, 60 MiB, for a process that is faster than eventrec for a while,\n"
  "and a block for each thread and kind; memory is used as it is needed.\n"
  "The status is the program's own, 128 + the number of the signal that ended it,\n"
  "125 if eventrec fails, 126 if the program cannot be run, 127 if there is none.\n";

/* recordingMain -- the command line, and what it asks for */
static int recordingMain(Recording recording, Listen listen, int argc, char **argv)
{
  uint64_t given;
  const OptionStruct options[] = {
    OptionString('o', "output", &recording->output, "FILE", "the log (PROGRAM.PID.paw)", recordingForFILE),
    OptionString('k', "kinds", &recording->kinds, "LIST",
                 "kinds to send: all, none, names separated by commas, +Name, -Name (all but Sync and Ref)",
                 recordingForRUN),
    OptionString('E', "events", &recording->events, "LIST", "only these event types, of the kinds chosen (all)",
                 recordingForRUN),
    OptionChoice('m', "mode", &recording->manage, "observe|manage", "whose malloc serves the program (observe)",
                 recordingForRUN),
    OptionFlag(0, "debug", &recording->debug,
               "with -m manage: keep who allocated and freed each object, and find what the program does wrong with it",
               recordingForRUN),
    OptionChoice('p', "policy", &recording->policy, "discard|block|overwrite|stop",
                 "when no block is free: count what is lost, wait, keep the newest, end the recording (discard)",
                 recordingForRUN),
    OptionSize('b', "block-size", &recording->blockSize, "SIZE", "bytes of a block: 4K to 64K (32K)", recordingForRUN),
    OptionNumber('n', "blocks", &recording->blocks, "N", "full blocks of a process that may wait (1920)",
                 recordingForRUN),
    OptionString(0, "process", &recording->wanted.process, "NAME|PID", "of the family, only these processes (all)",
                 recordingForRUN),
    OptionFlag(0, "paused", &recording->wanted.paused, "begin with everything off; `eventctl PID start' begins",
               recordingForRUN),
    OptionFlag(0, "baseline", &recording->baseline,
               "run the program once more, unrecorded, and keep in the log what it took of processor time and memory",
               recordingForRUN),
    OptionDouble('t', "time", &recording->limit, "SECONDS", "end the recording then; the program goes on",
                 recordingForRUN),
    OptionNumber(0, "sample", &recording->wanted.sample, "MS",
                 "sample processes and threads so often: times, memory, page faults; 0: never (100)", recordingForRUN),
    OptionFlag(0, "no-follow", &recording->wanted.alone, "only this process, not its children", recordingForRUN),
    OptionFlag(0, "clean", &recording->clean,
               "no program: add what dead recordings (of these logs) left in memory to their logs, and list it",
               recordingForCLEAN),
    OptionNumber('s', "stack", &recording->stack, "DEPTH",
                 "callers recorded with each allocation: 0, 1 for the caller itself, 2 to 64 for a stack (0)",
                 recordingForRUN),
    OptionFlag(0, "stack-frees", &recording->stackFrees, "record stacks with each free, too", recordingForRUN),
    OptionFlag(0, "usable", &recording->usable, "record also how many bytes the allocator gave each caller",
               recordingForRUN),
    OptionString('r', "range", &recording->range, "MODULE|LO-HI",
                 "record of each stack the first caller in this module, or between these addresses", recordingForRUN),
    OptionFlag(0, "force", &recording->force, "overwrite a log that is there"),
    OptionFlag(0, "raw", &recording->wanted.raw, "leave the log as it was recorded, not packed", recordingForRUN),
    OptionString(0, "to", &recording->to, "WHERE",
                 "send the log to tcp:HOST:PORT or unix:PATH instead of a file; with -o, there too", recordingForTO),
    OptionString(0, "listen", &listen->where, "WHERE", "no program: receive logs there, one file for each sender",
                 recordingForLISTEN),
    OptionNumber(0, "senders", &listen->senders, "N", "with --listen: at most so many senders (256)",
                 recordingForLISTEN),
    OptionSize(0, "max-size", &recording->wanted.keep, "SIZE",
               "keep the newest SIZE of the log, and what is needed to read it; with --listen: take at most so much "
               "from each sender (4G)", recordingForKEEP),
  };
  const OptionToolStruct tool = {
    .name = "eventrec", .synopsis = "[options] [--] program [argument...]",
    .summary = "Runs a program and records what it does with its memory.",
    .options = options, .count = ARRAY_LENGTH(options), .notes = recordingNotes,
    .usage = eventrecFAILED, .failure = eventrecFAILED, .given = &given, .stopAtOperand = TRUE,
  };
  Count operands;
  int status;

  recording->tool = &tool;
  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  return recordingDo(recording, listen, argv + 1, operands);
}

int main(int argc, char **argv)
{
  static RecordingStruct recording = {.fd = -1, .folder = -1, .own = -1, .kinds = "",
                                      .blockSize = recordingBlock, .blocks = recordingBlocks, .limit = HUGE_VAL,
                                      .wanted.sample = SampleINTERVAL};
  ListenStruct listen = {.senders = ListenSendersDEFAULT, .limit = ListenSizeDEFAULT};

  return recordingMain(&recording, &listen, argc, argv);
}
