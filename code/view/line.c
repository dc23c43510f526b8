/* line.c -- events as lines
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "view/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "base/text.h"
#include "view/form.h"

enum { lineWhoSIZE = 64, lineWhosMAX = 64, lineNANOS = 1000000000 };

/* The forms of one registry's types, made as they are met. */
typedef struct lineFormsStruct {
  struct lineFormsStruct *next;
  Registry registry;
  FormStruct form[];
} lineFormsStruct, *LineForms;

/* Process and thread as text. */
typedef struct lineWhoStruct {
  LogProcess process;
  uint32_t thread;
  uint32_t length;
  char text[lineWhoSIZE];
} lineWhoStruct;

struct LineStruct {
  LineStyle style;
  Output output;
  uint64_t start;            /* ns: what times are counted from */
  FormColumnsStruct columns;
  LineForms forms;           /* of the registry met last, then the others */
  lineWhoStruct who[lineWhosMAX]; /* by thread, modulo; whoever came last has the place */
  uint64_t second;           /* whose text `seconds` is */
  Size secondsLength;
  char seconds[lineWhoSIZE];
};

static const char linePairs[] =
  "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
  "8081828384858687888990919293949596979899";

/* linePutNanos -- nine digits */
static inline char *linePutNanos(char *p, uint32_t n)
{
  uint32_t high = n / 10000, low = n % 10000; /* 5 and 4 digits */

  memcpy(p + 7, linePairs + 2 * (low % 100), 2);
  memcpy(p + 5, linePairs + 2 * (low / 100), 2);
  memcpy(p + 3, linePairs + 2 * (high % 100), 2);
  high /= 100;
  memcpy(p + 1, linePairs + 2 * (high % 100), 2);
  p[0] = (char)('0' + high / 100);
  return p + 9;
}

/* linePutDecimal -- most numbers are small */
static inline char *linePutDecimal(char *p, uint64_t n)
{
  if (n < 10) {
    *p = (char)('0' + n);
    return p + 1;
  }
  if (n < 100) {
    memcpy(p, linePairs + 2 * n, 2);
    return p + 2;
  }
  if (n < 10000) {
    unsigned high = (unsigned)n / 100, low = (unsigned)n % 100;
    char digits[8];
    memcpy(digits, linePairs + 2 * high, 2);
    memcpy(digits + 2, linePairs + 2 * low, 2);
    memcpy(p, digits + (n < 1000), 4);
    return p + (n < 1000 ? 3 : 4);
  }
  return TextPutDecimal(p, n);
}

