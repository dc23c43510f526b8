/* names.h -- event types chosen by their names
 *
 * Design: design/log.md .names      Tests: test/logwhotest.c
 */
#ifndef LOG_NAMES_H
#define LOG_NAMES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"

typedef struct LogNamesStruct *LogNames;

/* LogNamesMake -- the types that `list` names, separated by commas or spaces
 * ResPARAM: a name that no process's registry has; `error` says which, and lists those that are like it; or no name at
 * all.  ResMEMORY. */
extern Res LogNamesMake(LogNames *namesReturn, Log log, const char *list, char *error, Size size);

/* LogNamesFree -- NULL does nothing */
extern void LogNamesFree(LogNames names);

/* LogNamesHas -- is the type one of them?  For a request's `choose`. */
extern Bool LogNamesHas(LogNames names, EventType type);

#endif /* LOG_NAMES_H */
