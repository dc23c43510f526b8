/* send.c -- from blocks in memory to messages on the plinths
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emit/send.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/text.h"
#include "format/header.h"
#include "format/pack.h"
#include "plinth/quiet.h"

enum {
  sendHeaderEvery = 4 << 20,  /* bytes between two header blocks */
  sendTextSIZE = 256 << 10,   /* room for a header block */
  sendTypesMAX = 1024,        /* registered and defined at run time */
  sendPage = 4096
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

  for (i = 0; i < ProcessScratches; ++i) {
    Scratch scratch = __atomic_exchange_n(&process->scratch[i], NULL, __ATOMIC_ACQUIRE);
    if (scratch != NULL)
      return scratch;
  }
  return QuietMap(scratchSize(), sendPage);
}

static void scratchGive(Process process, Scratch scratch)
{
  Index i;

  for (i = 0; i < ProcessScratches; ++i) {
    Scratch none = NULL;
    if (__atomic_compare_exchange_n(&process->scratch[i], &none, scratch, FALSE, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
  QuietUnmap(scratch, scratchSize());
}

/* The types.  Parsed once, before the first block goes out; types that are added later are seen by whoever looks for
 * them. */
static RegistryStruct sendTypes;
static EventTypeStruct sendTypeRoom[sendTypesMAX];
static char sendLines[sendTextSIZE / 2]; /* of types defined at run time; touched as far as it is used */
static Size sendLinesUsed;
static unsigned sendTypesState; /* 0: not parsed; 1: being parsed; 2: ready */

Registry SendRegistry(void)
{
  unsigned none = 0;

  if (__atomic_load_n(&sendTypesState, __ATOMIC_ACQUIRE) == 2)
    return &sendTypes;
  if (__atomic_compare_exchange_n(&sendTypesState, &none, 1, FALSE, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    static const char text[] = EventRegistryTEXT;
    WidthsStruct widths = {sizeof(Word), FALSE};
    RegistryInit(&sendTypes, sendTypeRoom, sendTypesMAX, widths);
    AVER(RegistryText(&sendTypes, text, sizeof text - 1) == ResOK);
    __atomic_store_n(&sendTypesState, 2, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&sendTypesState, __ATOMIC_ACQUIRE) != 2)
    (void)sched_yield();
  return &sendTypes;
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

/* sendAll -- one message to every way out; ResOK if one of them took it, or there is none */
static Res sendAll(const void *message, Size size, Bool *headlessReturn)
{
  Res res = ResOK;
  Bool arrived = FALSE;
  Index i;

  for (i = 0; i < ProcessPlinthsMAX; ++i)
    if (PlinthClassOf(&ProcessPlinths[i]) != NULL) {
      Res its = sendOne(&ProcessPlinths[i], message, size, headlessReturn);
      if (its == ResOK)
        arrived = TRUE;
      else
        res = its;
    }
  return arrived ? ResOK : res;
}

/* sendArguments -- what the program was called with */
static void sendArguments(Header header, char *room, Size size)
{
  Size length = QuietReadFile("/proc/self/cmdline", room, size), at = 0;
  long linked = QuietCall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", header->program, sizeof header->program - 1);

  header->program[linked > 0 ? linked : 0] = '\0';
  header->arguments = 0;
  while (at < length) {
    Size its = strnlen(room + at, length - at);
    if (header->arguments < HeaderArgumentsMAX) {
      Size kept = its < HeaderTextMAX - 1 ? its : HeaderTextMAX - 1;
      memcpy(header->argument[header->arguments], room + at, kept);
      header->argument[header->arguments][kept] = '\0';
    }
    ++header->arguments;
    at += its + 1;
  }
}

/* sendRate -- ticks a second, from two moments; rough if they are close */
static uint64_t sendRate(const SyncStruct *begin, const SyncStruct *end)
{
  return end->mono <= begin->mono
             ? 1000000000
             : (uint64_t)((double)(end->ticks - begin->ticks) * 1e9 / (double)(end->mono - begin->mono));
}

static void sendHeaderFill(Process process, Scratch scratch)
{
  Header header = &scratch->header;
  Bool slow = EVENT_SLOW;
  Bool sent = ProcessSends(); /* what only a core will have need not cost a measurement */
  Size length = strlen(process->shared.path);

  memset(header, 0, sizeof *header);
  header->major = BlockMAJOR;
  header->median = EventVersionMEDIAN;
  header->minor = EventVersionMINOR;
  header->pid = process->pid;
  header->parent = (uint32_t)getppid();
  header->identity = process->identity;
  header->widths.word = sizeof(Word);
  sendArguments(header, scratch->text, sizeof scratch->text);
  EventClockDescribe(header->clock, sent ? &header->frequency : NULL, header->boot, slow);
  header->syncs = HeaderSyncsMAX;
  header->sync[0] = process->sync;
  EventClockSync(&header->sync[1], slow);
  if (!sent)
    header->frequency = sendRate(&header->sync[0], &header->sync[1]);
  header->lost = __atomic_load_n(&process->lost, __ATOMIC_RELAXED);
  if (ProcessRegion(process) != NULL)
    header->lost += __atomic_load_n(&ProcessRegion(process)->lost, __ATOMIC_RELAXED);
  if (length < sizeof header->region)
    memcpy(header->region, process->shared.path, length);
}

/* sendKeep -- put the header block where whoever has the region finds it: the place that is not the newest's, then make
 * that the newest; in private memory a core has it */
static Res sendKeep(Process process, const char *header, Size length)
{
  Store store = ProcessRegion(process) != NULL ? &process->shared : &process->own;
  RegionHeader region = store->header;
  uint32_t generation;
  Size at;
  Res res = ResOK;

  if (region == NULL)
    return ResOK;
  while (__atomic_exchange_n(&region->text.lock, 1, __ATOMIC_ACQUIRE) != 0)
    (void)sched_yield();
  generation = region->text.generation + 1;
  at = RegionTEXT + (generation & 1) * RegionTextSIZE;
  if (length > RegionTextSIZE || !StoreProvide(store, at, length)) {
    res = ResLIMIT;
  } else {
    memcpy((char *)region + at, header, length);
    region->text.length[generation & 1] = (uint32_t)length;
    __atomic_store_n(&region->text.generation, generation, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&region->text.lock, 0, __ATOMIC_RELEASE);
  return res;
}

Res SendHeader(Process process)
{
  static const char registry[] = EventRegistryTEXT;
  Scratch scratch = scratchTake(process);
  Bool headless = FALSE;
  TextStruct text;
  Res res;

  if (scratch == NULL)
    return ResMEMORY;
  sendHeaderFill(process, scratch);
  TextInit(&text, scratch->text, sizeof scratch->text);
  HeaderBegin(&text, &scratch->header);
  TextBytes(&text, registry, sizeof registry - 1);
  TextBytes(&text, sendLines, __atomic_load_n(&sendLinesUsed, __ATOMIC_ACQUIRE));
  res = HeaderEnd(&text);
  if (res == ResOK)
    res = sendKeep(process, scratch->text, TextLength(&text));
  if (ProcessOpen() && !text.overflow)
    res = sendAll(scratch->text, TextLength(&text), &headless);
  /* Where it could not be sent, the next block tries again. */
  __atomic_store_n(&process->unheaded, res == ResOK ? 0 : sendHeaderEvery + 1, __ATOMIC_RELAXED);
  scratchGive(process, scratch);
  return res;
}

/* sendRest -- the block's events as they go out, packed if that makes them less; FALSE: some are pending */
static Bool sendRest(Scratch scratch, BlockHeader header, const void *events, BlockTally tally, Bool raw)
{
  uint8_t *rest = scratch->out + BlockHeaderSIZE;
  Count count;

  header->rest = 0;
  if (!raw) {
    header->rest = (uint32_t)BlockPack((Pack)(void *)scratch->pack, SendRegistry(), events, tally->used, header->first,
                                       rest, &count);
    if (tally->count == SendCountUNKNOWN) {
      if (header->rest == 0 && tally->used > 0)
        return FALSE;
      tally->count = count;
    }
  }
  if (header->rest > 0 && header->rest < tally->used) {
    header->flags |= BlockFlagPACKED;
  } else {
    header->rest = (uint32_t)tally->used;
    memcpy(rest, events, tally->used);
  }
  header->restCrc = Crc32c(0, rest, header->rest);
  return TRUE;
}

/* sendSeal -- the block as a message in `out`; its size, or 0 if something in it is pending */
static Size sendSeal(Scratch scratch, BlockHeader block, BlockTally tally, unsigned flags)
{
  BlockHeader header = (BlockHeader)(void *)scratch->out;
  /* What another program left behind has its own types. */
  Bool raw = sendRaw || (flags & BlockFlagRECOVERED) != 0;

  *header = *block;
  header->flags = (uint8_t)(flags | BlockFlagSEALED);
  if (!sendRest(scratch, header, (const char *)block + BlockHeaderSIZE, tally, raw))
    return 0;
  header->used = (uint32_t)tally->used;
  header->count = (uint32_t)tally->count;
  header->cpuLast = (uint16_t)sched_getcpu();
  header->mono = EventClockMonotonic();
  header->last = EventClock(EVENT_SLOW);
  if (header->last < tally->last)
    header->last = tally->last;
  header->size = BlockHeaderSIZE + header->rest;
  BlockHeaderSeal(header);
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

/* sendOverwrites -- the flag of a stream of which earlier blocks may have been overwritten, as was asked for */
static unsigned sendOverwrites(Process process, BlockHeader block)
{
  RegionHeader region = ProcessRegion(process);

  return region != NULL && RegionOverwrites(region, block) ? BlockFlagUNSENT : 0;
}

Res SendBlock(Process process, BlockHeader block, BlockTally tally, unsigned flags)
{
  Bool sends = ProcessOpen(), headless = FALSE;
  Scratch scratch;
  Size size;
  Res res;

  if ((sendRaw || !sends) && !sendCount(block, tally))
    return ResFAIL;
  if (!sends)
    return ResOK;
  if (__atomic_load_n(&process->unheaded, __ATOMIC_RELAXED) > sendHeaderEvery)
    (void)SendHeader(process);
  scratch = scratchTake(process);
  if (scratch == NULL)
    return sendCount(block, tally) ? ResMEMORY : ResFAIL;
  size = sendSeal(scratch, block, tally, flags | sendOverwrites(process, block));
  res = size == 0 ? ResFAIL : sendAll(scratch->out, size, &headless);
  (void)__atomic_fetch_add(&process->unheaded, size, __ATOMIC_RELAXED);
  scratchGive(process, scratch);
  /* What refused the header, while another way out took it, takes messages again. */
  if (headless)
    (void)SendHeader(process);
  return res;
}
