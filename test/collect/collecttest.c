/* collecttest.c -- the collector, and a writer that this test plays: what is handed over comes into the log, once and
 * in order, whatever the writer does
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/collectordata.h"
#include "collect/drain.h"
#include "format/region.h"
#include "loglist.h"
#include "plinth/clock.h"

enum { testSlots = 64, testHostile = 300 };

static const uint64_t testMs = 1000000;

/* Somebody who has a region. */
typedef struct WriterStruct {
  MakeProcess process;
  char path[HeaderTextMAX];
  int end, fd;      /* where the answer comes; the region, locked: the first of */
  int granted[3];
  RegionHeader header;
  Index nextSlot;
} WriterStruct, *Writer;

static char told[1024];
static uint32_t testPid = 1000;

static void testTell(void *data, const char *line)
{
  UNUSED(data);
  (void)snprintf(told, sizeof told, "%s", line);
}

/* writerText -- publish the process's header block, as it is now */
static void writerText(Writer writer)
{
  uint32_t generation = writer->header->text.generation + 1;
  MakeStruct make = {0};

  (void)snprintf(writer->process->header.region, HeaderTextMAX, "%s", writer->path);
  MakeHeader(&make, writer->process);
  memcpy((char *)writer->header + RegionTEXT + (generation & 1) * (Size)RegionTextSIZE, make.bytes, make.size);
  writer->header->text.length[generation & 1] = (uint32_t)make.size;
  __atomic_store_n(&writer->header->text.generation, generation, __ATOMIC_RELEASE);
  MakeFree(&make);
}

/* writerNew -- a process that has not met anybody */
static void writerNew(Writer writer, const char *types)
{
  memset(writer, 0, sizeof *writer);
  ++testPid;
  writer->process = MakeProcessForeign(testPid, testPid * 77u, sizeof(Word), FALSE, types);
  writer->fd = writer->end = -1;
}

/* meetSend -- a datagram to the collector's socket, with a descriptor unless that is -1 */
static Bool meetSend(const char *address, RegionMeet meet, Size size, int with)
{
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  Size length = strcspn(address, ":");
  struct iovec part = {meet, size};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct msghdr message = {.msg_name = &to, .msg_iov = &part, .msg_iovlen = 1};
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Bool sent;

  memcpy(to.sun_path + 1, address, length);
  message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  if (with >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){CMSG_LEN(sizeof with), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &with, sizeof with);
  }
  sent = sendmsg(fd, &message, MSG_DONTWAIT) == (ssize_t)size;
  (void)close(fd);
  return sent;
}

static RegionMeetStruct meetRequest(Writer writer, const char *address, const char *token, uint32_t policy)
{
  RegionMeetStruct meet = {.magic = RegionMAGIC, .version = RegionMeetVERSION, .slots = testSlots, .policy = policy,
                           .limit = testSlots};

  meet.pid = testPid;
  meet.identity = writer->process->header.identity;
  (void)snprintf(meet.token, sizeof meet.token, "%s", token != NULL ? token : address + strcspn(address, ":") + 1);
  return meet;
}

/* writerAsk -- ask for a region; the answer comes to writer->end */
static Bool writerAsk(Writer writer, const char *address, const char *token, uint32_t policy)
{
  RegionMeetStruct meet = meetRequest(writer, address, token, policy);
  int ends[2];
  Bool sent;

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    makeFail("socketpair");
  sent = meetSend(address, &meet, sizeof meet, ends[1]);
  (void)close(ends[1]);
  writer->end = ends[0];
  return sent;
}

/* writerGrant -- take the answer: how many descriptors came; 0: none is there, or a refusal.  The region is locked and
 * mapped then. */
static Count writerGrant(Writer writer)
{
  RegionGrantStruct grant;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(8 * sizeof(int))];
  } control;
  struct iovec part = {&grant, sizeof grant};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  Count count = 0;

  if (recvmsg(writer->end, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == (ssize_t)sizeof grant &&
      CMSG_FIRSTHDR(&message) != NULL) {
    count = (CMSG_FIRSTHDR(&message)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(writer->granted, CMSG_DATA(CMSG_FIRSTHDR(&message)), (count < 3 ? count : 3) * sizeof(int));
    writer->fd = writer->granted[RegionGrantLOCKED];
    writer->header = mmap(NULL, RegionSize(testSlots), PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
    (void)snprintf(writer->path, sizeof writer->path, "%.*s", (int)sizeof writer->path - 1, grant.path);
    writer->header->frequent = EventKindsFREQUENT;
  }
  (void)close(writer->end);
  writer->end = -1;
  return count;
}

/* writerOpen -- a process that has met the collector */
static void writerOpen(Writer writer, Collector collector, uint32_t policy, const char *types)
{
  writerNew(writer, types);
  if (!writerAsk(writer, CollectorAddress(collector), NULL, policy))
    makeFail("the collector's socket");
  (void)CollectorRun(collector, -1, EventClockMonotonic());
  if (writerGrant(writer) < 2)
    makeFail("no answer");
  writerText(writer);
}

static void writerClose(Writer writer)
{
  Index i;

  if (writer->header != NULL)
    (void)munmap(writer->header, RegionSize(testSlots));
  if (writer->end >= 0)
    (void)close(writer->end);
  for (i = 0; i < 3; ++i)
    if (writer->granted[i] > 0)
      (void)close(writer->granted[i]);
  MakeProcessFree(writer->process);
}

/* writerRemove -- and its region, which nobody else removes */
static void writerRemove(Writer writer)
{
  char link[sizeof writer->path + sizeof RegionLINK];

  writerClose(writer);
  (void)snprintf(link, sizeof link, "%s%s", writer->path, RegionLINK);
  (void)unlink(writer->path), (void)unlink(link);
}

/* writerPut -- a block into a slot, of which so many bytes are reserved */
static void writerPut(Writer writer, Index slot, MakeBlock block, uint8_t state, Size reserved)
{
  RegionHeader header = writer->header;
  Size size = block->header.whole;
  char *place = (char *)header + RegionFIRST + (slot + 1) * RegionSlotSIZE - size;

  memset(place, 0, size);
  memcpy(place, &block->header, sizeof block->header);
  memcpy(place + BlockHeaderSIZE, block->events, block->header.used);
  ((BlockHeader)(void *)place)->used = (uint32_t)reserved;
  ((BlockHeader)(void *)place)->count = 0;
  ((BlockHeader)(void *)place)->before = BlockBeforeUNKNOWN;
  ((BlockHeader)(void *)place)->mono = 0;
  header->tickets[slot] = RegionOverwrites(header, &block->header) ? ++header->pool.ticket : 0;
  if (state == RegionFULL)
    (void)__atomic_fetch_add(&header->pool.full, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&header->state[slot], state | (uint8_t)__builtin_ctzl(size), __ATOMIC_SEQ_CST);
}

/* writerFill -- `n` events of a stream into its block, and into the list of what must come out */
static void writerFill(MakeBlock block, unsigned n, uint64_t *time)
{
  Index i;

  for (i = 0; i < n; ++i) {
    *time += 10;
    if (!MakeEvent(block, EventUserWordCODE, *time, (uint64_t[]){block->header.thread, *time * 3}, NULL))
      break;
    listAdd(&made, *time, block, (uint32_t)(block->header.sequence * 10000 + i), *time * 3, EventUserWordCODE);
  }
}

static void run(Collector collector)
{
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 20 * testMs);
  TapOk(CollectorCheck(collector), "the collector is sound");
}

/* greet -- until what a new process has handed over is no longer left for a while */
static void greet(Collector collector)
{
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 110 * testMs);
  /* It looks after them when a tenth of a second has passed, unless its time is up by then. */
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 100 * testMs);
}

