/* textcsvjson.c -- writes events as lines: text, descriptions, CSV and JSON
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/textcsvjson.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/types.h"
#include "export/describe.h"
#include "export/lineform.h"
#include "export/output.h"
#include "export/writer.h"
#include "heap/interns.h"
#include "log/log.h"
#include "request/typecache.h"

enum {
  lineWhoSIZE = 64, lineWhosMAX = 64, lineLabelMAX = 64, lineNANOS = 1000000000,
  lineValueMAX = 64,                                            /* bytes of a value that is no string */
  lineREST = FormLiteralMAX + FormPiecesMAX * lineValueMAX + FormChunkSIZE /* of a line, whatever its strings are */
};

/* Process and thread as text. */
typedef struct lineWhoStruct {
  LogProcess process;
  uint32_t thread;
  uint32_t length;
  uint16_t cpu;
  char text[lineWhoSIZE];
} lineWhoStruct;

struct WriterStruct {
  LineStyle style;
  Log log;
  Output output;
  StringsStruct strings;     /* in words: those that programs gave numbers, */
  InternsStruct interns;     /* and which; */
  Bool failed;               /* of one there was no memory */
  uint64_t start;            /* ns: what times are counted from */
  FormColumnsStruct columns;
  TypeCacheStruct forms;         /* FormStruct; no pieces: not made yet */
  lineWhoStruct who[lineWhosMAX]; /* by thread, modulo; whoever came last has the place */
  uint64_t second;           /* whose text `seconds` is */
  Size secondsLength;
  char seconds[lineWhoSIZE];
};

static inline char *linePutLiteral(char *p, const char *literal, Size length)
{
  Size done = 0;

  do {
    memcpy(p + done, literal + done, FormChunkSIZE);
    done += FormChunkSIZE;
  } while (UNLIKELY(done < length));
  return p + length;
}

/* ---- Strings, by style ---- */

/* linePutQuoted -- a description may have strings again and again: what would not leave room for the rest is cut */
static char *linePutQuoted(Line line, char *p, const char *bytes, Size length, Bool cut)
{
  char *limit = line->output->base + (OutputSIZE - lineREST);
  TextStruct text = {.overflow = TRUE};

  if (p < limit) {
    TextInit(&text, p, (Size)(limit - p));
    TextQuoted(&text, bytes, length);
    p = text.next;
  }
  cut |= text.overflow;
  if (!cut)
    return p;
  memcpy(p, "...", 3);
  return p + 3;
}

/* linePutCsv -- quotes are doubled, lines may end in a string; what a terminal would obey stands as \ooo */
static char *linePutCsv(char *p, const char *bytes, Size length, Bool cut)
{
  Size i, n;

  *p++ = '"';
  for (i = 0; i < length; i += n) {
    n = TextPrintable(bytes + i, length - i);
    if (bytes[i] == '\n' || bytes[i] == '\t')
      n = 1;
    if (bytes[i] == '"')
      *p++ = '"';
    if (n == 0) {
      p = TextPutEscape(p, bytes[i]);
      n = 1;
    } else {
      memcpy(p, bytes + i, n);
      p += n;
    }
  }
  if (cut) {
    memcpy(p, "...", 3);
    p += 3;
  }
  *p++ = '"';
  return p;
}

/* linePutJson -- bytes that are no UTF-8 become U+FFFD */
static char *linePutJson(char *p, const char *bytes, Size length, Bool cut)
{
  Size i, n;

  *p++ = '"';
  for (i = 0; i < length; i += n)
    p = CleanJsonChar(p, bytes + i, length - i, &n);
  if (cut) {
    memcpy(p, "...", 3);
    p += 3;
  }
  *p++ = '"';
  return p;
}

static char *linePutDouble(char *p, double d, Bool json)
{
  TextStruct text;
  Bool quote = json && !isfinite(d); /* JSON has no such numbers */

  TextInit(&text, p, 64);
  if (quote)
    TextChar(&text, '"');
  TextDouble(&text, d);
  if (quote)
    TextChar(&text, '"');
  return text.next;
}

/* linePutInterned -- the string with this number; where it is not known the number must do */
static char *linePutInterned(Line line, char *p, const FormPieceStruct *piece, LogEvent event)
{
  uint64_t id = LogEventWord(event, piece->param);
  uint32_t string = InternsFind(&line->interns, event->process, id);
  const char *bytes;
  Size length;

  if (string == 0)
    return PutDecimal(p, id);
  bytes = StringsAt(&line->strings, string, &length);
  return linePutQuoted(line, p, bytes, length, FALSE);
}

/* linePutLabel -- the label of an address, if it has one */
static __attribute__((noinline)) char *linePutLabel(Line line, char *p, LogEvent event, Index param)
{
  uint32_t string = InternsLabelOf(&line->interns, event->process, LogEventWord(event, param), 0);
  const char *bytes;
  Size length;

  if (string == 0)
    return p;
  bytes = StringsAt(&line->strings, string, &length);
  *p++ = '[';
  p = linePutQuoted(line, p, bytes, length < lineLabelMAX ? length : lineLabelMAX, length > lineLabelMAX);
  *p++ = ']';
  return p;
}

