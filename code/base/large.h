/* large.h -- from which size on it matters how much of an object a program has touched
 *
 * The library counts the pages of such objects (malloc/shimlarge.h), and a replay waits for what was counted
 * (replay/script.h): they must mean the same objects.
 *
 * Design: design/shim.md .shim.large, design/replayer.md .touch      Tests: test/malloc/touched.t
 */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

/* SPDX-License-Identifier: BSD-2-Clause */

enum { LargeSIZE = 256 << 10 /* bytes */ };

#endif /* BASE_LARGE_H */
