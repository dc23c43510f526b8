/* beside.c -- the index file beside a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc.h"

enum {
  besideHeadSIZE = sizeof(BesideHeadStruct),
  besidePieceHEAD = 8, /* bytes: length and checksum */
  besideTICK = 20000000 /* ns: files' times go by the system's ticks */
};

_Static_assert(besideHeadSIZE == 8 + 2 * 4 + 8 * 8 + BesideSamplesMAX * 16 + 8, "the head has no holes");

/* besideMake -- a Beside for a log, nothing open; ResMEMORY, ResLIMIT */
static Res besideMake(Beside *besideReturn, File log)
{
  Beside beside = calloc(1, sizeof *beside);
  Res res = ResOK;

  if (beside == NULL)
    return ResMEMORY;
  beside->fd = -1;
  beside->log = log;
  beside->at = besideHeadSIZE;
  beside->bytes = beside->next = beside->limit = malloc(besidePieceHEAD + BesidePieceMAX);
  if (beside->bytes == NULL)
    res = ResMEMORY;
  else if (snprintf(beside->path, sizeof beside->path, "%s.idx", log->path) >= (int)sizeof beside->path ||
           snprintf(beside->temporary, sizeof beside->temporary, "%s.idx.XXXXXX", log->path) >=
             (int)sizeof beside->temporary)
    res = ResLIMIT;
  if (res == ResOK)
    *besideReturn = beside;
  else
    BesideClose(beside);
  return res;
}

void BesideClose(Beside beside)
{
  if (beside->fd >= 0)
    (void)close(beside->fd);
  if (beside->temporary[0] != '\0' && beside->stride > 0)
    (void)unlink(beside->temporary);
  FindingsFree(&beside->findings);
  free(beside->bytes);
  free(beside);
}

/* besideNamed -- is it the log's path that leads to it?  Then, and not where it was copied from a pipe or a core, a
 * file beside that path is about it. */
static Bool besideNamed(File log, struct stat *status)
{
  struct stat named;

  return !log->core && fstat(log->fd, status) == 0 && stat(log->path, &named) == 0 &&
         named.st_dev == status->st_dev && named.st_ino == status->st_ino && S_ISREG(status->st_mode);
}

static uint32_t besidePieceCrc(Beside beside, Size length)
{
  uint64_t seed[2] = {beside->head.nonce, beside->piece};

  return Crc32c(Crc32c(0, seed, sizeof seed), beside->bytes + besidePieceHEAD, length);
}

static uint32_t besideHeadCrc(const BesideHeadStruct *head)
{
  return Crc32c(0, head, offsetof(BesideHeadStruct, crc));
}

/* Writing. */

/* besideMayReplace -- is there nothing of this name, or an index? */
static Bool besideMayReplace(const char *path)
{
  char magic[BlockMagicSIZE];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  Bool may = fd < 0 && errno == ENOENT;

  if (fd >= 0) {
    may = FileReadAt(fd, 0, magic, sizeof magic) == ResOK && memcmp(magic, BesideMAGIC, sizeof magic) == 0;
    (void)close(fd);
  }
  return may;
}

/* besideSettle -- let the file system's clock go on, so that whoever changes the log after us gives it another time */
static void besideSettle(const struct stat *log)
{
  static const struct timespec tick = {0, besideTICK};
  struct timespec now;

  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - log->st_mtim.tv_sec <= 1)
    (void)nanosleep(&tick, NULL);
}

static void besidePieceBegin(Beside beside)
{
  beside->next = beside->bytes + besidePieceHEAD;
  beside->limit = beside->next + BesidePieceMAX;
}

Res BesideCreate(Beside *besideReturn, File log)
{
  struct stat status;
  struct timespec now;
  Beside beside;
  Res res;

  if (!besideNamed(log, &status))
    return ResUNIMPL;
  res = besideMake(&beside, log);
  if (res != ResOK)
    return res;
  if (!besideMayReplace(beside->path))
    res = ResPARAM;
  else if ((beside->fd = mkostemp(beside->temporary, O_CLOEXEC)) < 0)
    res = ResIO;
  else if (lseek(beside->fd, besideHeadSIZE, SEEK_SET) < 0)
    res = ResIO;
  if (res != ResOK) {
    int reason = errno;
    BesideClose(beside);
    errno = reason;
    return res;
  }
  besideSettle(&status);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  memcpy(beside->head.magic, BesideMAGIC, BlockMagicSIZE);
  beside->head.version = BesideVERSION;
  beside->head.nonce = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 40;
  beside->head.size = log->size;
  beside->head.seconds = (int64_t)status.st_mtim.tv_sec;
  beside->head.nanos = (int64_t)status.st_mtim.tv_nsec;
  beside->stride = 1;
  besidePieceBegin(beside);
  *besideReturn = beside;
  return ResOK;
}

