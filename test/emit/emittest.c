/* emittest.c -- what an annotation writes comes out: once, whole, in order, or counted
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "emit/selfdrain.h"
#include "emitting.h"
#include "plinth/rawsyscall.h"

#if defined(VARIETY_RASH)

int main(void)
{
  TapSkip("no telemetry in this variety");
  return TapDone();
}

#else

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__) && !defined(__clang__)
#define emitMALLOC 1
/* The program's malloc, which the emitter must not call. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);
static volatile Bool emitForbidden;
static volatile Count emitCalls;

void *malloc(size_t size)
{
  emitCalls += emitForbidden;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  emitCalls += emitForbidden;
  return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
  emitCalls += emitForbidden;
  return __libc_realloc(p, size);
}

void free(void *p)
{
  emitCalls += emitForbidden;
  __libc_free(p);
}
#endif

enum { idSERIES = 7, seriesMANY = 50000 };

static void series(Word id, Count n)
{
  Index i;

  for (i = 0; i < n; ++i)
    EVENT_WW(UserWord, id, i);
}

static void testLetters(void)
{
  static int object;
  DecodeStruct d;
  uint64_t before, after;
  double value;
  unsigned u[2];

  EmitFresh();
  before = EventClock(EventKindControl[EventControlCLOCK] != 0);
  EVENT_PPS(PoolCreate, &object, NULL, "class");
  EVENT_WD(UserDouble, 3, -0.1);
  EVENT_AWUU(MemoryMap, (Addr)(Word)0x1000, (Word)1 << (WORD_WIDTH - 1), 0xffffffffu, 1u);
  EVENT_P(PoolDestroy, &object);
  after = EventClock(EventKindControl[EventControlCLOCK] != 0);
  EmitGet(&d);
  DecodeSound(&d, "letters");
  if (!TapIs(d.events, 4, "four events come out of four annotations"))
    return;
  /* By stream: Arena, Pool, User. */
  TapOk(d.event[0].code == EventMemoryMapCODE && DecodeWord(&d.event[0], 0) == 0x1000 &&
        DecodeWord(&d.event[0], 1) == (Word)1 << (WORD_WIDTH - 1), "A and W");
  memcpy(u, d.event[0].bytes + 8 + 2 * sizeof(Word), sizeof u);
  TapOk(u[0] == 0xffffffffu && u[1] == 1, "U");
  TapOk(d.event[1].code == EventPoolCreateCODE && DecodeWord(&d.event[1], 0) == (Word)&object &&
        strcmp(d.event[1].bytes + 8 + 2 * sizeof(Word), "class") == 0, "P and S");
  TapIs(d.event[1].length, 8 + 2 * sizeof(Word) + 6, "the length is exact, and includes the string's end");
  TapOk(d.event[2].code == EventPoolDestroyCODE, "the second of a kind stands behind the first");
  memcpy(&value, d.event[3].bytes + 8 + sizeof(Word), sizeof value);
  TapOk(value == -0.1, "D is the same to the last bit");
  TapOk(d.event[0].time >= before && d.event[3].time <= after && d.event[1].time <= d.event[2].time, "times");
  DecodeFree(&d);
}

static void testStrings(void)
{
  static const Size lengths[] = {0, 1, 7, 8, EventMaxStringLength - 1, EventMaxStringLength, EventMaxStringLength + 1,
                                 5000};
  char text[5001];
  DecodeStruct d;
  Index i;

  EmitFresh();
  memset(text, 'x', sizeof text);
  for (i = 0; i < ARRAY_LENGTH(lengths); ++i) {
    text[lengths[i]] = '\0';
    EVENT_WS(UserString, i, text);
    text[lengths[i]] = 'x';
  }
  EmitGet(&d);
  DecodeSound(&d, "strings");
  TapIs(d.events, ARRAY_LENGTH(lengths), "all strings are there");
  for (i = 0; i < d.events; ++i) {
    Size due = lengths[i] < EventMaxStringLength ? lengths[i] : EventMaxStringLength;
    TapOk(strlen(d.event[i].bytes + 8 + sizeof(Word)) == due &&
          ((d.event[i].length & EventLengthCUT) != 0) == (lengths[i] > due), "a string of %zu", lengths[i]);
  }
  DecodeFree(&d);
}

