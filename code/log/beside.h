/* beside.h -- the index file beside a log: PATH.idx
 *
 * Pieces of findings, each with its checksum, behind a head that says of which log they are: how long it was, when it
 * was changed last, and checksums of some of its headers.  A Beside is such a file being written, or being read.
 *
 * It may be anything: only a file of the log's owner (or root, or ourselves) is looked at, and only findings of pieces
 * that are whole are handed out.  They are of a log that has not been changed since, as far as its size, its
 * time and the samples tell; if it has grown, they are of what it was.
 *
 * Always true: what is covered ends where the last finding ends, and within the log.
 *
 * Design: design/log.md .beside      Tests: test/besidetest.c, test/beside.t
 */
#ifndef LOG_BESIDE_H
#define LOG_BESIDE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/file.h"
#include "log/findings.h"

#define BesideMAGIC "\x8fPAWidx\n" /* 8 bytes */

enum {
  BesideVERSION = 1,
  BesidePieceMAX = 65536, /* bytes of findings with one checksum */
  BesideSamplesMAX = 64,
  BesidePathMAX = 4096
};

/* A header whose checksum is kept. */
typedef struct BesideSampleStruct {
  uint64_t offset;
  uint32_t size, crc;
} BesideSampleStruct, *BesideSample;

/* The head, as it stands in the file, in the order of whoever wrote it: another order is another version. */
typedef struct BesideHeadStruct {
  char magic[BlockMagicSIZE];
  uint32_t version, samples;
  uint64_t nonce;          /* goes into each piece's checksum: a piece of another file does not fit */
  uint64_t covered;        /* the findings are of the log up to here; */
  uint64_t size;           /* it was so long, */
  int64_t seconds, nanos;  /* and was changed last at this time */
  uint64_t blocks, pieces;
  uint64_t wasted;         /* as ScanStruct has it, at the end */
  BesideSampleStruct sample[BesideSamplesMAX];
  uint32_t reserved, crc;  /* of all before */
} BesideHeadStruct, *BesideHead;

typedef struct BesideStruct {
  BesideHeadStruct head;
  FindingsStruct findings;
  File log;
  int fd;
  char path[BesidePathMAX];      /* PATH.idx, */
  char temporary[BesidePathMAX]; /* and what it is called while it is written */
  uint64_t at;                   /* where the next piece is, or goes */
  uint64_t piece;                /* its number */
  Bool ended;                    /* writing: nothing more is written down */
  Res res;                       /* writing: what has failed */
  uint64_t stride, taken;        /* writing: one of so many headers is a sample, and so many came */
  unsigned char *bytes, *next, *limit; /* a piece; owned */
} BesideStruct, *Beside;

/* BesideCreate -- begin to write the index file of `log`; ResIO with errno set: cannot be written; ResPARAM: what has
 * its name is no index, and stays; ResLIMIT: the log's name is too long; ResUNIMPL: it was no file, or no log
 * BesidePut -- one more finding; `wasted` as ScanStruct has it
 * BesideEnds -- what comes from here on depends on where the log ends: it is not written down
 * BesideFinish -- give it its name; ResIO, ResMEMORY.  It replaces the one before in one step.
 * BesideClose -- with or without that; what is not finished is gone */
extern Res BesideCreate(Beside *besideReturn, File log);
extern void BesidePut(Beside beside, const FindingStruct *finding, uint64_t wasted);
extern void BesideEnds(Beside beside);
extern Res BesideFinish(Beside beside);
extern void BesideClose(Beside beside);

/* BesideOpen -- the index file of `log`; ResEND: it has none; else why it is not used: *whyReturn is a constant;
 * ResPARAM: nor can it be replaced, as for BesideCreate
 * BesideGet -- the next finding; ResEND: there are no more; ResFORMAT: from here on it is damaged; ResFAIL: nothing is
 * damaged, and it cannot be; ResMEMORY */
extern Res BesideOpen(Beside *besideReturn, File log, const char **whyReturn);
extern Res BesideGet(Beside beside, Finding findingReturn);

#endif /* LOG_BESIDE_H */
