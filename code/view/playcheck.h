/* playcheck.h -- objects filled with what only they can hold, and checked
 *
 * An object's contents are a function of its seed and the place in the object, so that a resized object is checked
 * as far as it reaches and only the rest is filled.  Of an object larger than PlayCheckMAX, the first and the last
 * PlayCheckMAX / 2 bytes are filled, so that memory that no program would touch is not.
 *
 * Design: design/replayer.md .verify      Tests: test/replay.t
 */
#ifndef VIEW_PLAYCHECK_H
#define VIEW_PLAYCHECK_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { PlayCheckMAX = 1 << 20 };

/* PlayFill -- fill [from, size) of an object of `size` bytes; `from` is what was filled when it was smaller */
extern void PlayFill(void *addr, Size from, Size size, uint64_t seed);

/* PlayCheck -- is [0, upto) of an object that was filled with `size` bytes as PlayFill left it?  *badReturn is where
 * not. */
extern Bool PlayCheck(Size *badReturn, const void *addr, Size upto, Size size, uint64_t seed);

/* PlayCheckZero -- is it zero, as far as PlayFill would fill it? */
extern Bool PlayCheckZero(Size *badReturn, const void *addr, Size size);

#endif /* VIEW_PLAYCHECK_H */
