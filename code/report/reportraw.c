/* reportraw.c -- the single events that a report shows: those around beginning, end, peak, failures and marks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Design: design/report.md .raw      Tests: test/report/report.t
 */
#include "report/reportraw.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "export/jsondocument.h"
#include "heap/heap.h"

/* How many events before and behind a moment are kept. */
enum { rawEND = 30000, rawPEAK = 15000, rawFAILURE = 500, rawMARK = 250, rawBEGINNING = 5000, rawMARKS = 30 };

/* ---- Windows ---- */

static void rawAdd(Raw raw, uint64_t place, uint64_t before, uint64_t behind, const char *why)
{
  RawWindow window = &raw->window[raw->windows];

  if (raw->windows == RawWINDOWS || raw->survey->events == 0)
    return;
  *window = (RawWindowStruct){.begin = place > before ? place - before : 0, .end = place + behind};
  if (window->end > raw->survey->events)
    window->end = raw->survey->events;
  (void)snprintf(window->why, sizeof window->why, "%s", why);
  raw->windows += window->begin < window->end;
}

static int rawCompare(const void *a, const void *b)
{
  const RawWindowStruct *x = a, *y = b;

  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* rawJoin -- sort the windows; those that meet are one, which is called by both */
static void rawJoin(Raw raw)
{
  Index i, last = 0;

  qsort(raw->window, raw->windows, sizeof *raw->window, rawCompare);
  for (i = 1; i < raw->windows; ++i) {
    RawWindow window = &raw->window[last];
    if (raw->window[i].begin > window->end) {
      raw->window[++last] = raw->window[i];
      continue;
    }
    if (raw->window[i].end > window->end)
      window->end = raw->window[i].end;
    if (strstr(window->why, raw->window[i].why) == NULL &&
        strlen(window->why) + strlen(raw->window[i].why) + 3 < sizeof window->why)
      strcat(strcat(window->why, ", "), raw->window[i].why);
  }
  raw->windows = raw->windows > 0 ? last + 1 : 0;
}

/* ---- Labels ---- */

static Bool rawLabelChoose(void *data, LogProcess process, EventType type)
{
  UNUSED(data), UNUSED(process);
  return LabelsTells(type) != LabelsNOTHING;
}

/* rawText -- a string, cut, as a number in `strings`; 0: it is empty, or there is no room */
static uint32_t rawText(Raw raw, const char *string, Size length)
{
  char room[RawStringMAX + 4];
  Count before = raw->strings.count;
  uint32_t number;

  if (raw->stringBytes + length > RawStringsMAX || length == 0) {
    raw->full |= length > 0;
    return 0;
  }
  if (length > RawStringMAX) {
    memcpy(room, string, RawStringMAX);
    memcpy(room + RawStringMAX, "\xe2\x80\xa6", 3);
    string = room;
    length = RawStringMAX + 3;
  }
  number = StringsAdd(&raw->strings, string, length);
  raw->stringBytes += raw->strings.count > before ? length : 0;
  return number;
}

/* rawLabelEvent -- learn from an event; what it says of an address, the events behind it see */
static Bool rawLabelEvent(LogRequest request, LogEvent event)
{
  Raw raw = request->data;
  int addr = LabelsTells(event->type) == LabelsLABEL ? TypeCacheParam(event->type, "addr", "PA") : -1;
  const char *string;
  Size length;
  RawLabel label;

  if (raw->res == ResOK)
    raw->res = LabelsLearn(&raw->labels->labels, event);
  if (raw->res != ResOK || addr < 0 || raw->labelCount == RawLabelsMAX)
    return FALSE;
  if (!Grow(&raw->label, &raw->labelCapacity, raw->labelCount, sizeof *raw->label)) {
    raw->res = ResMEMORY;
    return FALSE;
  }
  label = &raw->label[raw->labelCount++];
  *label = (RawLabelStruct){.event = raw->events, .process = event->process, .addr = LogEventWord(event, (Index)addr)};
  string = StringsAt(&raw->labels->strings, LabelsOf(&raw->labels->labels, event->process, label->addr, 0), &length);
  label->string = rawText(raw, string, length);
  return FALSE;
}

/* rawLabelsInit -- a request for all that says something of labels, to the end of what is asked for */
static void rawLabelsInit(Raw raw, const LogRequestStruct *only)
{
  raw->request = (LogRequestStruct)LogRequestALL;
  raw->request.to = only->to;
  raw->request.end = only->end;
  raw->request.data = raw;
  raw->request.choose = rawLabelChoose;
  raw->request.event = rawLabelEvent;
}

void RawInit(Raw raw, Survey survey, Rows rows, ViewHeap shared, ViewLabels labels, const LogRequestStruct *only)
{
  Index i;

  *raw = (RawStruct){.survey = survey, .rows = rows, .shared = shared, .labels = labels};
  rawLabelsInit(raw, only);
  rawAdd(raw, survey->events, rawEND, 0, "the end");
  rawAdd(raw, survey->peak, rawPEAK, rawPEAK, "the peak");
  rawAdd(raw, 0, 0, rawBEGINNING, "the beginning");
  for (i = 0; i < survey->failures && i < SurveyFAILURES; ++i)
    rawAdd(raw, survey->failure[i], rawFAILURE, rawFAILURE, "a failure");
  for (i = 0; i < survey->markCount && i < rawMARKS; ++i)
    rawAdd(raw, survey->mark[i].place, rawMARK, rawMARK, "a mark");
  rawJoin(raw);
}

void RawFinish(Raw raw)
{
  StringsFinish(&raw->strings);
  free(raw->label);
  SeriesBytesFinish(&raw->bytes);
  free(raw->extraThread);
}

/* ---- Events ---- */

/* rawThread -- the number of an event's thread: its row, or one behind all rows */
static uint64_t rawThread(Raw raw, LogEvent event)
{
  uint32_t key = SurveyThreadKey(raw->survey, event->process, event->thread);
  Index row = SurveyRow(raw->survey, key), i;

  if (row < raw->survey->rows - 1)
    return row;
  for (i = 0; i < raw->extra; ++i)
    if (raw->extraThread[i] == key)
      return raw->survey->rows + i;
  if (raw->extra == 256 || !Grow(&raw->extraThread, &raw->extraCapacity, raw->extra, sizeof *raw->extraThread))
    return raw->survey->rows - 1;
  raw->extraThread[raw->extra++] = key;
  return raw->survey->rows + raw->extra - 1;
}

static void rawParam(Raw raw, LogEvent event, Index i)
{
  EventType type = event->type;
  const char *string;
  Size length;
  uint64_t word;
  Index byte;

  switch (type->letter[i]) {
  case 'S':
    string = LogEventString(event, i, &length);
    SeriesVarint(&raw->bytes, rawText(raw, string, length));
    break;
  case 'D':
    word = LogEventWord(event, i);
    for (byte = 0; byte < 8; ++byte)
      SeriesByte(&raw->bytes, (unsigned)(word >> 8 * byte) & 0xff);
    break;
  case 'P': case 'A':
    word = LogEventWord(event, i);
    SeriesZigzag(&raw->bytes, (int64_t)(word - raw->address[type->letter[i] == 'A']));
    raw->address[type->letter[i] == 'A'] = word;
    break;
  default:
    SeriesVarint(&raw->bytes, LogEventWord(event, i));
  }
}

/* rawSite -- the row of who asked, plus one; 0: the event does not say */
static uint64_t rawSite(Raw raw, LogEvent event)
{
  int stack = TypeCacheParam(event->type, "stack", "PAWU");
  int param = stack >= 0 ? stack : TypeCacheParam(event->type, "site", "PAWU");
  uint32_t number = (uint32_t)event->process->number;
  SiteStruct site = {.process = number, .asker = number, .stack = stack >= 0, .time = event->time};

  if (param < 0 || (site.code = LogEventWord(event, (Index)param)) == 0)
    return 0;
  return RowsOf(raw->rows, &site) + 1;
}

static void rawPack(Raw raw, LogEvent event, SurveyTypePlan plan)
{
  RawWindow window = &raw->window[raw->at];
  Index i;

  if (window->events++ == 0) {
    window->first = raw->last = event->time;
    raw->address[0] = raw->address[1] = 0;
  }
  window->last = event->time;
  SeriesVarint(&raw->bytes, event->time > raw->last ? event->time - raw->last : 0);
  SeriesVarint(&raw->bytes, plan->number - 1);
  SeriesVarint(&raw->bytes, rawThread(raw, event));
  for (i = 0; i < event->type->params; ++i)
    rawParam(raw, event, i);
  if (SurveyTypeAsks(event->type))
    SeriesVarint(&raw->bytes, rawSite(raw, event));
  raw->last = event->time;
  ++raw->events;
}

void RawEvent(Raw raw, LogEvent event)
{
  uint64_t place = raw->place++;
  SurveyTypePlan plan;

  while (raw->at < raw->windows && place >= raw->window[raw->at].end)
    ++raw->at;
  if (LIKELY(raw->at == raw->windows || place < raw->window[raw->at].begin))
    return;
  if (raw->bytes.size > RawBytesMAX || (plan = SurveyType(raw->survey, event)) == NULL) {
    raw->full = TRUE;
    return;
  }
  rawPack(raw, event, plan);
}

/* ---- JSON ---- */

static void rawWindowsJson(FILE *out, Raw raw)
{
  uint64_t zero = raw->survey->span->zero;
  Index i;

  fputs(",\n \"windows\": [", out);
  for (i = 0; i < raw->windows; ++i) {
    RawWindow window = &raw->window[i];
    fprintf(out, "%s\n  {\"first\": %llu, \"count\": %zu, \"events\": %llu, \"from\": %llu, \"to\": %llu, \"why\": ",
            i == 0 ? "" : ",", (unsigned long long)window->begin, window->events,
            (unsigned long long)(window->end - window->begin),
            (unsigned long long)(window->first < zero ? 0 : window->first - zero),
            (unsigned long long)(window->last < zero ? 0 : window->last - zero));
    JsonString(out, window->why);
    putc('}', out);
  }
  putc(']', out);
}

static void rawExtraJson(FILE *out, Raw raw)
{
  uint32_t key[2];
  Size length;
  Index i;

  fputs(",\n \"raw_threads\": [", out);
  for (i = 0; i < raw->extra; ++i) {
    memcpy(key, StringsAt(&raw->survey->threadKeys, raw->extraThread[i], &length), sizeof key);
    fprintf(out, "%s{\"pid\": %u, \"tid\": %u}", i == 0 ? "" : ", ",
            LogProcessAt(raw->shared->log, key[0])->header.pid, key[1]);
  }
  fputs("]", out);
}

static void rawLabelsJson(FILE *out, Raw raw)
{
  Index i;

  fputs(",\n \"raw_labels\": [", out);
  for (i = 0; i < raw->labelCount; ++i)
    fprintf(out, "%s{\"event\": %zu, \"pid\": %u, \"addr\": \"0x%llx\", \"string\": %u}", i == 0 ? "" : ", ",
            raw->label[i].event, raw->label[i].process->header.pid, (unsigned long long)raw->label[i].addr,
            raw->label[i].string);
  putc(']', out);
}

void RawJson(FILE *out, Raw raw, Bool *failed)
{
  Size length;
  Index i;

  rawWindowsJson(out, raw);
  rawExtraJson(out, raw);
  rawLabelsJson(out, raw);
  fprintf(out, ",\n \"raw\": {\"count\": %zu, \"full\": %s, ", raw->events, raw->full ? "true" : "false");
  fputs("\"strings\": [\"\"", out);
  for (i = 1; i <= raw->strings.count; ++i) {
    const char *string = StringsAt(&raw->strings, (uint32_t)i, &length);
    fputs(", ", out);
    JsonBytes(out, string, length);
  }
  fputs("],\n  \"data\": ", out);
  SeriesBase64(out, &raw->bytes);
  putc('}', out);
  *failed |= raw->bytes.failed || raw->res != ResOK;
}
