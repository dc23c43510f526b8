/* blocks.c -- the headers of a log's event blocks as lines
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "export/blocks.h"

#include "format/block.h"
#include "request/traceset.h"

enum { blocksLineMAX = 8192 };

/* blocksNumber -- ` word number' */
static void blocksNumber(Text text, const char *word, uint64_t number)
{
  TextChar(text, ' ');
  TextString(text, word);
  TextChar(text, ' ');
  TextDecimal(text, number);
}

static void blocksFlags(Text text, unsigned flags)
{
  static const char *const names[] = {" sealed", " packed", " snapshot", " recovered", " unsent"};
  Index i;

  for (i = 0; i < ARRAY_LENGTH(names); ++i)
    if ((flags >> i & 1) != 0)
      TextString(text, names[i]);
}

/* blocksKind -- by its name, if the process's registry has one */
static const char *blocksKind(Process process, unsigned kind)
{
  Registry registry = process->public.registry;

  return registry != NULL && kind < EventKindMAX && registry->kind[kind][0] != '\0' ? registry->kind[kind] : "?";
}

static void blocksLine(Text text, Log log, const IndexEntryStruct *entry, const BlockHeaderStruct *header)
{
  Stream stream = log->table.stream[entry->stream];
  const char *path = log->path[IndexPlaceFile(entry->place)];

  TextString(text, "block: ");
  TextQuoted(text, path, strlen(path));
  blocksNumber(text, "offset", IndexPlaceOffset(entry->place));
  blocksNumber(text, "pid", header->pid);
  blocksNumber(text, "tid", header->thread);
  TextString(text, " kind ");
  TextString(text, blocksKind(stream->process, header->kind));
  blocksNumber(text, "stream", header->stream);
  blocksNumber(text, "sequence", header->sequence);
  blocksNumber(text, "events", header->count);
  blocksNumber(text, "discarded", header->discarded);
  if ((header->flags & BlockFlagCPU) != 0 && header->cpuFirst != BlockCpuUNKNOWN) {
    blocksNumber(text, "cpu", header->cpuFirst);
    if (header->cpuLast != header->cpuFirst)
      blocksNumber(text, "to", header->cpuLast);
  }
  blocksFlags(text, header->flags);
  TextChar(text, '\n');
}

/* blocksVisit -- the block of an entry, if it is still there */
static Bool blocksVisit(Log log, const IndexEntryStruct *entry, LogBlockVisit visit, void *data)
{
  char room[blocksLineMAX];
  unsigned char bytes[BlockHeaderSIZE];
  BlockHeaderStruct header;
  TextStruct text;
  Bool swapped;

  if (FileRead(log->file[IndexPlaceFile(entry->place)], IndexPlaceOffset(entry->place), bytes, sizeof bytes) != ResOK ||
      BlockHeaderRead(&header, &swapped, bytes) != ResOK)
    return FALSE;
  TextInit(&text, room, sizeof room);
  blocksLine(&text, log, entry, &header);
  return visit(data, &text);
}

Res LogBlocks(Log log, LogBlockVisit visit, void *data)
{
  IndexPassStruct pass;
  const IndexEntryStruct *entry;
  uint64_t fine;
  Res res = IndexPassBegin(&pass, &log->index, 0);

  while (res == ResOK && (entry = IndexNow(&pass, &fine)) != NULL && !blocksVisit(log, entry, visit, data))
    res = IndexAdvance(&pass);
  IndexPassEnd(&pass);
  return res;
}
