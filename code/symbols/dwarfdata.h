/* dwarfdata.h -- what the files that read debug information share
 *
 * Always true (DwarfCheck): units stand in the order of their offsets, within .debug_info; ranges are sorted by their
 * first address; `spent` grows with every byte that is decoded but by a search, up to `budget`, and then no more units
 * are read: no file can have its bytes decoded more than a bounded number of times, whatever refers to them.
 *
 * Design: design/symbols.md .unit .hostile
 */
#ifndef SYMBOLS_DWARFDATA_H
#define SYMBOLS_DWARFDATA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "symbols/dwarf.h"

enum {
  DwarfINFO, DwarfABBREV, DwarfSTR, DwarfLINE, DwarfLINESTR, DwarfADDR, DwarfRANGES, DwarfRNGLISTS, DwarfSTROFFSETS,
  DwarfSECTIONS,
  DwarfINPLACE, DwarfALTSTR /* where strings are besides */
};

enum { DwarfBUCKETS = 1024 };

typedef struct DwarfBytesStruct {
  Bool tried;            /* it has been read, if it is there */
  const unsigned char *bytes;
  Size size;
} DwarfBytesStruct;

/* What an entry with some code looks like. */
typedef struct DwarfAttributeStruct {
  uint16_t name, form;
  int64_t constant;     /* DW_FORM_implicit_const: its value */
} DwarfAttributeStruct, *DwarfAttribute;

typedef struct DwarfAbbrevStruct {
  uint64_t code;
  uint32_t tag;
  Bool children;
  uint32_t first, count; /* attributes of the table */
} DwarfAbbrevStruct, *DwarfAbbrev;

typedef struct DwarfAbbrevsStruct {
  uint64_t offset, next; /* in .debug_abbrev: its own, and that of the first that has not been read */
  Bool whole;            /* all have been read, and are sorted */
  Bool mixed;            /* codes do not rise */
  Count abbrevs, abbrevCapacity, attributes, attributeCapacity;
  DwarfAbbrev abbrev;    /* owned; as they stand there, or by rising code */
  DwarfAttribute attribute; /* owned */
  struct DwarfAbbrevsStruct *other; /* of its bucket */
} DwarfAbbrevsStruct, *DwarfAbbrevs;

/* The value of an attribute. */
typedef enum DwarfClass {
  DwarfOTHER,    /* of no use here */
  DwarfNUMBER, DwarfADDRESS,
  DwarfOFFSET,   /* in another section */
  DwarfINDEX,    /* DW_FORM_rnglistx */
  DwarfSTRING,
  DwarfENTRY,    /* another entry: its offset in .debug_info, */
  DwarfALTENTRY  /* or in that of the alternative file */
} DwarfClass;

typedef struct DwarfValueStruct {
  uint8_t class;         /* DwarfClass */
  uint8_t section;       /* DwarfSTRING: where `number` is its offset, or, in DwarfSTROFFSETS, its index */
  Bool indirect;         /* DwarfADDRESS: `number` is an index in .debug_addr */
  uint64_t number;
  const char *string;    /* DwarfINPLACE: the string; NULL: it does not end */
} DwarfValueStruct, *DwarfValue;

/* A place with its line; it goes on to the next of the sequence. */
typedef struct DwarfRowStruct {
  uint64_t address;
  uint32_t file, line;
} DwarfRowStruct, *DwarfRow;

typedef struct DwarfSequenceStruct {
  uint64_t low, high;
  Index first;
  Count count;
} DwarfSequenceStruct, *DwarfSequence;

typedef struct DwarfNameStruct {
  DwarfValueStruct name; /* a string */
  uint64_t folder;
} DwarfNameStruct, *DwarfName;

typedef struct DwarfLinesStruct {
  Count rows, rowCapacity, sequences, sequenceCapacity, files, fileCapacity, folders, folderCapacity;
  DwarfRow row;           /* owned, all of these */
  DwarfSequence sequence; /* sorted */
  DwarfName file;         /* by number: from 0 in DWARF 5, else from 1 */
  DwarfName folder;
  Bool five;
} DwarfLinesStruct, *DwarfLines;

/* A range of addresses of a function, or of one that was inlined. */
typedef struct DwarfFunctionStruct {
  uint64_t low, high;
  Size die;               /* its entry's offset in .debug_info */
  uint32_t callFile, callLine; /* where it was inlined */
  uint32_t outer;         /* the nearest before it, plus 1, that begins before it ends; 0: none */
  Bool inlined;
} DwarfFunctionStruct, *DwarfFunction;

typedef struct DwarfUnitStruct {
  Dwarf dwarf;
  Size offset, die, limit; /* in .debug_info: the unit, its first entry, its end */
  uint64_t abbrevOffset, low, lines, addrBase, rangesBase, strBase;
  const char *folder;      /* in which the compiler ran, or NULL */
  uint8_t version, addressSize, offsetSize;
  Bool hasLines, rooted;   /* it has lines; the root entry was read */
  Bool linesRead, functionsRead;
  DwarfAbbrevs abbrevs;    /* NULL: not read */
  DwarfLinesStruct line;
  Count functions, functionCapacity;
  DwarfFunction function;  /* owned; sorted */
} DwarfUnitStruct, *DwarfUnit;

