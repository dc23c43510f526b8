/* estimate.c -- how many bytes are live, estimated from blocks as they are drained
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/aver.h"
#include "collect/teller.h"
#include "plinth/clock.h"

enum {
  estimateMASK = EstimateSIZE - 1,
  estimateThresholdFIRST = 4,  /* log2 of the lowest there is: below, all objects would be kept */
  estimateThresholdMAX = 40,
  estimateThresholdBUSY = 10,  /* the lowest that saves time, */
  estimateLeastMAX = 20,       /* and the highest that is chosen for that */
  estimateOUTLIER = 256,       /* bytes: few objects that are kept are larger than this without being likely to be */
  estimateBITS = 1 << 16,
  estimateWINDOW = 50000000    /* ns that the share of time is measured over */
};

#define estimateSizeMAX ((uint64_t)1 << 55) /* more is no object's size */

typedef struct EntryStruct {
  uint64_t key;            /* of process and address; 0: a free place */
  uint64_t time;           /* ticks, of its allocation */
  uint64_t size : 56;      /* bytes asked for */
  uint64_t scale : 8;      /* log2 of the least that it weighs: the threshold when it was kept; 0: its size */
  uint64_t process;
} EntryStruct, *Entry;

/* Frees: of the four whose keys are alike the oldest makes room.  One line of the cache. */
typedef struct RecentStruct {
  struct {
    uint64_t key, time;
  } free[4];
} RecentStruct, *Recent;

struct EstimateStruct {
  uint64_t bytes;
  unsigned threshold;      /* log2; 0: all objects are kept */
  unsigned share, least;   /* one part of the time; threshold that this asks for */
  uint64_t began, busy;    /* of the window, ns */
  Count marks;             /* in `outlier`, since it was made anew */
  uint64_t outlier[estimateBITS / 64]; /* keys that a glance would not take for kept, and are */
  Bool inexact;            /* something was left out since nothing lived */
  Count used;              /* places */
  EntryStruct entry[EstimateSIZE];
  RecentStruct recent[EstimateRECENT] __attribute__((aligned(64)));
};

/* One event on an object. */
typedef struct ActStruct {
  uint64_t process, time;
  Word addr, size;
} ActStruct, *Act;

/* estimateOdds -- an object is kept if it is larger than this */
static inline uint64_t estimateOdds(uint64_t key, unsigned threshold)
{
  return threshold == 0 ? 0 : key >> (64 - threshold);
}

/* estimateGlance -- may an object of `size` or, 0, unknown size be one that is kept?  Most that are not are seen to be
 * so here. */
static inline Bool estimateGlance(Estimate estimate, uint64_t key, uint64_t size)
{
  Index bit = key % estimateBITS;

  return estimateOdds(key, estimate->threshold) < (size == 0 ? estimateOUTLIER : size) ||
         (estimate->outlier[bit / 64] >> bit % 64 & 1) != 0;
}

static void estimateMark(Estimate estimate, uint64_t key)
{
  Index bit = key % estimateBITS;

  if (estimateOdds(key, estimate->threshold) < estimateOUTLIER)
    return;
  estimate->outlier[bit / 64] |= (uint64_t)1 << bit % 64;
  ++estimate->marks;
}

static void estimateMarkAll(Estimate estimate)
{
  Index i;

  memset(estimate->outlier, 0, sizeof estimate->outlier);
  estimate->marks = 0;
  for (i = 0; i < EstimateSIZE; ++i)
    if (estimate->entry[i].key != 0)
      estimateMark(estimate, estimate->entry[i].key);
}

static uint64_t estimateWeight(Entry entry)
{
  uint64_t least = entry->scale == 0 ? 0 : (uint64_t)1 << entry->scale;

  return entry->size > least ? entry->size : least;
}

Bool EstimateCheck(Estimate estimate)
{
  uint64_t bytes = 0;
  Count used = 0;
  Index i;

  for (i = 0; i < EstimateSIZE; ++i)
    if (estimate->entry[i].key != 0) {
      ++used;
      bytes += estimateWeight(&estimate->entry[i]);
    }
  return bytes == estimate->bytes && used == estimate->used && used <= EstimateMAX &&
         estimate->threshold <= estimateThresholdMAX && (estimate->threshold == 0 || estimate->inexact);
}

Res EstimateCreate(Estimate *estimateReturn, unsigned share)
{
  const Size size = WordAlignUp(sizeof(struct EstimateStruct), 64);
  Estimate estimate = aligned_alloc(64, size);

  if (estimate == NULL)
    return ResMEMORY;
  memset(estimate, 0, size);
  estimate->share = share;
  estimate->began = EventClockMonotonic();
  *estimateReturn = estimate;
  return ResOK;
}

void EstimateDestroy(Estimate estimate)
{
  free(estimate);
}

/* estimateKey -- the hash is one to one for the addresses of a process: no two of them meet */
static inline uint64_t estimateKey(uint64_t process, Word addr)
{
  uint64_t key = ((uint64_t)addr ^ process) * 0x9e3779b97f4a7c15ull;

  key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
  key ^= key >> 32;
  return key | (key == 0);
}

