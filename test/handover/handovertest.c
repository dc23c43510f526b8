/* handovertest.c -- blocks handed over to a collector: a toy of one, which keeps no log, counts what it is given
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The test starts itself as the program that emits, with the environment that eventrec would give it, and plays the
 * collector.  Each event has the number of its series and its own; in the end each must have arrived once.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "decode.h"
#include "emit/event.h"
#include "emit/emitter.h"
#include "emit/pawprint.h"
#include "format/region.h"
#include "tap.h"

enum { seriesMAX = 16, numbersMAX = 1 << 18, threadsMAX = 3, keptLooks = 60, keptBegin = 200, deniedRUNS = 3 };
enum { toldFULL = seriesMAX, toldLEAVES, toldSIZE }; /* what program and test say to each other, behind the series */

#if defined(VARIETY_RASH)

int main(void)
{
  TapSkip("no telemetry in this variety");
  return TapDone();
}

#else

static char logPath[128];

/* The program. */

static volatile Count handled;

static void emitSeries(Word series, Count count)
{
  Index i;

  for (i = 0; i < count; ++i)
    EVENT_WW(UserWord, series, i);
}

static void onSignal(int signal)
{
  int error = errno;
  Count some = handled % 8 == 0 ? 200 : 1; /* sometimes more than a small block holds */

  UNUSED(signal);
  for (; some > 0 && handled < numbersMAX; --some) {
    EVENT_WW(UserWord, 8, handled);
    ++handled;
  }
  errno = error;
}

static void *threadRun(void *number)
{
  emitSeries((Word)number, numbersMAX / 4);
  return NULL;
}

/* emitObjects -- events of a frequent kind */
static void emitObjects(Word series, Count count)
{
  Index i;

  for (i = 0; i < count; ++i)
    EVENT_PAW(PoolAlloc, (void *)series, (Addr)(Word)i, 32);
}

/* emitLate -- two events that are begun, and filled in when more others have been emitted than all blocks hold: as a
 * handler does that interrupts them, one behind its length and one before it */
static void emitLate(void)
{
  Word *next = &EventThreadSelf->cursor[EventPoolAllocKIND][0].next, at, now = EventClock(EVENT_SLOW), i = 0;
  void *room = EventReserve(EventPoolAllocKIND, sizeof(EventPAWStruct));

  emitObjects(1, numbersMAX);
  EVENT_FILL_PAW(PoolAlloc, room, 2, 0, 32);
  emitObjects(3, numbersMAX);
  while (((*next + 2 * sizeof(EventPAWStruct) - 1) & EventBlockBIT) == 0) /* until there is room for it */
    EVENT_PAW(PoolAlloc, (void *)5, (Addr)i++, 32);
  EVENT_PA(PoolFree, (void *)5, (Addr)i); /* so that it is not where another block has an event, too */
  at = eventAdvance(next, sizeof(EventPAWStruct));
  room = EventReserve(EventPoolAllocKIND, sizeof(EventPAWStruct));
  emitObjects(4, numbersMAX);
  eventFill(at, sizeof(EventPAWStruct), now);
  EVENT_FILL_PAW(PoolAlloc, at, 2, 1, 32);
  EVENT_FILL_PAW(PoolAlloc, room, 2, 2, 32);
}

/* objectsRun -- until the process is killed */
static void *objectsRun(void *number)
{
  for (;;)
    emitObjects((Word)number, numbersMAX);
  return NULL;
}

static Bool storming;

static void *stormRun(void *target)
{
  while (__atomic_load_n(&storming, __ATOMIC_RELAXED)) {
    (void)pthread_kill(*(pthread_t *)target, SIGUSR1);
    (void)usleep(5);
  }
  return NULL;
}

/* emitLeft -- more than there is room for, long enough for that to be known, and then while the collector lets go */
static void emitLeft(Count *told)
{
  emitSeries(0, numbersMAX);
  (void)usleep(50000);
  emitSeries(1, 10);
  __atomic_store_n(&told[toldFULL], 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&told[toldLEAVES], __ATOMIC_ACQUIRE) == 0)
    (void)usleep(100);
  emitSeries(2, 10000);
  told[0] = numbersMAX;
  told[1] = 10;
  told[2] = 10000;
}