typedef struct DwarfRangeStruct {
  uint64_t low, high, most; /* the highest end of this one and all before it */
  uint32_t unit;
} DwarfRangeStruct, *DwarfRange;

struct DwarfStruct {
  ObjectFile object, layout;
  Dwarf alt;
  DwarfBytesStruct section[DwarfSECTIONS];
  uint64_t spent, budget;
  Count units, unitCapacity, ranges, rangeCapacity;
  DwarfUnit unit;          /* owned */
  DwarfRange range;        /* owned */
  DwarfAbbrevs abbrevs[DwarfBUCKETS]; /* owned; by a hash of the offset, what was met last first */
  Bool unlined;            /* files and lines are not wanted */
  Bool failed;             /* there was no memory for something */
};

/* The attributes of an entry that are wanted. */
typedef struct DwarfEntryStruct {
  DwarfAbbrev abbrev;   /* until the next entry is read */
  uint64_t low, high, ranges, callFile, callLine, lines, origin, specification;
  Bool hasLow, hasHigh, highIsSize, hasRanges, rangesIndexed, hasLines;
  DwarfClass originClass, specificationClass;
  DwarfValueStruct name, linkage, folder; /* strings, if they are there */
} DwarfEntryStruct, *DwarfEntry;

/* ---- dwarfsections.c ---- */

/* DwarfSectionOf -- the section of a file that has this number (DwarfINFO ...), or NULL */
extern ObjectSection DwarfSectionOf(ObjectFile object, unsigned section);

/* DwarfSpend -- so many bytes are to be decoded; FALSE: that would be too much */
extern Bool DwarfSpend(Dwarf dwarf, uint64_t bytes);

/* DwarfReader -- a cursor over a section, from an offset on; the section is read when it is needed first */
extern ReaderStruct DwarfReader(Dwarf dwarf, unsigned section, uint64_t offset);

/* DwarfString -- the string at an offset of a section, or NULL */
extern const char *DwarfString(Dwarf dwarf, unsigned section, uint64_t offset);

/* ---- dwarfunit.c ---- */

/* DwarfUnits -- find the units; FALSE: no memory */
extern Bool DwarfUnits(Dwarf dwarf);

/* DwarfUnitAt -- the unit that has this offset, or NULL */
extern DwarfUnit DwarfUnitAt(Dwarf dwarf, uint64_t offset);

/* DwarfUnitRoot -- read the root entry, once; FALSE: it cannot be read */
extern Bool DwarfUnitRoot(DwarfUnit unit, DwarfEntry entry);

/* DwarfEntryRead -- read an entry; FALSE: it ends a row of children (abbrev is NULL then), or cannot be read (the
 * reader has failed) */
extern Bool DwarfEntryRead(DwarfEntry entry, DwarfUnit unit, Reader reader);

/* DwarfFormValue -- read the value of a form, at the unit's widths; a form that is not known fails the reader */
extern void DwarfFormValue(DwarfValue value, const DwarfUnitStruct *unit, Reader reader, unsigned form,
                           int64_t constant);

/* DwarfValueString -- the string that a value is, or NULL */
extern const char *DwarfValueString(DwarfUnit unit, const DwarfValueStruct *value);

/* DwarfRangesEach -- call `each` with the ranges of an entry until it returns FALSE; ranges of code that the linker has
 * left out are not among them */
extern void DwarfRangesEach(DwarfUnit unit, const DwarfEntryStruct *entry,
                            Bool (*each)(void *data, uint64_t low, uint64_t high), void *data);

/* ---- dwarflines.c ---- */

/* DwarfLinesRead -- read a unit's lines, once.  DwarfLineOf -- the row of an address, or NULL.  DwarfFileOf -- the
 * parts of the path of file `number` */
extern void DwarfLinesRead(DwarfUnit unit);
extern DwarfRow DwarfLineOf(DwarfUnit unit, uint64_t address);
extern void DwarfFileOf(const char *part[3], DwarfUnit unit, uint32_t number);
extern void DwarfLinesFinish(DwarfLines lines);

/* ---- dwarffunctions.c ---- */

/* DwarfFunctionsRead -- read a unit's functions, once.  DwarfFunctionOf -- the innermost of an address, or NULL;
 * DwarfFunctionOuter -- the one around it that has the address, too, or NULL */
extern void DwarfFunctionsRead(DwarfUnit unit);
extern DwarfFunction DwarfFunctionOf(DwarfUnit unit, uint64_t address);
extern DwarfFunction DwarfFunctionOuter(DwarfUnit unit, DwarfFunction function, uint64_t address);

/* DwarfFunctionName -- what the linker calls it, else what the source does; NULL: it says neither */
extern const char *DwarfFunctionName(DwarfUnit unit, DwarfFunction function);

#endif /* SYMBOLS_DWARFDATA_H */
