/* traceback.c -- the newest events as text, printed by the program itself
 *
 * It runs in a program that may be broken in any way: it takes memory from the system alone and no lock, and never
 * waits.  Blocks are read while their owners may be filling them; events that are not committed are not shown.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>
#include <sys/syscall.h>

#include "emit/emitter.h"
#include "emit/send.h"
#include "emit/pawprint.h" /* behind event.h, which has the kinds */

enum { tracebackMAX = 256, tracebackAver = 32 };

/* The newest so far, in `order` from the oldest to the newest.  They are copies: their owners may go on, and
 * overwrite them. */
typedef struct TracebackStruct {
  Count count, max;
  uint64_t addr;       /* only events that have it as an address; 0: all events */
  uint8_t objects;     /* the kind whose events are of objects; EventKindMAX: the registry has none */
  uint64_t oldest;     /* time of the oldest event of an object; UINT64_MAX: none */
  unsigned order[tracebackMAX];
  struct {
    uint64_t time;
    uint32_t thread;
    union {
      EventHeaderStruct header;
      char bytes[EventSizeMAX];
    } event;
  } entry[tracebackMAX];
} TracebackStruct, *Traceback;

/* tracebackCopy -- an event, out of a block that ends where all of them do; FALSE: there is none any more */
__attribute__((no_sanitize("thread"))) static Bool tracebackCopy(EventHeader copy, const EventHeaderStruct *event)
{
  Size room = (Size)(WordAlignUp((Word)event + 1, 2 * BlockMAX) - (Word)event), size;

  *copy = *event;
  size = EventSizeOfLength(copy->length);
  if (copy->code == 0 || size < sizeof *event || size > EventSizeMAX || size > room)
    return FALSE;
  memcpy(copy + 1, event + 1, size - sizeof *event);
  return TRUE;
}

/* tracebackParamValue -- parameter `i` of an event, which is a number of any width or the bits of a double */
static uint64_t tracebackParamValue(EventType type, const EventHeaderStruct *event, Index i)
{
  const char *place = (const char *)event + type->offset[i];
  uint64_t w8;
  uint32_t w4;

  if (type->width[i] == 8) {
    memcpy(&w8, place, sizeof w8);
    return w8;
  }
  memcpy(&w4, place, sizeof w4);
  return w4;
}

/* tracebackTells -- is one of an event's parameters the address that is asked for? */
static Bool tracebackTells(uint64_t addr, const EventHeaderStruct *event)
{
  EventType type = RegistryFind(SendRegistry(), event->code);
  Index i;

  for (i = 0; type != NULL && i < type->params && EventSizeOfLength(event->length) >= type->length; ++i)
    if ((type->letter[i] == 'A' || type->letter[i] == 'P') && tracebackParamValue(type, event, i) == addr)
      return TRUE;
  return FALSE;
}

/* tracebackAdd -- an event, if it is newer than the oldest of those that there is room for */
static void tracebackAdd(Traceback traceback, uint64_t time, uint32_t thread, const EventHeaderStruct *event)
{
  union {
    EventHeaderStruct header;
    char bytes[EventSizeMAX];
  } copy;
  unsigned place = (unsigned)traceback->count;
  Index i;

  if (traceback->addr != 0) {
    if (!tracebackCopy(&copy.header, event) || !tracebackTells(traceback->addr, &copy.header))
      return;
    event = &copy.header;
  }
  if (traceback->count == traceback->max) {
    place = traceback->order[0];
    if (time < traceback->entry[place].time)
      return;
  }
  if (!tracebackCopy(&traceback->entry[place].event.header, event))
    return;
  if (traceback->count == traceback->max)
    memmove(&traceback->order[0], &traceback->order[1], --traceback->count * sizeof traceback->order[0]);
  for (i = traceback->count++; i > 0 && traceback->entry[traceback->order[i - 1]].time > time; --i)
    traceback->order[i] = traceback->order[i - 1];
  traceback->order[i] = place;
  traceback->entry[place].time = time;
  traceback->entry[place].thread = thread;
}

