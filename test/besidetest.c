/* besidetest.c -- findings come back as they were written down, and an index file may say anything at all
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In the second half every checksum of the index is right, and what it says is changed at random: nothing is expected
 * but that the events are those of the log; the sanitizers see to the rest.
 */
#include <stddef.h>
#include <sys/stat.h>

#include "log/beside.h"
#include "log/request.h"
#include "logmake.h"

/* Blocks few enough for each to be compared with what the index says. */
enum { besideFINDINGS = 20000, besideROUNDS = 1200, besideBLOCKS = 40, besideSTREAMS = 5 };

static uint64_t state;

static uint64_t below(uint64_t n)
{
  return TapRandom(&state) % n;
}

/* some -- mostly small numbers, now and then any */
static uint64_t some(void)
{
  return below(8) == 0 ? TapRandom(&state) : TapRandom(&state) >> (40 + below(24));
}

static FindingStruct aFinding(const FindingsStruct *findings, uint32_t streams)
{
  FindingStruct f = {.what = FindingBLOCK + (unsigned)below(4), .offset = findings->offset, .size = 128 + below(70000)};
  BlockHeader h = &f.header;

  if (f.what == FindingSTREAM)
    f.what = FindingBLOCK;
  if (f.what == FindingBLOCK) {
    f.stream = (uint32_t)below(streams + 1);
    h->process = below(3);
    h->stream = f.stream;
    h->thread = (uint32_t)below(10) == 0 ? (uint32_t)some() : f.stream;
    h->kind = (uint8_t)below(4);
    h->flags = (uint8_t)TapRandom(&state);
    h->count = (uint32_t)below(BlockMAX / EventALIGN + 1);
    h->sequence = some() & (CountMAX - 1);
    h->before = below(9) == 0 ? BlockBeforeUNKNOWN : some() & (CountMAX - 1);
    h->discarded = some() & (CountMAX - 1);
    h->first = some();
    h->last = h->first + below(UINT64_MAX - h->first);
    h->mono = some();
  } else if (f.what == FindingDAMAGE) {
    f.next = findings->size > 1 && below(2) ? f.offset - 1 - below(findings->size - 1) : f.offset + f.size;
    f.size = 0;
  }
  return f;
}

static void testRoundTrip(void)
{
  static FindingStruct put[besideFINDINGS];
  static unsigned char bytes[besideFINDINGS * FindingMAX];
  FindingsStruct writer = {0}, reader = {0};
  FindingStruct got;
  unsigned char *next = bytes;
  const unsigned char *from = bytes, *limit;
  Bool short_ = TRUE, same = TRUE;
  uint32_t streams = 0;
  Index i;

  for (i = 0; i < besideFINDINGS; ++i) {
    unsigned char *begin = next;
    put[i] = aFinding(&writer, streams);
    streams += put[i].what == FindingBLOCK && put[i].stream == streams;
    short_ = short_ && FindingsPut(&writer, &next, &put[i]) == ResOK && next - begin <= FindingMAX;
  }
  TapOk(short_, "findings of any kind are written down in the room that is promised");
  limit = next;
  for (i = 0; i < besideFINDINGS && same; ++i)
    same = FindingsGet(&reader, &from, limit, &got) == ResOK && memcmp(&got, &put[i], sizeof got) == 0;
  TapOk(same && from == limit, "and come back as they were");
  TapOk(FindingsGet(&reader, &from, limit, &got) == ResFORMAT, "where nothing stands there is no finding");
  FindingsFree(&writer);
  FindingsFree(&reader);
}

/* ---- An index that lies ---- */

static char path[] = "/tmp/besideXXXXXX", indexPath[sizeof path + 4];
static MakeBlockStruct block[besideSTREAMS];
static uint64_t delivered, events, notes;

static Bool countEvent(LogRequest request, LogEvent event)
{
  UNUSED(request);
  delivered += event->type->code == EventPoolAllocCODE && LogEventWord(event, 0) == 7;
  return delivered > 100 * events;
}

static void countNote(void *data, const char *line)
{
  UNUSED(data);
  UNUSED(line);
  ++notes;
}

