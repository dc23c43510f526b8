/* standstill.h -- what the processes of a family leave for each other, and for the collector, while that stands still
 *
 * A process that has asked the collector for a region, or told it of a program, and has waited in vain, leaves a
 * notice: a link in RegionFOLDER (format/region.h) that the whole family knows by the recording's identity.  A process
 * that begins after that does not wait for an answer.  The notice holds for a minute.  A collector removes it ten times
 * a second: so it stays only where none goes round.  Beside the notice are the notes for which the collector's queue
 * had no room: a link for each, up to a number.
 *
 * Where nothing can be written there, or the recording has no identity, nothing is left, and no notice found.  Any
 * thread, also in a child of vfork; nothing waits.
 *
 * Design: design/collector.md .meet.still      Tests: test/handover/still.t, test/format/formattest.c
 */
#ifndef HANDOVER_STANDSTILL_H
#define HANDOVER_STANDSTILL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "format/region.h"

/* StandstillTell -- leave the notice
 * StandstillNow -- does the notice of a process that may say so, root's or our own user's, hold?  One system call; an
 * old one is removed.
 * StandstillOver -- remove the notice: the collector is dead, and nobody has to wait for that */
extern void StandstillTell(void);
extern Bool StandstillNow(void);
extern void StandstillOver(void);

/* StandstillNote -- leave a note, whose `program` is of no use after that.  If all places are taken, or the path is too
 * long, that is left.  Some system calls; as many as there are places where they are nearly all taken. */
extern void StandstillNote(RegionMeet note);

/* StandstillNoteBack -- the exec has failed: remove its note, if this process has left it and it is still there; else
 * FALSE */
extern Bool StandstillNoteBack(void);

#endif /* HANDOVER_STANDSTILL_H */
