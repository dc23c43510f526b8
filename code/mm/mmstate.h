/* mmstate.h -- the state dump of the memory manager
 *
 * Arenas, their chunks and what of them is committed, pools with their parameters, segments; then live objects, as far
 * as the pool's class knows them.
 *
 * Design: design/mm.md .state      Tests: test/emit/statedumptest.c, test/emit/statedump.t
 */
#ifndef MM_MMSTATE_H
#define MM_MMSTATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/statedump.h"

/* MMState -- the hook; ArenaCreate adds it */
extern Bool MMState(StateDumpStep step);

/* MMStateRound -- counts state dumps: a new number begins a new one.  Written under ArenaRegistryLock. */
extern uint32_t MMStateRound;

#endif /* MM_MMSTATE_H */
