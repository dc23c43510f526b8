/* send.c -- from blocks in memory to messages on the plinths
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/send.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/text.h"
#include "emit/control.h"
#include "emit/sentcounts.h"
#include "format/header.h"
#include "format/pack.h"
#include "handover/collectorsocket.h"
#include "plinth/rawsyscall.h"

enum {
  sendHeaderEvery = 4 << 20,  /* bytes between two header blocks */
  sendTextSIZE = 256 << 10,   /* room for a header block */
  sendTextUSUAL = 12 << 10,   /* and for most */
  sendTypesMAX = 1024,        /* registered and defined at run time */
  sendPage = 4096,
  sendMoment = 1000000        /* ns that another thread is waited for which parses the types */
};


/* Working memory of one sending at a time.  It lies in a mapping of its own: stacks of threads and signal handlers
 * are small. */
typedef struct ScratchStruct {
  HeaderStruct header;
  char text[sendTextSIZE];
  uint8_t out[BlockHeaderSIZE + BlockRestMAX + PackSlackSIZE];
  uint64_t pack[]; /* PackSIZE bytes */
} ScratchStruct, *Scratch;

static Bool sendRaw;

void SendSetRaw(Bool raw)
{
  sendRaw = raw;
}

static Size scratchSize(void)
{
  return WordAlignUp(sizeof(ScratchStruct) + PackSIZE, sendPage);
}

/* scratchTake -- working memory that nobody else uses; NULL if there is none */
static Scratch scratchTake(Process process)
{
  Index i;

  if (scratchSize() <= ProcessWorkingSIZE && __atomic_exchange_n(&process->working, 1, __ATOMIC_ACQUIRE) == 0)
    return ProcessWorking(process);
  for (i = 0; i < ProcessScratches; ++i) {
    Scratch scratch = __atomic_exchange_n(&process->scratch[i], NULL, __ATOMIC_ACQUIRE);
    if (scratch != NULL)
      return scratch;
  }
  return RawMap(scratchSize(), sendPage);
}

