/* eventlines.c -- writes events as lines: text, descriptions, CSV and JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/eventlines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/aver.h"
#include "base/text.h"
#include "base/types.h"
#include "export/describe.h"
#include "export/lineform.h"
#include "export/eventstamp.h"
#include "export/writer.h"
#include "heap/labels.h"
#include "log/log.h"
#include "request/typecache.h"

enum {
  lineLabelMAX = 64,
  lineSymbolMAX = 2048, /* bytes of what is at an address */
  lineValueMAX = 64,                                            /* bytes of a value that is no string */
  lineREST = FormLiteralMAX + FormPiecesMAX * lineValueMAX + FormChunkSIZE /* of a line, whatever its strings are */
};

struct WriterStruct {
  LineStyle style;
  Log log;
  Output output;
  StringsStruct strings;     /* interned strings and labels */
  LabelsStruct labels;      /* which number or address has which of them */
  CallsStruct calls;         /* what is at code addresses, and stacks; `symbols` is NULL: they are not told */
  Bool failed;               /* there was no memory for one of them */
  StringsStruct columns;     /* of CSV */
  TypeCacheStruct forms;     /* FormStruct; no pieces: not made yet */
  StampStruct stamp;
};

/* What the styles differ in, besides their forms. */
static const DescribeStyle lineDescribes[] = {[LineCSV] = DescribeCSV, [LineJSON] = DescribeJSON}; /* others: TEXT */
static const StampPartsStruct lineTextParts = {"", " ", "/", " ", NULL}, lineCsvParts = {"", ",", ",", ",", NULL},
                              lineJsonParts = {"{\"time\":", ",\"pid\":", ",\"tid\":", "", ",\"cpu\":"};

static inline char *lineLiteral(char *p, const char *literal, Size length)
{
  Size done = 0;

  do {
    memcpy(p + done, literal + done, FormChunkSIZE);
    done += FormChunkSIZE;
  } while (UNLIKELY(done < length));
  return p + length;
}

/* ---- Values that are not frequent ---- */

/* lineText -- room for a value at `p`.  A description may have strings again and again: one that would not leave room
 * for the rest of the line is cut. */
static void lineText(Line line, Text text, char *p)
{
  Size rest = lineDescribes[line->style] == DescribeTEXT ? lineREST : lineValueMAX;
  char *limit = line->output->base + (OutputSIZE - rest);

  TextInit(text, p, p < limit ? (Size)(limit - p) : 1);
}

/* lineTextEnd -- the place behind the value */
static char *lineTextEnd(Text text)
{
  if (!text->overflow)
    return text->next;
  memcpy(text->next, "...", 3);
  return text->next + 3;
}

static void lineString(Line line, Text text, uint32_t string, Size most)
{
  Size length;
  const char *bytes = StringsAt(&line->strings, string, &length);

  DescribeString(text, DescribeTEXT, bytes, length < most ? length : most, length > most);
}

/* lineLabel -- the label of an address, if it has one */
static __attribute__((noinline)) char *lineLabel(Line line, char *p, LogEvent event, Index param)
{
  uint32_t string = LabelsOf(&line->labels, event->process, LogEventWord(event, param), 0);
  TextStruct text;

  if (string == 0)
    return p;
  *p++ = '[';
  lineText(line, &text, p);
  lineString(line, &text, string, lineLabelMAX);
  p = lineTextEnd(&text);
  *p++ = ']';
  return p;
}

/* lineFunctions -- append what a parameter that leads into code stands for; nothing if nothing is known */
static void lineFunctions(Line line, Text text, LogEvent event, Index param)
{
  uint64_t value = LogEventWord(event, param);
  CodeSymbol place;

  if (CallsParam(event->type, param)) {
    CallsStack(text, &line->calls, event->process, event->time, (uint32_t)value);
    return;
  }
  place = CodeSymbolOf(line->calls.symbols, event->process, event->time, value, CodeParam(event->type, param));
  if (place != NULL)
    CodeSymbolText(text, line->calls.symbols, place);
}

