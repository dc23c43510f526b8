/* selfevents.c -- the collector's own events
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/selfevents.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "format/header.h"
#include "format/pack.h"
#include "format/registry.h"
#include "monitor/choose.h"
#include "plinth/clock.h"

enum {
  tellerTypesMAX = 512,
  tellerHeaderEvery = 4 << 20,        /* bytes between two header blocks */
  tellerSTREAM = EventKindSystem * 2,
  tellerOutSIZE = BlockHeaderSIZE + BlockRestMAX
};

struct TellerStruct {
  TellerWrite write;
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
  uint64_t bytes, unheaded;           /* at rest: in all; since the last header, tellerHeaderEvery if there is none */
  uint64_t sequence;                  /* of the block that is being filled */
  uint64_t first;                     /* ticks of its first event; 0 while it has none */
  uint64_t since;                     /* the same, CLOCK_MONOTONIC in ns */
  uint32_t epoch;
  uint16_t cpu;                       /* processor at that time */
  Size used;                          /* bytes of events in the block */
  Count count;                        /* events in it */
  RegistryStruct registry;
  EventTypeStruct types[tellerTypesMAX];
  uint8_t events[BlockMAX - BlockHeaderSIZE] __attribute__((aligned(EventALIGN)));
  uint8_t out[tellerOutSIZE] __attribute__((aligned(EventALIGN)));
  uint64_t pack[];                    /* PackSIZE bytes */
};

static const char tellerRegistry[] = EventRegistryTEXT;

Bool TellerCheck(Teller teller)
{
  return teller->write != NULL && teller->used <= sizeof teller->events && teller->used % EventALIGN == 0 &&
         (teller->used > 0) == (teller->first != 0) && teller->count * EventALIGN <= teller->used &&
         (teller->first == 0 || teller->epoch >= (uint32_t)(teller->first >> 32));
}

Res TellerCreate(Teller *tellerReturn, TellerWrite write, void *data, uint64_t recording, Bool raw)
{
  WidthsStruct widths = {sizeof(Word), FALSE};
  Teller teller = calloc(1, sizeof *teller + PackSIZE);
  Res res;

  if (teller == NULL)
    return ResMEMORY;
  teller->write = write;
  teller->data = data;
  teller->recording = recording;
  teller->raw = raw;
  teller->slow = EventClockChoose();
  teller->unheaded = tellerHeaderEvery;
  EventClockSync(&teller->sync, teller->slow);
  if (getrandom(&teller->identity, sizeof teller->identity, GRND_NONBLOCK) != sizeof teller->identity)
    teller->identity = teller->sync.ticks ^ (uint64_t)getpid() << 40;
  teller->identity |= teller->identity == 0;
  RegistryInit(&teller->registry, teller->types, tellerTypesMAX, widths);
  res = RegistryText(&teller->registry, tellerRegistry, sizeof tellerRegistry - 1);
  AVER(res == ResOK);
  AVER(TellerCheck(teller));
  *tellerReturn = teller;
  return ResOK;
}

static Res tellerSend(Teller teller, Size size)
{
  Res res = teller->write(teller->data, teller->out, size);

  if (res == ResOK)
    teller->bytes += size;
  return res;
}

/* The header's text is made where blocks are. */
_Static_assert(sizeof tellerRegistry + 8192 < tellerOutSIZE, "a header without arguments fits");

/* tellerDescribe -- what the header block says; `last`: it closes the stream */
static void tellerDescribe(Teller teller, Header header, Bool last)
{
  ssize_t length;

  memset(header, 0, sizeof *header);
  header->major = BlockMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = (uint32_t)getpid();
  header->parent = (uint32_t)getppid();
  header->identity = teller->identity;
  header->recording = teller->recording;
  header->ended = last;
  header->open = !last;
  header->streams = teller->sequence > 0;
  header->lost = teller->lost;
  /* Of a stream of which there is nothing nothing else can tell. */
  if (last && teller->sequence == 0)
    header->lost = CountAdd(header->lost, teller->discarded);
  header->stopped = teller->stopped;
  if (teller->wanted != NULL)
    ChooseSay(header->events, sizeof header->events, teller->wanted);
  header->processes = last ? teller->headed : 0;
  header->widths = teller->registry.widths;
  (void)strcpy(header->role, HeaderRoleCOLLECTOR);
  length = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
  header->program[length > 0 ? length : 0] = '\0';
  EventClockDescribe(header->clock, &header->frequency, header->boot, teller->slow);
  header->syncs = HeaderSyncsMAX;
  header->sync[0] = teller->sync;
  EventClockSync(&header->sync[1], teller->slow);
}

