/* live.c -- how many bytes are live, estimated from blocks as they are drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "collect/teller.h"

enum {
  liveMASK = LiveSIZE - 1,
  liveThresholdFIRST = 4,  /* log2 of the lowest there is: below, all objects would be kept */
  liveThresholdMAX = 40
};

#define liveSizeMAX ((uint64_t)1 << 55) /* more is no object's size */

typedef struct EntryStruct {
  uint64_t key;            /* of process and address; 0: a free place */
  uint64_t time;           /* ticks, of its allocation */
  uint64_t size : 56;      /* bytes asked for */
  uint64_t scale : 8;      /* log2 of the least that it weighs: the threshold when it was kept; 0: its size */
  uint64_t process;
} EntryStruct, *Entry;

/* A free; a later one may take its place before its time. */
typedef struct RecentStruct {
  uint64_t key, time;
} RecentStruct, *Recent;

struct LiveStruct {
  uint64_t bytes;
  unsigned threshold;      /* log2; 0: all objects are kept */
  Bool inexact;            /* something was left out since nothing lived */
  Count used;              /* places */
  EntryStruct entry[LiveSIZE];
  RecentStruct recent[LiveRECENT];
};

/* One event on an object. */
typedef struct ActStruct {
  uint64_t process, time;
  Word addr, size;
} ActStruct, *Act;

static uint64_t liveWeight(Entry entry)
{
  uint64_t least = entry->scale == 0 ? 0 : (uint64_t)1 << entry->scale;

  return entry->size > least ? entry->size : least;
}

Bool LiveCheck(Live live)
{
  uint64_t bytes = 0;
  Count used = 0;
  Index i;

  for (i = 0; i < LiveSIZE; ++i)
    if (live->entry[i].key != 0) {
      ++used;
      bytes += liveWeight(&live->entry[i]);
    }
  return bytes == live->bytes && used == live->used && used <= LiveMAX && live->threshold <= liveThresholdMAX &&
         (live->threshold == 0 || live->inexact);
}

Res LiveCreate(Live *liveReturn)
{
  Live live = calloc(1, sizeof *live);

  if (live == NULL)
    return ResMEMORY;
  *liveReturn = live;
  return ResOK;
}

void LiveDestroy(Live live)
{
  free(live);
}

/* liveKey -- the hash is one to one for the addresses of a process: no two of them meet */
static inline uint64_t liveKey(uint64_t process, Word addr)
{
  uint64_t key = ((uint64_t)addr ^ process) * 0x9e3779b97f4a7c15ull;

  key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
  key ^= key >> 32;
  return key | (key == 0);
}

/* liveHome -- where it would be best; by other bits than those that say whether it is kept */
static inline Index liveHome(uint64_t key)
{
  return (Index)key & liveMASK;
}

static inline Recent liveRecent(Live live, uint64_t key)
{
  return &live->recent[key & (LiveRECENT - 1)];
}

/* liveFind -- where the key is, or the free place where it would be */
static inline Entry liveFind(Live live, uint64_t key)
{
  Index i = liveHome(key);

  while (live->entry[i].key != key && live->entry[i].key != 0)
    i = (i + 1) & liveMASK;
  return &live->entry[i];
}

/* liveKept -- is an object of this size kept at this threshold?  Who is not is not at a higher one, either. */
static inline Bool liveKept(uint64_t key, uint64_t size, unsigned threshold)
{
  return threshold == 0 || key >> (64 - threshold) < size;
}

/* liveDelete -- an entry goes, and those that were pushed away from its place move up */
static void liveDelete(Live live, Entry entry)
{
  Index hole = (Index)(entry - live->entry), next = hole;

  live->bytes -= liveWeight(entry);
  --live->used;
  for (;;) {
    next = (next + 1) & liveMASK;
    if (live->entry[next].key == 0)
      break;
    if (((next - liveHome(live->entry[next].key)) & liveMASK) >= ((next - hole) & liveMASK)) {
      live->entry[hole] = live->entry[next];
      hole = next;
    }
  }
  live->entry[hole].key = 0;
}

/* liveRemove -- the same, and when few are left more are kept again */
static inline void liveRemove(Live live, Entry entry)
{
  liveDelete(live, entry);
  if (LIKELY(!live->inexact))
    return;
  if (live->used == 0)
    live->threshold = live->inexact = 0;
  else if (live->threshold > 0 && live->used < LiveMAX / 16)
    live->threshold = live->threshold > liveThresholdFIRST ? live->threshold - 1 : 0;
}

/* liveRaise -- a higher threshold: some entries go, the others weigh more */
static void liveRaise(Live live)
{
  Index i;

  live->threshold = live->threshold == 0 ? liveThresholdFIRST : live->threshold + 1;
  live->inexact = TRUE;
  for (i = 0; i < LiveSIZE; ++i) {
    Entry entry = &live->entry[i];
    /* What is deleted here makes room for another, which is looked at in turn. */
    while (entry->key != 0 && entry->scale < live->threshold) {
      if (!liveKept(entry->key, entry->size, live->threshold)) {
        liveDelete(live, entry);
        continue;
      }
      live->bytes -= liveWeight(entry);
      entry->scale = live->threshold & 0xff;
      live->bytes += liveWeight(entry);
    }
  }
}