static void scratchGive(Process process, Scratch scratch)
{
  Index i;

  if (scratch == ProcessWorking(process)) {
    __atomic_store_n(&process->working, 0, __ATOMIC_RELEASE);
    return;
  }
  for (i = 0; i < ProcessScratches; ++i) {
    Scratch none = NULL;
    if (__atomic_compare_exchange_n(&process->scratch[i], &none, scratch, FALSE, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
  RawUnmap(scratch, scratchSize());
}

/* The types.  Parsed once, by who needs them first: where a collector packs, or nothing is sent, that is nobody.  Types
 * that are added later are seen by whoever looks for them. */
typedef struct SendTypesStruct {
  RegistryStruct registry;
  EventTypeStruct room[sendTypesMAX];
} SendTypesStruct;

static SendTypesStruct sendTypesFirst LARGE;
static unsigned sendTypesTaken; /* the process of which a thread has taken that to parse in; 0: none has */
static Registry sendTypes;      /* what all use; NULL: nobody has parsed yet */
static char sendLines[sendTextSIZE / 2] LARGE; /* of types defined at run time; touched as far as it is used */
static Size sendLinesUsed;

/* sendTypesRoom -- memory to parse in.  Who comes while another thread parses, which may have been stopped, gets memory
 * of its own; NULL: there is none.  A child of fork begins anew with what another thread of its parent had begun. */
static SendTypesStruct *sendTypesRoom(void)
{
  unsigned self = RawPid();

  if (__atomic_exchange_n(&sendTypesTaken, self, __ATOMIC_RELAXED) != self)
    return &sendTypesFirst;
  return RawMap(sizeof(SendTypesStruct), sendPage);
}

/* sendParse -- the registry's text; whoever is the first to be ready gives the types that all use */
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
  long moment[2] = {0, sendMoment};
  SendTypesStruct *types;
  RawMaskStruct mask;
  Registry registry;

  registry = __atomic_load_n(&sendTypes, __ATOMIC_ACQUIRE);
  if (LIKELY(registry != NULL))
    return registry;
  RawBegin(&mask);
  while ((registry = __atomic_load_n(&sendTypes, __ATOMIC_ACQUIRE)) == NULL) {
    types = sendTypesRoom();
    if (types != NULL)
      sendParse(types);
    else /* no memory: another thread parses already, or memory comes back */
      (void)RawCall(SYS_nanosleep, moment, NULL);
  }
  RawEnd(&mask);
  return registry;
}

Res SendDefine(const char *line, Size length)
{
  Registry registry = SendRegistry();
  char *place = sendLines + sendLinesUsed;
  Res res;

  if (length + 1 > sizeof sendLines - sendLinesUsed)
    return ResLIMIT;
  memcpy(place, line, length);
  place[length] = '\n';
  res = RegistryLine(registry, place, length);
  if (res == ResOK)
    __atomic_store_n(&sendLinesUsed, sendLinesUsed + length + 1, __ATOMIC_RELEASE);
  return res;
}

/* sendOne -- one message to one way out.  *headlessReturn: it took a block without having its header. */
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

/* sendAll -- a block to every way out, as bits; ResOK if one of them took it, or there is none */
static Res sendAll(const void *message, Size size, unsigned *waysReturn, Bool *headlessReturn)
{
  Res res = ResOK;
  Bool arrived = FALSE;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL) {
      Res its = sendOne(&ProcessPlinths[i], message, size, headlessReturn);
      *waysReturn |= 1u << i;
      if (its == ResOK)
        arrived = TRUE;
      else
        res = its;
    }
  return arrived ? ResOK : res;
}

/* sendHeld -- a block that the collector has no room for goes to its log, which has the header */
static Res sendHeld(const void *message, Size size)
{
  Plinth log = HandLog();

  return log != NULL ? PlinthSend(log, message, size) : ResIO;
}

/* What the program was called with, and in which process that was looked up. */
static struct {
  uint32_t pid;
  Bool asked;           /* the system, what program this is */
  Count arguments;
  char program[HeaderTextMAX], argument[HeaderArgumentsMAX][HeaderTextMAX];
} sendCalled LARGE;

/* sendArgument -- one more of what the program was called with */
static void sendArgument(Index i, const char *argument, Size length)
{
  Size kept = length < HeaderTextMAX - 1 ? length : HeaderTextMAX - 1;

  if (i >= HeaderArgumentsMAX)
    return;
  memcpy(sendCalled.argument[i], argument, kept);
  sendCalled.argument[i][kept] = '\0';
}

/* sendProgram -- what runs: as the system knows it; but where only a core will have that, as it was called, for to ask
 * costs as much as all else that a short process pays for being looked up */
static void sendProgram(Bool ask)
{
  const char *called = ask || ProcessArguments == NULL ? NULL : RawProgramCalled();
  const char *program = called != NULL ? called : RawProgram();
  Size length = strnlen(program, HeaderTextMAX - 1);

  memcpy(sendCalled.program, program, length);
  sendCalled.program[length] = '\0';
  sendCalled.asked = called == NULL;
}

/* sendLookUp -- all of them: as libc knows them, or else from the system, with `room` to read them into */
static void sendLookUp(char *room, Size size)
{
  char *const *argument = ProcessArguments;
  Size length, at, its;
  Count count = 0;

  if (argument != NULL) {
    for (; argument[count] != NULL; ++count)
      sendArgument(count, argument[count], strlen(argument[count]));
  } else {
    length = RawReadFile("/proc/self/cmdline", room, size);
    for (at = 0; at < length; at += its + 1) {
      its = strnlen(room + at, length - at);
      sendArgument(count++, room + at, its);
    }
  }
  sendCalled.arguments = count;
}

/* sendArguments -- the same for a header.  It is looked up at the process's beginning and at its end only, when one
 * thread is here: a descriptor that is opened in between may have a number that the program counts on. */
static void sendArguments(Process process, Header header, char *room, Size size)
{
  Bool ask = ProcessRegion(process) != NULL || ProcessSends(), again = sendCalled.pid != process->pid || header->ended;
  Index i;

  if (again)
    sendLookUp(room, size);
  if (again || (ask && !sendCalled.asked))
    sendProgram(ask);
  sendCalled.pid = process->pid;
  header->arguments = sendCalled.arguments;
  (void)strcpy(header->program, sendCalled.program);
  for (i = 0; i < header->arguments && i < HeaderArgumentsMAX; ++i)
    (void)strcpy(header->argument[i], sendCalled.argument[i]);
}

/* sendRate -- ticks a second, from two moments; rough if they are close */
static uint64_t sendRate(const SyncStruct *begin, const SyncStruct *end)
{
  return end->mono <= begin->mono
             ? 1000000000
             : (uint64_t)((double)(end->ticks - begin->ticks) * 1e9 / (double)(end->mono - begin->mono));
}

/* sendOutside -- who collects numbers us as it has called our region */
static void sendOutside(Header header, const char *path)
{
  const char *slash = strrchr(path, '/');
  RegionNameStruct name;

  if (slash != NULL && RegionNameParse(&name, slash + 1))
    HeaderOutside(header, name.pid);
}

/* sendKinds -- which kinds are sent, now and when there was first somewhere to send */
static HeaderSentStruct sendKinds(Process process, uint64_t ticks)
{
  uint32_t now = (uint32_t)__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) & (((uint32_t)1 << EventKindLIMIT) - 1);

  now |= process->halted;
  if (process->began.ticks == 0 && ProcessSends())
    process->began = (HeaderSentStruct){.ticks = ticks, .first = now};
  return (HeaderSentStruct){process->began.ticks, process->began.first, now};
}

