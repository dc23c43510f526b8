/* contents.h -- what is in the objects of a replay with --verify, and whether it still is
 *
 * An object's contents are a function of its seed and of the place in the object, so that a resized object can be
 * checked as far as it reaches.  Of an object larger than ContentsMAX only the first and the last ContentsMAX / 2 bytes
 * are filled and checked, so that memory that no program would touch is not touched.
 *
 * Design: design/replayer.md .verify      Tests: test/replay/scripttest.c, test/replay/replay.t
 */
#ifndef REPLAY_CONTENTS_H
#define REPLAY_CONTENTS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { ContentsMAX = 1 << 20 /* even */ };

/* ContentsFill -- fill an object of `size` bytes */
extern void ContentsFill(void *addr, Size size, uint64_t seed);

/* ContentsAre -- are the first `upto` bytes of an object, which was filled with `size` bytes, as ContentsFill left
 * them? FALSE: *badReturn is the first byte that is not. */
extern Bool ContentsAre(Size *badReturn, const void *addr, Size upto, Size size, uint64_t seed);

/* ContentsZero -- are the bytes zero that ContentsFill would fill?  FALSE: *badReturn is the first that is not. */
extern Bool ContentsZero(Size *badReturn, const void *addr, Size size);

#endif /* REPLAY_CONTENTS_H */
