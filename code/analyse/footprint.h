/* footprint.h -- memory of a process besides its heap: its mappings, and how much of all is resident
 *
 * Mappings are those that programs make and remove themselves, by mmap, munmap, mremap, brk and sbrk; each process has
 * what it mapped, and a child of fork none of its parent's.  Resident bytes are the collector's samples; where several
 * processes of the log are emitters in one of the system, one of them has these for all.  Events are known by their
 * names, so that what has no such events says so.
 *
 * Always true:
 *   the family's bytes are the sums over its processes that live, modulo 2^64; a process that has ended has none
 *   the peak of a process is not below what it has now
 *
 * Design: design/view.md .mapped      Tests: test/analyse/memory.t, test/analyse/spanstest.c
 */
#ifndef ANALYSE_FOOTPRINT_H
#define ANALYSE_FOOTPRINT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>

#include "log/log.h"

typedef struct FootprintStruct *Footprint;

typedef enum FootprintKind { FootprintMAPPED, FootprintRESIDENT, FootprintKINDS } FootprintKind;

/* Bytes of one process, or of all. */
typedef struct FootprintBytesStruct {
  Bool known;              /* there was an event that said so */
  uint64_t end;            /* when the process ended, or else at the log's end; of all: the sum of that */
  uint64_t peak, peakTime; /* the most at a time, and when; of all: that of those that lived together */
  Bool between;            /* no sample had as much: a process told of it when it ended, so when it was is not known */
} FootprintBytesStruct, *FootprintBytes;

extern Res FootprintCreate(Footprint *footprintReturn, Log log);
extern void FootprintDestroy(Footprint footprint);

/* FootprintWants -- does FootprintEvent learn more from an event of this type than that its process lives?
 * FootprintEvent -- one event, in the order of LogRead */
extern Bool FootprintWants(EventType type);
extern void FootprintEvent(Footprint footprint, LogEvent event);

/* FootprintEnd -- the process with this number has ended, as HeapPROCESSEND says.  An event of it that comes all the
 * same makes it live again. */
extern void FootprintEnd(Footprint footprint, Index process);

/* FootprintFinish -- all events have come.  ResMEMORY: it ran out at some time, and the numbers are too low. */
extern Res FootprintFinish(Footprint footprint);

/* FootprintBytesOf -- bytes of a process by its number, or, with NULL, of all */
extern FootprintBytesStruct FootprintBytesOf(Footprint footprint, FootprintKind kind, const Index *process);

/* FootprintNow -- bytes now of all processes that live */
extern uint64_t FootprintNow(Footprint footprint, FootprintKind kind);

/* FootprintLeft -- mappings that were more than can be followed, so that the bytes are not exact */
extern uint64_t FootprintLeft(Footprint footprint);

/* FootprintText, FootprintJson -- what is known of all processes, of which so many were recorded: for people, with
 * times since `start`; as members of a JSON object, with a comma behind
 * FootprintBytesJson -- two members for bytes of this name, and `end` behind them; nothing if they are not known */
extern void FootprintText(FILE *out, Footprint footprint, Count processes, uint64_t start);
extern void FootprintJson(FILE *out, Footprint footprint, uint64_t start);
extern void FootprintBytesJson(FILE *out, const char *name, FootprintBytes bytes, const char *end);

#endif /* ANALYSE_FOOTPRINT_H */
