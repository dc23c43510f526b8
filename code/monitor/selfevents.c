/* selfevents.c -- events that the collector emits itself
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/selfevents.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/aver.h"
#include "format/pack.h"
#include "monitor/eventchoice.h"
#include "plinth/clock.h"

enum {
  selfTypesMAX = 512,
  selfHeaderEvery = 4 << 20,        /* bytes between two header blocks */
  selfSTREAM = EventKindSystem * 2,
  selfOutSIZE = BlockHeaderSIZE + BlockRestMAX
};

struct SelfEventsStruct {
  SelfEventsWrite write;
  void *data;
  const uint8_t *wanted;              /* bits by code; NULL: all */
  Bool raw, slow;                     /* slow: the processor's counter is no clock */
  SyncStruct sync;                    /* at the beginning */
  uint64_t identity, recording;
  Bool ended;                         /* its closing header block is written */
  uint64_t told, discarded;           /* events */
  uint64_t lost;                      /* of processes, which nobody else can tell of */
  uint64_t stopped;                   /* ticks when the recording was ended on purpose; 0 */
  uint64_t headed;                    /* processes of the recording that have a header block */
  uint64_t bytes, unheaded;           /* at rest: in all; since the last header, selfHeaderEvery if there is none */
  uint64_t sequence;                  /* of the block that is being filled */
  uint64_t first;                     /* ticks of its first event; 0 while it has none */
  uint64_t since;                     /* the same, CLOCK_MONOTONIC in ns */
  uint32_t epoch;
  uint16_t cpu;                       /* processor at that time */
  Size used;                          /* bytes of events in the block */
  Count count;                        /* events in it */
  RegistryStruct registry;
  EventTypeStruct types[selfTypesMAX];
  uint8_t events[BlockMAX - BlockHeaderSIZE] __attribute__((aligned(EventALIGN)));
  uint8_t out[selfOutSIZE] __attribute__((aligned(EventALIGN)));
  uint64_t pack[];                    /* PackSIZE bytes */
};

static const char selfRegistry[] = EventRegistryTEXT;

Bool SelfEventsCheck(SelfEvents self)
{
  return self->write != NULL && self->used <= sizeof self->events && self->used % EventALIGN == 0 &&
         (self->used > 0) == (self->first != 0) && self->count * EventALIGN <= self->used &&
         (self->first == 0 || self->epoch >= (uint32_t)(self->first >> 32));
}

Res SelfEventsCreate(SelfEvents *selfReturn, SelfEventsWrite write, void *data, uint64_t recording, Bool raw,
                     const uint8_t *events)
{
  WidthsStruct widths = {sizeof(Word), FALSE};
  SelfEvents self = calloc(1, sizeof *self + PackSIZE);
  Res res;

  if (self == NULL)
    return ResMEMORY;
  self->write = write;
  self->data = data;
  self->recording = recording;
  self->raw = raw;
  self->wanted = events;
  self->slow = EventClockChoose();
  self->unheaded = selfHeaderEvery;
  EventClockSync(&self->sync, self->slow);
  if (getrandom(&self->identity, sizeof self->identity, GRND_NONBLOCK) != sizeof self->identity)
    self->identity = self->sync.ticks ^ (uint64_t)getpid() << 40;
  self->identity |= self->identity == 0;
  RegistryInit(&self->registry, self->types, selfTypesMAX, widths);
  res = RegistryText(&self->registry, selfRegistry, sizeof selfRegistry - 1);
  AVER(res == ResOK);
  AVER(SelfEventsCheck(self));
  *selfReturn = self;
  return ResOK;
}

static Res selfSend(SelfEvents self, Size size)
{
  Res res = self->write(self->data, self->out, size);

  if (res == ResOK)
    self->bytes += size;
  return res;
}

/* The header's text is made where blocks are. */
_Static_assert(sizeof selfRegistry + 8192 < selfOutSIZE, "a header without arguments fits");

