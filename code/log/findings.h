/* findings.h -- what scanning a log finds, in few bytes
 *
 * A finding is a block's header, a header block, or that something is damaged, and where the next thing is then; each
 * begins where the one before it ends.  A Findings is what both sides of the encoding remember of those before, so that
 * a block takes about twenty bytes: numbers are told as differences, and a stream by its number.
 *
 * Always true: whoever reads knows as much as whoever wrote did; `offset` is the end of the last finding.
 *
 * Design: design/log.md .beside      Tests: test/besidetest.c
 */
#ifndef LOG_FINDINGS_H
#define LOG_FINDINGS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/header.h"

enum { FindingMAX = 256 }; /* bytes of a finding at most */

enum { FindingBLOCK = 1, FindingSTREAM, FindingHEADER, FindingDAMAGE };

typedef struct FindingStruct {
  unsigned what;            /* FindingSTREAM is for the encoding only: a block that says more of its stream */
  uint64_t offset, size;    /* in the log; damage has no size: */
  uint64_t next;            /* of damage: where the next thing is, which may be before, in the block that led here */
  BlockHeaderStruct header; /* of a block: what the reader needs of it; all else is 0 */
  uint32_t stream;          /* of a block: a number of the writer's, from 0 without holes */
} FindingStruct, *Finding;

/* Of a stream: what its latest block said. */
typedef struct FindingsStreamStruct {
  uint64_t process;
  uint32_t id, thread, pid;
  uint8_t kind;
  uint64_t sequence, before, discarded; /* the first two as they are expected of the next block */
} FindingsStreamStruct, *FindingsStream;

typedef struct FindingsStruct {
  uint64_t offset;
  uint64_t size;            /* of the block before, which may have been cut short; or 0 */
  uint64_t first, mono;     /* of the block before */
  Count streams, capacity;
  FindingsStream stream;    /* owned */
} FindingsStruct, *Findings;

extern void FindingsFree(Findings findings);

/* FindingsPut -- append a finding, which begins at findings->offset; *next has room for FindingMAX bytes
 * FindingsGet -- the next one; ResFORMAT: it cannot be.  Both: ResMEMORY. */
extern Res FindingsPut(Findings findings, unsigned char **next, const FindingStruct *finding);
extern Res FindingsGet(Findings findings, const unsigned char **next, const unsigned char *limit,
                       Finding findingReturn);

#endif /* LOG_FINDINGS_H */
