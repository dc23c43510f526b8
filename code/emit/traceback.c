/* traceback.c -- the newest events as text, printed by the program itself
 *
 * Takes memory from the system alone, no lock, and waits for nobody: it runs in a program that may be broken in any
 * way.  Blocks are read while their owners may be filling them; what is not committed is not shown.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/traceback.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "emit/process.h"
#include "emit/public.h"
#include "emit/send.h"
#include "plinth/rawsyscall.h"

enum { tracebackMAX = 256, tracebackAver = 32, tracebackPage = 4096 };

/* The newest so far, in `order` from the oldest to the newest.  They are copies: their owners may go on, and
 * overwrite them. */
typedef struct TracebackStruct {
  Count count, max;
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

/* tracebackAdd -- an event, if it is newer than the oldest of those that there is room for */
static void tracebackAdd(Traceback traceback, uint64_t time, uint32_t thread, const EventHeaderStruct *event)
{
  unsigned place = (unsigned)traceback->count;
  Index i;

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
  uint64_t w8 = 0;
  uint32_t w4;

  if (type->letter[i] == 'S') {
    TextQuoted(text, place,
               strnlen(place, (Size)((const char *)event + (event->length & (EventLengthCUT - 1)) - place)));
    return;
  }
  if (type->width[i] == 8) {
    memcpy(&w8, place, sizeof w8);
  } else {
    memcpy(&w4, place, sizeof w4);
    w8 = w4;
  }
  if (type->letter[i] == 'W' || type->letter[i] == 'U')
    TextDecimal(text, w8);
  else
    TextHex(text, w8);
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
  TextString(&text, "pawprint: -");
  TextDecimal(&text, before / frequency);
  TextChar(&text, '.');
  TextPadded(&text, (uint64_t)((double)(before % frequency) * 1e9 / (double)frequency), 9);
  TextChar(&text, ' ');
  TextDecimal(&text, traceback->entry[place].thread);
  TextChar(&text, ' ');
  TextBytes(&text, type->name, type->nameLength);
  for (p = 0; p < type->params; ++p) {
    TextChar(&text, ' ');
    TextBytes(&text, type->param[p], type->paramLength[p]);
    TextChar(&text, '=');
    tracebackParam(&text, type, event, p);
  }
  *text.next++ = '\n';
  (void)RawCall(SYS_write, 2, room, TextLength(&text)); /* whatever is there: somebody asks to see it */
}

EVENT_API void EventTraceback(unsigned n)
{
  Process process = ProcessIfReady();
  Traceback traceback = RawMap(sizeof *traceback, tracebackPage);
  char clock[EventClockNameSIZE];
  Store store;
  uint64_t frequency; /* all of the description that is wanted here */
  Index i;

  if (traceback == NULL)
    return;
  traceback->max = n < tracebackMAX ? n : tracebackMAX;
  if (traceback->max > 0 && process != NULL) {
    for (i = 0; (store = ProcessStore(process, i)) != NULL; ++i)
      tracebackStore(traceback, store);
  }
  if (traceback->count == 0) {
    RawSay("traceback", "", "no events");
  } else {
    unsigned newest = traceback->order[traceback->count - 1];
    EventClockDescribe(clock, &frequency, NULL, EVENT_CONTROL[EventControlCLOCK] != 0);
    for (i = 0; i < traceback->count; ++i)
      tracebackLine(traceback, i, traceback->entry[newest].time, frequency);
  }
  RawUnmap(traceback, sizeof *traceback);
}

void TracebackAver(const char *condition, const char *file, unsigned line)
{
  UNUSED(condition), UNUSED(file), UNUSED(line);
  EventTraceback(tracebackAver);
}
