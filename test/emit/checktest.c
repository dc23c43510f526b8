/* checktest.c -- the checks of the emitter's lasting structures see each invariant that is broken
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "emitting.h"
#include "emit/send.h"
#include "handover/collectorgrant.h"

static void testThread(void)
{
  Thread thread = (Thread)(void *)EventThreadSelf;
  Stream stream = &thread->stream[EventKindUser][0], none = NULL;
  Word *next = &thread->hot.cursor[EventKindUser][0].next;
  Index k;

  TapOk(ThreadCheck(thread), "a thread's state is sound");
  PLANT(thread->state, ThreadRETIRED + 1, ThreadCheck(thread), "thread->state = ThreadRETIRED + 1");
  PLANT(thread->number, 0, ThreadCheck(thread), "thread->number = 0");
  PLANT(thread->number, ThreadsMAX + 1, ThreadCheck(thread), "thread->number = ThreadsMAX + 1");
  PLANT(thread->hot.self, NULL, ThreadCheck(thread), "thread->hot.self = NULL");
  PLANT(stream->store, NULL, ThreadCheck(thread), "stream->store = NULL");
  PLANT(stream->size, stream->size - 8, ThreadCheck(thread), "stream->size = stream->size - 8");
  PLANT(stream->size, BlockMIN / 2, ThreadCheck(thread), "stream->size = BlockMIN / 2");
  PLANT(stream->size, BlockMAX * 2, ThreadCheck(thread), "stream->size = BlockMAX * 2");
  PLANT(stream->block, (BlockHeader)(void *)((char *)stream->block + 8), ThreadCheck(thread),
        "stream->block = (BlockHeader)(void *)((char *)stream->block + 8)");
  PLANT(*next, (Word)stream->block, ThreadCheck(thread), "*next = (Word)stream->block");
  PLANT(stream->held, (Word)StreamEvents(stream->block), ThreadCheck(thread),
        "stream->held = (Word)StreamEvents(stream->block)"); /* the cursor does not stand still */
  PLANT(stream->sent, stream->sequence + 1, ThreadCheck(thread), "stream->sent = stream->sequence + 1");
  PLANT(stream->told, stream->discarded + 1, ThreadCheck(thread), "stream->told = stream->discarded + 1");
  for (k = 0; k < EventStreamsLIMIT && none == NULL; ++k)
    if (thread->stream[k][0].block == NULL)
      none = &thread->stream[k][0], next = &thread->hot.cursor[k][0].next;
  TapOk(none != NULL, "a stream has no block");
  PLANT(*next, EventBlockBIT, ThreadCheck(thread), "*next = EventBlockBIT");
}

static void testProcess(void)
{
  Emitter emitter = EmitterGet();

  TapOk(EmitterCheck(emitter), "the process's state is sound");
  PLANT(emitter->state, 1, EmitterCheck(emitter), "process->state = 1");
  PLANT(emitter->pid, 0, EmitterCheck(emitter), "process->pid = 0");
  PLANT(emitter->identity, 0, EmitterCheck(emitter), "process->identity = 0");
  PLANT(emitter->threads, ThreadsMAX + 1, EmitterCheck(emitter), "process->threads = ThreadsMAX + 1");
  PLANT(emitter->retired, emitter->threads + 1, EmitterCheck(emitter), "process->retired = process->threads + 1");
  PLANT(emitter->swept, emitter->serials + 1, EmitterCheck(emitter), "process->swept = process->serials + 1");
  PLANT(emitter->blockSize, emitter->blockSize + 1, EmitterCheck(emitter),
        "process->blockSize = process->blockSize + 1");
  PLANT(emitter->blockSize, BlockMIN / 2, EmitterCheck(emitter), "process->blockSize = BlockMIN / 2");
  PLANT(emitter->blockSize, BlockMAX * 2, EmitterCheck(emitter), "process->blockSize = BlockMAX * 2");
  emitter->retired = 1;
  emitter->retiredFirst = emitter->retiredLast = 1;
  TapOk(EmitterCheck(emitter), "one place that is free");
  PLANT(emitter->retiredFirst, 0, EmitterCheck(emitter), "process->retiredFirst = 0");
  PLANT(emitter->retiredLast, emitter->threads + 1, EmitterCheck(emitter),
        "process->retiredLast = process->threads + 1");
  emitter->retired = 0;
}

