/* deaths.h -- which processes died of a signal, and which programs were not seen, or not all that they do
 *
 * As the collector saw processes end (ProcessExit), and as it says at the end (ProgramUnseen).  The first are kept with
 * their names, the others counted.
 *
 * Design: design/view.md .summary      Tests: test/analyse/memory.t, test/collect/unseen.t
 */
#ifndef ANALYSE_DEATHS_H
#define ANALYSE_DEATHS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "heap/heaptable.h"
#include "request/stringtable.h"
#include "request/typecache.h"

enum { DeathsMAX = 20, DeathsUnseenMAX = 64 };

typedef struct DeathStruct {
  uint32_t pid;
  unsigned signal;
  uint64_t time;
  LogProcess log;          /* NULL: it was not recorded */
  uint32_t name;           /* of what it ran when it died, in `strings`; 0: not known */
} DeathStruct, *Death;

typedef struct DeathsUnseenStruct {
  uint32_t program;        /* with the reason, in `strings` */
  uint64_t processes;      /* that ran it; 0: they were not counted */
} DeathsUnseenStruct;

typedef struct DeathsStruct {
  Log log;
  StringsStruct strings;
  HeapTableStruct named;   /* by a process's number plus one; `client` is what it runs, in `strings`; 0: not known */
  TypeCacheStruct plans;
  Bool failed;
  Count count;             /* of all, */
  Count unrecorded;        /* and of those of which the log has no block */
  HeapTableStruct recorded; /* numbers plus one of processes that have blocks; no objects: not yet made */
  DeathStruct death[DeathsMAX];
  Count unseens;           /* of all */
  DeathsUnseenStruct unseen[DeathsUnseenMAX];
} DeathsStruct, *Deaths;

/* DeathsInit -- nobody has died, and all was seen; ResMEMORY.  DeathsFinish gives memory back, in either case. */
extern Res DeathsInit(Deaths deaths, Log log);
extern void DeathsFinish(Deaths deaths);

/* DeathsWants -- does DeathsEvent learn anything from events of this type?
 * DeathsEvent -- one event, in the order of LogRead */
extern Bool DeathsWants(EventType type);
extern void DeathsEvent(Deaths deaths, LogEvent event);

/* DeathsText, DeathsJson -- print them: lines for people; members of a JSON object, with a comma behind
 * start  ns: when the log begins */
extern void DeathsText(FILE *out, Deaths deaths, uint64_t start);
extern void DeathsJson(FILE *out, Deaths deaths, uint64_t start);

#endif /* ANALYSE_DEATHS_H */