/* Packed or raw, over many blocks. */
static void testBlocks(Bool raw)
{
  const char *what = raw ? "raw" : "packed";
  Size largest = 0, rare = 0, rest = 0, used = 0;
  DecodeStruct d;
  Index i;

  ControlSettings.raw = raw;
  EmitFresh();
  series(idSERIES, seriesMANY);
  for (i = 0; i < 3000; ++i)
    EVENT_P(PoolDestroy, (void *)i);
  EmitGet(&d);
  ControlSettings.raw = FALSE;
  DecodeSound(&d, what);
  TapOk(EmitSeries(&d, idSERIES, seriesMANY), "%s: %d events over many blocks, each once", what, seriesMANY);
  TapIs(d.events, seriesMANY + 3000, "%s: and nothing else", what);
  for (i = 0; i < d.blocks; ++i) {
    BlockHeader h = &d.block[i].header;
    Size *most = h->kind == EventKindUser ? &largest : &rare;
    *most = h->whole > *most ? h->whole : *most;
    rest += h->rest;
    used += h->used;
  }
  TapOk(largest > rare, "%s: blocks of a frequent kind grow", what);
  TapOk(rare <= 16384, "%s: those of a rare kind stay small", what);
  if (raw)
    TapIs(rest, used, "raw blocks are as long as in memory");
  else
    TapOk(rest * 5 < used * 2, "packed ones are less than two fifths"); /* a slow program's times differ by more */
  DecodeFree(&d);
}

/* testPendingLast -- a handler fills the block up, and the event that it has interrupted stands last in it */
static void testPendingLast(Bool raw)
{
  enum { stringAT = sizeof(EventHeaderStruct) + sizeof(Word), wordsSIZE = stringAT + sizeof(Word) };
  char room[2 * wordsSIZE] = "";
  Word words[2] = {31, 0};
  Size left = BlockMIN - BlockHeaderSIZE, first;
  EventHeader pending;
  DecodeStruct d;
  Count n;

  EmitFresh();
  ControlSettings.raw = raw;
  for (first = wordsSIZE; (left - first) % wordsSIZE != 0; first += EventALIGN)
    ;
  memset(room, 'x', first - stringAT - 1);
  EVENT_WS(UserString, 30, room);
  for (n = 0; n < (left - first) / wordsSIZE - 1; ++n)
    EVENT_WW(UserWord, 32, n);
  pending = EventReserve(EventKindUser, wordsSIZE);
  EVENT_WW(UserWord, 32, n++);
  memcpy(pending + 1, words, sizeof words);
  EventCommit(pending, EventUserWordCODE);
  series(33, 2 * n);
  EmitGet(&d);
  ControlSettings.raw = FALSE;
  DecodeSound(&d, "an interrupted event at the end");
  TapOk(EmitSeries(&d, 31, 1) && EmitSeries(&d, 32, n) && EmitSeries(&d, 33, 2 * n),
        "%s: an interrupted event that stands last in its block is not lost", raw ? "raw" : "packed");
  DecodeFree(&d);
}

/* testLeft -- what is left is counted without a change: its block may be in use again by the time it is looked at */
static void testLeft(void)
{
  Word words[2] = {35, 0};
  Size size = sizeof(EventHeaderStruct) + sizeof words;
  Count n = 2 * BlockMIN / size;
  EventHeader pending;
  DecodeStruct d;
  Emitter emitter;
  char named;

  EmitFresh();
  pending = EventReserve(EventKindUser, size);
  series(34, n);
  emitter = EmitterGet();
  TapIs(SelfDrainLeft(emitter), 0, "what is in memory that has a name is found there");
  named = emitter->shared.path[0];
  emitter->shared.path[0] = '\0';
  TapOk(SelfDrainLeft(emitter) > 0, "a full block in which something is pending is left, where it has none");
  emitter->shared.path[0] = named;
  TapIs(pending->code, 0, "and to count it writes nothing into it");
  memcpy(pending + 1, words, sizeof words);
  EventCommit(pending, EventUserWordCODE);
  EmitGet(&d);
  DecodeSound(&d, "events that were left");
  TapOk(EmitSeries(&d, 34, n) && EmitSeries(&d, 35, 1), "all of it arrives");
  DecodeFree(&d);
}

static EventCursor cursorOf(unsigned kind)
{
  return &EventThreadSelf->cursor[kind][~(EventKindControl[0] >> kind) & 1];
}

/* The clock's high half changes, at every place that a block has. */
static void testEpochs(void)
{
  enum { many = 20000 };
  uint64_t before, after;
  Count epochs = 0;
  DecodeStruct d;
  Bool good = TRUE;
  Index i;

  EmitFresh();
  before = EventClock(EventKindControl[EventControlCLOCK] != 0);
  series(idSERIES, 1);
  for (i = 1; i < many; ++i) {
    if (i % 3 == 0)
      --cursorOf(EventKindUser)->epoch;
    EVENT_WW(UserWord, idSERIES, i);
  }
  after = EventClock(EventKindControl[EventControlCLOCK] != 0);
  EmitGet(&d);
  DecodeSound(&d, "epochs");
  TapOk(EmitSeries(&d, idSERIES, many), "no event is lost where the clock's high half changes");
  for (i = 0; i < d.events; ++i)
    good &= d.event[i].time >= before && d.event[i].time <= after && (i == 0 || d.event[i - 1].time <= d.event[i].time);
  TapOk(good, "and all times are right");
  for (i = 0; i < d.blocks; ++i)
    epochs += d.block[i].header.used > d.block[i].header.count * 24;
  TapOk(epochs > 0, "there are events of the format in between, which are not counted");
  DecodeFree(&d);
}

