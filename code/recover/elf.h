/* elf.h -- a core file: the memory that it holds, and the files that the process had mapped
 *
 * A core comes from outside, and may be cut off.  Every offset in it is checked against the size of the file before it
 * is used, and what goes beyond that is clipped.  Cores of 32 and 64 bits are read, if they have our byte order.
 *
 * Always true: a segment's [offset, offset + size) lies within the file.
 *
 * Design: design/log.md .core      Tests: test/recover/core.t
 */
#ifndef RECOVER_ELF_H
#define RECOVER_ELF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/logfile.h"

typedef struct ElfStruct {
  File file;          /* the caller's */
  Bool wide;          /* 64 bits */
  uint64_t table;     /* offset of the table of segments */
  Count count;        /* of its entries */
  Size entry;         /* bytes of each */
} ElfStruct, *Elf;

typedef struct ElfSegmentStruct {
  Bool memory, notes; /* what it holds; neither: something else */
  Bool cut;           /* the file ends before the segment does */
  uint64_t offset;    /* in the file */
  uint64_t size;      /* bytes of it that the file has */
  uint64_t address;   /* of its first byte in the process */
} ElfSegmentStruct, *ElfSegment;

/* ElfIs -- does the file begin as ELF files do? */
extern Bool ElfIs(File file);

/* ElfOpen -- ResFORMAT: the file is no core, or lacks the table; ResVERSION: it has the other byte order */
extern Res ElfOpen(Elf elf, File file);

/* ElfSegmentAt -- segment `i` of elf->count; FALSE if its entry is cut off */
extern Bool ElfSegmentAt(ElfSegment segmentReturn, Elf elf, Index i);

/* ElfFiles -- call `each` with the path of each file that the process had mapped, as a segment of notes says, until it
 * returns TRUE.  A path is valid only during the call. */
extern void ElfFiles(Elf elf, ElfSegment notes, Bool (*each)(void *data, const char *path), void *data);

#endif /* RECOVER_ELF_H */
