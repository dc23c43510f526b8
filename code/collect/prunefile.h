/* prunefile.h -- a log, thing by thing, and holes in it
 *
 * Design: design/log.md .dropped      Tests: test/prunetest.c
 */
#ifndef COLLECT_PRUNEFILE_H
#define COLLECT_PRUNEFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

enum { PruneWindowSIZE = 65536 };

typedef struct PruneFileStruct {
  int fd;
  Size page;            /* what the file system gives back is a multiple of this */
  uint64_t size;        /* of the file, */
  uint64_t freed;       /* and what of that takes no room */
  uint64_t windowAt;
  Size windowSize;
  unsigned char window[PruneWindowSIZE];
} PruneFileStruct, *PruneFile;

/* What stands at a place. */
typedef struct PruneThingStruct {
  enum { PruneBLOCK, PruneHEADER, PruneZEROS, PruneJUNK, PruneEND } what; /* END: what stands there is not all there */
  uint64_t size;
  BlockHeaderStruct header; /* of a block */
} PruneThingStruct, *PruneThing;

/* PruneFileOpen -- ResIO: errno says why; EOPNOTSUPP if there can be no holes */
extern Res PruneFileOpen(PruneFile file, int fd);

/* PruneFileSize -- how large is it now? */
extern Res PruneFileSize(PruneFile file);

/* PruneFileThing -- what stands at `offset`, before the file's end */
extern void PruneFileThing(PruneThing thing, PruneFile file, uint64_t offset);

/* PruneFileZeros -- is there nothing but zeros? */
extern Bool PruneFileZeros(PruneFile file, uint64_t from, uint64_t to);

/* PruneFilePunch -- make a hole */
extern Res PruneFilePunch(PruneFile file, uint64_t from, uint64_t to);

/* PruneFileRead, PruneFileAppend */
extern Res PruneFileRead(PruneFile file, uint64_t offset, void *bytes, Size size);
extern Res PruneFileAppend(PruneFile file, const void *bytes, Size size);

#endif /* COLLECT_PRUNEFILE_H */
