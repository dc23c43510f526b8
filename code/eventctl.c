/* eventctl.c -- look into a running program, and change what it records
 *
 * Works from outside, through the memory in which the program keeps its blocks: the program is not stopped, and need do
 * nothing.  Its kinds are called what its own header block calls them.
 *
 * Design: design/collector.md .control      Tests: test/eventctl.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/option.h"
#include "base/text.h"
#include "collect/control.h"
#include "collect/listen.h"
#include "collect/live.h"
#include "collect/peek.h"
#include "log/file.h"
#include "log/request.h"
#include "view/line.h"
#include "view/output.h"

enum { ctlTracebackEVENTS = 10, ctlFlushMS = 1000 };

typedef struct CtlStruct {
  const OptionToolStruct *tool;
  Bool buffered;       /* lists are of what the flight recorder keeps */
  LiveStruct live;
  const char *const *words; /* the command, */
  Count count;         /* of so many words */
  Log log;             /* for traceback: the blocks as a log, */
  Line line;
  Count newest;        /* so many events of each kind, */
  uint64_t events[EventKindMAX]; /* of so many that there are */
} CtlStruct, *Ctl;

/* The program may end, or cut its memory short, at any time. */
static void ctlGone(int number)
{
  static const char message[] = "eventctl: the process's memory is gone: it ended, or cut the file short\n";

  UNUSED(number);
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  _exit(1);
}

static int ctlShow(Ctl ctl)
{
  static const char *const policies[] = {"discard", "block", "stop", "overwrite"};
  RegionHeader region = ctl->live.region;
  uint32_t sent = LiveSent(&ctl->live), buffered = LiveBuffered(&ctl->live), policy = region->policy;
  const char *name = strrchr(ctl->live.header.program, '/');
  PeekCountsStruct counts;
  Index k;

  PeekCount(&counts, &ctl->live);
  printf("process %" PRIu32 " %s, %s%s%.*s\n", ctl->live.pid, name != NULL ? name + 1 : ctl->live.header.program,
         RegionCollected(region) ? "collected" : "by itself", region->log[0] != '\0' ? ", into " : "",
         (int)sizeof region->log, region->log);
  printf("%-10s %-5s %s\n", "kind", "sent", "buffered");
  for (k = 0; k < EventKindMAX; ++k)
    if (ctl->live.kind[k][0] != '\0')
      printf("%-10s %-5s %s\n", ctl->live.kind[k], (sent >> k & 1) != 0 ? "yes" : "no",
             (buffered >> k & 1) != 0 ? "yes" : "no");
  printf("policy %s: %zu of %" PRIu32 " blocks full, %" PRIu64 " event%s discarded",
         policy < ARRAY_LENGTH(policies) ? policies[policy] : "unknown", counts.full, region->limit, counts.discarded,
         counts.discarded == 1 ? "" : "s");
  if (region->pool.overwritten > 0)
    printf(", %" PRIu32 " blocks overwritten", region->pool.overwritten);
  printf("%s\n", region->stopped != 0 ? ", stopped when there was no room" : "");
  return fflush(stdout) == 0 || errno == EPIPE ? 0 : OptionFail(ctl->tool, "standard output: %s", strerror(errno));
}

static void ctlCommandsSay(Text text);

/* ctlList -- the kinds that the words choose, against what is now.  FALSE: told */
static Bool ctlList(Ctl ctl, uint32_t now, uint32_t *maskReturn, int *status)
{
  const char *names[EventKindMAX];
  char list[1024], reason[512];
  TextStruct text, error;
  Index i;

  for (i = 0; i < EventKindMAX; ++i)
    names[i] = ctl->live.kind[i][0] != '\0' ? ctl->live.kind[i] : NULL;
  TextInit(&text, list, sizeof list);
  for (i = 0; i < ctl->count; ++i) {
    TextString(&text, i > 0 ? "," : "");
    TextString(&text, ctl->words[i]);
  }
  TextInit(&error, reason, sizeof reason);
  if (!text.overflow && NamesMask(maskReturn, TextTerminate(&text), names, EventKindMAX, now, "kind", &error) == ResOK)
    return TRUE;
  if (strpbrk(ctl->words[0], "+-,") == NULL)
    ctlCommandsSay(&error); /* it may have been meant as one */
  *status = OptionUsage(ctl->tool, "%s", text.overflow ? "so many kinds there are not" : TextTerminate(&error));
  return FALSE;
}

static int ctlSwitch(Ctl ctl)
{
  uint32_t mask;
  int status = 0;

  if (ctlList(ctl, ctl->buffered ? LiveBuffered(&ctl->live) : LiveSent(&ctl->live), &mask, &status))
    (ctl->buffered ? LiveBuffer : LiveSend)(&ctl->live, mask);
  return status;
}