/* aLog -- blocks of a few streams, and damage between them */
static void aLog(void)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(4711, 1);
  uint64_t tick = 1000;
  Index i, j;

  MakeHeader(&make, process);
  for (i = 0; i < besideSTREAMS; ++i)
    MakeBlockBegin(&block[i], process, 4711 + (uint32_t)i, EventKindObject, 0, tick);
  for (i = 0; i < besideBLOCKS; ++i) {
    MakeBlock b = &block[below(besideSTREAMS)];
    for (j = 0; j < 3; ++j)
      events += MakeEvent(b, EventPoolAllocCODE, tick += 10, (uint64_t[]){7, i, j}, NULL);
    MakeBlockEnd(&make, b, BlockFlagSEALED);
    MakeBlockNext(b, tick);
    if (i % 13 == 5)
      MakeBytes(&make, "\0\0\0\0\0\0\0\0damage", 14);
    if (i % 17 == 9)
      MakeHeader(&make, process);
  }
  MakeWrite(&make, path);
  MakeFree(&make);
  MakeProcessFree(process);
}

static void readLog(void)
{
  const char *paths[] = {path};
  LogHooksStruct hooks = {.note = countNote,
                           .version = {EventVersionMAJOR, EventVersionMEDIAN, EventVersionMINOR}};
  LogRequestStruct request = LogRequestALL;
  char error[256];
  Log log;

  delivered = 0;
  if (LogOpen(&log, paths, 1, &hooks, error, sizeof error) != ResOK)
    return;
  request.event = countEvent;
  (void)LogRead(log, &request);
  LogClose(log);
}

/* sealIndex -- right checksums for one piece behind the head */
static void sealIndex(unsigned char *bytes, Size size)
{
  BesideHeadStruct head;
  uint64_t seed[2];
  uint32_t length = (uint32_t)(size - sizeof head - 8), crc;

  memcpy(&head, bytes, sizeof head);
  seed[0] = head.nonce;
  seed[1] = 0;
  head.covered = head.size;
  head.blocks = TapRandom(&state);
  head.crc = Crc32c(0, &head, offsetof(BesideHeadStruct, crc));
  memcpy(bytes, &head, sizeof head);
  crc = Crc32c(Crc32c(0, seed, sizeof seed), bytes + sizeof head + 8, length);
  memcpy(bytes + sizeof head, &length, sizeof length);
  memcpy(bytes + sizeof head + 4, &crc, sizeof crc);
}

static void writeIndex(const unsigned char *bytes, Size size)
{
  int fd = open(indexPath, O_WRONLY | O_TRUNC);

  if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0)
    makeFail(indexPath);
}

static void testLies(void)
{
  static unsigned char bytes[65536], wrong[sizeof bytes + 64];
  LogIndexedStruct indexed;
  LogHooksStruct hooks = {0};
  char error[256];
  uint64_t n, rejected = 0, unlike = 0;
  Size size, head = sizeof(BesideHeadStruct) + 8;
  int fd;

  TapOk(LogIndexWrite(&indexed, path, &hooks, error, sizeof error) == ResOK, "an index is written");
  TapIs(indexed.blocks, besideBLOCKS, "of all blocks");
  fd = open(indexPath, O_RDONLY);
  size = (Size)read(fd, bytes, sizeof bytes);
  (void)close(fd);
  TapIs(size, indexed.bytes, "as long as is said");
  readLog();
  TapOk(delivered == events && notes == 0, "with it all events are read");
  for (n = 0; n < besideROUNDS; ++n) {
    Index changes = 1 + below(4);
    Size length = size;
    memcpy(wrong, bytes, size);
    while (changes-- > 0)
      wrong[head + below(length - head)] = (unsigned char)(below(2) ? TapRandom(&state) : below(8));
    if (below(4) == 0)
      length = head + 1 + below(length - head - 1);
    sealIndex(wrong, length);
    writeIndex(wrong, length);
    notes = 0;
    readLog();
    rejected += notes > 0;
    unlike += delivered != events;
  }
  TapIs(unlike, 0, "%d indexes with right checksums and wrong contents: all events were read each time", besideROUNDS);
  TapOk(rejected > besideROUNDS / 10, "what cannot be was seen in %llu of them", (unsigned long long)rejected);
}

int main(void)
{
  state = TapSeed() | 1;
  testRoundTrip();
  (void)close(mkstemp(path));
  (void)snprintf(indexPath, sizeof indexPath, "%s.idx", path);
  aLog();
  testLies();
  (void)unlink(path);
  (void)unlink(indexPath);
  return TapDone();
}
