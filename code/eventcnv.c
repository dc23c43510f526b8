/* eventcnv.c -- dump and convert logs
 *
 * Reads any number of logs as one, in order of time, and writes the events that are wanted in one of the formats that
 * export/writer.h has.  Each gap, where events are damaged or missing, is one line on standard error, and makes the
 * status 1.
 *
 * Design: design/log.md, design/format.md      Tests: test/end/eventcnv.t, test/export/formats.t, test/log/badlog.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/option.h"
#include "base/text.h"
#include "export/headertext.h"
#include "export/output.h"
#include "heap/heapat.h"
#include "request/request.h"
#include "source/openlogs.h"
#include "view/formats.h"

enum { cnvChoicesSIZE = 256, cnvUsesMAX = 32 };

/* Groups of options (OptionFit), beside those of writers and the source. */
enum {
  cnvGroupFORMAT = 1 << 8,
  cnvGroupOUTPUT = 1 << 9,
  cnvGroupFOLLOW = 1 << 10,
  cnvGroupCHECK = 1 << 11,
  cnvGroupHEADER = 1 << 12,
  cnvGroupINDEX = 1 << 13,
  cnvGroupVERBOSE = 1 << 14
};

typedef struct CnvStruct {
  SourceStruct source; /* first: it is the data of the hooks */
  const char *output;
  unsigned format;
  const char *thin;   /* as the option gives it, or NULL */
  Bool check, header, packed, follow, index, symbols;
  WriterOptionsStruct options;
  OutputStruct out;
} CnvStruct, *Cnv;

/* cnvAside -- before a message on standard error: flush, so that on one terminal both stay in order */
static void cnvAside(void *data)
{
  Cnv cnv = data;

  (void)OutputFlush(&cnv->out);
}

/* cnvBefore -- and what is shown of the progress is not to stand in the output */
static void cnvBefore(void *data)
{
  Cnv cnv = data;

  ProgressOutput(&cnv->source.progress, cnv->out.fd);
}

static volatile sig_atomic_t cnvInterrupted;

static void cnvInterrupt(int signal)
{
  UNUSED(signal);
  cnvInterrupted = TRUE;
}

/* cnvIdle -- called while a log that is followed has no new event: flush the output; TRUE ends the following */
static Bool cnvIdle(void *data)
{
  Cnv cnv = data;

  ProgressErase(&cnv->source.progress);
  return !OutputFlush(&cnv->out) || cnvInterrupted;
}

/* cnvFollow -- Ctrl-C ends the following, not the program in the middle of a line */
static void cnvFollow(Cnv cnv)
{
  struct sigaction action = {.sa_handler = cnvInterrupt};

  cnv->source.follow = (LogIdleStruct){cnvIdle, cnv};
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}

/* cnvStatus -- what a pass has come to */
static int cnvStatus(Cnv cnv, Res res)
{
  LogSummaryStruct summary;

  ProgressErase(&cnv->source.progress);
  if (OutputFlush(&cnv->out) && cnv->out.fd != STDOUT_FILENO && close(cnv->out.fd) != 0)
    cnv->out.failed = errno;
  if (cnv->out.failed != 0) {
    if (cnv->out.failed == EPIPE)
      return 0; /* the reader of the pipe has enough */
    return cnv->output == NULL
             ? OptionFail(cnv->source.tool, "standard output: %s", strerror(cnv->out.failed))
             : OptionFail(cnv->source.tool, "%s: %s; what is there is incomplete", cnv->output,
                          strerror(cnv->out.failed));
  }
  if (res == ResOK)
    res = FilterRes(cnv->source.filter);
  if (res != ResOK)
    return OptionFail(cnv->source.tool, "reading stopped: %s", res == ResIO ? strerror(errno) : ResName(res));
  LogSummarize(&summary, cnv->source.log);
  if (summary.discarded > 0)
    fprintf(stderr, "%s: %llu event%s discarded while recording, for want of room\n", cnv->source.tool->name,
            (unsigned long long)summary.discarded, summary.discarded == 1 ? " was" : "s were");
  return summary.gaps > 0 || (cnv->check && (summary.discarded > 0 || summary.lacks > 0));
}

