/* dwarflines.c -- which line of which file an address belongs to
 *
 * The program that makes the table is run once for a unit, and all rows are kept.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/dwarfdata.h"

#include <stdlib.h>

#include "base/grow.h"

enum {
  lineCOPY = 1, lineADVANCE, lineLINE, lineFILE, lineCOLUMN, lineSTATEMENT, lineBLOCK, lineCONSTANT, lineFIXED,
  linePROLOGUE, lineEPILOGUE, lineISA, /* DW_LNS_... */
  lineEND = 1, lineADDRESS, lineDEFINE, /* DW_LNE_... */
  linePATH = 1, lineFOLDER = 2, /* DW_LNCT_... */
  lineFormatsMAX = 255
};

/* The program's head and state. */
typedef struct lineStruct {
  DwarfUnit unit;
  DwarfLines lines;
  DwarfUnitStruct widths;      /* those of the program, which may be others than its unit's */
  ReaderStruct reader;
  unsigned version, least, operations, special, range;
  int base;
  uint8_t operands[256];
  uint64_t address;
  uint32_t file, line;
  Index first;                 /* row of the sequence */
  Bool rising;                 /* its addresses do not fall */
} lineStruct, *LineState;

/* ---- Names of files ---- */

static Bool lineName(LineState state, DwarfName *names, Count *count, Count *capacity, const DwarfNameStruct *name)
{
  if (!ObjectTake(state->unit->dwarf->object, sizeof *name) || !Grow(names, capacity, *count, sizeof *name))
    return FALSE;
  (*names)[(*count)++] = *name;
  return TRUE;
}

static Bool lineFolderAdd(LineState state, const DwarfNameStruct *name)
{
  DwarfLines lines = state->lines;

  return lineName(state, &lines->folder, &lines->folders, &lines->folderCapacity, name);
}

static Bool lineFileAdd(LineState state, const DwarfNameStruct *name)
{
  DwarfLines lines = state->lines;

  return lineName(state, &lines->file, &lines->files, &lines->fileCapacity, name);
}

static DwarfValueStruct lineString(const char *string)
{
  return (DwarfValueStruct){.class = DwarfSTRING, .section = DwarfINPLACE, .string = string};
}

/* lineFileOld -- a file as it was before DWARF 5, behind its name */
static Bool lineFileOld(LineState state, Reader reader, const char *string)
{
  DwarfNameStruct name = {lineString(string), ReaderUleb(reader)};

  (void)ReaderUleb(reader); /* when it was changed */
  (void)ReaderUleb(reader); /* its size */
  return lineFileAdd(state, &name);
}

/* lineNamesOld -- folders and files before DWARF 5; folder 0 is the unit's, files begin at 1 */
static Bool lineNamesOld(LineState state, Reader reader)
{
  DwarfNameStruct name = {lineString(state->unit->folder), 0};
  const char *string;

  if (!lineFolderAdd(state, &name))
    return FALSE;
  while ((string = ReaderString(reader)) != NULL && string[0] != '\0') {
    name.name = lineString(string);
    if (!lineFolderAdd(state, &name))
      return FALSE;
  }
  while ((string = ReaderString(reader)) != NULL && string[0] != '\0')
    if (!lineFileOld(state, reader, string))
      return FALSE;
  return TRUE;
}

/* lineTable -- folders, or files, of DWARF 5 */
static Bool lineTable(LineState state, Reader reader, DwarfName *names, Count *count, Count *capacity)
{
  struct { uint16_t content, form; } format[lineFormatsMAX];
  unsigned formats = ReaderU8(reader);
  uint64_t n;
  Index i, f;

  for (f = 0; f < formats; ++f) {
    format[f].content = (uint16_t)ReaderUleb(reader);
    format[f].form = (uint16_t)ReaderUleb(reader);
  }
  n = ReaderUleb(reader);
  for (i = 0; i < n && !reader->failed && formats > 0; ++i) {
    DwarfNameStruct name = {lineString(NULL), 0};
    const unsigned char *at = reader->next;
    for (f = 0; f < formats; ++f) {
      DwarfValueStruct value;
      DwarfFormValue(&value, &state->widths, reader, format[f].form, 0);
      if (format[f].content == linePATH && value.class == DwarfSTRING)
        name.name = value;
      else if (format[f].content == lineFOLDER && value.class == DwarfNUMBER)
        name.folder = value.number;
    }
    if (reader->next == at || !lineName(state, names, count, capacity, &name))
      return FALSE; /* entries without bytes have no end */
  }
  return TRUE;
}

