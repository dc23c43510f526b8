/* send.h -- blocks in memory become messages, which are sent to the ways out
 *
 * Design: design/telemetry.md .send .send.end, design/format.md .end
 * Tests: test/emit/emittest.c, test/plinth/several.t
 */
#ifndef EMIT_SEND_H
#define EMIT_SEND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/emitter.h"
#include "format/block.h"
#include "format/registry.h"

#define SendCountUNKNOWN ((Count)-1)

enum { SendBESIDE = 0x100 }; /* in addition to the flags of blocks: the collector has the block, or will have it */

/* SendPrepare -- the process sets itself up: it may send from here on */
extern void SendPrepare(Emitter emitter);

/* SendBlock -- seal a block and send it to every way out
 *
 * block    a settled block in memory (BlockWalk), with the header with which it was opened; not changed
 * tally    its contents.  `count` may be SendCountUNKNOWN: then packing finds it, which saves a walk; and if an event
 *          is pending ResFAIL is returned, and nothing is sent.
 * flags    BlockFlagSNAPSHOT, BlockFlagUNSENT, BlockFlagRECOVERED, SendBESIDE
 * returns  ResOK if at least one way out took it, or there is none
 */
extern Res SendBlock(Emitter emitter, BlockHeader block, BlockTally tally, unsigned flags);

/* SendHeader -- send a header block to every way out */
extern Res SendHeader(Emitter emitter);

/* SendLeave -- say in the region how much of each stream was sent so far, for whoever reads the rest of it there:
 * another thread of the process goes on, or the program that it is about to become takes the blocks over
 *
 * ways  send a header block to every way out, too */
extern Res SendLeave(Emitter emitter, Bool ways);

/* SendEnd -- send the process's last header block to each of its own ways out.  It says that the process's part of the
 * log is complete, and how many blocks that is.  Anything that is sent later has a header block in front.
 *
 * returns  ResOK if each file took it, and at least one way out, or there is none.  Else the region has to stay:
 *          readers find the end in it, and eventrec --clean adds it to the log */
extern Res SendEnd(Emitter emitter);

/* SendText -- send a header block that an earlier program of the process has written, if the text is one */
extern Res SendText(const char *text, Size length);

/* SendRegistry -- the event types of this process: those of the registry, and those that were defined at run time */
extern Registry SendRegistry(void);

/* SendDefine -- add a line to the registry ("event: 0x8000 ...") for the rest of the process.  The process is locked.
 */
extern Res SendDefine(const char *line, Size length);

/* ---- What this process has sent of each of its streams (sentcounts.c) ----
 *
 * The last header block reports it, so that readers find out which blocks are missing.  All threads write to the table
 * without a lock, and no stream is ever removed.  A stream for which the table has no room is not reported, and
 * readers expect nothing of it.
 *
 * Always true (SentCheck): a stream has one entry at most, at its place or behind it with no free one between; `ways`
 * has bits of EmitterPlinths only; sentLimit of the emitter lies within the table.  Entries are below it, but what lies
 * behind is not looked at: so who goes through the table of a process with few threads touches a page of it.
 */
typedef struct SentStruct {
  uint32_t key;         /* the stream's number + 1; 0: no entry */
  uint32_t ways;        /* bits: the ways out to which its blocks were offered */
  uint64_t next;        /* number of the block that comes next */
  uint64_t blocks;      /* that were sent, and the events in them */
  uint64_t events;
  uint64_t discarded;
  uint64_t lost;        /* part of the discarded events that is counted as lost, or was reported elsewhere */
} SentStruct, *Sent;

extern Bool SentCheck(Emitter emitter);

/* SentPrepare -- allocate the table, before the first block goes out.  Without memory no stream is reported. */
extern void SentPrepare(Emitter emitter);

/* SentNote -- a whole block of this process was sent
 *
 * block  its header, sealed
 * ways   a bit for each of EmitterPlinths to which it was offered
 */
extern void SentNote(Emitter emitter, BlockHeader block, unsigned ways);

/* SentIs -- has the newest block of the stream that this process has sent this number? */
extern Bool SentIs(Emitter emitter, uint32_t stream, uint64_t sequence);

/* SentLost -- a block of the stream will never be sent, whose header counts `discarded` events.  Returns how many of
 * these no block that was sent has reported; from then on they count as reported. */
extern uint64_t SentLost(Emitter emitter, uint32_t stream, uint64_t discarded);

/* SentStreams -- how many streams have a line in the closing header block for the way out with this number.  If the way
 * was opened late, those of which a block was offered to it; else all.  With EmitterPlinthsMAX for `way` also all. */
extern Count SentStreams(Emitter emitter, Index way);

/* SentWrite -- append the lines of these streams to a header block
 *
 * from     0, or where the previous header block ended
 * returns  where this one ends; 0: no stream is left
 */
extern Index SentWrite(Text text, Emitter emitter, Index way, Index from);

#endif /* EMIT_SEND_H */
