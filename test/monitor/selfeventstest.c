/* selfeventstest.c -- the collector's own events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/selfevents.h"

#include <unistd.h>

#include "format/header.h"
#include "format/pack.h"
#include "plinth/clock.h"
#include "tap.h"

enum { OUT_MAX = 16 << 20, TYPES_MAX = 512 };

static uint8_t *out;
static Size outUsed;
static Bool outFull;
static Count outMessages;

static Res take(void *data, const void *message, Size size)
{
  UNUSED(data);
  if (outFull)
    return ResIO;
  memcpy(out + outUsed, message, size);
  outUsed += size;
  ++outMessages;
  return ResOK;
}

static RegistryStruct registry;
static EventTypeStruct types[TYPES_MAX];
static Unpack unpack;

/* What a walk over all that was written finds. */
typedef struct {
  Count headers, blocks, events, wrong;
  uint64_t discarded, before, last;
  uint32_t lastPid;
  HeaderStruct header;
} Seen;

static void seeHeader(Seen *seen, const uint8_t *bytes, Size *at)
{
  unsigned version[3];
  Size length = 0;
  const char *body;

  seen->wrong += HeaderLength(&length, version, bytes, outUsed - *at) != ResOK ||
                 HeaderRead(&seen->header, &body, bytes, length) != ResOK;
  ++seen->headers;
  *at += length;
}

static void seeBlock(Seen *seen, const uint8_t *bytes, Size *at)
{
  static uint64_t events[(BlockMAX + PackSlackSIZE) / 8], rest[(BlockRestMAX + PackSlackSIZE) / 8];
  BlockHeaderStruct block;
  BlockTallyStruct tally;
  Bool swapped;
  Size i;

  seen->wrong += BlockHeaderRead(&block, &swapped, bytes) != ResOK || block.process != seen->header.identity ||
                 block.before != seen->before || block.sequence != seen->blocks;
  memcpy(rest, bytes + BlockHeaderSIZE, block.rest);
  if (block.flags & BlockFlagPACKED)
    seen->wrong += BlockUnpack(unpack, &registry, rest, block.rest, block.first, events, block.used) != ResOK;
  else
    memcpy(events, rest, block.rest);
  BlockWalk(&tally, events, block.used, block.first, FALSE);
  seen->wrong +=
      tally.count != block.count || tally.pending != 0 || tally.used != block.used || tally.last > block.last;
  for (i = 0; i < block.used;) {
    EventHeader event = (EventHeader)((char *)events + i);
    if (event->code == EventProcessExitCODE)
      seen->lastPid = ((EventUUSStruct *)event)->f0;
    i += EventSizeOfLength(event->length);
  }
  seen->wrong += block.first < seen->last;
  seen->last = block.last;
  seen->events += block.count;
  seen->before += block.count;
  seen->discarded = block.discarded;
  ++seen->blocks;
  *at += block.size;
}

static Seen see(void)
{
  static Seen seen;
  Size at = 0;

  memset(&seen, 0, sizeof seen);
  while (at < outUsed && seen.wrong == 0) {
    if (memcmp(out + at, HeaderMAGIC, BlockMagicSIZE) == 0)
      seeHeader(&seen, out + at, &at);
    else
      seeBlock(&seen, out + at, &at);
  }
  return seen;
}

