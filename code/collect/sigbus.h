/* sigbus.h -- a mapping of a file that another process may cut short
 *
 * Touching a page of a mapping raises SIGBUS if the file no longer has that page, or if a full file system cannot
 * provide it.  For mappings made here a handler maps a page of zeros instead; any other SIGBUS has its usual effect.
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

/* SigbusAgain -- map the file again where pages of zeros have replaced it: the other process may have written there
 * since */
extern void SigbusAgain(void *base);

extern void SigbusUnmap(void *base, Size size);

#endif /* COLLECT_SIGBUS_H */
