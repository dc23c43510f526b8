/* collectorgrant.h -- the collector's answer to a process: shared memory (its region), and the log's descriptor
 *
 * collectorsocket.h asks; here the answer, a *grant*, is received.  Before anything in it is used, it is checked that
 * the kernel names a trusted sender and that the grant belongs to our own recording.  The process writes to the log's
 * descriptor only when the collector has died; until then it is kept where the program does not close it.
 *
 * Design: design/collector.md .meet      Tests: test/handover/handovertest.c, test/collect/collect.t
 */
#ifndef HANDOVER_COLLECTORGRANT_H
#define HANDOVER_COLLECTORGRANT_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "format/region.h"
#include "plinth/plinth.h"

/* What the collector answers: `count` descriptors, in the order of RegionGrantX; -1 for one that was taken.
 *
 * Always true (GrantCheck): count <= RegionGrantMAX; no descriptor is there twice */
typedef struct GrantStruct {
  RegionGrantStruct answer;
  Count count;
  int fd[RegionGrantMAX];
} GrantStruct, *Grant;

extern Bool GrantCheck(const GrantStruct *grant);

/* GrantReceive -- take the answer that is there; FALSE: there is none, or neither its sender nor its contents can be
 * believed
 *
 * believedIO  before: the process at the other end has already proved that it is the collector; afterwards: the answer
 *             came from a collector, even if that takes no more processes */
extern Bool GrantReceive(Grant grant, Bool *believedIO, int fd);

/* GrantDrop -- close what is left of its descriptors */
extern void GrantDrop(Grant grant);

/* GrantLogKeep -- keep the log's descriptor, if there is one, under a number that does not disturb the program.
 * GrantLogTake -- for a process whose collector is dead: make a way out of that descriptor, or of the one that was left
 *   by the program that the process was before exec.  So the process need not open the log at its `place`, which it may
 *   not be allowed to do, and where another file may be.  FALSE: there is no descriptor. */
extern void GrantLogKeep(Grant grant);
extern Bool GrantLogTake(Plinth plinthReturn, const char *place);

/* GrantLog -- the log whose descriptor the collector has given us, for blocks that the collector cannot take; NULL:
 * none */
extern Plinth GrantLog(void);

/* GrantLogPass -- programs that are executed from now on have the log's descriptor, because they may not be able to
 * open the log; or they do not have it */
extern void GrantLogPass(Bool pass);

#endif /* HANDOVER_COLLECTORGRANT_H */