/* programRun -- what the environment says; the numbers of the events go to `told`, in shared memory */
static int programRun(const char *mode, Count *told)
{
  pthread_t thread[threadsMAX], storm, self = pthread_self();
  struct sigaction action = {.sa_handler = onSignal};
  Word i;

  if (strcmp(mode, "objects") == 0) {
    for (i = 0; i < 2000; ++i) {
      char name[32];
      (void)snprintf(name, sizeof name, "string %d", (int)i);
      (void)EventIntern(name);
    }
    /* Until they are drained they take places that objects would have. */
    while (__atomic_load_n(&EmitterRegion(EmitterGet())->pool.full, __ATOMIC_RELAXED) != 0)
      (void)usleep(100);
    emitObjects(0, numbersMAX);
    told[0] = numbersMAX;
    return 0;
  }
  if (strcmp(mode, "late") == 0) {
    emitObjects(0, 10);
    emitLate();
    return 0;
  }
  if (strcmp(mode, "stopped") == 0) {
    /* Another thread has found no room either, and was the first: it is about to stop the recording. */
    __atomic_store_n(&EmitterRegion(EmitterGet())->stopped, 1, __ATOMIC_SEQ_CST);
    for (i = 0; i < numbersMAX && (__atomic_load_n(&EVENT_CONTROL[0], __ATOMIC_RELAXED) >> EventUserWordKIND & 1) != 0;
         ++i)
      EVENT_WW(UserWord, 0, i);
    told[0] = i;
    return 0;
  }
  if (strcmp(mode, "left") == 0) {
    emitLeft(told);
    return 0;
  }
  if (strcmp(mode, "forever") == 0) {
    for (i = 1; i <= threadsMAX; ++i)
      (void)pthread_create(&thread[i - 1], NULL, objectsRun, (void *)i);
    (void)objectsRun(NULL);
  }
  if (strcmp(mode, "storm") == 0) {
    (void)sigaction(SIGUSR1, &action, NULL);
    __atomic_store_n(&storming, TRUE, __ATOMIC_RELAXED);
    (void)pthread_create(&storm, NULL, stormRun, &self);
    emitSeries(0, numbersMAX);
    __atomic_store_n(&storming, FALSE, __ATOMIC_RELAXED);
    (void)pthread_join(storm, NULL);
    told[8] = handled;
    told[0] = numbersMAX;
    return 0;
  }
  if (strcmp(mode, "poor") == 0)
    (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
  for (i = 1; i <= threadsMAX; ++i)
    (void)pthread_create(&thread[i - 1], NULL, threadRun, (void *)i);
  emitSeries(0, numbersMAX);
  told[0] = numbersMAX;
  for (i = 1; i <= threadsMAX; ++i) {
    (void)pthread_join(thread[i - 1], NULL);
    told[i] = numbersMAX / 4;
  }
  if (strcmp(mode, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) {
      emitSeries(4, 1000);
      exit(0);
    }
    (void)waitpid(child, NULL, 0);
    told[4] = 1000;
  }
  if (strcmp(mode, "kill") == 0)
    (void)raise(SIGKILL);
  return 0;
}

/* The toy. */

typedef struct toyRegionStruct {
  RegionHeader header;
  Size size;
  int fd;
  char path[RegionPathMAX];
} toyRegionStruct, *ToyRegion;

typedef struct toyStruct {
  int socket;
  Count regions;
  toyRegionStruct region[8];
  uint8_t *seen[seriesMAX];
  Count events, doubles, others, discarded[64], blocks, slow, pendings;
  uint64_t lost;
  Bool dies;      /* after some blocks it is dead */
  Bool died;
  Bool denied; /* the program writes again and again that there is none, so that it sends by itself, and it goes on all
                  the same */
  Bool keeps;     /* blocks of frequent kinds are overwritten, and not drained before the end */
  Count interned;
  Count misplaced; /* blocks whose `before` is not the number of their first event */
} toyStruct, *Toy;

static void toyOpen(Toy toy, char *name, Size size)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  Index i;

  (void)snprintf(name, size, "pawprint-handtest-%d", (int)getpid());
  (void)strcpy(address.sun_path + 1, name);
  toy->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(toy->socket, (struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) != 0)
    printf("Bail out! bind\n");
  for (i = 0; i < seriesMAX; ++i)
    toy->seen[i] = calloc(1, numbersMAX);
}