/* A block that was opened before the clock's high half changed: only what is written into it tells of the change. */
static void testOldBlock(void)
{
  EventCursor cursor;
  BlockHeader block;
  DecodeStruct d;
  uint64_t before;

  EmitFresh();
  EVENT_WW(UserWord, 1, 1);
  cursor = cursorOf(EventKindUser);
  block = ((Thread)(void *)EventThreadSelf)->stream[EventKindUser][0].block;
  memset(block + 1, 0, 24);
  cursor->next = (Word)(block + 1);
  block->first -= (uint64_t)1 << 32;
  block->last = block->mono = BlockHeaderSum(block);
  --cursor->epoch;
  before = EventClock(EventKindControl[EventControlCLOCK] != 0);
  EVENT_WW(UserWord, 1, 2);
  EmitGet(&d);
  TapOk(d.events == 1 && d.event[0].time >= before, "the first event of a new epoch has its time");
  DecodeFree(&d);
}

/* An event that was interrupted has reserved exactly the block's last room; what interrupts it changes the block,
 * and goes on. */
static void testInterruptedAtEnd(void)
{
  EventHeader interrupted;
  EventCursor cursor;
  DecodeStruct d;
  Size left;
  Count found = 0;
  Index i;

  EmitFresh();
  EVENT_WW(UserWord, 1, 1);
  cursor = cursorOf(EventKindUser);
  do {
    EVENT_WW(UserWord, 1, 1);
    left = EventBlockBIT - (cursor->next & (EventBlockBIT - 1));
  } while (left > 1000);
  interrupted = EventReserve(EventKindUser, left);
  series(idSERIES, 1500);
  memset(interrupted + 1, 'i', left - sizeof *interrupted);
  ((char *)interrupted)[left - 1] = '\0';
  EventCommit(interrupted, EventUserStringCODE);
  EmitGet(&d);
  DecodeSound(&d, "interrupted at the end");
  for (i = 0; i < d.events; ++i)
    found += d.event[i].code == EventUserStringCODE && d.event[i].length == left && d.event[i].bytes[left - 2] == 'i';
  TapIs(found, 1, "an event interrupted in the last room of its block is there, once");
  TapOk(EmitSeries(&d, idSERIES, 1500), "and so is all that interrupted it");
  DecodeFree(&d);
}

static void testControl(void)
{
  enum { many = 30000 };
  static unsigned char sent[many];
  uint64_t random = TapSeed() | 1;
  DecodeStruct d;
  Bool good = TRUE;
  Count there = 0, due = 0;
  Index i;

  EmitFresh();
  EVENT_WW(UserWord, 1, 1);
  BTRes(EventKindControl, EventKindUser);
  BTRes(EventKindControl, EventKindBUFFER + EventKindUser);
  EVENT_WW(UserWord, 1, 2);
  BTSet(EventKindControl, EventKindBUFFER + EventKindUser);
  EmitGet(&d);
  TapOk(d.events == 1 && DecodeWord(&d.event[0], 1) == 1, "a kind that is neither sent nor buffered leaves nothing");
  DecodeFree(&d);

  BTSet(EventKindControl, EventKindUser);
  EmitFresh();
  /* What is sent is decided event by event, by the bit at that moment. */
  for (i = 0; i < many; ++i) {
    if (TapRandom(&random) % 5 == 0)
      (BTGet(EventKindControl, EventKindUser) ? BTRes : BTSet)(EventKindControl, EventKindUser);
    sent[i] = (unsigned char)BTGet(EventKindControl, EventKindUser);
    due += sent[i];
    EVENT_WW(UserWord, idSERIES, i);
  }
  BTRes(EventKindControl, EventKindUser);
  EventEnd();
  DecodeMemory(&d, emitMemory);
  for (i = 0; i < d.events; ++i) {
    Word value = DecodeWord(&d.event[i], 1);
    good &= value < many && sent[value] == 1;
    if (value < many)
      sent[value] |= 2;
    ++there;
  }
  TapOk(good, "no event is sent that came while the bit was off");
  TapIs(there, due, "every event is sent that came while it was on");
  DecodeSound(&d, "control");
  DecodeFree(&d);

  EmitFresh();
  for (i = 0; i < 100; ++i)
    EVENT_WW(UserWord, idSERIES, i);
  TapIs(emitMemory->used, 0, "the flight recorder sends nothing");
  EmitGet(&d);
  TapOk(EmitSeries(&d, idSERIES, 100), "until it is flushed");
  TapOk(d.blocks > 0 && (d.block[0].header.flags & BlockFlagUNSENT) != 0, "which its blocks tell");
  DecodeFree(&d);
  BTSet(EventKindControl, EventKindUser);
}

