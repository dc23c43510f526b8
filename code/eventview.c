/* eventview.c -- sums up logs
 *
 * Design: design/view.md      Tests: test/end/eventview.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/peak.h"
#include "analyse/views.h"
#include "base/aver.h"
#include "base/option.h"
#include "base/text.h"
#include "report/reportview.h"
#include "source/openlogs.h"
#include "view/viewclasses.h"

enum { viewerViewsMAX = 16 };

/* All views; the first is shown if none is named. */
static const ViewClass viewerClasses[] = {
  &ViewClassSummary, &ViewClassLive, &ViewClassSites, &ViewClassLeaks,
  &ViewClassGrowth, &ViewClassDiff, &ViewClassDiffLogs,
  &ViewClassEvents, &ViewClassSizes, &ViewClassLifetimes, &ViewClassPools, &ViewClassTimeline,
  &ViewClassThreads, &ViewClassCollections, &ViewClassReport,
};

typedef struct ViewerStruct {
  SourceStruct source; /* first: it is the request's data */
  const char *at;      /* as the option gives it, or NULL */
  LogPositionStruct peak; /* with --at peak */
  Count top, slices;
  unsigned order;      /* a SiteOrder */
  unsigned tree;       /* a ViewTree */
  Bool json;
  Count count;
  ViewClass class[viewerViewsMAX];
  void *view[viewerViewsMAX]; /* of these classes; the first `made` of them exist */
  Count made;
  Bool lines;          /* callers have files and lines */
  const char *skip;    /* callers that are left out, or NULL; */
  regex_t skipped;     /* compiled, if `names` are there */
  const char *output;  /* the file of a report, or NULL */
  const char *const *paths; /* of logs, */
  Count logs;          /* so many */
  Bool wrong;          /* a view could not write */
  const char *suppressed; /* the file that --suppressions names, or NULL; */
  SuppressionsStruct suppressions; /* what it says */
  CodeNames names;     /* what they share, or NULL */
  ViewHeap heap, whole;
  SourceStruct second; /* the log that the first is compared with, if `log` is not NULL; */
  CodeNames secondNames; /* and its */
  ViewHeap secondHeap;
} ViewerStruct, *Viewer;

/* viewerStatus -- the status of the tool: failure if standard output failed, or something is missing in the logs */
static int viewerStatus(Viewer viewer)
{
  LogSummaryStruct log;

  if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
    return OptionFail(viewer->source.tool, "standard output: %s", strerror(errno));
  if (viewer->wrong)
    return viewer->source.tool->failure;
  LogSummarize(&log, viewer->source.log);
  if (log.gaps == 0 && viewer->second.log != NULL)
    LogSummarize(&log, viewer->second.log);
  return log.gaps > 0 ? viewer->source.tool->failure : 0;
}

/* viewerAt -- the time that --at means; FALSE: reported, with the status */
static Bool viewerAt(Viewer viewer, ViewWants wants, int *statusReturn)
{
  if (viewer->at == NULL || strcmp(viewer->at, "end") == 0)
    return TRUE;
  if (strcmp(viewer->at, "peak") == 0) {
    wants->position = &viewer->peak;
    return PeakFind(&viewer->peak, &wants->at, &viewer->source, statusReturn);
  }
  if (SourceMoment(&viewer->source, "--at", viewer->at, &wants->at))
    return TRUE;
  return OptionStop(statusReturn, viewer->source.tool->usage);
}

/* viewerShare -- make what the views share; ResMEMORY */
static Res viewerShare(CodeNames *namesReturn, ViewHeap *heapReturn, Source source, const regex_t *skip,
                       Bool lines)
{
  Res res = CodeNamesCreate(namesReturn, source->log, skip, SourceNote, source);

  if (res == ResOK && lines)
    CodeNamesLine(*namesReturn);
  return res == ResOK ? ViewHeapCreate(heapReturn, source->log, &source->request, source->of, *namesReturn) : res;
}

/* viewerWhole -- the heap that begins where the log does; ResMEMORY */
static Res viewerWhole(Viewer viewer)
{
  LogRequestStruct all = viewer->source.request;

  viewer->whole = viewer->heap;
  if (all.from == 0 && all.start == NULL)
    return ResOK;
  all.from = 0;
  all.start = NULL;
  return ViewHeapCreate(&viewer->whole, viewer->source.log, &all, viewer->source.of, viewer->names);
}