/* toyRegion -- make a region for a process, and two more descriptions of its file, the first locked */
static void toyRegion(Toy toy, ToyRegion region, RegionMeet meet, int fds[2])
{
  RegionHeader header;
  char path[64];
  Index i;

  region->size = RegionSize(meet->slots);
  (void)snprintf(region->path, sizeof region->path, "/dev/shm/pawprint-0000000000000001-%d-%d", (int)getpid(),
                 (int)toy->regions);
  region->fd = open(region->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (region->fd < 0 || ftruncate(region->fd, (off_t)region->size) != 0)
    printf("Bail out! %s\n", region->path);
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", region->fd);
  for (i = 0; i < 2; ++i)
    fds[i] = open(path, O_RDWR | O_CLOEXEC);
  (void)flock(fds[0], LOCK_EX);
  header = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd, 0);
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->pid = meet->pid;
  header->slots = meet->slots;
  header->identity = meet->identity;
  header->policy = meet->policy;
  header->hand.collector = 4711;
  region->header = header;
}

/* toyMeet -- give a region to who asks for one, if anybody does */
static void toyMeet(Toy toy)
{
  RegionMeetStruct meet;
  RegionGrantStruct grant = {.magic = RegionMAGIC, .version = RegionMeetVERSION, .recording = 1};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(2 * sizeof(int))];
  } control;
  struct iovec part = {&meet, sizeof meet};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  ToyRegion region = &toy->region[toy->regions];
  int fds[2], fd;

  if (recvmsg(toy->socket, &message, MSG_CMSG_CLOEXEC) != sizeof meet || meet.pid == 0)
    return;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  toyRegion(toy, region, &meet, fds);
  grant.slots = meet.slots;
  (void)strcpy(grant.path, region->path);
  part = (struct iovec){&grant, sizeof grant};
  control.header = (struct cmsghdr){CMSG_LEN(sizeof fds), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
  message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof control};
  (void)sendmsg(fd, &message, MSG_NOSIGNAL);
  (void)close(fds[0]), (void)close(fds[1]), (void)close(fd);
  ++toy->regions;
}

/* toyEvents -- tick off what a block holds */
static void toyEvents(Toy toy, const char *events, Size size)
{
  Size at = 0;

  while (at + sizeof(EventHeaderStruct) <= size) {
    EventHeaderStruct event;
    Word word[2];
    memcpy(&event, events + at, sizeof event);
    if (event.code == EventUserWordCODE || event.code == EventPoolAllocCODE) {
      memcpy(word, events + at + sizeof event, sizeof word);
      if (word[0] >= seriesMAX || word[1] >= numbersMAX)
        ++toy->others;
      else if (toy->seen[word[0]][word[1]]++ != 0)
        ++toy->doubles;
      ++toy->events;
    }
    toy->interned += event.code == EventInternCODE;
    at += event.length == 0 ? EventALIGN : EventSizeOfLength(event.length);
  }
}

/* toyDiscarded -- how many events the block's thread has discarded so far */
static void toyDiscarded(Toy toy, BlockHeader header)
{
  if (header->stream < ARRAY_LENGTH(toy->discarded) * 32 && header->discarded > toy->discarded[header->stream / 32])
    toy->discarded[header->stream / 32] = header->discarded;
}

/* toyBlock -- one slot; TRUE: it is done with */
static Bool toyBlock(Toy toy, ToyRegion region, Index i, Bool dead)
{
  static char copy[BlockMAX];
  BlockHeader header = (BlockHeader)(void *)copy;
  BlockTallyStruct tally;
  Size offset, size;
  char *block;

  if (!RegionBlockAt(&offset, &size, region->header, i) ||
      (toy->keeps && !dead && __atomic_load_n(&region->header->tickets[i], __ATOMIC_ACQUIRE) != 0))
    return FALSE;
  block = (char *)region->header + offset;
  memcpy(copy, block, size);
  if (memcmp(header->magic, BlockMAGIC, BlockMagicSIZE) != 0)
    return dead;
  if ((header->flags & BlockFlagUNSENT) != 0)
    return FALSE;
  BlockWalk(&tally, copy + BlockHeaderSIZE, size - BlockHeaderSIZE, header->first, FALSE);
  if (!dead && (tally.pending > 0 || tally.used < header->used)) {
    ++toy->pendings;
    return FALSE;
  }
  toyEvents(toy, copy + BlockHeaderSIZE, tally.used);
  if (toy->keeps && header->kind == EventKindObject &&
      header->before != ((Word *)(void *)(copy + BlockHeaderSIZE))[2])
    ++toy->misplaced;
  toyDiscarded(toy, header);
  ++toy->blocks;
  __atomic_store_n(&region->header->state[i], RegionFULL, __ATOMIC_RELEASE); /* nobody looks for it any more */
  memset(block, 0, size);
  return TRUE;
}

