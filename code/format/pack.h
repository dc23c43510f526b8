/* pack.h -- blocks made small, and large again
 *
 * Packing knows formats, not events.  An event becomes a control byte, which names its head (its type, and its P's),
 * how wide its time difference is and how its address is said, a byte for the slot of each value, and bits for what was
 * not predicted.  Everything is learnt anew in each block, so a block unpacks without any other.  Unpacking gives the
 * same bytes.
 *
 * Design: design/pack.md      Tests: test/format/packtest.c
 */
#ifndef FORMAT_PACK_H
#define FORMAT_PACK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/block.h"
#include "format/registry.h"

/* Pack -- the memory that packing one block needs (PackSIZE bytes, zeroed once); may be used for block after block */
typedef struct PackStruct *Pack;
typedef struct UnpackStruct *Unpack;

extern const Size PackSIZE, UnpackSIZE;

enum {
  PackSlackSIZE = 192, /* bytes behind the input of BlockUnpack that must be readable, and behind its output writable */
};

/* BlockPack -- pack `used` bytes of events into `out`
 *
 * pack      working memory of this thread alone
 * registry  the types of the events; unknown codes are copied whole.  Its byte order is ours.
 * events    as they stand in memory, beginning at `first` ticks; what is not committed (nor settled by BlockWalk), or
 *           is no event, is found.  PackSlackSIZE bytes behind them are readable where anything may stand there.
 * out       BlockRestMAX bytes
 * countReturn  events, those of the format not counted
 * returns   bytes written, at most used * 2 + 64; 0 for no events, or if there is one that is not committed, or none
 * cost      8 to 10 ns an event, some 20 KiB of `pack`; no allocation, no lock, no call to libc but memcpy and
 *           the like: async-signal safe
 */
extern Size BlockPack(Pack pack, Registry registry, const void *events, Size used, uint64_t first, void *out,
                      Count *countReturn);

/* PackLastTime -- the time, as its header has it, of the event that stands last in the block that was packed last */
extern uint32_t PackLastTime(Pack pack);

/* BlockUnpack -- the events again, in the writer's byte order and widths, as `registry` gives them
 *
 * in, rest   from outside: anything may stand there.  PackSlackSIZE bytes behind it are readable.
 * events     room for `used` + PackSlackSIZE bytes
 * returns    ResFORMAT: it does not unpack to exactly `used` bytes
 */
extern Res BlockUnpack(Unpack unpack, Registry registry, const void *in, Size rest, uint64_t first, void *events,
                       Size used);

#endif /* FORMAT_PACK_H */