/* tracebackBlock -- the committed events of one block */
__attribute__((no_sanitize("thread"))) static void tracebackBlock(Traceback traceback, BlockHeader block,
                                                                   Size whole)
{
  const char *next = (const char *)block + BlockHeaderSIZE, *limit = (const char *)block + whole;
  uint64_t epoch = block->first >> 32 << 32;
  Bool objects = block->kind == traceback->objects;

  if (memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) != 0)
    return;
  while (next + sizeof(EventHeaderStruct) <= limit) {
    const EventHeaderStruct *event = (const void *)next;
    uint16_t code = __atomic_load_n(&event->code, __ATOMIC_ACQUIRE);
    Size size = EventSizeOfLength(event->length);
    if (size < sizeof *event || next + size > limit) {
      next += EventALIGN;
      continue;
    }
    if (code == EventEpochCODE)
      memcpy(&epoch, event + 1, sizeof epoch), epoch = epoch >> 32 << 32;
    if (objects && code >= EventCodeFIRST && (epoch | event->time) < traceback->oldest)
      traceback->oldest = epoch | event->time;
    if (code >= EventCodeFIRST)
      tracebackAdd(traceback, epoch | event->time, block->thread, event);
    next += size;
  }
}

/* tracebackStore -- the events of all blocks that lie here, filled or being filled */
static void tracebackStore(Traceback traceback, Store store)
{
  RegionHeader region = StoreRegion(store);
  Size offset, size;
  Index i;

  for (i = 0; region != NULL && i < StoreLimit(store); ++i)
    if (RegionBlockAt(&offset, &size, region, i))
      tracebackBlock(traceback, (BlockHeader)(void *)((char *)region + offset), size);
}

/* tracebackParam -- parameter `i` of an event, as eventcnv would print it; a double as its bits, for want of libc */
static void tracebackParam(Text text, EventType type, const EventHeaderStruct *event, Index i)
{
  const char *place = (const char *)event + type->offset[i];

  if (type->letter[i] == 'S') {
    TextQuoted(text, place,
               strnlen(place, (Size)((const char *)event + (event->length & (EventLengthCUT - 1)) - place)));
    return;
  }
  if (type->letter[i] == 'W' || type->letter[i] == 'U')
    TextDecimal(text, tracebackParamValue(type, event, i));
  else
    TextHex(text, tracebackParamValue(type, event, i));
}

static void tracebackLine(Traceback traceback, Index i, uint64_t newest, uint64_t frequency)
{
  unsigned place = traceback->order[i];
  EventHeader event = &traceback->entry[place].event.header;
  EventType type = RegistryFind(SendRegistry(), event->code);
  uint64_t before = newest - traceback->entry[place].time;
  char room[2048];
  TextStruct text;
  Index p;

  if (type == NULL || EventSizeOfLength(event->length) < type->length)
    return;
  TextInit(&text, room, sizeof room - 1);
  TextFormat(&text, "pawprint: -%ju.", before / frequency);
  TextPadded(&text, (uint64_t)((double)(before % frequency) * 1e9 / (double)frequency), 9);
  TextFormat(&text, " %u %.*s", traceback->entry[place].thread, (int)type->nameLength, type->name);
  for (p = 0; p < type->params; ++p) {
    TextFormat(&text, " %.*s=", (int)type->paramLength[p], type->param[p]);
    tracebackParam(&text, type, event, p);
  }
  *text.next++ = '\n';
  /* Also if descriptor 2 leads to another file by now: a person has asked for the text. */
  (void)RawCall(SYS_write, 2, room, TextLength(&text));
}

/* tracebackNamed -- does an event have one of these names, or one that begins so? */
static Bool tracebackNamed(const EventHeaderStruct *event, const char *const *names, Count count)
{
  EventType type = RegistryFind(SendRegistry(), event->code);
  Index i;

  for (i = 0; type != NULL && i < count; ++i)
    if (strncmp(type->name, names[i], strlen(names[i])) == 0)
      return TRUE;
  return FALSE;
}

/* tracebackReach -- if an object was freed, and its allocation is not among the events of its address, all of which are
 * there, say how far events reach back.  Other registries have other names. */