static void testKinds(void)
{
  char *text;

  TapOk(EventControlKinds("none") == 0 && (EventKindControl[0] & 0x7f) == 0, "no kind");
  TapOk(EventControlKinds("Pool,Object") == 0 && (EventKindControl[0] & 0x7f) == 0x22, "some kinds");
  TapOk(EventControlKinds("+User,-Pool") == 0 && (EventKindControl[0] & 0x7f) == 0x60, "some more, and some less");
  TapIs(EventKindControl[0] >> EventKindBUFFER & 0x7f, EventKindsDEFAULT & 0x7f, "the flight recorder's bits stay");
  EmitCatch();
  TapOk(EventControlKinds("Pool,Objects") == -1, "a kind that is none");
  text = EmitCaught();
  TapOk(strstr(text, "Objects") != NULL && strstr(text, "Arena") != NULL && EmitLines(text) == 1,
        "is told, with those that there are: %s", text);
  free(text);
  TapIs(EventKindControl[0] & 0x7f, 0x60, "and nothing is changed");
  TapOk(EventControlKinds("all") == 0 && (EventKindControl[0] & 0x7f) == 0x7f, "all kinds");
  BTRes(EventKindControl, EventKindRef);
  TapOk(!BTGet(EventKindControl, 4) && EventKindRef == 4 && EventKindObject == 5, "Ref is 4, for debuggers");
  BTSet(EventKindControl, 4);
  TapOk(BTGet(EventKindControl, EventKindRef), "and on again");
}

/* What a way out refuses waits until it is taken, and trouble is told once. */
static void testTrouble(void)
{
  DecodeStruct d;
  char *text;
  uint64_t failed = EmitterPlinths[0].failed;
  Index i, id;

  EmitFresh();
  EmitCatch();
  series(1, 5000);
  emitPretend->full = TRUE;
  series(2, 20000);
  EventFlush();
  emitPretend->full = FALSE;
  series(3, 5000);
  EventFlush();
  emitPretend->broken = TRUE;
  series(4, 20000);
  EventFlush();
  emitPretend->broken = FALSE;
  emitPretend->slow = 50;
  series(5, 5000);
  EmitGet(&d);
  emitPretend->slow = 0;
  text = EmitCaught();
  TapIs(EmitLines(text), 1, "trouble is told once");
  TapOk(strstr(text, "pawprint: cannot write the log: ") == text && strstr(text, "full") != NULL,
        "with place and reason: %s", text);
  free(text);
  TapOk(EmitterPlinths[0].failed > failed, "and counted");
  DecodeSound(&d, "trouble");
  for (id = 1; id <= 5; ++id)
    TapOk(EmitSeries(&d, id, id % 2 != 0 ? 5000 : 20000), "series %zu arrives, late or not", id);
  for (i = 0; i < d.blocks && d.block[i].header.discarded == d.block[0].header.discarded; ++i)
    ;
  TapIs(i, d.blocks, "nothing is discarded where there is room to wait");
  DecodeFree(&d);
}

/* testNoRoom -- where as many blocks wait as may, events are discarded, and each is counted */
static void testNoRoom(void)
{
  RegionHeader region = EmitterRegion(EmitterGet());
  uint32_t limit = region->limit;
  uint64_t before, discarded;
  DecodeStruct d;

  EmitFresh();
  series(1, 1);
  EmitGet(&d);
  before = d.block[d.blocks - 1].header.discarded;
  DecodeFree(&d);
  EmitFresh();
  region->limit = 3;
  emitPretend->full = TRUE;
  series(2, 200000);
  emitPretend->full = FALSE;
  EventFlush();
  EmitGet(&d);
  discarded = d.block[d.blocks - 1].header.discarded - before;
  DecodeSound(&d, "no room");
  TapOk(d.events >= 3 * 1000 && discarded > 0, "three blocks wait, and what follows is discarded (%zu, %llu)", d.events,
        (unsigned long long)discarded);
  TapIs(d.events + discarded, 200000, "each event arrives, or is counted");
  DecodeFree(&d);
  region->limit = limit;
  series(3, 20000);
  EmitGet(&d);
  TapOk(EmitSeries(&d, 3, 20000), "and what comes when there is room again arrives");
  DecodeFree(&d);
}

/* testStray -- a lock that a stray write has set is nobody's, and is waited for by nobody for long */
static void testStray(void)
{
  Emitter emitter = EmitterGet();
  DecodeStruct d;

  EmitFresh();
  __atomic_store_n(&emitter->lock, 0x7ffffff1, __ATOMIC_RELEASE);
  TapOk(EventIntern("a string that is new") != 0, "the lock of the process");
  __atomic_store_n(&emitter->textLock, 0x7ffffff1, __ATOMIC_RELEASE);
  memset(&EmitterRegion(emitter)->text, 0xff, sizeof EmitterRegion(emitter)->text);
  TapOk(SendHeader(emitter) == ResOK, "the lock of the header block's text, and all that the region says of it");
  series(1, 100);
  EmitGet(&d);
  TapOk(d.headers > 0 && EmitSeries(&d, 1, 100), "and events arrive");
  DecodeFree(&d);
}

