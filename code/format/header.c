/* header.c -- the header block
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/header.h"

#include <string.h>

#include "base/aver.h"
#include "base/crc.h"
#include "format/block.h"

/* The first line has a fixed form, so that length and checksum can be filled in when they are known. */
#define headerLineFORM "pawprint 000.000.000 length 0000000000 crc 00000000\n"

enum { headerVersionAT = 9, headerLengthAT = 28, headerCrcAT = 43, headerPREFIX = BlockMagicSIZE + HeaderLineSIZE };

_Static_assert(sizeof headerLineFORM - 1 == HeaderLineSIZE, "the first line's length is the format");

/* ---- The lines behind the first: one table by which they are written and read ---- */

/* What a field of a line is.  The first group are numbers, which differ in how they are written and what they may
 * be. */
typedef enum headerForm {
  headerNONE,
  headerNUMBER,      /* decimal */
  headerHEX,
  headerCOUNT,       /* decimal, at most CountMAX */
  headerCOUNTED,     /* the same, or `?`: HeaderEventsUNKNOWN */
  headerENDED,       /* a count; that the line is there sets `ended` */
  headerDROPPED,     /* a count; that the line is there sets `dropped.marked` */
  headerPID,         /* written: HeaderLeader */
  headerOUTER,       /* written: `pid`; read into `inner` until all lines are read */
  headerWORD,        /* 4 or 8 */
  headerSTRING,      /* in quotes */
  headerORDER,       /* `little` or `big` */
  headerDOUBLE,      /* always the same; not read */
  headerGIVEN,       /* how many arguments there were; not read */
  headerARGUMENT,    /* a line for each argument that is kept */
  headerSYNC,        /* a line for each relation of ticks to time */
  headerSTREAM       /* lines of HeaderStreamWrite */
} headerForm;

typedef struct headerFieldStruct {
  uint8_t form;
  uint16_t offset, size; /* in the structure that the line is about */
} headerFieldStruct;

typedef const headerFieldStruct *headerField;

enum { headerFieldsMAX = 5 }; /* of one line, with the headerNONE behind the last */

typedef const struct headerLineStruct {
  const char *key;
  headerFieldStruct when;                   /* the line is written only if this is not 0; of size 0: always */
  headerFieldStruct field[headerFieldsMAX]; /* separated by a space each */
} *headerLine;

#define OF(form, type, field) {header##form, offsetof(type, field), sizeof(((type *)NULL)->field)}
#define FIELD(form, field) OF(form, HeaderStruct, field)
#define ALWAYS {headerNONE, 0, 0}