/* cnvSymbolNote -- a note on symbols, which may come while a line is being made: the output cannot be flushed then */
static void cnvSymbolNote(void *data, const char *line)
{
  Cnv cnv = data;
  void (*aside)(void *source) = cnv->source.aside;

  cnv->source.aside = NULL;
  SourceNote(&cnv->source, line);
  cnv->source.aside = aside;
}

/* cnvWrite -- the events that are wanted, by a writer of the format */
static int cnvWrite(Cnv cnv)
{
  LogSummaryStruct summary;
  char error[WriterErrorMAX];
  Res res;

  LogSummarize(&summary, cnv->source.log);
  cnv->options.log = cnv->source.log;
  cnv->options.output = &cnv->out;
  cnv->options.error = error;
  cnv->options.start = summary.first;
  cnv->options.of = cnv->source.of;
  error[0] = '\0';
  res = cnv->symbols ? CodeSymbolsCreate(&cnv->options.symbols, cnv->source.log, cnvSymbolNote, cnv) : ResOK;
  if (res == ResOK)
    res = WriterWrite(FormatClasses[cnv->format], &cnv->options, &cnv->source.request);
  CodeSymbolsDestroy(cnv->options.symbols);
  return error[0] != '\0' ? OptionFail(cnv->source.tool, "%s", error) : cnvStatus(cnv, res);
}

/* cnvBlock -- a block's line */
static Bool cnvBlock(void *data, Text line)
{
  Cnv cnv = data;

  CleanLines(&cnv->out, line->base, TextLength(line));
  return cnv->out.failed != 0;
}

/* cnvHeaders -- print what the header blocks say, each process's once */
static int cnvHeaders(Cnv cnv)
{
  enum { room = 4 << 20 };
  char *bytes = malloc(room);
  TextStruct text;
  Index i;

  if (bytes == NULL)
    return OptionFail(cnv->source.tool, "no memory");
  for (i = 0; i < LogProcesses(cnv->source.log) && cnv->out.failed == 0; ++i) {
    LogProcess process = LogProcessAt(cnv->source.log, i);
    const char *lines;
    Size length;
    TextInit(&text, bytes, room);
    (void)LogHeaderText(&text, &process->header, process->registry);
    lines = LogHeaderLines(&text, &length);
    OutputFormat(&cnv->out, "%sversion: %u.%u.%u\n", i > 0 ? "\n" : "", process->header.major, process->header.median,
                 process->header.minor);
    CleanLines(&cnv->out, lines, length);
  }
  free(bytes);
  if (!cnv->options.verbose)
    return cnvStatus(cnv, ResOK);
  OutputString(&cnv->out, "\n");
  return cnvStatus(cnv, LogBlocks(cnv->source.log, cnvBlock, cnv));
}

/* cnvIsInput -- is the file that is to be written one of those that are read? */
static Bool cnvIsInput(Cnv cnv, const char *const *paths, Count n)
{
  struct stat output, input;
  Index i;

  if (stat(cnv->output, &output) != 0)
    return FALSE;
  for (i = 0; i < n; ++i)
    if ((strcmp(paths[i], "-") == 0 ? fstat(STDIN_FILENO, &input) : stat(paths[i], &input)) == 0 &&
        input.st_dev == output.st_dev && input.st_ino == output.st_ino && S_ISREG(input.st_mode))
      return TRUE;
  return FALSE;
}

/* cnvOpenOutput -- the file that --output names; FALSE: reported */
static Bool cnvOpenOutput(Cnv cnv, const char *const *paths, Count n, int *status)
{
  int fd;

  if (cnv->output == NULL || strcmp(cnv->output, "-") == 0 || FormatClasses[cnv->format]->folder)
    return TRUE;
  if (cnvIsInput(cnv, paths, n)) {
    *status = OptionFail(cnv->source.tool, "%s: a log is not written over itself", cnv->output);
    return FALSE;
  }
  fd = open(cnv->output, O_WRONLY | O_CREAT | O_CLOEXEC | (cnv->options.force ? O_TRUNC | O_NOFOLLOW : O_EXCL), 0600);
  if (fd < 0) {
    *status = errno == EEXIST ? OptionFail(cnv->source.tool, "%s: the file exists; --force overwrites it", cnv->output)
              : errno == ELOOP ? OptionFail(cnv->source.tool, "%s: a symbolic link, which --force does not follow; name "
                                            "the file that it leads to", cnv->output)
                              : OptionFail(cnv->source.tool, "%s: %s", cnv->output, strerror(errno));
    return FALSE;
  }
  cnv->out.fd = fd;
  return TRUE;
}

