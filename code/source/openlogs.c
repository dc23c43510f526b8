/* openlogs.c -- opens the logs of a tool, sets up its filter, and reports what is wrong with them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source/openlogs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/aver.h"
#include "base/option.h"
#include "base/say.h"
#include "base/text.h"
#include "base/types.h"
#include "eventdef.h"
#include "heap/heap.h"
#include "source/builtinregistry.h"
#include "source/moment.h"

/* By how much the times of logs are shifted, as people write it: a list, separated by commas, of FILE=SECONDS for a log
 * by its name, or SECONDS alone for the log of that place in the order of the command line. */

#define offsetSecondsMAX 9e9 /* what 64 bits of nanoseconds have, about 285 years */

/* offsetIs -- is `name`, `length` bytes, the path, or its last part? */
static Bool offsetIs(const char *path, Bool last, const char *name, Size length)
{
  const char *slash = last ? strrchr(path, '/') : NULL;

  if (slash != NULL)
    path = slash + 1;
  return strlen(path) == length && memcmp(path, name, length) == 0;
}

/* offsetFind -- which path has this name; n if none or several have */
static Index offsetFind(const char *const *paths, Count n, const char *name, Size length)
{
  Index i, last, found;

  for (last = FALSE; last <= TRUE; ++last) {
    Count count = 0;
    for (i = 0, found = n; i < n; ++i)
      if (offsetIs(paths[i], (Bool)last, name, length)) {
        found = i;
        ++count;
      }
    if (count == 1)
      return found;
  }
  return n;
}

/* offsetItem -- one item, terminated; FALSE: `error` says why */
static Bool offsetItem(int64_t *offsets, char *item, Index place, const char *const *paths, Count n, char *error,
                       Size size)
{
  char *equals = strrchr(item, '='), *seconds = equals != NULL ? equals + 1 : item;
  Index which = equals != NULL ? offsetFind(paths, n, item, (Size)(equals - item)) : place;
  double value;

  if (which >= n) {
    if (equals != NULL)
      (void)snprintf(error, size, "'%.*s' is none of the logs, or several", (int)(equals - item), item);
    else
      (void)snprintf(error, size, "'%s' is one more than there are logs", item);
    return FALSE;
  }
  if (OptionParseDouble(seconds, &value) != ResOK || value < -offsetSecondsMAX || value > offsetSecondsMAX) {
    (void)snprintf(error, size, "'%s' is no number of seconds", seconds);
    return FALSE;
  }
  offsets[which] = (int64_t)(value * 1e9 + (value < 0 ? -0.5 : 0.5));
  return TRUE;
}

/* offsetParse -- what `list` says of `n` paths
 *
 * returns  nanoseconds for each path, 0 for those that are not named; the caller frees them.  NULL: `error` says why.
 * A FILE is a path as it was given, or the last part of one, if no other ends so. */
static int64_t *offsetParse(const char *list, const char *const *paths, Count n, char *error, Size size)
{
  int64_t *offsets = calloc(n, sizeof *offsets);
  char *copy = strdup(list), *item = copy;
  Index place = 0;
  Bool good = offsets != NULL && copy != NULL;

  if (!good)
    (void)snprintf(error, size, "no memory");
  while (good && item != NULL) {
    char *comma = strchr(item, ',');
    if (comma != NULL)
      *comma++ = '\0';
    good = offsetItem(offsets, item, place++, paths, n, error, size);
    item = comma;
  }
  free(copy);
  if (good)
    return offsets;
  free(offsets);
  return NULL;
}

/* sourceAside -- something is told meanwhile */
static void sourceAside(Source source)
{
  ProgressErase(&source->progress);
  if (source->aside != NULL)
    source->aside(source);
}

static void sourceScanning(void *data, uint64_t done, uint64_t total)
{
  Source source = data;

  ProgressPart(&source->progress, total > 0 ? "looking for blocks" : "copying standard input", done, total);
}

static void sourceReading(void *data, uint64_t done, uint64_t total)
{
  Source source = data;

  ProgressPart(&source->progress, "reading", done, total);
}

void SourceSaid(Source source)
{
  sourceAside(source);
  RepeatSay(&source->repeat, source->tool->name);
}

static void sourceGap(void *data, LogGap gap)
{
  static const char *const exact[] = {[LogLostEXACTLY] = "", [LogLostABOUT] = "about ", [LogLostATLEAST] = "at least "};
  Source source = data;

  if (!RepeatFirst(&source->repeat, gap->what))
    return;
  sourceAside(source);
  SayLine(stderr, "%s: %s: offset %llu: %s; %s%llu event%s lost", source->tool->name, gap->path,
          (unsigned long long)gap->offset, gap->what, exact[gap->exact], (unsigned long long)gap->lost,
          TextPlural(gap->lost));
}