static Collector collectorNew(const uint8_t *events)
{
  CollectorSettingsStruct settings = {.events = events, .tell = testTell};
  Collector collector = NULL;
  int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  told[0] = '\0';
  made.count = 0;
  if (fd < 0 || CollectorNew(&collector, &settings) != ResOK || CollectorLog(collector, fd, path) != ResOK)
    makeFail(path);
  return collector;
}

static void collectorEnd(Collector collector, Count running)
{
  Count its;

  TapIs(CollectorEnd(collector, &its), ResOK, "it comes to its end");
  TapIs(its, running, "%llu go on by themselves", (unsigned long long)running);
  CollectorFree(collector);
}

/* same -- does the log have what was made? */
static void same(const char *what)
{
  Index i;
  long at;

  qsort(made.event, made.count, sizeof made.event[0], listCompare);
  TapOk(testReadAll(), "%s: the log can be read", what);
  TapIs(got.count, made.count, "%s: all events are there", what);
  /* Ticks are ns, but the line through two relations of theirs, as they are measured, is a little off that. */
  for (i = 0; i < got.count && i < made.count; ++i)
    if (got.event[i].time + 1 >= made.event[i].time && got.event[i].time <= made.event[i].time + 1)
      got.event[i].time = made.event[i].time;
  at = listSame(&made, &got);
  TapOk(at < 0, "%s: and nothing else (%ld)", what, at);
  TapIs(got.gaps, 0, "%s: nothing is missing (%s)", what, got.gap);
}

static void meets(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  struct stat status;
  int third;

  writerNew(&writer, EventRegistryTEXT);
  TapOk(writerAsk(&writer, CollectorAddress(collector), "guessed", RegionPolicyDISCARD),
        "a request with another token");
  run(collector);
  TapIs(writerGrant(&writer), 0, "is not answered");
  TapOk(writerAsk(&writer, CollectorAddress(collector), NULL, RegionPolicyDISCARD), "one with the right token");
  run(collector);
  TapIs(writerGrant(&writer), 3, "is, with the region, the same for its control table, and the log");
  TapIs(writer.header->hand.collector, (uint32_t)gettid(), "the region names its collector");
  TapIs(writer.header->recording, CollectorRecording(collector), "and the recording");
  TapOk(RegionHeaderSound(writer.header, RegionSize(testSlots)), "and is sound");
  TapIs(writer.header->limit, testSlots, "and says how many blocks may be full, before the process does");
  third = open(writer.path, O_RDWR);
  TapOk(flock(third, LOCK_EX | LOCK_NB) != 0, "it is locked");
  TapOk(flock(writer.granted[RegionGrantCONTROL], LOCK_EX | LOCK_NB) != 0, "not by the second descriptor");
  TapOk(flock(writer.fd, LOCK_EX | LOCK_NB) == 0, "but by the first");
  (void)close(third);
  TapIs(fcntl(writer.granted[RegionGrantLOG], F_GETFL) & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND,
        "the log is for appending alone");
  TapOk(fstat(writer.granted[RegionGrantLOG], &status) == 0 && status.st_size > 0, "and has a header block already");
  writerText(&writer);
  greet(collector);
  TapOk(testReadAll() && got.count == 0, "soon that of the process is there, too");
  collectorEnd(collector, 1);
  TapIs(writer.header->hand.collector, RegionCollectorNONE, "at the end the writer is let go");
  TapOk(access(writer.path, F_OK) == 0 && writer.header->hand.released != 0, "with its region, which says so");
  writerRemove(&writer);
}

/* removed -- how many regions of so many writers are no more; *leftReturn is the path of one that is */
static Count removed(const char **leftReturn, const WriterStruct *writers, Count n)
{
  Count gone = 0;
  Index i;

  *leftReturn = "";
  for (i = 0; i < n; ++i)
    if (writers[i].path[0] != '\0' && access(writers[i].path, F_OK) != 0)
      ++gone;
    else if (writers[i].path[0] != '\0')
      *leftReturn = writers[i].path;
  return gone;
}