static void tracebackReach(Traceback traceback, uint64_t newest, uint64_t frequency)
{
  static const char *const births[] = {"PoolAlloc", "PoolResizeEnd", "PoolLive"};
  static const char *const deaths[] = {"PoolFree", "PoolResizeBegin", "PoolMisuse"};
  Bool died = FALSE;
  uint64_t before = newest > traceback->oldest ? newest - traceback->oldest : 0;
  char room[64];
  TextStruct text;
  Index i;

  for (i = 0; i < traceback->count; ++i) {
    if (tracebackNamed(&traceback->entry[i].event.header, births, ARRAY_LENGTH(births)))
      return;
    died |= tracebackNamed(&traceback->entry[i].event.header, deaths, ARRAY_LENGTH(deaths));
  }
  if (!died || traceback->count == traceback->max || traceback->oldest == UINT64_MAX)
    return;
  TextInit(&text, room, sizeof room);
  TextFormat(&text, "events of objects reach back for %ju.", (uintmax_t)(before / frequency));
  TextPadded(&text, (uint64_t)((double)(before % frequency) * 1e9 / (double)frequency), 9);
  TextString(&text, " s");
  RawSay("traceback", TextTerminate(&text), "what happened to this one before is not known");
}

/* tracebackObjects -- the kind that is called Object, which the registry of another emitter need not have */
static uint8_t tracebackObjects(void)
{
  Registry registry = SendRegistry();
  uint8_t kind;

  for (kind = 0; kind < registry->kinds; ++kind)
    if (strcmp(registry->kind[kind], "Object") == 0)
      return kind;
  return EventKindMAX;
}

/* tracebackOwn -- is that the event of the finding for which an object's events are printed?  What it says was said. */
static Bool tracebackOwn(Traceback traceback, Index i)
{
  static const char *const name[] = {"PoolMisuse"};

  return i == traceback->count - 1 && tracebackNamed(&traceback->entry[traceback->order[i]].event.header, name, 1);
}

/* tracebackPrint -- the newest `n` events, or those that have an address that is not 0; `found`: TracebackFound */
static void tracebackPrint(uint64_t addr, unsigned n, Bool found)
{
  Emitter emitter = EmitterIfReady();
  Traceback traceback = RawMap(sizeof *traceback, RawPAGE);
  char clock[EventClockNameSIZE];
  Store store;
  uint64_t frequency; /* all of the description that is wanted here */
  Count own;
  Index i;

  if (traceback == NULL)
    return;
  traceback->max = n < tracebackMAX ? n : tracebackMAX;
  traceback->addr = addr;
  traceback->objects = tracebackObjects();
  traceback->oldest = UINT64_MAX;
  if (traceback->max > 0 && emitter != NULL) {
    for (i = 0; (store = EmitterStore(emitter, i)) != NULL; ++i)
      tracebackStore(traceback, store);
  }
  own = found && traceback->count > 0 && tracebackOwn(traceback, traceback->count - 1) ? 1 : 0;
  if (traceback->count == own) {
    RawSay("traceback", "", addr == 0 ? "no events" : "no event of this address, or none any more");
  } else {
    unsigned newest = traceback->order[traceback->count - 1];
    EventClockDescribe(clock, &frequency, NULL, EVENT_CONTROL[EventControlCLOCK] != 0);
    for (i = 0; i < traceback->count; ++i)
      if (!found || !tracebackOwn(traceback, i))
        tracebackLine(traceback, i, traceback->entry[newest].time, frequency);
    if (addr != 0)
      tracebackReach(traceback, traceback->entry[newest].time, frequency);
  }
  RawUnmap(traceback, sizeof *traceback);
}

EVENT_API void EventTraceback(unsigned n)
{
  tracebackPrint(0, n, FALSE);
}

EVENT_API void EventTracebackAddr(const void *addr, unsigned n)
{
  tracebackPrint((Word)addr, n, FALSE);
}

void TracebackFound(const void *addr, unsigned n)
{
  tracebackPrint((Word)addr, n, TRUE);
}

void TracebackAver(const char *condition, const char *file, unsigned line)
{
  UNUSED(condition), UNUSED(file), UNUSED(line);
  EventTraceback(tracebackAver);
}
