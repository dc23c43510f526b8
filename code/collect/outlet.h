/* outlet.h -- the collector's way out when that is no file: what comes back on it, and its end
 *
 * Design: design/collector.md .out.collector      Tests: test/listen.t
 */
#ifndef COLLECT_OUTLET_H
#define COLLECT_OUTLET_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "collect/drain.h"
#include "plinth/plinth.h"

/* OutletRequest -- the oldest request that has come in, as a string; FALSE: there is none.  Also moves on what is
 * kept. */
extern Bool OutletRequest(char *room, Size size, Plinth outlet);

/* OutletObey -- have a process do what a request says: "kinds LIST", "flush"; what is not understood is not done */
extern void OutletObey(Drain drain, const char *request);

/* OutletFinish -- wait until all has arrived, as long as some does; returns how many messages are left */
extern Count OutletFinish(Plinth outlet);

#endif /* COLLECT_OUTLET_H */