/* linePlace -- that, between quotes; FALSE: nothing is known.  A string that is escaped may be six times as long. */
static Bool linePlace(Line line, Text text, LogEvent event, Index param)
{
  char bytes[lineSymbolMAX];
  TextStruct words;
  Size room = (TextRoom(text) - 2) / CleanJsonMAX;

  if (TextRoom(text) < CleanJsonMAX)
    return FALSE;
  TextInit(&words, bytes, room < sizeof bytes ? room : sizeof bytes);
  lineFunctions(line, &words, event, param);
  if (TextLength(&words) > 0)
    DescribeString(text, lineDescribes[line->style], bytes, TextLength(&words), words.overflow);
  return TextLength(&words) > 0;
}

/* lineCode -- write the number of a code address or a stack, then its functions in brackets */
static char *lineCode(Line line, char *p, LogEvent event, Index param)
{
  TextStruct text;

  p = (event->type->letter[param] == 'W' ? PutDecimal : PutHex)(p, LogEventWord(event, param));
  lineText(line, &text, p);
  TextChar(&text, '[');
  if (!linePlace(line, &text, event, param))
    return p;
  TextChar(&text, ']');
  return lineTextEnd(&text);
}

/* lineRare -- write the value of a piece, or learn from the event */
static __attribute__((noinline)) char *lineRare(Line line, char *p, const FormPieceStruct *piece, LogEvent event)
{
  uint32_t string = 0;
  TextStruct text;
  Res res = ResOK;

  switch (piece->value) {
  case FormINTERNS:
    res = LabelsLearn(&line->labels, event);
    break;
  case FormCODE:
    p = lineCode(line, p, event, piece->param);
    break;
  case FormSYMBOL:
    lineText(line, &text, p);
    if (!linePlace(line, &text, event, piece->param) && line->style == LineJSON)
      TextString(&text, "null");
    p = text.next;
    break;
  default:
    lineText(line, &text, p);
    if (piece->value == FormINTERNED)
      string = LabelsString(&line->labels, event->process, LogEventWord(event, piece->param));
    if (string != 0)
      lineString(line, &text, string, SIZE_MAX);
    else
      DescribeValue(&text, lineDescribes[line->style], event, piece->param);
    p = lineTextEnd(&text);
  }
  line->failed |= res != ResOK;
  return p;
}

static inline Form lineForm(Line line, LogEvent event)
{
  Form form = TypeCacheOf(&line->forms, event);

  if (UNLIKELY(form == NULL) ||
      (UNLIKELY(form->piece == NULL) &&
       FormMake(form, line->style, event->process->registry, event->type, &line->columns, line->calls.symbols != NULL) !=
         ResOK))
    return NULL;
  return form;
}

Bool LineEvent(LogRequest request, LogEvent event)
{
  Line line = request->data;
  char *p = OutputRoom(line->output);
  Form form = lineForm(line, event);
  const FormPieceStruct *piece, *limit;

  if (UNLIKELY(form == NULL))
    OutputFail(line->output, ENOMEM);
  if (UNLIKELY(line->output->failed != 0))
    return TRUE;
  p = StampPut(p, &line->stamp, event);
  for (piece = form->piece, limit = piece + form->pieces; piece < limit; ++piece) {
    p = lineLiteral(p, piece->literal, piece->length);
    if (piece->value == FormHEX) {
      p = PutHex(p, LogEventWord(event, piece->param));
      if (UNLIKELY(line->labels.label.count > 0))
        p = lineLabel(line, p, event, piece->param);
    }
    else if (piece->value == FormDECIMAL)
      p = PutDecimal(p, LogEventWord(event, piece->param));
    else if (piece->value != FormNONE)
      p = lineRare(line, p, piece, event);
  }
  AVER_CRITICAL(p <= line->output->base + OutputSIZE);
  line->output->next = p;
  return FALSE;
}

static const char *const lineOwn[] = {"time", "pid", "tid", "kind", "name"}; /* columns that each event has */

static Bool lineCsvTaken(Line line, uint32_t column, const char *name, Size length)
{
  uint32_t i;

  for (i = 0; i < ARRAY_LENGTH(lineOwn); ++i)
    if (strlen(lineOwn[i]) == length && strncasecmp(lineOwn[i], name, length) == 0)
      return TRUE;
  for (i = 1; i <= line->columns.count; ++i) {
    Size other;
    const char *bytes = StringsAt(&line->columns, i, &other);
    if (i != column && other == length && memcmp(bytes, name, length) == 0)
      return TRUE;
  }
  return FALSE;
}

