/* park.c -- open blocks put aside on disk
 *
 * A parked block is a row of records: an item, and behind it its event's bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/park.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/grow.h"
#include "format/block.h"
#include "log/file.h"

enum {
  parkWindowSIZE = 4096,
  parkRecordMIN = sizeof(LoadedItemStruct) + EventALIGN,
  parkItemsMAX = parkWindowSIZE / parkRecordMIN,
  /* The most that a block can come to: nothing but events without parameters. */
  parkPlaceSIZE = BlockMAX / EventALIGN * parkRecordMIN
};

_Static_assert(parkWindowSIZE >= EventSizeMAX + sizeof(LoadedItemStruct), "a window holds at least one event");

void ParkInit(Park park)
{
  memset(park, 0, sizeof *park);
  park->fd = -1;
}

void ParkFinish(Park park)
{
  if (park->fd >= 0)
    (void)close(park->fd);
  free(park->freed);
}

/* parkPlace -- a free place; FALSE if there is none to be had */
static Bool parkPlace(Park park, uint32_t *placeReturn)
{
  if (park->fd < 0 && (park->fd = FileOpenTemporary()) < 0)
    return FALSE;
  if (park->free > 0) {
    *placeReturn = park->freed[--park->free];
    return TRUE;
  }
  if (park->places == ParkPlacesMAX || !Grow(&park->freed, &park->capacity, park->places, sizeof *park->freed))
    return FALSE;
  *placeReturn = park->places++;
  return TRUE;
}

void ParkRelease(Park park, Loaded loaded)
{
  if (loaded->parked)
    park->freed[park->free++] = loaded->place;
  loaded->parked = FALSE;
}

/* parkEvents -- write what is left of a block as records at `at`; *endReturn is behind them */
static Bool parkEvents(Park park, Loaded loaded, uint64_t at, uint64_t *endReturn)
{
  unsigned char records[16384];
  Size used = 0;
  Index i;

  for (i = loaded->next; i < loaded->count; ++i) {
    const LoadedItemStruct *item = &loaded->item[i];
    Size size = EventSizeOfLength(item->length);
    if (used + sizeof *item + size > sizeof records) {
      if (FileWriteAt(park->fd, at, records, used) != ResOK)
        return FALSE;
      at += used;
      used = 0;
    }
    memcpy(records + used, item, sizeof *item);
    memcpy(records + used + sizeof *item, loaded->bytes + item->at, size);
    used += sizeof *item + size;
  }
  *endReturn = at + used;
  return FileWriteAt(park->fd, at, records, used) == ResOK;
}

Res ParkPut(Park park, Loader loader, Loaded *loaded)
{
  Loaded big = *loaded, small;
  uint32_t place;

  AVER(!big->parked && big->next < big->count);
  if (park->failed || !parkPlace(park, &place)) {
    park->failed = TRUE;
    return ResFAIL;
  }
  small = malloc(sizeof *small + parkItemsMAX * (sizeof(LoadedItemStruct) + sizeof(uint32_t)) + parkWindowSIZE);
  if (small == NULL || !parkEvents(park, big, (uint64_t)place * parkPlaceSIZE, &small->end)) {
    free(small);
    park->freed[park->free++] = place;
    park->failed = TRUE;
    return ResFAIL;
  }
  small->stream = big->stream;
  small->sequence = big->sequence;
  small->cpu = big->cpu;
  small->item = (LoadedItem)(small + 1);
  small->original = (uint32_t *)(small->item + parkItemsMAX);
  small->bytes = (unsigned char *)(small->original + parkItemsMAX);
  small->size = 0;
  small->count = small->next = 0;
  small->parked = TRUE;
  small->stamp = 0;
  small->place = place;
  small->at = (uint64_t)place * parkPlaceSIZE;
  LoaderFree(loader, big);
  *loaded = small;
  return ParkRefill(park, small);
}

Res ParkRefill(Park park, Loaded loaded)
{
  uint32_t *original = (uint32_t *)(loaded->item + parkItemsMAX);
  unsigned char *window = (unsigned char *)(original + parkItemsMAX);
  Size size, at = 0;
  Count n = 0;
  Res res;

  if (!loaded->parked || loaded->at == loaded->end) {
    ParkRelease(park, loaded);
    return ResEND;
  }
  size = loaded->end - loaded->at < parkWindowSIZE ? (Size)(loaded->end - loaded->at) : parkWindowSIZE;
  res = FileReadAt(park->fd, loaded->at, window, size);
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
  AVER(n > 0);
  loaded->at += at;
  loaded->count = n;
  loaded->next = 0;
  return ResOK;
}
