/* dwarfunit.c -- units of debug information, their abbreviations, and the attributes of an entry
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/dwarfdata.h"

#include <stdlib.h>

#include "base/grow.h"

enum {
  unitTYPE = 0x02, unitSKELETON = 0x04, unitSPLIT = 0x05, unitSPLITTYPE = 0x06, /* DW_UT_... */
  unitAttributesMAX = 1 << 8, /* of an abbreviation */

  atNAME = 0x03, atLINES = 0x10, atLOW = 0x11, atHIGH = 0x12, atFOLDER = 0x1b, atORIGIN = 0x31,
  atSPECIFICATION = 0x47, atRANGES = 0x55, atCALLFILE = 0x58, atCALLLINE = 0x59, atLINKAGE = 0x6e, atSTRBASE = 0x72,
  atADDRBASE = 0x73, atRANGESBASE = 0x74, atOLDLINKAGE = 0x2007,

  formADDR = 0x01, formBLOCK2 = 0x03, formBLOCK4, formDATA2, formDATA4, formDATA8, formSTRING, formBLOCK, formBLOCK1,
  formDATA1, formFLAG, formSDATA, formSTRP, formUDATA, formREFADDR, formREF1, formREF2, formREF4, formREF8,
  formREFUDATA, formINDIRECT, formSECOFFSET, formEXPRLOC, formFLAGPRESENT, formSTRX, formADDRX, formREFSUP4,
  formSTRPSUP, formDATA16, formLINESTRP, formREFSIG8, formIMPLICIT, formLOCLISTX, formRNGLISTX, formREFSUP8, formSTRX1,
  formSTRX2, formSTRX3, formSTRX4, formADDRX1, formADDRX2, formADDRX3, formADDRX4,
  formGNUADDR = 0x1f01, formGNUSTR = 0x1f02, formREFALT = 0x1f20, formSTRPALT = 0x1f21,

  rangesEND = 0, rangesBASEX, rangesSTARTXENDX, rangesSTARTXLENGTH, rangesOFFSETPAIR, rangesBASE, rangesSTARTEND,
  rangesSTARTLENGTH /* DW_RLE_... */
};

/* ---- Units ---- */

/* unitHead -- read a unit's head, behind its length; FALSE: it has nothing to do with code, or is not known here */
static Bool unitHead(DwarfUnit unit, Reader reader)
{
  unsigned type = 0;

  unit->version = (uint8_t)ReaderU16(reader);
  if (unit->version >= 5) {
    type = ReaderU8(reader);
    unit->addressSize = ReaderU8(reader);
    unit->abbrevOffset = ReaderUnsigned(reader, unit->offsetSize);
    if (type == unitSKELETON || type == unitSPLIT)
      ReaderSkip(reader, 8);
    if (type == unitTYPE || type == unitSPLITTYPE)
      ReaderSkip(reader, 8 + unit->offsetSize);
  } else {
    unit->abbrevOffset = ReaderUnsigned(reader, unit->offsetSize);
    unit->addressSize = ReaderU8(reader);
  }
  unit->strBase = (Size)2 * unit->offsetSize; /* behind a head of their own; what says otherwise comes */
  unit->addrBase = 8;
  return !reader->failed && unit->version >= 2 && unit->version <= 5 &&
         (unit->addressSize == 4 || unit->addressSize == 8);
}

Bool DwarfUnits(Dwarf dwarf)
{
  ReaderStruct reader = DwarfReader(dwarf, DwarfINFO, 0);
  const unsigned char *base = dwarf->section[DwarfINFO].bytes;

  while (ReaderLeft(&reader) > 0) {
    DwarfUnitStruct unit = {.dwarf = dwarf, .offset = (Size)(reader.next - base), .offsetSize = 4};
    ReaderStruct head;
    uint64_t length = ReaderU32(&reader);
    Bool known;
    if (length == 0xffffffff) {
      unit.offsetSize = 8;
      length = ReaderU64(&reader);
    }
    if (reader.failed || length > ReaderLeft(&reader))
      return TRUE; /* what is behind is lost */
    head = reader;
    head.limit = head.next + length;
    known = unitHead(&unit, &head);
    unit.die = (Size)(head.next - base);
    ReaderSkip(&reader, length);
    unit.limit = (Size)(reader.next - base);
    if (!known)
      continue;
    if (!ObjectTake(dwarf->object, sizeof unit) || !Grow(&dwarf->unit, &dwarf->unitCapacity, dwarf->units, sizeof unit))
      return FALSE;
    dwarf->unit[dwarf->units++] = unit;
  }
  return TRUE;
}

