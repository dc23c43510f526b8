/* deaths.h -- which processes died of a signal
 *
 * As the collector saw them end (ProcessExit).  The first are kept with their names, the others counted.
 *
 * Design: design/view.md .summary      Tests: test/memory.t
 */
#ifndef VIEW_DEATHS_H
#define VIEW_DEATHS_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "view/plans.h"
#include "view/strings.h"

enum { DeathsMAX = 20, DeathsBUCKETS = 1024 };

typedef struct DeathStruct {
  uint32_t pid;
  unsigned signal;
  uint64_t time;
  LogProcess log;          /* NULL: it was not recorded */
  uint32_t name;           /* of what it ran when it died, in `strings`; 0: not known */
} DeathStruct, *Death;

typedef struct DeathsStruct {
  Log log;
  StringsStruct strings;
  struct deathsNamedStruct *bucket[DeathsBUCKETS]; /* what processes run, as far as it was told */
  PlansStruct plans;
  Bool failed;
  Count count;             /* of all, */
  Count unrecorded;        /* and of those of which nothing is in the log */
  Count recorded;          /* processes of the log that are in `pid`, by number: owned; NULL: not yet made */
  uint32_t *pid;
  DeathStruct death[DeathsMAX];
} DeathsStruct, *Deaths;

/* DeathsInit -- nobody has died; DeathsFinish gives memory back */
extern void DeathsInit(Deaths deaths, Log log);
extern void DeathsFinish(Deaths deaths);

/* DeathsEvent -- one event, in the order of LogRead */
extern void DeathsEvent(Deaths deaths, LogEvent event);

/* DeathsName -- what a dead process is called, without its folders; "" if that is not known */
extern const char *DeathsName(Deaths deaths, const DeathStruct *death, Size *lengthReturn);

/* DeathsSignal -- what a signal is called, as KILL; "" if that is not known */
extern const char *DeathsSignal(unsigned signal);

#endif /* VIEW_DEATHS_H */