/* refused -- requests without end: so many regions there are, and no more; and who does not wait leaves nothing */
static void refused(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct many[40], sound;
  Count granted = 0;
  uint64_t time = 1000;
  const char *last;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(many); ++i) {
    writerNew(&many[i], EventRegistryTEXT);
    (void)writerAsk(&many[i], CollectorAddress(collector), NULL, RegionPolicyDISCARD);
    if (i % 2 == 1) { /* it does not wait */
      (void)close(many[i].end);
      many[i].end = -1;
    }
    (void)CollectorRun(collector, -1, EventClockMonotonic());
    if (many[i].end >= 0)
      granted += writerGrant(&many[i]) > 0;
  }
  TapIs(granted, 16, "one process number has a bounded number of regions");
  TapOk(strstr(told, "regions for one process") != NULL, "which is told (%s)", told);
  TapIs(removed(&last, many, ARRAY_LENGTH(many)), 0, "no region of one that lives is removed");
  for (i = 0; i < ARRAY_LENGTH(many); ++i)
    writerClose(&many[i]);
  greet(collector);
  TapIs(removed(&last, many, ARRAY_LENGTH(many)), 15, "and each when it has ended, but for one");
  writerOpen(&sound, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  TapOk(access(last, F_OK) != 0, "which goes when there is another");
  MakeBlockBegin(&blocks[0], sound.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[0], 5, &time);
  writerPut(&sound, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  writerClose(&sound);
  collectorEnd(collector, 0);
  same("after refusals");
}

/* strange -- descriptors of all sorts, and datagrams that are cut off or say anything */
static void strange(uint64_t *seed)
{
  Collector collector = collectorNew(NULL);
  const char *address = CollectorAddress(collector);
  WriterStruct writer;
  int ends[2];
  Index i, k;

  writerNew(&writer, EventRegistryTEXT);
  (void)!pipe(ends);
  for (i = 0; i < 4; ++i) {
    RegionMeetStruct meet = meetRequest(&writer, address, NULL, RegionPolicyDISCARD);
    int other = i == 0 ? ends[0] : i == 1 ? open("/dev/null", O_RDWR) : i == 2 ? open("/tmp", O_RDONLY)
              : open(path, O_RDWR);
    (void)meetSend(address, &meet, sizeof meet, other);
    if (i > 0)
      (void)close(other);
  }
  for (i = 0; i < 400; ++i) {
    RegionMeetStruct meet = {.magic = RegionMAGIC, .version = RegionMeetVERSION};
    for (k = 12; k < sizeof meet; ++k)
      ((char *)&meet)[k] = (char)TapRandom(seed);
    if (i % 2 == 0)
      (void)strcpy(meet.token, address + strcspn(address, ":") + 1);
    if (i % 4 == 0)
      meet.program[sizeof meet.program - 1] = '\0';
    (void)meetSend(address, &meet, i % 3 == 0 ? TapRandom(seed) % sizeof meet : sizeof meet,
                   i % 8 == 0 ? ends[1] : -1);
    if (i % 8 == 7)
      (void)CollectorRun(collector, -1, EventClockMonotonic() + testMs / 10);
  }
  writerClose(&writer);
  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  TapIs(writer.header->hand.collector, (uint32_t)gettid(), "whatever was sent before, a request is granted");
  (void)close(ends[0]), (void)close(ends[1]);
  writerClose(&writer);
  collectorEnd(collector, 0);
}

/* many -- blocks of three streams, in slots in any order; some rounds of them */
static void many(uint64_t *seed)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;
  struct stat status;
  Index round, i;
  unsigned left = 0;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  for (i = 0; i < 3; ++i) {
    MakeBlockBegin(&blocks[i], writer.process, (uint32_t)(10 + i), EventKindUser, 0, time += 5);
    blocks[i].header.whole = 16384;
  }
  for (round = 0; round < 8; ++round) {
    Index slot = TapRandom(seed) % testSlots, n;
    for (n = 0; n < 24; ++n) {
      MakeBlock block = &blocks[TapRandom(seed) % 3];
      Bool odd = TapRandom(seed) % 4 == 0;
      writerFill(block, odd ? 3 : 10000, &time);
      slot = (slot + 37) % testSlots;
      writerPut(&writer, slot, block, RegionFULL, odd ? block->header.used : block->header.whole - BlockHeaderSIZE);
      if (!odd) /* its end is given up, as its owner did when the next event found no room */
        ((BlockHeader)(void *)((char *)writer.header + RegionFIRST + (slot + 1) * RegionSlotSIZE - 16384))->used =
          block->header.used;
      MakeBlockNext(block, time += 1);
    }
    run(collector);
    for (i = 0; i < testSlots; ++i)
      left += writer.header->state[i] != RegionFREE;
  }
  TapIs(left, 0, "all slots are free again");
  TapIs(writer.header->pool.full, 0, "and counted so");
  /* The process dies; some of its blocks are open. */
  writerFill(&blocks[0], 7, &time);
  writerPut(&writer, 5, &blocks[0], RegionOPEN, 0);
  writerFill(&blocks[1], 9, &time);
  writerPut(&writer, 6, &blocks[1], RegionFULL, blocks[1].header.used);
  writerClose(&writer);
  greet(collector);
  TapOk(stat(writer.path, &status) == 0 && status.st_blocks * 512 < RegionFIRST,
        "of a dead process nothing is left but the beginning of its region, where that is the last");
  collectorEnd(collector, 0);
  TapOk(access(writer.path, F_OK) != 0, "and that until the end");
  same("many blocks");
  /* Our own header block is of our time, and not of that which the writer made up. */
  TapOk(got.notes == 0 || strstr(got.note, "the clock of process") != NULL, "and the log knows that it is whole (%s)",
        got.note);
}

/* pending -- a block that has room which was reserved and not filled */
static void pending(Bool never)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;
  Size reserved;
  Index i;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[0], 100, &time);
  reserved = blocks[0].header.used + 24; /* one more event */
  writerPut(&writer, 9, &blocks[0], RegionFULL, reserved);
  if (!never)
    writerFill(&blocks[0], 1, &time);
  blocks[1] = blocks[0];
  for (i = 0; i < (never ? 20 : 3); ++i) {
    MakeBlockNext(&blocks[1], time += 1);
    writerFill(&blocks[1], 50, &time);
    writerPut(&writer, 8 - i % 8 + i / 8 * 10, &blocks[1], RegionFULL, blocks[1].header.used);
  }
  run(collector);
  /* It takes some rounds, and time on a machine that has other work. */
  for (i = 0; never && i < 200 && (writer.header->state[8] & RegionFULL) != 0; ++i)
    run(collector);
  TapIs(writer.header->state[9] & RegionFULL, RegionFULL, "a block in which something is pending stays");
  TapIs((writer.header->state[8] & RegionFULL) != 0, !never, never ? "many blocks do not wait behind it"
                                                                  : "and those behind it wait");
  if (!never) {
    char *place = (char *)writer.header + RegionFIRST + 10 * RegionSlotSIZE - BlockMAX + BlockHeaderSIZE;
    memcpy(place, blocks[0].events, blocks[0].header.used);
    run(collector);
    TapIs(writer.header->state[9] | writer.header->state[8], 0, "when it is filled all are taken");
  }
  writerClose(&writer);
  collectorEnd(collector, 0);
  same(never ? "pending for ever" : "pending");
}