static void besideFlush(Beside beside)
{
  uint32_t length = (uint32_t)(beside->next - beside->bytes) - besidePieceHEAD, crc;

  if (length == 0 || beside->res != ResOK)
    return;
  crc = besidePieceCrc(beside, length);
  memcpy(beside->bytes, &length, sizeof length);
  memcpy(beside->bytes + sizeof length, &crc, sizeof crc);
  beside->res = FileWriteAll(beside->fd, beside->bytes, besidePieceHEAD + length);
  beside->at += besidePieceHEAD + length;
  ++beside->piece;
  besidePieceBegin(beside);
}

/* besideSample -- keep the checksum of some headers, spread over the log; always the first, and the newest last */
static void besideSample(Beside beside, const FindingStruct *finding)
{
  BesideHead head = &beside->head;
  BesideSample last;
  Index i;

  if (finding->what != FindingBLOCK && finding->what != FindingHEADER)
    return;
  if (beside->taken++ % beside->stride == 0 || head->samples == 0) {
    if (head->samples == BesideSamplesMAX) {
      for (i = 0; i < BesideSamplesMAX / 2; ++i)
        head->sample[i] = head->sample[2 * i];
      head->samples = BesideSamplesMAX / 2;
      beside->stride *= 2;
    }
    ++head->samples;
  }
  last = &head->sample[head->samples - 1];
  last->offset = finding->offset;
  last->size = finding->what == FindingBLOCK ? BlockHeaderSIZE : BlockMagicSIZE + HeaderLineSIZE;
}

void BesidePut(Beside beside, const FindingStruct *finding, uint64_t wasted)
{
  Res res;

  if (beside->ended || beside->res != ResOK)
    return;
  if ((Size)(beside->limit - beside->next) < FindingMAX)
    besideFlush(beside);
  res = FindingsPut(&beside->findings, &beside->next, finding);
  if (beside->res == ResOK)
    beside->res = res;
  beside->head.blocks += finding->what == FindingBLOCK;
  beside->head.wasted = wasted;
  besideSample(beside, finding);
}

void BesideEnds(Beside beside)
{
  beside->ended = TRUE;
}

/* besideShare -- whoever may read the log may read its index, which says less; and it is whose the log is, if it can be */
static void besideShare(Beside beside)
{
  struct stat log, its;
  mode_t mode;

  if (fstat(beside->log->fd, &log) != 0)
    return;
  if (fchown(beside->fd, log.st_uid, log.st_gid) != 0)
    (void)!fchown(beside->fd, (uid_t)-1, log.st_gid);
  mode = S_IRUSR | S_IWUSR | (log.st_mode & (S_IRGRP | S_IROTH));
  if (fstat(beside->fd, &its) != 0 || (its.st_gid != log.st_gid && (mode & S_IROTH) == 0))
    mode &= ~(mode_t)S_IRGRP; /* it would be another group's */
  (void)fchmod(beside->fd, mode);
}

/* besideName -- all is written: the file gets its name */
static Res besideName(Beside beside)
{
  int fd = beside->fd;

  besideShare(beside);
  beside->fd = -1;
  if (close(fd) != 0 || rename(beside->temporary, beside->path) != 0)
    return ResIO;
  beside->stride = 0; /* and it stays */
  return ResOK;
}

/* besideSampleCrc -- the checksum of what stands in the log now */
static Bool besideSampleCrc(uint32_t *crcReturn, File log, const BesideSampleStruct *sample)
{
  unsigned char bytes[BlockHeaderSIZE];

  if (sample->size > sizeof bytes || FileRead(log, sample->offset, bytes, sample->size) != ResOK)
    return FALSE;
  *crcReturn = Crc32c(0, bytes, sample->size);
  return TRUE;
}