static void viewerUnshare(CodeNames names, ViewHeap heap)
{
  if (heap != NULL)
    ViewHeapDestroy(heap);
  if (names != NULL)
    CodeNamesDestroy(names);
}

/* viewerCallers -- what --skip and --suppressions mean; FALSE: reported, with the status */
static Bool viewerCallers(Viewer viewer, ViewWants wants, int *statusReturn)
{
  char error[512];

  if (viewer->skip != NULL) {
    int wrong = regcomp(&viewer->skipped, viewer->skip, REG_EXTENDED);
    if (wrong != 0) {
      (void)regerror(wrong, &viewer->skipped, error, sizeof error);
      return OptionStop(statusReturn, OptionUsage(viewer->source.tool, "--skip: %s", error));
    }
  }
  if (viewer->suppressed != NULL) {
    if (SuppressionsRead(&viewer->suppressions, viewer->suppressed, error, sizeof error) != ResOK)
      return OptionStop(statusReturn, OptionFail(viewer->source.tool, "%s", error));
    wants->suppressions = &viewer->suppressions;
  }
  return TRUE;
}

/* viewerMake -- create the views; FALSE: reported, with the status */
static Bool viewerMake(Viewer viewer, int *statusReturn)
{
  ViewWantsStruct wants = {.log = viewer->source.log, .request = &viewer->source.request, .of = viewer->source.of,
                           .at = UINT64_MAX, .top = viewer->top, .slices = viewer->slices,
                           .order = (SiteOrder)viewer->order, .tree = (ViewTree)viewer->tree,
                           .output = viewer->output, .path = viewer->paths, .logs = viewer->logs,
                           .wrong = &viewer->wrong};
  const regex_t *skip;

  if (!viewerAt(viewer, &wants, statusReturn))
    return FALSE;
  if (!viewerCallers(viewer, &wants, statusReturn))
    return FALSE;
  skip = viewer->skip != NULL ? &viewer->skipped : NULL;
  if (viewerShare(&viewer->names, &viewer->heap, &viewer->source, skip, viewer->lines) != ResOK ||
      viewerWhole(viewer) != ResOK ||
      (viewer->second.log != NULL &&
       viewerShare(&viewer->secondNames, &viewer->secondHeap, &viewer->second, skip, viewer->lines) != ResOK))
    return OptionStop(statusReturn, OptionFail(viewer->source.tool, "no memory"));
  wants.names = viewer->names;
  wants.heap = viewer->heap;
  wants.whole = viewer->whole;
  wants.other = viewer->secondHeap;
  for (; viewer->made < viewer->count; ++viewer->made) {
    if (viewer->class[viewer->made]->create(&viewer->view[viewer->made], &wants) != ResOK)
      return OptionStop(statusReturn, OptionFail(viewer->source.tool, "no memory"));
  }
  return TRUE;
}

/* viewerShared -- the requests of what the views share, at `request`; how many are they? */
static Count viewerShared(LogRequest *request, CodeNames names, ViewHeap heap)
{
  Count count = CodeNamesRequests(request, names); /* first, so that names are known */

  if (ViewHeapJoined(heap))
    request[count++] = ViewHeapRequest(heap);
  return count;
}

/* viewerServe -- read the logs once for all views; FALSE: reported, with the status */
static Bool viewerServe(Viewer viewer, int *statusReturn)
{
  LogRequest request[viewerViewsMAX + CodeRequestsMAX + 2];
  Count count;
  Index i;

  AVER(viewer->made == viewer->count);
  if (viewer->second.log != NULL) {
    count = viewerShared(request, viewer->secondNames, viewer->secondHeap);
    if (!SourceServe(&viewer->second, request, count, statusReturn))
      return FALSE;
  }
  count = viewerShared(request, viewer->names, viewer->heap);
  if (viewer->whole != viewer->heap && ViewHeapJoined(viewer->whole))
    request[count++] = ViewHeapRequest(viewer->whole);
  for (i = 0; i < viewer->made; ++i)
    if (viewer->class[i]->request != NULL)
      request[count++] = viewer->class[i]->request(viewer->view[i]);
  if (!SourceServe(&viewer->source, request, count, statusReturn))
    return FALSE;
  for (i = 0; i < viewer->made; ++i) {
    if (viewer->class[i]->finish(viewer->view[i]) != ResOK)
      return OptionStop(statusReturn, OptionFail(viewer->source.tool, "no memory for all objects that live at a time"));
  }
  return TRUE;
}