/* linePutKnown -- a number, or that it is unknown */
static char *linePutKnown(char *p, const FormPieceStruct *piece, LogEvent event)
{
  const char *unknown = piece->value == FormKNOWNCSV ? "" : piece->value == FormKNOWNJSON ? "null" : "unknown";

  if (!DescribeUnknown(event, piece->param))
    return PutDecimal(p, LogEventWord(event, piece->param));
  memcpy(p, unknown, strlen(unknown));
  return p + strlen(unknown);
}

static __attribute__((noinline)) char *linePutSlow(Line line, char *p, const FormPieceStruct *piece, LogEvent event)
{
  const char *bytes;
  Size length;

  if (piece->value == FormLABELS) {
    int addr, id;
    if (InternsLabels(&addr, &id, event->type) && InternsLabel(&line->interns, event, addr, id) != ResOK)
      line->failed = TRUE;
    return p;
  }
  if (piece->value == FormINTERNS) {
    if (InternsAdd(&line->interns, event, piece->param, event->type->params - 1) != ResOK)
      line->failed = TRUE;
    return p;
  }
  if (piece->value >= FormKNOWN && piece->value <= FormKNOWNJSON)
    return linePutKnown(p, piece, event);
  if (piece->value == FormINTERNED)
    return linePutInterned(line, p, piece, event);
  if (piece->value == FormDOUBLE || piece->value == FormREAL)
    return linePutDouble(p, LogEventDouble(event, piece->param), piece->value == FormREAL);
  bytes = LogEventString(event, piece->param, &length);
  switch (piece->value) {
  case FormCSV: return linePutCsv(p, bytes, length, event->cut);
  case FormJSON: return linePutJson(p, bytes, length, event->cut);
  default: return linePutQuoted(line, p, bytes, length, event->cut);
  }
}

/* ---- The parts of a line ---- */

/* lineSeconds -- the time changed by more than its fraction; returns it, or how long before the start it is
 *
 * What is followed may bring events that are earlier than the first that was seen. */
static __attribute__((noinline)) uint64_t lineSeconds(Line line, uint64_t time)
{
  Bool before = time >> 63 != 0;
  TextStruct text;

  if (before)
    time = 0 - time;
  TextInit(&text, line->seconds, sizeof line->seconds);
  if (line->style == LineJSON)
    TextString(&text, "{\"time\":");
  if (before)
    TextChar(&text, '-');
  TextDecimal(&text, time / lineNANOS);
  TextChar(&text, '.');
  line->secondsLength = TextLength(&text);
  line->second = before ? UINT64_MAX : time / lineNANOS;
  return time;
}

static __attribute__((noinline)) void lineWho(lineWhoStruct *who, LineStyle style, LogEvent event)
{
  static const char *const parts[][3] = {
    [LineTEXT] = {" ", "/", " "},     [LineVERBOSE] = {" ", "/", " "},
    [LineDESCRIBE] = {" ", "/", " "}, [LineCSV] = {",", ",", ","},
    [LineJSON] = {",\"pid\":", ",\"tid\":", ""},
  };
  TextStruct text;

  TextInit(&text, who->text, sizeof who->text);
  TextString(&text, parts[style][0]);
  TextDecimal(&text, event->process->header.pid);
  TextString(&text, parts[style][1]);
  TextDecimal(&text, event->thread);
  if (style == LineJSON && event->cpu != LogCpuUNKNOWN) {
    TextString(&text, ",\"cpu\":");
    TextDecimal(&text, event->cpu);
  }
  TextString(&text, parts[style][2]);
  who->length = (uint32_t)TextLength(&text);
  who->process = event->process;
  who->thread = event->thread;
  who->cpu = event->cpu;
}

static inline Form lineForm(Line line, LogEvent event)
{
  Form form = TypeCacheOf(&line->forms, event);

  if (UNLIKELY(form == NULL) ||
      (UNLIKELY(form->piece == NULL) &&
       FormMake(form, line->style, event->process->registry, event->type, &line->columns) != ResOK))
    return NULL;
  return form;
}

Bool LineEvent(LogRequest request, LogEvent event)
{
  Line line = request->data;
  char *p = OutputRoom(line->output);
  uint64_t time = event->time - line->start, second = time / lineNANOS;
  lineWhoStruct *who = &line->who[event->thread % lineWhosMAX];
  Form form = lineForm(line, event);
  const FormPieceStruct *piece, *limit;

  if (UNLIKELY(form == NULL) || UNLIKELY(line->output->failed != 0))
    return TRUE;
  if (UNLIKELY(second != line->second)) {
    time = lineSeconds(line, time);
    second = time / lineNANOS;
  }
  if (UNLIKELY(event->thread != who->thread || event->process != who->process || event->cpu != who->cpu))
    lineWho(who, line->style, event);
  memcpy(p, line->seconds, sizeof line->seconds);
  p = PutNanos(p + line->secondsLength, (uint32_t)(time - second * lineNANOS));
  memcpy(p, who->text, sizeof who->text);
  p += who->length;
  for (piece = form->piece, limit = piece + form->pieces; piece < limit; ++piece) {
    p = linePutLiteral(p, piece->literal, piece->length);
    if (piece->value == FormHEX) {
      p = PutHex(p, LogEventWord(event, piece->param));
      if (UNLIKELY(line->interns.labelled > 0))
        p = linePutLabel(line, p, event, piece->param);
    }
    else if (piece->value == FormDECIMAL)
      p = PutDecimal(p, LogEventWord(event, piece->param));
    else if (piece->value != FormNONE)
      p = linePutSlow(line, p, piece, event);
  }
  line->output->next = p;
  return FALSE;
}

