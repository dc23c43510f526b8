/* replay-pools.h -- Pawprint's own pools as an allocator for the replay
 *
 * Design: design/replayer.md .pools      Tests: test/replay.t
 */
#ifndef REPLAY_POOLS_H
#define REPLAY_POOLS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/play.h"

/* ReplayPools -- an allocator that recreates the script's arenas and pools
 * message  what cannot be as it was recorded, or why it failed (FALSE); it is kept, and may be written later */
extern Bool ReplayPools(PlayAllocator allocatorReturn, Play play, char *message, Size size);

#endif /* REPLAY_POOLS_H */
