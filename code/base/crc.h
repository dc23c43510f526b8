/* crc.h -- CRC-32C (Castagnoli), as in iSCSI and ext4
 *
 * By the processor's own instruction where it has one, else by table; both give the same.
 *
 * Design: design/format.md .crc      Tests: test/base/basetest.c (the published vectors)
 */
#ifndef BASE_CRC_H
#define BASE_CRC_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "types.h"

/* Crc32c -- the checksum of `size` bytes at `data`, going on from `crc` (0 to begin).
 * Crc32c(Crc32c(0, a), b) is the checksum of a followed by b.  Async-signal safe; about 0.1 ns a byte. */
extern uint32_t Crc32c(uint32_t crc, const void *data, Size size);

/* Crc32cByTable -- the same without the instruction; for tests and other processors */
extern uint32_t Crc32cByTable(uint32_t crc, const void *data, Size size);

#endif /* BASE_CRC_H */