static void sendHeaderFill(Process process, Scratch scratch, Bool ended)
{
  Header header = &scratch->header;
  Bool slow = EVENT_SLOW;
  Bool sent = ProcessSends(); /* what only a core will have need not cost a measurement */
  const char *region = ProcessRegion(process) != NULL && !ended ? process->shared.path : "";
  long parent = RawCall(SYS_getppid);

  memset(header, 0, offsetof(HeaderStruct, argument)); /* no pages for arguments that are not there */
  header->major = BlockMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = process->pid;
  header->parent = parent > 0 ? (uint32_t)parent : 0;
  sendOutside(header, process->shared.path);
  header->identity = process->identity;
  header->forked = process->forked;
  header->recording = ControlSettings.recording;
  header->open = ControlSettings.recording != 0 && !ended;
  header->ended = ControlSettings.recording != 0 && ended;
  header->widths.word = sizeof(Word);
  sendArguments(process, header, scratch->text, sizeof scratch->text);
  EventClockDescribe(header->clock, sent ? &header->frequency : NULL, sent ? header->boot : NULL, slow);
  header->syncs = HeaderSyncsMAX;
  header->sync[0] = process->sync;
  EventClockSync(&header->sync[1], slow);
  header->sent = sendKinds(process, header->sync[1].ticks);
  header->gone = header->ended ? header->sync[1].ticks : 0;
  if (!sent)
    header->frequency = sendRate(&header->sync[0], &header->sync[1]);
  header->lost = __atomic_load_n(&process->lost, __ATOMIC_RELAXED);
  if (ProcessRegion(process) != NULL) {
    header->lost += __atomic_load_n(&ProcessRegion(process)->lost, __ATOMIC_RELAXED);
    HeaderForgotten(header, RegionForgotten(ProcessRegion(process)),
                    __atomic_load_n(&ProcessRegion(process)->pool.forgottenTo, __ATOMIC_RELAXED));
    header->stopped = __atomic_load_n(&ProcessRegion(process)->stopped, __ATOMIC_RELAXED);
  }
  header->alone = __atomic_load_n(&process->alone, __ATOMIC_RELAXED);
  if (strlen(region) < sizeof header->region)
    (void)strcpy(header->region, region);
}

Res SendText(const char *text, Size length)
{
  unsigned version[3], ways = 0;
  Bool headless = FALSE;
  Size its;

  return length >= BlockMagicSIZE + HeaderLineSIZE && HeaderLength(&its, version, text, length) == ResOK && its == length
           ? sendAll(text, length, &ways, &headless) : ResOK;
}

/* sendLate -- when the first of the ways out was opened that were opened late; 0: none was */
static uint64_t sendLate(Process process)
{
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (process->begun[i] != 0 && PlinthClassOf(&ProcessPlinths[i]) != NULL)
      return process->begun[i];
  return 0;
}

/* sendText -- the header block as it is for logs that were opened at one time
 *
 * way      whose streams it tells of (sentcounts.h)
 * next     NULL: of none; else from which on, and then where the next one begins, or 0
 * returns  ResLIMIT: there is not so much room in the text
 */