static void *held(void *unused)
{
  UNUSED(unused);
  series(7, 100);
  TapOk(SendHeader(EmitterGet()) == ResOK, "the text's: the thread that has it is left to write it");
  TapIs(EventIntern("a string that nobody has interned"), 0, "a string is refused");
  EmitterShare(EmitterGet());
  TapIs(EventIntern("a string that nobody has interned"), 0, "the region is not made, and the lock stays where it is");
  return NULL;
}

/* testHeld -- a thread that has the process's locks, and lives, and does not give them back, keeps nobody from
 * emitting, who emits for the first time */
static void testHeld(void)
{
  Emitter emitter = EmitterGet();
  uint32_t generation;
  RawMaskStruct mask;
  pthread_t thread;
  DecodeStruct d;

  EmitFresh();
  RawBegin(&mask);
  generation = EmitterRegion(emitter)->text.generation;
  TapOk(EmitterLock(emitter) && EmitterLockText(emitter), "the locks");
  if (pthread_create(&thread, NULL, held, NULL) == 0)
    (void)pthread_join(thread, NULL);
  TapOk(EmitterRegion(emitter)->text.generation == generation && emitter->textDue != 0, "nobody writes under a lock");
  RawUnlock(&emitter->textLock);
  EmitterUnlock(emitter);
  RawEnd(&mask);
  TapOk(SendHeader(emitter) == ResOK && emitter->textDue == 0, "afterwards the header is as it should be");
  TapOk(EventIntern("a string that nobody has interned") != 0, "and a string is interned");
  EmitGet(&d);
  TapOk(EmitSeries(&d, 7, 100), "what was emitted arrives");
  DecodeFree(&d);
}

/* testStopped -- a thread that sets the process up and does not come to an end is waited for once */
static void testStopped(void)
{
  pid_t child = fork();
  int status = -1;

  if (child == 0) {
    uint64_t begin, first, rest;
    Emitter emitter = EmitterMap();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    emitter->state = 1; /* what a child of raw clone may find, or a stray write leaves */
    begin = EventClockMonotonic();
    series(1, 1);
    first = EventClockMonotonic() - begin;
    series(2, 1000);
    rest = EventClockMonotonic() - begin - first;
    if (emitter->lost != 1001 || rest > first)
      _exit(1);
    emitter->state = 0;
    series(3, 10);
    status = emitter->state == 2 && EventThreadSelf != NULL && emitter->lost == 1001 ? 0 : 2;
    EmitterEnd();
    _exit(status);
  }
  (void)waitpid(child, &status, 0);
  TapIs(status, 0, "events of a process that is not set up are counted as lost, and nobody waits for ever");
}

/* emitEnd -- the header block that a way out begins with, and its lines about streams: how many, and the events
 * of all */
static Count emitEnd(Header header, PlinthMemory memory, uint64_t *eventsReturn)
{
  HeaderStreamStruct stream;
  unsigned version[3];
  const char *next;
  Count count = 0;
  Size length;

  *eventsReturn = 0;
  if (HeaderLength(&length, version, memory->base, memory->used) != ResOK ||
      HeaderRead(header, &next, memory->base, length) != ResOK)
    return 0;
  while (HeaderStreamNext(&stream, &next, memory->base + length)) {
    ++count;
    *eventsReturn += stream.events;
  }
  return count;
}

static void *emitBriefly(void *unused)
{
  UNUSED(unused);
  series(idSERIES, 100);
  return NULL;
}

/* emitEnds -- the last header blocks of a way out that was there before a thread that has ended, and of one that was
 * not */
static void emitEnds(PlinthMemory second)
{
  static HeaderStruct header;
  PlinthMemory third;
  pthread_t thread;
  uint64_t all, late;
  Count streams;

  pthread_create(&thread, NULL, emitBriefly, NULL);
  pthread_join(thread, NULL);
  EventFlush();
  EmitFresh();
  TapOk(EventLogOpen("memory:16777216") == 0, "one more way out");
  third = EmitterPlinths[3].state;
  series(idSERIES, 100);
  EventFlush();
  EmitFresh();
  second->used = third->used = 0;
  SendEnd(EmitterGet());
  streams = emitEnd(&header, second, &all);
  TapOk(header.ended && header.begun != 0 && header.streams == streams && header.region[0] == '\0' && streams >= 2 &&
            all > 30000, "a last header block says what each stream has sent");
  TapOk(emitEnd(&header, third, &late) == streams - 1 && header.ended && header.begun != 0 &&
            header.streams == streams - 1 && late == all - 100,
        "but not of those that ended before its way out was opened");
  series(idSERIES, 100);
  second->used = 0;
  EventFlush();
  TapOk(emitEnd(&header, second, &all) == 0 && !header.ended && header.open != 0,
        "what follows begins with a header block");
  PlinthClose(&EmitterPlinths[3]);
}