/* cnvIndex -- write the index files of logs, and say so */
static int cnvIndex(Cnv cnv, const char *const *paths, Count n)
{
  LogHooksStruct hooks;
  LogIndexedStruct indexed;
  char error[1024];
  Index i;

  SourceHooks(&cnv->source, &hooks);
  for (i = 0; i < n; ++i) {
    Res res = LogIndexWrite(&indexed, paths[i], &hooks, HeapAtKeep, error, sizeof error);
    ProgressErase(&cnv->source.progress);
    SourceSaid(&cnv->source);
    if (res != ResOK)
      return OptionFail(cnv->source.tool, "%s", error);
    printf("%s.idx: %llu block%s of %llu bytes, in %llu bytes\n", paths[i], (unsigned long long)indexed.blocks,
           TextPlural(indexed.blocks), (unsigned long long)indexed.covered, (unsigned long long)indexed.bytes);
  }
  if (fflush(stdout) != 0 && errno != EPIPE)
    return OptionFail(cnv->source.tool, "standard output: %s", strerror(errno));
  return 0;
}

static int cnvRun(Cnv cnv, const char *const *paths, Count n)
{
  int status;

  OutputInit(&cnv->out, STDOUT_FILENO);
  cnv->source.force = TRUE; /* text says what was recorded, whatever it means; a newer version is noted */
  cnv->source.aside = cnvAside;
  cnv->source.heirs = !cnv->check && !cnv->header && !cnv->options.bare && FormatClasses[cnv->format]->heirs;
  cnv->out.before = cnvBefore;
  cnv->out.data = cnv;
  if (cnv->follow)
    cnvFollow(cnv);
  if (cnv->index)
    return cnvIndex(cnv, paths, n);
  if (!SourceOpen(&cnv->source, paths, n, &status) || !cnvOpenOutput(cnv, paths, n, &status))
    ;
  else if (cnv->check)
    status = cnvStatus(cnv, LogRead(cnv->source.log, &cnv->source.request));
  else if (cnv->header)
    status = cnvHeaders(cnv);
  else
    status = cnvWrite(cnv);
  SourceClose(&cnv->source);
  return status;
}

/* cnvFit -- does every option mean something?  FALSE: reported, with the status */
static Bool cnvFit(Cnv cnv, const OptionToolStruct *tool, int *statusReturn)
{
  static const OptionUseStruct others[] = {
    {"--check", cnvGroupCHECK | SourceGroupCHOOSE | SourceGroupOPEN},
    {"--header", cnvGroupHEADER | cnvGroupVERBOSE | cnvGroupOUTPUT | SourceGroupOPEN},
    {"--index", cnvGroupINDEX},
  };
  static char names[cnvUsesMAX][32];
  OptionUseStruct uses[cnvUsesMAX];
  Index i, chosen = cnv->format;

  AVER(FormatCount + ARRAY_LENGTH(others) <= cnvUsesMAX);
  for (i = 0; i < FormatCount; ++i) {
    const WriterClassStruct *class = FormatClasses[i];
    (void)snprintf(names[i], sizeof names[i], "--format=%s", class->name);
    uses[i] = (OptionUseStruct){names[i], class->takes | cnvGroupFORMAT | cnvGroupOUTPUT | SourceGroupCHOOSE |
                                SourceGroupOPEN | (class->follow ? cnvGroupFOLLOW : 0)};
  }
  memcpy(uses + FormatCount, others, sizeof others);
  if (cnv->index || cnv->header || cnv->check)
    chosen = FormatCount + (cnv->check ? 0 : cnv->header ? 1 : 2);
  return OptionFit(tool, uses, FormatCount + ARRAY_LENGTH(others), (uint64_t)1 << chosen, statusReturn);
}

