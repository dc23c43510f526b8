/* dumped.h -- what cores have of shared memory
 *
 * Cores are to have a process's region, which the system leaves out of them unless asked.  What is asked for holds for
 * all that the process starts, too; nothing is taken out.
 *
 * Design: design/telemetry.md .store      Tests: test/core.t
 */
#ifndef PLINTH_DUMPED_H
#define PLINTH_DUMPED_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* DumpedAsk -- files that are mapped shared; named: those that have a name, else those that have none */
extern void DumpedAsk(Bool named);

#endif /* PLINTH_DUMPED_H */
