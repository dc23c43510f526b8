/* pidlives.h -- processes of the system, told apart although their numbers are used again
 *
 * A process of a log is one program.  Programs that follow each other by exec are one process of the system, with one
 * number: they share a life.  Another process may get that number after its end: it is known by its fork, which is
 * later than the first event of the life before, or by the collector's ProcessExit in between.  (Where there is no
 * collector, one that began by vfork or posix_spawn passes for the one before.)
 *
 * Always true (PidLivesCheck):
 *   lives are numbered from 1 to `lives`;  a program has one life, or none before its first event
 *
 * Design: design/view.md .summary.threads      Tests: test/analyse/pidlivestest.c
 */
#ifndef ANALYSE_PIDLIVES_H
#define ANALYSE_PIDLIVES_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/log.h"
#include "request/stringtable.h"

/* The newest process with a number. */
typedef struct PidLifeStruct {
  uint32_t life;       /* 0: none yet, or it has ended */
  uint64_t began;      /* ns: time of the first event that it emitted, or that the collector emitted about it */
  Count older;         /* lives before this whose ProcessExit has not come: the collector may be late */
} PidLifeStruct, *PidLife;

/* All 0 at first, but for the log. */
typedef struct PidLivesStruct {
  Log log;
  uint32_t lives;              /* so many; their numbers begin with 1 */
  StringsStruct boots, numbers; /* machines; machine and number */
  Count count, capacity;
  PidLife newest;              /* owned; one for each of `numbers` */
  Count programs;
  uint32_t *program;           /* owned; the life of each process of the log; 0: no event of it has come */
  Bool failed;                 /* there was no memory */
} PidLivesStruct, *PidLives;

extern void PidLivesFinish(PidLives lives);

/* PidLivesOf -- the life of the process whose event it is; 0: no memory.  To be called at least at its first event. */
extern uint32_t PidLivesOf(PidLives lives, LogEvent event);

/* PidLivesTold -- the life of the process with this number, of which an event of another one tells; 0: no memory */
extern uint32_t PidLivesTold(PidLives lives, LogEvent event, uint32_t pid);

/* PidLivesExits -- is it ProcessExit, which says that a process has ended?
 * PidLivesExit -- such an event: who has the number from now on is another process */
extern Bool PidLivesExits(EventType type);
extern void PidLivesExit(PidLives lives, LogEvent event);

/* PidLivesAt -- the life of the log's process `number`; 0: no event of it has come */
static inline uint32_t PidLivesAt(const PidLivesStruct *lives, Index number)
{
  return number < lives->programs ? lives->program[number] : 0;
}

extern Bool PidLivesCheck(const PidLivesStruct *lives);

#endif /* ANALYSE_PIDLIVES_H */
