/* control.h -- what is sent, and where to: functions, environment, messages
 *
 * The public names are in pawprint.h.
 *
 * Design: design/telemetry.md .control      Tests: test/emit/emittest.c
 */
#ifndef EMIT_CONTROL_H
#define EMIT_CONTROL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/process.h"

/* What the environment asks for, read once, before the first event; a child of fork has it from its parent. */
typedef struct ControlStruct {
  char log[PlinthPlaceMAX];   /* where to, while a collector writes it; "" if there is none */
  char family[384];           /* whose log that is: DEVICE:INODE:BIRTH, several separated by + */
  uint64_t recording;         /* its identity; 0: none was chosen yet */
  char collector[32];         /* the name of its socket; "": none */
  char token[RegionTokenMAX]; /* that it knows us by */
  uint32_t policy, limit, blockSize;
  uint32_t chosen;            /* kinds that are sent as soon as there is a way out */
  uint32_t only;              /* the one process that is recorded; 0: all of the family */
  Bool raw, paused;
  Bool allowed;               /* others may look and switch, though nothing is sent */
} ControlStruct, *Control;

extern ControlStruct ControlSettings;

/* ControlClock -- what the environment says of the clock; once, before a clock is chosen */
extern void ControlClock(void);

/* ControlFromEnvironment -- obey the environment (pawprint(7)); once, before the first event */
extern void ControlFromEnvironment(void);

/* ControlMask -- the kinds that a list names (base/names.h), or ResPARAM, told
 * standard  what +Name and -Name are against
 * place     where the list stands, for the message */
extern Res ControlMask(uint32_t *maskReturn, const char *list, uint32_t standard, const char *place);

/* ControlSet -- these kinds are sent (`first` 0) or kept by the flight recorder (EventKindBUFFER), the others not */
extern void ControlSet(uint32_t mask, unsigned first);

/* ControlStart -- send what was chosen: there is a way out now */
extern void ControlStart(void);

/* ControlStop -- send nothing any more */
extern void ControlStop(void);

/* ControlJoin -- one table, also where the program has a copy of it, and this process's own; in each process once, and
 * before its child of fork goes on */
extern void ControlJoin(void);

/* ControlShare -- the table lies in the region's file from here on, where others can change it
 * fd, region  the file, and where it is mapped
 * lent        the descriptor does not have the region's lock: a child of fork may keep the page */
extern void ControlShare(int fd, RegionHeader region, Bool lent);

/* ControlLedgerCount -- count events that are lost in the region of another process, in a child of fork its parent's, or the
 * parent's parent's.  FALSE: there is none, or whose it is has ended.
 * ControlLedgerFind -- take that of any region of the recording, to this log, that has a name; FALSE: there is none.
 * ControlLedgerDrop -- it will not be needed */
extern Bool ControlLedgerCount(uint64_t events);
extern Bool ControlLedgerFind(const char *log);
extern void ControlLedgerDrop(void);

/* ControlVariable -- what is wanted by a variable's name: the recorder's setting of that name if it made one
 * (PAWPRINT_RECORDING), else the environment variable; NULL if neither is there, or it does not fit in `room`.  Also
 * before libc is ready (plinth/rawsyscall.h). */
extern const char *ControlVariable(const char *name, char *room, Size size);

/* ControlComplain -- say on standard error what is wrong with an environment variable's value */
extern void ControlComplain(const char *name, const char *value, const char *reason);

/* ControlFamily -- let programs that this one starts append to the same log: sets PAWPRINT_RECORDING to say which file
 * that is, and PAWPRINT_LOG to its absolute path, unless a recorder has said it.  Not in malloc. */
extern void ControlFamily(void);

/* ControlOpen -- one more way out.  ResPARAM and others: told.  The process is locked, or being set up.
 * late  what the process has sent before is not to be expected there */
extern Res ControlOpen(Process process, const char *where, const char *family, Bool late);

/* ControlOpenLog -- open the log that a collector wrote until now.  The process is locked. */
extern void ControlOpenLog(Process process);

/* ControlRecording -- make sure that the recording has an identity: the family's, or a new one.  The process is
 * locked, or being set up. */
extern void ControlRecording(void);

#endif /* EMIT_CONTROL_H */