static void testSeveral(void)
{
  PlinthMemory second;
  Pretend pretend;
  DecodeStruct d;

  EmitFresh();
  TapOk(EventLogOpen("memory:16777216") == 0 && EventLogOpen("none:") == 0, "more ways out");
  second = EmitterPlinths[1].state;
  pretend = PretendTake(&EmitterPlinths[1]);
  series(idSERIES, 10000);
  EventFlush();
  DecodeBytes(&d, second->base, second->used);
  TapOk(d.headers >= 1 && EmitSeries(&d, idSERIES, 10000), "the second has a header, and everything from there on");
  DecodeSound(&d, "the second way out");
  DecodeFree(&d);
  EmitGet(&d);
  TapOk(EmitSeries(&d, idSERIES, 10000), "so has the first");
  DecodeFree(&d);
  EmitFresh();
  pretend->broken = TRUE;
  EmitCatch();
  series(idSERIES, 10000);
  EmitGet(&d);
  (void)SendHeader(EmitterGet());
  free(EmitCaught());
  TapOk(EmitSeries(&d, idSERIES, 10000) && d.blocks > 0 &&
            d.block[d.blocks - 1].header.discarded == d.block[0].header.discarded,
        "one that is broken does not concern the others");
  DecodeFree(&d);
  pretend->broken = FALSE;
  second->used = 0;
  series(idSERIES, 10000);
  EventFlush();
  DecodeBytes(&d, second->base, second->used);
  TapOk(d.headers == 1 && EmitSeries(&d, idSERIES, 10000),
        "and when it works again it gets the header that it has missed, once");
  DecodeFree(&d);
  emitEnds(second);
  PlinthClose(&EmitterPlinths[2]);
  PlinthClose(&EmitterPlinths[1]);
}

/* testAway -- in a block of private memory, for want of room in the region, each event takes the slow way, also the one
 * that is larger than what is left */
static void testAway(void)
{
  Emitter emitter = EmitterGet();
  Thread thread = (Thread)(void *)EventThreadSelf;
  Stream stream = &thread->stream[EventKindUser][0];
  char text[4000];
  DecodeStruct d;
  Count i;

  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  EventFlush();
  EmitFresh();
  TapOk(stream->block == NULL && StreamTakeFrom(stream, EmitterOwnMore(emitter, 0), BlockMAX),
        "a large block of private memory");
  StreamStart(emitter, thread, EventKindUser, 0);
  TapOk(stream->held != 0, "which holds its events");
  for (i = 0; i < 2720; ++i)
    EventUserWord(idSERIES, i);
  EventUserString(idSERIES, text);
  TapOk(ThreadCheck(thread), "the cursor stands still in no block");
  EmitGet(&d);
  TapOk(EmitSeries(&d, idSERIES, 2720), "each event is there");
  DecodeFree(&d);
}

static Count messages;

static int onMessage(const void *message, size_t size)
{
  ++messages;
  return size == 4 && memcmp(message, "mine", 4) == 0;
}

static void post(const char *message)
{
  TapOk(PretendPost(emitPretend, message), "a message: %s", message);
}

static void testMessages(void)
{
  DecodeStruct d;
  Count found = 0;
  Index i;
  char *text;

  EmitFresh();
  post("kinds Pool");
  EventMessagePoll();
  TapIs(EventKindControl[0] & 0x7f, 0x02, "a message switches kinds");
  post("kinds all");
  EventControlKinds("+User");
  EVENT_WW(UserWord, 1, 1);
  post("flush");
  EventMessagePoll();
  TapIs(EventKindControl[0] & 0x7f, 0x7f, "another one, too");
  DecodeMemory(&d, emitMemory);
  for (i = 0; i < d.events; ++i)
    found += d.event[i].code == EventUserWordCODE;
  TapIs(found, 1, "a message flushes");
  for (i = 0; i < d.events && d.event[i].code != EventStateBeginCODE; ++i)
    ;
  TapOk(i < d.events, "what there already is comes with kinds that are switched on");
  DecodeFree(&d);
  post("kinds -Ref");
  series(idSERIES, 10000);
  TapIs(EventKindControl[0] & 0x7f, 0x6f, "messages are obeyed when a block is full");
  post("flush");
  series(idSERIES, 10000);
  EventControlKinds("all");
  EmitCatch();
  post("nonsense");
  EventMessagePoll();
  text = EmitCaught();
  TapOk(EmitLines(text) == 1 && strstr(text, "nonsense") != NULL, "nonsense is told: %s", text);
  free(text);
  TapOk(EventMessageHandlerSet(onMessage) == NULL, "a handler");
  EmitCatch();
  post("mine");
  post("kinds none");
  EventMessagePoll();
  text = EmitCaught();
  TapOk(messages == 2 && text[0] == '\0', "sees all messages, and takes its own");
  TapIs(EventKindControl[0] & 0x7f, 0, "the others are obeyed");
  free(text);
  EventMessageHandlerSet(NULL);
  EventControlKinds("all");
}

/* What threads leave, also late and in other threads' eyes. */
#if defined(__SANITIZE_THREAD__)
enum { lateROUNDS = 1 }; /* the sanitizer itself is gone in the last */
#else
enum { lateROUNDS = 3 };
#endif
static pthread_key_t lateKey;
static pthread_barrier_t barrier;