static void toyRound(Toy toy, Bool dead)
{
  Index r, i;

  toyMeet(toy);
  for (r = 0; r < toy->regions; ++r) {
    ToyRegion region = &toy->region[r];
    if (toy->denied)
      __atomic_store_n(&region->header->hand.collector, RegionCollectorNONE, __ATOMIC_SEQ_CST);
    for (i = 0; i < region->header->slots; ++i) {
      uint8_t state = __atomic_load_n(&region->header->state[i], __ATOMIC_ACQUIRE);
      if (state == RegionFREE || (!dead && (state & RegionFULL) == 0) || !toyBlock(toy, region, i, dead))
        continue;
      /* It dies where the block is erased, and its slot is not free yet. */
      if (toy->dies && !toy->died && toy->blocks > 100) {
        (void)__atomic_fetch_or(&region->header->hand.collector, RegionCollectorDIED, __ATOMIC_SEQ_CST);
        toy->died = TRUE;
        return;
      }
      if ((state & RegionFULL) != 0)
        (void)__atomic_fetch_sub(&region->header->pool.full, 1, __ATOMIC_SEQ_CST);
      __atomic_store_n(&region->header->state[i], RegionFREE, __ATOMIC_RELEASE);
      if (region->header->pool.waiting != 0)
        (void)__atomic_fetch_add(&region->header->pool.freed, 1, __ATOMIC_SEQ_CST);
    }
  }
  if (toy->slow != 0)
    (void)usleep((useconds_t)toy->slow);
}

static void toyClose(Toy toy)
{
  Index i;

  for (i = 0; i < toy->regions; ++i) {
    ToyRegion region = &toy->region[i];
    TapOk(flock(region->fd, LOCK_EX | LOCK_NB) == 0, "the region's lock is free after its process's end");
    toy->lost += region->header->lost;
    (void)munmap(region->header, region->size);
    (void)close(region->fd);
    (void)unlink(region->path);
  }
  (void)close(toy->socket);
  for (i = 0; i < seriesMAX; ++i)
    free(toy->seen[i]);
}

/* toyLog -- what the program wrote by itself */
static void toyLog(Toy toy)
{
  DecodeStruct decode;
  struct stat status;
  int fd = open(logPath, O_RDONLY);
  char *bytes;
  Index i;

  if (fd < 0 || fstat(fd, &status) != 0)
    return;
  bytes = malloc((Size)status.st_size + 1);
  (void)!read(fd, bytes, (Size)status.st_size);
  (void)close(fd);
  DecodeBytes(&decode, bytes, (Size)status.st_size);
  for (i = 0; i < decode.events; ++i)
    if (decode.event[i].code == EventUserWordCODE)
      toyEvents(toy, decode.event[i].bytes, EventSizeOfLength(decode.event[i].length));
  for (i = 0; i < decode.blocks; ++i)
    toyDiscarded(toy, &decode.block[i].header);
  DecodeFree(&decode);
  free(bytes);
}

