/* trimtest.c -- a log that stays small: its newest part and what defines things are there, and what has gone is told
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Events of frequent and of rare kinds are written without end; the log is read again and again meanwhile, and what is
 * delivered and what is told to have gone must come to what was written.  SOAK=1 writes a hundred times as much, on a
 * disk that stays as full.
 */
#include <errno.h>
#include <sys/stat.h>

#include "collect/trim.h"
#include "logmake.h"
#include "request/request.h"

enum {
  trimStreams = 4, trimDefining = 800, trimLIMIT = 2 << 20, trimRare = 1 << EventKindPool, trimDefines = 1 << EventKindUser
};

static char path[] = "/tmp/trimXXXXXX";
static MakeBlockStruct blocks[trimStreams];
static uint64_t written, definitions;

typedef struct TrimSeenStruct {
  uint64_t events, definitions, gaps, notes, newest;
  Bool disorder; /* an event is missing behind one that is there */
  uint64_t next[trimStreams];
  char note[256], gap[256];
} TrimSeenStruct;

static void seenGap(void *data, LogGap gap)
{
  TrimSeenStruct *seen = data;

  ++seen->gaps;
  (void)snprintf(seen->gap, sizeof seen->gap, "%llu: %s, %llu", (unsigned long long)gap->offset, gap->what,
                 (unsigned long long)gap->lost);
}

static void seenNote(void *data, const char *line)
{
  TrimSeenStruct *seen = data;

  ++seen->notes;
  (void)snprintf(seen->note, sizeof seen->note, "%s", line);
}

static Bool seenEvent(LogRequest request, LogEvent event)
{
  TrimSeenStruct *seen = request->data;
  uint64_t id = LogEventWord(event, 1);
  unsigned stream = event->thread % 10;

  ++seen->events;
  if (event->type->code == EventPoolFreeCODE) {
    seen->disorder |= seen->next[stream] != 0 && id != seen->next[stream];
    seen->next[stream] = id + 1;
  } else {
    ++seen->definitions;
  }
  return FALSE;
}

/* trimRead -- read the log; FALSE if that failed */
static Bool trimRead(TrimSeenStruct *seen, LogSummary summary)
{
  LogHooksStruct hooks = {.data = seen, .gap = seenGap, .note = seenNote,
                           .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  LogRequestStruct request = LogRequestALL;
  const char *paths[1] = {path};
  char error[256];
  Log log;
  Res res;

  memset(seen, 0, sizeof *seen);
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK) {
    printf("# %s\n", error);
    return FALSE;
  }
  request.event = seenEvent;
  request.data = seen;
  res = LogRead(log, &request);
  LogSummarize(summary, log);
  LogClose(log);
  return res == ResOK;
}

/* trimAppend -- what was made comes into the log */
static void trimAppend(int fd, Make make)
{
  if (write(fd, make->bytes, make->size) != (ssize_t)make->size)
    makeFail(path);
  MakeFree(make);
}

/* trimNow -- the log is trimmed; returns how many bytes of the disk it takes, or `largest`, if that is more */
static uint64_t trimNow(int fd, Trim trim, uint64_t largest)
{
  struct stat status;

  if (TrimNewest(trim) != ResOK || fstat(fd, &status) != 0)
    makeFail("TrimNewest");
  return (uint64_t)status.st_blocks * 512 > largest ? (uint64_t)status.st_blocks * 512 : largest;
}

/* trimWrite -- some blocks of each stream: three frequent ones, and now and then a rare one, and a header */
static void trimWrite(int fd, MakeProcess process, uint64_t *seed, uint64_t *tick, Bool define)
{
  MakeStruct make = {0};
  Index s, i;

  for (s = 0; s < trimStreams; ++s) {
    Bool rare = s == trimStreams - 1;
    Count n = rare ? 3 : 200 + TapRandom(seed) % 500;
    if (rare && (!define || TapRandom(seed) % 16 != 0))
      continue;
    for (i = 0; i < n; ++i, ++written, ++*tick) {
      uint64_t id = blocks[s].header.before + blocks[s].header.count;
      if (rare)
        (void)MakeEvent(&blocks[s], EventInternCODE, *tick, (uint64_t[]){id, id}, "a name");
      else
        (void)MakeEvent(&blocks[s], EventPoolFreeCODE, *tick, (uint64_t[]){7, id}, NULL);
      definitions += rare;
    }
    MakeBlockEnd(&make, &blocks[s], BlockFlagSEALED | (TapRandom(seed) % 2 == 0 ? BlockFlagPACKED : 0));
    MakeBlockNext(&blocks[s], *tick);
  }
  if (TapRandom(seed) % 16 == 0)
    MakeHeader(&make, process);
  trimAppend(fd, &make);
}