static int ctlStart(Ctl ctl)
{
  LiveSend(&ctl->live, ctl->live.region->chosen & ((1u << RegionControlBUFFER) - 1));
  return 0;
}

static int ctlStop(Ctl ctl)
{
  LiveSend(&ctl->live, 0);
  return 0;
}

/* ctlFlush -- where there is a collector it does that.  Otherwise the program does, at its next event; which may be
 * long from now, so what can be seen from here goes out at once. */
static int ctlFlush(Ctl ctl)
{
  Live live = &ctl->live;
  const char *reason;
  int fd;
  Res res;

  if (RegionCollected(live->region)) {
    LiveAsk(live, RegionAskFLUSH);
    LiveWake(live);
    if (LiveWait(live, RegionAskFLUSH, ctlFlushMS))
      return 0;
    if (RegionCollected(live->region))
      return OptionFail(ctl->tool, "process %" PRIu32 ": its collector has not answered for a second; it was "
                        "asked, and may yet", live->pid);
  }
  LiveAsk(live, RegionAskFLUSH);
  fd = PeekLog(live, &reason);
  if (fd < 0) {
    fprintf(stderr, "%s: process %" PRIu32 ": %s; the program was asked, and will flush with its next event\n",
            ctl->tool->name, live->pid, reason);
    return 0;
  }
  res = PeekAppend(live, fd, FALSE);
  if (close(fd) == 0 && res == ResOK)
    return 0;
  return OptionFail(ctl->tool, "%s: %s", live->region->log, res == ResMEMORY ? "no memory" : strerror(errno));
}

/* What is missing from these blocks is in the log, not lost. */
static void ctlGap(void *data, LogGap gap)
{
  UNUSED(data);
  UNUSED(gap);
}

static void ctlNote(void *data, const char *note)
{
  UNUSED(data);
  UNUSED(note);
}

static Bool ctlCount(LogRequest request, LogEvent event)
{
  Ctl ctl = request->data;

  ++ctl->events[event->type->kind];
  return FALSE;
}

static Bool ctlPrint(LogRequest request, LogEvent event)
{
  Ctl ctl = request->data;
  LogRequestStruct line = {.data = ctl->line};

  return ctl->events[event->type->kind]-- <= ctl->newest && LineEvent(&line, event);
}

/* ctlPrintAll -- two passes over the copied blocks: which events are the newest, and those */
static int ctlPrintAll(Ctl ctl)
{
  LogRequestStruct request = LogRequestALL;
  OutputStruct output;
  Res res;

  OutputInit(&output, STDOUT_FILENO);
  if (LineCreate(&ctl->line, LineTEXT, ctl->log, &output) != ResOK)
    return OptionFail(ctl->tool, "no memory");
  request.data = ctl;
  request.event = ctlCount;
  res = LogRead(ctl->log, &request);
  request.event = ctlPrint;
  if (res == ResOK)
    res = LogRead(ctl->log, &request);
  (void)OutputFlush(&output);
  LineDestroy(ctl->line);
  if (res != ResOK)
    return OptionFail(ctl->tool, "reading stopped: %s", res == ResIO ? strerror(errno) : ResName(res));
  if (output.failed != 0 && output.failed != EPIPE)
    return OptionFail(ctl->tool, "standard output: %s", strerror(output.failed));
  return 0;
}

/* ctlTraceback -- copy the blocks into a log without a name, and read that */
static int ctlTraceback(Ctl ctl)
{
  LogHooksStruct hooks = {.data = ctl, .gap = ctlGap, .note = ctlNote};
  char path[32], error[256];
  const char *paths[] = {path};
  int fd, status;
  Res res;

  if (ctl->count == 2 && OptionParseNumber(ctl->words[1], &ctl->newest) != ResOK)
    return OptionUsage(ctl->tool, "traceback: '%s' is no number", ctl->words[1]);
  fd = FileOpenTemporary();
  res = fd < 0 ? ResIO : PeekAppend(&ctl->live, fd, TRUE);
  if (res != ResOK) {
    status = OptionFail(ctl->tool, "temporary file: %s", res == ResMEMORY ? "no memory" : strerror(errno));
  } else {
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (LogOpen(&ctl->log, paths, 1, &hooks, error, sizeof error) != ResOK) {
      status = OptionFail(ctl->tool, "process %" PRIu32 ": %s", ctl->live.pid, error);
    } else {
      status = ctlPrintAll(ctl);
      LogClose(ctl->log);
    }
  }
  if (fd >= 0)
    (void)close(fd);
  return status;
}

static const struct {
  const char *word;
  Count most;        /* words, that one included */
  Bool changes;      /* the table */
  int (*run)(Ctl ctl);
} ctlCommands[] = {
  {"start", 1, TRUE, ctlStart},
  {"stop", 1, TRUE, ctlStop},
  {"flush", 1, FALSE, ctlFlush},
  {"traceback", 2, FALSE, ctlTraceback},
};