/* In the order in which they are written. */
static const struct headerLineStruct headerLines[] = {
  {"identity: ", ALWAYS, {FIELD(HEX, identity)}},
  {"order: ", ALWAYS, {FIELD(ORDER, widths.swapped)}},
  {"word: ", ALWAYS, {FIELD(WORD, widths.word)}},
  {"double: ", ALWAYS, {{headerDOUBLE, 0, 0}}},
  {"pid: ", ALWAYS, {FIELD(PID, pid)}},
  {"outer: ", FIELD(NUMBER, inner), {FIELD(OUTER, inner)}},
  {"parent: ", ALWAYS, {FIELD(NUMBER, parent)}},
  {"forked: ", FIELD(HEX, forked.identity),
   {FIELD(HEX, forked.identity), FIELD(NUMBER, forked.thread), FIELD(NUMBER, forked.before),
    FIELD(NUMBER, forked.after)}},
  {"role: ", FIELD(STRING, role), {FIELD(STRING, role)}},
  {"program: ", ALWAYS, {FIELD(STRING, program)}},
  {"arguments: ", ALWAYS, {FIELD(GIVEN, arguments)}},
  {"argument: ", ALWAYS, {{headerARGUMENT, 0, 0}}},
  {"named: ", FIELD(NUMBER, named), {FIELD(NUMBER, named)}},
  {"region: ", ALWAYS, {FIELD(STRING, region)}},
  {"boot: ", ALWAYS, {FIELD(STRING, boot)}},
  {"clock: ", ALWAYS, {FIELD(STRING, clock)}},
  {"frequency: ", ALWAYS, {FIELD(NUMBER, frequency)}},
  {"sync: ", ALWAYS, {{headerSYNC, 0, 0}}},
  {"lost: ", ALWAYS, {FIELD(COUNT, lost)}},
  {HeaderDROPPED, FIELD(COUNT, dropped.blocks),
   {FIELD(DROPPED, dropped.blocks), FIELD(COUNT, dropped.events), FIELD(NUMBER, dropped.ticks)}},
  {"recording: ", FIELD(HEX, recording), {FIELD(HEX, recording)}},
  {"copy: ", FIELD(HEX, copy), {FIELD(HEX, copy)}},
  {"open: ", FIELD(NUMBER, open), {FIELD(NUMBER, open)}},
  {"alone: ", FIELD(NUMBER, alone), {FIELD(NUMBER, alone)}},
  {"lacks: ", FIELD(COUNT, lacks), {FIELD(COUNT, lacks)}},
  {"begun: ", FIELD(NUMBER, begun), {FIELD(NUMBER, begun)}},
  {"sent: ", FIELD(NUMBER, sent.ticks), {FIELD(NUMBER, sent.ticks), FIELD(HEX, sent.first), FIELD(HEX, sent.now)}},
  {"events: ", FIELD(STRING, events), {FIELD(STRING, events)}},
  {"older: ", FIELD(COUNT, older), {FIELD(COUNT, older)}},
  {"kept: ", FIELD(COUNT, older), {FIELD(NUMBER, kept)}},
  {"forgotten: ", FIELD(COUNT, forgotten), {FIELD(COUNT, forgotten)}},
  {"forgottento: ", FIELD(COUNT, forgotten), {FIELD(NUMBER, forgottenTo)}},
  {"stopped: ", FIELD(NUMBER, stopped), {FIELD(NUMBER, stopped)}},
  {"processes: ", FIELD(COUNT, processes), {FIELD(COUNT, processes)}},
  {"end: ", FIELD(NUMBER, ended), {FIELD(ENDED, streams)}},
  {"gone: ", FIELD(NUMBER, gone), {FIELD(NUMBER, gone)}},
  {"registry: ", FIELD(NUMBER, registry.length), {FIELD(NUMBER, registry.length), FIELD(HEX, registry.crc)}},
  {"stream: ", ALWAYS, {{headerSTREAM, 0, 0}}},
};

static const headerFieldStruct headerSyncFields[] = {
  OF(NUMBER, SyncStruct, ticks), OF(NUMBER, SyncStruct, mono), OF(NUMBER, SyncStruct, real), ALWAYS};

static const headerFieldStruct headerStreamFields[] = {
  OF(NUMBER, HeaderStreamStruct, stream), OF(COUNT, HeaderStreamStruct, blocks),
  OF(COUNTED, HeaderStreamStruct, events), OF(COUNT, HeaderStreamStruct, discarded), ALWAYS};

#undef OF
#undef FIELD
#undef ALWAYS

/* ---- The first line ---- */

static const char headerDigits[] = "0123456789abcdef";

static void headerPut(char *place, uint64_t n, unsigned digits, unsigned base)
{
  for (; digits-- > 0; n /= base)
    place[digits] = headerDigits[n % base];
}

static Bool headerGet(uint64_t *nReturn, const char *place, unsigned digits, unsigned base)
{
  uint64_t n = 0;

  for (; digits > 0; --digits, ++place) {
    const char *at = memchr(headerDigits, *place, base);
    if (at == NULL)
      return FALSE;
    n = n * base + (uint64_t)(at - headerDigits);
  }
  *nReturn = n;
  return TRUE;
}

/* headerCrc -- of a whole header block: its first line up to where the checksum stands, and what comes behind it */
static uint32_t headerCrc(const char *bytes, Size length)
{
  return Crc32c(Crc32c(0, bytes, BlockMagicSIZE + headerCrcAT), bytes + headerPREFIX, length - headerPREFIX);
}

/* ---- Writing ---- */

