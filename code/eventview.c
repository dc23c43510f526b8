/* eventview.c -- shows what can be known from logs
 *
 * Design: design/view.md      Tests: test/end/eventview.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/openlogs.h"
#include "analyse/peak.h"
#include "analyse/views.h"
#include "base/aver.h"
#include "base/option.h"
#include "base/text.h"
#include "filter/timeparse.h"

enum { evViewsMAX = 16 };

/* All views; the first is shown if none is named. */
static const ViewClass viewerClasses[] = {&ViewClassSummary, &ViewClassLive};

typedef struct ViewerStruct {
  SourceStruct source; /* first: it is the request's data */
  const char *at;      /* as the option gives it, or NULL */
  LogPositionStruct peak; /* if that is asked for */
  Count top;
  Bool json;
  Count count;
  ViewClass class[evViewsMAX];
  void *view[evViewsMAX]; /* made of those, the first `made` of them */
  Count made;
} ViewerStruct, *Viewer;

/* viewerStatus -- what has been printed is whole unless something was missing in the logs */
static int viewerStatus(Viewer viewer)
{
  LogSummaryStruct log;

  if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
    return OptionFail(viewer->source.tool, "standard output: %s", strerror(errno));
  LogSummarize(&log, viewer->source.log);
  return log.gaps > 0 ? viewer->source.tool->failure : 0;
}

/* viewerPeak -- where most lived is found by a pass of its own, before that of the views; FALSE: reported */
static Bool viewerPeak(Viewer viewer, ViewWants wants, int *statusReturn)
{
  LogRequest request;
  Peak peak;
  Bool found;

  if (PeakCreate(&peak, viewer->source.log, &viewer->source.request, viewer->source.of) != ResOK) {
    *statusReturn = OptionFail(viewer->source.tool, "no memory");
    return FALSE;
  }
  request = PeakRequest(peak);
  found = SourceServe(&viewer->source, &request, 1, statusReturn);
  if (found && PeakFinish(&viewer->peak, &wants->at, peak) != ResOK) {
    *statusReturn = OptionFail(viewer->source.tool, "no memory for all objects that live at a time");
    found = FALSE;
  }
  wants->position = &viewer->peak;
  PeakDestroy(peak);
  return found;
}

/* viewerAt -- the time that --at means; FALSE: reported, with the status */
static Bool viewerAt(Viewer viewer, ViewWants wants, int *statusReturn)
{
  LogSummaryStruct summary;

  if (viewer->at == NULL || strcmp(viewer->at, "end") == 0)
    return TRUE;
  if (strcmp(viewer->at, "peak") == 0)
    return viewerPeak(viewer, wants, statusReturn);
  LogSummarize(&summary, viewer->source.log);
  if (LogWhen(&wants->at, &summary, viewer->at) == ResOK)
    return TRUE;
  *statusReturn = OptionUsage(viewer->source.tool, "--at: '%s' is neither seconds nor HH:MM:SS, nor peak or end",
                              viewer->at);
  return FALSE;
}

/* viewerMake -- the views, and what they want; FALSE: reported, with the status */
static Bool viewerMake(Viewer viewer, int *statusReturn)
{
  ViewWantsStruct wants = {.log = viewer->source.log, .request = &viewer->source.request, .of = viewer->source.of,
                           .at = UINT64_MAX, .top = viewer->top};

  if (!viewerAt(viewer, &wants, statusReturn))
    return FALSE;
  for (; viewer->made < viewer->count; ++viewer->made) {
    if (viewer->class[viewer->made]->create(&viewer->view[viewer->made], &wants) != ResOK) {
      *statusReturn = OptionFail(viewer->source.tool, "no memory");
      return FALSE;
    }
  }
  return TRUE;
}

/* viewerServe -- one pass for all views; FALSE: reported, with the status */
static Bool viewerServe(Viewer viewer, int *statusReturn)
{
  LogRequest request[evViewsMAX];
  Index i;

  for (i = 0; i < viewer->made; ++i)
    request[i] = viewer->class[i]->request(viewer->view[i]);
  if (!SourceServe(&viewer->source, request, viewer->made, statusReturn))
    return FALSE;
  for (i = 0; i < viewer->made; ++i) {
    if (viewer->class[i]->finish(viewer->view[i]) != ResOK) {
      *statusReturn = OptionFail(viewer->source.tool, "no memory for all objects that live at a time");
      return FALSE;
    }
  }
  return TRUE;
}

/* viewerPrint -- one after the other; of several documents one is made, with each under its name.  FALSE: no memory. */
static Bool viewerPrint(Viewer viewer)
{
  Bool several = viewer->made > 1;
  Index i;

  for (i = 0; i < viewer->made; ++i) {
    ViewClass class = viewer->class[i];
    if (several && viewer->json)
      printf("%s\"%s\":\n", i == 0 ? "{" : ",\n", class->name);
    else if (several && i > 0)
      putchar('\n');
    if (!(viewer->json ? class->json : class->text)(stdout, viewer->view[i]))
      return FALSE;
  }
  if (several && viewer->json)
    puts("}");
  return TRUE;
}

static int viewerRun(Viewer viewer)
{
  int status;

  if (!viewerMake(viewer, &status) || !viewerServe(viewer, &status))
    return status;
  if (!viewerPrint(viewer))
    return OptionFail(viewer->source.tool, "no memory");
  return viewerStatus(viewer);
}