/* toyStart -- run this test as a program under the toy */
static pid_t toyStart(Toy toy, const char *mode, const char *const *environment, Count *told)
{
  char name[64], settings[160];
  TextStruct text;
  struct stat made;
  uint64_t birth;
  pid_t pid;
  int fd;

  toyOpen(toy, name, sizeof name);
  fd = open(logPath, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  (void)fstat(fd, &made);
  birth = RawBirth(fd);
  (void)close(fd);
  (void)snprintf(settings, sizeof settings, "collector=%s:token,family=", name);
  TextInit(&text, settings + strlen(settings), sizeof settings - strlen(settings));
  PlinthFileTell(&text, made.st_dev, made.st_ino, birth);
  (void)TextTerminate(&text);
  memset(told, 0, toldSIZE * sizeof *told);
  pid = fork();
  if (pid == 0) {
    (void)setenv("PAWPRINT_RECORDING", settings, 1);
    (void)setenv("PAWPRINT_LOG", logPath, 1);
    (void)setenv("HANDTEST", mode, 1);
    for (; environment != NULL && *environment != NULL; environment += 2)
      (void)setenv(environment[0], environment[1], 1);
    (void)execl("/proc/self/exe", "handtest", (char *)NULL);
    _exit(99);
  }
  return pid;
}

/* toyRun -- the same, to its end; what it told is in `told` */
static int toyRun(Toy toy, const char *mode, const char *const *environment, Count *told)
{
  pid_t pid = toyStart(toy, mode, environment, told);
  int status;

  while (waitpid(pid, &status, WNOHANG) == 0 && !toy->died)
    toyRound(toy, FALSE);
  if (toy->died)
    (void)waitpid(pid, &status, 0);
  toyRound(toy, FALSE);
  toyRound(toy, TRUE);
  toyLog(toy);
  return status;
}

/* tellMissing -- which events have not come */
static void tellMissing(Toy toy, const Count *told)
{
  Index series, i, first;

  for (series = 0; series < seriesMAX; ++series)
    for (i = 0; i < told[series]; ++i) {
      for (first = i; i < told[series] && toy->seen[series][i] == 0; ++i)
        ;
      if (i > first)
        printf("# series %zu of %zu: %zu to %zu are missing\n", series, told[series], first, i - 1);
    }
}

static Count sum(const Count *told)
{
  Count total = 0;
  Index i;

  for (i = 0; i < seriesMAX; ++i)
    total += told[i];
  return total;
}

static Count discards(Toy toy)
{
  Count total = toy->lost;
  Index i;

  for (i = 0; i < ARRAY_LENGTH(toy->discarded); ++i)
    total += toy->discarded[i];
  return total;
}

static Count *shared;

static void testAll(const char *mode, const char *what, const char *const *environment, Bool dies)
{
  static toyStruct toy;
  int status;

  memset(&toy, 0, sizeof toy);
  toy.dies = dies;
  status = toyRun(&toy, mode, environment, shared);
  if (toy.events + discards(&toy) != sum(shared))
    tellMissing(&toy, shared);
  toyClose(&toy);
  TapOk(strcmp(mode, "kill") == 0 ? WIFSIGNALED(status) : status == 0, "%s: the program ends as it should (%d)", what,
        status);
  TapIs(toy.doubles + toy.others, 0, "%s: nothing twice, nothing strange", what);
  TapIs(toy.events + discards(&toy), sum(shared),
        "%s: every event, or its count (%zu discarded, %zu blocks, %zu waits for handlers)", what, discards(&toy),
        toy.blocks, toy.pendings);
  if (environment == NULL)
    TapIs(discards(&toy), 0, "%s: nothing discarded", what);
}

static void testSmall(void)
{
  static const char *const small[] = {"PAWPRINT_BLOCK", "4096", NULL};

  testAll("storm", "a storm of signals on small blocks", small, FALSE);
  testAll("storm", "the collector dies in a storm on small blocks", small, TRUE);
}

static void testSlow(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "4", NULL};
  static const char *const block[] = {"PAWPRINT_BLOCKS", "2", "PAWPRINT_POLICY", "block", NULL};
  static const char *const stop[] = {"PAWPRINT_BLOCKS", "8", "PAWPRINT_POLICY", "stop", NULL};
  static toyStruct toy;

  memset(&toy, 0, sizeof toy);
  toy.slow = 3000;
  (void)toyRun(&toy, "threads", few, shared);
  toyClose(&toy);
  TapOk(discards(&toy) > 0, "discard: a slow collector loses events");
  TapIs(toy.events + discards(&toy), sum(shared), "discard: and all of them are counted");

  memset(&toy, 0, sizeof toy);
  toy.slow = 100;
  (void)toyRun(&toy, "threads", block, shared);
  toyClose(&toy);
  TapIs(toy.events, sum(shared), "block: the program waits, and nothing is lost");
  TapIs(discards(&toy), 0, "block: nor discarded");

  memset(&toy, 0, sizeof toy);
  toy.slow = 20000;
  (void)toyRun(&toy, "threads", stop, shared);
  TapOk(toy.region[0].header->stopped != 0, "stop: it says when");
  toyClose(&toy);
  TapOk(discards(&toy) > 0 && discards(&toy) < 10 && toy.events < sum(shared),
        "stop: the recording ends where there is no room");

  memset(&toy, 0, sizeof toy);
  toy.slow = 20000;
  (void)toyRun(&toy, "stopped", stop, shared);
  toyClose(&toy);
  TapOk(sum(shared) < numbersMAX && discards(&toy) == 1,
        "stop: a thread that finds no room goes on no further, also where another one was first");
}

