/* eventview.c -- what can be known from logs
 *
 * Design: design/view.md      Tests: test/eventview.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "view/source.h"
#include "view/summary.h"

typedef struct ViewStruct {
  SourceStruct source; /* first: it is the request's data */
  Bool json;
  Summary summary;
} ViewStruct, *View;

static Bool viewEvent(LogRequest request, LogEvent event)
{
  View view = request->data;

  SummaryEvent(view->summary, event);
  return FALSE;
}

/* viewStatus -- what has been printed is whole unless something was missing in the logs */
static int viewStatus(View view)
{
  LogSummaryStruct log;

  if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
    return OptionFail(view->source.tool, "standard output: %s", strerror(errno));
  LogSummarize(&log, view->source.log);
  return log.gaps > 0 ? view->source.tool->failure : 0;
}

static int viewSummary(View view)
{
  int status;

  if (SummaryCreate(&view->summary, view->source.log) != ResOK)
    return OptionFail(view->source.tool, "no memory");
  view->source.request.event = viewEvent;
  if (SourceRead(&view->source, &status)) {
    if (SummaryFinish(view->summary) != ResOK) {
      status = OptionFail(view->source.tool, "no memory for all objects that live at a time");
    } else if (!(view->json ? SummaryJson : SummaryText)(stdout, view->summary)) {
      status = OptionFail(view->source.tool, "no memory");
    } else {
      status = viewStatus(view);
    }
  }
  SummaryDestroy(view->summary);
  return status;
}

int main(int argc, char **argv)
{
  static ViewStruct view = {.source.count = SIZE_MAX};
  const OptionStruct options[] = {
    SourceOPTIONS(&view.source),
    OptionFlag(0, "json", &view.json, "one JSON document"),
    SourceFORCE(&view.source),
  };
  const OptionToolStruct tool = {
    .name = "eventview", .synopsis = "[summary] [options] log...",
    .summary = "Says what logs hold: counts, rates, and what the heap came to.",
    .options = options, .count = ARRAY_LENGTH(options), .usage = 2, .failure = 1,
  };
  const char *const *paths;
  Count operands;
  int status;

  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  paths = (const char *const *)argv + 1;
  if (operands > 0 && strcmp(paths[0], "summary") == 0) {
    ++paths;
    --operands;
  }
  if (operands == 0)
    return OptionUsage(&tool, "no log is given");
  (void)signal(SIGPIPE, SIG_IGN);
  view.source.tool = &tool;
  if (SourceOpen(&view.source, paths, operands, &status))
    status = viewSummary(&view);
  SourceClose(&view.source);
  return status;
}
