/* eventctl.c -- look into a running program, and change what it records
 *
 * Works from outside, through the memory in which the program keeps its blocks: the program is not stopped, and need do
 * nothing.  Its kinds are called what its own header block calls them.
 *
 * Design: design/collector.md .control      Tests: test/end/eventctl.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/option.h"
#include "base/say.h"
#include "base/text.h"
#include "export/output.h"
#include "export/eventlines.h"
#include "listen/listen.h"
#include "log/logfile.h"
#include "log/processname.h"
#include "monitor/blockcopy.h"
#include "monitor/liveregion.h"
#include "request/newest.h"

enum { ctlTracebackEVENTS = 10, ctlFlushMS = 1000 };

/* A process that is worked on, and what is to be done there. */
typedef struct CtlStruct {
  const OptionToolStruct *tool;
  Bool buffered;       /* lists are of what the flight recorder keeps */
  LiveRegion live;           /* the emitter that a command is run for, */
  LiveRegionStruct emitter[LiveRegionEMITTERS]; /* of all that the process has, */
  Count emitters;      /* so many */
  const char *const *words; /* the command, */
  Count count;         /* of so many words */
  Count newest;        /* for traceback: so many events of each kind, */
  uint64_t addr;       /* only those that have this address; 0: all */
} CtlStruct, *Ctl;

/* The program may end, or cut its memory short, at any time. */
static void ctlGone(int number)
{
  static const char message[] = "eventctl: the process's memory is gone: it ended, or cut the file short\n";

  UNUSED(number);
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  _exit(1);
}

/* The same, while many are listed: that process is left out, and the list goes on.  What we had mapped and allocated
 * for it is not given back. */
static sigjmp_buf ctlNext;

static void ctlSkip(int number)
{
  siglongjmp(ctlNext, number);
}

/* ctlRegistry -- what an emitter is called where there are several: version, number and checksum of its events */
static void ctlRegistry(Text text, LiveRegion live)
{
  char line[80];

  (void)snprintf(line, sizeof line, "registry %u.%u.%u of %zu events, %08x", live->header.major,
                 live->header.median, live->header.minor, live->types, (unsigned)live->registry.crc);
  TextString(text, line);
}

/* ctlWhich -- `, registry ...' where there are several, else nothing */
static const char *ctlWhich(Ctl ctl, char *room, Size size)
{
  TextStruct text;

  TextInit(&text, room, size);
  if (ctl->emitters > 1) {
    TextString(&text, ", ");
    ctlRegistry(&text, ctl->live);
  }
  return TextTerminate(&text);
}

/* ctlFlushed -- what was printed goes out; our status */
static int ctlFlushed(Ctl ctl)
{
  return fflush(stdout) == 0 || errno == EPIPE ? 0 : OptionFail(ctl->tool, "standard output: %s", strerror(errno));
}

static int ctlShow(Ctl ctl)
{
  char which[96];
  static const char *const policies[] = {"discard", "block", "stop", "overwrite"};
  RegionHeader region = ctl->live->region;
  uint32_t sent = LiveRegionKinds(ctl->live, FALSE), buffered = LiveRegionKinds(ctl->live, TRUE);
  uint32_t policy = region->policy;
  BlockCopyCountsStruct counts;
  Index k;

  BlockCopyCount(&counts, ctl->live);
  SayLine(stdout, "process %" PRIu32 " %s, %s%s%.*s", ctl->live->pid, HeaderCalled(&ctl->live->header),
         RegionCollected(region) ? "collected" : "by itself", region->log[0] != '\0' ? ", into " : "",
         (int)sizeof region->log, region->log);
  if (ctl->emitters > 1)
    SayLine(stdout, "%s", ctlWhich(ctl, which, sizeof which) + 2);
  SayLine(stdout, "%-10s %-5s %s", "kind", "sent", "buffered");
  for (k = 0; k < EventKindMAX; ++k)
    if (ctl->live->kind[k][0] != '\0')
      SayLine(stdout, "%-10s %-5s %s", ctl->live->kind[k], (sent >> k & 1) != 0 ? "yes" : "no",
             (buffered >> k & 1) != 0 ? "yes" : "no");
  printf("policy %s: %zu of %" PRIu32 " block%s full, %" PRIu64 " event%s discarded",
         policy < ARRAY_LENGTH(policies) ? policies[policy] : "unknown", counts.full, region->limit,
         TextPlural(region->limit), counts.discarded, TextPlural(counts.discarded));
  if (region->pool.overwritten > 0)
    printf(", %" PRIu32 " block%s overwritten", region->pool.overwritten, TextPlural(region->pool.overwritten));
  printf("%s\n", region->stopped != 0 ? ", stopped when there was no room" : "");
  return ctlFlushed(ctl);
}