static void testRoundTrip(Bool raw)
{
  SelfEvents self;
  Seen seen;
  unsigned i;

  outUsed = outMessages = 0;
  TapIs(SelfEventsCreate(&self, take, NULL, 0, raw, NULL), ResOK, "a teller comes to be");
  TapIs(SelfEventsFlush(self), ResOK, "and has nothing to write,");
  TapIs(outMessages, 0, "not even a header");
  TapIs(SelfEventsPoll(self, EventClockMonotonic()), UINT64_MAX, "nor anything to wait for");
  for (i = 0; i < 100000; ++i)
    EVENT_UUS(ProcessExit, i, i % 3, "exit");
  EVENT_UWWWWW(MachineSample, 2, 1, 2, 3, 4, (Word)-1);
  TapOk(SelfEventsCheck(self), "it is sound in between");
  TapOk(outMessages > 10, "blocks that are full are written by themselves");
  SelfEventsDestroy(self);
  seen = see();
  TapIs(seen.wrong, 0, "all that was written reads back%s", raw ? ", raw" : "");
  TapIs(seen.events, 100001, "every event of it");
  TapIs(seen.lastPid, 99999, "with its parameters");
  TapOk(seen.headers >= 2, "with a header before and after");
  TapOk(strcmp(seen.header.role, HeaderRoleCOLLECTOR) == 0, "which says whose it is");
  TapIs(seen.header.pid, getpid(), "and who that is");
  TapOk(seen.header.sync[1].ticks >= seen.header.sync[0].ticks, "and relates ticks to time");
}

static void testDelay(void)
{
  SelfEvents self;
  uint64_t now, due;

  outUsed = outMessages = 0;
  (void)SelfEventsCreate(&self, take, NULL, 0, FALSE, NULL);
  EVENT_UUS(ProcessSeen, 1, 0, "init");
  now = EventClockMonotonic();
  due = SelfEventsPoll(self, now);
  TapOk(due > 0 && due <= SelfEventsDELAY * 1000000ull, "an event waits a tenth of a second at most");
  TapIs(outMessages, 0, "and is not written before");
  TapIs(SelfEventsPoll(self, now + SelfEventsDELAY * 1000000ull), UINT64_MAX, "then it is,");
  TapIs(outMessages, 2, "behind a header");
  SelfEventsDestroy(self);
}

static void testLoss(void)
{
  SelfEvents self;
  Seen seen;

  outUsed = outMessages = 0;
  (void)SelfEventsCreate(&self, take, NULL, 0, FALSE, NULL);
  EVENT_UUS(ProcessSeen, 1, 0, "init");
  TapIs(SelfEventsFlush(self), ResOK, "a block is written");
  outFull = TRUE;
  EVENT_UUS(ProcessSeen, 2, 1, "lost");
  EVENT_UUS(ProcessSeen, 3, 1, "lost");
  TapIs(SelfEventsFlush(self), ResIO, "the next one finds the disk full");
  outFull = FALSE;
  TapIs(SelfEventsDiscarded(self), 2, "what was in it is counted");
  EVENT_UUS(ProcessSeen, 4, 1, "told");
  SelfEventsDestroy(self);
  seen = see();
  TapIs(seen.wrong, 0, "the log has no gap,");
  TapIs(seen.discarded, 2, "but says how many events it lacks");
  TapIs(seen.events, 2, "and has the others");
}

static void testString(void)
{
  char text[EventMaxStringLength + 100];
  SelfEvents self;
  Seen seen;

  outUsed = outMessages = 0;
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  (void)SelfEventsCreate(&self, take, NULL, 0, TRUE, NULL);
  EVENT_US(ProcessExec, 1, text);
  SelfEventsDestroy(self);
  seen = see();
  TapIs(seen.wrong, 0, "a string that is too long");
  TapOk(memmem(out, outUsed, "xxxxxxxx", 9) != NULL, "is cut, and ends");
}

int main(void)
{
#if defined(VARIETY_RASH)
  TapSkip("no telemetry in this variety");
  return TapDone();
#endif
  WidthsStruct widths = {sizeof(Word), FALSE};
  static const char text[] = EventRegistryTEXT;

  out = malloc(OUT_MAX);
  unpack = malloc(UnpackSIZE);
  RegistryInit(&registry, types, TYPES_MAX, widths);
  TapIs(RegistryText(&registry, text, sizeof text - 1), ResOK, "the registry is read");
  testRoundTrip(FALSE);
  testRoundTrip(TRUE);
  testDelay();
  testLoss();
  testString();
  free(unpack);
  free(out);
  return TapDone();
}