/* lineCsvName -- write a parameter's column name, changed if another column has it: readers look columns up by name */
static void lineCsvName(Line line, uint32_t column)
{
  char name[512]; /* of which a name of a log takes 255 at most */
  Size length;
  const char *bytes = StringsAt(&line->columns, column, &length);

  CleanName(name, bytes, length);
  while (length < sizeof name && lineCsvTaken(line, column, name, length))
    name[length++] = '_';
  OutputString(line->output, ",");
  OutputBytes(line->output, name, length);
}

static void lineCsvHeader(Line line)
{
  uint32_t i;

  for (i = 0; i < ARRAY_LENGTH(lineOwn); ++i)
    OutputFormat(line->output, "%s%s", i > 0 ? "," : "", lineOwn[i]);
  for (i = 1; i <= line->columns.count; ++i)
    lineCsvName(line, i);
  OutputString(line->output, "\n");
}

Res LineCreate(Line *lineReturn, LineStyle style, Log log, Output output, const CallsStruct *calls)
{
  Line line = calloc(1, sizeof *line);
  Bool symbols = calls != NULL && calls->symbols != NULL;
  LogSummaryStruct summary;

  if (line == NULL)
    return ResMEMORY;
  LogSummarize(&summary, log);
  line->style = style;
  line->log = log;
  LabelsInit(&line->labels, &line->strings);
  TypeCacheInit(&line->forms, sizeof(FormStruct));
  line->output = output;
  StampInit(&line->stamp, style == LineJSON ? &lineJsonParts : style == LineCSV ? &lineCsvParts : &lineTextParts,
            summary.first);
  if (style == LineCSV) {
    if (FormColumns(&line->columns, log, symbols) != ResOK) {
      LineDestroy(line);
      return ResMEMORY;
    }
    lineCsvHeader(line);
  }
  if (calls != NULL)
    line->calls = *calls;
  *lineReturn = line;
  return ResOK;
}

Res LineRead(Line line, LogRequest request)
{
  Bool labels = (line->style == LineTEXT || line->style == LineVERBOSE) && LabelsMay(line->log);
  Res res = line->style == LineDESCRIBE || labels ? LabelsRead(&line->labels, line->log, request)
                                                  : LogRead(line->log, request);

  return res == ResOK && line->failed ? ResMEMORY : res;
}

void LineDestroy(Line line)
{
  cacheTableStruct *forms;
  Index i;

  for (forms = line->forms.front; forms != NULL; forms = forms->next)
    for (i = 0; i < forms->registry->count; ++i)
      free(((Form)(void *)forms->plans)[i].piece);
  TypeCacheFinish(&line->forms);
  StringsFinish(&line->columns);
  LabelsFinish(&line->labels);
  StringsFinish(&line->strings);
  CallsFinish(&line->calls);
  free(line);
}

/* The formats */

static Res lineWriter(Writer *writerReturn, const WriterClassStruct *class, const WriterOptionsStruct *options)
{
  LineStyle style = *(const LineStyle *)class->own;
  CallsStruct calls = {NULL, NULL, NULL};
  Res res = ResOK;

  if (style == LineTEXT && (options->describe || options->verbose))
    style = options->describe ? LineDESCRIBE : LineVERBOSE;
  if (options->symbols != NULL)
    res = WriterCalls(&calls, options);
  if (res == ResOK)
    res = LineCreate(writerReturn, style, options->log, options->output, &calls);
  if (res != ResOK)
    CallsFinish(&calls);
  return res;
}

#define lineWriterCLASS(theName, theStyle, theTakes)                                                                   \
  {                                                                                                                    \
    .name = theName, .follow = TRUE, .takes = theTakes, .own = &(const LineStyle){theStyle}, .create = lineWriter,     \
    .event = LineEvent, .read = LineRead, .destroy = LineDestroy                                                       \
  }
const WriterClassStruct WriterClassText = lineWriterCLASS("text", LineTEXT, WriterTakesWORDS | WriterTakesSYMBOLS);
const WriterClassStruct WriterClassCsv = lineWriterCLASS("csv", LineCSV, WriterTakesSYMBOLS);
const WriterClassStruct WriterClassJson = lineWriterCLASS("json", LineJSON, WriterTakesSYMBOLS);