static void ctlCommandsSay(Text text);

/* ctlHas -- has the emitter a kind of this name? */
static Bool ctlHas(LiveRegion live, const char *name, Size length)
{
  Index i;

  for (i = 0; i < EventKindMAX; ++i)
    if (live->kind[i][0] != '\0' && strlen(live->kind[i]) == length && memcmp(live->kind[i], name, length) == 0)
      return TRUE;
  return FALSE;
}

/* ctlOthers -- is it a name that another emitter of the process has, and this one has not? */
static Bool ctlOthers(Ctl ctl, const char *name, Size length)
{
  Bool has = FALSE;
  Index i;

  for (i = 0; i < ctl->emitters; ++i)
    has |= ctlHas(&ctl->emitter[i], name, length);
  return has && !ctlHas(ctl->live, name, length);
}

/* ctlWords -- the list, as far as it is about this emitter: of the others' names that are chosen, this one sends none
 */
static void ctlWords(Ctl ctl, Text text)
{
  Index i;

  for (i = 0; i < ctl->count; ++i) {
    const char *word = ctl->words[i];
    while (*word != '\0') {
      Size length = strcspn(word, ", ");
      Bool changes = *word == '+' || *word == '-', others = ctlOthers(ctl, word + changes, length - changes);
      if (others && !changes)
        TextString(text, "none,");
      else if (!others && length > 0) {
        TextBytes(text, word, length);
        TextChar(text, ',');
      }
      word += length + (word[length] != '\0');
    }
  }
}

/* ctlList -- the kinds that the words choose, against what is now; returns our status, 0 if they are such */
static int ctlList(Ctl ctl, uint32_t now, uint32_t *maskReturn)
{
  const char *names[EventKindMAX];
  char list[1024], reason[512];
  TextStruct text, error;
  Index i;

  for (i = 0; i < EventKindMAX; ++i)
    names[i] = ctl->live->kind[i][0] != '\0' ? ctl->live->kind[i] : NULL;
  TextInit(&text, list, sizeof list);
  ctlWords(ctl, &text);
  TextInit(&error, reason, sizeof reason);
  if (!text.overflow && NamesMask(maskReturn, TextTerminate(&text), names, EventKindMAX, now, &error) == ResOK)
    return 0;
  if (strpbrk(ctl->words[0], "+-,") == NULL)
    ctlCommandsSay(&error); /* it may have been meant as one */
  return OptionUsage(ctl->tool, "%s", text.overflow ? "so many kinds there are not" : TextTerminate(&error));
}

static int ctlSwitch(Ctl ctl)
{
  uint32_t mask[LiveRegionEMITTERS];
  int status = 0;
  Index i;

  /* All or none: a mistake is found before anything is switched. */
  for (i = 0; i < ctl->emitters; ++i) {
    ctl->live = &ctl->emitter[i];
    status = ctlList(ctl, LiveRegionKinds(ctl->live, ctl->buffered), &mask[i]);
    if (status != 0)
      return status;
  }
  for (i = 0; i < ctl->emitters; ++i)
    LiveRegionChoose(&ctl->emitter[i], ctl->buffered, mask[i]);
  return status;
}

static int ctlStart(Ctl ctl)
{
  LiveRegionChoose(ctl->live, FALSE, ctl->live->region->chosen & ((1u << RegionControlBUFFER) - 1));
  return 0;
}

static int ctlStop(Ctl ctl)
{
  LiveRegionChoose(ctl->live, FALSE, 0);
  return 0;
}

/* ctlFlush -- where there is a collector it does that.  Otherwise the program does, at its next event; which may be
 * long from now, so what can be seen from here goes out at once. */
