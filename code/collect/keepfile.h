/* keepfile.h -- a log, thing by thing, and holes in it
 *
 * Design: design/log.md .dropped      Tests: test/keeptest.c
 */
#ifndef COLLECT_KEEPFILE_H
#define COLLECT_KEEPFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

enum { KeepWindowSIZE = 65536 };

typedef struct KeepFileStruct {
  int fd;
  Size page;            /* what the file system gives back is a multiple of this */
  uint64_t size;        /* of the file, */
  uint64_t freed;       /* and what of that takes no room */
  uint64_t windowAt;
  Size windowSize;
  unsigned char window[KeepWindowSIZE];
} KeepFileStruct, *KeepFile;

/* What stands at a place. */
typedef struct KeepThingStruct {
  enum { KeepBLOCK, KeepHEADER, KeepZEROS, KeepJUNK, KeepEND } what; /* END: what stands there is not all there */
  uint64_t size;
  BlockHeaderStruct header; /* of a block */
} KeepThingStruct, *KeepThing;

/* KeepFileOpen -- ResIO: errno says why; EOPNOTSUPP if there can be no holes */
extern Res KeepFileOpen(KeepFile file, int fd);

/* KeepFileSize -- how large is it now? */
extern Res KeepFileSize(KeepFile file);

/* KeepFileThing -- what stands at `offset`, before the file's end */
extern void KeepFileThing(KeepThing thing, KeepFile file, uint64_t offset);

/* KeepFileZeros -- is there nothing but zeros? */
extern Bool KeepFileZeros(KeepFile file, uint64_t from, uint64_t to);

/* KeepFilePunch -- make a hole */
extern Res KeepFilePunch(KeepFile file, uint64_t from, uint64_t to);

/* KeepFileRead, KeepFileAppend */
extern Res KeepFileRead(KeepFile file, uint64_t offset, void *bytes, Size size);
extern Res KeepFileAppend(KeepFile file, const void *bytes, Size size);

#endif /* COLLECT_KEEPFILE_H */