/* headerIsLittle -- are numbers in memory little-endian here? */
static Bool headerIsLittle(void)
{
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* headerValue -- a number's field; of a string its first character */
static uint64_t headerValue(const void *structure, headerField field)
{
  const unsigned char *place = (const unsigned char *)structure + field->offset;
  uint64_t wide;
  uint32_t narrow;

  if (field->size == sizeof wide) {
    memcpy(&wide, place, sizeof wide);
    return wide;
  }
  if (field->size == sizeof narrow) {
    memcpy(&narrow, place, sizeof narrow);
    return narrow;
  }
  return *place;
}

static void headerFieldsWrite(Text text, const void *structure, headerField field, Index i);

/* headerFieldWrite -- a field of the header, or for headerNUMBER to headerCOUNTED of any structure; the `i`th of
 * several */
static void headerFieldWrite(Text text, const void *structure, headerField field, Index i)
{
  const HeaderStruct *header = structure;
  const char *string = (const char *)structure + field->offset;
  uint64_t n = headerValue(structure, field);

  switch ((headerForm)field->form) {
  case headerHEX: TextHex(text, n); break;
  case headerCOUNTED:
    if (n == HeaderEventsUNKNOWN) {
      TextChar(text, '?');
      break;
    } /* fall through */
  case headerCOUNT: TextDecimal(text, CountAdd(0, n)); break; /* the program may have written over it */
  case headerPID: TextDecimal(text, HeaderLeader(header)); break;
  case headerOUTER: TextDecimal(text, header->pid); break;
  case headerSTRING: TextQuoted(text, string, strlen(string)); break;
  case headerORDER: TextString(text, headerIsLittle() != header->widths.swapped ? "little" : "big"); break;
  case headerDOUBLE: TextString(text, "binary64"); break;
  case headerARGUMENT: TextQuoted(text, header->argument[i], strlen(header->argument[i])); break;
  case headerSYNC: headerFieldsWrite(text, &header->sync[i], headerSyncFields, 0); break;
  default: TextDecimal(text, n); break;
  }
}

static void headerFieldsWrite(Text text, const void *structure, headerField field, Index i)
{
  headerFieldWrite(text, structure, field, i);
  while ((++field)->form != headerNONE) {
    TextChar(text, ' ');
    headerFieldWrite(text, structure, field, i);
  }
}

/* headerTimes -- how many lines of this key a header block begins with */
static Count headerTimes(Header header, headerLine line)
{
  switch ((headerForm)line->field[0].form) {
  case headerARGUMENT: return header->arguments < HeaderArgumentsMAX ? header->arguments : HeaderArgumentsMAX;
  case headerSYNC: return header->syncs;
  case headerSTREAM: return 0;
  default: return line->when.size == 0 || headerValue(header, &line->when) != 0;
  }
}

void HeaderBegin(Text text, Header header)
{
  Index i, k;

  AVER(header->syncs <= HeaderSyncsMAX);
  TextBytes(text, HeaderMAGIC, BlockMagicSIZE);
  TextString(text, headerLineFORM);
  if (!text->overflow) {
    char *version = text->base + BlockMagicSIZE + headerVersionAT;
    headerPut(version, header->major, 3, 10);
    headerPut(version + 4, header->median, 3, 10);
    headerPut(version + 8, header->minor, 3, 10);
  }
  for (k = 0; k < ARRAY_LENGTH(headerLines); ++k)
    for (i = 0; i < headerTimes(header, &headerLines[k]); ++i) {
      TextString(text, headerLines[k].key);
      headerFieldsWrite(text, header, headerLines[k].field, i);
      TextChar(text, '\n');
    }
}

void HeaderStreamWrite(Text text, HeaderStream stream)
{
  TextString(text, "stream: ");
  headerFieldsWrite(text, stream, headerStreamFields, 0);
  TextChar(text, '\n');
}

void HeaderSeal(char *bytes, Size length)
{
  AVER(length >= headerPREFIX);
  headerPut(bytes + BlockMagicSIZE + headerCrcAT, headerCrc(bytes, length), 8, 16);
}

Res HeaderEnd(Text text)
{
  Size length = TextLength(text);

  AVER(text->base <= text->next && text->next <= text->limit);
  if (text->overflow || length > HeaderMAX)
    return ResLIMIT;
  AVER(length >= headerPREFIX);
  headerPut(text->base + BlockMagicSIZE + headerLengthAT, length, 10, 10);
  HeaderSeal(text->base, length);
  return ResOK;
}

/* ---- Reading ---- */

Res HeaderLength(Size *lengthReturn, unsigned version[3], const void *bytes, Size size)
{
  const char *line = (const char *)bytes + BlockMagicSIZE;
  uint64_t length, crc, part;
  Index i;

  if (size < headerPREFIX || memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) != 0)
    return ResFORMAT;
  for (i = 0; i < HeaderLineSIZE; ++i)
    if (headerLineFORM[i] != '0' && line[i] != headerLineFORM[i])
      return ResFORMAT;
  for (i = 0; i < 3; ++i) {
    if (!headerGet(&part, line + headerVersionAT + 4 * i, 3, 10))
      return ResFORMAT;
    version[i] = (unsigned)part;
  }
  if (!headerGet(&length, line + headerLengthAT, 10, 10) || !headerGet(&crc, line + headerCrcAT, 8, 16) ||
      length < headerPREFIX || length > HeaderMAX)
    return ResFORMAT;
  *lengthReturn = (Size)length;
  return version[0] == BlockMAJOR ? ResOK : ResVERSION;
}