Res BesideFinish(Beside beside)
{
  BesideHead head = &beside->head;
  Index i;

  besideFlush(beside);
  head->covered = beside->findings.offset;
  head->pieces = beside->piece;
  for (i = 0; i < head->samples && beside->res == ResOK; ++i)
    if (!besideSampleCrc(&head->sample[i].crc, beside->log, &head->sample[i]))
      beside->res = ResIO;
  head->crc = besideHeadCrc(head);
  if (beside->res == ResOK &&
      (lseek(beside->fd, 0, SEEK_SET) < 0 || FileWriteAll(beside->fd, head, sizeof *head) != ResOK))
    beside->res = ResIO;
  if (beside->res == ResOK)
    beside->res = besideName(beside);
  return beside->res;
}

/* Reading. */

/* besideTrusts -- is the file of somebody who may say what is in the log? */
static Bool besideTrusts(int fd, const struct stat *log)
{
  struct stat status;

  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_uid == geteuid() || status.st_uid == log->st_uid || status.st_uid == 0);
}

/* besideHead -- read and check the head; returns why it is of no use, or NULL */
static const char *besideHead(Beside beside, const struct stat *log)
{
  BesideHead head = &beside->head;
  uint32_t crc;
  Index i;

  if (FileReadAt(beside->fd, 0, head, sizeof *head) != ResOK ||
      memcmp(head->magic, BesideMAGIC, BlockMagicSIZE) != 0)
    return "is no index";
  if (head->version != BesideVERSION)
    return "is an index of another version";
  if (head->crc != besideHeadCrc(head) || head->samples > BesideSamplesMAX || head->covered > head->size)
    return "is damaged";
  if (beside->log->size < head->size)
    return "is of a longer log";
  if (beside->log->size == head->size &&
      ((int64_t)log->st_mtim.tv_sec != head->seconds || (int64_t)log->st_mtim.tv_nsec != head->nanos))
    return "is older than the log";
  for (i = 0; i < head->samples; ++i)
    if (!besideSampleCrc(&crc, beside->log, &head->sample[i]) || crc != head->sample[i].crc)
      return "is of another log";
  return NULL;
}

Res BesideOpen(Beside *besideReturn, File log, const char **whyReturn)
{
  struct stat status;
  Beside beside;
  Res res = besideNamed(log, &status) ? besideMake(&beside, log) : ResEND;

  if (res != ResOK)
    return res == ResMEMORY ? res : ResEND;
  *whyReturn = NULL;
  beside->fd = open(beside->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (beside->fd < 0 && errno == ENOENT)
    res = ResEND;
  else if (beside->fd < 0)
    *whyReturn = "cannot be opened";
  else if (!besideTrusts(beside->fd, &status))
    *whyReturn = "belongs to somebody else, or is no file";
  else
    *whyReturn = besideHead(beside, &status);
  if (*whyReturn != NULL)
    res = besideMayReplace(beside->path) ? ResFORMAT : ResPARAM;
  if (res == ResOK)
    *besideReturn = beside;
  else
    BesideClose(beside);
  return res;
}

/* besidePiece -- the next piece into memory, if it is whole */
static Res besidePiece(Beside beside)
{
  uint32_t length, crc;
  Res res;

  if (beside->piece == beside->head.pieces)
    return ResEND;
  res = FileReadAt(beside->fd, beside->at, beside->bytes, besidePieceHEAD);
  if (res != ResOK)
    return ResFORMAT;
  memcpy(&length, beside->bytes, sizeof length);
  memcpy(&crc, beside->bytes + sizeof length, sizeof crc);
  if (length == 0 || length > BesidePieceMAX ||
      FileReadAt(beside->fd, beside->at + besidePieceHEAD, beside->bytes + besidePieceHEAD, length) != ResOK ||
      besidePieceCrc(beside, length) != crc)
    return ResFORMAT;
  beside->next = beside->bytes + besidePieceHEAD;
  beside->limit = beside->next + length;
  beside->at += besidePieceHEAD + length;
  ++beside->piece;
  return ResOK;
}

Res BesideGet(Beside beside, Finding finding)
{
  const unsigned char *next;
  Res res = beside->next == beside->limit ? besidePiece(beside) : ResOK;

  if (res != ResOK)
    return res;
  next = beside->next;
  res = FindingsGet(&beside->findings, &next, beside->limit, finding);
  beside->next += next - beside->next;
  /* A block that was cut short may have claimed more than is covered, and never more than the log had. */
  if (res == ResOK && beside->findings.offset > beside->head.size)
    res = ResFORMAT;
  return res == ResFORMAT ? ResFAIL : res;
}
