/* logmake.h -- synthetic logs, for tests of what reads them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A Make is a log being built in memory; a MakeProcess is somebody who records into it, on a machine of any byte
 * order and word width; a MakeBlock is one of its blocks.  Nothing here is checked for sense: tests want senseless
 * logs, too.
 *
 *   MakeStruct make = {0};
 *   MakeProcess process = MakeProcessNew(4711, 1);
 *   MakeHeader(&make, process);
 *   MakeBlockBegin(&block, process, 4712, EventKindObject, 0, 1000);
 *   MakeEvent(&block, EventPoolAllocCODE, 1010, (uint64_t[]){1, 2, 3}, NULL);
 *   MakeBlockEnd(&make, &block, BlockFlagSEALED);
 *   MakeWrite(&make, path);
 */
#ifndef TEST_LOGMAKE_H
#define TEST_LOGMAKE_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/text.h"
#include "format/block.h"
#include "format/header.h"
#include "format/pack.h"
#include "format/registry.h"
/* Its structs need format/block.h. */
#include "eventgen.h"
#include "tap.h"

#define MAKE_STRING(x) #x
#define MAKE_EXPAND(x) MAKE_STRING(x)
#define MAKE_VERSION \
  MAKE_EXPAND(EventVersionMAJOR) "." MAKE_EXPAND(EventVersionMEDIAN) "." MAKE_EXPAND(EventVersionMINOR)

typedef struct MakeStruct {
  unsigned char *bytes;
  Size size, capacity;
  Size last; /* where the last header or event block begins */
} MakeStruct, *Make;

typedef struct MakeProcessStruct {
  HeaderStruct header;
  const char *registryText;
  RegistryStruct *registry; /* in the order and widths of the process */
} MakeProcessStruct, *MakeProcess;

typedef struct MakeBlockStruct {
  MakeProcess process;
  BlockHeaderStruct header; /* in our order until it is written; count and used grow with the events */
  uint64_t epoch;
  unsigned char events[BlockMAX + PackSlackSIZE];
} MakeBlockStruct, *MakeBlock;

__attribute__((noreturn)) static void makeFail(const char *why)
{
  printf("Bail out! logmake: %s\n", why);
  exit(1);
}

__attribute__((unused)) static void MakeBytes(Make make, const void *bytes, Size size)
{
  if (make->size + size > make->capacity || make->bytes == NULL) {
    make->capacity = (make->size + size) * 2 + 64;
    make->bytes = realloc(make->bytes, make->capacity);
    if (make->bytes == NULL)
      makeFail("no memory");
  }
  if (size > 0)
    memcpy(make->bytes + make->size, bytes, size);
  make->size += size;
}

/* MakeWrite -- the log as a file */
__attribute__((unused)) static void MakeWrite(Make make, const char *path)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  if (fd < 0 || write(fd, make->bytes, make->size) != (ssize_t)make->size || close(fd) != 0)
    makeFail(path);
}

__attribute__((unused)) static void MakeFree(Make make)
{
  free(make->bytes);
  memset(make, 0, sizeof *make);
}

/* MakeProcessForeign -- a process on a machine with `word` bytes to a word, and our byte order or the other one
 *
 * Its clock ticks once a nanosecond, and was 0 at the beginning of 1970 plus a day; change process->header to have it
 * otherwise. */
static MakeProcess MakeProcessForeign(uint32_t pid, uint64_t identity, uint8_t word, Bool swapped, const char *text)
{
  MakeProcess process = calloc(1, sizeof *process);
  EventType types = calloc(RegistryTypesMAX, sizeof *types);
  Header header = &process->header;

  process->registry = calloc(1, sizeof *process->registry);
  header->major = EventVersionMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = pid;
  header->parent = 1;
  header->identity = identity;
  header->widths.word = word;
  header->widths.swapped = swapped;
  strcpy(header->clock, "monotonic");
  strcpy(header->boot, "boot");
  strcpy(header->program, "/bin/made");
  header->frequency = 1000000000;
  header->syncs = 1;
  header->sync[0].real = 86400 * (uint64_t)1000000000;
  process->registryText = text;
  RegistryInit(process->registry, types, RegistryTypesMAX, header->widths);
  if (RegistryText(process->registry, text, strlen(text)) != ResOK)
    makeFail("the registry does not parse");
  return process;
}

__attribute__((unused)) static MakeProcess MakeProcessNew(uint32_t pid, uint64_t identity)
{
  return MakeProcessForeign(pid, identity, sizeof(Word), FALSE, EventRegistryTEXT);
}

__attribute__((unused)) static void MakeProcessFree(MakeProcess process)
{
  free(process->registry->types);
  free(process->registry);
  free(process);
}

/* MakeHeader -- append the process's header block */
__attribute__((unused)) static void MakeHeader(Make make, MakeProcess process)
{
  static char room[HeaderMAX];
  TextStruct text;

  TextInit(&text, room, sizeof room);
  HeaderBegin(&text, &process->header);
  TextString(&text, process->registryText);
  if (HeaderEnd(&text) != ResOK)
    makeFail("the header is too long");
  make->last = make->size;
  MakeBytes(make, room, TextLength(&text));
}

/* MakeHeaderNamed -- the same with the name of the process's registry in place of its lines */
__attribute__((unused)) static void MakeHeaderNamed(Make make, MakeProcess process)
{
  MakeProcessStruct named = *process;

  named.header.registry = RegistryNameOf(process->registryText, strlen(process->registryText));
  named.registryText = "";
  MakeHeader(make, &named);
}

