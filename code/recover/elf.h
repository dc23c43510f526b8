/* elf.h -- a core file: the memory that it holds, and the files that the process had mapped
 *
 * A core comes from outside, and may be cut off.  Every place in it is checked against the file's size before it is
 * read; what does not fit is clipped.  Cores of either width are read, in our own byte order.
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
  uint64_t table;     /* where the segments' descriptions are, */
  Count count;        /* so many, */
  Size entry;         /* each of so many bytes */
} ElfStruct, *Elf;

typedef struct ElfSegmentStruct {
  Bool memory, notes; /* what it holds; neither: something else */
  Bool cut;           /* the file ends before it does */
  uint64_t offset;    /* in the file, */
  uint64_t size;      /* and so many bytes of it are there */
  uint64_t address;   /* of its first byte in the process */
} ElfSegmentStruct, *ElfSegment;

/* ElfIs -- does the file begin as ELF files do? */
extern Bool ElfIs(File file);

/* ElfOpen -- ResFORMAT: it is no core, or its tables are not in it; ResVERSION: of the other byte order */
extern Res ElfOpen(Elf elf, File file);

/* ElfSegmentAt -- the `i`th of elf->count; FALSE if its description is cut off */
extern Bool ElfSegmentAt(ElfSegment segmentReturn, Elf elf, Index i);

/* ElfFiles -- call `each` for the files that were mapped, as a segment of notes tells; TRUE from it ends this.  A
 * path lasts as long as the call. */
extern void ElfFiles(Elf elf, ElfSegment notes, Bool (*each)(void *data, const char *path), void *data);

#endif /* RECOVER_ELF_H */