/* ---- The program ---- */

/* lineRow -- the state as a row */
static Bool lineRow(LineState state)
{
  DwarfLines lines = state->lines;

  if (!ObjectTake(state->unit->dwarf->object, sizeof *lines->row) ||
      !Grow(&lines->row, &lines->rowCapacity, lines->rows, sizeof *lines->row))
    return FALSE;
  if (lines->rows > state->first && lines->row[lines->rows - 1].address > state->address)
    state->rising = FALSE;
  lines->row[lines->rows++] = (DwarfRowStruct){state->address, state->file, state->line};
  return TRUE;
}

static int lineCompare(const void *a, const void *b)
{
  const DwarfRowStruct *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

static void lineBegin(LineState state)
{
  state->address = 0;
  state->file = state->line = 1;
  state->first = state->lines->rows;
  state->rising = TRUE;
}

/* lineEnd -- the sequence ends at the state's address; one of code that was left out is forgotten */
static Bool lineEnd(LineState state)
{
  DwarfLines lines = state->lines;
  DwarfSequenceStruct sequence = {.high = state->address, .first = state->first, .count = lines->rows - state->first};

  if (sequence.count > 0 && !state->rising)
    qsort(lines->row + state->first, sequence.count, sizeof *lines->row, lineCompare);
  if (sequence.count > 0)
    sequence.low = lines->row[sequence.first].address;
  if (sequence.low == 0 || sequence.high <= sequence.low || !ObjectRuns(state->unit->dwarf->layout, sequence.low)) {
    lines->rows = state->first;
  } else {
    if (!ObjectTake(state->unit->dwarf->object, sizeof sequence) ||
        !Grow(&lines->sequence, &lines->sequenceCapacity, lines->sequences, sizeof sequence))
      return FALSE;
    lines->sequence[lines->sequences++] = sequence;
  }
  lineBegin(state);
  return TRUE;
}

/* lineExtended -- an operation that says its length; FALSE: no memory */
static Bool lineExtended(LineState state)
{
  Reader reader = &state->reader;
  uint64_t length = ReaderUleb(reader);
  ReaderStruct own = *reader;
  const char *name;

  ReaderSkip(reader, length);
  if (reader->failed || length == 0)
    return TRUE;
  own.limit = reader->next;
  switch (ReaderU8(&own)) {
  case lineEND: return lineEnd(state);
  case lineADDRESS:
    if (length - 1 <= 8)
      state->address = ReaderUnsigned(&own, (unsigned)(length - 1));
    return TRUE;
  case lineDEFINE:
    name = ReaderString(&own);
    return name == NULL || lineFileOld(state, &own, name);
  default: return TRUE;
  }
}

static inline void lineAdvance(LineState state, uint64_t operations)
{
  state->address += operations * state->least; /* no machine here has several operations in an instruction */
}

/* lineStandard -- one of the operations that have a number; FALSE: no memory */
static Bool lineStandard(LineState state, unsigned operation)
{
  Reader reader = &state->reader;
  unsigned i;

  switch (operation) {
  case lineCOPY: return lineRow(state);
  case lineADVANCE: lineAdvance(state, ReaderUleb(reader)); break;
  case lineLINE: state->line += (uint32_t)ReaderSleb(reader); break;
  case lineFILE: state->file = (uint32_t)ReaderUleb(reader); break;
  case lineCOLUMN: (void)ReaderUleb(reader); break;
  case lineCONSTANT: lineAdvance(state, (255 - state->special) / state->range); break;
  case lineFIXED: state->address += ReaderU16(reader); break;
  default:
    for (i = 0; i < state->operands[operation]; ++i)
      (void)ReaderUleb(reader);
  }
  return TRUE;
}

static Bool lineRun(LineState state)
{
  Reader reader = &state->reader;
  Bool good = TRUE;

  lineBegin(state);
  while (good && ReaderLeft(reader) > 0) {
    unsigned operation = ReaderU8(reader);
    if (operation >= state->special) {
      lineAdvance(state, (operation - state->special) / state->range);
      state->line += (uint32_t)(state->base + (int)((operation - state->special) % state->range));
      good = lineRow(state);
    } else if (operation == 0) {
      good = lineExtended(state);
    } else {
      good = lineStandard(state, operation);
    }
  }
  state->lines->rows = state->first; /* what has no end */
  return good;
}

/* lineHead -- read the head up to the names; FALSE: there is no program that is known here */
static Bool lineHead(LineState state, ReaderStruct *names)
{
  Reader reader = &state->reader;
  DwarfUnit widths = &state->widths;
  uint64_t length = ReaderU32(reader), head;
  unsigned i;

  widths->offsetSize = 4;
  if (length == 0xffffffff) {
    widths->offsetSize = 8;
    length = ReaderU64(reader);
  }
  if (reader->failed || length > ReaderLeft(reader) || !DwarfSpend(state->unit->dwarf, length))
    return FALSE;
  reader->limit = reader->next + length;
  widths->version = (uint8_t)(state->version = ReaderU16(reader));
  if (state->version < 2 || state->version > 5)
    return FALSE;
  if (state->version >= 5) {
    widths->addressSize = ReaderU8(reader);
    ReaderSkip(reader, 1);
  }
  head = ReaderUnsigned(reader, widths->offsetSize);
  *names = *reader;
  ReaderSkip(reader, head);
  names->limit = reader->next;
  state->least = ReaderU8(names);
  if (state->version >= 4)
    ReaderSkip(names, 1); /* operations in an instruction */
  ReaderSkip(names, 1);   /* whether rows are statements at first */
  state->base = (int8_t)ReaderU8(names);
  state->range = ReaderU8(names);
  state->special = ReaderU8(names);
  for (i = 1; i < state->special; ++i)
    state->operands[i] = ReaderU8(names);
  return !names->failed && state->range > 0 && state->special > 0 &&
         (widths->addressSize == 4 || widths->addressSize == 8);
}

static int sequenceCompare(const void *a, const void *b)
{
  const DwarfSequenceStruct *x = a, *y = b;

  if (x->low != y->low)
    return x->low < y->low ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

void DwarfLinesRead(DwarfUnit unit)
{
  lineStruct state = {.unit = unit, .lines = &unit->line, .widths = *unit};
  DwarfLines lines = &unit->line;
  ReaderStruct names;
  Bool good;

  if (unit->linesRead || !unit->hasLines)
    return;
  unit->linesRead = TRUE;
  state.reader = DwarfReader(unit->dwarf, DwarfLINE, unit->lines);
  if (!lineHead(&state, &names))
    return;
  lines->five = state.version >= 5;
  good = lines->five ? lineTable(&state, &names, &lines->folder, &lines->folders, &lines->folderCapacity) &&
                         lineTable(&state, &names, &lines->file, &lines->files, &lines->fileCapacity) :
                       lineNamesOld(&state, &names);
  if (!good || !lineRun(&state))
    unit->dwarf->failed = TRUE;
  if (lines->sequences > 0)
    qsort(lines->sequence, lines->sequences, sizeof *lines->sequence, sequenceCompare);
}

void DwarfLinesFinish(DwarfLines lines)
{
  free(lines->row);
  free(lines->sequence);
  free(lines->file);
  free(lines->folder);
}

/* ---- Asking ---- */

DwarfRow DwarfLineOf(DwarfUnit unit, uint64_t address)
{
  DwarfLines lines = &unit->line;
  Index low = 0, high = lines->sequences;
  DwarfSequence sequence;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (lines->sequence[middle].low <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || address >= lines->sequence[low - 1].high)
    return NULL;
  sequence = &lines->sequence[low - 1];
  low = sequence->first;
  high = sequence->first + sequence->count;
  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (lines->row[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return &lines->row[low - 1]; /* of several for one address the last */
}

void DwarfFileOf(const char *part[3], DwarfUnit unit, uint32_t number)
{
  DwarfLines lines = &unit->line;
  Index index = lines->five ? number : (Index)number - 1;
  const char *name, *folder = NULL;

  part[0] = part[1] = part[2] = NULL;
  if (index >= lines->files)
    return;
  name = DwarfValueString(unit, &lines->file[index].name);
  part[2] = name;
  if (name == NULL || name[0] == '/')
    return;
  if (lines->file[index].folder < lines->folders)
    folder = DwarfValueString(unit, &lines->folder[lines->file[index].folder].name);
  part[1] = folder;
  if ((folder == NULL || folder[0] != '/') && folder != unit->folder)
    part[0] = unit->folder;
}