/* trimBegin -- an empty log with a header, and the streams at their beginnings */
static int trimBegin(MakeProcess process)
{
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  MakeStruct make = {0};
  Index s;

  written = definitions = 0;
  MakeHeader(&make, process);
  trimAppend(fd, &make);
  for (s = 0; s < trimStreams; ++s)
    MakeBlockBegin(&blocks[s], process, (uint32_t)(10 + s), s == trimStreams - 1 ? EventKindUser : EventKindObject, 0,
                   1);
  return fd;
}

/* trimLastHeader -- where the log's newest header block begins */
static off_t trimLastHeader(int fd)
{
  static char tail[1 << 20];
  struct stat status;
  ssize_t size, at;
  off_t from;

  if (fstat(fd, &status) != 0)
    makeFail(path);
  from = status.st_size > (off_t)sizeof tail ? status.st_size - (off_t)sizeof tail : 0;
  size = pread(fd, tail, sizeof tail, from);
  for (at = size - BlockMagicSIZE; at > 0 && memcmp(tail + at, HeaderMAGIC, BlockMagicSIZE) != 0; --at)
    ;
  if (at <= 0)
    makeFail("no header block");
  return from + at;
}

/* testKeep -- write `rounds` times; it stays small, and is sound whenever it is read */
static void testKeep(uint64_t *seed, Count rounds)
{
  MakeProcess process = MakeProcessNew(10, 1);
  int fd = trimBegin(process);
  uint64_t tick = 1, largest = 0, faults = 0;
  LogSummaryStruct summary;
  DroppedStruct dropped;
  TrimSeenStruct seen;
  struct stat status;
  Trim trim;
  Index i;
  Res res = TrimCreate(&trim, fd, trimLIMIT, trimRare, trimDefines);

  if (res != ResOK) {
    TapOk(errno == EOPNOTSUPP, "this file system has no holes: %s", strerror(errno));
    return;
  }
  for (i = 0; i < rounds && res == ResOK; ++i) {
    trimWrite(fd, process, seed, &tick, i < trimDefining); /* more definitions would not fit for ever */
    res = TrimNewest(trim);
    if (fstat(fd, &status) == 0 && (uint64_t)status.st_blocks * 512 > largest)
      largest = (uint64_t)status.st_blocks * 512;
    if (i % (rounds / 40) != 0)
      continue;
    dropped = trim->dropped;
    if (!trimRead(&seen, &summary) || seen.gaps > 0 || seen.disorder || seen.definitions != definitions ||
        seen.events + summary.dropped != written || summary.dropped != dropped.events ||
        seen.notes != (dropped.blocks > 0)) {
      ++faults;
      printf("# round %zu: %llu gaps (%s), %llu of %llu definitions, %llu and %llu of %llu events; %s\n", (size_t)i,
             (unsigned long long)seen.gaps, seen.gap, (unsigned long long)seen.definitions,
             (unsigned long long)definitions, (unsigned long long)seen.events, (unsigned long long)summary.dropped,
             (unsigned long long)written, seen.note);
    }
  }
  TapIs(res, ResOK, "a log of %llu bytes is kept to its newest part", (unsigned long long)status.st_size);
  TapOk(TrimCheck(trim), "in order");
  TapIs(faults, 0, "whenever it is read it is sound, all definitions are there, and the counts agree");
  TapOk(largest < trimLIMIT + trimLIMIT / 8, "it never takes much more than its limit: %llu",
        (unsigned long long)largest);
  TapOk(strstr(seen.note, "dropped on purpose") != NULL, "it says so: %s", seen.note);
  /* The newest header block says what was cut away at last. */
  for (dropped = trim->dropped; dropped.blocks == trim->dropped.blocks && res == ResOK;) {
    trimWrite(fd, process, seed, &tick, FALSE);
    res = TrimNewest(trim);
  }
  TapOk(ftruncate(fd, trimLastHeader(fd)) == 0 && trimRead(&seen, &summary) &&
          strstr(seen.note, "missing at the beginning") != NULL,
        "and if what says so is missing, that is told: %s", seen.note);
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
}