DwarfUnit DwarfUnitAt(Dwarf dwarf, uint64_t offset)
{
  Index low = 0, high = dwarf->units;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (dwarf->unit[middle].limit <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low < dwarf->units && offset >= dwarf->unit[low].die ? &dwarf->unit[low] : NULL;
}

/* ---- Abbreviations ---- */

static int abbrevCompare(const void *a, const void *b)
{
  const DwarfAbbrevStruct *x = a, *y = b;

  if (x->code != y->code)
    return x->code < y->code ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* abbrevAttributes -- read those of one abbreviation; FALSE: no memory, or too many */
static Bool abbrevAttributes(DwarfAbbrevs table, DwarfAbbrev abbrev, Reader reader)
{
  while (!reader->failed && abbrev->count < unitAttributesMAX) {
    uint64_t name = ReaderUleb(reader), form = ReaderUleb(reader);
    int64_t constant = form == formIMPLICIT ? ReaderSleb(reader) : 0;
    if (name == 0 && form == 0)
      return !reader->failed;
    if (!Grow(&table->attribute, &table->attributeCapacity, table->attributes, sizeof *table->attribute))
      return FALSE;
    table->attribute[table->attributes++] = (DwarfAttributeStruct){
      name <= UINT16_MAX ? (uint16_t)name : 0, form <= UINT16_MAX ? (uint16_t)form : 0, constant};
    ++abbrev->count;
  }
  return FALSE;
}

/* abbrevsMore -- read the next abbreviation of a table; FALSE: that was all, and they are sorted.  What cannot be read
 * ends them. */
static Bool abbrevsMore(DwarfAbbrevs table, Dwarf dwarf)
{
  ReaderStruct reader = DwarfReader(dwarf, DwarfABBREV, table->next);
  const unsigned char *from = reader.next;
  DwarfAbbrevStruct abbrev = {.code = reader.failed ? 0 : ReaderUleb(&reader), .first = (uint32_t)table->attributes};

  if (table->whole)
    return FALSE;
  if (abbrev.code != 0) {
    abbrev.tag = (uint32_t)ReaderUleb(&reader);
    abbrev.children = ReaderU8(&reader) != 0;
  }
  if (abbrev.code == 0 || !abbrevAttributes(table, &abbrev, &reader) ||
      !DwarfSpend(dwarf, (uint64_t)(reader.next - from)) ||
      !ObjectTake(dwarf->object, sizeof abbrev + abbrev.count * sizeof *table->attribute) ||
      !Grow(&table->abbrev, &table->abbrevCapacity, table->abbrevs, sizeof abbrev)) {
    table->whole = TRUE;
    if (table->mixed)
      qsort(table->abbrev, table->abbrevs, sizeof *table->abbrev, abbrevCompare);
    return FALSE;
  }
  table->next += (uint64_t)(reader.next - from);
  table->mixed = table->mixed || (table->abbrevs > 0 && table->abbrev[table->abbrevs - 1].code >= abbrev.code);
  table->abbrev[table->abbrevs++] = abbrev;
  return TRUE;
}

/* abbrevsOf -- a unit's abbreviations, which are read as they are looked for: units may have the same; NULL: no
 * memory */
static DwarfAbbrevs abbrevsOf(DwarfUnit unit)
{
  Dwarf dwarf = unit->dwarf;
  DwarfAbbrevs *bucket = &dwarf->abbrevs[(unit->abbrevOffset * 0x9e3779b97f4a7c15ull >> 32) % DwarfBUCKETS];
  DwarfAbbrevs *link, table;

  if (LIKELY(unit->abbrevs != NULL))
    return unit->abbrevs;
  for (link = bucket; (table = *link) != NULL && table->offset != unit->abbrevOffset; link = &table->other)
    if (!DwarfSpend(dwarf, 1))
      return NULL;
  if (table != NULL) {
    *link = table->other;
  } else {
    table = calloc(1, sizeof *table);
    if (table == NULL)
      return NULL;
    table->offset = table->next = unit->abbrevOffset;
  }
  table->other = *bucket;
  *bucket = table;
  return unit->abbrevs = table;
}

/* abbrevFind -- the abbreviation with this code, until the next one is looked for; NULL: there is none.  Compilers
 * number them 1, 2, ..., so no more are read than that one and those before it. */
static inline DwarfAbbrev abbrevFind(DwarfAbbrevs table, Dwarf dwarf, uint64_t code)
{
  Index low = 0, high;

  while (UNLIKELY(code - 1 >= table->abbrevs) && abbrevsMore(table, dwarf))
    ;
  if (LIKELY(code - 1 < table->abbrevs && table->abbrev[code - 1].code == code))
    return &table->abbrev[code - 1];
  while (abbrevsMore(table, dwarf))
    ;
  high = table->abbrevs;
  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (table->abbrev[middle].code < code)
      low = middle + 1;
    else
      high = middle;
  }
  return low < table->abbrevs && table->abbrev[low].code == code ? &table->abbrev[low] : NULL;
}

/* ---- Attributes ---- */

/* formStringAt -- a string at an offset of a section */
static inline void formStringAt(DwarfValue value, unsigned section, uint64_t offset)
{
  value->class = DwarfSTRING;
  value->section = (uint8_t)section;
  value->number = offset;
}

/* formIndexed -- a string, an address or a list of ranges by its index */
static void formIndexed(DwarfValue value, DwarfClass class, uint64_t index)
{
  value->class = (uint8_t)class;
  value->section = DwarfSTROFFSETS;
  value->number = index;
  value->indirect = TRUE;
}

/* formRefer -- the rarer forms: what refers to something that stands elsewhere */
static void formRefer(DwarfValue value, const DwarfUnitStruct *unit, Reader reader, unsigned form)
{
  switch (form) {
  case formLINESTRP: formStringAt(value, DwarfLINESTR, ReaderUnsigned(reader, unit->offsetSize)); break;
  case formSTRPSUP:
  case formSTRPALT: formStringAt(value, DwarfALTSTR, ReaderUnsigned(reader, unit->offsetSize)); break;
  case formSTRX:
  case formGNUSTR: formIndexed(value, DwarfSTRING, ReaderUleb(reader)); break;
  case formSTRX1:
  case formSTRX2:
  case formSTRX3:
  case formSTRX4: formIndexed(value, DwarfSTRING, ReaderUnsigned(reader, form - formSTRX1 + 1)); break;
  case formADDRX:
  case formGNUADDR: formIndexed(value, DwarfADDRESS, ReaderUleb(reader)); break;
  case formADDRX1:
  case formADDRX2:
  case formADDRX3:
  case formADDRX4: formIndexed(value, DwarfADDRESS, ReaderUnsigned(reader, form - formADDRX1 + 1)); break;
  case formRNGLISTX: formIndexed(value, DwarfINDEX, ReaderUleb(reader)); break;
  case formREFADDR:
    value->class = DwarfENTRY;
    value->number = ReaderUnsigned(reader, unit->version <= 2 ? unit->addressSize : unit->offsetSize);
    break;
  case formREFALT:
  case formREFSUP4:
  case formREFSUP8:
    value->class = DwarfALTENTRY;
    value->number = ReaderUnsigned(reader, form == formREFALT ? unit->offsetSize : form == formREFSUP4 ? 4 : 8);
    break;
  default: ReaderFail(reader);
  }
}

static inline void formNumber(DwarfValue value, DwarfClass class, uint64_t number)
{
  value->class = (uint8_t)class;
  value->number = number;
}

void DwarfFormValue(DwarfValue value, const DwarfUnitStruct *unit, Reader reader, unsigned form, int64_t constant)
{
  value->class = DwarfOTHER;
  value->indirect = FALSE;
  switch (form) {
  case formADDR: formNumber(value, DwarfADDRESS, ReaderUnsigned(reader, unit->addressSize)); break;
  case formBLOCK1: ReaderSkip(reader, ReaderU8(reader)); break;
  case formBLOCK2: ReaderSkip(reader, ReaderU16(reader)); break;
  case formBLOCK4: ReaderSkip(reader, ReaderU32(reader)); break;
  case formBLOCK:
  case formEXPRLOC: ReaderSkip(reader, ReaderUleb(reader)); break;
  case formDATA1:
  case formFLAG: formNumber(value, DwarfNUMBER, ReaderU8(reader)); break;
  case formDATA2: formNumber(value, DwarfNUMBER, ReaderU16(reader)); break;
  case formDATA4: formNumber(value, DwarfNUMBER, ReaderU32(reader)); break;
  case formDATA8: formNumber(value, DwarfNUMBER, ReaderU64(reader)); break;
  case formDATA16: ReaderSkip(reader, 16); break;
  case formSDATA: formNumber(value, DwarfNUMBER, (uint64_t)ReaderSleb(reader)); break;
  case formUDATA: formNumber(value, DwarfNUMBER, ReaderUleb(reader)); break;
  case formIMPLICIT: formNumber(value, DwarfNUMBER, (uint64_t)constant); break;
  case formFLAGPRESENT: break;
  case formSECOFFSET: formNumber(value, DwarfOFFSET, ReaderUnsigned(reader, unit->offsetSize)); break;
  case formSTRING:
    formStringAt(value, DwarfINPLACE, 0);
    value->string = ReaderString(reader);
    break;
  case formSTRP: formStringAt(value, DwarfSTR, ReaderUnsigned(reader, unit->offsetSize)); break;
  case formREF1: formNumber(value, DwarfENTRY, unit->offset + ReaderU8(reader)); break;
  case formREF2: formNumber(value, DwarfENTRY, unit->offset + ReaderU16(reader)); break;
  case formREF4: formNumber(value, DwarfENTRY, unit->offset + ReaderU32(reader)); break;
  case formREF8: formNumber(value, DwarfENTRY, unit->offset + ReaderU64(reader)); break;
  case formREFUDATA: formNumber(value, DwarfENTRY, unit->offset + ReaderUleb(reader)); break;
  case formREFSIG8: ReaderSkip(reader, 8); break;
  case formLOCLISTX: (void)ReaderUleb(reader); break;
  case formINDIRECT:
    form = (unsigned)ReaderUleb(reader);
    if (form == formINDIRECT || form == formIMPLICIT)
      ReaderFail(reader);
    else
      DwarfFormValue(value, unit, reader, form, 0);
    break;
  default: formRefer(value, unit, reader, form);
  }
}

/* unitAddress -- address `index` in .debug_addr; FALSE: there is none */
static Bool unitAddress(uint64_t *addressReturn, DwarfUnit unit, uint64_t index)
{
  ReaderStruct reader = DwarfReader(unit->dwarf, DwarfADDR, unit->addrBase);

  if (index > ReaderLeft(&reader) / unit->addressSize)
    return FALSE;
  ReaderSkip(&reader, index * unit->addressSize);
  *addressReturn = ReaderUnsigned(&reader, unit->addressSize);
  return !reader.failed;
}

const char *DwarfValueString(DwarfUnit unit, const DwarfValueStruct *value)
{
  Dwarf dwarf = unit->dwarf;
  ReaderStruct reader;

  if (value->class != DwarfSTRING)
    return NULL;
  if (value->section == DwarfINPLACE)
    return value->string;
  if (value->section == DwarfALTSTR)
    return dwarf->alt == NULL ? NULL : DwarfString(dwarf->alt, DwarfSTR, value->number);
  if (value->section != DwarfSTROFFSETS)
    return DwarfString(dwarf, value->section, value->number);
  reader = DwarfReader(dwarf, DwarfSTROFFSETS, unit->strBase);
  if (value->number > ReaderLeft(&reader) / unit->offsetSize)
    return NULL;
  ReaderSkip(&reader, value->number * unit->offsetSize);
  return DwarfString(dwarf, DwarfSTR, ReaderUnsigned(&reader, unit->offsetSize));
}

/* entryAddress -- the address that a value is; FALSE: it is none, or the table has it not */
static Bool entryAddress(uint64_t *addressReturn, DwarfUnit unit, const DwarfValueStruct *value)
{
  if (value->class != DwarfADDRESS)
    return FALSE;
  if (value->indirect)
    return unitAddress(addressReturn, unit, value->number);
  *addressReturn = value->number;
  return TRUE;
}

/* entryRefers -- another entry that an attribute names */
static void entryRefers(uint64_t *numberReturn, DwarfClass *classReturn, const DwarfValueStruct *value)
{
  if (value->class == DwarfENTRY || value->class == DwarfALTENTRY) {
    *numberReturn = value->number;
    *classReturn = value->class;
  }
}

static void entryRanges(DwarfEntry entry, const DwarfValueStruct *value)
{
  if (value->class == DwarfNUMBER || value->class == DwarfOFFSET || value->class == DwarfINDEX) {
    entry->ranges = value->number;
    entry->hasRanges = TRUE;
    entry->rangesIndexed = value->class == DwarfINDEX;
  }
}

/* entryTakes -- keep the value of an attribute */
static inline void entryTakes(DwarfEntry entry, DwarfUnit unit, unsigned name, const DwarfValueStruct *value)
{
  switch (name) {
  case atNAME: entry->name = *value; break;
  case atLINKAGE:
  case atOLDLINKAGE: entry->linkage = *value; break;
  case atFOLDER: entry->folder = *value; break;
  case atLOW: entry->hasLow = entryAddress(&entry->low, unit, value); break;
  case atHIGH:
    entry->highIsSize = value->class == DwarfNUMBER;
    entry->high = value->number;
    entry->hasHigh = entry->highIsSize || entryAddress(&entry->high, unit, value);
    break;
  case atRANGES: entryRanges(entry, value); break;
  case atLINES:
    entry->hasLines = value->class == DwarfNUMBER || value->class == DwarfOFFSET;
    entry->lines = value->number;
    break;
  case atORIGIN: entryRefers(&entry->origin, &entry->originClass, value); break;
  case atSPECIFICATION: entryRefers(&entry->specification, &entry->specificationClass, value); break;
  case atCALLFILE: entry->callFile = value->class == DwarfNUMBER ? value->number : 0; break;
  case atCALLLINE: entry->callLine = value->class == DwarfNUMBER ? value->number : 0; break;
  }
}

Bool DwarfEntryRead(DwarfEntry entry, DwarfUnit unit, Reader reader)
{
  DwarfAbbrevs table = abbrevsOf(unit);
  uint64_t code = ReaderUleb(reader);
  DwarfValueStruct value;
  Index i;

  memset(entry, 0, sizeof *entry);
  if (table == NULL)
    ReaderFail(reader);
  if (code == 0 || reader->failed)
    return FALSE;
  entry->abbrev = abbrevFind(table, unit->dwarf, code);
  if (entry->abbrev == NULL) {
    ReaderFail(reader);
    return FALSE;
  }
  for (i = 0; i < entry->abbrev->count; ++i) {
    DwarfAttribute attribute = &table->attribute[entry->abbrev->first + i];
    DwarfFormValue(&value, unit, reader, attribute->form, attribute->constant);
    entryTakes(entry, unit, attribute->name, &value);
  }
  if (entry->hasHigh && entry->highIsSize)
    entry->high += entry->low;
  return !reader->failed;
}

/* ---- The root entry ---- */

/* rootBases -- where the unit's parts of other sections begin, which other attributes of the root may need already */
static void rootBases(DwarfUnit unit)
{
  ReaderStruct reader = DwarfReader(unit->dwarf, DwarfINFO, unit->die);
  DwarfAbbrevs table = abbrevsOf(unit);
  DwarfAbbrev abbrev;
  Index i;

  reader.limit = unit->dwarf->section[DwarfINFO].bytes + unit->limit;
  abbrev = table == NULL ? NULL : abbrevFind(table, unit->dwarf, ReaderUleb(&reader));
  for (i = 0; abbrev != NULL && i < abbrev->count; ++i) {
    DwarfAttribute attribute = &table->attribute[abbrev->first + i];
    DwarfValueStruct value;
    DwarfFormValue(&value, unit, &reader, attribute->form, attribute->constant);
    if (value.class != DwarfOFFSET && value.class != DwarfNUMBER)
      continue;
    switch (attribute->name) {
    case atSTRBASE: unit->strBase = value.number; break;
    case atADDRBASE: unit->addrBase = value.number; break;
    case atRANGESBASE: unit->rangesBase = value.number; break;
    }
  }
}

Bool DwarfUnitRoot(DwarfUnit unit, DwarfEntry entry)
{
  ReaderStruct reader = DwarfReader(unit->dwarf, DwarfINFO, unit->die);

  reader.limit = unit->dwarf->section[DwarfINFO].bytes + unit->limit;
  rootBases(unit);
  if (!DwarfEntryRead(entry, unit, &reader))
    return FALSE;
  unit->rooted = TRUE;
  unit->low = entry->hasLow ? entry->low : 0;
  unit->folder = DwarfValueString(unit, &entry->folder);
  unit->hasLines = entry->hasLines;
  unit->lines = entry->lines;
  return TRUE;
}

/* ---- Ranges ---- */

/* A list of ranges being read. */
typedef struct rangesStruct {
  DwarfUnit unit;
  ReaderStruct reader;
  uint64_t base;
  Bool (*each)(void *data, uint64_t low, uint64_t high);
  void *data;
} rangesStruct, *Ranges;

/* rangesOne -- deliver a range; FALSE: no more are wanted.  Linkers give code that they leave out the addresses 0, 1,
 * and the last there are. */
static Bool rangesOne(Ranges ranges, uint64_t low, uint64_t high)
{
  return low == 0 || high <= low || !ObjectRuns(ranges->unit->dwarf->layout, low) ||
         ranges->each(ranges->data, low, high);
}

/* rangesOld -- before DWARF 5: pairs of words */
static void rangesOld(Ranges ranges)
{
  unsigned size = ranges->unit->addressSize;
  uint64_t last = size == 8 ? UINT64_MAX : UINT32_MAX;

  while (!ranges->reader.failed && DwarfSpend(ranges->unit->dwarf, 2 * size)) {
    uint64_t low = ReaderUnsigned(&ranges->reader, size), high = ReaderUnsigned(&ranges->reader, size);
    if (ranges->reader.failed || (low == 0 && high == 0))
      return;
    if (low == last)
      ranges->base = high;
    else if (low != high && !rangesOne(ranges, ranges->base + low, ranges->base + high))
      return;
  }
}

static uint64_t rangesAddress(Ranges ranges)
{
  uint64_t address = 0;

  (void)unitAddress(&address, ranges->unit, ReaderUleb(&ranges->reader));
  return address;
}

/* rangesNext -- one entry of a list of DWARF 5; FALSE: it was the last */
static Bool rangesNext(Ranges ranges)
{
  Reader reader = &ranges->reader;
  unsigned size = ranges->unit->addressSize;
  uint64_t low, high;

  switch (ReaderU8(reader)) {
  case rangesBASEX: ranges->base = rangesAddress(ranges); return TRUE;
  case rangesBASE: ranges->base = ReaderUnsigned(reader, size); return TRUE;
  case rangesSTARTXENDX:
    low = rangesAddress(ranges);
    high = rangesAddress(ranges);
    break;
  case rangesSTARTXLENGTH:
    low = rangesAddress(ranges);
    high = low + ReaderUleb(reader);
    break;
  case rangesOFFSETPAIR:
    low = ranges->base + ReaderUleb(reader);
    high = ranges->base + ReaderUleb(reader);
    break;
  case rangesSTARTEND:
    low = ReaderUnsigned(reader, size);
    high = ReaderUnsigned(reader, size);
    break;
  case rangesSTARTLENGTH:
    low = ReaderUnsigned(reader, size);
    high = low + ReaderUleb(reader);
    break;
  default: return FALSE;
  }
  return !reader->failed && rangesOne(ranges, low, high);
}

/* rangesOffset -- where a list stands that is named by its index */
static uint64_t rangesOffset(DwarfUnit unit, uint64_t index)
{
  ReaderStruct reader = DwarfReader(unit->dwarf, DwarfRNGLISTS, unit->rangesBase);

  if (index > ReaderLeft(&reader) / unit->offsetSize)
    return UINT64_MAX;
  ReaderSkip(&reader, index * unit->offsetSize);
  return unit->rangesBase + ReaderUnsigned(&reader, unit->offsetSize);
}

void DwarfRangesEach(DwarfUnit unit, const DwarfEntryStruct *entry,
                     Bool (*each)(void *data, uint64_t low, uint64_t high), void *data)
{
  rangesStruct ranges = {.unit = unit, .base = unit->low, .each = each, .data = data};

  if (!entry->hasRanges) {
    if (entry->hasLow && entry->hasHigh)
      (void)rangesOne(&ranges, entry->low, entry->high);
  } else if (unit->version < 5) {
    ranges.reader = DwarfReader(unit->dwarf, DwarfRANGES, entry->ranges);
    rangesOld(&ranges);
  } else {
    ranges.reader = DwarfReader(unit->dwarf, DwarfRNGLISTS,
                                entry->rangesIndexed ? rangesOffset(unit, entry->ranges) : entry->ranges);
    while (DwarfSpend(unit->dwarf, 1) && rangesNext(&ranges))
      ;
  }
}