static void lateDestroy(void *id)
{
  static __thread unsigned rounds;

  EVENT_WW(UserWord, (Word)id + 1000, rounds);
  if (++rounds < lateROUNDS)
    pthread_setspecific(lateKey, id);
}

static void *threadRun(void *id)
{
  pthread_setspecific(lateKey, id);
  series((Word)id, 500 + (Word)id % 7 * 200);
  return NULL;
}

static void testThreads(void)
{
  enum { threads = 200, at = 16 };
  pthread_t thread[at];
  DecodeStruct d;
  Count bad = 0, late = 0;
  Index i;

  EmitFresh();
  pthread_key_create(&lateKey, lateDestroy);
  for (i = 0; i < threads + at; ++i) {
    if (i >= at && i - at < threads)
      pthread_join(thread[i % at], NULL);
    if (i < threads)
      pthread_create(&thread[i % at], NULL, threadRun, (void *)(Word)(100 + i));
  }
  EventEnd();
  DecodeMemory(&d, emitMemory);
  DecodeSound(&d, "threads");
  for (i = 0; i < threads; ++i) {
    bad += !EmitSeries(&d, 100 + i, 500 + (100 + i) % 7 * 200);
    late += EmitSeries(&d, 1100 + i, lateROUNDS);
  }
  TapIs(bad, 0, "200 threads come and go: each event of each, once");
  TapIs(late, threads, "also those of their last destructors");
  DecodeFree(&d);
  pthread_key_delete(lateKey);
}

static void *recorderRun(void *id)
{
  series((Word)id, 50);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  series((Word)id + 1, 50);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  series((Word)id + 2, 4000);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void testRecorders(void)
{
  pthread_t thread;
  DecodeStruct d;
  Count newest = 0;
  Index i;

  EmitFresh();
  EventControlKinds("none");
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, recorderRun, (void *)20);
  pthread_barrier_wait(&barrier);
  EventFlush();
  DecodeMemory(&d, emitMemory);
  TapOk(EmitSeries(&d, 20, 50), "a flush sends what another thread's flight recorder holds");
  DecodeFree(&d);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  EventFlush();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  EventFlush();
  DecodeMemory(&d, emitMemory);
  TapOk(EmitSeries(&d, 20, 50) && EmitSeries(&d, 21, 50),
        "what was sent once is there, also when its block was used again");
  for (i = 0; i < d.events; ++i)
    newest += DecodeWord(&d.event[i], 0) == 22 && DecodeWord(&d.event[i], 1) == 3999;
  TapIs(newest, 1, "and the newest is there, once");
  DecodeFree(&d);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  emitMemory->used = 0;
  EventFlush();
  DecodeMemory(&d, emitMemory);
  newest = 0;
  for (i = 0; i < d.events; ++i)
    newest += DecodeWord(&d.event[i], 0) == 22 && DecodeWord(&d.event[i], 1) == 3999;
  TapIs(newest, 1, "a flush sends what threads left that have ended");
  DecodeFree(&d);
  EventControlKinds("all");
}

static Bool flushing;
static Count flushed;