/* testMany -- processes that come and go: neither their headers nor their definitions stay for ever */
static void testMany(uint64_t *seed, Count processes)
{
  MakeProcess process = MakeProcessNew(10, 1);
  int fd = trimBegin(process);
  uint64_t tick = 1, largest = 0;
  LogSummaryStruct summary;
  TrimSeenStruct seen;
  Trim trim;
  Index i, s;

  if (TrimCreate(&trim, fd, trimLIMIT, trimRare, trimDefines) != ResOK) {
    TapOk(errno == EOPNOTSUPP, "this file system has no holes: %s", strerror(errno));
    return;
  }
  for (i = 0; i < processes; ++i) {
    MakeStruct make = {0};
    process->header.identity = i + 1;
    for (s = 0; s < trimStreams; ++s) {
      blocks[s].header.process = i + 1;
      blocks[s].header.sequence = blocks[s].header.before = 0;
    }
    MakeHeader(&make, process);
    trimAppend(fd, &make);
    trimWrite(fd, process, seed, &tick, TRUE);
    largest = trimNow(fd, trim, largest);
  }
  TapOk(trimRead(&seen, &summary) && seen.gaps == 0, "the log of %zu processes is sound: %s", (size_t)processes,
        seen.gap);
  TapIs(seen.events + summary.dropped, written, "and the counts agree");
  TapOk(largest < trimLIMIT + trimLIMIT / 8, "it never takes much more than its limit: %llu",
        (unsigned long long)largest);
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
}

/* trimBlocks -- append `n` whole blocks: of definitions, or of what is frequent */
static void trimBlocks(int fd, MakeBlock block, Count n, uint64_t *tick)
{
  static const char name[] = "the name of something that is defined here, and needed as long as it is mentioned";
  Bool rare = block->header.kind == EventKindUser;
  MakeStruct make = {0};

  for (; n > 0; --n) {
    while (block->header.used < 5400) {
      uint64_t id = block->header.before + block->header.count;
      (void)MakeEvent(block, rare ? EventInternCODE : EventPoolFreeCODE, ++*tick, (uint64_t[]){id, id},
                      rare ? name : NULL);
      ++written;
      definitions += rare;
    }
    MakeBlockEnd(&make, block, BlockFlagSEALED);
    MakeBlockNext(block, *tick);
  }
  trimAppend(fd, &make);
}

/* trimMixed -- so many blocks of definitions come, and so many of what is frequent; returns as trimNow */
static uint64_t trimMixed(int fd, Trim trim, Count rare, Count frequent, uint64_t *tick, uint64_t largest)
{
  trimBlocks(fd, &blocks[trimStreams - 1], rare, tick);
  trimBlocks(fd, &blocks[0], frequent, tick);
  return trimNow(fd, trim, largest);
}

/* testDefinitions -- definitions of which the pages take three fifths of the limit stay, however much is frequent */
static void testDefinitions(void)
{
  MakeProcess process = MakeProcessNew(10, 1);
  int fd = trimBegin(process);
  uint64_t tick = 1, largest = 0;
  LogSummaryStruct summary;
  TrimSeenStruct seen;
  Trim trim;
  Index i;

  if (TrimCreate(&trim, fd, trimLIMIT, trimRare, trimDefines) != ResOK)
    makeFail("TrimCreate");
  for (i = 0; i < 600; ++i) {
    largest = trimMixed(fd, trim, i < 130 ? 1 : 0, 3, &tick, largest);
  }
  TapOk(trimRead(&seen, &summary) && seen.gaps == 0, "a log of which definitions are the most is sound: %s", seen.gap);
  TapIs(seen.definitions, definitions, "and all of them are there");
  TapIs(seen.events + summary.dropped, written, "and the counts agree");
  TapOk(seen.events > definitions, "and so are the newest of the other events");
  TapOk(largest < trimLIMIT + trimLIMIT / 8, "it never takes much more than its limit: %llu",
        (unsigned long long)largest);
  for (; i < 1200; ++i) {
    largest = trimMixed(fd, trim, 1, 1, &tick, largest);
  }
  TapOk(trimRead(&seen, &summary) && seen.gaps == 0 && seen.definitions < definitions &&
          seen.events + summary.dropped == written && largest < trimLIMIT + trimLIMIT / 8,
        "if there are more of them than fit, the oldest go: %s", seen.gap);
  TapOk(seen.events - seen.definitions >= 3 * 500, "and the newest of the other events are there still");
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
}

