/* collectorstill.h -- a notice that the collector does not answer, for all processes of its family
 *
 * Who has asked the collector for a region, or told it of a program, and waited in vain, leaves a notice: a link in RegionFOLDER
 * (format/region.h) that the whole family knows by the recording's identity.  Whoever begins after that does not wait for
 * an answer.  The notice holds for a minute.  A collector removes it ten times a second: so it stays only where none goes
 * round.
 *
 * Design: design/collector.md .meet.still      Tests: test/emit/still.t
 */
#ifndef HANDOVER_COLLECTORSTILL_H
#define HANDOVER_COLLECTORSTILL_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"

/* HandStill -- does the notice of one who may say so, root or our own user, hold?  One system call; an old one is removed. */
extern Bool HandStill(void);

/* HandStillTell -- leave the notice, if that can be */
extern void HandStillTell(void);

/* HandStillOver -- remove it: the collector is dead, for which nobody has to wait */
extern void HandStillOver(void);

#endif /* HANDOVER_COLLECTORSTILL_H */