void SourceNote(void *data, const char *line)
{
  Source source = data;

  if (!RepeatFirst(&source->repeat, line))
    return;
  sourceAside(source);
  SayLine(stderr, "%s: %s", source->tool->name, line);
}

/* sourceProcesses -- is it of the processes that are meant, or what they have their first objects from? */
static Bool sourceProcesses(Source source, LogProcess process, EventType type)
{
  if (source->of == NULL || OfProcessChooses(source->of, process, type))
    return TRUE;
  return source->heirs && OfProcessBefore(source->of, process->number) && HeapWants(type);
}

/* sourceChoose -- by process, by name, and by what of the filter is about types */
static Bool sourceChoose(void *data, LogProcess process, EventType type)
{
  Source source = data;

  return (!source->programs || process->header.role[0] == '\0') && sourceProcesses(source, process, type) &&
         (source->events == NULL || LogNamesHas(source->events, type)) &&
         (source->filter == NULL || FilterChooses(source->filter, process, type));
}

static Bool sourceAccept(void *data, LogEvent event)
{
  Source source = data;

  return OfProcessAccepts(source->of, event) &&
         (source->filter == NULL || FilterExhausted(source->filter) || FilterMatches(source->filter, event));
}

/* sourceWrong -- an option is wrong, as `error` says; FALSE: reported as a usage error */
static Bool sourceWrong(Source source, const char *option, const char *error)
{
  OptionUsage(source->tool, "%s: %s", option, error);
  return FALSE;
}

/* sourceNot -- what an option asks for could not be made: it is wrong, or there was no memory; FALSE: reported, with
 * the status */
static Bool sourceNot(Source source, const char *option, const char *error, Res res, int *statusReturn)
{
  if (res != ResMEMORY)
    return sourceWrong(source, option, error);
  *statusReturn = OptionFail(source->tool, "%s: %s", option, error);
  return FALSE;
}

/* sourceFilter -- what the filter says goes into the request, and what that leaves open is asked of each event; FALSE:
 * reported, with the status */
static Bool sourceFilter(Source source, int *statusReturn)
{
  LogRequest request = &source->request;
  char error[2048];
  Res res;

  if (source->expression == NULL)
    return TRUE;
  res = FilterMake(&source->filter, source->log, source->expression, error, sizeof error);
  if (res != ResOK)
    return sourceNot(source, "--filter", error, res, statusReturn);
  FilterTimes(source->filter, &request->from, &request->to);
  PawRequestFilter(request, source->filter);
  return TRUE;
}

Bool SourceMoment(Source source, const char *option, const char *string, uint64_t *timeReturn)
{
  char error[1024];

  if (string == NULL || MomentFind(timeReturn, source->log, string, error, sizeof error) == ResOK)
    return TRUE;
  return sourceWrong(source, option, error);
}

/* sourceInterval -- from when to when; one that ends before it begins is a mistake, as in a filter */
static Bool sourceInterval(Source source)
{
  LogRequest request = &source->request;

  if (!SourceMoment(source, "--from", source->from, &request->from) ||
      !SourceMoment(source, "--to", source->to, &request->to))
    return FALSE;
  if (source->from != NULL && source->to != NULL && request->to < request->from) {
    OptionUsage(source->tool, "--to: %s is before --from=%s", source->to, source->from);
    return FALSE;
  }
  return TRUE;
}

/* sourceProcess -- only what is of one process; FALSE: reported, with the status */
static Bool sourceProcess(Source source, int *statusReturn)
{
  char error[1024];
  Res res;

  if (source->process == NULL)
    return TRUE;
  res = OfProcessMake(&source->of, source->log, source->process, source->follow.idle != NULL, error, sizeof error);
  if (res != ResOK)
    return sourceNot(source, "--process", error, res, statusReturn);
  source->request.accept = sourceAccept;
  source->request.acceptData = source;
  return TRUE;
}

/* sourcePrograms -- of so many events, are only the programs' own meant?
 *
 * A recording begins with what the collector sees of the system, a line for each process that runs there; who asks for
 * the first few events means others, unless these are asked for, or nobody else has any. */
static Bool sourcePrograms(Source source)
{
  Index i;

  if (source->count == SIZE_MAX || source->kinds != NULL || source->events != NULL || source->expression != NULL)
    return FALSE;
  for (i = 0; i < LogProcesses(source->log); ++i)
    if (LogProcessAt(source->log, i)->header.role[0] == '\0')
      return TRUE;
  return source->follow.idle != NULL;
}

/* sourceRequest -- what is wanted, from the options; FALSE: reported, and *statusReturn is that of a usage error, which
 * it was at first, or another */
