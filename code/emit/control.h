/* control.h -- which events are sent, and to where: functions, environment, messages
 *
 * The public names are in pawprint.h.
 *
 * Design: design/telemetry.md .control      Tests: test/emit/emittest.c
 */
#ifndef EMIT_CONTROL_H
#define EMIT_CONTROL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "emit/emitter.h"

/* The settings from the environment, read once, before the first event; the child of a fork inherits them. */
typedef struct ControlStruct {
  char log[PlinthPlaceMAX];   /* the log that a collector writes; "" if there is no collector */
  char family[384];           /* the files to which the family appends: DEVICE:INODE:BIRTH, several separated by + */
  uint64_t recording;         /* identity of the recording; 0: none was chosen yet */
  char collector[32];         /* the name of the collector's socket; "": none */
  char token[RegionTokenMAX]; /* by which the collector recognises the family */
  uint32_t policy, limit, blockSize;
  uint32_t chosen;            /* kinds that are sent as soon as there is a way out */
  uint32_t only;              /* number of the one process that is recorded; 0: all of the family are */
  Bool raw, paused;
  Bool allowed;               /* eventctl may look and switch kinds, though nothing is sent */
} ControlStruct, *Control;

extern ControlStruct ControlSettings;

/* ControlCheck -- are they such as the environment may ask for? */
extern Bool ControlCheck(void);

/* ControlClock -- take over what the recorder has found out of the machine's clock; once, before a clock is chosen */
extern void ControlClock(void);

/* ControlFromEnvironment -- obey the environment (pawprint(7)); once, before the first event */
extern void ControlFromEnvironment(void);

/* ControlMask -- the kinds that a list names (base/names.h).  ResPARAM: a name is unknown; the message was written.
 * standard  the kinds to which +Name and -Name are applied
 * place     where the list stands, for the message */
extern Res ControlMask(uint32_t *maskReturn, const char *list, uint32_t standard, const char *place);

/* ControlSet -- these kinds are sent (`first` 0) or kept by the flight recorder (EventKindBUFFER), the others not */
extern void ControlSet(uint32_t mask, unsigned first);

/* ControlJoin -- make the control table this process's own, and one with the copy that the program may have of it;
 * once in each process, in the child of a fork before it goes on */
extern void ControlJoin(void);

/* ControlShare -- map the region's page over the table, so that other processes can change it
 * fd, region  the file, and where it is mapped
 * lent        the descriptor does not have the region's lock: the child of a fork may keep the page */
extern void ControlShare(int fd, RegionHeader region, Bool lent);

/* ControlLedgerCount -- count lost events in the region of another process: in the child of a fork its parent's, or the
 * parent's parent's.  FALSE: there is none, or its owner has ended.
 * ControlLedgerFind -- use any region of the recording, to this log, that has a name; FALSE: there is none. */
extern Bool ControlLedgerCount(uint64_t events);
extern Bool ControlLedgerFind(const char *log);

/* ControlVariable -- the value of a setting: the recorder's, in PAWPRINT_RECORDING, if it has one of this name, else
 * the environment variable's; NULL if there is neither, or it does not fit in `room`.  It works before libc is ready,
 * too (plinth/rawsyscall.h). */
extern const char *ControlVariable(const char *name, char *room, Size size);

/* ControlFamily -- let programs that this one starts append to the same log: set PAWPRINT_LOG to its absolute path, and
 * PAWPRINT_RECORDING to the file's numbers, unless a recorder has set them.  Not inside malloc. */
extern void ControlFamily(void);

/* ControlOpen -- open one more way out.  ResPARAM and others: the message was written.  The process is locked, or
 * being set up.
 * late  readers are not to expect there what the process has sent before */
extern Res ControlOpen(Emitter emitter, const char *where, const char *family, Bool late);

/* ControlOpenLog -- open the log that the collector has written until now.  The process is locked. */
extern void ControlOpenLog(Emitter emitter);

/* ControlRecording -- make sure that the recording has an identity: the family's, or a new one.  The process is
 * locked, or being set up. */
extern void ControlRecording(void);

#endif /* EMIT_CONTROL_H */
