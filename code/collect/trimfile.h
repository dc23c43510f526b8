/* trimfile.h -- a log, thing by thing, and holes in it
 *
 * Design: design/log.md .dropped      Tests: test/trimtest.c
 */
#ifndef COLLECT_TRIMFILE_H
#define COLLECT_TRIMFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"

enum { TrimWindowSIZE = 65536 };

typedef struct TrimFileStruct {
  int fd;
  Size page;            /* what the file system gives back is a multiple of this */
  uint64_t size;        /* of the file, */
  uint64_t freed;       /* and what of that takes no room */
  uint64_t windowAt;
  Size windowSize;
  unsigned char window[TrimWindowSIZE];
} TrimFileStruct, *TrimFile;

/* What stands at a place. */
typedef struct TrimThingStruct {
  enum { TrimBLOCK, TrimHEADER, TrimZEROS, TrimJUNK, TrimEND } what; /* END: what stands there is not all there */
  uint64_t size;
  BlockHeaderStruct header; /* of a block */
} TrimThingStruct, *TrimThing;

/* TrimFileOpen -- ResIO: errno says why; EOPNOTSUPP if there can be no holes */
extern Res TrimFileOpen(TrimFile file, int fd);

/* TrimFileSize -- how large is it now? */
extern Res TrimFileSize(TrimFile file);

/* TrimFileThing -- what stands at `offset`, before the file's end */
extern void TrimFileThing(TrimThing thing, TrimFile file, uint64_t offset);

/* TrimFileZeros -- is there nothing but zeros? */
extern Bool TrimFileZeros(TrimFile file, uint64_t from, uint64_t to);

/* TrimFilePunch -- make a hole */
extern Res TrimFilePunch(TrimFile file, uint64_t from, uint64_t to);

extern Res TrimFileRead(TrimFile file, uint64_t offset, void *bytes, Size size);

#endif /* COLLECT_TRIMFILE_H */