static int ctlFlush(Ctl ctl)
{
  LiveRegion live = ctl->live;
  const char *reason;
  int fd;
  Res res;

  if (RegionCollected(live->region)) {
    RegionAsk(live->region, RegionAskFLUSH);
    LiveRegionWake(live);
    if (LiveRegionWait(live, RegionAskFLUSH, ctlFlushMS))
      return 0;
    if (RegionCollected(live->region))
      return OptionFail(ctl->tool, "process %" PRIu32 ": its collector has not answered for a second; it was "
                        "asked, and may yet", live->pid);
  }
  RegionAsk(live->region, RegionAskFLUSH);
  fd = BlockCopyLog(live, &reason);
  if (fd < 0) {
    SayLine(stderr, "%s: process %" PRIu32 ": %s; the program was asked, and will flush with its next event",
            ctl->tool->name, live->pid, reason);
    return 0;
  }
  res = BlockCopyAppend(live, fd, FALSE);
  if (close(fd) == 0 && res == ResOK)
    return 0;
  return OptionFail(ctl->tool, "the log of process %" PRIu32 ": %s", live->pid,
                    res == ResMEMORY ? "no memory" : strerror(errno));
}

/* ---- traceback: the newest events that are in the memory of a process ---- */

/* ctlPrint -- print the newest events of the blocks, which are in a log */
static int ctlPrint(Ctl ctl, Log log)
{
  OutputStruct output;
  Line line;
  Res res;

  OutputInit(&output, STDOUT_FILENO);
  if (LineCreate(&line, LineTEXT, log, &output, NULL) != ResOK)
    return OptionFail(ctl->tool, "no memory");
  res = NewestRead(log, LiveRegionEMITTERS, ctl->newest, ctl->addr, LineEvent, line);
  (void)OutputFlush(&output);
  LineDestroy(line);
  if (res != ResOK)
    return OptionFail(ctl->tool, "reading stopped: %s", res == ResIO ? strerror(errno) : ResName(res));
  if (output.failed != 0 && output.failed != EPIPE)
    return OptionFail(ctl->tool, "standard output: %s", strerror(output.failed));
  if (output.flushed == 0)
    SayLine(stderr, "%s: process %" PRIu32 " has no event %sin its memory, or none any more", ctl->tool->name,
            ctl->live->pid, ctl->addr != 0 ? "of this address " : "");
  return 0;
}

/* ctlTraceback -- copy the blocks into a log without a name, and read that */
static int ctlTraceback(Ctl ctl)
{
  LogHooksStruct hooks = {.data = ctl}; /* what is missing from these blocks is in the log, and not lost */
  char path[32], error[256];
  const char *paths[] = {path};
  int fd, status;
  Log log;
  Index i;
  Res res;

  fd = FileOpenTemporary();
  res = fd < 0 ? ResIO : ResOK;
  for (i = 0; i < ctl->emitters && res == ResOK; ++i)
    res = BlockCopyAppend(&ctl->emitter[i], fd, TRUE);
  if (res != ResOK) {
    status = OptionFail(ctl->tool, "temporary file: %s", res == ResMEMORY ? "no memory" : strerror(errno));
  } else {
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
      status = OptionFail(ctl->tool, "process %" PRIu32 ": %s", ctl->live->pid, error);
    } else {
      status = ctlPrint(ctl, log);
      LogClose(log);
    }
  }
  if (fd >= 0)
    (void)close(fd);
  return status;
}

/* ---- Commands ---- */

typedef struct CtlCommandStruct {
  const char *word;
  Count most;        /* words, that one included */
  Bool changes;      /* the table */
  Bool each;         /* it is run for each emitter by itself */
  int (*run)(Ctl ctl);
} CtlCommandStruct;

/* Without a word, and with words that name no command. */
static const CtlCommandStruct ctlShowing = {"", 0, FALSE, TRUE, ctlShow};
static const CtlCommandStruct ctlSwitching = {"", 0, TRUE, FALSE, ctlSwitch};

static const CtlCommandStruct ctlCommands[] = {
  {"start", 1, TRUE, TRUE, ctlStart},
  {"stop", 1, TRUE, TRUE, ctlStop},
  {"flush", 1, FALSE, TRUE, ctlFlush},
  {"traceback", 4, FALSE, FALSE, ctlTraceback},
};

static void ctlCommandsSay(Text text)
{
  Index i;

  TextString(text, "; commands are ");
  for (i = 0; i < ARRAY_LENGTH(ctlCommands); ++i) {
    TextFormat(text, "%s%s", i == 0 ? "" : i + 1 < ARRAY_LENGTH(ctlCommands) ? ", " : " and ", ctlCommands[i].word);
  }
}

