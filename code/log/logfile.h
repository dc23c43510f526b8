/* logfile.h -- a log's file: bytes at places
 *
 * Reads by place only, never by a cursor, and keeps one small window.  What cannot seek (standard input from a pipe) is
 * copied to a temporary file without a name first.  A window's bytes are valid until the next call for the same file.
 *
 * Always true: windowSize bytes of the file from windowAt stand in window.
 *
 * Design: design/log.md .file      Tests: test/end/eventcnv.t, test/log/aheadtest.c
 */
#ifndef LOG_LOGFILE_H
#define LOG_LOGFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/log.h"

enum { FileWindowSIZE = 8192 };

typedef struct FileStruct {
  const char *path;  /* as it was asked for; owned by the caller */
  int fd;
  uint64_t size;     /* when it was opened */
  Bool live;         /* a process still records into it: its end may be half of a block */
  Bool left;         /* what was recorded into it was found in shared memory */
  Bool core;         /* it was a core file; these are the blocks that were in it (core.h) */
  int failed;        /* why a read of it failed: errno; 0: none has */
  uint64_t ahead;    /* up to here the system has been asked to read ahead */
  uint64_t windowAt;
  Size windowSize;
  unsigned char window[FileWindowSIZE];
} FileStruct, *File;

/* FileOpen -- open `path`, "-" for standard input; ResIO with errno set.  What is copied is told to `hooks`. */
extern Res FileOpen(File file, const char *path, LogHooks hooks);

/* FileOpenTemporary -- an empty file without a name, mode 0600, in $TMPDIR or /tmp; its descriptor, or -1 with
 * errno set */
extern int FileOpenTemporary(void);

extern void FileClose(File file);

/* FileAgain -- open once more what a descriptor has open: another open file description, -1 with errno set */
extern int FileAgain(int fd, int flags);

/* FileText -- the beginning of a small file, as those of /proc are, as a string in `room`; how long it is, 0 and an
 * empty string if it cannot be read */
extern Size FileText(const char *path, char *room, Size size);

/* FileCloseFailed -- close a descriptor of which something has failed: errno stays.  Returns -1. */
extern int FileCloseFailed(int fd);

/* FileBytes -- `size` (at most FileWindowSIZE) bytes at `offset`; NULL if they are not all there
 * FileAvailable -- the same for what is there of them; *sizeReturn may be less, and is 0 at the end */
extern const unsigned char *FileBytes(File file, uint64_t offset, Size size);
extern const unsigned char *FileAvailable(File file, uint64_t offset, Size *sizeReturn);

/* FileZeros -- the first place from `from` on that is not zero, or cannot be read; `to` or more: there is none before
 * that.  Holes are not read. */
extern uint64_t FileZeros(File file, uint64_t from, uint64_t to);

/* FileGlance -- the next call is for so many bytes at `offset`, and nothing else there is of interest: read no more */
extern void FileGlance(File file, uint64_t offset, Size size);

/* FileAhead -- what comes from `offset` on is looked at in steps, forwards: ask the system to read ahead, because it
 * sees no order in steps of some pages, and waits for the disk at each */
extern void FileAhead(File file, uint64_t offset);

/* FileData -- the first place from `offset` on that is in no hole: where there are holes, they are not worth reading */
extern uint64_t FileData(File file, uint64_t offset);

/* FileRead -- `size` bytes at `offset` into `bytes`; ResEND if the file ends before, ResIO */
extern Res FileRead(File file, uint64_t offset, void *bytes, Size size);

/* FileReadAt -- the same for a bare descriptor.  FileWriteAt -- write all of it there; FileWriteAll, where the
 * descriptor stands.  ResIO: errno says why, and some of it may be written */
extern Res FileReadAt(int fd, uint64_t offset, void *bytes, Size size);
extern Res FileWriteAt(int fd, uint64_t offset, const void *bytes, Size size);
extern Res FileWriteAll(int fd, const void *bytes, Size size);

/* FileAppend -- one message to a log that others may append to at the same moment, all of it in one go: where a write
 * is cut short, it is written anew, and readers pass the piece */
extern Res FileAppend(int fd, const void *message, Size size);

#endif /* LOG_LOGFILE_H */