static Drain drainNew(Writer writer, uint32_t policy, DrainShop shop)
{
  RendezvousMessageStruct message = {.pid = (pid_t)testPid + 1, .uid = geteuid()};
  RegionGrantStruct grant;
  RegionMakerStruct maker;
  Drain drain = NULL;

  memset(shop, 0, sizeof *shop);
  shop->pack = calloc(1, PackSIZE);
  BatchOpen(&shop->batch, open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  writerNew(writer, EventRegistryTEXT);
  message.request = meetRequest(writer, ":", NULL, policy);
  RegionMakerOpen(&maker, 1, path);
  if (shop->pack == NULL || shop->batch.fd < 0 ||
      DrainMake(&drain, shop, &maker, &message, (uint32_t)gettid(), &grant, &writer->granted[RegionGrantLOCKED]) !=
          ResOK)
    makeFail("no drain");
  writer->header = mmap(NULL, RegionSize(testSlots), PROT_READ | PROT_WRITE, MAP_SHARED, writer->granted[0], 0);
  writer->header->frequent = EventKindsFREQUENT;
  writer->header->limit = testSlots;
  writerText(writer);
  return drain;
}

static void drainEnd(Drain drain, Writer writer, DrainShop shop)
{
  TapOk(DrainCheck(drain), "the drain is sound");
  DrainWithdraw(drain);
  (void)close(shop->batch.fd);
  DrainShopFinish(shop);
  free(shop->pack);
  writerClose(writer);
}

/* claimed -- a block that is asked for is not used again before it is in the log */
static void claimed(void)
{
  static DrainShopStruct shop;
  WriterStruct writer;
  Drain drain = drainNew(&writer, RegionPolicyOVERWRITE, &shop);
  uint8_t full = RegionFULL | 14, *state = writer.header->state;
  uint64_t time = 1000;

  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindObject, 0, time);
  blocks[0].header.whole = 1 << 14;
  writerFill(&blocks[0], 50, &time);
  writerPut(&writer, 3, &blocks[0], RegionFULL, blocks[0].header.used);
  blocks[0].header.sequence = 1;
  writerPut(&writer, 4, &blocks[0], RegionFULL, blocks[0].header.used + 24); /* an event is pending */
  TapIs(DrainRound(drain, DrainFULL), 0, "nothing is taken before it is asked for");
  TapOk(state[3] == full && state[4] == full, "and all may be overwritten");
  TapIs(DrainRound(drain, DrainFLUSH), 1, "what is whole is taken when it is");
  TapIs(state[3], full | RegionTAKEN, "and is not overwritten meanwhile");
  TapIs(state[4], full, "what is not may be");
  TapIs(BatchWrite(&shop.batch), ResOK, "it is written");
  TapIs(state[3], RegionFREE, "and free");
  blocks[0].header.sequence = 2;
  writerPut(&writer, 5, &blocks[0], RegionFULL, blocks[0].header.used);
  TapIs(DrainRound(drain, DrainFLUSH), 0, "what comes behind one that is not whole waits");
  state[4] = RegionFREE;
  TapIs(DrainRound(drain, DrainFLUSH), 1, "but not when that has been overwritten");
  drainEnd(drain, &writer, &shop);
}

/* ahead -- the clock of a process is ahead of ours, as in a time namespace: no event is later than its block says */
static void ahead(void)
{
  static DrainShopStruct shop;
  static unsigned char bytes[1 << 20];
  WriterStruct writer;
  Drain drain = drainNew(&writer, RegionPolicyOVERWRITE, &shop);
  uint64_t time;
  BlockHeaderStruct header = {.last = 0};
  unsigned char *place;
  ssize_t length;
  int fd;

  TapOk(DrainHeaderNew(drain) && drain->head.types != NULL, "a process whose types are known");
  time = EventClock(drain->head.slow) + 1000 * testMs;
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindObject, 0, time - 50 * testMs);
  writerFill(&blocks[0], 50, &time);
  writerPut(&writer, 3, &blocks[0], RegionFULL, blocks[0].header.used);
  TapIs(DrainRound(drain, DrainFLUSH), 1, "whose clock is a second ahead, has filled a block");
  TapIs(BatchWrite(&shop.batch), ResOK, "it is written");
  fd = open(path, O_RDONLY | O_CLOEXEC);
  length = read(fd, bytes, sizeof bytes);
  (void)close(fd);
  place = memmem(bytes, length > 0 ? (size_t)length : 0, BlockMAGIC, BlockMagicSIZE);
  if (place != NULL)
    memcpy(&header, place, sizeof header);
  TapOk((header.flags & (BlockFlagSEALED | BlockFlagPACKED)) == (BlockFlagSEALED | BlockFlagPACKED) &&
          header.last >= blocks[0].header.last, "and its last event is not later than its end");
  drainEnd(drain, &writer, &shop);
}

/* leaves -- another block of a frequent kind is in the slot than was listed: is it left alone? */
static Bool leaves(Drain drain, Writer writer, DrainEntry entry, DrainWhat what)
{
  uint8_t full = RegionFULL | 14;

  writerPut(writer, entry->slot, &blocks[0], RegionFULL, blocks[0].header.used);
  return !DrainSlotTake(drain, entry, what) && writer->header->state[entry->slot] == full;
}

/* changing -- blocks are used again while they are looked at: none is taken for what it was, or for what it is not */
static void changing(void)
{
  static DrainShopStruct shop;
  WriterStruct writer;
  Drain drain = drainNew(&writer, RegionPolicyOVERWRITE, &shop);
  uint8_t full = RegionFULL | 14, *state = writer.header->state;
  DrainEntryStruct entry;
  uint64_t time = 1000;
  Size offset, size;

  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindObject, 0, time);
  MakeBlockBegin(&blocks[1], writer.process, 10, EventKindPool, 0, time + 1);
  blocks[0].header.whole = blocks[1].header.whole = 1 << 14;
  writerFill(&blocks[0], 50, &time);
  writerFill(&blocks[1], 5, &time);
  writerPut(&writer, 3, &blocks[0], RegionFULL, blocks[0].header.used);
  TapOk(RegionBlockAt(&offset, &size, writer.header, 3), "a block that was full");
  memset((char *)writer.header + offset, 0, size);
  state[3] = RegionTAKEN;
  TapOk(!DrainSlotList(&entry, drain, 3, full, DrainFULL), "and is being erased is not listed");
  writerPut(&writer, 4, &blocks[1], RegionOPEN, 0);
  TapOk(DrainSlotList(&entry, drain, 4, state[4], DrainSHOWN), "one of a rare kind that is open is shown");
  TapOk(leaves(drain, &writer, &entry, DrainSHOWN), "but not if one of a frequent kind is there by then");
  memset(drain->slot, 0, 8 * sizeof drain->slot[0]);
  writerPut(&writer, 5, &blocks[1], RegionFULL, blocks[1].header.used);
  TapOk(DrainSlotList(&entry, drain, 5, state[5], DrainHELD), "one that is asked for is taken");
  TapOk(leaves(drain, &writer, &entry, DrainHELD), "but not another one in its place");
  TapIs(shop.batch.used, 0, "nothing is written");
  drainEnd(drain, &writer, &shop);
}

