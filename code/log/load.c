/* load.c -- a block in memory: its events, in order of time, ready to be delivered; or spilled to disk
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/load.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/grow.h"

enum {
  loaderSparesMAX = 16, /* blocks' memory that is kept for the next ones */
  loaderGRAIN = 4096    /* memory is allocated in multiples, so that it fits the next block, too */
};

Res LoaderInit(Loader loader, Table table, File *files)
{
  memset(loader, 0, sizeof *loader);
  loader->table = table;
  loader->file = files;
  loader->rest = malloc(BlockRestMAX + PackSlackSIZE);
  loader->unpack = calloc(1, UnpackSIZE);
  return loader->rest != NULL && loader->unpack != NULL ? ResOK : ResMEMORY;
}

void LoaderFinish(Loader loader)
{
  AVER(loader->memory == 0);
  while (loader->spare != NULL) {
    Loaded next = loader->spare->spare;
    free(loader->spare);
    loader->spare = next;
  }
  free(loader->rest);
  free(loader->unpack);
}

/* loaderAlloc -- memory for a block of a stream, with all its bytes and events: a spare one that fits, because pages
 * that are touched anew cost more than the merge; NULL: there is none */
static Loaded loaderAlloc(Loader loader, LogStream stream, const BlockHeaderStruct *header)
{
  Size size = sizeof(LoadedStruct) + header->count * sizeof(LoadedItemStruct) + header->used + PackSlackSIZE;
  Loaded *link = &loader->spare, loaded;

  while (*link != NULL && ((*link)->size < size || (*link)->size > 2 * size + loaderGRAIN))
    link = &(*link)->spare;
  loaded = *link;
  if (loaded != NULL) {
    *link = loaded->spare;
    --loader->spares;
  } else if ((loaded = malloc(WordAlignUp(size, loaderGRAIN))) == NULL) {
    return NULL;
  } else {
    loaded->size = WordAlignUp(size, loaderGRAIN);
  }
  loader->memory += loaded->size;
  *loaded = (LoadedStruct){.stream = stream, .sequence = header->sequence, .cpu = BlockCpu(header),
                           .item = (LoadedItem)(loaded + 1), .size = loaded->size};
  return loaded;
}

void LoaderFree(Loader loader, Loaded loaded)
{
  AVER(loader->memory >= loaded->size);
  loader->memory -= loaded->size;
  if (loaded->size == 0 || loader->spares == loaderSparesMAX) {
    free(loaded);
    return;
  }
  loaded->spare = loader->spare;
  loader->spare = loaded;
  ++loader->spares;
}

Bool LoadedCheck(const LoadedStruct *loaded)
{
  Bool sound = loaded->next <= loaded->count && (loaded->size == 0) == (loaded->original != NULL) &&
               (!loaded->spilled || (loaded->size == 0 && loaded->at <= loaded->end));
  Index i;

  for (i = 1; sound && i < loaded->count; ++i)
    sound = loaded->item[i - 1].fine < loaded->item[i].fine ||
            (loaded->item[i - 1].fine == loaded->item[i].fine && loaded->item[i - 1].at < loaded->item[i].at);
  return sound;
}

/* loaderDropped -- where a block's header was are zeros: it was cut away on purpose while we read */
static Bool loaderDropped(const unsigned char *bytes)
{
  static const unsigned char zeros[BlockHeaderSIZE];

  return memcmp(bytes, zeros, sizeof zeros) == 0;
}

/* loaderIs -- is it the block that was found here, or that an index file promised? */
static Bool loaderIs(const LogStreamStruct *stream, const IndexEntryStruct *entry, const BlockHeaderStruct *header)
{
  return header->process == stream->process->public.header.identity && header->stream == stream->id &&
         header->sequence == entry->sequence && header->first == entry->first && header->last == entry->last &&
         header->count == entry->count;
}

/* loaderRead -- the block's header and bytes at rest, verified; otherwise says why not */
static Res loaderRead(Loader loader, BlockHeader header, LoadReport report, const IndexEntryStruct *entry)
{
  File file = loader->file[IndexPlaceFile(entry->place)];
  uint64_t offset = IndexPlaceOffset(entry->place);
  unsigned char bytes[BlockHeaderSIZE];
  Process process;
  Bool swapped;
  Res res = FileRead(file, offset, bytes, sizeof bytes);

  report->lost = entry->count;
  report->what = "file changed while it was read";
  report->dropped = res == ResOK && loaderDropped(bytes);
  if (res == ResOK)
    res = BlockHeaderRead(header, &swapped, bytes);
  if (res != ResOK)
    return res == ResIO ? ResIO : ResFORMAT;
  report->what = "another block stands here than was found before";
  if (!loaderIs(loader->table->stream[entry->stream], entry, header))
    return ResFORMAT;
  report->what = "byte order is not that of its process";
  process = loader->table->stream[entry->stream]->process;
  if (swapped != process->public.header.widths.swapped)
    return ResFORMAT;
  res = FileRead(file, offset + BlockHeaderSIZE, loader->rest, header->rest);
  report->what = "block cut off";
  if (res != ResOK)
    return res == ResIO ? ResIO : ResFORMAT;
  if ((entry->flags & IndexEntryCUT) == 0 && !TablePieceHas(loader->table, entry->place))
    report->what = "block checksum mismatch";
  if (Crc32c(0, loader->rest, header->rest) != header->restCrc) {
    report->dropped = FileRead(file, offset, bytes, sizeof bytes) == ResOK && loaderDropped(bytes);
    return ResFORMAT;
  }
  report->what = NULL;
  report->lost = 0;
  return ResOK;
}