/* viewerNames -- which views there are: separated by commas; or a line for each, with what it says */
static void viewerNames(char *names, Size size, Bool lines)
{
  TextStruct text;
  Index i;

  TextInit(&text, names, size);
  for (i = 0; i < ARRAY_LENGTH(viewerClasses); ++i) {
    TextString(&text, lines ? "\n  " : i == 0 ? "" : ", ");
    TextString(&text, viewerClasses[i]->name);
    if (lines) {
      TextString(&text, ": ");
      TextString(&text, viewerClasses[i]->says);
    }
  }
  TextTerminate(&text);
}

/* viewerFit -- does every option mean something to one of the views?  FALSE: reported, with the status */
static Bool viewerFit(Viewer viewer, int *statusReturn)
{
  OptionUseStruct uses[evViewsMAX];
  uint64_t chosen = 0;
  Count count;
  Index i;

  AVER(ARRAY_LENGTH(viewerClasses) <= evViewsMAX);
  for (count = 0; count < ARRAY_LENGTH(viewerClasses); ++count) {
    ViewClass class = viewerClasses[count];
    uses[count] = (OptionUseStruct){class->name, class->takes | SourceGroupCHOOSE | SourceGroupOPEN};
    for (i = 0; i < viewer->count; ++i)
      chosen |= (uint64_t)(viewer->class[i] == class) << count;
  }
  return OptionFit(viewer->source.tool, uses, count, chosen, statusReturn);
}

/* viewerFind -- the view of this name, which has `length` bytes, or NULL */
static ViewClass viewerFind(const char *name, Size length)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(viewerClasses); ++i)
    if (strlen(viewerClasses[i]->name) == length && memcmp(viewerClasses[i]->name, name, length) == 0)
      return viewerClasses[i];
  return NULL;
}

/* viewerAre -- is that the name of a view, or several, separated by commas? */
static Bool viewerAre(const char *names)
{
  Size length = strcspn(names, ",");

  return viewerFind(names, length) != NULL && (names[length] == '\0' || viewerAre(names + length + 1));
}

/* viewerAdd -- these views are wanted, too; FALSE: reported, with the status */
static Bool viewerAdd(Viewer viewer, const char *names, int *statusReturn)
{
  Size length = strcspn(names, ",");
  ViewClass class = viewerFind(names, length);
  Index i;

  for (i = 0; i < viewer->count && viewer->class[i] != class; ++i)
    ;
  if (i < viewer->count) {
    *statusReturn = OptionUsage(viewer->source.tool, "%s is named twice", class->name);
    return FALSE;
  }
  viewer->class[viewer->count++] = class;
  return names[length] == '\0' || viewerAdd(viewer, names + length + 1, statusReturn);
}

/* viewerChoose -- views are named first, then logs; FALSE: reported, with the status
 *
 * What looks like the name of a view, and not like a log, is meant as one. */
static Bool viewerChoose(Viewer viewer, const char *const **paths, Count *operands, int *statusReturn)
{
  const OptionToolStruct *tool = viewer->source.tool;
  char names[256];

  for (; *operands > 0 && viewerAre(**paths); ++*paths, --*operands)
    if (!viewerAdd(viewer, **paths, statusReturn))
      return FALSE;
  if (viewer->count == 0)
    viewer->class[viewer->count++] = viewerClasses[0];
  viewerNames(names, sizeof names, FALSE);
  if (*operands == 0)
    *statusReturn = OptionUsage(tool, "no log is given");
  else if (strpbrk(**paths, "./") == NULL && strcmp(**paths, "-") != 0 && access(**paths, F_OK) != 0)
    *statusReturn = OptionUsage(tool, "'%s' is neither a view nor a file; views are: %s", **paths, names);
  else
    return viewerFit(viewer, statusReturn);
  return FALSE;
}

int main(int argc, char **argv)
{
  static ViewerStruct viewer = {.source.count = SIZE_MAX, .source.heirs = TRUE, .top = ViewTopDEFAULT};
  const OptionStruct options[] = {
    SourceOPTIONS(&viewer.source),
    OptionString(0, "at", &viewer.at, "T|peak|end", "live: before this time, at the peak, or the end", ViewTakesAT),
    OptionNumber(0, "top", &viewer.top, "N", "live: name N objects and sites in each list (10)", ViewTakesTOP),
    OptionFlag(0, "json", &viewer.json, "one JSON document"),
    SourceFORCE(&viewer.source),
  };
  static char notes[2048] = "Views:";
  uint64_t given;
  const OptionToolStruct tool = {
    .name = "eventview", .synopsis = "[view[,view...]] [options] log...",
    .summary = "Says what logs hold.  Several views are had in one pass; summary is shown if none is named.",
    .notes = notes, .options = options, .count = ARRAY_LENGTH(options), .given = &given, .usage = 2, .failure = 1,
  };
  const char *const *paths;
  Count operands;
  int status;

  viewerNames(notes + strlen(notes), sizeof notes - strlen(notes) - 1, TRUE);
  strcat(notes, "\n");
  if (!OptionParse(&tool, argc, argv, &operands, &status))
    return status;
  paths = (const char *const *)argv + 1;
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  viewer.source.tool = &tool;
  if (!viewerChoose(&viewer, &paths, &operands, &status))
    return status;
  if (SourceOpen(&viewer.source, paths, operands, &status))
    status = viewerRun(&viewer);
  while (viewer.made > 0) {
    --viewer.made;
    viewer.class[viewer.made]->destroy(viewer.view[viewer.made]);
  }
  SourceClose(&viewer.source);
  return status;
}
