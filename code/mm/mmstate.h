/* mmstate.h -- the state dump of the memory manager
 *
 * Arenas, their chunks and what of them is committed, pools with their parameters, segments; then live objects, as far
 * as the pool's class knows them.
 *
 * Design: design/mm.md .state      Tests: test/emit/statetest.c, test/emit/state.t
 */
#ifndef MM_MMSTATE_H
#define MM_MMSTATE_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/statedump.h"

/* MMState -- the hook; ArenaCreate adds it */
extern Bool MMState(StateDumpStep step);

/* MMStateRound -- counts the times that it was told; a change begins a new round.  Under the registry's lock. */
extern uint32_t MMStateRound;

#endif /* MM_MMSTATE_H */
