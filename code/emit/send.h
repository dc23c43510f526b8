/* send.h -- from blocks in memory to messages on the plinths
 *
 * Design: design/telemetry.md .send      Tests: test/emittest.c
 */
#ifndef EMIT_SEND_H
#define EMIT_SEND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "emit/process.h"
#include "format/block.h"
#include "format/registry.h"

#define SendCountUNKNOWN ((Count)-1)

/* SendBlock -- seal a block and send it to every way out
 *
 * block    a settled block in memory (BlockWalk), its header as it was opened; not changed
 * tally    what is in it.  `count` may be SendCountUNKNOWN: then it is found while packing, which saves a walk; and if
 *          something in the block is pending ResFAIL is returned, and nothing sent.
 * flags    BlockFlagSNAPSHOT, BlockFlagUNSENT, BlockFlagRECOVERED as due
 * returns  ResOK if it reached one way out at least, or there is none
 */
extern Res SendBlock(Process process, BlockHeader block, BlockTally tally, unsigned flags);

/* SendHeader -- send a header block to every way out */
extern Res SendHeader(Process process);

/* SendSetRaw -- blocks go out as they are, not packed; for those who want speed at the cost of ten times the bytes */
extern void SendSetRaw(Bool raw);

/* SendRegistry -- the types that this process knows, ours and those defined at run time */
extern Registry SendRegistry(void);

/* SendDefine -- one more line for the registry ("event: 0x8000 ..."); it stays as long as the process.  The process
 * is locked. */
extern Res SendDefine(const char *line, Size length);

#endif /* EMIT_SEND_H */
