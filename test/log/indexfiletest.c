/* indexfiletest.c -- an index file may say anything at all
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What an index says is changed at random: nothing is expected but that the events are those of the log; the sanitizers
 * see to the rest.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/indexfile.h"
#include "logmake.h"
#include "request/request.h"

/* Blocks few enough for each to be compared with what the index says; and so many that most are not. */
enum { lieROUNDS = 1000, lieFEW = 40, lieMANY = 1500, lieSTREAMS = 5, lieHEAD = sizeof(IndexFileHeadStruct) };

static uint64_t state;

static uint64_t below(uint64_t n)
{
  return TapRandom(&state) % n;
}

static char path[] = "/tmp/indexfileXXXXXX", indexPath[sizeof path + 4];
static MakeBlockStruct block[lieSTREAMS];
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

/* aLog -- so many blocks of a few streams, and damage between them */
static void aLog(Count blocks)
{
  MakeStruct make = {0};
  MakeProcess process = MakeProcessNew(4711, 1);
  uint64_t tick = 1000;
  Index i, j;

  events = 0;
  MakeHeader(&make, process);
  for (i = 0; i < lieSTREAMS; ++i)
    MakeBlockBegin(&block[i], process, 4711 + (uint32_t)i, EventKindObject, 0, tick);
  for (i = 0; i < blocks; ++i) {
    MakeBlock b = &block[below(lieSTREAMS)];
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

/* sealHead -- the right checksum for a head */
static void sealHead(unsigned char *bytes)
{
  IndexFileHeadStruct head;

  memcpy(&head, bytes, sizeof head);
  head.crc = Crc32c(0, &head, offsetof(IndexFileHeadStruct, crc));
  memcpy(bytes, &head, sizeof head);
}

/* sealRecords -- and for the headers behind it */
static void sealRecords(unsigned char *bytes, Size size)
{
  for (bytes += lieHEAD, size -= lieHEAD; size >= sizeof(IndexFileRecordStruct);
       bytes += sizeof(IndexFileRecordStruct), size -= sizeof(IndexFileRecordStruct)) {
    IndexFileRecordStruct record;
    BlockHeaderStruct header;
    memcpy(&record, bytes, sizeof record);
    memcpy(&header, record.header, sizeof header);
    header.headerCrc = Crc32c(0, &header, offsetof(BlockHeaderStruct, headerCrc));
    memcpy(record.header, &header, sizeof header);
    memcpy(bytes, &record, sizeof record);
  }
}

static void writeIndex(const unsigned char *bytes, Size size)
{
  int fd = open(indexPath, O_WRONLY | O_TRUNC);

  if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) != 0)
    makeFail(indexPath);
}

static _Alignas(8) unsigned char bytes[lieHEAD + lieMANY * sizeof(IndexFileRecordStruct) + 64], wrong[sizeof bytes];

/* anIndex -- the index of such a log, in `bytes` */
static Size anIndex(Count blocks)
{
  LogIndexedStruct indexed;
  LogHooksStruct hooks = {0};
  char error[256];
  Size size;
  int fd;

  aLog(blocks);
  (void)unlink(indexPath); /* what was put there may be no index any more, and would not be replaced */
  TapOk(LogIndexWrite(&indexed, path, &hooks, NULL, error, sizeof error) == ResOK, "an index is written");
  TapIs(indexed.blocks, blocks, "of all blocks");
  fd = open(indexPath, O_RDONLY);
  size = (Size)read(fd, bytes, sizeof bytes);
  (void)close(fd);
  TapIs(size, indexed.bytes, "as long as is said");
  notes = 0;
  readLog();
  TapOk(delivered == events && notes == 0, "with it all events are read");
  return size;
}

/* Of a small log what an index says is compared block by block, so right checksums do not help a wrong one; what is
 * damaged in that of a large log is read from the log. */
static void testLies(Count blocks, Bool sealed)
{
  Size size = anIndex(blocks), behind = sealed ? lieHEAD : lieHEAD + IndexFileSAMPLES * sizeof(IndexFileRecordStruct);
  uint64_t n, rejected = 0, unlike = 0;

  for (n = 0; n < lieROUNDS; ++n) {
    Index changes = 1 + below(4);
    Size length = size;
    memcpy(wrong, bytes, size);
    while (changes-- > 0)
      wrong[behind + below(length - behind)] = (unsigned char)(below(2) ? TapRandom(&state) : below(8));
    if (sealed)
      sealRecords(wrong, size);
    if (below(4) == 0)
      wrong[below(lieHEAD)] ^= (unsigned char)(1 << below(8));
    if (below(8) == 0)
      length = 1 + below(length - 1);
    else if (below(4) != 0)
      sealHead(wrong);
    writeIndex(wrong, length);
    notes = 0;
    readLog();
    rejected += notes > 0;
    unlike += delivered != events;
  }
  TapIs(unlike, 0, "%d indexes of %zu blocks with %s: all events were read each time", lieROUNDS, blocks,
        sealed ? "right checksums and wrong contents" : "damage");
  TapOk(rejected > lieROUNDS / 10, "what cannot be was seen in %llu of them", (unsigned long long)rejected);
}