/* testRare -- rare blocks without end, of which each takes a page, as samples do: the newest of the others have half of
 * the log all the same */
static void testRare(void)
{
  static MakeBlockStruct rare;
  MakeProcess process = MakeProcessNew(10, 1);
  int fd = trimBegin(process);
  uint64_t tick = 1;
  LogSummaryStruct summary;
  TrimSeenStruct seen;
  Trim trim;
  Index i, j;

  if (TrimCreate(&trim, fd, trimLIMIT, trimRare, trimDefines) != ResOK)
    makeFail("TrimCreate");
  MakeBlockBegin(&rare, process, 10, EventKindPool, 0, 1);
  for (i = 0; i < 1500; ++i) {
    MakeStruct make = {0};
    for (j = 0; j < 3; ++j, ++written)
      (void)MakeEvent(&rare, EventPoolDestroyCODE, ++tick, (uint64_t[]){7}, NULL);
    MakeBlockEnd(&make, &rare, BlockFlagSEALED);
    MakeBlockNext(&rare, tick);
    if (write(fd, make.bytes, make.size) != (ssize_t)make.size)
      makeFail(path);
    MakeFree(&make);
    trimBlocks(fd, &blocks[0], 2, &tick);
    if (TrimNewest(trim) != ResOK)
      makeFail("TrimNewest");
  }
  TapOk(trimRead(&seen, &summary) && seen.gaps == 0 && seen.events + summary.dropped == written,
        "a log with rare blocks without end is sound: %s", seen.gap);
  /* A PoolFree takes 24 bytes here.  An eighth is given back at a time. */
  TapOk((seen.events - seen.definitions) * 24 > trimLIMIT / 8 * 3 - 2 * 5400,
        "half of it is the newest of the others: %llu",
        (unsigned long long)(seen.events - seen.definitions));
  TapOk(seen.definitions > 3 * 100, "and of the rare ones many more are there than there are others beside: %llu",
        (unsigned long long)seen.definitions);
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
}

/* trimHeader -- append a header block of a process, which is expected to end if it has a block: `ended`, its closing
 * one, which counts its blocks */
static void trimHeader(int fd, MakeProcess process, MakeBlock block, Bool ended)
{
  MakeProcessStruct its = *process;
  static char lines[HeaderMAX];
  MakeStruct make = {0};
  TextStruct text;

  its.header.open = block != NULL;
  its.header.ended = ended;
  its.header.streams = ended;
  if (block != NULL && !ended)
    strcpy(its.header.region, "/dev/shm/none");
  TextInit(&text, lines, sizeof lines);
  if (ended)
    HeaderStreamWrite(&text, &(HeaderStreamStruct){.stream = block->header.stream, .blocks = block->header.sequence,
                                                   .events = block->header.before});
  TextString(&text, process->registryText);
  TextBytes(&text, "", 1);
  its.registryText = lines;
  MakeHeader(&make, &its);
  trimAppend(fd, &make);
}

/* trimUntil -- events of process 10 come until definitions before `place` have gone, too */
static void trimUntil(int fd, Trim trim, uint64_t place, uint64_t *tick)
{
  while (trim->gone[TrimDEFINING] <= place) {
    (void)trimMixed(fd, trim, 1, 1, tick, 0);
  }
}

/* testEnds -- a process ends after all that it wrote has gone: while the log has a header block of it, it says so */
static void testEnds(const char *types, const char *name)
{
  static MakeBlockStruct block;
  MakeProcess process = MakeProcessNew(10, 1), brief = MakeProcessNew(4711, 2);
  int fd = trimBegin(process);
  uint64_t tick = 1, faults = 0;
  LogSummaryStruct summary;
  TrimSeenStruct seen;
  struct stat status;
  Trim trim;
  Index i;

  if (TrimCreate(&trim, fd, TrimLimitMIN, trimRare, trimDefines) != ResOK)
    makeFail("TrimCreate");
  MakeBlockBegin(&block, brief, 4711, EventKindObject, 0, 1);
  trimHeader(fd, brief, &block, FALSE);
  trimBlocks(fd, &block, 1, &tick);
  trimHeader(fd, process, NULL, FALSE); /* the newest: it will tell what has gone */
  (void)fstat(fd, &status);
  trimUntil(fd, trim, (uint64_t)status.st_size, &tick);
  TapOk(trimRead(&seen, &summary) && seen.notes == 2, "a process that has not ended (%s) lacks its end: %s", name,
        seen.note);
  brief->registryText = types;
  trimHeader(fd, brief, &block, TRUE);
  (void)fstat(fd, &status);
  for (i = 0; i < 12; ++i) {
    trimUntil(fd, trim, (uint64_t)status.st_size * i / 10, &tick);
    faults += !trimRead(&seen, &summary) || seen.gaps > 0 || seen.notes != 1;
  }
  TapIs(faults, 0, "one that has does not, while its header blocks go: %s", seen.note);
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
  MakeProcessFree(brief);
}

