/* elf.h -- an ELF file: its header, segments, sections, notes and symbols
 *
 * Files of 32 and 64 bits and of either byte order are read, by a function that the caller gives: from memory, from a
 * descriptor, from another mapping.  The file is hostile: each offset and each count in it is checked before it is
 * used, and nothing beyond its end is read.
 *
 * Always true: of a segment or a section the `size` bytes from `offset` on, if there are any, lie within the file.
 *
 * Threads: any; signal handlers, too, if `read` may be called there.  Nothing is allocated, locked or kept.
 * Design: design/house.md .elf      Tests: test/base/elftest.c
 */
#ifndef BASE_ELF_H
#define BASE_ELF_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <elf.h>

#include "base/bytesreader.h"

enum {
  ElfReadsMAX = 1 << 22, /* calls of `read` for one file: a forged one does not keep its reader busy for long */
  ElfBuildMAX = 64       /* bytes of a build id */
};

#define ElfUNKNOWN ((uint64_t)INT64_MAX) /* a size that is not known: `read` finds the end */

/* ElfReadMethod -- copy `size` bytes at `offset` of the file to `bytes`; FALSE: they are not all there */
typedef Bool (*ElfReadMethod)(void *data, uint64_t offset, void *bytes, Size size);

typedef struct ElfTableStruct {
  uint64_t offset;
  Count count;        /* as the header says: the file may have fewer */
  Size entry;         /* bytes of each */
} ElfTableStruct;

typedef struct ElfStruct {
  ElfReadMethod read;
  void *data;         /* the caller's, for `read` */
  uint64_t size;      /* bytes of the file */
  Count left;         /* calls of `read` that may still be made */
  Bool wide, swapped; /* 64 bits; the other byte order than ours */
  unsigned type;      /* ET_CORE ... */
  ElfTableStruct segments, sections;
  Index names;        /* the section with the names of sections */
} ElfStruct, *Elf;

typedef struct ElfSegmentStruct {
  uint32_t type, flags;     /* PT_LOAD ..., PF_X ... */
  uint64_t offset, size;    /* in the file: as much as it has */
  uint64_t address, memory; /* of its first byte; bytes in memory */
  Bool cut;                 /* the file ends before the segment does */
} ElfSegmentStruct, *ElfSegment;

typedef struct ElfSectionStruct {
  uint32_t name, type;      /* offset among the names; SHT_NOTE ... */
  uint64_t flags, address;
  uint64_t offset, size;    /* in the file, as much as it has, but for SHT_NOBITS */
  uint32_t link, info;
  Bool cut;                 /* the file ends before the section does */
} ElfSectionStruct, *ElfSection;

typedef struct ElfNoteStruct {
  uint32_t type;
  uint32_t nameSize, size;  /* of its name, with the NUL, and of its content */
  uint64_t name, content;   /* where they are in the file */
} ElfNoteStruct, *ElfNote;

typedef struct ElfSymbolStruct {
  uint32_t name;            /* offset among the names */
  unsigned type, bind;      /* STT_FUNC ..., STB_WEAK ... */
  unsigned section;         /* SHN_UNDEF ... */
  uint64_t address, size;
} ElfSymbolStruct, *ElfSymbol;

/* ElfNamed -- is a file, given without its folder, what people mean by this name: with or without what follows `.so'?
 */
extern Bool ElfNamed(const char *file, const char *name);

/* ElfMagic -- are these bytes, at least SELFMAG, those that an ELF file begins with? */
extern Bool ElfMagic(const void *bytes);

/* ElfOpen -- read the header; `size` is that of the file, or ElfUNKNOWN
 * returns  ResFORMAT: it is no ELF file, or its header is cut off.  There is nothing to close. */
extern Res ElfOpen(Elf elf, ElfReadMethod read, void *data, uint64_t size);

/* ElfRead -- so many bytes of the file; FALSE: it does not have them, or too much was read already */
extern Bool ElfRead(Elf elf, uint64_t offset, void *bytes, Size size);

/* ElfSegmentAt, ElfSectionAt -- number `i`; FALSE: there is none, or its entry is cut off */
extern Bool ElfSegmentAt(ElfSegment segmentReturn, Elf elf, Index i);
extern Bool ElfSectionAt(ElfSection sectionReturn, Elf elf, Index i);

/* ElfNoteNext -- the note at *at, which ends before `limit`; *at is that of the next one afterwards.  FALSE: none is */
extern Bool ElfNoteNext(ElfNote noteReturn, Elf elf, uint64_t *at, uint64_t limit);

/* ElfBuild -- the build id among the notes from `at` to `limit`, in hex; FALSE: none is, and `text` is "" */
extern Bool ElfBuild(char text[2 * ElfBuildMAX + 1], Elf elf, uint64_t at, uint64_t limit);

/* ElfBuildText -- a build id of at most ElfBuildMAX bytes in hex */
extern void ElfBuildText(char text[2 * ElfBuildMAX + 1], const unsigned char *bytes, Size size);

/* ElfSymbolNext -- the symbol at the cursor in a table of symbols; FALSE: it is at the end */
extern Bool ElfSymbolNext(ElfSymbol symbolReturn, Elf elf, Reader reader);

#endif /* BASE_ELF_H */
