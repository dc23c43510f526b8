/* reportview.c -- the view `report`: two passes, and one page of HTML
 *
 * The first pass is that of all views.  Behind it is known what is large and what matters; then a second one, with
 * heaps of its own, counts by slice of time, and keeps the events around what matters.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md      Tests: test/report/report.t, test/report/page.t
 */
#include "report/reportview.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/viewnotes.h"
#include "base/aver.h"
#include "base/page.h"
#include "base/say.h"
#include "base/text.h"
#include "base/version.h"
#include "export/jsondocument.h"
#include "report/reportcollections.h"
#include "report/reportheap.h"
#include "report/reportlives.h"
#include "report/reportraw.h"
#include "report/reportthreads.h"
#include "reportpage.h"

enum {
  reportSeriesMAX = 2200000, /* bytes of numbers over time, before they are text: else there are half as many slices */
  reportSlicesMIN = 16
};

typedef struct ReportViewStruct {
  ViewWantsStruct wants;
  ViewHeap shared;           /* of the first pass */
  ReportSpanStruct span;
  SurveyStruct survey;       /* what the first pass found; */
  RowsStruct rows;
  ViewHeap second;           /* the heap of the second one, and what it found */
  ReportHeapStruct heap;
  LivesStruct lives;
  ReportCollectionsStruct collections;
  ReportThreadsStruct threads;
  RawStruct raw;
  ViewLabelsStruct labels;
} ReportViewStruct, *ReportView;

/* ---- Passes ---- */

static void reportSpan(ReportSpan span, ViewWants wants)
{
  ViewWantsTime(&span->zero, &span->from, &span->to, wants);
  span->slices = ReportSlicesMAX;
  span->slice = (span->to - span->from + ReportSlicesMAX - 1) / ReportSlicesMAX;
}

static Res reportCreate(void **viewReturn, ViewWants wants)
{
  ReportView report = calloc(1, sizeof *report);

  if (report == NULL)
    return ResMEMORY;
  report->wants = *wants;
  report->shared = wants->heap;
  ViewLabelsInit(&report->labels);
  reportSpan(&report->span, wants);
  ViewHeapBook(wants->heap);
  CodeNamesWant(wants->names);
  *viewReturn = report;
  return SurveyInit(&report->survey, wants->heap, &report->span, wants->of);
}

static void reportEvent(void *data, LogEvent event)
{
  ReportView report = data;

  if (!SurveyShows(&report->survey, event))
    return;
  ReportThreadsEvent(&report->threads, event);
  RawEvent(&report->raw, event);
}

/* reportPrepare -- what the second pass needs; ResMEMORY */
static Res reportPrepare(ReportView report)
{
  ViewWants wants = &report->wants;
  ViewClientStruct client = {.heap = {.data = report, .alloc = HeapIgnore, .free = HeapIgnore, .resize = HeapIgnore,
                                      .other = HeapIgnore}, .event = reportEvent};
  Res res = ViewHeapCreate(&report->second, wants->log, wants->request, wants->of, NULL);

  if (res == ResOK)
    res = ReportHeapInit(&report->heap, report->second, &report->rows, &report->span, wants->of, wants->log);
  if (res == ResOK)
    res = LivesInit(&report->lives, &report->span, wants->log, wants->request, wants->of);
  if (res == ResOK)
    res = ReportThreadsInit(&report->threads, report->second, &report->survey, &report->span,
                      wants->request->from == 0 && wants->request->start == NULL);
  ReportCollectionsInit(&report->collections, &report->span, wants->request, wants->of);
  if (res == ResOK) {
    RawInit(&report->raw, &report->survey, &report->rows, report->second, &report->labels, wants->request);
    ViewHeapJoin(report->second, &client);
  }
  return res;
}

