/* indexfile.c -- the index file beside a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log/indexfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/aver.h"
#include "base/crc.h"
#include "base/newfile.h"

enum {
  indexFileHEAD = sizeof(IndexFileHeadStruct),
  indexFileRECORD = sizeof(IndexFileRecordStruct),
  indexFileTICK = 20000000 /* ns: files' times go by the system's ticks */
};

_Static_assert(indexFileRECORD == 8 + BlockHeaderSIZE, "a record has no holes");
_Static_assert(indexFileHEAD == 8 + 2 * 4 + 6 * 8 + IndexFileChecksMAX * (6 * 8 + 2 * 4) + 2 * 4,
               "the head has no holes");

struct IndexFileStruct {
  IndexFileHeadStruct head;
  File log;
  Bool same;                          /* reading: nothing has come to the log since */
  uint64_t next;                      /* reading: the number of the record that is looked at next */
  FileStruct file;                    /* reading: the index file itself */
  NewFileStruct place;                /* in the folder that the log is in; writing: what is written */
  char path[IndexFilePathMAX];        /* PATH.idx */
};

/* indexFileMake -- an IndexFile for a log, its folder open and nothing else.  The log must be found by its name there:
 * not where it was copied from a pipe or a core, and not where somebody has put another folder in the place of its own.
 * ResMEMORY, ResLIMIT; ResUNIMPL: no file beside that path is about it */
static Res indexFileMake(IndexFile *fileReturn, File log, struct stat *status)
{
  IndexFile file = calloc(1, sizeof *file);
  const char *slash = strrchr(log->path, '/'), *name = slash == NULL ? log->path : slash + 1;
  struct stat named;

  if (file == NULL)
    return ResMEMORY;
  file->log = log;
  file->file.fd = file->place.folder = -1;
  if (snprintf(file->path, sizeof file->path, "%s.idx", log->path) >= (int)sizeof file->path) {
    free(file);
    return ResLIMIT;
  }
  if (log->core || NewFileAt(&file->place, file->path) != ResOK || fstat(log->fd, status) != 0 ||
      fstatat(file->place.folder, name, &named, 0) != 0 || named.st_dev != status->st_dev ||
      named.st_ino != status->st_ino || !S_ISREG(status->st_mode)) {
    IndexFileClose(file);
    return ResUNIMPL;
  }
  *fileReturn = file;
  return ResOK;
}

void IndexFileClose(IndexFile file)
{
  int reason = errno;

  if (file->file.fd >= 0)
    (void)close(file->file.fd);
  NewFileClose(&file->place);
  free(file);
  errno = reason; /* whoever closes it because something failed may say why */
}

IndexFileHead IndexFileHeadOf(IndexFile file)
{
  return &file->head;
}

uint64_t IndexFileBytes(IndexFile file)
{
  return indexFileHEAD + file->head.records * indexFileRECORD + file->head.bytes;
}

uint64_t IndexFileRoom(IndexFile file)
{
  return file->head.size / 2 < IndexFileCheckBytesMAX ? file->head.size / 2 : IndexFileCheckBytesMAX;
}

Bool IndexFileCheck(IndexFile file)
{
  const IndexFileHeadStruct *head = &file->head;
  uint64_t bytes = IndexFileBytes(file), end = bytes - head->bytes;
  Bool writes = file->place.out != NULL;
  Index i;

  if (file->place.folder < 0 || (writes && file->file.fd >= 0) || head->checks > IndexFileChecksMAX ||
      file->next > head->records || (writes && (head->bytes > IndexFileRoom(file) || head->covered > head->size)))
    return FALSE;
  for (i = 0; i < head->checks; ++i) {
    const IndexFilePointStruct *check = &head->check[i];
    if (check->offset > bytes || check->size > bytes - check->offset || (writes && check->offset != end) ||
        (writes && i > 0 && LogPositionCompare(&check[-1].position, &check->position) > 0))
      return FALSE;
    end += check->size;
  }
  return !writes || end == bytes;
}