static void ctlCommandsSay(Text text)
{
  Index i;

  TextString(text, "; commands are ");
  for (i = 0; i < ARRAY_LENGTH(ctlCommands); ++i) {
    TextString(text, i == 0 ? "" : i + 1 < ARRAY_LENGTH(ctlCommands) ? ", " : " and ");
    TextString(text, ctlCommands[i].word);
  }
}

/* ctlRun -- the command in `words`, on the process */
static int ctlRun(Ctl ctl, uint32_t pid)
{
  int (*run)(Ctl ctl) = ctl->count == 0 ? ctlShow : ctlSwitch;
  Bool changes = ctl->count > 0;
  char error[RegionPathMAX + 256];
  Index i;
  int status;

  for (i = 0; ctl->count > 0 && i < ARRAY_LENGTH(ctlCommands); ++i)
    if (strcmp(ctl->words[0], ctlCommands[i].word) == 0) {
      if (ctl->count > ctlCommands[i].most)
        return OptionUsage(ctl->tool, "%s: '%s' is one word too many", ctl->words[0], ctl->words[ctlCommands[i].most]);
      if (ctl->buffered)
        return OptionUsage(ctl->tool, "--buffered is for a list of kinds, not for %s", ctl->words[0]);
      run = ctlCommands[i].run;
      changes = ctlCommands[i].changes;
    }
  (void)signal(SIGBUS, ctlGone);
  if (LiveOpen(&ctl->live, pid, error, sizeof error) != ResOK)
    status = OptionFail(ctl->tool, "%s", error);
  else if (changes && !ctl->live.controlled)
    status = OptionFail(ctl->tool, "process %" PRIu32 " does not let its kinds be changed from outside", pid);
  else
    status = run(ctl);
  LiveClose(&ctl->live);
  return status;
}

/* ctlListener -- the command in `words` for all who send to a listening eventrec; whether they obey is theirs to say */
static int ctlListener(Ctl ctl, const char *where)
{
  char request[256];
  const char *reason = "so many kinds there are not";
  Bool flush = ctl->count == 1 && strcmp(ctl->words[0], "flush") == 0;
  Count senders;
  TextStruct text;
  Index i;

  if (ctl->count == 0 || ctl->buffered)
    return OptionUsage(ctl->tool, "%s: the senders there can be asked to flush, or to send other kinds", where);
  TextInit(&text, request, sizeof request);
  TextString(&text, flush ? "flush" : "kinds ");
  for (i = 0; i < ctl->count && !flush; ++i) {
    TextString(&text, i > 0 ? "," : "");
    TextString(&text, ctl->words[i]);
  }
  if (text.overflow || ListenAsk(where, TextTerminate(&text), &senders, &reason) != ResOK)
    return OptionFail(ctl->tool, "%s: %s", where, reason);
  printf("passed on to %zu sender%s\n", senders, senders == 1 ? "" : "s");
  return fflush(stdout) == 0 || errno == EPIPE ? 0 : OptionFail(ctl->tool, "standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
  static CtlStruct ctl = {.newest = ctlTracebackEVENTS};
  const OptionStruct options[] = {
    OptionFlag('b', "buffered", &ctl.buffered, "a list changes what the flight recorder keeps, not what is sent"),
  };
  const OptionToolStruct tool = {
    .name = "eventctl", .synopsis = "[options] PID|unix:PATH [command]",
    .summary = "Looks into a running program that Pawprint records, and changes what it records.",
    .options = options, .count = ARRAY_LENGTH(options), .usage = 2, .failure = 1, .stopAtOperand = TRUE,
    .notes = "Commands:\n"
             "  (none)                    which kinds are sent and buffered; blocks, events discarded\n"
             "  +Object -Ref, Arena,Pool  change the kinds that are sent; all and none are kinds, too\n"
             "  start, stop               begin or end the recording; the program goes on\n"
             "  flush                     have what the buffers hold sent\n"
             "  traceback [N]             print the newest N events of each kind, 10 if not given\n"
             "unix:PATH is an eventrec --listen: lists and flush are passed on to all who send there.\n",
  };
  Count operands, pid;
  int status;

  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  if (operands == 0)
    return OptionUsage(&tool, "no process is given");
  (void)signal(SIGPIPE, SIG_IGN);
  ctl.tool = &tool;
  ctl.words = (const char *const *)argv + 2;
  ctl.count = operands - 1;
  if (strncmp(argv[1], "unix:", 5) == 0)
    return ctlListener(&ctl, argv[1]);
  if (OptionParseNumber(argv[1], &pid) != ResOK || pid == 0 || pid > INT32_MAX)
    return OptionUsage(&tool, "'%s' is no number of a process", argv[1]);
  if (ctl.buffered && ctl.count == 0)
    return OptionUsage(&tool, "--buffered is for a list of kinds");
  return ctlRun(&ctl, (uint32_t)pid);
}