/* lineHex8 -- eight hex digits of a 32-bit number, the first in the lowest byte */
static inline uint64_t lineHex8(uint32_t n)
{
  uint64_t x = __builtin_bswap32(n), nine;

  /* The bytes into 16 bits each, the highest lowest; then the nibbles of each into a byte. */
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  x = (x >> 4 & 0x000f000f000f000fu) | (x & 0x000f000f000f000fu) << 8;
  /* Above nine, a byte gets the distance from '9' + 1 to 'a' as well. */
  nine = (x + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
  return x + 0x3030303030303030u + nine * ('a' - '9' - 1);
}

static inline char *linePutHex(char *p, uint64_t n)
{
  char digits[32];
  uint64_t high = lineHex8((uint32_t)(n >> 32)), low = lineHex8((uint32_t)n);
  unsigned skip = n == 0 ? 15 : (unsigned)__builtin_clzll(n) / 4;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  high = __builtin_bswap64(high);
  low = __builtin_bswap64(low);
#endif
  memcpy(digits, &high, 8);
  memcpy(digits + 8, &low, 8);
  memcpy(p, digits + skip, 16); /* what lies behind the digits is written over */
  return p + (16 - skip);
}

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

static char *linePutQuoted(char *p, const char *bytes, Size length, Bool cut)
{
  TextStruct text;

  TextInit(&text, p, 4 * length + 8);
  TextQuoted(&text, bytes, length);
  if (cut)
    TextString(&text, "...");
  return text.next;
}

static char *linePutCsv(char *p, const char *bytes, Size length, Bool cut)
{
  Index i;

  *p++ = '"';
  for (i = 0; i < length; ++i) {
    if (bytes[i] == '"')
      *p++ = '"';
    *p++ = bytes[i];
  }
  if (cut) {
    memcpy(p, "...", 3);
    p += 3;
  }
  *p++ = '"';
  return p;
}

/* lineUtf8 -- bytes of the sound UTF-8 character at `bytes`; 0 if there is none */
static Size lineUtf8(const unsigned char *bytes, Size left)
{
  Size length = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xc2 && bytes[0] < 0xe0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3
              : bytes[0] >= 0xf0 && bytes[0] < 0xf5 ? 4 : 0;
  Index i;

  if (length == 0 || length > left)
    return 0;
  for (i = 1; i < length; ++i)
    if ((bytes[i] & 0xc0) != 0x80)
      return 0;
  if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
      (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
    return 0; /* too long, a surrogate, or beyond Unicode */
  return length;
}

/* linePutJson -- bytes that are no UTF-8 become U+FFFD */
static char *linePutJson(char *p, const char *string, Size length, Bool cut)
{
  static const char hex[] = "0123456789abcdef";
  const unsigned char *bytes = (const unsigned char *)string;
  Size i, n;

  *p++ = '"';
  for (i = 0; i < length; i += n) {
    n = lineUtf8(bytes + i, length - i);
    if (n == 0) {
      memcpy(p, "\xef\xbf\xbd", 3);
      p += 3;
      n = 1;
    } else if (bytes[i] < ' ' || bytes[i] == 0x7f) {
      memcpy(p, "\\u00", 4);
      p[4] = hex[bytes[i] >> 4];
      p[5] = hex[bytes[i] & 15];
      p += 6;
    } else {
      if (bytes[i] == '"' || bytes[i] == '\\')
        *p++ = '\\';
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

static __attribute__((noinline)) char *linePutSlow(char *p, const FormPieceStruct *piece, LogEvent event)
{
  const char *bytes;
  Size length;

  if (piece->value == FormDOUBLE || piece->value == FormREAL)
    return linePutDouble(p, LogEventDouble(event, piece->param), piece->value == FormREAL);
  bytes = LogEventString(event, piece->param, &length);
  switch (piece->value) {
  case FormCSV: return linePutCsv(p, bytes, length, event->cut);
  case FormJSON: return linePutJson(p, bytes, length, event->cut);
  default: return linePutQuoted(p, bytes, length, event->cut);
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
  TextString(&text, parts[style][2]);
  who->length = (uint32_t)TextLength(&text);
  who->process = event->process;
  who->thread = event->thread;
}

/* lineForms -- bring the forms of the event's registry to the front */
static __attribute__((noinline)) Bool lineForms(Line line, Registry registry)
{
  LineForms *link, forms;

  for (link = &line->forms; *link != NULL && (*link)->registry != registry; link = &(*link)->next)
    ;
  forms = *link;
  if (forms != NULL) {
    *link = forms->next;
  } else {
    forms = calloc(1, sizeof *forms + registry->count * sizeof forms->form[0]);
    if (forms == NULL)
      return FALSE;
    forms->registry = registry;
  }
  forms->next = line->forms;
  line->forms = forms;
  return TRUE;
}

static inline Form lineForm(Line line, LogEvent event)
{
  Registry registry = event->process->registry;
  Form form;

  if (UNLIKELY(line->forms == NULL || line->forms->registry != registry) && !lineForms(line, registry))
    return NULL;
  form = &line->forms->form[event->type - registry->types];
  if (UNLIKELY(form->piece == NULL) &&
      FormMake(form, line->style, registry, event->type, &line->columns) != ResOK)
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
  if (UNLIKELY(event->thread != who->thread || event->process != who->process))
    lineWho(who, line->style, event);
  memcpy(p, line->seconds, sizeof line->seconds);
  p = linePutNanos(p + line->secondsLength, (uint32_t)(time - second * lineNANOS));
  memcpy(p, who->text, sizeof who->text);
  p += who->length;
  for (piece = form->piece, limit = piece + form->pieces; piece < limit; ++piece) {
    p = linePutLiteral(p, piece->literal, piece->length);
    if (piece->value == FormHEX)
      p = linePutHex(p, LogEventWord(event, piece->param));
    else if (piece->value == FormDECIMAL)
      p = linePutDecimal(p, LogEventWord(event, piece->param));
    else if (piece->value != FormNONE)
      p = linePutSlow(p, piece, event);
  }
  line->output->next = p;
  return FALSE;
}

static void lineCsvHeader(Line line)
{
  TextStruct text;
  Index i, c;

  TextInit(&text, OutputRoom(line->output), OutputRoomMAX);
  TextString(&text, "time,pid,tid,kind,name");
  for (i = 0; i < line->columns.count; ++i) {
    TextChar(&text, ',');
    for (c = 0; c < line->columns.length[i]; ++c)
      TextChar(&text, FormNameChar(line->columns.name[i][c]));
  }
  TextChar(&text, '\n');
  line->output->next = text.next;
}

Res LineCreate(Line *lineReturn, LineStyle style, Log log, Output output)
{
  Line line = calloc(1, sizeof *line);
  LogSummaryStruct summary;

  if (line == NULL)
    return ResMEMORY;
  LogSummarize(&summary, log);
  line->style = style;
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

void LineDestroy(Line line)
{
  Index i;

  while (line->forms != NULL) {
    LineForms forms = line->forms;
    line->forms = forms->next;
    for (i = 0; i < forms->registry->count; ++i)
      FormFree(&forms->form[i]);
    free(forms);
  }
  FormColumnsFree(&line->columns);
  free(line);
}