static uint32_t indexFileHeadCrc(const IndexFileHeadStruct *head)
{
  return Crc32c(0, head, offsetof(IndexFileHeadStruct, crc));
}

/* Writing */

/* indexFileMayReplace -- is there nothing of this name, an empty file, or an index? */
static Bool indexFileMayReplace(IndexFile file)
{
  return NewFileReplaces(&file->place, IndexFileMAGIC, BlockMagicSIZE);
}

/* indexFileSettle -- let the file system's clock go on, so that whoever changes the log after us gives it another
 * time */
static void indexFileSettle(const struct stat *log)
{
  static const struct timespec tick = {0, indexFileTICK};
  struct timespec now;

  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (now.tv_sec - log->st_mtim.tv_sec <= 1)
    (void)nanosleep(&tick, NULL);
}

/* indexFileBegin -- the file to be written, with room for the head; ResIO with errno set */
static Res indexFileBegin(IndexFile file)
{
  Res res = NewFileBegin(&file->place);

  return res == ResOK && fseek(file->place.out, indexFileHEAD, SEEK_SET) != 0 ? ResIO : res;
}

Res IndexFileCreate(IndexFile *fileReturn, File log)
{
  struct stat status;
  IndexFile file;
  Res res = indexFileMake(&file, log, &status);

  if (res != ResOK)
    return res;
  res = indexFileMayReplace(file) ? indexFileBegin(file) : ResPARAM;
  if (res != ResOK) {
    IndexFileClose(file);
    return res;
  }
  indexFileSettle(&status);
  file->head = (IndexFileHeadStruct){.magic = IndexFileMAGIC, .version = IndexFileVERSION, .size = log->size,
                                     .seconds = status.st_mtim.tv_sec, .nanos = status.st_mtim.tv_nsec};
  *fileReturn = file;
  return ResOK;
}

void IndexFileAdd(IndexFile file, uint64_t offset, const unsigned char *header, uint64_t size)
{
  IndexFileHead head = &file->head;

  AVER(file->place.out != NULL && head->checks == 0 && offset < head->size);
  (void)fwrite(&offset, sizeof offset, 1, file->place.out); /* IndexFileFinish sees whether it failed */
  (void)fwrite(header, BlockHeaderSIZE, 1, file->place.out);
  ++head->records;
  head->covered = size < head->size - offset ? offset + size : head->size;
}

void IndexFileKeep(IndexFile file, uint32_t kept, const LogPositionStruct *position, const void *bytes, Size size)
{
  IndexFileHead head = &file->head;

  AVER(file->place.out != NULL);
  AVER(IndexFileCheck(file));
  if (head->checks == IndexFileChecksMAX || size > IndexFileRoom(file) - head->bytes)
    return;
  (void)fwrite(bytes, size, 1, file->place.out);
  head->kept = kept;
  head->check[head->checks++] = (IndexFilePointStruct){
    .position = *position, .offset = IndexFileBytes(file), .size = (uint32_t)size, .crc = Crc32c(0, bytes, size)};
  head->bytes += size;
}

void IndexFileKeepNone(IndexFile file)
{
  file->head.checks = 0;
  file->head.bytes = 0; /* IndexFileFinish cuts the file off there */
}

/* indexFileShare -- whoever may read the log may read its index, which says less; and it is whose the log is, if it can
 * be */
static void indexFileShare(IndexFile file)
{
  struct stat log, its;
  int fd = fileno(file->place.out);
  mode_t mode;

  if (fstat(file->log->fd, &log) != 0)
    return;
  if (fchown(fd, log.st_uid, log.st_gid) != 0)
    (void)!fchown(fd, (uid_t)-1, log.st_gid);
  mode = S_IRUSR | S_IWUSR | (log.st_mode & (S_IRGRP | S_IROTH));
  if (fstat(fd, &its) != 0 || (its.st_gid != log.st_gid && (mode & S_IROTH) == 0))
    mode &= ~(mode_t)S_IRGRP; /* it would be another group's */
  (void)fchmod(fd, mode);
}