static int loadedCompare(const void *a, const void *b)
{
  const LoadedItemStruct *x = a, *y = b;

  if (x->fine != y->fine)
    return x->fine < y->fine ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

_Static_assert((int)LogEventMAX == (int)EventSizeMAX && LogEventHEADER == sizeof(EventHeaderStruct), "as log.h has it");

/* What a walk through a block carries along. */
typedef struct loadWalkStruct {
  Registry registry;
  const ClockStruct *clock;
  const unsigned char *wanted;
  uint64_t from;
  uint64_t first;
  Count events; /* met, wanted or not */
  Bool sorted;
} loadWalkStruct, *LoadWalk;

/* loadHeader -- an event's header, in our order */
static inline EventHeaderStruct loadHeader(const unsigned char *bytes, Bool swapped)
{
  EventHeaderStruct event;

  memcpy(&event, bytes, sizeof event);
  if (swapped) {
    event.code = __builtin_bswap16(event.code);
    event.length = __builtin_bswap16(event.length);
    event.time = __builtin_bswap32(event.time);
  }
  return event;
}

/* loadOther -- an event that has no type, of `size` bytes: it is of the format, or nobody knows it; returns the epoch
 * behind it */
static __attribute__((noinline)) uint64_t loadOther(LoadReport report, EventHeaderStruct event,
                                                    const unsigned char *bytes, Size size, uint64_t epoch, Bool swapped)
{
  uint64_t ticks;

  if (event.code == EventEpochCODE && size >= sizeof event + sizeof ticks) {
    memcpy(&ticks, bytes + sizeof event, sizeof ticks);
    return (swapped ? __builtin_bswap64(ticks) : ticks) & ~(uint64_t)0xffffffff;
  }
  if (event.code >= EventCodeFIRST && report->unknown++ == 0)
    report->unknownCode = event.code;
  return epoch;
}

/* loadFits -- is an event as long as its type is? */
static inline Bool loadFits(EventType type, EventHeaderStruct event)
{
  uint16_t length = event.length & (EventLengthCUT - 1);

  return type->strings ? length > type->length : length == type->length;
}

/* loadWalk -- list the events of `used` bytes; returns where an event stood that cannot be, or `used`
 *
 * Inlined twice, for both byte orders: it is on the path of each event. */
static inline __attribute__((always_inline)) Size loadWalk(LoadWalk walk, LoadReport report, Loaded loaded,
                                                           const unsigned char *bytes, Size used, Count capacity,
                                                           Bool swapped)
{
  Registry registry = walk->registry;
  const ClockStruct clock = *walk->clock; /* in registers, whatever is written meanwhile */
  LoadedItem item = loaded->item;
  uint64_t epoch = walk->first & ~(uint64_t)0xffffffff, latest = 0, ticks, fine;
  Size at = 0, size;
  Count events = 0, n = 0;

  for (; at + sizeof(EventHeaderStruct) <= used; at += size) {
    EventHeaderStruct event = loadHeader(bytes + at, swapped);
    uint16_t index;

    size = EventSizeOfLength(event.length);
    if (UNLIKELY(size < sizeof event || size > EventSizeMAX || size > used - at)) {
      if (event.code != 0 || event.length != 0)
        break;
      size = EventALIGN; /* reserved, never filled */
      continue;
    }
    index = registry->index[event.code];
    if (UNLIKELY(index == 0)) {
      epoch = loadOther(report, event, bytes + at, size, epoch, swapped);
      continue;
    }
    if (UNLIKELY(!loadFits(&registry->types[index - 1], event)) || UNLIKELY(n == capacity))
      break;
    ++events;
    ticks = epoch | event.time;
    fine = ClockFine(&clock, ticks > walk->first ? ticks : walk->first);
    if ((walk->wanted != NULL && !walk->wanted[index - 1]) || UNLIKELY(fine < walk->from))
      continue;
    if (UNLIKELY(fine < latest))
      walk->sorted = FALSE;
    latest = fine;
    item[n++] = (LoadedItemStruct){.fine = fine, .at = (uint32_t)at, .type = (uint16_t)(index - 1),
                                   .length = event.length};
  }
  loaded->count = n;
  walk->events = events + report->unknown;
  return at;
}

static __attribute__((noinline)) Size loadWalkOurs(LoadWalk walk, LoadReport report, Loaded loaded,
                                                   const unsigned char *bytes, Size used, Count capacity)
{
  return loadWalk(walk, report, loaded, bytes, used, capacity, FALSE);
}

static __attribute__((noinline)) Size loadWalkSwapped(LoadWalk walk, LoadReport report, Loaded loaded,
                                                      const unsigned char *bytes, Size used, Count capacity)
{
  return loadWalk(walk, report, loaded, bytes, used, capacity, TRUE);
}

/* loaderLate -- is one of the listed events, which are in order, later than the header of its sealed block says that
 * any is?  Who begins later, or looks into an index, believes the header without reading the block. */
static Bool loaderLate(const LoadedStruct *loaded, const BlockHeaderStruct *header, const ClockStruct *clock)
{
  return (header->flags & BlockFlagSEALED) != 0 && loaded->count > 0 &&
         loaded->item[loaded->count - 1].fine > ClockFine(clock, header->last);
}

/* loaderList -- list a block's events; what cannot be an event ends it, and is told */
static void loaderList(Loader loader, LoadReport report, Loaded loaded, BlockHeader header, const unsigned char *bytes,
                       const unsigned char *wanted)
{
  Process process = loaded->stream->process;
  loadWalkStruct walk = {.registry = process->public.registry, .clock = ClockResolve(process->clock),
                         .wanted = wanted, .from = loader->from, .first = header->first, .sorted = TRUE};
  Size end = process->public.header.widths.swapped
               ? loadWalkSwapped(&walk, report, loaded, bytes, header->used, header->count)
               : loadWalkOurs(&walk, report, loaded, bytes, header->used, header->count);

  if (end + sizeof(EventHeaderStruct) <= header->used)
    report->what = "an event that cannot be";
  else if (walk.events != header->count)
    report->what = "block header has a wrong count of events";
  if (report->what != NULL && walk.events < header->count)
    report->lost = header->count - (uint32_t)walk.events;
  if (!walk.sorted)
    qsort(loaded->item, loaded->count, sizeof *loaded->item, loadedCompare);
  if (report->what == NULL && loaderLate(loaded, header, walk.clock))
    report->what = "events are later than the block header says";
}

Res LoaderLoad(Loaded *loadedReturn, LoadReport report, Loader loader, const IndexEntryStruct *entry,
               const unsigned char *wanted)
{
  LogStream stream = loader->table->stream[entry->stream];
  BlockHeaderStruct header;
  unsigned char *bytes;
  Loaded loaded;
  Res res;

  memset(report, 0, sizeof *report);
  res = loaderRead(loader, &header, report, entry);
  if (res != ResOK)
    return res;
  AVER(entry->sequence == header.sequence && stream->process->headed);
  loaded = loaderAlloc(loader, stream, &header);
  if (loaded == NULL)
    return ResMEMORY;
  bytes = (unsigned char *)(loaded->item + header.count);
  loaded->bytes = bytes;
  if ((header.flags & BlockFlagPACKED) == 0) {
    memcpy(bytes, loader->rest, header.used);
  } else if (BlockUnpack(loader->unpack, stream->process->public.registry, loader->rest, header.rest, header.first,
                         bytes, header.used) != ResOK) {
    report->what = "block does not unpack";
    report->lost = header.count;
    LoaderFree(loader, loaded);
    return ResFORMAT;
  }
  if (UNLIKELY(header.discarded > stream->passed)) {
    loader->table->passed = CountAdd(loader->table->passed, header.discarded - stream->passed);
    stream->passed = header.discarded;
  }
  loaderList(loader, report, loaded, &header, bytes, wanted);
  *loadedReturn = loaded;
  return ResOK;
}

/* ---- Open blocks put aside on disk ----
 *
 * A spilled block is a row of records: an item, and behind it its event's bytes.
 */

enum {
  spillWindowSIZE = 4096,
  spillRecordMIN = sizeof(LoadedItemStruct) + EventALIGN,
  spillItemsMAX = spillWindowSIZE / spillRecordMIN,
  /* The most that a block can come to: nothing but events without parameters. */
  spillPlaceSIZE = BlockMAX / EventALIGN * spillRecordMIN
};

_Static_assert(spillWindowSIZE >= EventSizeMAX + sizeof(LoadedItemStruct), "a window holds at least one event");

void SpillInit(Spill spill)
{
  memset(spill, 0, sizeof *spill);
  spill->fd = -1;
}

void SpillFinish(Spill spill)
{
  AVER(SpillCheck(spill) && spill->free == spill->places);
  if (spill->fd >= 0)
    (void)close(spill->fd);
  free(spill->freed);
}

/* spillPlace -- a free place; FALSE if there is none to be had */
static Bool spillPlace(Spill spill, uint32_t *placeReturn)
{
  if (spill->fd < 0 && (spill->fd = FileOpenTemporary()) < 0)
    return FALSE;
  if (spill->free > 0) {
    *placeReturn = spill->freed[--spill->free];
    return TRUE;
  }
  if (spill->places == SpillPlacesMAX || !Grow(&spill->freed, &spill->capacity, spill->places, sizeof *spill->freed))
    return FALSE;
  *placeReturn = spill->places++;
  return TRUE;
}

Bool SpillCheck(const SpillStruct *spill)
{
  Bool sound = spill->free <= spill->places && spill->places <= SpillPlacesMAX && spill->places <= spill->capacity &&
               (spill->fd >= 0 || spill->places == 0);
  Index i;

  for (i = 0; sound && i < spill->free; ++i)
    sound = spill->freed[i] < spill->places;
  return sound;
}

void SpillRelease(Spill spill, Loaded loaded)
{
  AVER(!loaded->spilled || (spill->free < spill->places && loaded->place < spill->places));
  if (loaded->spilled)
    spill->freed[spill->free++] = loaded->place;
  loaded->spilled = FALSE;
}

/* spillEvents -- write what is left of a block as records at `at`; *endReturn is behind them */
static Bool spillEvents(Spill spill, Loaded loaded, uint64_t at, uint64_t *endReturn)
{
  unsigned char records[16384];
  Size used = 0;
  Index i;

  for (i = loaded->next; i < loaded->count; ++i) {
    const LoadedItemStruct *item = &loaded->item[i];
    Size size = EventSizeOfLength(item->length);
    if (used + sizeof *item + size > sizeof records) {
      if (FileWriteAt(spill->fd, at, records, used) != ResOK)
        return FALSE;
      at += used;
      used = 0;
    }
    memcpy(records + used, item, sizeof *item);
    memcpy(records + used + sizeof *item, loaded->bytes + item->at, size);
    used += sizeof *item + size;
  }
  *endReturn = at + used;
  return FileWriteAt(spill->fd, at, records, used) == ResOK;
}

Res SpillPut(Spill spill, Loader loader, Loaded *loaded)
{
  Loaded big = *loaded, small;
  uint64_t end;
  uint32_t place;

  AVER(LoadedCheck(big) && !big->spilled && big->next < big->count);
  if (spill->failed || !spillPlace(spill, &place)) {
    spill->failed = TRUE;
    return ResFAIL;
  }
  small = malloc(sizeof *small + spillItemsMAX * (sizeof(LoadedItemStruct) + sizeof(uint32_t)) + spillWindowSIZE);
  if (small == NULL || !spillEvents(spill, big, (uint64_t)place * spillPlaceSIZE, &end)) {
    free(small);
    spill->freed[spill->free++] = place;
    spill->failed = TRUE;
    return ResFAIL;
  }
  *small = *big;
  small->item = (LoadedItem)(small + 1);
  small->original = (uint32_t *)(small->item + spillItemsMAX);
  small->bytes = (unsigned char *)(small->original + spillItemsMAX);
  small->size = 0;
  small->count = small->next = 0;
  small->spilled = TRUE;
  small->place = place;
  small->at = (uint64_t)place * spillPlaceSIZE;
  small->end = end;
  LoaderFree(loader, big);
  *loaded = small;
  return SpillRefill(spill, small);
}

Res SpillRefill(Spill spill, Loaded loaded)
{
  uint32_t *original = (uint32_t *)(loaded->item + spillItemsMAX);
  unsigned char *window = (unsigned char *)(original + spillItemsMAX);
  Size size, at = 0;
  Count n = 0;
  Res res;

  if (!loaded->spilled || loaded->at == loaded->end) {
    SpillRelease(spill, loaded);
    return ResEND;
  }
  size = loaded->end - loaded->at < spillWindowSIZE ? (Size)(loaded->end - loaded->at) : spillWindowSIZE;
  res = FileReadAt(spill->fd, loaded->at, window, size);
  if (res != ResOK)
    return ResIO;
  while (at + sizeof(LoadedItemStruct) <= size) {
    LoadedItem item = &loaded->item[n];
    Size length;
    memcpy(item, window + at, sizeof *item);
    length = EventSizeOfLength(item->length);
    if (at + sizeof *item + length > size)
      break;
    at += sizeof *item;
    original[n] = item->at;
    item->at = (uint32_t)at;
    at += length;
    ++n;
  }
  AVER(n > 0 && n <= spillItemsMAX);
  loaded->at += at;
  loaded->count = n;
  loaded->next = 0;
  return ResOK;
}
