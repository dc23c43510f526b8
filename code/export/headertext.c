/* headertext.c -- header blocks, and the headers of event blocks, as text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/headertext.h"

#include <stdio.h>

#include "base/aver.h"
#include "format/block.h"
#include "request/traceset.h"

/* headerTextBegin -- begin a line about a type */
static void headerTextBegin(Text text, const char *word, EventType type)
{
  char begin[32];

  (void)snprintf(begin, sizeof begin, "%s: 0x%04x ", word, type->code);
  TextString(text, begin);
}

static void headerTextType(Text text, Registry registry, EventType type)
{
  Index i;

  headerTextBegin(text, "event", type);
  TextBytes(text, type->name, type->nameLength);
  TextChar(text, ' ');
  TextString(text, registry->kind[type->kind]);
  TextString(text, type->always ? " 1 " : " 0 ");
  if (type->params > 0)
    TextBytes(text, type->letter, type->params);
  else
    TextChar(text, '0');
  for (i = 0; i < type->params; ++i) {
    TextChar(text, ' ');
    TextBytes(text, type->param[i], type->paramLength[i]);
  }
  TextChar(text, '\n');
  if (type->describeLength > 0) {
    headerTextBegin(text, "describe", type);
    TextBytes(text, type->describe, type->describeLength);
    TextChar(text, '\n');
  }
}

Res LogHeaderText(Text text, Header header, Registry registry)
{
  Index i;

  HeaderBegin(text, header);
  for (i = 0; i < registry->kinds; ++i)
    if (registry->kind[i][0] != '\0') {
      TextString(text, "kind: ");
      TextDecimal(text, i);
      TextChar(text, ' ');
      TextString(text, registry->kind[i]);
      TextChar(text, '\n');
    }
  for (i = 0; i < registry->count; ++i)
    headerTextType(text, registry, &registry->types[i]);
  return HeaderEnd(text);
}

const char *LogHeaderLines(Text text, Size *lengthReturn)
{
  AVER(TextLength(text) >= BlockMagicSIZE + HeaderLineSIZE);
  *lengthReturn = TextLength(text) - BlockMagicSIZE - HeaderLineSIZE;
  return text->base + BlockMagicSIZE + HeaderLineSIZE;
}

/* ---- Event blocks ---- */

enum { headerBlockMAX = 8192 };

/* headerBlockNumber -- ` word number' */
static void headerBlockNumber(Text text, const char *word, uint64_t number)
{
  TextChar(text, ' ');
  TextString(text, word);
  TextChar(text, ' ');
  TextDecimal(text, number);
}

static void headerBlockFlags(Text text, unsigned flags)
{
  static const char *const names[] = {" sealed", " packed", " snapshot", " recovered", " unsent"};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(names); ++i)
    if ((flags >> i & 1) != 0)
      TextString(text, names[i]);
}

/* headerBlockKind -- by its name, if the process's registry has one */
static const char *headerBlockKind(Process process, unsigned kind)
{
  Registry registry = process->public.registry;

  return kind < EventKindMAX && registry->kind[kind][0] != '\0' ? registry->kind[kind] : "?";
}

static void headerBlockLine(Text text, Log log, const IndexEntryStruct *entry, const BlockHeaderStruct *header)
{
  LogStream stream = log->table.stream[entry->stream];
  const char *path = log->path[IndexPlaceFile(entry->place)];

  TextString(text, "block: ");
  TextQuoted(text, path, strlen(path));
  headerBlockNumber(text, "offset", IndexPlaceOffset(entry->place));
  headerBlockNumber(text, "pid", header->pid);
  headerBlockNumber(text, "tid", header->thread);
  TextString(text, " kind ");
  TextString(text, headerBlockKind(stream->process, header->kind));
  headerBlockNumber(text, "stream", header->stream);
  headerBlockNumber(text, "sequence", header->sequence);
  headerBlockNumber(text, "events", header->count);
  headerBlockNumber(text, "discarded", header->discarded);
  if ((header->flags & BlockFlagCPU) != 0 && header->cpuFirst != BlockCpuUNKNOWN) {
    headerBlockNumber(text, "cpu", header->cpuFirst);
    if (header->cpuLast != header->cpuFirst)
      headerBlockNumber(text, "to", header->cpuLast);
  }
  headerBlockFlags(text, header->flags);
  TextChar(text, '\n');
}

/* headerBlockVisit -- the block of an entry, if it is still there */
static Bool headerBlockVisit(Log log, const IndexEntryStruct *entry, LogBlockVisit visit, void *data)
{
  char room[headerBlockMAX];
  unsigned char bytes[BlockHeaderSIZE];
  BlockHeaderStruct header;
  TextStruct text;
  Bool swapped;

  if (FileRead(log->file[IndexPlaceFile(entry->place)], IndexPlaceOffset(entry->place), bytes, sizeof bytes) != ResOK ||
      BlockHeaderRead(&header, &swapped, bytes) != ResOK)
    return FALSE;
  TextInit(&text, room, sizeof room);
  headerBlockLine(&text, log, entry, &header);
  return visit(data, &text);
}

Res LogBlocks(Log log, LogBlockVisit visit, void *data)
{
  IndexPassStruct pass;
  const IndexEntryStruct *entry;
  uint64_t fine;
  Res res = IndexPassBegin(&pass, &log->index, 0);

  while (res == ResOK && (entry = IndexNow(&pass, &fine)) != NULL && !headerBlockVisit(log, entry, visit, data))
    res = IndexAdvance(&pass);
  IndexPassEnd(&pass);
  return res;
}
