/* send.c -- from blocks in memory to messages on the plinths
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/send.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/arguments.h"
#include "emit/control.h"
#include "format/pack.h"
#include "handover/collectorsocket.h"

enum {
  sendHeaderEvery = 4 << 20,  /* bytes between two header blocks */
  sendTextSIZE = 256 << 10,   /* room for a header block */
  sendTextUSUAL = (sizeof EventRegistryTEXT + 2048 + 4095) & ~4095, /* and for most */
  sendTypesMAX = 1024,        /* registered and defined at run time */
  sendMoment = 1000000        /* ns that another thread is waited for which parses the types */
};

/* Working memory of one sending at a time, in a mapping of its own, because stacks of threads and signal handlers are
 * small. */
typedef struct ScratchStruct {
  HeaderStruct header;
  char text[sendTextSIZE];
  uint8_t out[BlockHeaderSIZE + BlockRestMAX + PackSlackSIZE];
  uint64_t pack[]; /* PackSIZE bytes */
} ScratchStruct, *Scratch;

static Size scratchSize(void)
{
  return WordAlignUp(sizeof(ScratchStruct) + PackSIZE, RawPAGE);
}

/* scratchTake -- working memory that no other thread uses; NULL: none */
static Scratch scratchTake(Emitter emitter)
{
  Index i;

  for (i = 0; i < EmitterScratches; ++i) {
    Scratch scratch = __atomic_exchange_n(&emitter->scratch[i], NULL, __ATOMIC_ACQUIRE);
    if (scratch != NULL)
      return scratch;
  }
  return RawMap(scratchSize(), RawPAGE);
}