static void testControl(void)
{
  Control settings = &ControlSettings;

  TapOk(ControlCheck(), "the settings are sound");
  PLANT(settings->policy, RegionPolicyOVERWRITE + 1, ControlCheck(), "settings->policy = RegionPolicyOVERWRITE + 1");
  PLANT(settings->limit, 0, ControlCheck(), "settings->limit = 0");
  PLANT(settings->limit, 1u << 20, ControlCheck(), "settings->limit = 1u << 20");
  PLANT(settings->blockSize, BlockMIN + 1, ControlCheck(), "settings->blockSize = BlockMIN + 1");
  PLANT(settings->blockSize, BlockMIN / 2, ControlCheck(), "settings->blockSize = BlockMIN / 2");
  PLANT(settings->blockSize, BlockMAX * 2, ControlCheck(), "settings->blockSize = BlockMAX * 2");
  PLANT(settings->chosen, 1u << EventKindLIMIT, ControlCheck(), "settings->chosen = 1u << EventKindLIMIT");
  PLANT(settings->log[sizeof settings->log - 1], 'x', ControlCheck(), "settings->log[sizeof settings->log - 1] = 'x'");
  PLANT(settings->token[sizeof settings->token - 1], 'x', ControlCheck(),
        "settings->token[sizeof settings->token - 1] = 'x'");
}

static void testPlinth(void)
{
  Plinth plinth = &EmitterPlinths[0];
  PlinthClassStruct mute = {.name = "mute"};

  TapOk(PlinthCheck(plinth), "a way out is sound");
  PLANT(plinth->class, NULL, PlinthCheck(plinth), "plinth->class = NULL");
  PLANT(plinth->class, &mute, PlinthCheck(plinth), "plinth->class = &mute");
  PLANT(plinth->fd, -2, PlinthCheck(plinth), "plinth->fd = -2");
  PLANT(plinth->place[sizeof plinth->place - 1], 'x', PlinthCheck(plinth),
        "plinth->place[sizeof plinth->place - 1] = 'x'");
}

/* The entries of two streams, of threads that do not exist, which stand side by side. */
static void testSent(void)
{
  BlockHeaderStruct block = {.stream = StreamNumbers * 4000};
  Emitter emitter = EmitterGet();
  Sent sent;

  SentPrepare(emitter);
  SentNote(emitter, &block, 0);
  ++block.stream;
  SentNote(emitter, &block, 0);
  for (sent = emitter->sent; sent->key != block.stream; ++sent)
    ;
  TapOk(SentCheck(emitter), "the table of what was sent is sound");
  PLANT(sent->ways, 1u << EmitterPlinthsMAX, SentCheck(emitter), "sent->ways = 1u << EmitterPlinthsMAX");
  PLANT(sent->key, 0x1000000, SentCheck(emitter), "sent->key = 0x1000000");
  PLANT(sent[1].key, sent->key, SentCheck(emitter), "sent[1].key = sent->key");
  PLANT(emitter->sentLimit, 1u << 20, SentCheck(emitter), "emitter->sentLimit = 1u << 20");
}

static void testGrant(void)
{
  GrantStruct grant = {.count = 3, .fd = {7, 8, -1}};

  TapOk(GrantCheck(&grant), "a grant is sound");
  PLANT(grant.count, RegionGrantMAX + 1, GrantCheck(&grant), "grant.count = RegionGrantMAX + 1");
  PLANT(grant.fd[1], 7, GrantCheck(&grant), "grant.fd[1] = 7");
}

/* The lowest number of a file that is ours is known, so one below it cannot be. */
static void testDescriptor(void)
{
  char path[] = "/tmp/pawprint-check-XXXXXX";
  static PlinthStruct plinth;
  const char *reason;

  (void)close(mkstemp(path));
  (void)unlink(path);
  TapOk(PlinthOpen(&plinth, path, NULL, &reason) == ResOK && DescriptorCheck(),
        "numbers of ours are not below the lowest");
  PLANT(plinth.fd, DescriptorLowest - 1, DescriptorCheck(), "plinth.fd = DescriptorLowest - 1");
  PLANT(plinth.fd, -2, DescriptorCheck(), "plinth.fd = -2");
  PlinthClose(&plinth);
  (void)unlink(path);
}

int main(void)
{
#if defined(VARIETY_RASH)
  TapSkip("no telemetry in this variety");
  return TapDone();
#endif
  EmitOpen();
  EventUserWord(1, 2);
  testThread();
  testProcess();
  testControl();
  testPlinth();
  testDescriptor();
  testGrant();
  testSent();
  return TapDone();
}