/* estimateHome -- where it would be best; by other bits than those that say whether it is kept */
static inline Index estimateHome(uint64_t key)
{
  return (Index)key & estimateMASK;
}

/* estimateRemember -- a free, for an allocation that comes late */
static void estimateRemember(Estimate estimate, uint64_t key, uint64_t time)
{
  Recent recent = &estimate->recent[key & (EstimateRECENT - 1)];
  Index i, place = 0;

  for (i = 0; i < ARRAY_LENGTH(recent->free); ++i) {
    if (recent->free[i].key == key) {
      place = i;
      break;
    }
    if (recent->free[i].time < recent->free[place].time)
      place = i;
  }
  if (recent->free[place].time < time) {
    recent->free[place].key = key;
    recent->free[place].time = time;
  }
}

/* estimateFreed -- has it been freed at `time` or later? */
static inline Bool estimateFreed(Estimate estimate, uint64_t key, uint64_t time)
{
  Recent recent = &estimate->recent[key & (EstimateRECENT - 1)];
  Index i;

  for (i = 0; i < ARRAY_LENGTH(recent->free); ++i)
    if (UNLIKELY(recent->free[i].key == key && recent->free[i].time >= time))
      return TRUE;
  return FALSE;
}

/* estimateFind -- where the key is, or the free place where it would be */
static inline Entry estimateFind(Estimate estimate, uint64_t key)
{
  Index i = estimateHome(key);

  while (estimate->entry[i].key != key && estimate->entry[i].key != 0)
    i = (i + 1) & estimateMASK;
  return &estimate->entry[i];
}

/* estimateKept -- is an object of this size kept at this threshold?  Who is not is not at a higher one, either. */
static inline Bool estimateKept(uint64_t key, uint64_t size, unsigned threshold)
{
  return threshold == 0 || estimateOdds(key, threshold) < size;
}

/* estimateDelete -- an entry goes, and those that were pushed away from its place move up */
static void estimateDelete(Estimate estimate, Entry entry)
{
  Index hole = (Index)(entry - estimate->entry), next = hole;

  estimate->bytes -= estimateWeight(entry);
  --estimate->used;
  for (;;) {
    next = (next + 1) & estimateMASK;
    if (estimate->entry[next].key == 0)
      break;
    if (((next - estimateHome(estimate->entry[next].key)) & estimateMASK) >= ((next - hole) & estimateMASK)) {
      estimate->entry[hole] = estimate->entry[next];
      hole = next;
    }
  }
  estimate->entry[hole].key = 0;
}

/* estimateRemove -- the same, and when few are left more are kept again */
static inline void estimateRemove(Estimate estimate, Entry entry)
{
  estimateDelete(estimate, entry);
  if (LIKELY(!estimate->inexact))
    return;
  if (estimate->threshold > estimate->least && estimate->used < EstimateMAX / 16)
    estimate->threshold = estimate->threshold > estimateThresholdFIRST ? estimate->threshold - 1 : 0;
  if (estimate->used == 0 && estimate->threshold == 0)
    estimate->inexact = FALSE;
}

/* estimateRaise -- a higher threshold: some entries go, the others weigh more */
static void estimateRaise(Estimate estimate)
{
  Index i;

  estimate->threshold = estimate->threshold == 0 ? estimateThresholdFIRST : estimate->threshold + 1;
  estimate->inexact = TRUE;
  for (i = 0; i < EstimateSIZE; ++i) {
    Entry entry = &estimate->entry[i];
    /* What is deleted here makes room for another, which is looked at in turn. */
    while (entry->key != 0 && entry->scale < estimate->threshold) {
      if (!estimateKept(entry->key, entry->size, estimate->threshold)) {
        estimateDelete(estimate, entry);
        continue;
      }
      estimate->bytes -= estimateWeight(entry);
      entry->scale = estimate->threshold & 0xff;
      estimate->bytes += estimateWeight(entry);
    }
  }
  estimateMarkAll(estimate);
}

static void estimateAlloc(Estimate estimate, Act act)
{
  uint64_t key = estimateKey(act->process, act->addr), size = act->size < estimateSizeMAX ? act->size : 0;
  Entry entry;

  if (!estimateGlance(estimate, key, size | (size == 0)))
    return;
  entry = estimateFind(estimate, key);
  if (act->addr == 0 || estimateFreed(estimate, key, act->time) || (entry->key != 0 && entry->time > act->time))
    return;
  /* Its free was not seen. */
  if (entry->key != 0)
    estimateRemove(estimate, entry);
  while (estimate->used >= EstimateMAX && estimate->threshold < estimateThresholdMAX)
    estimateRaise(estimate);
  if (!estimateKept(key, size, estimate->threshold) || estimate->used >= EstimateMAX)
    return;
  entry = estimateFind(estimate, key);
  *entry = (EntryStruct){key, act->time, size & (estimateSizeMAX - 1), estimate->threshold & 0xff, act->process};
  ++estimate->used;
  estimate->bytes += estimateWeight(entry);
  estimateMark(estimate, key);
  if (UNLIKELY(estimate->marks > estimateBITS / 4))
    estimateMarkAll(estimate);
}