/* tellerCompose -- the header block in `out`; its size */
static Size tellerCompose(Teller teller, Bool last)
{
  HeaderStreamStruct stream = {tellerSTREAM, teller->sequence, teller->told, teller->discarded};
  HeaderStruct header;
  TextStruct text;
  Res res;

  tellerDescribe(teller, &header, last);
  TextInit(&text, (char *)teller->out, sizeof teller->out);
  HeaderBegin(&text, &header);
  if (last && header.streams > 0)
    HeaderStreamWrite(&text, &stream);
  TextBytes(&text, tellerRegistry, sizeof tellerRegistry - 1);
  res = HeaderEnd(&text);
  AVER(res == ResOK);
  return TextLength(&text);
}

/* tellerHeader -- write the header block */
static Res tellerHeader(Teller teller, Bool last)
{
  Res res = tellerSend(teller, tellerCompose(teller, last));

  /* Where it could not be written, the next block tries again. */
  teller->unheaded = res == ResOK ? 0 : tellerHeaderEvery;
  return res;
}

Res TellerHeader(Teller teller)
{
  return tellerHeader(teller, FALSE);
}

RegistryNameStruct TellerRegistry(void)
{
  return RegistryNameOf(tellerRegistry, sizeof tellerRegistry - 1);
}

/* tellerFill -- the header of the block, but for what its events are at rest */
static void tellerFill(Teller teller, BlockHeader header)
{
  Size whole = BlockMIN;

  while (whole - BlockHeaderSIZE < teller->used)
    whole *= 2;
  *header = (BlockHeaderStruct){
    .magic = BlockMAGIC,
    .order = BlockORDER,
    .major = BlockMAJOR,
    .flags = BlockFlagSEALED | BlockFlagCPU,
    .kind = EventKindSystem,
    .whole = (uint32_t)whole,
    .used = (uint32_t)teller->used,
    .count = (uint32_t)teller->count,
    .pid = (uint32_t)getpid(),
    .thread = (uint32_t)gettid(),
    .cpuFirst = teller->cpu,
    .cpuLast = (uint16_t)sched_getcpu(),
    .process = teller->identity,
    .stream = tellerSTREAM,
    .sequence = teller->sequence,
    .before = teller->told,
    .discarded = teller->discarded,
    .first = teller->first,
    .last = EventClock(teller->slow),
    .mono = EventClockMonotonic(),
  };
}

void TellerChoose(Teller teller, const uint8_t *events)
{
  teller->wanted = events;
}

/* tellerSeal -- the block as a message in `out`; its size */
static Size tellerSeal(Teller teller)
{
  BlockHeader header = (BlockHeader)(void *)teller->out;
  uint8_t *rest = teller->out + BlockHeaderSIZE;
  Size packed = 0;
  Count count;

  tellerFill(teller, header);
  if (!teller->raw)
    packed = BlockPack((Pack)(void *)teller->pack, &teller->registry, teller->events, teller->used, teller->first, rest,
                       &count);
  BlockSeal(header, rest, packed, teller->events);
  return header->size;
}

Res TellerFlush(Teller teller)
{
  Size size;
  Res res = ResOK;

  AVER(TellerCheck(teller));
  if (teller->wanted != NULL) /* what was not seen is to be known whatever is */
    BlockChoose(teller->events, &teller->used, &teller->count, teller->wanted, EventProgramUnseenCODE);
  if (teller->count == 0) {
    teller->used = 0;
    teller->first = 0;
    return ResOK;
  }
  if (teller->unheaded >= tellerHeaderEvery)
    res = TellerHeader(teller);
  size = tellerSeal(teller);
  if (res == ResOK)
    res = tellerSend(teller, size);
  if (res == ResOK) {
    teller->told += teller->count;
    teller->unheaded += size;
    ++teller->sequence;
  } else {
    teller->discarded += teller->count;
  }
  teller->used = teller->count = 0;
  teller->first = 0;
  return res;
}