/* cnvContradiction -- what of the command line cannot be meant, or NULL */
static const char *cnvContradiction(Cnv cnv, Count operands)
{
  const WriterClassStruct *class = FormatClasses[cnv->format];

  if (operands == 0)
    return "no log is given";
  if (cnv->options.raw && cnv->packed)
    return "--raw or --packed, not both";
  if (cnv->options.verbose && cnv->options.describe)
    return "--verbose or --describe, not both";
  if (class->folder && cnv->output == NULL && !cnv->check && !cnv->header)
    return "this format is a folder: --output says which";
  if (cnv->options.bare && cnv->symbols)
    return "--symbols or --no-state, not both";
  if (cnv->follow && cnv->symbols)
    return "--symbols is for a log that is complete, not with --follow";
  if (cnv->follow && operands > 1)
    return "--follow is for one log";
  return NULL;
}

int main(int argc, char **argv)
{
  static CnvStruct cnv = {.source.count = SIZE_MAX};
  char choices[cnvChoicesSIZE];
  uint64_t given;
  const OptionStruct options[] = {
    OptionChoice('f', "format", &cnv.format, FormatChoices(choices, sizeof choices),
                 "what to write; text if not given; paw is a log again", cnvGroupFORMAT),
    OptionString('o', "output", &cnv.output, "PATH", "write there; standard output if not given", cnvGroupOUTPUT),
    SourceOPTIONS(&cnv.source),
    OptionFlag(0, "follow", &cnv.follow, "keep reading a log that is still being written, and print what comes",
               cnvGroupFOLLOW),
    OptionFlag(0, "check", &cnv.check, "read all and print nothing but what is damaged or missing", cnvGroupCHECK),
    OptionFlag(0, "header", &cnv.header, "print the header blocks as text", cnvGroupHEADER),
    OptionFlag(0, "index", &cnv.index, "write LOG.idx beside each log, so that opening it, or a part of it, is fast",
               cnvGroupINDEX),
    OptionFlag('v', "verbose", &cnv.options.verbose, "text: kind and code, too; --header: each block, too",
               (WriterTakesWORDS | cnvGroupVERBOSE)),
    OptionFlag(0, "describe", &cnv.options.describe,
               "text: each event in words, as its registry has them", WriterTakesWORDS),
    OptionFlag(0, "symbols", &cnv.symbols,
               "functions, files and lines at code addresses, from the files of programs and libraries",
               WriterTakesSYMBOLS),
    OptionFlag(0, "raw", &cnv.options.raw, "paw: blocks as they are in memory", WriterTakesBLOCKS),
    OptionFlag(0, "packed", &cnv.packed, "paw: blocks packed, as is done anyway", WriterTakesBLOCKS),
    OptionString(0, "thin", &cnv.thin, "TIME",
                 "chrome, paje: of what changes often, one value in TIME: 0.01, 5ms, 20us; 0: all",
                 WriterTakesTHIN),
    OptionChoice(0, "value", &cnv.options.value, WriterVALUES, "folded: what is counted; bytes allocated if not given",
                 WriterTakesVALUE),
    OptionFlag(0, "no-state", &cnv.options.bare, "paw: only what is chosen, not what is needed to read it alone",
               WriterTakesBLOCKS),
    OptionFlag(0, "force", &cnv.options.force, "overwrite the output"),
  };
  const OptionToolStruct tool = {
    .name = "eventcnv", .synopsis = "[options] log...", .summary = "Dumps and converts logs.",
    .options = options, .count = ARRAY_LENGTH(options), .given = &given, .usage = 2, .failure = 1,
  };
  const char *contradiction;
  Count operands;
  int status;

  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  if (!cnvFit(&cnv, &tool, &status))
    return status;
  contradiction = cnvContradiction(&cnv, operands);
  if (contradiction != NULL)
    return OptionUsage(&tool, "%s", contradiction);
  if (WriterThin(&cnv.options.thin, cnv.thin) != ResOK)
    return OptionUsage(&tool, "--thin: '%s' is no time, as 0.01, 5ms or 20us", cnv.thin);
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  cnv.source.tool = &tool;
  cnv.options.note = SourceNote;
  cnv.options.data = &cnv.source;
  cnv.options.path = cnv.output;
  return cnvRun(&cnv, (const char *const *)argv + 1, operands);
}
