/* family.h -- the processes that descend from one, as the system lists them
 *
 * Looked at from time to time, so that programs that cannot offer anything are met all the same: what lives shorter
 * than the time between two looks, or has been given another parent, is missed.
 *
 * Design: design/collector.md .family      Tests: test/collect.t
 */
#ifndef COLLECT_FAMILY_H
#define COLLECT_FAMILY_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <sys/types.h>

#include "base/types.h"

enum { FamilyMAX = 1024 }; /* processes that are looked at */

/* FamilyPrograms -- call `program` with the number of `pid` and each of its descendants, and the path of what it runs
 * cost  a few system calls for each process and thread; no more than FamilyMAX of either */
extern void FamilyPrograms(pid_t pid, void (*program)(void *data, pid_t pid, const char *path), void *data);

#endif /* COLLECT_FAMILY_H */