/* selfDescribe -- what the header block says; `last`: it closes the stream */
static void selfDescribe(SelfEvents self, Header header, Bool last)
{
  ssize_t length;

  memset(header, 0, sizeof *header);
  header->major = BlockMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = (uint32_t)getpid();
  header->parent = (uint32_t)getppid();
  header->identity = self->identity;
  header->recording = self->recording;
  header->ended = last;
  header->open = !last;
  header->streams = self->sequence > 0;
  header->lost = self->lost;
  /* Of a stream of which there is nothing nothing else can tell. */
  if (last && self->sequence == 0)
    header->lost = CountAdd(header->lost, self->discarded);
  header->stopped = self->stopped;
  if (self->wanted != NULL)
    EventChoiceSay(header->events, sizeof header->events, self->wanted);
  header->processes = last ? self->headed : 0;
  header->widths = self->registry.widths;
  (void)strcpy(header->role, HeaderRoleCOLLECTOR);
  length = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
  header->program[length > 0 ? length : 0] = '\0';
  EventClockDescribe(header->clock, &header->frequency, header->boot, self->slow);
  header->syncs = HeaderSyncsMAX;
  header->sync[0] = self->sync;
  EventClockSync(&header->sync[1], self->slow);
}

/* selfCompose -- the header block in `out`; its size */
static Size selfCompose(SelfEvents self, Bool last)
{
  HeaderStreamStruct stream = {selfSTREAM, self->sequence, self->told, self->discarded};
  HeaderStruct header;
  TextStruct text;
  Res res;

  selfDescribe(self, &header, last);
  TextInit(&text, (char *)self->out, sizeof self->out);
  HeaderBegin(&text, &header);
  if (last && header.streams > 0)
    HeaderStreamWrite(&text, &stream);
  TextBytes(&text, selfRegistry, sizeof selfRegistry - 1);
  res = HeaderEnd(&text);
  AVER(res == ResOK);
  return TextLength(&text);
}

/* selfHeader -- write the header block */
static Res selfHeader(SelfEvents self, Bool last)
{
  Res res = selfSend(self, selfCompose(self, last));

  /* Where it could not be written, the next block tries again. */
  self->unheaded = res == ResOK ? 0 : selfHeaderEvery;
  return res;
}

Res SelfEventsHeader(SelfEvents self)
{
  return selfHeader(self, FALSE);
}

RegistryNameStruct SelfEventsRegistry(void)
{
  return RegistryNameOf(selfRegistry, sizeof selfRegistry - 1);
}

/* selfFill -- the header of the block, but for what its events are at rest */
static void selfFill(SelfEvents self, BlockHeader header)
{
  Size whole = BlockMIN;

  while (whole - BlockHeaderSIZE < self->used)
    whole *= 2;
  *header = (BlockHeaderStruct){
    .magic = BlockMAGIC,
    .order = BlockORDER,
    .major = BlockMAJOR,
    .flags = BlockFlagSEALED | BlockFlagCPU,
    .kind = EventKindSystem,
    .whole = (uint32_t)whole,
    .used = (uint32_t)self->used,
    .count = (uint32_t)self->count,
    .pid = (uint32_t)getpid(),
    .thread = (uint32_t)gettid(),
    .cpuFirst = self->cpu,
    .cpuLast = (uint16_t)sched_getcpu(),
    .process = self->identity,
    .stream = selfSTREAM,
    .sequence = self->sequence,
    .before = self->told,
    .discarded = self->discarded,
    .first = self->first,
    .last = EventClock(self->slow),
    .mono = EventClockMonotonic(),
  };
}

/* selfSeal -- the block as a message in `out`; its size */
static Size selfSeal(SelfEvents self)
{
  BlockHeader header = (BlockHeader)(void *)self->out;
  uint8_t *rest = self->out + BlockHeaderSIZE;
  Size packed = 0;
  Count count;

  selfFill(self, header);
  if (!self->raw)
    packed = BlockPack((Pack)(void *)self->pack, &self->registry, self->events, self->used, self->first, rest,
                       &count);
  BlockSeal(header, rest, packed, self->events);
  return header->size;
}