static void MakeBlockBegin(MakeBlock block, MakeProcess process, uint32_t thread, unsigned kind, uint64_t sequence,
                           uint64_t first)
{
  BlockHeader header = &block->header;

  memset(block, 0, sizeof *block);
  block->process = process;
  memcpy(header->magic, BlockMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = EventVersionMAJOR;
  header->kind = (uint8_t)kind;
  header->whole = BlockMAX;
  header->pid = process->header.pid;
  header->process = process->header.identity;
  header->thread = thread;
  header->stream = (thread % 1000) * 32 + kind * 2;
  header->sequence = sequence;
  header->first = header->last = first;
  block->epoch = first & ~(uint64_t)0xffffffff;
}

static void makePut(MakeBlock block, uint64_t value, unsigned width)
{
  static const uint32_t one = 1;
  Bool little = (*(const unsigned char *)&one == 1) != block->process->header.widths.swapped;
  unsigned i;

  for (i = 0; i < width; ++i)
    block->events[block->header.used + i] = (unsigned char)(value >> 8 * (little ? i : width - 1 - i));
  block->header.used += width;
}

static void makeAlign(MakeBlock block)
{
  block->header.used = (uint32_t)WordAlignUp(block->header.used, EventALIGN);
}

/* MakeEvent -- append an event: its parameters as numbers (a D as its bits), and its string; FALSE if it does not fit
 *
 * An event of the format that tells the epoch comes before it where that is needed. */
static Bool MakeEvent(MakeBlock block, uint16_t code, uint64_t ticks, const uint64_t *params, const char *string)
{
  EventType type = RegistryFind(block->process->registry, code);
  Size length = type->length + (string != NULL ? strlen(string) + 1 : 0), i;
  Bool cut = string != NULL && strlen(string) > EventMaxStringLength;

  if (cut)
    length = type->length + EventMaxStringLength + 1;
  if (block->header.used + EventSizeOfLength(length) + 16 > block->header.whole - BlockHeaderSIZE)
    return FALSE;
  if ((ticks & ~(uint64_t)0xffffffff) != block->epoch) {
    block->epoch = ticks & ~(uint64_t)0xffffffff;
    makePut(block, EventEpochCODE, 2);
    makePut(block, 16, 2);
    makePut(block, (uint32_t)ticks, 4);
    makePut(block, ticks, 8);
  }
  makePut(block, code, 2);
  makePut(block, length | (cut ? EventLengthCUT : 0), 2);
  makePut(block, (uint32_t)ticks, 4);
  for (i = 0; i < type->params; ++i)
    if (type->letter[i] != 'S')
      makePut(block, params[i], type->width[i]);
  for (i = 0; string != NULL && i < length - type->length; ++i)
    makePut(block, i + 1 < length - type->length ? (unsigned char)string[i] : 0, 1);
  makeAlign(block);
  ++block->header.count;
  if (ticks > block->header.last)
    block->header.last = ticks;
  return TRUE;
}

/* MakeHole -- room that was reserved and never filled: `words` words of zeros */
__attribute__((unused)) static void MakeHole(MakeBlock block, unsigned words)
{
  while (words-- > 0)
    makePut(block, 0, 8);
}

static void makeSwap(BlockHeader h)
{
#define SWAP(f) \
  (h->f = sizeof h->f == 2 ? __builtin_bswap16((uint16_t)h->f) : sizeof h->f == 4 ? __builtin_bswap32((uint32_t)h->f) \
                                                                                  : __builtin_bswap64(h->f))
  SWAP(order), SWAP(size), SWAP(rest), SWAP(whole), SWAP(used), SWAP(count), SWAP(pid), SWAP(thread);
  SWAP(cpuFirst), SWAP(cpuLast), SWAP(process), SWAP(stream), SWAP(sequence), SWAP(before), SWAP(discarded);
  SWAP(first), SWAP(last), SWAP(mono), SWAP(restCrc), SWAP(headerCrc);
#undef SWAP
}

/* MakeBlockEnd -- append the block with these flags; BlockFlagPACKED packs it (our byte order only) */
static void MakeBlockEnd(Make make, MakeBlock block, uint8_t flags)
{
  BlockHeaderStruct header = block->header;
  static unsigned char rest[BlockRestMAX + PackSlackSIZE];
  Size length;

  header.flags = flags;
  header.rest = header.used;
  if ((flags & BlockFlagPACKED) != 0) {
    static Pack pack;
    Count count;
    BlockTallyStruct tally;
    if (pack == NULL)
      pack = calloc(1, PackSIZE);
    BlockWalk(&tally, block->events, header.used, header.first, TRUE); /* holes become pads */
    header.used = (uint32_t)tally.used;
    header.rest = (uint32_t)BlockPack(pack, block->process->registry, block->events, header.used, header.first, rest,
                                      &count);
  } else {
    memcpy(rest, block->events, header.used);
  }
  length = header.rest;
  header.size = BlockHeaderSIZE + header.rest;
  header.restCrc = Crc32c(0, rest, header.rest);
  BlockHeaderSeal(&header);
  if (block->process->header.widths.swapped) {
    makeSwap(&header);
    BlockHeaderSeal(&header);
    header.headerCrc = __builtin_bswap32(header.headerCrc);
  }
  make->last = make->size;
  MakeBytes(make, &header, sizeof header);
  MakeBytes(make, rest, length);
}

/* MakeBlockNext -- make the block empty again, as the next of its stream */
__attribute__((unused)) static void MakeBlockNext(MakeBlock block, uint64_t first)
{
  BlockHeader header = &block->header;

  header->before += header->count;
  ++header->sequence;
  header->count = header->used = 0;
  header->first = header->last = first;
  block->epoch = first & ~(uint64_t)0xffffffff;
  memset(block->events, 0, sizeof block->events);
}

#endif /* TEST_LOGMAKE_H */