/* checksDrain -- each clause of the checks of a drain and its batch, in one that has a block in the batch */
static void checksDrain(void)
{
  static DrainShopStruct shop;
  WriterStruct writer;
  Drain drain = drainNew(&writer, RegionPolicyDISCARD, &shop);
  DrainStreams streams = &drain->streams;
  Batch batch = &shop.batch;
  uint64_t time = 1000;
  Index place = 0;

  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindObject, 0, time);
  writerFill(&blocks[0], 50, &time);
  writerPut(&writer, 3, &blocks[0], RegionFULL, blocks[0].header.used);
  blocks[0].header.sequence = 1;
  writerPut(&writer, 4, &blocks[0], RegionFULL, blocks[0].header.used);
  TapIs(DrainRound(drain, DrainHELD), 2, "two blocks are in the batch");
  while (streams->place[place] == 0)
    ++place;
  PLANT(drain->header, NULL, DrainCheck(drain), "no region");
  PLANT(drain->shop, NULL, DrainCheck(drain), "no shop");
  PLANT(drain->file.fd, -1, DrainCheck(drain), "no file");
  PLANT(drain->slots, RegionSlotsMAX + 1, DrainCheck(drain), "more slots than a region has");
  PLANT(drain->size, drain->size - 1, DrainCheck(drain), "slots that are not in the mapping");
  PLANT(drain->used, drain->slots + 1, DrainCheck(drain), "notes of slots that there are not");
  PLANT(drain->policy, RegionPolicyOVERWRITE + 1, DrainCheck(drain), "a policy that there is not");
  PLANT(drain->parted, TRUE, DrainCheck(drain), "a closing header block before all was taken");
  PLANT(drain->slot[3].stream, (uint32_t)streams->count, DrainCheck(drain), "a slot of a stream that is not there");
  PLANT(streams->stream[0].stall, (uint32_t)drain->slots + 1, DrainCheck(drain), "a stream that waits for no slot");
  PLANT(streams->count, streams->capacity + 1, DrainCheck(drain), "more streams than there is room for");
  PLANT(streams->places, streams->places - 1, DrainCheck(drain), "places that are no power of two");
  PLANT(streams->place[place], 0, DrainCheck(drain), "a stream that is not found");
  PLANT(streams->place[place ^ 1], (uint32_t)streams->count + 1, DrainCheck(drain), "a place for no stream");
  PLANT(streams->hand, streams->count, DrainCheck(drain), "a hand beyond all streams");
  PLANT(batch->used, BatchSIZE + 1, BatchCheck(batch), "more than there is room for");
  PLANT(batch->written, batch->used + 1, BatchCheck(batch), "more written than there is");
  PLANT(batch->passed, 1, BatchCheck(batch), "something passed on to no forward");
  PLANT(batch->slots, BatchSlotsMAX + 1, BatchCheck(batch), "too many slots");
  PLANT(batch->slot[0].header, NULL, BatchCheck(batch), "a slot of no region");
  PLANT(batch->slot[0].mark, NULL, BatchCheck(batch), "a slot without a mark");
  PLANT(batch->slot[1].slot, RegionSlotsMAX, BatchCheck(batch), "a slot that no region has");
  PLANT(batch->slot[1].end, 1, BatchCheck(batch), "slots in the wrong order");
  PLANT(batch->slot[1].end, batch->used + 1, BatchCheck(batch), "a slot whose block is not in the batch");
  drainEnd(drain, &writer, &shop);
}

/* checksCollector -- the same for a collector with one process */
static void checksCollector(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;

  PLANT(collector->robust.list.next, (struct robust_list *)(void *)told, CollectorCheck(collector),
        "a list that begins elsewhere");
  writerNew(&writer, EventRegistryTEXT);
  TapOk(writerAsk(&writer, CollectorAddress(collector), NULL, RegionPolicyDISCARD), "a process");
  run(collector);
  TapIs(writerGrant(&writer), 3, "has a region");
  writerText(&writer);
  PLANT(collector->robust.list.next, &collector->robust.list, CollectorCheck(collector), "a list without that region");
  PLANT(collector->drains, collectorDrainsMAX + 1, CollectorCheck(collector), "too many processes");
  PLANT(collector->last, collector->drain[0], CollectorCheck(collector),
        "a region that is kept beside those of others");
  PLANT(collector->drain[0]->shop, NULL, CollectorCheck(collector), "a drain of another collector");
  PLANT(collector->drain[0]->used, RegionSlotsMAX, CollectorCheck(collector), "a drain that is not sound");
  PLANT(collector->shop.batch.passed, 1, CollectorCheck(collector), "a batch that is not sound");
  PLANT(collector->shop.spares, DrainSPARE + 1, CollectorCheck(collector), "too many spare drains");
  writerClose(&writer);
  collectorEnd(collector, 0);
}

static char *lateText;

/* late -- the process writes its header block at the moment when the second place is looked at */
static void late(int signal)
{
  RegionHeader header = (RegionHeader)(void *)(lateText - RegionTEXT - RegionTextSIZE);

  UNUSED(signal);
  (void)mprotect(lateText, RegionTextSIZE, PROT_READ | PROT_WRITE);
  memcpy(lateText, HeaderMAGIC, BlockMagicSIZE);
  __atomic_store_n(&header->text.generation, 1, __ATOMIC_RELEASE);
}

/* published -- a header block that is written while it is looked for is found, if not now, then the next time */
static void published(void)
{
  static DrainShopStruct shop;
  WriterStruct writer;
  Drain drain = drainNew(&writer, RegionPolicyBLOCK, &shop);

  lateText = (char *)drain->header + RegionTEXT + RegionTextSIZE;
  memset(lateText, 0, BlockMagicSIZE);
  writer.header->text.generation = 0;
  (void)signal(SIGSEGV, late);
  (void)mprotect(lateText, RegionTextSIZE, PROT_NONE);
  (void)DrainHeaderNew(drain);
  TapIs(writer.header->text.generation, 1, "a header block is written while it is looked for");
  TapOk(DrainHeaderNew(drain), "and found the next time");
  (void)signal(SIGSEGV, SIG_DFL);
  drainEnd(drain, &writer, &shop);
}