/* headerUnquote -- a string as TextQuoted writes it; cut to `size` bytes with its NUL */
static Bool headerUnquote(char *room, Size size, const char *next, const char *limit)
{
  Size length = 0;

  if (limit - next < 2 || *next != '"' || limit[-1] != '"')
    return FALSE;
  for (++next, --limit; next < limit; ++next) {
    char c = *next;
    if (c == '\\') {
      if (++next == limit)
        return FALSE;
      c = *next == 'n' ? '\n' : *next == 't' ? '\t' : *next == 'r' ? '\r' : *next;
      if (c >= '0' && c <= '7') {
        if (limit - next < 3)
          return FALSE;
        c = (char)((next[0] - '0') << 6 | (next[1] - '0') << 3 | (next[2] - '0'));
        next += 2;
      }
    }
    if (length + 1 < size)
      room[length++] = c;
  }
  room[length] = '\0';
  return TRUE;
}

/* headerNumberRead -- a number, and past it and one space.  FALSE: there is none, or it is more than the field can
 * have. */
static Bool headerNumberRead(void *structure, headerField field, const char **next, const char *limit)
{
  void *place = (char *)structure + field->offset;
  Bool counts = field->form >= headerCOUNT && field->form <= headerDROPPED;
  uint64_t n;
  uint32_t narrow;

  if (field->form == headerCOUNTED && limit - *next >= 2 && memcmp(*next, "? ", 2) == 0) {
    n = HeaderEventsUNKNOWN;
    *next += 2;
  } else if (!RegistryNumber(&n, next, limit) || (counts && n > CountMAX)) {
    return FALSE;
  }
  if (field->size == sizeof n) {
    memcpy(place, &n, sizeof n);
  } else if (field->form == headerWORD) {
    *(uint8_t *)place = (uint8_t)n;
    return n == 4 || n == 8;
  } else {
    narrow = (uint32_t)n;
    memcpy(place, &narrow, sizeof narrow);
  }
  return field->size == sizeof n || n <= UINT32_MAX;
}

static Bool headerNumbersRead(void *structure, headerField field, const char *next, const char *limit)
{
  for (; field->form != headerNONE; ++field)
    if (!headerNumberRead(structure, field, &next, limit))
      return FALSE;
  return TRUE;
}

static Bool headerSyncRead(Header header, const char *next, const char *limit)
{
  /* The first and the newest are kept. */
  Index i = header->syncs < HeaderSyncsMAX ? header->syncs++ : HeaderSyncsMAX - 1;

  return headerNumbersRead(&header->sync[i], headerSyncFields, next, limit);
}

static Bool headerOrderRead(Header header, const char *value, const char *limit)
{
  Bool theirs = limit - value == 6 && memcmp(value, "little", 6) == 0;

  header->widths.swapped = headerIsLittle() != theirs;
  return theirs || (limit - value == 3 && memcmp(value, "big", 3) == 0);
}

static Bool headerArgumentRead(Header header, const char *value, const char *limit)
{
  Count n = header->arguments++;

  return n >= HeaderArgumentsMAX || headerUnquote(header->argument[n], HeaderTextMAX, value, limit);
}

