/* source.c -- the logs that a tool reads: opened, filtered, and what is wrong with them told
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/when.h"
#include "view/known.h"
#include "view/offset.h"

#include "eventdef.h"

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

static void sourceGap(void *data, LogGap gap)
{
  static const char *const exact[] = {[LogLostEXACTLY] = "", [LogLostABOUT] = "about ", [LogLostATLEAST] = "at least "};
  Source source = data;

  sourceAside(source);
  fprintf(stderr, "%s: %s: offset %llu: %s; %s%llu event%s lost\n", source->tool->name, gap->path,
          (unsigned long long)gap->offset, gap->what, exact[gap->exact], (unsigned long long)gap->lost,
          gap->lost == 1 ? "" : "s");
}

void SourceNote(void *data, const char *line)
{
  Source source = data;

  sourceAside(source);
  fprintf(stderr, "%s: %s\n", source->tool->name, line);
}

static Bool sourceChoose(void *data, LogProcess process, EventType type)
{
  Source source = data;

  UNUSED(process);
  return LogNamesHas(source->names, type);
}

/* sourceChooseFiltered -- with a filter, and perhaps with names */
static Bool sourceChooseFiltered(void *data, LogProcess process, EventType type)
{
  Source source = data;

  return (source->names == NULL || LogNamesHas(source->names, type)) && FilterChooses(source->filter, process, type);
}

static Bool sourceAccept(void *data, LogEvent event)
{
  return FilterMatches(data, event);
}

/* sourceFilter -- what the filter says goes into the request, and what that leaves open is asked of each event; FALSE:
 * reported as a usage error */
static Bool sourceFilter(Source source)
{
  LogRequest request = &source->request;
  char error[2048];

  if (source->expression == NULL)
    return TRUE;
  if (FilterMake(&source->filter, source->log, source->expression, error, sizeof error) != ResOK) {
    OptionUsage(source->tool, "--filter: %s", error);
    return FALSE;
  }
  FilterTimes(source->filter, &request->from, &request->to);
  request->kinds &= FilterKinds(source->filter);
  request->choose = sourceChooseFiltered;
  request->chooseData = source;
  if (!FilterExhausted(source->filter)) {
    request->accept = sourceAccept;
    request->acceptData = source->filter;
  }
  return TRUE;
}

static Bool sourceMoment(Source source, const char *option, const char *string, uint64_t *timeReturn)
{
  LogSummaryStruct summary;

  if (string == NULL)
    return TRUE;
  LogSummarize(&summary, source->log);
  if (LogWhen(timeReturn, &summary, string) == ResOK)
    return TRUE;
  OptionUsage(source->tool, "%s: '%s' is neither seconds nor HH:MM:SS", option, string);
  return FALSE;
}

/* sourceInterval -- from when to when; one that ends before it begins is a mistake, as in a filter */
static Bool sourceInterval(Source source)
{
  LogRequest request = &source->request;

  if (!sourceMoment(source, "--from", source->from, &request->from) ||
      !sourceMoment(source, "--to", source->to, &request->to))
    return FALSE;
  if (source->from != NULL && source->to != NULL && request->to < request->from) {
    OptionUsage(source->tool, "--to: %s is before --from=%s", source->to, source->from);
    return FALSE;
  }
  return TRUE;
}

/* sourceRequest -- what is wanted, from the options; FALSE: reported as a usage error */
static Bool sourceRequest(Source source)
{
  static const LogRequestStruct all = LogRequestALL;
  LogRequest request = &source->request;
  char error[1024];

  *request = all;
  request->data = source;
  request->count = source->count;
  if (source->kinds != NULL &&
      LogKindMask(&request->kinds, source->log, source->kinds, error, sizeof error) != ResOK) {
    OptionUsage(source->tool, "--kinds: %s", error);
    return FALSE;
  }
  if (source->events != NULL) {
    if (LogNamesMake(&source->names, source->log, source->events, error, sizeof error) != ResOK) {
      OptionUsage(source->tool, "--events: %s", error);
      return FALSE;
    }
    request->choose = sourceChoose;
    request->chooseData = source;
  }
  return sourceInterval(source) && sourceFilter(source);
}

void SourceHooks(Source source, LogHooks hooks)
{
  ProgressBegin(&source->progress, source->tool->name);
  *hooks = (LogHooksStruct){.data = source, .gap = sourceGap, .note = SourceNote, .scanning = sourceScanning,
                            .progress = source->follow.idle == NULL ? sourceReading : NULL, .offset = source->offsets,
                            .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR},
                            .registry = KnownRegistry};
}

Bool SourceOpen(Source source, const char *const *paths, Count n, int *statusReturn)
{
  LogHooksStruct hooks;
  LogSummaryStruct summary;
  char error[1024];
  Res res;

  if (source->offset != NULL &&
      (source->offsets = OffsetParse(source->offset, paths, n, error, sizeof error)) == NULL) {
    *statusReturn = OptionUsage(source->tool, "--offset: %s", error);
    return FALSE;
  }
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
  return sourceRequest(source);
}

void SourceClose(Source source)
{
  FilterFree(source->filter);
  LogNamesFree(source->names);
  if (source->log != NULL)
    LogClose(source->log);
  source->filter = NULL;
  source->names = NULL;
  free(source->offsets);
  source->log = NULL;
  source->offsets = NULL;
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

Bool SourceRead(Source source, int *statusReturn)
{
  return sourceRead(source, LogRead(source->log, &source->request), statusReturn);
}

Bool SourceServe(Source source, const LogRequest *requests, Count n, int *statusReturn)
{
  LogService service;
  Res res = LogServiceCreate(&service, source->log, 0);
  Index i;

  if (res == ResOK) {
    for (i = 0; i < n && res == ResOK; ++i)
      res = LogServiceFile(service, requests[i]);
    if (res == ResOK)
      res = LogServiceRun(service, NULL, NULL);
    LogServiceDestroy(service);
  }
  return sourceRead(source, res, statusReturn);
}