/* streams -- more of them than there can be: those that are used keep their numbers, and none is refused */
static void streams(void)
{
  DrainStreamsStruct all = {0};
  Index number = 0, first, lost = 0, waits = 0;
  uint32_t i;

  (void)DrainStreamGet(&first, &all, 5);
  all.stream[first].next = 7;
  (void)DrainStreamGet(&number, &all, 6);
  all.stream[number].stall = 3;
  for (i = 100; i < 5 * DrainStreamsMAX; i += 3) {
    lost += DrainStreamGet(&number, &all, i) != ResOK || all.stream[number].id != i || all.stream[number].next != 0;
    all.stream[number].next = i;
    if (i % 1000 == 100)
      (void)DrainStreamGet(&number, &all, 5);
  }
  TapIs(lost, 0, "any number of streams come and go");
  TapIs(all.count, DrainStreamsMAX, "in so much memory");
  TapOk(DrainStreamGet(&number, &all, 5) == ResOK && number == first && all.stream[number].next == 7,
        "one that is used stays");
  TapOk(DrainStreamGet(&number, &all, 6) == ResOK && all.stream[number].stall == 3, "and one whose blocks wait");
  for (i = 0; i < all.count; ++i)
    waits += DrainStreamGet(&number, &all, all.stream[i].id) != ResOK || number != i;
  TapIs(waits, 0, "and each is found");
  DrainStreamsFree(&all);
}

/* overwrite -- frequent kinds stay where they are until they are asked for */
static void overwrite(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;
  Index i;

  writerOpen(&writer, collector, RegionPolicyOVERWRITE, EventRegistryTEXT);
  greet(collector);
  MakeBlockBegin(&blocks[0], writer.process, 2, EventKindPool, 0, time);
  writerFill(&blocks[0], 5, &time);
  writerPut(&writer, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  for (i = 0; i < 4; ++i) {
    MakeBlockBegin(&blocks[1], writer.process, 10, EventKindObject, 3 + i, time += 1);
    writerFill(&blocks[1], 50, &time);
    writerPut(&writer, 10 - i, &blocks[1], RegionFULL, blocks[1].header.used);
  }
  run(collector);
  TapIs(writer.header->state[0], RegionFREE, "a block of a rare kind is taken");
  TapIs(writer.header->pool.full, 4, "those of frequent kinds stay");
  MakeBlockBegin(&blocks[2], writer.process, 11, EventKindObject, 0, time += 1);
  writerFill(&blocks[2], 8, &time);
  writerPut(&writer, 20, &blocks[2], RegionOPEN, 0);
  (void)__atomic_fetch_or(&writer.header->hand.attention, RegionAskFLUSH, __ATOMIC_SEQ_CST);
  run(collector);
  TapIs(writer.header->hand.attention, 0, "a flush is done");
  TapIs(writer.header->pool.full, 0, "all full blocks are taken");
  TapIs(writer.header->state[20] & RegionOPEN, RegionOPEN, "and open ones stay");
  writerClose(&writer);
  collectorEnd(collector, 0);
  same("overwrite");
}

/* types -- a type that is defined while it runs, and only some types */
static void types(void)
{
  static uint8_t wanted[8192];
  static const char more[] = EventRegistryTEXT "event: 0x8001 Late User 1 WW id value\n";
  Collector collector = collectorNew(wanted);
  WriterStruct writer;
  uint64_t time = 1000;
  MakeProcess process;
  Index i;

  wanted[0x8001 / 8] |= 1u << 0x8001 % 8;
  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  run(collector);
  process = MakeProcessForeign(writer.process->header.pid, writer.process->header.identity, sizeof(Word), FALSE, more);
  MakeProcessFree(writer.process);
  writer.process = process;
  writerText(&writer);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time);
  for (i = 0; i < 20; ++i) {
    (void)MakeEvent(&blocks[0], EventUserWordCODE, time += 3, (uint64_t[]){1, 2}, NULL);
    (void)MakeEvent(&blocks[0], 0x8001, time += 3, (uint64_t[]){1, i}, NULL);
    listAdd(&made, time, &blocks[0], (uint32_t)i, i, 0x8001);
  }
  writerPut(&writer, 1, &blocks[0], RegionFULL, blocks[0].header.used);
  run(collector);
  writerClose(&writer);
  collectorEnd(collector, 0);
  same("a late type, and only that");
}

/* full -- a log that cannot be written: nothing is freed */
static void full(void)
{
  CollectorSettingsStruct settings = {.tell = testTell};
  Collector collector;
  WriterStruct writer;
  uint64_t time = 1000;
  Count running;

  told[0] = '\0';
  if (CollectorNew(&collector, &settings) != ResOK ||
      CollectorLog(collector, open("/dev/full", O_RDWR | O_APPEND | O_CLOEXEC), "/dev/full") != ResOK) {
    TapSkip("no /dev/full");
    return;
  }
  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[0], 5, &time);
  writerPut(&writer, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  run(collector);
  TapOk(writer.header->state[0] != RegionFREE, "what cannot be written stays");
  TapOk(strstr(told, "cannot be written") != NULL, "and the user is told");
  TapIs(CollectorEnd(collector, &running), ResIO, "also at the end");
  CollectorFree(collector);
  TapOk(access(writer.path, F_OK) == 0, "the region is not removed");
  writerRemove(&writer);
}

/* cutOff -- a write that is cut off in a block, which somebody else writes something behind before it can go on */
static void cutOff(void)
{
  static char header[HeaderMAX];
  struct rlimit limit, least;
  Collector collector = collectorNew(NULL);
  unsigned version[3];
  struct stat status;
  WriterStruct writer;
  uint64_t time = 1000;
  int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
  Size length = 0;

  (void)signal(SIGXFSZ, SIG_IGN);
  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  if (pread(fd, header, sizeof header, 0) <= 0 ||
      HeaderLength(&length, version, header, sizeof header) != ResOK || fstat(fd, &status) != 0 ||
      getrlimit(RLIMIT_FSIZE, &limit) != 0)
    makeFail(path);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[0], 100, &time);
  writerPut(&writer, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  least = limit;
  least.rlim_cur = (rlim_t)status.st_size + BlockHeaderSIZE + 20;
  (void)setrlimit(RLIMIT_FSIZE, &least);
  run(collector);
  (void)fstat(fd, &status);
  (void)setrlimit(RLIMIT_FSIZE, &limit);
  TapIs(status.st_size, least.rlim_cur, "a part of a block is written");
  if (write(fd, header, length) != (ssize_t)length)
    makeFail(path);
  run(collector);
  writerClose(&writer);
  collectorEnd(collector, 0);
  (void)close(fd);
  same("what was cut off is written again");
}

