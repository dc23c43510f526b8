/* census.h -- how many processes of each recording, or copy, there are in a log, and how many there should be
 *
 * Design: design/log.md .census      Tests: test/endtest.c, test/check.t
 */
#ifndef LOG_CENSUS_H
#define LOG_CENSUS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/table.h"

typedef struct CensusOfStruct {
  uint64_t recording; /* or copy; 0: it is not known which */
  Count there;        /* processes that have a header block, besides collectors */
  uint64_t said;      /* how many that should be, as closing header blocks say; 0: they do not */
  Process teller;     /* whose do, if any do */
} CensusOfStruct, *CensusOf;

/* Always true: each recording stands there once, in order. */
typedef struct CensusStruct {
  Count count;
  CensusOf of;        /* owned */
  Count moved;        /* processes that are of several, and are counted in none */
} CensusStruct, *Census;

/* CensusTake -- count those that a table has; ResMEMORY, and it need not be freed */
extern Res CensusTake(Census censusReturn, Table table);
extern void CensusFree(Census census);

#endif /* LOG_CENSUS_H */