/* viewerPrint -- print the views one after the other; several JSON documents become members of one.  FALSE: no
 * memory. */
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

/* viewerNames -- list the views: separated by commas; or a line for each, with its description */
static void viewerNames(char *names, Size size, Bool lines)
{
  TextStruct text;
  Index i;

  TextInit(&text, names, size);
  for (i = 0; i < ARRAY_LENGTH(viewerClasses); ++i) {
    if (!lines && i > 0 && strcmp(viewerClasses[i]->name, viewerClasses[i - 1]->name) == 0)
      continue; /* which is one name of two views */
    TextString(&text, lines ? "\n  " : i == 0 ? "" : ", ");
    TextString(&text, viewerClasses[i]->name);
    if (lines) {
      TextString(&text, ": ");
      TextString(&text, viewerClasses[i]->says);
    }
  }
  TextTerminate(&text);
}

/* viewerFit -- does every option have a meaning for one of the views?  FALSE: reported, with the status */
static Bool viewerFit(Viewer viewer, int *statusReturn)
{
  OptionUseStruct uses[viewerViewsMAX];
  uint64_t chosen = 0;
  Count count;
  Index i;

  AVER(ARRAY_LENGTH(viewerClasses) <= viewerViewsMAX);
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

/* viewerAdd -- choose these views, too; FALSE: reported, with the status */
static Bool viewerAdd(Viewer viewer, const char *names, int *statusReturn)
{
  Size length = strcspn(names, ",");
  ViewClass class = viewerFind(names, length);
  Index i;

  for (i = 0; i < viewer->count && viewer->class[i] != class; ++i)
    ;
  if (i < viewer->count)
    return OptionStop(statusReturn, OptionUsage(viewer->source.tool, "%s is named twice", class->name));
  viewer->class[viewer->count++] = class;
  return names[length] == '\0' || viewerAdd(viewer, names + length + 1, statusReturn);
}

/* viewerDiff -- is the view of a difference between two times or two logs?  FALSE: reported, with the status */
static Bool viewerDiff(Viewer viewer, Count operands, int *statusReturn)
{
  Index i;

  for (i = 0; i < viewer->count && viewer->class[i] != &ViewClassDiff; ++i)
    ;
  if (i == viewer->count || viewer->source.from != NULL)
    return TRUE;
  if (operands != 2)
    return OptionStop(statusReturn, OptionUsage(viewer->source.tool, "diff: between which times, or two logs?  --from "
                                                "is not given, and there %s %zu log%s", operands == 1 ? "is" : "are",
                                                operands, TextPlural(operands)));
  if (viewer->count > 1)
    return OptionStop(statusReturn, OptionUsage(viewer->source.tool, "diff of two logs is no view of one log: name it "
                                                "alone"));
  viewer->class[i] = &ViewClassDiffLogs;
  return TRUE;
}

/* viewerReports -- has a report a file to be written to, or is its data to be printed?  FALSE: reported, with the
 * status */
static Bool viewerReports(Viewer viewer, int *statusReturn)
{
  Index i;

  for (i = 0; i < viewer->count && viewer->class[i] != &ViewClassReport; ++i)
    ;
  if (i == viewer->count || viewer->output != NULL || viewer->json)
    return TRUE;
  return OptionStop(statusReturn,
                    OptionUsage(viewer->source.tool, "report: to which file?  -o FILE, or --json for its data"));
}

/* viewerOpen -- open the logs, together, or as two; FALSE: reported, with the status */
static Bool viewerOpen(Viewer viewer, const char *const *paths, Count operands, int *statusReturn)
{
  viewer->paths = paths;
  viewer->logs = operands;
  if (viewer->class[0] != &ViewClassDiffLogs)
    return SourceOpen(&viewer->source, paths, operands, statusReturn);
  viewer->second = viewer->source;
  return SourceOpen(&viewer->source, paths, 1, statusReturn) && SourceOpen(&viewer->second, paths + 1, 1, statusReturn);
}

/* viewerLate -- the name of views that stands among those of logs, and of which there is no file; NULL: none */
static const char *viewerLate(const char *const *paths, Count operands)
{
  Index i;

  for (i = 0; i < operands; ++i)
    if (viewerAre(paths[i]) && access(paths[i], F_OK) != 0)
      return paths[i];
  return NULL;
}

/* viewerChoose -- take the names of views from the operands, before those of logs; FALSE: reported, with the status
 *
 * What looks like the name of a view, and not like a log, is meant as one. */
static Bool viewerChoose(Viewer viewer, const char *const **paths, Count *operands, int *statusReturn)
{
  const OptionToolStruct *tool = viewer->source.tool;
  char names[256];
  const char *late;

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
  else if ((late = viewerLate(*paths, *operands)) != NULL)
    *statusReturn = OptionUsage(tool, "there is no file '%s'; the view of this name is named before the logs: eventview "
                                "%s %s", late, late, **paths);
  else
    return viewerDiff(viewer, *operands, statusReturn) && viewerReports(viewer, statusReturn) &&
           viewerFit(viewer, statusReturn);
  return FALSE;
}

/* viewerFinish -- give back all that was made and opened */
static void viewerFinish(Viewer viewer)
{
  while (viewer->made > 0) {
    --viewer->made;
    viewer->class[viewer->made]->destroy(viewer->view[viewer->made]);
  }
  SuppressionsFinish(&viewer->suppressions);
  if (viewer->heap != NULL && viewer->skip != NULL)
    regfree(&viewer->skipped);
  if (viewer->whole != NULL && viewer->whole != viewer->heap)
    ViewHeapDestroy(viewer->whole);
  viewerUnshare(viewer->names, viewer->heap);
  viewerUnshare(viewer->secondNames, viewer->secondHeap);
  SourceClose(&viewer->source);
  if (viewer->second.tool != NULL)
    SourceClose(&viewer->second);
}

int main(int argc, char **argv)
{
  static ViewerStruct viewer = {.source.count = SIZE_MAX, .source.heirs = TRUE, .top = ViewTopDEFAULT,
                                .slices = ViewSlicesDEFAULT};
  const OptionStruct options[] = {
    SourceOPTIONS(&viewer.source),
    OptionString(0, "at", &viewer.at, "T|peak|end", "live: before this time, at the peak, or the end", ViewTakesAT),
    OptionNumber(0, "top", &viewer.top, "N", "name so many objects, callers, sizes, pools or threads in a list (10)",
                 ViewTakesTOP),
    OptionChoice(0, "by", &viewer.order, SiteOrderCHOICES, "what callers are sorted by (peak)", ViewTakesBY),
    OptionChoice(0, "tree", &viewer.tree, ViewTreeCHOICES,
                 "sites: from the outermost callers down, or from the innermost up", ViewTakesTREE),
    OptionString(0, "skip", &viewer.skip, "REGEX", "leave callers out whose function or module matches; wrappers of "
                 "malloc and containers are left out in any case", ViewTakesCALLERS),
    OptionFlag(0, "lines", &viewer.lines, "name callers by file and line, too, and count each line by itself",
               ViewTakesCALLERS),
    OptionString(0, "suppressions", &viewer.suppressed, "FILE",
                 "leaks: without those that this file of LeakSanitizer's names", ViewTakesSUPPRESSIONS),
    OptionString('o', "output", &viewer.output, "FILE", "report: write it to this file", ViewTakesOUTPUT),
    OptionNumber(0, "slices", &viewer.slices, "N", "timeline: cut the time into N slices (64)", ViewTakesSLICES),
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
  if (viewer.slices == 0 || viewer.slices > ViewSlicesMAX)
    return OptionUsage(&tool, "--slices: %zu is not between 1 and %d", viewer.slices, ViewSlicesMAX);
  paths = (const char *const *)argv + 1;
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  viewer.source.tool = &tool;
  if (!viewerChoose(&viewer, &paths, &operands, &status))
    return status;
  if (viewerOpen(&viewer, paths, operands, &status))
    status = viewerRun(&viewer);
  viewerFinish(&viewer);
  return status;
}