/* ctlClose -- let go of the emitters */
static void ctlClose(Ctl ctl)
{
  while (ctl->emitters > 0)
    LiveRegionClose(&ctl->emitter[--ctl->emitters]);
}

/* ctlOpen -- all emitters of the process; ResFAIL: there is none, or one cannot be had, as `error` says */
static Res ctlOpen(Ctl ctl, uint32_t pid, char *error, Size size)
{
  Res res = ResOK;

  while (res == ResOK && ctl->emitters < LiveRegionEMITTERS) {
    LiveRegion live = &ctl->emitter[ctl->emitters];
    res = LiveRegionOpen(live, pid, ctl->emitter, ctl->emitters, error, size);
    if (res == ResOK)
      ++ctl->emitters;
    else
      LiveRegionClose(live);
  }
  return res == ResEND ? ResOK : res;
}

/* ctlControlled -- do all let their kinds be changed?  FALSE: told */
static Bool ctlControlled(Ctl ctl)
{
  char which[96];
  Index i;

  for (i = 0; i < ctl->emitters; ++i) {
    ctl->live = &ctl->emitter[i];
    if (!ctl->live->controlled) {
      (void)OptionFail(ctl->tool, "process %" PRIu32 "%s does not let its kinds be changed from outside",
                       ctl->live->pid, ctlWhich(ctl, which, sizeof which));
      return FALSE;
    }
  }
  return TRUE;
}

/* ctlEach -- run a command for each emitter, or once for all; the first status that is not 0 */
static int ctlEach(Ctl ctl, const CtlCommandStruct *command)
{
  int status = 0, its;
  Index i;

  for (i = 0; i < (command->each ? ctl->emitters : 1); ++i) {
    ctl->live = &ctl->emitter[i];
    its = command->run(ctl);
    status = status != 0 ? status : its;
  }
  return status;
}

/* ctlAddr -- the address that a word is, in C's notation; FALSE: it is none */
static Bool ctlAddr(uint64_t *addrReturn, const char *word)
{
  Bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
  const char *at = hex ? word + 2 : word, *first = at;

  *addrReturn = TextNumber(&at, hex ? 16 : 10);
  return at != first && *at == '\0' && *addrReturn != 0;
}

/* ctlTakes -- is what stands behind a command's name meant for it?  Behind `traceback', the only one with more than one
 * word, are [N] and [--addr A], which are noted.  Returns our status, 0 if it is. */
static int ctlTakes(Ctl ctl, Count most)
{
  const char *command = ctl->words[0];
  Index i = 1;

  if (i < ctl->count && most > 1 && ctl->words[i][0] != '-' &&
      OptionParseNumber(ctl->words[i++], &ctl->newest) != ResOK)
    return OptionUsage(ctl->tool, "%s: '%s' is no number", command, ctl->words[1]);
  if (i < ctl->count && most > 1 && ctl->words[i][0] == '-') {
    if (strcmp(ctl->words[i], "--addr") != 0)
      return OptionUsage(ctl->tool, "%s: no option is called %s", command, ctl->words[i]);
    if (i + 1 == ctl->count || !ctlAddr(&ctl->addr, ctl->words[i + 1]))
      return OptionUsage(ctl->tool, "%s: --addr wants an address, as 0x7f0c1fa01040", command);
    i += 2;
  }
  if (i < ctl->count)
    return OptionUsage(ctl->tool, "%s: '%s' is one word too many", command, ctl->words[i]);
  return ctl->buffered ? OptionUsage(ctl->tool, "--buffered is for a list of kinds, not for %s", command) : 0;
}

/* ctlRun -- the command in `words`, on the process */
static int ctlRun(Ctl ctl, uint32_t pid)
{
  const CtlCommandStruct *command = ctl->count == 0 ? &ctlShowing : &ctlSwitching;
  char error[RegionPathMAX + 256];
  Index i;
  int status;

  for (i = 0; ctl->count > 0 && i < ARRAY_LENGTH(ctlCommands); ++i)
    if (strcmp(ctl->words[0], ctlCommands[i].word) == 0) {
      status = ctlTakes(ctl, ctlCommands[i].most);
      if (status != 0)
        return status;
      command = &ctlCommands[i];
    }
  (void)signal(SIGBUS, ctlGone);
  if (ctlOpen(ctl, pid, error, sizeof error) != ResOK)
    status = OptionFail(ctl->tool, "%s", error);
  else if (command->changes && !ctlControlled(ctl))
    status = ctl->tool->failure;
  else
    status = ctlEach(ctl, command);
  ctlClose(ctl);
  return status;
}