static void estimateFree(Estimate estimate, Act act)
{
  uint64_t key = estimateKey(act->process, act->addr);
  Entry entry;

  if (!estimateGlance(estimate, key, 0))
    return;
  entry = estimateFind(estimate, key);
  /* Also if it is found: that may be an older object, and the one that this is the free of is still to come. */
  estimateRemember(estimate, key, act->time);
  if (entry->key != 0 && entry->time <= act->time)
    estimateRemove(estimate, entry);
}

/* estimateOurs -- do the events on objects mean there what they mean here? */
static Bool estimateOurs(Registry registry)
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

/* estimateResized -- from when a resizing began on somebody else could have had the old address */
static void estimateResized(Estimate estimate, Act act, const EventPAAWStruct *event, uint64_t begun)
{
  /* The new object, at the same address perhaps, is later in any case. */
  ActStruct old = {act->process, begun != 0 && begun < act->time ? begun : act->time - 1, event->f1, 0};

  if (event->f2 == 0) /* it failed */
    return;
  estimateFree(estimate, &old);
  act->addr = event->f2;
  act->size = event->f3;
  estimateAlloc(estimate, act);
}

/* estimateEvent -- act->time is the event's; *begun is when the resizing began whose end comes next, or 0 */
static inline void estimateEvent(Estimate estimate, Act act, uint64_t *begun, const void *event, uint16_t code)
{
  const EventPAWStruct *paw = event;

  act->addr = paw->f1;
  switch (code) {
  case EventPoolAllocCODE:
  case EventPoolAllocZeroCODE:
  case EventPoolAllocAlignedCODE:
    act->size = paw->f2;
    estimateAlloc(estimate, act);
    break;
  case EventPoolFreeCODE:
    estimateFree(estimate, act);
    break;
  case EventPoolResizeBeginCODE:
    *begun = act->time;
    break;
  case EventPoolResizeEndCODE:
    estimateResized(estimate, act, event, *begun);
    *begun = 0;
    break;
  default:
    break;
  }
}

/* estimateLength -- bytes that an event of this code must have at least */
static inline Size estimateLength(uint16_t code)
{
  return code == EventPoolFreeCODE ? sizeof(EventPAStruct) :
         code == EventPoolResizeEndCODE ? sizeof(EventPAAWStruct) : sizeof(EventPAWStruct);
}

/* estimateEvents -- the block's, from `seen` on */
static void estimateEvents(Estimate estimate, uint64_t process, const void *events, Size used, Size seen,
                           uint64_t first)
{
  uint64_t epoch = first & ~(uint64_t)UINT32_MAX, begun = 0;
  ActStruct act = {.process = process};
  Size at, size;

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
    } else if (at >= seen && header->code >> 8 == EventPoolAllocCODE >> 8 && size >= estimateLength(header->code)) {
      act.time = epoch | header->time;
      estimateEvent(estimate, &act, &begun, header, header->code);
    }
  }
}

/* estimatePace -- at the end of a window: was that too much of the time, or could more be spent? */
static void estimatePace(Estimate estimate, uint64_t now)
{
  uint64_t all = now - estimate->began, allowed = all / estimate->share;
  unsigned least = estimate->threshold > estimateThresholdBUSY ? estimate->threshold + 1 : estimateThresholdBUSY;

  if (estimate->busy > allowed)
    estimate->least = least < estimateLeastMAX ? least : estimateLeastMAX;
  else if (estimate->busy < allowed / 4)
    estimate->least = estimate->least > estimateThresholdBUSY ? estimate->least - 1 : 0;
  while (estimate->threshold < estimate->least)
    estimateRaise(estimate);
  estimate->began = now;
  estimate->busy = 0;
}

void EstimateBlock(Estimate estimate, Registry registry, uint64_t process, const void *events, Size used, Size seen,
                   uint64_t first)
{
  uint64_t begin;

  if (!estimateOurs(registry))
    return;
  if (estimate->share == 0) {
    estimateEvents(estimate, process, events, used, seen, first);
    return;
  }
  begin = EventClockMonotonic();
  estimateEvents(estimate, process, events, used, seen, first);
  estimate->busy += EventClockMonotonic() - begin;
  if (begin - estimate->began >= estimateWINDOW)
    estimatePace(estimate, begin);
}

void EstimateGone(Estimate estimate, uint64_t process)
{
  Index i;

  for (i = 0; i < EstimateSIZE; ++i)
    while (estimate->entry[i].key != 0 && estimate->entry[i].process == process)
      estimateDelete(estimate, &estimate->entry[i]);
  if (estimate->used == 0)
    estimate->threshold = estimate->least = estimate->inexact = 0;
}

uint64_t EstimateBytes(Bool *exactReturn, Estimate estimate)
{
  *exactReturn = !estimate->inexact;
  return estimate->bytes;
}