Res IndexFileFinish(IndexFile file)
{
  IndexFileHead head = &file->head;
  FILE *out = file->place.out;

  AVER(out != NULL);
  AVER(IndexFileCheck(file));
  head->crc = indexFileHeadCrc(head);
  if (fseek(out, 0, SEEK_SET) != 0 || fwrite(head, sizeof *head, 1, out) != 1 || fflush(out) != 0 || ferror(out) ||
      ftruncate(fileno(out), (off_t)IndexFileBytes(file)) != 0)
    return ResIO;
  indexFileShare(file);
  return NewFileEnd(&file->place);
}

/* Reading */

/* indexFileTrusts -- is the file of somebody who may say what is in the log?  *sizeReturn: its bytes */
static Bool indexFileTrusts(uint64_t *sizeReturn, int fd, const struct stat *log)
{
  struct stat status;

  if (fstat(fd, &status) != 0)
    return FALSE;
  *sizeReturn = (uint64_t)status.st_size;
  return S_ISREG(status.st_mode) &&
         (status.st_uid == geteuid() || status.st_uid == log->st_uid || status.st_uid == 0);
}

/* indexFileRecord -- one record; NULL: there is none */
static const unsigned char *indexFileRecord(IndexFile file, uint64_t number)
{
  return number < file->head.records ? FileBytes(&file->file, indexFileHEAD + number * indexFileRECORD, indexFileRECORD)
                                     : NULL;
}

/* indexFileFits -- does the log say the same as this record? */
static Bool indexFileFits(IndexFile file, uint64_t number)
{
  const unsigned char *bytes = indexFileRecord(file, number);
  unsigned char header[BlockHeaderSIZE];
  uint64_t offset;

  if (bytes == NULL)
    return FALSE;
  memcpy(&offset, bytes, sizeof offset);
  return FileRead(file->log, offset, header, sizeof header) == ResOK &&
         memcmp(header, bytes + sizeof offset, sizeof header) == 0;
}

/* indexFileFitsAll -- the first ones, some all over the log, and the last */
static Bool indexFileFitsAll(IndexFile file)
{
  uint64_t records = file->head.records, stride = records / IndexFileSAMPLES + 1, i;

  for (i = 0; i < records && i < IndexFileSAMPLES; ++i)
    if (!indexFileFits(file, i))
      return FALSE;
  for (; i < records; i += stride)
    if (!indexFileFits(file, i))
      return FALSE;
  return records == 0 || indexFileFits(file, records - 1);
}

/* indexFileSound -- are the head's numbers those of a file of this length, and do check points keep to their room? */
static Bool indexFileSound(IndexFile file)
{
  IndexFileHead head = &file->head;
  uint64_t size = file->file.size;
  Index i;

  if (head->crc != indexFileHeadCrc(head) || head->checks > IndexFileChecksMAX || head->bytes > size - indexFileHEAD ||
      head->records > (size - indexFileHEAD) / indexFileRECORD ||
      size != indexFileHEAD + head->records * indexFileRECORD + head->bytes || head->bytes > IndexFileRoom(file))
    return FALSE;
  for (i = 0; i < head->checks; ++i)
    if (head->check[i].size > head->bytes || head->check[i].offset > size ||
        head->check[i].size > size - head->check[i].offset)
      return FALSE;
  return TRUE;
}