/* planted -- does the check see that a field has a value which it cannot have? */
static Bool planted(Trim trim, void *field, const void *value, Size size)
{
  unsigned char before[sizeof(uint64_t)];
  Bool sound;

  memcpy(before, field, size);
  memcpy(field, value, size);
  sound = TrimCheck(trim);
  memcpy(field, before, size);
  return !sound && TrimCheck(trim);
}

/* testCheck -- each clause of the check, and a log that another program truncates and writes over */
static void testCheck(uint64_t *seed)
{
  MakeProcess process = MakeProcessNew(10, 1);
  uint64_t tick = 1, beyond, none = 0;
  TrimLevel level;
  int fd = trimBegin(process);
  struct stat status;
  Res res = ResOK;
  Trim trim;
  Index i;

  if (TrimCreate(&trim, fd, trimLIMIT, trimRare, trimDefines) != ResOK)
    makeFail("TrimCreate");
  for (i = 0; i < 100 && trim->gone[TrimDEFINING] == 0; ++i) {
    trimWrite(fd, process, seed, &tick, TRUE);
    if (TrimNewest(trim) != ResOK)
      makeFail("TrimNewest");
  }
  for (level = 0; level < TrimLEVELS; ++level) {
    beyond = (level == TrimFREQUENT ? trim->seen : trim->gone[level - 1]) + 1;
    TapOk(planted(trim, &trim->gone[level], &beyond, sizeof beyond),
          "the check sees: a level is gone before those below it");
  }
  TapOk(planted(trim, &trim->limit, &none, sizeof none), "no limit");
  TapOk(planted(trim, &trim->page, &(Size){3}, sizeof trim->page), "pages that are no power of two");
  if (ftruncate(fd, (off_t)trim->seen / 2) != 0 || TrimNewest(trim) != ResOK)
    makeFail("a log that was truncated");
  for (i = 0; i < 100 && res == ResOK; ++i) {
    trimWrite(fd, process, seed, &tick, TRUE);
    if (fstat(fd, &status) != 0 ||
        ftruncate(fd, status.st_size - (off_t)(TapRandom(seed) % 100000) % status.st_size) != 0)
      makeFail("ftruncate");
    res = TrimNewest(trim);
  }
  TapOk(TrimCheck(trim), "a log that is truncated again and again leaves it sound");
  TrimDestroy(trim);
  (void)close(fd);
  MakeProcessFree(process);
}

static void testRefused(void)
{
  Trim trim;
  int fds[2];

  if (pipe(fds) != 0)
    makeFail("pipe");
  TapIs(TrimCreate(&trim, fds[1], 1, trimRare, trimDefines), ResPARAM, "a limit that is too small is refused");
  TapOk(TrimCreate(&trim, fds[1], trimLIMIT, trimRare, trimDefines) == ResIO && errno == EOPNOTSUPP,
        "so is what is no file");
  (void)close(fds[0]);
  (void)close(fds[1]);
}

int main(void)
{
  uint64_t seed = TapSeed() | 1;
  const char *soak = getenv("SOAK");
  Bool much = soak != NULL && *soak != '\0';
  int fd = mkstemp(path);

  (void)close(fd);
  testRefused();
  testCheck(&seed);
  testKeep(&seed, much ? 80000 : 800);
  testMany(&seed, much ? 20000 : 500);
  testDefinitions();
  testRare();
  testEnds(EventRegistryTEXT, "the types it began with");
  testEnds(EventRegistryTEXT "event: 0x0fff Late User 0 W late\n", "and types that came later");
  (void)unlink(path);
  return TapDone();
}
