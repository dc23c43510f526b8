/* copies.h -- finds processes that a traceset has twice: as they were recorded, and in a copy
 *
 * What eventcnv -f paw writes has identities of its own, so that it can be read beside anything, and says (`copy:`)
 * what made them: so the original ones can be had.
 *
 * Design: design/log.md .twice      Tests: test/log/headtest.c, test/end/eventcnv.t
 */
#ifndef LOG_COPIES_H
#define LOG_COPIES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/damage.h"
#include "log/table.h"

/* CopiesOriginal -- the identity that a process had when it was recorded, as its header says */
static inline uint64_t CopiesOriginal(const HeaderStruct *header)
{
  return header->identity != header->copy ? header->identity ^ header->copy : header->identity;
}

/* CopiesTell -- find the processes that are there twice (`twice`), and tell of them in a line for each pair of logs;
 * ResMEMORY */
extern Res CopiesTell(Reporter reporter, Table table);

#endif /* LOG_COPIES_H */
