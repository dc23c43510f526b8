/* indexfile.h -- the index file beside a log: PATH.idx
 *
 * The headers of the log's blocks stand in it one behind the other, each with its place in the log, so that scanning
 * reads them there instead of one here and one there all over the log.  That is all: whatever is not in the index is
 * read from the log, so the index may be of what the log was before it grew.  Behind the headers there may be check
 * points: what a client wants to know again about certain positions of the log (heap/heapat.h).  They serve as long as
 * nothing has come to the log.
 *
 * An index is not believed blindly.  It must belong to the log's owner, to us or to root; the log must not be shorter
 * than it was, nor changed in place; some hundred of the headers, all over the log, are compared when it is opened,
 * each one has a checksum, and a block's own is compared with the log when the block is loaded.
 *
 * Always true (IndexFileCheck):
 *   it is being written, or it is read, or neither once it is finished
 *   while it is written: check points stand one behind the other, behind the headers and up to its end, in the order of
 *   their positions; head.bytes <= IndexFileRoom; head.covered <= head.size
 *   while it is read: each check point ends where the file ends, or before; next <= head.records
 * Headers are in the order of their places; a record that is not is not used (IndexFileAt).
 *
 * Design: design/log.md .indexfile      Tests: test/log/indexfiletest.c, test/log/indexfile.t
 */
#ifndef LOG_INDEXFILE_H
#define LOG_INDEXFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "log/log.h"
#include "log/logfile.h"

#define IndexFileMAGIC "\x8fPAWidx\n" /* 8 bytes */

enum {
  IndexFileVERSION = 2,
  IndexFileSAMPLES = 256, /* headers that are compared: the first ones, and as many all over the log */
  IndexFileChecksMAX = 64,
  IndexFilePathMAX = 4096
};
#define IndexFileCheckBytesMAX ((uint64_t)1 << 30) /* of all check points, and half as many as the log has at most */

/* One header, as it stands in the file. */
typedef struct IndexFileRecordStruct {
  uint64_t offset; /* in the log */
  unsigned char header[BlockHeaderSIZE];
} IndexFileRecordStruct, *IndexFileRecord;

/* One check point, as the head has it. */
typedef struct IndexFilePointStruct {
  LogPositionStruct position; /* the next event is at it or behind it */
  uint64_t offset;            /* its bytes, in the index file */
  uint32_t size, crc;
} IndexFilePointStruct, *IndexFilePoint;

/* The head, as it stands in the file, in the order of whoever wrote it: another order is another version. */
typedef struct IndexFileHeadStruct {
  char magic[BlockMagicSIZE];
  uint32_t version, checks;
  uint64_t size;          /* of the log, */
  int64_t seconds, nanos; /* and when it was changed last */
  uint64_t records;       /* behind the head, */
  uint64_t covered;       /* which are of the log up to here */
  uint64_t bytes;         /* of check points */
  IndexFilePointStruct check[IndexFileChecksMAX];
  uint32_t kept;          /* version of what the check points hold, which is their owner's */
  uint32_t crc;           /* of all before */
} IndexFileHeadStruct, *IndexFileHead;

/* IndexFileCreate -- begin to write the index file of `log`; ResIO with errno set: cannot be written; ResPARAM: what
 * has its name is no index, and stays; ResLIMIT: the log's name is too long; ResUNIMPL: it was no file, or no log
 * IndexFileAdd -- one more block's header, as it stands in the log at `offset`
 * IndexFileKeep -- one more check point, of `kept` as above; where it finds no room, none is kept
 * IndexFileKeepNone -- forget all check points
 * IndexFileFinish -- give it its name; ResIO.  It replaces the one before in one step. */
extern Res IndexFileCreate(IndexFile *fileReturn, File log);
extern void IndexFileAdd(IndexFile file, uint64_t offset, const unsigned char *header, uint64_t size);
extern void IndexFileKeep(IndexFile file, uint32_t kept, const LogPositionStruct *position, const void *bytes,
                          Size size);
extern void IndexFileKeepNone(IndexFile file);
extern Res IndexFileFinish(IndexFile file);

/* IndexFileOpen -- the index file of `log`; ResEND: it has none; else why it is not used: *whyReturn is a constant;
 * ResPARAM: nor can it be replaced, as for IndexFileCreate; ResMEMORY
 * IndexFileAt -- the header that stands in the log at `offset`, or NULL: look there.  Places are asked for forwards. */
extern Res IndexFileOpen(IndexFile *fileReturn, File log, const char **whyReturn);
extern const unsigned char *IndexFileAt(IndexFile file, uint64_t offset);

/* IndexFileSame -- has nothing come to the log since?
 * IndexFileNearest -- the last check point at `position` or before it, of `kept` as above: its position, and
 * *sizeReturn bytes that the caller frees; ResEND: there is none that can be had; ResMEMORY */
extern Bool IndexFileSame(IndexFile file);
extern Res IndexFileNearest(LogPosition positionReturn, unsigned char **bytesReturn, Size *sizeReturn, IndexFile file,
                            uint32_t kept, const LogPositionStruct *position);

extern Bool IndexFileCheck(IndexFile file);

/* IndexFileHeadOf -- what its head says
 * IndexFileBytes -- how long it is
 * IndexFileRoom -- how many bytes of check points it may have
 * IndexFileClose -- one that is written and not finished is gone */
extern IndexFileHead IndexFileHeadOf(IndexFile file);
extern uint64_t IndexFileBytes(IndexFile file);
extern uint64_t IndexFileRoom(IndexFile file);
extern void IndexFileClose(IndexFile file);

#endif /* LOG_INDEXFILE_H */