static void liveAlloc(Live live, Act act)
{
  uint64_t key = liveKey(act->process, act->addr), size = act->size < liveSizeMAX ? act->size : 0;
  Recent recent = liveRecent(live, key);
  Entry entry = liveFind(live, key);

  if (act->addr == 0 || (recent->key == key && recent->time >= act->time) ||
      (entry->key != 0 && entry->time > act->time))
    return;
  /* Its free was not seen. */
  if (entry->key != 0)
    liveRemove(live, entry);
  while (live->used >= LiveMAX && live->threshold < liveThresholdMAX)
    liveRaise(live);
  if (!liveKept(key, size, live->threshold) || live->used >= LiveMAX)
    return;
  entry = liveFind(live, key);
  *entry = (EntryStruct){key, act->time, size & (liveSizeMAX - 1), live->threshold & 0xff, act->process};
  ++live->used;
  live->bytes += liveWeight(entry);
}

static void liveFree(Live live, Act act)
{
  uint64_t key = liveKey(act->process, act->addr);
  Recent recent = liveRecent(live, key);
  Entry entry = liveFind(live, key);

  if (recent->key != key || recent->time < act->time)
    *recent = (RecentStruct){key, act->time};
  if (entry->key != 0 && entry->time <= act->time)
    liveRemove(live, entry);
}

/* liveOurs -- do the events on objects mean there what they mean here? */
static Bool liveOurs(Registry registry)
{
  static const struct {
    uint16_t code;
    const char *name, *format;
  } known[] = {
    {EventPoolAllocCODE, "PoolAlloc", "PAW"},
    {EventPoolFreeCODE, "PoolFree", "PA"},
    {EventPoolAllocZeroCODE, "PoolAllocZero", "PAW"},
    {EventPoolAllocAlignedCODE, "PoolAllocAligned", "PAWW"},
    {EventPoolResizeBeginCODE, "PoolResizeBegin", "PAW"},
    {EventPoolResizeEndCODE, "PoolResizeEnd", "PAAW"},
  };
  Index i;

  for (i = 0; i < ARRAY_LENGTH(known); ++i) {
    EventType type = RegistryFind(registry, known[i].code);
    if (type == NULL || type->nameLength != strlen(known[i].name) ||
        memcmp(type->name, known[i].name, type->nameLength) != 0 || type->params != strlen(known[i].format) ||
        memcmp(type->letter, known[i].format, type->params) != 0)
      return FALSE;
  }
  return registry->widths.word == sizeof(Word) && !registry->widths.swapped;
}

/* The address is the second parameter of each of them, and the size the third where there is one. */
_Static_assert(offsetof(EventPAWStruct, f1) == offsetof(EventPAStruct, f1), "one place for addresses");
_Static_assert(offsetof(EventPAWStruct, f2) == offsetof(EventPAWWStruct, f2), "one place for sizes");

/* liveResized -- from when a resizing began on somebody else could have had the old address */
static void liveResized(Live live, Act act, const EventPAAWStruct *event, uint64_t begun)
{
  /* The new object, at the same address perhaps, is later in any case. */
  ActStruct old = {act->process, begun != 0 && begun < act->time ? begun : act->time - 1, event->f1, 0};

  if (event->f2 == 0) /* it failed */
    return;
  liveFree(live, &old);
  act->addr = event->f2;
  act->size = event->f3;
  liveAlloc(live, act);
}

/* liveEvent -- act->time is the event's; *begun is when the resizing began whose end comes next, or 0 */
static inline void liveEvent(Live live, Act act, uint64_t *begun, const void *event, uint16_t code)
{
  const EventPAWStruct *paw = event;

  act->addr = paw->f1;
  switch (code) {
  case EventPoolAllocCODE:
  case EventPoolAllocZeroCODE:
  case EventPoolAllocAlignedCODE:
    act->size = paw->f2;
    liveAlloc(live, act);
    break;
  case EventPoolFreeCODE:
    liveFree(live, act);
    break;
  case EventPoolResizeBeginCODE:
    *begun = act->time;
    break;
  case EventPoolResizeEndCODE:
    liveResized(live, act, event, *begun);
    *begun = 0;
    break;
  default:
    break;
  }
}

/* liveLength -- bytes that an event of this code must have at least */
static inline Size liveLength(uint16_t code)
{
  return code == EventPoolFreeCODE ? sizeof(EventPAStruct) :
         code == EventPoolResizeEndCODE ? sizeof(EventPAAWStruct) : sizeof(EventPAWStruct);
}

void LiveBlock(Live live, Registry registry, uint64_t process, const void *events, Size used, uint64_t first)
{
  uint64_t epoch = first & ~(uint64_t)UINT32_MAX, begun = 0;
  ActStruct act = {.process = process};
  Size at, size;

  if (!liveOurs(registry))
    return;
  for (at = 0; at + sizeof(EventHeaderStruct) <= used; at += size) {
    const EventHeaderStruct *header = (const void *)((const char *)events + at);
    size = EventSizeOfLength(header->length);
    if (size == 0)
      size = EventALIGN; /* room that was never filled */
    if (size > used - at)
      return;
    if (header->code == EventEpochCODE && size >= sizeof *header + sizeof epoch) {
      memcpy(&epoch, header + 1, sizeof epoch);
      epoch &= ~(uint64_t)UINT32_MAX;
    } else if (header->code >> 8 == EventPoolAllocCODE >> 8 && size >= liveLength(header->code)) {
      act.time = epoch | header->time;
      liveEvent(live, &act, &begun, header, header->code);
    }
  }
}

void LiveGone(Live live, uint64_t process)
{
  Index i;

  for (i = 0; i < LiveSIZE; ++i)
    while (live->entry[i].key != 0 && live->entry[i].process == process)
      liveDelete(live, &live->entry[i]);
  if (live->used == 0)
    live->threshold = live->inexact = 0;
}

uint64_t LiveBytes(Bool *exactReturn, Live live)
{
  *exactReturn = !live->inexact;
  return live->bytes;
}
