/* send.h -- from blocks in memory to messages on the plinths
 *
 * Design: design/telemetry.md .send      Tests: test/emit/emittest.c
 */
#ifndef EMIT_SEND_H
#define EMIT_SEND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/process.h"
#include "format/block.h"
#include "format/registry.h"

#define SendCountUNKNOWN ((Count)-1)

enum { SendBESIDE = 0x100 }; /* beside the flags of blocks: the collector has the block, or will have it */

/* SendBlock -- seal a block and send it to every way out
 *
 * block    a settled block in memory (BlockWalk), its header as it was opened; not changed
 * tally    what is in it.  `count` may be SendCountUNKNOWN: then it is found while packing, which saves a walk; and if
 *          something in the block is pending ResFAIL is returned, and nothing sent.
 * flags    BlockFlagSNAPSHOT, BlockFlagUNSENT, BlockFlagRECOVERED, SendBESIDE as due
 * returns  ResOK if it reached one way out at least, or there is none
 */
extern Res SendBlock(Process process, BlockHeader block, BlockTally tally, unsigned flags);

/* SendHeader -- send a header block to every way out */
extern Res SendHeader(Process process);

/* SendLeave -- the same for a process that is about to end while others of its threads run: it says what was sent of each
 * stream so far, for those who find what these threads have in the region */
extern Res SendLeave(Process process);

/* SendEnd -- send the process's last header block to every way out of its own: all of its part is there, and it says how
 * much that is.  Should it send anything more, a header block goes before that.
 *
 * returns  ResOK if each file took it, and one way out at least, or there is none.  Else the region has to stay, by which
 *          readers know the end, and which eventrec --clean adds to the log */
extern Res SendEnd(Process process);

/* SendStay -- say in the region, and nowhere else, what was sent of each stream so far: the process is about to become another
 * program, which takes the rest that is there */
extern void SendStay(Process process);

/* SendText -- send a header block that somebody else has written, if it is one */
extern Res SendText(const char *text, Size length);

/* SendSetRaw -- blocks go out as they are, not packed; for those who want speed at the cost of ten times the bytes */
extern void SendSetRaw(Bool raw);

/* SendRegistry -- the types that this process knows, ours and those defined at run time */
extern Registry SendRegistry(void);

/* SendDefine -- one more line for the registry ("event: 0x8000 ..."); it stays as long as the process.  The process
 * is locked. */
extern Res SendDefine(const char *line, Size length);

#endif /* EMIT_SEND_H */