/* killed -- the collector dies: each process learns of it */
static void killed(void)
{
  int ends[2];
  pid_t child;
  WriterStruct writer[3];
  char address[128] = "";
  Index i;

  (void)!pipe(ends);
  child = fork();
  if (child == 0) {
    Collector collector = collectorNew(NULL);
    (void)!write(ends[1], CollectorAddress(collector), strlen(CollectorAddress(collector)) + 1);
    for (;;)
      (void)CollectorRun(collector, -1, EventClockMonotonic() + 1000 * testMs);
  }
  (void)!read(ends[0], address, sizeof address);
  for (i = 0; i < ARRAY_LENGTH(writer); ++i) {
    struct pollfd answer = {.events = POLLIN};
    writerNew(&writer[i], EventRegistryTEXT);
    (void)writerAsk(&writer[i], address, NULL, RegionPolicyDISCARD);
    answer.fd = writer[i].end;
    (void)poll(&answer, 1, -1);
    TapOk(writerGrant(&writer[i]) > 0 && writer[i].header->hand.collector == (uint32_t)child,
          "a collector elsewhere grants a region");
  }
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
  for (i = 0; i < ARRAY_LENGTH(writer); ++i) {
    TapOk((writer[i].header->hand.collector & RegionCollectorDIED) != 0, "when it is killed, process %llu sees that",
          (unsigned long long)i);
    writerRemove(&writer[i]);
  }
  (void)close(ends[0]), (void)close(ends[1]);
}

/* spoilt -- headers of blocks that are written over: while the process lives, and what it leaves; and of a process of
 * whose header block nothing can be read */
static void spoilt(void)
{
  LogSummaryStruct summary = {0};
  Collector collector = collectorNew(NULL);
  WriterStruct writer, nobody;
  uint64_t time = 1000;
  CollectorCountsStruct counts;
  Index i, slot;
  Log log;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  writerOpen(&nobody, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  memset((char *)nobody.header + RegionTEXT, 0xff, 2 * RegionTextSIZE);
  greet(collector);
  for (i = 0; i < 7; ++i) {
    WriterStruct *its = i < 5 ? &writer : &nobody;
    slot = i < 5 ? i : i - 5;
    MakeBlockBegin(&blocks[0], its->process, 7, EventKindUser, i, time += 1);
    if (i == 0)
      writerFill(&blocks[0], 20, &time);
    for (; i > 0 && blocks[0].header.count < 20;)
      (void)MakeEvent(&blocks[0], EventUserWordCODE, time += 1, (uint64_t[]){1, 2}, NULL);
    writerPut(its, slot, &blocks[0], i % 2 == 0 ? RegionFULL : RegionOPEN, blocks[0].header.used);
    if (i > 0)
      memset((char *)its->header + RegionFIRST + (slot + 1) * RegionSlotSIZE - blocks[0].header.whole,
             i % 3 == 0 ? 0xff : 0, BlockHeaderSIZE);
  }
  run(collector);
  TapIs(writer.header->state[2], RegionFREE, "a full block that is written over keeps its slot from nobody");
  TapIs(writer.header->lost, 40, "its events are counted while the process lives");
  TapOk(writer.header->state[1] != RegionFREE && writer.header->pool.full == 0,
        "one that is being filled is its owner's");
  writerClose(&writer);
  writerClose(&nobody);
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 210 * testMs);
  CollectorCount(&counts, collector);
  TapOk(
      strstr(told, ": 4 blocks in shared memory were written over or cut off by the program; 80 events are lost") !=
              NULL ||
          strstr(told, ": 2 blocks in shared memory were written over or cut off by the program; 40 events are lost") !=
              NULL,
      "all are told when it has ended: %s", told);
  TapIs(counts.discarded, 120, "and counted");
  collectorEnd(collector, 0);
  same("what was not written over");
  log = testOpen(&got);
  if (log != NULL) {
    LogSummarize(&summary, log);
    LogClose(log);
  }
  TapIs(summary.discarded, 120, "the log has the same count, also of who has no header block there");
}

/* miscounts -- a process writes over the count of what it has lost: that is told, and one event counts */
static void miscounts(void)
{
  LogSummaryStruct summary = {0};
  Collector collector = collectorNew(NULL);
  CollectorCountsStruct counts;
  WriterStruct writer;
  Log log;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  writer.header->lost = (uint64_t)1 << 60;
  greet(collector);
  writerClose(&writer);
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 210 * testMs);
  CollectorCount(&counts, collector);
  TapOk(strstr(told, "how many events it lost is not known") != NULL && counts.discarded == 1,
        "a count of lost events that cannot be is told, and counts one: %s", told);
  collectorEnd(collector, 0);
  log = testOpen(&got);
  if (log != NULL) {
    LogSummarize(&summary, log);
    LogClose(log);
  }
  TapIs(summary.discarded, 1, "in the log, too");
}

/* hostile -- a process that writes anything anywhere; the sanitizers see what is wrong then */
static void hostile(uint64_t *seed)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer, sound;
  uint64_t time = 1000;
  Index i, k;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  writerOpen(&sound, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  for (i = 0; i < testHostile; ++i) {
    for (k = 0; k < 4; ++k) {
      Index slot = TapRandom(seed) % testSlots, n;
      char *place = (char *)writer.header + RegionFIRST + (slot + 1) * RegionSlotSIZE - BlockMAX;
      MakeBlockBegin(&blocks[0], writer.process, (uint32_t)(TapRandom(seed) % 3), TapRandom(seed) % 16, i, time += 1);
      for (n = 0; n < 200; ++n)
        (void)MakeEvent(&blocks[0], EventUserWordCODE, time += 1, (uint64_t[]){1, 2}, NULL);
      writerPut(&writer, slot, &blocks[0], TapRandom(seed) % 2 ? RegionFULL : RegionOPEN, TapRandom(seed) % 70000);
      for (n = 0; n < 20; ++n)
        place[TapRandom(seed) % (n < 5 ? BlockHeaderSIZE : 4096)] = (char)TapRandom(seed);
      if (TapRandom(seed) % 4 == 0)
        writer.header->state[TapRandom(seed) % testSlots] = (uint8_t)TapRandom(seed);
    }
    if (i % 16 == 0)
      writer.header->hand.attention = RegionAskFLUSH;
    if (i % 32 == 0)
      ++writer.header->text.generation, writer.header->text.length[i & 1] = (uint32_t)TapRandom(seed);
    if (i % 50 == 0)
      writer.header->hand.next = (void *)(Word)TapRandom(seed), writer.header->slots = (uint32_t)TapRandom(seed);
    (void)CollectorRun(collector, -1, EventClockMonotonic() + testMs);
  }
  TapOk(CollectorCheck(collector), "whatever stands in a region, the collector is sound");
  TapOk(ftruncate(writer.fd, 4096) == 0, "a region that is cut short");
  run(collector);
  TapOk(ftruncate(writer.fd, 0) == 0, "to nothing");
  run(collector);
  MakeBlockBegin(&blocks[1], sound.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[1], 5, &time);
  writerPut(&sound, 0, &blocks[1], RegionFULL, blocks[1].header.used);
  run(collector);
  TapIs(sound.header->state[0], RegionFREE, "keeps nobody else waiting");
  writerClose(&writer), writerClose(&sound);
  collectorEnd(collector, 0);
  TapOk(testReadAll(), "and the log is one");
}