static Res reportFinish(void *data)
{
  ReportView report = data;
  LogRequest request[4];
  Res res = ViewHeapFinish(report->shared);

  if (res == ResOK)
    res = SurveyOver(&report->survey);
  if (res == ResOK)
    res = RowsMake(&report->rows, report->shared);
  if (res == ResOK)
    res = reportPrepare(report);
  if (res != ResOK)
    return res;
  request[0] = &report->raw.request; /* what it learns of an event the others see */
  request[1] = ViewHeapRequest(report->second);
  request[2] = &report->lives.request;
  request[3] = &report->collections.found.request;
  res = LogServe(report->wants.log, request, ARRAY_LENGTH(request));
  if (res == ResOK)
    res = ViewHeapFinish(report->second);
  if (res == ResOK)
    res = LivesEnd(&report->lives);
  if (res == ResOK)
    res = ReportCollectionsEnd(&report->collections);
  if (res == ResOK)
    res = ReportHeapEnd(&report->heap);
  return res == ResOK && (report->threads.failed || report->survey.failed) ? ResMEMORY : res;
}

static void reportDestroy(void *data)
{
  ReportView report = data;

  ReportHeapFinish(&report->heap);
  LivesFinish(&report->lives);
  ReportCollectionsFinish(&report->collections);
  ReportThreadsFinish(&report->threads);
  RawFinish(&report->raw);
  ViewLabelsFinish(&report->labels);
  RowsFinish(&report->rows);
  SurveyFinish(&report->survey);
  if (report->second != NULL)
    ViewHeapDestroy(report->second);
  free(report);
}

/* ---- The data ---- */

/* reportNotes -- print what is not known, or lost: the lines that views have, as a list */
static void reportNotes(FILE *out, ReportView report, Bool *failed)
{
  char *lines = NULL, *line, *end;
  Size size;
  FILE *text = open_memstream(&lines, &size);

  fputs("\"notes\": [", out);
  if (text == NULL) {
    *failed = TRUE;
  } else {
    ViewNotesStacksText(text, report->shared);
    ViewNotesText(text, report->shared, TRUE);
    (void)fclose(text);
    for (line = lines; line != NULL && *line != '\0'; line = end + 1) {
      end = strchrnul(line, '\n');
      fputs(line == lines ? "" : ", ", out);
      JsonBytes(out, line, (Size)(end - line));
      if (*end == '\0')
        break;
    }
  }
  free(lines);
  putc(']', out);
}

static void reportHead(FILE *out, ReportView report, Bool *failed)
{
  static const char *const callers[] = {"none", "sites", "stacks"};
  ReportSpan span = &report->span;
  SiteBook book = &report->shared->book;
  LogSummaryStruct log;
  time_t now = time(NULL);
  struct tm utc;
  char made[32];
  Index i;

  LogSummarize(&log, report->wants.log);
  (void)strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  fprintf(out, "{\"format\": 1, \"version\": \"%s\", \"made\": \"%s\",\n \"logs\": [", PawprintVERSION, made);
  for (i = 0; i < report->wants.logs; ++i) {
    fputs(i == 0 ? "" : ", ", out);
    JsonString(out, report->wants.path[i]);
  }
  fprintf(out, "],\n \"wall\": \"%llu\", \"start\": %llu, \"end\": %llu, \"slice\": %llu, \"slices\": %zu,\n ",
          (unsigned long long)span->zero, (unsigned long long)(span->from - span->zero),
          (unsigned long long)(span->to - span->zero), (unsigned long long)span->slice, span->slices);
  fprintf(out, "\"events\": %llu, \"discarded\": %llu, \"gaps\": %llu, \"lost\": %llu, \"callers\": \"%s\",\n ",
          (unsigned long long)report->survey.events, (unsigned long long)log.discarded, (unsigned long long)log.gaps,
          (unsigned long long)log.lost, callers[ViewHeapCallers(report->shared)]);
  fprintf(out, "\"peak\": {\"time\": %llu, \"bytes\": %llu, \"objects\": %llu, \"slice\": %zu},\n ",
          (unsigned long long)(book->peakTime > span->zero ? book->peakTime - span->zero : 0),
          (unsigned long long)book->peak.bytes, (unsigned long long)book->peak.objects,
          ReportSlice(span, book->peakTime));
  reportNotes(out, report, failed);
}