/* headerValueRead -- what stands behind a key, up to `limit` */
static Bool headerValueRead(Header header, headerField field, const char *value, const char *limit)
{
  HeaderStreamStruct stream;

  switch ((headerForm)field->form) {
  case headerSTRING: return headerUnquote((char *)header + field->offset, field->size, value, limit);
  case headerARGUMENT: return headerArgumentRead(header, value, limit);
  case headerSYNC: return headerSyncRead(header, value, limit);
  case headerORDER: return headerOrderRead(header, value, limit);
  case headerSTREAM: return headerNumbersRead(&stream, headerStreamFields, value, limit);
  case headerDOUBLE: case headerGIVEN: return TRUE;
  case headerENDED: header->ended = TRUE; break;
  case headerDROPPED: header->dropped.marked = TRUE; break;
  default: break;
  }
  return headerNumbersRead(header, field, value, limit);
}

/* headerIs -- does a line begin with a key? */
static Bool headerIs(const char *line, const char *limit, const char *key)
{
  Size length = strlen(key);

  return (Size)(limit - line) >= length && memcmp(line, key, length) == 0;
}

static Bool headerLineRead(Header header, const char *line, const char *limit)
{
  Index k;

  /* Most lines are of types, and few keys of ours begin as they do. */
  for (k = 0; k < ARRAY_LENGTH(headerLines); ++k)
    if (headerLines[k].key[0] == line[0] && headerIs(line, limit, headerLines[k].key))
      return headerValueRead(header, headerLines[k].field, line + strlen(headerLines[k].key), limit);
  return TRUE;
}

void HeaderOutside(Header header, uint32_t pid)
{
  uint32_t inner = HeaderLeader(header);

  if (pid == 0 || pid == inner)
    return;
  header->pid = pid;
  header->inner = inner;
}

Res HeaderRead(Header header, const char **bodyReturn, const void *bytes, Size length)
{
  const char *line = (const char *)bytes + headerPREFIX, *limit = (const char *)bytes + length;
  unsigned version[3];
  uint32_t outer;
  Size stated;
  uint64_t crc;
  Res res = HeaderLength(&stated, version, bytes, length);

  if (res != ResOK)
    return res;
  if (stated != length || !headerGet(&crc, (const char *)bytes + BlockMagicSIZE + headerCrcAT, 8, 16) ||
      headerCrc(bytes, length) != crc)
    return ResFORMAT;
  memset(header, 0, sizeof *header);
  header->major = version[0];
  header->median = version[1];
  header->minor = version[2];
  *bodyReturn = line;
  while (line < limit) {
    const char *end = memchr(line, '\n', (Size)(limit - line));
    if (end == NULL || !headerLineRead(header, line, end))
      return ResFORMAT;
    line = end + 1;
  }
  outer = header->inner;
  header->inner = 0;
  HeaderOutside(header, outer);
  return header->widths.word != 0 && header->identity != 0 && header->registry.length <= HeaderMAX ? ResOK : ResFORMAT;
}

void HeaderStreamJoin(HeaderStream to, const HeaderStreamStruct *from)
{
  if (from->blocks > to->blocks || (from->blocks == to->blocks && to->events == HeaderEventsUNKNOWN)) {
    to->blocks = from->blocks;
    to->events = from->events;
  } else if (from->blocks == to->blocks && from->events != HeaderEventsUNKNOWN) {
    CountRaise(&to->events, from->events);
  }
  CountRaise(&to->discarded, from->discarded);
}

Bool HeaderStreamNext(HeaderStream streamReturn, const char **next, const char *limit)
{
  static const char key[] = "stream: ";

  while (*next < limit) {
    const char *line = *next, *end = memchr(line, '\n', (Size)(limit - line));
    if (end == NULL)
      end = limit;
    *next = end < limit ? end + 1 : limit;
    if (headerIs(line, end, key))
      return headerNumbersRead(streamReturn, headerStreamFields, line + sizeof key - 1, end);
  }
  return FALSE;
}

const char *HeaderTypes(const char *line, const char *limit)
{
  while (line < limit) {
    const char *end = memchr(line, '\n', (Size)(limit - line));
    if (headerIs(line, limit, "kind: ") || headerIs(line, limit, "event: ") || headerIs(line, limit, "describe: "))
      return line;
    line = end != NULL ? end + 1 : limit;
  }
  return limit;
}

RegistryNameStruct RegistryNameOf(const char *text, Size length)
{
  return (RegistryNameStruct){length, Crc32c(0, text, length)};
}

Bool RegistryNameIs(const RegistryNameStruct *a, const RegistryNameStruct *b)
{
  return a->length == b->length && a->crc == b->crc;
}