Res TellerEnd(Teller teller)
{
  Res res = TellerFlush(teller);

  if (res == ResOK && teller->bytes > 0 && !teller->ended)
    res = tellerHeader(teller, TRUE);
  teller->ended |= res == ResOK;
  return res;
}

void TellerDropped(Teller teller, Count blocks, uint64_t events)
{
  AVER(blocks <= teller->sequence && events <= teller->told);
  teller->sequence -= blocks;
  teller->told -= events;
  teller->discarded += events;
  teller->ended = FALSE;
}

const void *TellerClosing(Size *sizeReturn, Teller teller)
{
  *sizeReturn = tellerCompose(teller, TRUE);
  teller->ended = TRUE;
  return teller->out;
}

void TellerDestroy(Teller teller)
{
  (void)TellerEnd(teller);
  free(teller);
}

uint64_t TellerPoll(Teller teller, uint64_t now)
{
  const uint64_t delay = TellerDELAY * 1000000ull;

  if (teller->used == 0)
    return UINT64_MAX;
  if (now - teller->since >= delay) {
    (void)TellerFlush(teller);
    return UINT64_MAX;
  }
  return delay - (now - teller->since);
}

void TellerStopped(Teller teller)
{
  teller->stopped = EventClock(teller->slow);
}

void TellerHeaded(Teller teller, uint64_t processes)
{
  teller->headed = processes;
}

uint64_t TellerLost(Teller teller, uint64_t events)
{
  /* The number may come from a process that means harm. */
  teller->lost = CountAdd(teller->lost, events);
  return teller->lost;
}

uint64_t TellerIdentity(Teller teller)
{
  return teller->identity;
}

uint64_t TellerEvents(Teller teller)
{
  return teller->told;
}

uint64_t TellerDiscarded(Teller teller)
{
  return teller->discarded;
}

uint64_t TellerBytes(Teller teller)
{
  return teller->bytes;
}

Bool TellerWants(Teller teller, unsigned kind)
{
  UNUSED(teller);
  AVER(kind == EventKindSystem);
  return TRUE;
}

/* tellerPlace -- the next event's place, with its header filled in but for the code */
static void *tellerPlace(Teller teller, Size length, uint64_t now)
{
  EventHeaderStruct header = {0, (uint16_t)length, (uint32_t)now};
  void *place = teller->events + teller->used;

  memset(place, 0, WordAlignUp(length, EventALIGN));
  memcpy(place, &header, sizeof header);
  teller->used += WordAlignUp(length, EventALIGN);
  return place;
}

/* tellerEpoch -- the events that follow are of another epoch */
static void tellerEpoch(Teller teller, uint64_t now)
{
  char *place = tellerPlace(teller, sizeof(EventHeaderStruct) + sizeof now, now);

  memcpy(place + sizeof(EventHeaderStruct), &now, sizeof now);
  EventCommit((EventHeader)(void *)place, EventEpochCODE);
  teller->epoch = (uint32_t)(now >> 32);
}

void *TellerReserve(Teller teller, Size length)
{
  const Size epoch = sizeof(EventHeaderStruct) + sizeof(uint64_t);
  uint64_t now;

  AVER(length >= sizeof(EventHeaderStruct) && length <= EventSizeMAX);
  if (WordAlignUp(length, EventALIGN) + epoch > sizeof teller->events - teller->used)
    (void)TellerFlush(teller);
  now = EventClock(teller->slow);
  if (teller->used == 0) {
    teller->first = now | (now == 0);
    teller->since = EventClockMonotonic();
    teller->epoch = (uint32_t)(now >> 32);
    teller->cpu = (uint16_t)sched_getcpu();
  } else if (teller->epoch != (uint32_t)(now >> 32)) {
    tellerEpoch(teller, now);
  }
  ++teller->count;
  return tellerPlace(teller, length, now);
}