/* reportNumbers -- print the members that are numbers over time; returns how many bytes these have */
static Size reportNumbers(FILE *out, ReportView report, Bool *failed)
{
  Size size = ReportHeapJson(out, &report->heap, &report->labels, failed);

  size += LivesJson(out, &report->lives, failed);
  return size + ReportThreadsJson(out, &report->threads, failed);
}

/* reportHalve -- half as many slices, twice as long */
static void reportHalve(ReportView report)
{
  static Bool first[ReportSlicesMAX / 2];

  ReportHeapHalve(&report->heap, first);
  SeriesHalve(&report->lives.table, first);
  ReportThreadsHalve(&report->threads, first);
  report->span.slices /= 2;
  report->span.slice *= 2;
}

/* reportFit -- the numbers over time as text, which the caller frees, when slices have been halved until they have
 * room; NULL: no memory */
static char *reportFit(ReportView report, Bool *failed)
{
  char *text = NULL;
  Size length, size;
  FILE *out;

  for (;;) {
    if ((out = open_memstream(&text, &length)) == NULL)
      return NULL;
    size = reportNumbers(out, report, failed);
    if (fclose(out) != 0 || *failed || size <= reportSeriesMAX || report->span.slices <= reportSlicesMIN)
      return text;
    free(text);
    text = NULL;
    reportHalve(report);
  }
}

/* reportJson -- the data as one document.  FALSE: no memory */
static Bool reportJson(FILE *out, void *data)
{
  ReportView report = data;
  Bool failed = FALSE;
  char *numbers = reportFit(report, &failed); /* first: the head says how many slices there are */

  if (numbers == NULL)
    return FALSE;
  reportHead(out, report, &failed);
  fputs(",\n", out);
  RowsJson(out, &report->rows);
  SurveyJson(out, &report->survey);
  fputs(",\n", out);
  fputs(numbers, out);
  free(numbers);
  ReportCollectionsJson(out, &report->collections, &report->labels);
  RawJson(out, &report->raw, &failed);
  fputs("}\n", out);
  return !failed;
}

/* ---- The page ---- */

typedef struct ReportDataStruct {
  const char *text;
  Size size;
} ReportDataStruct, *ReportData;

/* reportWrite -- the page, around the data, in which nothing can end its element or begin another: < > and & stand in
 * strings alone, where JSON has other words for them */
static void reportWrite(FILE *file, void *closure)
{
  ReportData data = closure;
  const char *const *piece;
  Index i;

  for (piece = reportPageHead; *piece != NULL; ++piece)
    fputs(*piece, file);
  for (i = 0; i < data->size; ++i)
    if (data->text[i] == '<' || data->text[i] == '>' || data->text[i] == '&')
      fprintf(file, "\\u%04x", (unsigned)data->text[i]);
    else
      putc(data->text[i], file);
  for (piece = reportPageTail; *piece != NULL; ++piece)
    fputs(*piece, file);
}

/* reportSave -- many pages begin as ours does; a report has the line that names its generator, too */
static const char *reportSave(const char *path, const char *text, Size size)
{
  static const char named[] = "Pawprint eventview report\">\n";
  const char *head = reportPageHead[0], *end = strstr(head, named);
  ReportDataStruct data = {text, size};

  AVER(end != NULL);
  return PageSave(path, head, (Size)(end - head) + sizeof named - 1, reportWrite, &data);
}

static Bool reportText(FILE *out, void *data)
{
  ReportView report = data;
  const char *path = report->wants.output, *wrong;
  char *text = NULL;
  Size size = 0;
  FILE *made = open_memstream(&text, &size);
  Bool done = made != NULL && reportJson(made, report);

  if (made != NULL)
    done = fclose(made) == 0 && done;
  if (done) {
    wrong = reportSave(path, text, size);
    if (wrong != NULL) {
      SayLine(stderr, "eventview: %s: %s", path, wrong);
      *report->wants.wrong = TRUE;
    } else {
      SayLine(out, "%s", path);
    }
  }
  free(text);
  return done;
}

const ViewClassStruct ViewClassReport = {
  "report", "a page of HTML with a graph, numbers and events (-o)", ViewTakesCALLERS | ViewTakesOUTPUT, reportCreate, NULL,
  reportFinish, reportText, reportJson, reportDestroy
};