static void scratchGive(Emitter emitter, Scratch scratch)
{
  Index i;

  for (i = 0; i < EmitterScratches; ++i) {
    Scratch none = NULL;
    if (__atomic_compare_exchange_n(&emitter->scratch[i], &none, scratch, FALSE, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
  if (scratch != EmitterWorking(emitter))
    RawUnmap(scratch, scratchSize());
}

void SendPrepare(Emitter emitter)
{
  AVER(scratchSize() <= EmitterWorkingSIZE);
  emitter->scratch[0] = EmitterWorking(emitter);
}

/* The event types.  The first thread that needs them parses the registry; where a collector packs the blocks, or
 * nothing is sent, no thread does.  Types that are added later are found by each later search. */
typedef struct SendTypesStruct {
  RegistryStruct registry;
  EventTypeStruct room[sendTypesMAX];
} SendTypesStruct;

static SendTypesStruct sendTypesFirst LARGE;
static unsigned sendTypesTaken; /* the process of which a thread has taken that to parse in; 0: none has */
static Registry sendTypes;      /* used by all; NULL: not parsed yet */
static char sendLines[sendTextSIZE / 2] LARGE; /* of types defined at run time; touched as far as it is used */
static Size sendLinesUsed;

/* sendParse -- parse the registry's text; the first thread that is ready publishes the types that all use */
static void sendParse(SendTypesStruct *types)
{
  static const char text[] = EventRegistryTEXT;
  WidthsStruct widths = {sizeof(Word), FALSE};
  Registry none = NULL;
  Res res;

  memset(types->registry.index, 0, sizeof types->registry.index);
  RegistryInit(&types->registry, types->room, sendTypesMAX, widths);
  res = RegistryText(&types->registry, text, sizeof text - 1);
  AVER(res == ResOK);
  if (!__atomic_compare_exchange_n(&sendTypes, &none, &types->registry, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
      types != &sendTypesFirst)
    RawUnmap(types, sizeof *types);
}

Registry SendRegistry(void)
{
  SendTypesStruct *types;
  RawMaskStruct mask;
  Registry registry;
  unsigned self;
  Bool taken;

  registry = __atomic_load_n(&sendTypes, __ATOMIC_ACQUIRE);
  if (LIKELY(registry != NULL))
    return registry;
  RawBegin(&mask);
  self = RawPid();
  while ((registry = __atomic_load_n(&sendTypes, __ATOMIC_ACQUIRE)) == NULL) {
    /* A thread that comes while another one parses, which may have been stopped, parses in memory of its own.  The
     * child of a fork uses the static memory anew. */
    taken = __atomic_exchange_n(&sendTypesTaken, self, __ATOMIC_RELAXED) == self;
    types = taken ? RawMap(sizeof(SendTypesStruct), RawPAGE) : &sendTypesFirst;
    if (types != NULL)
      sendParse(types);
    else /* no memory: another thread parses already, or memory comes back */
      RawNap(sendMoment);
  }
  RawEnd(&mask);
  return registry;
}

Res SendDefine(const char *line, Size length)
{
  Registry registry = SendRegistry();
  char *place = sendLines + sendLinesUsed;
  Res res;

  AVER(length > 0 && sendLinesUsed <= sizeof sendLines);
  if (length + 1 > sizeof sendLines - sendLinesUsed)
    return ResLIMIT;
  memcpy(place, line, length);
  place[length] = '\n';
  res = RegistryLine(registry, place, length);
  if (res == ResOK)
    __atomic_store_n(&sendLinesUsed, sendLinesUsed + length + 1, __ATOMIC_RELEASE);
  return res;
}

/* sendOne -- send one message to one way out.  *headlessReturn: it took a block, but not the header block before. */
static Res sendOne(Plinth plinth, const void *message, Size size, Bool *headlessReturn)
{
  Bool header = memcmp(message, HeaderMAGIC, BlockMagicSIZE) == 0;
  Res res = header ? PlinthSendHeader(plinth, message, size) : PlinthSend(plinth, message, size);

  if (header)
    __atomic_store_n(&plinth->headless, res != ResOK, __ATOMIC_RELAXED);
  else if (res == ResOK && __atomic_load_n(&plinth->headless, __ATOMIC_RELAXED))
    *headlessReturn = TRUE;
  return res;
}

/* sendAll -- send a message to every way out, and note each as a bit; ResOK if one of them took it, or there is none */
static Res sendAll(const void *message, Size size, unsigned *waysReturn, Bool *headlessReturn)
{
  Res res = ResOK;
  Bool arrived = FALSE;
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (PlinthClassOf(&EmitterPlinths[i]) != NULL) {
      Res its = sendOne(&EmitterPlinths[i], message, size, headlessReturn);
      *waysReturn |= 1u << i;
      if (its == ResOK)
        arrived = TRUE;
      else
        res = its;
    }
  return arrived ? ResOK : res;
}

/* sendOutside -- the collector knows this process by the number in the name of the region, which may differ from ours
 */
static void sendOutside(Header header, const char *path)
{
  const char *slash = strrchr(path, '/');
  RegionNameStruct name;

  if (slash != NULL && RegionNameParse(&name, slash + 1))
    HeaderOutside(header, name.pid);
}

/* sendKinds -- the kinds that are sent now, and those that were sent when there first was a way out */
static HeaderSentStruct sendKinds(Emitter emitter, uint64_t ticks)
{
  uint32_t now = (uint32_t)(__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & EVENT_KINDS);

  now |= emitter->halted;
  if (emitter->began.ticks == 0 && EmitterSends())
    emitter->began = (HeaderSentStruct){.ticks = ticks, .first = now};
  return (HeaderSentStruct){emitter->began.ticks, emitter->began.first, now};
}

static void sendHeaderFill(Emitter emitter, Scratch scratch, Bool ended)
{
  Header header = &scratch->header;
  Bool slow = EVENT_SLOW;
  Bool sent = EmitterSends(); /* what only a core will have need not cost a measurement */
  const char *region = EmitterRegion(emitter) != NULL && !ended ? emitter->shared.path : "";
  long parent = RawCall(SYS_getppid);

  memset(header, 0, offsetof(HeaderStruct, argument)); /* no pages for arguments that are not there */
  header->major = BlockMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = emitter->pid;
  header->parent = parent > 0 ? (uint32_t)parent : 0;
  sendOutside(header, emitter->shared.path);
  header->identity = emitter->identity;
  header->forked = emitter->forked;
  header->recording = ControlSettings.recording;
  header->open = ControlSettings.recording != 0 && !ended;
  header->ended = ControlSettings.recording != 0 && ended;
  header->widths.word = sizeof(Word);
  ArgumentsTake(header, emitter, scratch->text, sizeof scratch->text);
  EventClockDescribe(header->clock, sent ? &header->frequency : NULL, sent ? header->boot : NULL, slow);
  header->syncs = HeaderSyncsMAX;
  header->sync[0] = emitter->sync;
  EventClockSync(&header->sync[1], slow);
  header->sent = sendKinds(emitter, header->sync[1].ticks);
  header->gone = header->ended ? header->sync[1].ticks : 0;
  if (!sent)
    header->frequency = EventClockRate(&header->sync[0], &header->sync[1]);
  header->lost = __atomic_load_n(&emitter->lost, __ATOMIC_RELAXED);
  if (EmitterRegion(emitter) != NULL) {
    header->lost += __atomic_load_n(&EmitterRegion(emitter)->lost, __ATOMIC_RELAXED);
    HeaderForgotten(header, RegionForgotten(EmitterRegion(emitter)),
                    __atomic_load_n(&EmitterRegion(emitter)->pool.forgottenTo, __ATOMIC_RELAXED));
    header->stopped = __atomic_load_n(&EmitterRegion(emitter)->stopped, __ATOMIC_RELAXED);
  }
  header->alone = __atomic_load_n(&emitter->alone, __ATOMIC_RELAXED);
  if (strlen(region) < sizeof header->region)
    (void)strcpy(header->region, region);
}

Res SendText(const char *text, Size length)
{
  unsigned version[3], ways = 0;
  Bool headless = FALSE;
  Size its;

  return length >= BlockMagicSIZE + HeaderLineSIZE && HeaderLength(&its, version, text, length) == ResOK &&
             its == length
           ? sendAll(text, length, &ways, &headless) : ResOK;
}

/* sendLate -- when the first of those ways out was opened that were not open from the beginning; 0: there is none */
static uint64_t sendLate(Emitter emitter)
{
  Index i;

  for (i = 0; i < EmitterPlinthsMAX; ++i)
    if (emitter->begun[i] != 0 && PlinthClassOf(&EmitterPlinths[i]) != NULL)
      return emitter->begun[i];
  return 0;
}

/* sendText -- the header block as it is for logs that were opened at one time
 *
 * way      whose streams it tells of (sentcounts.c)
 * next     NULL: of none; else from which on, and then where the next one begins, or 0
 * returns  ResLIMIT: there is not so much room in the text
 */
static Res sendText(Text text, Emitter emitter, Scratch scratch, uint64_t begun, Index way, Index *next)
{
  static const char registry[] = EventRegistryTEXT;

  scratch->header.begun = begun;
  HeaderBegin(text, &scratch->header);
  if (next != NULL)
    *next = SentWrite(text, emitter, way, *next);
  TextBytes(text, registry, sizeof registry - 1);
  TextBytes(text, sendLines, __atomic_load_n(&sendLinesUsed, __ATOMIC_ACQUIRE));
  return HeaderEnd(text);
}

/* sendKeepOnce -- write the header block in the place that is not the newest's, then make that the newest.  The text is
 * locked. */
static Res sendKeepOnce(Emitter emitter, Store store, Scratch scratch, Bool leaves)
{
  static const Size sizes[] = {sendTextUSUAL, 4 * sendTextUSUAL, RegionTextSIZE};
  RegionHeader region = store->header;
  uint32_t generation = region->text.generation + 1;
  Size at = RegionTEXT + (generation & 1) * RegionTextSIZE;
  TextStruct text;
  Res res = ResLIMIT;
  Index i;

  for (i = 0; res != ResOK && i < ARRAY_LENGTH(sizes) && StoreProvide(store, at, sizes[i]); ++i) {
    Index next = 0;
    TextInit(&text, (char *)region + at, sizes[i]);
    res = sendText(&text, emitter, scratch, sendLate(emitter), EmitterPlinthsMAX, leaves ? &next : NULL);
  }
  if (res == ResOK) {
    region->text.length[generation & 1] = (uint32_t)TextLength(&text);
    __atomic_store_n(&region->text.generation, generation, __ATOMIC_RELEASE);
  }
  return res;
}

/* sendKeep -- write the header block into the region, or into private memory, where a core file has it.  The log that
 * is read with it may have been opened late.  A thread that finds another one at it leaves the work to that one, which
 * looks again when it is done: no thread waits for one that was stopped.
 * leaves  say there what was sent so far */
static Res sendKeep(Emitter emitter, Scratch scratch, Bool leaves)
{
  enum { due = 1, dueLeaves = 2 };
  Store store = EmitterRegion(emitter) != NULL ? &emitter->shared : &emitter->own[0];
  unsigned what;
  Res res = ResOK;

  if (store->header == NULL)
    return ResOK;
  (void)__atomic_fetch_or(&emitter->textDue, leaves ? due | dueLeaves : due, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&emitter->textDue, __ATOMIC_SEQ_CST) != 0 && EmitterLockText(emitter)) {
    what = __atomic_exchange_n(&emitter->textDue, 0, __ATOMIC_SEQ_CST);
    if (what != 0)
      res = sendKeepOnce(emitter, store, scratch, (what & dueLeaves) != 0);
    RawUnlock(&emitter->textLock);
  }
  return res;
}

/* sendHeaders -- the header block to every way out; for those that were opened at one time it is the same */
static Res sendHeaders(Emitter emitter, Scratch scratch)
{
  Bool arrived = FALSE, headless;
  uint64_t begun = 0;
  TextStruct text;
  Res res = ResOK;
  Index i;

  text.base = NULL;
  for (i = 0; i < EmitterPlinthsMAX; ++i) {
    Res its = ResOK;
    if (PlinthClassOf(&EmitterPlinths[i]) == NULL)
      continue;
    if (text.base == NULL || emitter->begun[i] != begun) {
      TextInit(&text, scratch->text, sizeof scratch->text);
      its = sendText(&text, emitter, scratch, begun = emitter->begun[i], i, NULL);
    }
    if (its == ResOK)
      its = sendOne(&EmitterPlinths[i], scratch->text, TextLength(&text), &headless);
    else
      text.base = NULL;
    arrived |= its == ResOK;
    res = its != ResOK ? its : res;
  }
  return arrived ? ResOK : res;
}

/* sendHeader -- the header block, into the region and to every way out
 *
 * leaves  what was sent so far is said in the region
 * ways    FALSE: it goes to the region only */
static Res sendHeader(Emitter emitter, Bool leaves, Bool ways)
{
  Scratch scratch = scratchTake(emitter);
  Res res;

  if (scratch == NULL)
    return ResMEMORY;
  sendHeaderFill(emitter, scratch, FALSE);
  res = sendKeep(emitter, scratch, leaves);
  if (ways && EmitterOpen()) {
    SentPrepare(emitter);
    res = sendHeaders(emitter, scratch);
    if (res == ResOK)
      __atomic_store_n(&emitter->lostTold, scratch->header.lost, __ATOMIC_RELAXED);
  }
  /* Where it could not be sent, the next block tries again. */
  if (ways)
    __atomic_store_n(&emitter->unheaded, res == ResOK ? 0 : sendHeaderEvery + 1, __ATOMIC_RELAXED);
  scratchGive(emitter, scratch);
  return res;
}

Res SendHeader(Emitter emitter)
{
  return sendHeader(emitter, FALSE, TRUE);
}

Res SendLeave(Emitter emitter, Bool ways)
{
  return sendHeader(emitter, TRUE, ways);
}

/* sendEnd -- the last header block, or as many as hold all streams, to one way out */
static Res sendEnd(Emitter emitter, Scratch scratch, Index way)
{
  Index next = 0;
  TextStruct text;
  Bool headless;
  Res res;

  scratch->header.streams = SentStreams(emitter, way);
  do {
    TextInit(&text, scratch->text, sizeof scratch->text);
    res = sendText(&text, emitter, scratch, emitter->begun[way], way, &next);
    if (res == ResOK)
      res = sendOne(&EmitterPlinths[way], scratch->text, TextLength(&text), &headless);
  } while (res == ResOK && next != 0);
  return res;
}

Res SendEnd(Emitter emitter)
{
  Scratch scratch = scratchTake(emitter);
  Res file = ResOK, other = ResOK;
  Bool arrived = FALSE;
  Index i;

  if (scratch == NULL)
    return ResMEMORY;
  sendHeaderFill(emitter, scratch, TRUE);
  for (i = 0; i < EmitterPlinthsMAX; ++i) {
    const PlinthClassStruct *class = PlinthClassOf(&EmitterPlinths[i]);
    Res its = class != NULL ? sendEnd(emitter, scratch, i) : ResOK;
    arrived |= class != NULL && its == ResOK;
    if (its != ResOK)
      *(class == &PlinthClassFile ? &file : &other) = its;
  }
  __atomic_store_n(&emitter->unheaded, sendHeaderEvery + 1, __ATOMIC_RELAXED);
  scratchGive(emitter, scratch);
  return file != ResOK || arrived ? file : other;
}

/* sendPack -- pack the block's events behind the header in `out`; FALSE: some are pending */
static Bool sendPack(Size *packedReturn, Scratch scratch, BlockHeader block, BlockTally tally)
{
  Count count;

  *packedReturn = BlockPack((Pack)(void *)scratch->pack, SendRegistry(), block + 1, tally->used, block->first,
                            scratch->out + BlockHeaderSIZE, &count);
  if (tally->count == SendCountUNKNOWN) {
    if (*packedReturn == 0 && tally->used > 0)
      return FALSE;
    tally->count = count;
  }
  return TRUE;
}

/* sendSeal -- the block as a message in `out`; its size, or 0 if something in it is pending */
static Size sendSeal(Scratch scratch, BlockHeader block, BlockTally tally, unsigned flags)
{
  BlockHeader header = (BlockHeader)(void *)scratch->out;
  /* A block that another program left has that program's types. */
  Bool raw = ControlSettings.raw || (flags & BlockFlagRECOVERED) != 0;
  Size packed = 0;

  *header = *block;
  header->flags = (uint8_t)(flags | BlockFlagSEALED | (block->flags & BlockFlagCPU));
  if (!raw && !sendPack(&packed, scratch, block, tally))
    return 0;
  header->used = (uint32_t)tally->used;
  header->count = (uint32_t)tally->count;
  header->mono = EventClockMonotonic();
  header->last = EventClock(EVENT_SLOW);
  if (header->last < tally->last)
    header->last = tally->last;
  BlockSeal(header, scratch->out + BlockHeaderSIZE, packed, block + 1);
  return header->size;
}

/* sendCount -- the count, where packing will not find it; FALSE: something in the block is pending, perhaps what
 * stands last, of which no event behind it tells */
static Bool sendCount(BlockHeader block, BlockTally tally)
{
  Size reserved = tally->used;

  if (tally->count != SendCountUNKNOWN)
    return TRUE;
  BlockWalk(tally, (char *)block + BlockHeaderSIZE, reserved, block->first, FALSE);
  return tally->pending == 0 && tally->used == reserved;
}

/* sendOverwrites -- the flags of a stream of which earlier blocks may have been overwritten, as was asked for, though
 * not the one before this if that was sent */
static unsigned sendOverwrites(Emitter emitter, BlockHeader block)
{
  RegionHeader region = EmitterRegion(emitter);

  if (region == NULL || !RegionOverwrites(region, block))
    return 0;
  return block->process == emitter->identity && block->sequence > 0 &&
             SentIs(emitter, block->stream, block->sequence - 1)
           ? BlockFlagUNSENT | BlockFlagBEHIND : BlockFlagUNSENT;
}

/* sendOut -- a sealed block, to every way out, and to the collector's log `held`, if that is not NULL */
static Res sendOut(Emitter emitter, BlockHeader header, Plinth held)
{
  unsigned ways = 0;
  Bool headless = FALSE, open = EmitterOpen();
  Res res = open ? sendAll(header, header->size, &ways, &headless) : ResIO;

  /* A block that the collector has no room for goes to its log, which has the header. */
  if (held != NULL && PlinthSend(held, header, header->size) == ResOK)
    res = ResOK;
  if (res == ResOK && header->process == emitter->identity && (header->flags & BlockFlagSNAPSHOT) == 0)
    SentNote(emitter, header, ways);
  (void)__atomic_fetch_add(&emitter->unheaded, header->size, __ATOMIC_RELAXED);
  /* What refused the header, while another way out took it, takes messages again. */
  if (headless)
    (void)SendHeader(emitter);
  return res;
}

Res SendBlock(Emitter emitter, BlockHeader block, BlockTally tally, unsigned flags)
{
  Plinth held = EmitterCollected(emitter) && (flags & SendBESIDE) == 0 ? GrantLog() : NULL;
  Bool open = EmitterOpen();
  Scratch scratch;
  Size size;
  Res res;

  AVER(tally->used <= BlockMAX - BlockHeaderSIZE);
  if ((ControlSettings.raw || !(open || held != NULL)) && !sendCount(block, tally))
    return ResFAIL;
  /* Where a way out is expected, and there is none, the block has to stay. */
  if (!open && held == NULL)
    return EmitterSends() ? ResIO : ResOK;
  if (open && __atomic_load_n(&emitter->unheaded, __ATOMIC_RELAXED) > sendHeaderEvery)
    (void)SendHeader(emitter);
  scratch = scratchTake(emitter);
  if (scratch == NULL)
    return sendCount(block, tally) ? ResMEMORY : ResFAIL;
  size = sendSeal(scratch, block, tally, (flags & ~(unsigned)SendBESIDE) | sendOverwrites(emitter, block));
  res = size == 0 ? ResFAIL : sendOut(emitter, (BlockHeader)(void *)scratch->out, held);
  scratchGive(emitter, scratch);
  return res;
}
