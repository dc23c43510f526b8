/* sigbus.h -- a mapping of a file that another process may cut short
 *
 * Touching a page of a mapping that its file no longer has, or that a full file system cannot give, is a SIGBUS.  For
 * mappings made here a handler puts zeros of our own there instead; any other SIGBUS does what it always does.
 *
 * Design: design/collector.md .hostile      Tests: test/collect/collecttest.c
 */
#ifndef COLLECT_SIGBUS_H
#define COLLECT_SIGBUS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

enum { SigbusMAX = 1025 };

/* SigbusMap -- the first `size` bytes of a file, shared, for reading and writing; NULL: no memory, or too many
 * fd  stays open until SigbusUnmap */
extern void *SigbusMap(int fd, Size size);

/* SigbusAgain -- what was replaced by zeros is the file's again: the other process may have put something there
 * since */
extern void SigbusAgain(void *base);

extern void SigbusUnmap(void *base, Size size);

#endif /* COLLECT_SIGBUS_H */