/* testLeft -- a collector lets go of a program whose events it has no room for */
static void testLeft(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "4", NULL};
  static toyStruct toy;
  pid_t pid;
  int status;

  memset(&toy, 0, sizeof toy);
  pid = toyStart(&toy, "left", few, shared);
  while (waitpid(pid, &status, WNOHANG) == 0 && __atomic_load_n(&shared[toldFULL], __ATOMIC_ACQUIRE) == 0) {
    toyMeet(&toy);
    (void)usleep(100);
  }
  (void)__atomic_fetch_or(&toy.region[0].header->hand.collector, RegionCollectorLEAVES, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared[toldLEAVES], 1, __ATOMIC_RELEASE);
  (void)usleep(50000);
  __atomic_store_n(&toy.region[0].header->hand.collector, RegionCollectorNONE, __ATOMIC_SEQ_CST);
  (void)waitpid(pid, &status, 0);
  toyRound(&toy, TRUE);
  toyLog(&toy);
  toyClose(&toy);
  TapOk(discards(&toy) > 0, "the collector lets go while there is no room: events are discarded");
  TapIs(toy.events + discards(&toy), sum(shared), "and all of them are counted");
}

/* testDenied -- what says in shared memory that there is a collector is written over, and it goes on: blocks are erased
 * while the program sends them.  Who has which events is not said; but the program does not go astray in its own
 * memory. */
__attribute__((unused)) static void testDenied(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "64", NULL};
  static toyStruct toy;
  Index i;
  int status, bad = 0;

  for (i = 0; i < deniedRUNS && bad == 0; ++i) {
    memset(&toy, 0, sizeof toy);
    toy.denied = TRUE;
    status = toyRun(&toy, "threads", few, shared);
    toyClose(&toy);
    bad |= status;
  }
  TapIs(bad, 0, "a program that does not know its collector any more comes to its end");
}

static void testOverwrite(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "8", "PAWPRINT_POLICY", "overwrite", NULL};
  static toyStruct toy;
  Index first;

  memset(&toy, 0, sizeof toy);
  toy.keeps = TRUE;
  (void)toyRun(&toy, "objects", few, shared);
  for (first = numbersMAX; first > 0 && toy.seen[0][first - 1] == 1; --first)
    ;
  TapIs(toy.events, numbersMAX - first, "overwrite: what is left is the newest");
  TapIs(toy.interned, 2000, "overwrite: and all definitions");
  /* Some are the toy's when it comes late, and one for each kind is being filled. */
  TapOk(numbersMAX - first >= 4 * 1000, "overwrite: as much as the blocks hold");
  TapIs(toy.misplaced + toy.doubles, 0, "overwrite: blocks tell how many events were before them");
  TapOk(toy.region[0].header->pool.overwritten > 0, "overwrite: and it is counted");
  toyClose(&toy);
}

/* testLate -- blocks in which an event is pending are not used again before it is filled in, and then they are */
static void testLate(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "8", "PAWPRINT_POLICY", "overwrite", NULL};
  static toyStruct toy;
  int status;

  memset(&toy, 0, sizeof toy);
  toy.keeps = TRUE;
  status = toyRun(&toy, "late", few, shared);
  TapIs(status, 0, "overwrite: events are interrupted for long");
  TapIs(toy.doubles + toy.others, 0, "overwrite: and what they say then goes where nothing else is");
  TapOk(toy.seen[2][1] == 1 && toy.seen[2][2] == 1, "overwrite: so it is kept");
  TapOk(toy.seen[2][0] == 0 && toy.seen[0][9] == 0, "overwrite: but not for ever");
  toyClose(&toy);
}