static const char *const lineOwn[] = {"time", "pid", "tid", "kind", "name"}; /* columns that each event has */

static Bool lineCsvTaken(Line line, Index column, const char *name, Size length)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(lineOwn); ++i)
    if (strlen(lineOwn[i]) == length && strncasecmp(lineOwn[i], name, length) == 0)
      return TRUE;
  for (i = 0; i < line->columns.count; ++i)
    if (i != column && line->columns.column[i].length == length &&
        memcmp(line->columns.column[i].name, name, length) == 0)
      return TRUE;
  return FALSE;
}

/* lineCsvName -- a parameter's column: who reads by name must find one of that name */
static void lineCsvName(Line line, Index column)
{
  char name[512]; /* of which a name of a log takes 255 at most */
  Size length = line->columns.column[column].length;

  CleanName(name, line->columns.column[column].name, length);
  while (length < sizeof name && lineCsvTaken(line, column, name, length))
    name[length++] = '_';
  OutputBytes(line->output, name, length);
}

static void lineCsvHeader(Line line)
{
  Index i;

  for (i = 0; i < ARRAY_LENGTH(lineOwn); ++i) {
    OutputBytes(line->output, ",", i > 0);
    OutputBytes(line->output, lineOwn[i], strlen(lineOwn[i]));
  }
  for (i = 0; i < line->columns.count; ++i) {
    OutputBytes(line->output, ",", 1);
    lineCsvName(line, i);
  }
  OutputBytes(line->output, "\n", 1);
}

Res LineCreate(Line *lineReturn, LineStyle style, Log log, Output output)
{
  Line line = calloc(1, sizeof *line);
  LogSummaryStruct summary;

  if (line == NULL)
    return ResMEMORY;
  LogSummarize(&summary, log);
  line->style = style;
  line->log = log;
  InternsInit(&line->interns, &line->strings);
  TypeCacheInit(&line->forms, sizeof(FormStruct));
  line->output = output;
  line->start = summary.first;
  line->second = UINT64_MAX;
  if (style == LineCSV) {
    if (FormColumnsMake(&line->columns, log) != ResOK) {
      LineDestroy(line);
      return ResMEMORY;
    }
    lineCsvHeader(line);
  }
  *lineReturn = line;
  return ResOK;
}

Res LineRead(Line line, LogRequest request)
{
  Bool labels = (line->style == LineTEXT || line->style == LineVERBOSE) && InternsMay(line->log);
  Res res = line->style == LineDESCRIBE || labels ? InternsRead(&line->interns, line->log, request)
                                                  : LogRead(line->log, request);

  return res == ResOK && line->failed ? ResMEMORY : res;
}

Res LineEnd(Line line)
{
  return OutputEnd(line->output);
}

void LineDestroy(Line line)
{
  cacheTableStruct *forms;
  Index i;

  for (forms = line->forms.front; forms != NULL; forms = forms->next)
    for (i = 0; i < forms->registry->count; ++i)
      FormFree((Form)(void *)forms->plans + i);
  TypeCacheFinish(&line->forms);
  FormColumnsFree(&line->columns);
  InternsFinish(&line->interns);
  StringsFinish(&line->strings);
  free(line);
}

/* The formats */

static Res lineWriterText(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                          Size size)
{
  UNUSED(error);
  UNUSED(size);
  return LineCreate(writerReturn, options->describe ? LineDESCRIBE : options->verbose ? LineVERBOSE : LineTEXT, log,
                    output);
}

static Res lineWriterCsv(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                         Size size)
{
  UNUSED(options);
  UNUSED(error);
  UNUSED(size);
  return LineCreate(writerReturn, LineCSV, log, output);
}

static Res lineWriterJson(Writer *writerReturn, const WriterOptionsStruct *options, Log log, Output output, char *error,
                          Size size)
{
  UNUSED(options);
  UNUSED(error);
  UNUSED(size);
  return LineCreate(writerReturn, LineJSON, log, output);
}

#define lineWriterCLASS(theName, theCreate, theTakes)                                                                  \
  {                                                                                                                    \
    .name = theName, .follow = TRUE, .takes = theTakes, .create = theCreate, .event = LineEvent,                       \
    .read = LineRead, .finish = LineEnd, .destroy = LineDestroy                                                        \
  }
const WriterClassStruct WriterClassText = lineWriterCLASS("text", lineWriterText, WriterTakesWORDS);
const WriterClassStruct WriterClassCsv = lineWriterCLASS("csv", lineWriterCsv, 0);
const WriterClassStruct WriterClassJson = lineWriterCLASS("json", lineWriterJson, 0);