static Bool there(const char *folder, const char *name)
{
  char file[128];

  (void)snprintf(file, sizeof file, "%s/%s", folder, name);
  return access(file, F_OK) == 0;
}

/* testCheck -- an index that is being written is checked */
static void testCheck(IndexFile index)
{
  IndexFileHead head = IndexFileHeadOf(index);
  LogPositionStruct position = {0};

  IndexFileKeep(index, 1, &position, "first", 5);
  IndexFileKeep(index, 1, &position, "second", 6);
  TapOk(head->checks == 2 && IndexFileCheck(index), "an index with two check points is sound");
  PLANT(head->checks, IndexFileChecksMAX + 1, IndexFileCheck(index), "head->checks = IndexFileChecksMAX + 1");
  PLANT(head->checks, 1, IndexFileCheck(index), "head->checks = 1");
  PLANT(head->bytes, 12, IndexFileCheck(index), "head->bytes = 12");
  PLANT(head->check[1].offset, head->check[0].offset, IndexFileCheck(index), "the offset of the first for the second");
  PLANT(head->check[1].size, UINT32_MAX, IndexFileCheck(index), "head->check[1].size = UINT32_MAX");
  PLANT(head->size, 20, IndexFileCheck(index), "head->size = 20"); /* half of it is room for check points */
  PLANT(head->covered, head->size + 1, IndexFileCheck(index), "head->covered = head->size + 1");
  IndexFileKeepNone(index);
}

/* testSwap -- somebody puts another folder in the place of the log's, before an index is begun and in the middle */
static void testSwap(void)
{
  char folder[] = "/tmp/indexswapXXXXXX", place[64], other[64], away[64], log[80];
  FileStruct file = {.fd = -1, .path = log, .size = 4096};
  IndexFile index = NULL;
  Res res;

  (void)!mkdtemp(folder);
  (void)snprintf(place, sizeof place, "%s/place", folder);
  (void)snprintf(other, sizeof other, "%s/other", folder);
  (void)snprintf(away, sizeof away, "%s/away", folder);
  (void)snprintf(log, sizeof log, "%s/run.paw", place);
  (void)mkdir(place, 0700);
  (void)mkdir(other, 0700);
  file.fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  (void)rename(place, away);
  (void)symlink(other, place);
  TapIs(IndexFileCreate(&index, &file), ResUNIMPL,
        "another folder stands in the place of the log's: no index is begun there");
  (void)unlink(place);
  (void)rename(away, place);
  res = IndexFileCreate(&index, &file);
  TapIs(res, ResOK, "where the log is one is begun");
  testCheck(index);
  (void)rename(place, away);
  (void)symlink(other, place);
  TapIs(IndexFileFinish(index), ResOK, "another folder comes meanwhile: it is finished");
  IndexFileClose(index);
  TapOk(there(away, "run.paw.idx") && !there(other, "run.paw.idx"), "in the folder of the log, wherever that is now");
  (void)close(file.fd);
  (void)snprintf(log, sizeof log, "rm -rf %s", folder);
  TapIs(system(log), 0, "and nothing is left");
}

/* testPlace -- a record has the place of the one behind it: what stands there is read from the log, too */
static void testPlace(void)
{
  enum { wrongOne = lieMANY / 2 + 1 };
  Size size = anIndex(lieMANY);
  IndexFileRecordStruct *record = (IndexFileRecordStruct *)(wrong + lieHEAD);

  memcpy(wrong, bytes, size);
  record[wrongOne].offset = record[wrongOne + 1].offset;
  writeIndex(wrong, size);
  notes = 0;
  readLog();
  TapOk(delivered == events && notes == 0, "a record at the place of the next one is none: all events are read");
}

/* testLast -- what has come to a log of which an index is known is looked for behind the last record: it is compared,
 * wherever the samples lie */
static void testLast(void)
{
  Size size = anIndex(lieMANY);
  IndexFileRecordStruct *record = (IndexFileRecordStruct *)(wrong + lieHEAD);

  _Static_assert((lieMANY - 1 - IndexFileSAMPLES) % (lieMANY / IndexFileSAMPLES + 1) != 0, "the last is no sample");
  memcpy(wrong, bytes, size);
  record[lieMANY - 1].header[0] ^= 1;
  writeIndex(wrong, size);
  notes = 0;
  readLog();
  TapOk(delivered == events && notes == 1, "an index whose last record is wrong is not used, and said to be so");
}

int main(void)
{
  state = TapSeed() | 1;
  testSwap();
  (void)close(mkstemp(path));
  (void)snprintf(indexPath, sizeof indexPath, "%s.idx", path);
  testLies(lieFEW, TRUE);
  testLies(lieMANY, FALSE);
  testPlace();
  testLast();
  (void)unlink(path);
  (void)unlink(indexPath);
  return TapDone();
}