/* manyStreams -- more of them than are kept in mind */
static void manyStreams(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;
  Index i;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  greet(collector);
  MakeBlockBegin(&blocks[1], writer.process, 10, EventKindUser, 0, time += 1);
  for (i = 0; i < 70000; ++i) {
    Bool old = i % 35000 == 34999;
    if (old)
      MakeBlockNext(&blocks[1], time += 1);
    else
      MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time += 1);
    blocks[0].header.stream = (uint32_t)(100000 + i * 2);
    blocks[old].header.whole = BlockMIN;
    writerFill(&blocks[old], 1, &time);
    writerPut(&writer, i % testSlots, &blocks[old], RegionFULL, blocks[old].header.used);
    if (i % testSlots == testSlots - 1)
      (void)CollectorRun(collector, -1, EventClockMonotonic() + 1);
  }
  writerClose(&writer);
  collectorEnd(collector, 0);
  TapOk(testReadAll(), "very many streams: the log can be read");
  TapIs(got.count, made.count, "very many streams: all events are there");
}

/* followed -- while somebody holds a lock on the log, open blocks are shown as they are */
static void followed(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;
  int follower = open(path, O_RDONLY);

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time);
  writerFill(&blocks[0], 5, &time);
  writerPut(&writer, 3, &blocks[0], RegionOPEN, 0);
  greet(collector);
  TapOk(testReadAll() && got.count == 0, "what fills slowly is not written while nobody follows");
  TapOk(flock(follower, LOCK_SH) == 0, "somebody follows");
  greet(collector);
  TapOk(testReadAll() && got.count == 5, "and it is, as it is now");
  writerFill(&blocks[0], 3, &time);
  writerPut(&writer, 3, &blocks[0], RegionFULL, blocks[0].header.used);
  (void)close(follower);
  run(collector);
  writerClose(&writer);
  collectorEnd(collector, 0);
  same("followed");
}

/* leaving -- a process is killed while it writes a block of private memory: the block is missing, with all of its
 * events where the process knew how many its stream has */
static void leaving(Bool knows)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;

  writerOpen(&writer, collector, RegionPolicyDISCARD, EventRegistryTEXT);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time += 5);
  writerFill(&blocks[0], 5, &time);
  writerPut(&writer, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  writer.header->leaving[RegionLEAVING - 1] =
      (RegionLeavingStruct){blocks[0].header.stream, 7, 1, knows ? 5 + 7 : BlockBeforeUNKNOWN};
  run(collector);
  writerClose(&writer);
  greet(collector);
  collectorEnd(collector, 0);
  TapOk(testReadAll() && got.gaps == 1, "a block that a process was writing when it was killed is missing (%s)",
        got.gap);
  TapIs(got.lost, knows ? 7 : 1, knows ? "with its events" : "with one at least");
}

/* held -- a process is no more, and its memory is held by somebody else for a moment, as by who reads it in /proc: it
 * is not said to run */
static void held(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  int ends[2];
  pid_t child;

  writerNew(&writer, EventRegistryTEXT);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    makeFail("socketpair");
  child = fork();
  if (child == 0) {
    RegionMeetStruct meet = meetRequest(&writer, CollectorAddress(collector), NULL, RegionPolicyDISCARD);
    (void)meetSend(CollectorAddress(collector), &meet, sizeof meet, ends[1]);
    for (;;)
      (void)pause();
  }
  (void)CollectorRun(collector, -1, EventClockMonotonic() + 100 * testMs);
  writer.end = ends[0];
  TapOk(writerGrant(&writer) > 0, "a process has a region");
  writerText(&writer);
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
  child = fork();
  if (child == 0) {
    (void)usleep(150000);
    _exit(0);
  }
  (void)close(ends[1]);
  writerClose(&writer);
  collectorEnd(collector, 0);
  (void)waitpid(child, NULL, 0);
  TapOk(access(writer.path, F_OK) != 0, "and its region is gone");
}

/* lacking -- a full file system has no page for a moment; what is put there later is found */
static void lacking(void)
{
  Collector collector = collectorNew(NULL);
  WriterStruct writer;
  uint64_t time = 1000;

  writerNew(&writer, EventRegistryTEXT);
  (void)writerAsk(&writer, CollectorAddress(collector), NULL, RegionPolicyDISCARD);
  run(collector);
  TapOk(writerGrant(&writer) > 0 && ftruncate(writer.fd, RegionCONTROL) == 0, "a region of which there is little");
  greet(collector);
  TapOk(ftruncate(writer.fd, (off_t)RegionSize(testSlots)) == 0, "comes to be");
  writerText(&writer);
  MakeBlockBegin(&blocks[0], writer.process, 10, EventKindUser, 0, time += 5);
  writerFill(&blocks[0], 5, &time);
  writerPut(&writer, 0, &blocks[0], RegionFULL, blocks[0].header.used);
  run(collector);
  writerClose(&writer);
  collectorEnd(collector, 0);
  same("what came to be");
}

int main(void)
{
  uint64_t seed = TapSeed() * 2 + 1;
  int fd = mkstemp(path);

  if (fd < 0 || close(fd) != 0)
    return 1;
  (void)MakeBlockEnd; /* unused here */
  meets();
  refused();
  strange(&seed);
  many(&seed);
  pending(FALSE);
  pending(TRUE);
  overwrite();
  checksDrain();
  checksCollector();
  claimed();
  ahead();
  changing();
  published();
  streams();
  types();
  full();
  cutOff();
  killed();
  followed();
  spoilt();
  leaving(FALSE);
  leaving(TRUE);
  held();
  lacking();
  miscounts();
  manyStreams();
  hostile(&seed);
  (void)unlink(path);
  return TapDone();
}