static void *flushRun(void *unused)
{
  UNUSED(unused);
  while (__atomic_load_n(&flushing, __ATOMIC_RELAXED)) {
    EventFlush();
    __atomic_fetch_add(&flushed, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void *emitRun(void *id)
{
  Index i;

  for (i = 0; i < 20000; ++i) {
    EVENT_WW(UserWord, (Word)id, i);
    /* Sometimes a flush begins and ends in between, also on one processor. */
    if (i % 4000 == 2000) {
      Count until = __atomic_load_n(&flushed, __ATOMIC_RELAXED) + 3;
      while (__atomic_load_n(&flushed, __ATOMIC_RELAXED) < until)
        sched_yield();
    }
  }
  return NULL;
}

static void testFlushes(void)
{
  pthread_t flusher[2], emitter[2];
  DecodeStruct d;
  Index i;

  EmitFresh();
  flushing = TRUE;
  for (i = 0; i < 2; ++i) {
    pthread_create(&flusher[i], NULL, flushRun, NULL);
    pthread_create(&emitter[i], NULL, emitRun, (void *)(30 + i));
  }
  for (i = 0; i < 2; ++i)
    pthread_join(emitter[i], NULL);
  __atomic_store_n(&flushing, FALSE, __ATOMIC_RELAXED);
  for (i = 0; i < 2; ++i)
    pthread_join(flusher[i], NULL);
  EmitGet(&d);
  DecodeSound(&d, "flushes");
  TapOk(d.copies > 0, "blocks were sent while they were being filled");
  TapOk(EmitSeries(&d, 30, 20000) && EmitSeries(&d, 31, 20000), "flushed by others all the time: each event once");
  DecodeFree(&d);
}

static void *cancelRun(void *unused)
{
  UNUSED(unused);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier); /* a cancellation is pending now; this is no point for it */
  series(idSERIES, 20000);
  EventFlush();
  return (void *)1;
}

static void testCancel(void)
{
  pthread_t thread;
  void *result = NULL;
  DecodeStruct d;
  char path[64];

  (void)snprintf(path, sizeof path, "/tmp/pawprint-cancel-%d.paw", (int)getpid());
  EmitFresh();
  TapOk(EventLogOpen(path) == 0, "a file, too");
  TapOk(EventLogOpen(path) == -1, "not twice: it is there already");
  pthread_create(&thread, NULL, cancelRun, NULL);
  pthread_barrier_wait(&barrier);
  pthread_cancel(thread);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, &result);
  TapOk(result == (void *)1, "emitting and flushing is no point of cancellation");
  EmitGet(&d);
  TapOk(EmitSeries(&d, idSERIES, 20000), "all of the thread's events are there");
  DecodeFree(&d);
  PlinthClose(&EmitterPlinths[1]);
  (void)unlink(path);
}

static void testQuiet(void)
{
  Bool kept = TRUE;
  Index i;

  EmitFresh();
#if defined(emitMALLOC)
  emitForbidden = TRUE;
#endif
  for (i = 0; i < 20000; ++i) {
    errno = 12345;
    EVENT_WW(UserWord, idSERIES, i);
    kept &= errno == 12345;
  }
  EventFlush();
  kept &= errno == 12345;
  (void)EventControlKinds("all");
  EventMessagePoll();
  EventLabel("x", EventIntern("a string"));
#if defined(emitMALLOC)
  emitForbidden = FALSE;
  TapIs(emitCalls, 0, "the emitter never calls the program's malloc");
#endif
  TapOk(kept, "errno is kept");
}

static void testHeader(void)
{
  const char *body;
  unsigned version[3];
  Size length;

  EmitFresh();
  (void)SendHeader(EmitterGet());
  TapOk(HeaderLength(&length, version, emitMemory->base, emitMemory->used) == ResOK && length == emitMemory->used,
        "a header block has the length that it says");
  {
    static HeaderStruct header;
    TapOk(HeaderRead(&header, &body, emitMemory->base, length) == ResOK && header.pid == (uint32_t)getpid() &&
          header.identity == EmitterGet()->identity && header.frequency > 1000000 && header.arguments >= 1 &&
          strstr(header.argument[0], "emittest") != NULL && header.syncs == 2 &&
          header.sync[1].ticks > header.sync[0].ticks && header.sync[1].mono > header.sync[0].mono,
          "and says who wrote it, and when");
  }
  TapIs(version[0], BlockMAJOR, "in this version");
}

/* What hangs has failed, by its name.  A signal would not do: the emitter blocks all of them where it waits. */
enum { emitPATIENCE = 100 }; /* seconds for one test, which takes five at most where the machine is busy */
static const char *emitTest;
static unsigned emitTurn;
#define WITHIN(test) (emitTest = #test, (void)__atomic_add_fetch(&emitTurn, 1, __ATOMIC_RELEASE), test)

static void *emitWatch(void *unused)
{
  unsigned turn = 0, seconds = 0;

  UNUSED(unused);
  while (seconds < emitPATIENCE) {
    unsigned now = __atomic_load_n(&emitTurn, __ATOMIC_ACQUIRE);
    seconds = now == turn ? seconds + 1 : 0;
    turn = now;
    (void)sleep(1);
  }
  (void)dprintf(1, "not ok %u - %s comes to its end\n", tapCount + 1, emitTest);
  _exit(1);
}

int main(void)
{
  pthread_t watch;

  pthread_create(&watch, NULL, emitWatch, NULL);
  EVENT_WW(UserWord, 1, 42);
  TapIs(EventKindControl[0], (Word)EventKindsDEFAULT << EventKindBUFFER,
        "at first nothing is sent, and all that is not off recorded");
  EmitOpen();
  TapIs(EventKindControl[0] & 0x7f, EventKindsDEFAULT & 0x7f, "with a way out all that is not off is sent");
  WITHIN(testHeader());
  WITHIN(testLetters());
  WITHIN(testStrings());
  WITHIN(testBlocks(FALSE));
  WITHIN(testBlocks(TRUE));
  WITHIN(testPendingLast(FALSE));
  WITHIN(testPendingLast(TRUE));
  WITHIN(testLeft());
  WITHIN(testEpochs());
  WITHIN(testOldBlock());
  WITHIN(testInterruptedAtEnd());
  WITHIN(testControl());
  WITHIN(testKinds());
  WITHIN(testTrouble());
  WITHIN(testNoRoom());
  WITHIN(testStray());
  WITHIN(testHeld());
  WITHIN(testStopped());
  WITHIN(testSeveral());
  WITHIN(testAway());
  WITHIN(testMessages());
  WITHIN(testThreads());
  WITHIN(testRecorders());
  WITHIN(testFlushes());
  WITHIN(testCancel());
  WITHIN(testQuiet());
  TapOk(ThreadCheck((Thread)(void *)EventThreadSelf), "the thread's state is sound");
  return TapDone();
}

#endif