/* indexFileHead -- read and check the head; returns why it is of no use, or NULL */
static const char *indexFileHead(IndexFile file, const struct stat *log)
{
  IndexFileHead head = &file->head;

  if (FileRead(&file->file, 0, head, sizeof head->magic) != ResOK ||
      memcmp(head->magic, IndexFileMAGIC, BlockMagicSIZE) != 0)
    return "is no index";
  if (FileRead(&file->file, 0, head, sizeof *head) != ResOK)
    return "is damaged";
  if (head->version != IndexFileVERSION)
    return "is an index of another version";
  if (!indexFileSound(file))
    return "is damaged";
  if (file->log->size < head->size)
    return "is of a longer log";
  file->same = file->log->size == head->size;
  if (file->same && (log->st_mtim.tv_sec != head->seconds || log->st_mtim.tv_nsec != head->nanos))
    return "is older than the log";
  return indexFileFitsAll(file) ? NULL : "is damaged, or of another log";
}

Res IndexFileOpen(IndexFile *fileReturn, File log, const char **whyReturn)
{
  struct stat status;
  IndexFile file;
  Res res = indexFileMake(&file, log, &status);

  if (res != ResOK)
    return res == ResMEMORY ? res : ResEND;
  *whyReturn = NULL;
  file->file.path = file->path;
  file->file.fd = NewFileOld(&file->place);
  if (file->file.fd < 0 && errno == ENOENT)
    res = ResEND;
  else if (file->file.fd < 0)
    *whyReturn = "cannot be opened";
  else if (!indexFileTrusts(&file->file.size, file->file.fd, &status))
    *whyReturn = "belongs to somebody else, or is no file";
  else
    *whyReturn = indexFileHead(file, &status);
  if (*whyReturn != NULL)
    res = indexFileMayReplace(file) ? ResFORMAT : ResPARAM;
  if (res == ResOK)
    *fileReturn = file;
  else
    IndexFileClose(file);
  return res;
}

/* indexFilePlace -- the place of a record in the log; UINT64_MAX: there is no such record */
static uint64_t indexFilePlace(IndexFile file, uint64_t number)
{
  const unsigned char *bytes = indexFileRecord(file, number);
  uint64_t place = UINT64_MAX;

  if (bytes != NULL)
    memcpy(&place, bytes, sizeof place);
  return place;
}

const unsigned char *IndexFileAt(IndexFile file, uint64_t offset)
{
  const unsigned char *bytes;

  while (indexFilePlace(file, file->next) < offset)
    ++file->next;
  /* Places have no checksum: one that is not in order has another record's header behind it. */
  if (indexFilePlace(file, file->next) != offset || indexFilePlace(file, file->next + 1) <= offset ||
      offset + BlockHeaderSIZE > file->log->size)
    return NULL;
  bytes = indexFileRecord(file, file->next);
  return bytes != NULL ? bytes + sizeof offset : NULL;
}

Bool IndexFileSame(IndexFile file)
{
  return file->same;
}

/* indexFilePoint -- the bytes of a check point; ResFORMAT: they are damaged, or not there */
static Res indexFilePoint(unsigned char **bytesReturn, IndexFile file, const IndexFilePointStruct *check)
{
  unsigned char *bytes = malloc(check->size + 1);

  if (bytes == NULL)
    return ResMEMORY;
  if (FileReadAt(file->file.fd, check->offset, bytes, check->size) == ResOK &&
      Crc32c(0, bytes, check->size) == check->crc) {
    *bytesReturn = bytes;
    return ResOK;
  }
  free(bytes);
  return ResFORMAT;
}

Res IndexFileNearest(LogPosition positionReturn, unsigned char **bytesReturn, Size *sizeReturn, IndexFile file,
                     uint32_t kept, const LogPositionStruct *position)
{
  Res res = ResEND;
  Index i;

  AVER(IndexFileCheck(file));
  for (i = file->head.kept == kept ? file->head.checks : 0; i-- > 0 && res != ResOK && res != ResMEMORY;) {
    const IndexFilePointStruct *check = &file->head.check[i];
    if (LogPositionCompare(&check->position, position) > 0)
      continue;
    *positionReturn = check->position;
    *sizeReturn = check->size;
    res = indexFilePoint(bytesReturn, file, check);
  }
  return res == ResFORMAT ? ResEND : res;
}