Res SelfEventsFlush(SelfEvents self)
{
  Size size;
  Res res = ResOK;

  AVER(SelfEventsCheck(self));
  if (self->wanted != NULL) /* what was not seen is to be known whatever is */
    BlockChoose(self->events, &self->used, &self->count, self->wanted, EventProgramUnseenCODE);
  if (self->count == 0) {
    self->used = 0;
    self->first = 0;
    return ResOK;
  }
  if (self->unheaded >= selfHeaderEvery)
    res = SelfEventsHeader(self);
  size = selfSeal(self);
  if (res == ResOK)
    res = selfSend(self, size);
  if (res == ResOK) {
    self->told += self->count;
    self->unheaded += size;
    ++self->sequence;
  } else {
    self->discarded += self->count;
  }
  self->used = self->count = 0;
  self->first = 0;
  return res;
}

Res SelfEventsEnd(SelfEvents self)
{
  Res res = SelfEventsFlush(self);

  if (res == ResOK && self->bytes > 0 && !self->ended)
    res = selfHeader(self, TRUE);
  self->ended |= res == ResOK;
  return res;
}

void SelfEventsDropped(SelfEvents self, Count blocks, uint64_t events)
{
  AVER(blocks <= self->sequence && events <= self->told);
  self->sequence -= blocks;
  self->told -= events;
  self->discarded += events;
  self->ended = FALSE;
}

const void *SelfEventsClosing(Size *sizeReturn, SelfEvents self)
{
  *sizeReturn = selfCompose(self, TRUE);
  self->ended = TRUE;
  return self->out;
}

void SelfEventsDestroy(SelfEvents self)
{
  (void)SelfEventsEnd(self);
  free(self);
}

uint64_t SelfEventsPoll(SelfEvents self, uint64_t now)
{
  const uint64_t delay = SelfEventsDELAY * 1000000ull;

  if (self->used == 0)
    return UINT64_MAX;
  if (now - self->since >= delay) {
    (void)SelfEventsFlush(self);
    return UINT64_MAX;
  }
  return delay - (now - self->since);
}

void SelfEventsStopped(SelfEvents self)
{
  self->stopped = EventClock(self->slow);
}

void SelfEventsHeaded(SelfEvents self, uint64_t processes)
{
  self->headed = processes;
}

uint64_t SelfEventsLost(SelfEvents self, uint64_t events)
{
  /* The number may come from a process that means harm. */
  self->lost = CountAdd(self->lost, events);
  return self->lost;
}

uint64_t SelfEventsIdentity(SelfEvents self)
{
  return self->identity;
}

uint64_t SelfEventsDiscarded(SelfEvents self)
{
  return self->discarded;
}

/* selfPlace -- the next event's place, with its header filled in but for the code */
static void *selfPlace(SelfEvents self, Size length, uint64_t now)
{
  EventHeaderStruct header = {0, (uint16_t)length, (uint32_t)now};
  void *place = self->events + self->used;

  memset(place, 0, WordAlignUp(length, EventALIGN));
  memcpy(place, &header, sizeof header);
  self->used += WordAlignUp(length, EventALIGN);
  return place;
}

/* selfEpoch -- the events that follow are of another epoch */
static void selfEpoch(SelfEvents self, uint64_t now)
{
  char *place = selfPlace(self, sizeof(EventHeaderStruct) + sizeof now, now);

  memcpy(place + sizeof(EventHeaderStruct), &now, sizeof now);
  EventCommit((EventHeader)(void *)place, EventEpochCODE);
  self->epoch = (uint32_t)(now >> 32);
}

void *SelfEventsReserve(SelfEvents self, Size length)
{
  const Size epoch = sizeof(EventHeaderStruct) + sizeof(uint64_t);
  uint64_t now;

  AVER(length >= sizeof(EventHeaderStruct) && length <= EventSizeMAX);
  if (WordAlignUp(length, EventALIGN) + epoch > sizeof self->events - self->used)
    (void)SelfEventsFlush(self);
  now = EventClock(self->slow);
  if (self->used == 0) {
    self->first = now | (now == 0);
    self->since = EventClockMonotonic();
    self->epoch = (uint32_t)(now >> 32);
    self->cpu = (uint16_t)sched_getcpu();
  } else if (self->epoch != (uint32_t)(now >> 32)) {
    selfEpoch(self, now);
  }
  ++self->count;
  AVER_CRITICAL(self->used + WordAlignUp(length, EventALIGN) <= sizeof self->events);
  return selfPlace(self, length, now);
}