/* ctlShort -- a line of one process that is recorded, for each emitter; nothing of another */
static void ctlShort(Ctl ctl, uint32_t pid, Count *seen)
{
  char error[RegionPathMAX + 256], which[96];
  Index i;

  if (sigsetjmp(ctlNext, TRUE) != 0) {
    ctl->emitters = 0;
    return;
  }
  (void)ctlOpen(ctl, pid, error, sizeof error);
  for (i = 0; i < ctl->emitters; ++i) {
    LiveRegion live = ctl->live = &ctl->emitter[i];
    RegionHeader region = live->region;
    SayLine(stdout, "%-10" PRIu32 " %s%s, %s%s%.*s", pid, HeaderCalled(&live->header),
            ctlWhich(ctl, which, sizeof which), RegionCollected(region) ? "collected" : "by itself",
            region->log[0] != '\0' ? ", into " : "",
            (int)sizeof region->log, region->log);
    ++*seen;
  }
  ctlClose(ctl);
}

/* ctlAll -- the recorded processes that we can reach: for root all, for others those of this user, and those whose
 * regions are theirs; wherever these lie */
static int ctlAll(Ctl ctl)
{
  DIR *folder = opendir("/proc");
  struct dirent *entry;
  Count pid, seen = 0;

  if (folder == NULL)
    return OptionFail(ctl->tool, "/proc: %s", strerror(errno));
  (void)signal(SIGBUS, ctlSkip);
  while ((entry = readdir(folder)) != NULL) {
    if (OptionParseNumber(entry->d_name, &pid) == ResOK && pid > 0 && pid <= INT32_MAX)
      ctlShort(ctl, (uint32_t)pid, &seen);
  }
  (void)closedir(folder);
  if (seen == 0)
    printf("no process%s is recorded\n", geteuid() == 0 ? "" : " of this user");
  return ctlFlushed(ctl);
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
  for (i = 0; i < ctl->count && !flush; ++i)
    TextFormat(&text, "%s%s", i > 0 ? "," : "", ctl->words[i]);
  if (text.overflow || ListenAsk(where, TextTerminate(&text), &senders, &reason) != ResOK)
    return OptionFail(ctl->tool, "%s: %s", where, reason);
  printf("passed on to %zu sender%s\n", senders, TextPlural(senders));
  return ctlFlushed(ctl);
}

int main(int argc, char **argv)
{
  static CtlStruct ctl = {.newest = ctlTracebackEVENTS};
  const OptionStruct options[] = {
    OptionFlag('b', "buffered", &ctl.buffered, "a list changes what the flight recorder keeps, not what is sent"),
  };
  const OptionToolStruct tool = {
    .name = "eventctl", .synopsis = "[options] [PID|unix:PATH [command]]",
    .summary = "Looks into a running program that Pawprint records, and changes what it records.",
    .options = options, .count = ARRAY_LENGTH(options), .usage = 2, .failure = 1, .stopAtOperand = TRUE,
    .notes = "Without a number, the recorded processes of this user are listed; for root, of all users.\n"
             "Commands:\n"
             "  (none)                    which kinds are sent and buffered; blocks, events discarded\n"
             "  +Object -Ref, Arena,Pool  change the kinds that are sent; all and none are kinds, too\n"
             "  start, stop               begin or end the recording; the program goes on\n"
             "  flush                     have what the buffers hold sent\n"
             "  traceback [N] [--addr A]  print the newest N events of each kind, 10 if not given;\n"
             "                            only those that tell of the object at A\n"
             "unix:PATH is an eventrec --listen: lists and flush are passed on to all who send there.\n",
  };
  Count operands, pid;
  int status;

  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  ctl.tool = &tool;
  if (operands == 0 && ctl.buffered)
    return OptionUsage(&tool, "--buffered is for a list of kinds");
  if (operands == 0)
    return ctlAll(&ctl);
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