static Res sendText(Text text, Process process, Scratch scratch, uint64_t begun, Index way, Index *next)
{
  static const char registry[] = EventRegistryTEXT;

  scratch->header.begun = begun;
  HeaderBegin(text, &scratch->header);
  if (next != NULL)
    *next = SentWrite(text, process, way, *next);
  TextBytes(text, registry, sizeof registry - 1);
  TextBytes(text, sendLines, __atomic_load_n(&sendLinesUsed, __ATOMIC_ACQUIRE));
  return HeaderEnd(text);
}

/* sendKeepOnce -- write the header block in the place that is not the newest's, then make that the newest.  The text is
 * locked. */
static Res sendKeepOnce(Process process, Store store, Scratch scratch, Bool leaves)
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
    res = sendText(&text, process, scratch, sendLate(process), ProcessPlinthsMAX, leaves ? &next : NULL);
  }
  if (res == ResOK) {
    region->text.length[generation & 1] = (uint32_t)TextLength(&text);
    __atomic_store_n(&region->text.generation, generation, __ATOMIC_RELEASE);
  }
  return res;
}

/* sendKeep -- have the header block where whoever has the region finds it; in private memory a core has it.  Whoever
 * finds it may have a log that was opened late.  Who finds another thread at it leaves it to that one, which looks again
 * when it is through: nobody waits for one that has been stopped.
 * leaves  what was sent so far is said there */
static Res sendKeep(Process process, Scratch scratch, Bool leaves)
{
  enum { due = 1, dueLeaves = 2 };
  Store store = ProcessRegion(process) != NULL ? &process->shared : &process->own[0];
  unsigned what;
  Res res = ResOK;

  if (store->header == NULL)
    return ResOK;
  (void)__atomic_fetch_or(&process->textDue, leaves ? due | dueLeaves : due, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&process->textDue, __ATOMIC_SEQ_CST) != 0 && ProcessLockText(process)) {
    what = __atomic_exchange_n(&process->textDue, 0, __ATOMIC_SEQ_CST);
    if (what != 0)
      res = sendKeepOnce(process, store, scratch, (what & dueLeaves) != 0);
    ProcessUnlockText(process);
  }
  return res;
}

/* sendHeaders -- the header block to every way out; for those that were opened at one time it is the same */
static Res sendHeaders(Process process, Scratch scratch)
{
  Bool arrived = FALSE, headless;
  uint64_t begun = 0;
  TextStruct text;
  Res res = ResOK;
  Index i;

  text.base = NULL;
  for (i = 0; i < ProcessPlinthsMAX; ++i) {
    Res its = ResOK;
    if (PlinthClassOf(&ProcessPlinths[i]) == NULL)
      continue;
    if (text.base == NULL || process->begun[i] != begun) {
      TextInit(&text, scratch->text, sizeof scratch->text);
      its = sendText(&text, process, scratch, begun = process->begun[i], i, NULL);
    }
    if (its == ResOK)
      its = sendOne(&ProcessPlinths[i], scratch->text, TextLength(&text), &headless);
    else
      text.base = NULL;
    arrived |= its == ResOK;
    res = its != ResOK ? its : res;
  }
  return arrived ? ResOK : res;
}

/* sendHeader -- SendHeader, or SendLeave */
static Res sendHeader(Process process, Bool leaves)
{
  Scratch scratch = scratchTake(process);
  Res res;

  if (scratch == NULL)
    return ResMEMORY;
  sendHeaderFill(process, scratch, FALSE);
  res = sendKeep(process, scratch, leaves);
  if (ProcessOpen()) {
    SentPrepare(process);
    res = sendHeaders(process, scratch);
    if (res == ResOK)
      __atomic_store_n(&process->lostTold, scratch->header.lost, __ATOMIC_RELAXED);
  }
  /* Where it could not be sent, the next block tries again. */
  __atomic_store_n(&process->unheaded, res == ResOK ? 0 : sendHeaderEvery + 1, __ATOMIC_RELAXED);
  scratchGive(process, scratch);
  return res;
}

Res SendHeader(Process process)
{
  return sendHeader(process, FALSE);
}

Res SendLeave(Process process)
{
  return sendHeader(process, TRUE);
}

