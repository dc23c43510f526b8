/* objectfile.h -- an ELF file with code: its sections, its build id, and what its addresses mean
 *
 * The file is hostile: it may be any bytes, and may change while it is read.  So it is read, and never mapped; each
 * offset and count in it is checked against its size before use; and nothing of it is trusted but as names to show.
 *
 * What all that are open together may hold is bounded, too: by a room, which they share.
 *
 * Always true (ObjectCheck): the sections and segments lie within what the file had when it was opened.
 *
 * Design: design/symbols.md .hostile      Tests: test/symbols/symbolstest.c, test/fuzz/fuzzsymbols.c
 */
#ifndef SYMBOLS_OBJECTFILE_H
#define SYMBOLS_OBJECTFILE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/elf.h"

/* What files may take together; it outlives them. */
typedef struct ObjectRoomStruct {
  Count files;              /* that may still be opened */
  uint64_t bytes;           /* that may still be kept: sections, and tables that are made of them */
  uint64_t summed;          /* of files that may still be read to their ends for a checksum; never given back */
  Bool full;                /* something was left out for want of room */
  Bool unsummed;            /* a file was not read for its checksum */
} ObjectRoomStruct, *ObjectRoom;

enum {
  ObjectSectionMAX = 1 << 30,        /* bytes of a section that is read, as it is and unpacked */
  ObjectSectionsMAX = 1 << 16,
  ObjectSegmentsMAX = 1 << 10,
  ObjectStringMAX = 1 << 16          /* bytes of a string, with its end */
};

typedef struct ObjectSectionStruct {
  ElfSectionStruct head;    /* size 0 if the file was cut */
  Bool tried;               /* whether or not that went well, it has been read */
  unsigned char *bytes;     /* owned; of `length`, unpacked; NULL: not read, or not readable */
  Size length;
} ObjectSectionStruct, *ObjectSection;

typedef struct ObjectFileStruct {
  int fd;                   /* owned */
  dev_t device;
  ino_t inode;
  int64_t modified;         /* seconds since 1970 */
  ObjectRoom room;          /* or NULL: there is no bound */
  Bool counted;             /* as one of its files */
  uint64_t held;            /* bytes taken of it */
  ElfStruct elf;
  Count sections, segments;
  ObjectSection section;    /* owned */
  ElfSegment segment;       /* owned */
  ObjectSection names;      /* of sections, or NULL */
  uint64_t begin;           /* the address that the file's first byte would have, as a module's base in a process */
  char build[2 * ElfBuildMAX + 1]; /* its build id in hex; "": it has none */
  Bool packed;              /* a section was found compressed in a way that is not known here */
} ObjectFileStruct, *ObjectFile;

/* ObjectOpen -- open the file at `path`
 * room      what it may take; NULL: there is no bound
 * returns   ResIO: errno says why; ResFORMAT: it is no regular file, or no ELF file that has been linked; ResLIMIT: the
 *           room is full
 * Nothing is opened that is no regular file on a disk or in memory: no device, FIFO or driver notices. */
extern Res ObjectOpen(ObjectFile *objectReturn, const char *path, ObjectRoom room);
extern void ObjectClose(ObjectFile object); /* NULL is none */

/* ObjectBegin, ObjectHead -- ObjectOpen in two steps: after the first it is known which file it is (device and inode),
 * and nothing has been read.  If the second fails, ObjectClose is to follow. */
extern Res ObjectBegin(ObjectFile *objectReturn, const char *path, ObjectRoom room);
extern Res ObjectHead(ObjectFile object);

/* ObjectTake -- may `size` bytes more be kept of what is in the file?  They are given back by ObjectClose. */
extern Bool ObjectTake(ObjectFile object, uint64_t size);

/* ObjectOpenRegular -- a descriptor for reading a regular file that the kernel does not make itself (/proc, /sys); -1
 * with errno set, EINVAL if it is none.  `flags` are added to those of open: O_NOFOLLOW. */
extern int ObjectOpenRegular(const char *path, int flags);

/* ObjectNamed -- the section with this name, or NULL.  ObjectBytes -- its bytes, which stay until ObjectClose, or
 * NULL. */
extern ObjectSection ObjectNamed(ObjectFile object, const char *name);
extern const unsigned char *ObjectBytes(ObjectFile object, ObjectSection section, Size *sizeReturn);

/* ObjectString -- the string at an offset of these bytes; NULL: it has no end there, or is longer than any name is.
 * So a table of strings without ends is not searched from each of its bytes to the last. */
extern const char *ObjectString(const unsigned char *bytes, Size size, uint64_t offset);

/* ObjectRuns -- is the address in a segment with code? */
extern Bool ObjectRuns(ObjectFile object, uint64_t address);

/* ObjectBuildIs -- has it this build id, in hex?  Also if it has none and nothing is asked for (length 0). */
extern Bool ObjectBuildIs(ObjectFile object, const char *build, Size length);

extern Bool ObjectCheck(ObjectFile object);

#endif /* SYMBOLS_OBJECTFILE_H */
