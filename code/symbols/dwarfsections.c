/* dwarfsections.c -- sections of debug information, each read when it is needed first, and how much of them is decoded
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "symbols/dwarfdata.h"

enum { sectionSpendTIMES = 8 }; /* all bytes of a section may be decoded so often */

static const char *const sectionName[DwarfSECTIONS] = {
  [DwarfINFO] = ".debug_info", [DwarfABBREV] = ".debug_abbrev", [DwarfSTR] = ".debug_str", [DwarfLINE] = ".debug_line",
  [DwarfLINESTR] = ".debug_line_str", [DwarfADDR] = ".debug_addr", [DwarfRANGES] = ".debug_ranges",
  [DwarfRNGLISTS] = ".debug_rnglists", [DwarfSTROFFSETS] = ".debug_str_offsets"
};

ObjectSection DwarfSectionOf(ObjectFile object, unsigned section)
{
  return ObjectNamed(object, sectionName[section]);
}

Bool DwarfSpend(Dwarf dwarf, uint64_t bytes)
{
  if (bytes > dwarf->budget - dwarf->spent)
    return FALSE;
  dwarf->spent += bytes;
  return TRUE;
}

/* sectionRead -- read a section, and unpack it */
static void sectionRead(Dwarf dwarf, unsigned section)
{
  DwarfBytesStruct *bytes = &dwarf->section[section];

  bytes->bytes = ObjectBytes(dwarf->object, DwarfSectionOf(dwarf->object, section), &bytes->size);
  bytes->tried = TRUE;
  dwarf->budget += sectionSpendTIMES * (uint64_t)bytes->size;
}

ReaderStruct DwarfReader(Dwarf dwarf, unsigned section, uint64_t offset)
{
  DwarfBytesStruct *bytes = &dwarf->section[section];

  if (UNLIKELY(!bytes->tried))
    sectionRead(dwarf, section);
  return ReaderOf(bytes->bytes, bytes->size, offset, dwarf->object->elf.swapped);
}

const char *DwarfString(Dwarf dwarf, unsigned section, uint64_t offset)
{
  ReaderStruct reader = DwarfReader(dwarf, section, 0);

  return ObjectString(reader.next, ReaderLeft(&reader), offset);
}