void SendStay(Process process)
{
  Scratch scratch = scratchTake(process);

  if (scratch == NULL)
    return;
  sendHeaderFill(process, scratch, FALSE);
  (void)sendKeep(process, scratch, TRUE);
  scratchGive(process, scratch);
}

/* sendEnd -- the last header block, or as many as hold all streams, to one way out */
static Res sendEnd(Process process, Scratch scratch, Index way)
{
  Index next = 0;
  TextStruct text;
  Bool headless;
  Res res;

  scratch->header.streams = SentStreams(process, way);
  do {
    TextInit(&text, scratch->text, sizeof scratch->text);
    res = sendText(&text, process, scratch, process->begun[way], way, &next);
    if (res == ResOK)
      res = sendOne(&ProcessPlinths[way], scratch->text, TextLength(&text), &headless);
  } while (res == ResOK && next != 0);
  return res;
}

Res SendEnd(Process process)
{
  Scratch scratch = scratchTake(process);
  Res file = ResOK, other = ResOK;
  Bool arrived = FALSE;
  Index i;

  if (scratch == NULL)
    return ResMEMORY;
  sendHeaderFill(process, scratch, TRUE);
  for (i = 0; i < ProcessPlinthsMAX; ++i) {
    const PlinthClassStruct *class = PlinthClassOf(&ProcessPlinths[i]);
    Res its = class != NULL ? sendEnd(process, scratch, i) : ResOK;
    arrived |= class != NULL && its == ResOK;
    if (its != ResOK)
      *(class == &PlinthClassFile ? &file : &other) = its;
  }
  __atomic_store_n(&process->unheaded, sendHeaderEvery + 1, __ATOMIC_RELAXED);
  scratchGive(process, scratch);
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
  /* What another program left behind has its own types. */
  Bool raw = sendRaw || (flags & BlockFlagRECOVERED) != 0;
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

/* sendOverwrites -- the flags of a stream of which earlier blocks may have been overwritten, as was asked for, though not
 * the one before this if that was sent */
static unsigned sendOverwrites(Process process, BlockHeader block)
{
  RegionHeader region = ProcessRegion(process);

  if (region == NULL || !RegionOverwrites(region, block))
    return 0;
  return block->process == process->identity && block->sequence > 0 && SentIs(process, block->stream, block->sequence - 1)
           ? BlockFlagUNSENT | BlockFlagBEHIND : BlockFlagUNSENT;
}

/* sendOut -- a sealed block, to where it is to go */
static Res sendOut(Process process, BlockHeader header, Bool held)
{
  unsigned ways = 0;
  Bool headless = FALSE, open = ProcessOpen();
  Res res = open ? sendAll(header, header->size, &ways, &headless) : ResIO;

  if (held && sendHeld(header, header->size) == ResOK)
    res = ResOK;
  if (res == ResOK && header->process == process->identity && (header->flags & BlockFlagSNAPSHOT) == 0)
    SentNote(process, header, ways);
  (void)__atomic_fetch_add(&process->unheaded, header->size, __ATOMIC_RELAXED);
  /* What refused the header, while another way out took it, takes messages again. */
  if (headless)
    (void)SendHeader(process);
  return res;
}

Res SendBlock(Process process, BlockHeader block, BlockTally tally, unsigned flags)
{
  Bool open = ProcessOpen(), held = ProcessCollected(process) && (flags & SendBESIDE) == 0 && HandLog() != NULL;
  Scratch scratch;
  Size size;
  Res res;

  if ((sendRaw || !(open || held)) && !sendCount(block, tally))
    return ResFAIL;
  /* Where a way out is expected, and there is none, the block has to stay. */
  if (!open && !held)
    return ProcessSends() ? ResIO : ResOK;
  if (open && __atomic_load_n(&process->unheaded, __ATOMIC_RELAXED) > sendHeaderEvery)
    (void)SendHeader(process);
  scratch = scratchTake(process);
  if (scratch == NULL)
    return sendCount(block, tally) ? ResMEMORY : ResFAIL;
  size = sendSeal(scratch, block, tally, (flags & ~(unsigned)SendBESIDE) | sendOverwrites(process, block));
  res = size == 0 ? ResFAIL : sendOut(process, (BlockHeader)(void *)scratch->out, held);
  scratchGive(process, scratch);
  return res;
}
