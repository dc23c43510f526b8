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

#define headerSTREAM "stream: "

enum { headerVersionAT = 9, headerLengthAT = 28, headerCrcAT = 43, headerPREFIX = BlockMagicSIZE + HeaderLineSIZE };

_Static_assert(sizeof headerLineFORM - 1 == HeaderLineSIZE, "the first line's length is the format");

static const char headerDigits[] = "0123456789abcdef";

static void headerPut(char *place, uint64_t n, unsigned digits, unsigned base)
{
  for (; digits-- > 0; n /= base)
    place[digits] = headerDigits[n % base];
}

/* headerCrc -- of a whole header block: its first line up to where the checksum stands, and what comes behind it */
static uint32_t headerCrc(const char *bytes, Size length)
{
  return Crc32c(Crc32c(0, bytes, BlockMagicSIZE + headerCrcAT), bytes + headerPREFIX, length - headerPREFIX);
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

static void headerNumber(Text text, const char *key, uint64_t n)
{
  TextString(text, key);
  TextDecimal(text, n);
  TextChar(text, '\n');
}

static void headerString(Text text, const char *key, const char *value)
{
  TextString(text, key);
  TextQuoted(text, value, strlen(value));
  TextChar(text, '\n');
}

static void headerSyncs(Text text, Header header)
{
  Index i;

  for (i = 0; i < header->syncs; ++i) {
    TextString(text, "sync: ");
    TextDecimal(text, header->sync[i].ticks);
    TextChar(text, ' ');
    TextDecimal(text, header->sync[i].mono);
    TextChar(text, ' ');
    TextDecimal(text, header->sync[i].real);
    TextChar(text, '\n');
  }
}

static void headerSentWrite(Text text, HeaderSent sent)
{
  if (sent->ticks == 0)
    return;
  TextString(text, "sent: ");
  TextDecimal(text, sent->ticks);
  TextChar(text, ' ');
  TextHex(text, sent->first);
  TextChar(text, ' ');
  TextHex(text, sent->now);
  TextChar(text, '\n');
}

/* headerRecording -- which recording this is of, and how much of it */
static void headerRecording(Text text, Header header)
{
  if (header->recording != 0) {
    TextString(text, "recording: ");
    TextHex(text, header->recording);
    TextChar(text, '\n');
  }
  if (header->copy != 0) {
    TextString(text, "copy: ");
    TextHex(text, header->copy);
    TextChar(text, '\n');
  }
  if (header->open != 0)
    headerNumber(text, "open: ", header->open);
  if (header->alone != 0)
    headerNumber(text, "alone: ", header->alone);
  if (header->lacks != 0)
    headerNumber(text, "lacks: ", header->lacks);
  if (header->begun != 0)
    headerNumber(text, "begun: ", header->begun);
  headerSentWrite(text, &header->sent);
  if (header->events[0] != '\0')
    headerString(text, "events: ", header->events);
  if (header->older != 0) {
    headerNumber(text, "older: ", header->older);
    headerNumber(text, "kept: ", header->kept);
  }
  if (header->forgotten != 0) {
    headerNumber(text, "forgotten: ", header->forgotten);
    headerNumber(text, "forgottento: ", header->forgottenTo);
  }
  if (header->stopped != 0)
    headerNumber(text, "stopped: ", header->stopped);
  if (header->processes != 0)
    headerNumber(text, "processes: ", header->processes);
  if (header->ended)
    headerNumber(text, "end: ", header->streams);
  if (header->gone != 0)
    headerNumber(text, "gone: ", header->gone);
}

static void headerDroppedWrite(Text text, Dropped dropped)
{
  if (dropped->blocks == 0)
    return;
  TextString(text, HeaderDROPPED);
  TextDecimal(text, dropped->blocks);
  TextChar(text, ' ');
  TextDecimal(text, dropped->events);
  TextChar(text, ' ');
  headerNumber(text, "", dropped->ticks);
}

static void headerFork(Text text, HeaderFork forked)
{
  if (forked->identity == 0)
    return;
  TextString(text, "forked: ");
  TextHex(text, forked->identity);
  TextChar(text, ' ');
  TextDecimal(text, forked->thread);
  TextChar(text, ' ');
  TextDecimal(text, forked->before);
  TextChar(text, ' ');
  headerNumber(text, "", forked->after);
}

void HeaderBegin(Text text, Header header)
{
  static const uint32_t one = 1;
  Bool little = *(const unsigned char *)&one == 1;
  Count kept = header->arguments < HeaderArgumentsMAX ? header->arguments : HeaderArgumentsMAX;
  Index i;

  TextBytes(text, HeaderMAGIC, BlockMagicSIZE);
  TextString(text, headerLineFORM);
  if (!text->overflow) {
    char *line = text->base + BlockMagicSIZE;
    headerPut(line + headerVersionAT, header->major, 3, 10);
    headerPut(line + headerVersionAT + 4, header->median, 3, 10);
    headerPut(line + headerVersionAT + 8, header->minor, 3, 10);
  }
  TextString(text, "identity: ");
  TextHex(text, header->identity);
  TextString(text, little != header->widths.swapped ? "\norder: little\n" : "\norder: big\n");
  headerNumber(text, "word: ", header->widths.word);
  TextString(text, "double: binary64\n");
  headerNumber(text, "pid: ", HeaderLeader(header));
  if (header->inner != 0)
    headerNumber(text, "outer: ", header->pid);
  headerNumber(text, "parent: ", header->parent);
  headerFork(text, &header->forked);
  if (header->role[0] != '\0')
    headerString(text, "role: ", header->role);
  headerString(text, "program: ", header->program);
  headerNumber(text, "arguments: ", header->arguments);
  for (i = 0; i < kept; ++i)
    headerString(text, "argument: ", header->argument[i]);
  headerString(text, "region: ", header->region);
  headerString(text, "boot: ", header->boot);
  headerString(text, "clock: ", header->clock);
  headerNumber(text, "frequency: ", header->frequency);
  headerSyncs(text, header);
  headerNumber(text, "lost: ", CountAdd(0, header->lost)); /* the program may have written over it */
  headerDroppedWrite(text, &header->dropped);
  headerRecording(text, header);
  if (header->registry.length > 0) {
    TextString(text, "registry: ");
    TextDecimal(text, header->registry.length);
    TextChar(text, ' ');
    TextHex(text, header->registry.crc);
    TextChar(text, '\n');
  }
}

void HeaderStreamWrite(Text text, HeaderStream stream)
{
  TextString(text, headerSTREAM);
  TextDecimal(text, stream->stream);
  TextChar(text, ' ');
  TextDecimal(text, stream->blocks);
  TextChar(text, ' ');
  if (stream->events == HeaderEventsUNKNOWN)
    TextChar(text, '?');
  else
    TextDecimal(text, stream->events);
  TextChar(text, ' ');
  headerNumber(text, "", stream->discarded);
}

void HeaderSeal(char *bytes, Size length)
{
  AVER(length >= headerPREFIX);
  headerPut(bytes + BlockMagicSIZE + headerCrcAT, headerCrc(bytes, length), 8, 16);
}

Res HeaderEnd(Text text)
{
  Size length = TextLength(text);

  if (text->overflow || length > HeaderMAX)
    return ResLIMIT;
  AVER(length >= headerPREFIX);
  headerPut(text->base + BlockMagicSIZE + headerLengthAT, length, 10, 10);
  HeaderSeal(text->base, length);
  return ResOK;
}

Res HeaderLength(Size *lengthReturn, unsigned version[3], const void *bytes, Size size)
{
  const char *line = (const char *)bytes + BlockMagicSIZE;
  uint64_t length, crc, part;
  unsigned i;

  if (size < headerPREFIX || memcmp(bytes, HeaderMAGIC, BlockMagicSIZE) != 0 ||
      memcmp(line, headerLineFORM, headerVersionAT) != 0 || line[HeaderLineSIZE - 1] != '\n' ||
      memcmp(line + headerLengthAT - 8, " length ", 8) != 0 || memcmp(line + headerCrcAT - 5, " crc ", 5) != 0)
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

/* headerDecimal -- a number at *next, before `limit`, and past it and one space; 0x for hex */
static Bool headerDecimal(uint64_t *nReturn, const char **next, const char *limit)
{
  unsigned base = 10;
  uint64_t n = 0;
  const char *begin;

  if (limit - *next > 2 && (*next)[0] == '0' && (*next)[1] == 'x') {
    base = 16;
    *next += 2;
  }
  for (begin = *next; *next < limit && **next != ' '; ++*next) {
    const char *at = memchr(headerDigits, **next, base);
    uint64_t digit = at == NULL ? 0 : (uint64_t)(at - headerDigits);
    if (at == NULL || n > (UINT64_MAX - digit) / base)
      return FALSE;
    n = n * base + digit;
  }
  if (*next == begin)
    return FALSE;
  if (*next < limit)
    ++*next;
  *nReturn = n;
  return TRUE;
}

/* headerCount -- the same for how many of something there are */
static Bool headerCount(uint64_t *nReturn, const char **next, const char *limit)
{
  return headerDecimal(nReturn, next, limit) && *nReturn <= CountMAX;
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

static Bool headerSync(Header header, const char *next, const char *limit)
{
  SyncStruct sync;

  if (!headerDecimal(&sync.ticks, &next, limit) || !headerDecimal(&sync.mono, &next, limit) ||
      !headerDecimal(&sync.real, &next, limit))
    return FALSE;
  /* The first and the newest are kept. */
  header->sync[header->syncs < HeaderSyncsMAX ? header->syncs : HeaderSyncsMAX - 1] = sync;
  if (header->syncs < HeaderSyncsMAX)
    ++header->syncs;
  return TRUE;
}

static Bool headerDropped(Header header, const char *next, const char *limit)
{
  Dropped dropped = &header->dropped;

  dropped->marked = TRUE;
  return headerCount(&dropped->blocks, &next, limit) && headerCount(&dropped->events, &next, limit) &&
         headerDecimal(&dropped->ticks, &next, limit);
}

static Bool headerForked(Header header, const char *next, const char *limit)
{
  HeaderFork forked = &header->forked;
  uint64_t thread;

  if (!headerDecimal(&forked->identity, &next, limit) || !headerDecimal(&thread, &next, limit) ||
      !headerDecimal(&forked->before, &next, limit) || !headerDecimal(&forked->after, &next, limit))
    return FALSE;
  forked->thread = (uint32_t)thread;
  return TRUE;
}

static Bool headerSent(Header header, const char *next, const char *limit)
{
  HeaderSent sent = &header->sent;
  uint64_t first, now;

  if (!headerDecimal(&sent->ticks, &next, limit) || !headerDecimal(&first, &next, limit) ||
      !headerDecimal(&now, &next, limit) || first > UINT32_MAX || now > UINT32_MAX)
    return FALSE;
  sent->first = (uint32_t)first;
  sent->now = (uint32_t)now;
  return TRUE;
}

static Bool headerRegistry(Header header, const char *next, const char *limit)
{
  RegistryName name = &header->registry;

  return headerDecimal(&name->length, &next, limit) && headerDecimal(&name->crc, &next, limit) &&
         name->length > 0 && name->length <= HeaderMAX && name->crc <= UINT32_MAX;
}

static Bool headerEnd(Header header, const char *next, const char *limit)
{
  header->ended = TRUE;
  return headerCount(&header->streams, &next, limit);
}

/* headerStream -- the value of a `stream:` line */
static Bool headerStream(HeaderStream streamReturn, const char *next, const char *limit)
{
  HeaderStreamStruct stream;
  uint64_t number;

  if (!headerDecimal(&number, &next, limit) || number > UINT32_MAX || !headerCount(&stream.blocks, &next, limit))
    return FALSE;
  stream.stream = (uint32_t)number;
  if (limit - next >= 2 && next[0] == '?' && next[1] == ' ') {
    stream.events = HeaderEventsUNKNOWN;
    next += 2;
  } else if (!headerCount(&stream.events, &next, limit)) {
    return FALSE;
  }
  if (!headerCount(&stream.discarded, &next, limit))
    return FALSE;
  *streamReturn = stream;
  return TRUE;
}

/* What each key's value is, and where it goes. */
typedef enum headerForm {
  formUINT32, formUINT64, formSTRING, formARGUMENT, formSYNC, formDROPPED, formREGISTRY, formORDER, formWORD,
  formEND, formSTREAM, formFORKED, formSENT, formCOUNT
} headerForm;

static const struct {
  const char *key;
  headerForm form;
  uint16_t offset, size;
} headerKeys[] = {
#define AT(field) offsetof(HeaderStruct, field), sizeof(((Header)NULL)->field)
  {"identity:", formUINT64, AT(identity)},
  {"order:", formORDER, 0, 0},
  {"word:", formWORD, 0, 0},
  {"pid:", formUINT32, AT(pid)},
  {"outer:", formUINT32, AT(inner)}, /* until all is read */
  {"parent:", formUINT32, AT(parent)},
  {"role:", formSTRING, AT(role)},
  {"events:", formSTRING, AT(events)},
  {"program:", formSTRING, AT(program)},
  {"argument:", formARGUMENT, 0, 0},
  {"region:", formSTRING, AT(region)},
  {"boot:", formSTRING, AT(boot)},
  {"clock:", formSTRING, AT(clock)},
  {"frequency:", formUINT64, AT(frequency)},
  {"sync:", formSYNC, 0, 0},
  {"lost:", formCOUNT, AT(lost)},
  {"dropped:", formDROPPED, 0, 0},
  {"registry:", formREGISTRY, 0, 0},
  {"recording:", formUINT64, AT(recording)},
  {"copy:", formUINT64, AT(copy)},
  {"open:", formUINT32, AT(open)},
  {"alone:", formUINT32, AT(alone)},
  {"lacks:", formCOUNT, AT(lacks)},
  {"begun:", formUINT64, AT(begun)},
  {"end:", formEND, 0, 0},
  {"gone:", formUINT64, AT(gone)},
  {"stream:", formSTREAM, 0, 0},
  {"forked:", formFORKED, 0, 0},
  {"sent:", formSENT, 0, 0},
  {"older:", formCOUNT, AT(older)},
  {"kept:", formUINT64, AT(kept)},
  {"forgotten:", formCOUNT, AT(forgotten)},
  {"forgottento:", formUINT64, AT(forgottenTo)},
  {"stopped:", formUINT64, AT(stopped)},
  {"processes:", formCOUNT, AT(processes)},
#undef AT
};

static Bool headerOrder(Header header, const char *value, const char *limit)
{
  static const uint32_t one = 1;
  Bool little = *(const unsigned char *)&one == 1;
  Bool theirs = limit - value == 6 && memcmp(value, "little", 6) == 0;

  if (!theirs && !(limit - value == 3 && memcmp(value, "big", 3) == 0))
    return FALSE;
  header->widths.swapped = little != theirs;
  return TRUE;
}

static Bool headerArgument(Header header, const char *value, const char *limit)
{
  Count n = header->arguments++;

  return n >= HeaderArgumentsMAX || headerUnquote(header->argument[n], HeaderTextMAX, value, limit);
}

/* headerTake -- one line's value, by its form */
static Bool headerTake(Header header, Index k, const char *value, const char *limit)
{
  void *place = (char *)header + headerKeys[k].offset;
  HeaderStreamStruct stream;
  uint64_t n;

  switch (headerKeys[k].form) {
  case formSTRING:
    return headerUnquote(place, headerKeys[k].size, value, limit);
  case formARGUMENT:
    return headerArgument(header, value, limit);
  case formSYNC:
    return headerSync(header, value, limit);
  case formDROPPED:
    return headerDropped(header, value, limit);
  case formFORKED:
    return headerForked(header, value, limit);
  case formSENT:
    return headerSent(header, value, limit);
  case formREGISTRY:
    return headerRegistry(header, value, limit);
  case formORDER:
    return headerOrder(header, value, limit);
  case formEND:
    return headerEnd(header, value, limit);
  case formSTREAM:
    return headerStream(&stream, value, limit);
  default:
    break;
  }
  if (!headerDecimal(&n, &value, limit))
    return FALSE;
  if (headerKeys[k].form == formCOUNT && n > CountMAX)
    return FALSE;
  if (headerKeys[k].form == formUINT64 || headerKeys[k].form == formCOUNT)
    memcpy(place, &n, sizeof n);
  else if (headerKeys[k].form == formUINT32)
    *(uint32_t *)place = (uint32_t)n;
  else if (n == 4 || n == 8)
    header->widths.word = (uint8_t)n;
  else
    return FALSE;
  return TRUE;
}

static Bool headerLine(Header header, const char *line, const char *limit)
{
  const char *value = memchr(line, ' ', (Size)(limit - line));
  Index k;

  if (value == NULL)
    return TRUE;
  /* Most lines are of types, and no key of ours begins as they do. */
  for (k = 0; k < ARRAY_LENGTH(headerKeys); ++k)
    if (headerKeys[k].key[0] == line[0] && strlen(headerKeys[k].key) == (Size)(value - line) &&
        memcmp(headerKeys[k].key, line, (Size)(value - line)) == 0)
      return headerTake(header, k, value + 1, limit);
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

/* headerNumbers -- all lines are read: who has a number outside, which stands in `inner`, is known by that */
static void headerNumbers(Header header)
{
  uint32_t outer = header->inner;

  header->inner = 0;
  HeaderOutside(header, outer);
}

Res HeaderRead(Header header, const char **bodyReturn, const void *bytes, Size length)
{
  const char *line = (const char *)bytes + headerPREFIX, *limit = (const char *)bytes + length;
  unsigned version[3];
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
    if (end == NULL || !headerLine(header, line, end))
      return ResFORMAT;
    line = end + 1;
  }
  headerNumbers(header);
  return header->widths.word != 0 && header->identity != 0 ? ResOK : ResFORMAT;
}

Bool HeaderStreamNext(HeaderStream streamReturn, const char **next, const char *limit)
{
  const Size length = strlen(headerSTREAM);

  while (*next < limit) {
    const char *line = *next, *end = memchr(line, '\n', (Size)(limit - line));
    if (end == NULL)
      end = limit;
    *next = end < limit ? end + 1 : limit;
    if ((Size)(end - line) > length && memcmp(line, headerSTREAM, length) == 0)
      return headerStream(streamReturn, line + length, end);
  }
  return FALSE;
}

const char *HeaderTypes(const char *line, const char *limit)
{
  static const char *const keys[] = {"kind: ", "event: ", "describe: "};
  Index k;

  while (line < limit) {
    const char *end = memchr(line, '\n', (Size)(limit - line));
    for (k = 0; k < ARRAY_LENGTH(keys); ++k)
      if ((Size)(limit - line) > strlen(keys[k]) && memcmp(line, keys[k], strlen(keys[k])) == 0)
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