static Bool sourceRequest(Source source, int *statusReturn)
{
  static const LogRequestStruct all = LogRequestALL;
  LogRequest request = &source->request;
  char error[1024];

  *request = all;
  request->data = source;
  request->count = source->count;
  if (source->kinds != NULL && LogKindMask(&request->kinds, source->log, source->kinds, error, sizeof error) != ResOK)
    return sourceWrong(source, "--kinds", error);
  if (source->events != NULL && LogNamesKnown(source->log, source->events, error, sizeof error) != ResOK)
    return sourceWrong(source, "--events", error);
  if (!sourceInterval(source) || !sourceFilter(source, statusReturn) || !sourceProcess(source, statusReturn))
    return FALSE;
  source->programs = sourcePrograms(source);
  if (source->events != NULL || source->filter != NULL || source->of != NULL || source->programs) {
    request->choose = sourceChoose;
    request->chooseData = source;
  }
  return TRUE;
}

void SourceHooks(Source source, LogHooks hooks)
{
  ProgressBegin(&source->progress, source->tool->name);
  *hooks = (LogHooksStruct){.data = source, .gap = sourceGap, .note = SourceNote, .scanning = sourceScanning,
                            .progress = source->follow.idle == NULL ? sourceReading : NULL, .offset = source->offsets,
                            .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR},
                            .registry = BuiltinRegistry};
}

/* sourceRead -- FALSE: reading has ended with `res`, which is reported, with the status */
static Bool sourceRead(Source source, Res res, int *statusReturn)
{
  ProgressErase(&source->progress);
  if (res == ResOK)
    res = FilterRes(source->filter);
  if (res == ResOK)
    return TRUE;
  *statusReturn = OptionFail(source->tool, "reading stopped: %s", res == ResIO ? strerror(errno) : ResName(res));
  return FALSE;
}

/* sourceBound -- so many events are wanted, and others come with them, which do not count: so it is up to a position.
 * FALSE: reported, with the status */
static Bool sourceBound(Source source, int *statusReturn)
{
  LogRequest request = &source->request;
  uint64_t n = 0;
  Res res;

  if (!source->heirs || source->of == NULL || source->count > INT64_MAX)
    return TRUE;
  source->heirs = FALSE;
  PawPositionOfTime(&source->end, source->log, request->from);
  res = PawPositionStep(&source->end, &n, source->log, request, (int64_t)source->count);
  source->heirs = TRUE;
  request->count = UINT64_MAX;
  if (n == source->count)
    request->end = &source->end;
  return sourceRead(source, res, statusReturn);
}

/* sourceFiles -- as many files may be open as the system lets us: symbols take up to three for each module that is met,
 * and a program may have loaded a thousand */
static void sourceFiles(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Bool SourceOpen(Source source, const char *const *paths, Count n, int *statusReturn)
{
  LogHooksStruct hooks;
  LogSummaryStruct summary;
  char error[1024];
  Res res;

  if (source->offset != NULL &&
      (source->offsets = offsetParse(source->offset, paths, n, error, sizeof error)) == NULL) {
    *statusReturn = OptionUsage(source->tool, "--offset: %s", error);
    return FALSE;
  }
  sourceFiles();
  SourceHooks(source, &hooks);
  res = source->follow.idle != NULL
          ? LogFollowOpen(&source->log, paths[0], &hooks, &source->follow, error, sizeof error)
          : LogOpen(&source->log, paths, n, &hooks, error, sizeof error);
  ProgressErase(&source->progress);
  if (res != ResOK)
    source->log = NULL;
  if (res == ResEND) {
    *statusReturn = 0; /* whoever followed has enough */
    return FALSE;
  }
  if (res != ResOK) {
    *statusReturn = OptionFail(source->tool, "%s", error);
    return FALSE;
  }
  LogSummarize(&summary, source->log);
  if (summary.newer && !source->force) {
    *statusReturn = OptionFail(source->tool, "the log's events are newer than this program, and may mean something "
                               "else; --force reads them all the same");
    return FALSE;
  }
  *statusReturn = source->tool->usage;
  return sourceRequest(source, statusReturn) && sourceBound(source, statusReturn);
}

void SourceClose(Source source)
{
  SourceSaid(source);
  FilterFree(source->filter);
  OfProcessFree(source->of);
  if (source->log != NULL)
    LogClose(source->log);
  free(source->offsets);
}

Bool SourceRead(Source source, int *statusReturn)
{
  return sourceRead(source, LogRead(source->log, &source->request), statusReturn);
}

Bool SourceServe(Source source, const LogRequest *requests, Count n, int *statusReturn)
{
  AVER(source->log != NULL && n > 0);
  return sourceRead(source, LogServe(source->log, requests, n), statusReturn);
}