/* keptGaps -- of how many threads are blocks missing between those that a region has?  Its process stands still. */
static Count keptGaps(RegionHeader region)
{
  struct { uint64_t first, last; Count blocks; } kept[64] = {{0, 0, 0}}, *its;
  Size offset, size;
  Count gaps = 0;
  Index i;

  for (i = 0; i < region->slots; ++i) {
    BlockHeader block;
    if (!RegionBlockAt(&offset, &size, region, i))
      continue;
    block = (BlockHeader)(void *)((char *)region + offset);
    if (memcmp(block->magic, BlockMAGIC, BlockMagicSIZE) != 0 || block->kind != EventKindObject ||
        block->stream / 32 >= ARRAY_LENGTH(kept))
      continue;
    its = &kept[block->stream / 32];
    its->first = its->blocks == 0 || block->sequence < its->first ? block->sequence : its->first;
    its->last = its->blocks == 0 || block->sequence > its->last ? block->sequence : its->last;
    ++its->blocks;
  }
  for (its = kept; its < kept + ARRAY_LENGTH(kept); ++its)
    gaps += its->blocks > 0 && its->last - its->first + 1 != its->blocks;
  return gaps;
}

/* testKept -- threads that want the same old blocks: at whatever moment one looks, what each has is in one piece */
static void testKept(void)
{
  static const char *const few[] = {"PAWPRINT_BLOCKS", "60", "PAWPRINT_BLOCK", "4096", "PAWPRINT_POLICY", "overwrite",
                                    NULL};
  static toyStruct toy;
  uint32_t overwritten;
  Count gaps = 0;
  pid_t pid;
  Index i;

  memset(&toy, 0, sizeof toy);
  toy.keeps = TRUE;
  pid = toyStart(&toy, "forever", few, shared);
  while (waitpid(pid, NULL, WNOHANG) == 0 &&
         (toy.regions == 0 || __atomic_load_n(&toy.region[0].header->pool.overwritten, __ATOMIC_RELAXED) < keptBegin))
    toyRound(&toy, FALSE);
  for (i = 0; i < keptLooks; ++i) {
    (void)usleep(1000);
    (void)kill(pid, SIGSTOP);
    (void)waitpid(pid, NULL, WUNTRACED);
    gaps += keptGaps(toy.region[0].header);
    (void)kill(pid, SIGCONT);
  }
  /* Who was about to overwrite a block may do that one yet. */
  (void)__atomic_fetch_or(&toy.region[0].header->hand.collector, RegionCollectorLEAVES, __ATOMIC_SEQ_CST);
  (void)usleep(20000);
  overwritten = __atomic_load_n(&toy.region[0].header->pool.overwritten, __ATOMIC_RELAXED);
  (void)usleep(50000);
  TapIs(__atomic_load_n(&toy.region[0].header->pool.overwritten, __ATOMIC_RELAXED), overwritten,
        "overwrite: nothing is any more when the collector is about to take what there is");
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, NULL, 0);
  TapIs(gaps, 0, "overwrite: of each thread what is left is without a gap, at %d moments", (int)keptLooks);
  toyClose(&toy);
}

int main(int argc, char **argv)
{
  static const char *const poor[] = {"ASAN_OPTIONS", "detect_leaks=0", NULL}; /* looking for leaks takes open files */
  const char *mode = getenv("HANDTEST");
  char path[64];
  int fd;

  UNUSED(argc), UNUSED(argv);
  (void)snprintf(path, sizeof path, "/tmp/pawprint-handtest-%d", (int)(mode != NULL ? getppid() : getpid()));
  fd = open(path, O_RDWR | O_CREAT, 0600);
  (void)ftruncate(fd, 4096);
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)close(fd);
  if (mode != NULL)
    return programRun(mode, shared);
  (void)snprintf(logPath, sizeof logPath, "%s.paw", path);
  testAll("threads", "threads", NULL, FALSE);
  testAll("storm", "a storm of signals", NULL, FALSE);
  testAll("fork", "fork", NULL, FALSE);
  testAll("kill", "SIGKILL", NULL, FALSE);
  testAll("poor", "a program that may open no files any more", poor, FALSE);
  testAll("threads", "the collector dies", NULL, TRUE);
  testAll("storm", "the collector dies in a storm", NULL, TRUE);
  testSmall();
  testSlow();
  testLeft();
  if (EVENT_PRESENT(PoolAlloc)) {
#if !defined(__SANITIZE_THREAD__) /* two drain one block: that is what the program's mistake brings about */
    testDenied();
#endif
    testOverwrite();
    testLate();
    testKept();
  } else
    TapSkip("no events of objects in this variety");
  (void)unlink(path);
  (void)unlink(logPath);
  return TapDone();
}

#endif
